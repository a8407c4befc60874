/* SPDX-License-Identifier: MIT */
#include "plan/arch_common.h"

#include <stdio.h>

#include "base/math.h"

enum {
    SMEM_STEP = 1024, /* alignment of a swizzled tile */
    BOTH_SLABS = 2 /* of output, of each team: the default, and what some epilogues need */
};

/* Tiles and CTA counts are 32-bit numbers in the kernel. */
#define MAX_TILES ((INT64_C(1) << 31) - 1)
/* Part of the lesser of two overlapping costs that still shows. */
#define OVERLAP_LOSS 0.2

static const int raster_groups[] = {1, 2, 4, 8, 16};

enum { RASTER_GROUP_COUNT = sizeof(raster_groups) / sizeof(raster_groups[0]) };

int jg_tile_k(const struct jg_problem *problem)
{
    return JG_ROW_BYTES / jg_dtype_bytes(problem->a.dtype);
}

/* -------------------------------------------------------------------- shared memory */

int64_t jg_smem_bytes(const struct jg_smem *smem, int stages)
{
    const int64_t used_bytes = stages * smem->stage_bytes + smem->other_bytes;
    return jg_max(jg_align_up(used_bytes, SMEM_STEP), smem->least_bytes);
}

/* At most `limit`. */
static int count_fitting_stages(const struct jg_smem *smem,
                                const struct jg_device_facts *facts, int limit)
{
    int stages = limit;
    while (stages > 0 && jg_smem_bytes(smem, stages) > facts->smem_optin_bytes) {
        stages--;
    }
    return stages;
}

int jg_stages_check(const struct jg_config *config, const struct jg_smem *smem,
                    const struct jg_device_facts *facts,
                    const struct jg_stage_limits *limits, char *reason, size_t size)
{
    const int64_t smem_bytes = jg_smem_bytes(smem, config->pipeline.stages);
    if (smem_bytes > facts->smem_optin_bytes) {
        snprintf(
            reason, size,
            "stages=%d needs %lld bytes of shared memory, %s has %d; at most stages=%d "
            "with %s out_stages=%d",
            config->pipeline.stages, (long long)smem_bytes, limits->arch,
            facts->smem_optin_bytes, count_fitting_stages(smem, facts, limits->most),
            limits->shape, config->storage.out_stages);
        return 0;
    }
    if (config->pipeline.stages < limits->least || config->pipeline.stages > limits->most) {
        snprintf(reason, size, "stages=%d is out of range: %s takes %d to %d",
                 config->pipeline.stages, limits->arch, limits->least, limits->most);
        return 0;
    }
    return 1;
}

int jg_stages_choose(const struct jg_problem *problem, const struct jg_smem *smem,
                     const struct jg_device_facts *facts,
                     const struct jg_stage_limits *limits)
{
    const int64_t wanted =
        jg_ceil_div(problem->k.size, (int64_t)jg_tile_k(problem) * smem->stage_blocks);
    const int fitting = count_fitting_stages(smem, facts, limits->most);
    return (int)jg_max(limits->least, jg_min(wanted, fitting));
}

/* ----------------------------------------------------------------------------- tiles */

struct jg_problem jg_product(const struct jg_problem *problem,
                             const struct jg_config *config)
{
    return config->layout.swap_ab ? jg_problem_transpose(problem) : *problem;
}

/* Tiles along one dimension, padded to whole clusters. */
static int64_t count_tiles_along(int64_t size, int tile, int cluster)
{
    return jg_align_up(jg_ceil_div(size, tile), cluster);
}

int jg_resident_ctas(const struct jg_config *config, const struct jg_device_facts *facts)
{
    const int cluster = config->layout.cluster_m * config->layout.cluster_n;
    return facts->sm_count / cluster * cluster;
}

/* Clusters of a static grid: those that run at once. */
static int64_t count_busy_clusters(const struct jg_config *config, int64_t tiles,
                                   int64_t resident)
{
    const int64_t parts = jg_max(config->launch.split_k, 1);
    /* Without an overflow: tiles alone are counted in 32 bits, their parts may not be. */
    const int64_t wanted = tiles < resident ? tiles * parts : resident;
    return jg_max(jg_min(wanted, resident) / parts, 1) * parts;
}

int64_t jg_grid_clusters(const struct jg_config *config, int64_t tiles, int64_t resident)
{
    return config->launch.scheduler == JG_SCHEDULER_STATIC
               ? count_busy_clusters(config, tiles, resident)
               : tiles * jg_max(config->launch.split_k, 1);
}

int64_t jg_workspace_bytes(const struct jg_config *config, int64_t tiles)
{
    const int64_t tile_bytes =
        (int64_t)config->layout.tile_m * config->layout.tile_n * (int64_t)sizeof(float);
    return config->launch.split_k > 1 ? JG_WORKSPACE_SUMS_OFFSET + tiles * tile_bytes : 0;
}

int jg_tiles_count(const struct jg_problem *problem, const struct jg_device_facts *facts,
                   const struct jg_config *config, struct jg_derived *derived, char *reason,
                   size_t size)
{
    const int resident = jg_resident_ctas(config, facts);
    derived->tiles_m =
        count_tiles_along(problem->m.size, config->layout.tile_m, config->layout.cluster_m);
    derived->tiles_n =
        count_tiles_along(problem->n.size, config->layout.tile_n, config->layout.cluster_n);
    if (!jg_mul_checked(derived->tiles_m, derived->tiles_n, &derived->tiles) ||
        !jg_mul_checked(derived->tiles, problem->batch.size, &derived->tiles) ||
        derived->tiles > MAX_TILES) {
        snprintf(reason, size, "the problem has more than %lld tiles of %dx%d; split it",
                 (long long)MAX_TILES, config->layout.tile_m, config->layout.tile_n);
        return 0;
    }
    if (config->launch.split_k > 1 && derived->tiles > JG_WORKSPACE_TILES) {
        snprintf(reason, size,
                 "split_k=%d: a workspace has locks for %d tiles, the problem has %lld",
                 config->launch.split_k, JG_WORKSPACE_TILES, (long long)derived->tiles);
        return 0;
    }
    const int cluster = config->layout.cluster_m * config->layout.cluster_n;
    const int64_t tiles = derived->tiles / cluster;
    derived->grid_ctas = (int)jg_grid_clusters(config, tiles, resident / cluster) * cluster;
    derived->busy_ctas =
        (int)count_busy_clusters(config, tiles, resident / cluster) * cluster;
    derived->waves =
        (double)derived->tiles * (double)jg_max(config->launch.split_k, 1) / resident;
    derived->workspace_bytes = jg_workspace_bytes(config, derived->tiles);
    return 1;
}

/* --------------------------------------------------------------- keys of all chips */

void jg_common_complete(const struct jg_config_override *override, int split_k,
                        struct jg_config *config)
{
    const struct jg_config *wanted = &override->values;
    jg_split_set(override, split_k, config);
    config->storage.out_stages =
        override->has_out_stages ? wanted->storage.out_stages : BOTH_SLABS;
    config->launch.pdl = override->has_pdl ? wanted->launch.pdl : 1;
}

int jg_shares_check(const struct jg_problem *problem, const struct jg_device_facts *facts,
                    const struct jg_config *config, char *reason, size_t size)
{
    const int cluster = config->layout.cluster_m * config->layout.cluster_n;
    if (cluster > facts->sm_count) {
        snprintf(reason, size, "cluster=%dx%d does not fit on %d multiprocessors",
                 config->layout.cluster_m, config->layout.cluster_n, facts->sm_count);
        return 0;
    }
    if (facts->most_cluster_ctas > 0 && cluster > facts->most_cluster_ctas) {
        snprintf(reason, size, "cluster=%dx%d: the device holds no cluster of %d CTAs",
                 config->layout.cluster_m, config->layout.cluster_n, cluster);
        return 0;
    }
    if (jg_loads_by_threads(problem) && cluster > 1) {
        snprintf(reason, size,
                 "cluster=%dx%d: with input_align=%d threads load A and B, each CTA's for "
                 "itself: cluster=1x1",
                 config->layout.cluster_m, config->layout.cluster_n, problem->a.alignment);
        return 0;
    }
    return jg_split_check(problem, config, reason, size);
}

/* ---------------------------------------------------------------------------- raster */

struct raster_cost {
    int64_t wave_elements; /* rows of A and columns of B that one wave touches */
    int64_t reads;         /* rows and columns read in all, were nothing kept */
};

static struct raster_cost rate_raster(const struct jg_problem *problem,
                                      const struct jg_device_facts *facts,
                                      const struct jg_config *config)
{
    const int along_m = config->launch.raster == JG_RASTER_ALONG_M;
    const int64_t tiles_m = count_tiles_along(problem->m.size, config->layout.tile_m,
                                              config->layout.cluster_m) /
                            config->layout.cluster_m;
    const int64_t tiles_n = count_tiles_along(problem->n.size, config->layout.tile_n,
                                              config->layout.cluster_n) /
                            config->layout.cluster_n;
    /* `across` counts cluster tiles in the direction that groups divide. */
    const int64_t across = along_m ? tiles_n : tiles_m;
    const int64_t along = along_m ? tiles_m : tiles_n;
    const int64_t across_size =
        along_m ? (int64_t)config->layout.tile_n * config->layout.cluster_n
                : (int64_t)config->layout.tile_m * config->layout.cluster_m;
    const int64_t along_size =
        along_m ? (int64_t)config->layout.tile_m * config->layout.cluster_m
                : (int64_t)config->layout.tile_n * config->layout.cluster_n;
    const int64_t at_once = jg_resident_ctas(config, facts) /
                            (config->layout.cluster_m * config->layout.cluster_n);
    const int64_t width = jg_min(config->launch.raster_group, across);
    const int64_t length = jg_min(jg_ceil_div(at_once, width), along);
    const int64_t groups = jg_ceil_div(across, width);
    /* A wave may fill several groups. */
    const int64_t wave_width = jg_min(width * jg_ceil_div(at_once, width * along), across);
    return (struct raster_cost){
        .wave_elements = wave_width * across_size + length * along_size,
        .reads = groups * along * along_size + across * across_size};
}

/* Picks what an override leaves open: a compact wave first, then few reads from memory,
 * then narrow groups along M. */
void jg_raster_choose(const struct jg_problem *problem, const struct jg_device_facts *facts,
                      const struct jg_config_override *override, struct jg_config *config)
{
    struct jg_config best = *config;
    struct raster_cost best_cost = {0};
    int found = 0;
    for (int raster = JG_RASTER_ALONG_M; raster <= JG_RASTER_ALONG_N; raster++) {
        for (int i = 0; i < RASTER_GROUP_COUNT; i++) {
            struct jg_config trial = *config;
            trial.launch.raster = (enum jg_raster)raster;
            trial.launch.raster_group = raster_groups[i];
            if ((override->has_raster &&
                 trial.launch.raster != override->values.launch.raster) ||
                (override->has_raster_group &&
                 trial.launch.raster_group != override->values.launch.raster_group)) {
                continue;
            }
            const struct raster_cost cost = rate_raster(problem, facts, &trial);
            if (!found || cost.wave_elements < best_cost.wave_elements ||
                (cost.wave_elements == best_cost.wave_elements &&
                 cost.reads < best_cost.reads)) {
                found = 1;
                best = trial;
                best_cost = cost;
            }
        }
    }
    *config = best;
}

/* -------------------------------------------------------------------------- epilogue */

/* The sum of what `cost` says of D, C and each matrix operand. */
static double sum_matrices(const struct jg_problem *problem,
                           double (*cost)(const struct jg_problem *problem,
                                          jit_gemm_dtype dtype))
{
    double sum = cost(problem, problem->d.dtype);
    if (problem->c.dtype != JIT_GEMM_DTYPE_NONE) {
        sum += cost(problem, problem->c.dtype);
    }
    for (uint32_t i = 0; problem->epilogue != NULL && i < problem->epilogue->operand_count;
         i++) {
        const struct jg_operand *operand = &problem->epilogue->operands[i];
        if (operand->kind == JIT_GEMM_OPERAND_MATRIX) {
            sum += cost(problem, operand->dtype);
        }
    }
    return sum;
}

static double element_bytes(const struct jg_problem *problem, jit_gemm_dtype dtype)
{
    (void)problem;
    return jg_dtype_bytes(dtype);
}

double jg_output_bytes(const struct jg_problem *problem)
{
    return sum_matrices(problem, element_bytes);
}

int jg_matrix_stages(const struct jg_problem *problem)
{
    enum { STAGE_ELEMENT_BYTES = 2 };
    if (jg_outputs_by_threads(problem)) {
        return 0;
    }
    int stages = jg_dtype_bytes(problem->c.dtype) / STAGE_ELEMENT_BYTES;
    for (uint32_t i = 0; problem->epilogue != NULL && i < problem->epilogue->operand_count;
         i++) {
        const struct jg_operand *operand = &problem->epilogue->operands[i];
        if (operand->kind == JIT_GEMM_OPERAND_MATRIX &&
            operand->role == JIT_GEMM_OPERAND_INPUT) {
            stages += jg_dtype_bytes(operand->dtype) / STAGE_ELEMENT_BYTES;
        }
    }
    return stages;
}

static int needs_both_slabs(const struct jg_problem *problem)
{
    const jit_gemm_dim *row = jg_problem_d_row(problem);
    int found = jg_outputs_by_threads(problem) || problem->c.dtype != JIT_GEMM_DTYPE_NONE ||
                row->mode == JIT_GEMM_DIM_DYNAMIC ||
                jg_dtype_bytes(problem->d.dtype) == 1 ||
                problem->a.scale.kind == JIT_GEMM_SCALE_VECTOR ||
                problem->b.scale.kind == JIT_GEMM_SCALE_VECTOR ||
                row->size * jg_dtype_bytes(problem->d.dtype) % 16 != 0;
    for (uint32_t i = 0; problem->epilogue != NULL && i < problem->epilogue->operand_count;
         i++) {
        found |= problem->epilogue->operands[i].kind != JIT_GEMM_OPERAND_SCALAR;
    }
    return found;
}

int jg_out_stages_check(const struct jg_problem *problem, const struct jg_config *config,
                        char *reason, size_t size)
{
    if (config->storage.out_stages < BOTH_SLABS && needs_both_slabs(problem)) {
        snprintf(
            reason, size,
            "out_stages=%d is too few for C, vector scales, vector or matrix operands, a "
            "dynamic %s, a D of 8 bits, output_align, or a %s of D that is no multiple of "
            "16 bytes: they need out_stages=%d",
            config->storage.out_stages, jg_problem_is_column_major(problem) ? "M" : "N",
            jg_problem_is_column_major(problem) ? "column" : "row", BOTH_SLABS);
        return 0;
    }
    return 1;
}

/* ------------------------------------------------------------------------------ cost */

/* Where threads store themselves: what an instruction of a warp takes, assumed. */
enum { WARP_LANES = 32, WARP_ACCESS_CLK = 4, VECTOR_ELEMENTS = 8 };

double jg_thread_loads_clk(const struct jg_problem *problem, double stage_bytes)
{
    enum {
        THREADS = 128,
        WORD_BYTES = 4,
        COPY_CLK = 6, /* a warp's instruction that copies */
        COPIED_BYTES_CLK = 26,
        BATCH_CLK = 1100, /* until all words of a thread that are under way have come */
        WORDS_AT_ONCE = 16
    };
    if (!jg_loads_by_threads(problem)) {
        return 0.0;
    }
    /* As jg/tile/thread_loader.cuh has it. */
    if (problem->a.alignment >= WORD_BYTES && problem->a.dtype != JIT_GEMM_DTYPE_TF32) {
        const double copies = stage_bytes / problem->a.alignment / WARP_LANES;
        const double copies_clk = copies * COPY_CLK;
        const double bytes_clk = stage_bytes / COPIED_BYTES_CLK;
        return copies_clk > bytes_clk ? copies_clk : bytes_clk;
    }
    const int at_once = problem->a.alignment == 1 ? WORDS_AT_ONCE / 2 : WORDS_AT_ONCE;
    return stage_bytes / WORD_BYTES / THREADS / at_once * BATCH_CLK;
}

/* A thread moves vectors of 8 elements, 16 bytes at once at most. */
static double element_accesses(const struct jg_problem *problem, jit_gemm_dtype dtype)
{
    const int bytes = jg_dtype_bytes(dtype);
    const int64_t promised = jg_max(problem->d.alignment, bytes);
    return (double)bytes / (double)jg_min(promised, VECTOR_ELEMENTS * (int64_t)bytes);
}

double jg_output_clk(const struct jg_problem *problem, double bytes_clk)
{
    const double wide_clk = jg_output_bytes(problem) / bytes_clk;
    const double narrow_clk =
        sum_matrices(problem, element_accesses) / WARP_LANES * WARP_ACCESS_CLK;
    return jg_outputs_by_threads(problem) && narrow_clk > wide_clk ? narrow_clk : wide_clk;
}

double jg_overlap(double a, double b)
{
    return a > b ? a + OVERLAP_LOSS * b : b + OVERLAP_LOSS * a;
}
