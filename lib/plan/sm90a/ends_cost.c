/* SPDX-License-Identifier: MIT */
/* What a launch of Hopper's kernel takes before and behind its tiles. */
#include <math.h>

#include "base/math.h"
#include "plan/cluster.h"
#include "plan/cost.h"
#include "plan/sm90a/sm90a.h"
#include "plan/split.h"

#define LAUNCH_US   2.0
#define FILL_CLK    1500.0
#define CLUSTER_CLK 1400.0 /* barriers of a cluster at its begin and end */
/* Of a launch whose clusters of more than two have no place beside the one before. */
#define CROWDED_US 0.3
/* Where K is split: bytes per clock of a tile's partial sums that a CTA moves to or from
 * L2, and clocks until one CTA knows what another has stored: fitted to 25 runs with 2 to
 * 64 parts that are stored at the same time (2026-11-26-h100-parts.jsonl). */
#define SUMS_BYTES_CLK 56.0
#define LEAST_MOVE_CLK 250.0 /* however few bytes a part has */
#define HAND_ON_CLK    1500.0
/* Of a CTA's tile after its first one, in tiles of a transposed product of whole K: fitted
 * to 276 runs of 67 problems of up to 30 blocks of K, halves of which put it at 0.17 and
 * 0.10 us; no more is taken than both halves of all problems choose better with. */
#define NEXT_TILE_CLK 80.0

/* Of tiles after a CTA's first one. */
static double count_next_clk(const struct jg_trial *trial, double rounds)
{
    const struct jg_product *product = &trial->product;
    const bool is_fitted = product->d_is_transpose && trial->config.launch.split_k == 1 &&
                           product->group_by == JIT_GEMM_GROUP_NONE &&
                           !jg_product_promotes_scales(product);
    return (is_fitted ? NEXT_TILE_CLK * (rounds - 1.0) : 0.0) +
           jg_sm90a_next_turns_clk(trial, rounds);
}

double jg_sm90a_ends_clk(const struct jg_trial *trial)
{
    const double last_clk = jg_sm90a_epilogue_clk(trial).alone;
    const struct jg_split_cost split = jg_split_cost_of(trial);
    const double fixed_clk = FILL_CLK + (jg_sm90a_meets(trial) ? CLUSTER_CLK : 0.0);
    const bool has_tail = trial->config.launch.split_tail > 0;
    const double rounds = has_tail ? 1.0 : ceil(trial->derived.waves);
    return last_clk + fixed_clk + count_next_clk(trial, rounds) +
           rounds *
               (split.waits * HAND_ON_CLK +
                split.moves * jg_larger(split.sums_bytes / SUMS_BYTES_CLK, LEAST_MOVE_CLK));
}

double jg_sm90a_launch_us(const struct jg_trial *trial)
{
    const int resident = jg_resident_ctas(&trial->config, trial->facts);
    const bool is_crowded = jg_cluster_parts(&trial->config) > 1 &&
                            jg_cluster_ctas(&trial->config) > 2 &&
                            trial->derived.grid_ctas > resident / 2;
    return LAUNCH_US + (is_crowded ? CROWDED_US : 0.0);
}
