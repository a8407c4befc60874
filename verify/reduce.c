/* SPDX-License-Identifier: MIT */
#include "verify/reduce.h"

#include <math.h>

struct element_view reduce_view(const struct element_view *elements,
                                const struct reduction *reduction)
{
    int64_t rows = 1, columns = 1;
    switch (reduction->of) {
    case REDUCE_ROWS:
        columns = elements->rows;
        break;
    case REDUCE_COLUMNS:
        columns = elements->columns;
        break;
    case REDUCE_BLOCKS:
        rows = elements->rows;
        columns = (elements->columns + reduction->block - 1) / reduction->block;
        break;
    case REDUCE_ALL:
        break;
    }
    return (struct element_view){.dtype = JIT_GEMM_DTYPE_F32,
                                 .batch = elements->batch,
                                 .rows = rows,
                                 .columns = columns,
                                 .ld = columns,
                                 .batch_stride = rows * columns};
}

/* Of one result, so far. */
struct fold {
    double value, squares;
    int64_t count; /* of elements */
};

static void fold_in(struct fold *fold, enum reduce_operation operation, double value)
{
    fold->squares += value * value;
    fold->count++;
    if (operation == REDUCE_SUM) {
        fold->value += value;
    } else if (isnan(value) || isnan(fold->value)) {
        fold->value = (double)NAN;
    } else if (operation == REDUCE_MAX) {
        fold->value = fmax(fold->value, value);
    } else {
        fold->value = fmin(fold->value, value);
    }
}

/* The elements that make one result: `rows` x `columns` from (row, column) on. */
struct block {
    int64_t batch, row, column, rows, columns;
};

static struct fold fold_block(const struct element_view *view, const void *data,
                              const struct block *block, enum reduce_operation operation)
{
    const double infinity = (double)INFINITY;
    struct fold fold = {0};
    if (operation != REDUCE_SUM) {
        fold.value = operation == REDUCE_MAX ? -infinity : infinity;
    }
    for (int64_t row = block->row; row < block->row + block->rows; row++) {
        const int64_t start = block->batch * view->batch_stride + row * view->ld;
        for (int64_t column = block->column; column < block->column + block->columns;
             column++) {
            const size_t index = (size_t)(start + column);
            fold_in(&fold, operation, element_load(view->dtype, data, index));
        }
    }
    return fold;
}

/* What makes result (row, column) of `batch`. */
static struct block block_of(const struct element_view *elements,
                             const struct reduction *reduction, int64_t batch, int64_t row,
                             int64_t column)
{
    struct block block = {.batch = batch, .rows = 1, .columns = 1};
    switch (reduction->of) {
    case REDUCE_ROWS:
        block.row = column;
        block.columns = elements->columns;
        break;
    case REDUCE_COLUMNS:
        block.column = column;
        block.rows = elements->rows;
        break;
    case REDUCE_ALL:
        block.rows = elements->rows;
        block.columns = elements->columns;
        break;
    case REDUCE_BLOCKS:
        block.row = row;
        block.column = column * reduction->block;
        block.columns = elements->columns - block.column < reduction->block
                            ? elements->columns - block.column
                            : reduction->block;
        break;
    }
    return block;
}

double reduce_elements(const struct element_view *elements, const void *data,
                       const struct reduction *reduction, float *results)
{
    const struct element_view view = reduce_view(elements, reduction);
    double squares = 0;
    for (int64_t batch = 0; batch < view.batch; batch++) {
        for (int64_t i = 0; i < view.batch_stride; i++) {
            const struct block block =
                block_of(elements, reduction, batch, i / view.ld, i % view.ld);
            const struct fold fold =
                fold_block(elements, data, &block, reduction->operation);
            results[batch * view.batch_stride + i] = (float)fold.value;
            const double terms = reduction->operation == REDUCE_SUM || fold.count == 0
                                     ? 1
                                     : (double)fold.count;
            squares += isfinite(fold.squares) ? fold.squares / terms : 0;
        }
    }
    const double count = (double)(view.batch * view.batch_stride);
    return count > 0 ? sqrt(squares / count) : 0;
}

struct compare_bounds reduce_bounds_for(jit_gemm_dtype dtype, enum compare_sums sums,
                                        int64_t k, double magnitude)
{
    struct compare_bounds bounds = compare_bounds_for(dtype, sums, k);
    const double term = compare_bounds_for(JIT_GEMM_DTYPE_F32, sums, k).relative;
    bounds.sums = 0; /* those of many elements, however few results there are */
    bounds.absolute += 16 * term * magnitude;
    bounds.root += term * magnitude;
    return bounds;
}
