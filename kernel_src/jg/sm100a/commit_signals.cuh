// SPDX-License-Identifier: MIT
// CommitSignals: a ring whose stages are read by the tensor core.
//
// All bytes that a pair of CTAs gets count in its leader CTA, whose MMA thread multiplies
// for both: that CTA announces them, the odd one nothing. The MMA thread releases a stage
// by a commit, which arrives when the tensor core has read it, in every CTA whose copies
// reach this CTA or pair. A commit speaks of what the tensor core did: where the MMA thread
// itself writes to stages of its CTA or pair (kWrites), it arrives there, too; behind what
// it writes to the pair's other CTA stands a release of its own. Called by:
// see InputRingBuffer; release is called by the thread that issued the multiplications.
#pragma once
#include <jg/common/cluster_shape.cuh>
#include <jg/debug/waits.cuh>
#include <jg/ptx/mbarrier.cuh>
#include <jg/ptx/tcgen05.cuh>

namespace jg::sm100a {

template <class ClusterT, bool kWrites>
class CommitSignals {
  public:
    using Cluster = ClusterT;
    static constexpr debug::Ring kRing = debug::Ring::kTiles;
    enum : u32 { kReleases = Cluster::kMulticastPeers + kWrites };

    JG_DEVICE explicit CommitSignals(const Cluster &cluster)
        : is_leader_(cluster.pair_rank() == 0), leader_rank_(cluster.leader_rank()),
          release_mask_(cluster.release_mask())
    {
    }

    // `bytes`: of one CTA's stage.
    JG_DEVICE void announce(u64 *full, u32 bytes) const
    {
        if (Cluster::kCtaGroup == 1 || is_leader_) {
            ptx::mbarrier_arrive_expect_bytes(full, Cluster::kCtaGroup * bytes);
        }
    }

    JG_DEVICE void release(u64 *empty) const
    {
        if constexpr (!Cluster::kShares) {
            ptx::tcgen05_commit<Cluster::kCtaGroup>(empty);
        } else {
            ptx::tcgen05_commit_multicast<Cluster::kCtaGroup>(empty, release_mask_);
        }
        if constexpr (kWrites) {
            ptx::mbarrier_arrive(empty);
            if constexpr (Cluster::kCtaGroup == 2) {
                ptx::mbarrier_arrive_relaxed(empty, leader_rank_ + 1);
            }
        }
    }

  private:
    bool is_leader_;
    u32 leader_rank_;
    u16 release_mask_;
};

} // namespace jg::sm100a
