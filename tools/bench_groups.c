/* SPDX-License-Identifier: MIT */
#include "bench_groups.h"

#include <stdlib.h>
#include <string.h>

/* All rows, or the one part of K, that a group has. Without room for them they are only
 * counted. */
static size_t list_group(const struct run_groups *own, int64_t group, int64_t m, int64_t k,
                         struct gemm_bench_part *parts)
{
    size_t count = 0;

    if (run_groups_divide_k(own->by)) {
        const struct run_rows depth = run_groups_depth(own, group, k);
        if (depth.begin < depth.end && parts != NULL) {
            parts[0] = (struct gemm_bench_part){group, depth.begin, depth.end};
        }
        return depth.begin < depth.end;
    }
    struct run_rows rows = run_groups_next(own, group, 0, m);
    for (; rows.begin < rows.end; rows = run_groups_next(own, group, rows.end, m)) {
        if (parts != NULL) {
            parts[count] = (struct gemm_bench_part){group, rows.begin, rows.end};
        }
        count++;
    }
    return count;
}

static size_t list_parts(const struct run_groups *own, int64_t m, int64_t k,
                         struct gemm_bench_part *parts)
{
    size_t count = 0;

    for (int64_t group = 0; group < own->count; group++) {
        count += list_group(own, group, m, k, parts != NULL ? parts + count : NULL);
    }
    return count;
}

int bench_groups_read(const jit_gemm_problem *problem, const struct group_lists *lists,
                      struct bench_groups *ret_groups)
{
    int64_t m = problem->m.size, k = problem->k.size;
    int64_t *extent = run_groups_divide_k(problem->group_by) ? &k : &m;

    *ret_groups = (struct bench_groups){0};
    if (problem->group_by == JIT_GEMM_GROUP_NONE) {
        return CLI_OK;
    }
    int code = run_groups_read(problem, &lists->sizes, extent, &ret_groups->own);
    if (code == CLI_OK) {
        code = run_groups_read_own(problem, lists->ns, lists->ks, problem->n.size, k,
                                   &ret_groups->own);
    }
    if (code != CLI_OK) {
        return code;
    }
    const size_t count = list_parts(&ret_groups->own, m, k, NULL);
    ret_groups->parts = cli_alloc((count + 1) * sizeof(*ret_groups->parts));
    list_parts(&ret_groups->own, m, k, ret_groups->parts);
    ret_groups->groups =
        (struct gemm_bench_groups){.numbers = ret_groups->own.numbers,
                                   .number_count = (size_t)ret_groups->own.number_count,
                                   .parts = ret_groups->parts,
                                   .part_count = count,
                                   .ns = ret_groups->own.ns,
                                   .ks = ret_groups->own.ks};
    return CLI_OK;
}

void bench_groups_free(struct bench_groups *groups)
{
    run_groups_free(&groups->own);
    free(groups->parts);
    *groups = (struct bench_groups){0};
}

const struct gemm_bench_groups *bench_groups_of(const struct bench_groups *groups)
{
    return groups->own.count > 0 ? &groups->groups : NULL;
}
