/* SPDX-License-Identifier: MIT */
/*
 * The answer to a problem: which kernel, which tile, how it is launched. Plain data that
 * prints and parses; everything else is derived from it.
 *
 * Text form: the keys that the chip takes, in its order, such as `kernel=gemm
 * tile=128x256x64 cluster=2x1 stages=4 raster=m raster_group=8 out_stages=2 pdl=1
 * split_k=1`. A chip whose tensor core accumulates in a memory of its own says what one
 * instruction makes instead of a tile, and how many accumulators there are: `mma=256x256
 * cta_group=2 ... acc_stages=2`. `split_order` is printed where K is split; `repack`
 * where A and B are unaligned; `k_turns` where it may be; `pingpong`, `split_tail`,
 * `prefetch`, `swap_ab`, `debug` and `trace` where they are on. With `swap_ab=1` M and N of
 * `mma`, `cluster` and `raster` are those of the transposed product; a `tile` alone says
 * which of both has it, and means swap_ab=0 if both do. When read as an override every key
 * is optional, keys left out are chosen; `tile=128x256` leaves K to the kernel and means
 * pingpong=0, and `mma=` without more means swap_ab=0, and cta_group=2 if its M is 256,
 * else 1. A chip refuses keys of others. `kernel=reference` is the naive f64 kernel and
 * takes no other key. Old words are read: `swizzle` for `raster_group`, `turnstile` for
 * `serial`, `arrival` for `unordered`.
 */
#ifndef JG_PLAN_CONFIG_H
#define JG_PLAN_CONFIG_H

#include <stdbool.h>

#include "base/str.h"

enum {
    JG_MAX_SPLIT_K = 64,
    JG_MAX_OUT_STAGES = 5 /* of blocks that wait for their scale; 2 of all others */
};

enum jg_kernel_family {
    JG_KERNEL_GEMM = 0,     /* the structured kernel of the architecture */
    JG_KERNEL_REFERENCE = 1 /* one thread per element, f64 accumulation, any alignment */
};

enum jg_raster {
    JG_RASTER_ALONG_M = 0, /* consecutive tiles go down M inside a group of columns */
    JG_RASTER_ALONG_N = 1  /* consecutive tiles go along N inside a group of rows */
};

/* In which order the parts of a tile's sum are added up. */
enum jg_split_order {
    JG_SPLIT_SERIAL = 0,    /* that of K: the same bits in every launch */
    JG_SPLIT_UNORDERED = 1, /* the first, then as they come, then the last */
    JG_SPLIT_CLUSTER = 2,   /* that of K, by the CTAs of a cluster; of more parts than it
                               takes, then by clusters, in a workspace */
    JG_SPLIT_PARALLEL = 3   /* that of K, a share of D by each part, in a workspace */
};

/* The operand whose first tiles are brought to L2 while the grid before still runs. */
enum jg_prefetch { JG_PREFETCH_NONE = 0, JG_PREFETCH_A = 1, JG_PREFETCH_B = 2 };

/* How the clusters of a grid share its tiles (jg/schedule/scheduler_for.cuh). */
enum jg_scheduler {
    JG_SCHEDULER_STATIC = 0, /* a resident grid, each cluster strides over the tiles */
    JG_SCHEDULER_SINGLE = 1, /* a cluster for each cluster tile, no loop */
    JG_SCHEDULER_CLC = 2     /* the same grid; clusters take over those not yet launched */
};

/* What the math warpgroups of a CTA have of a tile of 64 rows, beside scales of blocks. */
enum jg_k_turns {
    JG_K_TURNS_NONE = 0,   /* there are no such: nothing to decide */
    JG_K_TURNS_HALVES = 1, /* half of its columns each */
    JG_K_TURNS_TAKEN = 2   /* every other block of K each */
};

/* What a CTA, and a cluster of them, makes of the product. */
struct jg_config_layout {
    int tile_m, tile_n, tile_k; /* elements of a CTA's tile */
    int mma_m, mma_n;           /* of the tile of a CTA, or of a pair; 0: tile says it */
    int cta_group;              /* CTAs that multiply as one: 1 or 2 */
    int pingpong; /* the math warpgroups of a CTA take a tile each in turn, not halves of
                     one: 0 or 1 */
    enum jg_k_turns k_turns;
    int epilogue_warps;       /* that write a tile: 4 or 8; 0: as many as usual */
    int cluster_m, cluster_n; /* CTAs of a cluster along M and N */
    int swap_ab; /* the product is made transposed: its M is the problem's N; 0 or 1 */
};

/* Where the product waits. */
struct jg_config_storage {
    int acc_stages; /* accumulators: 1 or 2; 0: they are registers */
    int out_stages; /* store tiles of each team of warps that fills them: 1 or 2, or as many
                       as blocks of D take that wait for their scale */
};

/* Which of A and B are copied before the product, to rows that TMA takes. */
enum jg_repack {
    JG_REPACK_ALIGNED = 0, /* TMA takes both as they are: nothing to decide */
    JG_REPACK_NONE = 1,    /* none: threads load both */
    JG_REPACK_A = 2,
    JG_REPACK_B = 3,
    JG_REPACK_AB = 4
};

/* Do A and B by pointers come by a map of each group, which a kernel before writes? */
enum jg_group_maps {
    JG_GROUP_MAPS_NONE = 0, /* they do not come by pointers, or TMA does not take them:
                               nothing to decide */
    JG_GROUP_MAPS_UNUSED = 1,
    JG_GROUP_MAPS_WRITTEN = 2
};

/* Do A's rows that an index names come by copies of TMA, or by threads? */
enum jg_row_boxes {
    JG_ROW_BOXES_NONE = 0, /* no index names them, or TMA does not take them: nothing to
                              decide */
    JG_ROW_BOXES_UNUSED = 1,
    JG_ROW_BOXES_USED = 2
};

/* How the inputs come. */
struct jg_config_pipeline {
    int stages;  /* of the input ring */
    int k_group; /* blocks of K in a stage of the ring: 1, 2 or 4; 0: as 1 */
    enum jg_prefetch prefetch;
    enum jg_repack repack; /* of the problem's A and B */
    enum jg_group_maps group_maps;
    enum jg_row_boxes row_boxes;
};

/* What a grid is and does. */
struct jg_config_launch {
    enum jg_scheduler scheduler;
    enum jg_raster raster;
    int raster_group; /* width of a group of the raster, in cluster tiles: 1, 2, 4, 8, 16 */
    int pdl;          /* programmatic dependent launch: 0 or 1 */
    int resident;     /* CTAs that a multiprocessor has room for, one of them of the next
                         launch: 2; 0: as 1 */
    int split_k;      /* parts of K, multiplied by a CTA each: 1 to JG_MAX_SPLIT_K */
    enum jg_split_order split_order;
    int split_tail; /* cluster tiles of a wave: only those beyond whole waves have the
                       parts; 0: all have */
    int cluster_k;  /* of these the CTAs of a cluster have; 0: all, or as many of them as a
                       cluster takes and as divide them */
    int debug;      /* waits end with a report instead of never: 0 or 1 */
    int trace;      /* roles record when they work on what: 0 or 1 */
    int lineinfo;   /* the cubin says which line each instruction is of: 0 or 1 */
};

struct jg_config {
    enum jg_kernel_family kernel;
    struct jg_config_layout layout;
    struct jg_config_storage storage;
    struct jg_config_pipeline pipeline;
    struct jg_config_launch launch;
};

/* Which fields an override text sets; the rest of `values` is zero. */
struct jg_config_override {
    struct jg_config values;
    bool has_kernel, has_tile, has_tile_k, has_mma, has_cta_group, has_pingpong,
        has_k_turns;
    bool has_cluster;
    bool has_scheduler, has_k_group, has_stages, has_acc_stages, has_epilogue_warps,
        has_raster, has_raster_group, has_out_stages, has_pdl, has_resident;
    bool has_split_k, has_split_order, has_split_tail, has_cluster_k, has_prefetch,
        has_repack, has_group_maps, has_row_boxes, has_swap_ab;
    bool has_debug, has_trace, has_lineinfo;
};

/* `keys` are those that the chip takes, in the order of printing (struct jg_arch). */
void jg_config_print(const struct jg_config *config, const char *keys, struct jg_str *out);
/* Only what the override sets, in the order of the table: one text per wish. */
void jg_config_print_override(const struct jg_config_override *override,
                              struct jg_str *out);
/* ARGUMENT with where = "config" and the key. Empty text sets nothing. */
jit_gemm_status jg_config_parse(const char *text, struct jg_config_override *ret_override);
/* Does a whole config have what the override sets? */
bool jg_config_has(const struct jg_config *config,
                   const struct jg_config_override *override);
/* ARGUMENT with where = "problem.config" if the override sets a key that is none of the
 * words in `keys`; `arch` is for the message. */
jit_gemm_status jg_config_check_keys(const struct jg_config_override *override,
                                     const char *arch, const char *keys);

#endif
