/* SPDX-License-Identifier: MIT */
/* What the groups of a problem have while it is measured. */
#ifndef BENCH_GROUPS_H
#define BENCH_GROUPS_H

#include "../bench/gemm_bench.h"
#include "run_groups.h"

/* Zeroed: no groups. */
struct bench_groups {
    struct run_groups own;
    struct gemm_bench_groups
        groups;                    /* what is in `own`, and the parts, as bench/ has them */
    struct gemm_bench_part *parts; /* owned */
};

/* Lists of sizes, as options give them: rows, or K, of each group, NULL being all the same;
 * N and K of each, NULL being the launch's. */
struct group_lists {
    struct run_group_sizes sizes;
    const char *ns, *ks;
    bool are_planned;  /* the config is chosen for the sizes */
    bool are_modelled; /* problems may be any that can be run */
};

/* Reads the sizes of a problem's groups as run_groups_read and run_groups_read_own do, for
 * the planned sizes. Of a problem without groups nothing is read. CLI_OK, or a usage error
 * was printed; free it in either case. */
int bench_groups_read(const jit_gemm_problem *problem, const struct group_lists *lists,
                      struct bench_groups *ret_groups);
void bench_groups_free(struct bench_groups *groups);

/* As the measuring takes them: NULL without groups. */
const struct gemm_bench_groups *bench_groups_of(const struct bench_groups *groups);

#endif
