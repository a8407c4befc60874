/* SPDX-License-Identifier: MIT */
/* The bit layout of every binary floating-point format, for the files of this folder. */
#ifndef EMU_NUMBERS_SHAPE_H
#define EMU_NUMBERS_SHAPE_H

#include "numbers/numbers.h"

/*
 * A pattern is sign, exponent field, mantissa, from the top. Patterns without their sign
 * grow with the value, so limits are given as such magnitudes. An element that the format
 * lacks lies above `mask`.
 */
struct emu_shape {
    uint8_t unused_low_bits; /* dropped when read (tf32) */
    uint8_t mantissa_bits;
    int16_t bias;
    uint64_t sign;          /* the sign's bit; 0: unsigned */
    uint64_t mask;          /* of the magnitude */
    uint64_t largest;       /* finite */
    uint64_t infinity;      /* EMU_NO_PATTERN: the format has none */
    uint64_t nan;           /* the least magnitude that is a NaN, or EMU_NO_PATTERN */
    uint64_t canonical_nan; /* what conversions of a NaN give, as a whole pattern */
};

#define EMU_NO_PATTERN UINT64_MAX

/* NULL for what is no binary floating-point format: UE8M0 and the integers. */
const struct emu_shape *emu_shape_get(enum emu_format format);

#endif
