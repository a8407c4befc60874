/* SPDX-License-Identifier: MIT */
#include "listing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { NONE = -1, LINE_SIZE = 512, LABEL_SIZE = 64 };

/* One instruction; its block is what a run of instructions without a branch or a label is.
 */
struct instruction {
    uint32_t address;
    char opcode[24];
    char target[LABEL_SIZE]; /* the label that it names, or "" */
    int is_mention;          /* and does not go to: where threads meet again */
    int is_guarded;          /* may be skipped */
    int ends;                /* what follows is reached by a label alone, unless guarded */
    int block;
};

struct label {
    char name[LABEL_SIZE];
    int instruction; /* that follows it */
    int is_used;     /* by a branch that names it */
};

struct block {
    int first, count; /* instructions */
    int next[2];      /* blocks that may follow, or NONE */
    int is_indirect;  /* those of the table may follow too */
    int is_in_table;  /* no branch names it: an indirect one goes there */
    int order;        /* in a reverse postorder; NONE: never reached */
    int dominator;    /* the immediate one */
};

struct code {
    struct instruction *instructions;
    struct label *labels;
    struct block *blocks;
    int *order; /* blocks in reverse postorder */
    int instruction_count, label_count, block_count, order_count;
};

int listing_is_multiplication(const char *name)
{
    size_t length = strlen(name);

    /* UTCHMMA, UTCQMMA, UTCIMMA, UTCOMMA; HGMMA, QGMMA, IGMMA; HMMA and its like. */
    return length >= 3 && strcmp(name + length - 3, "MMA") == 0;
}

/* ------------------------------------------------------------------------- reading */

static int starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static void copy_part(char *target, size_t size, const char *from, size_t length)
{
    snprintf(target, size, "%.*s", (int)(length < size ? length : size - 1), from);
}

static int is_branch(const char *opcode)
{
    return strcmp(opcode, "BRA") == 0 || strcmp(opcode, "WARPSYNC") == 0;
}

/* What follows an instruction of these is reached from elsewhere. */
static int ends_flow(const char *opcode)
{
    static const char *const names[] = {"EXIT", "RET", "BRX", "BRXU", "JMX", "KILL", "BPT"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(opcode, names[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

/* An address between the marks of a comment, perhaps a guard, an opcode, operands, as in
 * `@P0 BRA `(.L_x_0) ;`. 0 if the line is none. */
static int read_instruction(const char *line, struct instruction *ret_instruction)
{
    struct instruction result = {.block = NONE};
    const char *label, *at = line + strspn(line, " ");
    char *end = NULL;
    unsigned long address;
    size_t length;

    if (!starts_with(at, "/*")) {
        return 0;
    }
    address = strtoul(at + 2, &end, 16);
    if (end == at + 2 || !starts_with(end, "*/")) {
        return 0;
    }
    at = end + 2;
    at += strspn(at, " {");
    if (*at == '@') {
        result.is_guarded = 1;
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    length = strcspn(at, " .;");
    if (length == 0) {
        return 0;
    }
    result.address = (uint32_t)address;
    copy_part(result.opcode, sizeof result.opcode, at, length);
    label = strstr(at, "`(");
    if (label) {
        copy_part(result.target, sizeof result.target, label + 2, strcspn(label + 2, ")"));
        result.is_mention = !is_branch(result.opcode);
    }
    if (label && !result.is_mention) {
        const char *operands = at + strcspn(at, " ");

        /* A predicate among the operands guards a branch of the uniform kind. */
        result.is_guarded |= operands + strspn(operands, " ") != label;
        result.ends = strcmp(result.opcode, "BRA") == 0;
    }
    result.ends |= ends_flow(result.opcode);
    *ret_instruction = result;
    return 1;
}

/* `.L_x_1:` */
static int read_label(const char *line, int next, struct label *ret_label)
{
    size_t length = strcspn(line, ":");

    if (line[0] != '.' || line[length] != ':' || length >= LABEL_SIZE) {
        return 0;
    }
    *ret_label = (struct label){.instruction = next};
    copy_part(ret_label->name, sizeof ret_label->name, line, length);
    return 1;
}

/* Where the kernel's section begins; NULL if the text has none. */
static const char *find_section(const char *text, const char *kernel)
{
    char head[320];
    const char *at;

    snprintf(head, sizeof head, "\t.section\t.text.%s,", kernel);
    at = strstr(text, head);
    return at ? at + strlen(head) : NULL;
}

static void read_lines(const char *text, struct code *code)
{
    char line[LINE_SIZE];

    for (const char *at = text; *at && !starts_with(at, "\t.section\t");) {
        size_t length = strcspn(at, "\n");

        copy_part(line, sizeof line, at, length);
        if (read_label(line, code->instruction_count, &code->labels[code->label_count])) {
            code->label_count++;
        } else if (read_instruction(line, &code->instructions[code->instruction_count])) {
            code->instruction_count++;
        }
        at += length + (at[length] == '\n');
    }
}

/* -------------------------------------------------------------------- flow of control */

/* The instruction at a label that a branch names. */
static int find_label(struct code *code, const char *name)
{
    for (int i = 0; i < code->label_count; i++) {
        if (strcmp(code->labels[i].name, name) == 0 &&
            code->labels[i].instruction < code->instruction_count) {
            code->labels[i].is_used = 1;
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
        block->is_indirect = starts_with(last->opcode, "BRX");
    }
    for (int i = 0; i < code->label_count; i++) {
        const struct label *label = &code->labels[i];

        if (!label->is_used && label->instruction < code->instruction_count) {
            code->blocks[code->instructions[label->instruction].block].is_in_table = 1;
        }
    }
}

static int leads_to(const struct code *code, int from, int to)
{
    const struct block *block = &code->blocks[from];

    return block->next[0] == to || block->next[1] == to ||
           (block->is_indirect && code->blocks[to].is_in_table);
}

/* Numbers the blocks that are reached, every one after those that lead to it alone. */
static void order_blocks(struct code *code)
{
    size_t count = (size_t)code->block_count;
    int *stack = cli_alloc(count * sizeof *stack);
    int *step = cli_alloc(count * sizeof *step);
    int depth = 0, left = code->block_count;

    memset(step, 0, count * sizeof *step);
    stack[depth++] = 0;
    code->blocks[0].order = 0; /* seen; the number comes later */
    while (depth > 0) {
        int at = stack[depth - 1];

        if (step[at] < code->block_count) {
            int next = step[at]++;

            if (code->blocks[next].order == NONE && leads_to(code, at, next)) {
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
            (size_t)code->order_count * sizeof *code->order);
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
    int changed = 1;

    code->blocks[0].dominator = 0;
    while (changed) {
        changed = 0;
        for (int i = 1; i < code->order_count; i++) {
            int at = code->order[i], found = NONE;

            for (int j = 0; j < code->order_count; j++) {
                int from = code->order[j];

                if (leads_to(code, from, at) && code->blocks[from].dominator != NONE) {
                    found = found == NONE ? from : meet(code, from, found);
                }
            }
            changed |= code->blocks[at].dominator != found;
            code->blocks[at].dominator = found;
        }
    }
}

static int dominates(const struct code *code, int upper, int lower)
{
    while (code->blocks[lower].order > code->blocks[upper].order) {
        lower = code->blocks[lower].dominator;
    }
    return upper == lower;
}

/* ------------------------------------------------------------------------------- loops */

/* Marks the blocks of the loop with this header: those that reach a branch back to it. */
static int mark_loop(const struct code *code, int header, char *is_inside)
{
    int changed = 1, found = 0;

    memset(is_inside, 0, (size_t)code->block_count);
    for (int i = 0; i < code->order_count; i++) {
        int at = code->order[i];

        if (leads_to(code, at, header) && dominates(code, header, at)) {
            is_inside[at] = 1;
            found = 1;
        }
    }
    while (found && changed) {
        changed = 0;
        for (int i = 0; i < code->order_count; i++) {
            int at = code->order[i];

            for (int next = 0; next < code->block_count && !is_inside[at]; next++) {
                if (at != header && next != header && is_inside[next] &&
                    leads_to(code, at, next)) {
                    is_inside[at] = 1;
                    changed = 1;
                }
            }
        }
    }
    is_inside[header] = (char)found;
    return found;
}

static void count_block(const struct code *code, int at, struct listing_loop *loop)
{
    const struct block *block = &code->blocks[at];

    loop->instructions += (unsigned)block->count;
    for (int i = block->first; i < block->first + block->count; i++) {
        const char *opcode = code->instructions[i].opcode;

        loop->multiplications += (unsigned)listing_is_multiplication(opcode);
        loop->tma_loads += strcmp(opcode, "UTMALDG") == 0;
        loop->commits += strcmp(opcode, "UTCBAR") == 0;
        loop->tmem_loads += strcmp(opcode, "LDTM") == 0;
    }
}

/* A repeated wait stands aside: a loop of its own and the way back. What the headers of
 * such loops dominate does not count, unless every turn passes there. */
static int is_aside(const struct code *code, int at, int header, const char *is_header,
                    const char *is_inside)
{
    for (int inner = at; inner != header; inner = code->blocks[inner].dominator) {
        if (is_header[inner] && is_inside[inner]) {
            int always = 1;

            for (int i = 0; i < code->order_count; i++) {
                int latch = code->order[i];

                if (is_inside[latch] && leads_to(code, latch, header)) {
                    always &= dominates(code, inner, latch);
                }
            }
            if (!always) {
                return 1;
            }
        }
    }
    return 0;
}

static void find_loops(const struct code *code, struct listing *listing)
{
    size_t count = (size_t)code->block_count;
    char *is_inside = cli_alloc(count), *is_header = cli_alloc(count);

    for (int i = 0; i < code->block_count; i++) {
        is_header[i] =
            (char)(code->blocks[i].order != NONE && mark_loop(code, i, is_inside));
    }
    for (int header = 0; header < code->block_count; header++) {
        struct listing_loop loop = {0}, inner = {0};

        if (!is_header[header] || listing->loop_count == LISTING_MAX_LOOPS) {
            continue;
        }
        (void)mark_loop(code, header, is_inside);
        loop.address = code->instructions[code->blocks[header].first].address;
        for (int i = 0; i < code->block_count; i++) {
            if (is_inside[i] && !is_aside(code, i, header, is_header, is_inside)) {
                count_block(code, i, &loop);
            }
        }
        /* Not the loops around a loop that works: those over tiles. */
        for (int i = 0; i < code->block_count; i++) {
            if (i != header && is_header[i] && is_inside[i]) {
                char *nested = cli_alloc(count);

                (void)mark_loop(code, i, nested);
                for (int j = 0; j < code->block_count; j++) {
                    if (nested[j]) {
                        count_block(code, j, &inner);
                    }
                }
                free(nested);
            }
        }
        if (loop.multiplications + loop.tma_loads + loop.tmem_loads > 0 &&
            inner.multiplications + inner.tma_loads + inner.tmem_loads == 0) {
            listing->loops[listing->loop_count++] = loop;
        }
    }
    free(is_inside);
    free(is_header);
}

/* ------------------------------------------------------------------------------ counts */

static int compare_opcodes(const void *x, const void *y)
{
    const struct listing_opcode *left = x, *right = y;

    return strcmp(left->name, right->name);
}

static void count_opcode(const char *name, struct listing *listing)
{
    size_t at = 0;

    while (at < listing->opcode_count && strcmp(listing->opcodes[at].name, name) != 0) {
        at++;
    }
    if (at == LISTING_MAX_OPCODES) {
        return;
    }
    if (at == listing->opcode_count) {
        copy_part(listing->opcodes[at].name, sizeof listing->opcodes[at].name, name,
                  strlen(name));
        listing->opcode_count++;
    }
    listing->opcodes[at].count++;
}

const char *listing_read(const char *text, const char *kernel, struct listing *ret_listing)
{
    const char *section = find_section(text, kernel);
    struct code code = {0};
    size_t lines = 2;

    *ret_listing = (struct listing){0};
    if (!section) {
        return "the disassembly does not have the kernel";
    }
    for (const char *at = section; *at; at++) {
        lines += *at == '\n';
    }
    code.instructions = cli_alloc(lines * sizeof *code.instructions);
    code.labels = cli_alloc(lines * sizeof *code.labels);
    read_lines(section + strcspn(section, "\n"), &code);
    if (code.instruction_count > 0) {
        size_t blocks = (size_t)code.instruction_count;

        code.blocks = cli_alloc(blocks * sizeof *code.blocks);
        code.order = cli_alloc(blocks * sizeof *code.order);
        cut_blocks(&code);
        connect_blocks(&code);
        order_blocks(&code);
        find_dominators(&code);
        find_loops(&code, ret_listing);
        for (int i = 0; i < code.instruction_count; i++) {
            count_opcode(code.instructions[i].opcode, ret_listing);
        }
        qsort(ret_listing->opcodes, ret_listing->opcode_count,
              sizeof ret_listing->opcodes[0], compare_opcodes);
    }
    ret_listing->instructions = (unsigned)code.instruction_count;
    free(code.order);
    free(code.blocks);
    free(code.labels);
    free(code.instructions);
    return ret_listing->instructions ? NULL : "the disassembly of the kernel is empty";
}
