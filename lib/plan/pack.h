/* SPDX-License-Identifier: MIT */
/* Scales of blocks from one layout to another: which kernel, its name in a manifest, and
 * its parameter. */
#ifndef JG_PLAN_PACK_H
#define JG_PLAN_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "jit_gemm/problem.h"

enum { JG_PACK_THREADS = 256 }; /* of a CTA */

/* One kernel: scales of so many bytes, whatever their blocks are. */
struct jg_pack {
    uint32_t element_bytes; /* 1 or 4 */
    uint32_t from, to;      /* jit_gemm_scale_layout */
};

/* As the device sees it (jg/pack/pack_kernel.cuh has the same struct; the source unit
 * carries its size and the device asserts it). */
struct jg_pack_params {
    uint64_t from, to;              /* device addresses */
    int64_t from_stride, to_stride; /* elements from one batch to the next */
    uint32_t rows, blocks;          /* of a batch: scales of a column, and of a row */
    uint32_t batch;
    uint32_t reserved;
};
_Static_assert(sizeof(struct jg_pack_params) == 48, "as jg/pack/pack_kernel.cuh has it");

/* Scales of blocks that can be converted, the type filled in. ARGUMENT, UNSUPPORTED. */
jit_gemm_status jg_pack_read_scale(const jit_gemm_scale *user, jit_gemm_scale *ret_scale);
/* The kernel for such scales. ARGUMENT, naming `to_layout`. */
jit_gemm_status jg_pack_make(const jit_gemm_scale *scale, uint32_t to_layout,
                             struct jg_pack *ret_pack);
/* Is it one that a product's rows or K may have? ARGUMENT, naming `field`. */
jit_gemm_status jg_pack_check_size(const char *field, int64_t size);

/* Elements that a thread makes at once, and bytes that addresses are multiples of. */
uint32_t jg_pack_unit(uint32_t layout);

/* "pack bytes=1 from=row to=128x4": a line of a manifest, and what errors and the cache
 * call the kernel. */
void jg_pack_text(const struct jg_pack *pack, struct jg_str *out);
/* Reads what follows the word "pack". ARGUMENT. */
jit_gemm_status jg_pack_parse(const char *text, struct jg_pack *ret_pack);

#endif
