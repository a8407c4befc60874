/* SPDX-License-Identifier: MIT */
#include "base/math.h"
#include "plan/scale.h"
#include "plan/sm90a/sm90a.h"

enum {
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
    const int all_a = count_rows(product, &product->a, trial->config.layout.tile_m);
    const int b = count_rows(product, &product->b, trial->config.layout.tile_n);
    /* Of both in 256x128 those of A are copied one by one: by warps for both the loop that
     * multiplies has other registers, 1.02 to 1.06 of the time of copies for both on an
     * H200, and 0.92 by warps for B alone. Not measured with other tiles and items. */
    const bool both_large = all_a > 0 && b > 0 && all_a + b > MOST_OF_BOTH;
    const int a = both_large ? 0 : all_a;
    if (!jg_product_promotes_scales(product) || jg_loads_by_threads(product) ||
        a + b < LEAST_ROWS || (both_large && (passes_items || b > all_a))) {
        return (struct jg_row_warps){0};
    }
    const bool copies = is_copied(&product->a, a) || is_copied(&product->b, b);
    const int warps = SPARE_WARPS - (passes_items ? 1 : 0) - (copies ? 1 : 0);
    const int of_a = a == 0 ? 0 : b == 0 ? warps : a < b ? 1 : warps - 1;
    return (struct jg_row_warps){
        .a = (int)jg_min(of_a, jg_ceil_div(a, WARP_ROWS)),
        .b = b == 0 ? 0 : (int)jg_min(warps - of_a, jg_ceil_div(b, WARP_ROWS))};
}
