/* SPDX-License-Identifier: MIT */
#include "run_index.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    SPARE_ROWS = 5, /* of the matrix, beside as many as the product has */
    DROPPED_ONE_OF = 7,
    REPEATED_ONE_OF = 3
};

/* Uniform in [-1, 1], a value for each of `count` rows. */
static float *draw_values(int64_t count, uint64_t seed)
{
    const struct element_view view = {JIT_GEMM_DTYPE_F32, 1, 1, count, count, count};
    float *values = cli_alloc((size_t)count * sizeof(*values));

    element_fill_random(&view, values, seed);
    return values;
}

/* 0 to count - 1. */
static int64_t pick(float value, int64_t count)
{
    const int64_t at = (int64_t)(((double)value + 1) / 2 * (double)count);

    return at < count ? at : count - 1;
}

/* What is no row of the matrix: the least below 0 and the first beyond, in turn with
 * others. */
static int32_t no_row(const struct run_index *index, int64_t at)
{
    const int32_t none[] = {-1, (int32_t)index->own_rows, INT32_MIN, INT32_MAX};

    return none[(size_t)at % (sizeof(none) / sizeof(none[0]))];
}

void run_index_draw(int64_t count, uint64_t seed, struct run_index *ret_index)
{
    struct run_index index = {.count = count, .own_rows = count + SPARE_ROWS};
    int32_t *all = cli_alloc((size_t)index.own_rows * sizeof(*all));
    float *values = draw_values(index.own_rows, seed);

    for (int64_t i = 0; i < index.own_rows; i++) {
        all[i] = (int32_t)i;
    }
    for (int64_t i = index.own_rows - 1; i > 0; i--) {
        const int64_t other = pick(values[i], i + 1);
        const int32_t row = all[i];

        all[i] = all[other];
        all[other] = row;
    }
    index.rows = cli_alloc((size_t)count * sizeof(*index.rows));
    for (int64_t i = 0; i < count; i++) {
        index.rows[i] =
            all[i] % DROPPED_ONE_OF == 0 ? no_row(&index, all[i] / DROPPED_ONE_OF) : all[i];
    }
    free(all);
    free(values);
    *ret_index = index;
}

void run_index_free(struct run_index *index)
{
    free(index->rows);
    *index = (struct run_index){0};
}

bool run_index_has(const struct run_index *index, int32_t row)
{
    return row >= 0 && row < index->own_rows;
}

/* Is row `row` of D still poison, padding included? */
static bool is_untouched(const struct element_view *d, const void *data, int64_t row)
{
    for (int64_t column = 0; column < d->ld; column++) {
        if (!element_is_poison(d->dtype, data, (size_t)(row * d->ld + column))) {
            cli_error("D: row %" PRId64 " is named by no index and was written, at column "
                      "%" PRId64,
                      row, column);
            return false;
        }
    }
    return true;
}

/* Does no index name a row that was written? */
static bool others_are_untouched(const struct run_index *index,
                                 const struct element_view *d, const void *data)
{
    bool *is_named = cli_alloc((size_t)index->own_rows * sizeof(*is_named));
    bool is_right = true;

    memset(is_named, 0, (size_t)index->own_rows * sizeof(*is_named));
    for (int64_t i = 0; i < index->count; i++) {
        if (run_index_has(index, index->rows[i])) {
            is_named[index->rows[i]] = true;
        }
    }
    for (int64_t row = 0; row < index->own_rows && is_right; row++) {
        is_right = is_named[row] || is_untouched(d, data, row);
    }
    free(is_named);
    return is_right;
}

void *run_index_gather(const struct run_index *index, const struct element_view *d,
                       const void *data, const struct element_view *view,
                       const struct element_view *dropped_view, const void *dropped)
{
    if (!others_are_untouched(index, d, data)) {
        return NULL;
    }
    char *ordered = cli_alloc(element_view_bytes(view));
    const size_t row_bytes = element_bytes(d->dtype, (size_t)d->ld);

    element_fill_poison(view, ordered);
    for (int64_t i = 0; i < index->count; i++) {
        const int64_t batch = i / view->rows, row = i % view->rows;
        const int64_t at = batch * view->batch_stride + row * view->ld;

        if (run_index_has(index, index->rows[i])) {
            memcpy(ordered + element_bytes(d->dtype, (size_t)at),
                   (const char *)data + (size_t)index->rows[i] * row_bytes, row_bytes);
            continue;
        }
        for (int64_t column = 0; column < view->columns; column++) {
            const int64_t from =
                batch * dropped_view->batch_stride + row * dropped_view->ld + column;
            if (element_is_poison(dropped_view->dtype, dropped, (size_t)from)) {
                continue; /* a row of no group */
            }
            element_store(view->dtype, ordered, (size_t)(at + column),
                          element_load(dropped_view->dtype, dropped, (size_t)from));
        }
    }
    return ordered;
}

static size_t start_of_row(const struct element_view *view, int64_t row)
{
    return (size_t)(row / view->rows * view->batch_stride + row % view->rows * view->ld);
}

/* Does row `i` of the product get the index of the one before? */
static bool is_repeated(int64_t i, const bool *belongs)
{
    return i % REPEATED_ONE_OF == 1 && belongs[i - 1];
}

void *run_index_spread(struct run_index *index, const struct element_view *view,
                       const bool *belongs, void *ordered)
{
    const size_t row_bytes = element_bytes(view->dtype, (size_t)view->columns);
    const size_t step = element_bytes(view->dtype, (size_t)view->ld);
    const struct element_view own = {view->dtype,   1,        index->own_rows,
                                     view->columns, view->ld, index->own_rows * view->ld};
    char *spread = cli_alloc(element_view_bytes(&own));

    element_fill_poison(&own, spread);
    for (int64_t i = 0; i < index->count; i++) {
        const size_t start = start_of_row(view, i);
        char *row = (char *)ordered + element_bytes(view->dtype, start);
        if (!belongs[i]) {
            continue;
        }
        if (is_repeated(i, belongs)) {
            const size_t before = start_of_row(view, i - 1);
            index->rows[i] = index->rows[i - 1];
            memcpy(row, (char *)ordered + element_bytes(view->dtype, before), row_bytes);
        }
        if (run_index_has(index, index->rows[i])) {
            memcpy(spread + (size_t)index->rows[i] * step, row, row_bytes);
        } else {
            for (int64_t column = 0; column < view->columns; column++) {
                element_store(view->dtype, ordered, start + (size_t)column, 0);
            }
        }
    }
    return spread;
}

/* Element `line` of row `row` of the product. */
static size_t element_of_row(const struct element_view *view, bool by_columns, int64_t row,
                             int64_t line)
{
    const int64_t rows = by_columns ? view->columns : view->rows;
    const int64_t own = row % rows;

    return (size_t)(row / rows * view->batch_stride +
                    (by_columns ? line * view->ld + own : own * view->ld + line));
}

void *run_index_spread_scales(const struct run_index *index,
                              const struct element_view *view, bool by_columns,
                              const bool *belongs, void *ordered,
                              struct element_view *ret_own)
{
    const int64_t lines = by_columns ? view->rows : view->columns;
    const int64_t columns = by_columns ? index->own_rows : lines;
    struct element_view own = {.dtype = view->dtype,
                               .batch = 1,
                               .rows = by_columns ? lines : index->own_rows,
                               .columns = columns,
                               .ld = columns + view->ld - view->columns};
    own.batch_stride = own.rows * own.ld;
    void *spread = cli_alloc(element_view_bytes(&own));

    element_fill_poison(&own, spread);
    for (int64_t i = 0; i < index->count * lines; i++) {
        const int64_t row = i / lines, line = i % lines;
        const size_t at = element_of_row(view, by_columns, row, line);
        if (!belongs[row]) {
            continue;
        }
        if (is_repeated(row, belongs)) {
            const size_t before = element_of_row(view, by_columns, row - 1, line);
            element_store(view->dtype, ordered, at,
                          element_load(view->dtype, ordered, before));
        }
        if (run_index_has(index, index->rows[row])) {
            const size_t target = element_of_row(&own, by_columns, index->rows[row], line);
            element_store(view->dtype, spread, target,
                          element_load(view->dtype, ordered, at));
        }
    }
    *ret_own = own;
    return spread;
}
