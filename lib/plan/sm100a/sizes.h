/* SPDX-License-Identifier: MIT */
/* What Blackwell's kernel has in shared memory, and the boxes of its tensor maps. */
#ifndef JG_PLAN_SM100A_SIZES_H
#define JG_PLAN_SM100A_SIZES_H

#include "plan/smem.h"

/* What one CTA has of an input of the product. */
struct jg_sm100a_input {
    const struct jg_matrix *matrix;
    char size;        /* M or N of the product */
    const char *unit; /* what lies along it */
    int count;        /* of M or N */
    int slices;       /* CTAs that load a part each and send it to the others */
    int gate;         /* of M or N, from acc0 to acc1; 0: it has one accumulator's only */
};

/* A is shared along N, B by the CTAs along M that have the same rank in their pair. */
struct jg_sm100a_input jg_sm100a_input_a(const struct jg_trial *trial);
struct jg_sm100a_input jg_sm100a_input_b(const struct jg_trial *trial);

/* Stages of the epilogue-load ring: room for two steps of the epilogue, so that one lands
 * while the other is read; for one, if that is much; for none if even one is too much: the
 * epilogue loads itself then. Eight warps have steps of twice as many bytes. */
int jg_sm100a_load_stages(const struct jg_trial *trial);

/* Of D or its transpose, of a tile's lanes: two of the product's make one where its B has
 * the pairs of a gated D. */
int jg_sm100a_columns_of_d(const struct jg_product *product,
                           const struct jg_config *config);

/* The sums of a tile, where CTAs add up parts of K, lie in the input ring, if so few stages
 * hold them and the override names no fewer: all is multiplied by then. */
bool jg_sm100a_sums_in_ring(const struct jg_trial *trial);

/* Sets the boxes of the tensor maps, and what of A and B a CTA has. */
void jg_sm100a_size_boxes(struct jg_trial *trial);

#endif
