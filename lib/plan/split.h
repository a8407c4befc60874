/* SPDX-License-Identifier: MIT */
/* Parts of K: how many, what they cost, and the workspace in which they are added up. */
#ifndef JG_PLAN_SPLIT_H
#define JG_PLAN_SPLIT_H

#include "plan/reduction.h"
#include "plan/trial.h"

/* A workspace begins with words that are zero between launches, whichever kernel uses it:
 * what one kernel leaves behind is then never taken for a lock by the next. First the locks
 * of the tiles, two each, where K is split; then the counters of reductions. */
enum {
    JG_WORKSPACE_TILES = 4096, /* most of one launch that splits K */
    JG_WORKSPACE_WORDS = 2 * JG_WORKSPACE_TILES,
    JG_WORKSPACE_SUMS_OFFSET = 4 * JG_WORKSPACE_WORDS, /* bytes */
    JG_WORKSPACE_ALIGNMENT = 128
};

/* What of a workspace a launch with this many tiles of a CTA takes to split K: locks, then
 * sums. Nothing where K is not split. */
struct jg_workspace_use jg_split_use(const struct jg_config *config, int64_t tiles);

/* Completes the trial's config with the override's number of parts of K, or with that of
 * the least predicted time among those that the problem's limit on the workspace allows. */
void jg_split_choose(const struct jg_arch *arch, struct jg_trial *trial);
/* False with a reason if K has fewer blocks than parts. */
bool jg_split_check(struct jg_trial *trial);
/* Blocks of K of the longest part. */
int64_t jg_split_blocks(const struct jg_trial *trial);
/* What the parts of a tile's sum cost between their main loops and the epilogue: bytes of
 * f32 that a CTA stores, or loads, at a time, and how many times one CTA waits for another.
 */
struct jg_split_cost {
    double sums_bytes;
    int steps;
};
struct jg_split_cost jg_split_cost_of(const struct jg_trial *trial);

#endif
