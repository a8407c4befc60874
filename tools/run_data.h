/* SPDX-License-Identifier: MIT */
/* Inputs and results of one launch together: its arguments, and the guards around all. */
#ifndef RUN_DATA_H
#define RUN_DATA_H

#include "run_inputs.h"
#include "run_results.h"

/* Arguments of a launch; `operands` has room for all of the problem's. */
jit_gemm_args run_arguments(const struct cli_problem *problem,
                            const struct run_inputs *inputs,
                            const struct run_results *results,
                            jit_gemm_arg operands[JIT_GEMM_MAX_OPERANDS]);

/* CLI_OK if the guards of all matrices are untouched. */
int run_check_guards(jit_gemm_context *context, const struct run_inputs *inputs,
                     const struct run_results *results);

#endif
