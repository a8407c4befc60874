/* SPDX-License-Identifier: MIT */
/*
 * mma.sync: item i holds what lane i % 32 of warp i / 32 gives and gets. The fragments are
 * filled register by register, so that each case shows the lane map and the arithmetic.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "elementwise.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

struct form {
    const char *shape;
    enum gold_format_id a, b, c; /* c also of D */
    unsigned a_registers, b_registers, c_registers;
    const char *suffix;
};

#define F16  GOLD_FORMAT_F16
#define BF16 GOLD_FORMAT_BF16
#define TF32 GOLD_FORMAT_TF32
#define E4M3 GOLD_FORMAT_E4M3
#define E5M2 GOLD_FORMAT_E5M2
#define S8   GOLD_FORMAT_S8
#define U8   GOLD_FORMAT_U8
#define F32  GOLD_FORMAT_F32
#define S32  GOLD_FORMAT_S32

static const struct form forms[] = {
    {"m16n8k8", F16, F16, F32, 2, 1, 4, ""},
    {"m16n8k8", F16, F16, F16, 2, 1, 2, ""},
    {"m16n8k8", BF16, BF16, F32, 2, 1, 4, ""},
    {"m16n8k16", F16, F16, F32, 4, 2, 4, ""},
    {"m16n8k16", F16, F16, F16, 4, 2, 2, ""},
    {"m16n8k16", BF16, BF16, F32, 4, 2, 4, ""},
    {"m16n8k4", TF32, TF32, F32, 2, 1, 4, ""},
    {"m16n8k8", TF32, TF32, F32, 4, 2, 4, ""},
    {"m16n8k32", E4M3, E4M3, F32, 4, 2, 4, ""},
    {"m16n8k32", E5M2, E4M3, F32, 4, 2, 4, ""},
    {"m16n8k32", E5M2, E5M2, F32, 4, 2, 4, ""},
    {"m8n8k16", S8, S8, S32, 1, 1, 2, ""},
    {"m16n8k16", S8, S8, S32, 2, 1, 4, ""},
    {"m16n8k32", S8, S8, S32, 4, 2, 4, ""},
    {"m16n8k32", S8, U8, S32, 4, 2, 4, ""},
    {"m16n8k32", U8, S8, S32, 4, 2, 4, ""},
    {"m16n8k32", U8, U8, S32, 4, 2, 4, ""},
    {"m16n8k32", S8, S8, S32, 4, 2, 4, ".satfinite"},
    {"m16n8k32", U8, U8, S32, 4, 2, 4, ".satfinite"},
};

/* Exponents that a format can take without the sum of products overflowing. */
static int widest(const struct gold_format *format)
{
    int most = gold_greatest_exponent(format);

    return most < 30 ? most - 2 : 30;
}

/* A register of elements. Warps take turns: moderate, wide, moderate with a large C, and
 * with one special value in sixteen. */
static uint64_t fill_register(const void *user, unsigned operand, unsigned item,
                              struct gold_random *random)
{
    const struct form *form = user;
    bool in_c = operand >= form->a_registers + form->b_registers;
    enum gold_format_id id = operand < form->a_registers ? form->a
                             : in_c                      ? form->c
                                                         : form->b;
    const struct gold_format *format = &gold_formats[id];
    unsigned kind = item / 32 % 4, at;
    uint32_t bits = 0;

    for (at = 0; at < 32; at += format->bits) {
        int low = -3, high = 3;

        if (kind == 1) {
            high = widest(format);
            low = -high;
        } else if (kind == 2 && in_c) {
            low = 4;
            high = 20;
        }
        uint32_t element = gold_element_draw(format, random, low, high);
        if (kind == 3 && gold_random_below(random, 16) == 0) {
            element = gold_element_special(format, gold_random_below(random, 8));
        }
        bits |= element << at;
    }
    return bits;
}

static void add_registers(struct gold_text *text, char letter, unsigned first,
                          unsigned count)
{
    gold_text_add(text, "{");
    for (unsigned i = 0; i < count; i++) {
        gold_text_add(text, "%s%%%c%u", i == 0 ? "" : ", ", letter, first + i);
    }
    gold_text_add(text, "}");
}

static void run_form(struct gold_run *run, const struct form *form)
{
    struct gold_style style = {.items = 256, .full_items = 4, .block_items = 8};
    const char *a = gold_formats[form->a].name, *b = gold_formats[form->b].name;
    const char *c = gold_formats[form->c].name;
    struct gold_text text = {0};
    char name[80], in[16] = "", out[8] = "";
    struct gold_row row = {name, NULL, in, out};

    style.value = fill_register;
    style.user = form;
    memset(in, 'R', form->a_registers + form->b_registers + form->c_registers);
    memset(out, 'r', form->c_registers);
    snprintf(name, sizeof(name), "%s.%s.%s.%s%s", form->shape, c, a, b, form->suffix);
    gold_text_add(&text, "mma.sync.aligned.%s.row.col%s.%s.%s.%s.%s ", form->shape,
                  form->suffix, c, a, b, c);
    add_registers(&text, 'y', 0, form->c_registers);
    gold_text_add(&text, ", ");
    add_registers(&text, 'x', 0, form->a_registers);
    gold_text_add(&text, ", ");
    add_registers(&text, 'x', form->a_registers, form->b_registers);
    gold_text_add(&text, ", ");
    add_registers(&text, 'x', form->a_registers + form->b_registers, form->c_registers);
    gold_text_add(&text, ";");
    row.text = text.text;
    gold_row_run(run, &row, &style);
    free(text.text);
}

void gold_mma_cases(struct gold_run *run)
{
    for (size_t i = 0; i < COUNT(forms); i++) {
        run_form(run, &forms[i]);
    }
}
