/* SPDX-License-Identifier: MIT */
/* cvt of single values, and cvt.pack. */
#include "test_exec_alu_support.h"

#define ONES   UINT64_MAX
#define TOP_64 UINT64_C(0x8000000000000000)

Test(alu_cvt, integers_are_cut_and_extended)
{
    static const struct alu_case cases[] = {
        {"cvt.u64.u32 %D, %a;", ONES, 0, 0, 0xFFFFFFFF},
        {"cvt.s64.s32 %D, %a;", 0x80000000, 0, 0, UINT64_C(0xFFFFFFFF80000000)},
        {"cvt.u32.u64 %d, %A;", UINT64_C(0x123456789), 0, 0, 0x23456789},
        {"cvt.u16.u32 %hd, %a;", 0x12345, 0, 0, 0x2345},
        {"cvt.u64.s16 %D, %ha;", 0x8000, 0, 0, UINT64_C(0xFFFFFFFFFFFF8000)},
        {"cvt.s64.u16 %D, %ha;", 0x8000, 0, 0, 0x8000},
        /* A result narrower than its register is extended with the sign of its type. */
        {"cvt.s8.s32 %d, %a;", 0x1280, 0, 0, 0xFFFFFF80},
        {"cvt.u8.s32 %d, %a;", 0x1280, 0, 0, 0x80},
        {"cvt.s8.u8 %D, %A;", 0x1FF, 0, 0, ONES},
        {"cvt.s16.s64 %D, %A;", 0x18000, 0, 0, UINT64_C(0xFFFFFFFFFFFF8000)},
        {"cvt.u32.s8 %d, %a;", 0x1F0, 0, 0, 0xFFFFFFF0},
        {"cvt.s16.s8 %hd, %ha;", 0x80, 0, 0, 0xFF80},
    };
    ALU_CHECK(cases);
}

Test(alu_cvt, integers_saturate_on_request)
{
    static const struct alu_case cases[] = {
        {"cvt.sat.s8.s32 %d, %a;", 300, 0, 0, 127},
        {"cvt.sat.s8.s32 %d, %a;", 0xFFFFFED4, 0, 0, 0xFFFFFF80},
        {"cvt.sat.u8.s32 %d, %a;", 0xFFFFFFFB, 0, 0, 0},
        {"cvt.sat.u16.u32 %hd, %a;", 70000, 0, 0, 0xFFFF},
        {"cvt.sat.s32.u32 %d, %a;", 0xFFFFFFFF, 0, 0, 0x7FFFFFFF},
        {"cvt.sat.u64.s64 %D, %A;", ONES, 0, 0, 0},
        {"cvt.sat.s64.u64 %D, %A;", ONES, 0, 0, TOP_64 - 1},
        {"cvt.sat.u32.s16 %d, %ha;", 0x8000, 0, 0, 0},
        {"cvt.pack.sat.s16.s32 %d, %a, %b;", 70000, 0xFFFEEE90, 0, 0x7FFF8000},
        {"cvt.pack.sat.u16.s32 %d, %a, %b;", 70000, 0xFFFFFFFF, 0, 0xFFFF0000},
        {"cvt.pack.sat.u8.s32.b32 %d, %a, %b, %c;", 300, 0xFFFFFFFB, 0x1234, 0x1234FF00},
        {"cvt.pack.sat.s4.s32.b32 %d, %a, %b, %c;", 300, 0xFFFFFF00, 1, 0x178},
    };
    ALU_CHECK(cases);
}

Test(alu_cvt, floats_become_integers_in_four_roundings)
{
    static const struct alu_case cases[] = {
        {"cvt.rni.s32.f32 %d, %a;", 0x40200000, 0, 0, 2}, /* 2.5 */
        {"cvt.rni.s32.f32 %d, %a;", 0x40600000, 0, 0, 4}, /* 3.5 */
        {"cvt.rzi.s32.f32 %d, %a;", 0xC0300000, 0, 0, 0xFFFFFFFE},
        {"cvt.rmi.s32.f32 %d, %a;", 0xC0080000, 0, 0, 0xFFFFFFFD},
        {"cvt.rpi.u32.f32 %d, %a;", 0x40080000, 0, 0, 3},
        {"cvt.rpi.s32.f32 %d, %a;", 1, 0, 0, 1},
        {"cvt.rpi.ftz.s32.f32 %d, %a;", 1, 0, 0, 0},
        {"cvt.rni.s16.f16 %hd, %ha;", 0xC100, 0, 0, 0xFFFE}, /* -2.5 */
        {"cvt.rzi.s64.f64 %D, %A;", UINT64_C(0xC341C37937E08001), 0, 0,
         0 - UINT64_C(10000000000000002)},
        {"cvt.rzi.u32.bf16 %d, %ha;", 0x4780, 0, 0, 65536},
    };
    ALU_CHECK(cases);
}

Test(alu_cvt, floats_saturate_and_nan_has_its_place)
{
    static const struct alu_case cases[] = {
        {"cvt.rzi.s32.f32 %d, %a;", 0x4F32D05E, 0, 0, 0x7FFFFFFF},
        {"cvt.rzi.s32.f32 %d, %a;", 0xFF800000, 0, 0, 0x80000000},
        {"cvt.rzi.u32.f32 %d, %a;", 0xBF800000, 0, 0, 0},
        {"cvt.rzi.u32.f32 %d, %a;", 0x4F800000, 0, 0, 0xFFFFFFFF},
        {"cvt.rzi.u64.f32 %D, %a;", 0x5F800000, 0, 0, ONES},
        {"cvt.rzi.s64.f32 %D, %a;", 0x5F000000, 0, 0, TOP_64 - 1},
        {"cvt.rzi.s8.f32 %d, %a;", 0xC3480000, 0, 0, 0xFFFFFF80},
        {"cvt.rzi.u8.f32 %d, %a;", 0x43960000, 0, 0, 0xFF},
        {"cvt.rzi.s16.f16 %hd, %ha;", 0x7C00, 0, 0, 0x7FFF},
        {"cvt.rzi.s32.f32 %d, %a;", F32_NAN, 0, 0, 0},
        {"cvt.rni.u16.f16 %hd, %ha;", 0x7E00, 0, 0, 0},
        {"cvt.rzi.s64.f32 %D, %a;", F32_NAN, 0, 0, TOP_64},
        {"cvt.rzi.u32.f64 %d, %A;", F64_INF + 1, 0, 0, 0x80000000},
    };
    ALU_CHECK(cases);
}

Test(alu_cvt, integers_become_floats_with_one_rounding)
{
    static const struct alu_case cases[] = {
        {"cvt.rn.f32.s32 %d, %a;", 16777217, 0, 0, 0x4B800000},
        {"cvt.rp.f32.s32 %d, %a;", 16777217, 0, 0, 0x4B800001},
        {"cvt.rn.f32.s32 %d, %a;", 0xFFFFFFFF, 0, 0, 0xBF800000},
        {"cvt.rn.f32.u32 %d, %a;", 0xFFFFFFFF, 0, 0, 0x4F800000},
        {"cvt.rz.f32.u32 %d, %a;", 0xFFFFFFFF, 0, 0, 0x4F7FFFFF},
        /* By way of a double the last one would be lost, and the tie go to even. */
        {"cvt.rn.f32.u64 %d, %A;", TOP_64 + (UINT64_C(1) << 39) + 1, 0, 0, 0x5F000001},
        {"cvt.rn.f64.u64 %D, %A;", ONES, 0, 0, UINT64_C(0x43F0000000000000)},
        {"cvt.rz.f64.u64 %D, %A;", ONES, 0, 0, UINT64_C(0x43EFFFFFFFFFFFFF)},
        {"cvt.rm.f64.s64 %D, %A;", 0 - ((UINT64_C(1) << 53) + 1), 0, 0,
         UINT64_C(0xC340000000000001)},
        {"cvt.rn.f16.u32 %hd, %a;", 65519, 0, 0, 0x7BFF},
        {"cvt.rn.f16.u32 %hd, %a;", 65520, 0, 0, 0x7C00},
        {"cvt.rz.f16.u32 %hd, %a;", 99999, 0, 0, 0x7BFF},
        {"cvt.rn.bf16.s16 %hd, %ha;", 0xFEFF, 0, 0, 0xC380}, /* -257 */
        {"cvt.rn.f64.s8 %D, %a;", 0xFF, 0, 0, F64_SIGN | F64_ONE},
    };
    ALU_CHECK(cases);
}

Test(alu_cvt, floats_narrow_with_one_rounding)
{
    static const struct alu_case cases[] = {
        {"cvt.rn.f16.f32 %hd, %a;", 0x3F801000, 0, 0, 0x3C00}, /* a tie */
        {"cvt.rn.f16.f32 %hd, %a;", 0x3F803000, 0, 0, 0x3C02},
        {"cvt.rp.f16.f32 %hd, %a;", 0x3F800001, 0, 0, 0x3C01},
        {"cvt.rn.f16.f32 %hd, %a;", 0x477FEFFF, 0, 0, 0x7BFF},
        {"cvt.rn.f16.f32 %hd, %a;", 0x477FF000, 0, 0, 0x7C00},
        {"cvt.rz.f16.f32 %hd, %a;", 0x47800000, 0, 0, 0x7BFF},
        {"cvt.rn.satfinite.f16.f32 %hd, %a;", 0xFF800000, 0, 0, 0xFBFF},
        {"cvt.rn.f16.f32 %hd, %a;", 0x33000000, 0, 0, 0}, /* 2^-25, a tie with 0 */
        {"cvt.rn.f16.f32 %hd, %a;", 0x33000001, 0, 0, 1},
        {"cvt.rn.f16.f32 %hd, %a;", 0x387FFFFF, 0, 0, 0x0400},
        {"cvt.rn.f16.f32 %hd, %a;", 0xFFC00000, 0, 0, 0x7FFF},
        {"cvt.rn.relu.f16.f32 %hd, %a;", 0xBF800000, 0, 0, 0},
        {"cvt.rn.bf16.f32 %hd, %a;", 0x3F808000, 0, 0, 0x3F80},
        {"cvt.rn.bf16.f32 %hd, %a;", 0x3F818000, 0, 0, 0x3F82},
        {"cvt.rn.bf16.f32 %hd, %a;", 0x7F7FFFFF, 0, 0, 0x7F80},
        {"cvt.rz.bf16.f32 %hd, %a;", 0x3F81FFFF, 0, 0, 0x3F81},
        {"cvt.rn.bf16.f32 %hd, %a;", 0x7F800001, 0, 0, 0x7FFF},
        {"cvt.rz.relu.satfinite.bf16.f32 %hd, %a;", F32_INF, 0, 0, 0x7F7F},
        {"cvt.rn.f32.f64 %d, %A;", F64_ONE + (1 << 28), 0, 0, F32_ONE},
        {"cvt.rn.f32.f64 %d, %A;", F64_ONE + (1 << 28) + 1, 0, 0, F32_ONE + 1},
        {"cvt.rm.f32.f64 %d, %A;", F64_SIGN | (F64_ONE + 1), 0, 0, 0xBF800001},
        {"cvt.rn.sat.f32.f64 %d, %A;", UINT64_C(0x4000000000000000), 0, 0, F32_ONE},
        {"cvt.rn.f16.f64 %hd, %A;", F64_ONE + (UINT64_C(1) << 41) + 1, 0, 0, 0x3C01},
        {"cvt.rn.bf16.f16 %hd, %ha;", 0x3C05, 0, 0, 0x3F81},
        {"cvt.rna.tf32.f32 %d, %a;", 0x3F801000, 0, 0, 0x3F802000},
        {"cvt.rn.tf32.f32 %d, %a;", 0x3F801000, 0, 0, 0x3F800000},
        {"cvt.rz.tf32.f32 %d, %a;", 0x3F803FFF, 0, 0, 0x3F802000},
        {"cvt.rn.relu.tf32.f32 %d, %a;", 0xBF800000, 0, 0, 0},
    };
    ALU_CHECK(cases);
}

Test(alu_cvt, floats_widen_exactly)
{
    static const struct alu_case cases[] = {
        {"cvt.f32.f16 %d, %ha;", 0x3C00, 0, 0, F32_ONE},
        {"cvt.f32.f16 %d, %ha;", 0x8001, 0, 0, 0xB3800000},
        {"cvt.f32.f16 %d, %ha;", 0x03FF, 0, 0, 0x387FC000},
        {"cvt.f32.f16 %d, %ha;", 0xFC00, 0, 0, 0xFF800000},
        {"cvt.f32.f16 %d, %ha;", 0xFE01, 0, 0, F32_NAN},
        {"cvt.f32.bf16 %d, %ha;", 0xBF81, 0, 0, 0xBF810000},
        {"cvt.f64.f32 %D, %a;", 0x00000001, 0, 0, UINT64_C(0x36A0000000000000)},
        {"cvt.ftz.f64.f32 %D, %a;", 0x00000001, 0, 0, 0},
        {"cvt.f64.f16 %D, %ha;", 0xBC00, 0, 0, F64_SIGN | F64_ONE},
        {"cvt.sat.f32.f16 %d, %ha;", 0x4000, 0, 0, F32_ONE},
    };
    ALU_CHECK(cases);
}

Test(alu_cvt, nan_keeps_what_there_is_room_for_beside_f64_and_in_tf32)
{
    static const struct alu_case cases[] = {
        {"cvt.rn.f32.f64 %d, %A;", F64_INF + 1, 0, 0, 0x7FC00000},
        {"cvt.rn.f32.f64 %d, %A;", ONES, 0, 0, 0xFFFFFFFF},
        {"cvt.rn.sat.f32.f64 %d, %A;", F64_INF + 1, 0, 0, 0},
        {"cvt.rn.f16.f64 %hd, %A;", ONES, 0, 0, 0xFFFF},
        {"cvt.rn.bf16.f64 %hd, %A;", F64_INF + 1, 0, 0, 0x7FC0},
        {"cvt.f64.f32 %D, %a;", 0xFFC12345, 0, 0, UINT64_C(0xFFF82468A0000000)},
        {"cvt.f64.f32 %D, %a;", 0x7F800001, 0, 0, UINT64_C(0x7FF8000020000000)},
        {"cvt.ftz.f64.f32 %D, %a;", 0xFFC12345, 0, 0, UINT64_C(0x7FFFFFFFE0000000)},
        {"cvt.f64.f16 %D, %ha;", 0xFE55, 0, 0, UINT64_C(0xFFF9540000000000)},
        {"cvt.f64.bf16 %D, %ha;", 0x7F81, 0, 0, UINT64_C(0x7FF8200000000000)},
        {"cvt.rni.f64.f64 %D, %A;", F64_SIGN | (F64_INF + 1), 0, 0,
         UINT64_C(0xFFF8000000000001)},
        {"cvt.rna.tf32.f32 %d, %a;", 0xFFC12345, 0, 0, 0xFFC12000},
        {"cvt.rna.tf32.f32 %d, %a;", 0x7F800001, 0, 0, F32_INF},
        {"cvt.rna.satfinite.tf32.f32 %d, %a;", F32_INF, 0, 0, 0x7F7FE000},
        {"cvt.rna.satfinite.tf32.f32 %d, %a;", 0xFFC12345, 0, 0, 0xFFC10000},
        {"cvt.rn.tf32.f32 %d, %a;", 0xFFC12345, 0, 0, 0x7FFFE000},
    };
    ALU_CHECK(cases);
}

Test(alu_cvt, floats_round_to_whole_numbers_of_their_type)
{
    static const struct alu_case cases[] = {
        {"cvt.rni.f32.f32 %d, %a;", 0x40200000, 0, 0, F32_TWO},
        {"cvt.rni.f32.f32 %d, %a;", 0xBECCCCCD, 0, 0, F32_SIGN},
        {"cvt.rpi.f32.f32 %d, %a;", 0x3F8CCCCD, 0, 0, F32_TWO},
        {"cvt.rmi.f16.f16 %hd, %ha;", 0xBC01, 0, 0, 0xC000},
        {"cvt.rzi.f64.f64 %D, %A;", F64_ONE + 5, 0, 0, F64_ONE},
        {"cvt.sat.f32.f32 %d, %a;", F32_NAN, 0, 0, 0},
        {"cvt.sat.f32.f32 %d, %a;", 0x3F000000, 0, 0, 0x3F000000},
        {"cvt.ftz.f32.f32 %d, %a;", 0x80000001, 0, 0, F32_SIGN},
        {"cvt.f32.f32 %d, %a;", 0x80000001, 0, 0, 0x80000001},
        /* Flushed where only subnormal rounding reached the least normal number. */
        {"cvt.rn.ftz.f32.f64 %d, %A;", UINT64_C(0x380FFFFFE0000000), 0, 0, 0},
        {"cvt.rn.f32.f64 %d, %A;", UINT64_C(0x380FFFFFE0000000), 0, 0, 0x00800000},
        {"cvt.rn.ftz.f32.f64 %d, %A;", UINT64_C(0x380FFFFFF0000000), 0, 0, 0x00800000},
    };
    ALU_CHECK(cases);
}
