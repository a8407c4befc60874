/* SPDX-License-Identifier: MIT */
#include "gemm_scale.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "verify/quantise.h"

#define BATCH_ALIGNMENT 16 /* bytes: as a copy of TMA wants it */
#define COLUMN_STEP     4 /* scales that a column or a vector of a batch is rounded up to */

static int64_t divide_up(int64_t elements, int64_t block)
{
    return (elements + block - 1) / block;
}

static int64_t round_up(int64_t elements)
{
    return divide_up(elements, COLUMN_STEP) * COLUMN_STEP;
}

void gemm_scales_describe(const jit_gemm_scale *scale, int64_t mn, int64_t k, int64_t batch,
                          struct gemm_scales *ret_scales)
{
    struct gemm_scales s = {
        .mn = mn, .k = k, .block_mn = mn, .block_k = k, .batches = batch};
    if (scale->kind == JIT_GEMM_SCALE_NONE) {
        *ret_scales = s;
        return;
    }
    if (scale->kind == JIT_GEMM_SCALE_TENSOR) {
        s.batches = 1;
    } else {
        s.block_mn = 1;
    }
    if (scale->kind == JIT_GEMM_SCALE_BLOCK) {
        s.block_mn = scale->block_mn;
        s.block_k = scale->block_k;
    }
    s.rows = divide_up(mn, s.block_mn);
    s.blocks = divide_up(k, s.block_k);
    const bool by_rows =
        scale->kind == JIT_GEMM_SCALE_BLOCK && scale->layout == JIT_GEMM_SCALE_LAYOUT_ROW;
    s.row_stride = by_rows ? s.blocks : 1;
    s.block_stride = by_rows ? 1 : round_up(s.rows);
    s.count = by_rows ? s.rows * s.blocks : s.blocks * s.block_stride;
    *ret_scales = s;
}

void gemm_scales_fill(const struct gemm_scales *scales, uint64_t seed, float *values)
{
    const int64_t count = scales->count * scales->batches;
    const bool is_single = scales->rows == 1 && scales->blocks == 1;
    const double span = is_single ? 1.0 : 6.0;
    const struct element_view view = {JIT_GEMM_DTYPE_F32, 1, 1, count, count, count};
    element_fill_random(&view, values, seed);
    for (int64_t i = 0; i < count; i++) {
        values[i] = (float)exp2(-0.5 * span * (1.0 - (double)values[i]));
    }
}

struct element_view gemm_scales_view_bytes(const jit_gemm_scale *scale, int64_t rows,
                                           int64_t k, int64_t batches)
{
    struct element_view view =
        quantise_scale_view(scale, 1, quantise_scale_rows(scale, rows), k);
    view.batch = batches;
    view.batch_stride =
        (view.columns + BATCH_ALIGNMENT - 1) / BATCH_ALIGNMENT * BATCH_ALIGNMENT;
    return view;
}

void gemm_scales_fill_bytes(const struct element_view *view, uint64_t seed, void *values)
{
    enum { AT_ONCE = 512 };
    const int64_t count = view->batch * view->batch_stride;
    const struct element_view random = {
        JIT_GEMM_DTYPE_F32, 1, 1, AT_ONCE, AT_ONCE, AT_ONCE};
    float some[AT_ONCE];
    for (int64_t i = 0; i < count; i++) {
        if (i % AT_ONCE == 0) {
            element_fill_random(&random, some, seed + (uint64_t)(i / AT_ONCE));
        }
        element_store(view->dtype, values, (size_t)i,
                      quantise_random_scale(view->dtype, some[i % AT_ONCE]));
    }
}

void gemm_scales_lay_out(const struct gemm_scales *from, const float *from_values,
                         const struct gemm_scales *to, float *to_values)
{
    memset(to_values, 0, (size_t)to->count * sizeof(*to_values));
    for (int64_t r = 0; r < to->rows; r++) {
        const int64_t row = r * to->block_mn / from->block_mn;
        for (int64_t kb = 0; kb < to->blocks; kb++) {
            const int64_t block = kb * to->block_k / from->block_k;
            const int64_t at = row * from->row_stride + block * from->block_stride;
            to_values[r * to->row_stride + kb * to->block_stride] =
                from->count > 0 ? from_values[at] : 1.0F;
        }
    }
}
