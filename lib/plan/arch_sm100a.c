/* SPDX-License-Identifier: MIT */
/*
 * Blackwell. One warp loads by TMA, one multiplies by tcgen05 into tensor memory, four
 * write; where C or matrix operands are to be brought, one more loads those. A CTA has a
 * tile of 128 rows; with cta_group=2 two CTAs multiply 256 rows as one, each loading half
 * of B. The ring has `stages` pairs of A and B slices of 64 elements of K; tensor memory
 * has `acc_stages` accumulators, so that a tile is multiplied while the one before is
 * written.
 */
#include <stdio.h>

#include "base/math.h"
#include "plan/arch_common.h"
#include "plan/arch_list.h"

enum {
    TILE_M = 128,        /* lanes of tensor memory */
    THREADS = 192,       /* six warps */
    MATRIX_THREADS = 32, /* the warp that loads matrices */
    MAX_REGISTERS = 255,
    EPILOGUE_WARPS = 4,
    SLAB_ROWS = 32,    /* of D, one warp's */
    MATRIX_ROWS = 128, /* of a matrix: all of the tile's */
    MAX_MATRIX_STAGES = 4,
    TMEM_COLUMNS = 512,
    TMEM_ADDRESS_BYTES = 8, /* of the word that publishes the address of tensor memory */
    PANEL = 64,             /* columns of B in a panel of shared memory */
    /* More than half of what a multiprocessor has: one CTA each, because two clusters that
     * each hold a part of the tensor memory which the other waits for would never end. */
    LEAST_SMEM_BYTES = 116 * 1024,
    MAX_CLUSTER = 16, /* CTAs; more than 8 are not chosen, because fewer fit */
    MIN_STAGES = 2,
    MAX_STAGES = 8,
    DEFAULT_OUT_STAGES = 2,
    MAX_ACC_STAGES = 2
};

struct shape {
    int m, n, cta_group; /* of the MMA */
};

struct cluster {
    int m, n;
};

/* In order of preference between candidates of equal cost. */
static const struct shape shapes[] = {{256, 256, 2}, {256, 192, 2}, {256, 128, 2},
                                      {128, 256, 1}, {128, 192, 1}, {128, 128, 1},
                                      {128, 64, 1}};
static const struct cluster pair_clusters[] = {{2, 1}, {4, 1}, {2, 2}};
static const struct cluster single_clusters[] = {{1, 1}, {2, 1}, {1, 2}};

enum {
    SHAPE_COUNT = sizeof(shapes) / sizeof(shapes[0]),
    CLUSTER_COUNT = sizeof(pair_clusters) / sizeof(pair_clusters[0])
};

_Static_assert(sizeof(pair_clusters) == sizeof(single_clusters),
               "each shape has as many clusters");

static const struct jg_stage_limits stage_range = {
    .least = MIN_STAGES, .most = MAX_STAGES, .arch = "sm_100a", .shape = ""};

/* The chip alone, not its family: an "a" target runs nowhere else. */
static int matches_sm100a(const struct jg_device_facts *facts)
{
    return facts->cc_major == 10 && facts->cc_minor == 0;
}

static int list_sm100a_candidate(int index, struct jg_config *ret_config)
{
    if (index < 0 || index >= SHAPE_COUNT * CLUSTER_COUNT) {
        return 0;
    }
    const struct shape *shape = &shapes[index / CLUSTER_COUNT];
    const struct cluster *cluster = shape->cta_group == 2
                                        ? &pair_clusters[index % CLUSTER_COUNT]
                                        : &single_clusters[index % CLUSTER_COUNT];
    *ret_config = (struct jg_config){.kernel = JG_KERNEL_GEMM,
                                     .mma_m = shape->m,
                                     .mma_n = shape->n,
                                     .cta_group = shape->cta_group,
                                     .cluster_m = cluster->m,
                                     .cluster_n = cluster->n};
    return 1;
}

/* --------------------------------------------------------------------------- sizes */

/* Room for two steps of the epilogue, so that one lands while the other is read; for one,
 * if that is much; for none if even one is too much: the epilogue loads itself then. */
static int count_matrix_stages(const struct jg_problem *problem)
{
    const int step = jg_matrix_stages(problem);
    if (2 * step <= MAX_MATRIX_STAGES) {
        return 2 * step;
    }
    return step <= MAX_MATRIX_STAGES ? step : 0;
}

static struct jg_smem lay_out_smem(const struct jg_problem *problem,
                                   const struct jg_config *config)
{
    const int64_t rows = config->tile_m + config->tile_n / config->cta_group;
    const int64_t matrix_bytes =
        (int64_t)MATRIX_ROWS * JG_ROW_BYTES + JG_RING_BARRIER_BYTES;
    return (struct jg_smem){
        .stage_bytes = rows * JG_ROW_BYTES + JG_RING_BARRIER_BYTES,
        .other_bytes =
            (int64_t)EPILOGUE_WARPS * config->out_stages * SLAB_ROWS * JG_ROW_BYTES +
            count_matrix_stages(problem) * matrix_bytes +
            (int64_t)config->acc_stages * JG_RING_BARRIER_BYTES + TMEM_ADDRESS_BYTES,
        .least_bytes = LEAST_SMEM_BYTES};
}

/* One accumulator is enough where each CTA has one tile. */
static int choose_acc_stages(const struct jg_problem *problem,
                             const struct jg_device_facts *facts,
                             const struct jg_config *config)
{
    const int exact = problem->m.mode == JIT_GEMM_DIM_EXACT &&
                      problem->n.mode == JIT_GEMM_DIM_EXACT &&
                      problem->batch.mode == JIT_GEMM_DIM_EXACT;
    struct jg_derived derived = {0};
    char reason[128];
    const int one_wave =
        jg_resident_ctas(config, facts) > 0 &&
        jg_tiles_count(problem, facts, config, &derived, reason, sizeof(reason)) &&
        derived.tiles <= derived.grid_ctas;
    return exact && one_wave ? 1 : MAX_ACC_STAGES;
}

static void complete_sm100a(const struct jg_problem *problem,
                            const struct jg_device_facts *facts,
                            const struct jg_config_override *override,
                            struct jg_config *config)
{
    const struct jg_config *wanted = &override->values;
    config->tile_m = config->mma_m / config->cta_group;
    config->tile_n = config->mma_n;
    config->tile_k = JG_TILE_K;
    config->out_stages = override->has_out_stages ? wanted->out_stages : DEFAULT_OUT_STAGES;
    config->pdl = override->has_pdl ? wanted->pdl : 1;
    if (config->tile_m == 0) { /* mma=1x.. of a pair: refused later */
        config->tile_m = 1;
    }
    config->acc_stages = override->has_acc_stages
                             ? wanted->acc_stages
                             : choose_acc_stages(problem, facts, config);
    const struct jg_smem smem = lay_out_smem(problem, config);
    config->stages = override->has_stages
                         ? wanted->stages
                         : jg_stages_choose(problem, &smem, facts, &stage_range);
    jg_raster_choose(problem, facts, override, config);
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
static int check_limits(const struct jg_problem *problem,
                        const struct jg_device_facts *facts, const struct jg_config *config,
                        char *reason, size_t size)
{
    if (!find_shape(config)) {
        char list[96];
        list_shapes(config->cta_group, list, sizeof(list));
        snprintf(reason, size, "mma=%dx%d is none of those of sm_100a with cta_group=%d:%s",
                 config->mma_m, config->mma_n, config->cta_group, list);
        return 0;
    }
    if (!check_cluster(facts, config, reason, size)) {
        return 0;
    }
    if (problem->b_layout != JIT_GEMM_LAYOUT_K_MAJOR &&
        config->tile_n / config->cta_group % PANEL != 0) {
        snprintf(reason, size,
                 "mma=%dx%d cta_group=%d gives a CTA %d columns of B, which is not K-major "
                 "here and needs a multiple of %d",
                 config->mma_m, config->mma_n, config->cta_group,
                 config->tile_n / config->cta_group, PANEL);
        return 0;
    }
    if (config->acc_stages * config->mma_n > TMEM_COLUMNS) {
        snprintf(reason, size,
                 "acc_stages=%d of %d columns exceed the %d columns of tensor memory",
                 config->acc_stages, config->mma_n, TMEM_COLUMNS);
        return 0;
    }
    char shape[96];
    const int matrix_stages = count_matrix_stages(problem);
    snprintf(shape, sizeof(shape), "mma=%dx%d cta_group=%d", config->mma_m, config->mma_n,
             config->cta_group);
    if (matrix_stages > 0) {
        snprintf(shape, sizeof(shape),
                 "mma=%dx%d cta_group=%d, %d stages of C and matrix operands and",
                 config->mma_m, config->mma_n, config->cta_group, matrix_stages);
    }
    const struct jg_smem smem = lay_out_smem(problem, config);
    struct jg_stage_limits limits = stage_range;
    limits.shape = shape;
    return jg_stages_check(config, &smem, facts, &limits, reason, size);
}

/* ----------------------------------------------------------------------- cost model */

/*
 * Rates of a B200, for comparing candidates; rounded. They are published measurements of
 * others, put together; this kernel has not been timed on the chip. A multiplication takes
 * the greater of what the tensor core needs and of what shared memory gives it. A stage
 * arrives at 80 bytes a clock, whoever sends it, and L2 sends 20 TB/s to all
 * multiprocessors; one stage alone takes a latency and its bytes.
 */
#define CLOCK_HZ             1.85e9
#define MEMORY_BYTES_S       7.1e12
#define L2_BYTES_S           20e12
#define MMA_K                16.0
#define ARRIVING_BYTES_CLK   80.0
#define LOAD_LATENCY_CLK     700.0
#define LONE_STAGE_BYTES_CLK 53.0
#define EPILOGUE_ELEMS_CLK   16.0
#define EPILOGUE_BYTES_CLK   40.0
#define DRAIN_CLK            450.0
#define FILL_CLK             2200.0
#define CLUSTER_CLK          800.0
#define LAUNCH_US            3.0
/* What the members of a cluster, beyond a pair, wait for each other, each time it doubles:
 * assumed. */
#define CLUSTER_LOSS 0.02

/* Clocks of one multiplication of 16 of K. */
static double count_mma_clk(const struct jg_config *config)
{
    const double n = config->mma_n;
    const double tensor = n / 2.0;
    const double operands = config->cta_group == 2 ? 34.0 + n / 7.0 : 32.0 + n / 4.0;
    return tensor > operands ? tensor : operands;
}

static double predict_us(const struct jg_problem *problem, const struct jg_config *config,
                         const struct jg_derived *derived)
{
    const double m = (double)problem->m.size;
    const double n = (double)problem->n.size;
    const double k = (double)problem->k.size;
    const double batch = (double)problem->batch.size;
    const double tile_m = config->tile_m;
    const double tile_n = config->tile_n;
    const double tile_k =
        JG_TILE_K; /* doubles: newer compilers warn of enum times double */
    const double row_bytes = JG_ROW_BYTES;
    const double element_bytes = JG_INPUT_BYTES;
    const double stage_bytes = (tile_m + tile_n / config->cta_group) * row_bytes;
    const double sent_bytes =
        (tile_m / config->cluster_n + tile_n / config->cluster_m) * row_bytes;
    const double l2_bytes_clk = L2_BYTES_S / CLOCK_HZ / derived->grid_ctas;
    double block_clk = tile_k / MMA_K * count_mma_clk(config);
    const double sent_clk = sent_bytes / l2_bytes_clk;
    const double arriving_clk = stage_bytes / ARRIVING_BYTES_CLK;
    block_clk = jg_overlap(block_clk, sent_clk > arriving_clk ? sent_clk : arriving_clk);
    for (int groups = config->cluster_m * config->cluster_n / config->cta_group; groups > 1;
         groups /= 2) {
        block_clk *= 1.0 + CLUSTER_LOSS;
    }
    const double lone_clk = LOAD_LATENCY_CLK + stage_bytes / LONE_STAGE_BYTES_CLK;
    if (block_clk < lone_clk / config->stages) {
        block_clk = lone_clk / config->stages;
    }
    const double main_clk = (double)jg_ceil_div(problem->k.size, JG_TILE_K) * block_clk;
    const double output_bytes = jg_output_bytes(problem);
    const double epilogue_clk =
        tile_m * tile_n * (1.0 / EPILOGUE_ELEMS_CLK + output_bytes / EPILOGUE_BYTES_CLK) +
        DRAIN_CLK;
    const double rounds = (double)jg_ceil_div(derived->tiles, derived->grid_ctas);
    const double round_clk = config->acc_stages > 1 ? jg_overlap(main_clk, epilogue_clk)
                                                    : main_clk + epilogue_clk;
    const int is_cluster = config->cluster_m * config->cluster_n > 1;
    const double fixed_clk = FILL_CLK + (is_cluster ? CLUSTER_CLK : 0.0);
    const double kernel_us =
        (fixed_clk + (rounds - 1.0) * round_clk + main_clk + epilogue_clk) / CLOCK_HZ * 1e6;

    const double bytes = (m + n) * k * batch * element_bytes + m * n * batch * output_bytes;
    return jg_overlap(kernel_us, bytes / MEMORY_BYTES_S * 1e6) + LAUNCH_US;
}

/* Boxes of the tensor maps. Each CTA loads its share of a tile and sends it to the others:
 * A is shared along N, B by the CTAs along M that are the same half of their pair. */
static void size_boxes(const struct jg_problem *problem, const struct jg_config *config,
                       struct jg_derived *derived)
{
    const int a_k_major = problem->a_layout == JIT_GEMM_LAYOUT_K_MAJOR;
    const int b_k_major = problem->b_layout == JIT_GEMM_LAYOUT_K_MAJOR;
    const int b_slices = config->cluster_m / config->cta_group;
    derived->a_box_rows = (a_k_major ? config->tile_m : config->tile_k) / config->cluster_n;
    derived->b_box_rows =
        (b_k_major ? config->tile_n / config->cta_group : config->tile_k) / b_slices;
    derived->d_box_rows = SLAB_ROWS;
    derived->matrix_box_rows = MATRIX_ROWS;
}

static int derive_sm100a(const struct jg_problem *problem,
                         const struct jg_device_facts *facts,
                         const struct jg_config *config, struct jg_derived *ret_derived,
                         char *reason, size_t reason_size)
{
    if (!check_limits(problem, facts, config, reason, reason_size) ||
        !jg_out_stages_check(problem, config, reason, reason_size)) {
        return 0;
    }
    const struct jg_smem smem = lay_out_smem(problem, config);
    const int matrix_stages = count_matrix_stages(problem);
    struct jg_derived derived = {.threads =
                                     THREADS + (matrix_stages > 0 ? MATRIX_THREADS : 0),
                                 .smem_bytes = (int)jg_smem_bytes(&smem, config->stages),
                                 .max_registers = MAX_REGISTERS,
                                 .matrix_stages = matrix_stages};
    if (!jg_tiles_count(problem, facts, config, &derived, reason, reason_size)) {
        return 0;
    }
    size_boxes(problem, config, &derived);
    derived.predicted_us = predict_us(problem, config, &derived);
    *ret_derived = derived;
    return 1;
}

const struct jg_arch jg_arch_sm100a = {
    .name = "sm_100a",
    .kernel_header = "jg/sm100a/gemm_kernel.cuh",
    .kernel_name = "jg::sm100a::gemm_kernel",
    .config_keys =
        "kernel mma cta_group cluster stages acc_stages raster swizzle out_stages pdl",
    /* Memory is the 192 GB of the data sheet; a driver reports somewhat less. */
    .default_facts = {.name = "NVIDIA B200",
                      .cc_major = 10,
                      .cc_minor = 0,
                      .sm_count = 148,
                      .l2_bytes = INT64_C(132644864),
                      .memory_bytes = INT64_C(192000000000),
                      .smem_optin_bytes = 232448},
    .matches = matches_sm100a,
    .candidate = list_sm100a_candidate,
    .complete = complete_sm100a,
    .derive = derive_sm100a,
};
