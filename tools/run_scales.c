/* SPDX-License-Identifier: MIT */
#include "run_scales.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "verify/quantise.h"

enum { COPY_ALIGNMENT = 16 };

/* Elements of K at whose multiples the scales of a group along K begin: a block, or of
 * scales of a byte the four of a word. */
static int64_t step_of(const jit_gemm_scale *scale)
{
    return (quantise_has_byte_scales(scale) ? 4 : 1) * (int64_t)scale->block_k;
}

/* Blocks that scales are laid out for, of so many elements. */
static int64_t count_blocks(const struct run_groups *groups,
                            const struct run_scale_row *row)
{
    const int64_t k = run_groups_scale_depth(groups, row->k, step_of(row->scale));
    return (k + row->scale->block_k - 1) / row->scale->block_k;
}

/* Do scales of groups by offsets have rows of one group each? */
static bool has_bands(const jit_gemm_scale *scale)
{
    return scale->layout == JIT_GEMM_SCALE_LAYOUT_128X4;
}

/* The row of the scales that is a group's, of a row of its matrix or of blocks of it. */
static int64_t row_of_scales(const struct run_groups *groups, const jit_gemm_scale *scale,
                             int64_t group, int64_t row)
{
    return has_bands(scale) ? run_groups_scale_row(groups, group, row) : row;
}

/* Scales of blocks, those of f32 in rows that lie further apart than packed; between them
 * is poison. */
static struct element_view view_blocks(const struct run_groups *groups,
                                       const struct run_scale_row *row)
{
    const jit_gemm_scale *scale = row->scale;
    const int64_t blocks = count_blocks(groups, row);
    if (quantise_has_byte_scales(scale)) {
        const int64_t count = row->is_b || !has_bands(scale)
                                  ? row->count
                                  : run_groups_scale_rows(groups, row->count);
        return quantise_scale_view(scale, row->batch, quantise_scale_rows(scale, count),
                                   blocks * scale->block_k);
    }
    const int64_t rows = quantise_scale_rows(scale, row->count);
    const bool by_columns = scale->layout == JIT_GEMM_SCALE_LAYOUT_COLUMN;
    struct element_view view = {.dtype = scale->dtype ? scale->dtype : JIT_GEMM_DTYPE_F32,
                                .batch = row->batch,
                                .rows = by_columns ? blocks : rows,
                                .columns = by_columns ? rows : blocks};

    view.ld = view.columns + 3;
    view.batch_stride = view.rows * view.ld + 1;
    return view;
}

/* Element of a batch that is scale (row, block), where there are so many of both. */
static int64_t index_block(const jit_gemm_scale *scale, const struct element_view *view,
                           int64_t rows, int64_t blocks, int64_t row, int64_t block)
{
    if (quantise_has_byte_scales(scale)) {
        return quantise_scale_index(scale, rows, blocks * scale->block_k, row, block);
    }
    return scale->layout == JIT_GEMM_SCALE_LAYOUT_COLUMN ? block * view->ld + row
                                                         : row * view->ld + block;
}

double run_block_scale(const jit_gemm_scale *scale, const struct run_matrix *scales,
                       const void *data, int64_t batch, int64_t mn, int64_t k)
{
    const struct element_view *view = &scales->view;

    if (scale->kind != JIT_GEMM_SCALE_BLOCK) {
        return 1;
    }
    const int64_t own_row = mn / scale->block_mn;
    const int64_t row = scales->groups != NULL
                            ? row_of_scales(scales->groups, scale, batch, own_row)
                            : own_row;
    const int64_t place =
        scales->groups != NULL
            ? run_groups_scale_place(scales->groups, batch, k, step_of(scale))
            : k;
    const int64_t at = index_block(scale, view, scales->scale_rows, scales->scale_blocks,
                                   row, place / scale->block_k);
    return element_load(
        view->dtype, data,
        (size_t)(run_matrix_batch(scales, batch) * view->batch_stride + at));
}

/* Of each of so many blocks of K: is it a group's, or are there no groups along K? Owned by
 * the caller. */
static bool *list_blocks(const struct run_groups *groups, const struct run_scale_row *row,
                         int64_t blocks)
{
    const int64_t block_k = row->scale->block_k;
    const bool has_groups = run_groups_divide_k(groups->by);
    bool *is_used = cli_alloc((size_t)(blocks > 0 ? blocks : 1) * sizeof(*is_used));

    for (int64_t i = 0; i < blocks; i++) {
        is_used[i] = !has_groups;
    }
    for (int64_t group = 0; has_groups && group < groups->count; group++) {
        const struct run_rows depth = run_groups_depth(groups, group, row->k);
        for (int64_t k = depth.begin; k < depth.end; k += block_k) {
            is_used[run_groups_scale_place(groups, group, k, step_of(row->scale)) /
                    block_k] = true;
        }
    }
    return is_used;
}

/* For the blocks that there are; all else stays NaN. */
static int create_pieces(jit_gemm_context *context, const struct run_groups *all_groups,
                         const struct run_scale_row *row, const struct element_view *view,
                         uint64_t seed)
{
    const bool divide_k = run_groups_divide_k(all_groups->by);
    const struct run_groups *groups = row->is_b && !divide_k ? NULL : all_groups;
    const int64_t rows = quantise_scale_rows(row->scale, row->count);
    const int64_t blocks = count_blocks(all_groups, row);
    struct element_view random = {JIT_GEMM_DTYPE_F32, 1, 1, blocks, blocks, blocks};
    float *values = cli_alloc((size_t)(blocks > 0 ? blocks : 1) * sizeof(float));
    bool *is_used = list_blocks(all_groups, row, blocks);
    void *data = cli_alloc(element_view_bytes(view));

    element_fill_poison(view, data);
    for (int64_t i = 0; i < view->batch * rows; i++) {
        const int64_t batch = i / rows, r = i % rows;
        const int64_t group =
            groups != NULL ? run_groups_of_row(groups, batch, r * row->scale->block_mn)
                           : batch;
        const int64_t at_row =
            groups != NULL && group >= 0 ? row_of_scales(groups, row->scale, group, r) : r;
        if (group < 0) {
            continue; /* a row of no group has no scales */
        }
        element_fill_random(&random, values, seed + (uint64_t)i);
        for (int64_t block = 0; block < blocks; block++) {
            const int64_t at = batch * view->batch_stride +
                               index_block(row->scale, view, rows, blocks, at_row, block);
            if (is_used[block]) {
                element_store(view->dtype, data, (size_t)at,
                              quantise_random_scale(view->dtype, values[block]));
            }
        }
    }
    const int code = run_matrix_create(context, view, data, COPY_ALIGNMENT, row->target);
    row->target->groups = groups;
    row->target->scale_rows = rows;
    row->target->scale_blocks = blocks;
    free(values);
    free(is_used);
    free(data);
    return code;
}

/* Element of the scales that is of row `i` of the product, and of a block. */
static size_t place_of(const jit_gemm_scale *scale, const struct run_matrix *scales,
                       int64_t i, int64_t block)
{
    const int64_t batch = i / scales->scale_rows, row = i % scales->scale_rows;
    const int64_t group = run_groups_of_row(scales->groups, batch, row);
    const int64_t own = row_of_scales(scales->groups, scale, group, row);
    return (size_t)(batch * scales->view.batch_stride +
                    quantise_scale_index(scale, scales->scale_rows,
                                         scales->scale_blocks * scale->block_k, own,
                                         block));
}

void *run_block_scales_spread(const struct run_index *index, const jit_gemm_scale *scale,
                              const struct run_matrix *scales, const bool *belongs,
                              void *ordered, struct element_view *ret_own)
{
    const int64_t k = scales->scale_blocks * scale->block_k;
    const jit_gemm_dtype dtype = scales->view.dtype;
    const struct element_view own =
        quantise_scale_view(scale, 1, quantise_scale_rows(scale, index->own_rows), k);
    void *spread = cli_alloc(element_view_bytes(&own));

    element_fill_poison(&own, spread);
    for (int64_t i = 0; i < index->count; i++) {
        const int64_t row = index->rows[i];
        for (int64_t block = 0; belongs[i] && block < scales->scale_blocks; block++) {
            const size_t at = place_of(scale, scales, i, block);
            if (i > 0 && belongs[i - 1] && index->rows[i - 1] == row) {
                element_store(
                    dtype, ordered, at,
                    element_load(dtype, ordered, place_of(scale, scales, i - 1, block)));
            }
            if (row >= 0 && row < index->own_rows) {
                element_store(
                    dtype, spread,
                    (size_t)quantise_scale_index(scale, index->own_rows, k, row, block),
                    element_load(dtype, ordered, at));
            }
        }
    }
    *ret_own = own;
    return spread;
}

/* Is all poison that was not taken? */
static bool rest_is_untouched(const struct element_view *own, const void *data,
                              const bool *is_taken)
{
    for (int64_t i = 0; i < own->columns; i++) {
        if (!is_taken[i] && !element_is_poison(own->dtype, data, (size_t)i)) {
            cli_error("d_scale: element %lld is of a row that no index names, and was "
                      "written",
                      (long long)i);
            return false;
        }
    }
    return true;
}

void *run_block_scales_gather(const struct run_index *index, const jit_gemm_scale *scale,
                              const struct element_view *own, const void *data,
                              const struct element_view *ordered,
                              struct element_view *ret_view)
{
    enum { WORD = 4 };
    const int64_t columns = ordered->columns, rows = ordered->rows;
    const struct element_view view =
        quantise_scale_view(scale, ordered->batch, rows, columns);
    const int64_t blocks = (columns + scale->block_k - 1) / scale->block_k;
    /* What fills up a word of four is compared, too. */
    const int64_t all =
        quantise_has_words(scale) ? (blocks + WORD - 1) / WORD * WORD : blocks;
    bool *is_taken = cli_alloc((size_t)own->columns * sizeof(*is_taken));
    void *gathered = cli_alloc(element_view_bytes(&view));
    const size_t bytes = element_size(view.dtype);

    memset(is_taken, 0, (size_t)own->columns * sizeof(*is_taken));
    element_fill_poison(&view, gathered);
    for (int64_t i = 0; i < index->count; i++) {
        for (int64_t block = 0; run_index_has(index, index->rows[i]) && block < all;
             block++) {
            const int64_t from = quantise_scale_index(scale, index->own_rows, columns,
                                                      index->rows[i], block);
            const int64_t to = i / rows * view.batch_stride +
                               quantise_scale_index(scale, rows, columns, i % rows, block);
            is_taken[from] = true;
            memcpy((char *)gathered + (size_t)to * bytes,
                   (const char *)data + (size_t)from * bytes, bytes);
        }
    }
    if (!rest_is_untouched(own, data, is_taken)) {
        free(gathered);
        gathered = NULL;
    }
    free(is_taken);
    *ret_view = view;
    return gathered;
}

/* Poisons scales of blocks of K that are no group's. */
static void poison_rest(const struct run_groups *groups, const struct run_scale_row *row,
                        const struct element_view *view, void *data)
{
    const int64_t rows = quantise_scale_rows(row->scale, row->count);
    const int64_t blocks = count_blocks(groups, row);
    bool *is_used = list_blocks(groups, row, blocks);

    for (int64_t i = 0; i < blocks * rows; i++) {
        const int64_t block = i / rows;
        const int64_t at = index_block(row->scale, view, rows, blocks, i % rows, block);
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
    if (quantise_has_byte_scales(row->scale)) {
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
