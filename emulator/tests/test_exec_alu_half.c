/* SPDX-License-Identifier: MIT */
/* Arithmetic of f16 and bf16. */
#include "test_exec_alu_support.h"

Test(alu_half, results_are_rounded_once)
{
    static const struct alu_case cases[] = {
        {"add.f16 %hd, %ha, %hb;", 0x3C00, 0x3C00, 0, 0x4000},
        {"add.f16 %hd, %ha, %hb;", 0x6800, 0x3C00, 0, 0x6800}, /* 2048 + 1: to even */
        {"add.f16 %hd, %ha, %hb;", 0x6801, 0x3C00, 0, 0x6802},
        {"add.f16 %hd, %ha, %hb;", 0x7BFF, 0x7BFF, 0, 0x7C00},
        {"sub.f16 %hd, %ha, %hb;", 0x3C00, 0x4200, 0, 0xC000},
        {"mul.rn.f16 %hd, %ha, %hb;", 0x3C01, 0x3C01, 0, 0x3C02},
        {"fma.rn.f16 %hd, %ha, %hb, %hc;", 0x3C01, 0x3C01, 0xBC02, 0x0010},
        {"add.bf16 %hd, %ha, %hb;", 0x4380, 0x3F80, 0, 0x4380}, /* 256 + 1 */
        {"add.rn.bf16 %hd, %ha, %hb;", 0x4381, 0x3F80, 0, 0x4382},
        {"sub.bf16 %hd, %ha, %hb;", 0x3F80, 0x4040, 0, 0xC000},
        {"mul.bf16 %hd, %ha, %hb;", 0x3F81, 0x3F81, 0, 0x3F82},
        {"fma.rn.bf16 %hd, %ha, %hb, %hc;", 0x3F81, 0x3F81, 0xBF82, 0x3880},
    };
    ALU_CHECK(cases);
}

Test(alu_half, pairs_are_two_separate_operations)
{
    static const struct alu_case cases[] = {
        {"add.f16x2 %d, %a, %b;", 0x7BFF3C00, 0x7BFF3C00, 0, 0x7C004000},
        {"sub.rn.f16x2 %d, %a, %b;", 0x3C004200, 0x42003C00, 0, 0xC0004000},
        {"mul.bf16x2 %d, %a, %b;", 0x40003F81, 0x40403F81, 0, 0x40C03F82},
        {"fma.rn.bf16x2 %d, %a, %b, %c;", 0x3F814000, 0x3F814000, 0xBF823F80, 0x388040A0},
        {"neg.f16x2 %d, %a;", 0x3C00BC00, 0, 0, 0xBC003C00},
        {"abs.bf16x2 %d, %a;", 0xBF80FF80, 0, 0, 0x3F807F80},
        {"max.f16x2 %d, %a, %b;", 0x3C00C000, 0x40003C00, 0, 0x40003C00},
    };
    ALU_CHECK(cases);
}

Test(alu_half, nan_is_the_canonical_one)
{
    static const struct alu_case cases[] = {
        {"add.f16 %hd, %ha, %hb;", 0x7C00, 0xFC00, 0, 0x7FFF},
        {"mul.bf16 %hd, %ha, %hb;", 0x7F80, 0, 0, 0x7FFF},
        {"neg.f16 %hd, %ha;", 0x7E01, 0, 0, 0x7FFF},
        {"abs.bf16 %hd, %ha;", 0xFFC1, 0, 0, 0x7FFF},
        {"min.f16 %hd, %ha, %hb;", 0x7E01, 0x3C00, 0, 0x3C00},
        {"min.NaN.f16 %hd, %ha, %hb;", 0x7E01, 0x3C00, 0, 0x7FFF},
        {"max.bf16 %hd, %ha, %hb;", 0xFFC1, 0x7F81, 0, 0x7FFF},
        /* The sign of a NaN counts for .xorsign, though its value does not. */
        {"min.xorsign.abs.f16 %hd, %ha, %hb;", 0xFE00, 0x3C00, 0, 0xBC00},
        {"max.xorsign.abs.bf16 %hd, %ha, %hb;", 0xBF80, 0xC000, 0, 0x4000},
    };
    ALU_CHECK(cases);
}

Test(alu_half, results_can_be_clamped)
{
    static const struct alu_case cases[] = {
        {"add.sat.f16 %hd, %ha, %hb;", 0x3C00, 0x3C00, 0, 0x3C00},
        {"add.sat.f16 %hd, %ha, %hb;", 0x7C00, 0xFC00, 0, 0},
        {"mul.sat.f16x2 %d, %a, %b;", 0xBC003800, 0x3C003C00, 0, 0x00003800},
        {"fma.rn.relu.f16 %hd, %ha, %hb, %hc;", 0x3C00, 0x3C00, 0xC000, 0},
        {"fma.rn.relu.f16 %hd, %ha, %hb, %hc;", 0x7C00, 0x3C00, 0xFC00, 0x7FFF},
        {"fma.rn.relu.bf16x2 %d, %a, %b, %c;", 0x3F803F80, 0x3F803F80, 0xC0003F80, 0x4000},
    };
    ALU_CHECK(cases);
}

Test(alu_half, subnormals_live_unless_flushed)
{
    static const struct alu_case cases[] = {
        {"mul.f16 %hd, %ha, %hb;", 0x0400, 0x3800, 0, 0x0200},
        {"mul.ftz.f16 %hd, %ha, %hb;", 0x0400, 0x3800, 0, 0},
        {"add.ftz.f16 %hd, %ha, %hb;", 0x0001, 0x0400, 0, 0x0400},
        {"add.f16 %hd, %ha, %hb;", 0x0001, 0x0400, 0, 0x0401},
        {"abs.ftz.f16 %hd, %ha;", 0x8001, 0, 0, 0},
        /* Rounded into the normal numbers with the bits of a subnormal, and with all 11. */
        {"mul.f16 %hd, %ha, %hb;", 0x3BFF, 0x0400, 0, 0x0400},
        {"mul.ftz.f16 %hd, %ha, %hb;", 0x3BFF, 0x0400, 0, 0},
        {"mul.ftz.f16 %hd, %ha, %hb;", 0x3BFE, 0x0401, 0, 0x0400},
        {"fma.rn.ftz.f16x2 %d, %a, %b, %c;", 0x3BFF3BFE, 0x84000401, 0, 0x80000400},
    };
    ALU_CHECK(cases);
}

Test(alu_half, approximate_functions)
{
    static const struct alu_case cases[] = {
        {"ex2.approx.f16 %hd, %ha;", 0x4000, 0, 0, 0x4400},
        {"ex2.approx.ftz.bf16x2 %d, %a;", 0x3F80FF80, 0, 0, 0x40000000},
        {"tanh.approx.f16x2 %d, %a;", 0xFC008000, 0, 0, 0xBC008000},
        {"tanh.approx.bf16 %hd, %ha;", 0x7F80, 0, 0, 0x3F80},
    };
    ALU_CHECK(cases);
}
