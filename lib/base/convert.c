/* SPDX-License-Identifier: MIT */
/* Elements to and from float, one by one. Needs nothing of the library, nor of libm:
 * verify/ has it without either. */
#include <stdbool.h>
#include <string.h>

#include "jit_gemm/convert.h"

static uint32_t bits_of(float value)
{
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static float float_of(uint32_t bits)
{
    float value = 0;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Of an f32. */
enum { FRACTION_BITS = 23, BIAS = 127 };
#define FRACTION   0x7fffffU
#define HIDDEN_BIT 0x800000U
#define INFINITE   0x7f800000U
#define QUIET_NAN  0x7fc00000U
#define MAGNITUDE  0x7fffffffU
#define SIGN       0x80000000U

/* A type with a sign, an exponent and a fraction, and with subnormals. */
struct small_float {
    int fraction_bits, bias;
    uint32_t sign;     /* its bit */
    uint32_t greatest; /* the greatest finite magnitude */
    uint32_t overflow; /* what is greater becomes that */
    uint32_t nan;      /* what a NaN becomes */
    uint32_t infinity; /* 0: there is none */
};

static const struct small_float f16 = {10, 15, 0x8000, 0x7bff, 0x7c00, 0x7fff, 0x7c00};
static const struct small_float bf16 = {7, BIAS, 0x8000, 0x7f7f, 0x7f80, 0x7fff, 0x7f80};
static const struct small_float e4m3 = {3, 7, 0x80, 0x7e, 0x7e, 0x7f, 0};
static const struct small_float e5m2 = {2, 15, 0x80, 0x7b, 0x7b, 0x7f, 0x7c};
static const struct small_float e2m1 = {1, 1, 0x8, 0x7, 0x7, 0x7, 0};

/* Divides by 2^shift, to nearest, ties to even. */
static uint32_t shift_to_nearest(uint32_t value, int shift)
{
    if (shift > FRACTION_BITS + 1) { /* less than a half */
        return 0;
    }
    const uint32_t quotient = value >> shift;
    const uint32_t rest = value & ((1U << shift) - 1);
    const uint32_t half = 1U << (shift - 1);
    const bool is_up = rest > half || (rest == half && (quotient & 1U) != 0);
    return quotient + (is_up ? 1 : 0);
}

static uint32_t encode(const struct small_float *type, float value)
{
    const uint32_t bits = bits_of(value);
    const uint32_t magnitude = bits & MAGNITUDE;
    if (magnitude > INFINITE) {
        return type->nan;
    }
    const int field = (int)(magnitude >> FRACTION_BITS);
    const int exponent = (field > 0 ? field : 1) - BIAS;
    const uint32_t significand = (magnitude & FRACTION) | (field > 0 ? HIDDEN_BIT : 0);
    const int least = 1 - type->bias; /* exponent of the type's subnormals */
    const int below = exponent < least ? least - exponent : 0;
    uint32_t code =
        shift_to_nearest(significand, FRACTION_BITS - type->fraction_bits + below);
    if (below == 0) { /* the hidden bit, and a carry, add one to the exponent */
        code += (uint32_t)(exponent - least) << type->fraction_bits;
    }
    code = code > type->greatest ? type->overflow : code;
    return code | ((bits & SIGN) != 0 ? type->sign : 0);
}

static float decode(const struct small_float *type, uint32_t bits)
{
    const uint32_t magnitude = bits & (type->sign - 1);
    const uint32_t sign = (bits & type->sign) != 0 ? SIGN : 0;
    const uint32_t fraction = magnitude & ((1U << type->fraction_bits) - 1);
    const int field = (int)(magnitude >> type->fraction_bits);
    if (magnitude > type->greatest) {
        return float_of(sign | (magnitude == type->infinity ? INFINITE : QUIET_NAN));
    }
    if (field == 0) {
        const int unit = 1 - type->bias - type->fraction_bits;
        const float value =
            (float)fraction * float_of((uint32_t)(unit + BIAS) << FRACTION_BITS);
        return float_of(bits_of(value) | sign);
    }
    return float_of(sign | ((uint32_t)(field - type->bias + BIAS) << FRACTION_BITS) |
                    (fraction << (FRACTION_BITS - type->fraction_bits)));
}

uint16_t jit_gemm_f16_from_float(float value)
{
    return (uint16_t)encode(&f16, value);
}

float jit_gemm_f16_to_float(uint16_t bits)
{
    return decode(&f16, bits);
}

uint16_t jit_gemm_bf16_from_float(float value)
{
    return (uint16_t)encode(&bf16, value);
}

/* Its subnormals are f32's. */
float jit_gemm_bf16_to_float(uint16_t bits)
{
    return float_of((uint32_t)bits << 16);
}

float jit_gemm_tf32_from_float(float value)
{
    const uint32_t cut = 0x1fff;
    const uint32_t bits = bits_of(value);
    if ((bits & INFINITE) == INFINITE) {
        return value;
    }
    return float_of((bits + (cut >> 1) + ((bits >> 13) & 1U)) & ~cut);
}

uint8_t jit_gemm_e4m3_from_float(float value)
{
    return (uint8_t)encode(&e4m3, value);
}

float jit_gemm_e4m3_to_float(uint8_t bits)
{
    return decode(&e4m3, bits);
}

uint8_t jit_gemm_e5m2_from_float(float value)
{
    return (uint8_t)encode(&e5m2, value);
}

float jit_gemm_e5m2_to_float(uint8_t bits)
{
    return decode(&e5m2, bits);
}

uint8_t jit_gemm_e2m1_from_float(float value)
{
    return (uint8_t)encode(&e2m1, value);
}

float jit_gemm_e2m1_to_float(uint8_t bits)
{
    return decode(&e2m1, bits & 0xfU);
}

uint8_t jit_gemm_ue8m0_from_float(float value)
{
    enum { GREATEST = 0xfe, NOT_A_NUMBER = 0xff };
    const uint32_t magnitude = bits_of(value) & MAGNITUDE;
    if (magnitude > INFINITE) {
        return NOT_A_NUMBER;
    }
    const uint32_t field = magnitude >> FRACTION_BITS;
    if (field == 0) { /* 2^-127 is half of the least normal f32 */
        return magnitude > HIDDEN_BIT / 2 ? 1 : 0;
    }
    const uint32_t code = field + ((magnitude & FRACTION) != 0 ? 1 : 0);
    return (uint8_t)(code < GREATEST ? code : GREATEST);
}

float jit_gemm_ue8m0_to_float(uint8_t bits)
{
    return float_of(bits == 0xff ? QUIET_NAN
                    : bits == 0  ? HIDDEN_BIT / 2
                                 : (uint32_t)bits << FRACTION_BITS);
}

uint8_t jit_gemm_ue4m3_from_float(float value)
{
    return jit_gemm_e4m3_from_float(value) & 0x7f;
}

float jit_gemm_ue4m3_to_float(uint8_t bits)
{
    return jit_gemm_e4m3_to_float(bits & 0x7f);
}
