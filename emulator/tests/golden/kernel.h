/* SPDX-License-Identifier: MIT */
/*
 * Pieces of the kernels that move blocks of shared memory: a block of 128 threads, dynamic
 * shared memory aligned to 1024 bytes, one mbarrier.
 *
 * Registers for the pieces' users: %in, %out (64 bits); %lane (thread), %rank (in the
 * cluster), %sm (dynamic shared memory), %bar, %r0-15 (32 bits); %d0-7 (64 bits); %map0,
 * %map1 (generic addresses of the tensor maps); %others (true but for thread 0); %p0-7.
 */
#ifndef EMU_GOLDEN_KERNEL_H
#define EMU_GOLDEN_KERNEL_H

#include "golden.h"

#define GOLD_THREADS 128

struct gold_kernel {
    struct gold_text ptx;
    unsigned labels;
};

/* `declarations`: more PTX before the first instruction, or "". */
void gold_kernel_begin(struct gold_kernel *kernel, unsigned maps, const char *declarations);
/* Shared bytes from `offset` become 0xCD. */
void gold_kernel_fill(struct gold_kernel *kernel, unsigned offset, unsigned bytes);
/* Shared bytes from the input, and from shared memory to the output; the output of CTA r is
 * r * `rank_bytes` further. */
void gold_kernel_read(struct gold_kernel *kernel, unsigned in_offset, unsigned offset,
                      unsigned bytes);
void gold_kernel_write(struct gold_kernel *kernel, unsigned offset, unsigned out_offset,
                       unsigned bytes, unsigned rank_bytes);
/* Initialises the mbarrier, then waits for all of the CTA (or the cluster), so that every
 * thread and the async proxy see it and what was written to shared memory. */
void gold_kernel_ready(struct gold_kernel *kernel, bool cluster);
/* Opens and closes what only thread 0 does. */
void gold_kernel_one(struct gold_kernel *kernel, const char *format, ...) GOLD_PRINTF(2, 3);
/* All wait for phase 0, a bounded time; whether it completed goes to the output as a word.
 */
void gold_kernel_wait(struct gold_kernel *kernel, unsigned out_offset, unsigned rank_bytes);
/* Ends the entry; a cluster meets first, since its CTAs may still be written to. */
void gold_kernel_end(struct gold_kernel *kernel, bool cluster);

#endif
