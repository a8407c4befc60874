/* SPDX-License-Identifier: MIT */
/* cvt to and from pairs of short floats. */
#include "test_exec_alu_support.h"

/* Pairs of four bits live in registers of eight. */
#define TO_BYTE(conversion) \
    "{ .reg .b8 pair; " conversion " pair, %a, %b; cvt.u32.u8 %d, pair; }"
#define FROM_BYTE(conversion) \
    "{ .reg .b8 pair; cvt.u8.u32 pair, %a; " conversion " %d, pair; }"

#define F32_M1000 0xC47A0000u
#define F32_1000  0x447A0000u
#define F32_THREE 0x40400000u
#define F32_SIX   0x40C00000u

Test(alu_cvt_pair, the_first_source_goes_into_the_upper_half)
{
    static const struct alu_case cases[] = {
        {"cvt.rn.f16x2.f32 %d, %a, %b;", F32_ONE, F32_TWO, 0, 0x3C004000},
        {"cvt.rn.bf16x2.f32 %d, %a, %b;", F32_ONE, F32_TWO, 0, 0x3F804000},
        {"cvt.rn.bf16x2.f32 %d, %a, %b;", 0x3F808000, 0x3F818000, 0, 0x3F803F82},
        {"cvt.rz.bf16x2.f32 %d, %a, %b;", 0x3F80FFFF, 0x7F800000, 0, 0x3F807F80},
        {"cvt.rn.relu.bf16x2.f32 %d, %a, %b;", 0xBF800000, F32_NAN, 0, 0x00007FFF},
        {"cvt.rn.satfinite.f16x2.f32 %d, %a, %b;", 0x7F800000, 0xFF800000, 0, 0x7BFFFBFF},
        {"cvt.rz.f16x2.f32 %d, %a, %b;", 0x477FF000, 0x3F803FFF, 0, 0x7BFF3C01},
    };
    ALU_CHECK(cases);
}

Test(alu_cvt_pair, eight_bit_floats)
{
    static const struct alu_case cases[] = {
        {"cvt.rn.satfinite.e4m3x2.f32 %hd, %a, %b;", F32_ONE, F32_TWO, 0, 0x3840},
        {"cvt.rn.satfinite.e4m3x2.f32 %hd, %a, %b;", F32_1000, F32_M1000, 0, 0x7EFE},
        {"cvt.rn.satfinite.e4m3x2.f32 %hd, %a, %b;", 0xFFC00000, 0x7F800000, 0, 0x7F7E},
        {"cvt.rn.satfinite.relu.e4m3x2.f32 %hd, %a, %b;", F32_M1000, F32_TWO, 0, 0x0040},
        /* 17 lies in the middle of 16 and 18. */
        {"cvt.rn.satfinite.e4m3x2.f32 %hd, %a, %b;", 0x41880000, 0x41980000, 0, 0x585A},
        {"cvt.rn.satfinite.e5m2x2.f32 %hd, %a, %b;", F32_ONE, 0x49742400, 0, 0x3C7B},
        {"cvt.rn.satfinite.e4m3x2.f16x2 %hd, %a;", 0x3C00FC00, 0, 0, 0x38FE},
        {"cvt.rn.satfinite.relu.e5m2x2.f16x2 %hd, %a;", 0xBC003D00, 0, 0, 0x003D},
        {"cvt.rn.f16x2.e4m3x2 %d, %ha;", 0x38FE, 0, 0, 0x3C00DF00},
        {"cvt.rn.f16x2.e4m3x2 %d, %ha;", 0x7F01, 0, 0, 0x7FFF1800},
        {"cvt.rn.relu.f16x2.e5m2x2 %d, %ha;", 0xBC7B, 0, 0, 0x00007B00},
    };
    ALU_CHECK(cases);
}

Test(alu_cvt_pair, six_bit_floats_lie_in_bytes)
{
    static const struct alu_case cases[] = {
        {"cvt.rn.satfinite.e2m3x2.f32 %hd, %a, %b;", F32_1000, F32_ONE, 0, 0x1F08},
        {"cvt.rn.satfinite.e2m3x2.f32 %hd, %a, %b;", 0xBF800000, F32_NAN, 0, 0x281F},
        {"cvt.rn.satfinite.e3m2x2.f32 %hd, %a, %b;", F32_M1000, F32_ONE, 0, 0x3F0C},
        {"cvt.rn.satfinite.relu.e3m2x2.f32 %hd, %a, %b;", F32_M1000, F32_ONE, 0, 0x000C},
        {"cvt.rn.f16x2.e2m3x2 %d, %ha;", 0x1F28, 0, 0, 0x4780BC00},
        {"cvt.rn.f16x2.e3m2x2 %d, %ha;", 0x1F01, 0, 0, 0x4F002C00},
    };
    ALU_CHECK(cases);
}

Test(alu_cvt_pair, four_bit_floats_share_a_byte)
{
    static const struct alu_case cases[] = {
        {TO_BYTE("cvt.rn.satfinite.e2m1x2.f32"), F32_SIX, 0xBF000000, 0, 0x79},
        {TO_BYTE("cvt.rn.satfinite.e2m1x2.f32"), F32_NAN, F32_M1000, 0, 0x7F},
        /* 2.5 and 3.5 are ties between 2 and 3, and 3 and 4. */
        {TO_BYTE("cvt.rn.satfinite.e2m1x2.f32"), 0x40200000, 0x40600000, 0, 0x46},
        /* 0.25 and 0.75, 1.25 and 1.75, 5 and infinity. */
        {TO_BYTE("cvt.rn.satfinite.e2m1x2.f32"), 0x3E800000, 0x3F400000, 0, 0x02},
        {TO_BYTE("cvt.rn.satfinite.e2m1x2.f32"), 0x3FA00000, 0x3FE00000, 0, 0x24},
        {TO_BYTE("cvt.rn.satfinite.e2m1x2.f32"), 0x40A00000, 0xFF800000, 0, 0x6F},
        /* The next ones: after 0.25, before 0.75, after 1.25, before 1.75. */
        {TO_BYTE("cvt.rn.satfinite.e2m1x2.f32"), 0x3E800001, 0x3F3FFFFF, 0, 0x11},
        {TO_BYTE("cvt.rn.satfinite.e2m1x2.f32"), 0x3FA00001, 0x3FDFFFFF, 0, 0x33},
        {TO_BYTE("cvt.rn.satfinite.e2m1x2.f32"), 0x40200001, 0x405FFFFF, 0, 0x55},
        {TO_BYTE("cvt.rn.satfinite.e2m1x2.f32"), 0x40A00001, 0x80000000, 0, 0x78},
        {TO_BYTE("cvt.rn.satfinite.relu.e2m1x2.f32"), 0xBF800000, F32_ONE, 0, 0x02},
        {FROM_BYTE("cvt.rn.f16x2.e2m1x2"), 0x79, 0, 0, 0x4600B800},
        {"{ .reg .b8 pair; cvt.rn.satfinite.e2m1x2.f16x2 pair, %a; cvt.u32.u8 %d, pair; }",
         0x4600B800, 0, 0, 0x79},
    };
    ALU_CHECK(cases);
}

Test(alu_cvt_pair, scale_factors_are_powers_of_two)
{
    static const struct alu_case cases[] = {
        {"cvt.rz.ue8m0x2.f32 %hd, %a, %b;", F32_ONE, F32_THREE, 0, 0x7F80},
        {"cvt.rp.ue8m0x2.f32 %hd, %a, %b;", F32_ONE, F32_THREE, 0, 0x7F81},
        {"cvt.rp.satfinite.ue8m0x2.f32 %hd, %a, %b;", F32_NAN, 0x7F7FFFFF, 0, 0xFFFE},
        {"cvt.rz.ue8m0x2.bf16x2 %hd, %a;", 0x40403F80, 0, 0, 0x807F},
        {"cvt.rn.bf16x2.ue8m0x2 %d, %ha;", 0x7F80, 0, 0, 0x3F804000},
        {"cvt.rn.bf16x2.ue8m0x2 %d, %ha;", 0x00FE, 0, 0, 0x00407F00},
    };
    ALU_CHECK(cases);
}

Test(alu_cvt_pair, random_bits_decide_where_they_fill_a_unit)
{
    enum { HALF_BF16 = 0x3F808000, HALF_F16 = 0x3F801000, JUST_ABOVE = 0x3F800001 };
    static const struct alu_case cases[] = {
        /* 1 and half a unit, 1 and the least bit: each has its half of the word. */
        {"cvt.rs.bf16x2.f32 %d, %a, %b, %c;", HALF_BF16, JUST_ABOVE, 0x8000FFFF,
         0x3F813F81},
        {"cvt.rs.bf16x2.f32 %d, %a, %b, %c;", HALF_BF16, JUST_ABOVE, 0x7FFFFFFE,
         0x3F803F80},
        {"cvt.rs.relu.bf16x2.f32 %d, %a, %b, %c;", 0xBF800000, HALF_BF16, 0x8000,
         0x00003F81},
        {"cvt.rs.bf16x2.f32 %d, %a, %b, %c;", 0x7F7FFFFF, 0x7FC00000, 0x10000, 0x7F807FFF},
        {"cvt.rs.satfinite.bf16x2.f32 %d, %a, %b, %c;", 0x7F7FFFFF, 0xFF800000, 0x10000,
         0x7F7FFF7F},
        /* f16: the low 13 bits of a half. */
        {"cvt.rs.f16x2.f32 %d, %a, %b, %c;", HALF_F16, JUST_ABOVE, 0x10001FFF, 0x3C013C01},
        {"cvt.rs.f16x2.f32 %d, %a, %b, %c;", HALF_F16, JUST_ABOVE, 0xF000FFFF, 0x3C013C01},
        {"cvt.rs.f16x2.f32 %d, %a, %b, %c;", HALF_F16, JUST_ABOVE, 0x0FFF1FFE, 0x3C003C00},
        {"cvt.rs.f16x2.f32 %d, %a, %b, %c;", 0xC0000000, 0, 0xFFFFFFFF, 0xC0000000},
    };
    ALU_CHECK(cases);
}

Test(alu_cvt_pair, four_elements_share_random_bits_in_both_orders)
{
#define FOUR(type, relu) "cvt.rs" relu ".satfinite." type ".f32 %d, {%a, %a, %a, %a}, %b;"
    enum { SIXTEENTH = 0x3F880000, EIGHTH = 0x3F900000, QUARTER = 0x3FA00000 };
    static const struct alu_case cases[] = {
        /* Half a unit above 1: whoever reads 0x8000 of the shared bits goes up. */
        {FOUR("e4m3x4", ""), SIXTEENTH, 0x00018000, 0, 0x39383839},
        {FOUR("e4m3x4", ""), SIXTEENTH, 0x80000001, 0, 0x38393938},
        {FOUR("e4m3x4", ""), SIXTEENTH, 0x7FFE7FFE, 0, 0x38383838},
        {FOUR("e5m2x4", ""), EIGHTH, 0x00018000, 0, 0x3D3C3C3D},
        {FOUR("e2m3x4", ""), SIXTEENTH, 0x00018000, 0, 0x09080809},
        {FOUR("e3m2x4", ""), EIGHTH, 0x00018000, 0, 0x0D0C0C0D},
        /* e2m1: the low bytes of both halves for the lower two. */
        {"cvt.rs.satfinite.e2m1x4.f32 %hd, {%a, %a, %a, %a}, %b;", QUARTER, 0x00800100, 0,
         0x3223},
        {"cvt.rs.satfinite.e2m1x4.f32 %hd, {%a, %b, %c, %a}, 0;", 0x4E6E6B28, 0x3F800000,
         0xBF800000, 0x72A7},
        /* Subnormal results: 2^-10 is half of e4m3's least, 2^-24 a 32768th of it. */
        {FOUR("e4m3x4", ""), 0x3A800000, 0x00018000, 0, 0x01000001},
        {FOUR("e4m3x4", ""), 0x33800000, 0x0000FFFE, 0, 0x00000001},
        {FOUR("e4m3x4", ""), 0x33800000, 0x0000FFFD, 0, 0x00000000},
        {FOUR("e4m3x4", ".relu"), 0xBF880000, 0xFFFFFFFF, 0, 0},
        {FOUR("e4m3x4", ""), 0xC61C4000, 0, 0, 0xFEFEFEFE},
        {FOUR("e4m3x4", ""), 0x7FC00000, 0, 0, 0x7F7F7F7F},
    };
    ALU_CHECK(cases);
}
