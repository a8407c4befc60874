/* SPDX-License-Identifier: MIT */
/* Initialisers: `= 1`, `= {{1, 2}, {3}}`, `= {generic(x)+4, y}`. */
#include <string.h>

#include "ptx/internal.h"

bool ptx_count_bytes(struct ptx_parser *parser, uint64_t bytes)
{
    parser->variable_bytes += bytes;
    if (parser->variable_bytes > PTX_BYTES_MAX) {
        return ptx_fail(parser, "the variables have more than %llu bytes in all",
                        (unsigned long long)PTX_BYTES_MAX);
    }
    return true;
}

struct filler {
    struct ptx_variable *variable;
    unsigned char *bytes;
    uint64_t sizes[PTX_DIMENSIONS_MAX + 1]; /* of the braces, from the outside */
    unsigned levels;
    bool vector; /* the innermost braces are those of a vector */
    struct ptx_relocation *relocations;
    size_t relocation_count;
};

/* -------------------------------------------------------------------------- addresses */

static bool parse_address_name(struct ptx_parser *parser, uint32_t *ret_variable)
{
    struct ptx_token name;
    if (!ptx_expect_word(parser, "the name of a variable", &name)) {
        return false;
    }
    const struct ptx_symbol *symbol = name.name->value;
    if (symbol == NULL) {
        return ptx_fail_at(parser, name.line, name.column, "'%s' is not declared",
                           name.name->text);
    }
    if (symbol->meaning == PTX_IS_FUNCTION) {
        return ptx_fail_at(
            parser, name.line, name.column,
            "the address of function '%s' in an initialiser is not supported",
            name.name->text);
    }
    if (symbol->meaning != PTX_IS_VARIABLE ||
        (parser->variables[symbol->index].space != PTX_GLOBAL &&
         parser->variables[symbol->index].space != PTX_CONST)) {
        return ptx_fail_at(parser, name.line, name.column,
                           "'%s' in an initialiser is no .global or .const variable",
                           name.name->text);
    }
    *ret_variable = symbol->index;
    return true;
}

/* `x`, `x+4`, `generic(x)+4` */
static bool parse_relocation(struct ptx_parser *parser, struct filler *filler,
                             uint64_t offset)
{
    const enum ptx_type type = filler->variable->type;
    struct ptx_relocation one = {.offset = offset, .bytes = ptx_type_bytes(type)};
    if (one.bytes < 4 || type == PTX_B128 || type >= PTX_F16) {
        return ptx_fail(parser, "the address '%s' as an initial value of type '.%s'",
                        parser->token.name->text, ptx_type_word(type));
    }
    const struct ptx_token ahead = ptx_peek(parser);
    if (ahead.kind == PTX_TOKEN_MARK && ahead.mark == '(' &&
        strcmp(parser->token.name->text, "generic") == 0) {
        one.generic = true;
        ptx_next(parser);
        ptx_next(parser);
    }
    if (!parse_address_name(parser, &one.variable) ||
        (one.generic && !ptx_expect(parser, ')'))) {
        return false;
    }
    if (ptx_accept(parser, '+') && !ptx_constant_integer(parser, &one.addend)) {
        return false;
    }
    EMU_GROW(filler->relocations, filler->relocation_count);
    filler->relocations[filler->relocation_count++] = one;
    return true;
}

/* ---------------------------------------------------------------------------- numbers */

/* An integer keeps the low bits that the type has room for. */
static void store_integer(struct filler *filler, uint64_t offset, uint64_t bits)
{
    for (unsigned i = 0; i < ptx_type_bytes(filler->variable->type); i++) {
        filler->bytes[offset + i] = (unsigned char)(bits >> (8 * i));
    }
}

static uint64_t bits_of_double(double value)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static uint64_t bits_of_float(double value)
{
    const float narrow = (float)value;
    uint32_t bits = 0;
    memcpy(&bits, &narrow, sizeof(bits));
    return bits;
}

static bool store_real(struct ptx_parser *parser, struct filler *filler, uint64_t offset,
                       double value)
{
    const enum ptx_type type = filler->variable->type;
    if (type != PTX_F32 && type != PTX_F64) {
        return ptx_fail(parser,
                        "a floating-point constant as an initial value of type '.%s'",
                        ptx_type_word(type));
    }
    store_integer(filler, offset,
                  type == PTX_F32 ? bits_of_float(value) : bits_of_double(value));
    return true;
}

/* 0f and 0d: bits for .b32 and .b64, a number for .f32 and .f64. */
static bool parse_float_bits(struct ptx_parser *parser, struct filler *filler,
                             uint64_t offset)
{
    const struct ptx_token token = parser->token;
    const bool is_float = token.kind == PTX_TOKEN_FLOAT32;
    const uint32_t low = (uint32_t)token.bits;
    float narrow = 0;
    double wide = 0;
    memcpy(&narrow, &low, sizeof(narrow));
    memcpy(&wide, &token.bits, sizeof(wide));
    ptx_next(parser);
    if (filler->variable->type == (is_float ? PTX_B32 : PTX_B64) ||
        filler->variable->type == (is_float ? PTX_F32 : PTX_F64)) {
        store_integer(filler, offset, token.bits);
        return true;
    }
    return store_real(parser, filler, offset, is_float ? (double)narrow : wide);
}

static bool parse_number(struct ptx_parser *parser, struct filler *filler, uint64_t offset)
{
    const enum ptx_type type = filler->variable->type;
    struct ptx_constant constant = {0};
    if (parser->token.kind == PTX_TOKEN_FLOAT32 ||
        parser->token.kind == PTX_TOKEN_FLOAT64) {
        return parse_float_bits(parser, filler, offset);
    }
    if (!ptx_constant_parse(parser, &constant)) {
        return false;
    }
    if (ptx_is_mark(parser, '(')) {
        return ptx_fail(parser, "one byte of an address, as in 0xFF(x), is not supported");
    }
    if (constant.is_real) {
        return store_real(parser, filler, offset, constant.real);
    }
    if (type >= PTX_F16) {
        return ptx_fail(parser, "an integer as an initial value of type '.%s'",
                        ptx_type_word(type));
    }
    store_integer(filler, offset, constant.bits);
    return true;
}

/* ----------------------------------------------------------------------------- braces */

static bool parse_level(struct ptx_parser *parser, struct filler *filler, unsigned level,
                        uint64_t offset, uint64_t bytes)
{
    if (level == filler->levels) {
        const struct ptx_token *token = &parser->token;
        const bool is_name =
            token->kind == PTX_TOKEN_WORD && strcmp(token->name->text, "WARP_SZ") != 0;
        return is_name ? parse_relocation(parser, filler, offset)
                       : parse_number(parser, filler, offset);
    }
    const uint64_t size = filler->sizes[level], step = bytes / size;
    const bool is_vector = filler->vector && level + 1 == filler->levels;
    uint64_t count = 0;
    if (!ptx_expect(parser, '{')) {
        return false;
    }
    if (!is_vector && ptx_accept(parser, '}')) {
        return !parser->failed;
    }
    do {
        if (count == size) {
            return ptx_fail(parser, "more than %llu initial values in braces",
                            (unsigned long long)size);
        }
        if (!parse_level(parser, filler, level + 1, offset + count * step, step)) {
            return false;
        }
        count++;
    } while (ptx_accept(parser, ','));
    if (is_vector && count < size) {
        return ptx_fail(parser, "expected %llu initial values of a vector but met %llu",
                        (unsigned long long)size, (unsigned long long)count);
    }
    return ptx_expect(parser, '}');
}

/* How many values stand in the outermost braces: the size of a `[]`. */
static uint64_t count_rows(struct ptx_parser *parser)
{
    const struct ptx_cursor start = ptx_save(parser);
    uint64_t count = 0, depth = 0;
    do {
        if (ptx_is_mark(parser, '{') || ptx_is_mark(parser, '(')) {
            depth++;
        } else if (ptx_is_mark(parser, '}') || ptx_is_mark(parser, ')')) {
            depth--;
        } else if (count == 0 || (depth == 1 && ptx_is_mark(parser, ','))) {
            count++;
        }
        ptx_next(parser);
    } while (depth > 0 && parser->token.kind != PTX_TOKEN_END);
    if (!parser->failed) {
        ptx_restore(parser, &start);
    }
    return count;
}

static bool prepare(struct ptx_parser *parser, const struct ptx_shape *shape,
                    struct filler *filler)
{
    struct ptx_variable *variable = filler->variable;
    if (variable->type == PTX_B128 ||
        (variable->type >= PTX_F16 && variable->type < PTX_F32)) {
        return ptx_fail(parser, "'%s': initial values of type '.%s' are not supported",
                        variable->name, ptx_type_word(variable->type));
    }
    memcpy(filler->sizes, shape->sizes, sizeof(shape->sizes));
    filler->levels = shape->count;
    if (variable->vector > 1) {
        filler->sizes[filler->levels++] = variable->vector;
        filler->vector = true;
    }
    if (shape->count > 0 && shape->sizes[0] == 0) {
        filler->sizes[0] = count_rows(parser);
        if (filler->sizes[0] == 0 || filler->sizes[0] > PTX_BYTES_MAX / shape->row_bytes) {
            return ptx_fail(parser, "'%s': %llu initial values for an array without a size",
                            variable->name, (unsigned long long)filler->sizes[0]);
        }
        variable->bytes = filler->sizes[0] * shape->row_bytes;
    }
    if (parser->variable_bytes + variable->bytes > PTX_BYTES_MAX) {
        return ptx_count_bytes(parser, variable->bytes);
    }
    filler->bytes = emu_arena_alloc(&parser->module->arena, (size_t)variable->bytes);
    return !parser->failed;
}

bool ptx_initialiser_parse(struct ptx_parser *parser, const struct ptx_shape *shape,
                           struct ptx_variable *variable)
{
    struct filler filler = {.variable = variable};
    ptx_next(parser);
    const bool ok = prepare(parser, shape, &filler) && filler.bytes != NULL &&
                    parse_level(parser, &filler, 0, 0, variable->bytes);
    if (ok) {
        const size_t bytes = filler.relocation_count * sizeof(struct ptx_relocation);
        variable->initial = filler.bytes;
        variable->relocation_count = filler.relocation_count;
        if (bytes > 0) {
            variable->relocations = emu_arena_alloc(&parser->module->arena, bytes);
            memcpy(variable->relocations, filler.relocations, bytes);
        }
    }
    emu_free(filler.relocations);
    return ok;
}
