/* SPDX-License-Identifier: MIT */
/*
 * The one parameter of every kernel, as the device sees it (jg/common/kernel_params.cuh has
 * the same struct; the source unit carries these sizes and the device asserts them).
 */
#ifndef JG_PLAN_KERNEL_PARAMS_H
#define JG_PLAN_KERNEL_PARAMS_H

#include <stddef.h>
#include <stdint.h>

#include "jit_gemm/types.h"

struct jg_tensor_map {
    _Alignas(128) unsigned char bytes[128]; /* an opaque CUtensorMap */
};

struct jg_operand_param {
    struct jg_tensor_map map; /* of a matrix input */
    uint64_t pointer;
    int64_t ld;           /* elements */
    int64_t batch_stride; /* elements; 0 broadcasts */
    float value;          /* scalar by value, used if pointer is 0 */
    uint32_t batch_step;  /* of a matrix input: 1, or 0 if it is broadcast over batches */
};

struct jg_kernel_params {
    struct jg_tensor_map a_map, b_map, d_map, c_map;
    uint64_t a, b, c, d;                    /* device addresses */
    int64_t lda, ldb, ldc, ldd;             /* elements */
    int64_t a_batch_stride, b_batch_stride; /* elements; 0 broadcasts */
    int64_t c_batch_stride, d_batch_stride; /* elements; c: 0 broadcasts */
    uint32_t m, n, k, batch;                /* sizes of this launch, exact ones included */
    float alpha, beta;                      /* used if the pointers are 0 */
    uint64_t alpha_pointer, beta_pointer;   /* device addresses of floats, or 0 */
    uint32_t a_batch_step, b_batch_step;    /* 1, or 0 if broadcast over batches */
    uint32_t c_batch_step, reserved;
    uint64_t workspace;        /* device address; of kernels that split K */
    uint64_t a_scale, b_scale; /* device addresses of floats, or 0 */
    int64_t a_scale_batch_stride, b_scale_batch_stride; /* elements; 0 broadcasts */
    struct jg_operand_param operands[JIT_GEMM_MAX_OPERANDS];
};

/* Bytes of the device's struct with this many operands. */
#define JG_KERNEL_PARAMS_BYTES(operand_count)      \
    (offsetof(struct jg_kernel_params, operands) + \
     sizeof(struct jg_operand_param) * (size_t)(operand_count))

#endif
