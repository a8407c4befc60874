/* SPDX-License-Identifier: MIT */
#include "run_groups.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BAND_ROWS = 128 /* of scales in 128x4, the library's rule: docs/grouped.md */ };

bool run_groups_are_stacked(const struct run_groups *groups)
{
    return groups->by == JIT_GEMM_GROUP_BY_OFFSETS;
}

bool run_groups_divide_k(jit_gemm_group_by by)
{
    return by == JIT_GEMM_GROUP_BY_K_OFFSETS;
}

static bool divide_rows(const struct run_groups *groups)
{
    return groups->by != JIT_GEMM_GROUP_NONE && !run_groups_divide_k(groups->by);
}

/* Is the number of a group where it ends? */
static bool have_ends(const struct run_groups *groups)
{
    return run_groups_are_stacked(groups) || run_groups_divide_k(groups->by);
}

/* Next number of the list, or a usage error. */
static int read_size(const char *list, const char **at, int64_t *ret_size)
{
    char *end = NULL;
    const long long size = strtoll(*at, &end, 10);

    if (end == *at || size < 0 || size > INT32_MAX || (*end != ',' && *end != '\0')) {
        return cli_usage_error("--group-sizes: `%s` is no list of sizes such as 0,7,1200",
                               list);
    }
    *ret_size = size;
    *at = end + (*end == ',');
    return CLI_OK;
}

static int read_list(const char *list, int64_t count, int32_t *sizes)
{
    const char *at = list;
    int64_t given = 0;

    for (; *at != '\0'; given++) {
        int64_t size = 0;
        if (read_size(list, &at, &size) != CLI_OK) {
            return CLI_USAGE;
        }
        if (given < count) {
            sizes[given] = (int32_t)size;
        }
    }
    return given == count
               ? CLI_OK
               : cli_usage_error("--group-sizes: %" PRId64
                                 " sizes are given, the problem has %" PRId64 " groups",
                                 given, count);
}

/* Rows, or K, that a launch needs for these groups. */
static int64_t needed_extent(const struct run_groups *groups)
{
    int64_t sum = 0, most = 0;

    for (int64_t i = 0; i < groups->count; i++) {
        sum += groups->numbers[i];
        most = groups->numbers[i] > most ? groups->numbers[i] : most;
    }
    return have_ends(groups) ? sum : most;
}

/* All the same, and of what lies one after the other each in some group. */
static void share_extent(const struct run_groups *groups, int64_t extent)
{
    const int64_t part = extent / groups->count, rest = extent % groups->count;

    for (int64_t i = 0; i < groups->count; i++) {
        groups->numbers[i] = (int32_t)(have_ends(groups) ? part + (i < rest) : extent);
    }
}

static int check_extent(const struct run_groups *groups, int64_t *extent)
{
    const bool is_k = run_groups_divide_k(groups->by);
    const int64_t needed = needed_extent(groups);

    if (*extent == 0) { /* of nothing at all, one that nobody has */
        *extent = needed > 0 ? needed : 1;
    }
    if (needed > INT32_MAX || needed > *extent) {
        return cli_usage_error(
            "--group-sizes: the groups have %" PRId64 " %s%s, but %c is %" PRId64, needed,
            is_k ? "elements of K" : "rows", have_ends(groups) ? " in all" : " at most",
            is_k ? 'K' : 'M', *extent);
    }
    return CLI_OK;
}

int run_groups_read(const jit_gemm_problem *problem, const char *list, int64_t *extent,
                    struct run_groups *ret_groups)
{
    if (problem->group_by == JIT_GEMM_GROUP_NONE) {
        return list == NULL ? CLI_OK
                            : cli_usage_error("--group-sizes needs groups in the problem, "
                                              "such as groups=8");
    }
    *ret_groups = (struct run_groups){
        .by = problem->group_by,
        .count = problem->batch.size,
        .numbers = cli_alloc((size_t)problem->batch.size * sizeof(*ret_groups->numbers))};
    if (list != NULL) {
        const int code = read_list(list, ret_groups->count, ret_groups->numbers);
        if (code != CLI_OK) {
            return code;
        }
    } else {
        share_extent(ret_groups, *extent);
    }
    const int code = check_extent(ret_groups, extent);
    if (code == CLI_OK && have_ends(ret_groups)) {
        for (int64_t i = 1; i < ret_groups->count; i++) { /* sizes become ends */
            ret_groups->numbers[i] += ret_groups->numbers[i - 1];
        }
    }
    return code;
}

void run_groups_free(struct run_groups *groups)
{
    free(groups->numbers);
    *groups = (struct run_groups){0};
}

static struct run_rows range_of(const struct run_groups *groups, int64_t group)
{
    const bool has_begin = have_ends(groups) && group > 0;
    return (struct run_rows){has_begin ? groups->numbers[group - 1] : 0,
                             groups->numbers[group]};
}

struct run_rows run_groups_rows(const struct run_groups *groups, int64_t batch, int64_t m)
{
    return divide_rows(groups) ? range_of(groups, batch) : (struct run_rows){0, m};
}

struct run_rows run_groups_depth(const struct run_groups *groups, int64_t batch, int64_t k)
{
    return run_groups_divide_k(groups->by) ? range_of(groups, batch)
                                           : (struct run_rows){0, k};
}

int64_t run_groups_of_row(const struct run_groups *groups, int64_t batch, int64_t row,
                          int64_t m)
{
    const int64_t first = run_groups_are_stacked(groups) ? 0 : batch;
    const int64_t last = run_groups_are_stacked(groups) ? groups->count - 1 : batch;

    for (int64_t group = first; group <= last; group++) {
        const struct run_rows rows = run_groups_rows(groups, group, m);
        if (row >= rows.begin && row < rows.end) {
            return group;
        }
    }
    return -1;
}

/* Of row `at` of D, or element of K. */
static bool belongs(const struct run_groups *groups, bool is_k, int64_t batch, int64_t at,
                    int64_t size)
{
    return is_k ? at < run_groups_depth(groups, groups->count - 1, size).end
                : run_groups_of_row(groups, batch, at, size) >= 0;
}

void run_groups_poison_rest(const struct run_groups *groups,
                            const struct element_view *view, bool is_k, bool by_columns,
                            void *data)
{
    const int64_t rows = by_columns ? view->columns : view->rows;
    const int64_t count = by_columns ? view->rows : view->columns;
    const int64_t step = by_columns ? 1 : view->ld, inner = by_columns ? view->ld : 1;

    for (int64_t at = 0; groups->count > 0 && at < view->batch * rows; at++) {
        const int64_t batch = at / rows, row = at % rows;
        if (belongs(groups, is_k, batch, row, rows)) {
            continue;
        }
        for (int64_t i = 0; i < count; i++) {
            const int64_t place = batch * view->batch_stride + row * step + i * inner;
            memset((char *)data + element_bytes(view->dtype, (size_t)place),
                   element_poison_byte(view->dtype), element_size(view->dtype));
        }
    }
}

bool run_groups_clear_rest(const struct run_groups *groups, const char *name,
                           const struct element_view *view, void *data)
{
    for (int64_t at = 0; at < view->batch * view->rows; at++) {
        const int64_t batch = at / view->rows, row = at % view->rows;
        const int64_t start = batch * view->batch_stride + row * view->ld;
        if (run_groups_of_row(groups, batch, row, view->rows) >= 0) {
            continue;
        }
        for (int64_t column = 0; column < view->columns; column++) {
            if (!element_is_poison(view->dtype, data, (size_t)(start + column))) {
                cli_error("%s: row %" PRId64 " of batch %" PRId64
                          " belongs to no group and was written, at column %" PRId64,
                          name, row, batch, column);
                return false;
            }
            element_store(view->dtype, data, (size_t)(start + column), 0);
        }
    }
    return true;
}

int64_t run_groups_scale_rows(const struct run_groups *groups, int64_t m)
{
    return run_groups_are_stacked(groups) ? (m / BAND_ROWS + groups->count) * BAND_ROWS : m;
}

int64_t run_groups_scale_row(const struct run_groups *groups, int64_t group, int64_t row)
{
    if (!run_groups_are_stacked(groups)) {
        return row;
    }
    const int64_t begin = run_groups_rows(groups, group, 0).begin;
    return (begin / BAND_ROWS + group) * BAND_ROWS + row - begin;
}

int64_t *run_groups_map_scales(const struct run_groups *groups,
                               const struct element_view *view)
{
    const int64_t count = view->batch * view->rows;
    int64_t *rows = cli_alloc((size_t)(count > 0 ? count : 1) * sizeof(*rows));

    for (int64_t at = 0; at < count; at++) {
        const int64_t row = at % view->rows;
        const int64_t group = run_groups_of_row(groups, at / view->rows, row, view->rows);
        rows[at] = group < 0 ? -1 : run_groups_scale_row(groups, group, row);
    }
    return rows;
}
