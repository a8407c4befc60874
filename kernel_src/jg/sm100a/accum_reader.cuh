// SPDX-License-Identifier: MIT
// AccumReader: how the epilogue reads a tile's accumulators out of tensor memory, in the
// layout that wgmma leaves in registers.
//
// Each CTA reads its own tensor memory, in a pair too; which lanes and columns are whose is
// LaneLayout's and EpilogueShare's. Called by all threads of the four epilogue warps. Made
// after the stage was acquired; release gives it back, early, when its last part is in
// registers.
#pragma once
#include <jg/epilogue/warp_stage.cuh>
#include <jg/sm100a/epilogue_share.cuh>
#include <jg/sm100a/output_ring_buffer.cuh>

namespace jg::sm100a {

template <class Share, class Consumer>
class AccumReader {
    static constexpr u32 kLane = 1u << 16; // what one lane adds to an address

  public:
    static constexpr bool kIndexed = true;

    // `accumulator`: address of the stage's first column.
    JG_DEVICE AccumReader(u32 accumulator, OutputStage stage, const Consumer &ring)
        : address_(accumulator + Share::warp() * 32 * kLane), stage_(stage), ring_(ring)
    {
    }

    template <u32 kCount>
    JG_DEVICE void read(u32, u32 col, f32 (&values)[Share::kFragments][kCount]) const
    {
#pragma unroll
        for (u32 i = 0; i < Share::kFragments; ++i) {
            ptx::tcgen05_load<kCount>(values[i], address_ + 16 * i * kLane + col);
        }
        ptx::tcgen05_wait_load(values);
    }

    template <class Stage>
    JG_DEVICE void stage(const Stage &stage_memory, u32 step) const
    {
        stage_step<Share>(*this, stage_memory, step);
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
