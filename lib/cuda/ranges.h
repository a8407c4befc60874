/* SPDX-License-Identifier: MIT */
/* NVTX ranges, which Nsight Systems and others show on the calling thread's line. */
#ifndef JG_CUDA_RANGES_H
#define JG_CUDA_RANGES_H

#include <stdbool.h>

#include "base/status.h"

/* OK, or UNSUPPORTED, naming `where`: the library was built without NVTX. */
jit_gemm_status jg_ranges_need(const char *where);
/* Reads "1" or "0"; `text` may be NULL: none. ARGUMENT for other words, UNSUPPORTED as
 * above; both name `where`. */
jit_gemm_status jg_ranges_read(const char *text, const char *where, bool *ret_has_ranges);

/* "jit_gemm: WHAT TEXT", if they are asked for. Each push has its pop, on the same thread.
 */
void jg_range_push(bool has_ranges, const char *what, const char *text);
void jg_range_pop(bool has_ranges);

#endif
