/* SPDX-License-Identifier: MIT */
/* Scales in a launch that a kernel before it packs: where they lie in its workspace, and
 * what that kernel is given. */
#ifndef JG_RUNTIME_SCALE_PACK_H
#define JG_RUNTIME_SCALE_PACK_H

#include "plan/scale_pack.h"
#include "runtime/tensor_map.h"

/* Bytes of the workspace with the pieces behind `used` bytes of it; sizes are the
 * problem's. */
int64_t jg_scale_pack_workspace_bytes(const struct jg_kernel *kernel,
                                      const struct jg_kernel_params *params, int64_t used);

/* Fills in what is to be packed, behind `used` bytes of the workspace, and has `params` and
 * the keys of maps, which say where scales lie, name the pieces. Scales that are not packed
 * have no rows, and stay. */
void jg_scale_pack_fill(const struct jg_kernel *kernel, struct jg_kernel_params *params,
                        int64_t used, struct jg_map_key *keys,
                        struct jg_scale_pack_params *ret_pack);

/* CTAs of the launch that packs; 0: there is nothing to pack. */
unsigned int jg_scale_pack_grid(const struct jg_kernel *kernel,
                                const struct jg_scale_pack_params *pack);

#endif
