// SPDX-License-Identifier: MIT
// WorkItem: what a cluster works on at a time, as one CTA of it sees it: a tile of the
// output, and the part of K that is added up for it. Made by TileOrder; all roles of a CTA
// get the same ones, from a work iterator (scheduler_for.cuh).
#pragma once
#include <jg/common/work_tile.cuh>

namespace jg {

struct WorkItem : WorkTile {
    u32 k_first;        // element of K
    u32 k_blocks;       // at least one; none: rows of no group, which are made 0
    bool is_last_split; // its CTA adds up all parts and runs the epilogue
    u32 k_end = 0;      // with groups along K, or a K of their own, where this one's ends
    // The CTAs of its cluster have the same rows, in place of columns.
    bool is_turned = false;
    bool is_whole = false; // its K has no parts, though that of other tiles has
};

} // namespace jg
