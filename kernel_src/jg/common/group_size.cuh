// SPDX-License-Identifier: MIT
// GroupSize: which M, N or K a group has, of groups by pointers. Each may have an N of its
// own where Config::kOwnN says so, and a K where kOwnK does: a number per group in device
// memory, int32. Below 0 it counts as 0, and above the launch's as that; without numbers
// all groups have the launch's.
//
// Called by: anybody, when the grid before this one has written the numbers.
#pragma once
#include <jg/common/choices.cuh>
#include <jg/common/math.cuh>

namespace jg {

// May each group have an N of its own, and a K?
template <class Config>
constexpr JG_DEVICE bool has_own_n()
{
    if constexpr (Config::kGroupBy == GroupBy::kPointers) {
        return Config::kOwnN;
    } else {
        return false;
    }
}
template <class Config>
constexpr JG_DEVICE bool has_own_k()
{
    if constexpr (Config::kGroupBy == GroupBy::kPointers) {
        return Config::kOwnK;
    } else {
        return false;
    }
}

// Of one of the problem's dimensions, which the launch has `all` of.
template <bool kIsOwn>
class GroupSize {
  public:
    JG_DEVICE GroupSize(u64 sizes, u32 all)
        : sizes_(reinterpret_cast<const i32 *>(sizes)), all_(all)
    {
    }

    JG_DEVICE u32 of(u32 group) const
    {
        if constexpr (kIsOwn) {
            if (sizes_ != nullptr) {
                const i32 size = sizes_[group];
                return size > 0 ? min_u32(static_cast<u32>(size), all_) : 0;
            }
        }
        return all_;
    }

  private:
    const i32 *sizes_;
    u32 all_;
};

// The launch's N is the product's M where that makes D's transpose.
template <class Config, class ShapeT>
JG_DEVICE GroupSize<has_own_n<Config>()> group_columns(const ShapeT &shape)
{
    return {shape.group_ns, Config::kTransposed ? shape.m : shape.n};
}
template <class Config, class ShapeT>
JG_DEVICE GroupSize<has_own_k<Config>()> group_depths(const ShapeT &shape)
{
    return {shape.group_ks, shape.k};
}

} // namespace jg
