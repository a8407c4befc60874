/* SPDX-License-Identifier: MIT */
/* The numbers of a launch's groups, which only the device reads. */
#ifndef JG_RUNTIME_GROUP_SIZES_H
#define JG_RUNTIME_GROUP_SIZES_H

#include "base/status.h"
#include "jit_gemm/launch.h"
#include "plan/kernel_params.h"

struct jg_kernel;

/* Fills `group_sizes`, `group_ns` and `group_ks` of `params`, whose sizes are set.
 * ARGUMENT, where an address is missing, misaligned or of no use; UNSUPPORTED for more rows
 * than a kernel lists, and for sizes that no kernel of the problem takes. */
jit_gemm_status jg_group_sizes_resolve(const struct jg_kernel *kernel,
                                       const jit_gemm_args *args,
                                       struct jg_kernel_params *params);

#endif
