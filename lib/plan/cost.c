/* SPDX-License-Identifier: MIT */
#include "plan/cost.h"

#include "plan/group_maps.h"
#include "plan/repack.h"
#include "plan/rows.h"
#include "plan/scale_pack.h"

/* Part of the lesser of two overlapping costs that still shows. */
#define OVERLAP_LOSS 0.2

/* Of a kernel that copies A and B, or packs scales: until its grid runs and the next one
 * has begun to read (an estimate; 1 and 4 us too many at 1023^3 and 2047^3 on an H200), and
 * for a warp's piece of a row, however short, among those of the whole device (100 batches
 * of 128x128x127 there). */
#define REPACK_LAUNCH_US 3.0
#define REPACK_UNIT_US   0.0004
/* A map of a group, of all that the device's warps write at once (an estimate). */
#define GROUP_MAP_US 0.002

/* The part of a stage that threads load. */
static double part_of_threads(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const struct jg_product *product = &trial->product;
    const int of_a = product->a.letter == 'a' ? layout->tile_m : layout->tile_n;
    return product->a_rows != JIT_GEMM_ROWS_INDEXED ||
                   product->a.alignment < JG_TMA_ALIGNMENT
               ? 1.0
               : (double)of_a / (layout->tile_m + layout->tile_n);
}

double jg_thread_loads_clk(const struct jg_trial *trial, double stage_bytes)
{
    const struct jg_product *product = &trial->product;
    enum {
        WARP_LANES = 32,
        THREADS = 128,
        WORD_BYTES = 4,
        COPY_CLK = 6, /* a warp's instruction that copies */
        COPIED_BYTES_CLK = 26,
        BATCH_CLK = 1100, /* until all words of a thread that are under way have come */
        WORDS_AT_ONCE = 16
    };
    if (!jg_loads_by_threads(product)) {
        return 0.0;
    }
    stage_bytes *= part_of_threads(trial);
    /* As jg/tile/thread_loader.cuh has it. */
    if (product->a.alignment >= WORD_BYTES && product->a.dtype != JIT_GEMM_DTYPE_TF32) {
        const double copies = stage_bytes / product->a.alignment / WARP_LANES;
        return jg_larger(copies * COPY_CLK, stage_bytes / COPIED_BYTES_CLK);
    }
    const int at_once = product->a.alignment == 1 ? WORDS_AT_ONCE / 2 : WORDS_AT_ONCE;
    return stage_bytes / WORD_BYTES / THREADS / at_once * BATCH_CLK;
}

double jg_row_boxes_clk(const struct jg_trial *trial, int copied_rows, double copy_clk)
{
    return copy_clk * jg_count_copied(trial) / copied_rows;
}

double jg_repack_us(const struct jg_trial *trial, double memory_bytes_s)
{
    const int64_t bytes = jg_repack_bytes(&trial->config, &trial->product);
    if (jg_has_group_maps(&trial->config)) {
        return REPACK_LAUNCH_US + GROUP_MAP_US * 2.0 * (double)trial->product.batch.size;
    }
    if (bytes == 0) {
        return 0.0;
    }
    const int64_t units = jg_repack_planned_units(&trial->config, &trial->product);
    return jg_larger(2.0 * (double)bytes / memory_bytes_s * 1e6,
                     REPACK_UNIT_US * (double)units) +
           REPACK_LAUNCH_US;
}

double jg_scale_pack_us(const struct jg_trial *trial, double memory_bytes_s)
{
    const int64_t bytes = jg_scale_pack_bytes(trial->problem, &trial->product);
    return bytes == 0 ? 0.0 : (double)bytes / memory_bytes_s * 1e6 + REPACK_LAUNCH_US;
}

double jg_overlap(double a, double b)
{
    return a > b ? a + OVERLAP_LOSS * b : b + OVERLAP_LOSS * a;
}
