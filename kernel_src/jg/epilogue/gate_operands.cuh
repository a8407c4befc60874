// SPDX-License-Identifier: MIT
// Vectors of pairs: operands of a gated epilogue, in the forms of operands.cuh. One that is
// called b stands there twice, as b0 and b1.
#pragma once
#include <jg/epilogue/operands.cuh>

namespace jg {

// A value for each column of B, of which two make one of a gated D: those of acc0, or of
// acc1. From one to the next there are param.ld elements, from acc0's to acc1's
// param.batch_step.
template <class T, u32 kAccumulator>
struct GateInput : InputForms {
    enum : u32 { kParams = kAccumulator == 0 ? 1 : 0 };

    static JG_DEVICE const T *element(const MatrixParam &param, u32 pair, u32 batch)
    {
        return param.base<const T>(batch) + param.ld * static_cast<i64>(pair) +
               kAccumulator * param.batch_step;
    }
    static JG_DEVICE f32 read(const MatrixParam &param, u32 pair, u32 batch)
    {
        return to_f32(*element(param, pair, batch));
    }
};

// ... indexed by column.
template <class T, u32 kAccumulator>
struct GateVectorInput : GateInput<T, kAccumulator> {
    using GateInput<T, kAccumulator>::element;
    using GateInput<T, kAccumulator>::read;

    static JG_DEVICE void prefetch(const MatrixParam &param, const TeamPart &part)
    {
        part.of_columns(
            [&](u32 i) { ptx::prefetch_global(element(param, i, part.batch)); });
    }

    struct Vector : InputForms::NoVectorStore {
        f32 values[8];
        template <class CoordT>
        JG_DEVICE void load_columns(const MatrixParam &param, const CoordT &coord)
        {
#pragma unroll
            for (u32 i = 0; i < 8; ++i) {
                values[i] =
                    i < coord.count ? read(param, coord.col + i, coord.batch) : 0.0f;
            }
        }
        template <class CoordT, class Reader>
        JG_DEVICE void load_row(const MatrixParam &, const CoordT &, Reader &)
        {
        }
        JG_DEVICE f32 value(u32 i) const
        {
            return values[i];
        }
    };

    template <class CoordT>
    struct Fragment : FragmentVector<CoordT, CoordT::kTransposed> {
        JG_DEVICE void load(const MatrixParam &param, const CoordT &coord)
        {
#pragma unroll
            for (u32 i = 0; i < this->kCount; ++i) {
                const u32 col = coord.col + this->offset(i);
                const bool exists = CoordT::kWholeCols || col < coord.col_end;
                this->values[i] = exists ? read(param, col, coord.batch) : 0.0f;
            }
        }
    };

    struct Element : InputForms::NoElementStore {
        f32 element;
        JG_DEVICE void load(const MatrixParam &param, u32, u32 col, u32 batch)
        {
            element = read(param, col, batch);
        }
        JG_DEVICE f32 value() const
        {
            return element;
        }
    };
};
template <class T>
using Gate0VectorInput = GateVectorInput<T, 0>;
template <class T>
using Gate1VectorInput = GateVectorInput<T, 1>;

// ... indexed by row, where D's columns are the rows in memory.
template <class T, u32 kAccumulator>
struct GateColumnVectorInput : GateInput<T, kAccumulator> {
    using GateInput<T, kAccumulator>::element;
    using GateInput<T, kAccumulator>::read;

    static JG_DEVICE void prefetch(const MatrixParam &param, const TeamPart &part)
    {
        part.of_rows([&](u32 i) { ptx::prefetch_global(element(param, i, part.batch)); });
    }

    struct Vector : InputForms::NoVectorStore {
        f32 element;
        template <class CoordT>
        JG_DEVICE void load_columns(const MatrixParam &, const CoordT &)
        {
        }
        template <class CoordT, class Reader>
        JG_DEVICE void load_row(const MatrixParam &param, const CoordT &coord, Reader &)
        {
            element = coord.count ? read(param, coord.row, coord.batch) : 0.0f;
        }
        JG_DEVICE f32 value(u32) const
        {
            return element;
        }
    };

    template <class CoordT>
    struct Fragment : FragmentVector<CoordT, !CoordT::kTransposed> {
        JG_DEVICE void load(const MatrixParam &param, const CoordT &coord)
        {
#pragma unroll
            for (u32 i = 0; i < this->kCount; ++i) {
                const u32 row = coord.row + this->offset(i);
                const bool exists = CoordT::kWholeRows || row < coord.row_end;
                this->values[i] = exists ? read(param, row, coord.batch) : 0.0f;
            }
        }
    };

    struct Element : InputForms::NoElementStore {
        f32 element;
        JG_DEVICE void load(const MatrixParam &param, u32 row, u32, u32 batch)
        {
            element = read(param, row, batch);
        }
        JG_DEVICE f32 value() const
        {
            return element;
        }
    };
};
template <class T>
using Gate0ColumnVectorInput = GateColumnVectorInput<T, 0>;
template <class T>
using Gate1ColumnVectorInput = GateColumnVectorInput<T, 1>;

} // namespace jg
