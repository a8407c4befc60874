// SPDX-License-Identifier: MIT
// KRange: which blocks of K one of the parts of a tile covers.
#pragma once
#include <jg/common/math.cuh>

namespace jg {

struct KPart {
    u32 first;  // element of K
    u32 blocks; // at least one
};

// All of K. A launch with K = 0 has one block, beyond the end of K, which is all zeros.
template <class Config, bool kIsSplit = (Config::kSplitK > 1)>
class KRange {
  public:
    // `k`: of this launch.
    JG_DEVICE explicit KRange(u32 k)
        : all_{Config::kK == 0 && k == 0 ? Config::kBlockK : 0,
               Config::kK == 0 && k == 0 ? 1 : ceil_div(k, Config::kBlockK)}
    {
    }

    JG_DEVICE KPart part(u32) const
    {
        return all_;
    }

  private:
    KPart all_;
};

// One of kSplitK parts, which differ by one block at most. A part without any, where K is
// dynamic and short, has one beyond the end of K.
template <class Config>
class KRange<Config, true> {
    static_assert(Config::kSplitK <= 64, "products with block numbers fit 32 bits");

  public:
    JG_DEVICE explicit KRange(u32 k) : blocks_(ceil_div(k, Config::kBlockK)) {}

    JG_DEVICE KPart part(u32 split) const
    {
        const u32 begin = split * blocks_ / Config::kSplitK;
        const u32 end = (split + 1) * blocks_ / Config::kSplitK;
        if (Config::kK == 0 && begin == end) {
            return KPart{max_u32(blocks_, 1) * Config::kBlockK, 1};
        }
        return KPart{begin * Config::kBlockK, end - begin};
    }

  private:
    u32 blocks_; // below 2^25
};

} // namespace jg
