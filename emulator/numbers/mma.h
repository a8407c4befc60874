/* SPDX-License-Identifier: MIT */
/* The parts of tensor-core arithmetic: operands made ready, inner sums. */
#ifndef EMU_NUMBERS_MMA_H
#define EMU_NUMBERS_MMA_H

#include "numbers/numbers.h"

/* Columns (rows of B) that are summed side by side. */
enum { EMU_MMA_COLUMNS = 16 };

/* The exponent of a zero: far below every other, so that no maximum takes it, yet sums and
 * differences of a few stay within int32_t. */
enum { EMU_MMA_ZERO_EXPONENT = -(1 << 24) };

/* --------------------------------------------------------------------- mma_operand.c */

enum emu_mma_way {
    EMU_MMA_ALIGNED,  /* products aligned one by one */
    EMU_MMA_GROUPS,   /* FP4: exact sums of groups of K, then scaled and aligned */
    EMU_MMA_INTEGERS, /* s32 accumulation */
    EMU_MMA_FLOATS    /* the fast way */
};

/* K elements that one FP4 sum takes together, whatever the scale block. */
enum { EMU_MMA_GROUP = 16 };

struct emu_mma_operand {
    unsigned rows, k;
    enum emu_format format;
    const uint32_t *bits;  /* rows x k */
    const uint8_t *scales; /* rows x (k / scale_block), or NULL */
    unsigned scale_block;
    enum emu_format scale;
    bool negate;
    /* Element (row, i) is made ready at row * row_pitch + i * k_pitch. */
    size_t row_pitch, k_pitch;

    /* Filled by emu_mma_operand_prepare. ALIGNED: value = significand · 2^(exponent -
     * mantissa bits); a subnormal keeps the format's least exponent and a significand
     * without its leading bit, and an exponent includes that of the scale factor. GROUPS:
     * the significand is twice the value. INTEGERS: it is the value. */
    int32_t *significands, *exponents;
    float *values; /* FLOATS; scaled */
    /* GROUPS: the scale factors, as numbers of the same kind. */
    int32_t *scale_significands, *scale_exponents;
    bool *special; /* by row: it has a NaN, an infinity or a scale factor that is NaN */
};

void emu_mma_operand_prepare(struct emu_mma_operand *operand, enum emu_mma_way way);
void emu_mma_operand_free(struct emu_mma_operand *operand);
/* Mantissa bits of a format, and of the products of two operands. */
int emu_mma_mantissa_bits(enum emu_format format);
/* What the products of two rows and `c` sum up to where one of them is not finite: an
 * infinity or NaN. */
double emu_mma_sum_special(const struct emu_mma_operand *a, unsigned row,
                           const struct emu_mma_operand *b, unsigned column, double c);
/* The significand and exponent of one finite element. */
void emu_mma_split(enum emu_format format, uint32_t bits, int32_t *significand,
                   int32_t *exponent);

/* ------------------------------------------------------------------------ mma_sums.c */

/*
 * One row of A times a block of columns of B. A's row is contiguous along K; B is
 * transposed, `pitch` elements from one k to the next, so that columns are neighbours.
 */
struct emu_mma_terms {
    unsigned k;
    size_t pitch;
    const int32_t *a_significands, *a_exponents;
    const int32_t *b_significands, *b_exponents;
    int product_bits; /* mantissa bits of a and b together */
    int c_bits;       /* mantissa bits of c */
    int fraction_bits;
};

/*
 * Sums k products and c, each aligned to the largest exponent and truncated toward zero to
 * `fraction_bits` bits below it: column j's sum is sums[j] · 2^(exponents[j] -
 * fraction_bits). `exponents` holds those of c on entry and the largest ones on return.
 */
void emu_mma_sum_aligned(const struct emu_mma_terms *terms,
                         const int32_t c_significands[EMU_MMA_COLUMNS],
                         int32_t exponents[EMU_MMA_COLUMNS], int64_t sums[EMU_MMA_COLUMNS]);

/* Sums k products of small integers exactly. */
void emu_mma_sum_integers(unsigned k, size_t pitch, const int32_t *a, const int32_t *b,
                          int32_t sums[EMU_MMA_COLUMNS]);

/* Adds k products to `sums`, one after the other, each rounded to f32. */
void emu_mma_sum_floats(unsigned k, size_t pitch, const float *a, const float *b,
                        float sums[EMU_MMA_COLUMNS]);

#endif
