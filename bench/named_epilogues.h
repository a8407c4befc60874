/* SPDX-License-Identifier: MIT */
/* The epilogues that a problem on a benchmark's command line or list may name. */
#ifndef BENCH_NAMED_EPILOGUES_H
#define BENCH_NAMED_EPILOGUES_H

#include "bench_util.h"
#include "jit_gemm/jit_gemm.h"

/* Their names, for help texts. */
#define NAMED_EPILOGUES \
    "gelu_bias_residual, gelu_bias_residual_f16, silu_bias, relu_only, largest"

/* Registers all of them. */
int named_epilogues_register(jit_gemm_context *context, char error[BENCH_ERROR_SIZE]);

/*
 * Reads a problem's text and finds its epilogue; `ret_epilogue` receives NULL if the
 * problem names none.
 */
int named_epilogues_parse(const char *text, jit_gemm_problem *ret_problem,
                          const jit_gemm_epilogue **ret_epilogue,
                          char error[BENCH_ERROR_SIZE]);

#endif
