/* SPDX-License-Identifier: MIT */
/* Elements of matrices, as bits of the formats that tensor cores read. */
#ifndef EMU_GOLDEN_ELEMENTS_H
#define EMU_GOLDEN_ELEMENTS_H

#include "golden.h"

struct gold_format {
    const char *name;                      /* in PTX */
    unsigned bits;                         /* of the container */
    unsigned mantissa_bits, exponent_bits; /* 0, 0: an integer */
    int bias;
    bool infinite; /* it has infinities; without them only the largest codes are NaN */
};

enum gold_format_id {
    GOLD_FORMAT_F16,
    GOLD_FORMAT_BF16,
    GOLD_FORMAT_TF32, /* all 23 bits of mantissa are given: the low 13 must be ignored */
    GOLD_FORMAT_E4M3,
    GOLD_FORMAT_E5M2,
    GOLD_FORMAT_S8,
    GOLD_FORMAT_U8,
    GOLD_FORMAT_F32,
    GOLD_FORMAT_S32,
};
extern const struct gold_format gold_formats[];

/* The element of this sign, exponent and mantissa (its top bits are taken from the top of
 * `mantissa`): too small an exponent gives a subnormal or zero, too large a one the largest
 * finite exponent. */
uint32_t gold_element(const struct gold_format *format, bool negative, int exponent,
                      uint32_t mantissa);
/* Random sign and mantissa, exponent in [low, high]; integers: any value. */
uint32_t gold_element_draw(const struct gold_format *format, struct gold_random *random,
                           int low, int high);
/* NaN, infinities, zeros and ends of the range, by index. */
uint32_t gold_element_special(const struct gold_format *format, unsigned index);
/* The least and the greatest exponent of normal numbers. */
int gold_least_exponent(const struct gold_format *format);
int gold_greatest_exponent(const struct gold_format *format);

/* `bytes` of values (free them); of floats one in sixteen is special, one subnormal. */
void *gold_values_draw(const char *seed, const struct gold_format *format, size_t bytes);

#endif
