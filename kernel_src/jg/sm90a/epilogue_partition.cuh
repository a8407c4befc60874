// SPDX-License-Identifier: MIT
// EpiloguePartition: a math warpgroup's part of the tile, which it multiplies and writes.
//
// Half of the tile's rows, or half of its columns where D has only 64 rows of it; all of it
// where the warpgroups take tiles in turn (Config::kPingpong). A wgmma gives each warp 16
// of 64 rows, so a team is a warpgroup. Used by MmaOp and both epilogues. With
// Config::kGateInA there are two multiplications, one for each accumulator of a gated D,
// whose columns lie side by side.
#pragma once
#include <jg/epilogue/partition.cuh>
#include <jg/sm90a/roles.cuh>

namespace jg::sm90a {

template <class Config>
struct EpiloguePartition : RowPartition<Config, 1, 4> {
    static constexpr u32 kMmas = Config::kGateInA ? 2 : 1;
    static constexpr u32 kTileRows = Config::kBlockM / kMmas;
    static constexpr u32 kTileCols =
        Config::kGated && !Config::kGateInA ? Config::kBlockN / 2 : Config::kBlockN;
    static constexpr u32 kTeams = Config::kPingpong ? 1 : Roles::kConsumers;
    static constexpr u32 kWarpgroups = kTeams;
    static constexpr bool kSplitRows = kTeams > 1 && kTileRows >= 128;
    static constexpr bool kSplitCols = kTeams > 1 && !kSplitRows;
    static constexpr u32 kRows = kSplitRows ? kTileRows / 2 : kTileRows;
    static constexpr u32 kCols = kSplitCols ? kTileCols / 2 : kTileCols;
    // Of one multiplication, and of the accumulators, whose columns make D's.
    static constexpr u32 kMmaColumns = kSplitCols ? Config::kBlockN / 2 : Config::kBlockN;
    static constexpr u32 kAccColumns = kMmas * kMmaColumns;
    static constexpr u32 kThreadAccumulators = kRows * kAccColumns / 128;

    static constexpr JG_DEVICE u32 first_row(u32 team)
    {
        return kSplitRows ? team * kRows : 0;
    }
    static constexpr JG_DEVICE u32 first_col(u32 team)
    {
        return kSplitCols ? team * kCols : 0;
    }
    // Of the tile's columns in the product.
    static constexpr JG_DEVICE u32 first_acc_column(u32 team)
    {
        return kSplitCols ? team * kMmaColumns : 0;
    }
    // The warpgroups that take turns have a barrier each.
    static JG_DEVICE u32 barrier(u32 team)
    {
        return 1 + (kTeams > 1 ? team : Roles().consumer());
    }
};

} // namespace jg::sm90a
