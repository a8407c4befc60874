/* SPDX-License-Identifier: MIT */
#include "plan/raster.h"

#include "base/math.h"
#include "plan/cluster.h"

static const int raster_groups[] = {1, 2, 4, 8, 16};

enum { RASTER_GROUP_COUNT = sizeof(raster_groups) / sizeof(raster_groups[0]) };

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

static struct raster_cost rate_raster(const struct jg_trial *trial, struct raster raster)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const struct jg_product *product = &trial->product;
    const struct side m = measure(product->m.size, layout->tile_m, layout->cluster_m);
    const struct side n = measure(product->n.size, layout->tile_n, layout->cluster_n);
    const bool along_m = raster.along == JG_RASTER_ALONG_M;
    const struct side along = along_m ? m : n;
    const struct side across = along_m ? n : m; /* which groups divide */
    const int64_t at_once =
        jg_resident_ctas(&trial->config, trial->facts) / jg_cluster_ctas(&trial->config);
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
    for (int along = JG_RASTER_ALONG_M; along <= JG_RASTER_ALONG_N; along++) {
        for (int i = 0; i < RASTER_GROUP_COUNT; i++) {
            const struct raster raster = {(enum jg_raster)along, raster_groups[i]};
            if (!is_allowed(trial->override, raster)) {
                continue;
            }
            const struct raster_cost cost = rate_raster(trial, raster);
            if (best.group == 0 || is_better(&cost, &best_cost)) {
                best = raster;
                best_cost = cost;
            }
        }
    }
    trial->config.launch.raster = best.along;
    trial->config.launch.raster_group = best.group;
}
