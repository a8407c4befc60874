/* SPDX-License-Identifier: MIT */
/* A matrix of the product, in every room of the plan. Plain data. */
#ifndef JG_PLAN_MATRIX_H
#define JG_PLAN_MATRIX_H

#include <stdbool.h>

#include "plan/dtype.h"

enum {
    JG_TMA_ALIGNMENT = 16,        /* bytes: what TMA needs of addresses, rows and batches */
    JG_TMA_SPREAD_ALIGNMENT = 32, /* the same of a matrix whose elements it spreads */
    JG_TMA_SPREAD_ELEMENTS = 128  /* what the rows of such a matrix are a multiple of */
};

struct jg_matrix {
    char letter;          /* of the problem's matrix: 'a', 'b', 'c' or 'd' */
    jit_gemm_dtype dtype; /* NONE: there is no such matrix */
    bool is_mn_major; /* does M or N run fastest? Of C and D: M, columns after columns */
    int alignment;    /* bytes; what the problem promises of it in memory */
    jit_gemm_scale scale; /* complete */
};

/* Bits that elements of A and B have in shared memory. Where one has 8 and the other 4, the
 * tensor core takes a byte of each, and TMA spreads those of 4. */
static inline int jg_tile_bits(const struct jg_matrix *a, const struct jg_matrix *b)
{
    const int a_bits = jg_dtype_bits(a->dtype);
    const int b_bits = jg_dtype_bits(b->dtype);
    return a_bits > b_bits ? a_bits : b_bits;
}

/* Does TMA spread the elements of this input of a product with `other`? */
static inline bool jg_is_spread(const struct jg_matrix *matrix,
                                const struct jg_matrix *other)
{
    return jg_dtype_bits(matrix->dtype) < jg_tile_bits(matrix, other);
}

#endif
