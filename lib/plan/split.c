/* SPDX-License-Identifier: MIT */
#include "plan/split.h"

#include "base/math.h"
#include "plan/invariance.h"
#include "plan/repack.h"
#include "plan/smem.h"

/* Numbers of parts that are tried. */
static const int splits[] = {2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32};
/* Blocks of K that a part which nobody asked for has at least. */
#define MIN_BLOCKS 4
/* Part of the time that more parts must save: their traffic is not all in the models. */
#define LEAST_GAIN 0.02
/* Stages of a part that nobody asked for: with the 3 and 4 of larger tiles an H200 was
 * slower than the model. */
#define LEAST_CLUSTER_STAGES 6

enum { SPLIT_COUNT = sizeof(splits) / sizeof(splits[0]) };

struct jg_workspace_use jg_split_use(const struct jg_config *config, int64_t tiles)
{
    const int64_t tile_bytes =
        (int64_t)config->layout.tile_m * config->layout.tile_n * (int64_t)sizeof(float);
    if (jg_workspace_parts(config) <= 1) {
        return (struct jg_workspace_use){0};
    }
    return (struct jg_workspace_use){
        .words = 2 * tiles, .bytes = JG_WORKSPACE_SUMS_OFFSET + tiles * tile_bytes};
}

static int64_t count_blocks(const struct jg_product *product)
{
    return jg_ceil_div(product->k.size, jg_tile_k(product));
}

int64_t jg_split_blocks(const struct jg_trial *trial)
{
    return jg_ceil_div(count_blocks(&trial->product),
                       jg_max(trial->config.launch.split_k, 1));
}

/* Of a cluster whose CTAs have the parts. */
static bool check_cluster_parts(struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const int parts = jg_cluster_parts(&trial->config);
    if (parts > JG_MAX_CLUSTER_PARTS) {
        return jg_trial_reject(
            trial, "split_k=%d split_order=cluster: a cluster has at most %d parts of K",
            parts, JG_MAX_CLUSTER_PARTS);
    }
    if (parts > 1 && layout->cluster_m * layout->cluster_n > 1) {
        return jg_trial_reject(trial,
                               "cluster=%dx%d split_order=cluster: CTAs that have parts of "
                               "K share no inputs: cluster=1x1",
                               layout->cluster_m, layout->cluster_n);
    }
    return true;
}

bool jg_split_check(struct jg_trial *trial)
{
    const struct jg_product *product = &trial->product;
    const int split_k = trial->config.launch.split_k;
    if (product->k.mode == JIT_GEMM_DIM_EXACT && split_k > count_blocks(product)) {
        return jg_trial_reject(
            trial, "split_k=%d: K of %lld has %lld blocks of %d, and each part needs one",
            split_k, (long long)product->k.size, (long long)count_blocks(product),
            jg_tile_k(product));
    }
    return jg_invariance_check(trial) && check_cluster_parts(trial);
}

enum { BARRIERS_OF_WARP = 3 };

int64_t jg_cluster_sums_bytes(const struct jg_config *config, int warps, bool in_ring)
{
    const struct jg_config_layout *layout = &config->layout;
    if (jg_cluster_parts(config) <= 1) {
        return 0;
    }
    return (in_ring ? 0
                    : (int64_t)layout->tile_m * layout->tile_n * (int64_t)sizeof(float)) +
           (int64_t)warps * BARRIERS_OF_WARP * (int64_t)sizeof(uint64_t);
}

/* In a cluster nobody waits for a workspace. In serial order each part waits for the one
 * before it. Unordered, two waits lie one after the other: that of the others for the first
 * part, and that of the last part for all. Rows and columns beyond the problem are not
 * moved. */
struct jg_split_cost jg_split_cost_of(const struct jg_trial *trial)
{
    const struct jg_config *config = &trial->config;
    const int waits = jg_workspace_parts(config) - 1;
    const bool is_serial = config->launch.split_order == JG_SPLIT_SERIAL;
    return (struct jg_split_cost){
        .sums_bytes = (double)jg_min(config->layout.tile_m, trial->product.m.size) *
                      (double)jg_min(config->layout.tile_n, trial->product.n.size) *
                      sizeof(float),
        .steps = is_serial ? waits : (int)jg_min(waits, 2)};
}

/* In how many parts, and who adds them up. */
struct parts {
    int count;
    enum jg_split_order order;
};

static void complete(const struct jg_arch *arch, struct jg_trial *trial, struct parts parts)
{
    trial->config.launch.split_k = parts.count;
    trial->config.launch.split_order = parts.count > 1 ? parts.order : JG_SPLIT_SERIAL;
    arch->complete(trial);
}

/* Does the problem's limit leave room for the sums, beside copies of A and B? What
 * reductions need is no choice. */
static bool has_room(const struct jg_trial *trial)
{
    const struct jg_workspace_use use = jg_split_use(&trial->config, trial->derived.tiles);
    return jg_repack_has_room(trial, use.bytes);
}

/* A cluster of parts has one tile and no loop: the next wave would begin behind the end of
 * the one before. */
static bool has_place(const struct jg_trial *trial)
{
    return jg_cluster_parts(&trial->config) == 1 ||
           (trial->config.pipeline.stages >= LEAST_CLUSTER_STAGES &&
            trial->derived.waves <= 1.0);
}

struct fastest {
    struct parts parts;
    double us; /* 0: none can be */
};

/* If the trial in so many parts is usable, and faster by `gain` of the time. */
static void take_if_faster(const struct jg_arch *arch, const struct jg_trial *trial,
                           struct parts parts, double gain, struct fastest *best)
{
    struct jg_trial part = *trial;
    complete(arch, &part, parts);
    if (!arch->derive(&part) || !has_room(&part) || !has_place(&part)) {
        return;
    }
    const double us = part.derived.predicted_us;
    if (best->us <= 0.0 || us < best->us * (1.0 - gain)) {
        *best = (struct fastest){parts, us};
    }
}

/* Goes on with several parts in one order. */
static void try_order(const struct jg_arch *arch, const struct jg_trial *trial,
                      enum jg_split_order order, struct fastest *best)
{
    for (int i = 0; i < SPLIT_COUNT; i++) {
        const struct parts parts = {splits[i], order};
        if (count_blocks(&trial->product) < (int64_t)parts.count * MIN_BLOCKS) {
            break;
        }
        take_if_faster(arch, trial, parts, LEAST_GAIN, best);
    }
}

/* May the CTAs of a cluster have the parts? */
static bool takes_cluster(const struct jg_arch *arch, const struct jg_trial *trial)
{
    const struct jg_config_override *override = trial->override;
    const struct jg_config_layout *layout = &trial->config.layout;
    return arch->splits_in_clusters && layout->cluster_m * layout->cluster_n == 1 &&
           (!override->has_split_order ||
            override->values.launch.split_order == JG_SPLIT_CLUSTER);
}

/* Of those that may be tried; unsplit if none can be. */
static struct parts find_fastest(const struct jg_arch *arch, const struct jg_trial *trial)
{
    const struct parts unsplit = {1, JG_SPLIT_SERIAL};
    const enum jg_split_order named = trial->override->values.launch.split_order;
    struct fastest best = {.parts = unsplit};
    take_if_faster(arch, trial, unsplit, 0.0, &best);
    if (trial->problem->workspace_limit > 0 && named != JG_SPLIT_CLUSTER) {
        try_order(arch, trial, named, &best);
    }
    if (takes_cluster(arch, trial)) {
        try_order(arch, trial, JG_SPLIT_CLUSTER, &best);
    }
    return best.parts;
}

void jg_split_choose(const struct jg_arch *arch, struct jg_trial *trial)
{
    const struct jg_config_override *override = trial->override;
    const struct parts named = {override->values.launch.split_k,
                                override->values.launch.split_order};
    const struct parts parts = override->has_split_k ? named : find_fastest(arch, trial);
    complete(arch, trial, parts);
}
