/* SPDX-License-Identifier: MIT */
/* Parts of K: how many, what they cost, and the workspace in which they are added up. */
#ifndef JG_PLAN_SPLIT_H
#define JG_PLAN_SPLIT_H

#include "base/math.h"
#include "plan/output.h"
#include "plan/reduction.h"
#include "plan/repack.h"
#include "plan/trial.h"
#include "plan/workspace.h"

enum { JG_MAX_CLUSTER_CTAS = 16 }; /* where they have parts of K, more than 8 by leave */

/* As many parts as the config's cluster takes, a CTA each for each of its tiles, and as
 * divide so many parts of K; 1: there are none. */
int jg_cluster_parts_most(const struct jg_config *config, int split_k);

/* What makes a cluster as large as it is, for messages. */
void jg_cluster_print(const struct jg_config *config, char *text, size_t size);

/* Parts of K that the CTAs of a cluster have; 1 where all have all of an item's. */
static inline int jg_cluster_parts(const struct jg_config *config)
{
    const struct jg_config_launch *launch = &config->launch;
    if (launch->split_k <= 1 || launch->split_order != JG_SPLIT_CLUSTER) {
        return 1;
    }
    return launch->cluster_k > 0 ? launch->cluster_k
                                 : jg_cluster_parts_most(config, launch->split_k);
}

/* Clusters that have parts of a tile's K, and add up in a workspace; 1: there is no need of
 * one. */
static inline int jg_workspace_parts(const struct jg_config *config)
{
    return config->launch.split_k > 1
               ? config->launch.split_k / (int)jg_max(jg_cluster_parts(config), 1)
               : 1;
}

/* Does each of these write a share of D? */
static inline bool jg_shares_in_workspace(const struct jg_config *config)
{
    return config->launch.split_k > 1 && config->launch.split_order == JG_SPLIT_PARALLEL;
}

/* Are accumulators of parts of K in shared memory until the CTA ends, which has one tile
 * then? */
static inline bool jg_keeps_sums(const struct jg_config *config)
{
    return jg_cluster_parts(config) > 1 || jg_shares_in_workspace(config);
}

/* What part of the time must be saved by a workspace to be taken, of sums or of copies; 0
 * where none is used. On an H200 shares take what the model says, and all others 0.9 of it:
 * of problems timed in both, those in which shares were to save 3 to 7 percent took 0.85
 * to 1.16 of their time without, 7 to 13 0.99 to 1.22, and more 0.66 to 1.02
 * (docs/tuning-log.md). */
static inline double jg_workspace_least_gain(const struct jg_config *config)
{
    const double in_order = 0.03, in_shares = 0.13;

    if (jg_shares_in_workspace(config)) {
        return in_shares;
    }
    return jg_workspace_parts(config) > 1 || jg_is_repacked(config) ? in_order : 0.0;
}

/* Of so many cluster tiles those with parts of K: all, or with split_tail those beyond
 * whole waves, which come first (jg/schedule/tile_order.cuh). */
int64_t jg_split_tiles(const struct jg_config *config, int64_t tiles);
/* Entries of the list of work that so many cluster tiles make. */
int64_t jg_split_entries(const struct jg_config *config, int64_t tiles);

/* What the cluster that is last has to do, of a grid that strides over the list. */
struct jg_split_rounds {
    int64_t parts, whole; /* of tiles with a part of K, and with all of it */
};
struct jg_split_rounds jg_split_rounds_of(const struct jg_trial *trial);

/* What of a workspace a launch with this many tiles of a CTA takes to split K: locks, then
 * accumulators, of which a part has `staged_bytes` (jg_derived.sums_bytes) where each
 * writes a share of D. Nothing where K is not split, or one cluster has all parts. */
struct jg_workspace_use jg_split_use(const struct jg_config *config, int64_t tiles,
                                     int64_t staged_bytes);

/* Completes the trial's config with the override's number of parts of K, or with that of
 * the least predicted time among those that the problem's limit on the workspace allows. */
void jg_split_choose(const struct jg_arch *arch, struct jg_trial *trial);
/* False with a reason if K has fewer blocks than parts, or if no cluster has so many. */
bool jg_split_check(struct jg_trial *trial);
/* Blocks of K of the longest part; of all; and those that all tiles have together. */
int64_t jg_split_blocks(const struct jg_trial *trial);
int64_t jg_split_whole_blocks(const struct jg_trial *trial);
int64_t jg_split_all_blocks(const struct jg_trial *trial);
/* Bytes of shared memory in which a CTA of a cluster has its part of a tile's sums
 * (jg/epilogue/cluster_sums.cuh): a tile of f32, or where the CTAs divide D the steps of
 * the epilogue that `columns` of a team fill. */
int64_t jg_tile_sums_bytes(const struct jg_trial *trial,
                           const struct jg_team_columns *columns);
/* What that takes beside the input ring, of which it may be a part, with barriers of
 * `warps` that hold accumulators; 0 where no CTAs add up. */
int64_t jg_cluster_sums_bytes(const struct jg_trial *trial,
                              const struct jg_team_columns *columns, int warps,
                              bool in_ring);
/* What the parts of a tile's sum cost between their main loops and the epilogue: bytes of
 * f32 of a part, how many of these are stored to a workspace or loaded, one behind the
 * other, and how many times one CTA waits for what others have put there. */
struct jg_split_cost {
    double sums_bytes;
    int moves, waits;
};
struct jg_split_cost jg_split_cost_of(const struct jg_trial *trial);

#endif
