/* SPDX-License-Identifier: MIT */
/* Tiles of 64 rows that math warpgroups do not divide.
 *
 * Those that have every other block of K of a whole tile (jg/sm90a/k_turns.cuh).
 * On an H200 160x7168x2048 with scales of 1x128 of both took 9.0 us in 64x160 so, and 11.4
 * in 128x128; tiles of 64x128 took 0.74 to 0.93 of the time of halves of columns
 * (2026-11-27-h200-k-turns.jsonl). */
#include "plan/groups.h"
#include "plan/sm90a/sm90a.h"
#include "plan/split.h"

enum {
    TURNS_ROWS = 64,            /* of a tile whose columns both would divide */
    MOST_COLUMNS = 160,         /* beside whose sums a thread holds their scales, too */
    LEAST_COLUMNS = 32,         /* each half of which is written */
    MOST_DYNAMIC_COLUMNS = 128, /* where all sizes are read: more were seen to spill */
    ROUNDS = 2 /* of what they exchange, which is half of the tile's sums */
};

/* What keeps the warpgroups from it; NULL: nothing. */
static const char *find_hindrance(const struct jg_trial *trial)
{
    const struct jg_product *product = &trial->product;
    const struct jg_config_layout *layout = &trial->config.layout;
    if (!jg_product_promotes_scales(product)) {
        return "A and B without f32 scales of blocks";
    }
    if (layout->tile_m != TURNS_ROWS || layout->tile_n < LEAST_COLUMNS ||
        layout->tile_n > MOST_COLUMNS || layout->pingpong != 0) {
        return "other tiles than 64x32 to 64x160";
    }
    if (product->is_gated) {
        return "pairs";
    }
    if (product->group_by != JIT_GEMM_GROUP_NONE ||
        product->a_rows == JIT_GEMM_ROWS_INDEXED) {
        return "groups and rows by an index";
    }
    if (layout->tile_n > MOST_DYNAMIC_COLUMNS && jg_sm90a_are_sizes_dynamic(product)) {
        return "tiles of more than 128 columns where all sizes are dynamic";
    }
    return jg_loads_by_threads(product) ? "A and B that threads load" : NULL;
}

bool jg_sm90a_may_turn(const struct jg_trial *trial)
{
    return find_hindrance(trial) == NULL &&
           trial->problem->invariant == JIT_GEMM_INVARIANT_NONE;
}

bool jg_sm90a_check_turns(struct jg_trial *trial)
{
    if (trial->config.layout.k_turns != JG_K_TURNS_TAKEN) {
        return true;
    }
    const char *why = find_hindrance(trial);
    /* Who waits for a stage has seen all that was in it before. */
    if (why == NULL && trial->config.pipeline.stages % JG_SM90A_CONSUMERS != 0) {
        why = "an odd number of stages, of which each warpgroup has every other one";
    }
    return why == NULL ||
           jg_trial_reject(trial, "k_turns=1: there is no kernel for %s", why);
}

/*
 * One that multiplies all of a tile for both. On an H200 256x2048x7168 took 14.9 us in
 * 64x64 so, and 16.2 by halves; 83 choices of tiles of up to 64 columns 0.985 of the time
 * on average, those of 96 columns 1.00 (2026-11-27-h200-one-multiplies.jsonl). Where tiles
 * of 64 columns have all of a short K it loses: 512x1024x4096 took 1.04 of the time and
 * 144x2048x2304 1.10, with however many stages; from 101 blocks on 0.92 to 1.01. Where a
 * CTA has several tiles the other's half of D would be waited for; what comes through the
 * ring behind the last block of K both read; what is added up in registers meanwhile takes
 * both.
 */
enum { MOST_LONE_COLUMNS = 64, SHORT_K_COLUMNS = 32, LEAST_LONE_BLOCKS = 80 };

static bool has_lone_tile(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const bool is_short =
        trial->config.launch.split_k <= 1 && jg_split_blocks(trial) < LEAST_LONE_BLOCKS;
    return layout->tile_m == TURNS_ROWS && layout->tile_n >= LEAST_COLUMNS &&
           layout->tile_n <= (is_short ? SHORT_K_COLUMNS : MOST_LONE_COLUMNS) &&
           layout->pingpong == 0 && layout->k_turns != JG_K_TURNS_TAKEN;
}

bool jg_sm90a_one_multiplies(const struct jg_trial *trial)
{
    const struct jg_product *product = &trial->product;
    return has_lone_tile(trial) && !product->is_gated && !jg_sm90a_promotes(product) &&
           product->group_by == JIT_GEMM_GROUP_NONE &&
           product->a_rows != JIT_GEMM_ROWS_INDEXED && !jg_loads_by_threads(product) &&
           trial->derived.output.loads_per_step == 0 && trial->derived.waves <= 1.0;
}

int64_t jg_sm90a_turn_bytes(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    return layout->k_turns != JG_K_TURNS_TAKEN
               ? 0
               : (int64_t)layout->tile_m * layout->tile_n * (int64_t)sizeof(float) / ROUNDS;
}
