/* SPDX-License-Identifier: MIT */
/* Columns of tensor memory: of accumulators (kernel_src/jg/sm100a/tmem.cuh), and cells for
 * scales that the tensor core multiplies by (scale_tiles.cuh). */
#include "base/math.h"
#include "plan/scale.h"
#include "plan/sm100a/sm100a.h"

enum {
    PIECE_COLUMNS = 4, /* of tensor memory, for a piece of 128 rows by 4 blocks of K */
    PIECE_BLOCKS = 4,
    TMEM_STEP = 32,    /* columns that are allocated at least */
    SHARED_STEP = 64,  /* columns of a step of the epilogue */
    LEAST_CELLS = 2,   /* of scales: one is filled while another is read */
    ENOUGH_STAGES = 5, /* with a cell of scales each; fewer take turns with the cells */
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

/* Of an accumulator, or of promoted sums. */
static int count_pitch(const struct jg_product *product, const struct jg_config *config)
{
    const int64_t mmas = jg_product_gate_rows(product); /* an accumulator each */
    return (int)jg_align_up(mmas * jg_sm100a_lanes(config).columns, TMEM_STEP);
}

int jg_sm100a_shared_columns(const struct jg_product *product,
                             const struct jg_config *config)
{
    const int pitch = count_pitch(product, config);
    const int scales = LEAST_CELLS * jg_sm100a_scale_columns(product, config);
    if (scales == 0 || config->storage.acc_stages < 2 || product->is_gated) {
        return 0;
    }
    for (int shared = 0; shared <= pitch / 2; shared += SHARED_STEP) {
        if (2 * pitch - shared + scales <= JG_SM100A_TMEM_COLUMNS) {
            return shared;
        }
    }
    return 0;
}

/* Columns of tensor memory of accumulators, and of promoted sums beside them. */
static int count_sum_columns(const struct jg_product *product,
                             const struct jg_config *config)
{
    const int sums = jg_product_promotes_scales(product) ? 1 : 0;
    return count_pitch(product, config) * (config->storage.acc_stages + sums) -
           jg_sm100a_shared_columns(product, config);
}

/* Cells for which tensor memory has room. */
static int count_scale_room(const struct jg_product *product,
                            const struct jg_config *config)
{
    const int scales = jg_sm100a_scale_columns(product, config);
    const int room = JG_SM100A_TMEM_COLUMNS - count_sum_columns(product, config);
    return scales > 0 && room > 0 ? room / scales : 0;
}

int jg_sm100a_scale_cells(const struct jg_product *product, const struct jg_config *config)
{
    return (int)jg_min(config->pipeline.stages, count_scale_room(product, config));
}

int jg_sm100a_scaled_stages(const struct jg_trial *trial)
{
    const int room = count_scale_room(&trial->product, &trial->config);
    return jg_product_is_block_scaled(&trial->product) && room >= ENOUGH_STAGES
               ? room
               : JG_SM100A_MAX_STAGES;
}

int jg_sm100a_tmem_columns(const struct jg_product *product, const struct jg_config *config)
{
    /* Less than two cells are refused by this number. */
    const int cells = (int)jg_max(jg_sm100a_scale_cells(product, config), LEAST_CELLS);
    const int scales = cells * jg_sm100a_scale_columns(product, config);
    int columns = TMEM_STEP;
    while (columns < count_sum_columns(product, config) + scales) {
        columns *= 2;
    }
    return columns;
}
