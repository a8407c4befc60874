// SPDX-License-Identifier: MIT
// Scales by which sums are multiplied when they leave the tensor core, as the kernels name
// them: nothing, where there are none. Units that have some include block_scales.cuh.
#pragma once
#include <jg/common/block_scale.cuh>
#include <jg/schedule/work_item.cuh>

namespace jg {

template <class Config, bool = promotes_block_scales<Config>()>
struct ScaleSlots;
template <class Config, u32 kReaders, bool = promotes_block_scales<Config>()>
class ScaleRing;
template <class Config, class Ring, bool = promotes_block_scales<Config>()>
class ScaleFiller;
template <class Config, u32 kRowCount, u32 kColumns, bool kHolds = false>
class BlockScales;

template <class Config>
struct ScaleSlots<Config, false> {
};

template <class Config, u32 kReaders>
class ScaleRing<Config, kReaders, false> {
  public:
    struct Consumer {};

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
    JG_DEVICE ScaleFiller(const Params &, const ShapeT &, ScaleSlots<Config> &)
    {
    }
    JG_DEVICE void begin(const WorkItem &) {}
    JG_DEVICE void fill() {}
};

} // namespace jg
