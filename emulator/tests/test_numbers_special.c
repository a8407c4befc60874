/* SPDX-License-Identifier: MIT */
/* Special values of f32 and f64 arithmetic, and the approximate functions. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "numbers/numbers.h"

static uint32_t get_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static uint64_t get_bits64(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

Test(numbers_special, special_values)
{
    const float inf = INFINITY;
    const float nan = NAN;
    static const enum emu_rounding roundings[] = {EMU_RN, EMU_RZ, EMU_RM, EMU_RP};
    for (unsigned r = 0; r < 4; r++) {
        const enum emu_rounding rounding = roundings[r];
        cr_expect_eq(get_bits(emu_add_f32(inf, -inf, rounding)), 0x7FFFFFFF);
        cr_expect_eq(get_bits(emu_mul_f32(0, -inf, rounding)), 0x7FFFFFFF);
        cr_expect_eq(get_bits(emu_fma_f32(-nan, 1, 1, rounding)), 0x7FFFFFFF);
        cr_expect_eq(get_bits(emu_div_f32(0, -0.0F, rounding)), 0x7FFFFFFF);
        cr_expect_eq(get_bits(emu_sqrt_f32(-1, rounding)), 0x7FFFFFFF);
        cr_expect_eq(get_bits(emu_sqrt_f32(-0.0F, rounding)), 0x80000000);
        cr_expect_eq(get_bits(emu_div_f32(1, -0.0F, rounding)), 0xFF800000);
        cr_expect_eq(get_bits(emu_add_f32(-0.0F, -0.0F, rounding)), 0x80000000);
        /* x - x is +0, but -0 when rounding down. */
        const uint32_t zero = rounding == EMU_RM ? 0x80000000 : 0;
        cr_expect_eq(get_bits(emu_add_f32(3, -3, rounding)), zero);
        cr_expect_eq(get_bits(emu_fma_f32(3, 1, -3, rounding)), zero);
        cr_expect_eq(get_bits64(emu_add_f64(3, -3, rounding)), (uint64_t)zero << 32);
        cr_expect_eq(get_bits64(emu_mul_f64(0, INFINITY, rounding)),
                     UINT64_C(0x7FF8000000000000));
        cr_expect_eq(get_bits64(emu_sqrt_f64(-1, rounding)), UINT64_C(0x7FF8000000000000));
    }
    cr_expect_eq(get_bits(emu_mul_f32(0x1p-100F, 0x1p-49F, EMU_RN)), 1);
    cr_expect_eq(get_bits(emu_mul_f32(-0x1p-100F, 0x1p-60F, EMU_RZ)), 0x80000000);
    cr_expect_eq(get_bits(emu_mul_f32(-0x1p-100F, 0x1p-60F, EMU_RM)), 0x80000001);
    cr_expect_eq(get_bits(emu_mul_f32(0x1p100F, 0x1p60F, EMU_RZ)), 0x7F7FFFFF);
    cr_expect_eq(get_bits(emu_flush_f32(-0x1p-127F)), 0x80000000);
    cr_expect_eq(get_bits(emu_flush_f32(0x1p-126F)), 0x00800000);
    cr_expect_eq(get_bits(emu_flush_f32(inf)), 0x7F800000);
}

Test(numbers_special, approximate_functions)
{
    const float inf = INFINITY;
    static const struct {
        enum emu_approx function;
        float a;
        uint32_t expected;
    } cases[] = {
        {EMU_EX2, INFINITY, 0x7F800000},
        {EMU_EX2, -INFINITY, 0},
        {EMU_EX2, -0.0F, 0x3F800000},
        {EMU_EX2, 0x1p-140F, 0x3F800000},
        {EMU_EX2, 0.5F, 0x3FB504F3},
        {EMU_EX2, 128, 0x7F800000},
        {EMU_EX2, -149, 1},
        {EMU_LG2, 0, 0xFF800000},
        {EMU_LG2, -0.0F, 0xFF800000},
        {EMU_LG2, -1, 0x7FFFFFFF},
        {EMU_LG2, INFINITY, 0x7F800000},
        {EMU_LG2, 0x1p-149F, 0xC3150000},
        {EMU_RCP, 0, 0x7F800000},
        {EMU_RCP, -0.0F, 0xFF800000},
        {EMU_RCP, -INFINITY, 0x80000000},
        {EMU_RCP, 3, 0x3EAAAAAB},
        {EMU_RCP, 0x1p-140F, 0x7F800000},
        {EMU_RSQRT, 0, 0x7F800000},
        {EMU_RSQRT, -0.0F, 0xFF800000},
        {EMU_RSQRT, INFINITY, 0},
        {EMU_RSQRT, -1, 0x7FFFFFFF},
        {EMU_RSQRT, 2, 0x3F3504F3},
        {EMU_SQRT, -0.0F, 0x80000000},
        {EMU_SQRT, -1, 0x7FFFFFFF},
        {EMU_SQRT, 2, 0x3FB504F3},
        {EMU_SIN, INFINITY, 0x7FFFFFFF},
        {EMU_SIN, -0.0F, 0x80000000},
        {EMU_SIN, 1, 0x3F576AA4},
        {EMU_COS, 0, 0x3F800000},
        {EMU_COS, 1, 0x3F0A5140},
        {EMU_TANH, INFINITY, 0x3F800000},
        {EMU_TANH, -INFINITY, 0xBF800000},
        {EMU_TANH, 1, 0x3F42F7D6},
        {EMU_TANH, -0.0F, 0x80000000},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cr_expect_eq(get_bits(emu_approx_f32(cases[i].function, cases[i].a)),
                     cases[i].expected, "case %zu gives %08x", i,
                     get_bits(emu_approx_f32(cases[i].function, cases[i].a)));
    }
    for (int function = EMU_EX2; function <= EMU_TANH; function++) {
        cr_expect_eq(get_bits(emu_approx_f32((enum emu_approx)function, -(inf - inf))),
                     0x7FFFFFFF);
    }
    /* The reciprocal and the roots are the correctly rounded ones. */
    for (uint32_t bits = 0x3F000000; bits < 0x40000000; bits += 4099) {
        float a;
        memcpy(&a, &bits, sizeof(a));
        cr_assert_eq(get_bits(emu_approx_f32(EMU_RCP, a)),
                     get_bits(emu_div_f32(1, a, EMU_RN)));
        cr_assert_eq(get_bits(emu_approx_f32(EMU_SQRT, a)),
                     get_bits(emu_sqrt_f32(a, EMU_RN)));
    }
}
