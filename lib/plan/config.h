/* SPDX-License-Identifier: MIT */
/*
 * The answer to a problem: which kernel, which tile, how it is launched. Plain data that
 * prints and parses; everything else is derived from it.
 *
 * Text form, in this order: `kernel=gemm tile=128x256x64 cluster=2x1 stages=4 raster=m
 * swizzle=8 out_stages=2 pdl=1`. A chip whose tensor core accumulates in a memory of its
 * own says what one instruction makes instead of a tile, and how many accumulators there
 * are: `kernel=gemm mma=256x256 cta_group=2 cluster=2x1 scheduler=clc k_group=1 stages=6
 * acc_stages=2 raster=m swizzle=8 out_stages=2 pdl=1`. Then the parts of K: `split_k=1`, or
 * `split_k=4 split_order=turnstile`; where an operand is prefetched, `prefetch=b`; where
 * the product is made transposed, `swap_ab=1`, and M and N of `mma`, `cluster` and `raster`
 * are then those of the transposed product. When read as an override every key is optional,
 * keys left out are chosen; `tile=128x256` leaves K to the kernel, and `mma=` without more
 * means swap_ab=0, and cta_group=2 if its M is 256, else 1. A chip refuses keys of others.
 * `kernel=reference` is the naive f64 kernel and takes no other key.
 */
#ifndef JG_PLAN_CONFIG_H
#define JG_PLAN_CONFIG_H

#include "base/str.h"

enum { JG_MAX_SPLIT_K = 64 };

enum jg_kernel_family {
    JG_KERNEL_GEMM = 0,     /* the structured kernel of the architecture */
    JG_KERNEL_REFERENCE = 1 /* one thread an element, f64 accumulation, any alignment */
};

enum jg_raster {
    JG_RASTER_ALONG_M =
        0, /* consecutive tiles walk down M inside a group of `swizzle` columns */
    JG_RASTER_ALONG_N =
        1 /* consecutive tiles walk along N inside a group of `swizzle` rows */
};

/* In which order the parts of a tile's sum are added up. */
enum jg_split_order {
    JG_SPLIT_TURNSTILE = 0, /* that of K: the same bits in every launch */
    JG_SPLIT_ARRIVAL = 1    /* the first, then as they come, then the last */
};

/* The operand whose first tiles are brought to L2 while the grid before still runs. */
enum jg_prefetch { JG_PREFETCH_NONE = 0, JG_PREFETCH_A = 1, JG_PREFETCH_B = 2 };

/* How the clusters of a grid share its tiles (jg/schedule/scheduler_for.cuh). */
enum jg_scheduler {
    JG_SCHEDULER_STATIC = 0, /* a resident grid, each cluster strides over the tiles */
    JG_SCHEDULER_SINGLE = 1, /* a cluster for each cluster tile, no loop */
    JG_SCHEDULER_CLC = 2     /* the same grid; clusters take over those not yet launched */
};

struct jg_config {
    enum jg_kernel_family kernel;
    int tile_m, tile_n, tile_k; /* elements of a CTA's tile */
    int mma_m, mma_n;           /* of the tile of a CTA, or of a pair; 0: tile says it */
    int cta_group;              /* CTAs that multiply as one: 1 or 2; 0: tile says it */
    int cluster_m, cluster_n;   /* CTAs of a cluster along M and N */
    enum jg_scheduler scheduler;
    int k_group;    /* blocks of K in a stage of the ring: 1, 2 or 4; 0: as 1 */
    int stages;     /* of the input ring */
    int acc_stages; /* accumulators: 1 or 2; 0: they are registers */
    enum jg_raster raster;
    int swizzle;    /* width of a raster group, in cluster tiles: 1, 2, 4, 8, 16 */
    int out_stages; /* output slabs of each team of warps that fills them: 1 or 2 */
    int pdl;        /* programmatic dependent launch: 0 or 1 */
    int debug;      /* waits end with a report instead of never: 0 or 1 */
    int trace;      /* roles record when they work on what: 0 or 1 */
    int split_k;    /* parts of K, multiplied by a CTA each: 1 to JG_MAX_SPLIT_K */
    enum jg_split_order split_order;
    enum jg_prefetch prefetch;
    int swap_ab; /* the product is made transposed: its M is the problem's N; 0 or 1 */
};

/* Which fields an override text sets; the rest of `values` is zero. */
struct jg_config_override {
    struct jg_config values;
    int has_kernel, has_tile, has_tile_k, has_mma, has_cta_group, has_cluster;
    int has_scheduler, has_k_group, has_stages, has_acc_stages, has_raster, has_swizzle,
        has_out_stages, has_pdl;
    int has_split_k, has_split_order, has_prefetch, has_swap_ab;
    int has_debug, has_trace;
};

void jg_config_print(const struct jg_config *config, struct jg_str *out);
/* Only what the override sets, in the order of the text form: one text a wish. */
void jg_config_print_override(const struct jg_config_override *override,
                              struct jg_str *out);
/* ARGUMENT with where = "config" and the key. Empty text sets nothing. */
jit_gemm_status jg_config_parse(const char *text, struct jg_config_override *ret_override);
/* ARGUMENT with where = "problem.config" if the override sets a key that is none of the
 * words in `keys`; `arch` is for the message. */
jit_gemm_status jg_config_check_keys(const struct jg_config_override *override,
                                     const char *arch, const char *keys);

#endif
