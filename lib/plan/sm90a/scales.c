/* SPDX-License-Identifier: MIT */
#include <ctype.h>

#include "base/math.h"
#include "plan/scale.h"
#include "plan/sm90a/sm90a.h"

enum {
    MAX_SHARED_SCALED_COLUMNS = 96, /* with scales of their own, in clusters along N */
    MAX_SCALED_TILE = 128, /* rows and columns, where these have scales of their own */
    MAX_WIDE_COLUMNS =
        160,          /* of a warpgroup's 64 rows, where nothing else needs registers */
    WARP_ROWS = 32,   /* a row of each lane */
    LEAST_ROWS = 128, /* of a tile: fewer are copied as fast, one by one */
    MOST_OF_BOTH = 256,
    SPARE_WARPS = 3 /* beside the one that loads tiles, less those of items */
};

/* Rows of the tile, or columns, whose f32 scales lie row by row. */
static int count_rows(const struct jg_product *product, const struct jg_matrix *matrix,
                      int rows)
{
    const jit_gemm_scale *scale = &matrix->scale;
    const bool has_own = scale->kind == JIT_GEMM_SCALE_BLOCK && scale->block_mn == 1 &&
                         scale->layout == JIT_GEMM_SCALE_LAYOUT_ROW;
    const bool is_indexed =
        product->a_rows == JIT_GEMM_ROWS_INDEXED && matrix->letter == 'a';
    return has_own && !is_indexed && rows >= WARP_ROWS ? rows : 0;
}

/* Has a warp scales to copy one by one? */
static bool is_copied(const struct jg_matrix *matrix, int rows)
{
    return matrix->scale.kind == JIT_GEMM_SCALE_BLOCK && rows == 0;
}

struct jg_row_warps jg_sm90a_row_warps(const struct jg_trial *trial, bool passes_items)
{
    const struct jg_product *product = &trial->product;
    if (jg_shares_scale_copies(product, &trial->config)) {
        return (struct jg_row_warps){.copies = JG_SCALE_COPY_WARPS};
    }
    const int all_a = count_rows(product, &product->a, trial->config.layout.tile_m);
    const int b = count_rows(product, &product->b, trial->config.layout.tile_n);
    /* Of both in 256x128 those of A are copied one by one: by warps for both the loop that
     * multiplies has other registers, 1.02 to 1.06 of the time of copies for both on an
     * H200, and 0.92 by warps for B alone. Not measured with other tiles and items. */
    const bool both_large = all_a > 0 && b > 0 && all_a + b > MOST_OF_BOTH;
    const int a = both_large ? 0 : all_a;
    if (!jg_product_promotes_scales(product) || jg_loads_by_threads(product) ||
        a + b < LEAST_ROWS || (both_large && (passes_items || b > all_a))) {
        return (struct jg_row_warps){.copies = 1};
    }
    const bool copies = is_copied(&product->a, a) || is_copied(&product->b, b);
    const int warps = SPARE_WARPS - (passes_items ? 1 : 0) - (copies ? 1 : 0);
    const int of_a = a == 0 ? 0 : b == 0 ? warps : a < b ? 1 : warps - 1;
    return (struct jg_row_warps){
        .copies = 1,
        .a = (int)jg_min(of_a, jg_ceil_div(a, WARP_ROWS)),
        .b = b == 0 ? 0 : (int)jg_min(warps - of_a, jg_ceil_div(b, WARP_ROWS))};
}

bool jg_sm90a_are_sizes_dynamic(const struct jg_product *product)
{
    return product->m.mode == JIT_GEMM_DIM_DYNAMIC &&
           product->n.mode == JIT_GEMM_DIM_DYNAMIC &&
           product->k.mode == JIT_GEMM_DIM_DYNAMIC;
}

/* Is there room for 32 scales of columns beside a warpgroup's 128 rows, or for 40 beside 64
 * rows, which are read where they are used? What else was tried spills. 400x5120x5120 took
 * 29.9 us in 128x160, and 36.4 in 64x160 (2026-11-27-h200-overlapped-blocks.jsonl). */
static bool has_plain_rows(const struct jg_trial *trial)
{
    const struct jg_product *product = &trial->product;
    const struct jg_config_layout *layout = &trial->config.layout;
    const bool has_wide =
        layout->tile_m == MAX_SCALED_TILE && product->group_by == JIT_GEMM_GROUP_NONE &&
        product->a_rows != JIT_GEMM_ROWS_INDEXED && !jg_sm90a_are_sizes_dynamic(product);
    return layout->tile_n <= (has_wide ? MAX_WIDE_COLUMNS : MAX_SCALED_TILE) &&
           product->a.scale.block_mn <= 1 && !trial->problem->is_gated &&
           trial->problem->c.dtype == JIT_GEMM_DTYPE_NONE &&
           trial->derived.output.epilogue == JG_EPILOGUE_FRAGMENTS &&
           !jg_loads_by_threads(product);
}

bool jg_sm90a_check_column_scales(struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const struct jg_matrix *b = &trial->product.b;
    if (b->scale.kind != JIT_GEMM_SCALE_BLOCK || b->scale.block_mn > 1) {
        return true;
    }
    if (layout->cluster_n > 1 && layout->tile_n > MAX_SHARED_SCALED_COLUMNS &&
        jg_sm90a_are_sizes_dynamic(&trial->product)) {
        return jg_trial_reject(
            trial,
            "tile=%dx%d cluster=%dx%d: each column of %c has scales of its own, for which "
            "sm_90a has registers up to %d columns where all sizes are dynamic and a cluster "
            "has several tiles of columns; cluster=2x1 fits",
            layout->tile_m, layout->tile_n, layout->cluster_m, layout->cluster_n,
            toupper(b->letter), MAX_SHARED_SCALED_COLUMNS);
    }
    if (layout->k_turns == JG_K_TURNS_TAKEN ||
        (layout->tile_m <= MAX_SCALED_TILE && layout->tile_n <= MAX_SCALED_TILE) ||
        has_plain_rows(trial)) {
        return true;
    }
    return jg_trial_reject(
        trial,
        "tile=%dx%d: each column of %c has scales of its own, for which sm_90a has "
        "registers up to tile=%dx%d, or tile=64x160 k_turns=1, or tile=256x128 and 128x160 "
        "where each row has, too, or none, TMA loads, and D is written from fragments, "
        "without C and pairs",
        layout->tile_m, layout->tile_n, toupper(b->letter), MAX_SCALED_TILE,
        MAX_SCALED_TILE);
}
