/* SPDX-License-Identifier: MIT */
/* Elements to and from float: every encoding, every tie, and the emulator's own numbers,
 * which were written apart, over floats near all of them. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "emulator/numbers/numbers.h"
#include "jit_gemm/convert.h"

/* One interface to the types with a sign and a fraction. */
struct kind {
    const char *name;
    enum emu_format format;
    uint32_t count; /* of encodings, half of them negative */
    uint32_t greatest, infinity;
    uint32_t (*encode)(float value);
    float (*decode)(uint32_t bits);
    bool saturates, has_nan;
};

#define WRAP(type, bits_type)                               \
    static uint32_t encode_##type(float value)              \
    {                                                       \
        return jit_gemm_##type##_from_float(value);         \
    }                                                       \
    static float decode_##type(uint32_t bits)               \
    {                                                       \
        return jit_gemm_##type##_to_float((bits_type)bits); \
    }
WRAP(f16, uint16_t)
WRAP(bf16, uint16_t)
WRAP(e4m3, uint8_t)
WRAP(e5m2, uint8_t)
WRAP(e2m1, uint8_t)
#undef WRAP

static const struct kind kinds[] = {
    {"f16", EMU_F16, 1 << 16, 0x7bff, 0x7c00, encode_f16, decode_f16, false, true},
    {"bf16", EMU_BF16, 1 << 16, 0x7f7f, 0x7f80, encode_bf16, decode_bf16, false, true},
    {"e4m3", EMU_E4M3, 1 << 8, 0x7e, 0, encode_e4m3, decode_e4m3, true, true},
    {"e5m2", EMU_E5M2, 1 << 8, 0x7b, 0x7c, encode_e5m2, decode_e5m2, true, true},
    {"e2m1", EMU_E2M1, 1 << 4, 0x7, 0, encode_e2m1, decode_e2m1, true, false},
};

enum { KIND_COUNT = sizeof(kinds) / sizeof(kinds[0]) };

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

/* The value as the emulator rounds it. */
static uint32_t emulated(const struct kind *kind, float value)
{
    const struct emu_encode how = {.rounding = EMU_RN, .saturate_finite = kind->saturates};
    return (uint32_t)emu_encode(kind->format, (double)value, how);
}

Test(convert, every_encoding_has_its_value_and_comes_back)
{
    for (int i = 0; i < KIND_COUNT; i++) {
        const struct kind *kind = &kinds[i];
        for (uint32_t bits = 0; bits < kind->count; bits++) {
            const float value = kind->decode(bits);
            const double other = emu_decode(kind->format, bits);

            if (isnan(other)) {
                cr_assert(isnan(value), "%s %x", kind->name, bits);
                continue;
            }
            cr_assert((double)value == other && !signbit(value) == !signbit(other),
                      "%s %x: %a, not %a", kind->name, bits, (double)value, other);
            const bool is_infinite = isinf(value) && kind->saturates;
            const uint32_t sign = bits & (kind->count / 2);
            const uint32_t back = is_infinite ? kind->greatest | sign : bits;
            cr_assert(kind->encode(value) == back, "%s %x comes back as %x", kind->name,
                      bits, kind->encode(value));
        }
    }
}

Test(convert, between_two_values_the_nearer_and_of_a_tie_the_even_one_is_taken)
{
    for (int i = 0; i < KIND_COUNT; i++) {
        const struct kind *kind = &kinds[i];
        for (uint32_t low = 0; low < kind->greatest; low++) {
            /* Exact: an f32 has more bits than any of them. */
            const float tie =
                (float)(((double)kind->decode(low) + (double)kind->decode(low + 1)) / 2);
            const uint32_t even = low % 2 == 0 ? low : low + 1;
            const uint32_t negative = kind->count / 2;

            cr_assert(kind->encode(tie) == even, "%s: the tie above %x", kind->name, low);
            cr_assert(kind->encode(-tie) == (even | negative), "%s: below 0", kind->name);
            cr_assert(kind->encode(nextafterf(tie, 0)) == low, "%s: below the tie",
                      kind->name);
            cr_assert(kind->encode(nextafterf(tie, INFINITY)) == low + 1,
                      "%s: above the tie of %x", kind->name, low);
        }
    }
}

Test(convert, what_is_too_great_or_no_number_has_its_own_encoding)
{
    for (int i = 0; i < KIND_COUNT; i++) {
        const struct kind *kind = &kinds[i];
        const uint32_t most = kind->saturates ? kind->greatest : kind->infinity;
        const uint32_t sign = kind->count / 2;
        const float nans[] = {NAN, -NAN, float_of(0x7f800001), float_of(0xffffffff)};

        cr_expect_eq(kind->encode(INFINITY), most);
        cr_expect_eq(kind->encode(-INFINITY), most | sign);
        cr_expect_eq(kind->encode(float_of(0x7f7fffff)), most); /* FLT_MAX */
        for (int j = 0; j < 4; j++) {
            cr_expect(kind->encode(nans[j]) == emulated(kind, NAN), "%s", kind->name);
        }
        cr_expect(kind->has_nan == (isnan(kind->decode(kind->encode(NAN))) != 0));
    }
}

/* 2^32 floats take minutes: every one of 65536 upper halves, with lower halves about those
 * that decide a rounding. */
Test(convert, the_emulator_rounds_every_float_alike, .timeout = 120)
{
    static const uint32_t lower[] = {0,      1,      2,      0x0fff, 0x1000,
                                     0x1001, 0x1fff, 0x2000, 0x2001, 0x7fff,
                                     0x8000, 0x8001, 0xaaaa, 0xfffe, 0xffff};
    for (int i = 0; i < KIND_COUNT; i++) {
        for (uint32_t upper = 0; upper < 1 << 16; upper++) {
            for (size_t j = 0; j < sizeof(lower) / sizeof(lower[0]); j++) {
                const float value = float_of(upper << 16 | lower[j]);
                cr_assert(kinds[i].encode(value) == emulated(&kinds[i], value),
                          "%s: %a becomes %x, not %x", kinds[i].name, (double)value,
                          kinds[i].encode(value), emulated(&kinds[i], value));
            }
        }
    }
    for (uint32_t upper = 0; upper < 1 << 16; upper++) {
        for (size_t j = 0; j < sizeof(lower) / sizeof(lower[0]); j++) {
            const float value = float_of(upper << 16 | lower[j]);
            const struct emu_encode up = {.rounding = EMU_RP, .saturate_finite = true};
            const struct emu_encode even = {.rounding = EMU_RN};
            const uint32_t scale = (uint32_t)emu_encode(EMU_UE8M0, (double)value, up);
            const uint32_t tf32 = (uint32_t)emu_encode(EMU_TF32, (double)value, even);

            cr_assert(jit_gemm_ue8m0_from_float(value) == scale, "ue8m0: %a: %x, not %x",
                      (double)value, jit_gemm_ue8m0_from_float(value), scale);
            cr_assert(isnan(value) ? isnan(jit_gemm_tf32_from_float(value))
                                   : bits_of(jit_gemm_tf32_from_float(value)) == tf32,
                      "tf32: %a: %x, not %x", (double)value,
                      bits_of(jit_gemm_tf32_from_float(value)), tf32);
        }
    }
}

Test(convert, scales_have_their_values)
{
    for (unsigned bits = 0; bits < 0xff; bits++) {
        const float value = jit_gemm_ue8m0_to_float((uint8_t)bits);

        cr_assert_eq((double)value, ldexp(1, (int)bits - 127));
        cr_assert_eq(jit_gemm_ue8m0_from_float(value), bits);
        cr_assert_eq(jit_gemm_ue8m0_from_float(-value), bits, "the sign does not count");
        cr_assert_eq(jit_gemm_ue8m0_from_float(nextafterf(value, INFINITY)),
                     bits < 0xfe ? bits + 1 : bits, "rounded up from %x", bits);
    }
    cr_expect(isnan(jit_gemm_ue8m0_to_float(0xff)));
    cr_expect_eq(jit_gemm_ue8m0_from_float(NAN), 0xff);
    for (unsigned bits = 0; bits < 0x100; bits++) {
        const float value = jit_gemm_ue4m3_to_float((uint8_t)bits);
        const float magnitude = jit_gemm_e4m3_to_float(bits & 0x7f);

        cr_assert(isnan(magnitude) ? isnan(value) : value == magnitude);
        cr_assert(jit_gemm_ue4m3_from_float(-value) == (bits & 0x7f));
    }
}
