/* SPDX-License-Identifier: MIT */
/* Hopper's sizes and limits. The kernel asserts the same sizes
 * (kernel_src/jg/sm90a/smem.cuh). */
#include <ctype.h>
#include <stdio.h>

#include "base/math.h"
#include "plan/cluster.h"
#include "plan/group_maps.h"
#include "plan/groups.h"
#include "plan/repack.h"
#include "plan/scale.h"
#include "plan/sm90a/sm90a.h"
#include "plan/split.h"
#include "plan/typical_sizes.h"

enum {
    THREADS = 384, /* three warpgroups */
    WARPGROUP_WARPS = 4,
    WARPGROUP_THREADS = 128,
    MATH_WARPS = JG_SM90A_CONSUMERS * WARPGROUP_WARPS,
    MAX_REGISTERS = 168,       /* 65536 / 384, in steps of 8 */
    WIDE_TRANSPOSE_ROWS = 256, /* and half as many columns, or the next */
    NARROW_TRANSPOSE_COLUMNS = 48,
    OUTPUT_ROWS = 64, /* of a store tile of D and of a box of a matrix */
    MMA_COLUMNS = 64, /* of a wgmma that the kernel has, a multiple of these */
    TEAM_LANES = 64,  /* columns of D that a warpgroup has of a transposed tile */
    /* Of transposed tiles, the last ones: where rows have scales of their own and columns
     * have none, and where there are any of blocks. */
    SCALED_ROWS_TILES = 2,
    SCALED_TILES = 3,
    COLUMNS_STEP = 16, /* those of a multiplication are multiples of it */
    MIN_STAGES = 2,
    MIN_SHIFTED_STAGES = 3, /* one is read until the next is full, one is under way */
    MAX_STAGES = 16,
    LOAD_STAGES = 4,
    LINE_END_BYTES = 16,         /* of a line that is shifted: its last chunk */
    ITEM_SLOTS_BYTES = 160,      /* of all who read the same (jg/sm90a/item_slots.cuh) */
    MAX_BUSY_ACCUMULATORS = 128, /* of a thread */
    MAX_PROMOTED_COLUMNS = 192   /* of a warpgroup with a second set of accumulators */
};

const struct jg_sm90a_pair jg_sm90a_tiles[JG_SM90A_TILES] = {
    {128, 256}, {256, 128}, {128, 192}, {128, 128}, {64, 256},  {64, 128},
    {128, 224}, {128, 160}, {128, 96},  {128, 112}, {128, 144}, {128, 176},
    {128, 208}, {64, 224},  {64, 192},  {64, 160}};
const struct jg_sm90a_pair jg_sm90a_pingpong_tiles[JG_SM90A_PINGPONG_TILES] = {
    {128, 192}, {128, 128}, {64, 256}, {128, 176}, {128, 160}};
const struct jg_sm90a_pair jg_sm90a_transposed_tiles[JG_SM90A_TRANSPOSED_TILES] = {
    {128, 16}, {128, 32},  {128, 64}, {64, 32},   {64, 64},  {64, 96},   {64, 128},
    {256, 16}, {256, 32},  {256, 64}, {64, 160},  {64, 192}, {128, 160}, {128, 192},
    {128, 96}, {128, 112}, {256, 48}, {128, 128}, {256, 128}};
enum { COMMON_GROUP_TILES = 2 }; /* that other transposed products have, too */
const struct jg_sm90a_pair jg_sm90a_group_tiles[JG_SM90A_GROUP_TILES] = {
    {128, 160}, {128, 192}, {128, 224}};
const struct jg_sm90a_pair jg_sm90a_clusters[JG_SM90A_CLUSTERS] = {{2, 1}, {1, 2}, {1, 1}};
const struct jg_part_cluster jg_sm90a_part_clusters[] = {{1, 1}, {2, 1}, {1, 2}, {2, 2},
                                                         {4, 1}, {4, 2}, {0, 0}};

/* --------------------------------------------------------------------------- sizes */

/* Of D: two of the product's make one where its A has the pairs of a gated D. */
static int rows_of_d(const struct jg_trial *trial)
{
    return trial->config.layout.tile_m / jg_product_gate_rows(&trial->product);
}

/* Does each warpgroup have half of a tile's columns? */
static bool halves_columns(const struct jg_trial *trial)
{
    return trial->config.layout.pingpong == 0 && rows_of_d(trial) < 128;
}

/* Of one multiplication. A warpgroup has half of the rows that D has of the tile, or half
 * of its columns where those are only 64; or all of it. */
static int columns_of_warpgroup(const struct jg_trial *trial)
{
    const int tile_n = trial->config.layout.tile_n;
    return halves_columns(trial) ? tile_n / JG_SM90A_CONSUMERS : tile_n;
}

/* Of D: two of the product's make one where its B has the pairs of a gated D. */
static int columns_of_d(const struct jg_trial *trial)
{
    return columns_of_warpgroup(trial) / jg_product_gate_columns(&trial->product);
}

/* Rows of D that the warpgroups have below each other in one step of the epilogue: 64 of
 * each, which lie apart where each has more of the tile, or all of it. */
static int count_step_rows(const struct jg_trial *trial)
{
    const bool have_halves = trial->config.layout.pingpong == 0 &&
                             rows_of_d(trial) == JG_SM90A_CONSUMERS * OUTPUT_ROWS;
    return have_halves ? JG_SM90A_CONSUMERS * OUTPUT_ROWS : OUTPUT_ROWS;
}

struct jg_team_columns jg_sm90a_team_columns(const struct jg_trial *trial)
{
    const int count = columns_of_d(trial);
    const bool is_transpose = trial->product.d_is_transpose;
    return (struct jg_team_columns){
        .count = count,
        .shared = halves_columns(trial),
        .stored_once =
            is_transpose && count <= jg_transposed_store_rows(trial->problem, count),
        .warp_lanes = is_transpose ? TEAM_LANES / WARPGROUP_WARPS : 0,
        .tile_lanes = is_transpose ? rows_of_d(trial) : 0,
        .step_rows = is_transpose ? 0 : count_step_rows(trial)};
}

/* Of the ring that brings C and matrix operands to warpgroups that take tiles in turn: in
 * the ring of the input tiles these would lie in the way of the other's tile. 0: there is
 * none to bring, or a step takes more than there are. */
static int count_load_stages(const struct jg_trial *trial)
{
    const int step = jg_output_loads(trial->problem);
    return trial->config.layout.pingpong != 0 && step > 0 && step <= LOAD_STAGES
               ? LOAD_STAGES
               : 0;
}

/* Of the last chunks of a stage's lines, beside it. */
static int64_t line_ends_bytes_of(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    return jg_sm90a_shifts_lines(&trial->product)
               ? (int64_t)(layout->tile_m + layout->tile_n) * LINE_END_BYTES
               : 0;
}

static int64_t stage_bytes_of(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    return (int64_t)(layout->tile_m + layout->tile_n) * JG_ROW_BYTES;
}

/* In which the sums of a tile have room. */
static int count_sums_stages(const struct jg_trial *trial)
{
    const struct jg_team_columns columns = jg_sm90a_team_columns(trial);
    return (int)jg_ceil_div(jg_tile_sums_bytes(trial, &columns), stage_bytes_of(trial));
}

/* The sums of a tile, where CTAs add up parts of K, lie in the input ring, unless the
 * override names a smaller one, or something comes through it behind the last block of K.
 */
static bool has_sums_in_ring(const struct jg_trial *trial)
{
    const struct jg_config_override *override = trial->override;
    const bool has_room = !override->has_stages ||
                          override->values.pipeline.stages >= count_sums_stages(trial);
    const bool is_free = jg_divides_output(trial) || jg_output_loads(trial->problem) == 0;
    return jg_keeps_sums(&trial->config) && is_free && has_room;
}

struct jg_stage_limits jg_sm90a_stage_limits(const struct jg_trial *trial)
{
    const int of_sums = has_sums_in_ring(trial) ? count_sums_stages(trial) : 0;
    const bool shifts = jg_sm90a_shifts_lines(&trial->product);
    const int64_t least = jg_max(shifts ? MIN_SHIFTED_STAGES : MIN_STAGES, of_sums);
    return (struct jg_stage_limits){
        .least = (int)least,
        .most = MAX_STAGES,
        .arch = shifts ? "sm_90a, whose threads shift such inputs," : "sm_90a",
        .shape = ""};
}

/* Of D that a warpgroup has in shared memory at a time: what its store tiles take, or a
 * staging buffer. */
static int out_bytes(const struct jg_trial *trial)
{
    const struct jg_team_columns columns = jg_sm90a_team_columns(trial);
    return jg_is_stored_once(trial->problem, &columns)
               ? (int)jg_bytes_of(trial->product.d.dtype,
                                  (int64_t)TEAM_LANES * columns.count)
               : OUTPUT_ROWS * JG_ROW_BYTES;
}

struct jg_smem jg_sm90a_smem(const struct jg_trial *trial)
{
    const struct jg_config *config = &trial->config;
    const struct jg_team_columns columns = jg_sm90a_team_columns(trial);
    const bool in_stages = jg_sm90a_has_scales_in_stages(trial);
    return (struct jg_smem){
        .stage_blocks = 1,
        .residents = config->launch.resident,
        .stage_bytes = stage_bytes_of(trial) + line_ends_bytes_of(trial) +
                       JG_RING_BARRIER_BYTES +
                       (in_stages ? jg_scale_slot_bytes(&trial->product, config) : 0),
        .other_bytes =
            (int64_t)JG_SM90A_CONSUMERS * config->storage.out_stages * out_bytes(trial) +
            (int64_t)count_load_stages(trial) *
                (OUTPUT_ROWS * JG_ROW_BYTES + JG_RING_BARRIER_BYTES) +
            (in_stages
                 ? 0
                 : jg_scale_ring_of(&trial->product, config, JG_SM90A_OWN_SLOTS).bytes) +
            jg_cluster_sums_bytes(trial, &columns, MATH_WARPS, has_sums_in_ring(trial)) +
            jg_sm90a_turn_bytes(trial) + jg_groups_smem_bytes(trial->problem) +
            jg_row_indices_bytes(trial) +
            (int64_t)ITEM_SLOTS_BYTES *
                (jg_sm90a_passes_items(trial) + jg_sm90a_passes_loads(trial))};
}

/* Boxes of the tensor maps. With a cluster each CTA loads its share and sends it to the
 * others: A is shared along N, B along M. */
static void size_boxes(struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const struct jg_product *product = &trial->product;
    struct jg_derived *derived = &trial->derived;
    const int a_rows = product->a.is_mn_major ? layout->tile_k : layout->tile_m;
    const int b_rows = product->b.is_mn_major ? layout->tile_k : layout->tile_n;
    const struct jg_box output = {OUTPUT_ROWS, JG_ROW_BYTES, JG_ATOM_BYTES};
    const int d_bytes = (int)jg_bytes_of(product->d.dtype, columns_of_d(trial));
    derived->a_box = (struct jg_box){a_rows / layout->cluster_n, JG_ROW_BYTES,
                                     jg_input_atom(&product->a)};
    derived->b_box = (struct jg_box){b_rows / layout->cluster_m, JG_ROW_BYTES,
                                     jg_input_atom(&product->b)};
    if (product->is_gated) {
        derived->gate_columns =
            jg_problem_has_neighbours(trial->problem) ? 1 : columns_of_d(trial);
    }
    if (jg_product_gate_rows(product) > 1 && !product->a.is_mn_major) {
        derived->a_box.rows = (int)jg_min(derived->a_box.rows, rows_of_d(trial));
    }
    if (jg_product_gate_columns(product) > 1 && !product->b.is_mn_major) {
        derived->b_box.rows = (int)jg_min(derived->b_box.rows, derived->gate_columns);
    }
    derived->turned_slices = jg_sm90a_turned_slices(trial);
    if (derived->turned_slices > 1) {
        derived->a_box.rows /= derived->turned_slices;
    }
    derived->leaves_slices = jg_sm90a_leaves_slices(trial);
    const bool has_a_boxes = jg_product_gate_rows(product) == 1 &&
                             derived->turned_slices <= 1 && !product->has_row_boxes;
    const bool has_b_boxes = jg_product_gate_columns(product) == 1;
    derived->a_rows =
        jg_sm90a_loaded_rows(product, &product->a, &product->m, layout->tile_m,
                             has_a_boxes ? layout->cluster_n : 0);
    derived->b_rows =
        jg_sm90a_loaded_rows(product, &product->b, &product->n, layout->tile_n,
                             has_b_boxes ? layout->cluster_m : 0);
    if (derived->a_rows < layout->tile_m) {
        derived->a_box.rows = derived->a_rows / layout->cluster_n;
    }
    if (derived->b_rows < layout->tile_n) {
        derived->b_box.rows = derived->b_rows / layout->cluster_m;
    }
    derived->d_box = output;
    derived->matrix_box = output;
    if (product->d_is_transpose) {
        derived->d_box.rows = jg_transposed_store_rows(trial->problem, columns_of_d(trial));
        derived->matrix_box.rows =
            jg_transposed_step_rows(trial->problem, columns_of_d(trial));
    } else if (d_bytes % JG_ROW_BYTES != 0) { /* whole store tiles in a team's part */
        derived->d_box.row_bytes = (int)jg_min(d_bytes & -d_bytes, JG_ROW_BYTES);
    }
}

/* ----------------------------------------------------------------------- the limits */

static bool has_pair(const struct jg_sm90a_pair *pairs, int count, int m, int n)
{
    for (int i = 0; i < count; i++) {
        if (pairs[i].m == m && pairs[i].n == n) {
            return true;
        }
    }
    return false;
}

static void list_pairs(const struct jg_sm90a_pair *pairs, int count, char *text,
                       size_t size)
{
    size_t length = 0;
    for (int i = 0; i < count && length < size; i++) {
        const int added = snprintf(text + length, size - length, "%s%dx%d",
                                   i > 0 ? " " : "", pairs[i].m, pairs[i].n);
        length += added > 0 ? (size_t)added : 0;
    }
}

/* A block of a gated D has as many columns of the product as there are no registers for. */
static bool check_square_scale(struct jg_trial *trial)
{
    const jit_gemm_scale *scale = &trial->problem->d.scale;
    if (!jg_scale_is_square(scale) || jg_product_gate_columns(&trial->product) == 1 ||
        trial->product.d_is_transpose || !jg_sm90a_promotes(&trial->product)) {
        return true;
    }
    return jg_trial_reject(
        trial,
        "scale %s of a gated D needs %d columns of a warpgroup, and sums of %s, which are "
        "added up in a second set of registers, have room for %d on sm_90a: give "
        "d_scale=1x128, or accumulate=fast, which there is where A and B have no scales of "
        "blocks",
        jg_scale_name(scale), 2 * (int)scale->block_k,
        jg_dtype_name(trial->product.a.dtype), MAX_PROMOTED_COLUMNS);
}

/* What one warpgroup has to itself of a tile, another cannot help with: parts of K are
 * added up by both, a warpgroup waits for the tensor core while it adds promoted sums, and
 * threads that load are held back by the first tile's end. */
static bool check_pingpong(struct jg_trial *trial)
{
    const char *why = NULL;
    if (trial->config.layout.pingpong == 0) {
        return true;
    }
    if (trial->product.d_is_transpose) {
        why = "a transposed product (swap_ab)";
    } else if (jg_sm90a_promotes(&trial->product)) {
        why = "sums of 8-bit floats, which are added up in registers while the tensor core "
              "works for the other warpgroup";
    } else if (jg_loads_by_threads(&trial->product)) {
        why = "A and B that threads load";
    } else if (trial->config.launch.split_k > 1) {
        why = "split_k of more than 1";
    } else if (trial->problem->group_rest == JIT_GEMM_GROUP_REST_ZERO) {
        why = "group_rest=zero, whose tiles have no stages";
    }
    return why == NULL ||
           jg_trial_reject(trial, "pingpong=1: there is no kernel for %s", why);
}

/* Does an epilogue need more registers beside its accumulators than one that reads a matrix
 * of 16 bits? */
static bool has_long_epilogue(const struct jg_trial *trial)
{
    const struct jg_epilogue *epilogue = trial->problem->epilogue;
    int matrix_bits = jg_dtype_bits(trial->problem->c.dtype);
    if (trial->product.a.scale.kind == JIT_GEMM_SCALE_VECTOR ||
        trial->product.b.scale.kind == JIT_GEMM_SCALE_VECTOR) {
        return true;
    }
    for (uint32_t i = 0; epilogue != NULL && i < epilogue->operand_count; i++) {
        const struct jg_operand *operand = &epilogue->operands[i];
        if (operand->role != JIT_GEMM_OPERAND_INPUT) {
            return true;
        }
        if (operand->kind == JIT_GEMM_OPERAND_MATRIX) {
            matrix_bits += jg_dtype_bits(operand->dtype);
        }
    }
    return matrix_bits > 16 || (epilogue != NULL && epilogue->is_random);
}

/* Such epilogues were seen to spill beside the accumulators of tiles that large. */
static bool check_accumulators(struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const int held = layout->tile_m * layout->tile_n / WARPGROUP_THREADS;
    if (layout->pingpong == 0 || held <= MAX_BUSY_ACCUMULATORS ||
        !has_long_epilogue(trial)) {
        return true;
    }
    return jg_trial_reject(
        trial,
        "tile=%dx%d pingpong=1: beside its accumulators sm_90a has registers for one matrix "
        "of 16 bits, no outputs, no scale=vector and no `uniform`; tile=128x128 has more",
        layout->tile_m, layout->tile_n);
}

/* The last two, of 128 rows of D, are there where rows of the multiplication have scales of
 * their own, which would otherwise be those of columns. */
int jg_sm90a_count_transposed(const struct jg_product *product)
{
    const bool has_scaled_rows =
        jg_product_promotes_scales(product) &&
        product->a.scale.kind == JIT_GEMM_SCALE_BLOCK && product->a.scale.block_mn <= 1 &&
        (product->b.scale.kind != JIT_GEMM_SCALE_BLOCK || product->b.scale.block_mn > 1);
    return JG_SM90A_TRANSPOSED_TILES - (has_scaled_rows ? 0 : SCALED_ROWS_TILES) -
           (jg_product_promotes_scales(product) ? 0 : SCALED_TILES);
}

bool jg_sm90a_may_have_group_tiles(const struct jg_product *transposed)
{
    return jg_has_row_groups(transposed->group_by) &&
           transposed->group_by != JIT_GEMM_GROUP_BY_ROWS && !jg_sm90a_promotes(transposed);
}

/* The tiles of one kind of kernel. */
struct tiles {
    const struct jg_sm90a_pair *pairs;
    int count;
    const char *name; /* what names it in a config */
    struct jg_sm90a_pairs of_groups;
};

static struct tiles find_tiles(const struct jg_trial *trial)
{
    if (trial->product.d_is_transpose) {
        return (struct tiles){jg_sm90a_transposed_tiles,
                              jg_sm90a_count_transposed(&trial->product),
                              trial->config.layout.swap_ab != 0 ? " swap_ab=1"
                                                                : " swap_ab=0",
                              {jg_sm90a_group_tiles + COMMON_GROUP_TILES,
                               jg_sm90a_may_have_group_tiles(&trial->product)
                                   ? JG_SM90A_GROUP_TILES - COMMON_GROUP_TILES
                                   : 0}};
    }
    return trial->config.layout.pingpong != 0
               ? (struct tiles){jg_sm90a_pingpong_tiles,
                                JG_SM90A_PINGPONG_TILES,
                                " pingpong=1",
                                {NULL, 0}}
               : (struct tiles){jg_sm90a_tiles, JG_SM90A_TILES, "", {NULL, 0}};
}

/* Of an MN-major B a warpgroup has whole panels. */
static bool check_panels(struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const struct jg_matrix *b = &trial->product.b;
    const int columns = columns_of_warpgroup(trial);
    const int panel = 8 * JG_ROW_BYTES / jg_dtype_bits(b->dtype);
    if (!b->is_mn_major || columns % panel == 0) {
        return true;
    }
    return jg_trial_reject(
        trial,
        "tile=%dx%d swap_ab=%d: a warpgroup has %d columns; the multiplication's B, which is "
        "not K-major here, needs a multiple of %d",
        layout->tile_m, layout->tile_n, layout->swap_ab, columns, panel);
}

/* Has each warpgroup 128 columns of D, whose lanes are two steps of the epilogue? */
static bool has_wide_transpose(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    return trial->product.d_is_transpose && layout->tile_m == WIDE_TRANSPOSE_ROWS &&
           (layout->tile_n == WIDE_TRANSPOSE_ROWS / 2 ||
            layout->tile_n == NARROW_TRANSPOSE_COLUMNS);
}

/* A warpgroup has 64 columns of D, and 16 rows of it at least; or 128 of both, or 48 rows.
 */
static bool check_transposed(struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const int columns = columns_of_warpgroup(trial);
    if (!trial->product.d_is_transpose) {
        return true;
    }
    if (rows_of_d(trial) < TEAM_LANES || columns < JG_STORE_TILE_COLUMNS ||
        (rows_of_d(trial) > JG_SM90A_CONSUMERS * TEAM_LANES &&
         !has_wide_transpose(trial))) {
        return jg_trial_reject(
            trial,
            "tile=%dx%d swap_ab=%d: of a transposed product each accumulator of D has 64 or "
            "128 rows of a tile, and a warpgroup at least %d columns of it",
            layout->tile_m, layout->tile_n, layout->swap_ab, JG_STORE_TILE_COLUMNS);
    }
    return true;
}

static bool check_tile(struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const char *dtype = jg_dtype_name(trial->product.a.dtype);
    const struct tiles tiles = find_tiles(trial);
    if (!has_pair(tiles.pairs, tiles.count, layout->tile_m, layout->tile_n) &&
        !has_pair(tiles.of_groups.pairs, tiles.of_groups.count, layout->tile_m,
                  layout->tile_n)) {
        char list[160], of_groups[80] = "", few_columns[160];
        list_pairs(tiles.pairs, tiles.count, list, sizeof(list));
        list_pairs(tiles.of_groups.pairs, tiles.of_groups.count, of_groups,
                   sizeof(of_groups));
        list_pairs(jg_sm90a_transposed_tiles,
                   JG_SM90A_TRANSPOSED_TILES - SCALED_ROWS_TILES - SCALED_TILES,
                   few_columns, sizeof(few_columns));
        return jg_trial_reject(
            trial, "tile=%dx%d%s is none of the tiles of sm_90a: %s%s%s%s%s",
            layout->tile_m, layout->tile_n, tiles.name, list,
            tiles.of_groups.count > 0 ? "; of groups: " : "", of_groups,
            trial->product.d_is_transpose ? "" : "; of a transposed product: ",
            trial->product.d_is_transpose ? "" : few_columns);
    }
    if (layout->tile_k != jg_tile_k(&trial->product)) {
        return jg_trial_reject(
            trial, "tile=%dx%dx%d: the K of a tile of %s on sm_90a is %d", layout->tile_m,
            layout->tile_n, layout->tile_k, dtype, jg_tile_k(&trial->product));
    }
    if (jg_sm90a_promotes(&trial->product) &&
        columns_of_warpgroup(trial) > MAX_PROMOTED_COLUMNS) {
        return jg_trial_reject(
            trial,
            "tile=%dx%d: sums of %s are added up in a second set of registers, for which "
            "sm_90a has room up to %d columns of a warpgroup",
            layout->tile_m, layout->tile_n, dtype, MAX_PROMOTED_COLUMNS);
    }
    if (!check_transposed(trial) || !check_panels(trial) || !check_accumulators(trial)) {
        return false;
    }
    if (columns_of_warpgroup(trial) % COLUMNS_STEP != 0) {
        return jg_trial_reject(
            trial, "tile=%dx%d: a warpgroup has %d columns, and multiplies multiples of %d",
            layout->tile_m, layout->tile_n, columns_of_warpgroup(trial), COLUMNS_STEP);
    }
    return true;
}

/* Each half of a warpgroup's columns has an accumulator of a gated D; or each half of the
 * tile's rows, which a warpgroup multiplies 64 at a time. */
static bool check_gate(struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const struct jg_product *product = &trial->product;
    const int gate_columns = columns_of_d(trial);
    const struct jg_matrix *b = &product->b;
    const bool has_neighbours = jg_problem_has_neighbours(trial->problem);
    const int step = b->is_mn_major && !has_neighbours
                         ? 8 * JG_ROW_BYTES / jg_dtype_bits(b->dtype)
                         : JG_GATED_STEP;
    if (jg_product_gate_columns(product) > 1 && gate_columns % step != 0) {
        return jg_trial_reject(
            trial,
            "tile=%dx%d: half of a warpgroup's columns, %d, are no multiple of %d, as the "
            "pairs of a gated epilogue need",
            layout->tile_m, layout->tile_n, gate_columns, step);
    }
    if (jg_product_gate_rows(product) > 1 && has_neighbours) {
        return jg_trial_reject(trial,
                               JG_NEIGHBOURS_ALONG_M "give a K-major B, pair=halves, or %s",
                               jg_problem_neighbours_name(trial->problem),
                               product->d_is_transpose ? "swap_ab=0" : "a row-major D");
    }
    if (jg_product_gate_rows(product) > 1 && !product->d_is_transpose &&
        (rows_of_d(trial) < OUTPUT_ROWS || gate_columns % MMA_COLUMNS != 0)) {
        return jg_trial_reject(
            trial,
            "tile=%dx%d: of each accumulator of a gated, column-major D it has %d rows, and "
            "%d columns for a warpgroup, which multiplies 64 rows by a multiple of %d "
            "columns; tile=256x128, 128x256 and 128x128 fit",
            layout->tile_m, layout->tile_n, rows_of_d(trial), gate_columns, MMA_COLUMNS);
    }
    return true;
}

static bool is_part_cluster(const struct jg_config_layout *layout)
{
    const struct jg_part_cluster *one = jg_sm90a_part_clusters;
    while (one->m > 0 && (one->m != layout->cluster_m || one->n != layout->cluster_n)) {
        one++;
    }
    return one->m > 0;
}

static bool check_cluster(struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const struct jg_config_launch *launch = &trial->config.launch;
    const bool has_parts =
        launch->split_k > 1 && (launch->split_order == JG_SPLIT_CLUSTER ||
                                launch->split_order == JG_SPLIT_PARALLEL);
    if (has_parts ? is_part_cluster(layout)
                  : has_pair(jg_sm90a_clusters, JG_SM90A_CLUSTERS, layout->cluster_m,
                             layout->cluster_n)) {
        return jg_cluster_check(trial);
    }
    char list[96];
    list_pairs(jg_sm90a_clusters, JG_SM90A_CLUSTERS, list, sizeof(list));
    return jg_trial_reject(
        trial,
        "cluster=%dx%d is none of the clusters of sm_90a: %s; with parts of K: 2x2 4x1 4x2",
        layout->cluster_m, layout->cluster_n, list);
}

static bool check_stages(struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    char shape[32];
    snprintf(shape, sizeof(shape), "tile=%dx%d", layout->tile_m, layout->tile_n);
    const struct jg_smem smem = jg_sm90a_smem(trial);
    struct jg_stage_limits limits = jg_sm90a_stage_limits(trial);
    limits.shape = shape;
    return jg_stages_check(trial, &smem, &limits);
}

static int count_fraction_bits(const struct jg_trial *trial)
{
    return jg_dtype_is_fp8(trial->product.a.dtype)
               ? JG_SM90A_FP8_FRACTION_BITS
               : jg_dtype_sum_fraction_bits(trial->product.a.dtype);
}

/* A warpgroup has steps of 64 rows, and all columns of its rows unless those are halved; of
 * a transposed D it is the other way round. */
static struct jg_partial_results count_parts(const struct jg_trial *trial)
{
    const bool pingpong = trial->config.layout.pingpong != 0;
    const bool is_transpose = trial->product.d_is_transpose;
    const int halves = trial->config.layout.tile_n / columns_of_warpgroup(trial);
    const int steps = rows_of_d(trial) / OUTPUT_ROWS;
    return (struct jg_partial_results){.row = is_transpose ? steps : halves,
                                       .column = is_transpose ? halves : steps,
                                       .tensor = pingpong ? WARPGROUP_WARPS : MATH_WARPS};
}

/* C and matrix operands come through the ring of input tiles, or one of their own; through
 * one that a warp or more fill, or of which each warpgroup reads every other stage, nothing
 * else comes: what is theirs both read. Where a CTA has one tile, vectors are
 * faster than fragments that TMA stores (6.1 and 6.5 us for 1024^3 on an H100, while
 * 8192x8192x1024 takes 256 and 246), but not than those that warps store (5.48 and 5.36 us
 * on an H200). */
static struct jg_output choose_output(const struct jg_trial *trial)
{
    const bool pingpong = trial->config.layout.pingpong != 0;
    const bool loads_by_one =
        !jg_loads_by_threads(&trial->product) && !trial->product.has_row_boxes;
    const bool reads_all = trial->config.layout.k_turns != JG_K_TURNS_TAKEN;
    const int input_stages = loads_by_one && reads_all ? trial->config.pipeline.stages : 0;
    const struct jg_output_facts facts = {
        .columns = columns_of_d(trial),
        .ring_stages = pingpong ? count_load_stages(trial) : input_stages,
        .own_ring = pingpong,
        .reads_boxes = !trial->product.d_is_transpose &&
                       (trial->derived.waves > 1.0 || jg_sm90a_may_store_by_warps(trial)),
        .writes_boxes = !trial->product.d_is_transpose && trial->derived.waves > 1.0 &&
                        trial->config.storage.out_stages == JG_VECTOR_OUT_STAGES,
        .parts = count_parts(trial)};
    return jg_output_choose(trial, &facts);
}

/* Tiles that read the same, and how many times as large as the other input it is. */
enum { MOST_EVICTED_TILES = 2, LEAST_EVICTED_FACTOR = 8 };

bool jg_sm90a_streams_groups(const struct jg_product *product,
                             const struct jg_config_layout *layout)
{
    return product->d_is_transpose && jg_has_row_groups(product->group_by) &&
           !product->is_gated && !jg_loads_by_threads(product) &&
           2 * product->n.size <= (int64_t)layout->tile_n * layout->cluster_n;
}

/* Of weights that stream past few tokens: an H200 took 0.96 to 1.00 of the time where L2
 * gives them up before all else (bench/results/README.md). */
static enum jg_evict_first choose_evict_first(const struct jg_trial *trial)
{
    const struct jg_product *product = &trial->product;
    const struct jg_config_layout *layout = &trial->config.layout;
    const bool is_b = product->n.size > product->m.size;
    const int64_t smaller = jg_min(product->m.size, product->n.size);
    const int64_t larger = jg_max(product->m.size, product->n.size);
    const int tile =
        is_b ? layout->tile_m * layout->cluster_m : layout->tile_n * layout->cluster_n;
    if (jg_sm90a_streams_groups(product, layout)) {
        return JG_EVICT_FIRST_A;
    }
    if (product->is_gated || product->group_by != JIT_GEMM_GROUP_NONE ||
        jg_loads_by_threads(product) || smaller > (int64_t)MOST_EVICTED_TILES * tile ||
        larger < LEAST_EVICTED_FACTOR * smaller) {
        return JG_EVICT_FIRST_NONE;
    }
    return is_b ? JG_EVICT_FIRST_B : JG_EVICT_FIRST_A;
}

bool jg_sm90a_has_turned_shape(const struct jg_trial *trial)
{
    const struct jg_product *product = &trial->product;
    const struct jg_config_layout *layout = &trial->config.layout;
    return jg_has_row_groups(product->group_by) &&
           product->group_by != JIT_GEMM_GROUP_BY_ROWS && layout->cluster_m == 2 &&
           layout->cluster_n == 1 && !product->d_is_transpose;
}

/* May the last clusters of a group, whose second CTA has none of its rows, lie across them?
 * A fifth of the clusters of skewed groups are such. Reductions count tiles by rows of
 * whole clusters. */
static bool may_turn_last(const struct jg_trial *trial)
{
    return jg_sm90a_has_turned_shape(trial) && !trial->derived.output.reduces;
}

/* May entries of a last round be two each, one for the rows of each warpgroup? Results that
 * are counted or scaled by tiles need all of one. */
static bool may_halve_last(const struct jg_trial *trial)
{
    const struct jg_product *product = &trial->product;
    const struct jg_config *config = &trial->config;
    return jg_has_row_groups(product->group_by) &&
           product->group_by != JIT_GEMM_GROUP_BY_ROWS && !product->d_is_transpose &&
           config->launch.scheduler == JG_SCHEDULER_STATIC &&
           config->layout.pingpong == 0 && config->layout.tile_m >= 2 * OUTPUT_ROWS &&
           !trial->derived.output.reduces && product->d.scale.kind == JIT_GEMM_SCALE_NONE;
}

/* Do two tiles side by side end where N does? */
static bool has_whole_pairs(const struct jg_trial *trial)
{
    return trial->product.n.size % (2 * (int64_t)trial->config.layout.tile_n) == 0;
}

/* Staging buffers, partial sums and groups know one step of lanes of a transposed tile. */
static bool check_wide_transpose(struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    if (!has_wide_transpose(trial) ||
        (trial->derived.output.epilogue == JG_EPILOGUE_FRAGMENTS &&
         trial->config.launch.split_k == 1 && !trial->problem->is_gated &&
         trial->product.group_by == JIT_GEMM_GROUP_NONE &&
         !jg_loads_by_threads(&trial->product))) {
        return true;
    }
    return jg_trial_reject(
        trial,
        "tile=%dx%d swap_ab=%d: of a transposed product sm_90a has it where TMA loads and D "
        "is written from fragments, without C, pairs, groups and parts of K; tile=128x128 "
        "fits",
        layout->tile_m, layout->tile_n, layout->swap_ab);
}

bool jg_sm90a_derive(struct jg_trial *trial)
{
    jg_typical_sizes_assume(trial);
    const struct jg_team_columns columns = jg_sm90a_team_columns(trial);
    /* Cheapest first. */
    if (!jg_group_maps_check(trial) || !check_pingpong(trial) ||
        !jg_sm90a_check_turns(trial) || !check_square_scale(trial) || !check_tile(trial) ||
        !check_gate(trial) || !check_cluster(trial) || !jg_split_check(trial) ||
        !jg_groups_check(trial) || !jg_repack_check(trial) ||
        !jg_sm90a_check_resident(trial) || !check_stages(trial) ||
        !jg_out_stages_check(trial, &columns)) {
        return false;
    }
    const struct jg_smem smem = jg_sm90a_smem(trial);
    const int stages = trial->config.pipeline.stages;
    trial->derived = (struct jg_derived){.threads = THREADS,
                                         .smem_bytes = (int)jg_smem_bytes(&smem, stages),
                                         .max_registers = trial->config.launch.resident > 1
                                                              ? JG_SM90A_HALF_REGISTERS
                                                              : MAX_REGISTERS,
                                         .sum_fraction_bits = count_fraction_bits(trial)};
    trial->derived.scales_in_stages = jg_sm90a_has_scales_in_stages(trial);
    trial->derived.scale_slots =
        trial->derived.scales_in_stages
            ? stages
            : jg_scale_ring_of(&trial->product, &trial->config, JG_SM90A_OWN_SLOTS).slots;
    trial->derived.accumulate = trial->product.accumulate;
    trial->derived.promotes_sums = jg_sm90a_promotes(&trial->product);
    trial->derived.team_columns = columns.count;
    trial->derived.out_bytes = out_bytes(trial);
    trial->derived.sums_in_ring = has_sums_in_ring(trial);
    trial->derived.sums_bytes = jg_tile_sums_bytes(trial, &columns);
    trial->derived.output = choose_output(trial);
    trial->derived.turns_last = may_turn_last(trial);
    trial->derived.halves_last = may_halve_last(trial);
    trial->derived.passes_items = jg_sm90a_passes_items(trial);
    trial->derived.passes_loads = jg_sm90a_passes_loads(trial);
    trial->derived.k_turns = trial->config.layout.k_turns == JG_K_TURNS_TAKEN;
    trial->derived.row_warps = jg_sm90a_row_warps(trial, trial->derived.passes_items);
    trial->derived.scaled_blocks = jg_sm90a_scaled_blocks(trial);
    if (!jg_sm90a_check_column_scales(trial) || !check_wide_transpose(trial) ||
        !jg_tiles_count(trial)) {
        return false;
    }
    /* Once more: it is known how many tiles a CTA has. */
    trial->derived.output = choose_output(trial);
    trial->derived.shares_short = jg_sm90a_shares_short(trial);
    trial->derived.one_multiplies = jg_sm90a_one_multiplies(trial);
    trial->derived.lead_stages = jg_sm90a_lead_stages(trial);
    trial->derived.evict_first = choose_evict_first(trial);
    trial->derived.first_loads = jg_first_loads(trial);
    trial->derived.next_at_end = jg_sm90a_holds_next(trial);
    trial->derived.draws_ahead = jg_sm90a_draws_ahead(trial);
    trial->derived.reads_first = jg_sm90a_reads_first(trial);
    trial->derived.stores_by_warps =
        trial->derived.output.epilogue == JG_EPILOGUE_FRAGMENTS &&
        jg_sm90a_may_store_by_warps(trial);
    trial->derived.shifts_lines = jg_sm90a_shifts_lines(&trial->product);
    trial->derived.output.whole_cols &=
        !trial->derived.turns_last || has_whole_pairs(trial);
    size_boxes(trial);
    if (!jg_groups_complete(trial)) {
        return false;
    }
    jg_sm90a_predict(trial);
    return true;
}
