/* SPDX-License-Identifier: MIT */
#include "plan/cluster.h"

#include "base/math.h"
#include "plan/group_maps.h"
#include "plan/groups.h"
#include "plan/repack.h"
#include "plan/scale_pack.h"
#include "plan/split.h"
#include "plan/typical_sizes.h"

/* Multiprocessors that a GPC was seen to have at least. */
#define LEAST_GPC_SMS 14
/* Clusters of fewer CTAs were seen to be as many as such GPCs hold. */
#define LARGE_CLUSTER 7
/* Of these, which fill a whole GPC, two less: an H100 of 132 multiprocessors runs 17
 * clusters of 6 at once, not 18 (bench/results/2026-11-26-h100-gpc.jsonl), and 17 were slow
 * (2026-11-26-h100-shared-parts.jsonl). */
#define TIGHT_CLUSTER      6
#define TIGHT_CLUSTER_LESS 2
/* GPCs of a device's dies. */
#define DIE_GPCS 8
/* Multiprocessors of the devices whose clusters were counted, and the least of these. */
#define USUAL_SMS           132
#define LEAST_USUAL_CLUSTER 4
/* Of these one kind runs as many as were counted, everywhere that anybody looked: on two
 * H100s and an H200 by the driver; on others cuBLAS launches 120 CTAs in clusters of 4x2
 * (CUTLASS, issue 1921), and clusters of 8 touch 120 multiprocessors (accel-sim's
 * gpu-app-collection, 87). */
#define SURE_CLUSTER 8

/* Of L2, that keeps a group's B from one tile of rows to the next. */
#define KEPT_B_PART 0.45

/* A grid has no more; CTAs and tiles are 32-bit numbers in the kernel. */
#define MAX_CTAS ((INT64_C(1) << 31) - 1)

/* Where an index names A's rows, does TMA bring B beside threads that copy those? */
static bool sends_other(const struct jg_product *product)
{
    return product->a_rows == JIT_GEMM_ROWS_INDEXED &&
           product->a.alignment == JG_TMA_ALIGNMENT;
}

/* Would CTAs of the cluster share what threads load? They may share a B that TMA brings
 * beside rows of A, where none of them multiplies for another. */
static bool shares_what_threads_load(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const int of_rows =
        trial->product.a.letter == 'a' ? layout->cluster_n : layout->cluster_m;
    const int ctas = layout->cluster_m * layout->cluster_n;
    return ctas > 1 &&
           (!sends_other(&trial->product) || of_rows > 1 || layout->cta_group == 2);
}

bool jg_cluster_check(struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const struct jg_device_facts *facts = trial->facts;
    const int cluster = jg_cluster_ctas(&trial->config);
    char name[128];
    jg_cluster_print(&trial->config, name, sizeof(name));
    if (cluster > facts->sm_count) {
        return jg_trial_reject(trial, "%s does not fit on %d multiprocessors", name,
                               facts->sm_count);
    }
    if (facts->most_cluster_ctas > 0 && cluster > facts->most_cluster_ctas) {
        return jg_trial_reject(trial, "%s: the device holds no cluster of %d CTAs", name,
                               cluster);
    }
    if (jg_loads_by_threads(&trial->product) && shares_what_threads_load(trial)) {
        return jg_trial_reject(
            trial, "cluster=%dx%d: with %s threads load %s, each CTA's for itself: %s",
            layout->cluster_m, layout->cluster_n, jg_thread_loads_name(&trial->product),
            trial->product.a_rows == JIT_GEMM_ROWS_INDEXED ? "rows of A" : "A and B",
            layout->swap_ab == 0 && layout->cta_group < 2 && sends_other(&trial->product)
                ? "cluster=2x1 or 1x1"
                : "cluster=1x1");
    }
    return true;
}

int jg_cluster_ctas(const struct jg_config *config)
{
    return config->layout.cluster_m * config->layout.cluster_n * jg_cluster_parts(config);
}

/* Which of the numbers of a device is that of such clusters; -1: none. */
static int find_counted(int cluster)
{
    for (int i = 0; i < JG_COUNTED_CLUSTERS; i++) {
        if (cluster == JG_LEAST_COUNTED_CLUSTER << i) {
            return i;
        }
    }
    return -1;
}

bool jg_has_cluster_word(int cluster)
{
    return find_counted(cluster) >= 0;
}

/* Of which the driver has counted how many run at once; 0 of none, and of all others. */
static int count_at_once(int cluster, const struct jg_device_facts *facts)
{
    const int counted = find_counted(cluster);
    return counted >= 0 ? facts->clusters_at_once[counted] : 0;
}

bool jg_is_cluster_counted(const struct jg_config *config,
                           const struct jg_device_facts *facts)
{
    const int cluster = jg_cluster_ctas(config);
    return cluster < JG_LEAST_COUNTED_CLUSTER || count_at_once(cluster, facts) > 0;
}

/* Clusters of so many CTAs that all GPCs hold at least, however the multiprocessors that
 * the die lacks are spread over them: of one H100 the driver counts 7 of 16, 7 of 11 to 14,
 * 15 of 8 and 30 of 4. */
static int count_in_gpcs(int cluster, const struct jg_device_facts *facts)
{
    const int whole = facts->gpc_sms;
    const int missing = (int)jg_max(DIE_GPCS * whole - facts->sm_count, 0);
    /* What a GPC must lack to hold a cluster less. */
    const int lacks = (int)jg_align_up(whole % cluster + 1, 2);
    return (int)jg_max(DIE_GPCS * (whole / cluster) - missing / lacks, 0);
}

/* What the GPCs of a Hopper with 132 multiprocessors hold of them, of which one lacks
 * eight: the driver of two H100s counts 30 clusters of 4, 22 of 5, 17 of 6, 15 of 7 and
 * of 8, 9 of 9, and 7 of 10 to 16. One less is counted on, but of 8, for boards that nobody
 * has asked; of one that holds still fewer a load says so (runtime/module.c). */
static int count_usual(int cluster, const struct jg_device_facts *facts)
{
    static const int gpcs[DIE_GPCS] = {18, 18, 16, 16, 16, 16, 16, 8};
    int count = 0;
    for (int i = 0; i < DIE_GPCS; i++) {
        count += gpcs[i] / cluster;
    }
    const bool is_such = facts->gpc_sms == gpcs[0] && facts->sm_count == USUAL_SMS;
    const int unsure = cluster == SURE_CLUSTER ? 0 : 1;
    return is_such && cluster >= LEAST_USUAL_CLUSTER ? count - unsure : 0;
}

/* Clusters of parts that run at once on any device that has so many multiprocessors, and on
 * one that holds so many larger ones. */
static int count_least(int cluster, const struct jg_device_facts *facts)
{
    const int seen = facts->sm_count / LEAST_GPC_SMS * (LEAST_GPC_SMS / cluster);
    int least = facts->gpc_sms > 0 ? count_in_gpcs(cluster, facts) : seen;
    least = seen > 0 && cluster < LARGE_CLUSTER ? (int)jg_min(least, seen) : least;
    const bool fills_gpc = facts->gpc_sms > 0 && facts->gpc_sms % cluster == 0;
    least -= cluster == TIGHT_CLUSTER && fills_gpc ? TIGHT_CLUSTER_LESS : 0;
    least = (int)jg_max(least, count_usual(cluster, facts));
    for (int i = 0; i < JG_COUNTED_CLUSTERS; i++) {
        if (cluster <= JG_LEAST_COUNTED_CLUSTER << i) {
            least = (int)jg_max(least, facts->clusters_at_once[i]);
        }
    }
    return (int)jg_max(least, 1); /* or none fits, which the driver says */
}

/* A cluster lies in one GPC, which has whole pairs of multiprocessors. Devices differ in
 * how many each of theirs has: one H200 had no place for 32 clusters of 4. Clusters that
 * share inputs are a resident grid, of which those without a place find nothing left to do,
 * or ask launch control for tiles; each cluster of parts, and of a grid without either, has
 * a tile. */
int jg_resident_ctas(const struct jg_config *config, const struct jg_device_facts *facts)
{
    const int cluster = jg_cluster_ctas(config);
    const int counted = count_at_once(cluster, facts);
    if (counted > 0) {
        return counted * cluster;
    }
    const bool has_a_tile_each = config->launch.scheduler == JG_SCHEDULER_SINGLE;
    if ((jg_keeps_sums(config) || has_a_tile_each) && cluster > 2) {
        return (int)jg_min(count_least(cluster, facts), facts->sm_count / cluster) *
               cluster;
    }
    const bool asks_for_tiles = config->launch.scheduler == JG_SCHEDULER_CLC;
    const int likely = asks_for_tiles && facts->gpc_sms > 0 && cluster > 2
                           ? count_in_gpcs(cluster, facts)
                           : facts->sm_count / cluster;
    return (int)jg_max(likely, 1) * cluster;
}

int64_t jg_tiles_along(int64_t size, int tile, int cluster)
{
    return jg_align_up(jg_ceil_div(size, tile), cluster);
}

/* Does each cluster stride over the tiles, with the others beside it? */
static bool has_resident_grid(const struct jg_config *config)
{
    return config->launch.scheduler == JG_SCHEDULER_STATIC;
}

/* Clusters that run at once. */
static int64_t count_busy_clusters(const struct jg_config *config, int64_t tiles,
                                   int64_t resident)
{
    const int64_t parts = jg_workspace_parts(config);
    /* Without an overflow: tiles fit 32 bits, their parts may not. */
    const int64_t wanted = tiles < resident ? jg_split_entries(config, tiles) : resident;
    if (config->launch.split_tail > 0 &&
        jg_split_tiles(config, tiles) * parts <= resident) {
        return jg_min(wanted, resident); /* no cluster has two parts */
    }
    return jg_max(jg_min(wanted, resident) / parts, 1) * parts;
}

int64_t jg_grid_clusters(const struct jg_config *config, int64_t tiles, int64_t batch,
                         int64_t resident)
{
    if (!has_resident_grid(config)) {
        return jg_split_entries(config, tiles * batch);
    }
    /* Below 2^63 also where nobody has counted the tiles of all batches. */
    const bool counts_all = tiles < resident || config->launch.split_tail > 0;
    return count_busy_clusters(config, counts_all ? tiles * batch : tiles, resident);
}

static void size_grid(struct jg_trial *trial)
{
    const struct jg_config *config = &trial->config;
    struct jg_derived *derived = &trial->derived;
    const int resident = jg_resident_ctas(config, trial->facts);
    const int cluster = jg_cluster_ctas(config);
    const int ctas_of_tiles = config->layout.cluster_m * config->layout.cluster_n;
    const int64_t tiles = derived->tiles / ctas_of_tiles;
    derived->grid_ctas =
        (int)jg_grid_clusters(config, tiles, 1, resident / cluster) * cluster;
    derived->busy_ctas =
        (int)count_busy_clusters(config, tiles, resident / cluster) * cluster;
    const int parts = config->launch.split_tail > 0 ? 1 : config->launch.split_k;
    derived->waves = (double)derived->tiles * (double)jg_max(parts, 1) / resident;
}

/* What a launch of the planned size takes of a workspace; false with a reason if that is
 * more than it has. */
static bool size_workspace(struct jg_trial *trial)
{
    const struct jg_problem *problem = trial->problem;
    const struct jg_epilogue *epilogue = problem->epilogue;
    const struct jg_product *product = &trial->product;
    struct jg_derived *derived = &trial->derived;
    /* Of all groups, not of a typical one. */
    const struct jg_product_size size =
        jg_product_size(product, (uint32_t)problem->m.size, (uint32_t)problem->n.size);
    const struct jg_reduction_frame frame = jg_reduction_frame_make(
        &trial->config, product, &derived->output, size, problem->batch.size);
    const struct jg_workspace_use use =
        jg_workspace_measure(&trial->config, derived->tiles, derived->sums_bytes, &frame,
                             epilogue != NULL ? epilogue->operands : NULL,
                             epilogue != NULL ? epilogue->operand_count : 0);
    if (use.words > JG_WORKSPACE_WORDS) {
        return jg_trial_reject(
            trial,
            "reductions: a workspace has %d counters, and the problem's tiles need %lld; "
            "split it",
            JG_WORKSPACE_WORDS, (long long)use.words);
    }
    const struct jg_repack_size planned = jg_repack_planned_size(product);
    const int64_t copies = jg_repack_place(&trial->config, product, planned, use.bytes).end;
    const int64_t maps =
        jg_group_maps_place(&trial->config, problem->batch.size, copies).end;
    const struct jg_scale_pack_size scales = jg_scale_pack_planned_size(problem, product);
    derived->workspace_bytes = jg_scale_pack_place(product, &scales, maps).end;
    if (derived->workspace_bytes == INT64_MAX) {
        return jg_trial_reject(trial, "copies of A, B or scales take more than 2^63 bytes");
    }
    derived->copied_bytes = derived->workspace_bytes - use.bytes;
    return true;
}

/* Are tiles saved where clusters of two tiles along a group's rows are turned? Of elements
 * of 8 bits that was not seen: clusters along the columns, whose tiles of rows are as
 * short, took 0.95 to 1.00 of their time. But they read a group's B for each tile of rows,
 * and where L2 does not keep that they took 0.97 to 1.10 of it, whatever else they
 * save (2026-11-26-h200-groups-byte-tiles.jsonl). */
static bool saves_tiles_by_turns(const struct jg_trial *trial)
{
    const struct jg_product *product = &trial->product;
    const int bits = jg_dtype_bits(product->a.dtype);
    const double b_bytes =
        (double)product->n.size * (double)product->k.size * (double)bits / 8.0;
    const bool promotes = trial->derived.promotes_sums;
    if (jg_plans_sizes(trial) && promotes) {
        return trial->derived.turns_last; /* and no average hides it */
    }
    return trial->derived.turns_last && !promotes &&
           (bits > 8 || b_bytes > KEPT_B_PART * (double)trial->facts->l2_bytes);
}

/* False if there are more than any number can say. */
static bool count_tiles(const struct jg_trial *trial, int64_t *ret_tiles)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const struct jg_product *product = &trial->product;
    const int64_t tiles_m =
        jg_tiles_along(product->m.size, layout->tile_m, layout->cluster_m);
    const int64_t tiles_n =
        jg_tiles_along(product->n.size, layout->tile_n, layout->cluster_n);
    if (jg_has_row_groups(product->group_by)) {
        return jg_groups_count_tiles(trial, saves_tiles_by_turns(trial), ret_tiles);
    }
    return jg_mul_checked(tiles_m, tiles_n, ret_tiles) &&
           jg_mul_checked(*ret_tiles, product->batch.size, ret_tiles);
}

bool jg_tiles_count(struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const int parts = jg_workspace_parts(&trial->config);
    struct jg_derived *derived = &trial->derived;
    const int64_t most_tiles =
        MAX_CTAS / jg_cluster_ctas(&trial->config) * layout->cluster_m * layout->cluster_n;
    if (!count_tiles(trial, &derived->tiles) || derived->tiles > most_tiles) {
        return jg_trial_reject(trial,
                               "the problem has more than %lld tiles of %dx%d; split it",
                               (long long)most_tiles, layout->tile_m, layout->tile_n);
    }
    if (parts > 1 &&
        jg_split_use(&trial->config, derived->tiles, derived->sums_bytes).words >
            JG_WORKSPACE_WORDS) {
        return jg_trial_reject(
            trial, "split_k=%d: a workspace has locks for %d tiles, the problem has %lld",
            parts, JG_WORKSPACE_TILES, (long long)derived->tiles);
    }
    size_grid(trial);
    return size_workspace(trial);
}
