/* SPDX-License-Identifier: MIT */
/* Maps of groups in a launch: where they lie in its workspace, and what the kernel that
 * writes them is given. */
#ifndef JG_RUNTIME_GROUP_MAPS_H
#define JG_RUNTIME_GROUP_MAPS_H

#include "plan/group_maps.h"
#include "runtime/tensor_map.h"

/* Bytes of the workspace with the maps behind `used` bytes of it. */
int64_t jg_group_maps_workspace_bytes(const struct jg_kernel *kernel,
                                      const struct jg_kernel_params *params, int64_t used);

/* Fills in all but the maps that groups' have in common, which are those of the keys, and
 * has the parameters name the groups' maps. Sizes are the problem's. */
void jg_group_maps_fill(const struct jg_kernel *kernel, struct jg_kernel_params *params,
                        int64_t used, struct jg_map_key *keys,
                        struct jg_group_maps_params *ret_maps);

/* Takes over what groups' maps have in common, when the launch's are encoded. */
void jg_group_maps_take(const struct jg_kernel_params *params,
                        struct jg_group_maps_params *maps);

/* CTAs of a launch that writes maps. */
unsigned int jg_group_maps_grid(const struct jg_kernel *kernel,
                                const struct jg_kernel_params *params);

#endif
