// SPDX-License-Identifier: MIT
// The functions that a snippet may call. All are f32; arguments of other types convert.
//
// gelu, gelu_tanh and their derivatives compute no more than the snippet's results keep.
// The unit defines JG_RESULT_BITS: significand bits of the finest type among D, outputs and
// reductions.
#pragma once
#include <jg/ptx/activations.cuh>
#include <jg/ptx/arithmetic.cuh>

// As in C's <math.h>, which may be there on the host.
#ifndef NAN
#    define NAN (__int_as_float(0x7fffffff))
#endif
#ifndef INFINITY
#    define INFINITY (__int_as_float(0x7f800000))
#endif

#ifndef JG_RESULT_BITS
#    define JG_RESULT_BITS 24
#endif

namespace jg::prelude {

JG_DEVICE f32 exp(f32 x)
{
    return ::expf(x);
}
JG_DEVICE f32 log(f32 x)
{
    return ::logf(x);
}
JG_DEVICE f32 sqrt(f32 x)
{
    return ::sqrtf(x);
}
JG_DEVICE f32 rsqrt(f32 x)
{
    return ::rsqrtf(x);
}
JG_DEVICE f32 tanh(f32 x)
{
    return ::tanhf(x);
}
JG_DEVICE f32 abs(f32 x)
{
    return ::fabsf(x);
}
JG_DEVICE f32 fma(f32 x, f32 y, f32 z)
{
    return ::fmaf(x, y, z);
}
// NaN if either is NaN, unlike fminf: an epilogue must not hide one.
JG_DEVICE f32 min(f32 x, f32 y)
{
    return ptx::min_nan(x, y);
}
JG_DEVICE f32 max(f32 x, f32 y)
{
    return ptx::max_nan(x, y);
}
JG_DEVICE f32 clamp(f32 x, f32 low, f32 high)
{
    return min(max(x, low), high);
}
JG_DEVICE f32 relu(f32 x)
{
    return max(x, 0.0f);
}
// 1 / (1 + 2^x).
JG_DEVICE f32 sigmoid_of_exp2(f32 x)
{
    return __fdividef(1.0f, 1.0f + ptx::exp2_approx(x));
}
// 1 / (1 + exp(-x)).
JG_DEVICE f32 sigmoid(f32 x)
{
    return sigmoid_of_exp2(-1.4426950408889634f * x);
}
// x * sigmoid(x).
JG_DEVICE f32 silu(f32 x)
{
    return x * sigmoid(x);
}

// x * P(X <= x) for a normal X: the exact form. With t = |x|, gelu(x) = relu(x) - t *
// 2^q(t) where q(t) = log2(erfc(t / sqrt(2)) / 2), here its minimax polynomial. For an f32
// the result's absolute error stays under 1.3e-7, with a third of the instructions of erff;
// for 11 and 8 bits the error is at most 3.2e-5 and 2.5e-4 of |gelu(x)| + |x| / 1000, an
// eighth of what rounding to f16 and to bf16 may lose.
template <u32 kResultBits>
JG_DEVICE f32 gelu_for(f32 x)
{
    if constexpr (kResultBits <= 8) {
        return ptx::relu_less_power(
            x, {0.00320896879f, -0.0408073254f, -0.472676039f, -1.14574158f, -1.00034082f});
    } else if constexpr (kResultBits <= 11) {
        return ptx::relu_less_power(x, {-0.000410462002f, 0.00663145166f, -0.0507236682f,
                                        -0.461027771f, -1.15049946f, -1.00003171f});
    } else {
        return ptx::relu_less_power(x, {3.2904328691074625e-05f, -0.000762149749789387f,
                                        0.00803880114108324f, -0.05331532657146454f,
                                        -0.458871454000473f, -1.1511567831039429f,
                                        -0.9999995827674866f});
    }
}
JG_DEVICE f32 gelu(f32 x)
{
    return gelu_for<JG_RESULT_BITS>(x);
}
// The tanh approximation of gelu (Hendrycks and Gimpel, arXiv 1606.08415), by the identity
// 0.5 * (1 + tanh(y)) = sigmoid(2 * y). For 8 and 11 bits it is approximated as gelu is,
// with the same bounds: one step of the slow unit instead of two.
template <u32 kResultBits>
JG_DEVICE f32 gelu_tanh_for(f32 x)
{
    if constexpr (kResultBits <= 8) {
        return ptx::relu_less_power(x, {-0.00121683627f, 0.00328905438f, -0.0341852903f,
                                        -0.477874458f, -1.14463341f, -1.00035203f});
    } else if constexpr (kResultBits <= 11) {
        return ptx::relu_less_power(x, {0.00045198467f, -0.00589184603f, 0.0213992912f,
                                        -0.0665572807f, -0.451587319f, -1.1525352f,
                                        -0.999956369f});
    } else {
        // -2 * log2(e) * sqrt(2 / pi) * (x + 0.044715 * x^3)
        return x * sigmoid_of_exp2(x * ::fmaf(-0.10294324f, x * x, -2.30220819f));
    }
}
JG_DEVICE f32 gelu_tanh(f32 x)
{
    return gelu_tanh_for<JG_RESULT_BITS>(x);
}

// A slope f with f(-x) = 1 - f(x), of which `rest` is 1 - f(|x|).
JG_DEVICE f32 slope_by_rest(f32 x, f32 rest)
{
    return 0.5f + ::copysignf(0.5f - rest, x);
}

// The derivative of gelu: P(X <= x) + x * p(x), p the density of a normal X. With t = |x|,
// 1 - dgelu(t) = p(t) * 2^(t * (a * t + b)): a, b and the minimax polynomial p were sought
// together. For an f32 the result's absolute error stays under 3e-7; for 11 and 8 bits it
// is at most 3.2e-5 and 2.5e-4 of |dgelu(x)| + p(x) / 10 + 1 / 1000, and 6e-8.
template <u32 kResultBits>
JG_DEVICE f32 dgelu_for(f32 x)
{
    if constexpr (kResultBits <= 8) {
        return ptx::slope_by_power(
            x, {-0.0690350607f, -0.113203622f, -0.540812194f, 0.499879748f},
            {-0.68731904f, -0.734531283f});
    } else if constexpr (kResultBits <= 11) {
        return ptx::slope_by_power(x,
                                   {-0.00296616671f, -0.00495577371f, -0.103285976f,
                                    -0.16977784f, -0.475998819f, 0.499991477f},
                                   {-0.697116196f, -0.927973568f});
    } else {
        return ptx::slope_by_power(x,
                                   {-8.53411402e-05f, 0.000927954505f, -0.0010907246f,
                                    0.00309540378f, -0.0953902677f, -0.215779051f,
                                    -0.450117767f, 0.5f},
                                   {-0.629731953f, -1.00343990f});
    }
}
JG_DEVICE f32 dgelu(f32 x)
{
    return dgelu_for<JG_RESULT_BITS>(x);
}
// The derivative of gelu_tanh, with the same bounds; of 8 bits it takes one step of the
// slow unit instead of two.
template <u32 kResultBits>
JG_DEVICE f32 dgelu_tanh_for(f32 x)
{
    if constexpr (kResultBits <= 8) {
        return ptx::slope_by_power(x,
                                   {-0.024776658f, 0.0718230531f, -0.138457701f,
                                    -0.434133977f, -0.282156974f, 0.500051141f},
                                   {-0.0784635171f, -0.318485498f, -1.49388886f});
    } else {
        // gelu_tanh(x) = x * s(u) with s(u) = 1 / (1 + exp(-u)) and the u of gelu_tanh_for;
        // 1 - s(u) = power * s, and t * u' = slope.
        const f32 t = ptx::min_nan(::fabsf(x), 10.0f); // beyond it they are 0 or 1
        const f32 square = t * t;
        const f32 power = ptx::exp2_approx(t * ::fmaf(-0.10294324f, square, -2.30220819f));
        const f32 s = __fdividef(1.0f, 1.0f + power);
        const f32 slope = t * ::fmaf(0.214064463f, square, 1.59576912f);
        return slope_by_rest(x, power * s * ::fmaf(-slope, s, 1.0f));
    }
}
JG_DEVICE f32 dgelu_tanh(f32 x)
{
    return dgelu_tanh_for<JG_RESULT_BITS>(x);
}

} // namespace jg::prelude

// What user_epilogue.cuh puts in scope.
// clang-format off
#define JG_PRELUDE                                                                         \
    using jg::prelude::abs;                                                                \
    using jg::prelude::clamp;                                                              \
    using jg::prelude::dgelu;                                                              \
    using jg::prelude::dgelu_tanh;                                                         \
    using jg::prelude::exp;                                                                \
    using jg::prelude::fma;                                                                \
    using jg::prelude::gelu;                                                               \
    using jg::prelude::gelu_tanh;                                                          \
    using jg::prelude::log;                                                                \
    using jg::prelude::max;                                                                \
    using jg::prelude::min;                                                                \
    using jg::prelude::relu;                                                               \
    using jg::prelude::rsqrt;                                                              \
    using jg::prelude::sigmoid;                                                            \
    using jg::prelude::silu;                                                               \
    using jg::prelude::sqrt;                                                               \
    using jg::prelude::tanh;
// clang-format on
