// SPDX-License-Identifier: MIT
// ConsumerOrder: the math warpgroups end a tile one after the other. The second one holds
// its last Config::kLeadStages stages back until the first has issued all of its own. So it
// has products left for the tensor core while the first writes D, and the first is at the
// next tile while the second writes.
//
// Called by: all threads of a math warpgroup, one object per item. Uses a barrier of the
// CTA that the epilogues do not.
#pragma once
#include <jg/ptx/cluster.cuh>
#include <jg/sm90a/roles.cuh>

namespace jg::sm90a {

template <class Config>
class ConsumerOrder {
    enum : u32 {
        kBarrier = 7, // 1 to 6 are the epilogues'
        kThreads = 128 * Roles::kConsumers,
        kLead = Config::kLeadStages,
    };
    // The stage before those that are held back is in flight, and not released either.
    static_assert(kLead < Config::kStages, "the first warpgroup has stages to the end");

  public:
    JG_DEVICE ConsumerOrder(u32 consumer, u32 k_blocks)
        : consumer_(consumer), k_blocks_(k_blocks)
    {
    }

    // Before a block of K, of which `left` are left with it.
    JG_DEVICE void hold(u32 left) const
    {
        if constexpr (kLead > 0) {
            const bool holds = (consumer_ == 1) & is_kept() & (left == kLead);
            ptx::named_barrier_sync_if(holds, kBarrier, kThreads);
        }
    }

    // When the products of all blocks are issued.
    JG_DEVICE void pass_on() const
    {
        if (consumer_ == 0 && is_kept()) {
            ptx::named_barrier_arrive(kBarrier, kThreads);
        }
    }

  private:
    // Of items that fill the ring: the first warpgroup cannot issue all of one before the
    // second has released the last stage of the item before, so it is never two ahead.
    JG_DEVICE bool is_kept() const
    {
        return (kLead > 0) & (k_blocks_ >= Config::kStages);
    }

    u32 consumer_, k_blocks_;
};

} // namespace jg::sm90a
