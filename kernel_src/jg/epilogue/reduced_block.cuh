// SPDX-License-Identifier: MIT
// What a ReducingTeam knows of the tiles and of the block of results that its own is in.
#pragma once
#include <jg/common/types.cuh>

namespace jg {

// Tiles along the rows, of a batch or group: those of all are numbered.
struct RowTiles {
    u32 own, first, count;
};

// A block of results: which one, and how many partial results of each there are.
struct ReducedBlock {
    u32 counter;
    u64 first_part; // in steps of the block's width
    u32 part_step;  // from one part to the next
    u32 parts;
    u32 tiles; // that have a part in it
    u32 first; // result of the tensor that its first one is
    u32 end;   // of the tensor's results
};

} // namespace jg
