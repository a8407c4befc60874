// SPDX-License-Identifier: MIT
// LaneLayout: where a CTA's accumulator lies in tensor memory. EpiloguePartition: what of
// it each warp of the epilogue holds; each reaches the 32 lanes that its number names. Two
// warpgroups (Config::kEpilogueWarpgroups) have half of the columns each.
//
//   rows of the MMA in a CTA,
//   cta_group                  lanes of a warp      columns
//   128, 1 or 2                32: row = lane       as in the product
//   64, 1                      16 of its 32         as in the product
//   64, 2                      32: row = lane % 64  warps 2 and 3 hold the right half
//
// A row here is one of the multiplication. With Config::kTransposed it is a column of D.
// With Config::kGateInA there are two multiplications, one for each accumulator of a gated
// D, whose columns lie side by side.
#pragma once
#include <jg/epilogue/partition.cuh>

namespace jg::sm100a {

template <class Config>
struct LaneLayout {
    enum : u32 {
        kMmas = Config::kGateInA ? 2 : 1,
        kRows = Config::kBlockM / kMmas, // of one, in a CTA
    };
    enum : bool { kSplit = kRows == 64 && Config::kCtaGroup == 2 };
    enum : u32 {
        kWarpLanes = kRows == 64 && !kSplit ? 16 : 32,
        kMmaColumns = kSplit ? Config::kBlockN / 2 : Config::kBlockN,
        kColumns = kMmas * kMmaColumns,
        // Those that D has of them.
        kColumnsOfD = Config::kGated ? kColumns / 2 : kColumns,
        // Of an accumulator: a multiple of what is allocated at least.
        kPitch = (kColumns + 31) / 32 * 32,
        // From one to the next, which may share columns.
        kStep = Config::kAccStages == 1 ? 0 : kPitch - Config::kSharedColumns,
        kShared = Config::kSharedColumns,
        kRingStages = kShared > 0 ? 1 : Config::kAccStages,
    };

    // Of this thread's warpgroup, among the epilogue's warps: 0 or 4.
    static JG_DEVICE u32 first_warp()
    {
        return Config::kEpilogueWarpgroups > 1 ? threadIdx.x / 128 * 4 : 0;
    }
};

// Lanes are rows of D; each warp has its own store tiles.
template <class Config, bool kTransposed = Config::kTransposed>
struct EpiloguePartition : RowPartition<Config, LaneLayout<Config>::kWarpLanes / 16,
                                        LaneLayout<Config>::kSplit ? 2 : 4> {
    using Layout = LaneLayout<Config>;
    enum : u32 {
        kWarpgroups = Config::kEpilogueWarpgroups,
        kTeams = Layout::kSplit ? 2 : kWarpgroups,
        kRows = Layout::kRows,
        kCols = Layout::kColumnsOfD / kWarpgroups,
        kTileRows = kRows,
        kTileCols = kCols * kTeams,
        kAccColumns = Layout::kColumns / kWarpgroups,
    };
    static_assert(kWarpgroups == 1 || Layout::kRows == 128, "the plan tiles it so");

    static constexpr JG_DEVICE u32 first_row(u32)
    {
        return 0;
    }
    static constexpr JG_DEVICE u32 first_col(u32 team)
    {
        return team * kCols;
    }
};

// Lanes are columns of D. Rows of a store tile have 128 bytes: one, two or four warps'
// lanes.
template <class Config>
struct EpiloguePartition<Config, true>
    : ColumnPartition<Config, LaneLayout<Config>::kWarpLanes / 16,
                      LaneLayout<Config>::kColumnsOfD / Config::kEpilogueWarpgroups> {
    using Layout = LaneLayout<Config>;
    enum : u32 {
        kWarpgroups = Config::kEpilogueWarpgroups,
        kOfWarpgroup = Layout::kWarpLanes == 16 ? 1 : 2, // teams
        kTeams = kWarpgroups * kOfWarpgroup,
        kRows = Layout::kColumnsOfD / kWarpgroups,
        kCols = 64,
        kTileRows = (Layout::kSplit ? 2 : kWarpgroups) * kRows,
        kTileCols = Layout::kRows,
        kAccColumns = Layout::kColumns / kWarpgroups,
    };
    static_assert(kWarpgroups == 1 || Layout::kRows == 128, "the plan tiles it so");

    static constexpr JG_DEVICE u32 first_row(u32 team)
    {
        return (Layout::kSplit ? team : warpgroup_of<EpiloguePartition>(team)) * kRows;
    }
    static constexpr JG_DEVICE u32 first_col(u32 team)
    {
        const u32 first = warpgroup_of<EpiloguePartition>(team) * kOfWarpgroup;
        return Layout::kSplit ? 0 : (team - first) * kCols;
    }
    // And the next one: a team may fill two store tiles at once.
    static JG_DEVICE u32 barrier(u32 team)
    {
        return 1 + team + warpgroup_of<EpiloguePartition>(team);
    }
};

} // namespace jg::sm100a
