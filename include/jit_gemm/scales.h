/* SPDX-License-Identifier: MIT */
/**
 * @file scales.h
 * @brief Scales of blocks on the host: how many bytes they take, and from one layout to
 * another. A kernel takes the layouts row, column and 128x4; weights that come in another
 * are converted once, when they are loaded.
 */
#ifndef JIT_GEMM_SCALES_H
#define JIT_GEMM_SCALES_H

#include "jit_gemm/jit_gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Bytes of the packed scales of one batch, those that belong to no block counted.
 * Thread-safe.
 *
 * @param scale of blocks; a type of zero means that of the block
 * @param mn rows of A or D, or columns of B
 * @param k elements along K, or columns of D
 *
 * Errors: ARGUMENT (`scale`, `mn`, `k` or `ret_bytes`), UNSUPPORTED (no such blocks)
 */
JIT_GEMM_API jit_gemm_status jit_gemm_scales_bytes(const jit_gemm_scale *scale, int64_t mn,
                                                   int64_t k, size_t *ret_bytes);

/**
 * Copies the packed scales of one batch from the layout of `scale` to another. What belongs
 * to no block becomes 0 in `to`, and is not read in `from`. Thread-safe.
 *
 * @param scale of blocks, as they lie at `from`
 * @param from host memory of jit_gemm_scales_bytes() bytes
 * @param to_layout a ::jit_gemm_scale_layout
 * @param to host memory of as many bytes as that layout takes; not that of `from`
 *
 * Errors: ARGUMENT (also a layout that is none of this type's), UNSUPPORTED (no such
 * blocks). Nothing is written then.
 */
JIT_GEMM_API jit_gemm_status jit_gemm_scales_convert(const jit_gemm_scale *scale,
                                                     int64_t mn, int64_t k,
                                                     const void *from, uint32_t to_layout,
                                                     void *to);

#ifdef __cplusplus
}
#endif

#endif
