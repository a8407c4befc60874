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

// The ten rounds of Philox4x32-10 (random.cuh) as one statement: the compiler's time goes
// with the number of instructions, and of all 64 bits of a product it would multiply twice.
// `keys0` and `keys1`: of each round. The multipliers were found by search, as the paper
// says in section 3.
// clang-format off
#define JG_PHILOX_ROUND(key0, key1)                                                           \
    "mul.wide.u32 p, a, 0xd2511f53;\n"                                                        \
    "mul.wide.u32 q, c, 0xcd9e8d57;\n"                                                        \
    "mov.b64 {low, high}, p;\n"                                                               \
    "lop3.b32 c, high, d, %" #key1 ", 0x96;\n"                                                \
    "mov.b32 d, low;\n"                                                                       \
    "mov.b64 {low, high}, q;\n"                                                               \
    "lop3.b32 a, high, b, %" #key0 ", 0x96;\n"                                                \
    "mov.b32 b, low;\n"
JG_DEVICE void philox_rounds(u32 (&words)[4], const u32 (&keys0)[10], const u32 (&keys1)[10])
{
    asm("{\n"
        ".reg .b64 p, q;\n"
        ".reg .b32 a, b, c, d, low, high;\n"
        "mov.b32 a, %4;\n"
        "mov.b32 b, %5;\n"
        "mov.b32 c, %6;\n"
        "mov.b32 d, %7;\n"
        JG_PHILOX_ROUND(8, 18) JG_PHILOX_ROUND(9, 19) JG_PHILOX_ROUND(10, 20)
        JG_PHILOX_ROUND(11, 21) JG_PHILOX_ROUND(12, 22) JG_PHILOX_ROUND(13, 23)
        JG_PHILOX_ROUND(14, 24) JG_PHILOX_ROUND(15, 25) JG_PHILOX_ROUND(16, 26)
        JG_PHILOX_ROUND(17, 27)
        "mov.b32 %0, a;\n"
        "mov.b32 %1, b;\n"
        "mov.b32 %2, c;\n"
        "mov.b32 %3, d;\n"
        "}"
        : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
        : "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]), "r"(keys0[0]),
          "r"(keys0[1]), "r"(keys0[2]), "r"(keys0[3]), "r"(keys0[4]), "r"(keys0[5]),
          "r"(keys0[6]), "r"(keys0[7]), "r"(keys0[8]), "r"(keys0[9]), "r"(keys1[0]),
          "r"(keys1[1]), "r"(keys1[2]), "r"(keys1[3]), "r"(keys1[4]), "r"(keys1[5]),
          "r"(keys1[6]), "r"(keys1[7]), "r"(keys1[8]), "r"(keys1[9]));
}
#undef JG_PHILOX_ROUND
// clang-format on

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
