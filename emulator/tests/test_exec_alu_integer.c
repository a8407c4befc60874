/* SPDX-License-Identifier: MIT */
/* Integer arithmetic, by value: edges of every width, and what C would leave undefined. */
#include "test_exec_alu_support.h"

#define MIN_32 0x80000000u
#define MIN_64 UINT64_C(0x8000000000000000)
#define ONES   UINT64_MAX

Test(alu_integer, sums_wrap_at_their_width)
{
    static const struct alu_case cases[] = {
        {"add.u16 %hd, %ha, %hb;", 0xFFFF, 2, 0, 1},
        {"add.s32 %d, %a, %b;", 0x7FFFFFFF, 1, 0, MIN_32},
        {"add.u64 %D, %A, %B;", ONES, 3, 0, 2},
        {"sub.s16 %hd, %ha, %hb;", 0, 1, 0, 0xFFFF},
        {"sub.u32 %d, %a, %b;", 5, 7, 0, 0xFFFFFFFE},
        {"sub.s64 %D, %A, %B;", 5, 7, 0, ONES - 1},
        {"add.s32 %d, %a, -4;", 3, 0, 0, 0xFFFFFFFF},
        {"add.u16x2 %d, %a, %b;", 0xFFFF0001, 0x00020003, 0, 0x00010004},
    };
    ALU_CHECK(cases);
}

Test(alu_integer, saturated_sums_stop_at_the_limits)
{
    static const struct alu_case cases[] = {
        {"add.sat.s32 %d, %a, %b;", 0x7FFFFFFF, 1, 0, 0x7FFFFFFF},
        {"add.sat.s32 %d, %a, %b;", MIN_32, 0xFFFFFFFF, 0, MIN_32},
        {"sub.sat.s32 %d, %a, %b;", MIN_32, 1, 0, MIN_32},
        {"sub.sat.s32 %d, %a, %b;", 0, MIN_32, 0, 0x7FFFFFFF},
        {"mad.hi.sat.s32 %d, %a, %b, %c;", 0x40000000, 8, 0x7FFFFFFF, 0x7FFFFFFF},
        {"mad24.hi.sat.s32 %d, %a, %b, %c;", 0x400000, 0x400000, 0x7FFFFFF0, 0x7FFFFFFF},
    };
    ALU_CHECK(cases);
}

Test(alu_integer, products_give_the_half_that_is_asked_for)
{
    static const struct alu_case cases[] = {
        {"mul.lo.u16 %hd, %ha, %hb;", 0x1234, 0x100, 0, 0x3400},
        {"mul.hi.u16 %hd, %ha, %hb;", 0xFFFF, 0xFFFF, 0, 0xFFFE},
        {"mul.hi.s16 %hd, %ha, %hb;", 0xFFFF, 2, 0, 0xFFFF},
        {"mul.lo.s32 %d, %a, %b;", 0x10001, 0x10001, 0, 0x20001},
        {"mul.hi.u32 %d, %a, %b;", 0xFFFFFFFF, 0xFFFFFFFF, 0, 0xFFFFFFFE},
        {"mul.hi.s32 %d, %a, %b;", 0xFFFFFFFF, 2, 0, 0xFFFFFFFF},
        {"mul.lo.u64 %D, %A, %B;", ONES, ONES, 0, 1},
        {"mul.hi.u64 %D, %A, %B;", ONES, ONES, 0, ONES - 1},
        {"mul.hi.s64 %D, %A, %B;", ONES, 2, 0, ONES},
        {"mul.wide.u16 %d, %ha, %hb;", 0xFFFF, 0xFFFF, 0, 0xFFFE0001},
        {"mul.wide.s16 %d, %ha, %hb;", 0xFFFF, 2, 0, 0xFFFFFFFE},
        {"mul.wide.u32 %D, %a, %b;", 0xFFFFFFFF, 2, 0, 0x1FFFFFFFE},
        {"mul.wide.s32 %D, %a, %b;", 0xFFFFFFFF, 2, 0, ONES - 1},
        {"mul24.lo.s32 %d, %a, %b;", 0xFF000003, 0xFFFFFFFF, 0, 0xFFFFFFFD},
        {"mul24.hi.u32 %d, %a, %b;", 0x12FFFFFF, 0xFFFFFF, 0, 0xFFFFFE00},
    };
    ALU_CHECK(cases);
}

Test(alu_integer, mad_adds_to_the_half_that_is_asked_for)
{
    static const struct alu_case cases[] = {
        {"mad.lo.s32 %d, %a, %b, %c;", 3, 5, 0xFFFFFFFF, 14},
        {"mad.lo.u16 %hd, %ha, %hb, %hc;", 0x100, 0x100, 7, 7},
        {"mad.lo.s64 %D, %A, %B, %C;", ONES, 6, 10, 4},
        {"mad.hi.u32 %d, %a, %b, %c;", 0x80000000, 6, 1, 4},
        {"mad.hi.s64 %D, %A, %B, %C;", MIN_64, 4, 1, ONES},
        {"mad.wide.u32 %D, %a, %b, %C;", 0xFFFFFFFF, 2, 2, 0x200000000},
        {"mad.wide.s16 %d, %ha, %hb, %c;", 0x8000, 2, 0x10000, 0},
    };
    ALU_CHECK(cases);
}

Test(alu_integer, division_has_a_result_for_every_input)
{
    static const struct alu_case cases[] = {
        {"div.s32 %d, %a, %b;", 0xFFFFFFF9, 2, 0, 0xFFFFFFFD},
        {"rem.s32 %d, %a, %b;", 0xFFFFFFF9, 2, 0, 0xFFFFFFFF},
        {"div.u32 %d, %a, %b;", 0xFFFFFFF9, 2, 0, 0x7FFFFFFC},
        {"div.s32 %d, %a, %b;", MIN_32, 0xFFFFFFFF, 0, MIN_32},
        {"rem.s32 %d, %a, %b;", MIN_32, 0xFFFFFFFF, 0, 0},
        {"div.u32 %d, %a, %b;", 7, 0, 0, 0xFFFFFFFF},
        {"rem.u32 %d, %a, %b;", 7, 0, 0, 0xFFFFFFFF},
        {"div.s64 %D, %A, %B;", MIN_64, ONES, 0, MIN_64},
        {"rem.s64 %D, %A, %B;", MIN_64, ONES, 0, 0},
        {"div.u64 %D, %A, %B;", 7, 0, 0, ONES},
        {"div.s16 %hd, %ha, %hb;", 0x8000, 0xFFFF, 0, 0x8000},
        {"rem.u16 %hd, %ha, %hb;", 100, 7, 0, 2},
        {"div.u16 %hd, %ha, %hb;", 100, 0, 0, 0xFFFF},
    };
    ALU_CHECK(cases);
}

Test(alu_integer, signs_and_extremes)
{
    static const struct alu_case cases[] = {
        {"abs.s32 %d, %a;", 0xFFFFFFFB, 0, 0, 5},
        {"abs.s32 %d, %a;", MIN_32, 0, 0, MIN_32},
        {"abs.s16 %hd, %ha;", 0x8000, 0, 0, 0x8000},
        {"neg.s64 %D, %A;", 5, 0, 0, ONES - 4},
        {"neg.s16 %hd, %ha;", 1, 0, 0, 0xFFFF},
        {"min.s32 %d, %a, %b;", 0xFFFFFFFF, 1, 0, 0xFFFFFFFF},
        {"min.u32 %d, %a, %b;", 0xFFFFFFFF, 1, 0, 1},
        {"max.s16 %hd, %ha, %hb;", 0xFFFF, 1, 0, 1},
        {"max.u16 %hd, %ha, %hb;", 0xFFFF, 1, 0, 0xFFFF},
        {"max.s64 %D, %A, %B;", ONES, 1, 0, 1},
        {"min.u64 %D, %A, %B;", ONES, 1, 0, 1},
        {"max.relu.s32 %d, %a, %b;", 0xFFFFFFFE, 0xFFFFFFFF, 0, 0},
        {"min.s16x2 %d, %a, %b;", 0xFFFF0005, 0x00010003, 0, 0xFFFF0003},
        {"min.relu.s16x2 %d, %a, %b;", 0xFFFF0005, 0x00010003, 0, 0x00000003},
        {"max.u16x2 %d, %a, %b;", 0xFFFF0005, 0x00010009, 0, 0xFFFF0009},
        {"sad.u32 %d, %a, %b, %c;", 3, 10, 100, 107},
        {"sad.s32 %d, %a, %b, %c;", 0xFFFFFFFD, 4, 100, 107},
        {"sad.s16 %hd, %ha, %hb, %hc;", 0x8000, 0x7FFF, 1, 0},
        {"sad.u64 %D, %A, %B, %C;", ONES, 1, 2, 0},
    };
    ALU_CHECK(cases);
}

Test(alu_integer, carries_pass_from_word_to_word)
{
    static const struct alu_case cases[] = {
        /* 0xFFFFFFFF + 1 carries; the second word takes it. */
        {"add.cc.u32 %e, %a, %b; addc.u32 %d, %c, 0;", 0xFFFFFFFF, 1, 41, 42},
        {"add.cc.u32 %e, %a, %b; addc.u32 %d, %c, 0;", 0xFFFFFFFE, 1, 41, 41},
        /* The carry out of an addc that only its carry in made. */
        {"add.cc.u32 %e, %a, %b; addc.cc.u32 %e, %a, 0; addc.u32 %d, 0, 0;", 0xFFFFFFFF, 1,
         0, 1},
        {"sub.cc.u32 %e, %a, %b; subc.u32 %d, %c, 0;", 0, 1, 41, 40},
        {"sub.cc.u32 %e, %a, %b; subc.u32 %d, %c, 0;", 1, 1, 41, 41},
        {"add.cc.u64 %E, %A, %B; addc.u64 %D, %C, 0;", ONES, 1, 6, 7},
        {"sub.cc.u64 %E, %A, %B; subc.u64 %D, %C, 0;", 0, ONES, 6, 5},
        {"mad.lo.cc.u32 %e, %a, %b, %c; madc.hi.u32 %d, %a, %b, 0;", 0xFFFFFFFF, 0xFFFFFFFF,
         0xFFFFFFFF, 0xFFFFFFFF},
        {"mad.lo.cc.u64 %E, %A, %B, %C; madc.hi.u64 %D, %A, %B, 0;", ONES, ONES, ONES,
         ONES},
        {"mad.hi.cc.s32 %e, %a, %b, %c; addc.u32 %d, 0, 0;", 0xFFFFFFFF, 1, 1, 1},
        {"add.cc.u32 %e, %a, %b; madc.lo.u32 %d, 3, 4, %c;", 0xFFFFFFFF, 1, 5, 18},
    };
    ALU_CHECK(cases);
}

Test(alu_integer, packed_dot_products_take_the_signs_of_their_types)
{
    static const struct alu_case cases[] = {
        {"dp4a.u32.u32 %d, %a, %b, %c;", 0xFF020304, 0x02010101, 1, 510 + 9 + 1},
        {"dp4a.s32.s32 %d, %a, %b, %c;", 0xFF020304, 0x02010101, 1, 8},
        {"dp4a.s32.u32 %d, %a, %b, %c;", 0xFF000000, 0xFF000000, 0, 0xFFFFFF01},
        {"dp2a.lo.u32.u32 %d, %a, %b, %c;", 0x00020003, 0x07060504, 1, 2 * 5 + 3 * 4 + 1},
        {"dp2a.hi.s32.s32 %d, %a, %b, %c;", 0xFFFF0003, 0x07060504, 0, 3 * 6 - 7},
    };
    ALU_CHECK(cases);
}
