/* SPDX-License-Identifier: MIT */
/* Number formats: every pattern, every midpoint, and the rules of conversions. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "numbers/numbers.h"

/* What a format is, as its definition says it; independent of the tables under test. */
struct definition {
    const char *name;
    enum emu_format format;
    int exponent_bits, mantissa_bits, bias;
    unsigned largest; /* pattern of the largest finite value */
};

static const struct definition narrow[] = {
    {"bf16", EMU_BF16, 8, 7, 127, 0x7F7F}, {"f16", EMU_F16, 5, 10, 15, 0x7BFF},
    {"e4m3", EMU_E4M3, 4, 3, 7, 0x7E},     {"e5m2", EMU_E5M2, 5, 2, 15, 0x7B},
    {"e2m3", EMU_E2M3, 2, 3, 1, 0x1F},     {"e3m2", EMU_E3M2, 3, 2, 3, 0x1F},
    {"e2m1", EMU_E2M1, 2, 1, 1, 0x7},
};
enum { NARROW_COUNT = sizeof(narrow) / sizeof(narrow[0]) };

static const enum emu_rounding all_roundings[] = {EMU_RN, EMU_RZ, EMU_RM, EMU_RP, EMU_RNA};

static unsigned get_sign(const struct definition *definition)
{
    return 1U << (definition->exponent_bits + definition->mantissa_bits);
}

/* The value of a finite pattern without sign. */
static double get_value(const struct definition *definition, unsigned pattern)
{
    const int field = (int)(pattern >> definition->mantissa_bits);
    const double fraction =
        ldexp((double)(pattern & ((1U << definition->mantissa_bits) - 1)),
              -definition->mantissa_bits);
    return field == 0 ? ldexp(fraction, 1 - definition->bias)
                      : ldexp(1 + fraction, field - definition->bias);
}

static uint64_t encode(enum emu_format format, double value, enum emu_rounding rounding)
{
    return emu_encode(format, value, (struct emu_encode){.rounding = rounding});
}

Test(numbers_formats, decode_gives_the_defined_value_of_every_pattern)
{
    for (unsigned i = 0; i < NARROW_COUNT; i++) {
        const struct definition *definition = &narrow[i];
        const unsigned sign = get_sign(definition);
        for (unsigned pattern = 0; pattern <= definition->largest; pattern++) {
            const double expected = get_value(definition, pattern);
            const double positive = emu_decode(definition->format, pattern);
            const double negative = emu_decode(definition->format, pattern | sign);
            cr_assert(positive == expected && !signbit(positive), "%s %x gives %a",
                      definition->name, pattern, positive);
            cr_assert(negative == -expected && signbit(negative), "%s %x gives %a",
                      definition->name, pattern | sign, negative);
        }
    }
}

Test(numbers_formats, decode_knows_limits_infinities_and_nans)
{
    cr_expect(emu_decode(EMU_E4M3, 0x7E) == 448.0);
    cr_expect(emu_decode(EMU_E5M2, 0x7B) == 57344.0);
    cr_expect(emu_decode(EMU_E2M3, 0x1F) == 7.5);
    cr_expect(emu_decode(EMU_E3M2, 0x1F) == 28.0);
    cr_expect(emu_decode(EMU_E2M1, 0x7) == 6.0);
    cr_expect(emu_decode(EMU_F16, 0x0001) == 0x1p-24);
    cr_expect(emu_decode(EMU_BF16, 0x0001) == 0x1p-133);
    cr_expect(emu_decode(EMU_F32, 0x00000001) == 0x1p-149);
    cr_expect(emu_decode(EMU_F16, 0xFC00) == -INFINITY);
    cr_expect(emu_decode(EMU_BF16, 0x7F80) == INFINITY);
    cr_expect(emu_decode(EMU_E5M2, 0xFC) == -INFINITY);
    cr_expect(emu_decode(EMU_F32, 0xFF800000) == -INFINITY);
    cr_expect(isnan(emu_decode(EMU_E4M3, 0x7F)));
    cr_expect(isnan(emu_decode(EMU_E4M3, 0xFF)));
    cr_expect(isnan(emu_decode(EMU_UE4M3, 0x7F)));
    cr_expect(isnan(emu_decode(EMU_UE8M0, 0xFF)));
    for (unsigned mantissa = 1; mantissa < 0x400; mantissa++) {
        cr_assert(isnan(emu_decode(EMU_F16, 0x7C00 | mantissa)));
        cr_assert(isnan(emu_decode(EMU_F16, 0xFC00 | mantissa)));
    }
    for (unsigned mantissa = 1; mantissa < 4; mantissa++) {
        cr_assert(isnan(emu_decode(EMU_E5M2, 0x7C | mantissa)));
    }
    for (unsigned exponent = 0; exponent < 0xFF; exponent++) {
        cr_assert(emu_decode(EMU_UE8M0, exponent) == ldexp(1.0, (int)exponent - 127));
        cr_assert((emu_decode(EMU_UE4M3, exponent | 0x80) ==
                   emu_decode(EMU_E4M3, exponent & 0x7F)) ||
                  (exponent & 0x7F) == 0x7F);
    }
    cr_expect(emu_decode(EMU_S8, 0x80) == -128.0);
    cr_expect(emu_decode(EMU_U8, 0x80) == 128.0);
    /* tf32: what lies below bit 13 is not there. */
    cr_expect(emu_decode(EMU_TF32, 0x3F801FFF) == 1.0);
    cr_expect(emu_decode(EMU_TF32, 0xBF802000) == -(1.0 + 0x1p-10));
    cr_expect(emu_decode(EMU_TF32, 0x00002000) == 0x1p-136);
}

Test(numbers_formats, every_value_encodes_to_its_pattern)
{
    for (unsigned i = 0; i < NARROW_COUNT; i++) {
        const unsigned sign = get_sign(&narrow[i]);
        for (unsigned pattern = 0; pattern <= narrow[i].largest; pattern++) {
            for (unsigned r = 0; r < 5; r++) {
                const double value = get_value(&narrow[i], pattern);
                cr_assert_eq(encode(narrow[i].format, value, all_roundings[r]), pattern);
                cr_assert_eq(encode(narrow[i].format, -value, all_roundings[r]),
                             pattern | sign, "%s -%a", narrow[i].name, value);
            }
        }
    }
}

/* Checks one value between two neighbouring patterns against all roundings. `place` is -1
 * below the midpoint, 0 on it, 1 above. */
static void expect_between(const struct definition *definition, unsigned lower,
                           double value, int place)
{
    const unsigned upper = lower + 1, sign = get_sign(definition);
    const unsigned even = (lower & 1) == 0 ? lower : upper;
    const unsigned nearest = place < 0 ? lower : place > 0 ? upper : even;
    const unsigned away = place < 0 ? lower : upper;
    const enum emu_format format = definition->format;
    cr_assert_eq(encode(format, value, EMU_RN), nearest, "%s %a", definition->name, value);
    cr_assert_eq(encode(format, -value, EMU_RN), nearest | sign);
    cr_assert_eq(encode(format, value, EMU_RNA), away);
    cr_assert_eq(encode(format, -value, EMU_RNA), away | sign);
    cr_assert_eq(encode(format, value, EMU_RZ), lower);
    cr_assert_eq(encode(format, -value, EMU_RZ), lower | sign);
    cr_assert_eq(encode(format, value, EMU_RM), lower);
    cr_assert_eq(encode(format, -value, EMU_RM), upper | sign);
    cr_assert_eq(encode(format, value, EMU_RP), upper);
    cr_assert_eq(encode(format, -value, EMU_RP), lower | sign);
}

Test(numbers_formats, values_between_neighbours_round_as_asked)
{
    for (unsigned i = 0; i < NARROW_COUNT; i++) {
        for (unsigned lower = 0; lower < narrow[i].largest; lower++) {
            const double low = get_value(&narrow[i], lower);
            const double high = get_value(&narrow[i], lower + 1);
            const double middle = (low + high) / 2;
            expect_between(&narrow[i], lower, middle, 0);
            expect_between(&narrow[i], lower, nextafter(middle, 0), -1);
            expect_between(&narrow[i], lower, nextafter(middle, INFINITY), 1);
            expect_between(&narrow[i], lower, nextafter(low, INFINITY), -1);
            expect_between(&narrow[i], lower, nextafter(high, 0), 1);
        }
    }
}

Test(numbers_formats, f32_agrees_with_the_hosts_conversion)
{
    struct emu_random random;
    emu_random_seed(&random, 11);
    for (unsigned i = 0; i < 300000; i++) {
        /* Exponents from far below the subnormals to beyond the largest. */
        const int exponent = (int)emu_random_below(&random, 300) - 165;
        const uint64_t significand =
            emu_random_next(&random) >> emu_random_below(&random, 60);
        const double value = ldexp((double)significand, exponent - 63);
        volatile float nearest = (float)value;
        const float converted = nearest;
        uint32_t expected;
        memcpy(&expected, &converted, sizeof(expected));
        cr_assert_eq(encode(EMU_F32, value, EMU_RN), expected, "%a", value);

        const float toward_zero =
            (double)converted > value ? nextafterf(converted, 0.0F) : converted;
        memcpy(&expected, &toward_zero, sizeof(expected));
        cr_assert_eq(encode(EMU_F32, value, EMU_RZ), expected, "%a", value);
        cr_assert_eq(encode(EMU_F32, -value, EMU_RP), expected | 0x80000000, "%a", value);
    }
    cr_expect_eq(encode(EMU_F64, -0x1.8p-1074, EMU_RN), UINT64_C(0x8000000000000002));
    cr_expect_eq(encode(EMU_F64, 0x1.fffffffffffffp1023, EMU_RN),
                 UINT64_C(0x7FEFFFFFFFFFFFFF));
}

Test(numbers_formats, overflow_infinity_and_nan_follow_cvt)
{
    static const struct {
        enum emu_format format;
        double value;
        enum emu_rounding rounding;
        uint64_t plain, saturated;
    } cases[] = {
        /* The midpoint above 448 is even downward; only beyond it is overflow. */
        {EMU_E4M3, 464, EMU_RN, 0x7E, 0x7E},
        {EMU_E4M3, 464.001, EMU_RN, 0x7F, 0x7E},
        {EMU_E4M3, -1e9, EMU_RN, 0xFF, 0xFE},
        {EMU_E4M3, 479, EMU_RZ, 0x7E, 0x7E},
        {EMU_E4M3, 1e9, EMU_RZ, 0x7E, 0x7E},
        {EMU_E4M3, INFINITY, EMU_RN, 0x7F, 0x7E},
        {EMU_E4M3, NAN, EMU_RN, 0x7F, 0x7F},
        {EMU_E4M3, -NAN, EMU_RN, 0x7F, 0x7F},
        {EMU_E5M2, 61439, EMU_RN, 0x7B, 0x7B},
        {EMU_E5M2, 61440, EMU_RN, 0x7C, 0x7B},
        {EMU_E5M2, -INFINITY, EMU_RN, 0xFC, 0xFB},
        {EMU_E5M2, NAN, EMU_RN, 0x7F, 0x7F},
        {EMU_E2M3, 100, EMU_RN, 0x1F, 0x1F},
        {EMU_E2M3, -INFINITY, EMU_RN, 0x3F, 0x3F},
        {EMU_E2M3, -NAN, EMU_RN, 0x1F, 0x1F},
        {EMU_E3M2, NAN, EMU_RN, 0x1F, 0x1F},
        {EMU_E2M1, -1e30, EMU_RN, 0xF, 0xF},
        {EMU_E2M1, NAN, EMU_RN, 0x7, 0x7},
        {EMU_F16, 65519.99, EMU_RN, 0x7BFF, 0x7BFF},
        {EMU_F16, 65520, EMU_RN, 0x7C00, 0x7BFF},
        {EMU_F16, 65520, EMU_RZ, 0x7BFF, 0x7BFF},
        {EMU_F16, 65505, EMU_RP, 0x7C00, 0x7BFF},
        {EMU_F16, -65505, EMU_RP, 0xFBFF, 0xFBFF},
        {EMU_F16, -65505, EMU_RM, 0xFC00, 0xFBFF},
        {EMU_F16, INFINITY, EMU_RZ, 0x7C00, 0x7BFF},
        {EMU_F16, -NAN, EMU_RN, 0x7FFF, 0x7FFF},
        {EMU_BF16, 0x1.ffp127, EMU_RN, 0x7F80, 0x7F7F},
        {EMU_BF16, NAN, EMU_RN, 0x7FFF, 0x7FFF},
        {EMU_F32, 0x1.ffffffp127, EMU_RN, 0x7F800000, 0x7F7FFFFF},
        {EMU_F32, NAN, EMU_RN, 0x7FFFFFFF, 0x7FFFFFFF},
        {EMU_TF32, 1 + 0x1p-11, EMU_RN, 0x3F800000, 0x3F800000},
        {EMU_TF32, 1 + 0x1p-11, EMU_RNA, 0x3F802000, 0x3F802000},
        {EMU_TF32, -(1 + 0x1.8p-10), EMU_RZ, 0xBF802000, 0xBF802000},
        {EMU_TF32, INFINITY, EMU_RN, 0x7F800000, 0x7F7FE000},
        {EMU_TF32, NAN, EMU_RN, 0x7FFFE000, 0x7FFFE000},
        {EMU_UE4M3, -1.5, EMU_RN, 0x3C, 0x3C},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct emu_encode how = {.rounding = cases[i].rounding};
        cr_expect_eq(emu_encode(cases[i].format, cases[i].value, how), cases[i].plain,
                     "case %zu", i);
        how.saturate_finite = true;
        cr_expect_eq(emu_encode(cases[i].format, cases[i].value, how), cases[i].saturated,
                     "case %zu, saturated", i);
    }
}

Test(numbers_formats, relu_and_flush)
{
    const struct emu_encode relu = {.rounding = EMU_RN, .relu = true};
    const struct emu_encode flush = {.rounding = EMU_RN, .flush = true};
    cr_expect_eq(emu_encode(EMU_BF16, -1.0, relu), 0);
    cr_expect_eq(emu_encode(EMU_BF16, -0.0, relu), 0);
    cr_expect_eq(emu_encode(EMU_F16, -INFINITY, relu), 0);
    cr_expect_eq(emu_encode(EMU_F16, 1.0, relu), 0x3C00);
    cr_expect_eq(emu_encode(EMU_F16, NAN, relu), 0x7FFF);
    cr_expect_eq(emu_encode(EMU_E4M3, -NAN, relu), 0x7F);
    cr_expect_eq(emu_encode(EMU_S8, -3.0, relu), 0);
    cr_expect_eq(emu_encode(EMU_F32, -0x1p-127, flush), 0x80000000);
    cr_expect_eq(emu_encode(EMU_F32, 0x1p-126, flush), 0x00800000);
    cr_expect_eq(emu_encode(EMU_F16, 0x1p-15, flush), 0);
}

Test(numbers_formats, ue8m0_takes_the_exponent)
{
    const struct emu_encode cut = {.rounding = EMU_RZ}, up = {.rounding = EMU_RP};
    const struct emu_encode up_finite = {.rounding = EMU_RP, .saturate_finite = true};
    cr_expect_eq(emu_encode(EMU_UE8M0, 1.0, cut), 127);
    cr_expect_eq(emu_encode(EMU_UE8M0, 1.0, up), 127);
    cr_expect_eq(emu_encode(EMU_UE8M0, -1.999, cut), 127);
    cr_expect_eq(emu_encode(EMU_UE8M0, -1.001, up), 128);
    cr_expect_eq(emu_encode(EMU_UE8M0, 0.0, up), 0);
    cr_expect_eq(emu_encode(EMU_UE8M0, 0x1p-149, up), 0);
    cr_expect_eq(emu_encode(EMU_UE8M0, 0x1.8p-127, cut), 0);
    cr_expect_eq(emu_encode(EMU_UE8M0, 0x1.8p-127, up), 1);
    cr_expect_eq(emu_encode(EMU_UE8M0, 0x1.8p127, cut), 0xFE);
    cr_expect_eq(emu_encode(EMU_UE8M0, 0x1.8p127, up), 0xFF);
    cr_expect_eq(emu_encode(EMU_UE8M0, 0x1.8p127, up_finite), 0xFE);
    cr_expect_eq(emu_encode(EMU_UE8M0, INFINITY, up_finite), 0xFE);
    cr_expect_eq(emu_encode(EMU_UE8M0, NAN, up_finite), 0xFF);
}

Test(numbers_formats, integers_saturate_and_round)
{
    static const struct {
        double value;
        enum emu_rounding rounding;
        int expected;
    } cases[] = {
        {2.5, EMU_RN, 2},     {3.5, EMU_RN, 4},   {-2.5, EMU_RN, -2}, {-2.5, EMU_RNA, -3},
        {2.5, EMU_RNA, 3},    {-2.9, EMU_RZ, -2}, {2.9, EMU_RZ, 2},   {-2.1, EMU_RM, -3},
        {2.1, EMU_RP, 3},     {-2.9, EMU_RP, -2}, {1e9, EMU_RN, 127}, {-1e9, EMU_RN, -128},
        {127.4, EMU_RN, 127}, {NAN, EMU_RN, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cr_expect_eq((int8_t)(uint8_t)encode(EMU_S8, cases[i].value, cases[i].rounding),
                     cases[i].expected, "case %zu", i);
    }
    cr_expect_eq(encode(EMU_U8, 255.5, EMU_RN), 255);
    cr_expect_eq(encode(EMU_U8, 199.5, EMU_RN), 200);
    cr_expect_eq(encode(EMU_U8, -1.0, EMU_RN), 0);
}
