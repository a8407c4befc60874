/* SPDX-License-Identifier: MIT */
/*
 * The product that the kernel multiplies: the problem's, or with swap_ab its transpose,
 * D^T = B^T * A^T. It is made once per trial and kept in the choice; what comes later reads
 * it. C, D and operands lie in memory as the problem says, whichever product is made.
 */
#ifndef JG_PLAN_PRODUCT_H
#define JG_PLAN_PRODUCT_H

#include <stdbool.h>

#include "plan/problem.h"

struct jg_product {
    jit_gemm_dim m, n, k, batch;
    struct jg_matrix a, b;      /* as the kernel takes them, copies too (plan/repack.h); the
                                   letter is the problem's */
    struct jg_matrix d;         /* as it lies in memory */
    bool d_is_transpose;        /* does D lie in memory as the transpose of the product? */
    bool is_gated;              /* do two columns of the problem's B make one of D? */
    bool has_neighbours;        /* and side by side: jg_problem_has_neighbours */
    jit_gemm_group_by group_by; /* with groups, the size of what they divide, rows or K, and
                                   of the batch are those of typical groups and how many
                                   these are */
    jit_gemm_group_rest group_rest;
    jit_gemm_accumulate accumulate;
    jit_gemm_rows a_rows; /* of the problem's A, which may be the product's B */
    bool has_group_maps;  /* the config's: TMA loads by a map of each group */
    bool has_row_boxes;   /* the config's: TMA loads rows that an index names */
};

struct jg_product jg_product_make(const struct jg_problem *problem, bool swap_ab);

/* Do threads load A and B, because TMA does not take them, or only the device knows where
 * they are, and neither maps of each group nor copies of single rows take them? With an
 * index of the problem's A's rows the other matrix comes by TMA even so, if that takes it.
 */
static inline bool jg_loads_by_threads(const struct jg_product *product)
{
    return product->a.alignment < JG_TMA_ALIGNMENT ||
           (product->a_rows == JIT_GEMM_ROWS_INDEXED && !product->has_row_boxes) ||
           (product->group_by == JIT_GEMM_GROUP_BY_POINTERS && !product->has_group_maps);
}

/* Why they do, for messages: "input_align=2", "a_rows=indexed". Static. */
const char *jg_thread_loads_name(const struct jg_product *product);

/* Rows of the product that make one of D or of its transpose, and columns: of a gated one
 * two, where the problem's B has them. */
int jg_product_gate_rows(const struct jg_product *product);
int jg_product_gate_columns(const struct jg_product *product);

/* Are sums multiplied by scales when they leave the tensor core, after each block of K? */
bool jg_product_promotes_scales(const struct jg_product *product);

/* Does the tensor core multiply by scales? */
bool jg_product_is_block_scaled(const struct jg_product *product);
/* Does a warp gather scales that the tensor core multiplies by, of rows of A that an index
 * names? */
static inline bool jg_gathers_scales(const struct jg_product *product)
{
    return product->a_rows == JIT_GEMM_ROWS_INDEXED && jg_product_is_block_scaled(product);
}
/* ... and columns of B in two halves of it, which a multiplication each takes? */
bool jg_product_scales_halves(const struct jg_product *product);

/* M and N of the product where those of the problem are these. */
struct jg_product_size {
    uint32_t m, n;
};
struct jg_product_size jg_product_size(const struct jg_product *product, uint32_t m,
                                       uint32_t n);

#endif
