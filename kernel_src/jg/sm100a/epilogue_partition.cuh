// SPDX-License-Identifier: MIT
// LaneLayout: where a CTA's accumulator lies in tensor memory. EpiloguePartition: what of
// it each warp of the epilogue holds; each reaches the 32 lanes that its number names.
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
    static constexpr u32 kMmas = Config::kGateInA ? 2 : 1;
    static constexpr u32 kRows = Config::kBlockM / kMmas; // of one, in a CTA
    static constexpr bool kSplit = kRows == 64 && Config::kCtaGroup == 2;
    static constexpr u32 kWarpLanes = kRows == 64 && !kSplit ? 16 : 32;
    static constexpr u32 kMmaColumns = kSplit ? Config::kBlockN / 2 : Config::kBlockN;
    static constexpr u32 kColumns = kMmas * kMmaColumns;
    // Those that D has of them.
    static constexpr u32 kColumnsOfD = Config::kGated ? kColumns / 2 : kColumns;
    // From one accumulator to the next: a multiple of what is allocated at least.
    static constexpr u32 kPitch = (kColumns + 31) / 32 * 32;
};

// Lanes are rows of D; each warp has its own store tiles.
template <class Config, bool kTransposed = Config::kTransposed>
struct EpiloguePartition : RowPartition<Config, LaneLayout<Config>::kWarpLanes / 16,
                                        LaneLayout<Config>::kSplit ? 2 : 4> {
    using Layout = LaneLayout<Config>;
    static constexpr u32 kWarpgroups = 1;
    static constexpr u32 kTeams = Layout::kSplit ? 2 : 1;
    static constexpr u32 kRows = Layout::kRows;
    static constexpr u32 kCols = Layout::kColumnsOfD;
    static constexpr u32 kTileRows = kRows;
    static constexpr u32 kTileCols = kCols * kTeams;
    static constexpr u32 kAccColumns = Layout::kColumns;

    static constexpr JG_DEVICE u32 first_row(u32)
    {
        return 0;
    }
    static constexpr JG_DEVICE u32 first_col(u32 team)
    {
        return Layout::kSplit ? team * kCols : 0;
    }
};

// Lanes are columns of D. Rows of a store tile have 128 bytes: one, two or four warps'
// lanes.
template <class Config>
struct EpiloguePartition<Config, true>
    : ColumnPartition<Config, LaneLayout<Config>::kWarpLanes / 16,
                      LaneLayout<Config>::kColumnsOfD> {
    using Layout = LaneLayout<Config>;
    static constexpr u32 kWarpgroups = 1;
    static constexpr u32 kTeams = Layout::kWarpLanes == 16 ? 1 : 2;
    static constexpr u32 kRows = Layout::kColumnsOfD;
    static constexpr u32 kCols = 64;
    static constexpr u32 kTileRows = Layout::kSplit ? 2 * kRows : kRows;
    static constexpr u32 kTileCols = Layout::kRows;
    static constexpr u32 kAccColumns = Layout::kColumns;

    static constexpr JG_DEVICE u32 first_row(u32 team)
    {
        return Layout::kSplit ? team * kRows : 0;
    }
    static constexpr JG_DEVICE u32 first_col(u32 team)
    {
        return Layout::kSplit || kTeams == 1 ? 0 : team * kCols;
    }
};

} // namespace jg::sm100a
