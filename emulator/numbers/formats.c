/* SPDX-License-Identifier: MIT */
/* Number formats: their layout, decoding to double and encoding with one rounding. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "numbers/shape.h"

static const struct emu_shape shapes[EMU_FORMAT_COUNT] = {
    [EMU_F64] = {0, 52, 1023, UINT64_C(1) << 63, UINT64_C(0x7FFFFFFFFFFFFFFF),
                 UINT64_C(0x7FEFFFFFFFFFFFFF), UINT64_C(0x7FF0000000000000),
                 UINT64_C(0x7FF0000000000001), UINT64_C(0x7FF8000000000000)},
    [EMU_F32] = {0, 23, 127, 0x80000000, 0x7FFFFFFF, 0x7F7FFFFF, 0x7F800000, 0x7F800001,
                 0x7FFFFFFF},
    /* The limits are those of the 19 bits that are kept. */
    [EMU_TF32] = {13, 10, 127, 0x40000, 0x3FFFF, 0x3FBFF, 0x3FC00, 0x3FC01, 0x7FFFE000},
    [EMU_BF16] = {0, 7, 127, 0x8000, 0x7FFF, 0x7F7F, 0x7F80, 0x7F81, 0x7FFF},
    [EMU_F16] = {0, 10, 15, 0x8000, 0x7FFF, 0x7BFF, 0x7C00, 0x7C01, 0x7FFF},
    [EMU_E4M3] = {0, 3, 7, 0x80, 0x7F, 0x7E, EMU_NO_PATTERN, 0x7F, 0x7F},
    [EMU_E5M2] = {0, 2, 15, 0x80, 0x7F, 0x7B, 0x7C, 0x7D, 0x7F},
    [EMU_E2M3] = {0, 3, 1, 0x20, 0x1F, 0x1F, EMU_NO_PATTERN, EMU_NO_PATTERN, 0x1F},
    [EMU_E3M2] = {0, 2, 3, 0x20, 0x1F, 0x1F, EMU_NO_PATTERN, EMU_NO_PATTERN, 0x1F},
    [EMU_E2M1] = {0, 1, 1, 0x8, 0x7, 0x7, EMU_NO_PATTERN, EMU_NO_PATTERN, 0x7},
    [EMU_UE4M3] = {0, 3, 7, 0, 0x7F, 0x7E, EMU_NO_PATTERN, 0x7F, 0x7F},
};

/* Of the double itself. */
enum { DOUBLE_MANTISSA_BITS = 52, DOUBLE_BIAS = 1023 };

/* 2^127 is the largest UE8M0. */
enum { UE8M0_BIAS = 127, UE8M0_LARGEST = 0xFE, UE8M0_NAN = 0xFF };

const struct emu_shape *emu_shape_get(enum emu_format format)
{
    return shapes[format].mask != 0 ? &shapes[format] : NULL;
}

static uint64_t get_double_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static double make_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

double emu_decode(enum emu_format format, uint64_t bits)
{
    switch (format) {
    case EMU_F64:
        return make_double(bits);
    case EMU_UE8M0:
        bits &= 0xFF;
        return bits == UE8M0_NAN ? NAN : ldexp(1.0, (int)bits - UE8M0_BIAS);
    case EMU_S8:
        return (double)(int8_t)(uint8_t)bits;
    case EMU_U8:
        return (double)(uint8_t)bits;
    default:
        break;
    }
    const struct emu_shape *shape = emu_shape_get(format);
    assert(shape != NULL);
    bits >>= shape->unused_low_bits;
    const uint64_t magnitude = bits & shape->mask;
    const bool negative = (bits & shape->sign) != 0;
    if (magnitude >= shape->nan) {
        return NAN;
    }
    if (magnitude == shape->infinity) {
        return negative ? -INFINITY : INFINITY;
    }
    /* The fields, put where a double has them, stand for the value short of a power of two
     * (the biases differ); that holds for subnormals too, and the product is exact. */
    const double fields =
        make_double(magnitude << (DOUBLE_MANTISSA_BITS - shape->mantissa_bits));
    const double value = fields * make_double((uint64_t)(2 * DOUBLE_BIAS - shape->bias)
                                              << DOUBLE_MANTISSA_BITS);
    return negative ? -value : value;
}

/* Whether a discarded part rounds a magnitude up. `rest` is compared with `half`; `odd` is
 * the last kept bit. */
static bool rounds_up(enum emu_rounding rounding, bool negative, uint64_t rest,
                      uint64_t half, bool odd)
{
    switch (rounding) {
    case EMU_RN:
        return rest > half || (rest == half && odd);
    case EMU_RNA:
        return rest >= half;
    case EMU_RZ:
        return false;
    case EMU_RM:
        return rest != 0 && negative;
    case EMU_RP:
        return rest != 0 && !negative;
    case EMU_RS: /* has another way */
        break;
    }
    assert(false && "an unknown rounding");
    return false;
}

/* The magnitude's pattern of a finite value other than zero, as if exponents had no end:
 * the result may lie above shape->largest. */
static uint64_t round_magnitude(const struct emu_shape *shape, uint64_t bits,
                                const struct emu_encode *how)
{
    const bool negative = bits >> 63 != 0;
    uint64_t significand = bits & ((UINT64_C(1) << DOUBLE_MANTISSA_BITS) - 1);
    const int field = (int)(bits >> DOUBLE_MANTISSA_BITS & 0x7FF);
    const int scale = (field == 0 ? 1 : field) - DOUBLE_BIAS - DOUBLE_MANTISSA_BITS;
    if (field != 0) {
        significand |= UINT64_C(1) << DOUBLE_MANTISSA_BITS;
    }

    /* The unit of the last place: it stops shrinking where subnormals begin. No format
     * begins them below a double, so a subnormal double needs no exponent of its own. */
    const int exponent = field - DOUBLE_BIAS;
    const int least = 1 - shape->bias;
    const int leading = exponent < least ? least : exponent;
    const int shift = leading - shape->mantissa_bits - scale;
    uint64_t kept;
    if (shift <= 0) {
        kept = significand << -shift;
    } else if (how->rounding == EMU_RS) {
        kept = shift > DOUBLE_MANTISSA_BITS ? 0 : significand >> shift;
        /* Exact: what is cut off has no more bits than a double. */
        const uint64_t cut_off = kept == 0 ? significand : significand - (kept << shift);
        kept += ldexp((double)cut_off, -shift) >= 1 - ldexp(how->random, -16);
    } else {
        /* Beyond 54 places everything is discarded and less than half a unit. */
        const int places = shift > 54 ? 54 : shift;
        const uint64_t half = UINT64_C(1) << (places - 1);
        const uint64_t rest = significand & (2 * half - 1);
        kept = significand >> places;
        kept += rounds_up(how->rounding, negative, rest, half, (kept & 1) != 0);
    }
    /* A normal number's leading bit adds 1 to the exponent field, and so does a carry. */
    return ((uint64_t)(leading + shape->bias - 1) << shape->mantissa_bits) + kept;
}

/* What stands for a magnitude above the largest finite one. */
static uint64_t overflow_magnitude(const struct emu_shape *shape, bool negative,
                                   bool infinite, const struct emu_encode *how)
{
    const bool inward = how->rounding == EMU_RZ || (how->rounding == EMU_RM && !negative) ||
                        (how->rounding == EMU_RP && negative);
    if (how->saturate_finite || (inward && !infinite)) {
        return shape->largest;
    }
    if (shape->infinity != EMU_NO_PATTERN) {
        return shape->infinity;
    }
    return shape->nan != EMU_NO_PATTERN ? shape->nan : shape->largest;
}

static uint64_t encode_shape(const struct emu_shape *shape, double value,
                             const struct emu_encode *how)
{
    if (isnan(value)) {
        return shape->canonical_nan;
    }
    if (shape->sign == 0) {
        value = fabs(value);
    }
    const uint64_t bits = get_double_bits(value);
    const bool negative = bits >> 63 != 0;
    if (negative && how->relu) {
        return 0;
    }
    uint64_t magnitude;
    if (isinf(value)) {
        magnitude = overflow_magnitude(shape, negative, true, how);
    } else {
        magnitude = value == 0 ? 0 : round_magnitude(shape, bits, how);
        if (magnitude > shape->largest) {
            magnitude = overflow_magnitude(shape, negative, false, how);
        }
    }
    if (how->flush && magnitude >> shape->mantissa_bits == 0) {
        magnitude = 0;
    }
    return (magnitude | (negative ? shape->sign : 0)) << shape->unused_low_bits;
}

/* The exponent of |value|, cut or raised to a whole number. */
static uint64_t encode_ue8m0(double value, const struct emu_encode *how)
{
    assert(how->rounding == EMU_RZ || how->rounding == EMU_RP);
    if (isnan(value)) {
        return UE8M0_NAN;
    }
    if (isinf(value)) {
        return how->saturate_finite ? UE8M0_LARGEST : UE8M0_NAN;
    }
    if (value == 0) {
        return 0;
    }
    int exponent;
    const double fraction = frexp(fabs(value), &exponent); /* in [0.5, 1) */
    exponent -= 1;
    if (how->rounding == EMU_RP && fraction > 0.5) {
        exponent += 1;
    }
    const int field = exponent + UE8M0_BIAS;
    if (field > UE8M0_LARGEST) {
        return how->saturate_finite ? UE8M0_LARGEST : UE8M0_NAN;
    }
    return field < 0 ? 0 : (uint64_t)field;
}

/* Conversions to integers saturate always; NaN gives 0. */
static uint64_t encode_integer(double value, double least, double most,
                               const struct emu_encode *how)
{
    if (isnan(value)) {
        return 0;
    }
    const bool negative = value < 0;
    double whole = floor(fabs(value));
    const double rest = fabs(value) - whole; /* exact */
    bool up = false;
    switch (how->rounding) {
    case EMU_RN:
        up = rest > 0.5 || (rest == 0.5 && fmod(whole, 2.0) != 0);
        break;
    case EMU_RNA:
        up = rest >= 0.5;
        break;
    case EMU_RZ:
        break;
    case EMU_RM:
        up = rest > 0 && negative;
        break;
    case EMU_RP:
        up = rest > 0 && !negative;
        break;
    case EMU_RS: /* no integer has it */
        assert(false && "a rounding of floats");
        break;
    }
    whole = negative ? -(whole + up) : whole + up;
    whole = whole < least ? least : whole > most ? most : whole;
    if (how->relu && whole < 0) {
        whole = 0;
    }
    return (uint8_t)(int)whole;
}

uint64_t emu_encode(enum emu_format format, double value, struct emu_encode how)
{
    switch (format) {
    case EMU_UE8M0:
        return encode_ue8m0(value, &how);
    case EMU_S8:
        return encode_integer(value, INT8_MIN, INT8_MAX, &how);
    case EMU_U8:
        return encode_integer(value, 0, UINT8_MAX, &how);
    default:
        break;
    }
    const struct emu_shape *shape = emu_shape_get(format);
    assert(shape != NULL);
    return encode_shape(shape, value, &how);
}
