// SPDX-License-Identifier: MIT
// The prelude's functions that compute as much as results keep, beside their formulas in
// f64: every number of bf16 and of f16, and one f32 in a few thousand. PTX documents 2^-22
// for powers of 2.
#include "check.h"

/* Inline PTX is parsed away, so that what it takes looks unused. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#ifndef __clang__
#    pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <jg/epilogue/prelude.cuh>
#pragma GCC diagnostic pop

using jg::f32, jg::u32;

constexpr double EXP2_ERROR = 0x1p-22;

static double gelu(double x)
{
    return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
}
static double gelu_tanh(double x)
{
    const double y = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
    return x / (1 + std::exp(-2 * y));
}

static double density(double x)
{
    return std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
}
static double dgelu(double x)
{
    return 0.5 * std::erfc(-x / std::sqrt(2.0)) + x * density(x);
}
static double dgelu_tanh(double x)
{
    const double scale = 2 * std::sqrt(2 / M_PI);
    const double u = scale * (x + 0.044715 * x * x * x);
    const double s = 1 / (1 + std::exp(-u)), rest = 1 / (1 + std::exp(u));
    return s + x * s * rest * scale * (1 + 3 * 0.044715 * x * x);
}

using Function = f32 (*)(f32 x);
using Formula = double (*)(double x);

// What prelude.cuh promises.
struct Bound {
    double relative; // of |value| + more
    double absolute;
    Formula more;
};
static double thousandth(double x)
{
    return std::abs(x) / 1000;
}
static double near_zero(double x)
{
    return density(x) / 10 + 0.001;
}
constexpr Bound BOUND_8 = {2.5e-4, 0, thousandth}, BOUND_11 = {3.2e-5, 0, thousandth},
                BOUND_24 = {2e-7, 1.3e-7, thousandth};
constexpr Bound SLOPE_8 = {2.5e-4, 6e-8, near_zero}, SLOPE_11 = {3.2e-5, 6e-8, near_zero},
                SLOPE_24 = {0, 3e-7, near_zero};

static void check(const char *name, Function function, Formula formula, Bound bound,
                  u32 bits)
{
    const f32 x = __uint_as_float(bits);
    const f32 got = function(x);
    if (std::isnan(x)) {
        EXPECT(std::isnan(got), "%s of NaN is %g", name, got);
        return;
    }
    if (std::isinf(x) && bound.more == near_zero) {
        EXPECT(std::abs(got - (x > 0 ? 1 : 0)) < 1e-9, "%s(%g) is %g", name, x, got);
        return;
    }
    if (std::isinf(x)) { // behind minus infinity is 0 times infinity, or its limit
        EXPECT(x < 0 ? std::isnan(got) || std::abs(got) < 1e-9 : got == x, "%s(%g) is %g",
               name, x, got);
        return;
    }
    const double want = formula(x);
    const double allowed = bound.relative * (std::abs(want) + bound.more(double{x})) +
                           bound.absolute + 0x1p-149;
    EXPECT(std::abs(got - want) <= allowed, "%s(%.9g) is %.9g, not %.9g +- %g", name, x,
           got, want, allowed);
}

// Of an f16, whose subnormals are normal as f32.
static u32 f32_bits_of_f16(u32 bits)
{
    const u32 sign = bits >> 15 << 31, exponent = bits >> 10 & 31, fraction = bits & 1023;
    if (exponent == 31) {
        return sign | 0x7f800000 | fraction << 13;
    }
    const f32 magnitude =
        std::ldexp(static_cast<f32>(exponent > 0 ? fraction | 1024 : fraction),
                   (exponent > 0 ? static_cast<int>(exponent) : 1) - 25);
    return sign | __float_as_uint(magnitude);
}

static void check_all(const char *name, Function function, Formula formula, Bound bound)
{
    constexpr u32 STRIDE = 8191; // a prime
    for (const double error : {0.0, EXP2_ERROR, -EXP2_ERROR}) {
        jg::ptx::exp2_error = error;
        for (u32 bits = 0; bits < 1u << 16; ++bits) {
            check(name, function, formula, bound, bits << 16);
            check(name, function, formula, bound, f32_bits_of_f16(bits));
        }
        for (u32 bits = 0; bits < 0xffffffffu - STRIDE; bits += STRIDE) {
            check(name, function, formula, bound, bits);
        }
    }
    jg::ptx::exp2_error = 0;
}

TEST(gelu, is_as_exact_as_its_results)
{
    check_all("gelu of 8 bits", jg::prelude::gelu_for<8>, gelu, BOUND_8);
    check_all("gelu of 11 bits", jg::prelude::gelu_for<11>, gelu, BOUND_11);
    check_all("gelu of 24 bits", jg::prelude::gelu_for<24>, gelu, BOUND_24);
}

TEST(gelu_tanh, is_as_exact_as_its_results)
{
    check_all("gelu_tanh of 8 bits", jg::prelude::gelu_tanh_for<8>, gelu_tanh, BOUND_8);
    check_all("gelu_tanh of 11 bits", jg::prelude::gelu_tanh_for<11>, gelu_tanh, BOUND_11);
    check_all("gelu_tanh of 24 bits", jg::prelude::gelu_tanh_for<24>, gelu_tanh, BOUND_24);
}

TEST(dgelu, is_as_exact_as_its_results)
{
    check_all("dgelu of 8 bits", jg::prelude::dgelu_for<8>, dgelu, SLOPE_8);
    check_all("dgelu of 11 bits", jg::prelude::dgelu_for<11>, dgelu, SLOPE_11);
    check_all("dgelu of 24 bits", jg::prelude::dgelu_for<24>, dgelu, SLOPE_24);
}

TEST(dgelu_tanh, is_as_exact_as_its_results)
{
    check_all("dgelu_tanh of 8 bits", jg::prelude::dgelu_tanh_for<8>, dgelu_tanh, SLOPE_8);
    check_all("dgelu_tanh of 11 bits", jg::prelude::dgelu_tanh_for<11>, dgelu_tanh,
              SLOPE_11);
    check_all("dgelu_tanh of 24 bits", jg::prelude::dgelu_tanh_for<24>, dgelu_tanh,
              SLOPE_24);
}

// A unit that says nothing is exact.
TEST(gelu, is_that_of_f32_without_a_word)
{
    for (const f32 x : {-3.0f, -0.75f, 0.25f, 2.5f}) {
        EXPECT(jg::prelude::gelu(x) == jg::prelude::gelu_for<24>(x), "gelu(%g)", x);
        EXPECT(jg::prelude::gelu_tanh(x) == jg::prelude::gelu_tanh_for<24>(x),
               "gelu_tanh(%g)", x);
        EXPECT(jg::prelude::dgelu(x) == jg::prelude::dgelu_for<24>(x), "dgelu(%g)", x);
        EXPECT(jg::prelude::dgelu_tanh(x) == jg::prelude::dgelu_tanh_for<24>(x),
               "dgelu_tanh(%g)", x);
    }
}
