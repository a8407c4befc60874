/* SPDX-License-Identifier: MIT */
#include "plan/split.h"

#include <math.h>
#include <stdio.h>

#include "base/math.h"
#include "plan/invariance.h"
#include "plan/repack.h"
#include "plan/smem.h"

/* Numbers of parts that are tried. */
static const int splits[] = {2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 24, 32, 48, 64};
/* Blocks of K that a part which nobody asked for has at least. */
#define MIN_BLOCKS 4
/* Part of the time that more parts must save: their traffic is not all in the models. */
#define LEAST_GAIN           0.02
#define LEAST_WORKSPACE_GAIN 0.03
/* Blocks of K in the ring of a part that nobody asked for: with the 3 and 4 of larger tiles
 * an H200 was slower than the model, with the 5 of 128x160 it was faster. Where its CTAs
 * share inputs, 4 are enough: an H100 took 27.7 us for 160x2560x9728 with tiles of 128x192,
 * and the model says 28.5. */
#define LEAST_CLUSTER_BLOCKS 5
#define LEAST_SHARED_BLOCKS  4

enum { SPLIT_COUNT = sizeof(splits) / sizeof(splits[0]) };

/* CTAs of a cluster that have a tile each. */
static int64_t count_tile_ctas(const struct jg_config *config)
{
    return (int64_t)config->layout.cluster_m * config->layout.cluster_n;
}

/* Of so many tiles, of which a cluster has `of_cluster`, those with parts of K. */
static int64_t count_split(const struct jg_config *config, int64_t tiles,
                           int64_t of_cluster)
{
    if (jg_workspace_parts(config) <= 1) {
        return 0;
    }
    const int64_t wave = config->launch.split_tail * of_cluster;
    return wave > 0 ? tiles % wave : tiles;
}

int64_t jg_split_tiles(const struct jg_config *config, int64_t tiles)
{
    return count_split(config, tiles, 1);
}

int64_t jg_split_entries(const struct jg_config *config, int64_t tiles)
{
    return tiles + jg_split_tiles(config, tiles) * (jg_workspace_parts(config) - 1);
}

struct jg_workspace_use jg_split_use(const struct jg_config *config, int64_t tiles,
                                     int64_t staged_bytes)
{
    const bool has_shares = jg_shares_in_workspace(config);
    const int64_t tile_bytes = has_shares
                                   ? staged_bytes
                                   : (int64_t)config->layout.tile_m *
                                         config->layout.tile_n * (int64_t)sizeof(float);
    if (jg_workspace_parts(config) <= 1) {
        return (struct jg_workspace_use){0};
    }
    tiles = count_split(config, tiles, count_tile_ctas(config));
    const int places = config->launch.split_order == JG_SPLIT_UNORDERED
                           ? 1 /* in which all add up */
                           : jg_workspace_parts(config) - (has_shares ? 0 : 1);
    return (struct jg_workspace_use){.words = 2 * tiles,
                                     .bytes = JG_WORKSPACE_SUMS_OFFSET +
                                              tiles * places * tile_bytes};
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

int64_t jg_split_whole_blocks(const struct jg_trial *trial)
{
    return count_blocks(&trial->product);
}

int64_t jg_split_all_blocks(const struct jg_trial *trial)
{
    const struct jg_config_launch *launch = &trial->config.launch;
    const int64_t of_a_tile = launch->split_tail > 0
                                  ? jg_split_whole_blocks(trial)
                                  : jg_split_blocks(trial) * jg_max(launch->split_k, 1);
    return trial->derived.tiles * of_a_tile;
}

/* All parts come before all whole tiles: the first cluster has most parts, and the one
 * behind the last part may have a whole tile more instead. */
struct jg_split_rounds jg_split_rounds_of(const struct jg_trial *trial)
{
    const struct jg_config *config = &trial->config;
    const int64_t clusters =
        trial->derived.busy_ctas / count_tile_ctas(config); /* a part each */
    const int64_t tiles = trial->derived.tiles / count_tile_ctas(config);
    const int64_t whole = tiles - jg_split_tiles(config, tiles);
    const int64_t entries = jg_split_entries(config, tiles);
    const int64_t parts = entries - whole;
    const struct jg_split_rounds first = {.parts = jg_ceil_div(parts, clusters),
                                          .whole = jg_ceil_div(entries, clusters) -
                                                   jg_ceil_div(parts, clusters)};
    const struct jg_split_rounds behind = {.parts = parts / clusters,
                                           .whole = jg_ceil_div(whole, clusters)};
    return behind.whole > first.whole ? behind : first;
}

static bool is_cluster_asked(const struct jg_config_launch *launch)
{
    return launch->split_order == JG_SPLIT_CLUSTER && launch->split_k > 1;
}

void jg_cluster_print(const struct jg_config *config, char *text, size_t size)
{
    const struct jg_config_launch *launch = &config->launch;
    const bool has_parts = is_cluster_asked(launch);
    char tiles[32] = "", parts[64] = "", of_cluster[32] = "";
    if (!has_parts || config->layout.cluster_m * config->layout.cluster_n > 1) {
        snprintf(tiles, sizeof(tiles), "cluster=%dx%d%s", config->layout.cluster_m,
                 config->layout.cluster_n, has_parts ? " " : "");
    }
    if (has_parts && launch->cluster_k > 0) {
        snprintf(of_cluster, sizeof(of_cluster), " cluster_k=%d", launch->cluster_k);
    }
    if (has_parts) {
        snprintf(parts, sizeof(parts), "split_k=%d split_order=cluster%s", launch->split_k,
                 of_cluster);
    }
    snprintf(text, size, "%s%s", tiles, parts);
}

/* Parts of K that a cluster has room for; 1: it has for none. */
static int count_most_parts(const struct jg_config_layout *layout)
{
    const int tiles = layout->cluster_m * layout->cluster_n;
    return (int)jg_max(JG_MAX_CLUSTER_CTAS / tiles, 1);
}

int jg_cluster_parts_most(const struct jg_config *config, int split_k)
{
    int parts = (int)jg_min(split_k, count_most_parts(&config->layout));
    while (parts > 1 && split_k % parts != 0) {
        parts--;
    }
    return parts;
}

/* Of a cluster whose CTAs have the parts. */
static bool check_cluster_parts(struct jg_trial *trial)
{
    const struct jg_config *config = &trial->config;
    const struct jg_config_launch *launch = &config->launch;
    const int parts = jg_cluster_parts(config);
    const int most = count_most_parts(&config->layout);
    const bool is_asked = is_cluster_asked(launch);
    if (launch->cluster_k > 0 && !is_asked) {
        return jg_trial_reject(trial,
                               "cluster_k=%d: clusters have parts of K with split_k= and "
                               "split_order=cluster",
                               launch->cluster_k);
    }
    if (is_asked && (parts == 1 || parts > most || launch->split_k % parts != 0)) {
        char name[128];
        jg_cluster_print(config, name, sizeof(name));
        return most < 2
                   ? jg_trial_reject(trial,
                                     "%s: a cluster of parts of K has at most %d CTAs, "
                                     "two for each tile at least",
                                     name, JG_MAX_CLUSTER_CTAS)
                   : jg_trial_reject(
                         trial,
                         "%s: a cluster has 2 to %d parts of K, and of more parts all "
                         "clusters have as many",
                         name, most);
    }
    return true;
}

static bool check_tail(struct jg_trial *trial)
{
    const struct jg_config_launch *launch = &trial->config.launch;
    if (launch->split_tail > 0 && launch->split_k <= 1) {
        return jg_trial_reject(trial,
                               "split_tail=%d: the tiles beyond whole waves have as many "
                               "parts of K as split_k= says, 2 at least",
                               launch->split_tail);
    }
    if (launch->split_tail > 0 && launch->split_order > JG_SPLIT_UNORDERED) {
        return jg_trial_reject(trial,
                               "split_tail=%d: parts of some tiles are added up in a "
                               "workspace: split_order=serial or unordered",
                               launch->split_tail);
    }
    return true;
}

/* Of parts that each write a share of D. */
static bool check_parallel(struct jg_trial *trial)
{
    return !jg_shares_in_workspace(&trial->config) || jg_divides_output(trial) ||
           jg_trial_reject(trial,
                           "split_order=parallel: each part writes a share of D, and "
                           "reductions and scales of D's blocks need all of a tile: serial "
                           "and cluster fit");
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
    return jg_invariance_check(trial) && check_cluster_parts(trial) && check_tail(trial) &&
           check_parallel(trial);
}

enum { BARRIERS_OF_WARP = 3, SUMS_ALIGNMENT = 256 };

int64_t jg_tile_sums_bytes(const struct jg_trial *trial,
                           const struct jg_team_columns *columns)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const int64_t bytes = (int64_t)layout->tile_m * layout->tile_n * (int64_t)sizeof(float);
    return jg_divides_output(trial)
               ? bytes / jg_max(columns->count, 1) * jg_staged_columns(trial, columns)
               : bytes;
}

int64_t jg_cluster_sums_bytes(const struct jg_trial *trial,
                              const struct jg_team_columns *columns, int warps,
                              bool in_ring)
{
    if (!jg_keeps_sums(&trial->config)) {
        return 0;
    }
    return (in_ring ? 0 : jg_tile_sums_bytes(trial, columns) + SUMS_ALIGNMENT) +
           (int64_t)warps * BARRIERS_OF_WARP * (int64_t)sizeof(uint64_t);
}

/* In order, all parts but the last are stored at the same time, and the last one loads them
 * one behind the other. Unordered, two waits lie one after the other: that of the others
 * for the first part, and that of the last part for all. What parts in parallel take is the
 * chip's to say. Rows and columns beyond the problem are not moved. */
struct jg_split_cost jg_split_cost_of(const struct jg_trial *trial)
{
    const struct jg_config *config = &trial->config;
    const int others = jg_shares_in_workspace(config) ? 0 : jg_workspace_parts(config) - 1;
    const bool is_unordered = config->launch.split_order == JG_SPLIT_UNORDERED;
    const int waits = (int)jg_min(others, is_unordered ? 2 : 1);
    return (struct jg_split_cost){
        .sums_bytes = (double)jg_min(config->layout.tile_m, trial->product.m.size) *
                      (double)jg_min(config->layout.tile_n, trial->product.n.size) *
                      sizeof(float),
        .moves = is_unordered ? 2 * waits : waits + others,
        .waits = waits};
}

/* In how many parts, and who adds them up. */
struct parts {
    int count;
    enum jg_split_order order;
    int of_cluster;               /* 0: as many as it takes */
    struct jg_part_cluster tiles; /* of a cluster */
    int tail; /* cluster tiles of a wave where only those beyond whole waves have parts */
};

static void complete(const struct jg_arch *arch, struct jg_trial *trial, struct parts parts)
{
    trial->config.layout.cluster_m = parts.tiles.m;
    trial->config.layout.cluster_n = parts.tiles.n;
    trial->config.launch.split_k = parts.count;
    trial->config.launch.split_order = parts.count > 1 ? parts.order : JG_SPLIT_SERIAL;
    trial->config.launch.cluster_k = parts.of_cluster;
    trial->config.launch.split_tail = parts.tail;
    arch->complete(trial);
}

static struct jg_part_cluster tiles_of(const struct jg_trial *trial)
{
    return (struct jg_part_cluster){trial->config.layout.cluster_m,
                                    trial->config.layout.cluster_n};
}

/* Does the problem's limit leave room for the sums, beside copies of A and B? What
 * reductions need is no choice. */
static bool has_room(const struct jg_trial *trial)
{
    const struct jg_workspace_use use =
        jg_split_use(&trial->config, trial->derived.tiles, trial->derived.sums_bytes);
    return jg_repack_has_room(trial, use.bytes);
}

/* A cluster of parts has one tile and no loop: the next wave would begin behind the end of
 * the one before. */
static bool has_place(const struct jg_trial *trial)
{
    const struct jg_config_pipeline *pipeline = &trial->config.pipeline;
    const struct jg_config_layout *layout = &trial->config.layout;
    const int64_t blocks = pipeline->stages * jg_max(pipeline->k_group, 1);
    const int least = layout->cluster_m * layout->cluster_n > 1 ? LEAST_SHARED_BLOCKS
                                                                : LEAST_CLUSTER_BLOCKS;
    return !jg_keeps_sums(&trial->config) ||
           (blocks >= least && trial->derived.waves <= 1.0);
}

struct fastest {
    struct parts parts;
    double us; /* 0: none can be */
    double workspace_gain;
};

/* If the trial in so many parts is usable, and faster by `gain` of the time, or by what a
 * workspace must be worth. */
static void take_if_faster(const struct jg_arch *arch, const struct jg_trial *trial,
                           struct parts parts, double gain, struct fastest *best)
{
    struct jg_trial part = *trial;
    complete(arch, &part, parts);
    if (!arch->derive(&part) || !has_room(&part) || !has_place(&part)) {
        return;
    }
    const double us = part.derived.predicted_us;
    const double workspace_gain = jg_workspace_least_gain(&part.config);
    if (workspace_gain > 0) { /* more parts want more memory */
        gain = fmax(LEAST_WORKSPACE_GAIN, workspace_gain - best->workspace_gain);
    }
    if (best->us <= 0.0 || us < best->us * (1.0 - gain)) {
        *best = (struct fastest){parts, us, workspace_gain};
    }
}

/* Goes on with several parts, `most` of them, in one order. */
static void try_order(const struct jg_arch *arch, const struct jg_trial *trial,
                      enum jg_split_order order, struct jg_part_cluster tiles, int most,
                      struct fastest *best)
{
    for (int i = 0; i < SPLIT_COUNT && splits[i] <= most; i++) {
        const struct parts parts = {splits[i], order, 0, tiles, 0};
        if (count_blocks(&trial->product) < (int64_t)parts.count * MIN_BLOCKS) {
            break;
        }
        take_if_faster(arch, trial, parts, LEAST_GAIN, best);
    }
}

/* Parts that a cluster of so many tiles has room for, and the device for those of all
 * tiles; 0 if the problem has fewer tiles either way. */
static int count_shared_parts(const struct jg_trial *trial, struct jg_part_cluster tiles)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const struct jg_product *product = &trial->product;
    const int64_t m = jg_ceil_div(product->m.size, layout->tile_m);
    const int64_t n = jg_ceil_div(product->n.size, layout->tile_n);
    if (m < tiles.m || n < tiles.n) {
        return 0;
    }
    return (int)jg_min(JG_MAX_CLUSTER_CTAS / (tiles.m * tiles.n),
                       trial->facts->sm_count / m / n);
}

/* The same where the CTAs of a cluster have the parts: of one tile, or of several whose
 * inputs they share, too. */
static void try_cluster(const struct jg_arch *arch, const struct jg_trial *trial,
                        struct fastest *best)
{
    const struct jg_part_cluster *tiles = arch->part_clusters;
    try_order(arch, trial, JG_SPLIT_CLUSTER, *tiles, JG_MAX_SPLIT_K, best);
    for (tiles++; tiles->m > 0 && !trial->override->has_cluster; tiles++) {
        try_order(arch, trial, JG_SPLIT_CLUSTER, *tiles, count_shared_parts(trial, *tiles),
                  best);
    }
}

/* The same with several clusters, of a GPC each at best: what all of one draw from L2 is
 * less than what its multiprocessors could. */
static void try_clusters(const struct jg_arch *arch, const struct jg_trial *trial,
                         struct fastest *best)
{
    static const int of_clusters[] = {4, 8, 16};
    for (int i = 0; i < 3; i++) {
        const int of_cluster = of_clusters[i];
        for (int count = 2 * of_cluster; count <= JG_MAX_SPLIT_K; count += of_cluster) {
            if (count_blocks(&trial->product) < (int64_t)count * MIN_BLOCKS) {
                break;
            }
            const bool is_most = of_cluster == jg_cluster_parts_most(&trial->config, count);
            const struct parts parts = {count, JG_SPLIT_CLUSTER, is_most ? 0 : of_cluster,
                                        tiles_of(trial), 0};
            take_if_faster(arch, trial, parts, LEAST_GAIN, best);
        }
    }
}

/* The same with parts that each write a share of D: as many as run at once of all tiles,
 * and fewer. */
static void try_parallel(const struct jg_arch *arch, const struct jg_trial *trial,
                         struct jg_part_cluster tiles, struct fastest *best)
{
    const struct parts two = {2, JG_SPLIT_PARALLEL, 0, tiles, 0};
    struct jg_trial part = *trial;
    const struct jg_config_layout *layout = &part.config.layout;
    complete(arch, &part, two);
    if (jg_ceil_div(trial->product.m.size, layout->tile_m) < tiles.m / layout->cta_group ||
        jg_ceil_div(trial->product.n.size, layout->tile_n) < tiles.n) {
        return;
    }
    if (!arch->derive(&part) || part.derived.waves > 1.0) {
        return;
    }
    const double at_once = two.count / part.derived.waves + 1e-6;
    const int most = at_once < JG_MAX_SPLIT_K ? (int)at_once : JG_MAX_SPLIT_K;
    try_order(arch, trial, JG_SPLIT_PARALLEL, tiles, most, best);
    if (count_blocks(&trial->product) >= (int64_t)most * MIN_BLOCKS) {
        const struct parts all = {most, JG_SPLIT_PARALLEL, 0, tiles, 0};
        take_if_faster(arch, trial, all, LEAST_GAIN, best);
    }
}

static bool takes_parallel(const struct jg_trial *trial)
{
    const struct jg_config_override *override = trial->override;
    return trial->problem->workspace_limit > 0 &&
           (!override->has_split_order ||
            override->values.launch.split_order == JG_SPLIT_PARALLEL);
}

/* In clusters that the config names, or in those that a pair needs, or in all that the chip
 * has. A candidate by itself stands for those. */
static void try_all_parallel(const struct jg_arch *arch, const struct jg_trial *trial,
                             struct fastest *best)
{
    const struct jg_part_cluster *tiles = arch->part_clusters;
    if (trial->override->has_cluster || trial->config.layout.cta_group > 1) {
        try_parallel(arch, trial, tiles_of(trial), best);
    } else if (trial->config.layout.cluster_m * trial->config.layout.cluster_n == 1) {
        for (; tiles->m > 0; tiles++) {
            try_parallel(arch, trial, *tiles, best);
        }
    }
}

/* May the CTAs of a cluster have the parts? A candidate by itself stands for its clusters
 * of parts, too. */
static bool takes_cluster(const struct jg_trial *trial)
{
    const struct jg_config_override *override = trial->override;
    const struct jg_config_layout *layout = &trial->config.layout;
    return layout->cluster_m * layout->cluster_n == 1 &&
           (!override->has_split_order ||
            override->values.launch.split_order == JG_SPLIT_CLUSTER);
}

/* The same where only the tiles beyond whole waves have parts, all of them at once: sums of
 * a second round of parts would be waited for, tile by tile. */
static void try_tail(const struct jg_arch *arch, const struct jg_trial *trial,
                     enum jg_split_order order, struct fastest *best)
{
    const struct parts unsplit = {1, JG_SPLIT_SERIAL, 0, tiles_of(trial), 0};
    struct jg_trial whole = *trial;
    complete(arch, &whole, unsplit);
    if (!arch->derive(&whole)) {
        return;
    }
    const int64_t tiles = whole.derived.tiles / count_tile_ctas(&whole.config);
    /* Of so many tiles that the grid is all that are resident. */
    const int wave = (int)(whole.derived.busy_ctas / count_tile_ctas(&whole.config));
    const int64_t split = tiles > wave ? tiles % wave : 0;
    for (int i = 0; i < SPLIT_COUNT && split > 0; i++) {
        const int count = splits[i];
        if (count_blocks(&trial->product) < (int64_t)count * MIN_BLOCKS ||
            split * count > wave) {
            break;
        }
        const struct parts parts = {count, order, 0, unsplit.tiles, wave};
        take_if_faster(arch, trial, parts, LEAST_GAIN, best);
    }
}

/* Of those that may be tried; unsplit if none can be. */
static struct parts find_fastest(const struct jg_arch *arch, const struct jg_trial *trial)
{
    const struct parts unsplit = {1, JG_SPLIT_SERIAL, 0, tiles_of(trial), 0};
    const enum jg_split_order named = trial->override->values.launch.split_order;
    struct fastest best = {.parts = unsplit};
    take_if_faster(arch, trial, unsplit, 0.0, &best);
    if (arch->takes_parts != NULL && !arch->takes_parts(trial)) {
        return best.parts;
    }
    if (takes_cluster(trial)) {
        try_cluster(arch, trial, &best);
        if (trial->problem->workspace_limit > 0) {
            try_clusters(arch, trial, &best);
        }
    }
    if (takes_parallel(trial)) {
        try_all_parallel(arch, trial, &best);
    }
    if (trial->problem->workspace_limit > 0 && named != JG_SPLIT_CLUSTER &&
        named != JG_SPLIT_PARALLEL) {
        try_order(arch, trial, named, unsplit.tiles, JG_MAX_SPLIT_K, &best);
        if (named <= JG_SPLIT_UNORDERED) {
            try_tail(arch, trial, named, &best);
        }
    }
    return best.parts;
}

void jg_split_choose(const struct jg_arch *arch, struct jg_trial *trial)
{
    const struct jg_config_override *override = trial->override;
    const struct parts named = {override->values.launch.split_k,
                                override->values.launch.split_order,
                                override->values.launch.cluster_k, tiles_of(trial),
                                override->values.launch.split_tail};
    const bool is_named = override->has_split_k || override->has_split_tail;
    const struct parts parts = is_named ? named : find_fastest(arch, trial);
    complete(arch, trial, parts);
}
