/* SPDX-License-Identifier: MIT */
/* The kernel asserts the same sizes (kernel_src/jg/sm100a/smem.cuh). */
#include "plan/sm100a/sizes.h"

#include "base/math.h"
#include "plan/groups.h"
#include "plan/scale.h"
#include "plan/sm100a/sm100a.h"
#include "plan/split.h"

enum {
    MAX_LOAD_STAGES = 4,
    CLC_BYTES = 112,        /* responses of launch control, and their barriers */
    LOAD_ORDER_BYTES = 8,   /* where epilogue loads wait for the first inputs */
    TMEM_ADDRESS_BYTES = 8, /* of the word that publishes the address of tensor memory */
    /* More than half of what a multiprocessor has: one CTA each, because two clusters that
     * each hold a part of the tensor memory which the other waits for would never end. */
    LEAST_SMEM_BYTES = 116 * 1024,
    MIN_STAGES = 2,
    MOST_SUMS_STAGES = 2, /* of the ring in which sums of parts of K lie */
    MOST_SUMS_STAGES_OF_PAIR = 3
};

int jg_sm100a_load_stages(const struct jg_trial *trial)
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

/* Barriers of cells that stages take in turn. */
static int64_t count_cell_bytes(const struct jg_product *product,
                                const struct jg_config *config)
{
    const int cells = jg_sm100a_scale_cells(product, config);
    return jg_product_is_block_scaled(product) && cells < config->pipeline.stages
               ? cells * (int64_t)sizeof(uint64_t)
               : 0;
}

int jg_sm100a_columns_of_d(const struct jg_product *product, const struct jg_config *config)
{
    return jg_sm100a_lanes(config).columns / jg_product_gate_columns(product);
}

/* The same that a team of warps has. */
static int columns_of_team(const struct jg_product *product, const struct jg_config *config)
{
    return jg_sm100a_columns_of_d(product, config) / jg_sm100a_lanes(config).warpgroups;
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
    const int bytes = (int)jg_min(JG_ROW_BYTES, power_in(columns * element_bits / 8));
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

struct jg_sm100a_input jg_sm100a_input_a(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    return (struct jg_sm100a_input){
        .matrix = &trial->product.a,
        .size = 'M',
        .unit = "rows",
        .count = layout->tile_m,
        .slices = layout->cluster_n,
        .gate = jg_product_gate_rows(&trial->product) > 1 ? layout->tile_m / 2 : 0};
}

struct jg_sm100a_input jg_sm100a_input_b(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const struct jg_product *product = &trial->product;
    const int count = layout->tile_n / layout->cta_group;
    const int gate = jg_product_scales_halves(product)
                         ? count / 2 /* an accumulator has columns of both CTAs */
                         : jg_sm100a_columns_of_d(product, &trial->config);
    return (struct jg_sm100a_input){
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
static struct jg_box size_box(const struct jg_sm100a_input *input, int tile_k)
{
    const bool is_mn_major = input->matrix->is_mn_major;
    const int most = input->gate > 0 ? input->gate : input->count; /* of one accumulator */
    const int bytes =
        (int)jg_bytes_of(input->matrix->dtype, (int)jg_min(input->count, most));
    return (struct jg_box){is_mn_major ? tile_k / input->slices
                                       : (int)jg_min(input->count / input->slices, most),
                           is_mn_major ? (int)jg_min(JG_ROW_BYTES, power_in(bytes))
                                       : JG_ROW_BYTES,
                           jg_input_atom(input->matrix)};
}

void jg_sm100a_size_boxes(struct jg_trial *trial)
{
    const struct jg_sm100a_input a = jg_sm100a_input_a(trial);
    const struct jg_sm100a_input b = jg_sm100a_input_b(trial);
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
                                : jg_sm100a_columns_of_d(&trial->product, &trial->config);
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

bool jg_sm100a_sums_in_ring(const struct jg_trial *trial)
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
    const int of_sums = jg_sm100a_sums_in_ring(trial) ? count_sums_stages(trial) : 0;
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
    const int load_stages = jg_sm100a_load_stages(trial);
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
                                  jg_sm100a_sums_in_ring(trial)),
        .least_bytes = LEAST_SMEM_BYTES};
}
