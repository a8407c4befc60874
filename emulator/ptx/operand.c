/* SPDX-License-Identifier: MIT */
/* The operands of an instruction: names resolved, labels left to the end of their scope. */
#include <string.h>

#include "ptx/internal.h"

#define ELEMENTS_MAX 1024u

enum context {
    IN_ELEMENT, /* of a vector or a list */
    IN_OPERAND,
    IN_BRANCH, /* names are labels */
    IN_CALL    /* names are functions, parentheses are lists */
};

static void push(struct ptx_parser *parser, const struct ptx_operand *operand)
{
    EMU_GROW(parser->operands, parser->operand_count);
    parser->operands[parser->operand_count++] = *operand;
}

/* Moves what was pushed from `first` on into the module. */
static struct ptx_operand *keep(struct ptx_parser *parser, uint32_t first,
                                unsigned *ret_count)
{
    const uint32_t count = parser->operand_count - first;
    struct ptx_operand *kept = NULL;
    if (count > 0) {
        kept = emu_arena_alloc(&parser->module->arena, count * sizeof(*kept));
        memcpy(kept, parser->operands + first, count * sizeof(*kept));
    }
    parser->operand_count = first;
    *ret_count = count;
    return kept;
}

/* ----------------------------------------------------------------------------- names */

/* `.x` directly behind the name that was just read. */
static bool has_suffix(const struct ptx_parser *parser, const struct ptx_token *name)
{
    return parser->token.kind == PTX_TOKEN_DIRECTIVE &&
           parser->token.start - 1 == name->start + name->length;
}

/* `%tid.x` and all other names that begin with % and are not declared. */
static bool parse_special(struct ptx_parser *parser, const struct ptx_token *name,
                          struct ptx_operand *ret)
{
    ret->kind = PTX_SPECIAL;
    ret->text = name->name->text;
    if (has_suffix(parser, name)) {
        const struct ptx_token *suffix = &parser->token;
        const size_t length = (size_t)(suffix->start + suffix->name->length - name->start);
        ret->text = ptx_intern(parser, &parser->names, name->start, length)->text;
        ptx_next(parser);
    }
    return !parser->failed;
}

/* A branch may stand before its label, so that only the end of the scope tells what it
 * means. Until then the value keeps where the name stands. */
static void keep_reference(const struct ptx_token *name, struct ptx_operand *ret)
{
    ret->kind = PTX_LABEL;
    ret->text = name->name->text;
    ret->value = (int64_t)((uint64_t)name->line << 32 | name->column);
}

static bool fail_unknown(struct ptx_parser *parser, enum context context,
                         const struct ptx_token *name)
{
    const char *what = context == IN_CALL ? "function " : "";
    return ptx_fail_at(parser, name->line, name->column, "%s'%s' is not declared", what,
                       name->name->text);
}

static bool parse_name(struct ptx_parser *parser, enum context context,
                       struct ptx_operand *ret)
{
    const struct ptx_token name = parser->token;
    const struct ptx_symbol *symbol = name.name->value;
    ptx_next(parser);
    if (context == IN_BRANCH) {
        keep_reference(&name, ret);
        return !parser->failed;
    }
    if (symbol == NULL && name.name->text[0] == '%' && context != IN_CALL) {
        return parse_special(parser, &name, ret);
    }
    if (symbol == NULL) {
        return fail_unknown(parser, context, &name);
    }
    if (symbol->meaning == PTX_IS_LABEL) {
        return ptx_fail_at(parser, name.line, name.column,
                           "label '%s' outside of a branch is not supported",
                           name.name->text);
    }
    ret->index = symbol->index;
    if (symbol->meaning == PTX_IS_FUNCTION) {
        ret->kind = PTX_FUNCTION;
    } else if (symbol->meaning == PTX_IS_VARIABLE) {
        ret->kind = PTX_VARIABLE;
        return !ptx_accept(parser, '+') || ptx_constant_integer(parser, &ret->value);
    } else if (has_suffix(parser, &name)) {
        return ptx_fail_at(parser, name.line, name.column,
                           "'%s.%s': elements of vector registers are not supported",
                           name.name->text, parser->token.name->text);
    } else {
        ret->kind = PTX_REGISTER;
    }
    if (context == IN_CALL && ret->kind == PTX_REGISTER) {
        return ptx_fail_at(parser, name.line, name.column,
                           "a call through register '%s' is not supported",
                           name.name->text);
    }
    return !parser->failed;
}

/* --------------------------------------------------------------------------- scalars */

static bool is_name(const struct ptx_token *token)
{
    return token->kind == PTX_TOKEN_WORD && strcmp(token->name->text, "WARP_SZ") != 0;
}

static bool parse_constant(struct ptx_parser *parser, struct ptx_operand *ret)
{
    struct ptx_constant constant = {0};
    if (!ptx_constant_parse(parser, &constant)) {
        return false;
    }
    ret->kind = PTX_INTEGER;
    ret->value = (int64_t)constant.bits;
    if (constant.is_real) {
        ret->kind = PTX_FLOAT64;
        memcpy(&ret->value, &constant.real, sizeof(ret->value));
    }
    return true;
}

/* What a constant expression may begin with. */
static bool may_be_constant(const struct ptx_token *token)
{
    if (token->kind == PTX_TOKEN_MARK) {
        return strchr("(-+!~", token->mark) != NULL;
    }
    return token->kind == PTX_TOKEN_INTEGER || token->kind == PTX_TOKEN_DECIMAL ||
           token->kind == PTX_TOKEN_WORD;
}

static bool parse_negated(struct ptx_parser *parser, struct ptx_operand *ret)
{
    ptx_next(parser);
    const struct ptx_token name = parser->token;
    if (!parse_name(parser, IN_ELEMENT, ret)) {
        return false;
    }
    if (ret->kind != PTX_REGISTER) {
        return ptx_fail_at(parser, name.line, name.column,
                           "expected a register behind '!' or '-' but met '%s'",
                           name.name->text);
    }
    ret->negated = true;
    return true;
}

static bool parse_scalar(struct ptx_parser *parser, enum context context,
                         struct ptx_operand *ret)
{
    const struct ptx_token *token = &parser->token;
    *ret = (struct ptx_operand){0};
    if (token->kind == PTX_TOKEN_FLOAT32 || token->kind == PTX_TOKEN_FLOAT64) {
        ret->kind = token->kind == PTX_TOKEN_FLOAT32 ? PTX_FLOAT32 : PTX_FLOAT64;
        ret->value = (int64_t)token->bits;
        ptx_next(parser);
        return !parser->failed;
    }
    if (is_name(token) && strcmp(token->name->text, "_") == 0) {
        ret->kind = PTX_SINK;
        ptx_next(parser);
        return !parser->failed;
    }
    if (is_name(token)) {
        return parse_name(parser, context, ret);
    }
    if (ptx_is_mark(parser, '!') || ptx_is_mark(parser, '-')) {
        const struct ptx_token ahead = ptx_peek(parser);
        if (is_name(&ahead)) {
            return parse_negated(parser, ret);
        }
    }
    return may_be_constant(token) ? parse_constant(parser, ret)
                                  : ptx_fail_expected(parser, "an operand");
}

/* ------------------------------------------------------------------------ composites */

/* `a, b, …` up to `end`, which is consumed. */
static bool parse_elements(struct ptx_parser *parser, int end, struct ptx_operand *ret)
{
    const uint32_t first = parser->operand_count;
    do {
        struct ptx_operand element;
        if (parser->operand_count - first == ELEMENTS_MAX) {
            return ptx_fail(parser, "more than %u elements", ELEMENTS_MAX);
        }
        if (!parse_scalar(parser, IN_ELEMENT, &element)) {
            return false;
        }
        push(parser, &element);
    } while (ptx_accept(parser, ','));
    ret->elements = keep(parser, first, &ret->count);
    return ptx_expect(parser, end);
}

static bool parse_vector(struct ptx_parser *parser, struct ptx_operand *ret)
{
    *ret = (struct ptx_operand){.kind = PTX_VECTOR};
    return ptx_expect(parser, '{') && parse_elements(parser, '}', ret);
}

static bool parse_list(struct ptx_parser *parser, struct ptx_operand *ret)
{
    *ret = (struct ptx_operand){.kind = PTX_LIST};
    return ptx_expect(parser, '(') &&
           (ptx_accept(parser, ')') || parse_elements(parser, ')', ret));
}

/* `base`, `base+4`, `base+-4`: the base becomes the only element. */
static bool parse_base(struct ptx_parser *parser, struct ptx_operand *ret)
{
    const struct ptx_token first = parser->token;
    struct ptx_operand base;
    if (!parse_scalar(parser, IN_ELEMENT, &base)) {
        return false;
    }
    if (base.negated || (base.kind != PTX_REGISTER && base.kind != PTX_VARIABLE &&
                         base.kind != PTX_INTEGER)) {
        return ptx_fail_at(parser, first.line, first.column,
                           "expected a register, a variable or an integer as the address "
                           "but met '%.*s'",
                           first.length > 200 ? 200 : (int)first.length, first.start);
    }
    *ret = (struct ptx_operand){.kind = PTX_ADDRESS};
    if (base.kind == PTX_VARIABLE) {
        ret->value = base.value;
        base.value = 0;
    } else if (ptx_accept(parser, '+') && !ptx_constant_integer(parser, &ret->value)) {
        return false;
    }
    push(parser, &base);
    ret->elements = keep(parser, parser->operand_count - 1, &ret->count);
    return !parser->failed;
}

/* `[base]`, or `[base, {c0, …}]` of a tensor. */
static bool parse_address(struct ptx_parser *parser, struct ptx_operand *ret)
{
    struct ptx_operand address, coordinates;
    if (!ptx_expect(parser, '[') || !parse_base(parser, &address)) {
        return false;
    }
    if (!ptx_accept(parser, ',')) {
        *ret = address;
        return ptx_expect(parser, ']');
    }
    if (!parse_vector(parser, &coordinates)) {
        return false;
    }
    const uint32_t first = parser->operand_count;
    push(parser, &address);
    push(parser, &coordinates);
    *ret = (struct ptx_operand){.kind = PTX_TENSOR};
    ret->elements = keep(parser, first, &ret->count);
    return ptx_expect(parser, ']');
}

static bool may_pair(const struct ptx_operand *operand)
{
    return (operand->kind == PTX_REGISTER && !operand->negated) ||
           operand->kind == PTX_SINK;
}

/* `a|b`, of which `a` is read and `|` is the current token. */
static bool parse_pair(struct ptx_parser *parser, struct ptx_operand *ret)
{
    const struct ptx_operand one = *ret;
    struct ptx_operand other;
    ptx_next(parser);
    const struct ptx_token second = parser->token;
    if (!parse_scalar(parser, IN_ELEMENT, &other)) {
        return false;
    }
    if (!may_pair(&other)) {
        return ptx_fail_at(parser, second.line, second.column,
                           "expected a register or '_' behind '|' but met '%.*s'",
                           second.length > 200 ? 200 : (int)second.length, second.start);
    }
    const uint32_t first = parser->operand_count;
    push(parser, &one);
    push(parser, &other);
    *ret = (struct ptx_operand){.kind = PTX_PAIR};
    ret->elements = keep(parser, first, &ret->count);
    return true;
}

static bool parse_operand(struct ptx_parser *parser, enum context context,
                          struct ptx_operand *ret)
{
    if (ptx_is_mark(parser, '{')) {
        return parse_vector(parser, ret);
    }
    if (ptx_is_mark(parser, '[')) {
        return parse_address(parser, ret);
    }
    if (context == IN_CALL && ptx_is_mark(parser, '(')) {
        return parse_list(parser, ret);
    }
    if (!parse_scalar(parser, context, ret)) {
        return false;
    }
    return !ptx_is_mark(parser, '|') || !may_pair(ret) || parse_pair(parser, ret);
}

static enum context context_of(const struct ptx_insn *insn)
{
    if (strcmp(insn->words[0], "bra") == 0) {
        return IN_BRANCH;
    }
    return strcmp(insn->words[0], "call") == 0 ? IN_CALL : IN_OPERAND;
}

bool ptx_operands_parse(struct ptx_parser *parser, struct ptx_insn *insn)
{
    const enum context context = context_of(insn);
    const uint32_t first = parser->operand_count;
    if (ptx_accept(parser, ';')) {
        return !parser->failed;
    }
    do {
        struct ptx_operand operand;
        if (parser->operand_count - first == ELEMENTS_MAX) {
            return ptx_fail(parser, "more than %u operands", ELEMENTS_MAX);
        }
        if (!parse_operand(parser, context, &operand)) {
            return false;
        }
        push(parser, &operand);
    } while (ptx_accept(parser, ','));
    insn->operands = keep(parser, first, &insn->operand_count);
    for (unsigned i = 0; i < insn->operand_count; i++) {
        if (insn->operands[i].kind == PTX_LABEL) {
            EMU_GROW(parser->references, parser->reference_count);
            parser->references[parser->reference_count++] = &insn->operands[i];
        }
    }
    return ptx_expect(parser, ';');
}
