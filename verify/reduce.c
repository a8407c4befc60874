/* SPDX-License-Identifier: MIT */
#include "verify/reduce.h"

#include <math.h>

struct element_view reduce_view(const struct element_view *elements,
                                const struct reduction *reduction)
{
    const int64_t count = reduction->of == REDUCE_ROWS      ? elements->rows
                          : reduction->of == REDUCE_COLUMNS ? elements->columns
                                                            : 1;
    return (struct element_view){.dtype = JIT_GEMM_DTYPE_F32,
                                 .batch = elements->batch,
                                 .rows = 1,
                                 .columns = count,
                                 .ld = count,
                                 .batch_stride = count};
}

/* Of one result, so far. */
struct fold {
    double value, squares;
};

static void fold_in(struct fold *fold, enum reduce_operation operation, double value)
{
    fold->squares += value * value;
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

double reduce_elements(const struct element_view *elements, const void *data,
                       const struct reduction *reduction, float *results)
{
    const bool by_rows = reduction->of == REDUCE_ROWS;
    const bool by_columns = reduction->of == REDUCE_COLUMNS;
    const struct element_view view = reduce_view(elements, reduction);
    double squares = 0;
    for (int64_t batch = 0; batch < view.batch; batch++) {
        for (int64_t i = 0; i < view.columns; i++) {
            const struct block block = {.batch = batch,
                                        .row = by_rows ? i : 0,
                                        .column = by_columns ? i : 0,
                                        .rows = by_rows ? 1 : elements->rows,
                                        .columns = by_columns ? 1 : elements->columns};
            const struct fold fold =
                fold_block(elements, data, &block, reduction->operation);
            results[batch * view.batch_stride + i] = (float)fold.value;
            squares += isfinite(fold.squares) ? fold.squares : 0;
        }
    }
    const double count = (double)(view.batch * view.columns);
    return count > 0 ? sqrt(squares / count) : 0;
}

struct compare_bounds reduce_bounds_for(jit_gemm_dtype dtype,
                                        const struct reduction *reduction,
                                        enum compare_sums sums, int64_t k, double magnitude)
{
    struct compare_bounds bounds = compare_bounds_for(dtype, sums, k);
    if (reduction->operation == REDUCE_SUM) {
        const double term = compare_bounds_for(JIT_GEMM_DTYPE_F32, sums, k).relative;
        bounds.absolute += 16 * term * magnitude;
        bounds.root += term * magnitude;
    }
    return bounds;
}
