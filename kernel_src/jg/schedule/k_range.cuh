// SPDX-License-Identifier: MIT
// KRange: which blocks of K one of the parts of a tile covers.
#pragma once
#include <jg/common/group_size.cuh>
#include <jg/common/math.cuh>
#include <jg/schedule/group_rows.cuh>

namespace jg {

struct KPart {
    u32 first;   // element of K
    u32 blocks;  // at least one
    u32 end = 0; // with groups along K, or a K of their own, where this one's ends
};

enum class KParts { kAll, kSplit, kOfGroups, kOwn };

template <class Config>
constexpr KParts kKParts = Config::kGroupBy == GroupBy::kKOffsets ? KParts::kOfGroups
                           : has_own_k<Config>()                  ? KParts::kOwn
                           : Config::kSplitK > 1                  ? KParts::kSplit
                                                                  : KParts::kAll;

// All of K. A launch with K = 0 has one block, beyond the end of K, which is all zeros.
template <class Config, KParts kParts = kKParts<Config>>
class KRange {
  public:
    // Of a launch's shape.
    template <class ShapeT>
    JG_DEVICE explicit KRange(const ShapeT &shape)
        : all_{Config::kK == 0 && shape.k == 0 ? Config::kBlockK : 0,
               Config::kK == 0 && shape.k == 0 ? 1 : ceil_div(shape.k, Config::kBlockK)}
    {
    }

    // Of a tile: which of the parts, and its batch or group.
    JG_DEVICE KPart part(u32, u32) const
    {
        return all_;
    }

  private:
    KPart all_;
};

// One of kSplitK parts, which differ by one block at most. A part without any, where K is
// dynamic and short, has one beyond the end of K.
template <class Config>
class KRange<Config, KParts::kSplit> {
    static_assert(Config::kSplitK <= 64, "products with block numbers fit 32 bits");

  public:
    template <class ShapeT>
    JG_DEVICE explicit KRange(const ShapeT &shape)
        : blocks_(ceil_div(shape.k, Config::kBlockK))
    {
    }

    JG_DEVICE KPart part(u32 split, u32) const
    {
        return between(split * blocks_ / Config::kSplitK,
                       (split + 1) * blocks_ / Config::kSplitK);
    }

    // Of a tile that is not split.
    JG_DEVICE KPart whole() const
    {
        return between(0, blocks_);
    }

  private:
    JG_DEVICE KPart between(u32 begin, u32 end) const
    {
        if (Config::kK == 0 && begin == end) {
            return KPart{max_u32(blocks_, 1) * Config::kBlockK, 1};
        }
        return KPart{begin * Config::kBlockK, end - begin};
    }

    u32 blocks_; // below 2^25
};

// A group's part of K, which only the device has. An empty one has a block of which nothing
// is a group's: it is all zeros.
template <class Config>
class KRange<Config, KParts::kOfGroups> {
    static_assert(Config::kSplitK == 1, "a group's K is one part");

  public:
    template <class ShapeT>
    JG_DEVICE explicit KRange(const ShapeT &shape) : groups_(shape)
    {
    }

    JG_DEVICE KPart part(u32, u32 group) const
    {
        const RowRange k = groups_.of(group);
        return KPart{k.begin, max_u32(ceil_div(k.count(), Config::kBlockK), 1), k.end};
    }

  private:
    GroupRows<Config> groups_;
};

// All of K that a group has, of matrices of its own. One without any has a block beyond the
// end of K, which is all zeros.
template <class Config>
class KRange<Config, KParts::kOwn> {
    static_assert(Config::kSplitK == 1, "a group's K is one part");

  public:
    template <class ShapeT>
    JG_DEVICE explicit KRange(const ShapeT &shape) : depths_(group_depths<Config>(shape))
    {
    }

    JG_DEVICE KPart part(u32, u32 group) const
    {
        const u32 k = depths_.of(group);
        return KPart{k == 0 ? Config::kBlockK : 0, max_u32(ceil_div(k, Config::kBlockK), 1),
                     k};
    }

  private:
    GroupSize<true> depths_;
};

} // namespace jg
