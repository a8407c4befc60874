/* SPDX-License-Identifier: MIT */
/*
 * The rival's second kernel: reads D as a plain GEMM left it, applies a snippet, writes D.
 *
 * Vectorised by hand: a thread takes 8 neighbouring columns (16 bytes of a 16-bit type) of
 * four rows, with all loads issued before the first value is used, and works in place,
 * which moves the fewest bytes that a separate kernel can.
 */
#ifndef BENCH_ELEMENTWISE_H
#define BENCH_ELEMENTWISE_H

#include "gemm_set.h"
#include "small_kernel.h"

struct elementwise; /* one compiled kernel */

/*
 * Compiles the kernel for an epilogue; its math functions are those of the library's
 * prelude (gelu by the error function). `driver` must outlive the result.
 */
int elementwise_create(const struct cuda_driver *driver, const char *nvrtc_path,
                       const jit_gemm_epilogue *epilogue, jit_gemm_dtype d_type,
                       struct elementwise **ret_kernel, char error[BENCH_ERROR_SIZE]);

/*
 * Launches on a stream, NULL being the default one, on D of one set. `operands` gives for
 * each operand of this kernel's epilogue its number in the set.
 */
int elementwise_run(const struct elementwise *kernel, const struct gemm_sets *sets,
                    size_t set, const uint32_t *operands, void *stream,
                    char error[BENCH_ERROR_SIZE]);

/* Sets the pointer to NULL. Accepts NULL. */
void elementwise_destroy(struct elementwise **kernel);

#endif
