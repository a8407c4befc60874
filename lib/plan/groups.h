/* SPDX-License-Identifier: MIT */
/* Groups in the place of a batch: their names, what a problem with them may be, and how
 * many tiles they can have. */
#ifndef JG_PLAN_GROUPS_H
#define JG_PLAN_GROUPS_H

#include "plan/trial.h"

enum {
    JG_MOST_GROUPS = 4096,
    JG_GROUP_BLOCK_ROWS = 128, /* of a block that is one group's, where rows name theirs */
    JG_MOST_ROW_BLOCKS = 4096, /* which a CTA lists in shared memory, a word for each */
    JG_LEAST_ROW_BLOCKS = 512, /* for which there is room where M is dynamic */
    JG_LEAST_GATHERED = 256,   /* groups for which there is room to sort blocks */
    JG_LARGE_GROUP_ROWS = 256, /* from which on groups are rated by what large ones took */
    JG_TURNED_GROUP_ROWS = 64  /* ... and turned clusters count, where sizes are given */
};

/* "offsets", "counts", "rows", "k_offsets", "pointers"; "" for none. */
const char *jg_group_by_name(jit_gemm_group_by group_by);
/* False if it is no name of groups. */
bool jg_group_by_parse(const char *text, size_t size, jit_gemm_group_by *ret_group_by);

/* "untouched", "zero". */
const char *jg_group_rest_name(jit_gemm_group_rest group_rest);
/* False if it is no name of what becomes of rows of no group. */
bool jg_group_rest_parse(const char *text, size_t size,
                         jit_gemm_group_rest *ret_group_rest);

/* "stacked", "per_group_padded". */
const char *jg_scale_rows_name(jit_gemm_scale_rows scale_rows);
/* False if it is no name of where scales of groups begin. */
bool jg_scale_rows_parse(const char *text, size_t size,
                         jit_gemm_scale_rows *ret_scale_rows);

/* ARGUMENT, with the field: of the caller's problem by itself, once its batch is filled in.
 */
jit_gemm_status jg_groups_check_fields(const jit_gemm_problem *problem);
/* UNSUPPORTED, with the field: what no kernel does for groups. */
jit_gemm_status jg_groups_check_kernel(const jit_gemm_problem *problem,
                                       const struct jg_epilogue *epilogue);

/* Do groups divide the rows of A and D? */
static inline bool jg_has_row_groups(jit_gemm_group_by group_by)
{
    return group_by == JIT_GEMM_GROUP_BY_OFFSETS || group_by == JIT_GEMM_GROUP_BY_COUNTS ||
           group_by == JIT_GEMM_GROUP_BY_ROWS || group_by == JIT_GEMM_GROUP_BY_POINTERS;
}

/* What keeps groups from an N, or a K, of their own: the fact, and what to do about it.
 * Without a fact nothing does. */
struct jg_own_size_obstacle {
    const char *fact, *remedy;
};
struct jg_own_size_obstacle jg_groups_obstacle_to_own_n(const struct jg_problem *problem);
struct jg_own_size_obstacle jg_groups_obstacle_to_own_k(const struct jg_problem *problem);

/* May each group of a launch have one? */
static inline bool jg_groups_own_n(const struct jg_problem *problem)
{
    return jg_groups_obstacle_to_own_n(problem).fact == NULL;
}
static inline bool jg_groups_own_k(const struct jg_problem *problem)
{
    return jg_groups_obstacle_to_own_k(problem).fact == NULL;
}

/* Do matrices of `m` rows have those of all groups? */
static inline bool jg_is_stacked(jit_gemm_group_by group_by)
{
    return group_by == JIT_GEMM_GROUP_BY_OFFSETS || group_by == JIT_GEMM_GROUP_BY_ROWS;
}

/* Does the kernel that packs A's scales read the groups' numbers, because pieces have rows
 * of one group? */
bool jg_groups_pack_scales(const struct jg_problem *problem);

/* Blocks of rows that a kernel has room for; 0 if rows do not name their groups. */
int64_t jg_groups_row_blocks(const struct jg_problem *problem);

/* The order of blocks of rows in a kernel's list (jg/schedule/row_block_tile_order.cuh). */
enum jg_block_order {
    JG_BLOCKS_BY_ROW,   /* as the caller has them */
    JG_BLOCKS_GATHERED, /* by groups, so that a group's B is read while it is in L2 */
    JG_BLOCKS_SORTED    /* by groups, over which the epilogue reduces */
};
/* Gathered they are where a group may have several, at no more than a word of shared memory
 * for each block, or the least that is given. */
enum jg_block_order jg_groups_block_order(const struct jg_problem *problem);

/* False with a reason if a kernel of this config has no groups. */
bool jg_groups_check(struct jg_trial *trial);
/* When the boxes are decided: the maps of tails that groups along K take. False with a
 * reason if the boxes cannot be divided. */
bool jg_groups_complete(struct jg_trial *trial);

/* Rows that scales in the layout 128x4 have of `m` rows of A or D: of `groups` groups by
 * offsets each begins at 128 rows of its own. That is where `scale_rows` says: begin / 128
 * plus its number, or where the group before ends, no further. */
int64_t jg_groups_scale_rows(jit_gemm_group_by group_by, int64_t m, int64_t groups);

/* Elements of K that scales of blocks are laid out for, of `k` elements of A and B: of
 * groups along K each begins at a step of its own, begin / step plus its number. A step is
 * a block, or of scales that the tensor core multiplies by four, as pieces have them. 0 of
 * 0. */
int64_t jg_groups_scale_depth(jit_gemm_group_by group_by, int64_t k, int64_t groups,
                              const jit_gemm_scale *scale);

/* Elements of K that groups along it end at a multiple of, unless K ends there: 1, but
 * where K-major matrices come by copies. A number between counts as the multiple below it.
 */
int64_t jg_groups_k_step(const struct jg_problem *problem);

/* Bytes of shared memory in which a CTA counts the tiles of the groups, with where the list
 * ends and where its entries are two each, or lists blocks of rows
 * (jg/schedule/grouped_tile_order.cuh, row_block_tile_order.cuh). */
int64_t jg_groups_smem_bytes(const struct jg_problem *problem);

/* Tiles of all groups, padded to whole clusters, as the choice counts them: where sizes are
 * given, of these, half a cluster tile being enough where clusters are turned; else of
 * sizes drawn evenly about the typical one a group's last cluster tile is half empty, and
 * of large groups, where clusters are turned if half of one suffices, a quarter; by offsets
 * no fewer than of sizes that fall off exponentially. Rows of no group that are made 0 are
 * not counted. False if there are more than any number can say. */
bool jg_groups_count_tiles(const struct jg_trial *trial, bool turns_last,
                           int64_t *ret_tiles);

/* Tiles of CTAs along the rows that groups divide, of all groups: so many as there can be
 * in a launch of these sizes. */
int64_t jg_groups_row_tiles(const struct jg_config *config,
                            const struct jg_product *product, int64_t m, int64_t n,
                            int64_t batch);

/* The rows that groups divide, of a cluster tile and of a product of `m` x `n`, and what
 * lies across them in cluster tiles. */
struct jg_group_frame {
    int64_t step, rows, across;
};
struct jg_group_frame jg_groups_frame(const struct jg_config *config,
                                      const struct jg_product *product, int64_t m,
                                      int64_t n);

/* Cluster tiles of a launch: so many in each of so many batches. */
struct jg_cluster_tiles {
    int64_t tiles, batch;
};
/* Of a product of `m` x `n`, as the kernel takes it. Where groups are stacked, so many as
 * there can be: by offsets each group may have one more than its share of the rows, blocks
 * of rows have those of a matrix without groups. Rows of no group that are made 0 have
 * cluster tiles of their own. */
struct jg_cluster_tiles jg_cluster_tiles_of(const struct jg_config *config,
                                            const struct jg_product *product, int64_t m,
                                            int64_t n, int64_t batch);

#endif
