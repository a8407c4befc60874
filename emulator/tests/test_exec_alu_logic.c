/* SPDX-License-Identifier: MIT */
/* Logic, shifts, bit fields and permutations of bytes. */
#include "test_exec_alu_support.h"

#define ONES UINT64_MAX

Test(alu_logic, bitwise_operations_stay_within_their_width)
{
    static const struct alu_case cases[] = {
        {"and.b16 %hd, %ha, %hb;", 0xF0F0, 0xFF00, 0, 0xF000},
        {"or.b32 %d, %a, %b;", 0xF0000000, 0x0F, 0, 0xF000000F},
        {"xor.b64 %D, %A, %B;", ONES, 0xFF, 0, ONES - 0xFF},
        {"not.b16 %hd, %ha;", 0x00FF, 0, 0, 0xFF00},
        {"not.b32 %d, %a;", 0x00FF, 0, 0, 0xFFFFFF00},
        {"not.b64 %D, %A;", 0, 0, 0, ONES},
        {"cnot.b32 %d, %a;", 0, 0, 0, 1},
        {"cnot.b16 %hd, %ha;", 0x10001, 0, 0, 0},
        {"and.b32 %d, %a, -16;", 0x12345678, 0, 0, 0x12345670},
    };
    ALU_CHECK(cases);
}

Test(alu_logic, predicates_have_logic_too)
{
    static const struct alu_case cases[] = {
        {"setp.eq.u32 %q, %a, 1; and.pred %p, %q, %r; mov.pred %q, 0;", 1, 0, 1, 1},
        {"setp.eq.u32 %q, %a, 1; and.pred %p, %q, %r; mov.pred %q, 0;", 1, 0, 0, 0},
        {"setp.eq.u32 %q, %a, 1; or.pred %p, %q, %r; mov.pred %q, 0;", 1, 0, 0, 1},
        {"setp.eq.u32 %q, %a, 1; xor.pred %p, %q, %r; mov.pred %q, 0;", 1, 0, 1, 0},
        {"not.pred %p, %r;", 0, 0, 0, 1},
        {"mov.pred %p, %r;", 0, 0, 1, 1},
        {"mov.pred %p, -1;", 0, 0, 0, 1},
        {"xor.pred %p, %r, 1;", 0, 0, 1, 0},
    };
    ALU_CHECK(cases);
}

Test(alu_logic, lop3_looks_every_bit_up)
{
    static const struct alu_case cases[] = {
        {"lop3.b32 %d, %a, %b, %c, 0x80;", 0xF0, 0xCC, 0xAA, 0x80},
        {"lop3.b32 %d, %a, %b, %c, 0xFE;", 0xF0, 0xCC, 0xAA, 0xFE},
        {"lop3.b32 %d, %a, %b, %c, 0x96;", 0xF0, 0xCC, 0xAA, 0x96},
        {"lop3.b32 %d, %a, %b, %c, 0x1A;", 0xF0, 0xCC, 0xAA, 0x1A},
        {"lop3.b32 %d, %a, %b, %c, 0x01;", 0xF0, 0xCC, 0xAA, 0xFFFFFF01},
    };
    ALU_CHECK(cases);
}

Test(alu_logic, shifts_beyond_the_width_shift_everything_out)
{
    static const struct alu_case cases[] = {
        {"shl.b32 %d, %a, %b;", 0xFFFFFFFF, 31, 0, 0x80000000},
        {"shl.b32 %d, %a, %b;", 0xFFFFFFFF, 32, 0, 0},
        {"shl.b32 %d, %a, %b;", 0xFFFFFFFF, 0xFFFFFFFF, 0, 0},
        {"shl.b16 %hd, %ha, %b;", 0xFFFF, 15, 0, 0x8000},
        {"shl.b16 %hd, %ha, %b;", 0xFFFF, 0x10001, 0, 0},
        {"shl.b64 %D, %A, %b;", 1, 63, 0, UINT64_C(1) << 63},
        {"shl.b64 %D, %A, %b;", ONES, 64, 0, 0},
        {"shr.u32 %d, %a, %b;", 0x80000000, 31, 0, 1},
        {"shr.u32 %d, %a, %b;", 0x80000000, 32, 0, 0},
        {"shr.s32 %d, %a, %b;", 0x80000000, 4, 0, 0xF8000000},
        {"shr.s32 %d, %a, %b;", 0x80000000, 99, 0, 0xFFFFFFFF},
        {"shr.b32 %d, %a, %b;", 0x80000000, 4, 0, 0x08000000},
        {"shr.s16 %hd, %ha, %b;", 0x8000, 3, 0, 0xF000},
        {"shr.u16 %hd, %ha, %b;", 0x8000, 15, 0, 1},
        {"shr.s64 %D, %A, %b;", UINT64_C(1) << 63, 200, 0, ONES},
        {"shr.u64 %D, %A, %b;", UINT64_C(1) << 63, 63, 0, 1},
    };
    ALU_CHECK(cases);
}

Test(alu_logic, funnel_shifts_clamp_or_wrap)
{
    static const struct alu_case cases[] = {
        {"shf.l.wrap.b32 %d, %a, %b, %c;", 0x80000000, 0x12345678, 1, 0x2468ACF1},
        {"shf.l.wrap.b32 %d, %a, %b, %c;", 0x11111111, 0x12345678, 32, 0x12345678},
        {"shf.l.clamp.b32 %d, %a, %b, %c;", 0x11111111, 0x12345678, 32, 0x11111111},
        {"shf.l.clamp.b32 %d, %a, %b, %c;", 0x11111111, 0x12345678, 77, 0x11111111},
        {"shf.r.wrap.b32 %d, %a, %b, %c;", 0x12345678, 1, 4, 0x11234567},
        {"shf.r.wrap.b32 %d, %a, %b, %c;", 0x12345678, 1, 33, 0x891A2B3C},
        {"shf.r.clamp.b32 %d, %a, %b, %c;", 0x12345678, 0xABCD, 40, 0xABCD},
    };
    ALU_CHECK(cases);
}

Test(alu_logic, bits_are_counted_found_and_reversed)
{
    static const struct alu_case cases[] = {
        {"popc.b32 %d, %a;", 0xF0F00001, 0, 0, 9},
        {"popc.b64 %d, %A;", ONES, 0, 0, 64},
        {"clz.b32 %d, %a;", 0x00010000, 0, 0, 15},
        {"clz.b32 %d, %a;", 0, 0, 0, 32},
        {"clz.b64 %d, %A;", 1, 0, 0, 63},
        {"clz.b64 %d, %A;", 0, 0, 0, 64},
        {"bfind.u32 %d, %a;", 0x00010000, 0, 0, 16},
        {"bfind.u32 %d, %a;", 0, 0, 0, 0xFFFFFFFF},
        {"bfind.s32 %d, %a;", 0xFFFFFFFE, 0, 0, 0},
        {"bfind.s32 %d, %a;", 0xFFFFFFFF, 0, 0, 0xFFFFFFFF},
        {"bfind.shiftamt.u32 %d, %a;", 0x00010000, 0, 0, 15},
        {"bfind.shiftamt.u64 %d, %A;", 1, 0, 0, 63},
        {"bfind.s64 %d, %A;", UINT64_C(0xFFFFFEFFFFFFFFFF), 0, 0, 40},
        {"brev.b32 %d, %a;", 0x00000003, 0, 0, 0xC0000000},
        {"brev.b64 %D, %A;", 1, 0, 0, UINT64_C(1) << 63},
    };
    ALU_CHECK(cases);
}

Test(alu_logic, nth_one_is_found_upwards_and_downwards)
{
    static const struct alu_case cases[] = {
        {"fns.b32 %d, %a, %b, %c;", 0xAAAAAAAA, 3, 1, 3},
        {"fns.b32 %d, %a, %b, %c;", 0xAAAAAAAA, 2, 1, 3},
        {"fns.b32 %d, %a, %b, %c;", 0xAAAAAAAA, 2, 0xFFFFFFFF, 1},
        {"fns.b32 %d, %a, %b, %c;", 0x80000011, 0, 3, 31},
        {"fns.b32 %d, %a, %b, %c;", 0x80000011, 31, 0xFFFFFFFD, 0},
        {"fns.b32 %d, %a, %b, %c;", 0x80000011, 0, 4, 0xFFFFFFFF},
        {"fns.b32 %d, %a, %b, %c;", 0x80000011, 3, 0xFFFFFFFE, 0xFFFFFFFF},
        {"fns.b32 %d, %a, %b, %c;", 0x80000011, 4, 0, 4},
        {"fns.b32 %d, %a, %b, %c;", 0x80000011, 5, 0, 0xFFFFFFFF},
        {"fns.b32 %d, %a, %b, %c;", 0xFFFFFFFF, 0, 0x80000000, 0xFFFFFFFF},
        {"fns.b32 %d, %a, 31, 1;", 0x80000000, 0, 0, 31},
        {"fns.b32 %d, 0, 0, 1;", 0, 0, 0, 0xFFFFFFFF},
    };
    ALU_CHECK(cases);
}

Test(alu_logic, bit_fields_are_cut_out_and_put_in)
{
    static const struct alu_case cases[] = {
        {"bfe.u32 %d, %a, %b, %c;", 0x12345678, 8, 12, 0x456},
        {"bfe.u32 %d, %a, %b, %c;", 0x12345678, 8, 0, 0},
        {"bfe.u32 %d, %a, %b, %c;", 0x92345678, 28, 30, 9},
        {"bfe.s32 %d, %a, %b, %c;", 0x00000F00, 8, 4, 0xFFFFFFFF},
        {"bfe.s32 %d, %a, %b, %c;", 0x80000000, 31, 5, 0xFFFFFFFF},
        {"bfe.s32 %d, %a, %b, %c;", 0x80000000, 40, 5, 0xFFFFFFFF},
        {"bfe.s32 %d, %a, %b, %c;", 0x70000000, 40, 5, 0},
        {"bfe.u64 %D, %A, %b, %c;", UINT64_C(0x123456789ABCDEF0), 60, 8, 1},
        {"bfe.s64 %D, %A, %b, %c;", UINT64_C(0x8000000000000000), 60, 4, ONES - 7},
        {"bfi.b32 %d, %a, 0x11111111, %b, %c;", 0xFFF, 8, 8, 0x1111FF11},
        {"bfi.b32 %d, %a, 0x11111111, %b, %c;", 0xFFF, 28, 30, 0xF1111111},
        {"bfi.b32 %d, %a, 0x11111111, %b, %c;", 0xFFF, 32, 4, 0x11111111},
        {"bfi.b32 %d, %a, 0x11111111, %b, %c;", 0xFFF, 8, 0, 0x11111111},
        {"bfi.b64 %D, %A, 0, %b, %c;", ONES, 32, 16, UINT64_C(0x0000FFFF00000000)},
        {"szext.clamp.s32 %d, %a, %b;", 0xF8, 4, 0, 0xFFFFFFF8},
        {"szext.clamp.u32 %d, %a, %b;", 0xF8, 4, 0, 8},
        {"szext.clamp.s32 %d, %a, %b;", 0xF8, 40, 0, 0xF8},
        {"szext.wrap.s32 %d, %a, %b;", 0xF8, 32, 0, 0},
        {"bmsk.clamp.b32 %d, %a, %b;", 4, 8, 0, 0xFF0},
        {"bmsk.clamp.b32 %d, %a, %b;", 4, 99, 0, 0xFFFFFFF0},
        {"bmsk.clamp.b32 %d, %a, %b;", 32, 8, 0, 0},
        {"bmsk.wrap.b32 %d, %a, %b;", 33, 34, 0, 6},
    };
    ALU_CHECK(cases);
}

Test(alu_logic, prmt_picks_bytes_and_their_signs)
{
    static const struct alu_case cases[] = {
        {"prmt.b32 %d, %a, %b, 0x5410;", 0x33221100, 0x77665544, 0, 0x55441100},
        {"prmt.b32 %d, %a, %b, 0x0123;", 0x33221100, 0x77665544, 0, 0x00112233},
        {"prmt.b32 %d, %a, %b, 0x8F80;", 0x80, 0x70000000, 0, 0xFF00FF80},
        {"prmt.b32.f4e %d, %a, %b, %c;", 0x33221100, 0x77665544, 1, 0x44332211},
        {"prmt.b32.b4e %d, %a, %b, %c;", 0x33221100, 0x77665544, 1, 0x66770011},
        {"prmt.b32.rc8 %d, %a, %b, %c;", 0x33221100, 0x77665544, 2, 0x22222222},
        {"prmt.b32.ecl %d, %a, %b, %c;", 0x33221100, 0x77665544, 2, 0x33222222},
        {"prmt.b32.ecr %d, %a, %b, %c;", 0x33221100, 0x77665544, 2, 0x22221100},
        {"prmt.b32.rc16 %d, %a, %b, %c;", 0x33221100, 0x77665544, 1, 0x33223322},
    };
    ALU_CHECK(cases);
}
