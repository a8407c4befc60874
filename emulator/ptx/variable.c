/* SPDX-License-Identifier: MIT */
/* Declarations of variables and parameters: type, shape, place. */
#include <assert.h>
#include <string.h>

#include "ptx/internal.h"

#define ALIGNMENT_MAX ((uint64_t)1 << 20)

/* ------------------------------------------------------------------------------ type */

static bool parse_alignment(struct ptx_parser *parser, uint64_t *ret_alignment)
{
    const struct ptx_token token = parser->token;
    uint64_t alignment = 0;
    if (!ptx_expect_integer(parser, ALIGNMENT_MAX, &alignment)) {
        return false;
    }
    if (!emu_is_power_of_2(alignment)) {
        return ptx_fail_at(parser, token.line, token.column,
                           "an alignment of %llu is not a power of two",
                           (unsigned long long)alignment);
    }
    *ret_alignment = alignment;
    return true;
}

static bool accept_directive(struct ptx_parser *parser, const char *word)
{
    if (!ptx_is_directive(parser, word)) {
        return false;
    }
    ptx_next(parser);
    return true;
}

/* `.align 16 .v4 .f32` */
static bool parse_type(struct ptx_parser *parser, struct ptx_variable *variable)
{
    uint64_t alignment = 0;
    if (accept_directive(parser, "align") && !parse_alignment(parser, &alignment)) {
        return false;
    }
    variable->vector = 1;
    if (accept_directive(parser, "v2")) {
        variable->vector = 2;
    } else if (accept_directive(parser, "v4")) {
        variable->vector = 4;
    }
    if (parser->token.kind != PTX_TOKEN_DIRECTIVE ||
        !ptx_type_of(parser->token.name->text, &variable->type)) {
        return ptx_fail_expected(parser, "the type of a variable");
    }
    if (variable->type == PTX_PRED) {
        return ptx_fail(parser, "a variable cannot have the type '.pred'");
    }
    ptx_next(parser);
    variable->bytes = (uint64_t)ptx_type_bytes(variable->type) * variable->vector;
    variable->alignment = alignment != 0 ? alignment : variable->bytes;
    return !parser->failed;
}

/* ----------------------------------------------------------------------------- shape */

/* `[4][2]`: multiplies the bytes; `[]` is a first dimension of 0. */
static bool parse_dimensions(struct ptx_parser *parser, struct ptx_variable *variable,
                             struct ptx_shape *ret)
{
    *ret = (struct ptx_shape){0};
    while (ptx_accept(parser, '[')) {
        uint64_t size = 0;
        const bool open = ptx_is_mark(parser, ']') && ret->count == 0;
        if (ret->count == PTX_DIMENSIONS_MAX) {
            return ptx_fail(parser, "more than %u dimensions", PTX_DIMENSIONS_MAX);
        }
        if (!open && !ptx_expect_integer(parser, PTX_BYTES_MAX, &size)) {
            return false;
        }
        if (!open && size == 0) {
            return ptx_fail(parser, "an array of 0 elements");
        }
        ret->sizes[ret->count++] = size;
        if (!ptx_expect(parser, ']')) {
            return false;
        }
    }
    ret->row_bytes = variable->bytes;
    for (unsigned i = ret->count; i-- > 0;) {
        if (ret->row_bytes == 0 || ret->sizes[i] > PTX_BYTES_MAX / ret->row_bytes) {
            return ptx_fail(parser, "an array of more than %llu bytes",
                            (unsigned long long)PTX_BYTES_MAX);
        }
        ret->row_bytes *= i > 0 ? ret->sizes[i] : 1;
        variable->bytes *= ret->sizes[i];
    }
    return true;
}

/* Gives the variable the next place of the area. */
static bool lay_out(struct ptx_parser *parser, struct ptx_area *area,
                    struct ptx_variable *variable)
{
    assert(variable->alignment > 0); /* an element's, where the text says none */
    variable->offset = emu_align_up(area->bytes, variable->alignment);
    area->bytes = variable->offset + variable->bytes;
    if (variable->alignment > area->alignment) {
        area->alignment = variable->alignment;
    }
    if (area->bytes > PTX_BYTES_MAX) {
        return ptx_fail(parser, "variables of more than %llu bytes in one area",
                        (unsigned long long)PTX_BYTES_MAX);
    }
    return true;
}

static uint32_t add_variable(struct ptx_parser *parser, const struct ptx_variable *variable)
{
    EMU_GROW(parser->variables, parser->variable_count);
    parser->variables[parser->variable_count] = *variable;
    return parser->variable_count++;
}

/* ------------------------------------------------------------------------- variables */

/* The earlier declaration of a variable of the module, when one of the two is `.extern`
 * and they agree; otherwise NULL. */
static struct ptx_variable *find_earlier(struct ptx_parser *parser,
                                         const struct ptx_name *name,
                                         const struct ptx_variable *variable)
{
    const struct ptx_symbol *symbol = name->value;
    if (parser->depth > 0 || symbol == NULL || symbol->meaning != PTX_IS_VARIABLE) {
        return NULL;
    }
    struct ptx_variable *earlier = &parser->variables[symbol->index];
    const bool agree =
        earlier->space == variable->space && earlier->type == variable->type &&
        earlier->vector == variable->vector &&
        (earlier->bytes == variable->bytes || earlier->bytes == 0 || variable->bytes == 0);
    return agree && (earlier->is_extern || variable->is_extern) ? earlier : NULL;
}

/* The definition counts, and the strictest alignment. */
static void merge(struct ptx_variable *earlier, const struct ptx_variable *variable)
{
    const uint64_t alignment =
        earlier->alignment > variable->alignment ? earlier->alignment : variable->alignment;
    if (earlier->is_extern && (!variable->is_extern || earlier->bytes == 0)) {
        *earlier = *variable;
    }
    earlier->alignment = alignment;
}

static bool place_variable(struct ptx_parser *parser, struct ptx_variable *variable)
{
    if (variable->space == PTX_LOCAL) {
        return lay_out(parser, &parser->local, variable);
    }
    return variable->space != PTX_PARAM || lay_out(parser, &parser->call_params, variable);
}

static bool check_initialiser(struct ptx_parser *parser,
                              const struct ptx_variable *variable)
{
    if (variable->space != PTX_GLOBAL && variable->space != PTX_CONST) {
        return ptx_fail(parser, "'%s': only .global and .const variables have initialisers",
                        variable->name);
    }
    if (variable->is_extern) {
        return ptx_fail(parser, "'%s': an .extern variable has an initialiser",
                        variable->name);
    }
    return true;
}

/* `name[4] = {…}` behind the type, which `declared` has. */
static bool parse_variable(struct ptx_parser *parser, const struct ptx_variable *declared)
{
    struct ptx_variable variable = *declared;
    struct ptx_token name;
    struct ptx_shape shape;
    if (!ptx_expect_word(parser, "the name of a variable", &name) ||
        !parse_dimensions(parser, &variable, &shape)) {
        return false;
    }
    variable.name = name.name->text;
    if (ptx_is_mark(parser, '=') && (!check_initialiser(parser, &variable) ||
                                     !ptx_initialiser_parse(parser, &shape, &variable))) {
        return false;
    }
    if (variable.bytes == 0 && !variable.is_extern) {
        return ptx_fail_at(parser, name.line, name.column,
                           "'%s' has no size and is not .extern", variable.name);
    }
    struct ptx_variable *earlier = find_earlier(parser, name.name, &variable);
    if (earlier != NULL) {
        merge(earlier, &variable);
        return ptx_count_bytes(parser, variable.bytes);
    }
    if (!place_variable(parser, &variable) || !ptx_count_bytes(parser, variable.bytes) ||
        !ptx_declare(parser, &name, name.name, PTX_IS_VARIABLE, parser->variable_count)) {
        return false;
    }
    add_variable(parser, &variable);
    return true;
}

bool ptx_variables_parse(struct ptx_parser *parser, enum ptx_space space,
                         struct ptx_linkage linkage)
{
    struct ptx_variable declared = {
        .space = space, .is_extern = linkage.is_extern, .is_visible = linkage.is_visible};
    if (parser->depth == 0 && (space == PTX_LOCAL || space == PTX_PARAM)) {
        return ptx_fail(parser, "'.%s' outside of a function is not supported",
                        parser->token.name->text);
    }
    ptx_next(parser);
    if (!parse_type(parser, &declared)) {
        return false;
    }
    do {
        if (!parse_variable(parser, &declared)) {
            return false;
        }
    } while (ptx_accept(parser, ','));
    return ptx_expect(parser, ';');
}

/* ------------------------------------------------------------------------ parameters */

/* `.ptr .global .align 16`: what a pointer points to, which is known to nobody else. */
static bool skip_pointer_attributes(struct ptx_parser *parser)
{
    static const char *const spaces[] = {"const", "global", "local", "shared"};
    uint64_t alignment = 0;
    if (!accept_directive(parser, "ptr")) {
        return true;
    }
    for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
        if (accept_directive(parser, spaces[i])) {
            break;
        }
    }
    return !accept_directive(parser, "align") || parse_alignment(parser, &alignment);
}

static bool parse_param(struct ptx_parser *parser, struct ptx_area *area,
                        uint32_t *ret_index)
{
    struct ptx_variable param = {.space = PTX_PARAM};
    struct ptx_token name;
    struct ptx_shape shape;
    if (ptx_is_directive(parser, "reg")) {
        return ptx_fail(parser, "'.reg': parameters in registers are not supported");
    }
    if (!ptx_is_directive(parser, "param")) {
        return ptx_fail_expected(parser, "'.param'");
    }
    ptx_next(parser);
    if (!parse_type(parser, &param) || !skip_pointer_attributes(parser) ||
        !ptx_expect_word(parser, "the name of a parameter", &name) ||
        !parse_dimensions(parser, &param, &shape)) {
        return false;
    }
    param.name = name.name->text;
    if (param.bytes == 0) {
        return ptx_fail_at(parser, name.line, name.column,
                           "parameter '%s' without a size is not supported", param.name);
    }
    *ret_index = parser->variable_count;
    return lay_out(parser, area, &param) && ptx_count_bytes(parser, param.bytes) &&
           ptx_declare(parser, &name, name.name, PTX_IS_VARIABLE,
                       add_variable(parser, &param));
}

bool ptx_params_parse(struct ptx_parser *parser, uint32_t **ret_indices,
                      unsigned *ret_count, uint64_t *ret_bytes)
{
    struct ptx_area area = {0};
    const uint32_t first = parser->variable_count;
    if (!ptx_expect(parser, '(')) {
        return false;
    }
    if (!ptx_accept(parser, ')')) {
        do {
            uint32_t index = 0;
            if (!parse_param(parser, &area, &index)) {
                return false;
            }
        } while (ptx_accept(parser, ','));
        if (!ptx_expect(parser, ')')) {
            return false;
        }
    }
    /* They stand one behind the other: nothing else is declared between parentheses. */
    *ret_count = parser->variable_count - first;
    *ret_indices = emu_arena_alloc(&parser->module->arena, *ret_count * sizeof(uint32_t));
    for (unsigned i = 0; i < *ret_count; i++) {
        (*ret_indices)[i] = first + i;
    }
    *ret_bytes = area.bytes;
    return !parser->failed;
}
