/* SPDX-License-Identifier: MIT */
/* CTAs of a launch. */
#ifndef JG_RUNTIME_GRID_H
#define JG_RUNTIME_GRID_H

#include "runtime/module.h"

/* Of a launch whose product has this size. */
unsigned int jg_grid_of_size(const struct jg_kernel *kernel, uint32_t m, uint32_t n,
                             uint32_t batch);

/* Of each launch of a kernel whose sizes are all compiled in; 0 where the arguments say
 * more: a size, or more tiles than the device counts, which a launch refuses. */
unsigned int jg_grid_of_exact_sizes(const struct jg_kernel *kernel);

/* Do the tiles of a launch fit in the 32 bits in which the device counts them? */
bool jg_grid_has_countable_tiles(const struct jg_kernel *kernel, uint32_t m, uint32_t n,
                                 uint32_t batch);

#endif
