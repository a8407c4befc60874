// SPDX-License-Identifier: MIT
// Scales of blocks, as the kernel names them: nothing, where there are none. Units where
// the tensor core multiplies by scales include scaled_mma_op.cuh, and those where sums are
// multiplied when they leave it include promotion.cuh.
#pragma once
#include <jg/common/block_scale.cuh>
#include <jg/tile/scale_slots.cuh>

namespace jg::sm100a {

template <class Config, bool = is_block_scaled<Config>()>
struct ScaleTiles;
template <class Config, bool = is_block_scaled<Config>()>
struct ScaleStages;
template <class Config, class Cluster, bool = is_block_scaled<Config>()>
class ScaleLoader;
template <class Config>
class ScaledMmaOp;
template <class Config, class Cluster>
class ScaleGatherer;
template <u32 kCells>
struct ScaleCellBarriers;
template <u32 kShared, u32 kCtaGroup>
class ScaleCells;
template <class Config, class Partition>
class PromotedSums;

template <class Config>
struct ScaleTiles<Config, false> {
    enum : u32 { kBytes = 0, kSentBytes = 0 };
};

template <class Config>
struct ScaleStages<Config, false> {
};

template <class Config, class Cluster>
class ScaleLoader<Config, Cluster, false> {
  public:
    template <class Params, class ShapeT>
    JG_DEVICE ScaleLoader(const Params &, const ShapeT &)
    {
    }
};

// Arrivals of warps that gather scales, by which a stage is full: of those of a pair at the
// leader's barrier.
template <class Config>
constexpr JG_DEVICE u32 scale_fillers()
{
    return gathers_block_scales<Config>() ? Config::kCtaGroup : 0;
}

// What the warp does that brings scales, of each CTA: those of sums that are promoted, or,
// in scale_gatherer.cuh, those of rows that an index names.
template <class Config, bool = gathers_block_scales<Config>()>
struct ScaleWarp {
    template <class Kernel, class Work>
    static JG_DEVICE void run(const Kernel &kernel, Work &work)
    {
        auto &slots = kernel.smem.scale_slots;
        ScaleFiller<Config, typename Kernel::ScaleRingT> scales(
            kernel.params, kernel.shape, slots, Kernel::ScaleRingT::producer(slots));
        fill_slots(scales, work);
    }
};

// Cells of the stage that is multiplied, which has its own.
struct CellOfStage {
    u32 stage;

    JG_DEVICE u32 index() const
    {
        return stage;
    }
};

template <>
struct ScaleCellBarriers<0> {
};

template <u32 kCtaGroup>
class ScaleCells<0, kCtaGroup> {
  public:
    JG_DEVICE explicit ScaleCells(ScaleCellBarriers<0> &) {}

    static JG_DEVICE void init_barriers(ScaleCellBarriers<0> &) {}
    static JG_DEVICE CellOfStage acquire(u32 stage)
    {
        return CellOfStage{stage};
    }
    static JG_DEVICE void drain() {}
};

} // namespace jg::sm100a
