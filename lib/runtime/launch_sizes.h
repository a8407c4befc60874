/* SPDX-License-Identifier: MIT */
/* The sizes of a launch: those that are compiled in, and those that are given. */
#ifndef JG_RUNTIME_LAUNCH_SIZES_H
#define JG_RUNTIME_LAUNCH_SIZES_H

#include "jit_gemm/launch.h"
#include "plan/kernel_params.h"
#include "runtime/module.h"

/* Fills m, n, k and batch of `params`, in the problem's terms. ARGUMENT for a size that
 * differs from the compiled one, or that is missing, out of range or no multiple of what
 * the problem needs; UNSUPPORTED for more tiles than the kernel can count. */
jit_gemm_status jg_launch_sizes_resolve(const struct jg_kernel *kernel,
                                        const jit_gemm_args *args,
                                        struct jg_kernel_params *params);

/* Is there no element of D to compute? */
static inline bool jg_params_are_empty(const struct jg_kernel_params *params)
{
    return params->m == 0 || params->n == 0 || params->batch == 0;
}

#endif
