/* SPDX-License-Identifier: MIT */
/* setp, set, selp, slct, isspacep. */
#include "test_exec_alu_support.h"

#define ONES  UINT64_MAX
#define NAN_  0x7FC00000u
#define SMALL 0x00000001u /* a subnormal */

Test(alu_compare, integers_compare_with_the_sign_of_their_type)
{
    static const struct alu_case cases[] = {
        {"setp.eq.b16 %p, %ha, %hb;", 0x10005, 5, 0, 1},
        {"setp.ne.b64 %p, %A, %B;", UINT64_C(0x100000005), 5, 0, 1},
        {"setp.ne.b32 %p, %a, %b;", UINT64_C(0x100000005), 5, 0, 0},
        {"setp.lt.s32 %p, %a, %b;", 0xFFFFFFFF, 0, 0, 1},
        {"setp.lt.u32 %p, %a, %b;", 0xFFFFFFFF, 0, 0, 0},
        {"setp.lo.u32 %p, %a, %b;", 0, 1, 0, 1},
        {"setp.ls.u32 %p, %a, %b;", 1, 1, 0, 1},
        {"setp.hi.u16 %p, %ha, %hb;", 0xFFFF, 1, 0, 1},
        {"setp.hs.u64 %p, %A, %B;", 1, ONES, 0, 0},
        {"setp.gt.s16 %p, %ha, %hb;", 0xFFFF, 1, 0, 0},
        {"setp.ge.s64 %p, %A, %B;", ONES, ONES, 0, 1},
        {"setp.le.s64 %p, %A, %B;", 0, ONES, 0, 0},
        {"setp.gt.s32 %p, %a, -1;", 0, 0, 0, 1},
    };
    ALU_CHECK(cases);
}

Test(alu_compare, a_second_result_is_the_complement_before_it_is_combined)
{
    static const struct alu_case cases[] = {
        {"setp.lt.s32 %p|%q, %a, %b;", 1, 2, 0, 1},
        {"setp.lt.s32 %p|%q, %a, %b;", 2, 1, 0, 2},
        {"setp.lt.and.s32 %p|%q, %a, %b, %r;", 1, 2, 0, 0},
        {"setp.lt.and.s32 %p|%q, %a, %b, !%r;", 1, 2, 0, 1},
        {"setp.lt.or.s32 %p|%q, %a, %b, %r;", 1, 2, 1, 3},
        {"setp.lt.xor.s32 %p|%q, %a, %b, %r;", 1, 2, 1, 2},
        {"setp.lt.s32 _|%q, %a, %b;", 2, 1, 0, 2},
        {"setp.lt.s32 %p|_, %a, %b;", 1, 2, 0, 1},
        /* The combined predicate is read before it is written. */
        {"setp.eq.u32 %p, %a, %a; setp.ne.and.u32 %p|%q, %a, %b, %p;", 1, 1, 0, 2},
    };
    ALU_CHECK(cases);
}

Test(alu_compare, floats_know_ordered_and_unordered_relations)
{
    static const struct alu_case cases[] = {
        {"setp.eq.f32 %p, %a, %b;", 0, F32_SIGN, 0, 1},
        {"setp.ne.f32 %p, %a, %b;", NAN_, F32_ONE, 0, 0},
        {"setp.neu.f32 %p, %a, %b;", NAN_, F32_ONE, 0, 1},
        {"setp.equ.f32 %p, %a, %b;", NAN_, F32_ONE, 0, 1},
        {"setp.equ.f32 %p, %a, %b;", F32_TWO, F32_ONE, 0, 0},
        {"setp.lt.f32 %p, %a, %b;", F32_ONE | F32_SIGN, F32_ONE, 0, 1},
        {"setp.lt.f32 %p, %a, %b;", NAN_, F32_ONE, 0, 0},
        {"setp.ltu.f32 %p, %a, %b;", NAN_, F32_ONE, 0, 1},
        {"setp.leu.f32 %p, %a, %b;", F32_TWO, F32_ONE, 0, 0},
        {"setp.gtu.f32 %p, %a, %b;", F32_ONE, NAN_, 0, 1},
        {"setp.geu.f32 %p, %a, %b;", F32_ONE, F32_TWO, 0, 0},
        {"setp.num.f32 %p, %a, %b;", F32_ONE, F32_INF, 0, 1},
        {"setp.nan.f32 %p, %a, %b;", F32_ONE, NAN_, 0, 1},
        {"setp.gt.f32 %p, %a, %b;", SMALL, 0, 0, 1},
        {"setp.gt.ftz.f32 %p, %a, %b;", SMALL, 0, 0, 0},
        {"setp.gt.f32 %p, %a, 0f3F800000;", F32_TWO, 0, 0, 1},
        {"setp.gt.f32 %p, %a, 1.5;", F32_TWO, 0, 0, 1},
        {"setp.le.f64 %p, %A, %B;", F64_ONE, F64_ONE, 0, 1},
        {"setp.nan.f64 %p, %A, %B;", F64_INF + 1, F64_ONE, 0, 1},
        {"setp.gtu.f64 %p, %A, %B;", F64_INF + 1, F64_ONE, 0, 1},
    };
    ALU_CHECK(cases);
}

Test(alu_compare, halves_compare_alone_and_in_pairs)
{
    static const struct alu_case cases[] = {
        {"setp.lt.f16 %p, %ha, %hb;", 0x3C00, 0x4000, 0, 1},
        {"setp.lt.f16 %p, %ha, %hb;", 0x7E00, 0x4000, 0, 0},
        {"setp.gt.ftz.f16 %p, %ha, %hb;", 1, 0, 0, 0},
        {"setp.gt.f16 %p, %ha, %hb;", 1, 0, 0, 1},
        {"setp.eq.bf16 %p, %ha, %hb;", 0x8000, 0, 0, 1},
        /* Lower elements give p, upper ones q. */
        {"setp.lt.f16x2 %p|%q, %a, %b;", 0x40003C00, 0x3C004000, 0, 1},
        {"setp.lt.f16x2 %p|%q, %a, %b;", 0x3C003C00, 0x40004000, 0, 3},
        {"setp.lt.bf16x2 %p|%q, %a, %b;", 0x3F804000, 0x40003F80, 0, 2},
        {"setp.lt.and.f16x2 %p|%q, %a, %b, %r;", 0x3C003C00, 0x40004000, 0, 0},
    };
    ALU_CHECK(cases);
}

Test(alu_compare, set_writes_a_true_value_of_its_own_type)
{
    static const struct alu_case cases[] = {
        {"set.lt.u32.s32 %d, %a, %b;", 0xFFFFFFFF, 0, 0, 0xFFFFFFFF},
        {"set.lt.s32.u32 %d, %a, %b;", 0xFFFFFFFF, 0, 0, 0},
        {"set.eq.f32.f32 %d, %a, %b;", F32_ONE, F32_ONE, 0, F32_ONE},
        {"set.eq.and.f32.s64 %d, %A, %B, %r;", 5, 5, 0, 0},
        {"set.gt.u16.f16 %hd, %ha, %hb;", 0x4000, 0x3C00, 0, 0xFFFF},
        {"set.gt.f16.s32 %hd, %a, %b;", 2, 1, 0, 0x3C00},
        {"set.lt.f16x2.f16x2 %d, %a, %b;", 0x40003C00, 0x3C004000, 0, 0x3C00},
        {"set.lt.bf16x2.bf16x2 %d, %a, %b;", 0x3F804000, 0x40003F80, 0, 0x3F800000},
        {"set.geu.u32.f16x2 %d, %a, %b;", 0x7E003C00, 0x3C004000, 0, 0xFFFF0000},
    };
    ALU_CHECK(cases);
}

Test(alu_compare, selections_copy_one_of_their_sources)
{
    static const struct alu_case cases[] = {
        {"selp.b32 %d, %a, %b, %r;", 11, 22, 1, 11},
        {"selp.b32 %d, %a, %b, %r;", 11, 22, 0, 22},
        {"selp.b64 %D, %A, %B, !%r;", 11, 22, 1, 22},
        {"selp.b16 %hd, %ha, 7, %r;", 11, 22, 0, 7},
        {"selp.f32 %d, %a, 0f40000000, %r;", F32_ONE, 0, 0, F32_TWO},
        {"slct.b32.s32 %d, %a, %b, %c;", 11, 22, 0, 11},
        {"slct.b32.s32 %d, %a, %b, %c;", 11, 22, 0xFFFFFFFF, 22},
        {"slct.u64.f32 %D, %A, %B, %c;", 11, 22, F32_SIGN, 11},
        {"slct.u64.f32 %D, %A, %B, %c;", 11, 22, NAN_, 22},
        {"slct.u64.f32 %D, %A, %B, %c;", 11, 22, F32_SIGN | SMALL, 22},
        {"slct.ftz.u64.f32 %D, %A, %B, %c;", 11, 22, F32_SIGN | SMALL, 11},
    };
    ALU_CHECK(cases);
}

Test(alu_compare, isspacep_tells_the_window_of_an_address)
{
    static const struct alu_case cases[] = {
        {"isspacep.global %p, %in;", 0, 0, 0, 1},
        {"isspacep.shared %p, %in;", 0, 0, 0, 0},
        {".shared .b32 s; mov.u64 %E, s; cvta.shared.u64 %x, %E; isspacep.shared %p, %x;",
         0, 0, 0, 1},
        {".shared .b32 s; mov.u64 %E, s; cvta.shared.u64 %x, %E;"
         "isspacep.shared::cluster %p, %x; isspacep.local %q, %x;",
         0, 0, 0, 1},
        /* Another CTA's memory is in the cluster's window, not in the CTA's own. */
        {".shared .b32 s; mov.u64 %E, s; cvta.shared.u64 %x, %E; add.u64 %x, %x, 0x1000000;"
         "isspacep.shared::cta %p, %x; isspacep.shared::cluster %q, %x;",
         0, 0, 0, 2},
        {".local .b32 l; mov.u64 %E, l; cvta.local.u64 %x, %E; isspacep.local %p, %x;"
         "isspacep.global %q, %x;",
         0, 0, 0, 1},
    };
    ALU_CHECK(cases);
}
