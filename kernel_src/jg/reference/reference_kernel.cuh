// SPDX-License-Identifier: MIT
// The reference: one thread per element, products and sums in f64, the same epilogue. Slow,
// and free of everything that can go wrong in the fast kernels: no copies, no barriers, no
// alignment rules. A factor of 0 reads nothing, as in BLAS: with alpha 0 the epilogue is
// applied to C only, for callers who have the sums already.
#pragma once
#include <jg/common/block_scale.cuh>
#include <jg/common/choices.cuh>
#include <jg/common/group_matrix.cuh>
#include <jg/common/group_size.cuh>
#include <jg/epilogue/output_frame.cuh>
#include <jg/epilogue/scales.cuh>
#include <jg/epilogue/user_epilogue.cuh>
#include <jg/schedule/group_rows.cuh>

namespace jg {
template <class Config>
class IndexedRow; // indexed_rows.cuh
} // namespace jg

namespace jg::reference {

// The scale of the block of row `mn` of A or column of B, and of block `k` of K.
template <class Scale>
JG_DEVICE double block_scale(const MatrixParam &param, u32 mn, u32 k, u32 batch)
{
    if constexpr (Scale::kBlockMn > 0) {
        return double(Scale::value(param, mn, k, batch));
    } else {
        return 1.0;
    }
}

// Element `k` of a row of A or column of B.
template <class T>
JG_DEVICE double input_value(const T *first, i64 step, u32 k)
{
    if constexpr (kBits<T> == 4) { // K-major
        return double(to_f32(first[k / 2], k % 2));
    } else {
        return double(to_f32(first[step * k]));
    }
}

template <class Config, class Params>
JG_DEVICE double dot(const Params &params, const RowRange &k_range, u32 row, u32 col,
                     u32 batch, u32 scale_shift)
{
    using A = typename Config::A;
    using B = typename Config::B;
    const GroupMatrix<Config> of_a = group_matrix<Config>(params.a, batch);
    const GroupMatrix<Config> of_b = group_matrix<Config>(params.b, batch);
    const A *a = Config::kAKMajor ? of_a.template element<const A>(row, 0, batch)
                                  : of_a.template element<const A>(0, row, batch);
    u32 scale_row = row + (is_block_scaled<Config>() ? scale_shift : 0),
        scale_batch = batch;
    if constexpr (Config::kIndexedA) {
        const u32 found = *params.a_rows.template element<const u32>(0, row, batch);
        if (found >= params.a_row_count) {
            return 0.0; // a row of zeros
        }
        a = params.a.template element<const A>(found, 0, 0);
        scale_row = found;
        scale_batch = 0;
    }
    const B *b = Config::kBKMajor ? of_b.template element<const B>(col, 0, batch)
                                  : of_b.template element<const B>(0, col, batch);
    const i64 a_step = Config::kAKMajor ? 1 : of_a.ld;
    const i64 b_step = Config::kBKMajor ? 1 : of_b.ld;
    double sum = 0.0;
    for (u32 k = k_range.begin; k < k_range.end; ++k) {
        double product = input_value(a, a_step, k) * input_value(b, b_step, k);
        if constexpr (is_block_scaled<Config>() || promotes_block_scales<Config>()) {
            const u32 own_k =
                Config::kGroupBy == GroupBy::kKOffsets
                    ? GroupScales<Config>::begin(k_range.begin, batch) + k - k_range.begin
                    : k;
            product *= block_scale<typename Config::ABlockScale>(params.a_scale, scale_row,
                                                                 own_k, scale_batch) *
                       block_scale<typename Config::BBlockScale>(params.b_scale, col, own_k,
                                                                 batch);
        }
        sum += product;
    }
    return sum;
}

// The part of K that is added up: all of it, or a group's.
template <class Config, class ShapeT>
JG_DEVICE RowRange k_range(const ShapeT &shape, u32 batch)
{
    if constexpr (Config::kGroupBy == GroupBy::kKOffsets) {
        return GroupRows<Config>(shape).of(batch);
    } else {
        return RowRange{0, group_depths<Config>(shape).of(batch)};
    }
}

// alpha * scales * A * B + beta * C of D's element in memory. Of a gated D the product has
// two columns for each of D, or with Config::kGateInA two rows: that of `kAccumulator`.
template <class Config, u32 kAccumulator, class Params, class ShapeT>
JG_DEVICE double element_sum(const Params &params, const ShapeT &shape, u32 row, u32 col,
                             u32 batch, u32 scale_shift, double alpha, double beta)
{
    u32 a_row = row, b_col = col;
    if constexpr (Config::kGated) {
        u32 &own = Config::kGateInA ? a_row : b_col;
        const u32 half = (Config::kGateInA ? shape.m : shape.n) / 2;
        own = Config::kGateHalves ? kAccumulator * half + own : 2 * own + kAccumulator;
    }
    double sum = 0.0;
    if (alpha != 0.0) {
        typename Scales<Config>::Element scales;
        scales.load(params, row, col, batch);
        const double factor =
            kAccumulator == 0 ? scales.factor(alpha) : scales.gated_factor(alpha);
        sum = factor * dot<Config>(params, k_range<Config>(shape, batch), a_row, b_col,
                                   batch, scale_shift);
    }
    if constexpr (Config::kHasC) {
        if (beta != 0.0) {
            using C = typename Config::C;
            const GroupMatrix<Config> c = group_matrix<Config>(params.c, batch);
            sum += beta * double(to_f32(*c.template element<const C>(a_row, b_col, batch)));
        }
    }
    return sum;
}

// An element of D whose row belongs to no group.
template <class Config, class Params>
JG_DEVICE void pass_over(const Params &params, u32 row, u32 col, u32 batch)
{
    if constexpr (clears_rest<Config>()) {
        using D = typename Config::D;
        *params.d.template element<D>(row, col, batch) = Convert<D>::from(0.0f);
    }
}

template <class Config, class D>
JG_DEVICE void store_element(D &target, f32 d, double sum, double alpha)
{
    target = Convert<D>::from(d);
    if constexpr (IsSame<D, s32>::value && Config::kPlain) {
        if (alpha == 1.0) { // D is the sum itself (DElement)
            target.value = i32(i64(sum));
        }
    }
}

template <class Config, class Epilogue, class Params>
JG_DEVICE void gemm_kernel(const Params &params)
{
    static_assert(sizeof(Params) == Config::kParamsBytes,
                  "host and device disagree on parameters");
    static_assert(Epilogue::kOperandCount == Config::kOperandCount, "operand lists differ");
    const Shape<Config, Params> shape(params);
    const double alpha = params.alpha.load();
    const double beta = Config::kHasC ? params.beta.load() : 0.0f;
    const auto out_shape = OutputFrame<Config>::shape(shape);
    const u64 per_batch = u64(out_shape.m) * out_shape.n;
    const bool is_stacked =
        Config::kGroupBy == GroupBy::kOffsets || Config::kGroupBy == GroupBy::kRows;
    const u64 total = per_batch * (is_stacked ? 1 : shape.batch);
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < total;
         i += u64(gridDim.x) * blockDim.x) {
        u32 batch = u32(i / per_batch);
        const u32 row = u32(i % per_batch / out_shape.n);
        const u32 col = u32(i % out_shape.n);
        u32 scale_shift = 0;
        if constexpr (Config::kGroupBy == GroupBy::kRows) {
            if (!RowBlocks<Config>(shape).find(row, batch)) {
                pass_over<Config>(params, row, col, 0);
                continue;
            }
        } else if constexpr (Config::kGroups > 0) {
            const GroupRows<Config> rows(shape);
            if (!rows.find(row, batch)) {
                pass_over<Config>(params, row, col, batch);
                continue;
            }
            if (col >= group_columns<Config>(shape).of(batch)) {
                continue;
            }
            scale_shift = rows.scale_shift(batch, rows.of(batch));
        }
        const double sum = element_sum<Config, 0>(params, shape, row, col, batch,
                                                  scale_shift, alpha, beta);
        typename Epilogue::Element element;
        f32 d;
        if constexpr (Config::kGated) {
            const double gated = element_sum<Config, 1>(params, shape, row, col, batch,
                                                        scale_shift, alpha, beta);
            d = element.run(params.operands, f32(sum), f32(gated), out_shape, row, col,
                            batch);
        } else {
            d = element.run(params.operands, f32(sum), out_shape, row, col, batch);
        }
        using D = typename Config::D;
        if constexpr (Config::kIndexedD) {
            IndexedRow<Config> place;
            place.load(params, row, batch);
            if (place.exists(params)) {
                store_element<Config>(*place.target(params, col), d, sum, alpha);
            }
        } else {
            const GroupMatrix<Config> matrix = group_matrix<Config>(params.d, batch);
            store_element<Config>(*matrix.template element<D>(row, col, batch), d, sum,
                                  alpha);
        }
    }
}

} // namespace jg::reference
