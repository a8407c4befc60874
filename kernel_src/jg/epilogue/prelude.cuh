// SPDX-License-Identifier: MIT
// The functions that a snippet may call. All are f32; arguments of other types convert.
#pragma once
#include <jg/ptx/arithmetic.cuh>

// As in C's <math.h>, which may be there on the host.
#ifndef NAN
#    define NAN (__int_as_float(0x7fffffff))
#endif
#ifndef INFINITY
#    define INFINITY (__int_as_float(0x7f800000))
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
// 1 / (1 + exp(-x)).
JG_DEVICE f32 sigmoid(f32 x)
{
    return __fdividef(1.0f, 1.0f + __expf(-x));
}
// x * sigmoid(x).
JG_DEVICE f32 silu(f32 x)
{
    return x * sigmoid(x);
}
// x * P(X <= x) for a normal X: the exact form. With t = |x|, gelu(x) = relu(x) - t *
// 2^q(t) where q(t) = log2(erfc(t / sqrt(2)) / 2), here its minimax polynomial on [0, 6],
// weighted so that the result's absolute error stays under 1.3e-7. A third of the
// instructions of erff.
JG_DEVICE f32 gelu(f32 x)
{
    const f32 t =
        ::fminf(::fabsf(x), 10.0f); // 2^q(10) is 3e-23; keeps infinity times 0 away
    f32 q = 3.2904328691074625e-05f;
    q = ::fmaf(q, t, -0.000762149749789387f);
    q = ::fmaf(q, t, 0.00803880114108324f);
    q = ::fmaf(q, t, -0.05331532657146454f);
    q = ::fmaf(q, t, -0.458871454000473f);
    q = ::fmaf(q, t, -1.1511567831039429f);
    q = ::fmaf(q, t, -0.9999995827674866f);
    return ::fmaf(-t, ptx::exp2_approx(q), relu(x));
}
// The tanh approximation of gelu (Hendrycks and Gimpel, arXiv 1606.08415), written by the
// identity 0.5 * (1 + tanh(y)) = sigmoid(2 * y).
JG_DEVICE f32 gelu_tanh(f32 x)
{
    const f32 y = 0.79788456080286536f * (x + 0.044715f * x * x * x);
    return x * sigmoid(2.0f * y);
}

} // namespace jg::prelude
