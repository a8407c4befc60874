/* SPDX-License-Identifier: MIT */
/* The memory in which the CTAs of a kernel that splits K, or has reductions, add up, and
 * where copies of A and B and packed scales lie. */
#ifndef JG_RUNTIME_WORKSPACE_H
#define JG_RUNTIME_WORKSPACE_H

#include "jit_gemm/launch.h"
#include "plan/first_kernel.h"
#include "plan/kernel_params.h"
#include "runtime/tensor_map.h"

/* Checks that the workspace is there and large enough for the sizes in `params`, which were
 * checked before; sets its address, 0 for a kernel that needs none. ARGUMENT, UNSUPPORTED.
 */
jit_gemm_status jg_workspace_resolve(const struct jg_kernel *kernel,
                                     const jit_gemm_args *args,
                                     struct jg_kernel_params *params);

/* Says to the operands that reduce where their part of it is. `params` has the problem's
 * sizes, and the workspace is resolved. */
void jg_workspace_place_reductions(const struct jg_kernel *kernel,
                                   struct jg_kernel_params *params);

/* Says where A and B are copied to, as jg_repack_fill, maps of groups are written, as
 * jg_group_maps_fill, or scales are packed, as
 * jg_scale_pack_fill, of a kernel with one before it that does. */
void jg_workspace_place_copies(const struct jg_kernel *kernel,
                               struct jg_kernel_params *params, struct jg_map_key *keys,
                               struct jg_first_params *ret_first);

#endif
