// SPDX-License-Identifier: MIT
// Host meaning of the wrappers of this name, by the steps that they say they take.
#pragma once
#include <jg/ptx/arithmetic.cuh>

#define relu_less_power relu_less_power_by_ptx
#define slope_by_power  slope_by_power_by_ptx
#include "kernel_src/jg/ptx/activations.cuh"
#undef relu_less_power
#undef slope_by_power

namespace jg::ptx {

template <u32 kCount>
f32 polynomial(f32 x, const f32 (&c)[kCount])
{
    f32 sum = c[0];
    for (u32 i = 1; i < kCount; ++i) {
        sum = std::fmaf(sum, x, c[i]);
    }
    return sum;
}

template <u32 kCount>
f32 relu_less_power(f32 x, const f32 (&c)[kCount])
{
    const f32 t = std::fmin(std::fabs(x), 10.0f);
    return std::fmaf(-t, exp2_approx(polynomial(t, c)), max_nan(x, 0.0f));
}

template <u32 kCount, u32 kPowerCount>
f32 slope_by_power(f32 x, const f32 (&p)[kCount], const f32 (&q)[kPowerCount])
{
    const f32 t = min_nan(std::fabs(x), 10.0f);
    const f32 rest = std::fmaf(-exp2_approx(t * polynomial(t, q)), polynomial(t, p), 0.5f);
    return 0.5f + std::copysign(rest, x);
}

} // namespace jg::ptx
