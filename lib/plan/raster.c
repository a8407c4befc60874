/* SPDX-License-Identifier: MIT */
#include "plan/raster.h"

#include "base/math.h"
#include "plan/cluster.h"

static const int raster_groups[] = {1, 2, 4, 8, 16};

enum {
    RASTER_GROUP_COUNT = sizeof(raster_groups) / sizeof(raster_groups[0]),
    /* Of a GPC, about: what they have in common is drawn from L2 once, where they draw it
     * at about the same time. */
    NEIGHBOUR_CTAS = 16,
    /* Rows of a large group for those of the typical one, where sizes may be skewed. */
    LARGE_GROUP = 4
};

struct raster {
    enum jg_raster along;
    int group;
};

struct raster_cost {
    int64_t wave_elements; /* rows of A and columns of B that one wave touches */
    int64_t reads;         /* rows and columns read in all, were nothing kept */
};

/* One direction of the product, in cluster tiles. */
struct side {
    int64_t tiles;
    int64_t tile_elements; /* rows or columns of one */
};

static struct side measure(int64_t size, int tile, int cluster)
{
    return (struct side){.tiles = jg_tiles_along(size, tile, cluster) / cluster,
                         .tile_elements = (int64_t)tile * cluster};
}

static struct side measure_m(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    return measure(trial->product.m.size, layout->tile_m, layout->cluster_m);
}

static struct side measure_n(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    return measure(trial->product.n.size, layout->tile_n, layout->cluster_n);
}

/* Of a product, or of a group of CTAs: clusters that have different tiles. Parts of K have
 * the same one. */
static int64_t count_tiles_of(const struct jg_trial *trial, int64_t ctas)
{
    const struct jg_config *config = &trial->config;
    const bool has_tail = config->launch.split_tail > 0; /* which is the lesser part */
    const int64_t of_a_tile = (int64_t)config->layout.cluster_m * config->layout.cluster_n *
                              jg_max(has_tail ? 1 : config->launch.split_k, 1);
    return jg_max(ctas / of_a_tile, 1);
}

bool jg_raster_has_one_wave(const struct jg_trial *trial)
{
    const int64_t tiles = measure_m(trial).tiles * measure_n(trial).tiles;
    const int64_t at_once =
        count_tiles_of(trial, jg_resident_ctas(&trial->config, trial->facts));
    return tiles <= at_once / jg_max(trial->product.batch.size, 1);
}

static struct raster_cost rate_sides(struct side m, struct side n, struct raster raster,
                                     int64_t at_once)
{
    const bool along_m = raster.along == JG_RASTER_ALONG_M;
    const struct side along = along_m ? m : n;
    const struct side across = along_m ? n : m; /* which groups divide */
    const int64_t width = jg_min(raster.group, across.tiles);
    const int64_t length = jg_min(jg_ceil_div(at_once, width), along.tiles);
    const int64_t groups = jg_ceil_div(across.tiles, width);
    /* A wave may fill several groups. */
    const int64_t wave_width =
        jg_min(width * jg_ceil_div(at_once, width * along.tiles), across.tiles);
    return (struct raster_cost){.wave_elements = wave_width * across.tile_elements +
                                                 length * along.tile_elements,
                                .reads = groups * along.tiles * along.tile_elements +
                                         across.tiles * across.tile_elements};
}

static struct raster_cost rate_raster(const struct jg_trial *trial, struct raster raster,
                                      int64_t at_once)
{
    return rate_sides(measure_m(trial), measure_n(trial), raster, at_once);
}

/* The same of groups. Where the typical one has one tile along its rows all orders are
 * alike; a large one beside it tells which of them reads B once for several of its tiles.
 */
static struct raster_cost rate_groups(const struct jg_trial *trial, struct raster raster,
                                      int64_t at_once)
{
    struct side m = measure_m(trial);
    struct side n = measure_n(trial);
    struct side *rows = trial->product.a.letter != 'a' ? &n : &m;
    const struct raster_cost typical = rate_sides(m, n, raster, at_once);
    if (trial->product.group_by != JIT_GEMM_GROUP_BY_OFFSETS || rows->tiles > 1) {
        return typical;
    }
    rows->tiles *= LARGE_GROUP;
    const struct raster_cost large = rate_sides(m, n, raster, at_once);
    return (struct raster_cost){.wave_elements =
                                    typical.wave_elements + large.wave_elements,
                                .reads = typical.reads + large.reads};
}

/* Clusters whose inputs lie together in time. Where all tiles run at once, every order
 * touches the same, and what neighbours touch counts: 512x2048x4096 in 128 tiles of 64x128
 * took 15.3 to 23.5 us on an H100, in the order of these costs
 * (bench/results/2026-11-26-h100-raster.jsonl). */
static int64_t count_at_once(const struct jg_trial *trial)
{
    return jg_raster_has_one_wave(trial) ? count_tiles_of(trial, NEIGHBOUR_CTAS)
                                         : jg_resident_ctas(&trial->config, trial->facts) /
                                               jg_cluster_ctas(&trial->config);
}

double jg_raster_shared_draw(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const struct raster raster = {trial->config.launch.raster,
                                  trial->config.launch.raster_group};
    const int64_t tiles = measure_m(trial).tiles * measure_n(trial).tiles;
    const int64_t neighbours = jg_min(count_tiles_of(trial, NEIGHBOUR_CTAS), tiles);
    const struct raster_cost cost = rate_raster(trial, raster, neighbours);
    const int64_t ctas = neighbours * layout->cluster_m * layout->cluster_n;
    return (double)cost.wave_elements / (double)ctas;
}

static bool is_allowed(const struct jg_config_override *override, struct raster raster)
{
    const struct jg_config_launch *wanted = &override->values.launch;
    return (!override->has_raster || raster.along == wanted->raster) &&
           (!override->has_raster_group || raster.group == wanted->raster_group);
}

static bool is_better(const struct raster_cost *cost, const struct raster_cost *best)
{
    return cost->wave_elements < best->wave_elements ||
           (cost->wave_elements == best->wave_elements && cost->reads < best->reads);
}

void jg_raster_choose(struct jg_trial *trial)
{
    struct raster best = {JG_RASTER_ALONG_M, 0};
    struct raster_cost best_cost = {0};
    const int64_t at_once = count_at_once(trial);
    for (int along = JG_RASTER_ALONG_M; along <= JG_RASTER_ALONG_N; along++) {
        for (int i = 0; i < RASTER_GROUP_COUNT; i++) {
            const struct raster raster = {(enum jg_raster)along, raster_groups[i]};
            if (!is_allowed(trial->override, raster)) {
                continue;
            }
            const struct raster_cost cost = rate_groups(trial, raster, at_once);
            if (best.group == 0 || is_better(&cost, &best_cost)) {
                best = raster;
                best_cost = cost;
            }
        }
    }
    trial->config.launch.raster = best.along;
    trial->config.launch.raster_group = best.group;
}
