/* SPDX-License-Identifier: MIT */
/* f32, f64 and half arithmetic against exact sums of products. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "numbers/numbers.h"

/* -------------------------------------------------------- exact sums of products */

/* A number in two's complement with 2^-2148 as its unit, wide enough for products of any
 * two doubles. */
enum { LIMBS = 138, UNIT = -2148 };
struct exact {
    uint32_t limbs[LIMBS];
};

static void add_product(struct exact *sum, double x, double y)
{
    int x_exponent, y_exponent;
    const int64_t x_bits = (int64_t)ldexp(frexp(x, &x_exponent), 53);
    const int64_t y_bits = (int64_t)ldexp(frexp(y, &y_exponent), 53);
    if (x_bits == 0 || y_bits == 0) {
        return;
    }
    __extension__ typedef unsigned __int128 wide;
    wide product =
        (wide)(x_bits < 0 ? -x_bits : x_bits) * (wide)(y_bits < 0 ? -y_bits : y_bits);
    int position = x_exponent + y_exponent - 106 - UNIT;
    while (position < 0) { /* subnormal factors end in zeros */
        product >>= 1;
        position++;
    }
    uint32_t shifted[6] = {0};
    for (int i = 0; i < 128; i++) {
        if ((product >> i & 1) != 0) {
            const int bit = i + position % 32;
            shifted[bit / 32] |= UINT32_C(1) << bit % 32;
        }
    }
    const bool negative = (x_bits < 0) != (y_bits < 0);
    uint64_t carry = negative;
    for (int i = position / 32, j = 0; i < LIMBS; i++, j++) {
        const uint32_t limb = j < 6 ? shifted[j] : 0;
        carry += (uint64_t)sum->limbs[i] + (negative ? (uint32_t)~limb : limb);
        sum->limbs[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static int get_sign(const struct exact *sum)
{
    if (sum->limbs[LIMBS - 1] >> 31 != 0) {
        return -1;
    }
    for (int i = 0; i < LIMBS; i++) {
        if (sum->limbs[i] != 0) {
            return 1;
        }
    }
    return 0;
}

/* ------------------------------------------------------------- an operation under test */

enum operation { ADD, MUL, FMA, DIV, SQRT, OPERATION_COUNT };
struct problem {
    enum operation operation;
    double a, b, c;
};

/* The sign of (exact result - x). */
static int compare(const struct problem *problem, double x)
{
    struct exact difference = {{0}};
    switch (problem->operation) {
    case ADD:
        add_product(&difference, problem->a, 1);
        add_product(&difference, problem->b, 1);
        add_product(&difference, -x, 1);
        break;
    case MUL:
        add_product(&difference, problem->a, problem->b);
        add_product(&difference, -x, 1);
        break;
    case FMA:
        add_product(&difference, problem->a, problem->b);
        add_product(&difference, problem->c, 1);
        add_product(&difference, -x, 1);
        break;
    case DIV: /* a/b - x has the sign of (a - x·b)·b */
        add_product(&difference, problem->b < 0 ? -problem->a : problem->a, 1);
        add_product(&difference, -x, fabs(problem->b));
        break;
    case SQRT: /* every x here is 0 or more, or just below 0 */
    default:
        if (x < 0) {
            return 1;
        }
        add_product(&difference, problem->a, 1);
        add_product(&difference, -x, x);
        break;
    }
    return get_sign(&difference);
}

static void expect_directed(const struct problem *problem, double result, double below,
                            double above, enum emu_rounding rounding)
{
    const int side = compare(problem, result);
    const bool down =
        rounding == EMU_RM || (rounding == EMU_RZ && compare(problem, 0) >= 0);
    if (down) {
        cr_assert(side >= 0 && compare(problem, above) < 0,
                  "operation %d of %a %a %a, rounding %d, gives %a",
                  (int)problem->operation, problem->a, problem->b, problem->c,
                  (int)rounding, result);
    } else {
        cr_assert(side <= 0 && compare(problem, below) > 0,
                  "operation %d of %a %a %a, rounding %d, gives %a",
                  (int)problem->operation, problem->a, problem->b, problem->c,
                  (int)rounding, result);
    }
}

/* `odd`: the result's last bit. Midpoints are exact doubles here. */
static void expect_nearest(const struct problem *problem, double result, double below,
                           double above, bool odd)
{
    const int low = compare(problem, (below + result) / 2);
    const int high = compare(problem, (result + above) / 2);
    cr_assert((odd ? low > 0 : low >= 0) && (odd ? high < 0 : high <= 0),
              "operation %d of %a %a %a gives %a", (int)problem->operation, problem->a,
              problem->b, problem->c, result);
}

static uint32_t get_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* Of `mantissa_bits` and a leading one. Of any size, with short significands often: those
 * make ties and cancellations. */
static double draw(struct emu_random *random, int mantissa_bits, int least, int most)
{
    const unsigned bits = 1 + emu_random_below(random, (uint32_t)mantissa_bits + 1);
    const double significand = (double)(emu_random_next(random) >> (64 - bits));
    const int spread = emu_random_below(random, 4) == 0 ? most - least : 40;
    int exponent = least + (most - least - spread) / 2 +
                   (int)emu_random_below(random, (uint32_t)spread);
    if (emu_random_below(random, 8) == 0) {
        exponent = least + (int)emu_random_below(random, 30);
    }
    const double value = ldexp(significand, exponent - mantissa_bits);
    return emu_random_below(random, 2) != 0 ? -value : value;
}

static float apply_f32(const struct problem *problem, enum emu_rounding rounding)
{
    const float a = (float)problem->a, b = (float)problem->b, c = (float)problem->c;
    switch (problem->operation) {
    case ADD:
        return emu_add_f32(a, b, rounding);
    case MUL:
        return emu_mul_f32(a, b, rounding);
    case FMA:
        return emu_fma_f32(a, b, c, rounding);
    case DIV:
        return emu_div_f32(a, b, rounding);
    default:
        return emu_sqrt_f32(a, rounding);
    }
}

static double apply_f64(const struct problem *problem, enum emu_rounding rounding)
{
    switch (problem->operation) {
    case ADD:
        return emu_add_f64(problem->a, problem->b, rounding);
    case MUL:
        return emu_mul_f64(problem->a, problem->b, rounding);
    case FMA:
        return emu_fma_f64(problem->a, problem->b, problem->c, rounding);
    case DIV:
        return emu_div_f64(problem->a, problem->b, rounding);
    default:
        return emu_sqrt_f64(problem->a, rounding);
    }
}

/* An infinity stands for the value after the largest, which is where f32 overflows. */
static double widen(float value)
{
    return isinf(value) ? copysign(0x1p128, (double)value) : (double)value;
}

static struct problem draw_problem(struct emu_random *random, int mantissa_bits, int least,
                                   int most)
{
    struct problem problem = {.operation =
                                  (enum operation)emu_random_below(random, OPERATION_COUNT),
                              .a = draw(random, mantissa_bits, least, most),
                              .b = draw(random, mantissa_bits, least, most),
                              .c = draw(random, mantissa_bits, least, most)};
    problem.a = problem.operation == SQRT ? fabs(problem.a) : problem.a;
    problem.b = problem.operation == DIV && problem.b == 0 ? 3 : problem.b;
    return problem;
}

Test(numbers_arithmetic, f32_is_rounded_once_in_every_direction)
{
    static const enum emu_rounding roundings[] = {EMU_RN, EMU_RZ, EMU_RM, EMU_RP};
    struct emu_random random;
    emu_random_seed(&random, 21);
    for (unsigned i = 0; i < 40000; i++) {
        const struct problem problem = draw_problem(&random, 23, -149 + 23, 127);
        for (unsigned r = 0; r < 4; r++) {
            const float result = apply_f32(&problem, roundings[r]);
            /* Beyond an infinity, and when truncating beyond the largest, there is no end.
             */
            const float next_below = nextafterf(result, -INFINITY);
            const float next_above = nextafterf(result, INFINITY);
            const bool widened = roundings[r] == EMU_RN && !isinf(result);
            const double below =
                !widened && isinf(next_below) ? -0x1p400 : widen(next_below);
            const double above =
                !widened && isinf(next_above) ? 0x1p400 : widen(next_above);
            if (roundings[r] == EMU_RN) {
                expect_nearest(&problem, widen(result), below, above,
                               (get_bits(result) & 1) != 0);
            } else if (!isinf(result)) {
                expect_directed(&problem, widen(result), below, above, roundings[r]);
            } else {
                /* Only the direction away from zero may reach an infinity. */
                cr_assert(roundings[r] == (result > 0 ? EMU_RP : EMU_RM));
                cr_assert(compare(&problem, (double)copysignf(0x1.fffffep127F, result)) ==
                          (result > 0 ? 1 : -1));
            }
        }
    }
}

Test(numbers_arithmetic, f64_is_rounded_once_in_every_direction)
{
    static const enum emu_rounding roundings[] = {EMU_RZ, EMU_RM, EMU_RP};
    struct emu_random random;
    emu_random_seed(&random, 22);
    for (unsigned i = 0; i < 20000; i++) {
        const struct problem problem = draw_problem(&random, 52, -1074 + 52, 1000);
        for (unsigned r = 0; r < 3; r++) {
            const double result = apply_f64(&problem, roundings[r]);
            if (fabs(result) < 0x1p1023) {
                expect_directed(&problem, result, nextafter(result, -INFINITY),
                                nextafter(result, INFINITY), roundings[r]);
            }
        }
    }
    cr_expect(emu_fma_f64(1 + 0x1p-52, 1 + 0x1p-52, -1, EMU_RN) == 0x1p-51 + 0x1p-104);
    cr_expect(emu_add_f64(0x1.fffffffffffffp1023, 0x1p900, EMU_RZ) ==
              0x1.fffffffffffffp1023);
    cr_expect(emu_add_f64(0x1.fffffffffffffp1023, 0x1p900, EMU_RP) == INFINITY);
    cr_expect(emu_div_f64(1, 3, EMU_RN) == 0x1.5555555555555p-2);
    cr_expect(emu_div_f64(1, 3, EMU_RP) == 0x1.5555555555556p-2);
    cr_expect(emu_sqrt_f64(2, EMU_RN) == 0x1.6a09e667f3bcdp0);
}

static uint16_t draw_half(struct emu_random *random, uint16_t infinity)
{
    uint16_t bits;
    do {
        bits = (uint16_t)emu_random_next(random);
        if (emu_random_below(random, 3) == 0) {
            bits &= 0xBFF0; /* short, and of few exponents: ties */
        }
    } while ((bits & 0x7FFF) >= infinity);
    return bits;
}

Test(numbers_arithmetic, halves_are_rounded_once_to_nearest_even)
{
    static const struct {
        enum emu_format format;
        uint16_t infinity;
        double beyond; /* what would follow the largest value */
    } halves[] = {{EMU_F16, 0x7C00, 65536}, {EMU_BF16, 0x7F80, 0x1p128}};
    struct emu_random random;
    emu_random_seed(&random, 23);
    for (unsigned i = 0; i < 60000; i++) {
        const unsigned h = i & 1;
        const enum emu_format format = halves[h].format;
        const uint16_t a = draw_half(&random, halves[h].infinity);
        const uint16_t b = draw_half(&random, halves[h].infinity);
        const uint16_t c = draw_half(&random, halves[h].infinity);
        struct problem problem = {ADD, emu_decode(format, a), emu_decode(format, b),
                                  emu_decode(format, c)};
        const uint16_t results[] = {[ADD] = emu_add_half(format, a, b),
                                    [MUL] = emu_mul_half(format, a, b),
                                    [FMA] = emu_fma_half(format, a, b, c)};
        for (int operation = ADD; operation <= FMA; operation++) {
            const uint16_t result = results[operation];
            const uint16_t magnitude = result & 0x7FFF;
            const double sign = (result & 0x8000) != 0 ? -1 : 1;
            problem.operation = (enum operation)operation;
            const bool infinite = magnitude == halves[h].infinity;
            const double value =
                infinite ? halves[h].beyond : emu_decode(format, magnitude);
            const double inner = magnitude == 0
                                     ? -emu_decode(format, 1)
                                     : emu_decode(format, (uint64_t)magnitude - 1);
            const double outer = infinite ? 0x1p300
                                 : magnitude + 1 == halves[h].infinity
                                     ? halves[h].beyond
                                     : emu_decode(format, (uint64_t)magnitude + 1);
            expect_nearest(&problem, sign * value, sign > 0 ? inner : -outer,
                           sign > 0 ? outer : -inner, (magnitude & 1) != 0);
        }
    }
}

Test(numbers_arithmetic, halves_keep_what_a_second_rounding_would_lose)
{
    cr_expect_eq(emu_add_half(EMU_BF16, 0x3F80, 0x3B80), 0x3F80); /* 1 + 2^-8, a tie */
    cr_expect_eq(emu_add_half(EMU_BF16, 0x3F81, 0x3B80), 0x3F82);
    /* (1 + 2^-7) · 1.5 is a tie, which the least subnormal decides. */
    cr_expect_eq(emu_fma_half(EMU_BF16, 0x3F81, 0x3FC0, 0x0000), 0x3FC2);
    cr_expect_eq(emu_fma_half(EMU_BF16, 0x3F81, 0x3FC0, 0x0001), 0x3FC2);
    cr_expect_eq(emu_fma_half(EMU_BF16, 0x3F81, 0x3FC0, 0x8001), 0x3FC1);
    cr_expect_eq(emu_fma_half(EMU_BF16, 0xBF81, 0x3FC0, 0x0001), 0xBFC1);
    cr_expect_eq(emu_fma_half(EMU_F16, 0x3C01, 0x3E00, 0x0000), 0x3E02);
    cr_expect_eq(emu_fma_half(EMU_F16, 0x3C01, 0x3E00, 0x8001), 0x3E01);
    cr_expect_eq(emu_add_half(EMU_F16, 0x7C00, 0xFC00), 0x7FFF);
    cr_expect_eq(emu_mul_half(EMU_BF16, 0xFFC1, 0), 0x7FFF);
    cr_expect_eq(emu_mul_half(EMU_F16, 0x8000, 0x3C00), 0x8000);
    cr_expect_eq(emu_add_half(EMU_F16, 0x3C00, 0xBC00), 0x0000);
    cr_expect_eq(emu_add_half(EMU_F16, 0x7BFF, 0x7BFF), 0x7C00);
}
