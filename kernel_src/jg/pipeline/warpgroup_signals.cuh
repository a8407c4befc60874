// SPDX-License-Identifier: MIT
// WarpgroupSignals: a ring whose stages are read by the threads of warpgroups, or of teams
// of fewer warps.
//
// Each CTA announces what lands in its own stage. A team releases a stage by one arrival in
// every CTA whose copies reach it. Called by: see InputRingBuffer; release needs all
// threads of a team, whose reads are over.
#pragma once
#include <jg/common/cluster_shape.cuh>
#include <jg/debug/waits.cuh>
#include <jg/ptx/mbarrier.cuh>

namespace jg {

template <u32 kTeams, class ClusterT, u32 kTeamThreads = 128>
class WarpgroupSignals {
  public:
    using Cluster = ClusterT;
    static constexpr debug::Ring kRing = debug::Ring::kWarps;
    enum : u32 { kReleases = kTeams * Cluster::kMulticastPeers };
    static_assert(Cluster::kSize <= kTeamThreads, "a thread arrives in each CTA");

    JG_DEVICE explicit WarpgroupSignals(const Cluster &cluster)
        : arrives_(Cluster::kShares
                       ? (rank() < Cluster::kSize) & cluster.is_multicast_peer(rank())
                       : rank() == 0)
    {
    }

    JG_DEVICE void announce(u64 *full, u32 bytes) const
    {
        ptx::mbarrier_arrive_expect_bytes(full, bytes);
    }

    JG_DEVICE void release(u64 *empty) const
    {
        if (arrives_) {
            if constexpr (!Cluster::kShares) {
                ptx::mbarrier_arrive(empty);
            } else {
                ptx::mbarrier_arrive_remote(empty, rank());
            }
        }
    }

  private:
    // This thread's number in its team: it arrives in the CTA of that rank.
    static JG_DEVICE u32 rank()
    {
        return threadIdx.x % kTeamThreads;
    }

    bool arrives_;
};

// The same where each of so many warps reads by itself, beside the tensor core.
template <u32 kWarps, class ClusterT>
class WarpSignals : public WarpgroupSignals<kWarps, ClusterT, 32> {
    using Base = WarpgroupSignals<kWarps, ClusterT, 32>;

  public:
    JG_DEVICE explicit WarpSignals(const ClusterT &cluster) : Base(cluster) {}

    JG_DEVICE void release(u64 *empty) const
    {
        __syncwarp();
        Base::release(empty);
    }
};

} // namespace jg
