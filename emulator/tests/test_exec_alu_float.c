/* SPDX-License-Identifier: MIT */
/* Arithmetic of f32, f64 and pairs of f32: roundings, subnormals, NaN, saturation. */
#include "test_exec_alu_support.h"

#define F32_THREE  0x40400000u
#define F32_HALF   0x3F000000u
#define F32_NEXT   0x3F800001u /* after 1 */
#define F32_LEAST  0x00800000u /* normal */
#define F32_TINY   0x00000001u
#define F32_SIGNAL 0x7F800001u /* a NaN with a payload */
#define NEG_ONE    (F32_SIGN | F32_ONE)
#define NEG_INF    (F32_SIGN | F32_INF)

/* Two f32 in a register, the first in the lower half. */
#define PAIR(low, high) ((uint64_t)(high) << 32 | (low))

Test(alu_float, sums_and_products_round_in_four_directions)
{
    static const struct alu_case cases[] = {
        /* 1 + 2^-24 lies in the middle of 1 and its successor. */
        {"add.f32 %d, %a, %b;", F32_ONE, 0x33800000, 0, F32_ONE},
        {"add.rn.f32 %d, %a, %b;", F32_NEXT, 0x33800000, 0, 0x3F800002},
        {"add.rz.f32 %d, %a, %b;", F32_NEXT, 0x33800000, 0, F32_NEXT},
        {"add.rm.f32 %d, %a, %b;", F32_ONE, 0x33800000, 0, F32_ONE},
        {"add.rp.f32 %d, %a, %b;", F32_ONE, 0x33800000, 0, F32_NEXT},
        {"sub.rm.f32 %d, %a, %b;", NEG_ONE, 0x33800000, 0, F32_SIGN | F32_NEXT},
        {"sub.f32 %d, %a, %b;", F32_ONE, F32_THREE, 0, F32_SIGN | F32_TWO},
        {"sub.rm.f32 %d, %a, %b;", F32_ONE, F32_ONE, 0, F32_SIGN},
        {"mul.f32 %d, %a, %b;", F32_NEXT, F32_NEXT, 0, 0x3F800002},
        {"mul.rp.f32 %d, %a, %b;", F32_NEXT, F32_NEXT, 0, 0x3F800003},
        {"mul.rz.f32 %d, %a, %b;", 0x7F7FFFFF, F32_TWO, 0, 0x7F7FFFFF},
        {"mul.f32 %d, %a, 2.0;", F32_THREE, 0, 0, 0x40C00000},
    };
    ALU_CHECK(cases);
}

Test(alu_float, fma_rounds_once)
{
    static const struct alu_case cases[] = {
        /* (1 + u)² - (1 + 2u) = u² */
        {"fma.rn.f32 %d, %a, %b, %c;", F32_NEXT, F32_NEXT, 0xBF800002, 0x28800000},
        {"mad.rn.f32 %d, %a, %b, %c;", F32_NEXT, F32_NEXT, 0xBF800002, 0x28800000},
        {"fma.rp.f32 %d, %a, %b, %c;", F32_NEXT, F32_NEXT, F32_ONE, 0x40000002},
        {"fma.rz.f32 %d, %a, %b, %c;", F32_NEXT, F32_NEXT, F32_ONE, 0x40000001},
        {"fma.rn.sat.f32 %d, %a, %b, %c;", F32_TWO, F32_TWO, F32_ONE, F32_ONE},
        {"fma.rn.f64 %D, %A, %B, %C;", F64_ONE + 1, F64_ONE + 1, F64_SIGN | (F64_ONE + 2),
         UINT64_C(0x3970000000000000)},
        {"fma.rn.f32x2 %D, %A, %B, %C;", PAIR(F32_NEXT, F32_TWO), PAIR(F32_NEXT, F32_THREE),
         PAIR(0xBF800002, F32_ONE), PAIR(0x28800000, 0x40E00000)},
    };
    ALU_CHECK(cases);
}

Test(alu_float, halves_are_widened_before_the_operation)
{
    enum { F16_ONE = 0x3C00, F16_NEXT = 0x3C01, BF16_ONE = 0x3F80, BF16_NEXT = 0x3F81 };
    static const struct alu_case cases[] = {
        {"add.f32.f16 %d, %ha, %b;", F16_NEXT, F32_ONE, 0, 0x40001000},
        {"add.f32.bf16 %d, %ha, %b;", BF16_NEXT, F32_ONE, 0, 0x40008000},
        {"add.f32.f16 %d, %ha, %b;", 0x0001, 0, 0, 0x33800000},
        {"add.f32.f16 %d, %ha, %b;", 0x7C00, NEG_INF, 0, F32_NAN},
        {"add.rp.f32.f16 %d, %ha, %b;", F16_ONE, 0x33800000, 0, F32_NEXT},
        {"add.rz.f32.f16 %d, %ha, %b;", F16_ONE, 0x33800000, 0, F32_ONE},
        {"add.sat.f32.f16 %d, %ha, %b;", F16_ONE, F32_ONE, 0, F32_ONE},
        {"add.sat.f32.bf16 %d, %ha, %b;", 0x7FC0, F32_ONE, 0, 0},
        {"sub.f32.f16 %d, %ha, %b;", F16_ONE, F32_THREE, 0, F32_SIGN | F32_TWO},
        {"sub.rm.f32.bf16 %d, %ha, %b;", BF16_ONE, F32_ONE, 0, F32_SIGN},
        {"fma.rn.f32.f16 %d, %ha, %hb, %c;", F16_NEXT, F16_NEXT, NEG_ONE, 0x3B001000},
        {"fma.rn.f32.bf16 %d, %ha, %hb, %c;", BF16_NEXT, BF16_NEXT, NEG_ONE, 0x3C808000},
        {"fma.rp.f32.f16 %d, %ha, %hb, %c;", 0x0001, 0x0001, F32_ONE, F32_NEXT},
        {"fma.rz.f32.f16 %d, %ha, %hb, %c;", 0x0001, 0x0001, F32_ONE, F32_ONE},
        {"fma.rm.sat.f32.bf16 %d, %ha, %hb, %c;", BF16_ONE, BF16_ONE, F32_TWO, F32_ONE},
    };
    ALU_CHECK(cases);
}

Test(alu_float, nan_is_the_canonical_one_and_sat_makes_it_zero)
{
    static const struct alu_case cases[] = {
        {"add.f32 %d, %a, %b;", F32_INF, NEG_INF, 0, F32_NAN},
        {"add.f32 %d, %a, %b;", F32_SIGNAL, F32_ONE, 0, F32_NAN},
        {"mul.f32 %d, %a, %b;", F32_INF, 0, 0, F32_NAN},
        {"fma.rn.f32 %d, %a, %b, %c;", F32_INF, F32_ONE, NEG_INF, F32_NAN},
        {"neg.f32 %d, %a;", F32_SIGNAL, 0, 0, F32_NAN},
        {"abs.f32 %d, %a;", 0xFFC00000, 0, 0, F32_NAN},
        {"add.sat.f32 %d, %a, %b;", F32_INF, NEG_INF, 0, 0},
        {"add.sat.f32 %d, %a, %b;", F32_ONE, F32_ONE, 0, F32_ONE},
        {"mul.sat.f32 %d, %a, %b;", NEG_ONE, F32_ONE, 0, 0},
        {"mul.sat.f32 %d, %a, %b;", F32_HALF, F32_ONE, 0, F32_HALF},
    };
    ALU_CHECK(cases);
}

Test(alu_float, subnormals_live_unless_flushed)
{
    static const struct alu_case cases[] = {
        {"mul.f32 %d, %a, %b;", F32_LEAST, F32_HALF, 0, 0x00400000},
        {"mul.ftz.f32 %d, %a, %b;", F32_LEAST, F32_HALF, 0, 0},
        {"mul.ftz.f32 %d, %a, %b;", F32_LEAST, F32_SIGN | F32_HALF, 0, F32_SIGN},
        {"add.ftz.f32 %d, %a, %b;", F32_TINY, F32_LEAST, 0, F32_LEAST},
        {"add.f32 %d, %a, %b;", F32_TINY, F32_LEAST, 0, F32_LEAST + 1},
        {"neg.ftz.f32 %d, %a;", F32_TINY, 0, 0, F32_SIGN},
        {"neg.f32 %d, %a;", F32_TINY, 0, 0, F32_SIGN | F32_TINY},
        /* Rounded into the normal numbers only because subnormals have fewer bits: flushed.
         */
        {"mul.f32 %d, %a, %b;", 0x3F7FFFFF, F32_LEAST, 0, F32_LEAST},
        {"mul.ftz.f32 %d, %a, %b;", 0x3F7FFFFF, F32_LEAST, 0, 0},
        {"fma.rn.ftz.f32 %d, %a, %b, %c;", 0x3F7FFFFF, F32_LEAST, 0, 0},
        {"div.rn.ftz.f32 %d, %a, %b;", 0x00FFFFFF, F32_TWO, 0, 0},
        /* Rounded there with all 24 bits: not flushed. */
        {"mul.ftz.f32 %d, %a, %b;", 0x3F7FFFFE, F32_LEAST + 1, 0, F32_LEAST},
        {"mul.rz.ftz.f32 %d, %a, %b;", 0x3F7FFFFE, F32_LEAST + 1, 0, 0},
    };
    ALU_CHECK(cases);
}

Test(alu_float, quotients_and_roots)
{
    static const struct alu_case cases[] = {
        {"div.rn.f32 %d, %a, %b;", F32_ONE, F32_THREE, 0, 0x3EAAAAAB},
        {"div.rz.f32 %d, %a, %b;", F32_ONE, F32_THREE, 0, 0x3EAAAAAA},
        {"div.rn.f32 %d, %a, %b;", F32_ONE, F32_SIGN, 0, NEG_INF},
        {"div.rn.f32 %d, %a, %b;", 0, 0, 0, F32_NAN},
        {"rcp.rn.f32 %d, %a;", F32_THREE, 0, 0, 0x3EAAAAAB},
        {"rcp.rm.f32 %d, %a;", F32_THREE, 0, 0, 0x3EAAAAAA},
        {"sqrt.rn.f32 %d, %a;", F32_TWO, 0, 0, 0x3FB504F3},
        {"sqrt.rp.f32 %d, %a;", F32_TWO, 0, 0, 0x3FB504F4},
        {"sqrt.rn.f32 %d, %a;", NEG_ONE, 0, 0, F32_NAN},
        {"div.full.f32 %d, %a, %b;", F32_ONE, 0x7F000000, 0, 0x00400000},
        {"div.approx.f32 %d, %a, %b;", 0x40C00000, F32_TWO, 0, F32_THREE},
        /* A divisor above 2^126 has no approximate reciprocal. */
        {"div.approx.f32 %d, %a, %b;", NEG_ONE, 0x7F000000, 0, F32_SIGN},
        {"div.approx.f32 %d, %a, %b;", F32_INF, 0x7F000000, 0, F32_NAN},
        {"div.rn.f64 %D, %A, %B;", F64_ONE, UINT64_C(0x4008000000000000), 0,
         UINT64_C(0x3FD5555555555555)},
        {"div.rp.f64 %D, %A, %B;", F64_ONE, UINT64_C(0x4008000000000000), 0,
         UINT64_C(0x3FD5555555555556)},
        {"sqrt.rn.f64 %D, %A;", UINT64_C(0x4000000000000000), 0, 0,
         UINT64_C(0x3FF6A09E667F3BCD)},
        {"sqrt.rz.f64 %D, %A;", UINT64_C(0x4000000000000000), 0, 0,
         UINT64_C(0x3FF6A09E667F3BCC)},
        {"rsqrt.approx.f64 %D, %A;", UINT64_C(0x4010000000000000), 0, 0,
         UINT64_C(0x3FE0000000000000)},
    };
    ALU_CHECK(cases);
}

Test(alu_float, f64_rounds_in_four_directions)
{
    static const struct alu_case cases[] = {
        {"add.f64 %D, %A, %B;", F64_ONE, UINT64_C(0x3CA0000000000000), 0, F64_ONE},
        {"add.rp.f64 %D, %A, %B;", F64_ONE, UINT64_C(0x3CA0000000000000), 0, F64_ONE + 1},
        {"sub.rz.f64 %D, %A, %B;", F64_ONE, UINT64_C(0x3C80000000000000), 0, F64_ONE - 1},
        {"mul.rn.f64 %D, %A, %B;", F64_ONE + 1, F64_ONE + 1, 0, F64_ONE + 2},
        {"mul.rp.f64 %D, %A, %B;", F64_ONE + 1, F64_ONE + 1, 0, F64_ONE + 3},
        {"neg.f64 %D, %A;", F64_ONE, 0, 0, F64_SIGN | F64_ONE},
        {"abs.f64 %D, %A;", F64_SIGN | F64_ONE, 0, 0, F64_ONE},
        {"min.f64 %D, %A, %B;", 0, F64_SIGN, 0, F64_SIGN},
        {"max.f64 %D, %A, %B;", F64_INF + 1, F64_ONE, 0, F64_ONE},
        {"copysign.f64 %D, %A, %B;", F64_SIGN, F64_ONE, 0, F64_SIGN | F64_ONE},
    };
    ALU_CHECK(cases);
}

#define QUIET    UINT64_C(0x7FF8000000000000)
#define NEG_NAN  UINT64_C(0xFFF8123456789ABC)
#define F64_NAN  (F64_SIGN | QUIET) /* where no operand is NaN */
#define F64_FOUR UINT64_C(0x4010000000000000)

Test(alu_float, nan_of_f64_keeps_sign_and_payload)
{
    static const struct alu_case cases[] = {
        {"add.f64 %D, %A, %B;", F64_INF + 1, F64_ONE, 0, QUIET + 1},
        {"add.f64 %D, %A, %B;", F64_INF + 1, NEG_NAN, 0, NEG_NAN},
        {"add.f64 %D, %A, %B;", NEG_NAN, F64_INF + 1, 0, QUIET + 1},
        {"add.f64 %D, %A, %B;", F64_INF, F64_SIGN | F64_INF, 0, F64_NAN},
        {"sub.f64 %D, %A, %B;", F64_ONE, NEG_NAN, 0, NEG_NAN},
        {"mul.f64 %D, %A, %B;", F64_INF, 0, 0, F64_NAN},
        {"fma.rn.f64 %D, %A, %B, %C;", F64_INF + 1, NEG_NAN, F64_INF + 2, NEG_NAN},
        {"fma.rn.f64 %D, %A, %B, %C;", F64_INF + 1, F64_ONE, F64_INF + 2, QUIET + 2},
        {"div.rn.f64 %D, %A, %B;", F64_INF + 1, NEG_NAN, 0, QUIET + 1},
        {"div.rn.f64 %D, %A, %B;", 0, 0, 0, F64_NAN},
        {"rcp.rn.f64 %D, %A;", NEG_NAN, 0, 0, NEG_NAN},
        {"sqrt.rn.f64 %D, %A;", F64_SIGN | F64_ONE, 0, 0, F64_NAN},
        {"min.f64 %D, %A, %B;", F64_INF + 1, NEG_NAN, 0, NEG_NAN},
        {"max.f64 %D, %A, %B;", F64_ONE, NEG_NAN, 0, F64_ONE},
    };
    ALU_CHECK(cases);
}

Test(alu_float, coarse_functions_of_f64_see_the_upper_words)
{
    static const struct alu_case cases[] = {
        {"rcp.approx.ftz.f64 %D, %A;", F64_FOUR + 5, 0, 0, UINT64_C(0x3FD0000000000000)},
        {"rcp.approx.ftz.f64 %D, %A;", F64_SIGN | 5, 0, 0, F64_SIGN | F64_INF},
        {"rcp.approx.ftz.f64 %D, %A;", UINT64_C(0xFFEFFFFFFFFFFFFF), 0, 0, F64_SIGN},
        {"rcp.approx.ftz.f64 %D, %A;", F64_INF + 1, 0, 0, 0},
        {"rcp.approx.ftz.f64 %D, %A;", NEG_NAN, 0, 0, UINT64_C(0x7FFFFFFF00000000)},
        {"rsqrt.approx.ftz.f64 %D, %A;", F64_FOUR, 0, 0, UINT64_C(0x3FE0000000000000)},
        {"rsqrt.approx.ftz.f64 %D, %A;", F64_SIGN | F64_ONE, 0, 0,
         UINT64_C(0x7FFFFFFF00000000)},
        {"rsqrt.approx.ftz.f64 %D, %A;", F64_SIGN | 5, 0, 0, F64_SIGN | F64_INF},
    };
    ALU_CHECK(cases);
}

Test(alu_float, extremes_order_zeroes_and_pass_over_nan)
{
    static const struct alu_case cases[] = {
        {"min.f32 %d, %a, %b;", 0, F32_SIGN, 0, F32_SIGN},
        {"max.f32 %d, %a, %b;", F32_SIGN, 0, 0, 0},
        {"min.f32 %d, %a, %b;", F32_SIGNAL, F32_ONE, 0, F32_ONE},
        {"max.f32 %d, %a, %b;", F32_ONE, F32_SIGNAL, 0, F32_ONE},
        {"max.f32 %d, %a, %b;", F32_SIGNAL, F32_SIGNAL, 0, F32_NAN},
        {"max.NaN.f32 %d, %a, %b;", F32_ONE, F32_SIGNAL, 0, F32_NAN},
        {"min.ftz.f32 %d, %a, %b;", F32_TINY, F32_ONE, 0, 0},
        {"min.xorsign.abs.f32 %d, %a, %b;", NEG_ONE, F32_TWO, 0, NEG_ONE},
        {"max.xorsign.abs.f32 %d, %a, %b;", NEG_ONE, F32_SIGN | F32_TWO, 0, F32_TWO},
        {"max.f32 %d, %a, %b, %c;", NEG_ONE, F32_TWO, F32_ONE, F32_TWO},
        {"min.f32 %d, %a, %b, %c;", F32_SIGNAL, F32_TWO, F32_ONE, F32_ONE},
        {"min.NaN.f32 %d, %a, %b, %c;", F32_SIGNAL, F32_TWO, F32_ONE, F32_NAN},
        {"max.abs.f32 %d, %a, %b, %c;", F32_SIGN | F32_THREE, F32_TWO, F32_ONE, F32_THREE},
        {"copysign.f32 %d, %a, %b;", F32_SIGN, F32_ONE, 0, NEG_ONE},
    };
    ALU_CHECK(cases);
}

Test(alu_float, pairs_are_two_separate_operations)
{
    static const struct alu_case cases[] = {
        {"add.f32x2 %D, %A, %B;", PAIR(F32_ONE, F32_INF), PAIR(F32_ONE, NEG_INF), 0,
         PAIR(F32_TWO, F32_NAN)},
        {"add.rp.f32x2 %D, %A, %B;", PAIR(F32_ONE, F32_ONE), PAIR(0x33800000, F32_ONE), 0,
         PAIR(F32_NEXT, F32_TWO)},
        {"sub.rn.f32x2 %D, %A, %B;", PAIR(F32_ONE, F32_THREE), PAIR(F32_TWO, F32_ONE), 0,
         PAIR(NEG_ONE, F32_TWO)},
        {"mul.f32x2 %D, %A, %B;", PAIR(F32_TWO, F32_LEAST), PAIR(F32_ONE, F32_HALF), 0,
         PAIR(F32_TWO, 0x00400000)},
        {"mul.ftz.f32x2 %D, %A, %B;", PAIR(F32_TWO, F32_LEAST), PAIR(F32_ONE, F32_HALF), 0,
         PAIR(F32_TWO, 0)},
        {"fma.rz.f32x2 %D, %A, %B, %C;", PAIR(F32_NEXT, F32_ONE), PAIR(F32_NEXT, F32_ONE),
         PAIR(F32_ONE, F32_ONE), PAIR(0x40000001, F32_TWO)},
    };
    ALU_CHECK(cases);
}

Test(alu_float, approximate_functions_are_exact_where_the_result_is)
{
    static const struct alu_case cases[] = {
        {"ex2.approx.f32 %d, %a;", F32_THREE, 0, 0, 0x41000000},
        {"ex2.approx.f32 %d, %a;", 0xC2FE0000, 0, 0, 0x00400000},
        {"ex2.approx.ftz.f32 %d, %a;", 0xC2FE0000, 0, 0, 0},
        {"ex2.approx.f32 %d, %a;", NEG_INF, 0, 0, 0},
        {"lg2.approx.f32 %d, %a;", 0x41000000, 0, 0, F32_THREE},
        {"lg2.approx.f32 %d, %a;", 0, 0, 0, NEG_INF},
        {"rcp.approx.ftz.f32 %d, %a;", F32_TWO, 0, 0, F32_HALF},
        {"rcp.approx.f32 %d, %a;", F32_SIGN, 0, 0, NEG_INF},
        {"rsqrt.approx.f32 %d, %a;", 0x40800000, 0, 0, F32_HALF},
        {"rsqrt.approx.f32 %d, %a;", NEG_ONE, 0, 0, F32_NAN},
        {"sqrt.approx.f32 %d, %a;", 0x40800000, 0, 0, F32_TWO},
        {"sin.approx.f32 %d, %a;", F32_SIGN, 0, 0, F32_SIGN},
        {"cos.approx.f32 %d, %a;", 0, 0, 0, F32_ONE},
        {"tanh.approx.f32 %d, %a;", NEG_INF, 0, 0, NEG_ONE},
    };
    ALU_CHECK(cases);
}

Test(alu_float, testp_sorts_numbers)
{
    static const struct alu_case cases[] = {
        {"testp.finite.f32 %p, %a;", F32_INF, 0, 0, 0},
        {"testp.finite.f32 %p, %a;", 0x7F7FFFFF, 0, 0, 1},
        {"testp.infinite.f32 %p, %a;", NEG_INF, 0, 0, 1},
        {"testp.number.f32 %p, %a;", F32_SIGNAL, 0, 0, 0},
        {"testp.notanumber.f32 %p, %a;", F32_SIGNAL, 0, 0, 1},
        {"testp.normal.f32 %p, %a;", F32_SIGN, 0, 0, 1},
        {"testp.normal.f32 %p, %a;", F32_TINY, 0, 0, 0},
        {"testp.subnormal.f32 %p, %a;", F32_TINY, 0, 0, 1},
        {"testp.subnormal.f64 %p, %A;", 1, 0, 0, 1},
        {"testp.notanumber.f64 %p, %A;", F64_SIGN | (F64_INF + 1), 0, 0, 1},
    };
    ALU_CHECK(cases);
}
