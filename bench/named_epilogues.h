/* SPDX-License-Identifier: MIT */
/* The epilogues that a problem on a benchmark's command line or list may name. */
#ifndef BENCH_NAMED_EPILOGUES_H
#define BENCH_NAMED_EPILOGUES_H

#include <stdbool.h>

#include "bench_util.h"
#include "jit_gemm/named_epilogues.h"

/* Their names, for help texts. */
#define NAMED_EPILOGUES                                                           \
    "gelu_bias_residual, gelu_bias_residual_f16, silu_bias, relu_only, row_sum, " \
    "absmax, largest"

/* Registers all of them. */
int named_epilogues_register(jit_gemm_context *context, char error[BENCH_ERROR_SIZE]);

/* What a problem names; the caller's, and not to be copied: it points into itself. */
struct named_epilogue {
    bool is_none;
    jit_gemm_epilogue epilogue;
    jit_gemm_named_epilogue own; /* where the epilogue is the library's */
};

/* Reads a problem's text and finds its epilogue, also among the library's own. */
int named_epilogues_parse(const char *text, jit_gemm_problem *ret_problem,
                          struct named_epilogue *ret_epilogue,
                          char error[BENCH_ERROR_SIZE]);

#endif
