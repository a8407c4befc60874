/* SPDX-License-Identifier: MIT */
/* The arguments of a launch: checked against the kernel, defaults filled in, in the form
 * that the device takes. Calls no driver, allocates nothing unless it fails. */
#ifndef JG_RUNTIME_ARGUMENTS_H
#define JG_RUNTIME_ARGUMENTS_H

#include <stdbool.h>

#include "jit_gemm/launch.h"
#include "plan/first_kernel.h"
#include "runtime/array.h"
#include "runtime/tensor_map.h"

/*
 * Fills everything but the tensor maps, whose keys it gives, and what the kernel
 * before that of the product does, where there is one. Sizes of 0 for M, N or batch end the
 * check early: there is nothing to do then. `args` has the library's own size. ARGUMENT,
 * UNSUPPORTED; the error names the field ("args.a.ld") and the remedy.
 */
jit_gemm_status jg_arguments_fill(const struct jg_kernel *kernel, const jit_gemm_args *args,
                                  struct jg_kernel_params *ret_params,
                                  struct jg_map_key ret_keys[JG_MAP_COUNT],
                                  struct jg_first_params *ret_first);

/* Checks as jg_arguments_fill does, and says what memory the arguments take: addresses only
 * have to be aligned. An empty problem takes none. */
jit_gemm_status jg_arguments_measure(const struct jg_kernel *kernel,
                                     const jit_gemm_args *args,
                                     struct jg_extents *ret_extents);

#endif
