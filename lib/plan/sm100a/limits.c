/* SPDX-License-Identifier: MIT */
/* Blackwell's limits, and what follows from a config that keeps them. */
#include <ctype.h>
#include <stdio.h>

#include "base/math.h"
#include "plan/cluster.h"
#include "plan/group_maps.h"
#include "plan/groups.h"
#include "plan/repack.h"
#include "plan/scale.h"
#include "plan/sm100a/sizes.h"
#include "plan/sm100a/sm100a.h"
#include "plan/split.h"

enum {
    THREADS = 192,     /* six warps */
    WARP_THREADS = 32, /* of each further warp: for epilogue loads, for launch control */
    HELPING_WARPS = 3, /* where threads load A and B */
    MAX_REGISTERS = 255,
    REGISTERS = 65536, /* of a multiprocessor */
    MAX_MMA_N = 256,
    MAX_PROMOTED_COLUMNS = 128, /* of sums in registers */
    SCALE_ROWS = 128,           /* of a piece of scales, and of a multiplication by them */
    SCALES_OF_COLUMN = 32,      /* rows in a column of tensor memory */
    LEAST_SWIZZLE_BYTES = 32,   /* of a row of A or B in the narrowest swizzle */
    WORD_SWIZZLE_BYTES = 128,   /* of the only one for elements of 32 bits along M or N */
    GROUP_COLUMNS = 8,          /* of an accumulator that the epilogue reads at least */
    STEP = 64,                  /* columns of D in a step of the epilogue, and most rows */
    MAX_CLUSTER = 16            /* CTAs; more than 8 are not chosen, because fewer fit */
};

const struct jg_part_cluster jg_sm100a_part_clusters[] = {{1, 1}, {0, 0}};

/* The multiple that N must be of one multiplication (PTX ISA, tcgen05.mma, shapes by kind
 * and by layout of 8-bit operands). */
static int step_of_n(const struct jg_product *product,
                     const struct jg_config_layout *layout)
{
    const bool pair = layout->cta_group == 2;
    if (jg_dtype_bits(product->b.dtype) == 8 && product->b.is_mn_major) {
        return pair ? 32 : 16;
    }
    if (jg_dtype_is_integer(product->a.dtype) && (pair || layout->mma_n > 32)) {
        return pair ? 32 : 16;
    }
    return layout->mma_m == 64 ? 8 : 16;
}

static bool check_shape(struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const struct jg_product *product = &trial->product;
    const int least_m = layout->cta_group == 2 ? 128 : 64;
    const int step = step_of_n(product, layout);
    if (layout->mma_m != least_m && layout->mma_m != 2 * least_m) {
        return jg_trial_reject(
            trial, "mma=%dx%d: M is %d or %d with cta_group=%d on sm_100a", layout->mma_m,
            layout->mma_n, least_m, 2 * least_m, layout->cta_group);
    }
    if (layout->mma_n % step != 0 || layout->mma_n > MAX_MMA_N) {
        return jg_trial_reject(
            trial,
            "mma=%dx%d: N must be a multiple of %d, at most %d, with M of %d and "
            "cta_group=%d on sm_100a%s",
            layout->mma_m, layout->mma_n, step, MAX_MMA_N, layout->mma_m, layout->cta_group,
            jg_dtype_bits(product->b.dtype) == 8 ? ", for these inputs" : "");
    }
    return true;
}

static bool is_power_of_two(int value)
{
    return value > 0 && (value & (value - 1)) == 0;
}

static bool check_cluster(struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const int ctas = layout->cluster_m * layout->cluster_n;
    if (!is_power_of_two(layout->cluster_m) || !is_power_of_two(layout->cluster_n) ||
        ctas > MAX_CLUSTER) {
        return jg_trial_reject(
            trial,
            "cluster=%dx%d: clusters of sm_100a are powers of two of at most %d CTAs",
            layout->cluster_m, layout->cluster_n, MAX_CLUSTER);
    }
    if (layout->cluster_m % layout->cta_group != 0) {
        return jg_trial_reject(
            trial, "cluster=%dx%d has no whole pairs along M, as cta_group=%d needs",
            layout->cluster_m, layout->cluster_n, layout->cta_group);
    }
    return jg_cluster_check(trial);
}

/* What the rows or columns of an input that is not K-major are a multiple of: a row of the
 * narrowest swizzle. */
static int step_of_rows(jit_gemm_dtype dtype)
{
    const int bits = jg_dtype_bits(dtype);
    return 8 * (bits == 32 ? WORD_SWIZZLE_BYTES : LEAST_SWIZZLE_BYTES) / bits;
}

/* Can the CTAs of the cluster share its load in whole rows? */
static bool check_input(struct jg_trial *trial, const struct jg_sm100a_input *input)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const struct jg_matrix *matrix = input->matrix;
    const char letter = (char)toupper(matrix->letter);
    const int step = step_of_rows(matrix->dtype);
    if (matrix->is_mn_major && input->count % step != 0) {
        return jg_trial_reject(
            trial,
            "mma=%dx%d cta_group=%d gives a CTA %d %s of the product's %c; %c, which "
            "is not K-major here, needs a multiple of %d",
            layout->mma_m, layout->mma_n, layout->cta_group, input->count, input->unit,
            input->size, letter, step);
    }
    if (!matrix->is_mn_major && input->count % input->slices != 0) {
        return jg_trial_reject(
            trial, "cluster=%dx%d: %d CTAs cannot share the load of %d %s of %c",
            layout->cluster_m, layout->cluster_n, input->slices, input->count, input->unit,
            letter);
    }
    return true;
}

/* Each half of the columns that a warp holds has an accumulator of a gated D, if those are
 * not multiplied by themselves. */
static bool check_gate(struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const int gate_columns = jg_sm100a_columns_of_d(&trial->product, &trial->config);
    const struct jg_matrix *b = &trial->product.b;
    const bool has_neighbours = trial->product.has_neighbours;
    const bool has_rows = b->is_mn_major && !has_neighbours; /* of K, for an accumulator */
    const int step = has_rows ? step_of_rows(b->dtype) : GROUP_COLUMNS;
    if (jg_product_gate_rows(&trial->product) > 1 && has_neighbours) {
        return jg_trial_reject(trial, "swap_ab=1: " JG_NEIGHBOURS_ALONG_M "give %s",
                               jg_problem_neighbours_name(trial->problem),
                               trial->product.a.is_mn_major
                                   ? "a K-major B, pair=halves, or swap_ab=0"
                                   : "pair=halves, or swap_ab=0");
    }
    if (jg_product_gate_columns(&trial->product) > 1 && gate_columns % step != 0) {
        return jg_trial_reject(
            trial,
            "mma=%dx%d cta_group=%d: half of a CTA's columns, %d, are no multiple of %d, as "
            "the pairs of a gated epilogue need",
            layout->mma_m, layout->mma_n, layout->cta_group, gate_columns, step);
    }
    const int loaded = jg_sm100a_input_b(trial).gate;
    if (has_rows && loaded % step != 0) {
        return jg_trial_reject(
            trial,
            "mma=%dx%d cta_group=%d: a CTA loads %d columns of each half of B, which is not "
            "K-major; it needs a multiple of %d",
            layout->mma_m, layout->mma_n, layout->cta_group, loaded, step);
    }
    return true;
}

static bool check_inputs(struct jg_trial *trial)
{
    const struct jg_sm100a_input a = jg_sm100a_input_a(trial);
    const struct jg_sm100a_input b = jg_sm100a_input_b(trial);
    return check_input(trial, &a) && check_input(trial, &b);
}

static const char *prefetch_name(const struct jg_trial *trial)
{
    return trial->config.pipeline.prefetch == JG_PREFETCH_A ? "a" : "b";
}

/* Where threads load A and B: refuses what needs TMA or a single load thread. */
static bool check_thread_loads(struct jg_trial *trial)
{
    const char *reason = jg_thread_loads_name(&trial->product);
    if (!jg_loads_by_threads(&trial->product)) {
        return true;
    }
    if (trial->config.pipeline.prefetch != JG_PREFETCH_NONE) {
        return jg_trial_reject(trial, "prefetch=%s asks TMA, which does not take %s",
                               prefetch_name(trial), reason);
    }
    if (trial->config.launch.scheduler == JG_SCHEDULER_CLC) {
        return jg_trial_reject(
            trial,
            "scheduler=clc serves one load thread, and %s has more: give scheduler=static",
            reason);
    }
    return true;
}

static bool check_accumulators(struct jg_trial *trial)
{
    const struct jg_config *config = &trial->config;
    const struct jg_config_layout *layout = &config->layout;
    const int own_columns = jg_sm100a_team_columns(trial).count;
    if (config->storage.out_stages < JG_VECTOR_OUT_STAGES &&
        own_columns % JG_STORE_TILE_COLUMNS != 0) {
        return jg_trial_reject(
            trial,
            "out_stages=%d is too few for mma=%dx%d cta_group=%d: the %d columns of a team of "
            "warps are no multiple of %d, as store tiles of D are; out_stages=%d",
            config->storage.out_stages, layout->mma_m, layout->mma_n, layout->cta_group,
            own_columns, JG_STORE_TILE_COLUMNS, JG_VECTOR_OUT_STAGES);
    }
    const int columns = jg_sm100a_tmem_columns(&trial->product, config);
    if (columns > JG_SM100A_TMEM_COLUMNS) {
        return jg_trial_reject(
            trial, "acc_stages=%d take %d columns of tensor memory, which has %d",
            config->storage.acc_stages, columns, JG_SM100A_TMEM_COLUMNS);
    }
    return true;
}

/* Where eight warps write: what has no kernel, with the reason. */
static bool check_epilogue_warps(struct jg_trial *trial)
{
    const struct jg_config *config = &trial->config;
    const struct jg_product *product = &trial->product;
    const struct jg_sm100a_lanes lanes = jg_sm100a_lanes(config);
    const jit_gemm_scale *scale = &trial->problem->d.scale;
    const char *reason = NULL;
    if (lanes.warpgroups == 1) {
        return true;
    }
    if (lanes.split || lanes.of_warp < JG_SM100A_WARP_LANES) {
        reason = "four warps read all lanes of a CTA of 64 rows";
    } else if (jg_product_promotes_scales(product)) {
        reason = "four warps multiply sums by scales of blocks";
    } else if (config->launch.split_k > 1) {
        reason = "four warps add up parts of K";
    } else if (jg_sm100a_shared_columns(product, config) > 0) {
        reason = "four warps read accumulators that share columns: acc_stages=1";
    } else if (jg_sm100a_columns_of_d(product, config) % (2 * GROUP_COLUMNS) != 0) {
        reason = "half of a tile's columns are no multiple of 8";
    } else if (jg_scale_is_square(scale) ||
               (product->d_is_transpose && scale->block_k > STEP)) {
        reason =
            "a block of D's scales that all warps of a tile share is one of four warps";
    }
    return reason == NULL || jg_trial_reject(trial, "epilogue_warps=8: %s", reason);
}

/* Where sums are multiplied by scales after each block of K, a thread of the epilogue has
 * those of its lane in registers. */
static bool check_promotion(struct jg_trial *trial)
{
    const struct jg_config *config = &trial->config;
    const struct jg_product *product = &trial->product;
    const int columns = jg_product_gate_rows(product) * jg_sm100a_lanes(config).columns;
    if (!jg_product_promotes_scales(product)) {
        return true;
    }
    if (config->pipeline.k_group > 1) {
        return jg_trial_reject(
            trial, "k_group=%d: scales of blocks are those of one block of K; k_group=1",
            config->pipeline.k_group);
    }
    if (columns > MAX_PROMOTED_COLUMNS) {
        return jg_trial_reject(
            trial,
            "mma=%dx%d cta_group=%d: sums that are multiplied by scales of blocks are %d "
            "columns of registers, for which sm_100a has room up to %d",
            config->layout.mma_m, config->layout.mma_n, config->layout.cta_group, columns,
            MAX_PROMOTED_COLUMNS);
    }
    return true;
}

/* Where the tensor core multiplies by scales. */
static bool check_block_scaled(struct jg_trial *trial)
{
    const struct jg_config *config = &trial->config;
    const struct jg_config_layout *layout = &config->layout;
    if (!jg_product_is_block_scaled(&trial->product)) {
        return true;
    }
    const jit_gemm_dim *n = &trial->product.n;
    const bool has_halves = jg_product_scales_halves(&trial->product);
    const bool is_one_tile =
        !has_halves && n->mode == JIT_GEMM_DIM_EXACT && n->size <= layout->mma_n;
    const int step = has_halves ? 2 * SCALES_OF_COLUMN : SCALES_OF_COLUMN;
    if (layout->mma_m != SCALE_ROWS * layout->cta_group ||
        (layout->mma_n % step != 0 && !is_one_tile)) {
        return jg_trial_reject(
            trial,
            "mma=%dx%d cta_group=%d: with scale %s a CTA has %d rows, and N is a multiple "
            "of %d%s",
            layout->mma_m, layout->mma_n, layout->cta_group,
            jg_scale_name(&trial->product.a.scale), SCALE_ROWS, step,
            has_halves ? ", because halves are multiplied by themselves"
                       : ", or one tile has all columns");
    }
    if (config->pipeline.k_group > 1) {
        return jg_trial_reject(
            trial, "k_group=%d: with scale %s a stage has one block; k_group=1",
            config->pipeline.k_group, jg_scale_name(&trial->product.a.scale));
    }
    return true;
}

static bool check_prefetch(struct jg_trial *trial)
{
    if (trial->config.pipeline.prefetch != JG_PREFETCH_NONE &&
        trial->product.has_row_boxes) {
        return jg_trial_reject(
            trial,
            "prefetch=%s: the grid before may write the index of A's rows, "
            "and a warp loads both: prefetch=none",
            prefetch_name(trial));
    }
    if (trial->config.pipeline.prefetch != JG_PREFETCH_NONE && !trial->config.launch.pdl) {
        return jg_trial_reject(
            trial, "prefetch=%s needs pdl=1: it works while the previous grid still runs",
            prefetch_name(trial));
    }
    return true;
}

static bool check_stages(struct jg_trial *trial)
{
    const struct jg_config *config = &trial->config;
    const int load_stages = jg_sm100a_load_stages(trial);
    char shape[128];
    int used =
        snprintf(shape, sizeof(shape), "mma=%dx%d cta_group=%d", config->layout.mma_m,
                 config->layout.mma_n, config->layout.cta_group);
    if (config->pipeline.k_group > 1) {
        used += snprintf(shape + used, sizeof(shape) - (size_t)used, " k_group=%d",
                         config->pipeline.k_group);
    }
    if (load_stages > 0) {
        snprintf(shape + used, sizeof(shape) - (size_t)used,
                 ", %d stages of C and matrix operands and", load_stages);
    }
    const struct jg_smem smem = jg_sm100a_smem(trial);
    struct jg_stage_limits limits = jg_sm100a_stage_limits(trial);
    limits.shape = shape;
    return jg_stages_check(trial, &smem, &limits);
}

/* A step has all lanes of a team. Where those are columns of D, a team has 64 of them, and
 * all rows unless the columns of tensor memory are halved; else all rows, and all columns
 * likewise. */
static struct jg_partial_results count_parts(const struct jg_trial *trial)
{
    const struct jg_sm100a_lanes lanes = jg_sm100a_lanes(&trial->config);
    const int halves = lanes.split ? 2 : lanes.warpgroups;
    const bool is_transpose = trial->product.d_is_transpose;
    const int rows = trial->config.layout.tile_m / jg_product_gate_rows(&trial->product);
    return (struct jg_partial_results){.row = is_transpose ? rows / STEP : halves,
                                       .column = is_transpose ? halves : 1,
                                       .tensor =
                                           JG_SM100A_EPILOGUE_WARPS * lanes.warpgroups};
}

static struct jg_output choose_output(const struct jg_trial *trial, bool reads_boxes)
{
    const struct jg_output_facts facts = {.columns = jg_sm100a_team_columns(trial).count,
                                          .ring_stages = jg_sm100a_load_stages(trial),
                                          .own_ring = true,
                                          .reads_boxes = reads_boxes,
                                          .parts = count_parts(trial)};
    return jg_output_choose(trial, &facts);
}

/*
 * Matrices of 16 bits are read in the accumulators' own layout where a CTA has several
 * tiles, and the tensor core waits for an epilogue by vectors: an eighth to a third fewer
 * instructions for 64 columns (docs/sm100a-budget.md). Elsewhere nobody waits, and vectors
 * compile in a seventh less, because fragments have 64 copies of a snippet and not 16.
 */
static bool reads_boxes(const struct jg_trial *trial)
{
    return !trial->product.d_is_transpose && trial->derived.shared_columns == 0 &&
           trial->config.launch.split_k == 1 &&
           trial->config.launch.scheduler != JG_SCHEDULER_SINGLE &&
           jg_sm100a_waits_for_epilogue(trial);
}

/* Accumulators that share columns are read in turns from their end and from their
 * beginning: by fragments, which take any order, as sums of rows do not. */
static bool check_shared_columns(struct jg_trial *trial)
{
    const struct jg_config *config = &trial->config;
    const int shared = jg_sm100a_shared_columns(&trial->product, config);
    const struct jg_output output = choose_output(trial, false);
    if (shared == 0 || (output.epilogue == JG_EPILOGUE_FRAGMENTS && !output.reduces &&
                        output.loads_per_step == 0 && config->launch.split_k == 1)) {
        return true;
    }
    return jg_trial_reject(
        trial,
        "acc_stages=2: beside scales accumulators of mma=%dx%d share %d columns of tensor "
        "memory, which %s; acc_stages=1",
        config->layout.mma_m, config->layout.mma_n, shared,
        config->launch.split_k > 1 ? "parts of K do not take"
                                   : "only an epilogue takes that reads no matrices, and "
                                     "writes D by TMA without reductions");
}

/* What parts add up in shared memory stays there until the CTA ends. */
static bool check_split(struct jg_trial *trial)
{
    if (jg_cluster_parts(&trial->config) > 1 &&
        trial->config.launch.scheduler != JG_SCHEDULER_SINGLE) {
        return jg_trial_reject(trial, "split_order=cluster: a cluster that has parts of K "
                                      "has one tile: scheduler=single");
    }
    if (jg_shares_in_workspace(&trial->config) &&
        trial->config.launch.scheduler != JG_SCHEDULER_SINGLE) {
        return jg_trial_reject(trial, "split_order=parallel: a cluster has a part of one "
                                      "tile: scheduler=single");
    }
    return jg_split_check(trial);
}

/* ------------------------------------------------------------------ what follows */

static int count_threads(const struct jg_trial *trial)
{
    const int more_warps = (jg_sm100a_load_stages(trial) > 0) +
                           (trial->config.launch.scheduler == JG_SCHEDULER_CLC) +
                           jg_product_promotes_scales(&trial->product) +
                           jg_gathers_scales(&trial->product) +
                           (jg_loads_by_threads(&trial->product) ? HELPING_WARPS : 0);
    const int all_warps = more_warps + JG_SM100A_EPILOGUE_WARPS *
                                           (jg_sm100a_lanes(&trial->config).warpgroups - 1);
    return THREADS + all_warps * WARP_THREADS;
}

bool jg_sm100a_derive(struct jg_trial *trial)
{
    const struct jg_team_columns columns = jg_sm100a_team_columns(trial);
    /* Cheapest first. */
    if (!jg_group_maps_check(trial) || !check_shape(trial) || !check_gate(trial) ||
        !check_cluster(trial) || !check_split(trial) || !jg_groups_check(trial) ||
        !check_inputs(trial) || !jg_repack_check(trial) || !check_thread_loads(trial) ||
        !check_epilogue_warps(trial) || !check_promotion(trial) ||
        !check_block_scaled(trial) || !check_accumulators(trial) ||
        !check_shared_columns(trial) || !check_prefetch(trial) || !check_stages(trial) ||
        !jg_out_stages_check(trial, &columns)) {
        return false;
    }
    const struct jg_smem smem = jg_sm100a_smem(trial);
    const int stages = trial->config.pipeline.stages;
    const int threads = count_threads(trial);
    trial->derived = (struct jg_derived){
        .threads = threads,
        .smem_bytes = (int)jg_smem_bytes(&smem, stages),
        .max_registers = (int)jg_min(MAX_REGISTERS, (int64_t)REGISTERS / threads / 8 * 8),
        .epilogue_warpgroups = jg_sm100a_lanes(&trial->config).warpgroups,
        .tmem_columns = jg_sm100a_tmem_columns(&trial->product, &trial->config),
        .scale_cells = jg_sm100a_scale_cells(&trial->product, &trial->config),
        .shared_columns = jg_sm100a_shared_columns(&trial->product, &trial->config),
        .scale_columns = jg_sm100a_scale_cells(&trial->product, &trial->config) *
                         jg_sm100a_scale_columns(&trial->product, &trial->config),
        .sum_fraction_bits = jg_dtype_sum_fraction_bits(trial->product.a.dtype)};
    trial->derived.scale_slots =
        jg_scale_ring_of(&trial->product, &trial->config, JG_LEAST_SCALE_SLOTS).slots;
    trial->derived.row_warps = (struct jg_row_warps){.copies = 1};
    trial->derived.sums_in_ring = jg_sm100a_sums_in_ring(trial);
    trial->derived.sums_bytes = jg_tile_sums_bytes(trial, &columns);
    trial->derived.output = choose_output(trial, false);
    if (reads_boxes(trial)) {
        trial->derived.output = choose_output(trial, true);
    }
    if (!jg_tiles_count(trial)) {
        return false;
    }
    jg_sm100a_size_boxes(trial);
    if (!jg_groups_complete(trial)) {
        return false;
    }
    jg_sm100a_predict(trial);
    return true;
}
