// SPDX-License-Identifier: MIT
// RowPartition, ColumnPartition: which part of the tile a warp of the epilogue holds.
//
// Teams of whole warps share the tile. A team walks through its part in steps of some rows
// by 64 columns. Accumulators come in fragments of 16 lanes by some columns of the
// accumulator; a warp has kFragments of them side by side. With RowPartition a lane is a
// row of D: a warp holds kWarpRows rows of a step and all of its columns. With
// ColumnPartition a lane is a column of D, which lies transposed in the accumulator: a warp
// holds kWarpCols columns of a step and all of its rows. Slabs of D are filled by
// kStoreTileWarps neighbouring warps; a row of a slab has kStoreTileSwizzleBytes bytes, the
// span of its swizzle.
//
// Each chip has a Partition, which derives from one of them and adds
//   kEpilogueLoadStages   stages of the ring that brings matrices to the epilogue
//   kTeams      teams that share the tile; kWarpgroups   of which they are parts
//   kRows, kCols    a team's part; first_row(team), first_col(team) in the tile
//   kStoreTileRows, kStoreTileSwizzleBytes      of a slab; kWholeStoreTiles: do slabs of 16
//   lanes by at least 16
//                             columns of the accumulator fill a team's part?
// and accumulators, with
//   kIndexed        can they be read by a computed index?
//   read(step, col, values)   fragments of row step `step`, from the accumulator's column
//                             `col` on
//   stage(warp_stage, step)   one of EpilogueLoad' steps, to shared memory
// of which every part is read, in order: the load of the last one gives them back.
#pragma once
#include <jg/common/types.cuh>

namespace jg {

// Do the tiles of all clusters end where D ends, at every launch? Then nothing has to look.
template <class Config>
struct WholeTiles {
    static constexpr bool kRows =
        Config::kM && Config::kM % (Config::kBlockM * Config::kClusterM) == 0;
    static constexpr bool kCols =
        Config::kN && Config::kN % (Config::kBlockN * Config::kClusterN) == 0;
};

template <u32 kFragmentsOfWarp, u32 kWarpsOfTeam>
struct PartitionParts {
    static constexpr u32 kFragments = kFragmentsOfWarp;
    static constexpr u32 kTeamWarps = kWarpsOfTeam;
    static constexpr u32 kTeamThreads = 32 * kTeamWarps;
    static constexpr u32 kStepCols = 64;
    // Shared memory of a warp's slabs and staging area, one output stage.
    static constexpr u32 kWarpBytes = 16 * kFragments * 128;

    // This warp's number in its warpgroup, and in its team.
    static JG_DEVICE u32 warp()
    {
        return threadIdx.x % 128 / 32;
    }
    static JG_DEVICE u32 team_warp()
    {
        return kTeamWarps == 4 ? warp() : warp() % kTeamWarps;
    }
};

template <u32 kFragmentsOfWarp, u32 kWarpsOfTeam, u32 kWarpsOfSlab>
struct RowPartition : PartitionParts<kFragmentsOfWarp, kWarpsOfTeam> {
    using Parts = PartitionParts<kFragmentsOfWarp, kWarpsOfTeam>;
    static constexpr bool kTransposed = false;
    static constexpr u32 kWarpRows = 16 * kFragmentsOfWarp;
    static constexpr u32 kWarpCols = Parts::kStepCols;
    static constexpr u32 kStepRows = kWarpsOfTeam * kWarpRows;
    static constexpr u32 kStoreTileWarps = kWarpsOfSlab;
    static constexpr u32 kStoreTileRows = kStoreTileWarps * kWarpRows;

    // First row and column of a step that this warp holds.
    static JG_DEVICE u32 warp_row()
    {
        return Parts::team_warp() * kWarpRows;
    }
    static JG_DEVICE u32 warp_col()
    {
        return 0;
    }
};

template <u32 kFragmentsOfWarp, u32 kRowsOfStep, u32 kWarpsOfSlab>
struct ColumnPartition : PartitionParts<kFragmentsOfWarp, 64 / (16 * kFragmentsOfWarp)> {
    using Parts = PartitionParts<kFragmentsOfWarp, 64 / (16 * kFragmentsOfWarp)>;
    static constexpr bool kTransposed = true;
    static constexpr u32 kWarpRows = kRowsOfStep;
    static constexpr u32 kWarpCols = 16 * kFragmentsOfWarp;
    static constexpr u32 kStepRows = kRowsOfStep;
    static constexpr u32 kStoreTileWarps = kWarpsOfSlab;

    static JG_DEVICE u32 warp_row()
    {
        return 0;
    }
    static JG_DEVICE u32 warp_col()
    {
        return Parts::team_warp() * kWarpCols;
    }
};

} // namespace jg
