/* SPDX-License-Identifier: MIT */
/* What sharing an input in a cluster takes of Hopper's time. */
#include "base/math.h"
#include "plan/cluster.h"
#include "plan/cost.h"
#include "plan/raster.h"
#include "plan/sm90a/sm90a.h"
#include "plan/split.h"

/* A block of K where a cluster shares the smaller input only, for one that shares the
 * larger. */
#define SMALLER_SHARED 1.03
/* The same of one that shares columns between tiles of 64 rows, in one wave: 24 problems
 * took 1.02 to 1.43 times as long in 2x1 as in single CTAs, 1.24 on average
 * (2026-11-28-h200-one-wave.jsonl). */
#define SHORT_SHARED 1.22
/* The same in a cluster, where scales of blocks are multiplied in and a warpgroup has two
 * blocks of 64 rows, after which it gives a stage back: on an H100 clusters of 256x128 took
 * 1.02 to 1.12 times as long as CTAs by themselves, 128x192 0.98. Where columns have scales
 * of their own, clusters of two columns took 0.955 of the time on an H200; and where CTAs
 * that share the smaller input have parts of K 12.1 us were seen where 11.2 were
 * predicted. */
#define SCALED_SHARED       1.03
#define SCALED_OWN_SHARED   0.97
#define SCALED_SHARED_PARTS 1.2
/* The same in several rounds of clusters that share the smaller input, by the square of the
 * part that its last tile lacks: of the clusters that need the same of the larger input the
 * one with few rows runs ahead, round after round, and the others' comes from L2 or memory
 * again. 296x10240x4096 took 63.9 us in 128x128 where 52.2 were predicted, and 44.2 in CTAs
 * by themselves; 264x12288x3072 54.0 in 128x144, 47.3 predicted, and 41.2. Fitted to 660
 * runs of 174 problems with 65 to 1024 rows (2026-11-26-h200-*.jsonl to 2026-11-28), halves
 * of which put it at 0.19 and 0.30 where about three tiles lie along that input. */
#define UNEVEN_SHARED 0.75

/* Clocks of a row that a copy for a whole cluster fills with zeros, where one tile holds
 * all of that input, so that all clusters do: 72x240x30528 took 14.4 us in 64x192 in
 * clusters of 2x1, where the second CTA's 96 rows are zeros, and 9.8 in 64x128;
 * 54x1664x13888 s8 15.0 and 10.4 in 64x128 and 64x96. It brings the error of 29 runs from
 * 24 to 8 percent. In the last of several tiles it does not show, and copies of one CTA
 * leave such rows out. */
#define ZERO_ROW_CLK 8.0

/* What such a row in the last of several tiles takes of what a GPC draws, for each CTA that
 * it comes to, where two clusters of eight CTAs with parts of K lie in every GPC but one.
 * 384 rows by 1600, 1536, 1472, 1440, 1376 and 1312 columns and K of 8192 took 19.1, 19.4,
 * 21.4, 24.0, 24.6 and 27.0 us in 64x160 in 2x2, 384, 352, 320 and 288 rows by 1120 columns
 * 14.7, 15.5, 18.3 and 18.8 in 128x112 in 1x2; 256 rows in ten clusters 14.1 to 15.0
 * (2026-11-28-h200-zero-rows.jsonl). By themselves such rows were seen to take the time of
 * 290 to 440 bytes (docs/time-model.md). Not where one or two clusters have them, or all,
 * and not in clusters of 16, each of which has a GPC. */
#define ZERO_ROW_BYTES    440.0
#define ZERO_ROWS_CLUSTER 8
#define LEAST_IN_PAIRS    13
#define LEAST_RAGGED      3

/* Rows of zeros among `loaded` that the last of the CTAs that share them copies. */
static double count_zero_rows(int64_t size, int loaded, int sharers)
{
    const int64_t zeros = jg_max(loaded - size, 0);
    return sharers > 1 ? (double)jg_min(loaded / sharers, zeros) : 0.0;
}

double jg_sm90a_shared_zeros_clk(const struct jg_trial *trial)
{
    const struct jg_product *product = &trial->product;
    const struct jg_config_layout *layout = &trial->config.layout;
    if (product->group_by != JIT_GEMM_GROUP_NONE) {
        return 0.0;
    }
    const struct jg_derived *derived = &trial->derived;
    return ZERO_ROW_CLK *
           jg_larger(count_zero_rows(product->m.size, derived->a_rows, layout->cluster_n),
                     count_zero_rows(product->n.size, derived->b_rows, layout->cluster_m));
}

bool jg_sm90a_shares_inputs(const struct jg_trial *trial)
{
    return trial->config.layout.cluster_m * trial->config.layout.cluster_n > 1;
}

bool jg_sm90a_has_shared_parts(const struct jg_trial *trial)
{
    return jg_keeps_sums(&trial->config) && jg_sm90a_shares_inputs(trial);
}

bool jg_sm90a_meets(const struct jg_trial *trial)
{
    return jg_sm90a_shares_inputs(trial) && !jg_sm90a_has_shared_parts(trial);
}

static struct jg_sm90a_along tiles_along(const struct jg_trial *trial, bool is_m)
{
    const struct jg_product *product = &trial->product;
    const struct jg_config_layout *layout = &trial->config.layout;
    if (is_m) {
        return (struct jg_sm90a_along){product->m.size,
                                       (int64_t)layout->tile_m * layout->cluster_m, true};
    }
    return (struct jg_sm90a_along){product->n.size,
                                   (int64_t)layout->tile_n * layout->cluster_n, false};
}

struct jg_sm90a_along jg_sm90a_smaller(const struct jg_trial *trial)
{
    return tiles_along(trial, trial->product.n.size > trial->product.m.size);
}

struct jg_sm90a_along jg_sm90a_larger(const struct jg_trial *trial)
{
    return tiles_along(trial, trial->product.n.size <= trial->product.m.size);
}

double jg_sm90a_missing_part(const struct jg_sm90a_along *along)
{
    const int64_t whole = jg_align_up(along->size, along->tile);
    return along->size > along->tile ? (double)(whole - along->size) / (double)along->tile
                                     : 0.0;
}

/* Clusters of a launch, and how many of them a GPC has. */
struct gpc_clusters {
    double all, of_gpc;
};

/* What a GPC draws more where some clusters along an input lack rows of it, each of which
 * comes to `sharers` CTAs: one of them beside others that lack none, or as many as there
 * are on average. */
static double count_zero_bytes(const struct gpc_clusters *clusters,
                               const struct jg_sm90a_along *along, double sharers)
{
    const double count = (double)jg_ceil_div(along->size, along->tile);
    if (count < 2.0 || clusters->all < LEAST_RAGGED * count) {
        return 0.0;
    }
    const double ragged = jg_larger(clusters->of_gpc / count, 1.0);
    return ragged * jg_sm90a_missing_part(along) * (double)along->tile *
           (ZERO_ROW_BYTES * sharers - (double)JG_ROW_BYTES);
}

double jg_sm90a_zero_rows_bytes(const struct jg_trial *trial, double gpc_ctas)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const int cluster = jg_cluster_ctas(&trial->config);
    const struct gpc_clusters clusters = {(double)trial->derived.busy_ctas / cluster,
                                          gpc_ctas / cluster};
    if (cluster != ZERO_ROWS_CLUSTER || clusters.all < LEAST_IN_PAIRS) {
        return 0.0;
    }
    const struct jg_sm90a_along rows = tiles_along(trial, true);
    const struct jg_sm90a_along columns = tiles_along(trial, false);
    return jg_cluster_parts(&trial->config) *
           jg_larger(count_zero_bytes(&clusters, &rows, layout->cluster_n),
                     count_zero_bytes(&clusters, &columns, layout->cluster_m));
}

static bool shares_smaller_input(const struct jg_config_layout *layout)
{
    return layout->cluster_n > 1 ? layout->tile_m <= layout->tile_n
                                 : layout->cluster_m > 1 && layout->tile_n < layout->tile_m;
}

/* Of CTAs that share inputs and multiply by scales. */
static double scaled_slowness_of(const struct jg_trial *trial)
{
    const struct jg_product *product = &trial->product;
    if (!jg_product_promotes_scales(product) || !jg_sm90a_shares_inputs(trial)) {
        return 1.0;
    }
    if (jg_sm90a_has_shared_parts(trial)) {
        return shares_smaller_input(&trial->config.layout) ? SCALED_SHARED_PARTS : 1.0;
    }
    if (jg_sm90a_row_blocks(trial) == 1) {
        return 1.0;
    }
    return jg_sm90a_has_column_scales(product) ? SCALED_OWN_SHARED : SCALED_SHARED;
}

/* Does a cluster share what all tiles along the smaller input have of that input? */
static bool shares_along(const struct jg_trial *trial, const struct jg_sm90a_along *smaller)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    return smaller->is_m ? layout->cluster_n > 1 : layout->cluster_m > 1;
}

/* Of whole K, without groups and scales of blocks, which were not among the runs. */
static double uneven_slowness_of(const struct jg_trial *trial)
{
    const struct jg_product *product = &trial->product;
    const struct jg_sm90a_along smaller = jg_sm90a_smaller(trial);
    const double missing = jg_sm90a_missing_part(&smaller);
    if (!shares_along(trial, &smaller) || trial->config.launch.split_k > 1 ||
        product->group_by != JIT_GEMM_GROUP_NONE || jg_product_promotes_scales(product) ||
        jg_raster_has_one_wave(trial)) {
        return 1.0;
    }
    const int64_t tiles = jg_ceil_div(smaller.size, smaller.tile);
    return 1.0 + UNEVEN_SHARED * missing * missing / (double)tiles;
}

double jg_sm90a_sharing_slowness(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const bool is_short = layout->tile_m == 64 && layout->cluster_m > 1 &&
                          trial->config.launch.split_k == 1 &&
                          jg_raster_has_one_wave(trial);
    return (is_short                       ? SHORT_SHARED
            : shares_smaller_input(layout) ? SMALLER_SHARED
                                           : 1.0) *
           scaled_slowness_of(trial) * uneven_slowness_of(trial);
}
