// SPDX-License-Identifier: MIT
// StepRows: which rows of the tile a warp of the epilogue holds.
//
// An epilogue walks through its warpgroup's part of the tile in steps of some rows by some
// columns. Of a step's rows each warp holds kWarpRows neighbours, in fragments of 16 rows.
// Slabs of D are filled by kSlabWarps neighbouring warps.
//
// Each chip has a Share, which derives from this and adds
//   kConsumers      warpgroups that share the tile
//   kRows, kCols    a warpgroup's part; first_row(consumer), first_col(consumer) in the
//   tile kMatrixStages   stages of the ring that brings matrices to the epilogue
// and accumulators, with
//   kIndexed        can they be read by a computed index?
//   read(step, col, values)   fragments of row step `step`, from column `col` on
//   stage(warp_stage, step)   one of MatrixStages' steps, to shared memory
//   release()                 all are read: once a tile, by all threads
#pragma once
#include <jg/common/types.cuh>

namespace jg {

template <u32 kRowsOfWarp, u32 kWarpsOfSlab>
struct StepRows {
    static constexpr u32 kWarpRows = kRowsOfWarp;
    static constexpr u32 kFragments = kWarpRows / 16;
    static constexpr u32 kStepRows = 4 * kWarpRows;
    static constexpr u32 kSlabWarps = kWarpsOfSlab;
    static constexpr u32 kSlabRows = kSlabWarps * kWarpRows;
    static constexpr u32 kSlabBytes = kSlabRows * 128;

    // This warp's number in its warpgroup, and its first row of a step.
    static JG_DEVICE u32 warp()
    {
        return threadIdx.x % 128 / 32;
    }
    static JG_DEVICE u32 warp_row()
    {
        return warp() * kWarpRows;
    }
    // The slab that this warp helps to fill: which, and the warp's first row in it.
    static JG_DEVICE u32 slab()
    {
        return warp() / kSlabWarps;
    }
    static JG_DEVICE u32 row_in_slab()
    {
        return warp() % kSlabWarps * kWarpRows;
    }
};

} // namespace jg
