/* SPDX-License-Identifier: MIT */
/* Matrices that bring out how a tensor core rounds. */
#include "wgmma_data.h"

#include <stdlib.h>

static int at_most(int value, int limit)
{
    return value < limit ? value : limit;
}

static bool is_integer(const struct gold_format *format)
{
    return format->exponent_bits == 0;
}

/* f16 as the format of C and D. */
static bool is_narrow(const struct gold_format *format)
{
    return format->bits == 16;
}

/* +-2^exponent */
static uint32_t power(const struct gold_format *format, bool negative, int exponent)
{
    return gold_element(format, negative, exponent, 0);
}

static uint32_t strew(const struct gold_format *format, struct gold_random *random,
                      uint32_t element, unsigned one_in)
{
    if (gold_random_below(random, one_in) != 0) {
        return element;
    }
    return gold_element_special(format, gold_random_below(random, 8));
}

static uint32_t make_a(const struct gold_matrices *matrices, enum gold_pattern pattern,
                       unsigned row, unsigned k, struct gold_random *random)
{
    const struct gold_format *format = matrices->a_format;
    const uint32_t *line = matrices->a + (size_t)row * matrices->k;
    int least = gold_least_exponent(format), greatest = gold_greatest_exponent(format);
    int wide = at_most(30, greatest - 2), fall;

    switch (pattern) {
    case GOLD_WIDE:
        return gold_element_draw(format, random, -wide, wide);
    case GOLD_CANCEL:
        if (k + 2 >= matrices->k) {
            fall = -(int)(row % 16);
            return gold_element_draw(format, random, fall, fall);
        }
        if (k % 2 == 1) {
            return line[k - 1] ^ 1u << (format->bits - 1);
        }
        return gold_element_draw(format, random, -2, 6);
    case GOLD_LADDER: /* rows 0-31: one small product, then all */
        if (k == 0) {
            return power(format, row & 1, 8);
        }
        fall = -(int)(row % 16);
        if (row < 32 && k > 1) {
            return 0;
        }
        return gold_element_draw(format, random, fall, fall) &
               ~(row & 2 ? 0u : 1u << (format->bits - 1));
    case GOLD_LADDER_C:
        return k == 0 ? gold_element_draw(format, random, 0, 0) : 0;
    case GOLD_SUBNORMAL:
        return gold_element_draw(format, random, least - (int)format->mantissa_bits,
                                 least + 1);
    case GOLD_OVERFLOW: /* products of 2^120 to 2^128, or the largest there are */
        return greatest > 60 ? gold_element_draw(format, random, 60, 63)
                             : gold_element_draw(format, random, greatest - 2, greatest);
    case GOLD_SPECIAL:
        return strew(format, random, gold_element_draw(format, random, -3, 3),
                     3 * matrices->k / 2);
    case GOLD_ZEROS:
        if (row >= 32 && k < 2) {
            return power(format, k == 1, 0);
        }
        return (uint32_t)gold_random_below(random, 2) << (format->bits - 1);
    case GOLD_EXTREME:
        return gold_element_special(format, gold_random_below(random, 4) == 0 ? 1 : row);
    default:
        return gold_element_draw(format, random, -3, 3);
    }
}

static uint32_t make_b(const struct gold_matrices *matrices, enum gold_pattern pattern,
                       unsigned column, unsigned k, struct gold_random *random)
{
    const struct gold_format *format = matrices->b_format;
    const uint32_t *line = matrices->b + (size_t)column * matrices->k;
    int least = gold_least_exponent(format), greatest = gold_greatest_exponent(format);
    int wide = at_most(30, greatest - 2);
    int fall = -at_most(2 * (int)column, -least);

    switch (pattern) {
    case GOLD_WIDE:
        return gold_element_draw(format, random, -wide, wide);
    case GOLD_CANCEL:
        if (k + 2 < matrices->k && k % 2 == 1) {
            return line[k - 1];
        }
        fall = k + 2 < matrices->k ? 0 : fall;
        return gold_element_draw(format, random, fall, fall);
    case GOLD_LADDER:
        return k == 0 ? power(format, false, 0)
                      : gold_element_draw(format, random, fall, fall);
    case GOLD_LADDER_C:
        return gold_element_draw(format, random, 0, 0);
    case GOLD_SUBNORMAL:
        return column % 2 == 0
                   ? gold_element_draw(format, random, 0, at_most(10, greatest))
                   : gold_element_draw(format, random, least - (int)format->mantissa_bits,
                                       least + 1);
    case GOLD_OVERFLOW:
        return greatest > 60 ? gold_element_draw(format, random, 60, 63)
                             : gold_element_draw(format, random, greatest - 2, greatest);
    case GOLD_SPECIAL:
        return strew(format, random, gold_element_draw(format, random, -3, 3),
                     3 * matrices->k / 2);
    case GOLD_ZEROS: /* column 0: zeros; elsewhere the first two are alike */
        if (column > 0 && k < 2) {
            return k == 1 ? line[0] : gold_element_draw(format, random, -2, 2);
        }
        return (uint32_t)gold_random_below(random, 2) << (format->bits - 1);
    case GOLD_EXTREME:
        return gold_element_special(format, gold_random_below(random, 4) == 0 ? 1 : column);
    default:
        return gold_element_draw(format, random, -3, 3);
    }
}

static uint32_t make_c(const struct gold_matrices *matrices, enum gold_pattern pattern,
                       unsigned row, unsigned column, struct gold_random *random)
{
    const struct gold_format *format = matrices->c_format;
    bool narrow = is_narrow(format);
    int exponent;

    if (is_integer(format)) {
        uint32_t bits = (uint32_t)gold_random_next(random);

        if (pattern != GOLD_EXTREME) {
            return bits;
        }
        return (row & 2 ? 0x7FFFFFFFu : 0x80000000u) ^ (bits & 0xFFFF);
    }
    switch (pattern) {
    case GOLD_WIDE:
        return narrow ? gold_element_draw(format, random, -14, 15)
                      : gold_element_draw(format, random, -40, 40);
    case GOLD_CANCEL:
        return row % 2 == 0 ? 0 : gold_element_draw(format, random, -10, 0);
    case GOLD_LADDER:
        return 0;
    case GOLD_LADDER_C:
        exponent = narrow ? (int)(row % 28) - 14 : (int)(row % 64) - 32;
        return gold_element_draw(format, random, exponent, exponent);
    case GOLD_LARGE_C:
        exponent = narrow ? (int)(row % 24) - 9 : (int)(row % 48) - 8;
        return gold_element_draw(format, random, exponent, exponent);
    case GOLD_SUBNORMAL:
        if (row % 4 != 0) {
            return row % 4 == 1
                       ? 0
                       : gold_element_draw(format, random, narrow ? -24 : -60, -13);
        }
        return narrow ? gold_element_draw(format, random, -24, -13)
                      : gold_element_draw(format, random, -148, -125);
    case GOLD_OVERFLOW:
        if (column % 4 == 0) {
            return 0;
        }
        return narrow ? gold_element_draw(format, random, 13, 15)
                      : gold_element_draw(format, random, 120, 127);
    case GOLD_SPECIAL:
        return strew(format, random, gold_element_draw(format, random, -3, 3), 16);
    case GOLD_ZEROS:
        return column % 2 == 0 ? 1u << (format->bits - 1) : 0;
    default:
        return gold_element_draw(format, random, -3, 5);
    }
}

void gold_matrices_make(struct gold_matrices *matrices, enum gold_pattern pattern)
{
    struct gold_text seed = {0};
    struct gold_random random;

    gold_text_add(&seed, "%s %s %s %u %u %u %d", matrices->a_format->name,
                  matrices->b_format->name, matrices->c_format->name, matrices->m,
                  matrices->n, matrices->k, (int)pattern);
    random.state = gold_seed(seed.text);
    free(seed.text);
    matrices->a = gold_alloc((size_t)matrices->m * matrices->k * sizeof(*matrices->a));
    matrices->b = gold_alloc((size_t)matrices->n * matrices->k * sizeof(*matrices->b));
    matrices->c = gold_alloc((size_t)matrices->m * matrices->n * sizeof(*matrices->c));
    for (unsigned row = 0; row < matrices->m; row++) {
        for (unsigned k = 0; k < matrices->k; k++) {
            matrices->a[row * matrices->k + k] = make_a(matrices, pattern, row, k, &random);
        }
    }
    for (unsigned column = 0; column < matrices->n; column++) {
        for (unsigned k = 0; k < matrices->k; k++) {
            matrices->b[column * matrices->k + k] =
                make_b(matrices, pattern, column, k, &random);
        }
    }
    for (unsigned row = 0; row < matrices->m; row++) {
        for (unsigned column = 0; column < matrices->n; column++) {
            matrices->c[row * matrices->n + column] =
                make_c(matrices, pattern, row, column, &random);
        }
    }
}

void gold_matrices_free(struct gold_matrices *matrices)
{
    free(matrices->a);
    free(matrices->b);
    free(matrices->c);
}
