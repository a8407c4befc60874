/* SPDX-License-Identifier: MIT */
#include "run_scales.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "verify/quantise.h"

enum { COPY_ALIGNMENT = 16 };

/* Are they of a byte, of which none lie further apart than packed? */
static bool is_of_bytes(const jit_gemm_scale *scale)
{
    return scale->dtype == JIT_GEMM_DTYPE_UE8M0 || scale->dtype == JIT_GEMM_DTYPE_UE4M3;
}

/* Scales of blocks, those of f32 in rows that lie further apart than packed; between them
 * is poison. */
static struct element_view view_blocks(const struct run_groups *groups,
                                       const struct run_scale_row *row)
{
    const jit_gemm_scale *scale = row->scale;
    if (is_of_bytes(scale)) {
        const int64_t count =
            row->is_b ? row->count : run_groups_scale_rows(groups, row->count);
        return quantise_scale_view(scale, row->batch, quantise_scale_rows(scale, count),
                                   row->k);
    }
    const int64_t rows = quantise_scale_rows(scale, row->count);
    const int64_t blocks = run_groups_scale_blocks(groups, row->k, scale->block_k);
    const bool by_columns = scale->layout == JIT_GEMM_SCALE_LAYOUT_COLUMN;
    struct element_view view = {.dtype = scale->dtype ? scale->dtype : JIT_GEMM_DTYPE_F32,
                                .batch = row->batch,
                                .rows = by_columns ? blocks : rows,
                                .columns = by_columns ? rows : blocks};

    view.ld = view.columns + 3;
    view.batch_stride = view.rows * view.ld + 1;
    return view;
}

/* Element of a batch that is scale (row, block), where there are so many rows of them. */
static int64_t index_block(const jit_gemm_scale *scale, const struct element_view *view,
                           int64_t rows, int64_t row, int64_t block, int64_t count_of_k)
{
    if (is_of_bytes(scale)) {
        return quantise_scale_index(scale, rows, count_of_k, row, block);
    }
    return scale->layout == JIT_GEMM_SCALE_LAYOUT_COLUMN ? block * view->ld + row
                                                         : row * view->ld + block;
}

double run_block_scale(const jit_gemm_scale *scale, const struct run_matrix *scales,
                       const void *data, int64_t batch, int64_t mn, int64_t k,
                       int64_t count_of_k)
{
    const struct element_view *view = &scales->view;

    if (scale->kind != JIT_GEMM_SCALE_BLOCK) {
        return 1;
    }
    const int64_t own_row = mn / scale->block_mn;
    const int64_t row = scales->groups != NULL
                            ? run_groups_scale_row(scales->groups, batch, own_row)
                            : own_row;
    const int64_t block =
        scales->groups != NULL
            ? run_groups_scale_block(scales->groups, batch, k, scale->block_k)
            : k / scale->block_k;
    const int64_t at = index_block(scale, view, scales->scale_rows, row, block, count_of_k);
    return element_load(
        view->dtype, data,
        (size_t)(run_matrix_batch(scales, batch) * view->batch_stride + at));
}

/* A scale about 1, of ue8m0 a power of two. */
static double scale_of(jit_gemm_dtype dtype, float random)
{
    return dtype == JIT_GEMM_DTYPE_UE8M0 ? ldexp(1, (int)(4 * random))
                                         : 0.125 + 2.0 * fabs((double)random);
}

/* For the blocks that there are; all else stays NaN. */
static int create_pieces(jit_gemm_context *context, const struct run_groups *all_groups,
                         const struct run_scale_row *row, const struct element_view *view,
                         uint64_t seed)
{
    const struct run_groups *groups = row->is_b ? NULL : all_groups;
    const int64_t rows = quantise_scale_rows(row->scale, row->count);
    const int64_t blocks = (row->k + row->scale->block_k - 1) / row->scale->block_k;
    struct element_view random = {JIT_GEMM_DTYPE_F32, 1, 1, blocks, blocks, blocks};
    float *values = cli_alloc((size_t)(blocks > 0 ? blocks : 1) * sizeof(float));
    void *data = cli_alloc(element_view_bytes(view));

    element_fill_poison(view, data);
    for (int64_t i = 0; i < view->batch * rows; i++) {
        const int64_t batch = i / rows, r = i % rows;
        const int64_t group = groups != NULL ? run_groups_of_row(groups, batch, r) : batch;
        const int64_t at_row =
            groups != NULL && group >= 0 ? run_groups_scale_row(groups, group, r) : r;
        if (group < 0) {
            continue; /* a row of no group has no scales */
        }
        element_fill_random(&random, values, seed + (uint64_t)i);
        for (int64_t block = 0; block < blocks; block++) {
            const int64_t at = batch * view->batch_stride +
                               index_block(row->scale, view, rows, at_row, block, row->k);
            element_store(view->dtype, data, (size_t)at,
                          scale_of(view->dtype, values[block]));
        }
    }
    const int code = run_matrix_create(context, view, data, COPY_ALIGNMENT, row->target);
    row->target->groups = groups;
    row->target->scale_rows = rows;
    free(values);
    free(data);
    return code;
}

/* Poisons scales of blocks of K that are no group's. */
static void poison_rest(const struct run_groups *groups, const struct run_scale_row *row,
                        const struct element_view *view, void *data)
{
    const int64_t block_k = row->scale->block_k;
    const int64_t rows = quantise_scale_rows(row->scale, row->count);
    const int64_t blocks = run_groups_scale_blocks(groups, row->k, block_k);
    bool *is_used = cli_alloc((size_t)blocks * sizeof(*is_used));

    memset(is_used, 0, (size_t)blocks * sizeof(*is_used));
    for (int64_t group = 0; group < groups->count; group++) {
        const struct run_rows depth = run_groups_depth(groups, group, row->k);
        for (int64_t k = depth.begin; k < depth.end; k += block_k) {
            is_used[run_groups_scale_block(groups, group, k, block_k)] = true;
        }
    }
    for (int64_t i = 0; i < blocks * rows; i++) {
        const int64_t block = i / rows;
        const int64_t at = index_block(row->scale, view, rows, i % rows, block, row->k);
        if (!is_used[block]) {
            memset((char *)data + element_bytes(view->dtype, (size_t)at),
                   element_poison_byte(view->dtype), element_size(view->dtype));
        }
    }
    free(is_used);
}

int run_block_scales_create(jit_gemm_context *context, const struct run_groups *groups,
                            const struct run_scale_row *row, uint64_t seed)
{
    struct element_view view = view_blocks(groups, row);
    if (is_of_bytes(row->scale)) {
        view.batch_stride = (view.batch_stride + 15) / 16 * 16;
        return create_pieces(context, groups, row, &view, seed);
    }
    void *data = cli_alloc(element_view_bytes(&view));
    element_fill_poison(&view, data);
    element_fill_random(&view, data, seed);
    if (run_groups_divide_k(groups->by)) {
        poison_rest(groups, row, &view, data);
    }
    const int code = run_matrix_create(context, &view, data, 0, row->target);
    if (run_groups_divide_k(groups->by)) {
        row->target->groups = groups;
    }
    free(data);
    return code;
}
