// SPDX-License-Identifier: MIT
// Where this CTA stands in its cluster, and with whom it shares input tiles.
//
// Rank = m + n * kM. CTAs of the same m work on the same rows and share A; CTAs of the same
// n work on the same columns and share B.
#pragma once
#include <jg/common/types.cuh>

namespace jg {

template <u32 kClusterM, u32 kClusterN>
struct ClusterShape {
    static constexpr u32 kM = kClusterM;
    static constexpr u32 kN = kClusterN;
    static constexpr u32 kSize = kM * kN;
    static constexpr u32 kSharers =
        kM + kN - 1; // CTAs that share a tile with this one, itself too

    u32 m, n;

    JG_DEVICE explicit ClusterShape(u32 rank) : m(rank % kM), n(rank / kM) {}

    JG_DEVICE bool shares_tiles_with(u32 rank) const
    {
        return rank % kM == m || rank / kM == n;
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
        return static_cast<u16>(((1u << kM) - 1) << (n * kM));
    }
};

} // namespace jg
