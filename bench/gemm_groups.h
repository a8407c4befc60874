/* SPDX-License-Identifier: MIT */
/* What groups change in the sets of a problem: how much of them a launch reads and
 * computes, and the numbers and addresses that it is given. */
#ifndef BENCH_GEMM_GROUPS_H
#define BENCH_GEMM_GROUPS_H

#include "bench_util.h"
#include "gemm_bench.h"
#include "gemm_shape.h"

/* Fails for a problem, or an epilogue, that may be NULL, with groups that are not measured,
 * with the reason. */
int gemm_groups_check(const jit_gemm_problem *problem, const jit_gemm_epilogue *epilogue,
                      char error[BENCH_ERROR_SIZE]);

/* N and K of a group; those of the launch where it has none of its own, or `groups` is
 * NULL. */
int64_t gemm_groups_columns(const struct gemm_shape *shape,
                            const struct gemm_bench_groups *groups, int64_t group);
int64_t gemm_groups_depth(const struct gemm_shape *shape,
                          const struct gemm_bench_groups *groups, int64_t group);

/* Is it one of a group's, which has a D of its own where it has an N of its own? */
bool gemm_groups_has_column(const struct gemm_bench_groups *groups, int64_t group,
                            int64_t column);

/* Twice the products that a launch adds up; `groups` NULL: none. */
double gemm_groups_flops(const struct gemm_shape *shape,
                         const struct gemm_bench_groups *groups);

/* Rows that A's scales are laid out for, of so many rows of A: in layout 128x4 groups by
 * offsets begin at rows that are multiples of 128. */
int64_t gemm_groups_scale_rows(const struct gemm_shape *shape, int64_t rows);

/* Bytes of A, B and C that a launch reads; not 0. */
size_t gemm_groups_read_bytes(const struct gemm_shape *shape,
                              const struct gemm_bench_groups *groups);

/* Of each row of each D, whether it is a group's; owned by the caller. NULL without memory.
 */
bool *gemm_groups_list_rows(const struct gemm_shape *shape,
                            const struct gemm_bench_groups *groups);

/* How many groups there are and what they have, in words. */
void gemm_groups_describe(const struct gemm_shape *shape,
                          const struct gemm_bench_groups *groups, char *text, size_t size);

/* Bytes of the numbers: of rows, then of N and of K where groups have their own. */
size_t gemm_groups_number_bytes(const struct gemm_shape *shape,
                                const struct gemm_bench_groups *groups);

/* Bytes of the addresses of all groups' matrices; 0 where a launch gets none. */
size_t gemm_groups_address_bytes(const struct gemm_shape *shape);

enum { GEMM_GROUPS_MATRICES = 4 }; /* A, B, C, D */

/* Device addresses of what a set has: the numbers, the addresses, and the matrices whose
 * addresses these are. */
struct gemm_groups_place {
    uint64_t numbers, addresses;
    uint64_t matrices[GEMM_GROUPS_MATRICES];
};

/* Uploads the numbers, and the addresses if a launch gets any. */
int gemm_groups_upload(jit_gemm_context *context, const struct gemm_shape *shape,
                       const struct gemm_bench_groups *groups,
                       const struct gemm_groups_place *place, char error[BENCH_ERROR_SIZE]);

/* Gives a launch the numbers and, where it takes them, the addresses. */
void gemm_groups_give(const struct gemm_shape *shape,
                      const struct gemm_bench_groups *groups,
                      const struct gemm_groups_place *place, jit_gemm_args *args);

#endif
