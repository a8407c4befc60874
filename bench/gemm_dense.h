/* SPDX-License-Identifier: MIT */
/*
 * What a problem with groups comes to without them: a loop of our own dense products, one
 * for each part of a group, with sizes that the host knows. Kernels are made for the
 * largest size between two powers of two, so that sizes of every kind need few.
 */
#ifndef BENCH_GEMM_DENSE_H
#define BENCH_GEMM_DENSE_H

#include "gemm_set.h"

struct gemm_dense;

/* True, with the reason, where parts of a group's matrices are none of a dense product. */
bool gemm_dense_obstacle(const struct gemm_sets *sets, char *why, size_t size);

/* Makes the kernels, and gives the sets a workspace that is large enough for each. `sets`,
 * which are those of the problem, must outlive the result. */
int gemm_dense_create(jit_gemm_context *context, const jit_gemm_problem *problem,
                      struct gemm_sets *sets, struct gemm_dense **ret_dense,
                      char error[BENCH_ERROR_SIZE]);

/* How many launches there are, and of how many kernels. */
void gemm_dense_describe(const struct gemm_dense *dense, char *text, size_t size);

/* Launches all products of one set. */
int gemm_dense_run(const struct gemm_dense *dense, const struct gemm_sets *sets, size_t set,
                   void *stream, char error[BENCH_ERROR_SIZE]);

/* Sets the pointer to NULL. Accepts NULL. */
void gemm_dense_destroy(struct gemm_dense **dense);

#endif
