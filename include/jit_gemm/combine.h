/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Rows that are added up, several to one, on the device: what the chosen experts say of a
 * token (docs/grouped.md). A launch has one of the kernels that ::jit_gemm_combiner_create
 * makes.
 *
 * Row t of D is c[t] + w[t, 0] * rows[i[t, 0]] + w[t, 1] * rows[i[t, 1]] + ..., in f32 and
 * in this order, each product and sum rounded once (fma), then rounded to D's type: the
 * same bits in every launch, on every device.
 */
#ifndef JIT_GEMM_COMBINE_H
#define JIT_GEMM_COMBINE_H

#include "jit_gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A loaded kernel that adds up rows. Immutable; any thread may run it. */
typedef struct jit_gemm_combiner jit_gemm_combiner;

/** What one launch reads and writes. */
typedef struct jit_gemm_combiner_args {
    size_t struct_size; /**< sizeof(jit_gemm_combiner_args), set by the caller. */
    int64_t tokens;     /**< Rows of D, 1 to 2^31 - 1. */
    int64_t columns;    /**< Of D and the rows, 1 to 2^31 - 1. */
    uint64_t rows;      /**< Device address of the rows, aligned to an element. */
    int64_t rows_ld;    /**< Elements from one to the next; 0: `columns`. */
    int64_t row_count;  /**< How many there are, 1 to 2^31 - 1. */
    uint64_t index;     /**< Device address of an int32_t for each part of each token, those
                           of a token side by side: which row it is. Below 0, or not below
                           `row_count`: the part is left out, and its weight is not read. 0:
                           part j of token t is row t * chosen + j. */
    uint64_t weights;   /**< Device address of a float for each part, likewise; 0: all 1. */
    uint64_t c;         /**< Device address of a matrix of D's type that is added first; it
                           may be D itself. 0: none. */
    int64_t c_ld;       /**< As `rows_ld`. */
    uint64_t d;         /**< Device address of the result. It overlaps nothing that is read
                           but C, where that is D. */
    int64_t d_ld;       /**< As `rows_ld`. What lies between rows is not written. */
} jit_gemm_combiner_args;

/**
 * Makes sums of rows runnable: the kernel is found in memory or in the disk cache or
 * compiled, and loaded, like that of ::jit_gemm_create, under the context's policy, and the
 * context's manifest names it.
 *
 * @param rows the type of the rows: bf16, f16 or f32
 * @param d the type of D and C: the same
 * @param chosen rows that make one, 1 to 64
 * @param[out] ret_combiner receives the handle, which the caller destroys; untouched on
 * failure
 * @return OK, ARGUMENT, UNSUPPORTED (no such types), NO_MEMORY, NO_DRIVER, DEVICE, LOAD,
 * NO_COMPILER, COMPILE, NOT_CACHED, CANCELLED, CAPTURE
 */
JIT_GEMM_API jit_gemm_status jit_gemm_combiner_create(jit_gemm_context *context,
                                                      jit_gemm_dtype rows, jit_gemm_dtype d,
                                                      uint32_t chosen,
                                                      jit_gemm_combiner **ret_combiner);

/**
 * Launches the sums on a stream, and nothing else: one driver call, legal under stream
 * capture. Checks every argument first; index and weights are read when the kernel runs.
 * Rows whose addresses and distances are multiples of 16 bytes are read by vectors.
 *
 * @param args the device memory must live until the kernel has ended, the struct only
 * during the call
 * @param stream CUstream or cudaStream_t of the context's device; NULL is the default
 * stream
 * @return OK, ARGUMENT, LAUNCH, VERSION
 */
JIT_GEMM_API jit_gemm_status jit_gemm_combiner_run(const jit_gemm_combiner *combiner,
                                                   const jit_gemm_combiner_args *args,
                                                   void *stream);

/**
 * Reads what is known of the kernel. `grid_ctas` are the most CTAs of a launch, and there
 * is no `config`.
 * @return OK, ARGUMENT, VERSION
 */
JIT_GEMM_API jit_gemm_status jit_gemm_combiner_get_info(const jit_gemm_combiner *combiner,
                                                        jit_gemm_info *ret_info);

/** Destroys a handle and sets the pointer to NULL. Accepts NULL. Work already launched goes
 * on. */
JIT_GEMM_API void jit_gemm_combiner_destroy(jit_gemm_combiner **combiner);

#ifdef __cplusplus
}
#endif

#endif
