// SPDX-License-Identifier: MIT
// Where this CTA stands in its cluster, and with whom it shares input tiles.
//
// Rank = m + n * kM. CTAs of the same m work on the same rows and share A; CTAs of the same
// n work on the same columns and share B. With a group of 2, CTAs of m = 2i and 2i + 1 are
// a pair that multiplies as one: each holds half of the pair's columns of B, so B is
// shared by the CTAs of the same n that are the same rank of their pair.
//
// Or they share nothing, and each has a part of the K of one tile: the rank is the part.
#pragma once
#include <jg/common/types.cuh>

namespace jg {

// Parts of K that the CTAs of a cluster have, a part each; 1: all have all of an item's.
template <class Config, bool kSplits = (Config::kSplitK > 1)>
struct ClusterParts {
    static constexpr u32 kCount = 1;
};
template <class Config>
struct ClusterParts<Config, true> {
    static constexpr u32 kCount = Config::kClusterParts;
};

// Clusters that have the parts of a tile's K, and add up in a workspace; 1: there is no
// need of one.
template <class Config>
constexpr u32 kWorkspaceParts = Config::kSplitK / ClusterParts<Config>::kCount;

template <u32 kClusterM, u32 kClusterN, u32 kCtasOfGroup = 1, u32 kPartsOfK = 1>
struct ClusterShape {
    static constexpr u32 kM = kClusterM;
    static constexpr u32 kN = kClusterN;
    static constexpr u32 kParts = kPartsOfK;
    static constexpr u32 kSize = kM * kN * kParts;
    static constexpr bool kShares = kM * kN > 1; // do CTAs read each other's tiles?
    static constexpr u32 kCtaGroup = kCtasOfGroup;
    static constexpr u32 kASlices = kN; // CTAs that share a tile of A, each loads one
    static constexpr u32 kBSlices = kM / kCtaGroup;
    // Groups that multiply a tile of this CTA, its own too: whom its multicasts reach.
    static constexpr u32 kMulticastPeers = kASlices + kBSlices - 1;
    static_assert(kM % kCtaGroup == 0, "a cluster has whole pairs");
    static_assert(kParts == 1 || !kShares, "CTAs share tiles, or the K of one");

    u32 m, n;
    u32 part; // of K

    JG_DEVICE explicit ClusterShape(u32 rank)
        : m(rank % kM), n(kParts > 1 ? 0 : rank / kM), part(kParts > 1 ? rank : 0)
    {
    }

    // In the pair: 0 of the leader CTA, or 1.
    JG_DEVICE u32 pair_rank() const
    {
        return m % kCtaGroup;
    }
    // Which slice of a shared tile this CTA loads.
    JG_DEVICE u32 a_slice() const
    {
        return n;
    }
    JG_DEVICE u32 b_slice() const
    {
        return m / kCtaGroup;
    }

    JG_DEVICE bool is_multicast_peer(u32 rank) const
    {
        return (rank % kM == m) | (rank / kM == n); // both: no branch
    }

    // CTAs that receive this CTA's slice of A, and of B.
    JG_DEVICE u16 a_mask() const
    {
        u32 mask = 0;
        for (u32 i = 0; i < kN; ++i) {
            mask |= 1u << (m + i * kM);
        }
        return static_cast<u16>(mask);
    }
    JG_DEVICE u16 b_mask() const
    {
        return static_cast<u16>(bits(kBSlices, kCtaGroup) << (pair_rank() + n * kM));
    }

    // This CTA's group, and the rank of its leader CTA.
    JG_DEVICE u16 group_mask() const
    {
        return static_cast<u16>(bits(kCtaGroup, 1) << leader_rank());
    }
    JG_DEVICE u32 leader_rank() const
    {
        return m - pair_rank() + n * kM;
    }
    // CTAs whose tiles this group multiplies, which it tells when it has read a stage:
    // those of its rows, and of its columns.
    JG_DEVICE u16 release_mask() const
    {
        u32 mask = bits(kM, 1) << (n * kM);
        for (u32 i = 0; i < kN; ++i) {
            mask |= bits(kCtaGroup, 1) << (m - pair_rank() + i * kM);
        }
        return static_cast<u16>(mask);
    }

  private:
    // `count` bits, `step` apart, from bit 0 on.
    static constexpr JG_DEVICE u32 bits(u32 count, u32 step)
    {
        u32 mask = 0;
        for (u32 i = 0; i < count; ++i) {
            mask |= 1u << (i * step);
        }
        return mask;
    }
};

} // namespace jg
