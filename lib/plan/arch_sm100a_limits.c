/* SPDX-License-Identifier: MIT */
/* Blackwell's shapes, sizes and limits. The kernel asserts the same sizes
 * (kernel_src/jg/sm100a/smem.cuh). */
#include "plan/arch_sm100a.h"

#include <stdio.h>

#include "base/math.h"

enum {
    EPILOGUE_WARPS = 4,
    MAX_MATRIX_STAGES = 4,
    CLC_BYTES = 112, /* answers of launch control and their barriers */
    TMEM_COLUMNS = 512,
    TMEM_ADDRESS_BYTES = 8, /* of the word that publishes the address of tensor memory */
    /* More than half of what a multiprocessor has: one CTA each, because two clusters that
     * each hold a part of the tensor memory which the other waits for would never end. */
    LEAST_SMEM_BYTES = 116 * 1024,
    MAX_CLUSTER = 16, /* CTAs; more than 8 are not chosen, because fewer fit */
    MIN_STAGES = 2,
    MAX_STAGES = 8
};

static const struct jg_sm100a_shape shapes[] = {{256, 256, 2}, {256, 192, 2}, {256, 128, 2},
                                                {128, 256, 1}, {128, 192, 1}, {128, 128, 1},
                                                {128, 64, 1}};

enum { SHAPE_COUNT = sizeof(shapes) / sizeof(shapes[0]) };

const struct jg_stage_limits jg_sm100a_stages = {
    .least = MIN_STAGES, .most = MAX_STAGES, .arch = "sm_100a", .shape = ""};

const struct jg_sm100a_shape *jg_sm100a_shape_at(int index)
{
    return index >= 0 && index < SHAPE_COUNT ? &shapes[index] : NULL;
}

/* --------------------------------------------------------------------------- sizes */

/* Room for two steps of the epilogue, so that one lands while the other is read; for one,
 * if that is much; for none if even one is too much: the epilogue loads itself then. */
int jg_sm100a_matrix_stages(const struct jg_problem *problem)
{
    const int step = jg_matrix_stages(problem);
    if (2 * step <= MAX_MATRIX_STAGES) {
        return 2 * step;
    }
    return step <= MAX_MATRIX_STAGES ? step : 0;
}

struct jg_smem jg_sm100a_smem(const struct jg_problem *problem,
                              const struct jg_config *config)
{
    const int64_t rows = config->tile_m + config->tile_n / config->cta_group;
    const int64_t matrix_bytes =
        (int64_t)JG_SM100A_MATRIX_ROWS * JG_ROW_BYTES + JG_RING_BARRIER_BYTES;
    return (struct jg_smem){
        .stage_blocks = config->k_group,
        .stage_bytes = config->k_group * rows * JG_ROW_BYTES + JG_RING_BARRIER_BYTES,
        .other_bytes = (int64_t)EPILOGUE_WARPS * config->out_stages * JG_SM100A_SLAB_ROWS *
                           JG_ROW_BYTES +
                       jg_sm100a_matrix_stages(problem) * matrix_bytes +
                       (int64_t)config->acc_stages * JG_RING_BARRIER_BYTES +
                       (config->scheduler == JG_SCHEDULER_CLC ? CLC_BYTES : 0) +
                       TMEM_ADDRESS_BYTES,
        .least_bytes = LEAST_SMEM_BYTES};
}

/* ----------------------------------------------------------------------- the limits */

static int find_shape(const struct jg_config *config)
{
    for (int i = 0; i < SHAPE_COUNT; i++) {
        if (shapes[i].m == config->mma_m && shapes[i].n == config->mma_n &&
            shapes[i].cta_group == config->cta_group) {
            return 1;
        }
    }
    return 0;
}

static void list_shapes(int cta_group, char *text, size_t size)
{
    size_t length = 0;
    text[0] = '\0';
    for (int i = 0; i < SHAPE_COUNT && length < size; i++) {
        if (shapes[i].cta_group == cta_group) {
            const int added =
                snprintf(text + length, size - length, " %dx%d", shapes[i].m, shapes[i].n);
            length += added > 0 ? (size_t)added : 0;
        }
    }
}

static int is_power_of_two(int value)
{
    return value > 0 && (value & (value - 1)) == 0;
}

static int check_cluster(const struct jg_device_facts *facts,
                         const struct jg_config *config, char *reason, size_t size)
{
    const int ctas = config->cluster_m * config->cluster_n;
    if (!is_power_of_two(config->cluster_m) || !is_power_of_two(config->cluster_n) ||
        ctas > MAX_CLUSTER) {
        snprintf(reason, size,
                 "cluster=%dx%d: clusters of sm_100a are powers of two of at most %d CTAs",
                 config->cluster_m, config->cluster_n, MAX_CLUSTER);
        return 0;
    }
    if (config->cluster_m % config->cta_group != 0) {
        snprintf(reason, size,
                 "cluster=%dx%d has no whole pairs along M, as cta_group=%d needs",
                 config->cluster_m, config->cluster_n, config->cta_group);
        return 0;
    }
    if (jg_resident_ctas(config, facts) == 0) {
        snprintf(reason, size, "cluster=%dx%d does not fit on %d multiprocessors",
                 config->cluster_m, config->cluster_n, facts->sm_count);
        return 0;
    }
    return 1;
}

/* Static limits, cheapest first; 0 with a reason if one is broken. */
int jg_sm100a_check(const struct jg_problem *problem, const struct jg_device_facts *facts,
                    const struct jg_config *config, char *reason, size_t size)
{
    if (!find_shape(config)) {
        char list[96];
        list_shapes(config->cta_group, list, sizeof(list));
        snprintf(reason, size, "mma=%dx%d is none of those of sm_100a with cta_group=%d:%s",
                 config->mma_m, config->mma_n, config->cta_group, list);
        return 0;
    }
    if (!check_cluster(facts, config, reason, size) ||
        !jg_split_check(problem, config, reason, size)) {
        return 0;
    }
    if (problem->b_layout != JIT_GEMM_LAYOUT_K_MAJOR &&
        config->tile_n / config->cta_group % jg_tile_k(problem) != 0) {
        snprintf(reason, size,
                 "mma=%dx%d cta_group=%d gives a CTA %d columns of B, which is not K-major "
                 "here and needs a multiple of %d",
                 config->mma_m, config->mma_n, config->cta_group,
                 config->tile_n / config->cta_group, jg_tile_k(problem));
        return 0;
    }
    if (config->prefetch != JG_PREFETCH_NONE && !config->pdl) {
        snprintf(reason, size,
                 "prefetch=%s needs pdl=1: it is for the time before the grid before ends",
                 config->prefetch == JG_PREFETCH_A ? "a" : "b");
        return 0;
    }
    if (config->acc_stages * config->mma_n > TMEM_COLUMNS) {
        snprintf(reason, size,
                 "acc_stages=%d of %d columns exceed the %d columns of tensor memory",
                 config->acc_stages, config->mma_n, TMEM_COLUMNS);
        return 0;
    }
    char shape[128];
    const int matrix_stages = jg_sm100a_matrix_stages(problem);
    int used = snprintf(shape, sizeof(shape), "mma=%dx%d cta_group=%d", config->mma_m,
                        config->mma_n, config->cta_group);
    if (config->k_group > 1) {
        used += snprintf(shape + used, sizeof(shape) - (size_t)used, " k_group=%d",
                         config->k_group);
    }
    if (matrix_stages > 0) {
        snprintf(shape + used, sizeof(shape) - (size_t)used,
                 ", %d stages of C and matrix operands and", matrix_stages);
    }
    const struct jg_smem smem = jg_sm100a_smem(problem, config);
    struct jg_stage_limits limits = jg_sm100a_stages;
    limits.shape = shape;
    return jg_stages_check(config, &smem, facts, &limits, reason, size);
}
