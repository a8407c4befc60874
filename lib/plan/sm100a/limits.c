/* SPDX-License-Identifier: MIT */
/* Blackwell's sizes and limits. The kernel asserts the same sizes
 * (kernel_src/jg/sm100a/smem.cuh). */
#include <ctype.h>
#include <stdio.h>

#include "base/math.h"
#include "plan/cluster.h"
#include "plan/group_maps.h"
#include "plan/groups.h"
#include "plan/repack.h"
#include "plan/scale.h"
#include "plan/sm100a/sm100a.h"
#include "plan/split.h"

enum {
    THREADS = 192,     /* six warps */
    WARP_THREADS = 32, /* of each further warp: for epilogue loads, for launch control */
    HELPING_WARPS = 3, /* where threads load A and B */
    MAX_REGISTERS = 255,
    REGISTERS = 65536, /* of a multiprocessor */
    MAX_LOAD_STAGES = 4,
    CLC_BYTES = 112,        /* responses of launch control, and their barriers */
    LOAD_ORDER_BYTES = 8,   /* where epilogue loads wait for the first inputs */
    TMEM_ADDRESS_BYTES = 8, /* of the word that publishes the address of tensor memory */
    MAX_MMA_N = 256,
    MAX_PROMOTED_COLUMNS = 128, /* of sums in registers */
    SCALE_ROWS = 128,           /* of a piece of scales, and of a multiplication by them */
    SCALES_OF_COLUMN = 32,      /* rows in a column of tensor memory */
    LEAST_SWIZZLE_BYTES = 32,   /* of a row of A or B in the narrowest swizzle */
    WORD_SWIZZLE_BYTES = 128,   /* of the only one for elements of 32 bits along M or N */
    GROUP_COLUMNS = 8,          /* of an accumulator that the epilogue reads at least */
    STEP = 64,                  /* columns of D in a step of the epilogue, and most rows */
    /* More than half of what a multiprocessor has: one CTA each, because two clusters that
     * each hold a part of the tensor memory which the other waits for would never end. */
    LEAST_SMEM_BYTES = 116 * 1024,
    MAX_CLUSTER = 16, /* CTAs; more than 8 are not chosen, because fewer fit */
    MIN_STAGES = 2,
    MOST_SUMS_STAGES = 2, /* of the ring in which sums of parts of K lie */
    MOST_SUMS_STAGES_OF_PAIR = 3
};

const struct jg_part_cluster jg_sm100a_part_clusters[] = {{1, 1}, {0, 0}};

/* --------------------------------------------------------------------------- sizes */

/* Room for two steps of the epilogue, so that one lands while the other is read; for one,
 * if that is much; for none if even one is too much: the epilogue loads itself then. Eight
 * warps have steps of twice as many bytes. */
static int count_load_stages(const struct jg_trial *trial)
{
    const int most = MAX_LOAD_STAGES / jg_sm100a_lanes(&trial->config).warpgroups;
    const int step = jg_divides_output(trial) ? 0 : jg_output_loads(trial->problem);
    if (2 * step <= most) {
        return 2 * step;
    }
    return step <= most ? step : 0;
}

/* The greatest power of two that divides it. */
static int power_in(int value)
{
    return value & -value;
}

/* Barriers of accumulators: those that share columns have them in common. */
static int64_t count_accumulator_bytes(const struct jg_product *product,
                                       const struct jg_config *config)
{
    const bool share = jg_sm100a_shared_columns(product, config) > 0;
    return (share ? 1 : config->storage.acc_stages) * (int64_t)JG_RING_BARRIER_BYTES;
}

static int lesser(int a, int b)
{
    return a < b ? a : b;
}

/* Barriers of cells that stages take in turn. */
static int64_t count_cell_bytes(const struct jg_product *product,
                                const struct jg_config *config)
{
    const int cells = jg_sm100a_scale_cells(product, config);
    return jg_product_is_block_scaled(product) && cells < config->pipeline.stages
               ? cells * (int64_t)sizeof(uint64_t)
               : 0;
}

/* Of D or its transpose, of a tile's lanes: two of the product's make one where its B has
 * the pairs of a gated D. */
static int columns_of_d(const struct jg_product *product, const struct jg_config *config)
{
    return jg_sm100a_lanes(config).columns / jg_product_gate_columns(product);
}

/* The same that a team of warps has. */
static int columns_of_team(const struct jg_product *product, const struct jg_config *config)
{
    return columns_of_d(product, config) / jg_sm100a_lanes(config).warpgroups;
}

/* Lanes that the warps of a step have side by side. */
static int count_step_lanes(const struct jg_config *config)
{
    const struct jg_sm100a_lanes lanes = jg_sm100a_lanes(config);
    return JG_SM100A_EPILOGUE_WARPS * lanes.of_warp / (lanes.split ? 2 : 1);
}

/* A store tile of D as wide as a swizzle may be, if that divides the tile. Else the
 * epilogue by vectors writes, and the box is never used. */
static struct jg_box size_store_tile(const struct jg_trial *trial)
{
    const struct jg_product *product = &trial->product;
    const struct jg_config *config = &trial->config;
    const int element_bits = jg_dtype_bits(product->d.dtype);
    const struct jg_sm100a_lanes lanes = jg_sm100a_lanes(config);
    const int columns = columns_of_team(product, config);
    if (product->d_is_transpose) { /* lanes lie side by side in D */
        return (struct jg_box){jg_transposed_store_rows(trial->problem, columns),
                               JG_ROW_BYTES, JG_ATOM_BYTES};
    }
    const int bytes = lesser(JG_ROW_BYTES, power_in(columns * element_bits / 8));
    const int least_bytes = JG_STORE_TILE_COLUMNS * element_bits / 8;
    return (struct jg_box){lanes.of_warp, bytes < least_bytes ? JG_ROW_BYTES : bytes,
                           JG_ATOM_BYTES};
}

/* Rows of a matrix that a team of warps takes in a step, and how many teams there are. */
static int count_step_rows(const struct jg_trial *trial, int *ret_teams)
{
    const struct jg_sm100a_lanes lanes = jg_sm100a_lanes(&trial->config);
    if (trial->product.d_is_transpose) {
        *ret_teams = (lanes.of_warp == JG_SM100A_WARP_LANES ? 2 : 1) * lanes.warpgroups;
        return jg_transposed_step_rows(trial->problem,
                                       columns_of_team(&trial->product, &trial->config));
    }
    *ret_teams = lanes.split ? 2 : lanes.warpgroups;
    return count_step_lanes(&trial->config);
}

/* What one CTA has of an input of the product. */
struct input {
    const struct jg_matrix *matrix;
    char size;        /* M or N of the product */
    const char *unit; /* what lies along it */
    int count;        /* of M or N */
    int slices;       /* CTAs that load a part each and send it to the others */
    int gate;         /* of M or N, from acc0 to acc1; 0: it has one accumulator's only */
};

/* A is shared along N, B by the CTAs along M that have the same rank in their pair. */
static struct input input_a(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    return (struct input){
        .matrix = &trial->product.a,
        .size = 'M',
        .unit = "rows",
        .count = layout->tile_m,
        .slices = layout->cluster_n,
        .gate = jg_product_gate_rows(&trial->product) > 1 ? layout->tile_m / 2 : 0};
}

static struct input input_b(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const struct jg_product *product = &trial->product;
    const int count = layout->tile_n / layout->cta_group;
    const int gate = jg_product_scales_halves(product)
                         ? count / 2 /* an accumulator has columns of both CTAs */
                         : columns_of_d(product, &trial->config);
    return (struct input){
        .matrix = &product->b,
        .size = 'N',
        .unit = "columns",
        .count = count,
        .slices = layout->cluster_m / layout->cta_group,
        .gate =
            jg_product_gate_columns(product) > 1 && !product->has_neighbours ? gate : 0};
}

/* K-major, a row is one M or N and holds K. MN-major, a row is one K and holds as much of M
 * or N as the swizzle has bytes for. */
static struct jg_box size_box(const struct input *input, int tile_k)
{
    const bool is_mn_major = input->matrix->is_mn_major;
    const int most = input->gate > 0 ? input->gate : input->count; /* of one accumulator */
    const int bytes = (int)jg_bytes_of(input->matrix->dtype, lesser(input->count, most));
    return (struct jg_box){
        is_mn_major ? tile_k / input->slices : lesser(input->count / input->slices, most),
        is_mn_major ? lesser(JG_ROW_BYTES, power_in(bytes)) : JG_ROW_BYTES,
        jg_input_atom(input->matrix)};
}

/* Boxes of the tensor maps. */
static void size_boxes(struct jg_trial *trial)
{
    const struct input a = input_a(trial);
    const struct input b = input_b(trial);
    const int tile_k = trial->config.layout.tile_k;
    struct jg_derived *derived = &trial->derived;
    int teams;
    derived->a_box = size_box(&a, tile_k);
    derived->b_box = size_box(&b, tile_k);
    derived->a_rows = trial->config.layout.tile_m;
    derived->b_rows = b.count;
    derived->gate_columns = !trial->product.is_gated ? 0
                            : trial->product.has_neighbours
                                ? 1
                                : columns_of_d(&trial->product, &trial->config);
    derived->d_box = size_store_tile(trial);
    if (jg_product_is_block_scaled(&trial->product)) {
        const int columns = trial->config.layout.mma_n;
        derived->b_scale_box = jg_sm100a_scale_box(&trial->product, columns);
        derived->a_scale_box = derived->b_scale_box;
        derived->a_scale_box.rows = 1;
    }
    derived->matrix_box =
        (struct jg_box){count_step_rows(trial, &teams), JG_ROW_BYTES, JG_ATOM_BYTES};
}

struct jg_team_columns jg_sm100a_team_columns(const struct jg_trial *trial)
{
    const struct jg_sm100a_lanes lanes = jg_sm100a_lanes(&trial->config);
    const bool is_transpose = trial->product.d_is_transpose;
    const int step_lanes = count_step_lanes(&trial->config);
    return (struct jg_team_columns){
        .count = columns_of_team(&trial->product, &trial->config),
        .shared = lanes.split || (lanes.warpgroups > 1 && !is_transpose),
        .warp_lanes = is_transpose ? lanes.of_warp : 0,
        .tile_lanes = is_transpose ? step_lanes : 0,
        .step_rows = is_transpose ? 0 : step_lanes};
}

/* Of A and B, of a stage: a CTA of a pair has half of the columns. */
static int64_t stage_tile_bytes(const struct jg_config *config)
{
    const struct jg_config_layout *layout = &config->layout;
    return (int64_t)config->pipeline.k_group *
           (layout->tile_m + layout->tile_n / layout->cta_group) * JG_ROW_BYTES;
}

/* In which the sums of a tile have room. */
static int count_sums_stages(const struct jg_trial *trial)
{
    const struct jg_team_columns columns = jg_sm100a_team_columns(trial);
    return (int)jg_ceil_div(jg_tile_sums_bytes(trial, &columns),
                            stage_tile_bytes(&trial->config));
}

/* The sums of a tile, where CTAs add up parts of K, lie in the input ring, if so few stages
 * hold them and the override names no fewer: all is multiplied by then. */
static bool has_sums_in_ring(const struct jg_trial *trial)
{
    const struct jg_config_override *override = trial->override;
    const int stages = count_sums_stages(trial);
    const int most =
        trial->config.layout.cta_group == 2 ? MOST_SUMS_STAGES_OF_PAIR : MOST_SUMS_STAGES;
    return jg_keeps_sums(&trial->config) && stages <= most &&
           (!override->has_stages || override->values.pipeline.stages >= stages);
}

struct jg_stage_limits jg_sm100a_stage_limits(const struct jg_trial *trial)
{
    const int of_sums = has_sums_in_ring(trial) ? count_sums_stages(trial) : 0;
    return (struct jg_stage_limits){.least = (int)jg_max(MIN_STAGES, of_sums),
                                    .most = JG_SM100A_MAX_STAGES,
                                    .arch = "sm_100a",
                                    .shape = ""};
}

struct jg_smem jg_sm100a_smem(const struct jg_trial *trial)
{
    const struct jg_config *config = &trial->config;
    const struct jg_team_columns columns = jg_sm100a_team_columns(trial);
    int teams;
    const int64_t step_rows = count_step_rows(trial, &teams);
    const struct jg_sm100a_lanes lanes = jg_sm100a_lanes(config);
    const int64_t warp_rows =
        (int64_t)JG_SM100A_EPILOGUE_WARPS * lanes.warpgroups * lanes.of_warp;
    const int64_t matrix_bytes = teams * step_rows * JG_ROW_BYTES + JG_RING_BARRIER_BYTES;
    const int load_stages = count_load_stages(trial);
    const int k_group = config->pipeline.k_group;
    return (struct jg_smem){
        .stage_blocks = k_group,
        .stage_bytes = stage_tile_bytes(config) + JG_RING_BARRIER_BYTES +
                       (int64_t)JG_SM100A_SCALE_COLUMN_BYTES *
                           jg_sm100a_scale_columns(&trial->product, config),
        .other_bytes =
            warp_rows * config->storage.out_stages * JG_ROW_BYTES +
            load_stages * matrix_bytes +
            jg_scale_ring_of(&trial->product, config, JG_LEAST_SCALE_SLOTS).bytes +
            (load_stages > 0 ? LOAD_ORDER_BYTES : 0) +
            count_accumulator_bytes(&trial->product, config) +
            count_cell_bytes(&trial->product, config) +
            (config->launch.scheduler == JG_SCHEDULER_CLC ? CLC_BYTES : 0) +
            jg_groups_smem_bytes(trial->problem) + jg_row_indices_bytes(trial) +
            TMEM_ADDRESS_BYTES +
            jg_cluster_sums_bytes(trial, &columns, JG_SM100A_EPILOGUE_WARPS,
                                  has_sums_in_ring(trial)),
        .least_bytes = LEAST_SMEM_BYTES};
}

/* ----------------------------------------------------------------------- the limits */

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
static bool check_input(struct jg_trial *trial, const struct input *input)
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
    const int gate_columns = columns_of_d(&trial->product, &trial->config);
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
    const int loaded = input_b(trial).gate;
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
    const struct input a = input_a(trial);
    const struct input b = input_b(trial);
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
    const int own_columns = columns_of_team(&trial->product, config);
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
    } else if (columns_of_d(product, config) % (2 * GROUP_COLUMNS) != 0) {
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
    const int load_stages = count_load_stages(trial);
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
    const struct jg_output_facts facts = {
        .columns = columns_of_team(&trial->product, &trial->config),
        .ring_stages = count_load_stages(trial),
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
    const int more_warps = (count_load_stages(trial) > 0) +
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
        .max_registers = lesser(MAX_REGISTERS, REGISTERS / threads / 8 * 8),
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
    trial->derived.sums_in_ring = has_sums_in_ring(trial);
    trial->derived.sums_bytes = jg_tile_sums_bytes(trial, &columns);
    trial->derived.output = choose_output(trial, false);
    if (reads_boxes(trial)) {
        trial->derived.output = choose_output(trial, true);
    }
    if (!jg_tiles_count(trial)) {
        return false;
    }
    size_boxes(trial);
    if (!jg_groups_complete(trial)) {
        return false;
    }
    jg_sm100a_predict(trial);
    return true;
}
