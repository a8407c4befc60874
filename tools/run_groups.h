/* SPDX-License-Identifier: MIT */
/* The groups of one run: which rows, or elements of K, each has, on the host and as the
 * kernel reads it. */
#ifndef RUN_GROUPS_H
#define RUN_GROUPS_H

#include <stdbool.h>

#include "cli.h"
#include "verify/elements.h"

/* Zeroed: no groups. */
struct run_groups {
    jit_gemm_group_by by;
    jit_gemm_group_rest rest;       /* of D's rows of no group */
    jit_gemm_scale_rows scale_rows; /* of those in 128x4 */
    int64_t count;
    int32_t *numbers;     /* as the launch gets them */
    int64_t number_count; /* one per group, or per row */
    bool has_all;         /* the launch gets none: each group has all rows */
    int32_t *ns, *ks;     /* N and K of each group; NULL: all have the launch's */
};

/* Rows of D, or elements of K, that lie one after the other. */
struct run_rows {
    int64_t begin, end;
};

/* What lists of sizes are, for options. */
#define RUN_GROUP_SIZES_HELP                                     \
    "rows of each group, such as 0,7,1200, with group_by=rows\n" \
    "in whole blocks of 128, with k_offsets elements of K;\n"    \
    "`zipf`: skewed, the i-th largest has 1/i of the largest;\n" \
    "default: `uniform`, all the same"

#define RUN_BLOCK_ORDER_HELP                                  \
    "of blocks of rows with group_by=rows: `turns`, one of\n" \
    "each group, then the next ones, the default; `sorted`\n" \
    "by groups; `drawn`"
#define RUN_PLAN_SIZES_HELP                                  \
    "choose the config for groups of these sizes, not for\n" \
    "such of about the same: fills typical_sizes"
#define RUN_GROUP_NS_HELP                                \
    "columns of each group with group_by=pointers and\n" \
    "dynamic=n, such as 512,0,96; default: all have N"
#define RUN_GROUP_KS_HELP "the same of K, with dynamic=k; of no more than K each"

/* Do the groups of this problem divide K? */
bool run_groups_divide_k(jit_gemm_group_by by);
/* Are these sizes of groups given one by one, and not a word for all of them, or NULL? */
bool run_groups_is_list(const char *text);
/* What options say of the rows, or K, of groups; NULL: the default. */
struct run_group_sizes {
    const char *list, *block_order;
};

/* Reads the sizes of the groups from a list such as "0,7,1200", or, where that is NULL or
 * "uniform", gives all the same, one more to the first ones if need be; "zipf" shares the
 * extent by 1, 1/2, 1/3 and so on, in an order that is none of size. `*extent`, the rows or
 * the K of the launch, is set where it is 0: what the groups need. Where rows name their
 * groups, each group gets whole blocks of 128, which lie in turn with those of others, or
 * as `block_order` says, and with blocks of no group; one shorter than 128 stays the last.
 * CLI_OK, or a usage error was printed; free it in either case.
 */
int run_groups_read(const jit_gemm_problem *problem, const struct run_group_sizes *sizes,
                    int64_t *extent, struct run_groups *ret_groups);
/* Reads an N and a K of each group, or none where a list is NULL: no more than `n` and `k`.
 * CLI_OK, or a usage error was printed. */
int run_groups_read_own(const jit_gemm_problem *problem, const char *ns, const char *ks,
                        int64_t n, int64_t k, struct run_groups *groups);
void run_groups_free(struct run_groups *groups);

/* Has the problem planned for such sizes: its typical_sizes become theirs, of groups of
 * rows. CLI_OK, or an error was printed. */
int run_groups_plan(const char *list, jit_gemm_problem *problem);

/* Are there groups, of D's rows? */
bool run_groups_divide_rows(const struct run_groups *groups);
/* Do matrices have the rows of all groups? */
bool run_groups_are_stacked(const struct run_groups *groups);
/* Of a batch index, or group, its first rows from row `from` on that lie together: all
 * where there are no groups, and none at the end. `m`: those of the launch. */
struct run_rows run_groups_next(const struct run_groups *groups, int64_t batch,
                                int64_t from, int64_t m);
/* Of a batch index, or group, its part of K: all where groups neither divide it nor have
 * one of their own; and its columns of `n`. */
struct run_rows run_groups_depth(const struct run_groups *groups, int64_t batch, int64_t k);
int64_t run_groups_columns(const struct run_groups *groups, int64_t batch, int64_t n);
/* What row `row` of a matrix of D's rows belongs to: `batch` itself, or the group. -1: to
 * none. */
int64_t run_groups_of_row(const struct run_groups *groups, int64_t batch, int64_t row);

/* Of each of `rows` rows of `batch` matrices: does it belong to a group, or are there none?
 * Owned by the caller. */
bool *run_groups_list_rows(const struct run_groups *groups, int64_t batch, int64_t rows);

/* Rows that scales in 128x4 have of `m` rows, and which has those of a group's row: by
 * offsets groups begin at 128 rows of their own. */
int64_t run_groups_scale_rows(const struct run_groups *groups, int64_t m);
int64_t run_groups_scale_row(const struct run_groups *groups, int64_t group, int64_t row);

/* Elements of K that scales are laid out for, of `k` elements, and where among them element
 * `at` of a group lies: groups along K begin at a step of their own, of so many elements.
 * Elements of others are anywhere. */
int64_t run_groups_scale_depth(const struct run_groups *groups, int64_t k, int64_t step);
int64_t run_groups_scale_place(const struct run_groups *groups, int64_t group, int64_t at,
                               int64_t step);

/* Sets each byte of what belongs to no group: of rows of the view, or of its columns, which
 * are D's rows, or with `is_k` of elements of K. Nothing where groups do not divide those.
 */
void run_groups_fill_rest(const struct run_groups *groups, const struct element_view *view,
                          bool is_k, bool by_columns, int byte, void *data);

/* Are rows and columns of no group still poison, in what a launch wrote, or 0 as the
 * problem asks for them in D? They are made 0 and so comparable; false if not, after an
 * error about `name`. Of a reference columns may be anything: it knows of no group's own N.
 */
bool run_groups_clear_rest(const struct run_groups *groups, bool is_d, bool is_reference,
                           const char *name, const struct element_view *view, void *data);

/* Of each row of the view the row of its scales in 128x4, or -1 where it belongs to no
 * group: owned by the caller. */
int64_t *run_groups_map_scales(const struct run_groups *groups,
                               const struct element_view *view);

#endif
