/* SPDX-License-Identifier: MIT */
/*
 * Tensor-core arithmetic by hand: where the model differs from exact and from IEEE
 * arithmetic, and what it does with special values, integers and scale factors.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "numbers/numbers.h"

enum { MAX_K = 64 };

/* One product of the sum. */
struct factors {
    double a, b;
};

static const struct emu_mma_rule bf16 = {.a = EMU_BF16,
                                         .b = EMU_BF16,
                                         .d = EMU_F32,
                                         .k = 16,
                                         .fraction_bits = 25,
                                         .result_bits = 23};
static const struct emu_mma_rule f16 = {.a = EMU_F16,
                                        .b = EMU_F16,
                                        .d = EMU_F32,
                                        .k = 16,
                                        .fraction_bits = 25,
                                        .result_bits = 23};
static const struct emu_mma_rule f16_to_f16 = {.a = EMU_F16,
                                               .b = EMU_F16,
                                               .d = EMU_F16,
                                               .k = 16,
                                               .fraction_bits = 25,
                                               .result_bits = 23};
static const struct emu_mma_rule hopper_fp8 = {.a = EMU_E4M3,
                                               .b = EMU_E5M2,
                                               .d = EMU_F32,
                                               .k = 32,
                                               .fraction_bits = 13,
                                               .result_bits = 13};
static const struct emu_mma_rule mxf8 = {.a = EMU_E4M3,
                                         .b = EMU_E4M3,
                                         .d = EMU_F32,
                                         .k = 32,
                                         .fraction_bits = 25,
                                         .result_bits = 23,
                                         .scale_block = 32,
                                         .scale = EMU_UE8M0};
static const struct emu_mma_rule nvf4 = {.a = EMU_E2M1,
                                         .b = EMU_E2M1,
                                         .d = EMU_F32,
                                         .k = 64,
                                         .fraction_bits = 35,
                                         .result_bits = 23,
                                         .scale_block = 16,
                                         .scale = EMU_UE4M3};

static uint32_t encode(enum emu_format format, double value)
{
    return (uint32_t)emu_encode(format, value, (struct emu_encode){.rounding = EMU_RN});
}

static uint32_t sum_scaled(const struct emu_mma_rule *rule, double c, unsigned count,
                           const struct factors *products, const uint8_t *a_scales,
                           const uint8_t *b_scales)
{
    uint32_t a[MAX_K] = {0}, b[MAX_K] = {0};
    for (unsigned i = 0; i < count; i++) {
        a[i] = encode(rule->a, products[i].a);
        b[i] = encode(rule->b, products[i].b);
        const bool same = isnan(products[i].a) || isnan(products[i].b) ||
                          (emu_decode(rule->a, a[i]) == products[i].a &&
                           emu_decode(rule->b, b[i]) == products[i].b);
        cr_assert(same, "a factor of product %u is not a value of its format", i);
    }
    uint32_t d = encode(rule->d, c);
    emu_mma(rule, 1, 1, a, b, &d, 1, true, a_scales, b_scales);
    return d;
}

/* c + the sum of the products. */
#define SUM(rule, c, ...)                                                        \
    sum_scaled(&(rule), (c),                                                     \
               sizeof((struct factors[]){__VA_ARGS__}) / sizeof(struct factors), \
               (struct factors[]){__VA_ARGS__}, NULL, NULL)

static uint32_t f32(double value)
{
    return encode(EMU_F32, value);
}

Test(numbers_mma, terms_are_cut_at_25_bits_below_the_largest)
{
    /* Four units of the last kept bit make one of f32's; half units vanish one by one. */
    cr_expect_eq(SUM(bf16, 1, {0x1p-12, 0x1p-13}, {0x1p-12, 0x1p-13}, {0x1p-12, 0x1p-13},
                     {0x1p-12, 0x1p-13}),
                 f32(1 + 0x1p-23));
    cr_expect_eq(SUM(bf16, 1, {0x1p-13, 0x1p-13}, {0x1p-13, 0x1p-13}, {0x1p-13, 0x1p-13},
                     {0x1p-13, 0x1p-13}, {0x1p-13, 0x1p-13}, {0x1p-13, 0x1p-13},
                     {0x1p-13, 0x1p-13}, {0x1p-13, 0x1p-13}),
                 f32(1));
    /* Cancellation: what is 25 places below stays, 26 places below is gone. */
    cr_expect_eq(SUM(bf16, 0, {0x1p10, 0x1p15}, {1, 1}, {-0x1p10, 0x1p15}), f32(1));
    cr_expect_eq(SUM(bf16, 0, {0x1p11, 0x1p15}, {1, 1}, {-0x1p11, 0x1p15}), f32(0));
    cr_expect_eq(SUM(bf16, 0x1p26, {1, 1}, {-0x1p11, 0x1p15}), f32(0));
    cr_expect_eq(SUM(bf16, -0x1p25, {1, 1.5}, {0x1p10, 0x1p15}), f32(1));
    /* C is cut like a product. */
    cr_expect_eq(SUM(bf16, 0x1.fffffep0, {0x1p10, 0x1p12}, {-0x1p10, 0x1p12}),
                 f32(0x1.ep0));
}

Test(numbers_mma, hopper_fp8_cuts_at_13_bits)
{
    cr_expect_eq(SUM(hopper_fp8, 0, {0x1p5, 0x1p8}, {1, 1}, {-0x1p5, 0x1p8}), f32(1));
    cr_expect_eq(SUM(hopper_fp8, 0, {0x1p6, 0x1p8}, {1, 1}, {-0x1p6, 0x1p8}), f32(0));
    /* The result keeps 13 bits of mantissa even where the sum has one more. */
    cr_expect_eq(SUM(hopper_fp8, 0, {1.5, 1.5}, {0x1p-3, 0x1p-10}), f32(2.25));
    cr_expect_eq(SUM(hopper_fp8, 0, {1.5, 1.5}, {0x1p-3, 0x1p-9}), f32(2.25 + 0x1p-12));
    /* C has 23 bits; those that do not fit are cut. */
    cr_expect_eq(SUM(hopper_fp8, -0x1.0007fep0, {0, 1}), f32(-0x1.0000p0));
    cr_expect_eq(SUM(hopper_fp8, -0x1.000ffep0, {0, 1}), f32(-0x1.0008p0));
}

Test(numbers_mma, products_and_subnormals_are_not_normalised)
{
    /* 1.5·1.5 has exponent 0 although it exceeds 2. */
    cr_expect_eq(SUM(bf16, 0, {1.5, 1.5}, {0x1p-12, 0x1p-13}, {-1.5, 1.5}), f32(0x1p-25));
    /* 2^-24, a subnormal of f16, has exponent -14: 2^-40 is 26 below. */
    cr_expect_eq(SUM(f16, 0, {0x1p-24, 1}, {0x1p-20, 0x1p-20}, {-0x1p-24, 1}), f32(0));
    cr_expect_eq(SUM(f16, 0, {0x1p-24, 1}, {0x1p-20, 0x1p-19}, {-0x1p-24, 1}),
                 f32(0x1p-39));
    /* The same value as a normal product leaves room for it. */
    cr_expect_eq(SUM(f16, 0, {0x1p-12, 0x1p-12}, {0x1p-20, 0x1p-20}, {-0x1p-12, 0x1p-12}),
                 f32(0x1p-40));
    /* A subnormal C has exponent -126. */
    cr_expect_eq(SUM(bf16, 0x1p-149, {0x1p-76, 0x1p-76}, {0x1p-76, 0x1p-76}),
                 f32(0x1p-149));
    cr_expect_eq(SUM(bf16, 0, {0x1p-75, 0x1p-75}, {0x1p-75, 0x1p-75}), f32(0x1p-149));
}

Test(numbers_mma, a_zero_has_no_exponent)
{
    cr_expect_eq(SUM(f16, 0, {0, 0x1p15}, {0x1p-14, 0x1p-14}, {0x1p-24, 0x1p-14},
                     {-0x1p-14, 0x1p-14}),
                 f32(0x1p-38));
    cr_expect_eq(SUM(f16, -0x1p-28, {0x1p15, -0.0}, {0x1p-14, 0x1p-14}, {0x1p-24, 0x1p-14}),
                 f32(0x1p-38));
}

Test(numbers_mma, exponents_end_at_minus_133)
{
    /* 2^-158 is 25 places below 2^-133: kept, it takes a unit from the truncated result.
     * 2^-159 is gone, although it is only 19 places below the largest product. */
    cr_expect_eq(SUM(bf16, 0, {-0x1p-70, 0x1p-70}, {0x1p-79, 0x1p-79}),
                 f32(-0x1p-140 + 0x1p-149));
    cr_expect_eq(SUM(bf16, 0, {-0x1p-70, 0x1p-70}, {0x1p-79, 0x1p-80}), f32(-0x1p-140));
    /* A subnormal C has exponent -126, and the last place is 2^-151. */
    cr_expect_eq(SUM(bf16, -0x1p-140, {0x1p-75, 0x1p-76}), f32(-0x1p-140 + 0x1p-149));
    cr_expect_eq(SUM(bf16, -0x1p-140, {0x1p-76, 0x1p-76}), f32(-0x1p-140));
}

Test(numbers_mma, truncation_goes_toward_zero)
{
    /* Four times -1.5 units give -4 units, not -8. */
    cr_expect_eq(
        SUM(bf16, -1, {-1.5, 0x1p-25}, {-1.5, 0x1p-25}, {-1.5, 0x1p-25}, {-1.5, 0x1p-25}),
        f32(-(1 + 0x1p-23)));
    /* The sum itself too: 1 + 1.5 and -(1 + 1.5) units of f32. */
    cr_expect_eq(SUM(bf16, 1, {1.5, 0x1p-23}), f32(1 + 0x1p-23));
    cr_expect_eq(SUM(bf16, -1, {-1.5, 0x1p-23}), f32(-(1 + 0x1p-23)));
    /* Into the subnormals, with their fewer bits; below them even the sign is lost. */
    cr_expect_eq(SUM(bf16, 0, {-0x1p-75, 0x1.cp-74}), 0x80000001);
    cr_expect_eq(SUM(bf16, 0, {-0x1p-76, 0x1p-76}), 0);
    cr_expect_eq(SUM(f16_to_f16, 0, {-0x1p-13, 0x1p-13}), 0);
}

Test(numbers_mma, f16_results_round_to_nearest_even)
{
    cr_expect_eq(SUM(f16_to_f16, 1, {1, 0x1p-11}), 0x3C00);
    cr_expect_eq(SUM(f16_to_f16, 1, {3, 0x1p-11}), 0x3C02);
    cr_expect_eq(SUM(f16_to_f16, 1, {1, 0x1p-11}, {0x1p-10, 0x1p-14}), 0x3C01);
    cr_expect_eq(SUM(f16_to_f16, 65504, {1, 15.9921875}), 0x7BFF);
    cr_expect_eq(SUM(f16_to_f16, 65504, {1, 16}), 0x7C00);
    cr_expect_eq(SUM(f16_to_f16, -65504, {1, -16}), 0xFC00);
    cr_expect_eq(SUM(f16_to_f16, 0, {0x1p-12, 0x1p-12}), 0x0001);
    cr_expect_eq(SUM(f16_to_f16, 0, {0x1p-12, 0x1p-13}), 0x0000);
    cr_expect_eq(SUM(f16_to_f16, 0, {0x1p-12, 0x1.8p-13}), 0x0001);
    cr_expect_eq(SUM(f16_to_f16, NAN, {1, 1}), 0x7FFF);
    /* Only the low half of a cell counts. */
    const uint32_t a[16] = {0x3C00}, b[16] = {0x4000};
    uint32_t d = 0xFFFFBC00; /* -1 and something above it */
    emu_mma(&f16_to_f16, 1, 1, a, b, &d, 1, true, NULL, NULL);
    cr_expect_eq(d, 0x3C00);
    cr_expect_eq(SUM(f16_to_f16, 1, {INFINITY, -1}), 0xFC00);
}

Test(numbers_mma, special_values)
{
    const double inf = INFINITY;
    const struct emu_mma_rule e5m2 = {.a = EMU_E5M2,
                                      .b = EMU_E4M3,
                                      .d = EMU_F32,
                                      .k = 32,
                                      .fraction_bits = 25,
                                      .result_bits = 23};
    cr_expect_eq(SUM(bf16, 1, {NAN, 0}), 0x7FFFFFFF);
    cr_expect_eq(SUM(bf16, -NAN, {1, 0}), 0x7FFFFFFF);
    cr_expect_eq(SUM(bf16, 1, {inf, 0}), 0x7FFFFFFF);
    cr_expect_eq(SUM(bf16, 1, {inf, 1}, {1, -inf}), 0x7FFFFFFF);
    cr_expect_eq(SUM(bf16, -inf, {inf, 1}), 0x7FFFFFFF);
    cr_expect_eq(SUM(bf16, 1, {inf, -2}, {-inf, 3}), 0xFF800000);
    cr_expect_eq(SUM(bf16, inf, {-0x1p127, 0x1p127}), 0x7F800000);
    cr_expect_eq(SUM(e5m2, 0, {inf, -1}), 0xFF800000);
    cr_expect_eq(SUM(e5m2, 0, {1, NAN}), 0x7FFFFFFF);
    /* Zeros sum up to +0. */
    cr_expect_eq(SUM(bf16, -0.0, {-0.0, 1}, {0, -1}), 0);
    cr_expect_eq(SUM(bf16, 1, {-1, 1}), 0);
    struct emu_mma_rule fast = bf16;
    fast.fast = true;
    cr_expect_eq(SUM(fast, -0.0, {-0.0, 1}, {0, -1}), 0);
    /* Only the sum may overflow. */
    cr_expect_eq(SUM(bf16, 0, {0x1p127, 2}), 0x7F800000);
    cr_expect_eq(SUM(bf16, 0, {-0x1p127, 0x1p127}), 0xFF800000);
    cr_expect_eq(SUM(bf16, 0, {0x1p127, 2}, {-0x1p127, 1}), f32(0x1p127));
    cr_expect_eq(SUM(bf16, 0, {0x1p127, 0x1p127}, {-0x1p127, 0x1p127}), 0);
}

Test(numbers_mma, tf32_drops_low_bits_and_operands_can_be_negated)
{
    struct emu_mma_rule rule = {.a = EMU_TF32,
                                .b = EMU_TF32,
                                .d = EMU_F32,
                                .k = 8,
                                .fraction_bits = 25,
                                .result_bits = 23};
    const uint32_t a[8] = {0x3F801FFF, 0x40000000}; /* 1 and something, 2 */
    const uint32_t b[8] = {0x40401FFF, 0x3F802000}; /* 3 and something, 1 + 2^-10 */
    uint32_t d = 0x7FFFFFFF;                        /* is not read */
    emu_mma(&rule, 1, 1, a, b, &d, 1, false, NULL, NULL);
    cr_expect_eq(d, f32(5 + 0x1p-9));
    rule.negate_a = true;
    emu_mma(&rule, 1, 1, a, b, &d, 1, true, NULL, NULL);
    cr_expect_eq(d, 0);
    rule.negate_b = true;
    emu_mma(&rule, 1, 1, a, b, &d, 1, true, NULL, NULL);
    cr_expect_eq(d, f32(5 + 0x1p-9));
    rule.fast = true;
    rule.negate_b = false;
    emu_mma(&rule, 1, 1, a, b, &d, 1, true, NULL, NULL);
    cr_expect_eq(d, 0);
}

Test(numbers_mma, integers_are_exact_and_wrap_or_saturate)
{
    struct emu_mma_rule rule = {.a = EMU_U8, .b = EMU_S8, .d = EMU_S8, .k = 32};
    uint32_t a[32], b[32];
    for (unsigned i = 0; i < 32; i++) {
        a[i] = 255;
        b[i] = 0x80;
    }
    uint32_t d = (uint32_t)INT32_MIN;
    emu_mma(&rule, 1, 1, a, b, &d, 1, false, NULL, NULL);
    cr_expect_eq((int32_t)d, -32 * 255 * 128);
    d = (uint32_t)INT32_MIN;
    emu_mma(&rule, 1, 1, a, b, &d, 1, true, NULL, NULL);
    cr_expect_eq((int32_t)d, INT32_MAX - 32 * 255 * 128 + 1);
    rule.saturate = true;
    d = (uint32_t)INT32_MIN + 5;
    emu_mma(&rule, 1, 1, a, b, &d, 1, true, NULL, NULL);
    cr_expect_eq((int32_t)d, INT32_MIN);
    rule.b = EMU_U8;
    d = INT32_MAX;
    emu_mma(&rule, 1, 1, a, b, &d, 1, true, NULL, NULL);
    cr_expect_eq((int32_t)d, INT32_MAX);
}

Test(numbers_mma, mx_exponents_are_added_to_products)
{
    const struct factors products[] = {{1.5, 2}, {-0.25, 1}};
    const uint8_t a_scale = 127 + 3, b_scale = 127 - 40, least = 0, most = 254, nan = 255;
    cr_expect_eq(sum_scaled(&mxf8, 0, 2, products, &a_scale, &b_scale), f32(0x1.6p-36));
    /* The alignment sees the scaled exponents: 2^-27 is 27 below C. */
    cr_expect_eq(sum_scaled(&mxf8, 1, 1, (struct factors[]){{2, 1}}, &a_scale, &b_scale),
                 f32(1));
    cr_expect_eq(sum_scaled(&mxf8, 0, 2, products, &least, &most), f32(2.75));
    cr_expect_eq(sum_scaled(&mxf8, 0, 2, products, &most, &most), 0x7F800000);
    cr_expect_eq(sum_scaled(&mxf8, 0x1p-140, 2, products, &least, &least), f32(0x1p-140));
    cr_expect_eq(sum_scaled(&mxf8, 0, 0, NULL, &nan, &least), 0x7FFFFFFF);
    /* A zero stays without exponent, whatever its scale. */
    cr_expect_eq(sum_scaled(&mxf8, 0x1p-100, 0, NULL, &most, &most), f32(0x1p-100));
}

Test(numbers_mma, fp4_groups_are_exact_and_then_cut_at_35_bits)
{
    struct factors products[64] = {{0, 0}};
    products[0] = (struct factors){6, 6};
    products[16] = (struct factors){0.5, 0.5};
    products[31] = (struct factors){0.5, 0.5};
    products[32] = (struct factors){-6, 6};
    /* 256·256, 2^-9·2^-9 (a subnormal: significand 1/8, exponent -6) and 256·256. */
    const uint8_t scales[4] = {0x78, 0x01, 0x78, 0x38};
    cr_expect_eq(sum_scaled(&nvf4, 0, 64, products, scales, scales), f32(0x1p-19));
    /* Half as much is 36 places below. */
    products[31] = (struct factors){0, 0};
    cr_expect_eq(sum_scaled(&nvf4, 0, 64, products, scales, scales), 0);
    /* Significands of scales take part: 1.125·1.25 of 0.25, against C. */
    const uint8_t a_scales[4] = {0, 0x39, 0, 0}, b_scales[4] = {0, 0xBA, 0, 0};
    cr_expect_eq(sum_scaled(&nvf4, 1, 64, products, a_scales, b_scales),
                 f32(1 + 0.25 * 1.125 * 1.25));
    cr_expect_eq(sum_scaled(&nvf4, 0x1p35, 64, products, a_scales, b_scales), f32(0x1p35));
    const uint8_t nan_scales[4] = {0x38, 0x38, 0x38, 0x7F};
    cr_expect_eq(sum_scaled(&nvf4, 0, 64, products, scales, nan_scales), 0x7FFFFFFF);

    /* mxf4: two factors without significands, each for two groups. The last group is far
     * below a unit of f32, which it takes away. */
    struct emu_mma_rule mxf4 = nvf4;
    mxf4.scale_block = 32;
    mxf4.scale = EMU_UE8M0;
    const uint8_t mx_scales[2] = {127 + 10, 127 - 10};
    cr_expect_eq(sum_scaled(&mxf4, 0, 64, products, mx_scales, mx_scales),
                 f32(36.25 * 0x1p20 - 4));
    cr_expect_eq(sum_scaled(&mxf4, -INFINITY, 64, products, mx_scales, mx_scales),
                 0xFF800000);
}
