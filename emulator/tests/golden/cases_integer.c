/* SPDX-License-Identifier: MIT */
/* Integer, bit and comparison instructions. */
#include "elementwise.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct gold_row rows[] = {
    /* sums */
    {"add.16", "add.u16 sub.u16 add.s16 sub.s16", "ww", "hhhh"},
    {"add.32", "add.u32 sub.u32 add.sat.s32 sub.sat.s32", "ii", "rrrr"},
    {"add.64", "add.u64 sub.u64 add.s64 sub.s64", "ll", "dddd"},
    {"add.16x2", "add.u16x2 add.s16x2", "ii", "rr"},
    {"add.cc.32",
     "add.cc.u32 %y0, %x0, %x1; addc.cc.u32 %y1, %x2, %x3; addc.u32 %y2, %x0, %x2;", "iiii",
     "rrr"},
    {"sub.cc.32",
     "sub.cc.u32 %y0, %x0, %x1; subc.cc.u32 %y1, %x2, %x3; subc.u32 %y2, %x0, %x2;", "iiii",
     "rrr"},
    {"add.cc.64",
     "add.cc.u64 %y0, %x0, %x1; addc.cc.u64 %y1, %x2, %x3; addc.u64 %y2, %x0, %x2;", "llll",
     "ddd"},
    {"sub.cc.64",
     "sub.cc.s64 %y0, %x0, %x1; subc.cc.s64 %y1, %x2, %x3; subc.s64 %y2, %x0, %x2;", "llll",
     "ddd"},
    {"mad.cc.32",
     "mad.lo.cc.u32 %y0, %x0, %x1, %x2; madc.hi.cc.u32 %y1, %x0, %x1, %x3; "
     "addc.u32 %y2, 0, 0; mad.hi.cc.s32 %y3, %x0, %x1, %x2; madc.lo.s32 %y4, %x2, %x3, %x1;",
     "iiii", "rrrrr"},
    {"mad.cc.64",
     "mad.lo.cc.u64 %y0, %x0, %x1, %x2; madc.hi.cc.u64 %y1, %x0, %x1, %x3; "
     "addc.u64 %y2, 0, 0;",
     "llll", "ddd"},
    /* products */
    {"mul.16", "mul.lo.u16 mul.hi.u16 mul.lo.s16 mul.hi.s16", "ww", "hhhh"},
    {"mul.wide.16", "mul.wide.u16 mul.wide.s16", "ww", "rr"},
    {"mul.32", "mul.lo.u32 mul.hi.u32 mul.lo.s32 mul.hi.s32", "ii", "rrrr"},
    {"mul.wide.32", "mul.wide.u32 mul.wide.s32", "ii", "dd"},
    {"mul.64", "mul.lo.u64 mul.hi.u64 mul.lo.s64 mul.hi.s64", "ll", "dddd"},
    {"mad.16", "mad.lo.u16 mad.hi.u16 mad.lo.s16 mad.hi.s16", "www", "hhhh"},
    {"mad.32", "mad.lo.u32 mad.hi.u32 mad.lo.s32 mad.hi.s32 mad.hi.sat.s32", "iii",
     "rrrrr"},
    {"mad.64", "mad.lo.u64 mad.hi.u64 mad.lo.s64 mad.hi.s64", "lll", "dddd"},
    {"mad.wide.16",
     "cvt.u16.u32 %h0, %x0; cvt.u16.u32 %h1, %x1; "
     "mad.wide.u16 %y0, %h0, %h1, %x2; mad.wide.s16 %y1, %h0, %h1, %x2;",
     "iii", "rr"},
    {"mad.wide.32",
     "cvt.u32.u64 %u0, %x0; cvt.u32.u64 %u1, %x1; "
     "mad.wide.u32 %y0, %u0, %u1, %x2; mad.wide.s32 %y1, %u0, %u1, %x2;",
     "lll", "dd"},
    {"mul24", "mul24.lo.u32 mul24.hi.u32 mul24.lo.s32 mul24.hi.s32", "ii", "rrrr"},
    {"mad24", "mad24.lo.u32 mad24.hi.u32 mad24.lo.s32 mad24.hi.s32", "iii", "rrrr"},
    {"sad", "sad.u32 sad.s32", "iii", "rr"},
    {"dp4a", "dp4a.u32.u32 dp4a.s32.s32 dp4a.u32.s32 dp4a.s32.u32", "iii", "rrrr"},
    {"dp2a", "dp2a.lo.u32.u32 dp2a.hi.u32.u32 dp2a.lo.s32.s32 dp2a.hi.s32.u32", "iii",
     "rrrr"},
    /* quotients: no zero divisor, whose result is not specified */
    {"div.u16", "div.u16 rem.u16", "wo", "hh"},
    {"div.s16", "div.s16 rem.s16", "wo", "hh"},
    {"div.u32", "div.u32 rem.u32", "in", "rr"},
    {"div.s32", "div.s32 rem.s32", "in", "rr"},
    {"div.u64", "div.u64 rem.u64", "lm", "dd"},
    {"div.s64", "div.s64 rem.s64", "lm", "dd"},
    /* one operand */
    {"abs.neg.16", "abs.s16 neg.s16 not.b16 cnot.b16", "w", "hhhh"},
    {"abs.neg.32", "abs.s32 neg.s32 not.b32 cnot.b32", "i", "rrrr"},
    {"abs.neg.64", "abs.s64 neg.s64 not.b64 cnot.b64", "l", "dddd"},
    {"count.32", "popc.b32 clz.b32 brev.b32", "i", "rrr"},
    {"count.64", "popc.b64 clz.b64", "l", "rr"},
    {NULL, "brev.b64", "l", "d"},
    {"bfind.32", "bfind.u32 bfind.s32 bfind.shiftamt.u32 bfind.shiftamt.s32", "i", "rrrr"},
    {"bfind.64", "bfind.u64 bfind.s64 bfind.shiftamt.u64 bfind.shiftamt.s64", "l", "rrrr"},
    /* lesser and greater */
    {"min.16", "min.u16 max.u16 min.s16 max.s16", "ww", "hhhh"},
    {"min.32", "min.u32 max.u32 min.s32 max.s32 min.relu.s32 max.relu.s32", "ii", "rrrrrr"},
    {"min.64", "min.u64 max.u64 min.s64 max.s64", "ll", "dddd"},
    {"min.16x2", "min.u16x2 max.u16x2 min.s16x2 max.s16x2 min.relu.s16x2 max.relu.s16x2",
     "ii", "rrrrrr"},
    /* bits */
    {"logic.16", "and.b16 or.b16 xor.b16", "ww", "hhh"},
    {"logic.32", "and.b32 or.b32 xor.b32", "ii", "rrr"},
    {"logic.64", "and.b64 or.b64 xor.b64", "ll", "ddd"},
    {"lop3.b32",
     "lop3.b32 %y0, %x0, %x1, %x2, 0x96; lop3.b32 %y1, %x0, %x1, %x2, 0xE8; "
     "lop3.b32 %y2, %x0, %x1, %x2, 0xCA; lop3.b32 %y3, %x0, %x1, %x2, 0x1B; "
     "lop3.b32 %y4, %x0, %x1, %x2, 0x80; lop3.b32 %y5, %x0, %x1, %x2, 0xFE; "
     "lop3.b32 %y6, %x0, %x1, %x2, 0x01; lop3.b32 %y7, %x0, %x1, %x2, 0x35;",
     "iii", "rrrrrrrr"},
    {"shift.16",
     "shl.b16 %y0, %x0, %x1; shr.u16 %y1, %x0, %x1; shr.s16 %y2, %x0, %x1; "
     "shr.b16 %y3, %x0, %x1;",
     "ws", "hhhh"},
    {"shift.32", "shl.b32 shr.u32 shr.s32 shr.b32", "is", "rrrr"},
    {"shift.64", "shl.b64 shr.u64 shr.s64 shr.b64", "ls", "dddd"},
    {"shf.32", "shf.l.clamp.b32 shf.l.wrap.b32 shf.r.clamp.b32 shf.r.wrap.b32", "iis",
     "rrrr"},
    {"bfe.32", "bfe.u32 bfe.s32", "itt", "rr"},
    {"bfe.64", "bfe.u64 bfe.s64", "ltt", "dd"},
    {"bfe.32.inside", "bfe.u32 bfe.s32", "iPP", "rr"},
    {"bfe.64.inside", "bfe.u64 bfe.s64", "lPP", "dd"},
    {NULL, "bfi.b32", "iitt", "r"},
    {NULL, "bfi.b64", "lltt", "d"},
    {"bfi.b32.inside", "bfi.b32", "iiPP", "r"},
    {"bfi.b64.inside", "bfi.b64", "llPP", "d"},
    {"bmsk", "bmsk.clamp.b32 bmsk.wrap.b32", "ss", "rr"},
    {"szext", "szext.clamp.s32 szext.wrap.s32 szext.clamp.u32 szext.wrap.u32", "is",
     "rrrr"},
    {"prmt.b32", "prmt.b32", "iiR", "r"},
    {"prmt.modes",
     "prmt.b32.f4e prmt.b32.b4e prmt.b32.rc8 prmt.b32.ecl prmt.b32.ecr prmt.b32.rc16",
     "iiR", "rrrrrr"},
    {"mov.pack",
     "mov.b64 %v0, {%x0, %x1}; mov.b64 {%y0, %y1}, %v0; mov.b32 {%h0, %h1}, %x0; "
     "mov.b32 %y2, {%h1, %h0}; mov.b64 {%h0, %h1, %h2, %h3}, %v0; "
     "mov.b64 %v1, {%h3, %h2, %h1, %h0}; mov.b64 {%y3, %y4}, %v1;",
     "ii", "rrrrr"},
    /* choice */
    {"selp",
     "setp.lt.s32 %q0, %x0, %x1; selp.b32 %y0, %x1, %x2, %q0; selp.s32 %y1, 7, %x0, %q0;",
     "iii", "rr"},
    {"slct",
     "slct.u32.s32 %y0, %x0, %x1, %x2; slct.b32.f32 %y1, %x0, %x1, %x2;"
     " slct.ftz.b32.f32 %y2, %x0, %x1, %x2;",
     "iif", "rrr"},
    /* comparisons */
    {"setp.s16", "setp.eq.s16 setp.ne.s16 setp.lt.s16 setp.le.s16 setp.gt.s16 setp.ge.s16",
     "ww", "pppppp"},
    {"setp.u16",
     "setp.eq.u16 setp.ne.u16 setp.lo.u16 setp.ls.u16 setp.hi.u16 setp.hs.u16 setp.lt.u16 "
     "setp.le.u16 setp.gt.u16 setp.ge.u16",
     "ww", "pppppppppp"},
    {"setp.s32", "setp.eq.s32 setp.ne.s32 setp.lt.s32 setp.le.s32 setp.gt.s32 setp.ge.s32",
     "ii", "pppppp"},
    {"setp.u32",
     "setp.eq.u32 setp.ne.u32 setp.lo.u32 setp.ls.u32 setp.hi.u32 setp.hs.u32 setp.lt.u32 "
     "setp.le.u32 setp.gt.u32 setp.ge.u32",
     "ii", "pppppppppp"},
    {"setp.s64", "setp.eq.s64 setp.ne.s64 setp.lt.s64 setp.le.s64 setp.gt.s64 setp.ge.s64",
     "ll", "pppppp"},
    {"setp.u64",
     "setp.eq.u64 setp.ne.u64 setp.lo.u64 setp.ls.u64 setp.hi.u64 setp.hs.u64 setp.lt.u64 "
     "setp.le.u64 setp.gt.u64 setp.ge.u64",
     "ll", "pppppppppp"},
    {"setp.b", "setp.eq.b32 setp.ne.b32", "ii", "pp"},
    {"setp.combine",
     "setp.gt.s32 %q0, %x2, 0; setp.lt.and.s32 %y0|%y1, %x0, %x1, %q0; "
     "setp.lt.or.u32 %y2|%y3, %x0, %x1, %q0; setp.ge.xor.s32 %y4|%y5, %x0, %x1, !%q0;",
     "iii", "pppppp"},
    {"set",
     "set.lt.u32.s32 %y0, %x0, %x1; set.hi.s32.u32 %y1, %x0, %x1; set.eq.f32.s32 %y2, %x0, %x1;",
     "ii", "rrr"},
    {"pred.logic",
     "setp.lt.s32 %q0, %x0, %x1; setp.lt.u32 %q1, %x0, %x2; and.pred %y0, %q0, %q1; "
     "or.pred %y1, %q0, %q1; xor.pred %y2, %q0, %q1; not.pred %y3, %q0; mov.pred %y4, %q1;",
     "iii", "ppppp"},
};

void gold_integer_cases(struct gold_run *run)
{
    static const struct gold_style style = {.full_items = 8, .block_items = 32};

    gold_rows_run(run, rows, COUNT(rows), &style);
}
