// SPDX-License-Identifier: MIT
// ScaleCells: cells of tensor memory in which the tensor core finds the scales of a stage.
//
// Where tensor memory has room, each stage of the input ring has cells of its own, and a
// stage that is full has free ones: whoever filled it has waited for the multiplications
// that read them. Else there are fewer, which stages take in turn. PTX orders a copy to
// tensor memory before later multiplications, and not behind earlier ones: so a barrier
// says when those that read the cells before are done. The scope that holds them ends with
// a commit.
//
// Called by: the MMA thread; in a pair, that of the leader CTA, for both. Before use:
// init_barriers by one thread, then a synchronisation of the CTA. After use: drain.
#pragma once
#include <jg/common/pipeline_state.cuh>
#include <jg/debug/waits.cuh>
#include <jg/pipeline/held_stages.cuh>
#include <jg/ptx/mbarrier.cuh>
#include <jg/ptx/tcgen05.cuh>
#include <jg/sm100a/scale_stages.cuh>

namespace jg::sm100a {

template <u32 kCells>
struct ScaleCellBarriers {
    u64 free[kCells];
};

// kShared: cells that stages share; 0: each has its own (scale_stages.cuh).
template <u32 kShared, u32 kCtaGroup>
class ScaleCells {
    using Barriers = ScaleCellBarriers<kShared>;

  public:
    JG_DEVICE explicit ScaleCells(Barriers &barriers) : barriers_(barriers) {}

    static JG_DEVICE void init_barriers(Barriers &barriers)
    {
        for (u32 i = 0; i < kShared; ++i) {
            ptx::mbarrier_init(&barriers.free[i], 1);
        }
    }

    // Blocks until the multiplications that read the next cells are done.
    JG_DEVICE HeldStages<ScaleCells> acquire(u32)
    {
        return HeldStages<ScaleCells>(*this);
    }

    // Blocks until all multiplications are done: their commits arrive in this CTA.
    JG_DEVICE void drain()
    {
#pragma unroll 1
        for (u32 i = 0; i < kShared; ++i) {
            (void)wait();
        }
    }

  private:
    friend class HeldStages<ScaleCells>;

    JG_DEVICE u32 wait()
    {
        const u32 cell = state_.stage;
        debug::wait(&barriers_.free[cell], state_.phase ^ 1,
                    debug::BarrierId{debug::Ring::kScaleCells, debug::Side::kEmpty, cell});
        state_.advance();
        return cell;
    }
    JG_DEVICE void release(u32 cell) const
    {
        ptx::tcgen05_commit<kCtaGroup>(&barriers_.free[cell]);
    }

    Barriers &barriers_;
    PipelineState<kShared> state_;
};

} // namespace jg::sm100a
