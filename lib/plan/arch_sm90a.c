/* SPDX-License-Identifier: MIT */
/*
 * Hopper. One producer warpgroup (TMA) and two consumer warpgroups (wgmma) share a CTA tile
 * of up to 256 x 256; the ring has `stages` pairs of A and B slices of 64 elements of K,
 * and each consumer stages its output in slabs of 64 rows of 128 bytes.
 */
#include <stdio.h>

#include "base/error.h"
#include "base/math.h"
#include "plan/arch_common.h"
#include "plan/arch_list.h"

enum {
    THREADS = 384,       /* three warpgroups */
    MAX_REGISTERS = 168, /* 65536 / 384, in steps of 8 */
    CONSUMERS = 2,
    OUTPUT_ROWS = 64, /* of a slab of D and of a box of a matrix */
    MIN_STAGES = 2,
    MAX_STAGES = 8,
    MAX_PROMOTED_COLUMNS = 192 /* of a warpgroup with a second set of sums */
};

struct pair {
    int m, n;
};

/* In order of preference between candidates of equal cost. */
static const struct pair tiles[] = {{128, 256}, {256, 128}, {128, 192},
                                    {128, 128}, {64, 256},  {64, 128}};
static const struct pair clusters[] = {{2, 1}, {1, 2}, {1, 1}};

enum {
    TILE_COUNT = sizeof(tiles) / sizeof(tiles[0]),
    CLUSTER_COUNT = sizeof(clusters) / sizeof(clusters[0])
};

static const struct jg_stage_limits stage_range = {
    .least = MIN_STAGES, .most = MAX_STAGES, .arch = "sm_90a", .shape = ""};

/* Do sums leave the tensor core after each stage? Of 8-bit floats it keeps 13 fraction bits
 * (jg/sm90a/mma_op.cuh). */
static int promotes(const struct jg_problem *problem)
{
    return jg_dtype_is_fp8(problem->a.dtype);
}

/* Half of the tile's rows, or of its columns where it has only 64 rows. */
static int columns_of_warpgroup(const struct jg_config *config)
{
    return config->tile_m >= 128 ? config->tile_n : config->tile_n / CONSUMERS;
}

static jit_gemm_status check_k_major(const char *field, const struct jg_matrix *matrix)
{
    return matrix->is_mn_major
               ? jg_fail(JIT_GEMM_ERR_UNSUPPORTED, field,
                         "give layout=nt, both K-major: transpose the matrix first",
                         "sm_90a multiplies %s from K-major layouts only, %c is MN-major",
                         jg_dtype_name(matrix->dtype), matrix->letter - 'a' + 'A')
               : JIT_GEMM_OK;
}

/* The tensor core transposes elements of 16 bits alone. */
static jit_gemm_status check_sm90a(const struct jg_problem *problem)
{
    if (jg_dtype_bytes(problem->a.dtype) == 2) {
        return JIT_GEMM_OK;
    }
    JG_TRY(check_k_major("problem.a.layout", &problem->a));
    return check_k_major("problem.b.layout", &problem->b);
}

static int matches_sm90a(const struct jg_device_facts *facts)
{
    return facts->cc_major == 9 && facts->cc_minor == 0;
}

static int list_sm90a_candidate(const struct jg_problem *problem, int index,
                                struct jg_config *ret_config)
{
    if (index < 0 || index >= TILE_COUNT * CLUSTER_COUNT) {
        return 0;
    }
    const struct pair *tile = &tiles[index / CLUSTER_COUNT];
    const struct pair *cluster = &clusters[index % CLUSTER_COUNT];
    *ret_config = (struct jg_config){.kernel = JG_KERNEL_GEMM,
                                     .tile_m = tile->m,
                                     .tile_n = tile->n,
                                     .cluster_m = cluster->m,
                                     .cluster_n = cluster->n,
                                     .swap_ab = jg_problem_is_column_major(problem)};
    return 1;
}

/* --------------------------------------------------------------------------- sizes */

static struct jg_smem lay_out_smem(const struct jg_config *config)
{
    return (struct jg_smem){.stage_blocks = 1,
                            .stage_bytes =
                                (int64_t)(config->tile_m + config->tile_n) * JG_ROW_BYTES +
                                JG_RING_BARRIER_BYTES,
                            .other_bytes = (int64_t)CONSUMERS * config->out_stages *
                                           OUTPUT_ROWS * JG_ROW_BYTES};
}

/* Fills the rest for this number of parts of K. */
static void complete_split(const struct jg_problem *problem,
                           const struct jg_device_facts *facts,
                           const struct jg_config_override *override, int split_k,
                           struct jg_config *config)
{
    const struct jg_config *wanted = &override->values;
    const struct jg_problem product = jg_product(problem, config);
    jg_common_complete(override, split_k, config);
    config->tile_k = config->tile_k > 0 ? config->tile_k : jg_tile_k(problem);
    const struct jg_smem smem = lay_out_smem(config);
    config->stages = override->has_stages
                         ? wanted->stages
                         : jg_stages_choose(problem, &smem, facts, &stage_range);
    jg_raster_choose(&product, facts, override, config);
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
static int check_limits(const struct jg_problem *problem,
                        const struct jg_device_facts *facts, const struct jg_config *config,
                        char *reason, size_t size)
{
    char list[96];
    if (!find_pair(tiles, TILE_COUNT, config->tile_m, config->tile_n)) {
        list_pairs(tiles, TILE_COUNT, list, sizeof(list));
        snprintf(reason, size, "tile=%dx%d is none of the tiles of sm_90a: %s",
                 config->tile_m, config->tile_n, list);
        return 0;
    }
    if (config->tile_k != jg_tile_k(problem)) {
        snprintf(reason, size, "tile=%dx%dx%d: the K of a tile of %s on sm_90a is %d",
                 config->tile_m, config->tile_n, config->tile_k,
                 jg_dtype_name(problem->a.dtype), jg_tile_k(problem));
        return 0;
    }
    if (promotes(problem) && columns_of_warpgroup(config) > MAX_PROMOTED_COLUMNS) {
        snprintf(reason, size,
                 "tile=%dx%d: sums of %s are added up in a second set of registers, for "
                 "which sm_90a has room up to %d columns of a warpgroup",
                 config->tile_m, config->tile_n, jg_dtype_name(problem->a.dtype),
                 MAX_PROMOTED_COLUMNS);
        return 0;
    }
    if (!find_pair(clusters, CLUSTER_COUNT, config->cluster_m, config->cluster_n)) {
        list_pairs(clusters, CLUSTER_COUNT, list, sizeof(list));
        snprintf(reason, size, "cluster=%dx%d is none of the clusters of sm_90a: %s",
                 config->cluster_m, config->cluster_n, list);
        return 0;
    }
    if (!jg_shares_check(problem, facts, config, reason, size)) {
        return 0;
    }
    char shape[32];
    snprintf(shape, sizeof(shape), "tile=%dx%d", config->tile_m, config->tile_n);
    const struct jg_smem smem = lay_out_smem(config);
    struct jg_stage_limits limits = stage_range;
    limits.shape = shape;
    return jg_stages_check(config, &smem, facts, &limits, reason, size);
}

/* ----------------------------------------------------------------------- cost model */

/*
 * Rates of an H200, for comparing candidates; rounded, only differences between candidates
 * of one problem count. A multiprocessor does 4096 dense 16-bit FLOP a clock; of any type
 * it multiplies as many bytes of K, a row and a column, 4096 a clock. Sums of 8-bit floats
 * are also added up in registers, 128 a clock at most, and the tensor core is waited for
 * after each 64 rows. What a multiprocessor draws from L2 depends on whether all draw and
 * inputs stream through it, or they stay there. The numbers are fitted to 132 runs
 * (bench/results/2026-11-21-h200-sweep.txt): over its eight sizes the choice is within 1
 * percent of the best candidate. Of 42 runs with 8-bit inputs (2026-11-22-h200-8bit.txt)
 * the choice is the best one for e4m3, and within 3 percent of it for s8.
 */
#define CLOCK_HZ           1.6e9
#define MEMORY_BYTES_S     4.4e12
#define MMA_BYTES_CLK      4096.0
#define PROMOTED_ELEMS_CLK 128.0
#define PROMOTED_WAIT_CLK  50.0
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
/* Where K is split: what a CTA stores to or loads from L2 of a tile's sums, and until one
 * CTA knows what another has stored. 234 runs (2026-11-22-h200-split.txt) say 1.3 to 2 us a
 * part with tiles of 64x128, as these do; where all multiprocessors take part the gain is
 * overrated, at 512x512x16384 by 13 percent. */
#define SUMS_BYTES_CLK 40.0
#define HAND_ON_CLK    1500.0

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
    const double row_bytes = JG_ROW_BYTES; /* newer compilers warn of enum times double */
    const double input_bytes = (m + n) * k * batch * jg_dtype_bytes(problem->a.dtype);
    double mma_clk = tile_m * tile_n * row_bytes / MMA_BYTES_CLK;
    if (promotes(problem)) {
        const int row_blocks = (int)jg_max(config->tile_m / (64 * CONSUMERS), 1);
        mma_clk = jg_overlap(mma_clk, tile_m * tile_n / PROMOTED_ELEMS_CLK) +
                  PROMOTED_WAIT_CLK * row_blocks;
    }
    const double l2_bytes =
        (tile_m / config->cluster_n + tile_n / config->cluster_m) * row_bytes;
    double l2_rate = L2_BYTES_CLK * facts->sm_count / derived->busy_ctas;
    if (l2_rate > L2_BYTES_CLK_HELD || input_bytes < 0.75 * (double)facts->l2_bytes) {
        l2_rate = L2_BYTES_CLK_HELD;
    }
    double block_clk = jg_overlap(mma_clk, l2_bytes / l2_rate);
    const int is_cluster = config->cluster_m * config->cluster_n > 1;
    const double latency_clk = LOAD_LATENCY_CLK + (is_cluster ? CLUSTER_LATENCY_CLK : 0.0);
    if (block_clk < latency_clk / config->stages) {
        block_clk = latency_clk / config->stages;
    }
    const double loads_clk = jg_thread_loads_clk(problem, (tile_m + tile_n) * row_bytes);
    if (block_clk < loads_clk) {
        block_clk = loads_clk;
    }
    const double epilogue_clk =
        tile_m * tile_n *
        (1.0 / EPILOGUE_ELEMS_CLK + jg_output_clk(problem, EPILOGUE_BYTES_CLK));
    const double k_blocks = (double)jg_split_blocks(problem, config);
    const double rounds =
        (double)jg_ceil_div(derived->tiles * config->split_k, derived->busy_ctas);
    const struct jg_split_cost split = jg_split_cost_of(problem, config);
    const double fixed_clk = FILL_CLK + (is_cluster ? CLUSTER_CLK : 0.0);
    const double kernel_us =
        (rounds * (k_blocks * block_clk + epilogue_clk) + fixed_clk +
         split.steps * (HAND_ON_CLK + 2.0 * split.sums_bytes / SUMS_BYTES_CLK)) /
        CLOCK_HZ * 1e6;

    const double bytes = input_bytes + m * n * batch * jg_output_bytes(problem);
    return jg_overlap(kernel_us, bytes / MEMORY_BYTES_S * 1e6) + LAUNCH_US;
}

/* Boxes of the tensor maps. With a cluster each CTA loads its share and sends it to the
 * others: A is shared along N, B along M. */
static void size_boxes(const struct jg_problem *problem, const struct jg_config *config,
                       struct jg_derived *derived)
{
    const int a_k_major = !problem->a.is_mn_major;
    const int b_k_major = !problem->b.is_mn_major;
    derived->a_box_rows = (a_k_major ? config->tile_m : config->tile_k) / config->cluster_n;
    derived->b_box_rows = (b_k_major ? config->tile_n : config->tile_k) / config->cluster_m;
    derived->d_box_rows = OUTPUT_ROWS;
    derived->a_row_bytes = JG_ROW_BYTES;
    derived->b_row_bytes = JG_ROW_BYTES;
    derived->d_row_bytes = JG_ROW_BYTES;
    derived->matrix_box_rows = OUTPUT_ROWS;
}

static int derive_sm90a(const struct jg_problem *problem,
                        const struct jg_device_facts *facts, const struct jg_config *config,
                        struct jg_derived *ret_derived, char *reason, size_t reason_size)
{
    const struct jg_problem product = jg_product(problem, config);
    if (!check_limits(&product, facts, config, reason, reason_size)) {
        return 0;
    }
    if (!jg_out_stages_check(problem, config, reason, reason_size)) {
        return 0;
    }
    const struct jg_smem smem = lay_out_smem(config);
    struct jg_derived derived = {.threads = THREADS,
                                 .smem_bytes = (int)jg_smem_bytes(&smem, config->stages),
                                 .max_registers = MAX_REGISTERS};
    if (!jg_tiles_count(&product, facts, config, &derived, reason, reason_size)) {
        return 0;
    }
    size_boxes(&product, config, &derived);
    derived.predicted_us = predict_us(&product, facts, config, &derived);
    *ret_derived = derived;
    return 1;
}

static void complete_sm90a(const struct jg_problem *problem,
                           const struct jg_device_facts *facts,
                           const struct jg_config_override *override,
                           struct jg_config *config)
{
    jg_split_choose(problem, facts, override, complete_split, derive_sm90a, config);
}

const struct jg_arch jg_arch_sm90a = {
    .name = "sm_90a",
    .kernel_header = "jg/sm90a/gemm_kernel.cuh",
    .kernel_name = "jg::sm90a::gemm_kernel",
    .config_keys =
        "kernel tile cluster stages raster swizzle out_stages pdl split_k split_order "
        "debug trace",
    .default_facts = {.name = "NVIDIA H200",
                      .cc_major = 9,
                      .cc_minor = 0,
                      .sm_count = 132,
                      .l2_bytes = INT64_C(62914560),
                      .memory_bytes = INT64_C(150754820096),
                      .smem_optin_bytes = 232448},
    .matches = matches_sm90a,
    .check = check_sm90a,
    .candidate = list_sm90a_candidate,
    .complete = complete_sm90a,
    .derive = derive_sm90a,
};
