/* SPDX-License-Identifier: MIT */
/*
 * cuBLASLt as a rival: the same row-major product, with its own choice of algorithms.
 *
 * The library is opened at run time. Its types come from <cublasLt.h>; where that header
 * was missing at build time, cublaslt_open fails and says so. No cuBLASLt type appears
 * here.
 */
#ifndef BENCH_CUBLASLT_H
#define BENCH_CUBLASLT_H

#include <stdbool.h>
#include <stdint.h>

#include "bench_util.h"
#include "jit_gemm/problem.h"

#define CUBLASLT_WORKSPACE_BYTES ((size_t)64 << 20)

struct cublaslt;      /* the opened library with a handle; one thread at a time */
struct cublaslt_plan; /* one product with the algorithms that the heuristic offers */

/* How many scales A or B has. The numbers are cuBLASLt's own. */
enum cublaslt_scale_mode {
    CUBLASLT_SCALE_SCALAR = 0,     /* one, or none where the address is 0 */
    CUBLASLT_SCALE_VEC16 = 1,      /* one of ue4m3 for each block of 1 x 16, in 128x4 */
    CUBLASLT_SCALE_VEC32 = 2,      /* one of ue8m0 for each block of 1 x 32, in 128x4 */
    CUBLASLT_SCALE_OUTER_VEC = 3,  /* one for each row of A, or column of B */
    CUBLASLT_SCALE_VEC128 = 4,     /* one for each block of 1 x 128 */
    CUBLASLT_SCALE_BLK128X128 = 5, /* one for each block of 128 x 128 */
};

/* A row-major product D = A * B (+ C), accumulated in f32, of s8 in s32, in the words of
 * jit_gemm_problem.
 */
struct cublaslt_product {
    int64_t m, n, k, batch;
    jit_gemm_dtype a_type, b_type, c_type, d_type; /* c_type NONE: no C, beta = 0 */
    jit_gemm_layout a_layout, b_layout;
    int64_t lda, ldb, ldc, ldd;                                             /* elements */
    int64_t a_batch_stride, b_batch_stride, c_batch_stride, d_batch_stride; /* elements */
    jit_gemm_dtype bias_type; /* not NONE: CUBLASLT_EPILOGUE_GELU_BIAS (tanh form) with a
                                 bias of N values; must equal d_type */
    uint64_t bias_example;    /* an address with the alignment of all biases */
    enum cublaslt_scale_mode a_scale_mode, b_scale_mode;
    uint64_t a_scale_example, b_scale_example; /* 0: no scale */
    bool sums_fast; /* of 8-bit floats: without promotion to f32 on the way */
};

/* Addresses of one launch, and its stream; NULL: the default one. */
struct cublaslt_launch {
    uint64_t a, b, c, d, bias, a_scale, b_scale, workspace;
    void *stream;
};

/* Opens the library on the current CUDA context. `path` may be NULL. */
int cublaslt_open(const char *path, struct cublaslt **ret_lib,
                  char error[BENCH_ERROR_SIZE]);

/* Version and file, for instance "13.1.0 (libcublasLt.so.13)". */
const char *cublaslt_describe(const struct cublaslt *lib);

/* Sets the pointer to NULL. Accepts NULL. */
void cublaslt_close(struct cublaslt **lib);

/*
 * Asks for at most `max_algorithms` algorithms with a workspace of
 * CUBLASLT_WORKSPACE_BYTES, the default one first. Fails if the library has none for this
 * product.
 */
int cublaslt_plan_create(struct cublaslt *lib, const struct cublaslt_product *product,
                         int max_algorithms, struct cublaslt_plan **ret_plan,
                         char error[BENCH_ERROR_SIZE]);

/* Algorithms that were offered, at least 1. */
int cublaslt_plan_count(const struct cublaslt_plan *plan);

/* Launches one algorithm. */
int cublaslt_plan_run(struct cublaslt_plan *plan, int algorithm,
                      const struct cublaslt_launch *launch, char error[BENCH_ERROR_SIZE]);

/* Sets the pointer to NULL. Accepts NULL. */
void cublaslt_plan_destroy(struct cublaslt_plan **plan);

#endif
