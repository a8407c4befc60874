/* SPDX-License-Identifier: MIT */
/* Blackwell, what its files share: the shapes of its multiplication, sizes, limits and
 * cost. Pure functions. */
#ifndef JG_PLAN_ARCH_SM100A_H
#define JG_PLAN_ARCH_SM100A_H

#include "plan/arch_common.h"

enum {
    JG_SM100A_THREADS = 192,     /* six warps */
    JG_SM100A_WARP_THREADS = 32, /* each warp more: for matrices, for launch control */
    JG_SM100A_SLAB_ROWS = 32,    /* of D, one warp's */
    JG_SM100A_MATRIX_ROWS = 128, /* of a matrix: all of the tile's */
    JG_SM100A_MAX_ACC_STAGES = 2
};

struct jg_sm100a_shape {
    int m, n, cta_group; /* of the MMA */
};

/* In order of preference between candidates of equal cost; NULL past the end. */
const struct jg_sm100a_shape *jg_sm100a_shape_at(int index);

/* Stages of the ring for C and matrix operands; 0 if they take no ring. */
int jg_sm100a_matrix_stages(const struct jg_problem *problem);
struct jg_smem jg_sm100a_smem(const struct jg_problem *problem,
                              const struct jg_config *config);
extern const struct jg_stage_limits jg_sm100a_stages;

/* Static limits, cheapest first; 0 with a reason if one is broken. */
int jg_sm100a_check(const struct jg_problem *problem, const struct jg_device_facts *facts,
                    const struct jg_config *config, char *reason, size_t size);

/* The cost model, for comparing candidates. */
double jg_sm100a_predict_us(const struct jg_problem *problem,
                            const struct jg_config *config,
                            const struct jg_derived *derived);

#endif
