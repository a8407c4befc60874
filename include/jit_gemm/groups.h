/* SPDX-License-Identifier: MIT */
/**
 * @file groups.h
 * @brief What the groups of a problem are like: sizes to plan for.
 *
 * docs/grouped.md has the rest: how groups lie in memory, and what a launch reads.
 */
#ifndef JIT_GEMM_GROUPS_H
#define JIT_GEMM_GROUPS_H

#include "jit_gemm/export.h"
#include "jit_gemm/problem.h"
#include "jit_gemm/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Says what sizes the groups of a launch typically have: fills `typical_sizes` of a problem
 * with groups of rows. They are planned for, and change nothing but the choice.
 *
 * Up to ::JIT_GEMM_SIZE_RUNS different sizes are kept as they are; more become as many runs
 * whose sizes rise evenly. The numbers of one launch of a router are good ones; so are
 * averages over many launches, in each of which they are sorted first. Thread-safe.
 *
 * @param problem its `struct_size` is set; all else may be filled in later, and is looked
 *        at then: are there `count` groups, and has M room for their rows?
 * @param sizes rows of each group, in any order, 0 of one without any; read during the call
 * @param count entries of `sizes`, 1 to 4096; 0 takes back what was said, `sizes` is NULL
 * @return OK, ARGUMENT, NO_MEMORY; `problem` is untouched on failure
 */
JIT_GEMM_API jit_gemm_status jit_gemm_problem_set_typical_sizes(jit_gemm_problem *problem,
                                                                const int32_t *sizes,
                                                                uint32_t count);

#ifdef __cplusplus
}
#endif

#endif
