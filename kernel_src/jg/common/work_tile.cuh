// SPDX-License-Identifier: MIT
#pragma once
#include <jg/common/types.cuh>

namespace jg {

// One tile of work, in elements and batches.
struct WorkTile {
    u32 row, col; // of the tile's first element
    u32 batch;
    u32 split;           // which part of K
    u32 workspace_tile;  // number of the tile in the launch: where its partial sums lie
    u32 group_end = 0;   // with groups, where this one's rows end: a row of A, C and D
    u32 scale_shift = 0; // what added to such a row gives that of its scales in 128x4
    // With groups of rows, of the tiles along them, those of all groups one after the
    // other: the number of this one, of its group's first one, and how many it has.
    u32 row_tile = 0, first_row_tile = 0, row_tiles = 0;
    u32 column_end = 0; // with an N of each group's own, where this one's columns end
};

// The batch coordinate of a tile in a tensor map; `step` is the map's, 0 where it is
// broadcast. In a map of one batch there is only the first.
template <class Config>
JG_DEVICE u32 map_batch(const WorkTile &tile, u32 step)
{
    return Config::kBatch == 1 ? 0 : tile.batch * step;
}

} // namespace jg
