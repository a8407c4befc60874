// SPDX-License-Identifier: MIT
// RegisterAccumulators: how the epilogue reads what wgmma left in registers. Called by all
// threads of a math warpgroup, each for its own.
//
// Registers have no index at run time: which ones are read must be known when the code is
// compiled. Hence loops that are unrolled, and a chain of comparisons where a step is
// computed.
#pragma once
#include <jg/epilogue/accumulator.cuh>

namespace jg {

template <class Partition, u32 kColumns, class Accumulators, class Buffer>
JG_DEVICE void copy_columns(const Accumulators &acc, const Buffer &buffer, u32 step,
                            u32 col); // staging.cuh

} // namespace jg

namespace jg::sm90a {

// What is added as it is.
struct PlainSums {
    template <u32 kRows>
    JG_DEVICE void add_group(const f32 *(&parts)[kRows], f32 *(&sums)[kRows], u32,
                             u32) const
    {
#pragma unroll
        for (u32 i = 0; i < 4; ++i) {
            sums[0][i] += parts[0][i];
        }
    }
};

template <class Partition, class A>
class RegisterAccumulators {
  public:
    enum : bool { kIndexed = false };
    enum : u32 {
        kDown = (Partition::kTransposed ? Partition::kCols : Partition::kRows) / 64
    };
    using Registers = Accumulator<A>[kDown][Partition::kAccColumns / 2];

    // acc[i]: rows 64 * i of the warpgroup's part of the product's tile.
    JG_DEVICE explicit RegisterAccumulators(const Registers &acc) : acc_(acc) {}

    template <u32 kCount>
    JG_DEVICE void read(u32 step, u32 col, f32 (&values)[1][kCount]) const
    {
#pragma unroll
        for (u32 i = 0; i < kCount; ++i) {
            values[0][i] = accumulator_bits(acc_[step][col / 2 + i]);
        }
    }

    template <class Buffer, u32 kStep = 0>
    JG_DEVICE void copy_step(const Buffer &buffer, u32 step) const
    {
        constexpr u32 kColumns =
            Partition::kTransposed ? Partition::kRows : Partition::kCols;
        constexpr u32 kAcross =
            (kColumns + Partition::kStepAccColumns - 1) / Partition::kStepAccColumns;
        constexpr u32 kFirst = kStep % kAcross * Partition::kStepAccColumns;
        if (step == kStep) {
            if constexpr (Partition::kTransposed) { // the last step may have fewer
                static_assert(kDown == 1, "more lanes are read by fragments only");
                constexpr u32 kLeft = kColumns - kFirst;
                constexpr u32 kStepColumns = Partition::kStepAccColumns;
                copy_columns<Partition, (kLeft < kStepColumns ? kLeft : kStepColumns)>(
                    *this, buffer, 0, kFirst);
            } else {
                copy_rows<kFirst>(buffer, acc_[kStep / kAcross]);
            }
        } else if constexpr (kStep + 1 < kDown * kAcross) {
            copy_step<Buffer, kStep + 1>(buffer, step);
        }
    }

  private:
    // Lanes are rows of D. The last step may have fewer columns.
    template <u32 kFirst, class Buffer, class Row>
    static JG_DEVICE void copy_rows(const Buffer &buffer, const Row &acc)
    {
        constexpr u32 kLeft = Partition::kCols - kFirst;
        constexpr u32 kGroups =
            (kLeft < Partition::kStepCols ? kLeft : Partition::kStepCols) / 8;
        if constexpr (Partition::kNeighbours) {
            buffer.template store<2 * kGroups>(0, acc, kFirst);
        } else {
            buffer.template store<kGroups>(0, acc, kFirst / 2);
        }
        if constexpr (Partition::kGateColumns > 1) {
            buffer.template store<kGroups, kGroups>(0, acc,
                                                    (Partition::kGateColumns + kFirst) / 2);
        }
    }

    const Registers &acc_;
};

} // namespace jg::sm90a
