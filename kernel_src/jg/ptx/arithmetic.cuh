// SPDX-License-Identifier: MIT
// Arithmetic that C++ has no spelling for.
#pragma once
#include <jg/common/types.cuh>

namespace jg::ptx {

// NaN if either is NaN.
JG_DEVICE f32 min_nan(f32 x, f32 y)
{
    f32 result;
    // clang-format off
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(x), "f"(y));
    // clang-format on
    return result;
}
JG_DEVICE f32 max_nan(f32 x, f32 y)
{
    f32 result;
    // clang-format off
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(x), "f"(y));
    // clang-format on
    return result;
}

// 2^x to two units in the last place; tiny results are 0.
JG_DEVICE f32 exp2_approx(f32 x)
{
    f32 result;
    // clang-format off
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    // clang-format on
    return result;
}

} // namespace jg::ptx
