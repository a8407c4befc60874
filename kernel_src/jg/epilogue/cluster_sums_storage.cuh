// SPDX-License-Identifier: MIT
// ClusterSumsStorage: the shared memory of ClusterSums (cluster_sums.cuh), or of
// ClusterShares (cluster_shares.cuh); nothing where the CTAs of a cluster do not share a
// tile's K. WorkspaceSharesStorage: that of WorkspaceShares (workspace_shares.cuh). The
// sums are in it, or in the input ring, which nobody needs any more when they are stored.
#pragma once
#include <jg/common/cluster_shape.cuh>
#include <jg/debug/waits.cuh>

namespace jg {

template <u32 kBytes, bool kInRing>
struct ClusterSumsMemory {
    alignas(256) u8 bytes[kBytes]; // a row of a staging buffer

    template <class Ring>
    JG_DEVICE u8 *place(Ring &)
    {
        return bytes;
    }
};
template <u32 kBytes>
struct ClusterSumsMemory<kBytes, true> {
    template <class Ring>
    JG_DEVICE u8 *place(Ring &ring)
    {
        static_assert(sizeof(ring) >= kBytes, "the ring holds a tile's sums");
        return reinterpret_cast<u8 *>(&ring);
    }
};

// Of a CTA with kWarps warps that hold accumulators.
template <class Config, u32 kWarps, u32 kParts = ClusterParts<Config>::kCount>
struct ClusterSumsStorage {
    enum : u32 { kSumsBytes = Config::kSumsBytes };

    ClusterSumsMemory<kSumsBytes, Config::kSumsInRing> sums;
    u64 stored[kWarps], summed[kWarps], ended[kWarps];

    // For the one phase of one of them; `step` names it where a wait is told of.
    static JG_DEVICE void wait(u64 &barrier, u32 step)
    {
        debug::wait_relaxed(
            &barrier, 0,
            debug::BarrierId{debug::Ring::kClusterSums, debug::Side::kFull, step});
    }
};
template <class Config, u32 kWarps>
struct ClusterSumsStorage<Config, kWarps, 1> {
};

template <class Config>
struct WorkspaceSharesStorage {
    ClusterSumsMemory<Config::kSumsBytes, Config::kSumsInRing> sums;
    u32 shares; // that this CTA writes, a bit each
};

// Of a CTA: what its parts of K take.
template <class Config, u32 kWarps, bool kInWorkspace = shares_in_workspace<Config>>
struct PartsStorage {
    using Type = ClusterSumsStorage<Config, kWarps>;
};
template <class Config, u32 kWarps>
struct PartsStorage<Config, kWarps, true> {
    using Type = WorkspaceSharesStorage<Config>;
};

} // namespace jg
