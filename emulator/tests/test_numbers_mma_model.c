/* SPDX-License-Identifier: MIT */
/*
 * Tensor-core arithmetic on random operands of every pair of formats, against the same
 * model written a second time: slowly, element by element, in doubles that stay exact.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "numbers/numbers.h"

enum { MAX_ROWS = 40, MAX_K = 96, PITCH = 45, MAX_SCALES = 6 };

struct tile {
    struct emu_mma_rule rule;
    unsigned m, n;
    uint32_t a[MAX_ROWS * MAX_K], b[MAX_ROWS * MAX_K];
    uint32_t c[MAX_ROWS * PITCH], d[MAX_ROWS * PITCH];
    uint8_t a_scales[MAX_ROWS * MAX_SCALES], b_scales[MAX_ROWS * MAX_SCALES];
};

/* ---------------------------------------------------------------- the model once more */

struct number {
    double significand;
    int exponent;
};

static int least_exponent(enum emu_format format)
{
    switch (format) {
    case EMU_F16:
    case EMU_E5M2:
        return -14;
    case EMU_E4M3:
    case EMU_UE4M3:
        return -6;
    case EMU_E3M2:
        return -2;
    case EMU_E2M3:
    case EMU_E2M1:
        return 0;
    case EMU_UE8M0:
        return -127;
    default:
        return -126;
    }
}

/* 1 <= significand < 2, or less with the least exponent. */
static struct number split(enum emu_format format, uint32_t bits)
{
    struct number number;
    number.significand = 2 * frexp(emu_decode(format, bits), &number.exponent);
    number.exponent -= 1;
    const int least = least_exponent(format);
    if (number.exponent < least) {
        number.significand = ldexp(number.significand, number.exponent - least);
        number.exponent = least;
    }
    return number;
}

static double sum_terms(const struct number *terms, unsigned count, int fraction_bits)
{
    int largest = -133;
    for (unsigned i = 0; i < count; i++) {
        if (terms[i].significand != 0 && terms[i].exponent > largest) {
            largest = terms[i].exponent;
        }
    }
    double sum = 0;
    for (unsigned i = 0; i < count; i++) {
        if (terms[i].significand != 0) {
            sum += trunc(
                ldexp(terms[i].significand, terms[i].exponent - largest + fraction_bits));
        }
    }
    return ldexp(sum, largest - fraction_bits);
}

static uint32_t round_result(const struct emu_mma_rule *rule, double sum)
{
    if (rule->d == EMU_F16) {
        const uint64_t bits =
            emu_encode(EMU_F16, sum, (struct emu_encode){.rounding = EMU_RN});
        return bits == 0x8000 ? 0 : (uint32_t)bits;
    }
    if (fabs(sum) >= 0x1p128) {
        return sum < 0 ? 0xFF800000 : 0x7F800000;
    }
    float result = (float)sum;
    if (fabs((double)result) > fabs(sum)) {
        result = nextafterf(result, 0);
    }
    uint32_t bits;
    memcpy(&bits, &result, sizeof(bits));
    bits &= UINT32_MAX << (23 - rule->result_bits);
    return bits == 0x80000000 ? 0 : bits;
}

static uint32_t model(const struct tile *tile, unsigned row, unsigned column,
                      bool accumulate)
{
    const struct emu_mma_rule *rule = &tile->rule;
    const uint32_t *a = tile->a + row * rule->k, *b = tile->b + column * rule->k;
    const unsigned per_row = rule->scale_block != 0 ? rule->k / rule->scale_block : 0;
    const unsigned group = per_row != 0 && rule->fraction_bits == 35 ? 16 : 1;
    const double sign = rule->negate_a != rule->negate_b ? -1 : 1;
    struct number terms[MAX_K + 1];
    unsigned count = 0;
    double infinite = 0; /* the sum of what is not finite */
    if (accumulate) {
        const uint32_t c = tile->c[row * PITCH + column];
        const double value = emu_decode(rule->d, c);
        infinite += isfinite(value) ? 0 : value;
        terms[count++] = split(rule->d, c);
    }
    for (unsigned first = 0; first < rule->k; first += group) {
        struct number term = {0, 0};
        for (unsigned i = first; i < first + group; i++) {
            const double product =
                sign * emu_decode(rule->a, a[i]) * emu_decode(rule->b, b[i]);
            infinite += isfinite(product) ? 0 : product;
            if (group == 1) {
                const struct number x = split(rule->a, a[i]), y = split(rule->b, b[i]);
                term.significand = sign * x.significand * y.significand;
                term.exponent = x.exponent + y.exponent;
            } else {
                term.significand += product;
            }
        }
        if (per_row != 0) {
            const unsigned place = first / rule->scale_block;
            const uint8_t a_scale = tile->a_scales[row * per_row + place];
            const uint8_t b_scale = tile->b_scales[column * per_row + place];
            const struct number x = split(rule->scale, a_scale),
                                y = split(rule->scale, b_scale);
            if (isnan(emu_decode(rule->scale, a_scale) +
                      emu_decode(rule->scale, b_scale))) {
                infinite = NAN;
            }
            term.significand *= x.significand * y.significand;
            term.exponent += x.exponent + y.exponent;
        }
        terms[count++] = term;
    }
    if (isnan(infinite)) {
        return rule->d == EMU_F16 ? 0x7FFF : 0x7FFFFFFF;
    }
    if (infinite != 0) {
        return round_result(rule, infinite);
    }
    return round_result(rule, sum_terms(terms, count, (int)rule->fraction_bits));
}

/* --------------------------------------------------------------------- random operands */

static const struct {
    unsigned bits, mantissa_bits;
} layouts[EMU_FORMAT_COUNT] = {
    [EMU_F32] = {32, 23}, [EMU_TF32] = {32, 23}, [EMU_BF16] = {16, 7},
    [EMU_F16] = {16, 10}, [EMU_E4M3] = {8, 3},   [EMU_E5M2] = {8, 2},
    [EMU_E2M3] = {6, 3},  [EMU_E3M2] = {6, 2},   [EMU_E2M1] = {4, 1},
};

enum range { NEAR_ONE, ANY_FINITE, EVERYTHING };

static uint32_t draw(struct emu_random *random, enum emu_format format, enum range range)
{
    const uint32_t bits = (uint32_t)emu_random_next(random);
    const unsigned width = layouts[format].bits, mantissa = layouts[format].mantissa_bits;
    if (emu_random_below(random, 12) == 0) {
        return bits & UINT32_C(1) << (width - 1); /* a zero */
    }
    uint32_t pattern = bits & (UINT32_MAX >> (32 - width));
    if (range == NEAR_ONE && width >= 16) {
        /* Exponents from -8 to 7 about that of 1. */
        const uint32_t bias = (UINT32_C(1) << (width - 2 - mantissa)) - 1;
        const uint32_t exponent = bias - 8 + emu_random_below(random, 16);
        const uint32_t sign_and_fraction =
            pattern & (UINT32_C(1) << (width - 1) | ((UINT32_C(1) << mantissa) - 1));
        pattern = sign_and_fraction | exponent << mantissa;
    }
    if (range != EVERYTHING && !isfinite(emu_decode(format, pattern))) {
        pattern = 0;
    }
    return pattern;
}

static void fill(struct tile *tile, struct emu_random *random, enum range range)
{
    const struct emu_mma_rule *rule = &tile->rule;
    tile->m = 1 + emu_random_below(random, 5);
    tile->n = 1 + emu_random_below(random, MAX_ROWS);
    for (unsigned i = 0; i < MAX_ROWS * MAX_K; i++) {
        /* Anything not finite is rare, or nothing else would be seen. */
        const enum range rare =
            range == EVERYTHING && emu_random_below(random, 64) != 0 ? ANY_FINITE : range;
        tile->a[i] = draw(random, rule->a, rare);
        tile->b[i] = draw(random, rule->b, rare);
    }
    for (unsigned i = 0; i < MAX_ROWS * PITCH; i++) {
        tile->c[i] = draw(random, rule->d, range);
        tile->d[i] = tile->c[i];
    }
    for (unsigned i = 0; i < MAX_ROWS * MAX_SCALES; i++) {
        tile->a_scales[i] =
            (uint8_t)(rule->scale == EMU_UE8M0 && range == NEAR_ONE
                          ? 117 + emu_random_below(random, 20)
                          : emu_random_below(random, range == EVERYTHING ? 256 : 127));
        tile->b_scales[i] =
            (uint8_t)(rule->scale == EMU_UE8M0 && range == NEAR_ONE
                          ? 117 + emu_random_below(random, 20)
                          : emu_random_below(random, range == EVERYTHING ? 256 : 127));
    }
}

static void expect_model(struct tile *tile, bool accumulate, const char *name)
{
    const bool scaled = tile->rule.scale_block != 0;
    emu_mma(&tile->rule, tile->m, tile->n, tile->a, tile->b, tile->d, PITCH, accumulate,
            scaled ? tile->a_scales : NULL, scaled ? tile->b_scales : NULL);
    for (unsigned row = 0; row < MAX_ROWS; row++) {
        for (unsigned column = 0; column < PITCH; column++) {
            const bool inside = row < tile->m && column < tile->n;
            const uint32_t expected = inside ? model(tile, row, column, accumulate)
                                             : tile->c[row * PITCH + column];
            cr_assert_eq(tile->d[row * PITCH + column], expected,
                         "%s, formats %d and %d, element %u %u: %08x instead of %08x", name,
                         (int)tile->rule.a, (int)tile->rule.b, row, column,
                         tile->d[row * PITCH + column], expected);
        }
    }
}

static struct tile tile;
static struct emu_random source;

static void compare_all(struct emu_mma_rule rule, const char *name, unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        for (enum range range = NEAR_ONE; range <= EVERYTHING; range++) {
            tile.rule = rule;
            tile.rule.negate_a = emu_random_below(&source, 4) == 0;
            tile.rule.negate_b = emu_random_below(&source, 4) == 0;
            fill(&tile, &source, range);
            expect_model(&tile, emu_random_below(&source, 4) != 0, name);
        }
    }
}

Test(numbers_mma_model, wide_formats)
{
    emu_random_seed(&source, 31);
    const struct emu_mma_rule rule = {.k = 16, .fraction_bits = 25, .result_bits = 23};
    static const struct {
        enum emu_format a, b, d;
        unsigned k;
    } cases[] = {{EMU_BF16, EMU_BF16, EMU_F32, 16},
                 {EMU_F16, EMU_F16, EMU_F32, 16},
                 {EMU_F16, EMU_F16, EMU_F16, 16},
                 {EMU_TF32, EMU_TF32, EMU_F32, 8},
                 {EMU_BF16, EMU_F16, EMU_F32, 13}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct emu_mma_rule one = rule;
        one.a = cases[i].a;
        one.b = cases[i].b;
        one.d = cases[i].d;
        one.k = cases[i].k;
        compare_all(one, "wide", 12);
    }
}

static const enum emu_format narrow[] = {EMU_E4M3, EMU_E5M2, EMU_E2M3, EMU_E3M2, EMU_E2M1};

Test(numbers_mma_model, every_pair_of_narrow_formats)
{
    emu_random_seed(&source, 32);
    for (unsigned a = 0; a < 5; a++) {
        for (unsigned b = 0; b < 5; b++) {
            struct emu_mma_rule rule = {.a = narrow[a],
                                        .b = narrow[b],
                                        .d = EMU_F32,
                                        .k = 32,
                                        .fraction_bits = 25,
                                        .result_bits = 23};
            compare_all(rule, "25 bits", 2);
            rule.fraction_bits = 13;
            rule.result_bits = 13;
            compare_all(rule, "13 bits", 2);
            rule.d = EMU_F16;
            compare_all(rule, "13 bits to f16", 1);
            rule.d = EMU_F32;
            rule.fraction_bits = 25;
            rule.result_bits = 23;
            rule.scale_block = 32;
            rule.scale = EMU_UE8M0;
            compare_all(rule, "mxf8f6f4", 2);
        }
    }
}

Test(numbers_mma_model, scaled_fp4)
{
    emu_random_seed(&source, 33);
    static const struct {
        unsigned k, block;
        enum emu_format scale;
    } cases[] = {{64, 32, EMU_UE8M0}, {64, 16, EMU_UE8M0}, {64, 16, EMU_UE4M3},
                 {96, 16, EMU_UE4M3}, {96, 32, EMU_UE8M0}, {32, 32, EMU_UE4M3}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct emu_mma_rule rule = {.a = EMU_E2M1,
                                          .b = EMU_E2M1,
                                          .d = EMU_F32,
                                          .k = cases[i].k,
                                          .fraction_bits = 35,
                                          .result_bits = 23,
                                          .scale_block = cases[i].block,
                                          .scale = cases[i].scale};
        compare_all(rule, "fp4", 8);
    }
}
