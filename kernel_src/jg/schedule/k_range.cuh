// SPDX-License-Identifier: MIT
// KRange: the blocks of K that one part of a tile's sum covers. The loader and those who
// multiply compute the same.
#pragma once
#include <jg/common/math.cuh>
#include <jg/common/work_tile.cuh>

namespace jg {

template <class Config>
struct KRange {
    u32 first;  // element of K
    u32 blocks; // at least one

    // `k`: of this launch. The parts differ by one block at most. A part without any, where
    // K is dynamic and short, has one beyond the end of K, which is all zeros.
    JG_DEVICE KRange(u32 k, const WorkTile &tile)
    {
        const u32 all = ceil_div(k, Config::kBlockK); // below 2^25
        if constexpr (Config::kSplitK == 1) {
            first = Config::kK == 0 && k == 0 ? Config::kBlockK : 0;
            blocks = Config::kK == 0 && k == 0 ? 1 : all;
        } else {
            static_assert(Config::kSplitK <= 64, "products with block numbers fit 32 bits");
            const u32 begin = tile.split * all / Config::kSplitK;
            const u32 end = (tile.split + 1) * all / Config::kSplitK;
            const bool is_empty = Config::kK == 0 && begin == end;
            first = (is_empty ? max_u32(all, 1) : begin) * Config::kBlockK;
            blocks = is_empty ? 1 : end - begin;
        }
    }
};

} // namespace jg
