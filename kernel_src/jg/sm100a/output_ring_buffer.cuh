// SPDX-License-Identifier: MIT
// OutputRingBuffer: accumulators in tensor memory between the MMA thread and the epilogue.
//
// Owns the two barriers of each stage. A stage holds the accumulators of all of K, or of a
// part of it: it is full when the multiplications that were issued while the producer held
// it are done: their commit arrives in each CTA of a pair. It is empty again when the
// epilogue warps have read it, those of both CTAs of a pair, which arrive in the leader
// CTA. With two stages, one tile is multiplied while the previous one is written.
//
// Two that share columns (Config::kSharedColumns) are a ring of one stage in which
// accumulators take turns: it is full as above, and empty when the epilogue has read what
// is shared, before the rest. The one before that was read to its end by then.
//
// Called by: the MMA thread (producer view), all threads of the epilogue warps, through an
// AccumReader (consumer view). Before use: init_barriers by one thread, then a CTA or
// cluster synchronisation.
#pragma once
#include <jg/common/cluster_shape.cuh>
#include <jg/common/pipeline_state.cuh>
#include <jg/debug/track.cuh>
#include <jg/pipeline/held_stages.cuh>
#include <jg/ptx/mbarrier.cuh>
#include <jg/ptx/tcgen05.cuh>

namespace jg::sm100a {

template <u32 kStages>
struct OutputBarriers {
    u64 full[kStages];
    u64 empty[kStages];
};

// What is handed over is tensor memory, which the fences of tcgen05 order. Where arrivals
// come from the other CTA of a pair, nothing of global memory has to be released with them.
template <class Cluster>
JG_DEVICE void wait_for_stage(u64 *barrier, u32 parity, debug::Side side, u32 stage)
{
    const debug::BarrierId id{debug::Ring::kAccumulators, side, stage};
    if constexpr (Cluster::kCtaGroup == 2) {
        debug::wait_relaxed(barrier, parity, id);
        ptx::fence_acquire_shared();
    } else {
        debug::wait(barrier, parity, id);
    }
}

// Accumulators of a ring of one stage take turns, if there are two.
template <u32 kStages>
JG_DEVICE u32 accumulator_of(const PipelineState<kStages> &state)
{
    return kStages == 1 ? state.phase : state.stage;
}
template <u32 kStages>
JG_DEVICE u32 stage_of(u32 accumulator)
{
    return kStages == 1 ? 0 : accumulator;
}

template <u32 kStages, class Cluster>
class OutputProducer {
  public:
    JG_DEVICE OutputProducer(OutputBarriers<kStages> &barriers, const Cluster &cluster,
                             debug::Track &track)
        : barriers_(barriers), cluster_(cluster), track_(track)
    {
    }

    // Blocks until the epilogue has read the stage. It goes on when the scope has ended and
    // all multiplications that this thread has issued until then are done.
    JG_DEVICE HeldStages<OutputProducer> acquire()
    {
        return HeldStages<OutputProducer>(*this);
    }

    // Blocks until the epilogue has read every stage, of those that share columns these. No
    // fence: what follows is at most the deallocation, which is no asynchronous operation.
    JG_DEVICE void drain()
    {
#pragma unroll 1
        for (u32 i = 0; i < kStages; ++i) {
            wait_empty();
        }
    }

  private:
    friend class HeldStages<OutputProducer>;

    JG_DEVICE u32 wait()
    {
        const u32 accumulator = accumulator_of(state_);
        wait_empty();
        ptx::tcgen05_fence_after_sync();
        track_.begin();
        return accumulator;
    }
    JG_DEVICE void release(u32 accumulator) const
    {
        const u32 stage = stage_of<kStages>(accumulator);
        if constexpr (Cluster::kCtaGroup == 2) {
            ptx::tcgen05_commit_multicast<2>(&barriers_.full[stage], cluster_.group_mask());
        } else {
            ptx::tcgen05_commit<1>(&barriers_.full[stage]);
        }
    }

    // The next stage.
    JG_DEVICE void wait_empty()
    {
        wait_for_stage<Cluster>(&barriers_.empty[state_.stage], state_.phase ^ 1,
                                debug::Side::kEmpty, state_.stage);
        state_.advance();
    }

    OutputBarriers<kStages> &barriers_;
    const Cluster &cluster_;
    debug::Track &track_;
    PipelineState<kStages> state_;
};

template <u32 kStages, class Cluster>
class OutputConsumer {
  public:
    JG_DEVICE OutputConsumer(OutputBarriers<kStages> &barriers, const Cluster &cluster,
                             debug::Track &track)
        : barriers_(barriers), cluster_(cluster), track_(track)
    {
    }

  private:
    template <class Partition, class Consumer>
    friend class AccumReader;

    // Blocks until the stage is full; its accumulator.
    JG_DEVICE u32 wait()
    {
        const u32 stage = state_.stage, accumulator = accumulator_of(state_);
        wait_for_stage<Cluster>(&barriers_.full[stage], state_.phase, debug::Side::kFull,
                                stage);
        ptx::tcgen05_fence_after_sync();
        state_.advance();
        track_.settle();
        return accumulator;
    }
    // One arrival of this warp, whose loads are complete.
    JG_DEVICE void release(u32 accumulator) const
    {
        u64 *empty = &barriers_.empty[stage_of<kStages>(accumulator)];
        ptx::tcgen05_fence_before_sync();
        __syncwarp();
        if (threadIdx.x % 32 == 0) {
            if constexpr (Cluster::kCtaGroup == 2) {
                ptx::fence_release_shared();
                ptx::mbarrier_arrive_relaxed(empty, cluster_.leader_rank());
            } else {
                ptx::mbarrier_arrive(empty);
            }
        }
    }

    OutputBarriers<kStages> &barriers_;
    const Cluster &cluster_;
    debug::Track &track_;
    PipelineState<kStages> state_;
};

template <u32 kStages, u32 kReaderWarps, class Cluster>
class OutputRingBuffer {
  public:
    using Producer = OutputProducer<kStages, Cluster>;
    using Consumer = OutputConsumer<kStages, Cluster>;

    JG_DEVICE OutputRingBuffer(OutputBarriers<kStages> &barriers, const Cluster &cluster)
        : barriers_(barriers), cluster_(cluster)
    {
    }

    static JG_DEVICE void init_barriers(OutputBarriers<kStages> &barriers)
    {
        for (u32 i = 0; i < kStages; ++i) {
            ptx::mbarrier_init(&barriers.full[i], 1);
            ptx::mbarrier_init(&barriers.empty[i], kReaderWarps * Cluster::kCtaGroup);
        }
    }

    // `track`: of the role, whose work on an item begins when it has the accumulator.
    JG_DEVICE Producer producer(debug::Track &track) const
    {
        return Producer(barriers_, cluster_, track);
    }
    JG_DEVICE Consumer consumer(debug::Track &track) const
    {
        return Consumer(barriers_, cluster_, track);
    }

  private:
    OutputBarriers<kStages> &barriers_;
    Cluster cluster_;
};

} // namespace jg::sm100a
