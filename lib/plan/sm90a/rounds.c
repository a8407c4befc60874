/* SPDX-License-Identifier: MIT */
/* Hopper: rounds of tiles of groups whose sizes are given, and what comes to their tiles.
 */
#include "base/math.h"
#include "plan/cluster.h"
#include "plan/sm90a/sm90a.h"
#include "plan/split.h"
#include "plan/typical_sizes.h"

/* What a tile that both warpgroups share takes for a whole one, and a last round whose
 * entries are two each, of the rows of one warpgroup: all of B comes for either. Fitted,
 * with what is drawn from L2 beside scales, to 47 problems of six shapes with 3 to 8
 * configs each, and 76 others: of these the choice takes 1.006 and 1.006 of the best
 * config's time, and 1.059 and 1.010 where sizes are not given
 * (2026-11-27-h200-groups-typical.jsonl, -blocks.jsonl). */
#define SHORT_TILE   0.80
#define HALVED_ROUND 0.75
/* What a round takes of transposed tiles of which each group has one, in a cluster of two,
 * where tiles of 128 rows would be two and read the weights twice: of 17 problems of 196 to
 * 236 rows on an H200 128x224 took 0.86 to 0.99 of the best other tile's time, where bytes
 * from L2 say 0.99 (2026-11-28-h200-groups-turns.jsonl). */
#define ONE_TILE_ROUND 0.95

enum {
    TILE_ROWS = 128,
    GROUPS_WITH_ONE = 16 /* for each group that has two */
};

bool jg_sm90a_has_tile_each(const jit_gemm_size_run *sizes, int64_t rows)
{
    const int64_t groups = jg_typical_fill_of(sizes, rows).groups;
    return GROUPS_WITH_ONE * (jg_typical_sizes_tiles(sizes, rows) - groups) <= groups;
}

static bool has_one_tile(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    return trial->product.d_is_transpose && layout->cluster_m > 1 &&
           jg_sm90a_has_tile_each(trial->sizes, layout->tile_n) &&
           !jg_sm90a_has_tile_each(trial->sizes, TILE_ROWS);
}

double jg_sm90a_typical_rounds(const struct jg_trial *trial)
{
    const struct jg_derived *derived = &trial->derived;
    const struct jg_config_layout *layout = &trial->config.layout;
    const int64_t whole = derived->tiles / derived->busy_ctas;
    const int64_t rest = derived->tiles % derived->busy_ctas;
    double rounds = (double)whole;
    if (rest > 0) {
        const bool is_halved = derived->halves_last && 2 * rest <= derived->busy_ctas;
        rounds += is_halved ? HALVED_ROUND : 1.0;
    }
    if (derived->shares_short) {
        const int64_t across =
            jg_tiles_along(trial->product.n.size, layout->tile_n, layout->cluster_n);
        const int64_t few =
            jg_typical_sizes_short(trial->sizes, layout->tile_m, layout->tile_m / 2);
        rounds -= (1.0 - SHORT_TILE) * (double)(few * across) / derived->busy_ctas;
    }
    return has_one_tile(trial) ? rounds * ONE_TILE_ROUND : rounds;
}

/* A wide transposed tile holds all groups whose sizes are only taken to be near their
 * average; where one has more, its weights come again: groups of 128 rows took 1.11 to 1.42
 * of what was said of 128x160, and of other tiles 0.93 to 1.12
 * (2026-11-28-h200-groups-drawn.jsonl). */
#define UNSURE_TILE 1.15
/* Where parts of K take each cluster of eight that is counted on, which a board may have
 * one less of, and then takes two rounds: chosen where that gains more, as unsure clusters
 * are of sm_100a. It also leaves out choices that are no better: of 38 measured ones the
 * time is 0.941 and 1.12 at most with 1.03, of 25 with 1.05 0.925
 * (2026-11-28-h200-fifteen-clusters.jsonl). Not where the device's words say how many there
 * are. */
#define UNSURE_CLUSTER 1.05
#define UNSURE_CTAS    8

static bool takes_all_clusters(const struct jg_trial *trial)
{
    const struct jg_config *config = &trial->config;
    return jg_cluster_parts(config) > 1 && jg_cluster_ctas(config) == UNSURE_CTAS &&
           !jg_is_cluster_counted(config, trial->facts) &&
           trial->derived.busy_ctas == jg_resident_ctas(config, trial->facts);
}

double jg_sm90a_unsure_slowness(const struct jg_trial *trial)
{
    const bool is_assumed = jg_plans_sizes(trial) && !jg_has_typical_sizes(trial->problem);
    return (is_assumed && trial->product.d_is_transpose &&
                    trial->config.layout.tile_n > TILE_ROWS
                ? UNSURE_TILE
                : 1.0) *
           (takes_all_clusters(trial) ? UNSURE_CLUSTER : 1.0);
}

/* Rows of other groups come with a tile's, too. Only where these are most of a wide tile
 * that shares nothing, as all other numbers are fitted without: 128x160 for 24 rows of
 * eight groups of 4096x14336 took 1.24 to 1.39 of the best, and 128x64 1.00 to 1.17
 * (2026-11-28-h200-groups-few-rows.jsonl); 64x96 for 16 rows of four groups of 6144x10752
 * 1.55 of 64x32, and 64x64 1.15 (2026-11-28-h200-groups-drawn.jsonl). */
enum { LEAST_WIDE = 96 };

int64_t jg_sm90a_loaded_columns(const struct jg_trial *trial)
{
    const struct jg_product *product = &trial->product;
    const struct jg_config_layout *layout = &trial->config.layout;
    const bool is_wide = layout->tile_n >= LEAST_WIDE && layout->cluster_m == 1 &&
                         2 * product->n.size <= layout->tile_n;
    const bool has_others =
        product->d_is_transpose && product->group_by == JIT_GEMM_GROUP_BY_OFFSETS;
    return is_wide && has_others ? layout->tile_n : jg_min(layout->tile_n, product->n.size);
}
