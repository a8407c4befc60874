/* SPDX-License-Identifier: MIT */
/* What one launch reads: random inputs on the device, guards around each. */
#ifndef RUN_INPUTS_H
#define RUN_INPUTS_H

#include <stdbool.h>

#include "cli.h"
#include "run_groups.h"
#include "run_index.h"
#include "run_matrix.h"
#include "run_pointers.h"
#include "run_scales.h"

/* Sizes of a launch from the command line; 0 means as planned. */
struct run_sizes {
    int64_t m, n, k, batch;
    struct run_group_sizes groups;   /* rows of each */
    const char *group_ns, *group_ks; /* N and K of each, NULL: the launch's */
};

/* Leading dimensions from the command line; 0 means packed, padded to 16 bytes or, where
 * the problem promises less, to an odd multiple of that. */
struct run_strides {
    int64_t lda, ldb, ldc, ldd;
};

/* Everything that one launch reads. */
struct run_inputs {
    int64_t m, n, k, batch; /* sizes of the launch */
    int64_t d_columns;      /* of D, which with a gated epilogue has half of B's */
    struct run_groups groups;
    struct run_matrix group_sizes;        /* s32, what the kernel reads of the groups */
    struct run_matrix group_ns, group_ks; /* the same, zeroed where all have N, K */
    struct run_index index;               /* of D's rows */
    struct run_matrix d_rows;             /* s32, what the kernel reads of it */
    struct run_index a_index;             /* of A's rows, the same */
    struct run_matrix a_rows;
    struct run_matrix spread_a; /* A as a launch with an index gets it; `a` is in order */
    struct run_matrix spread_a_scale; /* the same of scales that rows have, else zeroed */
    struct run_matrix a, b, c;
    struct run_pointers own_a, own_b, own_c; /* as a launch by pointers gets them */
    struct run_matrix a_scale, b_scale;      /* f32; zeroed where there are none */
    struct run_matrix operands[JIT_GEMM_MAX_OPERANDS]; /* zeroed for outputs */
    float values[JIT_GEMM_MAX_OPERANDS];               /* f32 scalars, passed by value */
};

/* Sets the sizes of a launch, and of its groups. A size that differs from the compiled one,
 * or that nobody gave, is a usage error; run_inputs_free frees what was set. */
int run_sizes_resolve(const jit_gemm_problem *problem, const struct run_sizes *asked,
                      struct run_inputs *inputs);

/* Makes the inputs of the problem, with sizes already set in `inputs`; addresses, rows and
 * batches are no better aligned than input_align and output_align promise. The functions
 * here give CLI_OK, or an exit code after printing the error; what was made is freed with
 * the matching free function either way. */
int run_inputs_create(jit_gemm_context *context, const struct cli_problem *problem,
                      const struct run_strides *strides, uint64_t seed,
                      struct run_inputs *inputs);
void run_inputs_free(jit_gemm_context *context, struct run_inputs *inputs);

#endif
