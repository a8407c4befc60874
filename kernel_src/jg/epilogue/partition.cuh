// SPDX-License-Identifier: MIT
// RowPartition, ColumnPartition: which part of the tile a warp of the epilogue holds.
//
// Teams of whole warps share the tile. A team walks through its part in steps of up to 64
// columns of the accumulator, or 32 for each of the two of a gated D. Accumulators come in
// fragments of 16 lanes by some columns of the accumulator; a warp has kFragments of them
// side by side. With RowPartition a lane is a row of D: a warp holds kWarpRows rows of a
// step and all of its columns. With ColumnPartition a lane is a column of D, which lies
// transposed in the accumulator: a warp holds kWarpCols columns of a step and all of its
// rows. Store tiles of D are filled by kStoreTileWarps neighbouring warps; the plan says
// how large they are.
//
// Each chip has an EpiloguePartition, which derives from one of them and adds
//   kTileRows, kTileCols   of a CTA's tile, in D as it lies in memory
//   kTeams                 that share the tile; kWarpgroups of four warps each have as many
//   kRows, kCols           a team's part; first_row(team), first_col(team) in the tile
//   kAccColumns            columns of a team's accumulators: of a gated D two make one, or
//                          one row where it is transposed
// check_partition says to the compiler what that promises. The chip also has accumulators,
// with
//   kIndexed                  can they be read by a computed index?
//   read(step, col, values)   fragments of step `step` of lanes, from the accumulator's
//                             column `col` on
//   copy_step(buffer, step)   one of EpilogueLoad's steps, to the staging buffer
// of which every part is read, in order: the load of the last one gives them back.
#pragma once
#include <jg/common/types.cuh>

namespace jg {

// kGate: columns of an accumulator from `acc0` to `acc1` of an element, 1 where they are
// neighbours; 0: it has one.
template <u32 kFragmentsOfWarp, u32 kWarpsOfTeam, u32 kGate>
struct PartitionParts {
    enum : u32 {
        kFragments = kFragmentsOfWarp,
        kTeamWarps = kWarpsOfTeam,
        kTeamThreads = 32 * kTeamWarps,
        kGateColumns = kGate,
    };
    enum : bool { kNeighbours = kGate == 1 };
    // Registers of a thread that hold accumulators; none where these lie elsewhere.
    enum : u32 { kThreadAccumulators = 0 };
    // Do they leave few for what an epilogue computes?
    enum : bool { kFewRegisters = false };
    // Shared memory of a warp's store tiles and staging buffer, per output stage.
    enum : u32 { kWarpBytes = 16 * kFragments * 128 };

    // This warp's number in its warpgroup, and in its team. Who holds the thread's number
    // (ptx::hold) gives it.
    static JG_DEVICE u32 warp(u32 thread = threadIdx.x)
    {
        return thread % 128 / 32;
    }
    static JG_DEVICE u32 team_warp(u32 thread = threadIdx.x)
    {
        return kTeamWarps == 4 ? warp(thread) : warp(thread) % kTeamWarps;
    }
    // The named barrier of team `team`, where its warps meet.
    static JG_DEVICE u32 barrier(u32 team)
    {
        return 1 + team;
    }
};

template <class Config, u32 kFragmentsOfWarp, u32 kWarpsOfTeam>
struct RowPartition : PartitionParts<kFragmentsOfWarp, kWarpsOfTeam, Config::kGateColumns> {
    using Parts = PartitionParts<kFragmentsOfWarp, kWarpsOfTeam, Config::kGateColumns>;
    enum : bool { kTransposed = false };
    enum : u32 {
        kWarpRows = 16 * kFragmentsOfWarp,
        kStepCols = Parts::kGateColumns > 0 ? 32 : 64,
        kWarpCols = kStepCols,
        kStepRows = kWarpsOfTeam * kWarpRows,
        kStepAccColumns = kStepCols, // of each accumulator
        kStoreTileWarps = Config::kStoreTileRows / kWarpRows,
    };

    // First row and column of a step that this warp holds.
    static JG_DEVICE u32 warp_row(u32 thread = threadIdx.x)
    {
        return Parts::team_warp(thread) * kWarpRows;
    }
    static JG_DEVICE u32 warp_col(u32 = threadIdx.x)
    {
        return 0;
    }
};

// kRowsOfTeam: all rows of the team's part.
template <class Config, u32 kFragmentsOfWarp, u32 kRowsOfTeam>
struct ColumnPartition
    : PartitionParts<kFragmentsOfWarp, 64 / (16 * kFragmentsOfWarp), Config::kGateColumns> {
    using Parts = PartitionParts<kFragmentsOfWarp, 64 / (16 * kFragmentsOfWarp),
                                 Config::kGateColumns>;
    enum : bool { kTransposed = true };
    enum : u32 {
        kMostRows = Parts::kGateColumns > 0 ? 32 : 64,
        kStepRows = kRowsOfTeam < kMostRows ? kRowsOfTeam : kMostRows,
        kStepCols = 64,
        kWarpRows = kStepRows,
        kWarpCols = 16 * kFragmentsOfWarp,
        kStepAccColumns = kStepRows, // of each accumulator
        kStoreTileWarps =
            Config::kStoreTileSwizzleBytes / sizeof(typename Config::D) / kWarpCols,
    };

    static JG_DEVICE u32 warp_row(u32 = threadIdx.x)
    {
        return 0;
    }
    static JG_DEVICE u32 warp_col(u32 thread = threadIdx.x)
    {
        return Parts::team_warp(thread) * kWarpCols;
    }
};

// Do the teams' parts lie in the tile, apart from each other, and fill it?
template <class Partition>
constexpr JG_DEVICE bool covers_tile_once()
{
    using P = Partition;
    for (u32 i = 0; i < P::kTeams; ++i) {
        if (P::first_row(i) + P::kRows > P::kTileRows ||
            P::first_col(i) + P::kCols > P::kTileCols) {
            return false;
        }
        for (u32 j = 0; j < i; ++j) {
            if (P::first_row(i) < P::first_row(j) + P::kRows &&
                P::first_row(j) < P::first_row(i) + P::kRows &&
                P::first_col(i) < P::first_col(j) + P::kCols &&
                P::first_col(j) < P::first_col(i) + P::kCols) {
                return false;
            }
        }
    }
    return P::kTeams * P::kRows * P::kCols == P::kTileRows * P::kTileCols;
}

// The warpgroup that team `team` belongs to.
template <class Partition>
constexpr JG_DEVICE u32 warpgroup_of(u32 team)
{
    constexpr u32 kTeams = Partition::kTeams / Partition::kWarpgroups; // of each
    return Partition::kWarpgroups > 1 ? team / kTeams : 0;
}

// The contract of an EpiloguePartition: what both epilogues rely on. Always true, or a
// compile error that says what is wrong.
template <class Partition>
constexpr JG_DEVICE bool check_partition()
{
    using P = Partition;
    static_assert(covers_tile_once<P>(), "the teams' parts cover the tile once");
    static_assert(P::kTeams * P::kTeamWarps == 4 * P::kWarpgroups &&
                      P::kTeams % P::kWarpgroups == 0,
                  "teams share out all warps of their warpgroups");
    static_assert(P::kTeamThreads == 32 * P::kTeamWarps, "a team has whole warps");
    // Lanes: 16 of each fragment, side by side, through warps and teams.
    constexpr u32 kLanes = P::kTransposed ? P::kCols : P::kRows;
    constexpr u32 kStepLanes = P::kTransposed ? P::kStepCols : P::kStepRows;
    constexpr u32 kWarpLanes = P::kTransposed ? P::kWarpCols : P::kWarpRows;
    static_assert(kWarpLanes == 16 * P::kFragments, "a fragment has 16 lanes");
    static_assert(kStepLanes == P::kTeamWarps * kWarpLanes, "a step is a team's lanes");
    static_assert(kLanes % kStepLanes == 0, "steps divide a team's lanes");
    // Columns of the accumulator: of the last step there may be fewer.
    constexpr u32 kColumns = P::kTransposed ? P::kRows : P::kCols;
    static_assert((P::kTransposed ? P::kWarpRows : P::kWarpCols) ==
                      (P::kTransposed ? P::kStepRows : P::kStepCols),
                  "a warp has all columns of a step");
    static_assert(kColumns % 8 == 0 && P::kStepRows % 8 == 0,
                  "columns come in groups of 8");
    static_assert(P::kGateColumns == 0
                      ? P::kStepCols == 64 && P::kAccColumns == kColumns
                      : P::kAccColumns == 2 * kColumns &&
                            (P::kNeighbours || P::kGateColumns % kColumns == 0),
                  "a step's row is that of a box, or each half of the columns has acc0 or "
                  "acc1 of all elements, or each other one");
    static_assert(P::kWarpBytes == 16 * P::kFragments * 128,
                  "an output stage holds rows of 128 bytes for a warp's lanes");
    return true;
}

} // namespace jg
