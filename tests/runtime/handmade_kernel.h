/* SPDX-License-Identifier: MIT */
/* A kernel over a driver table made by hand: no library is opened. */
#ifndef HANDMADE_KERNEL_H
#define HANDMADE_KERNEL_H

#include "runtime/tensor_map.h"

struct handmade {
    struct jg_kernel *kernel;
    struct jg_device *device;
};

/* A 128x256 kernel with clusters of 2x1 for 1024 x 1024 x 1024 bf16. */
void handmade_kernel(struct handmade *made);
void handmade_free(struct handmade *made);

/* Calls that the table saw since handmade_kernel. */
long handmade_encodes(void);
long handmade_moves(void);
long handmade_launches(void);
/* Grid of the last launch. */
unsigned int handmade_last_grid(void);

#endif
