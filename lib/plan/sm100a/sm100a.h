/* SPDX-License-Identifier: MIT */
/*
 * Blackwell. One warp loads by TMA, one multiplies by tcgen05 into tensor memory, four or
 * eight write; where C or matrix operands are to be brought, one more loads those, and
 * where the hardware hands tiles out, one more asks for them. A CTA has a tile of 128 or 64
 * rows; with cta_group=2 two CTAs multiply as one, each loading half of B. With swap_ab the
 * product is made transposed: its rows are the problem's columns; of a gated D a tile then
 * has twice as many, half of them for each accumulator. The ring has `stages`
 * pairs of A and B slices of 128 bytes of K; tensor memory has `acc_stages` accumulators,
 * so that a tile is multiplied while the one before is written. With split_k several CTAs
 * multiply a part of K each for the same tile. What TMA does not take is loaded by
 * threads, three warps more.
 */
#ifndef JG_PLAN_SM100A_H
#define JG_PLAN_SM100A_H

#include "plan/smem.h"

enum {
    JG_SM100A_MAX_ACC_STAGES = 2,
    JG_SM100A_COPIED_ROWS = 4, /* from anywhere, by one copy of TMA */
    JG_SM100A_WARP_LANES = 32,
    JG_SM100A_EPILOGUE_WARPS = 4, /* of a warpgroup, of which there are one or two */
    JG_SM100A_TMEM_COLUMNS = 512,
    JG_SM100A_MAX_STAGES = 24,
    JG_SM100A_SCALE_COLUMN_BYTES = 128 /* of shared memory that become a column */
};

/* Where a CTA's accumulator lies in tensor memory (jg/sm100a/epilogue_partition.cuh). */
struct jg_sm100a_lanes {
    int of_warp;    /* lanes of 32 that each warp of the epilogue has */
    bool split;     /* do two warps have the left half of the columns, two the right one? */
    int columns;    /* of tensor memory */
    int warpgroups; /* of the epilogue, each of which has its share of the columns */
};
static inline struct jg_sm100a_lanes jg_sm100a_lanes(const struct jg_config *config)
{
    const bool split = config->layout.cta_group == 2 && config->layout.mma_m == 128;
    return (struct jg_sm100a_lanes){
        .of_warp =
            config->layout.mma_m == 64 ? JG_SM100A_WARP_LANES / 2 : JG_SM100A_WARP_LANES,
        .split = split,
        .columns = split ? config->layout.mma_n / 2 : config->layout.mma_n,
        .warpgroups = config->layout.epilogue_warps > JG_SM100A_EPILOGUE_WARPS ? 2 : 1};
}

/* The box of scales of so many columns of the product, where the tensor core multiplies by
 * them. */
struct jg_box jg_sm100a_scale_box(const struct jg_product *product, int columns);
/* Columns of tensor memory that a stage's scales take, where the tensor core multiplies by
 * them; else 0. */
int jg_sm100a_scale_columns(const struct jg_product *product,
                            const struct jg_config *config);
/* Columns of tensor memory that two accumulators share, where there is no room beside them
 * for the scales of two stages; 0: none, or even that makes no room. */
int jg_sm100a_shared_columns(const struct jg_product *product,
                             const struct jg_config *config);
/* Stages whose scales have cells of tensor memory at the same time: all of the config's, or
 * as many as there is room for beside the accumulators, which they take in turn; 0 where
 * there are no such scales. */
int jg_sm100a_scale_cells(const struct jg_product *product, const struct jg_config *config);
/* Most stages that a config left open has: those with cells of their own, if these are
 * enough to hide a load; else as many as there may be. */
int jg_sm100a_scaled_stages(const struct jg_trial *trial);
/* Columns that a CTA allocates: a power of two from 32 on, with those of two cells at
 * least where there are any. */
int jg_sm100a_tmem_columns(const struct jg_product *product,
                           const struct jg_config *config);
struct jg_smem jg_sm100a_smem(const struct jg_trial *trial);
/* Of D, or of its transpose, that a team of warps has of a tile. */
struct jg_team_columns jg_sm100a_team_columns(const struct jg_trial *trial);
/* Of the input ring: at least those that hold the sums of parts of K, if these lie there.
 */
struct jg_stage_limits jg_sm100a_stage_limits(const struct jg_trial *trial);

/* Instructions of a warp of the epilogue for 64 columns of D in its lanes, estimated from
 * those that were counted; when the output is derived. */
double jg_sm100a_step_instructions(const struct jg_trial *trial);
/* Clocks of the epilogue of a tile: while it keeps the accumulator, and until what it
 * stored has left. */
struct jg_sm100a_epilogue_clk {
    double kept, drain;
};
struct jg_sm100a_epilogue_clk jg_sm100a_epilogue_clk(const struct jg_trial *trial);

/* May the epilogue of the output that is derived keep an accumulator for longer than the
 * tensor core takes for the products of a tile, or the only one at all? By the emulator's
 * clock, which has twice the model's time for it. */
bool jg_sm100a_waits_for_epilogue(const struct jg_trial *trial);

/* Tiles of a cluster whose CTAs have parts of K: one, until sharing inputs beside them is
 * timed there. */
extern const struct jg_part_cluster jg_sm100a_part_clusters[];

/* The cost model, for comparing candidates; after all else of the trial is derived. */
void jg_sm100a_predict(struct jg_trial *trial);

/* The rooms: see struct jg_arch. */
bool jg_sm100a_candidate(const struct jg_problem *problem, int index,
                         struct jg_config *ret_config);
void jg_sm100a_complete(struct jg_trial *trial);
bool jg_sm100a_derive(struct jg_trial *trial);

#endif
