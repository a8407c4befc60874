// SPDX-License-Identifier: MIT
// InputRingBuffer: stages of input tiles between a load warp and those who read them.
//
// Owns the two barriers of each stage. A stage is full when its producer has announced its
// bytes and all of them have landed, or, where threads fill it, when each of their kFillers
// warps has; it is empty again when everyone whom its copies reach,
// in this CTA and in those that share a tile with it, has released it. Who announces and
// how a release arrives depends on who reads: that is `Signals`, made of the cluster, with
//   Cluster                    its type
//   kRing                      a name, for debug builds
//   kReleases                  arrivals that make a stage empty
//   announce(full, bytes)      by the producer, before its copies
//   release(empty)             by the consumer, when it has read the stage
//
// Called by: one thread of the load warp, or whole warps that fill stages themselves
// (producer view), all threads of the readers (consumer view). Before use: init_barriers by
// one thread, then a CTA or cluster synchronisation.
#pragma once
#include <jg/common/pipeline_state.cuh>
#include <jg/debug/waits.cuh>
#include <jg/pipeline/held_stages.cuh>
#include <jg/ptx/mbarrier.cuh>
#include <jg/ptx/tma.cuh>

namespace jg {

template <u32 kStages>
struct RingBarriers {
    u64 full[kStages];
    u64 empty[kStages];
};
template <>
struct RingBarriers<0> {
};

// One stage that copies fill, which hand it on by their own bytes.
struct ProducerStage {
    u32 index;
    u64 *full;
};

template <u32 kStages, u32 kStageBytes, class Signals>
class InputProducer {
  public:
    JG_DEVICE InputProducer(RingBarriers<kStages> &barriers,
                            const typename Signals::Cluster &cluster)
        : barriers_(barriers), signals_(cluster)
    {
    }

    // Blocks until the stage is empty in every CTA that this one writes to, and announces
    // the bytes that it will get: all of it, or less.
    JG_DEVICE ProducerStage acquire(u32 bytes = kStageBytes)
    {
        const u32 stage = state_.stage;
        wait_empty(stage);
        signals_.announce(&barriers_.full[stage], bytes);
        state_.advance();
        return ProducerStage{stage, &barriers_.full[stage]};
    }

    // Where copies of threads hand the stage on by themselves. Blocks until it is empty.
    JG_DEVICE ProducerStage acquire_empty()
    {
        const u32 stage = wait();
        return ProducerStage{stage, &barriers_.full[stage]};
    }

    JG_DEVICE u64 *full(u32 stage) const
    {
        return &barriers_.full[stage];
    }

    // Of a stage that was acquired empty: this warp's threads have written their part. Who
    // reads the stage orders that before the tensor core does (settle_copies).
    JG_DEVICE void hand_on(u32 stage) const
    {
        __syncwarp();
        arrive(stage);
    }

    // Where threads fill stages. Blocks until the stage is empty; the warp hands it on when
    // the scope ends.
    JG_DEVICE HeldStages<InputProducer> acquire_to_fill()
    {
        return HeldStages<InputProducer>(*this);
    }

    // Number of the stage that is acquired next.
    JG_DEVICE u32 next() const
    {
        return state_.stage;
    }

    // Another fills the next stage. Who comes back to a stage must have filled it in the
    // round before, or it could be two rounds ahead.
    JG_DEVICE void pass()
    {
        state_.advance();
    }

    // Blocks until the next stage is empty, and takes nothing.
    JG_DEVICE void peek() const
    {
        wait_empty(state_.stage);
    }

    // Blocks until every stage is empty: no copy and no arrival is under way any more.
    JG_DEVICE void drain()
    {
#pragma unroll 1
        for (u32 i = 0; i < kStages; ++i) {
            wait_empty(state_.stage);
            state_.advance();
        }
    }

  private:
    friend class HeldStages<InputProducer>;

    JG_DEVICE u32 wait()
    {
        const u32 stage = state_.stage;
        wait_empty(stage);
        state_.advance();
        return stage;
    }
    // One arrival of this warp, whose threads have written their part of the stage.
    JG_DEVICE void release(u32 stage) const
    {
        ptx::fence_proxy_async_shared();
        __syncwarp();
        arrive(stage);
    }
    JG_DEVICE void arrive(u32 stage) const
    {
        if (threadIdx.x % 32 == 0) {
            ptx::mbarrier_arrive(&barriers_.full[stage]);
        }
    }

    JG_DEVICE void wait_empty(u32 stage) const
    {
        debug::wait(&barriers_.empty[stage], state_.phase ^ 1,
                    debug::BarrierId{Signals::kRing, debug::Side::kEmpty, stage});
    }

    RingBarriers<kStages> &barriers_;
    const Signals signals_;
    PipelineState<kStages> state_;
};

template <u32 kStages, class Signals>
class InputConsumer {
  public:
    JG_DEVICE InputConsumer(RingBarriers<kStages> &barriers,
                            const typename Signals::Cluster &cluster)
        : barriers_(barriers), signals_(cluster)
    {
    }

    // Blocks until the stage is full.
    JG_DEVICE HeldStages<InputConsumer> acquire()
    {
        return HeldStages<InputConsumer>(*this);
    }

    // Asks whether the next stage is full. Who asks while there is other work need not wait
    // for the answer when the stage is acquired.
    JG_DEVICE void look_ahead()
    {
        is_full_ = ptx::mbarrier_test_wait(&barriers_.full[state_.stage], state_.phase);
    }

    // The next stage, which this thread has seen to be full (peek).
    JG_DEVICE HeldStages<InputConsumer> acquire_seen()
    {
        return HeldStages<InputConsumer>(*this, HoldSeen());
    }

    // Number of the stage that is acquired next.
    JG_DEVICE u32 next() const
    {
        return state_.stage;
    }

    // The next stage is for another, or the next `count` are.
    JG_DEVICE void pass()
    {
        is_full_ = false;
        state_.advance();
    }
    JG_DEVICE void pass(u32 count)
    {
        is_full_ = false;
        state_.advance(count);
    }

    // Blocks until the next stage is full, and takes nothing.
    JG_DEVICE void peek() const
    {
        wait_full(state_.stage);
    }

  private:
    template <class View, u32 kCount, u32 kOptional>
    friend class HeldStages;

    JG_DEVICE u32 take_seen()
    {
        const u32 stage = state_.stage;
        state_.advance();
        return stage;
    }
    JG_DEVICE u32 wait()
    {
        const u32 stage = state_.stage;
        if (!is_full_) {
            wait_full(stage);
        }
        is_full_ = false;
        state_.advance();
        return stage;
    }
    JG_DEVICE void wait_full(u32 stage) const
    {
        debug::wait(&barriers_.full[stage], state_.phase,
                    debug::BarrierId{Signals::kRing, debug::Side::kFull, stage});
    }
    JG_DEVICE void release(u32 stage) const
    {
        signals_.release(&barriers_.empty[stage]);
    }

    RingBarriers<kStages> &barriers_;
    const Signals signals_;
    PipelineState<kStages> state_;
    bool is_full_ = false; // the next stage, if that is known
};

template <u32 kStages, u32 kStageBytes, class Signals, u32 kFillers = 1>
class InputRingBuffer {
  public:
    using Cluster = typename Signals::Cluster;
    using Producer = InputProducer<kStages, kStageBytes, Signals>;
    using Consumer = InputConsumer<kStages, Signals>;

    JG_DEVICE InputRingBuffer(RingBarriers<kStages> &barriers, const Cluster &cluster)
        : barriers_(barriers), cluster_(cluster)
    {
    }

    static JG_DEVICE void init_barriers(RingBarriers<kStages> &barriers)
    {
        for (u32 i = 0; i < kStages; ++i) {
            ptx::mbarrier_init(&barriers.full[i], kFillers);
            ptx::mbarrier_init(&barriers.empty[i], Signals::kReleases);
        }
    }

    JG_DEVICE Producer producer() const
    {
        return Producer(barriers_, cluster_);
    }
    JG_DEVICE Consumer consumer() const
    {
        return Consumer(barriers_, cluster_);
    }

  private:
    RingBarriers<kStages> &barriers_;
    Cluster cluster_;
};

} // namespace jg
