/* SPDX-License-Identifier: MIT */
/* Shared memory of a CTA, and how many stages of the input ring it holds. */
#ifndef JG_PLAN_SMEM_H
#define JG_PLAN_SMEM_H

#include "plan/trial.h"

enum {
    JG_ROW_BYTES = 128,        /* of every tile and box */
    JG_RING_BARRIER_BYTES = 16 /* a full and an empty barrier per stage of a ring */
};

/* Elements of K of a block: the 128 bytes of one swizzle row. */
int jg_tile_k(const struct jg_product *product);

/* A ring of stages, and the rest. */
struct jg_smem {
    int stage_blocks;    /* blocks of K in a stage */
    int64_t stage_bytes; /* tiles and barriers of one stage */
    int64_t other_bytes;
    int64_t least_bytes; /* asked for even where less is used */
    int residents;       /* CTAs that share a multiprocessor's; 0: as 1 */
};

/* The ring in which sums of a block of K find the scales of its blocks
 * (jg/tile/block_scales.cuh). */
struct jg_scale_ring {
    int slots; /* 0 where there are no such scales */
    int64_t bytes;
};
enum { JG_SCALE_COPY_WARPS = 3 /* all beside the one that loads tiles */ };
/* Do so many warps copy scales one by one, each in slots of its own? Where math warpgroups
 * have blocks of K in turn, and scales of some rows or columns lie row by row, of not too
 * many: on an H100 1x128 of both took 0.84 of the time in 64x64, 0.90 in 64x96, and 1.16 in
 * 64x128 and 1.24 in 64x160, where warps that read four blocks at once keep up
 * (2026-11-28-h100-scale-copies.jsonl). */
bool jg_shares_scale_copies(const struct jg_product *product,
                            const struct jg_config *config);
enum { JG_LEAST_SCALE_SLOTS = 2 };
/* What a block of a tile has. */
int64_t jg_scale_slot_bytes(const struct jg_product *product,
                            const struct jg_config *config);
/* `own_slots`: where rows and columns all have scales of their own, so many at least; but
 * of a gated product, of which 128x128 took 1.04 of the time with them and a stage less. */
struct jg_scale_ring jg_scale_ring_of(const struct jg_product *product,
                                      const struct jg_config *config, int own_slots);

/* Which rows of A an item has, where copies of TMA bring those that an index names
 * (jg/tile/row_indices.cuh); else 0. */
int64_t jg_row_indices_bytes(const struct jg_trial *trial);

/* Rounded up to the alignment of a swizzled tile. */
int64_t jg_smem_bytes(const struct jg_smem *smem, int stages);

/* A limit on the number of stages, and words for its message. */
struct jg_stage_limits {
    int least, most;
    const char *arch;  /* "sm_90a" */
    const char *shape; /* "tile=128x256" */
};

/* Do the config's stages fit? */
bool jg_stages_check(struct jg_trial *trial, const struct jg_smem *smem,
                     const struct jg_stage_limits *limits);
/* As many as fit, and no more than so many tiles need, which a CTA has one behind the
 * other. */
int jg_stages_choose(const struct jg_trial *trial, const struct jg_smem *smem,
                     const struct jg_stage_limits *limits, int64_t tiles);

#endif
