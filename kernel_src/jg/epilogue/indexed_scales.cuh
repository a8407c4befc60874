// SPDX-License-Identifier: MIT
// IndexedColumnVectorInput, IndexedRowVectorInput: a vector of a value for each row of A,
// where an index names these rows. They are scales (Config::AScale); in the parameter, `ld`
// is the address of the index, `batch_stride` its own, and `batch_step` how many rows A
// has. The first is for a D whose rows lie along the product's, the second for one whose
// columns do.
//
// Forms are those of operands.cuh. A row whose index is none of A's has the value 0; that
// of rows beyond D's end, or the group's, is not read.
#pragma once
#include <jg/epilogue/operands.cuh>

namespace jg {

template <class T, bool kByRows>
struct IndexedVectorInput : InputForms {
    // Of the product's row `at`, if it exists.
    static JG_DEVICE f32 read(const MatrixParam &param, u32 at, u32 batch, bool exists)
    {
        const i32 *index =
            reinterpret_cast<const i32 *>(param.ld) + param.batch_stride * i64(batch);
        const u32 row = exists ? static_cast<u32>(index[at]) : ~0u;
        return row < param.batch_step
                   ? to_f32(reinterpret_cast<const T *>(param.pointer)[row])
                   : 0.0f;
    }

    struct Vector : NoVectorStore {
        f32 values[kByRows ? 1 : 8];
        template <class CoordT>
        JG_DEVICE void load_columns(const MatrixParam &param, const CoordT &coord)
        {
#pragma unroll
            for (u32 i = 0; !kByRows && i < 8; ++i) {
                values[i] = read(param, coord.col + i, coord.batch, i < coord.count);
            }
        }
        template <class CoordT, class Reader>
        JG_DEVICE void load_row(const MatrixParam &param, const CoordT &coord, Reader &)
        {
            if constexpr (kByRows) {
                values[0] = read(param, coord.row, coord.batch, coord.count > 0);
            }
        }
        JG_DEVICE f32 value(u32 i) const
        {
            return values[kByRows ? 0 : i];
        }
    };

    template <class CoordT>
    struct Fragment : NoFragmentRead,
                      FragmentVector<CoordT, kByRows != bool(CoordT::kTransposed)> {
        JG_DEVICE void load(const MatrixParam &param, const CoordT &coord)
        {
            const u32 first = kByRows ? coord.row : coord.col;
            const u32 end = kByRows ? coord.row_end : coord.col_end;
#pragma unroll
            for (u32 i = 0; i < this->kCount; ++i) {
                const u32 at = first + this->offset(i);
                this->values[i] = read(param, at, coord.batch, at < end);
            }
        }
    };

    struct Element : NoElementStore {
        f32 element;
        JG_DEVICE void load(const MatrixParam &param, u32 row, u32 col, u32 batch)
        {
            element = read(param, kByRows ? row : col, batch, true);
        }
        JG_DEVICE f32 value() const
        {
            return element;
        }
    };
};

template <class T>
using IndexedColumnVectorInput = IndexedVectorInput<T, true>;
template <class T>
using IndexedRowVectorInput = IndexedVectorInput<T, false>;

} // namespace jg
