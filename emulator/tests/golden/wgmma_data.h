/* SPDX-License-Identifier: MIT */
/* Matrices that bring out how a tensor core rounds, and what it does with specials. */
#ifndef EMU_GOLDEN_WGMMA_DATA_H
#define EMU_GOLDEN_WGMMA_DATA_H

#include "elements.h"

enum gold_pattern {
    GOLD_RANDOM,    /* exponents -3 to 3 */
    GOLD_WIDE,      /* as wide a range of exponents as stays finite */
    GOLD_CANCEL,    /* products cancel in pairs, but for the last: what was lost shows */
    GOLD_LADDER,    /* one large product, and small ones that fall step by step below it */
    GOLD_LADDER_C,  /* one product, and C from well below to far above it */
    GOLD_LARGE_C,   /* C from below the products to far above them */
    GOLD_SUBNORMAL, /* operands, C and where possible results */
    GOLD_OVERFLOW,  /* sums beyond the largest number */
    GOLD_SPECIAL,   /* NaN, infinities, zeros strewn in */
    GOLD_ZEROS,     /* signed zeros, and products that cancel exactly */
    GOLD_EXTREME,   /* integers: ends of the range */
};

struct gold_matrices {
    const struct gold_format *a_format, *b_format, *c_format;
    unsigned m, n, k;
    uint32_t *a; /* m x k, row-major, one element per word */
    uint32_t *b; /* n x k */
    uint32_t *c; /* m x n */
};

/* Makes a, b and c; free with gold_matrices_free. Depends on the formats, the sizes and the
 * pattern alone. */
void gold_matrices_make(struct gold_matrices *matrices, enum gold_pattern pattern);
void gold_matrices_free(struct gold_matrices *matrices);

#endif
