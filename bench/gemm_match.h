/* SPDX-License-Identifier: MIT */
/*
 * One problem with everything that is timed on it. Shared by gemm_bench.c (the order of
 * things), gemm_rivals.c (the others' side) and gemm_timing.c (launches, times, results).
 */
#ifndef BENCH_GEMM_MATCH_H
#define BENCH_GEMM_MATCH_H

#include <stdbool.h>

#include "bench_util.h"
#include "cublaslt.h"
#include "cuda_driver.h"
#include "elementwise.h"
#include "gemm_bench.h"
#include "gemm_dense.h"
#include "gemm_set.h"
#include "gpu_state.h"
#include "rival_scales.h"

struct gemm_bench {
    jit_gemm_context *context;
    struct gemm_bench_options options;
    struct gemm_bench_machine machine;
    size_t l2_bytes, memory_bytes;
    int ordinal; /* of the context's device */
    jit_gemm_timer *timer;
    struct cuda_driver *driver;
    struct gpu_state *gpu_state; /* NULL: clock and power are not known */
    CUstream stream;             /* of all launches; NULL: the default one */
    struct cublaslt *cublaslt;   /* NULL unless there is a rival */
    uint64_t workspace;          /* of cuBLASLt */
    int warmed;
};

/* One thing that is timed: a kernel of jit_gemm, a loop of its dense ones, or a cuBLASLt
 * algorithm with perhaps a second kernel. */
struct contender {
    struct gemm_bench_entry *entry;
    const jit_gemm *gemm;           /* borrowed; NULL: the plan, or the loop */
    const struct gemm_dense *dense; /* borrowed; NULL: no loop */
    struct cublaslt_plan *plan;     /* NULL: jit_gemm */
    int algorithm;
    const struct elementwise *after; /* may be NULL */
    const uint32_t *after_operands;  /* its operands' numbers in the sets */
    size_t bias_operand;             /* its number in the sets; plans with a bias only */
    double tolerance;                /* largest difference from jit_gemm's result */
    bool is_best_of_plain; /* the same contender as the one before, with a chosen algorithm
                            */
    int launches;          /* in one turn, of which a round has two */
    CUgraphExec graph;     /* these launches; NULL: they are made one by one */
    double samples_us[GEMM_BENCH_MAX_ROUNDS], issue_us[GEMM_BENCH_MAX_ROUNDS];
    double sm_mhz[GEMM_BENCH_MAX_ROUNDS], watts[GEMM_BENCH_MAX_ROUNDS];
    size_t sample_count;
};

/* Everything of one problem. */
struct match {
    struct gemm_bench *bench;
    const jit_gemm_epilogue *epilogue;
    struct gemm_dense *dense;
    jit_gemm *gemm; /* owned; NULL where the caller has them */
    struct gemm_sets *sets;
    size_t next_set;
    struct rival_scales *rival_scales; /* of `plain` and `gelu_bias`; NULL: no rival */
    struct cublaslt_plan *plain, *gelu_bias;
    struct elementwise *whole, *add; /* separate kernels: the epilogue; only the residual */
    uint32_t whole_operands[JIT_GEMM_MAX_OPERANDS];
    uint32_t add_operand;
    struct contender contenders[GEMM_BENCH_MAX_ENTRIES];
    size_t contender_count;
    struct gemm_bench_result *result;
    char *error;
};

/* gemm_timing.c: all write match->error when they fail. */

int gemm_match_launch(struct match *match, const struct contender *contender, size_t set);
/* Launches on one set after the other. */
int gemm_match_launch_many(struct match *match, const struct contender *contender,
                           int count);
int gemm_match_synchronize(struct match *match);
/* What a timing says: microseconds of a launch on the device, and on the host while it
 * queued them; clock and power of a turn when all were queued, 0 where they are not known.
 */
struct launch_times {
    double us, issue_us, sm_mhz, watts;
};
int gemm_match_time(struct match *match, const struct contender *contender, int count,
                    struct launch_times *ret_times);
/* The same of one turn of a round: by the replay of a graph, where one was made. */
int gemm_match_time_turn(struct match *match, const struct contender *contender,
                         struct launch_times *ret_times);
/* Captures a turn's launches in a graph of their own. */
int gemm_match_capture(struct match *match, struct contender *contender);
/* How many launches fill about `ms` of device time. */
int gemm_match_fit(struct match *match, const struct contender *contender, double ms,
                   int *ret_launches);
/* Launches it on the first set and reads its results, of which all must have been written.
 * Where an element that is not may look like a result, two launches differ in it. */
int gemm_match_read(struct match *match, const struct contender *contender, float *values);
/* Largest distance over the largest value. */
double gemm_match_difference(const float *reference, const float *values, size_t count);
/* Fails unless every contender computes what contender 0 computes. */
int gemm_match_compare(struct match *match);

/* gemm_rivals.c */

/* Adds a contender and its entry; `plan` NULL is jit_gemm, `after` may be NULL. */
struct contender *gemm_match_add(struct match *match, const char *name,
                                 struct cublaslt_plan *plan,
                                 const struct elementwise *after,
                                 const uint32_t *after_operands);
/* Adds cuBLASLt's contenders, or entries that say why they are absent. */
void gemm_match_add_rivals(struct match *match);
/* The same of the loop of dense products that the groups of a problem come to. */
int gemm_match_add_dense(struct match *match, const jit_gemm_problem *problem);
/* Times the algorithms of a contender's plan quickly and keeps the fastest. */
int gemm_match_choose_algorithm(struct match *match, struct contender *contender);

#endif
