// SPDX-License-Identifier: MIT
// What gelu and its derivatives are made of (prelude.cuh), each as one statement. A snippet
// has as many copies in a kernel as a thread has accumulators, 128, and the compiler's time
// goes with the number of instructions: these are one each until the assembler sees them.
#pragma once
#include <jg/common/types.cuh>

namespace jg::ptx {

// clang-format off
#define JG_FIRST(sum, i, j) "fma.rn.f32 " sum ", t, %" #i ", %" #j ";\n"
#define JG_HORNER(sum, i) "fma.rn.f32 " sum ", " sum ", t, %" #i ";\n"
#define JG_HORNER_3(sum, i, j, k) JG_HORNER(sum, i) JG_HORNER(sum, j) JG_HORNER(sum, k)

// relu(x) - t * 2^q, where t is |x| up to 10 and q a polynomial of t with these
// coefficients, from the highest power down. Those of gelu have powers of 2^-38 and less
// from 7 on; infinity times 0 is kept away.
#define JG_RELU_LESS_POWER(STEPS)                                                             \
    "{\n"                                                                                     \
    ".reg .f32 t, q;\n"                                                                       \
    "abs.f32 t, %1;\n"                                                                        \
    "min.f32 t, t, 0f41200000;\n"                                                             \
    JG_FIRST("q", 2, 3)                                                                       \
    STEPS                                                                                     \
    "ex2.approx.ftz.f32 q, q;\n"                                                              \
    "neg.f32 t, t;\n"                                                                         \
    "max.NaN.f32 %0, %1, 0f00000000;\n"                                                       \
    "fma.rn.f32 %0, t, q, %0;\n"                                                              \
    "}"
template <u32 kCount>
JG_DEVICE f32 relu_less_power(f32 x, const f32 (&c)[kCount])
{
    f32 result;
    if constexpr (kCount == 5) {
        asm(JG_RELU_LESS_POWER(JG_HORNER_3("q", 4, 5, 6))
            : "=&f"(result)
            : "f"(x), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]), "f"(c[4]));
    } else if constexpr (kCount == 6) {
        asm(JG_RELU_LESS_POWER(JG_HORNER_3("q", 4, 5, 6) JG_HORNER("q", 7))
            : "=&f"(result)
            : "f"(x), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]), "f"(c[4]), "f"(c[5]));
    } else {
        static_assert(kCount == 7, "no such number of coefficients");
        asm(JG_RELU_LESS_POWER(JG_HORNER_3("q", 4, 5, 6) JG_HORNER("q", 7) JG_HORNER("q", 8))
            : "=&f"(result)
            : "f"(x), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]), "f"(c[4]), "f"(c[5]),
              "f"(c[6]));
    }
    return result;
}

// 0.5 + r with the sign of x, where r is 0.5 - p * 2^(t * q), t is |x| up to 10 and NaN
// where x is, and p and q are polynomials of t.
#define JG_SLOPE_BY_POWER(STEPS)                                                              \
    "{\n"                                                                                     \
    ".reg .f32 t, p, q;\n"                                                                    \
    "abs.f32 t, %1;\n"                                                                        \
    "min.NaN.f32 t, t, 0f41200000;\n"                                                         \
    JG_FIRST("q", 2, 3)                                                                       \
    STEPS                                                                                     \
    "mul.f32 q, t, q;\n"                                                                      \
    "ex2.approx.ftz.f32 q, q;\n"                                                              \
    "neg.f32 q, q;\n"                                                                         \
    "fma.rn.f32 p, q, p, 0f3F000000;\n"                                                       \
    "copysign.f32 p, %1, p;\n"                                                                \
    "add.f32 %0, p, 0f3F000000;\n"                                                            \
    "}"
template <u32 kCount, u32 kPowerCount>
JG_DEVICE f32 slope_by_power(f32 x, const f32 (&p)[kCount], const f32 (&q)[kPowerCount])
{
    f32 result;
    if constexpr (kCount == 4 && kPowerCount == 2) {
        asm(JG_SLOPE_BY_POWER(JG_FIRST("p", 4, 5) JG_HORNER("p", 6) JG_HORNER("p", 7))
            : "=f"(result)
            : "f"(x), "f"(q[0]), "f"(q[1]), "f"(p[0]), "f"(p[1]), "f"(p[2]), "f"(p[3]));
    } else if constexpr (kCount == 6 && kPowerCount == 2) {
        asm(JG_SLOPE_BY_POWER(JG_FIRST("p", 4, 5) JG_HORNER("p", 6) JG_HORNER("p", 7)
                              JG_HORNER("p", 8) JG_HORNER("p", 9))
            : "=f"(result)
            : "f"(x), "f"(q[0]), "f"(q[1]), "f"(p[0]), "f"(p[1]), "f"(p[2]), "f"(p[3]),
              "f"(p[4]), "f"(p[5]));
    } else if constexpr (kCount == 6) {
        static_assert(kPowerCount == 3, "no such number of coefficients");
        asm(JG_SLOPE_BY_POWER(JG_HORNER("q", 4) JG_FIRST("p", 5, 6)
                              JG_HORNER_3("p", 7, 8, 9) JG_HORNER("p", 10))
            : "=f"(result)
            : "f"(x), "f"(q[0]), "f"(q[1]), "f"(q[2]), "f"(p[0]), "f"(p[1]), "f"(p[2]),
              "f"(p[3]), "f"(p[4]), "f"(p[5]));
    } else {
        static_assert(kCount == 8 && kPowerCount == 2, "no such number of coefficients");
        asm(JG_SLOPE_BY_POWER(JG_FIRST("p", 4, 5) JG_HORNER("p", 6) JG_HORNER("p", 7)
                              JG_HORNER_3("p", 8, 9, 10) JG_HORNER("p", 11))
            : "=f"(result)
            : "f"(x), "f"(q[0]), "f"(q[1]), "f"(p[0]), "f"(p[1]), "f"(p[2]), "f"(p[3]),
              "f"(p[4]), "f"(p[5]), "f"(p[6]), "f"(p[7]));
    }
    return result;
}
#undef JG_SLOPE_BY_POWER
#undef JG_RELU_LESS_POWER
#undef JG_HORNER_3
#undef JG_HORNER
#undef JG_FIRST
// clang-format on

} // namespace jg::ptx
