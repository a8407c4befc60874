/* SPDX-License-Identifier: MIT */
/* Blackwell, what its files share: the shapes of its multiplication, sizes, limits and
 * cost. Pure functions. */
#ifndef JG_PLAN_ARCH_SM100A_H
#define JG_PLAN_ARCH_SM100A_H

#include "plan/arch_common.h"

enum {
    JG_SM100A_THREADS = 192,     /* six warps */
    JG_SM100A_WARP_THREADS = 32, /* each warp more: for matrices, for launch control */
    JG_SM100A_HELPING_WARPS = 3, /* where threads load A and B */
    JG_SM100A_MAX_ACC_STAGES = 2
};

/* Where a CTA's accumulator lies in tensor memory (jg/sm100a/epilogue_share.cuh). */
struct jg_sm100a_lanes {
    int of_warp; /* lanes of 32 that each warp of the epilogue has */
    int split;   /* do two warps have the left half of the columns, two the right one? */
    int columns; /* of tensor memory */
};
struct jg_sm100a_lanes jg_sm100a_lanes(const struct jg_config *config);

/* What a CTA allocates: a power of two from 32 on (jg/sm100a/tmem.cuh). */
int jg_sm100a_tmem_columns(const struct jg_config *config);

/* Boxes of the tensor maps: rows, and the bytes of those rows. */
void jg_sm100a_size_boxes(const struct jg_problem *problem, const struct jg_config *config,
                          struct jg_derived *derived);

/* Stages of the ring for C and matrix operands; 0 if they take no ring. */
int jg_sm100a_matrix_stages(const struct jg_problem *problem);
struct jg_smem jg_sm100a_smem(const struct jg_problem *problem,
                              const struct jg_config *config);
extern const struct jg_stage_limits jg_sm100a_stages;

/* Static limits, cheapest first; 0 with a reason if one is broken. `product` is that of the
 * config. */
int jg_sm100a_check(const struct jg_problem *product, const struct jg_device_facts *facts,
                    const struct jg_config *config, char *reason, size_t size);

/* The cost model, for comparing candidates. `product` is that of the config. */
double jg_sm100a_predict_us(const struct jg_problem *product,
                            const struct jg_config *config,
                            const struct jg_derived *derived);

#endif
