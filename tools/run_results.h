/* SPDX-License-Identifier: MIT */
/* What one launch writes: poisoned results on the device, guards around each. */
#ifndef RUN_RESULTS_H
#define RUN_RESULTS_H

#include "run_inputs.h"

/* Everything that one launch writes. */
struct run_results {
    struct run_matrix d;
    struct run_pointers own_d; /* as a launch by pointers writes it, before it is in `d` */
    struct run_matrix operands[JIT_GEMM_MAX_OPERANDS]; /* zeroed for inputs */
    struct run_matrix d_scale;                         /* zeroed where D has none */
    struct run_matrix workspace; /* zeroed for a kernel that needs none */
};

/* Makes poisoned results, packed ones for a reference. */
int run_results_create(jit_gemm_context *context, const struct cli_problem *problem,
                       const struct run_inputs *inputs, int64_t ldd, bool is_reference,
                       struct run_results *results);
/* Poisons what a launch has written, the workspace excepted. */
int run_results_poison(jit_gemm_context *context, const struct run_results *results);
/* After a launch by pointers: what it wrote becomes that of `d`. Sets `*is_wrong` if memory
 * was written that is no group's. Nothing for other launches. */
int run_results_collect(jit_gemm_context *context, const struct run_inputs *inputs,
                        const struct run_results *results, bool *is_wrong);
/* Makes the kernel's workspace, `bytes` of zeros with guards around. */
int run_workspace_create(jit_gemm_context *context, uint64_t bytes,
                         struct run_results *results);
void run_results_free(jit_gemm_context *context, struct run_results *results);

#endif
