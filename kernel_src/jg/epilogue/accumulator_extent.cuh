// SPDX-License-Identifier: MIT
// AccumulatorExtent: which of a warp's accumulators are elements of D. Parts of a sum move
// only those. The same for all lanes of a warp, and for the warps of the same number of all
// CTAs that have the tile. Called by any thread; nothing waits or signals.
#pragma once
#include <jg/common/work_tile.cuh>

namespace jg {

template <class Config, class Partition>
class AccumulatorExtent {
  public:
    // Columns of the accumulator that are those of neighbouring elements of D.
    enum : u32 {
        kElementColumns = Partition::kGateColumns > 0 && !Partition::kNeighbours
                              ? Partition::kGateColumns
                              : Partition::kAccColumns
    };

    // `team`: this warp's.
    template <class ShapeT>
    JG_DEVICE AccumulatorExtent(const ShapeT &shape, const WorkTile &tile, u32 team)
    {
        const u32 row = tile.row + Partition::first_row(team) + Partition::warp_row();
        const u32 col = tile.col + Partition::first_col(team) + Partition::warp_col();
        const u32 rows = row < shape.m ? shape.m - row : 0;
        const u32 cols = col < shape.n ? shape.n - col : 0;
        lanes_ = Partition::kTransposed ? cols : rows;
        columns_ = Partition::kTransposed ? rows : cols;
    }

    // Is any of this warp's lanes of the step and of the columns from `col` on an element
    // of D?
    JG_DEVICE bool is_inside(u32 step, u32 col) const
    {
        constexpr bool kWholeLanes =
            Partition::kTransposed ? Config::kWholeCols : Config::kWholeRows;
        constexpr bool kWholeColumns =
            Partition::kTransposed ? Config::kWholeRows : Config::kWholeCols;
        const u32 element = Partition::kNeighbours ? col / 2 : col % kElementColumns;
        return (kWholeLanes || step * Partition::kStepRows < lanes_) &&
               (kWholeColumns || element < columns_);
    }

  private:
    u32 lanes_, columns_; // of D from this warp's first element on
};

} // namespace jg
