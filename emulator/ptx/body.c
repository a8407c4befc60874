/* SPDX-License-Identifier: MIT */
/* The body of a function: registers, labels, scopes, instructions. */
#include <string.h>

#include "ptx/internal.h"

#define WORDS_MAX       32u
#define OPCODE_MAX      512u
#define RANGE_NAME_MAX  64u
#define RANGE_DIGIT_MAX 10u

/* An opcode that was met before: its words are kept once. */
struct opcode {
    const char **words;
    unsigned count;
};

/* ------------------------------------------------------------------------- registers */

static bool declare_register(struct ptx_parser *parser, const struct ptx_token *token,
                             struct ptx_name *name, enum ptx_type type)
{
    if (parser->registers_of_module == PTX_REGISTERS_MAX) {
        return ptx_fail_at(parser, token->line, token->column,
                           "more than %u registers in the module", PTX_REGISTERS_MAX);
    }
    if (!ptx_declare(parser, token, name, PTX_IS_REGISTER, parser->register_count)) {
        return false;
    }
    EMU_GROW(parser->registers, parser->register_count);
    parser->registers[parser->register_count++] =
        (struct ptx_register){.name = name->text, .type = type};
    parser->registers_of_module++;
    return true;
}

/* Writes `number` behind the `length` characters of `text`; returns the length of both. */
static size_t append_number(char *text, size_t length, uint32_t number)
{
    char digits[RANGE_DIGIT_MAX];
    unsigned count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (count > 0) {
        text[length++] = digits[--count];
    }
    return length;
}

/* `%r<12>` is %r0 to %r11; the `<` is consumed. */
static bool declare_range(struct ptx_parser *parser, const struct ptx_token *token,
                          enum ptx_type type)
{
    char text[RANGE_NAME_MAX + RANGE_DIGIT_MAX];
    uint64_t count = 0;
    if (!ptx_expect_integer(parser, PTX_REGISTERS_MAX, &count) ||
        !ptx_expect(parser, '>')) {
        return false;
    }
    if (token->name->length > RANGE_NAME_MAX) {
        return ptx_fail_at(parser, token->line, token->column,
                           "the name of a range of registers has more than %u characters",
                           RANGE_NAME_MAX);
    }
    memcpy(text, token->name->text, token->name->length);
    for (uint32_t i = 0; i < count; i++) {
        const size_t length = append_number(text, token->name->length, i);
        struct ptx_name *name = ptx_intern(parser, &parser->names, text, length);
        if (!declare_register(parser, token, name, type)) {
            return false;
        }
    }
    return true;
}

/* `.reg .b32 %r<12>, a;` */
static bool parse_registers(struct ptx_parser *parser)
{
    enum ptx_type type = PTX_PRED;
    ptx_next(parser);
    if (ptx_is_directive(parser, "v2") || ptx_is_directive(parser, "v4")) {
        return ptx_fail(parser, "'.%s': vector registers are not supported",
                        parser->token.name->text);
    }
    if (parser->token.kind != PTX_TOKEN_DIRECTIVE ||
        !ptx_type_of(parser->token.name->text, &type)) {
        return ptx_fail_expected(parser, "the type of a register");
    }
    ptx_next(parser);
    do {
        struct ptx_token name;
        if (!ptx_expect_word(parser, "the name of a register", &name)) {
            return false;
        }
        const bool ok = ptx_accept(parser, '<')
                            ? declare_range(parser, &name, type)
                            : declare_register(parser, &name, name.name, type);
        if (!ok) {
            return false;
        }
    } while (ptx_accept(parser, ','));
    return ptx_expect(parser, ';');
}

/* ---------------------------------------------------------------------- instructions */

/* `@p` or `@!p`; the `@` is consumed. */
static bool parse_guard(struct ptx_parser *parser, struct ptx_insn *insn)
{
    struct ptx_token name;
    insn->guard_negated = ptx_accept(parser, '!');
    if (!ptx_expect_word(parser, "a predicate", &name)) {
        return false;
    }
    const struct ptx_symbol *symbol = name.name->value;
    if (symbol == NULL) {
        return ptx_fail_at(parser, name.line, name.column, "predicate '%s' is not declared",
                           name.name->text);
    }
    if (symbol->meaning != PTX_IS_REGISTER ||
        parser->registers[symbol->index].type != PTX_PRED) {
        return ptx_fail_at(parser, name.line, name.column,
                           "'%s' behind '@' is no predicate register", name.name->text);
    }
    insn->guard = symbol->index;
    return true;
}

static struct opcode *keep_opcode(struct ptx_parser *parser, const char **words,
                                  unsigned count)
{
    struct opcode *opcode = emu_arena_alloc(&parser->scratch, sizeof(*opcode));
    opcode->count = count;
    opcode->words = emu_arena_alloc(&parser->module->arena, count * sizeof(const char *));
    memcpy(opcode->words, words, count * sizeof(const char *));
    return opcode;
}

/* `ld.global.u32`, of which `first` was read. */
static bool parse_opcode(struct ptx_parser *parser, const struct ptx_token *first,
                         struct ptx_insn *insn)
{
    const char *words[WORDS_MAX];
    char text[OPCODE_MAX];
    size_t length = first->name->length;
    unsigned count = 0;
    if (first->name->text[0] == '%' || first->name->text[0] == '$' ||
        length >= OPCODE_MAX) {
        return ptx_fail_at(parser, first->line, first->column,
                           "expected an instruction but met '%.200s'", first->name->text);
    }
    memcpy(text, first->name->text, length);
    words[count++] = first->name->text;
    while (parser->token.kind == PTX_TOKEN_DIRECTIVE) {
        const struct ptx_name *word = parser->token.name;
        if (count == WORDS_MAX || length + 1 + word->length > OPCODE_MAX) {
            return ptx_fail_at(parser, first->line, first->column,
                               "an opcode of more than %u words or %u characters",
                               WORDS_MAX, OPCODE_MAX);
        }
        text[length++] = '.';
        memcpy(text + length, word->text, word->length);
        length += word->length;
        words[count++] = word->text;
        ptx_next(parser);
    }
    struct ptx_name *name = ptx_intern(parser, &parser->opcodes, text, length);
    if (name->value == NULL) {
        name->value = keep_opcode(parser, words, count);
    }
    const struct opcode *opcode = name->value;
    insn->opcode = name->text;
    insn->words = opcode->words;
    insn->word_count = opcode->count;
    return !parser->failed;
}

static bool parse_insn(struct ptx_parser *parser, const struct ptx_token *first,
                       struct ptx_insn *insn)
{
    insn->location.ptx_line = first->line;
    if (!parse_opcode(parser, first, insn) || !ptx_operands_parse(parser, insn)) {
        return false;
    }
    /* Two arrays that grow at the same counts. */
    EMU_GROW(parser->code.insns, parser->code.count);
    EMU_GROW(parser->code.origins, parser->code.count);
    parser->code.insns[parser->code.count] = *insn;
    parser->code.origins[parser->code.count] = parser->location;
    parser->code.count++;
    return true;
}

static bool parse_guarded(struct ptx_parser *parser)
{
    struct ptx_insn insn = {0};
    struct ptx_token first;
    ptx_next(parser);
    return parse_guard(parser, &insn) &&
           ptx_expect_word(parser, "an instruction", &first) &&
           parse_insn(parser, &first, &insn);
}

static bool parse_label_or_insn(struct ptx_parser *parser)
{
    struct ptx_insn insn = {.guard = PTX_NO_GUARD};
    struct ptx_token first;
    if (!ptx_expect_word(parser, "an instruction", &first)) {
        return false;
    }
    if (ptx_accept(parser, ':')) {
        return ptx_declare(parser, &first, first.name, PTX_IS_LABEL, parser->code.count);
    }
    return parse_insn(parser, &first, &insn);
}

bool ptx_pragma_parse(struct ptx_parser *parser)
{
    /* Pragmas are hints by definition: no result depends on them. */
    const char *text = NULL;
    do {
        ptx_next(parser);
        if (!ptx_expect_string(parser, &text)) {
            return false;
        }
    } while (ptx_is_mark(parser, ','));
    return ptx_expect(parser, ';');
}

/* ------------------------------------------------------------------------ statements */

static bool parse_directive(struct ptx_parser *parser)
{
    static const struct {
        const char *word;
        enum ptx_space space;
    } spaces[] = {{"param", PTX_PARAM},
                  {"shared", PTX_SHARED},
                  {"local", PTX_LOCAL},
                  {"global", PTX_GLOBAL},
                  {"const", PTX_CONST}};
    static const struct {
        const char *word;
        bool (*parse)(struct ptx_parser *parser);
    } others[] = {
        {"reg", parse_registers}, {"loc", ptx_loc_parse}, {"pragma", ptx_pragma_parse}};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (ptx_is_directive(parser, others[i].word)) {
            return others[i].parse(parser);
        }
    }
    for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
        if (ptx_is_directive(parser, spaces[i].word)) {
            return ptx_variables_parse(parser, spaces[i].space, (struct ptx_linkage){0});
        }
    }
    return ptx_fail(parser, "directive '.%s' is not supported in a function",
                    parser->token.name->text);
}

static bool parse_statement(struct ptx_parser *parser)
{
    if (ptx_accept(parser, '{')) {
        return ptx_scope_open(parser);
    }
    if (ptx_is_mark(parser, '@')) {
        return parse_guarded(parser);
    }
    if (parser->token.kind == PTX_TOKEN_DIRECTIVE) {
        return parse_directive(parser);
    }
    if (parser->token.kind == PTX_TOKEN_WORD) {
        return parse_label_or_insn(parser);
    }
    return ptx_fail_expected(parser, "an instruction or '}'");
}

/* Statements up to the `}` of the body; scopes inside are opened and closed. */
static bool parse_statements(struct ptx_parser *parser)
{
    const unsigned depth = parser->depth;
    while (!ptx_is_mark(parser, '}') || parser->depth > depth) {
        if (ptx_accept(parser, '}')) {
            ptx_scope_close(parser);
        } else if (!parse_statement(parser)) {
            return false;
        }
    }
    ptx_scope_close(parser);
    return true;
}

static void keep_code(struct ptx_parser *parser, struct ptx_function *function)
{
    const uint32_t count = parser->code.count, registers = parser->register_count;
    struct emu_arena *arena = &parser->module->arena;
    struct ptx_code kept = {.count = count};
    kept.insns = emu_arena_alloc(arena, count * sizeof(*kept.insns));
    kept.origins = emu_arena_alloc(&parser->scratch, count * sizeof(struct ptx_location *));
    function->registers = emu_arena_alloc(arena, registers * sizeof(*function->registers));
    if (count > 0) {
        memcpy(kept.insns, parser->code.insns, count * sizeof(*kept.insns));
        memcpy(kept.origins, parser->code.origins, count * sizeof(struct ptx_location *));
    }
    if (registers > 0) {
        memcpy(function->registers, parser->registers,
               registers * sizeof(*function->registers));
    }
    function->insns = kept.insns;
    function->insn_count = count;
    function->register_count = registers;
    EMU_GROW(parser->codes, parser->code_count);
    parser->codes[parser->code_count++] = kept;
}

bool ptx_body_parse(struct ptx_parser *parser, struct ptx_function *function)
{
    parser->register_count = 0;
    parser->code.count = 0;
    parser->reference_count = 0;
    parser->local = (struct ptx_area){.alignment = 1};
    parser->call_params = (struct ptx_area){0};
    parser->call_params_most = 0;
    parser->location = NULL;
    if (!ptx_expect(parser, '{') || !parse_statements(parser)) {
        return false;
    }
    if (parser->reference_count > 0) {
        const struct ptx_operand *operand = parser->references[0];
        const uint64_t place = (uint64_t)operand->value;
        return ptx_fail_at(parser, (uint32_t)(place >> 32), (uint32_t)place,
                           "label '%s' is not declared", operand->text);
    }
    keep_code(parser, function);
    function->has_body = true;
    function->local_bytes = parser->local.bytes;
    function->local_alignment = parser->local.alignment;
    function->call_param_bytes = parser->call_params_most;
    return ptx_expect(parser, '}');
}
