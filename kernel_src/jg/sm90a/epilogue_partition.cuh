// SPDX-License-Identifier: MIT
// MmaPartition: a math warpgroup's part of the tile, which it multiplies.
// EpiloguePartition: the same as the part of D that it writes.
//
// Half of the tile's rows, or half of its columns where there are only 64 rows; all of it
// where the warpgroups take tiles in turn (Config::kPingpong). A wgmma gives each warp 16
// of 64 rows, so a team is a warpgroup. With takes_k_turns each multiplies all of the
// tile for half of K, with Config::kOneMultiplies the first one for all of K; and each
// writes the half of the columns that it would have had. With Config::kGateInA there are
// two multiplications, one for each accumulator of a gated D, whose columns lie side by
// side. With Config::kTransposed a row of the multiplication is a column of D.
#pragma once
#include <jg/common/block_scale.cuh>
#include <jg/epilogue/partition.cuh>
#include <jg/sm90a/roles.cuh>

namespace jg::sm90a {

// Used by MmaOp and both partitions below. Rows and columns are those of the product.
template <class Config>
struct MmaPartition {
    enum : u32 {
        kMmas = Config::kGateInA ? 2 : 1,
        kMmaRows = Config::kBlockM / kMmas, // of one, in the tile
        kTeams = Config::kPingpong ? 1 : Roles::kConsumers,
    };
    enum : bool {
        kSplitRows = kTeams > 1 && kMmaRows >= 128,
        kSplitCols = kTeams > 1 && !kSplitRows,
        kTurns = takes_k_turns<Config>(),
        kWhole = kTurns || Config::kOneMultiplies, // all columns are one team's
    };
    static_assert(!kWhole || (kSplitCols && kMmas == 1), "of 64 rows, without pairs");
    // Of a team.
    enum : u32 {
        kRows = kSplitRows ? kMmaRows / 2 : kMmaRows,
        kMmaColumns = kSplitCols && !kWhole ? Config::kBlockN / 2 : Config::kBlockN,
        kSumColumns = kMmas * kMmaColumns,                    // that it multiplies,
        kAccColumns = kWhole ? kSumColumns / 2 : kSumColumns, // and writes
        // Those that D has of them.
        kColumnsOfD =
            kWhole || (Config::kGated && !Config::kGateInA) ? kMmaColumns / 2 : kMmaColumns,
    };

    static constexpr JG_DEVICE u32 first_row(u32 team)
    {
        return kSplitRows ? team * kRows : 0;
    }
    static constexpr JG_DEVICE u32 first_column(u32 team)
    {
        return kSplitCols && !kWhole ? team * kMmaColumns : 0;
    }
};

// Lanes are rows of D.
template <class Config, bool kTransposed = Config::kTransposed>
struct EpiloguePartition : RowPartition<Config, 1, 4> {
    using Mma = MmaPartition<Config>;
    enum : u32 {
        kTeams = Mma::kTeams,
        kWarpgroups = kTeams,
        kRows = Mma::kRows,
        kCols = Mma::kColumnsOfD,
        kTileRows = Mma::kMmaRows,
        kTileCols = Mma::kSplitCols ? 2 * kCols : kCols,
        kAccColumns = Mma::kAccColumns,
        kThreadAccumulators = kRows * kAccColumns / 128,
    };
    enum : bool { kFewRegisters = kThreadAccumulators > 128 };

    static constexpr JG_DEVICE u32 first_row(u32 team)
    {
        return Mma::first_row(team);
    }
    static constexpr JG_DEVICE u32 first_col(u32 team)
    {
        return Mma::kSplitCols ? team * kCols : 0;
    }
    // The warpgroups that take turns have a barrier each.
    static JG_DEVICE u32 barrier(u32 team)
    {
        return 1 + (kTeams > 1 ? team : Roles().consumer());
    }
};

// Lanes are columns of D: 64 of a team, or 128 where only fragments are read.
template <class Config>
struct EpiloguePartition<Config, true>
    : ColumnPartition<Config, 1, MmaPartition<Config>::kColumnsOfD> {
    using Mma = MmaPartition<Config>;
    static_assert(Mma::kRows % 64 == 0 && Mma::kTeams > 1, "the plan tiles it so");
    enum : u32 {
        kTeams = Mma::kTeams,
        kWarpgroups = kTeams,
        kRows = Mma::kColumnsOfD,
        kCols = Mma::kRows,
        kTileRows = Mma::kSplitCols ? 2 * kRows : kRows,
        kTileCols = Mma::kMmaRows,
        kAccColumns = Mma::kAccColumns,
        kThreadAccumulators = kCols * kAccColumns / 128,
    };

    static constexpr JG_DEVICE u32 first_row(u32 team)
    {
        return Mma::kSplitCols ? team * kRows : 0;
    }
    static constexpr JG_DEVICE u32 first_col(u32 team)
    {
        return Mma::first_row(team);
    }
    // And the next one: a team may fill two store tiles at once.
    static JG_DEVICE u32 barrier(u32 team)
    {
        return 1 + 2 * team;
    }
};

} // namespace jg::sm90a
