// SPDX-License-Identifier: MIT
// Scales by which sums are multiplied when they leave the tensor core, as the kernels name
// them: nothing, where there are none. Units that have some include block_scales.cuh.
#pragma once
#include <jg/common/block_scale.cuh>
#include <jg/schedule/work_item.cuh>

namespace jg {

// Has a stage of input tiles the scales of its block, too, so that it is full when both are
// there? Each warp that reads them releases it then.
template <class Config>
constexpr JG_DEVICE bool has_scales_in_stages()
{
    if constexpr (promotes_block_scales<Config>()) {
        return Config::kScalesInStages;
    } else {
        return false;
    }
}

template <class Config, bool = promotes_block_scales<Config>()>
struct ScaleSlots;
// Where there are slots that are not those of stages.
template <class Config, u32 kReaders,
          bool = promotes_block_scales<Config>() && !has_scales_in_stages<Config>()>
class ScaleRing;
template <class Config, class Ring, bool = promotes_block_scales<Config>()>
class ScaleFiller;
template <class Config, class Ring, bool kOfA>
class RowScaleFiller;
template <class Config, u32 kRowCount, u32 kColumns, bool kHolds = false>
class BlockScales;

// Warps that bring scales which lie row by row (row_scales.cuh); 0: all are copied.
template <class Config>
constexpr JG_DEVICE u32 row_scale_warps()
{
    if constexpr (promotes_block_scales<Config>()) {
        return Config::kARowWarps + Config::kBRowWarps;
    } else {
        return 0;
    }
}
// Has a warp scales to copy one by one?
template <class Config>
constexpr JG_DEVICE bool copies_scales()
{
    if constexpr (promotes_block_scales<Config>()) {
        return (Config::ABlockScale::kBlockMn > 0 && Config::kARowWarps == 0) ||
               (Config::BBlockScale::kBlockMn > 0 && Config::kBRowWarps == 0);
    } else {
        return false;
    }
}

// Warps that do so, each with slots of its own.
template <class Config>
constexpr JG_DEVICE u32 copying_warps()
{
    if constexpr (copies_scales<Config>()) {
        return Config::kCopyWarps;
    } else {
        return 0;
    }
}

template <class Config>
constexpr JG_DEVICE u32 count_scale_warps()
{
    return copying_warps<Config>() + row_scale_warps<Config>();
}

// Arrivals that make scales full: of the lanes of a warp that copies, and of warps of rows.
template <class Config>
constexpr JG_DEVICE u32 scale_fillers()
{
    return (copies_scales<Config>() ? 32 : 0) + row_scale_warps<Config>();
}

// All of the role of warp `warp` of those: the first ones copy, if there is something to
// copy.
template <class Config, class Ring>
struct ScaleWarps {
    template <class Params, class ShapeT, class Work>
    static JG_DEVICE void run(const Params &params, const ShapeT &shape,
                              ScaleSlots<Config> &slots,
                              const typename Ring::Producer &ring, u32 warp, Work &work)
    {
        if (warp < copying_warps<Config>()) {
            fill_slots(ScaleFiller<Config, Ring>(params, shape, slots, ring, warp), work);
            return;
        }
        const u32 of_rows = warp - copying_warps<Config>();
        if constexpr (Config::kARowWarps > 0) {
            if (of_rows < Config::kARowWarps) {
                fill_slots(
                    RowScaleFiller<Config, Ring, true>(params, shape, slots, ring, of_rows),
                    work);
                return;
            }
        }
        if constexpr (Config::kBRowWarps > 0) {
            fill_slots(RowScaleFiller<Config, Ring, false>(params, shape, slots, ring,
                                                           of_rows - Config::kARowWarps),
                       work);
        }
    }
};

template <class Config>
struct ScaleSlots<Config, false> {
};

template <class Config, u32 kReaders>
class ScaleRing<Config, kReaders, false> {
  public:
    struct Producer {};
    struct Consumer {};

    static JG_DEVICE Producer producer(ScaleSlots<Config> &)
    {
        return Producer();
    }
    static JG_DEVICE Consumer consumer(ScaleSlots<Config> &)
    {
        return Consumer();
    }
};

// Beside threads that load.
template <class Config, class Ring>
class ScaleFiller<Config, Ring, false> {
  public:
    template <class Params, class ShapeT>
    JG_DEVICE ScaleFiller(const Params &, const ShapeT &, ScaleSlots<Config> &,
                          const typename Ring::Producer &)
    {
    }
    JG_DEVICE void begin(const WorkItem &) {}
    JG_DEVICE void fill() {}
};

} // namespace jg
