/* SPDX-License-Identifier: MIT */
/* What Hopper's CTAs take to add up parts of K. */
#include "plan/cluster.h"
#include "plan/cost.h"
#include "plan/sm90a/sm90a.h"
#include "plan/split.h"

/* Where the CTAs of a cluster add up: bytes per clock that one reads of the others' shared
 * memory, and clocks until a warp knows what those of its number have stored, or sent.
 * Fitted to runs of 2 to 16 parts (2026-11-26-h100-parts.jsonl), as the four below, and to
 * 312 of 37 problems of few rows or tiles, whose choices lose 2.3 percent on average
 * (2026-11-26-h100-few-tiles.jsonl). */
#define CLUSTER_SUMS_BYTES_CLK 56.0
#define CLUSTER_HAND_ON_CLK    300.0
#define CLUSTER_HAND_ONS       2
/* What tiles of more than 64x128 take beside that, for each byte that they have more: in
 * the leader, where all sums come to and D goes out. Fitted to 67 runs of parts whose CTAs
 * share inputs or have larger tiles (2026-11-26-h100-shared-parts.jsonl). */
#define LARGE_SUMS_BYTES     32768.0
#define LARGE_SUMS_BYTES_CLK 48.0
/* The same where each writes its share of D, of what comes from other CTAs
 * (2026-11-26-h100-divided.jsonl). */
#define SHARE_BYTES_CLK 16.0
/* The same of parts in a workspace that each write a share: clocks until all know that all
 * are there, with what each part adds to that, and bytes of a tile per clock that each of
 * them stores and loads. The bytes are fitted to 209 runs
 * (2026-11-26-h200-parallel-*.jsonl), clocks and parts to 77 of these and 78 more
 * (2026-11-27-h200-few-rows.jsonl): one number of clocks made 2 to 4 parts 1.09 and 32 to
 * 64 parts 0.87 of what they took. */
#define PARALLEL_CLK       1400.0
#define PARALLEL_PART_CLK  25.0
#define PARALLEL_BYTES_CLK 32.0

/* Each CTA reads its share of all parts, and then the leader those of all CTAs, unless each
 * writes its own. */
double jg_sm90a_sums_clk(const struct jg_trial *trial)
{
    if (jg_shares_in_workspace(&trial->config)) {
        return PARALLEL_CLK + PARALLEL_PART_CLK * trial->config.launch.split_k +
               2.0 * jg_split_cost_of(trial).sums_bytes / PARALLEL_BYTES_CLK;
    }
    if (jg_cluster_parts(&trial->config) <= 1) {
        return 0.0;
    }
    const double bytes = jg_split_cost_of(trial).sums_bytes;
    const double parts = jg_cluster_parts(&trial->config);
    if (trial->derived.output.divided) {
        return CLUSTER_HAND_ONS * CLUSTER_HAND_ON_CLK +
               bytes * (parts - 1.0) / parts / SHARE_BYTES_CLK;
    }
    return CLUSTER_HAND_ONS * CLUSTER_HAND_ON_CLK + 2.0 * bytes / CLUSTER_SUMS_BYTES_CLK +
           jg_larger(bytes - LARGE_SUMS_BYTES, 0.0) / LARGE_SUMS_BYTES_CLK;
}
