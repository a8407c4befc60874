/* SPDX-License-Identifier: MIT */
/*
 * Scales that the tensor core multiplies by lie in pieces of 128x4, one for each row. Those
 * of another layout, or for 128 rows, a kernel before that of the product brings there
 * (kernel_src/jg/pack/pack_scales_kernel.cuh). Which do, where they come to lie in the
 * workspace, and that kernel's parameter. Pure functions.
 */
#ifndef JG_PLAN_SCALE_PACK_H
#define JG_PLAN_SCALE_PACK_H

#include "plan/pack.h"
#include "plan/repack.h"

/* The kernel, beside that of the product in one unit. */
#define JG_SCALE_PACK_ENTRY "jit_gemm_pack_scales"

/* Are those of one matrix packed first, or of both? */
bool jg_packs_scales(const struct jg_product *product);

/* Of the product's A or B. */
struct jg_scale_pack_place {
    int64_t offset; /* in the workspace */
    int64_t stride; /* bytes of a batch; 0: they are not packed */
};

struct jg_scale_pack_room {
    struct jg_scale_pack_place a, b;
    int64_t end; /* bytes of the workspace, pieces and all; INT64_MAX: more than can be */
};

/* Where pieces lie, behind `used` bytes of the workspace; `used` is the end without any. */
struct jg_scale_pack_room jg_scale_pack_place(const struct jg_product *product,
                                              struct jg_repack_size size, int64_t used);

/* Bytes that the kernel reads and writes at the planned size. */
int64_t jg_scale_pack_bytes(const struct jg_product *product);

/* As the device sees it; one without rows is not packed. */
struct jg_scale_pack_params {
    struct jg_pack_params a, b; /* of the product's */
};
_Static_assert(sizeof(struct jg_scale_pack_params) == 96,
               "as jg/pack/pack_scales_kernel.cuh has it");

#endif
