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

// 1 / x to one unit in the last place; tiny results are 0.
JG_DEVICE f32 reciprocal_approx(f32 x)
{
    f32 result;
    // clang-format off
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    // clang-format on
    return result;
}

// All 64 bits of x * y. In C++ the compiler multiplies twice for the two halves, or as if x
// had more bits.
JG_DEVICE u64 multiply_wide(u32 x, u32 y)
{
    u64 result;
    // clang-format off
    asm("mul.wide.u32 %0, %1, %2;" : "=l"(result) : "r"(x), "r"(y));
    // clang-format on
    return result;
}

// Two numbers that one instruction computes with, where the chip has such: sm_90a has not,
// and takes two. Each is rounded to nearest, as by itself.
struct Pair {
    f32 left, right;
};

JG_DEVICE Pair multiply_pairs(Pair x, Pair y)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
    Pair result;
    // clang-format off
    asm("{\n\t"
        ".reg .b64 x, y;\n\t"
        "mov.b64 x, {%2, %3};\n\t"
        "mov.b64 y, {%4, %5};\n\t"
        "mul.rn.f32x2 x, x, y;\n\t"
        "mov.b64 {%0, %1}, x;\n\t"
        "}"
        : "=f"(result.left), "=f"(result.right)
        : "f"(x.left), "f"(x.right), "f"(y.left), "f"(y.right));
    // clang-format on
    return result;
#else
    return {x.left * y.left, x.right * y.right};
#endif
}

// x * y + z
JG_DEVICE Pair fma_pairs(Pair x, Pair y, Pair z)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
    Pair result;
    // clang-format off
    asm("{\n\t"
        ".reg .b64 x, y, z;\n\t"
        "mov.b64 x, {%2, %3};\n\t"
        "mov.b64 y, {%4, %5};\n\t"
        "mov.b64 z, {%6, %7};\n\t"
        "fma.rn.f32x2 x, x, y, z;\n\t"
        "mov.b64 {%0, %1}, x;\n\t"
        "}"
        : "=f"(result.left), "=f"(result.right)
        : "f"(x.left), "f"(x.right), "f"(y.left), "f"(y.right), "f"(z.left), "f"(z.right));
    // clang-format on
    return result;
#else
    return {::fmaf(x.left, y.left, z.left), ::fmaf(x.right, y.right, z.right)};
#endif
}

} // namespace jg::ptx
