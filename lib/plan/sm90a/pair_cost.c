/* SPDX-License-Identifier: MIT */
/* What Hopper's math warpgroups read for products of pairs of columns that lie transposed.
 */
#include "plan/cost.h"
#include "plan/sm90a/sm90a.h"

/* Rows of one multiplication, and what shared memory gives it. */
#define MMA_ROWS         64
#define SHARED_BYTES_CLK 128.0

/* Do weights come from memory and pass once? Reads of shared memory hide behind that:
 * 16x13312x16384 took 103 us in 128x32, which reads more, and 109 in 256x16. */
static bool streams_once(const struct jg_trial *trial)
{
    const struct jg_product *product = &trial->product;
    const double bytes = (double)(product->m.size + product->n.size) *
                         (double)product->k.size * (double)product->batch.size *
                         jg_dtype_bits(product->a.dtype) / 8.0;
    return product->n.size <= trial->config.layout.tile_n &&
           bytes > (double)trial->facts->l2_bytes;
}

/*
 * A warpgroup multiplies rows of one accumulator, then of the other, by its columns, and
 * reads both operands for each. Where D has 64 rows of the tile, both warpgroups read all
 * rows of A: 384 clocks in 128x64, whose products take 256. 1024x1024x4096 took 17.2 us
 * there and 14.8 in 64x128, where 15.5 were said of both; 44 choices that change with it
 * took 0.93 of the time on average (2026-11-28-h200-gated-tiles.jsonl).
 */
double jg_sm90a_pair_reads_clk(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const int gate_rows = jg_product_gate_rows(&trial->product);
    const int readers = layout->pingpong != 0 ? 1 : JG_SM90A_CONSUMERS;
    const bool shares_columns = layout->tile_m / gate_rows < MMA_ROWS * readers;
    const int columns = layout->tile_n / (shares_columns ? readers : 1);
    const int parts = layout->tile_m / (shares_columns ? MMA_ROWS : MMA_ROWS * readers);
    const double row_bytes = JG_ROW_BYTES;
    if (gate_rows == 1 || streams_once(trial)) {
        return 0.0;
    }
    return readers * parts * (MMA_ROWS + columns) * row_bytes / SHARED_BYTES_CLK;
}
