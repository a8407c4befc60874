/* SPDX-License-Identifier: MIT */
/* Builds elements of matrices from sign, exponent and mantissa. */
#include "elements.h"

#include <string.h>

const struct gold_format gold_formats[] = {
    [GOLD_FORMAT_F16] = {"f16", 16, 10, 5, 15, true},
    [GOLD_FORMAT_BF16] = {"bf16", 16, 7, 8, 127, true},
    [GOLD_FORMAT_TF32] = {"tf32", 32, 23, 8, 127, true},
    [GOLD_FORMAT_E4M3] = {"e4m3", 8, 3, 4, 7, false},
    [GOLD_FORMAT_E5M2] = {"e5m2", 8, 2, 5, 15, true},
    [GOLD_FORMAT_S8] = {"s8", 8, 0, 0, 0, false},
    [GOLD_FORMAT_U8] = {"u8", 8, 0, 0, 0, false},
    [GOLD_FORMAT_F32] = {"f32", 32, 23, 8, 127, true},
    [GOLD_FORMAT_S32] = {"s32", 32, 0, 0, 0, false},
};

int gold_least_exponent(const struct gold_format *format)
{
    return 1 - format->bias;
}

int gold_greatest_exponent(const struct gold_format *format)
{
    int fields = 1 << format->exponent_bits;

    return fields - 1 - format->bias - (format->infinite ? 1 : 0);
}

uint32_t gold_element(const struct gold_format *format, bool negative, int exponent,
                      uint32_t mantissa)
{
    unsigned width = format->mantissa_bits;
    uint32_t fraction = mantissa >> (32 - width), field, sign;
    int below = gold_least_exponent(format) - exponent;

    sign = (negative ? 1u : 0u) << (format->bits - 1);
    if (below > 0) { /* the leading one becomes a bit of the fraction, or is lost */
        fraction |= 1u << width;
        return sign | (below > (int)width ? 0 : fraction >> below);
    }
    if (exponent > gold_greatest_exponent(format)) {
        exponent = gold_greatest_exponent(format);
    }
    field = (uint32_t)(exponent + format->bias);
    /* The code that would be the only NaN of its sign. */
    if (!format->infinite && field + 1 == 1u << format->exponent_bits &&
        fraction + 1 == 1u << width) {
        fraction--;
    }
    return sign | field << width | fraction;
}

uint32_t gold_element_draw(const struct gold_format *format, struct gold_random *random,
                           int low, int high)
{
    uint64_t bits = gold_random_next(random);
    int exponent = low + (int)((bits >> 33) % (uint64_t)(high - low + 1));

    if (format->exponent_bits == 0) {
        return format->bits == 8 ? (uint32_t)bits & 0xFF : (uint32_t)bits;
    }
    return gold_element(format, bits >> 32 & 1, exponent, (uint32_t)bits);
}

uint32_t gold_element_special(const struct gold_format *format, unsigned index)
{
    uint32_t sign = 1u << (format->bits - 1);

    if (format->exponent_bits == 0) {
        return index % 2 == 0 ? sign : sign - 1;
    }
    uint32_t largest = gold_element(format, false, 1 << 20, 0xFFFFFFFF);
    uint32_t infinity = ((1u << format->exponent_bits) - 1) << format->mantissa_bits;
    switch (index % 8) {
    case 0:
        return format->infinite ? infinity : largest;
    case 1:
        return (format->infinite ? infinity : largest) | sign;
    case 2: /* NaN: all ones, or the first above infinity */
        return sign - 1;
    case 3:
        return format->infinite ? infinity | 1u << (format->mantissa_bits - 1)
                                : sign | (sign - 1);
    case 4:
        return 0;
    case 5:
        return sign;
    case 6:
        return largest;
    default:
        return 1;
    }
}

void *gold_values_draw(const char *seed, const struct gold_format *format, size_t bytes)
{
    struct gold_random random = {gold_seed(seed)};
    uint8_t *values = gold_alloc(bytes);
    size_t step = format->bits / 8, at;

    for (at = 0; at + step <= bytes; at += step) {
        unsigned kind = gold_random_below(&random, 16);
        uint32_t element;

        if (format->exponent_bits == 0) {
            element = gold_element_draw(format, &random, 0, 0);
        } else if (kind == 0) {
            element = gold_element_special(format, gold_random_below(&random, 8));
        } else {
            element = gold_element_draw(format, &random, kind == 1 ? -130 : -4,
                                        kind == 1 ? -10 : 4);
        }
        memcpy(values + at, &element, step);
    }
    return values;
}
