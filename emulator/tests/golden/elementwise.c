/* SPDX-License-Identifier: MIT */
/* Builds and runs the cases that are rows of a table. */
#include "elementwise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 128

static unsigned result_bytes(char letter)
{
    if (letter == 'h') {
        return 2;
    }
    return letter == 'd' ? 8 : 4;
}

static const char *register_type(char letter)
{
    switch (letter) {
    case 'h':
        return "b16";
    case 'd':
        return "b64";
    case 'p':
        return "pred";
    default:
        return "b32";
    }
}

static void add_operations(struct gold_text *ptx, const struct gold_row *row)
{
    const char *at = row->text;
    unsigned result = 0, operand;

    if (strchr(at, '%') != NULL) {
        gold_text_add(ptx, "    %s\n", at);
        return;
    }
    while (*at != '\0') {
        size_t length = strcspn(at, " ");

        gold_text_add(ptx, "    %.*s %%y%u", (int)length, at, result++);
        for (operand = 0; row->in[operand] != '\0'; operand++) {
            gold_text_add(ptx, ", %%x%u", operand);
        }
        gold_text_add(ptx, ";\n");
        at += length + (at[length] == ' ');
    }
}

static char *build_ptx(const struct gold_row *row, const struct gold_style *style,
                       unsigned item_bytes)
{
    struct gold_text ptx = {0};
    unsigned i, offset = 0;

    gold_text_add(&ptx, ".version 8.6\n.target sm_90a\n.address_size 64\n"
                        ".visible .entry run(.param .u64 p_in, .param .u64 p_out,"
                        " .param .u32 p_count)\n{\n"
                        "    .reg .pred %%q<8>, %%guard;\n    .reg .b16 %%h<4>;\n"
                        "    .reg .b32 %%u<16>, %%i, %%n;\n"
                        "    .reg .b64 %%v<8>, %%in, %%out;\n");
    for (i = 0; row->in[i] != '\0'; i++) {
        gold_text_add(&ptx, "    .reg .%s %%x%u;\n",
                      register_type(gold_domain_register(row->in[i])), i);
    }
    for (i = 0; row->out[i] != '\0'; i++) {
        gold_text_add(&ptx, "    .reg .%s %%y%u;\n", register_type(row->out[i]), i);
    }
    if (style->declarations != NULL) {
        gold_text_add(&ptx, "    %s\n", style->declarations);
    }
    gold_text_add(&ptx,
                  "    ld.param.u64 %%in, [p_in];\n    ld.param.u64 %%out, [p_out];\n"
                  "    ld.param.u32 %%n, [p_count];\n"
                  "    mov.u32 %%u0, %%ctaid.x;\n    mov.u32 %%u1, %%tid.x;\n"
                  "    mad.lo.u32 %%i, %%u0, %d, %%u1;\n"
                  "    setp.ge.u32 %%guard, %%i, %%n;\n    @%%guard bra END;\n"
                  "    mad.wide.u32 %%in, %%i, %zu, %%in;\n"
                  "    mad.wide.u32 %%out, %%i, %u, %%out;\n",
                  BLOCK, 8 * strlen(row->in), item_bytes);
    for (i = 0; row->in[i] != '\0'; i++) {
        gold_text_add(&ptx, "    ld.global.%s %%x%u, [%%in+%u];\n",
                      register_type(gold_domain_register(row->in[i])), i, 8 * i);
    }
    add_operations(&ptx, row);
    for (i = 0; row->out[i] != '\0'; i++) {
        if (row->out[i] == 'p') {
            gold_text_add(&ptx,
                          "    selp.u32 %%n, 1, 0, %%y%u;\n"
                          "    st.global.u32 [%%out+%u], %%n;\n",
                          i, offset);
        } else {
            gold_text_add(&ptx, "    st.global.%s [%%out+%u], %%y%u;\n",
                          register_type(row->out[i]), offset, i);
        }
        offset += result_bytes(row->out[i]);
    }
    gold_text_add(&ptx, "END:\n    ret;\n}\n");
    return ptx.text;
}

void gold_row_run(struct gold_run *run, const struct gold_row *row,
                  const struct gold_style *style)
{
    size_t operands = strlen(row->in);
    struct gold_random random = {gold_seed(row->in)};
    struct gold_case one;
    uint64_t *cells;

    memset(&one, 0, sizeof(one));
    one.name = row->name != NULL ? row->name : row->text;
    one.items = style->items != 0 ? style->items : gold_domain_items(row->in);
    one.items = (one.items + BLOCK - 1) / BLOCK * BLOCK;
    one.count = one.items;
    one.grid = one.items / BLOCK;
    one.block = BLOCK;
    one.cluster = 1;
    one.part_bytes = result_bytes(row->out[0]);
    one.item_bytes = (unsigned)strlen(row->out) * one.part_bytes;
    for (unsigned operand = 0; row->out[operand] != '\0'; operand++) {
        if (result_bytes(row->out[operand]) != one.part_bytes) {
            fprintf(stderr, "emu_golden: %s: results of several sizes\n", one.name);
            exit(2);
        }
    }
    cells = gold_alloc((size_t)one.items * operands * sizeof(*cells));
    for (unsigned item = 0; item < one.items; item++) {
        for (unsigned operand = 0; operand < operands; operand++) {
            cells[item * operands + operand] =
                style->value != NULL ? style->value(style->user, operand, item, &random)
                                     : gold_domain_value(row->in, operand, item, &random);
        }
    }
    one.input = cells;
    one.item_input_bytes = (unsigned)(operands * sizeof(*cells));
    one.input_bytes = (size_t)one.items * one.item_input_bytes;
    one.full_items = style->full_items;
    one.block_items = style->block_items;
    one.tolerance = style->tolerance;
    one.record_only = style->record_only;
    char *ptx = build_ptx(row, style, one.item_bytes);
    one.ptx = ptx;
    gold_case_run(run, &one);
    free(ptx);
    free(cells);
}

void gold_rows_run(struct gold_run *run, const struct gold_row *rows, size_t count,
                   const struct gold_style *style)
{
    for (size_t i = 0; i < count; i++) {
        gold_row_run(run, &rows[i], style);
    }
}
