/* SPDX-License-Identifier: MIT */
/* Exactly rounded floating-point instructions and comparisons. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elementwise.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Each of these comes in four roundings; "$" stands for the rounding. */
static const struct {
    const char *opcode, *in;
    char result;
} rounded[] = {
    {"add.$.f32", "ff", 'r'},      {"add.$.ftz.f32", "ff", 'r'},
    {"add.$.sat.f32", "ff", 'r'},  {"add.$.ftz.sat.f32", "ff", 'r'},
    {"sub.$.f32", "ff", 'r'},      {"mul.$.f32", "ff", 'r'},
    {"mul.$.ftz.f32", "ff", 'r'},  {"mul.$.sat.f32", "ff", 'r'},
    {"fma.$.f32", "fff", 'r'},     {"fma.$.ftz.f32", "fff", 'r'},
    {"fma.$.sat.f32", "fff", 'r'}, {"fma.$.ftz.sat.f32", "fff", 'r'},
    {"div.$.f32", "ff", 'r'},      {"div.$.ftz.f32", "ff", 'r'},
    {"rcp.$.f32", "f", 'r'},       {"rcp.$.ftz.f32", "f", 'r'},
    {"sqrt.$.f32", "f", 'r'},      {"sqrt.$.ftz.f32", "f", 'r'},
    {"add.$.f64", "DD", 'd'},      {"sub.$.f64", "DD", 'd'},
    {"mul.$.f64", "DD", 'd'},      {"fma.$.f64", "DDD", 'd'},
    {"div.$.f64", "DD", 'd'},      {"rcp.$.f64", "D", 'd'},
    {"sqrt.$.f64", "D", 'd'},
};

static const struct gold_row rows[] = {
    {"min.f32",
     "min.f32 max.f32 min.ftz.f32 max.ftz.f32 min.NaN.f32 max.NaN.f32 min.ftz.NaN.f32 "
     "max.ftz.NaN.f32",
     "ff", "rrrrrrrr"},
    {"min.xorsign.f32",
     "min.xorsign.abs.f32 max.xorsign.abs.f32 min.ftz.NaN.xorsign.abs.f32 "
     "max.NaN.xorsign.abs.f32",
     "ff", "rrrr"},
    {"min.f64", "min.f64 max.f64", "DD", "dd"},
    {"abs.neg.f32", "abs.f32 neg.f32 abs.ftz.f32 neg.ftz.f32", "f", "rrrr"},
    {"abs.neg.f64", "abs.f64 neg.f64", "D", "dd"},
    {"copysign", "copysign.f32", "ff", "r"},
    {"copysign.f64", "copysign.f64", "DD", "d"},
    {"testp.f32",
     "testp.finite.f32 testp.infinite.f32 testp.number.f32 testp.notanumber.f32 "
     "testp.normal.f32 testp.subnormal.f32",
     "f", "pppppp"},
    {"testp.f64",
     "testp.finite.f64 testp.infinite.f64 testp.number.f64 testp.notanumber.f64 "
     "testp.normal.f64 testp.subnormal.f64",
     "D", "pppppp"},
    /* half precision */
    {"add.f16", "add.f16 add.rn.f16 add.ftz.f16 add.sat.f16 add.ftz.sat.f16", "hh",
     "hhhhh"},
    {"sub.f16", "sub.f16 sub.rn.f16 sub.ftz.f16 sub.sat.f16", "hh", "hhhh"},
    {"mul.f16", "mul.f16 mul.rn.f16 mul.ftz.f16 mul.sat.f16", "hh", "hhhh"},
    {"fma.f16",
     "fma.rn.f16 fma.rn.ftz.f16 fma.rn.sat.f16 fma.rn.relu.f16 fma.rn.ftz.relu.f16", "hhh",
     "hhhhh"},
    {"add.f16x2", "add.f16x2 sub.f16x2 mul.f16x2 add.ftz.f16x2 add.sat.f16x2 mul.rn.f16x2",
     "HH", "rrrrrr"},
    {"fma.f16x2", "fma.rn.f16x2 fma.rn.ftz.f16x2 fma.rn.sat.f16x2 fma.rn.relu.f16x2", "HHH",
     "rrrr"},
    {"add.bf16", "add.bf16 sub.bf16 mul.bf16 add.rn.bf16 mul.rn.bf16", "bb", "hhhhh"},
    {"add.bf16x2", "add.bf16x2 sub.bf16x2 mul.bf16x2 add.rn.bf16x2", "BB", "rrrr"},
    {"fma.bf16", "fma.rn.bf16 fma.rn.relu.bf16", "bbb", "hh"},
    {"fma.bf16x2", "fma.rn.bf16x2 fma.rn.relu.bf16x2", "BBB", "rr"},
    {"min.f16",
     "min.f16 max.f16 min.ftz.f16 max.ftz.f16 min.NaN.f16 max.NaN.f16 min.NaN.xorsign.abs.f16 "
     "max.xorsign.abs.f16",
     "hh", "hhhhhhhh"},
    {"min.f16x2", "min.f16x2 max.f16x2 min.NaN.f16x2 max.ftz.NaN.f16x2", "HH", "rrrr"},
    {"min.bf16",
     "min.bf16 max.bf16 min.NaN.bf16 max.NaN.bf16 min.xorsign.abs.bf16 "
     "max.NaN.xorsign.abs.bf16",
     "bb", "hhhhhh"},
    {"min.bf16x2", "min.bf16x2 max.bf16x2 min.NaN.bf16x2 max.NaN.bf16x2", "BB", "rrrr"},
    {"abs.neg.f16", "abs.f16 neg.f16 abs.ftz.f16 neg.ftz.f16", "h", "hhhh"},
    {"abs.neg.f16x2", "abs.f16x2 neg.f16x2", "H", "rr"},
    {"abs.neg.bf16", "abs.bf16 neg.bf16", "b", "hh"},
    {"abs.neg.bf16x2", "abs.bf16x2 neg.bf16x2", "B", "rr"},
    /* comparisons of packed halves, and set */
    {"setp.f16x2",
     "setp.lt.f16x2 %y0|%y1, %x0, %x1; setp.equ.f16x2 %y2|%y3, %x0, %x1; "
     "setp.ge.ftz.f16x2 %y4|%y5, %x0, %x1; setp.ltu.bf16x2 %y6|%y7, %x0, %x1;",
     "HH", "pppppppp"},
    {"setp.combine.f32",
     "setp.gt.f32 %q0, %x2, 0f00000000; setp.lt.and.f32 %y0|%y1, %x0, %x1, %q0; "
     "setp.nan.or.f32 %y2|%y3, %x0, %x1, !%q0; setp.geu.xor.ftz.f32 %y4|%y5, %x0, %x1, %q0;",
     "fff", "pppppp"},
    {"set.f32",
     "set.lt.u32.f32 %y0, %x0, %x1; set.geu.s32.f32 %y1, %x0, %x1; "
     "set.neu.f32.f32 %y2, %x0, %x1; set.gt.ftz.f32.f32 %y3, %x0, %x1;",
     "ff", "rrrr"},
    {"set.f16x2",
     "set.lt.f16x2.f16x2 %y0, %x0, %x1; set.gtu.f16x2.f16x2 %y1, %x0, %x1; "
     "set.ge.bf16x2.bf16x2 %y2, %x0, %x1;",
     "HH", "rrr"},
};

static char *with_rounding(const char *opcode)
{
    static const char *const roundings[] = {"rn", "rz", "rm", "rp"};
    int before = (int)strcspn(opcode, "$");
    struct gold_text text = {0};

    for (size_t i = 0; i < COUNT(roundings); i++) {
        gold_text_add(&text, "%s%.*s%s%s", i == 0 ? "" : " ", before, opcode, roundings[i],
                      opcode + before + 1);
    }
    return text.text;
}

/* All fourteen comparisons of a type. */
static void run_setp(struct gold_run *run, const char *type, const char *in,
                     const struct gold_style *style)
{
    static const char *const comparisons[] = {"eq",  "ne",  "lt",  "le",  "gt",
                                              "ge",  "num", "equ", "neu", "ltu",
                                              "leu", "gtu", "geu", "nan"};
    struct gold_text text = {0};
    struct gold_row row = {NULL, NULL, in, "pppppppppppppp"};
    char name[32];

    for (size_t i = 0; i < COUNT(comparisons); i++) {
        gold_text_add(&text, "%ssetp.%s.%s", i == 0 ? "" : " ", comparisons[i], type);
    }
    snprintf(name, sizeof(name), "setp.%s", type);
    row.name = name;
    row.text = text.text;
    gold_row_run(run, &row, style);
    free(text.text);
}

void gold_float_cases(struct gold_run *run)
{
    static const struct gold_style style = {.full_items = 8, .block_items = 32};
    static const struct gold_style setp = {.full_items = 2, .block_items = 32};

    for (size_t i = 0; i < COUNT(rounded); i++) {
        char out[5] = {rounded[i].result, rounded[i].result, rounded[i].result,
                       rounded[i].result, '\0'};
        char name[40], *text = with_rounding(rounded[i].opcode);
        struct gold_row row = {name, text, rounded[i].in, out};
        int before = (int)strcspn(rounded[i].opcode, "$");

        snprintf(name, sizeof(name), "%.*srX%s", before, rounded[i].opcode,
                 rounded[i].opcode + before + 1);
        gold_row_run(run, &row, &style);
        free(text);
    }
    gold_rows_run(run, rows, COUNT(rows), &style);
    run_setp(run, "f32", "ff", &setp);
    run_setp(run, "ftz.f32", "ff", &setp);
    run_setp(run, "f64", "DD", &setp);
    run_setp(run, "f16", "hh", &setp);
    run_setp(run, "bf16", "bb", &setp);
}
