/* SPDX-License-Identifier: MIT */
/* The text of a listing to instructions and labels, and what is counted of them. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "listing_code.h"

enum { LINE_SIZE = 512 };

bool listing_is_multiplication(const char *name)
{
    size_t length = strlen(name);

    /* UTCHMMA, UTCQMMA, UTCIMMA, UTCOMMA; HGMMA, QGMMA, IGMMA; HMMA and its like. */
    return length >= 3 && strcmp(name + length - 3, "MMA") == 0;
}

/* ------------------------------------------------------------------------- reading */

static void copy_part(char *target, size_t size, const char *from, size_t length)
{
    snprintf(target, size, "%.*s", (int)(length < size ? length : size - 1), from);
}

static bool is_branch(const char *opcode)
{
    return strcmp(opcode, "BRA") == 0 || strcmp(opcode, "WARPSYNC") == 0;
}

/* What follows an instruction of these is reached from elsewhere. */
static bool ends_flow(const char *opcode)
{
    static const char *const names[] = {"EXIT", "RET", "BRX", "BRXU", "JMX", "KILL", "BPT"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(opcode, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* An address between the marks of a comment, perhaps a guard, an opcode, operands, as in
 * `@P0 BRA `(.L_x_0) ;`. 0 if the line is none. */
static bool read_instruction(const char *line, struct instruction *ret_instruction)
{
    struct instruction result = {.block = NONE};
    const char *label, *at = line + strspn(line, " ");
    char *end = NULL;

    if (!code_starts_with(at, "/*")) {
        return false;
    }
    unsigned long address = strtoul(at + 2, &end, 16);
    if (end == at + 2 || !code_starts_with(end, "*/")) {
        return false;
    }
    at = end + 2;
    at += strspn(at, " {");
    if (*at == '@') {
        result.is_guarded = true;
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    size_t length = strcspn(at, " .;");
    if (length == 0) {
        return false;
    }
    result.address = (uint32_t)address;
    copy_part(result.opcode, sizeof(result.opcode), at, length);
    label = strstr(at, "`(");
    if (label != NULL) {
        copy_part(result.target, sizeof(result.target), label + 2, strcspn(label + 2, ")"));
        result.is_mention = !is_branch(result.opcode);
    }
    if (label != NULL && !result.is_mention) {
        const char *operands = at + strcspn(at, " ");

        /* A predicate among the operands guards a branch of the uniform kind. */
        result.is_guarded |= operands + strspn(operands, " ") != label;
        result.ends = strcmp(result.opcode, "BRA") == 0;
    }
    result.ends |= ends_flow(result.opcode);
    *ret_instruction = result;
    return true;
}

/* `.L_x_1:` */
static bool read_label(const char *line, int next, struct label *ret_label)
{
    size_t length = strcspn(line, ":");

    if (line[0] != '.' || line[length] != ':' || length >= LABEL_SIZE) {
        return false;
    }
    *ret_label = (struct label){.instruction = next};
    copy_part(ret_label->name, sizeof(ret_label->name), line, length);
    return true;
}

/* Where the kernel's section begins; NULL if the text has none. */
static const char *find_section(const char *text, const char *kernel)
{
    char head[320];

    snprintf(head, sizeof(head), "\t.section\t.text.%s,", kernel);
    const char *at = strstr(text, head);
    return at != NULL ? at + strlen(head) : NULL;
}

static void read_lines(const char *text, struct code *code)
{
    char line[LINE_SIZE];

    for (const char *at = text; *at && !code_starts_with(at, "\t.section\t");) {
        size_t length = strcspn(at, "\n");

        copy_part(line, sizeof(line), at, length);
        if (read_label(line, code->instruction_count, &code->labels[code->label_count])) {
            code->label_count++;
        } else if (read_instruction(line, &code->instructions[code->instruction_count])) {
            code->instruction_count++;
        }
        at += length + (at[length] == '\n');
    }
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
        copy_part(listing->opcodes[at].name, sizeof(listing->opcodes[at]).name, name,
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
    if (section == NULL) {
        return "the disassembly does not have the kernel";
    }
    for (const char *at = section; *at; at++) {
        lines += *at == '\n';
    }
    code.instructions = cli_alloc(lines * sizeof(*code.instructions));
    code.labels = cli_alloc(lines * sizeof(*code.labels));
    read_lines(section + strcspn(section, "\n"), &code);
    if (code.instruction_count > 0) {
        code_connect(&code);
        code_find_loops(&code, ret_listing);
        for (int i = 0; i < code.instruction_count; i++) {
            count_opcode(code.instructions[i].opcode, ret_listing);
        }
        qsort(ret_listing->opcodes, ret_listing->opcode_count,
              sizeof(ret_listing->opcodes[0]), compare_opcodes);
    }
    ret_listing->instructions = (unsigned)code.instruction_count;
    free(code.order);
    free(code.blocks);
    free(code.labels);
    free(code.instructions);
    return ret_listing->instructions ? NULL : "the disassembly of the kernel is empty";
}
