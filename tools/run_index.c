/* SPDX-License-Identifier: MIT */
#include "run_index.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    SPARE_ROWS = 5, /* of D, beside as many as the product has */
    DROPPED_ONE_OF = 7
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

/* What is no row of D: the least below 0 and the first beyond, in turn with others. */
static int32_t no_row(const struct run_index *index, int64_t at)
{
    const int32_t none[] = {-1, (int32_t)index->d_rows, INT32_MIN, INT32_MAX};

    return none[(size_t)at % (sizeof(none) / sizeof(none[0]))];
}

void run_index_draw(int64_t count, uint64_t seed, struct run_index *ret_index)
{
    struct run_index index = {.count = count, .d_rows = count + SPARE_ROWS};
    int32_t *all = cli_alloc((size_t)index.d_rows * sizeof(*all));
    float *values = draw_values(index.d_rows, seed);

    for (int64_t i = 0; i < index.d_rows; i++) {
        all[i] = (int32_t)i;
    }
    for (int64_t i = index.d_rows - 1; i > 0; i--) {
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

static bool is_row(const struct run_index *index, int32_t row)
{
    return row >= 0 && row < index->d_rows;
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
    bool *is_named = cli_alloc((size_t)index->d_rows * sizeof(*is_named));
    bool is_right = true;

    memset(is_named, 0, (size_t)index->d_rows * sizeof(*is_named));
    for (int64_t i = 0; i < index->count; i++) {
        if (is_row(index, index->rows[i])) {
            is_named[index->rows[i]] = true;
        }
    }
    for (int64_t row = 0; row < index->d_rows && is_right; row++) {
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

        if (is_row(index, index->rows[i])) {
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
