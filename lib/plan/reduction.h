/* SPDX-License-Identifier: MIT */
/* Operands that hold a value of each row, each column or all of D: what of a workspace they
 * take. Each team of warps stores what its part of a tile comes to, a partial result, and
 * counts; the last of a block of results (those of a tile's rows, of its columns, or of a
 * batch) adds all of it up (kernel_src/jg/epilogue/reducing_team.cuh). Pure functions. */
#ifndef JG_PLAN_REDUCTION_H
#define JG_PLAN_REDUCTION_H

#include "plan/arch.h"
#include "plan/product.h"

/* How much of a workspace is taken, from its begin: locks and counters are words, and the
 * bytes include them. */
struct jg_workspace_use {
    int64_t words, bytes;
};

/* The tiles of a launch, as D lies in memory. Those one below the other are those of all
 * batches or groups; with groups of rows so many as there can be. */
struct jg_reduction_frame {
    struct jg_partial_results parts;
    int64_t tiles_down, tiles_across, batch;
    int tile_rows, tile_columns;
    bool is_column_major;
};

/* `size`: M and N of the product in this launch. */
struct jg_reduction_frame jg_reduction_frame_make(const struct jg_config *config,
                                                  const struct jg_product *product,
                                                  const struct jg_output *output,
                                                  struct jg_product_size size,
                                                  int64_t batch);

/* Where an operand's first counter is, and its first partial result. */
struct jg_reduction_place {
    int64_t counter, offset_bytes;
};

/* Takes what the operand needs, behind what is taken. With more words than a workspace has
 * (JG_WORKSPACE_WORDS) the rest means nothing. */
struct jg_reduction_place jg_reduction_reserve(const struct jg_reduction_frame *frame,
                                               const struct jg_operand *operand,
                                               struct jg_workspace_use *use);

/* What a launch takes in all: of parts of K, of `tiles` of a CTA that each stages so many
 * bytes of, and of all operands that reduce. */
struct jg_workspace_use jg_workspace_measure(const struct jg_config *config, int64_t tiles,
                                             int64_t staged_bytes,
                                             const struct jg_reduction_frame *frame,
                                             const struct jg_operand *operands,
                                             uint32_t operand_count);

#endif
