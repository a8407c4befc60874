// SPDX-License-Identifier: MIT
// RegisterAccumulators: how the epilogue reads what wgmma left in registers. Called by all
// threads of a math warpgroup, each for its own.
//
// Registers have no index at run time: which ones are read must be known when the code is
// compiled. Hence loops that are unrolled, and a chain of comparisons where a step is
// computed.
#pragma once
#include <jg/epilogue/sums.cuh>

namespace jg::sm90a {

template <class Share, class Sum>
class RegisterAccumulators {
  public:
    static constexpr bool kIndexed = false;
    using Registers = Sum[Share::kRows / 64][Share::kCols / 2];

    // acc[i]: rows 64 * i of the warpgroup's part of the tile.
    JG_DEVICE explicit RegisterAccumulators(const Registers &acc) : acc_(acc) {}

    template <u32 kCount>
    JG_DEVICE void read(u32 step, u32 col, f32 (&values)[1][kCount]) const
    {
#pragma unroll
        for (u32 i = 0; i < kCount; ++i) {
            values[0][i] = sum_bits(acc_[step][col / 2 + i]);
        }
    }

    template <class Stage, u32 kStep = 0>
    JG_DEVICE void stage(const Stage &stage_memory, u32 step) const
    {
        constexpr u32 kAcross = Share::kCols / Stage::kCols;
        if (step == kStep) {
            stage_memory.store(0, acc_[kStep / kAcross],
                               kStep % kAcross * Stage::kCols / 2);
        } else if constexpr (kStep + 1 < Share::kRows / 64 * kAcross) {
            stage<Stage, kStep + 1>(stage_memory, step);
        }
    }

  private:
    const Registers &acc_;
};

} // namespace jg::sm90a
