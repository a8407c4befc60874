// SPDX-License-Identifier: MIT
// InputRingBuffer: stages of input tiles between the load warp and the math warpgroups.
//
// Owns the two barriers of each stage. A stage is full when its producer has announced its
// bytes and all of them have landed; it is empty again when every math warpgroup that its
// copies reach, in this CTA and in those that share a tile with it, has released it.
//
// Called by: one thread of the load warp (producer view), every thread of the math
// warpgroups (consumer view). Before use: init_barriers by one thread, then a CTA or
// cluster synchronisation.
#pragma once
#include <jg/common/pipeline_state.cuh>
#include <jg/ptx/mbarrier.cuh>

namespace jg {

template <u32 kStages>
struct RingBarriers {
    u64 full[kStages];
    u64 empty[kStages];
};

// One stage in the producer's hands. Released by the copies' own bytes, so there is no
// release().
struct ProducerStage {
    u32 index;
    u64 *full;
};

// One stage in a math warpgroup's hands.
struct ConsumerStage {
    u32 index;
};

template <u32 kStages, u32 kStageBytes>
class InputProducer {
  public:
    JG_DEVICE explicit InputProducer(RingBarriers<kStages> &barriers) : barriers_(barriers)
    {
    }

    // Blocks until the stage is empty in every CTA that this one writes to, and announces
    // the bytes that it will get: all of it, or less.
    JG_DEVICE ProducerStage acquire(u32 bytes = kStageBytes)
    {
        const u32 stage = state_.stage;
        ptx::mbarrier_wait(&barriers_.empty[stage], state_.lap ^ 1);
        ptx::mbarrier_arrive_expect_bytes(&barriers_.full[stage], bytes);
        state_.advance();
        return ProducerStage{stage, &barriers_.full[stage]};
    }

    // Blocks until every stage is empty: no copy and no arrival is under way any more.
    JG_DEVICE void drain()
    {
#pragma unroll 1
        for (u32 i = 0; i < kStages; ++i) {
            ptx::mbarrier_wait(&barriers_.empty[state_.stage], state_.lap ^ 1);
            state_.advance();
        }
    }

  private:
    RingBarriers<kStages> &barriers_;
    PipelineState<kStages> state_;
};

template <u32 kStages, class Cluster>
class InputConsumer {
  public:
    JG_DEVICE InputConsumer(RingBarriers<kStages> &barriers, const Cluster &cluster)
        : barriers_(barriers), cluster_(cluster)
    {
    }

    // Blocks until the stage is full.
    JG_DEVICE ConsumerStage acquire()
    {
        const u32 stage = state_.stage;
        ptx::mbarrier_wait(&barriers_.full[stage], state_.lap);
        state_.advance();
        return ConsumerStage{stage};
    }

    // One arrival of this warpgroup on every CTA whose copies reach this one.
    JG_DEVICE void release(ConsumerStage stage)
    {
        if constexpr (Cluster::kSize == 1) {
            if (threadIdx.x % 128 == 0) {
                ptx::mbarrier_arrive(&barriers_.empty[stage.index]);
            }
        } else {
            const u32 rank = threadIdx.x % 128;
            if (rank < Cluster::kSize && cluster_.shares_tiles_with(rank)) {
                ptx::mbarrier_arrive_remote(&barriers_.empty[stage.index], rank);
            }
        }
    }

  private:
    RingBarriers<kStages> &barriers_;
    const Cluster &cluster_;
    PipelineState<kStages> state_;
};

template <u32 kStages, u32 kStageBytes, u32 kConsumers, class Cluster>
class InputRingBuffer {
  public:
    using Producer = InputProducer<kStages, kStageBytes>;
    using Consumer = InputConsumer<kStages, Cluster>;

    JG_DEVICE InputRingBuffer(RingBarriers<kStages> &barriers, const Cluster &cluster)
        : barriers_(barriers), cluster_(cluster)
    {
    }

    static JG_DEVICE void init_barriers(RingBarriers<kStages> &barriers)
    {
        for (u32 i = 0; i < kStages; ++i) {
            ptx::mbarrier_init(&barriers.full[i], 1);
            ptx::mbarrier_init(&barriers.empty[i], kConsumers * Cluster::kSharers);
        }
    }

    JG_DEVICE Producer producer() const
    {
        return Producer(barriers_);
    }
    JG_DEVICE Consumer consumer() const
    {
        return Consumer(barriers_, cluster_);
    }

  private:
    RingBarriers<kStages> &barriers_;
    const Cluster &cluster_;
};

} // namespace jg
