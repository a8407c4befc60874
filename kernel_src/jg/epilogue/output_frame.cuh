// SPDX-License-Identifier: MIT
// OutputFrame: the problem as the epilogue sees it: rows and columns are those of D in
// memory. With Config::kTransposed the multiplication makes the transpose of D, so that its
// rows are D's columns. With Config::kGated two of its columns make one, or with kGateInA
// two of its rows.
#pragma once
#include <jg/common/work_tile.cuh>

namespace jg {

template <class Config>
struct OutputFrame {
    static constexpr bool kTransposed = Config::kTransposed;
    // Of the product, that make one.
    static constexpr u32 kRows = Config::kGateInA ? 2 : 1;
    static constexpr u32 kColumns = Config::kGated && !Config::kGateInA ? 2 : 1;

    template <class ShapeT>
    static JG_DEVICE ShapeT shape(const ShapeT &of_product)
    {
        ShapeT shape = of_product;
        const u32 m = of_product.m / kRows, n = of_product.n / kColumns;
        shape.m = kTransposed ? n : m;
        shape.n = kTransposed ? m : n;
        return shape;
    }
    static JG_DEVICE WorkTile tile(const WorkTile &of_product)
    {
        WorkTile tile = of_product;
        const u32 row = of_product.row / kRows, col = of_product.col / kColumns;
        tile.row = kTransposed ? col : row;
        tile.col = kTransposed ? row : col;
        return tile;
    }
};

} // namespace jg
