// SPDX-License-Identifier: MIT
// EpiloguePartition: a math warpgroup's part of the tile, which it multiplies and writes.
//
// Half of the tile's rows, or half of its columns where it has only 64 rows. A wgmma gives
// each warp 16 of 64 rows, so a team is a warpgroup. Used by MmaOp and both epilogues.
#pragma once
#include <jg/epilogue/partition.cuh>
#include <jg/sm90a/roles.cuh>

namespace jg::sm90a {

template <class Config>
struct EpiloguePartition : RowPartition<1, 4, 4> {
    static constexpr u32 kStoreTileSwizzleBytes = 128;
    static constexpr bool kWholeStoreTiles = true;
    // Matrices come through the ring of input tiles. Of a ring that threads fill the
    // epilogue gets none: it loads matrices itself, as those that TMA does not take.
    static constexpr u32 kEpilogueLoadStages =
        Config::kThreadLoads || Config::kOutputAlignment < 16 ? 0 : Config::kStages;
    static constexpr u32 kTeams = Roles::kConsumers;
    static constexpr u32 kWarpgroups = kTeams;
    static constexpr bool kSplitRows = Config::kBlockM >= 128;
    static constexpr u32 kRows = kSplitRows ? Config::kBlockM / 2 : Config::kBlockM;
    static constexpr u32 kCols = kSplitRows ? Config::kBlockN : Config::kBlockN / 2;

    static JG_DEVICE u32 first_row(u32 team)
    {
        return kSplitRows ? team * kRows : 0;
    }
    static JG_DEVICE u32 first_col(u32 team)
    {
        return kSplitRows ? 0 : team * kCols;
    }
};

} // namespace jg::sm90a
