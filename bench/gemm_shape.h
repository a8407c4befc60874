/* SPDX-License-Identifier: MIT */
/* A problem that is measured, as numbers. */
#ifndef BENCH_GEMM_SHAPE_H
#define BENCH_GEMM_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "bench_util.h"
#include "jit_gemm/jit_gemm.h"

/* A problem with its defaults filled in, and how its matrices lie in memory. */
struct gemm_shape {
    int64_t m, n, k, batch;       /* batch: or groups */
    int64_t a_batches, b_batches; /* as many as a matrix has parts that lie apart: groups */
    int64_t d_batches;            /* lie together in A, C and D, or along K in A and B */
    jit_gemm_group_by group_by;
    jit_gemm_dtype a_type, b_type, c_type, d_type; /* c_type NONE: no C */
    jit_gemm_layout a_layout, b_layout;
    int64_t lda, ldb, ldc, ldd; /* elements: as aligned as the problem promises */
    int64_t a_batch_stride, b_batch_stride, c_batch_stride, d_batch_stride; /* elements */
    uint32_t output_alignment; /* bytes: of C, D and matrix operands */
    jit_gemm_scale a_scale, b_scale, d_scale;
    bool sums_fast;               /* of 8-bit floats: accumulate=fast */
    bool is_gated;                /* two columns of B make one of D */
    bool is_reference;            /* the kernel does not reduce */
    int64_t d_columns;            /* of D: n, or half of it */
    bool is_column_major;         /* D, and C and matrix operands with it */
    jit_gemm_rows a_rows, d_rows; /* indexed: one matrix has the rows of all batches */
};

/* Are all sizes given? 0, or -1 with the reason. Can the problem be measured? */
int gemm_shape_check_sizes(const jit_gemm_problem *problem, char error[BENCH_ERROR_SIZE]);
int gemm_shape_check(const jit_gemm_problem *problem, char error[BENCH_ERROR_SIZE]);

/* Fills in the defaults of a problem, and what a kernel of it says, and chooses leading
 * dimensions. */
void gemm_shape_read(const jit_gemm_problem *problem, const jit_gemm_info *kernel,
                     struct gemm_shape *ret_shape);

/* Elements from one row to the next: as aligned as the problem promises (0: 16 bytes), and
 * no more, else a kernel for unaligned rows would be timed with aligned ones. */
int64_t gemm_shape_ld(int64_t elements, jit_gemm_dtype type, uint32_t promised);

/* Rows of D as it lies in memory, and elements of one. */
int64_t gemm_shape_d_rows(const struct gemm_shape *shape);
int64_t gemm_shape_d_row(const struct gemm_shape *shape);

#endif
