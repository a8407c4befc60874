// SPDX-License-Identifier: MIT
// TeamPart: where a team writes, for operands whose part of a tile is brought to the
// multiprocessor's own cache while the tile is computed. Waits for nothing.
#pragma once
#include <jg/common/types.cuh>

namespace jg {

// A team's part of a tile: where it begins, how large it is, where D ends, and which of how
// many threads this is. Each has neighbours of at most 32 bytes.
struct TeamPart {
    u32 row, col, rows, cols;
    u32 row_end, col_end, batch;
    u32 thread, threads;

    // This thread's elements along a vector of `count` elements from `first` on, of which
    // `end` exist: prefetch(i) of the first, if there is one.
    template <class Prefetch>
    JG_DEVICE void of_thread(u32 first, u32 count, u32 end, const Prefetch &prefetch) const
    {
        const u32 i = first + thread * ((count + threads - 1) / threads);
        if (i < end && i < first + count) {
            prefetch(i);
        }
    }
    template <class Prefetch>
    JG_DEVICE void of_columns(const Prefetch &prefetch) const
    {
        of_thread(col, cols, col_end, prefetch);
    }
    template <class Prefetch>
    JG_DEVICE void of_rows(const Prefetch &prefetch) const
    {
        of_thread(row, rows, row_end, prefetch);
    }
};

} // namespace jg
