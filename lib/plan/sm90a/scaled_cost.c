/* SPDX-License-Identifier: MIT */
/* What Hopper's math warpgroups take to multiply sums by scales of blocks. */
#include "base/math.h"
#include "plan/cost.h"
#include "plan/groups.h"
#include "plan/sm90a/sm90a.h"
#include "plan/typical_sizes.h"

/* What a warpgroup takes for each 64 rows of a block of K, from their products' beginning
 * to the sums' end, and for each of its columns more, also where these have scales of their
 * own; and the part of it that the second 64 rows take, which hide less where all columns
 * have products of scales. An instruction with three register operands takes time of the
 * tensor core, too. Fitted to 16 runs on an H200 (2026-11-26-h200-column-scales.jsonl), and
 * columns with scales of their own to the runs of 128x96 to 128x160 and 256x128 in
 * 2026-11-28-h200-block-choices.jsonl: 50 choices that changed took 0.973. */
#define SCALED_PART_CLK        190.0
#define SCALED_COLUMN_CLK      4.5
#define SCALED_OWN_COLUMN_CLK  6.15
#define SCALED_SECOND_PART     0.72
#define SCALED_OWN_SECOND_PART 0.88
/* The first of these where the scales of the next block are read behind this one's
 * products. Parts of K gain less by it: four of their choices took 1.05 to 1.09 of others.
 */
#define SCALED_BEHIND_PART_CLK 130.0
/* Of 128 columns where a kernel does not know where scales are from block to block. */
#define SCALED_UNPLACED 1.04
/* Where the tensor core has the next block meanwhile: of a tile, for a block and for each
 * of its elements, by both warpgroups together; and the least that a warpgroup takes for
 * its block, and for each column more. Fitted, as what blocks in turn take of tiles that
 * are too wide for it, to half of 390 runs of 43 problems, whose choices lose 0.2 percent,
 * and of the other half 1.3 (2026-11-27-h200-overlapped-blocks.jsonl). */
#define OVERLAPPED_CLK       60.0
#define OVERLAPPED_ELEM      0.041
#define OVERLAPPED_OWN_ELEM  0.057
#define OVERLAPPED_HALF_ELEM 0.037 /* where warpgroups divide a tile, with few scales */
#define OVERLAPPED_WIDE_ELEM 0.034 /* of 128 columns of a warpgroup, with few scales */
/* What 112 columns take for an element of what others do, in long K: 300x4096x7168 37.3 us
 * in 128x112 and 28.1 in 128x96, 4096^3 150 in 128x112 and 121 in 128x128 (1x128 and
 * 128x128); 448x4096x7168 1.01, 0.99 and 0.97 of it in 128x128 in three runs; in short K
 * 0.81 and 0.86 of what 1.19 says, where others are 0.87
 * (2026-11-28-h200-row-words.jsonl). With scales of both none, since these have six slots.
 */
#define OVERLAPPED_ODD_PART 1.12
/* ... and 128x64 with scales of both, of 64x128 in turn: 1.04 to 1.08 in three problems
 * (2026-11-28-h200-row-words.jsonl). */
#define OVERLAPPED_NARROW_PART 1.06
#define OVERLAPPED_LEAST_CLK   340.0
#define OVERLAPPED_COLUMN_CLK  2.5
#define TURNS_PART             0.93
/* A tile after a CTA's first one in turn: 0.5 to 1.1 us more of six problems of K = 1152 to
 * 1792 (2026-11-28-h200-row-words.jsonl). */
#define NEXT_TURNS_CLK 1400.0

/* Of a row whose scales lie by rows and are copied one by one: 256x48 with 1x128 of both
 * took 1230 clocks a block so (432x3584x3584 22.1 us, by columns 17.8), 64x64 and 64x96 in
 * turn 575 and 670 of 128 and 160 rows (2026-11-27-h200-narrow-tiles.jsonl). */
#define COPIED_ROW_CLK 4.7

/* The part of what is drawn that 128x64 transposed takes where groups have few rows, which
 * are its columns: of 22 problems of 36 to 64 rows on an H200 0.91 to 0.97 of the time of
 * 64x128 in clusters of two with scales of 1x128 of both, which draw less, and 0.97 to 1.00
 * with 1x128 and 128x128 (2026-11-28-h200-groups-turns.jsonl). */
#define STREAMED_WEIGHTS_DRAW 0.80

/* Columns of a warpgroup. */
enum { WIDE_COLUMNS = 128, ODD_COLUMNS = 112, NARROW_COLUMNS = 64 };

/* `columns`: of a warpgroup. */
static double count_overlapped_clk(const struct jg_trial *trial, int columns)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const int ways = layout->k_turns == JG_K_TURNS_TAKEN ? JG_SM90A_CONSUMERS : 1;
    const double elem_clk = jg_sm90a_has_column_scales(&trial->product)
                                ? OVERLAPPED_OWN_ELEM
                            : columns == WIDE_COLUMNS ? OVERLAPPED_WIDE_ELEM
                            : ways == 1               ? OVERLAPPED_HALF_ELEM
                                                      : OVERLAPPED_ELEM;
    const double least_clk = OVERLAPPED_LEAST_CLK + columns * OVERLAPPED_COLUMN_CLK;
    const bool has_few = !jg_sm90a_has_column_scales(&trial->product);
    const bool is_odd = columns == ODD_COLUMNS && (has_few || trial->product.is_gated);
    const bool is_narrow = columns == NARROW_COLUMNS && ways == 1 && !has_few;
    const double part = is_odd      ? OVERLAPPED_ODD_PART
                        : is_narrow ? OVERLAPPED_NARROW_PART
                                    : 1.0;
    return jg_larger(OVERLAPPED_CLK +
                         (double)layout->tile_m * layout->tile_n * elem_clk * part,
                     least_clk / ways);
}

/* Rows of a matrix whose scales no warp reads several at a time. */
static int count_copied(const struct jg_matrix *matrix, int rows, int warps)
{
    const jit_gemm_scale *scale = &matrix->scale;
    const bool by_rows = scale->kind == JIT_GEMM_SCALE_BLOCK && scale->block_mn == 1 &&
                         scale->layout == JIT_GEMM_SCALE_LAYOUT_ROW;
    return by_rows && warps == 0 ? rows : 0;
}

/* What the warp takes that copies a block's scales. */
static double count_copied_clk(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const struct jg_row_warps *warps = &trial->derived.row_warps;
    if (trial->product.a_rows == JIT_GEMM_ROWS_INDEXED) {
        return 0.0;
    }
    return COPIED_ROW_CLK / (double)jg_max(warps->copies, 1) *
           (count_copied(&trial->product.a, layout->tile_m, warps->a) +
            count_copied(&trial->product.b, layout->tile_n, warps->b));
}

double jg_sm90a_next_turns_clk(const struct jg_trial *trial, double rounds)
{
    const bool turns = trial->config.layout.k_turns == JG_K_TURNS_TAKEN;
    return turns ? (rounds - 1.0) * NEXT_TURNS_CLK : 0.0;
}

/* Where a block's products are done before the next ones begin. `columns`: as if blocks
 * were not had in turn. */
static double count_waited_clk(const struct jg_trial *trial, int columns)
{
    const enum jg_scaled_blocks form = trial->derived.scaled_blocks;
    const struct jg_product *product = &trial->product;
    const int parts = jg_sm90a_row_blocks(trial) * jg_product_gate_rows(product);
    const bool is_own = jg_sm90a_has_column_scales(product);
    const bool has_one = parts == 1 && trial->config.layout.k_turns != JG_K_TURNS_TAKEN;
    /* 128 columns gained by it what 256x128 has gained since stages have the scales. */
    const bool is_behind = has_one && trial->config.launch.split_k == 1 &&
                           form == JG_SCALED_BEHIND && columns < WIDE_COLUMNS;
    const bool is_unplaced =
        has_one && is_own && columns == WIDE_COLUMNS && form == JG_SCALED_WAITED;
    const double part_clk = (is_behind ? SCALED_BEHIND_PART_CLK : SCALED_PART_CLK) +
                            columns * (is_own ? SCALED_OWN_COLUMN_CLK : SCALED_COLUMN_CLK);
    const double second_part = is_own ? SCALED_OWN_SECOND_PART : SCALED_SECOND_PART;
    return part_clk * (1.0 + second_part * (parts - 1)) *
           (is_unplaced ? SCALED_UNPLACED : 1.0);
}

double jg_sm90a_scaled_clk(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const bool turns = layout->k_turns == JG_K_TURNS_TAKEN;
    const int columns = jg_sm90a_multiplied_columns(trial);
    if (!jg_product_promotes_scales(&trial->product)) {
        return 0.0;
    }
    if (trial->derived.scaled_blocks == JG_SCALED_OVERLAPPED) {
        return jg_larger(count_overlapped_clk(trial, columns), count_copied_clk(trial));
    }
    const double waited_clk =
        turns ? count_waited_clk(trial, columns / JG_SM90A_CONSUMERS) * TURNS_PART
              : count_waited_clk(trial, columns);
    return jg_larger(waited_clk, count_copied_clk(trial));
}

/* Tiles of more rows, and other products, are fitted without. */
bool jg_sm90a_scaled_lies_across(const struct jg_trial *trial)
{
    const int tile_m = trial->config.layout.tile_m;
    return tile_m < 64 * JG_SM90A_CONSUMERS &&
           jg_product_promotes_scales(&trial->product) && trial->derived.turns_last &&
           jg_plans_sizes(trial) && jg_sm90a_has_tile_each(trial->sizes, tile_m);
}

double jg_sm90a_scaled_draw(const struct jg_trial *trial)
{
    const struct jg_product *product = &trial->product;
    const struct jg_config_layout *layout = &trial->config.layout;
    const bool streams_weights =
        product->d_is_transpose && jg_has_row_groups(product->group_by) &&
        jg_product_promotes_scales(product) && layout->tile_m == 64 * JG_SM90A_CONSUMERS &&
        layout->tile_n <= NARROW_COLUMNS;
    return streams_weights ? STREAMED_WEIGHTS_DRAW : 1.0;
}
