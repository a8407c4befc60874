/* SPDX-License-Identifier: MIT */
/* What sizes groups of rows typically have, to plan for: their text, what they may be, and
 * the tiles that such groups have. Kernels know nothing of them. */
#ifndef JG_PLAN_TYPICAL_SIZES_H
#define JG_PLAN_TYPICAL_SIZES_H

#include "plan/trial.h"

/* Reads "8x512,24x0..96": groups and their rows, or the least and the most of these. False
 * if the text is nothing of the kind, or has more than JIT_GEMM_SIZE_RUNS. */
bool jg_typical_sizes_parse(const char *text, size_t size, jit_gemm_size_run *ret_runs);
/* The same as text. */
void jg_typical_sizes_print(const jit_gemm_size_run *runs, struct jg_str *out);

/* See jit_gemm_problem_set_typical_sizes. */
jit_gemm_status jg_typical_sizes_set(jit_gemm_problem *problem, const int32_t *sizes,
                                     uint32_t count);

/* ARGUMENT, with the field: of the caller's problem, once its batch is filled in. */
jit_gemm_status jg_typical_sizes_check(const jit_gemm_problem *problem);

/* The smallest first and equal ones in one run, so that the same sizes are one problem. */
void jg_typical_sizes_sort(jit_gemm_size_run *runs);

static inline bool jg_has_typical_sizes(const struct jg_problem *problem)
{
    return problem->typical_sizes[0].groups > 0;
}

/* Are there sizes to plan for, given or assumed? */
static inline bool jg_plans_sizes(const struct jg_trial *trial)
{
    return trial->sizes[0].groups > 0;
}
/* Where no sizes are given, those of groups of stacked rows go evenly about their average,
 * as far as tokens do that are drawn at random, or a quarter of it. */
void jg_typical_sizes_assume(struct jg_trial *trial);

/* Tiles of `step` rows that all groups have: each group's last one counts as whole. */
int64_t jg_typical_sizes_tiles(const jit_gemm_size_run *runs, int64_t step);
/* Those of them that have no more than `most` rows. */
int64_t jg_typical_sizes_short(const jit_gemm_size_run *runs, int64_t step, int64_t most);

/* Groups that have rows, the least and the most of these, and the part that they are of the
 * rows of tiles of so many. */
struct jg_typical_fill {
    int64_t groups, least, most;
    double part;
};
struct jg_typical_fill jg_typical_fill_of(const jit_gemm_size_run *runs, int64_t step);

/* The product of the groups that have rows, each of as many as these have on average; where
 * there are no sizes the trial's. */
struct jg_product jg_typical_product(const struct jg_trial *trial);

#endif
