/* SPDX-License-Identifier: MIT */
/* Cells of tensor memory for scales that the tensor core multiplies by, as the kernel lays
 * them (kernel_src/jg/sm100a/scale_tiles.cuh). */
#include "base/math.h"
#include "plan/scale.h"
#include "plan/sm100a/sm100a.h"

enum {
    PIECE_COLUMNS = 4, /* of tensor memory, for a piece of 128 rows by 4 blocks of K */
    PIECE_BLOCKS = 4
};

/* Pieces that a tile of so many columns touches at most. It begins at a multiple of the
 * greatest power of two in them. */
static int count_pieces(int columns)
{
    const int step = columns & -columns;
    const int last = step < JG_SCALE_PIECE_ROWS ? JG_SCALE_PIECE_ROWS - step : 0;
    return (int)jg_ceil_div(last + columns, JG_SCALE_PIECE_ROWS);
}

static int count_halves_of_b(const struct jg_product *product)
{
    return jg_product_scales_halves(product) ? 2 : 1;
}

struct jg_box jg_sm100a_scale_box(const struct jg_product *product, int columns)
{
    const int blocks = jg_tile_k(product) / (int)product->a.scale.block_k;
    return (struct jg_box){.rows = count_pieces(columns / count_halves_of_b(product)),
                           .row_bytes = (int)jg_ceil_div(blocks, PIECE_BLOCKS) *
                                        JG_SCALE_PIECE_BYTES};
}

int jg_sm100a_scale_columns(const struct jg_product *product,
                            const struct jg_config *config)
{
    if (!jg_product_is_block_scaled(product)) {
        return 0;
    }
    const struct jg_box box = jg_sm100a_scale_box(product, config->layout.mma_n);
    return box.row_bytes / JG_SCALE_PIECE_BYTES * PIECE_COLUMNS *
           (jg_product_gate_rows(product) + count_halves_of_b(product) * box.rows);
}
