/* SPDX-License-Identifier: MIT */
/* cvt: every form that sm_90a has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elementwise.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* A kind of number: its name in PTX, its register, its domain when it becomes an integer
 * and when it becomes another float. */
struct number {
    const char *name;
    const char *result; /* letter of a result */
    const char *domain; /* of a source */
};

static const struct number ints[] = {
    {"s8", "r", "i"},  {"u8", "r", "i"},  {"s16", "h", "w"}, {"u16", "h", "w"},
    {"s32", "r", "i"}, {"u32", "r", "i"}, {"s64", "d", "l"}, {"u64", "d", "l"},
};
static const struct number floats[] = {
    {"f16", "h", "h"},
    {"bf16", "h", "b"},
    {"f32", "r", "I"},
    {"f64", "d", "J"},
};

static const struct gold_row narrow_rows[] = {
    {NULL, "cvt.rn.bf16.f32", "r", "h"},
    {NULL, "cvt.rz.bf16.f32", "r", "h"},
    {NULL, "cvt.rn.relu.bf16.f32", "r", "h"},
    {NULL, "cvt.rz.relu.bf16.f32", "r", "h"},
    {NULL, "cvt.rn.satfinite.bf16.f32", "r", "h"},
    {NULL, "cvt.rn.relu.satfinite.bf16.f32", "r", "h"},
    {NULL, "cvt.rm.bf16.f32", "r", "h"},
    {NULL, "cvt.rp.bf16.f32", "r", "h"},
    {NULL, "cvt.rn.f16.f32", "r", "h"},
    {NULL, "cvt.rz.f16.f32", "r", "h"},
    {NULL, "cvt.rm.f16.f32", "r", "h"},
    {NULL, "cvt.rp.f16.f32", "r", "h"},
    {NULL, "cvt.rn.ftz.f16.f32", "r", "h"},
    {NULL, "cvt.rn.sat.f16.f32", "r", "h"},
    {NULL, "cvt.rn.relu.f16.f32", "r", "h"},
    {NULL, "cvt.rz.relu.f16.f32", "r", "h"},
    {NULL, "cvt.rn.satfinite.f16.f32", "r", "h"},
    {NULL, "cvt.rn.relu.satfinite.f16.f32", "r", "h"},
    {NULL, "cvt.rn.bf16x2.f32", "rr", "r"},
    {NULL, "cvt.rz.bf16x2.f32", "rr", "r"},
    {NULL, "cvt.rn.relu.bf16x2.f32", "rr", "r"},
    {NULL, "cvt.rz.relu.bf16x2.f32", "rr", "r"},
    {NULL, "cvt.rn.satfinite.bf16x2.f32", "rr", "r"},
    {NULL, "cvt.rn.relu.satfinite.bf16x2.f32", "rr", "r"},
    {NULL, "cvt.rn.f16x2.f32", "rr", "r"},
    {NULL, "cvt.rz.f16x2.f32", "rr", "r"},
    {NULL, "cvt.rn.relu.f16x2.f32", "rr", "r"},
    {NULL, "cvt.rz.relu.f16x2.f32", "rr", "r"},
    {NULL, "cvt.rn.satfinite.f16x2.f32", "rr", "r"},
    {NULL, "cvt.rn.relu.satfinite.f16x2.f32", "rr", "r"},
    {NULL, "cvt.rna.tf32.f32", "r", "r"},
    {NULL, "cvt.rna.satfinite.tf32.f32", "r", "r"},
    {NULL, "cvt.rn.tf32.f32", "r", "r"},
    {NULL, "cvt.rz.tf32.f32", "r", "r"},
    {NULL, "cvt.rn.relu.tf32.f32", "r", "r"},
    {NULL, "cvt.rz.relu.tf32.f32", "r", "r"},
    {"cvt.f32.f64", "cvt.rn.f32.f64 cvt.rz.f32.f64 cvt.rm.f32.f64 cvt.rp.f32.f64", "N",
     "rrrr"},
    {"cvt.ftz.f32.f64",
     "cvt.rn.ftz.f32.f64 cvt.rz.ftz.f32.f64 cvt.rm.ftz.f32.f64 cvt.rp.ftz.f32.f64", "N",
     "rrrr"},
    {NULL, "cvt.rn.sat.f32.f64", "N", "r"},
    {"cvt.f16.f64", "cvt.rn.f16.f64 cvt.rz.f16.f64 cvt.rm.f16.f64 cvt.rp.f16.f64", "N",
     "hhhh"},
    {"cvt.bf16.f64", "cvt.rn.bf16.f64 cvt.rz.bf16.f64 cvt.rm.bf16.f64 cvt.rp.bf16.f64", "N",
     "hhhh"},
    {"cvt.bf16.f16", "cvt.rn.bf16.f16 cvt.rz.bf16.f16 cvt.rm.bf16.f16 cvt.rp.bf16.f16", "h",
     "hhhh"},
    {"cvt.f16.bf16", "cvt.rn.f16.bf16 cvt.rz.f16.bf16 cvt.rm.f16.bf16 cvt.rp.f16.bf16", "b",
     "hhhh"},
    {NULL, "cvt.f64.f32", "f", "d"},
    {NULL, "cvt.ftz.f64.f32", "f", "d"},
    {NULL, "cvt.sat.f64.f32", "f", "d"},
    {NULL, "cvt.f64.f16", "h", "d"},
    {NULL, "cvt.f64.bf16", "b", "d"},
    {NULL, "cvt.sat.f32.f16", "h", "r"},
    {NULL, "cvt.ftz.f32.f16", "h", "r"},
    {NULL, "cvt.sat.f32.f32", "f", "r"},
    {NULL, "cvt.sat.f16.f16", "h", "h"},
    {NULL, "cvt.sat.f64.f64", "D", "d"},
    {NULL, "cvt.ftz.f32.f32", "f", "r"},
    {"cvt.rXi.f32.f32", "cvt.rni.f32.f32 cvt.rzi.f32.f32 cvt.rmi.f32.f32 cvt.rpi.f32.f32",
     "I", "rrrr"},
    {"cvt.rXi.ftz.f32.f32",
     "cvt.rni.ftz.f32.f32 cvt.rzi.ftz.f32.f32 cvt.rmi.ftz.f32.f32 cvt.rpi.ftz.f32.f32", "f",
     "rrrr"},
    {"cvt.rXi.f64.f64", "cvt.rni.f64.f64 cvt.rzi.f64.f64 cvt.rmi.f64.f64 cvt.rpi.f64.f64",
     "J", "dddd"},
    {"cvt.rXi.f16.f16", "cvt.rni.f16.f16 cvt.rzi.f16.f16 cvt.rmi.f16.f16 cvt.rpi.f16.f16",
     "h", "hhhh"},
    {"cvt.rXi.bf16.bf16",
     "cvt.rni.bf16.bf16 cvt.rzi.bf16.bf16 cvt.rmi.bf16.bf16 cvt.rpi.bf16.bf16", "b",
     "hhhh"},
    {"cvt.pack.sat.16", "cvt.pack.sat.s16.s32 cvt.pack.sat.u16.s32", "ii", "rr"},
    {"cvt.pack.sat.8",
     "cvt.pack.sat.s8.s32.b32 cvt.pack.sat.u8.s32.b32 cvt.pack.sat.s4.s32.b32 "
     "cvt.pack.sat.u4.s32.b32",
     "iii", "rrrr"},
};

static const struct gold_row fp8_rows[] = {
    {NULL, "cvt.rn.satfinite.e4m3x2.f32", "qq", "h"},
    {NULL, "cvt.rn.satfinite.relu.e4m3x2.f32", "qq", "h"},
    {NULL, "cvt.rn.satfinite.e5m2x2.f32", "QQ", "h"},
    {NULL, "cvt.rn.satfinite.relu.e5m2x2.f32", "QQ", "h"},
    {NULL, "cvt.rn.f16x2.e4m3x2", "e", "r"},
    {NULL, "cvt.rn.relu.f16x2.e4m3x2", "e", "r"},
    {NULL, "cvt.rn.f16x2.e5m2x2", "e", "r"},
    {NULL, "cvt.rn.relu.f16x2.e5m2x2", "e", "r"},
};

/* Every 16-bit value. */
static const struct gold_row exhaustive_rows[] = {
    {NULL, "cvt.rn.satfinite.e4m3x2.f16x2", "A", "h"},
    {NULL, "cvt.rn.satfinite.relu.e4m3x2.f16x2", "A", "h"},
    {NULL, "cvt.rn.satfinite.e5m2x2.f16x2", "A", "h"},
    {NULL, "cvt.rn.satfinite.relu.e5m2x2.f16x2", "A", "h"},
    {"cvt.e4m3x2.f32.of_bf16", "cvt.rn.satfinite.e4m3x2.f32", "yy", "h"},
    {"cvt.e5m2x2.f32.of_bf16", "cvt.rn.satfinite.e5m2x2.f32", "yy", "h"},
    {"cvt.f16.f32.of_bf16", "cvt.rn.f16.f32", "y", "h"},
    {NULL, "cvt.f32.f16", "a", "r"},
    {NULL, "cvt.f32.bf16", "a", "r"},
};

/* Four opcodes that differ in one modifier. */
static void run_four(struct gold_run *run, const char *const modifiers[4], const char *rest,
                     const char *domain, const char *result, const char *name,
                     const struct gold_style *style)
{
    char text[256], out[5] = {*result, *result, *result, *result, '\0'};
    struct gold_row row = {name, text, domain, out};

    snprintf(text, sizeof(text), "cvt.%s%s cvt.%s%s cvt.%s%s cvt.%s%s", modifiers[0], rest,
             modifiers[1], rest, modifiers[2], rest, modifiers[3], rest);
    gold_row_run(run, &row, style);
}

static void run_float_and_integer(struct gold_run *run, const struct gold_style *style)
{
    static const char *const to_integer[] = {"rni", "rzi", "rmi", "rpi"};
    static const char *const to_float[] = {"rn", "rz", "rm", "rp"};
    char rest[32], name[64];

    for (size_t f = 0; f < COUNT(floats); f++) {
        for (size_t i = 0; i < COUNT(ints); i++) {
            /* bf16 to or from bytes wants 8-bit registers, which no compiler uses. */
            if (i < 2 && strcmp(floats[f].name, "bf16") == 0) {
                continue;
            }
            snprintf(rest, sizeof(rest), ".%s.%s", ints[i].name, floats[f].name);
            snprintf(name, sizeof(name), "cvt.rXi%s", rest);
            run_four(run, to_integer, rest, floats[f].domain, ints[i].result, name, style);
            snprintf(rest, sizeof(rest), ".%s.%s", floats[f].name, ints[i].name);
            snprintf(name, sizeof(name), "cvt.rX%s", rest);
            run_four(run, to_float, rest, ints[i].domain, floats[f].result, name, style);
        }
    }
    run_four(run, to_integer, ".ftz.s32.f32", "f", "r", "cvt.rXi.ftz.s32.f32", style);
    run_four(run, to_integer, ".ftz.u64.f32", "f", "d", "cvt.rXi.ftz.u64.f32", style);
    run_four(run, to_integer, ".sat.s8.f32", "I", "r", "cvt.rXi.sat.s8.f32", style);
    run_four(run, to_integer, ".sat.u16.f64", "J", "h", "cvt.rXi.sat.u16.f64", style);
}

/* .sat is legal only where a value may not fit. The tables have s8, u8, s16, … in order. */
static bool always_fits(size_t from, size_t to)
{
    bool from_signed = from % 2 == 0, to_signed = to % 2 == 0;

    if (from_signed == to_signed) {
        return to >= from;
    }
    return !from_signed && to / 2 > from / 2;
}

static void add_integer(struct gold_text *text, const char *modifier, size_t from,
                        size_t to, size_t result)
{
    char letter = *ints[to].result;
    const char *wide = letter == 'h' ? "%h0" : letter == 'd' ? "%v1" : "%u1";
    const char *move = letter == 'h'   ? "cvt.u32.u16"
                       : letter == 'd' ? "cvt.u32.u64"
                                       : "mov.b32";

    gold_text_add(text, "cvt%s.%s.%s %s, %%x0; %s %%y%zu, %s;\n    ", modifier,
                  ints[to].name, ints[from].name, wide, move, result, wide);
}

/* A source to every integer type, plain and (where it may not fit) saturating. */
static void run_integer(struct gold_run *run, const struct gold_style *style)
{
    struct gold_text text = {0};
    struct gold_row row;
    char name[64];

    for (size_t from = 0; from < COUNT(ints); from++) {
        text.length = 0;
        for (size_t to = 0; to < COUNT(ints); to++) {
            add_integer(&text, "", from, to, 2 * to);
            add_integer(&text, always_fits(from, to) ? "" : ".sat", from, to, 2 * to + 1);
        }
        snprintf(name, sizeof(name), "cvt.to_all.%s", ints[from].name);
        row = (struct gold_row){name, text.text, ints[from].domain, "rrrrrrrrrrrrrrrr"};
        gold_row_run(run, &row, style);
    }
    row = (struct gold_row){
        "cvt.to_64", "cvt.s64.s32 cvt.u64.s32 cvt.sat.u64.s32 cvt.u64.u32", "i", "dddd"};
    gold_row_run(run, &row, style);
    free(text.text);
}

void gold_cvt_cases(struct gold_run *run)
{
    static const struct gold_style plain = {.full_items = 8, .block_items = 32};
    static const struct gold_style fp8 = {.full_items = 32, .block_items = 32};
    static const struct gold_style exhaustive = {.full_items = 16, .block_items = 512};
    static const struct gold_style wide = {.full_items = 2, .block_items = 16};

    gold_rows_run(run, narrow_rows, COUNT(narrow_rows), &plain);
    gold_rows_run(run, fp8_rows, COUNT(fp8_rows), &fp8);
    gold_rows_run(run, exhaustive_rows, COUNT(exhaustive_rows), &exhaustive);
    run_float_and_integer(run, &plain);
    run_integer(run, &wide);
}
