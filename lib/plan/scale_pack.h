/* SPDX-License-Identifier: MIT */
/*
 * Scales that the tensor core multiplies by lie in pieces of 128x4, one for each row. Those
 * of another layout, or for 128 rows, a kernel before that of the product brings there
 * (kernel_src/jg/pack/pack_scales_kernel.cuh). Which do, where they come to lie in the
 * workspace, and that kernel's parameter. Rows of groups by offsets lie as A's do before
 * and in bands of their own behind, so that kernel reads the groups' numbers. Pure
 * functions.
 */
#ifndef JG_PLAN_SCALE_PACK_H
#define JG_PLAN_SCALE_PACK_H

#include "plan/pack.h"
#include "plan/product.h"

/* The kernel, beside that of the product in one unit. */
#define JG_SCALE_PACK_ENTRY "jit_gemm_pack_scales"

/* Are those of one matrix packed first, or of both? */
bool jg_packs_scales(const struct jg_product *product);

/* Of the product's A or B. */
struct jg_scale_pack_place {
    int64_t offset; /* in the workspace */
    int64_t stride; /* bytes of a batch; 0: they are not packed */
};

/* Sizes of a product, those of all groups together; `index_rows`: of an A whose rows an
 * index names. */
struct jg_scale_pack_size {
    int64_t m, n, k, batch, index_rows;
};
/* As the problem has them. How many rows an index names is not known then: as many as it
 * has entries. */
struct jg_scale_pack_size jg_scale_pack_planned_size(const struct jg_problem *problem,
                                                     const struct jg_product *product);

/* Scales of the product's A or B as pieces have them: of so many rows and elements of K,
 * for so many batches. */
struct jg_scale_pack_side {
    int64_t rows, k, batch;
    bool by_groups; /* each group's rows begin at a piece of their own, whoever reads */
};
struct jg_scale_pack_side jg_scale_pack_side_of(const struct jg_product *product,
                                                const struct jg_matrix *matrix,
                                                const struct jg_scale_pack_size *size);

struct jg_scale_pack_room {
    struct jg_scale_pack_place a, b;
    int64_t end; /* bytes of the workspace, pieces and all; INT64_MAX: more than can be */
};

/* Where pieces lie, behind `used` bytes of the workspace; `used` is the end without any. */
struct jg_scale_pack_room jg_scale_pack_place(const struct jg_product *product,
                                              const struct jg_scale_pack_size *size,
                                              int64_t used);

/* Bytes that the kernel reads and writes at the planned size. */
int64_t jg_scale_pack_bytes(const struct jg_problem *problem,
                            const struct jg_product *product);

/* As the device sees it; one without rows is not packed. */
struct jg_scale_pack_params {
    struct jg_pack_params a, b; /* of the product's */
    uint64_t group_sizes;       /* of groups by offsets, whose rows have bands of pieces */
    uint32_t group_rows;        /* of all of them, as the scales are read */
    uint32_t reserved;
};
_Static_assert(sizeof(struct jg_scale_pack_params) == 112,
               "as jg/pack/pack_scales_kernel.cuh has it");

#endif
