// SPDX-License-Identifier: MIT
#pragma once
#include <jg/common/types.cuh>

namespace jg {

// One tile of work, in elements and batches.
struct WorkTile {
    u32 row, col; // of the tile's first element
    u32 batch;
    u32 split;          // which part of K
    u32 workspace_tile; // number of the tile in the launch: where its partial sums lie
};

} // namespace jg
