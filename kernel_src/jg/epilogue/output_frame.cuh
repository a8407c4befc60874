// SPDX-License-Identifier: MIT
// OutputFrame: the problem as the epilogue sees it: rows and columns are those of D in
// memory. With Config::kTransposed the multiplication makes the transpose of D, so that its
// rows are D's columns. With Config::kGated two of its columns make one, or with kGateInA
// two of its rows.
#pragma once
#include <jg/common/group_size.cuh>
#include <jg/common/work_tile.cuh>

namespace jg {

// The shape of D as one group sees it: rows end where the group's do, and columns where it
// has an N of its own. The snippet's M and N are those of the launch.
template <class ShapeT, bool kOwnN>
struct GroupShape : ShapeT {
    u32 all_rows, all_columns, scale_shift;

    JG_DEVICE GroupShape(const ShapeT &shape, const WorkTile &tile)
        : ShapeT(shape), all_rows(shape.m), all_columns(shape.n),
          scale_shift(tile.scale_shift)
    {
        this->m = tile.group_end;
        if constexpr (kOwnN) {
            this->n = tile.column_end;
        }
    }
    JG_DEVICE u32 scale_row(u32 row) const
    {
        return row + scale_shift;
    }
    JG_DEVICE int problem_m() const
    {
        return static_cast<int>(all_rows);
    }
    JG_DEVICE int problem_n() const
    {
        return static_cast<int>(all_columns);
    }
};

template <class Config>
struct OutputFrame {
    enum : bool { kTransposed = Config::kTransposed };
    // Of the product, that make one.
    enum : u32 {
        kRows = Config::kGateInA ? 2 : 1,
        kColumns = Config::kGated && !Config::kGateInA ? 2 : 1,
    };

    template <class ShapeT>
    static JG_DEVICE ShapeT shape(const ShapeT &of_product)
    {
        ShapeT shape = of_product;
        const u32 m = of_product.m / kRows, n = of_product.n / kColumns;
        shape.m = kTransposed ? n : m;
        shape.n = kTransposed ? m : n;
        return shape;
    }
    // Of an item: with groups, D ends where the group's rows and columns do.
    template <class ShapeT>
    static JG_DEVICE auto shape(const ShapeT &of_product, const WorkTile &tile)
    {
        if constexpr (Config::kGroups > 0) {
            WorkTile own = tile;
            if constexpr (Config::kIndexedD) {
                own.scale_shift = 0; // scales lie as the rows of D do
            }
            return GroupShape<ShapeT, has_own_n<Config>()>(shape(of_product), own);
        } else {
            return shape(of_product);
        }
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
