// SPDX-License-Identifier: MIT
// Where this CTA stands in its cluster, and with whom it shares input tiles.
//
// Rank = m + n * kM + part * kM * kN. Of those that have the same part of K, CTAs of the
// same m work on the same rows and share A; CTAs of the same n work on the same columns and
// share B. With a group of 2, CTAs of m = 2i and 2i + 1 are a pair that multiplies as one:
// each holds half of the pair's columns of B, so B is shared by the CTAs of the same n that
// are the same rank of their pair. CTAs that have other parts of K share no inputs.
#pragma once
#include <jg/common/types.cuh>

namespace jg {

// Parts of K that the CTAs of a cluster have, a part each; 1: all have all of an item's.
template <class Config, bool kSplits = (Config::kSplitK > 1)>
struct ClusterParts {
    enum : u32 { kCount = 1 };
};
template <class Config>
struct ClusterParts<Config, true> {
    enum : u32 { kCount = Config::kClusterParts };
};

// Clusters that have the parts of a tile's K, and add up in a workspace; 1: there is no
// need of one.
template <class Config>
constexpr u32 kWorkspaceParts = Config::kSplitK / ClusterParts<Config>::kCount;

// Cluster tiles of a wave, where those of whole waves have no parts of K; 0: all have.
template <class Config, bool kSplits = (Config::kSplitK > 1)>
struct SplitTail {
    enum : u32 { kWave = 0 };
};
template <class Config>
struct SplitTail<Config, true> {
    enum : u32 { kWave = Config::kSplitTail };
};

// Do these CTAs each write a share of D (epilogue/workspace_shares.cuh)?
template <class Config>
constexpr bool shares_in_workspace =
    Config::kDividesOutput &&ClusterParts<Config>::kCount == 1;

template <u32 kClusterM, u32 kClusterN, u32 kCtasOfGroup = 1, u32 kPartsOfK = 1>
struct ClusterShape {
    enum : u32 {
        kM = kClusterM,
        kN = kClusterN,
        kParts = kPartsOfK,
        kTiles = kM * kN, // of D, a CTA for each part of one
        kSize = kTiles * kParts,
    };
    enum : bool { kShares = kTiles > 1 }; // do CTAs read each other's tiles?
    enum : u32 {
        kCtaGroup = kCtasOfGroup,
        kASlices = kN, // CTAs that share a tile of A, each loads one
        kBSlices = kM / kCtaGroup,
        // Groups that multiply a tile of this CTA, its own too: whom its multicasts reach.
        kMulticastPeers = kASlices + kBSlices - 1,
    };
    static_assert(kM % kCtaGroup == 0, "a cluster has whole pairs");

    u32 m, n;
    u32 part; // of K

    JG_DEVICE explicit ClusterShape(u32 rank)
        : m(rank % kM), n(kParts > 1 ? rank / kM % kN : rank / kM),
          part(kParts > 1 ? rank / kTiles : 0)
    {
    }

    // That has this part of K of this CTA's tile.
    JG_DEVICE u32 rank_of_part(u32 other) const
    {
        return m + n * kM + other * kTiles;
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
        const ClusterShape other(rank);
        return (other.part == part) & ((other.m == m) | (other.n == n)); // no branch
    }

    // CTAs that receive this CTA's slice of A, and of B.
    JG_DEVICE u16 a_mask() const
    {
        u32 mask = 0;
        for (u32 i = 0; i < kN; ++i) {
            mask |= 1u << (m + i * kM);
        }
        return of_part(mask);
    }
    JG_DEVICE u16 b_mask() const
    {
        return of_part(bits(kBSlices, kCtaGroup) << (pair_rank() + n * kM));
    }

    // All CTAs with this part of K.
    JG_DEVICE u16 all_mask() const
    {
        return of_part(bits(kTiles, 1));
    }

    // This CTA's group, and the rank of its leader CTA.
    JG_DEVICE u16 group_mask() const
    {
        return static_cast<u16>(bits(kCtaGroup, 1) << leader_rank());
    }
    JG_DEVICE u32 leader_rank() const
    {
        return m - pair_rank() + n * kM + part * kTiles;
    }
    // CTAs whose tiles this group multiplies, which it tells when it has read a stage:
    // those of its rows, and of its columns.
    JG_DEVICE u16 release_mask() const
    {
        u32 mask = bits(kM, 1) << (n * kM);
        for (u32 i = 0; i < kN; ++i) {
            mask |= bits(kCtaGroup, 1) << (m - pair_rank() + i * kM);
        }
        return of_part(mask);
    }

  private:
    // CTAs of the first part, as those of this one.
    JG_DEVICE u16 of_part(u32 mask) const
    {
        return static_cast<u16>(mask << (part * kTiles));
    }
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
