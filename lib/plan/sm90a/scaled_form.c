/* SPDX-License-Identifier: MIT */
/* How math warpgroups go from one block of K to the next where sums are multiplied by
 * scales of blocks, and where these wait for them: what the kernel is told
 * (jg/sm90a/scale_reader.cuh). */
#include "base/math.h"
#include "plan/groups.h"
#include "plan/output.h"
#include "plan/sm90a/sm90a.h"

/* Columns of a warpgroup. */
enum { WIDE_COLUMNS = 128, ODD_COLUMNS = 112, BEHIND_COLUMNS = 96, NARROW_COLUMNS = 64 };

enum { PAIR_ROWS = 64 * JG_SM90A_CONSUMERS }; /* 64 of each math warpgroup */

bool jg_sm90a_has_column_scales(const struct jg_product *product)
{
    return product->b.scale.kind == JIT_GEMM_SCALE_BLOCK && product->b.scale.block_mn <= 1;
}

int jg_sm90a_row_blocks(const struct jg_trial *trial)
{
    const int rows = trial->config.layout.tile_m / jg_product_gate_rows(&trial->product);
    return (int)jg_max(rows / PAIR_ROWS, 1);
}

static bool takes_turns(const struct jg_trial *trial)
{
    return trial->config.layout.k_turns == JG_K_TURNS_TAKEN;
}

int jg_sm90a_multiplied_columns(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const int gate_rows = jg_product_gate_rows(&trial->product);
    const bool shares_columns =
        layout->tile_m / gate_rows < PAIR_ROWS && !takes_turns(trial);
    return layout->tile_n / (shares_columns ? JG_SM90A_CONSUMERS : 1);
}

/* Where they are read the assembler takes other registers for 128 columns that have scales
 * of their own. */
static bool has_constant_sizes(const struct jg_product *product)
{
    return product->group_by == JIT_GEMM_GROUP_NONE &&
           product->m.mode != JIT_GEMM_DIM_DYNAMIC &&
           product->n.mode != JIT_GEMM_DIM_DYNAMIC &&
           product->k.mode != JIT_GEMM_DIM_DYNAMIC;
}

/*
 * Many columns with scales of their own: are those of the next block read while the tensor
 * core has this one, behind this one's factors? On an H200 384x4096x7168 took 0.93 of the
 * time in 128x96 beside an overlap (0.97 by rows), 448x4096x7168 0.98 in 128x112, groups
 * 0.67 and 0.80 in these, dynamic sizes 0.77; 256x1024x7168 in four parts of K 0.88 in
 * 128x128, 512x2048x7168 0.95 in 64x128 in turn, but 1.07 where several warps bring scales
 * that lie by rows; 128x128 without parts 0.96 of reads before the products where stages
 * have the scales, 0.98 to 1.03 where a ring has them; narrower tiles in turn took 1.00
 * to 1.03.
 */
static bool reads_behind(const struct jg_trial *trial, int columns)
{
    const struct jg_row_warps *warps = &trial->derived.row_warps;
    const bool is_wide = columns == WIDE_COLUMNS && has_constant_sizes(&trial->product);
    if (!jg_sm90a_has_column_scales(&trial->product)) {
        return false;
    }
    if (takes_turns(trial)) {
        return is_wide && warps->copies + warps->a + warps->b == 1;
    }
    return trial->config.layout.tile_m >= PAIR_ROWS &&
           ((columns >= BEHIND_COLUMNS && columns <= ODD_COLUMNS) ||
            (is_wide &&
             (trial->config.launch.split_k > 1 || jg_sm90a_has_scales_in_stages(trial))));
}

/*
 * Has the tensor core the next block's products while this one's are added up? They are in
 * registers of their own, and the warpgroup holds two stages. For the scales of 128 columns
 * there is no room beside them, so that they are read where they are used: on an H200 that
 * took 1.05 of the time in 128x128, and 0.92 in 64x128 in turn. With few scales 64x128 in
 * turn took 1.06 of the time with an overlap (256x4096x7168), and 128x128 0.89. Beside
 * groups and where all sizes are read those of more than 64 columns were seen to spill.
 */
static bool overlaps(const struct jg_trial *trial, int columns)
{
    const bool has_few = !jg_sm90a_has_column_scales(&trial->product);
    const bool has_room = has_few || columns <= NARROW_COLUMNS ||
                          (trial->product.group_by == JIT_GEMM_GROUP_NONE &&
                           !jg_sm90a_are_sizes_dynamic(&trial->product));
    const int ways = takes_turns(trial) ? JG_SM90A_CONSUMERS : 1;
    return has_room && trial->config.pipeline.stages >= 2 * ways &&
           (columns <= ODD_COLUMNS ||
            (columns == WIDE_COLUMNS && has_few != takes_turns(trial)));
}

/* Are the places of 128 columns' scales kept from block to block? 128x128 took 0.95 to 0.97
 * of the time so on an H200, of groups 1.12, and of dynamic sizes 1.10 to 1.13. */
static bool keeps_places(const struct jg_trial *trial, int columns)
{
    return columns == WIDE_COLUMNS && jg_sm90a_has_column_scales(&trial->product) &&
           has_constant_sizes(&trial->product) && !takes_turns(trial) &&
           trial->config.launch.split_k <= 1;
}

enum jg_scaled_blocks jg_sm90a_scaled_blocks(const struct jg_trial *trial)
{
    const int columns = jg_sm90a_multiplied_columns(trial);
    const bool has_one =
        jg_sm90a_row_blocks(trial) == 1 && jg_product_gate_rows(&trial->product) == 1;
    if (!jg_product_promotes_scales(&trial->product) || !has_one) {
        return JG_SCALED_WAITED;
    }
    return reads_behind(trial, columns)   ? JG_SCALED_BEHIND
           : overlaps(trial, columns)     ? JG_SCALED_OVERLAPPED
           : keeps_places(trial, columns) ? JG_SCALED_PLACED
                                          : JG_SCALED_WAITED;
}

static bool lies_by_rows(const struct jg_matrix *matrix)
{
    const jit_gemm_scale *scale = &matrix->scale;
    return scale->kind == JIT_GEMM_SCALE_BLOCK && scale->block_mn == 1 &&
           scale->layout == JIT_GEMM_SCALE_LAYOUT_ROW;
}

/* Do all columns, or one block of K after the other, depend on what a launch says? */
static bool reads_sizes(const struct jg_product *product)
{
    return product->n.mode == JIT_GEMM_DIM_DYNAMIC ||
           product->k.mode == JIT_GEMM_DIM_DYNAMIC;
}

/*
 * Are scales part of a stage, which is full when they are there, too? Then there is one
 * wait and one release for both. On an H200 512x4096x7168 took 0.96 of the time in 128x128,
 * 8192^3 0.96 and 4096x4096x7168 0.97 in 256x128, 432x3584x3584 0.95 in 256x48, groups 0.93
 * in 128x96. Not where a ring of their own is read ahead of the tiles' or by several warps
 * in turn; nor where something else comes through the tiles' ring, behind the last block of
 * K. Where the loop reads its sizes the assembler takes other registers: all dynamic 1.28
 * in 128x128 and 1.09 in 128x112. In clusters 128x128 took 1.09. Warps that bring rows of
 * them in tiles of 128 rows have a slot later so than one of their own: 128x96 1.04,
 * 128x128 1.025, 256x128 0.99.
 */
bool jg_sm90a_has_scales_in_stages(const struct jg_trial *trial)
{
    const struct jg_product *product = &trial->product;
    const struct jg_config_layout *layout = &trial->config.layout;
    const int columns = jg_sm90a_multiplied_columns(trial);
    const bool is_alone = layout->cluster_m == 1 && layout->cluster_n == 1;
    const bool has_rows = lies_by_rows(&product->a) || lies_by_rows(&product->b);
    return jg_product_promotes_scales(product) && jg_sm90a_has_column_scales(product) &&
           !takes_turns(trial) && !product->is_gated && !reads_sizes(product) &&
           !jg_loads_by_threads(product) && jg_output_loads(trial->problem) == 0 &&
           layout->tile_m >= PAIR_ROWS && columns <= WIDE_COLUMNS &&
           (jg_sm90a_row_blocks(trial) > 1 ||
            (columns >= BEHIND_COLUMNS && is_alone && !has_rows));
}
