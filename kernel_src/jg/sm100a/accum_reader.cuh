// SPDX-License-Identifier: MIT
// AccumReader: how the epilogue reads a tile's accumulators out of tensor memory, in the
// layout that wgmma leaves in registers.
//
// Lane r of tensor memory is row r of the CTA's tile, in a pair too: each CTA holds its own
// 128 rows with all columns. Called by all threads of the four epilogue warps. Made after
// the stage was acquired; release gives it back, early, when its last part is in registers.
#pragma once
#include <jg/epilogue/step_rows.cuh>
#include <jg/sm100a/output_ring_buffer.cuh>

namespace jg::sm100a {

// The whole tile is one warpgroup's; each warp has 32 neighbouring rows and its own slabs.
// Matrices come through a ring of their own.
template <class Config>
struct EpilogueShare : StepRows<32, 1> {
    static constexpr u32 kMatrixStages = Config::kMatrixStages;
    static constexpr u32 kConsumers = 1;
    static constexpr u32 kRows = Config::kBlockM;
    static constexpr u32 kCols = Config::kBlockN;

    static JG_DEVICE u32 first_row(u32)
    {
        return 0;
    }
    static JG_DEVICE u32 first_col(u32)
    {
        return 0;
    }
};

template <class Share, class Consumer>
class AccumReader {
    static constexpr u32 kLanes = 1u << 16; // what one lane adds to an address

  public:
    static constexpr bool kIndexed = true;

    // `accumulator`: address of the stage's first column.
    JG_DEVICE AccumReader(u32 accumulator, OutputStage stage, const Consumer &ring)
        : address_(accumulator + Share::warp_row() * kLanes), stage_(stage), ring_(ring)
    {
    }

    template <u32 kCount>
    JG_DEVICE void read(u32, u32 col, f32 (&values)[Share::kFragments][kCount]) const
    {
#pragma unroll
        for (u32 i = 0; i < Share::kFragments; ++i) {
            ptx::tcgen05_load(values[i], address_ + 16 * i * kLanes + col);
        }
        ptx::tcgen05_wait_load(values);
    }

    template <class Stage>
    JG_DEVICE void stage(const Stage &stage_memory, u32 step) const
    {
        f32 values[Share::kFragments][Stage::kCols / 2];
        read(0, step * Stage::kCols, values);
#pragma unroll
        for (u32 i = 0; i < Share::kFragments; ++i) {
            stage_memory.store(16 * i, values[i], 0);
        }
    }

    JG_DEVICE void release() const
    {
        ring_.release(stage_);
    }

  private:
    u32 address_;
    OutputStage stage_;
    const Consumer &ring_;
};

} // namespace jg::sm100a
