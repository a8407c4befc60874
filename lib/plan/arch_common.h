/* SPDX-License-Identifier: MIT */
/* Sums that the chips share: tiles, shared memory of a ring, walks over tiles, bytes of an
 * epilogue. Pure functions. */
#ifndef JG_PLAN_ARCH_COMMON_H
#define JG_PLAN_ARCH_COMMON_H

#include "plan/arch.h"

enum {
    JG_ROW_BYTES = 128,        /* of every tile, slab and box */
    JG_RING_BARRIER_BYTES = 16 /* a full and an empty barrier, each stage of a ring */
};

/* A workspace begins with the locks of the tiles, two words each, whichever kernel uses it:
 * what one kernel leaves behind is then never taken for a lock by the next. */
enum {
    JG_WORKSPACE_TILES = 4096,                         /* most of one launch */
    JG_WORKSPACE_SUMS_OFFSET = 8 * JG_WORKSPACE_TILES, /* bytes */
    JG_WORKSPACE_ALIGNMENT = 128
};

/* Elements of K of a stage: the 128 bytes of one swizzle row. */
int jg_tile_k(const struct jg_problem *problem);

/* Shared memory of a CTA: a ring of stages, and the rest. */
struct jg_smem {
    int stage_blocks;    /* blocks of K in a stage */
    int64_t stage_bytes; /* tiles and barriers of one stage */
    int64_t other_bytes;
    int64_t least_bytes; /* asked for even where less is used */
};

/* Rounded up to the alignment of a swizzled tile. */
int64_t jg_smem_bytes(const struct jg_smem *smem, int stages);

/* A limit on the number of stages, and words for its message. */
struct jg_stage_limits {
    int least, most;
    const char *arch;  /* "sm_90a" */
    const char *shape; /* "tile=128x256" */
};

/* Do the config's stages fit? 0 with a reason if not. */
int jg_stages_check(const struct jg_config *config, const struct jg_smem *smem,
                    const struct jg_device_facts *facts,
                    const struct jg_stage_limits *limits, char *reason, size_t size);
/* As many as fit, and no more than K needs. */
int jg_stages_choose(const struct jg_problem *problem, const struct jg_smem *smem,
                     const struct jg_device_facts *facts,
                     const struct jg_stage_limits *limits);

/* What any chip can share out: 0 with a reason if a cluster does not fit on the device, if
 * it has several CTAs though threads load A and B, which work for their own CTA alone, or
 * if K has fewer blocks than parts. */
int jg_shares_check(const struct jg_problem *problem, const struct jg_device_facts *facts,
                    const struct jg_config *config, char *reason, size_t size);
/* Sets what every chip sets alike: parts of K, slabs of output, dependent launch. */
void jg_common_complete(const struct jg_config_override *override, int split_k,
                        struct jg_config *config);
/* Clocks for a stage of so many bytes that threads bring, 0 if they do not. Fitted to the
 * runs of bench/results/2026-11-22-h200-unaligned.txt, on an H200. */
double jg_thread_loads_clk(const struct jg_problem *problem, double stage_bytes);

/* The problem whose product the kernel makes: the transposed one with swap_ab. */
struct jg_problem jg_product(const struct jg_problem *problem,
                             const struct jg_config *config);

/* CTAs that fit at once (one a multiprocessor), in whole clusters. */
int jg_resident_ctas(const struct jg_config *config, const struct jg_device_facts *facts);
/* Clusters of a launch with this many cluster tiles, where `resident` clusters fit at once:
 * a static grid has no more than fit, the others one for each tile and part of K.
 * All parts of a tile's K take neighbouring clusters, so the grid has a multiple of them
 * (jg/schedule/tile_scheduler.cuh). */
int64_t jg_grid_clusters(const struct jg_config *config, int64_t tiles, int64_t resident);
/* Bytes of the workspace of a launch with this many tiles of a CTA: locks, then sums. 0
 * where K is not split. */
int64_t jg_workspace_bytes(const struct jg_config *config, int64_t tiles);
/* Fills tiles, waves, grid and workspace; 0 with a reason if there are too many tiles. */
int jg_tiles_count(const struct jg_problem *problem, const struct jg_device_facts *facts,
                   const struct jg_config *config, struct jg_derived *derived, char *reason,
                   size_t size);
/* How a chip fills the rest of a config for a number of parts of K, and what follows from
 * it: see jg_arch. */
typedef void (*jg_split_complete_fn)(const struct jg_problem *problem,
                                     const struct jg_device_facts *facts,
                                     const struct jg_config_override *override, int split_k,
                                     struct jg_config *config);
typedef int (*jg_split_derive_fn)(const struct jg_problem *problem,
                                  const struct jg_device_facts *facts,
                                  const struct jg_config *config,
                                  struct jg_derived *ret_derived, char *reason,
                                  size_t reason_size);
/* Completes the config with the override's number of parts of K, or with that of the least
 * predicted time among those that the problem's limit on the workspace allows. */
void jg_split_choose(const struct jg_problem *problem, const struct jg_device_facts *facts,
                     const struct jg_config_override *override,
                     jg_split_complete_fn complete, jg_split_derive_fn derive,
                     struct jg_config *config);
/* Sets split_k, and split_order where there are several parts. */
void jg_split_set(const struct jg_config_override *override, int split_k,
                  struct jg_config *config);
/* 0 with a reason if K has fewer blocks than parts. */
int jg_split_check(const struct jg_problem *problem, const struct jg_config *config,
                   char *reason, size_t size);
/* Blocks of K of the longest part. */
int64_t jg_split_blocks(const struct jg_problem *problem, const struct jg_config *config);
/* What the parts of a tile's sum cost between their main loops and the epilogue: bytes of
 * f32 that a CTA stores, or loads, at a time, and how many times one CTA waits for another.
 */
struct jg_split_cost {
    double sums_bytes;
    int steps;
};
struct jg_split_cost jg_split_cost_of(const struct jg_problem *problem,
                                      const struct jg_config *config);
/* Sets raster and raster_group: those of the override, where it has them. */
void jg_raster_choose(const struct jg_problem *problem, const struct jg_device_facts *facts,
                      const struct jg_config_override *override, struct jg_config *config);

/* Bytes of matrices of D's shape that the epilogue reads or writes, an element. */
double jg_output_bytes(const struct jg_problem *problem);
/* Clocks to move them, an element: so many bytes a clock, or, where output_align makes
 * accesses narrow, an instruction of a warp each four clocks (assumed), if that is more. */
double jg_output_clk(const struct jg_problem *problem, double bytes_clk);
/* Stages that C and the matrix operands of one step of the epilogue take: one each, two
 * where elements have 32 bits, none where they have 8, nor with output_align
 * (jg/epilogue/matrix_stages.cuh). */
int jg_matrix_stages(const struct jg_problem *problem);
/* Two output slabs are needed for C, vectors and matrices, for a D of 8 bits, with
 * output_align, and where a row of D may end inside 16 bytes, which a TMA store would fill
 * up; 0 with a reason if there are fewer. */
int jg_out_stages_check(const struct jg_problem *problem, const struct jg_config *config,
                        char *reason, size_t size);

/* Two costs that overlap: the greater, and what still shows of the lesser. */
double jg_overlap(double a, double b);

#endif
