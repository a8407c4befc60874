// SPDX-License-Identifier: MIT
// OutputFrame: the problem as the epilogue sees it: rows and columns are those of D in
// memory. With Config::kTransposed the multiplication makes the transpose of D, so that its
// rows are D's columns. With Config::kGated two of its columns make one of D.
#pragma once
#include <jg/common/work_tile.cuh>

namespace jg {

template <class Config>
struct OutputFrame {
    static constexpr bool kTransposed = Config::kTransposed;
    static constexpr u32 kColumnsOfD = Config::kGated ? 2 : 1; // make one
    static_assert(!kTransposed || !Config::kGated, "pairs lie along N");

    template <class ShapeT>
    static JG_DEVICE ShapeT shape(const ShapeT &of_product)
    {
        ShapeT shape = of_product;
        if constexpr (kTransposed) {
            shape.m = of_product.n;
            shape.n = of_product.m;
        }
        shape.n /= kColumnsOfD;
        return shape;
    }
    static JG_DEVICE WorkTile tile(const WorkTile &of_product)
    {
        WorkTile tile = of_product;
        if constexpr (kTransposed) {
            tile.row = of_product.col;
            tile.col = of_product.row;
        }
        tile.col /= kColumnsOfD;
        return tile;
    }
};

} // namespace jg
