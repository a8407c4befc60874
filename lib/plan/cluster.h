/* SPDX-License-Identifier: MIT */
/* Clusters and the grid that they make: how many tiles there are, and how many at once. */
#ifndef JG_PLAN_CLUSTER_H
#define JG_PLAN_CLUSTER_H

#include "plan/trial.h"

/* False with a reason if a cluster does not fit on the device, or if it has several CTAs
 * though threads load A and B, which work for their own CTA only. */
bool jg_cluster_check(struct jg_trial *trial);

/* CTAs of a cluster: those that share inputs, for each part of K that it has. */
int jg_cluster_ctas(const struct jg_config *config);
/* Is it known how many of its clusters run at once? Pairs fill every GPC. */
bool jg_is_cluster_counted(const struct jg_config *config,
                           const struct jg_device_facts *facts);
/* Is there a word of a planned device for how many clusters of so many CTAs run at once? */
bool jg_has_cluster_word(int cluster);
/* CTAs that fit at once (one per multiprocessor), in whole clusters: as the driver counts
 * them where that is known. */
int jg_resident_ctas(const struct jg_config *config, const struct jg_device_facts *facts);
/* Tiles along one dimension, padded to whole clusters. */
int64_t jg_tiles_along(int64_t size, int tile, int cluster);
/* Clusters of a launch with this many cluster tiles per batch, where `resident` clusters
 * fit at once: a grid that strides over the tiles has no more than fit, the others one for
 * each tile and part of K. All parts of a tile's K take neighbouring clusters, so the grid
 * has a multiple of them (jg/schedule/tile_order.cuh). */
int64_t jg_grid_clusters(const struct jg_config *config, int64_t tiles, int64_t batch,
                         int64_t resident);
/* Fills tiles, waves, grid and workspace of what is derived, whose output is there; false
 * with a reason if there are too many tiles. */
bool jg_tiles_count(struct jg_trial *trial);

#endif
