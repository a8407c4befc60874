/* SPDX-License-Identifier: MIT */
/**
 * @file scales.h
 * @brief Scales of blocks: how many bytes they take, what is wrong with them, and from one
 * layout to another, on the host or on the device.
 *
 * A product takes every layout of A and B, and packs scales of one byte that are not in
 * 128x4 in each launch (docs/scales.md). Weights are better converted once, when they are
 * loaded, by ::jit_gemm_scales_convert; scales that several products take, or that groups
 * have, by a ::jit_gemm_packer, on a stream.
 *
 * Everywhere here `mn` counts rows of A or D, or columns of B, and `k` elements along K, or
 * columns of D: 1 to 2^31 each. There are R = ceil(mn / block_mn) rows of KB = ceil(k /
 * block_k) scales. A scale's type of zero means that of its block.
 */
#ifndef JIT_GEMM_SCALES_H
#define JIT_GEMM_SCALES_H

#include "jit_gemm/jit_gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------- on the host */

/**
 * Bytes of the packed scales of one batch, those that belong to no block counted.
 * Thread-safe.
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
 * @param to host memory of as many bytes as that layout takes; none of those at `from`
 *
 * Errors: ARGUMENT (also a layout that is none of this type's), UNSUPPORTED (no such
 * blocks). Nothing is written then.
 */
JIT_GEMM_API jit_gemm_status jit_gemm_scales_convert(const jit_gemm_scale *scale,
                                                     int64_t mn, int64_t k,
                                                     const void *from, uint32_t to_layout,
                                                     void *to);

/** What the scales of a batch are. Each scale counts once, in the first that fits. */
typedef struct jit_gemm_scales_report {
    size_t struct_size;  /**< sizeof(jit_gemm_scales_report), set by the caller. */
    uint64_t scales;     /**< R * KB. */
    uint64_t nans;       /**< NaN: of ue8m0 0xff, of ue4m3 0x7f and 0xff. */
    uint64_t infinities; /**< Infinite, of either sign; f32 only. */
    uint64_t negatives;  /**< With the sign bit: f32 below zero and -0; of ue4m3, whose sign
                            nobody reads, bytes above 0x7f. */
    uint64_t zeros;      /**< Zero; ue8m0 has none. */
    uint64_t padding;    /**< Elements of the layout that belong to no block. */
    uint64_t dirty_padding; /**< Those of them that are not all zero bits. */
    int64_t first_row; /**< Row of the first scale that is NaN, infinite, negative or zero,
                          in the order of rows; -1: there is none. */
    int64_t first_block; /**< Its block along K; -1: there is none. */
} jit_gemm_scales_report;

/**
 * Counts what products would suffer from: a NaN scale makes its row or column of D NaN. Of
 * scales that quantisers make none is NaN, infinite, negative or (but for blocks of zeros)
 * zero. Kernels do not look at padding; others do. Thread-safe.
 *
 * @param scale of blocks, as they lie at `scales`
 * @param scales host memory of jit_gemm_scales_bytes() bytes: one batch, packed
 * @param[out] ret_report struct_size set by the caller; untouched on failure
 *
 * Errors: ARGUMENT, UNSUPPORTED (no such blocks), VERSION
 */
JIT_GEMM_API jit_gemm_status jit_gemm_scales_count(const jit_gemm_scale *scale, int64_t mn,
                                                   int64_t k, const void *scales,
                                                   jit_gemm_scales_report *ret_report);

/* ----------------------------------------------------------------------- on the device */

/** A loaded kernel that converts scales from one layout to another. Immutable; any thread
 * may run it. */
typedef struct jit_gemm_packer jit_gemm_packer;

/** What one conversion reads and writes. */
typedef struct jit_gemm_packer_args {
    size_t struct_size;  /**< sizeof(jit_gemm_packer_args), set by the caller. */
    int64_t mn;          /**< As above. */
    int64_t k;           /**< As above. */
    int64_t batch;       /**< Batches; 0 means 1. */
    uint64_t from;       /**< Device address of the scales; a multiple of an element, of 4
                            bytes in the layouts 128x4, 8x4 and mn_k4. */
    uint64_t to;         /**< Device address of the result, likewise. */
    int64_t from_stride; /**< Elements from one batch to the next: at least those of the
                            layout, and a multiple of 4 where addresses are; 0 is packed. */
    int64_t to_stride;   /**< Likewise. What lies between batches is not written. */
} jit_gemm_packer_args;

/**
 * Makes a conversion runnable: the kernel is found in memory or in the disk cache or
 * compiled, and loaded, like that of ::jit_gemm_create, under the context's policy, and the
 * context's manifest names it. Scales of types of as many bytes share a kernel, whatever
 * their blocks are. From a layout to itself is legal: it cleans the padding.
 *
 * @param scale of blocks, as they will lie at `from`; copied
 * @param to_layout a ::jit_gemm_scale_layout
 * @param[out] ret_packer receives the handle, which the caller destroys; untouched on
 * failure
 * @return OK, ARGUMENT, UNSUPPORTED (no such blocks), NO_MEMORY, NO_DRIVER, DEVICE, LOAD,
 * NO_COMPILER, COMPILE, NOT_CACHED, CANCELLED, CAPTURE
 */
JIT_GEMM_API jit_gemm_status jit_gemm_packer_create(jit_gemm_context *context,
                                                    const jit_gemm_scale *scale,
                                                    uint32_t to_layout,
                                                    jit_gemm_packer **ret_packer);

/**
 * Launches the conversion on a stream, and nothing else: one driver call, legal under
 * stream capture. Checks every argument first.
 *
 * The result is that of ::jit_gemm_scales_convert for each batch: what belongs to no block
 * becomes 0, and is not read in the source.
 *
 * @param args the device memory must live until the kernel has ended, the struct only
 * during the call; the result must not overlap with the source
 * @param stream CUstream or cudaStream_t of the context's device; NULL is the default
 * stream
 * @return OK, ARGUMENT, LAUNCH, VERSION
 */
JIT_GEMM_API jit_gemm_status jit_gemm_packer_run(const jit_gemm_packer *packer,
                                                 const jit_gemm_packer_args *args,
                                                 void *stream);

/**
 * Reads what is known of the kernel. `grid_ctas` are the most CTAs of a launch, and there
 * is no `config`.
 * @return OK, ARGUMENT, VERSION
 */
JIT_GEMM_API jit_gemm_status jit_gemm_packer_get_info(const jit_gemm_packer *packer,
                                                      jit_gemm_info *ret_info);

/** Destroys a handle and sets the pointer to NULL. Accepts NULL. Work already launched goes
 * on. */
JIT_GEMM_API void jit_gemm_packer_destroy(jit_gemm_packer **packer);

#ifdef __cplusplus
}
#endif

#endif
