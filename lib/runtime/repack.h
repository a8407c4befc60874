/* SPDX-License-Identifier: MIT */
/* Copies of A and B in a launch: which of them it needs, where they lie in its workspace,
 * and the kernel that makes them. */
#ifndef JG_RUNTIME_REPACK_H
#define JG_RUNTIME_REPACK_H

#include "plan/repack.h"
#include "runtime/tensor_map.h"

/* Bytes of the workspace with the copies behind `used` bytes of it. */
int64_t jg_repack_workspace_bytes(const struct jg_kernel *kernel,
                                  const struct jg_kernel_params *params, int64_t used);

/* Of A and B that the kernel copies, those whose address, rows or batches TMA does not
 * take: fills in what is to be copied, and has the keys of their maps name the copies. The
 * rest is left as it is, and has 0 rows. Sizes are the problem's. */
void jg_repack_fill(const struct jg_kernel *kernel, const struct jg_kernel_params *params,
                    int64_t used, struct jg_map_key *keys,
                    struct jg_repack_params *ret_repack);

/* CTAs of a launch that copies; 0: there is nothing to copy. */
unsigned int jg_repack_grid(const struct jg_kernel *kernel,
                            const struct jg_repack_params *repack);

#endif
