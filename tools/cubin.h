/* SPDX-License-Identifier: MIT */
/* What the ELF file of a cubin says of its kernels, without any tool of CUDA. */
#ifndef CUBIN_H
#define CUBIN_H

#include <stddef.h>
#include <stdint.h>

enum { CUBIN_MAX_KERNELS = 16 };

struct cubin_kernel {
    char name[256];
    uint32_t registers;   /* per thread */
    uint32_t frame_bytes; /* of local memory, per thread; 0: nothing was spilled */
    uint32_t static_smem; /* bytes per CTA, beside what a launch asks for; 1024 of them
                             only align what is dynamic */
    uint32_t named_barriers;
    uint32_t max_threads;  /* of the launch bound; 0 if it has none */
    uint32_t tensor_group; /* CTAs of the tensor core's group: 1 or 2; 0: no tcgen05 */
    uint64_t code_bytes;
};

struct cubin {
    struct cubin_kernel kernels[CUBIN_MAX_KERNELS];
    size_t count;
};

/* NULL if all is well, otherwise what is wrong (static). Reads nothing outside of `size`
 * bytes, whatever they hold. */
const char *cubin_read(const void *bytes, size_t size, struct cubin *ret_cubin);

#endif
