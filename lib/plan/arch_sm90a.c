/* SPDX-License-Identifier: MIT */
/*
 * Hopper. One producer warpgroup (TMA) and two consumer warpgroups (wgmma) share a CTA tile
 * of up to 256 x 256; the ring has `stages` pairs of A and B slices of 64 elements of K,
 * and each consumer stages its output in slabs of 64 rows of 128 bytes.
 */
#include <stdio.h>

#include "base/math.h"
#include "plan/arch_list.h"

enum {
    TILE_K = 64,         /* elements: the 128 bytes of one swizzle row */
    INPUT_BYTES = 2,     /* bf16 and f16 */
    THREADS = 384,       /* three warpgroups */
    MAX_REGISTERS = 168, /* 65536 / 384, in steps of 8 */
    CONSUMERS = 2,
    OUT_SLAB_BYTES = 64 * 128,
    BARRIER_BYTES = 16, /* a full and an empty barrier, each stage */
    SMEM_STEP = 1024,   /* alignment of a swizzled tile */
    MIN_STAGES = 2,
    MAX_STAGES = 8,
    DEFAULT_OUT_STAGES = 2
};

/* Tiles and CTA counts are 32-bit numbers in the kernel. */
#define MAX_TILES ((INT64_C(1) << 31) - 1)

struct pair {
    int m, n;
};

/* In order of preference between candidates of equal cost. */
static const struct pair tiles[] = {{128, 256}, {256, 128}, {128, 192},
                                    {128, 128}, {64, 256},  {64, 128}};
static const struct pair clusters[] = {{2, 1}, {1, 2}, {1, 1}};
static const int swizzles[] = {1, 2, 4, 8, 16};

enum {
    TILE_COUNT = sizeof(tiles) / sizeof(tiles[0]),
    CLUSTER_COUNT = sizeof(clusters) / sizeof(clusters[0]),
    SWIZZLE_COUNT = sizeof(swizzles) / sizeof(swizzles[0])
};

static int matches_sm90a(const struct jg_device_facts *facts)
{
    return facts->cc_major == 9 && facts->cc_minor == 0;
}

static int list_sm90a_candidate(int index, struct jg_config *ret_config)
{
    if (index < 0 || index >= TILE_COUNT * CLUSTER_COUNT) {
        return 0;
    }
    const struct pair *tile = &tiles[index / CLUSTER_COUNT];
    const struct pair *cluster = &clusters[index % CLUSTER_COUNT];
    *ret_config = (struct jg_config){.kernel = JG_KERNEL_GEMM,
                                     .tile_m = tile->m,
                                     .tile_n = tile->n,
                                     .tile_k = TILE_K,
                                     .cluster_m = cluster->m,
                                     .cluster_n = cluster->n};
    return 1;
}

/* --------------------------------------------------------------------------- sizes */

static int64_t count_smem_bytes(const struct jg_config *config, int stages)
{
    const int64_t stage_bytes =
        (int64_t)(config->tile_m + config->tile_n) * TILE_K * INPUT_BYTES;
    const int64_t output_bytes = (int64_t)CONSUMERS * config->out_stages * OUT_SLAB_BYTES;
    return jg_align_up(stages * (stage_bytes + BARRIER_BYTES) + output_bytes, SMEM_STEP);
}

static int count_fitting_stages(const struct jg_config *config,
                                const struct jg_device_facts *facts)
{
    int stages = MAX_STAGES;
    while (stages > 0 && count_smem_bytes(config, stages) > facts->smem_optin_bytes) {
        stages--;
    }
    return stages;
}

/* Tiles along one dimension, padded to whole clusters. */
static int64_t count_tiles(int64_t size, int tile, int cluster)
{
    return jg_align_up(jg_ceil_div(size, tile), cluster);
}

/* CTAs that fit at once (one a multiprocessor), in whole clusters. */
static int count_resident_ctas(const struct jg_config *config,
                               const struct jg_device_facts *facts)
{
    const int cluster = config->cluster_m * config->cluster_n;
    return facts->sm_count / cluster * cluster;
}

/* -------------------------------------------------------------------------- raster */

struct raster_cost {
    int64_t wave_elements; /* rows of A and columns of B that one wave touches */
    int64_t reads;         /* rows and columns read in all, were nothing kept */
};

static struct raster_cost rate_raster(const struct jg_problem *problem,
                                      const struct jg_device_facts *facts,
                                      const struct jg_config *config)
{
    const int along_m = config->raster == JG_RASTER_ALONG_M;
    const int64_t tiles_m =
        count_tiles(problem->m.size, config->tile_m, config->cluster_m) / config->cluster_m;
    const int64_t tiles_n =
        count_tiles(problem->n.size, config->tile_n, config->cluster_n) / config->cluster_n;
    /* `across` counts cluster tiles in the direction that groups divide. */
    const int64_t across = along_m ? tiles_n : tiles_m;
    const int64_t along = along_m ? tiles_m : tiles_n;
    const int64_t across_size = along_m ? (int64_t)config->tile_n * config->cluster_n
                                        : (int64_t)config->tile_m * config->cluster_m;
    const int64_t along_size = along_m ? (int64_t)config->tile_m * config->cluster_m
                                       : (int64_t)config->tile_n * config->cluster_n;
    const int64_t at_once =
        count_resident_ctas(config, facts) / (config->cluster_m * config->cluster_n);
    const int64_t width = jg_min(config->swizzle, across);
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
static void choose_raster(const struct jg_problem *problem,
                          const struct jg_device_facts *facts,
                          const struct jg_config_override *override,
                          struct jg_config *config)
{
    struct jg_config best = *config;
    struct raster_cost best_cost = {0};
    int found = 0;
    for (int raster = JG_RASTER_ALONG_M; raster <= JG_RASTER_ALONG_N; raster++) {
        for (int i = 0; i < SWIZZLE_COUNT; i++) {
            struct jg_config trial = *config;
            trial.raster = (enum jg_raster)raster;
            trial.swizzle = swizzles[i];
            if ((override->has_raster && trial.raster != override->values.raster) ||
                (override->has_swizzle && trial.swizzle != override->values.swizzle)) {
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

static void complete_sm90a(const struct jg_problem *problem,
                           const struct jg_device_facts *facts,
                           const struct jg_config_override *override,
                           struct jg_config *config)
{
    const struct jg_config *wanted = &override->values;
    config->out_stages = override->has_out_stages ? wanted->out_stages : DEFAULT_OUT_STAGES;
    config->pdl = override->has_pdl ? wanted->pdl : 1;
    if (override->has_stages) {
        config->stages = wanted->stages;
    } else {
        const int64_t k_blocks = jg_ceil_div(problem->k.size, TILE_K);
        config->stages =
            (int)jg_max(MIN_STAGES, jg_min(k_blocks, count_fitting_stages(config, facts)));
    }
    choose_raster(problem, facts, override, config);
}

/* ----------------------------------------------------------------------- the limits */

static int find_pair(const struct pair *pairs, int count, int m, int n)
{
    for (int i = 0; i < count; i++) {
        if (pairs[i].m == m && pairs[i].n == n) {
            return 1;
        }
    }
    return 0;
}

static void list_pairs(const struct pair *pairs, int count, char *text, size_t size)
{
    size_t length = 0;
    for (int i = 0; i < count && length < size; i++) {
        const int added = snprintf(text + length, size - length, "%s%dx%d",
                                   i > 0 ? " " : "", pairs[i].m, pairs[i].n);
        length += added > 0 ? (size_t)added : 0;
    }
}

/* Static limits, cheapest first; 0 with a reason if one is broken. */
static int check_limits(const struct jg_device_facts *facts, const struct jg_config *config,
                        char *reason, size_t size)
{
    char list[96];
    if (!find_pair(tiles, TILE_COUNT, config->tile_m, config->tile_n)) {
        list_pairs(tiles, TILE_COUNT, list, sizeof(list));
        snprintf(reason, size, "tile=%dx%d is none of the tiles of sm_90a: %s",
                 config->tile_m, config->tile_n, list);
        return 0;
    }
    if (config->tile_k != TILE_K) {
        snprintf(reason, size, "tile=%dx%dx%d: the K of a tile on sm_90a is %d",
                 config->tile_m, config->tile_n, config->tile_k, TILE_K);
        return 0;
    }
    if (!find_pair(clusters, CLUSTER_COUNT, config->cluster_m, config->cluster_n)) {
        list_pairs(clusters, CLUSTER_COUNT, list, sizeof(list));
        snprintf(reason, size, "cluster=%dx%d is none of the clusters of sm_90a: %s",
                 config->cluster_m, config->cluster_n, list);
        return 0;
    }
    if (count_resident_ctas(config, facts) == 0) {
        snprintf(reason, size, "cluster=%dx%d does not fit on %d multiprocessors",
                 config->cluster_m, config->cluster_n, facts->sm_count);
        return 0;
    }
    const int64_t smem_bytes = count_smem_bytes(config, config->stages);
    if (smem_bytes > facts->smem_optin_bytes) {
        snprintf(reason, size,
                 "stages=%d needs %lld bytes of shared memory, sm_90a has %d; at most "
                 "stages=%d with tile=%dx%d out_stages=%d",
                 config->stages, (long long)smem_bytes, facts->smem_optin_bytes,
                 count_fitting_stages(config, facts), config->tile_m, config->tile_n,
                 config->out_stages);
        return 0;
    }
    if (config->stages < MIN_STAGES || config->stages > MAX_STAGES) {
        snprintf(reason, size, "stages=%d is out of range: sm_90a takes %d to %d",
                 config->stages, MIN_STAGES, MAX_STAGES);
        return 0;
    }
    return 1;
}

/* ----------------------------------------------------------------------- cost model */

/*
 * Rates of an H200, for comparing candidates; rounded, only differences between candidates
 * of one problem count. A multiprocessor does 4096 dense 16-bit FLOP a clock. What it draws
 * from L2 depends on whether all draw and inputs stream through it, or they stay there. The
 * numbers are fitted to 132 runs (bench/results/2026-11-21-h200-sweep.txt): over its eight
 * sizes the choice is within 1 percent of the best candidate.
 */
#define CLOCK_HZ           1.6e9
#define MEMORY_BYTES_S     4.4e12
#define MMA_FLOP_CLK       4096.0
#define L2_BYTES_CLK       44.0
#define L2_BYTES_CLK_HELD  96.0
#define EPILOGUE_ELEMS_CLK 32.0
#define EPILOGUE_BYTES_CLK 40.0
#define LOAD_LATENCY_CLK   1200.0
#define FILL_CLK           1500.0
#define LAUNCH_US          3.0
/* Barriers of a cluster at its begin and end, and what its members wait for each other
 * within the ring. */
#define CLUSTER_CLK         1400.0
#define CLUSTER_LATENCY_CLK 1400.0
/* Part of the lesser of two overlapping costs that still shows. */
#define OVERLAP_LOSS 0.2

static double overlap(double a, double b)
{
    return a > b ? a + OVERLAP_LOSS * b : b + OVERLAP_LOSS * a;
}

/* Bytes of matrices of D's shape that the epilogue reads or writes, an element. */
static double count_output_bytes(const struct jg_problem *problem)
{
    double bytes = jg_dtype_bytes(problem->d) + jg_dtype_bytes(problem->c);
    for (uint32_t i = 0; problem->epilogue != NULL && i < problem->epilogue->operand_count;
         i++) {
        const struct jg_operand *operand = &problem->epilogue->operands[i];
        if (operand->kind == JIT_GEMM_OPERAND_MATRIX) {
            bytes += jg_dtype_bytes(operand->dtype);
        }
    }
    return bytes;
}

static double predict_us(const struct jg_problem *problem,
                         const struct jg_device_facts *facts,
                         const struct jg_config *config, const struct jg_derived *derived)
{
    const double m = (double)problem->m.size;
    const double n = (double)problem->n.size;
    const double k = (double)problem->k.size;
    const double batch = (double)problem->batch.size;
    const double tile_m = config->tile_m;
    const double tile_n = config->tile_n;
    const double tile_k = TILE_K; /* doubles: newer compilers warn of enum times double */
    const double element_bytes = INPUT_BYTES;
    const double input_bytes = (m + n) * k * batch * element_bytes;
    const double mma_clk = 2.0 * tile_m * tile_n * tile_k / MMA_FLOP_CLK;
    const double l2_bytes =
        (tile_m / config->cluster_n + tile_n / config->cluster_m) * tile_k * element_bytes;
    double l2_rate = L2_BYTES_CLK * facts->sm_count / derived->grid_ctas;
    if (l2_rate > L2_BYTES_CLK_HELD || input_bytes < 0.75 * (double)facts->l2_bytes) {
        l2_rate = L2_BYTES_CLK_HELD;
    }
    double block_clk = overlap(mma_clk, l2_bytes / l2_rate);
    const int is_cluster = config->cluster_m * config->cluster_n > 1;
    const double latency_clk = LOAD_LATENCY_CLK + (is_cluster ? CLUSTER_LATENCY_CLK : 0.0);
    if (block_clk < latency_clk / config->stages) {
        block_clk = latency_clk / config->stages;
    }
    const double output_bytes = count_output_bytes(problem);
    const double epilogue_clk =
        tile_m * tile_n * (1.0 / EPILOGUE_ELEMS_CLK + output_bytes / EPILOGUE_BYTES_CLK);
    const double k_blocks = (double)jg_ceil_div(problem->k.size, TILE_K);
    const double rounds = (double)jg_ceil_div(derived->tiles, derived->grid_ctas);
    const double fixed_clk = FILL_CLK + (is_cluster ? CLUSTER_CLK : 0.0);
    const double kernel_us =
        (rounds * (k_blocks * block_clk + epilogue_clk) + fixed_clk) / CLOCK_HZ * 1e6;

    const double bytes = input_bytes + m * n * batch * output_bytes;
    return overlap(kernel_us, bytes / MEMORY_BYTES_S * 1e6) + LAUNCH_US;
}

/* Does the kernel stage whole warps' rows in both output slabs? It does for C, vectors and
 * matrices, and where a row of D may end inside 16 bytes, which a TMA store would fill up.
 */
static int needs_both_slabs(const struct jg_problem *problem)
{
    int found = problem->c != JIT_GEMM_DTYPE_NONE ||
                problem->n.mode == JIT_GEMM_DIM_DYNAMIC ||
                problem->n.size * jg_dtype_bytes(problem->d) % 16 != 0;
    for (uint32_t i = 0; problem->epilogue != NULL && i < problem->epilogue->operand_count;
         i++) {
        found |= problem->epilogue->operands[i].kind != JIT_GEMM_OPERAND_SCALAR;
    }
    return found;
}

static int derive_sm90a(const struct jg_problem *problem,
                        const struct jg_device_facts *facts, const struct jg_config *config,
                        struct jg_derived *ret_derived, char *reason, size_t reason_size)
{
    if (!check_limits(facts, config, reason, reason_size)) {
        return 0;
    }
    if (config->out_stages < DEFAULT_OUT_STAGES && needs_both_slabs(problem)) {
        snprintf(
            reason, reason_size,
            "out_stages=%d is too few for C, vector or matrix operands, a dynamic N, or a "
            "row of D that is no multiple of 16 bytes: they need out_stages=%d",
            config->out_stages, DEFAULT_OUT_STAGES);
        return 0;
    }
    const int resident = count_resident_ctas(config, facts);
    struct jg_derived derived = {
        .threads = THREADS,
        .smem_bytes = (int)count_smem_bytes(config, config->stages),
        .max_registers = MAX_REGISTERS,
        .tiles_m = count_tiles(problem->m.size, config->tile_m, config->cluster_m),
        .tiles_n = count_tiles(problem->n.size, config->tile_n, config->cluster_n)};
    if (!jg_mul_checked(derived.tiles_m, derived.tiles_n, &derived.tiles) ||
        !jg_mul_checked(derived.tiles, problem->batch.size, &derived.tiles) ||
        derived.tiles > MAX_TILES) {
        snprintf(reason, reason_size,
                 "the problem has more than %lld tiles of %dx%d; split it",
                 (long long)MAX_TILES, config->tile_m, config->tile_n);
        return 0;
    }
    derived.grid_ctas = (int)jg_min(derived.tiles, resident);
    derived.waves = (double)derived.tiles / resident;
    derived.predicted_us = predict_us(problem, facts, config, &derived);
    *ret_derived = derived;
    return 1;
}

const struct jg_arch jg_arch_sm90a = {
    .name = "sm_90a",
    .kernel_header = "jg/sm90a/gemm_kernel.cuh",
    .kernel_name = "jg::sm90a::gemm_kernel",
    .default_facts = {.name = "NVIDIA H200",
                      .cc_major = 9,
                      .cc_minor = 0,
                      .sm_count = 132,
                      .l2_bytes = INT64_C(62914560),
                      .memory_bytes = INT64_C(150754820096),
                      .smem_optin_bytes = 232448},
    .matches = matches_sm90a,
    .candidate = list_sm90a_candidate,
    .complete = complete_sm90a,
    .derive = derive_sm90a,
};
