/* SPDX-License-Identifier: MIT */
#include "api/launch_text.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/lines.h"
#include "plan/text.h"

/* ---------------------------------------------------------------------------- lines */

/* A member of the arguments that a line is of. */
struct line {
    const char *name;
    size_t offset;
};

#define LINE(name)                           \
    {                                        \
#        name, offsetof(jit_gemm_args, name) \
    }

static const struct line arg_lines[] = {LINE(a),       LINE(b),       LINE(c),
                                        LINE(d),       LINE(a_scale), LINE(b_scale),
                                        LINE(d_scale), LINE(a_rows),  LINE(d_rows)};
static const struct line address_lines[] = {LINE(group_sizes), LINE(a_lds), LINE(b_lds),
                                            LINE(c_lds),       LINE(d_lds), LINE(group_ns),
                                            LINE(group_ks)};

#undef LINE

enum {
    ARG_LINES = sizeof(arg_lines) / sizeof(arg_lines[0]),
    ADDRESS_LINES = sizeof(address_lines) / sizeof(address_lines[0])
};

/* ------------------------------------------------------------------------- printing */

static void print_address(uint64_t address, struct jg_str *out)
{
    uint64_t alignment = 1;
    while (alignment < JG_LAUNCH_MOST_ALIGNMENT && address % (2 * alignment) == 0) {
        alignment *= 2;
    }
    if (address == 0) {
        jg_str_puts(out, " address=none");
    } else {
        jg_str_printf(out, " address=aligned:%u", (unsigned)alignment);
    }
}

static void print_value(float value, struct jg_str *out)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    jg_str_printf(out, " value=0x%08" PRIx32 "\n", bits);
}

static void print_arg(const char *name, const jit_gemm_arg *arg, struct jg_str *out)
{
    jg_str_puts(out, name);
    print_address(arg->pointer, out);
    jg_str_printf(out, " ld=%" PRId64 " batch_stride=%" PRId64, arg->ld, arg->batch_stride);
    print_value(arg->value, out);
}

static void print_factor(const char *name, const float *value, uint64_t device,
                         struct jg_str *out)
{
    jg_str_puts(out, name);
    if (device != 0) {
        print_address(device, out);
        jg_str_puts(out, "\n");
    } else if (value == NULL) {
        jg_str_puts(out, " value=none\n");
    } else {
        print_value(*value, out);
    }
}

static void print_host_sizes(const jit_gemm_args *args, struct jg_str *out)
{
    jg_str_puts(out, "host_group_sizes");
    if (args->host_group_sizes == NULL) {
        jg_str_puts(out, " none");
    }
    for (size_t i = 0; args->host_group_sizes != NULL && i < args->host_group_count; i++) {
        jg_str_printf(out, " %" PRId32, args->host_group_sizes[i]);
    }
    jg_str_puts(out, "\n");
}

void jg_launch_print(const jit_gemm_args *args, struct jg_str *out)
{
    jg_str_printf(out,
                  "sizes m=%" PRId64 " n=%" PRId64 " k=%" PRId64 " batch=%" PRId64 "\n",
                  args->m, args->n, args->k, args->batch);
    for (size_t i = 0; i < ARG_LINES; i++) {
        print_arg(arg_lines[i].name,
                  (const void *)((const char *)args + arg_lines[i].offset), out);
    }
    for (size_t i = 0; i < args->operand_count; i++) {
        print_arg("operand", &args->operands[i], out);
    }
    print_factor("alpha", args->alpha, args->alpha_device, out);
    print_factor("beta", args->beta, args->beta_device, out);
    jg_str_puts(out, "workspace");
    print_address(args->workspace, out);
    jg_str_printf(out, " bytes=%" PRIu64 "\n", args->workspace_bytes);
    for (size_t i = 0; i < ADDRESS_LINES; i++) {
        uint64_t address;
        memcpy(&address, (const char *)args + address_lines[i].offset, sizeof(address));
        jg_str_puts(out, address_lines[i].name);
        print_address(address, out);
        jg_str_puts(out, "\n");
    }
    jg_str_printf(out, "rows a=%" PRId64 " d=%" PRId64 "\n", args->a_row_count,
                  args->d_row_count);
    print_host_sizes(args, out);
}

/* -------------------------------------------------------------------------- reading */

/* What is left of a line. */
struct rest {
    const char *text;
    size_t size;
};

/* Takes ` key=value`. */
static bool take(struct rest *rest, const char *key, struct rest *ret_value)
{
    const char *piece = NULL;
    const size_t size = jg_line_take_piece(&rest->text, &rest->size, &piece);
    const size_t key_size = strlen(key);
    if (size <= key_size || memcmp(piece, key, key_size) != 0 || piece[key_size] != '=') {
        return false;
    }
    *ret_value = (struct rest){piece + key_size + 1, size - key_size - 1};
    return true;
}

/* A number that may be negative. */
static bool take_number(struct rest *rest, const char *key, int64_t *ret_number)
{
    struct rest value;
    if (!take(rest, key, &value)) {
        return false;
    }
    const bool is_negative = value.size > 0 && value.text[0] == '-';
    const size_t sign = is_negative ? 1 : 0;
    if (!jg_number_parse(value.text + sign, value.size - sign, 0, INT64_MAX, ret_number)) {
        return false;
    }
    *ret_number = is_negative ? -*ret_number : *ret_number;
    return true;
}

static bool take_address(struct rest *rest, uint64_t *ret_alignment)
{
    static const char aligned[] = "aligned:";
    const size_t skip = sizeof(aligned) - 1;
    struct rest value;
    int64_t number = 0;
    if (!take(rest, "address", &value)) {
        return false;
    }
    if (jg_word_is(value.text, value.size, "none")) {
        *ret_alignment = 0;
        return true;
    }
    if (value.size <= skip || memcmp(value.text, aligned, skip) != 0 ||
        !jg_number_parse(value.text + skip, value.size - skip, 1, JG_LAUNCH_MOST_ALIGNMENT,
                         &number) ||
        (number & (number - 1)) != 0) {
        return false;
    }
    *ret_alignment = (uint64_t)number;
    return true;
}

static bool take_value(struct rest *rest, float *ret_value)
{
    enum { SIZE = 10 }; /* 0x and eight digits */
    struct rest value;
    uint32_t bits = 0;
    if (!take(rest, "value", &value) || value.size != SIZE ||
        memcmp(value.text, "0x", 2) != 0) {
        return false;
    }
    for (size_t i = 2; i < SIZE; i++) {
        const char c = value.text[i];
        const bool is_decimal = c >= '0' && c <= '9';
        if (!is_decimal && (c < 'a' || c > 'f')) {
            return false;
        }
        bits = bits << 4 | (uint32_t)(is_decimal ? c - '0' : c - 'a' + 10);
    }
    memcpy(ret_value, &bits, sizeof(bits));
    return true;
}

static bool take_arg(struct rest *rest, jit_gemm_arg *ret_arg)
{
    return take_address(rest, &ret_arg->pointer) && take_number(rest, "ld", &ret_arg->ld) &&
           take_number(rest, "batch_stride", &ret_arg->batch_stride) &&
           take_value(rest, &ret_arg->value) && rest->size == 0;
}

static jit_gemm_status fail_line(const struct jg_lines *reader)
{
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, "launch.txt",
                   "give the whole folder, as the library left it",
                   "line %zu is nothing that a capsule has", reader->line);
}

/* The next line is of this name: what is behind it, of which each part begins with a blank.
 */
static bool next_line(struct jg_lines *reader, const char *name, struct rest *ret_rest)
{
    return jg_lines_next(reader) &&
           jg_line_take_keyword(reader, name, &ret_rest->text, &ret_rest->size);
}

static bool take_factor(struct rest *rest, uint64_t *ret_device, float *ret_value,
                        const float **ret_pointer)
{
    if (jg_word_is(rest->text, rest->size, "value=none")) {
        return true;
    }
    struct rest other = *rest;
    if (take_value(rest, ret_value) && rest->size == 0) {
        *ret_pointer = ret_value;
        return true;
    }
    return take_address(&other, ret_device) && other.size == 0 && *ret_device != 0;
}

static bool read_operands(struct jg_lines *reader, jit_gemm_args *args,
                          jit_gemm_arg operands[JIT_GEMM_MAX_OPERANDS],
                          struct rest *ret_next)
{
    for (;;) {
        if (!jg_lines_next(reader)) {
            return false;
        }
        struct rest rest;
        if (!jg_line_take_keyword(reader, "operand", &rest.text, &rest.size)) {
            return jg_line_take_keyword(reader, "alpha", &ret_next->text, &ret_next->size);
        }
        if (args->operand_count == JIT_GEMM_MAX_OPERANDS ||
            !take_arg(&rest, &operands[args->operand_count])) {
            return false;
        }
        args->operand_count++;
    }
}

/* Folders of older libraries end before this line. */
static bool read_host_sizes(struct jg_lines *reader, struct jg_launch_text *text)
{
    struct rest rest;
    if (reader->offset == reader->size) {
        return true;
    }
    if (!next_line(reader, "host_group_sizes", &rest)) {
        return false;
    }
    if (jg_word_is(rest.text, rest.size, "none")) {
        return true;
    }
    size_t count = 0;
    while (rest.size > 0) {
        const char *piece = NULL;
        const size_t size = jg_line_take_piece(&rest.text, &rest.size, &piece);
        int64_t number = 0;
        if (count == JG_MOST_GROUPS ||
            !jg_number_parse(piece, size, 0, INT32_MAX, &number)) {
            return false;
        }
        text->host_group_sizes[count] = (int32_t)number;
        count++;
    }
    text->args.host_group_sizes = text->host_group_sizes;
    text->args.host_group_count = count;
    return count > 0;
}

static bool read_lines(struct jg_lines *reader, struct jg_launch_text *text)
{
    jit_gemm_args *args = &text->args;
    struct rest rest;
    int64_t bytes = 0;
    if (!next_line(reader, "sizes", &rest) || !take_number(&rest, "m", &args->m) ||
        !take_number(&rest, "n", &args->n) || !take_number(&rest, "k", &args->k) ||
        !take_number(&rest, "batch", &args->batch) || rest.size != 0) {
        return false;
    }
    for (size_t i = 0; i < ARG_LINES; i++) {
        if (!next_line(reader, arg_lines[i].name, &rest) ||
            !take_arg(&rest, (void *)((char *)args + arg_lines[i].offset))) {
            return false;
        }
    }
    if (!read_operands(reader, args, text->operands, &rest) ||
        !take_factor(&rest, &args->alpha_device, &text->alpha, &args->alpha) ||
        !next_line(reader, "beta", &rest) ||
        !take_factor(&rest, &args->beta_device, &text->beta, &args->beta) ||
        !next_line(reader, "workspace", &rest) || !take_address(&rest, &args->workspace) ||
        !take_number(&rest, "bytes", &bytes) || bytes < 0 || rest.size != 0) {
        return false;
    }
    args->workspace_bytes = (uint64_t)bytes;
    for (size_t i = 0; i < ADDRESS_LINES; i++) {
        if (!next_line(reader, address_lines[i].name, &rest) ||
            !take_address(&rest, (void *)((char *)args + address_lines[i].offset)) ||
            rest.size != 0) {
            return false;
        }
    }
    return next_line(reader, "rows", &rest) &&
           take_number(&rest, "a", &args->a_row_count) &&
           take_number(&rest, "d", &args->d_row_count) && rest.size == 0 &&
           read_host_sizes(reader, text) && reader->offset == reader->size;
}

jit_gemm_status jg_launch_parse(const struct jg_str *text, struct jg_launch_text *ret_text)
{
    struct jg_lines reader = {.text = jg_str_text(text), .size = text->size};
    *ret_text = (struct jg_launch_text){.args = {.struct_size = sizeof(jit_gemm_args)}};
    if (!read_lines(&reader, ret_text)) {
        return fail_line(&reader);
    }
    ret_text->args.operands = ret_text->operands;
    return JIT_GEMM_OK;
}
