/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "listing_code.h"

bool code_starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The instruction at a label that a branch names. */
static int find_label(struct code *code, const char *name)
{
    for (int i = 0; i < code->label_count; i++) {
        if (strcmp(code->labels[i].name, name) == 0 &&
            code->labels[i].instruction < code->instruction_count) {
            code->labels[i].is_used = true;
            return code->labels[i].instruction;
        }
    }
    return NONE;
}

static void cut_blocks(struct code *code)
{
    char *is_first = cli_alloc((size_t)code->instruction_count + 1);

    memset(is_first, 0, (size_t)code->instruction_count + 1);
    is_first[0] = 1;
    for (int i = 0; i < code->label_count; i++) {
        is_first[code->labels[i].instruction] = 1;
    }
    for (int i = 0; i < code->instruction_count; i++) {
        if (code->instructions[i].ends || code->instructions[i].target[0]) {
            is_first[i + 1] = 1;
        }
    }
    for (int i = 0; i < code->instruction_count; i++) {
        if (is_first[i]) {
            code->blocks[code->block_count++] =
                (struct block){.first = i, .order = NONE, .dominator = NONE};
        }
        code->instructions[i].block = code->block_count - 1;
        code->blocks[code->block_count - 1].count++;
    }
    free(is_first);
}

static void connect_blocks(struct code *code)
{
    for (int i = 0; i < code->block_count; i++) {
        struct block *block = &code->blocks[i];
        const struct instruction *last =
            &code->instructions[block->first + block->count - 1];
        int target = last->target[0] ? find_label(code, last->target) : NONE;

        block->next[0] =
            (last->ends && !last->is_guarded) || i + 1 == code->block_count ? NONE : i + 1;
        block->next[1] =
            target == NONE || last->is_mention ? NONE : code->instructions[target].block;
        block->is_indirect = code_starts_with(last->opcode, "BRX");
    }
    for (int i = 0; i < code->label_count; i++) {
        const struct label *label = &code->labels[i];

        if (!label->is_used && label->instruction < code->instruction_count) {
            code->blocks[code->instructions[label->instruction].block].is_in_table = true;
        }
    }
}

bool code_leads_to(const struct code *code, int from, int to)
{
    const struct block *block = &code->blocks[from];

    return block->next[0] == to || block->next[1] == to ||
           (block->is_indirect && code->blocks[to].is_in_table);
}

/* Numbers the blocks that are reached, every one after those that lead only to it. */
static void order_blocks(struct code *code)
{
    size_t count = (size_t)code->block_count;
    int *stack = cli_alloc(count * sizeof(*stack));
    int *step = cli_alloc(count * sizeof(*step));
    int depth = 0, left = code->block_count;

    memset(step, 0, count * sizeof(*step));
    stack[depth++] = 0;
    code->blocks[0].order = 0; /* seen; the number comes later */
    while (depth > 0) {
        int at = stack[depth - 1];

        if (step[at] < code->block_count) {
            int next = step[at]++;

            if (code->blocks[next].order == NONE && code_leads_to(code, at, next)) {
                code->blocks[next].order = 0;
                stack[depth++] = next;
            }
        } else {
            code->order[--left] = at;
            depth--;
        }
    }
    code->order_count = code->block_count - left;
    memmove(code->order, code->order + left,
            (size_t)code->order_count * sizeof(*code->order));
    for (int i = 0; i < code->order_count; i++) {
        code->blocks[code->order[i]].order = i;
    }
    free(stack);
    free(step);
}

static int meet(const struct code *code, int x, int y)
{
    while (x != y) {
        while (code->blocks[x].order > code->blocks[y].order) {
            x = code->blocks[x].dominator;
        }
        while (code->blocks[y].order > code->blocks[x].order) {
            y = code->blocks[y].dominator;
        }
    }
    return x;
}

static void find_dominators(struct code *code)
{
    bool changed = true;

    code->blocks[0].dominator = 0;
    while (changed) {
        changed = false;
        for (int i = 1; i < code->order_count; i++) {
            int at = code->order[i], found = NONE;

            for (int j = 0; j < code->order_count; j++) {
                int from = code->order[j];

                if (code_leads_to(code, from, at) && code->blocks[from].dominator != NONE) {
                    found = found == NONE ? from : meet(code, from, found);
                }
            }
            changed = changed || code->blocks[at].dominator != found;
            code->blocks[at].dominator = found;
        }
    }
}

bool code_dominates(const struct code *code, int upper, int lower)
{
    while (code->blocks[lower].order > code->blocks[upper].order) {
        lower = code->blocks[lower].dominator;
    }
    return upper == lower;
}

void code_connect(struct code *code)
{
    const size_t most = (size_t)code->instruction_count;

    code->blocks = cli_alloc(most * sizeof(*code->blocks));
    code->order = cli_alloc(most * sizeof(*code->order));
    cut_blocks(code);
    connect_blocks(code);
    order_blocks(code);
    find_dominators(code);
}
