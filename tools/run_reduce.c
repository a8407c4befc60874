/* SPDX-License-Identifier: MIT */
#include "run_reduce.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is folded, and where to. */
struct job {
    const struct run_groups *groups;
    const struct reduction *reduction;
    const struct element_view *elements, *out;
    const void *data;
    float *results;
    bool *is_result; /* of some group */
    double squares, count;
};

/* Is there a result for each row, or for each block of one? */
static bool is_of_rows(const struct reduction *reduction)
{
    return reduction->of == REDUCE_ROWS || reduction->of == REDUCE_BLOCKS;
}

/* Where the results of a group's rows from `row` on begin. */
static int64_t first_result(const struct job *job, int64_t group, int64_t row)
{
    const int64_t batch =
        is_of_rows(job->reduction) && run_groups_are_stacked(job->groups) ? 0 : group;
    const int64_t own = job->reduction->of == REDUCE_BLOCKS ? row * job->out->columns
                        : job->reduction->of == REDUCE_ROWS ? row
                                                            : 0;
    return batch * job->out->rows * job->out->columns + own;
}

/* `rows` rows of a group that lie one after the other, or none of it; results from `first`
 * on. */
static void fold_rows(struct job *job, const char *data, int64_t rows, int64_t first)
{
    const struct element_view own = {job->elements->dtype, 1, rows, job->elements->columns,
                                     job->elements->ld,    0};
    const struct element_view view = reduce_view(&own, job->reduction);
    const double magnitude =
        reduce_elements(&own, data, job->reduction, &job->results[first]);

    for (int64_t i = 0; i < view.batch_stride; i++) {
        job->is_result[first + i] = true;
    }
    job->squares += magnitude * magnitude * (double)view.batch_stride;
    job->count += (double)view.batch_stride;
}

static const char *find_rows(const struct job *job, int64_t group, int64_t row)
{
    const int64_t batch = run_groups_are_stacked(job->groups) ? 0 : group;

    return (const char *)job->data +
           element_bytes(
               job->elements->dtype,
               (size_t)(batch * job->elements->batch_stride + row * job->elements->ld));
}

/* One result, or one of each column, of rows that may lie apart. */
static void fold_all_rows(struct job *job, int64_t group)
{
    const int64_t all = job->elements->rows;
    const size_t row_bytes = element_bytes(job->elements->dtype, (size_t)job->elements->ld);
    char *gathered = cli_alloc((size_t)all * row_bytes + 1);
    struct run_rows rows = run_groups_next(job->groups, group, 0, all);
    int64_t count = 0;

    for (; rows.begin < rows.end;
         rows = run_groups_next(job->groups, group, rows.end, all)) {
        memcpy(gathered + (size_t)count * row_bytes, find_rows(job, group, rows.begin),
               (size_t)(rows.end - rows.begin) * row_bytes);
        count += rows.end - rows.begin;
    }
    fold_rows(job, gathered, count, first_result(job, group, 0));
    free(gathered);
}

static void fold_group(struct job *job, int64_t group)
{
    const int64_t all = job->elements->rows;
    struct run_rows rows = run_groups_next(job->groups, group, 0, all);

    if (!is_of_rows(job->reduction)) {
        fold_all_rows(job, group);
        return;
    }
    for (; rows.begin < rows.end;
         rows = run_groups_next(job->groups, group, rows.end, all)) {
        fold_rows(job, find_rows(job, group, rows.begin), rows.end - rows.begin,
                  first_result(job, group, rows.begin));
    }
}

/* Element of `out` that result `i` of the packed ones is. */
static size_t place_of(const struct element_view *out, int64_t i)
{
    const int64_t per_batch = out->rows * out->columns;
    const int64_t in_batch = i % per_batch;

    return (size_t)(i / per_batch * out->batch_stride + in_batch / out->columns * out->ld +
                    in_batch % out->columns);
}

bool run_reduce_groups(const struct run_groups *groups, const char *name,
                       const struct reduction *reduction,
                       const struct element_view *elements, const void *data,
                       const struct element_view *out, void *out_data, float *results,
                       double *ret_magnitude)
{
    const int64_t count = out->batch * out->rows * out->columns;
    struct job job = {.groups = groups,
                      .reduction = reduction,
                      .elements = elements,
                      .out = out,
                      .data = data,
                      .results = results,
                      .is_result = cli_alloc((size_t)count * sizeof(bool))};
    bool is_right = true;

    for (int64_t i = 0; i < count; i++) {
        job.is_result[i] = false;
        results[i] = 0;
    }
    for (int64_t group = 0; group < groups->count; group++) {
        fold_group(&job, group);
    }
    for (int64_t i = 0; i < count && is_right; i++) {
        const size_t place = place_of(out, i);
        if (job.is_result[i]) {
            continue;
        }
        is_right = element_is_poison(out->dtype, out_data, place);
        if (is_right) {
            element_store(out->dtype, out_data, place, 0);
        } else {
            cli_error("%s: result %" PRId64 " is of a row of no group and was written",
                      name, i);
        }
    }
    free(job.is_result);
    *ret_magnitude = job.count > 0 ? sqrt(job.squares / job.count) : 0;
    return is_right;
}
