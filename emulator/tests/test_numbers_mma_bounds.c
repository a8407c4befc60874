/* SPDX-License-Identifier: MIT */
/*
 * Tensor-core arithmetic against sums in double: the bit-exact model and the fast way stay
 * within their error bounds, integers are exact, results do not depend on the tile.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "numbers/numbers.h"

enum { M = 6, N = 37, K = 32, PITCH = 41 };

struct tile {
    struct emu_mma_rule rule;
    uint32_t a[M * K], b[N * K], c[M * PITCH], d[M * PITCH];
    uint8_t a_scales[M], b_scales[N];
};

/* A value between -6 and 6: within every format. */
static uint32_t draw(struct emu_random *random, enum emu_format format)
{
    const double value =
        ((double)emu_random_below(random, 12U << 20) - (6U << 20)) * 0x1p-20;
    return (uint32_t)emu_encode(format, value, (struct emu_encode){.rounding = EMU_RN});
}

static void fill(struct tile *tile, struct emu_random *random)
{
    for (unsigned i = 0; i < M * K; i++) {
        tile->a[i] = draw(random, tile->rule.a);
    }
    for (unsigned i = 0; i < N * K; i++) {
        tile->b[i] = draw(random, tile->rule.b);
    }
    for (unsigned i = 0; i < M * PITCH; i++) {
        tile->c[i] = draw(random, tile->rule.d);
    }
    for (unsigned i = 0; i < M; i++) {
        tile->a_scales[i] = (uint8_t)(120 + emu_random_below(random, 14));
    }
    for (unsigned i = 0; i < N; i++) {
        tile->b_scales[i] = (uint8_t)(120 + emu_random_below(random, 14));
    }
}

static void run(struct tile *tile)
{
    const bool scaled = tile->rule.scale_block != 0;
    memcpy(tile->d, tile->c, sizeof(tile->d));
    emu_mma(&tile->rule, M, N, tile->a, tile->b, tile->d, PITCH, true,
            scaled ? tile->a_scales : NULL, scaled ? tile->b_scales : NULL);
}

/* Sums of an element's terms: as they are, and of their magnitudes. */
struct sums {
    double plain, magnitudes, largest;
};

static struct sums sum_element(const struct tile *tile, unsigned row, unsigned column)
{
    const double c = emu_decode(tile->rule.d, tile->c[row * PITCH + column]);
    const double scale = tile->rule.scale_block == 0
                             ? 1
                             : emu_decode(EMU_UE8M0, tile->a_scales[row]) *
                                   emu_decode(EMU_UE8M0, tile->b_scales[column]);
    struct sums sums = {c, fabs(c), fabs(c)};
    for (unsigned k = 0; k < K; k++) {
        const double product = emu_decode(tile->rule.a, tile->a[row * K + k]) *
                               emu_decode(tile->rule.b, tile->b[column * K + k]) * scale;
        sums.plain += product;
        sums.magnitudes += fabs(product);
        sums.largest = fmax(sums.largest, fabs(product));
    }
    return sums;
}

static const enum emu_format formats[] = {EMU_BF16, EMU_F16,  EMU_TF32, EMU_E4M3,
                                          EMU_E5M2, EMU_E3M2, EMU_E2M3, EMU_E2M1};
enum { FORMAT_COUNT = sizeof(formats) / sizeof(formats[0]) };

Test(numbers_mma_bounds, the_model_and_the_fast_way_stay_near_the_sum)
{
    static struct tile tile;
    struct emu_random random;
    emu_random_seed(&random, 41);
    for (unsigned i = 0; i < 4 * FORMAT_COUNT; i++) {
        const bool scaled = i >= 2 * FORMAT_COUNT;
        tile.rule = (struct emu_mma_rule){.a = formats[i % FORMAT_COUNT],
                                          .b = formats[i % FORMAT_COUNT],
                                          .d = !scaled && i % 4 == 1 ? EMU_F16 : EMU_F32,
                                          .k = K,
                                          .fraction_bits = 25,
                                          .result_bits = 23,
                                          .scale = EMU_UE8M0,
                                          .scale_block = scaled ? 32 : 0};
        fill(&tile, &random);
        for (int fast = 0; fast < 2; fast++) {
            tile.rule.fast = fast != 0;
            run(&tile);
            for (unsigned element = 0; element < M * N; element++) {
                const unsigned row = element / N, column = element % N;
                const struct sums sums = sum_element(&tile, row, column);
                const double d = emu_decode(tile.rule.d, tile.d[row * PITCH + column]);
                /* The model cuts each of 33 terms below 2^-25 of the largest exponent,
                 * which is at most that of the largest term. Fast: 32 roundings. */
                const double terms = fast != 0 ? K * 0x1p-24 * sums.magnitudes
                                               : (K + 1) * 0x1p-25 * sums.largest;
                const double last = tile.rule.d == EMU_F16
                                        ? 0x1p-11 * fabs(sums.plain) + 0x1p-24
                                        : 0x1p-23 * fabs(sums.plain);
                cr_assert(fabs(d - sums.plain) <= terms + last,
                          "format %d, fast %d: %a instead of %a", (int)tile.rule.a, fast, d,
                          sums.plain);
            }
        }
    }
}

/* Puts one element in place of a finite one of row 2 and compares both ways there. */
static void expect_same_special(struct tile *tile, uint32_t bits, uint32_t expected)
{
    tile->a[2 * K + 7] = bits;
    for (int fast = 0; fast < 2; fast++) {
        tile->rule.fast = fast != 0;
        run(tile);
        for (unsigned column = 0; column < N; column++) {
            cr_assert_eq(tile->d[2 * PITCH + column], expected);
            cr_assert(isfinite(emu_decode(tile->rule.d, tile->d[3 * PITCH + column])));
        }
    }
}

Test(numbers_mma_bounds, both_ways_give_the_same_infinities_and_nans)
{
    static struct tile tile;
    struct emu_random random;
    emu_random_seed(&random, 42);
    tile.rule = (struct emu_mma_rule){.a = EMU_E5M2,
                                      .b = EMU_F16,
                                      .d = EMU_F32,
                                      .k = K,
                                      .fraction_bits = 25,
                                      .result_bits = 23};
    fill(&tile, &random);
    for (unsigned column = 0; column < N; column++) {
        tile.b[column * K + 7] = 0x4000; /* 2 */
    }
    expect_same_special(&tile, 0x7C, 0x7F800000);
    expect_same_special(&tile, 0xFC, 0xFF800000);
    expect_same_special(&tile, 0xFE, 0x7FFFFFFF);
    tile.rule.negate_b = true;
    expect_same_special(&tile, 0xFC, 0x7F800000);
    tile.rule.d = EMU_F16;
    fill(&tile, &random);
    for (unsigned column = 0; column < N; column++) {
        tile.b[column * K + 7] = 0x4000;
    }
    expect_same_special(&tile, 0x7C, 0xFC00);
    expect_same_special(&tile, 0x7D, 0x7FFF);
}

Test(numbers_mma_bounds, an_element_does_not_depend_on_its_neighbours)
{
    static struct tile tile;
    struct emu_random random;
    emu_random_seed(&random, 43);
    for (unsigned i = 0; i < 2 * FORMAT_COUNT; i++) {
        tile.rule = (struct emu_mma_rule){.a = formats[i % FORMAT_COUNT],
                                          .b = formats[i % FORMAT_COUNT],
                                          .d = EMU_F32,
                                          .k = K,
                                          .fraction_bits = 25,
                                          .result_bits = 23,
                                          .fast = i >= FORMAT_COUNT};
        fill(&tile, &random);
        run(&tile);
        for (unsigned element = 0; element < M * N; element++) {
            const unsigned row = element / N, column = element % N;
            uint32_t d = tile.c[row * PITCH + column];
            emu_mma(&tile.rule, 1, 1, tile.a + row * K, tile.b + column * K, &d, 1, true,
                    NULL, NULL);
            cr_assert_eq(d, tile.d[row * PITCH + column]);
        }
    }
}

Test(numbers_mma_bounds, integers_equal_a_plain_loop)
{
    static struct tile tile;
    struct emu_random random;
    emu_random_seed(&random, 44);
    for (unsigned i = 0; i < 24; i++) {
        const enum emu_format a_format = i % 2 != 0 ? EMU_S8 : EMU_U8;
        const enum emu_format b_format = i % 3 != 0 ? EMU_S8 : EMU_U8;
        tile.rule = (struct emu_mma_rule){
            .a = a_format, .b = b_format, .d = EMU_S8, .k = K, .saturate = i % 4 < 2};
        for (unsigned j = 0; j < M * K; j++) {
            tile.a[j] = emu_random_below(&random, 256);
        }
        for (unsigned j = 0; j < N * K; j++) {
            tile.b[j] = emu_random_below(&random, 256);
        }
        for (unsigned j = 0; j < M * PITCH; j++) {
            /* Near the ends of the range every other time. */
            const uint32_t bits = (uint32_t)emu_random_next(&random);
            const uint32_t end = (bits & 1) != 0 ? 0x7FFF0000 : 0x80000000;
            tile.c[j] = j % 2 != 0 ? bits : end | (bits & 0xFFFF);
        }
        run(&tile);
        for (unsigned element = 0; element < M * N; element++) {
            const unsigned row = element / N, column = element % N;
            double sum = (double)(int32_t)tile.c[row * PITCH + column];
            for (unsigned k = 0; k < K; k++) {
                sum += emu_decode(a_format, tile.a[row * K + k]) *
                       emu_decode(b_format, tile.b[column * K + k]);
            }
            int64_t expected = (int64_t)sum;
            if (tile.rule.saturate) {
                expected = expected < INT32_MIN   ? INT32_MIN
                           : expected > INT32_MAX ? INT32_MAX
                                                  : expected;
            }
            cr_assert_eq(tile.d[row * PITCH + column], (uint32_t)expected);
        }
    }
}
