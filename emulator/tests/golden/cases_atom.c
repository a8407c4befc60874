/* SPDX-License-Identifier: MIT */
/*
 * atom and red: each thread has a cell of its own, so the result is one operation's. Items
 * show the cell before, the operand (and the second of cas), and as outputs the value that
 * the instruction returned and the cell after.
 */
#include <stdio.h>
#include <string.h>

#include "elementwise.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

struct operation {
    const char *name; /* operation and type */
    const char *in;   /* cell, operand, second operand */
};

static const struct operation operations[] = {
    {"add.u32", "ii"},        {"add.s32", "ii"},         {"add.u64", "ll"},
    {"add.f32", "ff"},        {"add.f64", "DD"},         {"add.noftz.f16", "hh"},
    {"add.noftz.bf16", "bb"}, {"add.noftz.f16x2", "HH"}, {"add.noftz.bf16x2", "BB"},
    {"min.u32", "ii"},        {"max.u32", "ii"},         {"min.s32", "ii"},
    {"max.s32", "ii"},        {"min.u64", "ll"},         {"max.u64", "ll"},
    {"min.s64", "ll"},        {"max.s64", "ll"},         {"and.b32", "ii"},
    {"or.b32", "ii"},         {"xor.b32", "ii"},         {"and.b64", "ll"},
    {"or.b64", "ll"},         {"xor.b64", "ll"},         {"inc.u32", "ii"},
    {"dec.u32", "ii"},        {"exch.b32", "ii"},        {"exch.b64", "ll"},
    {"cas.b16", "www"},       {"cas.b32", "vvi"},        {"cas.b64", "VVl"},
};

/* Vector red has no atom twin here; the cell is 16 bytes. */
static const struct gold_row vector_rows[] = {
    {"red.global.v2.f32.add",
     "st.global.v2.b32 [%out], {%x0, %x1}; red.relaxed.gpu.global.add.v2.f32 [%out], {%x2, %x3};"
     " ld.relaxed.gpu.global.v2.b32 {%y0, %y1}, [%out];",
     "ffff", "rr"},
    {"red.global.v4.f32.add",
     "st.global.v4.b32 [%out], {%x0, %x1, %x2, %x3};"
     " red.relaxed.gpu.global.add.v4.f32 [%out], {%x3, %x0, %x1, %x2};"
     " ld.relaxed.gpu.global.v4.b32 {%y0, %y1, %y2, %y3}, [%out];",
     "ffff", "rrrr"},
    {"red.global.v4.f16x2.add",
     "st.global.v4.b32 [%out], {%x0, %x1, %x2, %x3};"
     " red.relaxed.gpu.global.add.noftz.v4.f16x2 [%out], {%x3, %x0, %x1, %x2};"
     " ld.relaxed.gpu.global.v4.b32 {%y0, %y1, %y2, %y3}, [%out];",
     "HHHH", "rrrr"},
    {"red.global.v2.bf16x2.max",
     "st.global.v2.b32 [%out], {%x0, %x1};"
     " red.relaxed.gpu.global.max.noftz.v2.bf16x2 [%out], {%x2, %x3};"
     " ld.relaxed.gpu.global.v2.b32 {%y0, %y1}, [%out];",
     "BBBB", "rr"},
    {"red.global.v8.f16.min",
     "st.global.v4.b32 [%out], {%x0, %x1, %x2, %x3}; mov.b32 {%h0, %h1}, %x0;"
     " mov.b32 {%h2, %h3}, %x1;"
     " red.relaxed.gpu.global.min.noftz.v8.f16 [%out], {%h3, %h2, %h1, %h0, %h0, %h1, %h2, %h3};"
     " ld.relaxed.gpu.global.v4.b32 {%y0, %y1, %y2, %y3}, [%out];",
     "HHHH", "rrrr"},
};

/* `space`: global, where the cell is the item's place in the output, or shared. */
static void run_operation(struct gold_run *run, const struct operation *operation,
                          const char *space, bool returns, const struct gold_style *style)
{
    char letter = gold_domain_register(operation->in[0]);
    const char *type = letter == 'h' ? "b16" : letter == 'd' ? "b64" : "b32";
    bool shared = strcmp(space, "shared") == 0;
    const char *address = shared ? "%u2" : "%out";
    const char *second = operation->in[2] == '\0' ? "" : ", %x2";
    char name[64], text[512], out[3] = {letter, '\0', '\0'};
    struct gold_row row = {name, text, operation->in, out};
    const char *cell = "";

    if (returns)
        out[1] = letter;
    if (shared)
        cell = "mov.u32 %u1, %tid.x; mov.u32 %u2, cells; mad.lo.u32 %u2, %u1, 8, %u2; ";
    snprintf(name, sizeof(name), "%s.%s.%s", returns ? "atom" : "red", space,
             operation->name);
    if (returns) {
        snprintf(text, sizeof(text),
                 "%sst.%s.%s [%s], %%x0; atom.%s.%s %%y1, [%s], %%x1%s; "
                 "ld.volatile.%s.%s %%y0, [%s];",
                 cell, space, type, address, space, operation->name, address, second, space,
                 type, address);
    } else {
        snprintf(
            text, sizeof(text),
            "%sst.%s.%s [%s], %%x0; red.%s.%s [%s], %%x1; ld.volatile.%s.%s %%y0, [%s];",
            cell, space, type, address, space, operation->name, address, space, type,
            address);
    }
    gold_row_run(run, &row, style);
}

void gold_atom_cases(struct gold_run *run)
{
    static const struct gold_style style = {.full_items = 8,
                                            .block_items = 64,
                                            .declarations =
                                                ".shared .align 16 .b8 cells[1024];"};

    for (size_t i = 0; i < COUNT(operations); i++) {
        run_operation(run, &operations[i], "global", true, &style);
        run_operation(run, &operations[i], "shared", true, &style);
        /* red has neither exch nor cas. */
        if (strstr(operations[i].name, "exch") == NULL &&
            strstr(operations[i].name, "cas") == NULL) {
            run_operation(run, &operations[i], "global", false, &style);
        }
    }
    gold_rows_run(run, vector_rows, COUNT(vector_rows), &style);
}
