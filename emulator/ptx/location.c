/* SPDX-License-Identifier: MIT */
/* .file, .loc and .section .debug_str: where in the source an instruction comes from. */
#include <string.h>

#include "ptx/internal.h"

#define FILE_MAX 65535u

/* The name of an inlined function: a label of .debug_str, which stands behind all code. */
struct ptx_inline_name {
    struct ptx_location *location;
    struct ptx_token label;
    uint64_t offset;
};

/* ----------------------------------------------------------------------------- files */

static void grow_files(struct ptx_parser *parser, uint64_t index)
{
    while (parser->file_count <= index) {
        EMU_GROW(parser->files, parser->file_count);
        parser->files[parser->file_count++] = NULL;
    }
}

/* `.file 1 "name"`, and perhaps `, time, bytes` */
bool ptx_file_parse(struct ptx_parser *parser)
{
    const struct ptx_token start = parser->token;
    uint64_t index = 0, ignored = 0;
    const char *name = NULL;
    ptx_next(parser);
    if (!ptx_expect_integer(parser, FILE_MAX, &index) ||
        !ptx_expect_string(parser, &name)) {
        return false;
    }
    while (ptx_accept(parser, ',')) {
        if (!ptx_expect_integer(parser, UINT64_MAX, &ignored)) {
            return false;
        }
    }
    grow_files(parser, index);
    if (parser->files[index] != NULL) {
        return ptx_fail_at(parser, start.line, start.column, "file %llu is declared twice",
                           (unsigned long long)index);
    }
    parser->files[index] = name;
    return !parser->failed;
}

/* ------------------------------------------------------------------------- locations */

/* The last location with this file, line and column; `.loc` replaces it. */
static struct ptx_name *place_of(struct ptx_parser *parser,
                                 const struct ptx_location *location)
{
    const uint32_t key[3] = {location->file, location->line, location->column};
    return ptx_intern(parser, &parser->locations, key, sizeof(key));
}

static bool parse_place(struct ptx_parser *parser, struct ptx_location *location)
{
    uint64_t file = 0, line = 0, column = 0;
    if (!ptx_expect_integer(parser, FILE_MAX, &file) ||
        !ptx_expect_integer(parser, UINT32_MAX, &line) ||
        !ptx_expect_integer(parser, UINT32_MAX, &column)) {
        return false;
    }
    location->file = (uint32_t)file;
    location->line = (uint32_t)line;
    location->column = (uint32_t)column;
    grow_files(parser, file);
    return true;
}

static bool expect_word(struct ptx_parser *parser, const char *word)
{
    if (parser->token.kind != PTX_TOKEN_WORD ||
        strcmp(parser->token.name->text, word) != 0) {
        return ptx_fail_expected(parser, word);
    }
    ptx_next(parser);
    return !parser->failed;
}

/* `function_name label+4, inlined_at 1 20 3` */
static bool parse_inlining(struct ptx_parser *parser, struct ptx_location *location)
{
    struct ptx_inline_name name = {.location = location};
    struct ptx_location caller = {0};
    if (!expect_word(parser, "function_name") ||
        !ptx_expect_word(parser, "a label of .debug_str", &name.label)) {
        return false;
    }
    if (ptx_accept(parser, '+') && !ptx_expect_integer(parser, UINT32_MAX, &name.offset)) {
        return false;
    }
    if (!ptx_expect(parser, ',') || !expect_word(parser, "inlined_at")) {
        return false;
    }
    const struct ptx_token start = parser->token;
    if (!parse_place(parser, &caller)) {
        return false;
    }
    EMU_GROW(parser->inline_names, parser->inline_name_count);
    parser->inline_names[parser->inline_name_count++] = name;
    location->inlined_at = place_of(parser, &caller)->value;
    if (location->inlined_at == NULL) {
        return ptx_fail_at(parser, start.line, start.column,
                           "no '.loc %u %u %u' stands before this 'inlined_at'",
                           caller.file, caller.line, caller.column);
    }
    return true;
}

bool ptx_loc_parse(struct ptx_parser *parser)
{
    struct ptx_location *location =
        emu_arena_alloc(&parser->module->arena, sizeof(*location));
    location->ptx_line = parser->token.line;
    ptx_next(parser);
    if (!parse_place(parser, location)) {
        return false;
    }
    if (ptx_accept(parser, ',') && !parse_inlining(parser, location)) {
        return false;
    }
    place_of(parser, location)->value = location;
    parser->location = location;
    return !parser->failed;
}

/* -------------------------------------------------------------------------- sections */

static unsigned unit_bytes(const struct ptx_parser *parser)
{
    const char *word = parser->token.name->text;
    enum ptx_type type = PTX_PRED;
    const bool known = word[0] == 'b' && ptx_type_of(word, &type) && type <= PTX_B64;
    return known ? ptx_type_bytes(type) : 0;
}

/* `.b8 95,90,54` */
static bool parse_debug_bytes(struct ptx_parser *parser)
{
    const unsigned bytes =
        parser->token.kind == PTX_TOKEN_DIRECTIVE ? unit_bytes(parser) : 0;
    if (bytes == 0) {
        return ptx_fail_expected(parser, "a label, '.b8' or '}'");
    }
    do {
        uint64_t value = 0;
        ptx_next(parser);
        if (!ptx_expect_integer(parser, UINT64_MAX, &value)) {
            return false;
        }
        for (unsigned i = 0; i < bytes; i++) {
            EMU_GROW(parser->debug_bytes, parser->debug_byte_count);
            parser->debug_bytes[parser->debug_byte_count++] =
                (unsigned char)(value >> (8 * i));
        }
    } while (ptx_is_mark(parser, ','));
    return !parser->failed;
}

static bool parse_debug_label(struct ptx_parser *parser)
{
    const struct ptx_token token = parser->token;
    struct ptx_name *label =
        ptx_intern(parser, &parser->debug_labels, token.name->text, token.name->length);
    if (label->value != NULL) {
        return ptx_fail(parser, "'%s' is declared twice in .debug_str", label->text);
    }
    uint32_t *offset = emu_arena_alloc(&parser->scratch, sizeof(*offset));
    *offset = parser->debug_byte_count;
    label->value = offset;
    ptx_next(parser);
    return ptx_expect(parser, ':');
}

static bool parse_debug_strings(struct ptx_parser *parser)
{
    while (!ptx_accept(parser, '}')) {
        const bool ok = parser->token.kind == PTX_TOKEN_WORD ? parse_debug_label(parser)
                                                             : parse_debug_bytes(parser);
        if (!ok) {
            return false;
        }
    }
    return !parser->failed;
}

/* Of other sections only the end matters: nothing here reads DWARF. */
bool ptx_section_parse(struct ptx_parser *parser)
{
    ptx_next(parser);
    const bool strings = ptx_is_directive(parser, "debug_str");
    if (parser->token.kind != PTX_TOKEN_DIRECTIVE) {
        return ptx_fail_expected(parser, "the name of a section");
    }
    ptx_next(parser);
    if (!ptx_expect(parser, '{')) {
        return false;
    }
    if (strings) {
        return parse_debug_strings(parser);
    }
    while (!ptx_is_mark(parser, '}') && parser->token.kind != PTX_TOKEN_END) {
        ptx_next(parser);
    }
    return ptx_expect(parser, '}');
}

/* --------------------------------------------------------------------------- the end */

static bool resolve_name(struct ptx_parser *parser, const char *strings,
                         const struct ptx_inline_name *name)
{
    const struct ptx_token *label = &name->label;
    const struct ptx_name *known =
        ptx_intern(parser, &parser->debug_labels, label->name->text, label->name->length);
    if (known->value == NULL) {
        return ptx_fail_at(parser, label->line, label->column,
                           "'%s' is not declared in .debug_str", known->text);
    }
    const uint32_t *offset = known->value;
    if (*offset + name->offset >= parser->debug_byte_count) {
        return ptx_fail_at(parser, label->line, label->column,
                           "'%s' points behind the end of .debug_str", known->text);
    }
    name->location->function = strings + *offset + name->offset;
    return true;
}

static bool resolve_names(struct ptx_parser *parser)
{
    const size_t length = parser->debug_byte_count;
    if (parser->inline_name_count == 0) {
        return true;
    }
    /* One byte more than there are: the last string ends in any case. */
    char *strings = emu_arena_alloc(&parser->module->arena, length + 1);
    if (length > 0) {
        memcpy(strings, parser->debug_bytes, length);
    }
    for (uint32_t i = 0; i < parser->inline_name_count; i++) {
        if (!resolve_name(parser, strings, &parser->inline_names[i])) {
            return false;
        }
    }
    return true;
}

static void give_locations(struct ptx_parser *parser)
{
    for (uint32_t i = 0; i < parser->code_count; i++) {
        for (uint32_t k = 0; k < parser->codes[i].count; k++) {
            struct ptx_location *location = &parser->codes[i].insns[k].location;
            const uint32_t ptx_line = location->ptx_line;
            if (parser->codes[i].origins[k] != NULL) {
                *location = *parser->codes[i].origins[k];
                location->ptx_line = ptx_line;
            }
        }
    }
}

bool ptx_locations_finish(struct ptx_parser *parser)
{
    const bool ok = resolve_names(parser);
    if (ok) {
        give_locations(parser);
    }
    return ok;
}
