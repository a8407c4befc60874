/* SPDX-License-Identifier: MIT */
#include "plan/snippet_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/text.h"

/* Words that begin a declaration, or stand in one before the name. */
static const char *const type_words[] = {
    "auto",    "bool",     "char", "char16_t", "char32_t", "const", "constexpr",
    "double",  "float",    "int",  "long",     "register", "short", "signed",
    "typedef", "unsigned", "void", "volatile", "wchar_t",  NULL};
static const char *const class_words[] = {"struct", "class", "union", NULL};
/* Words after which a name is an expression, a statement or a label, and no declarator. */
static const char *const operator_words[] = {
    "alignof", "and",      "and_eq",   "bitand",   "bitor",  "case",    "compl", "default",
    "break",   "catch",    "continue", "explicit", "for",    "friend",  "goto",  "if",
    "inline",  "operator", "return",   "switch",   "try",    "virtual", "while", "delete",
    "do",      "else",     "new",      "not",      "not_eq", "or",      "or_eq", "sizeof",
    "throw",   "typeid",   "xor",      "xor_eq",   NULL};
/* Before a parenthesis they call nothing and declare nothing. */
static const char *const paren_words[] = {"alignas",  "alignof", "decltype", "for",   "if",
                                          "noexcept", "sizeof",  "switch",   "while", NULL};
static const char *const type_of_words[] = {"decltype", "typeof", NULL};
static const char *const value_words[] = {"acc",   "acc0", "acc1", "d", "row", "col",
                                          "batch", "M",    "N",    "K", NULL};
static const char *const constant_words[] = {"NAN", "INFINITY", NULL};
static const char *const result_words[] = {"acc", "acc0", "acc1", "d", NULL};

static struct jg_snippet_scope *top_of(struct jg_snippet_names *names)
{
    return &names->scopes[names->depth];
}

static bool is_step(const struct jg_token *token)
{
    return jg_token_is(token, "++") || jg_token_is(token, "--");
}

/* Does the token, when it follows a name, change the variable? */
static bool is_assignment(const struct jg_token *token)
{
    static const char *const comparisons[] = {"==", "!=", "<=", ">=", NULL};
    if (token->kind != JG_TOKEN_PUNCTUATOR || jg_token_is_one_of(token, comparisons)) {
        return false;
    }
    return is_step(token) || token->text[token->size - 1] == '=';
}

static bool is_member(const struct jg_token *before)
{
    return jg_token_is(before, ".") || jg_token_is(before, "->") ||
           jg_token_is(before, "::");
}

/* Does the snippet call the operand, or a value of it, by this name? */
static bool is_name_of(const struct jg_operand *operand, const struct jg_token *name)
{
    struct jg_token stem = *name;
    if (operand->kind == JIT_GEMM_OPERAND_PAIR_VECTOR) {
        const bool ends_with_number =
            name->size > 0 &&
            (name->text[name->size - 1] == '0' || name->text[name->size - 1] == '1');
        if (!ends_with_number) {
            return false;
        }
        stem.size--;
    }
    return jg_token_is(&stem, operand->name);
}

/* Number of the operand with this name; operand_count if there is none. */
static uint32_t find_operand(const struct jg_epilogue *epilogue,
                             const struct jg_token *name)
{
    uint32_t i = 0;
    while (i < epilogue->operand_count && !is_name_of(&epilogue->operands[i], name)) {
        i++;
    }
    return i;
}

/* ---------------------------------------------------------------------- declarations */

/* Two names side by side declare the second one, if the first can be a type. */
static bool is_after_type(struct jg_snippet_names *names)
{
    const struct jg_token *before = &names->before;
    const struct jg_snippet_scope *scope = top_of(names);
    if (before->kind != JG_TOKEN_NAME || jg_token_is_one_of(before, operator_words)) {
        return false;
    }
    if (jg_token_is_one_of(before, type_words) || jg_token_is_one_of(before, class_words) ||
        jg_token_is(before, "enum") || jg_token_is(before, "using") ||
        jg_token_is(before, "namespace")) {
        return true;
    }
    return !scope->has_operator && !scope->has_name &&
           !jg_token_is_one_of(before, value_words) &&
           find_operand(names->epilogue, before) == names->epilogue->operand_count;
}

/* Is the name one that is being declared? */
static bool is_declared(struct jg_snippet_names *names, const struct jg_token *next)
{
    struct jg_snippet_scope *scope = top_of(names);
    const struct jg_token *before = &names->before;
    if (is_member(before)) {
        return false;
    }
    if (jg_token_is(before, "}") &&
        (names->closed == JG_SNIPPET_CLASS || names->closed == JG_SNIPPET_LIST)) {
        scope->is_declaration = true;
        scope->wants_name = true;
        return true;
    }
    if (is_after_type(names) ||
        (jg_token_is(before, ")") && names->closed == JG_SNIPPET_TYPE)) {
        scope->is_declaration = true;
        scope->wants_name = true;
        return true;
    }
    if (scope->kind == JG_SNIPPET_CAPTURE) {
        return jg_token_is(next, "=");
    }
    return scope->is_declaration && scope->wants_name;
}

static jit_gemm_status check_hiding(const struct jg_snippet_names *names,
                                    const struct jg_token *name)
{
    const struct jg_epilogue *epilogue = names->epilogue;
    const struct jg_quoted quoted = jg_quote(name->text, name->size);
    const uint32_t operand = find_operand(epilogue, name);
    if (operand < epilogue->operand_count) {
        return jg_snippet_refuse(
            epilogue, name->begin,
            epilogue->operands[operand].role == JIT_GEMM_OPERAND_INPUT
                ? "use another name for the variable"
                : "assign the output without a type before it, or use another name",
            "a variable %s would hide the operand '%s'", quoted.text,
            epilogue->operands[operand].name);
    }
    if (jg_token_is_one_of(name, constant_words)) {
        return jg_snippet_refuse(epilogue, name->begin, "use another name for the variable",
                                 "a variable %s would hide the constant %s", quoted.text,
                                 quoted.text);
    }
    if (!jg_token_is_one_of(name, value_words)) {
        return JIT_GEMM_OK;
    }
    if (!jg_token_is_one_of(name, result_words)) {
        return jg_snippet_refuse(epilogue, name->begin, "use another name for the variable",
                                 "a variable %s would hide the size or place %s",
                                 quoted.text, quoted.text);
    }
    if (jg_token_is(name, "d")) {
        return jg_snippet_refuse(epilogue, name->begin,
                                 "assign the result without a type: 'd = ...'",
                                 "a variable 'd' would hide the result 'd'");
    }
    return jg_snippet_refuse(epilogue, name->begin, "use another name for the variable",
                             "a variable %s would hide the product %s", quoted.text,
                             quoted.text);
}

/* A word of a type, where it does not convert a value as in `float(x)` or
 * `static_cast<float>(x)`. */
static void take_type_word(struct jg_snippet_names *names, const struct jg_token *next)
{
    static const char *const ends[] = {")", "{", ">", ",", NULL};
    static const char *const starts[] = {";", "{", "}", NULL};
    struct jg_snippet_scope *scope = top_of(names);
    const struct jg_token *before = &names->before;
    const bool is_first =
        before->kind == JG_TOKEN_END || jg_token_is_one_of(before, starts);
    if (jg_token_is_one_of(next, ends) || jg_token_is(before, "<") ||
        jg_token_is(before, "new") || (jg_token_is(next, "(") && !is_first)) {
        return;
    }
    scope->is_declaration = true;
    scope->wants_name = true;
}

static jit_gemm_status refuse_function(const struct jg_snippet_names *names,
                                       const struct jg_token *name)
{
    return jg_snippet_refuse(names->epilogue, name->begin,
                             "write the formula where it is used, or call a function of "
                             "the prelude",
                             "%s would be a function, which a snippet cannot declare",
                             jg_quote(name->text, name->size).text);
}

/* The first token behind `name(` of a declaration: parameters, or the value that the
 * variable begins with? */
static bool begins_parameters(const struct jg_token *first, const struct jg_token *next)
{
    if (jg_token_is(first, ")") || jg_token_is(first, "...") ||
        jg_token_is_one_of(first, class_words)) {
        return true;
    }
    if (jg_token_is_one_of(first, type_words)) {
        return !jg_token_is(next, "(") && !jg_token_is(next, "{");
    }
    return first->kind == JG_TOKEN_NAME && next->kind == JG_TOKEN_NAME &&
           !jg_token_is_one_of(first, operator_words) &&
           !jg_token_is_one_of(next, operator_words);
}

/* -------------------------------------------------------------------------- brackets */

static void begin_statement(struct jg_snippet_scope *scope)
{
    const enum jg_snippet_scope_kind kind = scope->kind;
    *scope = (struct jg_snippet_scope){.kind = kind};
}

/* The kind of what a bracket opens; `scope` is the one that it stands in. */
static enum jg_snippet_scope_kind kind_of_bracket(const struct jg_snippet_names *names,
                                                  const struct jg_snippet_scope *scope)
{
    const struct jg_token *before = &names->before;
    switch (names->token.text[0]) {
    case '(':
        if (jg_token_is(before, "]") && names->closed == JG_SNIPPET_CAPTURE) {
            return JG_SNIPPET_LAMBDA;
        }
        return jg_token_is_one_of(before, type_of_words) ? JG_SNIPPET_TYPE
                                                         : JG_SNIPPET_PAREN;
    case '[':
        if (scope->is_declaration && scope->wants_name && !scope->has_name) {
            return JG_SNIPPET_LIST;
        }
        return (before->kind == JG_TOKEN_NAME &&
                !jg_token_is_one_of(before, operator_words)) ||
                       before->kind == JG_TOKEN_LITERAL || jg_token_is(before, ")") ||
                       jg_token_is(before, "]")
                   ? JG_SNIPPET_SUBSCRIPT
                   : JG_SNIPPET_CAPTURE;
    default:
        if (scope->is_enum) {
            return JG_SNIPPET_LIST;
        }
        if (scope->is_head) {
            return JG_SNIPPET_CLASS;
        }
        return scope->is_declaration ? JG_SNIPPET_INIT : JG_SNIPPET_BLOCK;
    }
}

static jit_gemm_status take_opening(struct jg_snippet_names *names)
{
    struct jg_snippet_scope *scope = top_of(names);
    const struct jg_token *before = &names->before;
    const bool is_paren = jg_token_is(&names->token, "(");
    const enum jg_snippet_scope_kind kind = kind_of_bracket(names, scope);
    /* `float (d)` and `float(d)` declare d. */
    const bool is_wrapped_name = is_paren && scope->is_declaration && scope->wants_name &&
                                 !scope->has_name && kind == JG_SNIPPET_PAREN;
    names->is_parameter_list = is_paren && scope->is_declaration && scope->wants_name &&
                               scope->has_name && before->kind == JG_TOKEN_NAME &&
                               scope->kind != JG_SNIPPET_CLASS;
    if (is_paren && scope->kind == JG_SNIPPET_CLASS && !scope->has_operator &&
        before->kind == JG_TOKEN_NAME && !jg_token_is_one_of(before, paren_words) &&
        !is_wrapped_name) {
        return refuse_function(names, before);
    }
    if (is_paren && scope->kind == JG_SNIPPET_CLASS && !scope->has_operator &&
        jg_token_is(before, ")") && names->closed == JG_SNIPPET_PAREN) {
        return jg_snippet_refuse(names->epilogue, names->token.begin,
                                 "call the function by its name",
                                 "a struct of a snippet holds no pointer to a function");
    }
    if (kind != JG_SNIPPET_TYPE) {
        scope->wants_name = false;
    }
    scope->is_head = false;
    scope->is_enum = false;
    if (kind != JG_SNIPPET_SUBSCRIPT || !jg_token_is(before, "]")) {
        names->elements = 1;
    }
    names->depth++;
    *top_of(names) = (struct jg_snippet_scope){
        .kind = kind,
        .is_declaration = kind == JG_SNIPPET_LIST || is_wrapped_name,
        .wants_name = kind == JG_SNIPPET_LIST || is_wrapped_name};
    names->closed = JG_SNIPPET_BLOCK;
    return JIT_GEMM_OK;
}

static void take_closing(struct jg_snippet_names *names)
{
    names->closed = top_of(names)->kind;
    names->depth--;
    if (names->closed == JG_SNIPPET_BLOCK) {
        begin_statement(top_of(names));
    }
}

/* --------------------------------------------------------------------- uses and values */

/* Outputs whose first assignment is complete now have a value. */
static void end_assignments(struct jg_snippet_names *names)
{
    names->assigned |= names->begun;
    names->begun = 0;
}

static jit_gemm_status take_output(struct jg_snippet_names *names,
                                   const struct jg_token *name, const struct jg_token *next)
{
    const uint32_t operand = find_operand(names->epilogue, name);
    const uint32_t bit = 1u << operand;
    if ((names->assigned & bit) != 0 || top_of(names)->kind == JG_SNIPPET_CAPTURE) {
        return JIT_GEMM_OK;
    }
    if (jg_token_is(next, "[")) {
        return jg_snippet_refuse(names->epilogue, name->begin,
                                 "it is the float of this element; assign to it without an "
                                 "index",
                                 "output '%s' has no index",
                                 names->epilogue->operands[operand].name);
    }
    if (!jg_token_is(next, "=") || is_step(&names->before)) {
        return jg_snippet_refuse(
            names->epilogue, name->begin,
            jg_operand_reduces(&names->epilogue->operands[operand])
                ? "assign with '=' what this element contributes; the "
                  "kernel folds it"
                : "assign it before; an output has no value of its own",
            "output '%s' is read before it is assigned",
            names->epilogue->operands[operand].name);
    }
    if (names->begun == 0) {
        names->begun_depth = names->depth;
    }
    names->begun |= bit;
    return JIT_GEMM_OK;
}

/* A word that is no operand may be one with a slip: kept for an operand that is never named
 * as it should be. Short names are near to everything. */
static void note_near(struct jg_snippet_names *names)
{
    enum { MIN_SIZE = 3, MAX_EDITS = 2 };
    const struct jg_token *word = &names->token;
    for (uint32_t i = 0; i < names->epilogue->operand_count; i++) {
        const char *name = names->epilogue->operands[i].name;
        const size_t size = strlen(name);
        if (jg_token_is(word, name)) { /* of a pair vector, whose values are NAME0, NAME1 */
            names->near[i] = *word;
            names->near_edits[i] = 0;
            continue;
        }
        if (size < MIN_SIZE || word->size < MIN_SIZE || size > word->size + MAX_EDITS ||
            word->size > size + MAX_EDITS) {
            continue;
        }
        const size_t edits = jg_count_edits(word->text, word->size, name, size);
        const bool is_nearer = names->near[i].kind == JG_TOKEN_END
                                   ? edits <= MAX_EDITS && edits + 1 < size
                                   : edits < names->near_edits[i];
        if (is_nearer) {
            names->near[i] = *word;
            names->near_edits[i] = edits;
        }
    }
}

static jit_gemm_status refuse_written_input(const struct jg_snippet_names *names,
                                            const struct jg_token *name)
{
    return jg_snippet_refuse(
        names->epilogue, name->begin,
        "copy it to a variable of your own, or declare it as an output",
        "input %s cannot be assigned", jg_quote(name->text, name->size).text);
}

/* `(d) = acc` and `(bias) = acc`, behind the bracket: what it holds is assigned. */
static jit_gemm_status take_lone_name(struct jg_snippet_names *names,
                                      const struct jg_token *next)
{
    const struct jg_epilogue *epilogue = names->epilogue;
    const struct jg_token *name = &names->before;
    const bool is_changed = is_assignment(next) && !is_step(next);
    names->is_d_assigned |= is_changed && jg_token_is(name, "d");
    const uint32_t operand = find_operand(epilogue, name);
    if (operand == epilogue->operand_count) {
        return JIT_GEMM_OK;
    }
    if (epilogue->operands[operand].role != JIT_GEMM_OPERAND_INPUT) {
        return take_output(names, name, next);
    }
    return is_changed ? refuse_written_input(names, name) : JIT_GEMM_OK;
}

/* A name that is not being declared. */
static jit_gemm_status take_use(struct jg_snippet_names *names, const struct jg_token *next)
{
    const struct jg_token *name = &names->token;
    if (is_member(&names->before)) {
        return JIT_GEMM_OK;
    }
    const bool is_changed = is_step(&names->before) || is_assignment(next);
    if (jg_token_is(name, "d")) {
        names->is_d_assigned |= is_changed;
        names->first_d = names->first_d.line == 0 ? name->begin : names->first_d;
        return JIT_GEMM_OK;
    }
    const struct jg_epilogue *epilogue = names->epilogue;
    const uint32_t operand = find_operand(epilogue, name);
    if (operand == epilogue->operand_count) {
        note_near(names);
        return JIT_GEMM_OK;
    }
    names->named |= 1u << operand;
    if (epilogue->operands[operand].role != JIT_GEMM_OPERAND_INPUT) {
        return names->is_lone_name ? JIT_GEMM_OK : take_output(names, name, next);
    }
    return is_changed ? refuse_written_input(names, name) : JIT_GEMM_OK;
}

/* ---------------------------------------------------------------------------- tokens */

static jit_gemm_status take_name(struct jg_snippet_names *names,
                                 const struct jg_token *next)
{
    struct jg_snippet_scope *scope = top_of(names);
    const struct jg_token *name = &names->token;
    if (jg_token_is_one_of(name, type_words)) {
        take_type_word(names, next);
        return JIT_GEMM_OK;
    }
    if (jg_token_is_one_of(name, class_words) || jg_token_is(name, "enum")) {
        scope->is_enum |= jg_token_is(name, "enum");
        scope->is_head = true;
        return JIT_GEMM_OK;
    }
    if (!is_declared(names, next)) {
        return take_use(names, next);
    }
    scope->has_name = !scope->is_head;
    scope->name = *name;
    if (scope->kind == JG_SNIPPET_CLASS) {
        return JIT_GEMM_OK;
    }
    return check_hiding(names, name);
}

static jit_gemm_status take_punctuator(struct jg_snippet_names *names)
{
    struct jg_snippet_scope *scope = top_of(names);
    const struct jg_token *token = &names->token;
    static const char *const opening[] = {"(", "[", "{", NULL};
    static const char *const closing[] = {")", "]", "}", NULL};
    static const char *const silent[] = {"*", "&", "&&", "::", NULL}; /* of a type too */
    if (jg_token_is_one_of(token, opening)) {
        if (jg_token_is(token, "{")) {
            end_assignments(names);
        }
        return take_opening(names);
    }
    if (jg_token_is_one_of(token, closing)) {
        take_closing(names);
        if (jg_token_is(token, "}") || names->depth < names->begun_depth) {
            end_assignments(names);
        }
    } else if (jg_token_is(token, ";")) {
        end_assignments(names);
        begin_statement(scope);
        scope->is_declaration = scope->wants_name = scope->kind == JG_SNIPPET_LIST;
    } else if (jg_token_is(token, ",")) {
        if (names->depth <= names->begun_depth) {
            end_assignments(names);
        }
        scope->wants_name = scope->is_declaration;
        scope->has_operator = false;
    } else if (jg_token_is(token, "->") && names->closed == JG_SNIPPET_LAMBDA) {
        /* Without it a lambda cannot call itself: its type is not known inside of it. */
        return jg_snippet_refuse(names->epilogue, token->begin,
                                 "leave it out: a lambda stores by reference, as in "
                                 "'[&](float x) { d = x; }'",
                                 "a lambda of a snippet has no type of a result");
    } else if (!jg_token_is_one_of(token, silent)) {
        scope->is_head &= jg_token_is(token, ":");
        scope->is_enum &= scope->is_head;
        scope->wants_name = false;
        scope->has_operator = true;
    }
    return JIT_GEMM_OK;
}

/* `float y(float(x));` declares a function with a parameter x. Follows `(x)` and what comes
 * after it; true once it is sure. */
static bool follow_wrapped(struct jg_snippet_names *names)
{
    const struct jg_token *token = &names->token;
    const bool fits = names->wrapped == 1   ? jg_token_is(token, "(")
                      : names->wrapped == 2 ? token->kind == JG_TOKEN_NAME
                      : names->wrapped == 3
                          ? jg_token_is(token, ")")
                          : jg_token_is(token, ")") || jg_token_is(token, ",");
    const bool is_sure = fits && names->wrapped == 4;
    names->wrapped = fits && !is_sure ? names->wrapped + 1 : 0;
    return is_sure;
}

/* A number between [ and ], which counts elements or names one. */
static jit_gemm_status take_subscript(struct jg_snippet_names *names)
{
    char digits[24];
    const struct jg_token *token = &names->token;
    if (top_of(names)->kind != JG_SNIPPET_SUBSCRIPT || token->size >= sizeof(digits)) {
        return JIT_GEMM_OK;
    }
    memcpy(digits, token->text, token->size);
    digits[token->size] = '\0';
    const uint64_t count = strtoull(digits, NULL, 0);
    if (count <= JG_SNIPPET_MAX_ELEMENTS) {
        names->elements *= count;
    }
    if (count <= JG_SNIPPET_MAX_ELEMENTS && names->elements <= JG_SNIPPET_MAX_ELEMENTS) {
        return JIT_GEMM_OK;
    }
    return jg_snippet_refuse(names->epilogue, token->begin,
                             "each thread of the GPU would have one; read what is large as "
                             "an operand",
                             "an array has at most %d elements", JG_SNIPPET_MAX_ELEMENTS);
}

static jit_gemm_status take_token(struct jg_snippet_names *names,
                                  const struct jg_token *next)
{
    if (names->wrapped > 0 && follow_wrapped(names)) {
        return refuse_function(names, &names->scopes[names->depth - 1].name);
    }
    if (names->is_parameter_list) {
        names->is_parameter_list = false;
        if (begins_parameters(&names->token, next)) {
            return refuse_function(names, &names->scopes[names->depth - 1].name);
        }
        names->wrapped = jg_token_is_one_of(&names->token, type_words) ? 1 : 0;
    }
    const bool is_behind_lone_name = names->is_lone_name;
    names->is_lone_name = names->token.kind == JG_TOKEN_NAME &&
                          jg_token_is(&names->before, "(") && jg_token_is(next, ")");
    switch (names->token.kind) {
    case JG_TOKEN_NAME:
        return take_name(names, next);
    case JG_TOKEN_PUNCTUATOR:
        JG_TRY(take_punctuator(names));
        return is_behind_lone_name ? take_lone_name(names, next) : JIT_GEMM_OK;
    case JG_TOKEN_NUMBER:
        return take_subscript(names);
    case JG_TOKEN_LITERAL:
    case JG_TOKEN_END:
        break;
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_snippet_names_take(struct jg_snippet_names *names,
                                      const struct jg_token *next)
{
    JG_TRY(take_token(names, next));
    names->before = names->token;
    names->token = *next;
    return JIT_GEMM_OK;
}

static jit_gemm_status refuse_unused(const struct jg_snippet_names *names, uint32_t operand)
{
    const struct jg_epilogue *epilogue = names->epilogue;
    const struct jg_operand *unused = &epilogue->operands[operand];
    const bool is_input = unused->role == JIT_GEMM_OPERAND_INPUT;
    const struct jg_token *near = &names->near[operand];
    const char *what = is_input ? "operand" : "output";
    const char *verb = is_input ? "used" : "assigned";
    if (near->kind == JG_TOKEN_END) {
        const struct jg_position begin = {epilogue->first_line, 1};
        return jg_snippet_refuse(epilogue, begin,
                                 is_input ? "use it, or remove the operand"
                                          : "assign it, or remove the operand",
                                 "%s '%s' is never %s", what, unused->name, verb);
    }
    char hint[2 * JIT_GEMM_NAME_SIZE + 64];
    if (jg_token_is(near, unused->name)) {
        snprintf(hint, sizeof(hint), "name %s0 and %s1, those of acc0's and acc1's columns",
                 unused->name, unused->name);
        return jg_snippet_refuse(epilogue, near->begin, hint,
                                 "the pair vector '%s' has two values for an element",
                                 unused->name);
    }
    snprintf(hint, sizeof(hint), "did you mean %s? Otherwise remove the operand",
             unused->name);
    return jg_snippet_refuse(epilogue, near->begin, hint, "%s '%s' is never %s, but %s is",
                             what, unused->name, verb,
                             jg_quote(near->text, near->size).text);
}

jit_gemm_status jg_snippet_names_finish(const struct jg_snippet_names *names)
{
    const struct jg_epilogue *epilogue = names->epilogue;
    const struct jg_position begin = {epilogue->first_line, 1};
    if (!names->is_d_assigned) {
        const bool is_named = names->first_d.line != 0;
        return jg_snippet_refuse(
            epilogue, is_named ? names->first_d : begin,
            is_named ? "assign it, for instance 'd = acc;': == compares, it has no index, "
                       "and a reference or a pointer to it is not followed"
                     : "assign it, for instance 'd = acc;'",
            "the result 'd' is never assigned");
    }
    for (uint32_t i = 0; i < epilogue->operand_count; i++) {
        const bool is_input = epilogue->operands[i].role == JIT_GEMM_OPERAND_INPUT;
        if (((is_input ? names->named : names->assigned) & (1u << i)) == 0) {
            return refuse_unused(names, i);
        }
    }
    return JIT_GEMM_OK;
}
