/* SPDX-License-Identifier: MIT */
/* Hopper: what is tried, and how the rest of a config is filled in. */
#include "base/math.h"
#include "plan/groups.h"
#include "plan/raster.h"
#include "plan/sm90a/sm90a.h"
#include "plan/split.h"
#include "plan/typical_sizes.h"

/* What a config begins with. */
struct candidate {
    struct jg_sm90a_pair tile, cluster;
    bool pingpong, transposed;
};

/* Groups of 129 to 224 rows have one such tile each, so that their weights are read once,
 * and a cluster of two shares the rows. Of an H200's runs, bf16 and fast e4m3, they took
 * 0.84 to 0.94 of the time of the fastest other tile with the same number of rows in each
 * (2026-11-27-h200-groups-even.jsonl), and 128x224 0.86 to 0.99 with 196 to 236 of them, in
 * 17 problems (2026-11-28-h200-groups-turns.jsonl). Of more tiles each reads all weights
 * again; one of 256 rows took 0.98 to 1.04 with 200 to 256. */
static struct jg_sm90a_pairs find_group_tiles(const struct jg_problem *problem,
                                              const struct jg_product *transposed)
{
    int first = 0;
    if (!jg_sm90a_may_have_group_tiles(transposed) || !jg_has_typical_sizes(problem)) {
        first = JG_SM90A_GROUP_TILES;
    }
    while (first < JG_SM90A_GROUP_TILES &&
           !jg_sm90a_has_tile_each(problem->typical_sizes, jg_sm90a_group_tiles[first].n)) {
        first++;
    }
    return (struct jg_sm90a_pairs){jg_sm90a_group_tiles + first,
                                   JG_SM90A_GROUP_TILES - first};
}

/* Tiles in each kind of cluster, then those of few columns, by themselves, and of groups in
 * clusters: false past the last one. */
static bool find_candidate(int index, int single, const struct jg_sm90a_pairs *of_groups,
                           struct candidate *ret_candidate)
{
    const int tiles = JG_SM90A_TILES + JG_SM90A_PINGPONG_TILES;
    const int number = index / JG_SM90A_CLUSTERS;
    const int transposed = index - tiles * JG_SM90A_CLUSTERS;
    const bool pingpong = number >= JG_SM90A_TILES;
    if (index < 0 || transposed >= single + of_groups->count) {
        return false;
    }
    if (transposed >= single) {
        *ret_candidate = (struct candidate){.tile = of_groups->pairs[transposed - single],
                                            .cluster = {2, 1},
                                            .transposed = true};
        return true;
    }
    if (transposed >= 0) {
        *ret_candidate = (struct candidate){.tile = jg_sm90a_transposed_tiles[transposed],
                                            .cluster = {1, 1},
                                            .transposed = true};
        return true;
    }
    *ret_candidate = (struct candidate){
        .tile = pingpong ? jg_sm90a_pingpong_tiles[number - JG_SM90A_TILES]
                         : jg_sm90a_tiles[number],
        .cluster = jg_sm90a_clusters[index % JG_SM90A_CLUSTERS],
        .pingpong = pingpong};
    return true;
}

bool jg_sm90a_candidate(const struct jg_problem *problem, int index,
                        struct jg_config *ret_config)
{
    const bool by_columns = jg_problem_is_column_major(problem);
    const struct jg_product transposed = jg_product_make(problem, !by_columns);
    const struct jg_sm90a_pairs of_groups = find_group_tiles(problem, &transposed);
    struct candidate candidate;
    if (!find_candidate(index, jg_sm90a_count_transposed(&transposed), &of_groups,
                        &candidate)) {
        return false;
    }
    *ret_config =
        (struct jg_config){.kernel = JG_KERNEL_GEMM,
                           .layout = {.tile_m = candidate.tile.m,
                                      .tile_n = candidate.tile.n,
                                      .cta_group = 1,
                                      .pingpong = candidate.pingpong,
                                      .cluster_m = candidate.cluster.m,
                                      .cluster_n = candidate.cluster.n,
                                      .swap_ab = candidate.transposed != by_columns}};
    return true;
}

bool jg_sm90a_takes_parts(const struct jg_trial *trial)
{
    return !jg_sm90a_streams_whole(trial);
}

/*
 * Where D has few rows, the rest of the problem streams from memory once, as the product's
 * A. An H200 was fastest with 8 MiB of it on their way, and slower with more: 16 stages of
 * a 64x32 tile took 8 percent longer than 8 in 128 CTAs. Fewer than 6 stages were too short
 * however many CTAs there are (bench/results/README.md).
 */
enum {
    LEAST_STREAMED_STAGES = 6,
    /* Of two parts of K and more in a cluster, in 96 CTAs: 8x6144x4096 takes 14.2 us with 9
     * stages of 128x16 and 15.6 with 6 to 8; with more or fewer CTAs 0.99 to 1.02
     * (2026-11-27-h200-few-rows.jsonl). */
    LEAST_PARTS_STAGES = 9,
    /* Of groups of few rows: lists of tiles are long (2026-11-27-h200-groups-few.jsonl). Of
     * 128x16 twelve took 0.997 of the time of ten, 15 runs
     * (2026-11-28-h200-groups-streams.jsonl). */
    LEAST_GROUP_STAGES = 12
};

static int64_t count_columns_of_tiles(const struct jg_trial *trial)
{
    return jg_ceil_div(trial->product.n.size, trial->config.layout.tile_n);
}

/* Tiles of all parts of K; of more than a grid can have, which are refused, MANY_TILES. */
#define MANY_TILES (INT64_C(1) << 32)

static int64_t count_tiles(const struct jg_trial *trial)
{
    const int64_t of_batch =
        jg_ceil_div(trial->product.m.size, trial->config.layout.tile_m) *
        count_columns_of_tiles(trial);
    const int64_t times =
        jg_max(trial->problem->batch.size, 1) * jg_max(trial->config.launch.split_k, 1);
    int64_t tiles;
    return jg_mul_checked(of_batch, times, &tiles) ? jg_min(tiles, MANY_TILES) : MANY_TILES;
}

/* Tiles of one column read the same. */
static int count_streamed_stages(const struct jg_trial *trial)
{
    const int64_t ctas = jg_min(trial->facts->sm_count, count_tiles(trial));
    const int64_t streams = jg_max(ctas / jg_max(count_columns_of_tiles(trial), 1), 1);
    const int64_t stage_bytes = (int64_t)trial->config.layout.tile_m * JG_ROW_BYTES;
    const struct jg_product typical = jg_typical_product(trial);
    const int least = jg_cluster_parts(&trial->config) > 1 ? LEAST_PARTS_STAGES
                      : jg_sm90a_streams_groups(&typical, &trial->config.layout)
                          ? LEAST_GROUP_STAGES
                          : LEAST_STREAMED_STAGES;
    return (int)jg_max(least, jg_ceil_div(JG_SM90A_STREAMED_BYTES, streams * stage_bytes));
}

/* Of so many items of a CTA: a part of K has a part of its blocks. Stages that are never
 * filled cost time: of eight problems in 2 to 7 parts six took 0.94 to 0.97 of it with
 * three of them less, and two as much (2026-11-27-h200-choice-fresh.jsonl). */
static int64_t count_needed_stages(const struct jg_trial *trial, int64_t tiles)
{
    const bool has_tail = trial->config.launch.split_tail > 0; /* whole tiles, too */
    return tiles * (has_tail ? jg_split_whole_blocks(trial) : jg_split_blocks(trial));
}

/*
 * Of CTAs that read the same of the product's A those whose tile lacks columns draw less,
 * and run ahead of the others by as many stages as they have, at the others' cost: with 176
 * KB of 64x64 and a last tile of 16 columns 144x2048x2304 takes 6.94 us, with 208 KB 7.45,
 * and 80x3072x2304 8.34 and 8.68; with last tiles of 32 columns and more 1.00 to 1.02. Of
 * nine fresh problems six in 86 to 126 CTAs took 0.96, three in 64 to 78 1.02. Other tiles
 * were not timed (2026-11-28-h200-stages-under-way.jsonl).
 */
enum {
    MOST_AHEAD_BYTES = 176 << 10,
    AHEAD_TILE = 64,
    AHEAD_PARTS = 8, /* of the multiprocessors, more than so many of which have a CTA */
    LEAST_AHEAD_PARTS = 5
};

static bool is_run_ahead_of(const struct jg_trial *trial, int64_t tiles)
{
    const struct jg_config *config = &trial->config;
    const int64_t columns = trial->product.n.size;
    const int64_t last = columns % AHEAD_TILE;
    const bool has_many = AHEAD_PARTS * count_tiles(trial) >
                          (int64_t)LEAST_AHEAD_PARTS * trial->facts->sm_count;
    return tiles == 1 && has_many && config->layout.tile_m == AHEAD_TILE &&
           config->layout.tile_n == AHEAD_TILE && config->launch.split_k <= 1 &&
           config->layout.cluster_m * config->layout.cluster_n == 1 &&
           columns > AHEAD_TILE && last > 0 && 2 * last < AHEAD_TILE;
}

static int choose_stages(const struct jg_trial *trial)
{
    const struct jg_smem smem = jg_sm90a_smem(trial);
    const struct jg_stage_limits limits = jg_sm90a_stage_limits(trial);
    const int64_t tiles =
        jg_max(jg_ceil_div(count_tiles(trial), trial->facts->sm_count), 1);
    const int64_t needed = jg_max(count_needed_stages(trial, tiles), limits.least);
    const int fitting = (int)jg_min(jg_stages_choose(trial, &smem, &limits, tiles), needed);
    if (!trial->product.d_is_transpose) {
        return fitting;
    }
    const int64_t ahead = MOST_AHEAD_BYTES / (2 * AHEAD_TILE * JG_ROW_BYTES);
    const int most = is_run_ahead_of(trial, tiles) ? (int)jg_min(fitting, ahead) : fitting;
    return (int)jg_min(most, count_streamed_stages(trial));
}

/* Of an H200's orders for skewed groups of 512 rows on average, in clusters of two tiles of
 * rows, the fastest or as fast as others: all columns at once where there are few, else
 * eight tiles of them; 0.91 to 1.00 of the time of those along N, and of e4m3 with 16 tiles
 * of columns 0.96 of that of eight (2026-11-26-h200-groups-skewed.jsonl). */
enum { MOST_COLUMNS_AT_ONCE = 16, TURNED_RASTER_GROUP = 8 };

static void choose_raster(struct jg_trial *trial)
{
    const struct jg_config_override *override = trial->override;
    struct jg_config *config = &trial->config;
    if (jg_sm90a_has_turned_shape(trial) && !override->has_raster &&
        !override->has_raster_group) {
        const int64_t columns = jg_ceil_div(trial->product.n.size, config->layout.tile_n);
        config->launch.raster = JG_RASTER_ALONG_M;
        config->launch.raster_group =
            columns <= MOST_COLUMNS_AT_ONCE ? MOST_COLUMNS_AT_ONCE : TURNED_RASTER_GROUP;
    } else {
        jg_raster_choose(trial);
    }
}

/* `stages`: of the override, or 0. */
static enum jg_k_turns choose_k_turns(const struct jg_trial *trial, int stages)
{
    const bool may_turn = jg_sm90a_may_turn(trial);
    if (trial->override->has_k_turns) {
        const enum jg_k_turns asked = trial->override->values.layout.k_turns;
        return may_turn || asked == JG_K_TURNS_TAKEN ? asked : JG_K_TURNS_NONE;
    }
    return !may_turn                          ? JG_K_TURNS_NONE
           : stages % JG_SM90A_CONSUMERS == 0 ? JG_K_TURNS_TAKEN
                                              : JG_K_TURNS_HALVES;
}

void jg_sm90a_complete(struct jg_trial *trial)
{
    const struct jg_config_override *override = trial->override;
    struct jg_config *config = &trial->config;
    const struct jg_team_columns columns = jg_sm90a_team_columns(trial);
    jg_trial_complete(trial, jg_out_stages_choose(trial->problem, &columns));
    if (config->layout.tile_k == 0) { /* the config does not name it */
        config->layout.tile_k = jg_tile_k(&trial->product);
    }
    /* What parts add up in shared memory stays there until the CTA ends. */
    config->launch.scheduler =
        jg_keeps_sums(config) ? JG_SCHEDULER_SINGLE : JG_SCHEDULER_STATIC;
    config->storage.acc_stages = 1;
    config->pipeline.k_group = 1;
    config->launch.resident = override->has_resident ? override->values.launch.resident : 0;
    const int stages = override->has_stages ? override->values.pipeline.stages : 0;
    config->layout.k_turns = choose_k_turns(trial, stages);
    config->pipeline.stages = stages > 0 ? stages : choose_stages(trial);
    if (config->layout.k_turns == JG_K_TURNS_TAKEN &&
        stages == 0) { /* each has half of them */
        config->pipeline.stages -= config->pipeline.stages % JG_SM90A_CONSUMERS;
        config->pipeline.stages = (int)jg_max(config->pipeline.stages, JG_SM90A_CONSUMERS);
    }
    choose_raster(trial);
}
