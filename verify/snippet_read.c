/* SPDX-License-Identifier: MIT */
/*
 * Reads a snippet into a tree. A recursive descent that gives up at the first construct it
 * does not know: from then on every function returns at once.
 *
 * An assignment stands alone or on the right of another one. C++ allows it anywhere, but
 * does not always say in which order values are then taken.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verify/snippet_reader.h"

/* ----------------------------------------------------------------- side effects */

static bool is_step(const struct snippet_word *word)
{
    return snippet_word_is(word, "++") || snippet_word_is(word, "--");
}

/* The operator of a compound assignment, without its '='; false if it is none. */
static bool is_compound(const struct snippet_word *word, struct snippet_word *ret_operator)
{
    if (word->kind != SNIPPET_SIGN || word->size < 2 || word->text[word->size - 1] != '=') {
        return false;
    }
    *ret_operator = *word;
    ret_operator->size--;
    return reader_level(ret_operator) > READER_AND && reader_level(word) == 0;
}

/* A variable that may be assigned, at the current word; NULL after a failure. */
static const struct reader_variable *take_target(struct reader *reader)
{
    const struct snippet_word word = reader->word;
    const struct reader_variable *variable = reader_find(reader, &word);
    if (variable == NULL || word.kind != SNIPPET_NAME || variable->is_const) {
        reader_fail(reader, &word, "'%.*s' is no variable that may be assigned",
                    READER_WORD(&word));
        return NULL;
    }
    reader_go_on(reader);
    return variable;
}

static snippet_node_id add_assignment(struct reader *reader,
                                      const struct snippet_word *word,
                                      const struct reader_variable *variable,
                                      snippet_node_id value)
{
    const snippet_node_id converted = reader_convert(reader, word, value, variable->type);
    return reader_add(reader, word,
                      (struct snippet_node){.kind = SNIPPET_ASSIGN,
                                            .type = variable->type,
                                            .slot = variable->slot,
                                            .first = converted});
}

/* variable op= value, and ++ and -- with a value of 1. */
static snippet_node_id add_update(struct reader *reader, const struct snippet_word *word,
                                  const struct reader_variable *variable,
                                  const struct snippet_word *op, snippet_node_id value)
{
    reader_note_use(reader, variable);
    const snippet_node_id before = reader_add(
        reader, word,
        (struct snippet_node){
            .kind = SNIPPET_VARIABLE, .type = variable->type, .slot = variable->slot});
    return add_assignment(reader, word, variable, reader_binary(reader, op, before, value));
}

static snippet_node_id add_step(struct reader *reader, const struct snippet_word *word,
                                const struct reader_variable *variable)
{
    struct snippet_word op = *word;
    op.size = 1;
    if (variable == NULL || variable->type == SNIPPET_BOOL) {
        return reader_fail(reader, word, "'%.*s' of this is not known", READER_WORD(word));
    }
    return add_update(reader, word, variable, &op,
                      reader_number(reader, word, SNIPPET_INT, 1));
}

/* An assignment, a step, or a value. */
static snippet_node_id read_assignment(struct reader *reader)
{
    const struct snippet_word word = reader->word;
    const struct snippet_word sign = reader->next;
    struct snippet_word op;
    if (reader->has_failed) {
        return 0;
    }
    if (is_step(&word)) {
        reader_go_on(reader);
        return add_step(reader, &word, take_target(reader));
    }
    const bool is_plain = sign.kind == SNIPPET_SIGN && snippet_word_is(&sign, "=");
    const bool is_changed = is_step(&sign) || is_compound(&sign, &op);
    if (word.kind != SNIPPET_NAME || !(is_plain || is_changed)) {
        return reader_conditional(reader);
    }
    const struct reader_variable *found = take_target(reader);
    if (found == NULL || !reader_enter(reader)) {
        return 0;
    }
    const struct reader_variable variable = *found;
    reader_go_on(reader);
    snippet_node_id result = 0;
    if (is_step(&sign)) {
        result = add_step(reader, &sign, &variable);
    } else if (is_plain) {
        result = add_assignment(reader, &sign, &variable, read_assignment(reader));
    } else {
        result = add_update(reader, &sign, &variable, &op, read_assignment(reader));
    }
    reader->depth--;
    return result;
}

/* --------------------------------------------------------------------- statements */

static snippet_node_id read_statement(struct reader *reader);

/* What comes one after the other, as a block. */
struct sequence {
    snippet_node_id first, last;
    uint32_t depth;
};

static void append(struct reader *reader, struct sequence *sequence, snippet_node_id id)
{
    if (reader->has_failed || id == 0) {
        return;
    }
    if (sequence->first == 0) {
        sequence->first = id;
    } else {
        reader_node(reader, sequence->last)->next = id;
    }
    sequence->last = id;
    const uint32_t depth = reader_node(reader, id)->depth;
    sequence->depth = depth > sequence->depth ? depth : sequence->depth;
}

static snippet_node_id close_sequence(struct reader *reader,
                                      const struct snippet_word *word,
                                      const struct sequence *sequence)
{
    return reader_add(reader, word,
                      (struct snippet_node){.kind = SNIPPET_BLOCK,
                                            .first = sequence->first,
                                            .depth = sequence->depth});
}

/* Values and assignments between commas, up to a closing word, which stays. */
static snippet_node_id read_expressions(struct reader *reader)
{
    const struct snippet_word word = reader->word;
    struct sequence sequence = {0};
    do {
        append(reader, &sequence, read_assignment(reader));
    } while (reader_take(reader, ","));
    return close_sequence(reader, &word, &sequence);
}

/* = value, (value), {value} or nothing, behind a declared name. 0: nothing. */
static snippet_node_id read_initial(struct reader *reader)
{
    snippet_node_id value = 0;
    if (reader_take(reader, "=")) {
        value = reader_is(reader, "{") ? 0 : read_assignment(reader);
        if (value == 0) {
            return reader_fail(reader, &reader->word, "a list of values is not known");
        }
    } else if (reader_take(reader, "(")) {
        value = reader_conditional(reader);
        reader_expect(reader, ")");
    } else if (reader_take(reader, "{")) {
        value = reader_conditional(reader);
        reader_expect(reader, "}");
    }
    return value;
}

/* One name of a declaration. `type` is NULL for auto. The name is in scope only behind its
 * value: one that mentions itself is refused by C++ compilers too, or has no value. */
static snippet_node_id read_declarator(struct reader *reader, const enum snippet_type *type,
                                       bool is_const)
{
    const struct snippet_word word = reader->word;
    if (word.kind != SNIPPET_NAME || reader_is_type(reader)) {
        return reader_fail(reader, &word, "'%.*s' where a name was expected",
                           READER_WORD(&word));
    }
    reader_go_on(reader);
    const struct reader_variable *hidden = reader_find(reader, &word);
    if (hidden != NULL && hidden->scope == reader->scope) {
        return reader_fail(reader, &word, "'%.*s' is declared twice", READER_WORD(&word));
    }
    const uint32_t own = reader->variable_count;
    reader_declare(reader, &word, type != NULL ? *type : SNIPPET_FLOAT, false,
                   reader->snippet->slot_count++);
    if (reader->has_failed) {
        return 0;
    }
    struct reader_variable *variable = &reader->variables[own];
    const snippet_node_id value = read_initial(reader);
    if (reader->has_failed) {
        return 0;
    }
    if (value == 0) {
        if (type == NULL || is_const) {
            return reader_fail(reader, &word, "'%.*s' has no value", READER_WORD(&word));
        }
        return reader_add(
            reader, &word,
            (struct snippet_node){.kind = SNIPPET_FORGET, .slot = variable->slot});
    }
    variable->type = type != NULL ? *type : reader_type(reader, value);
    variable->is_const = is_const;
    /* In a loop the last turn's value is forgotten before the next is made. */
    struct sequence sequence = {0};
    append(
        reader, &sequence,
        reader_add(reader, &word,
                   (struct snippet_node){.kind = SNIPPET_FORGET, .slot = variable->slot}));
    append(reader, &sequence, add_assignment(reader, &word, variable, value));
    return close_sequence(reader, &word, &sequence);
}

static snippet_node_id read_declaration(struct reader *reader)
{
    const struct snippet_word word = reader->word;
    struct sequence sequence = {0};
    enum snippet_type type = SNIPPET_FLOAT;
    bool is_const = reader_take_const(reader);
    const bool is_auto = reader_take(reader, "auto");
    if (!is_auto && !reader_take_type(reader, &type)) {
        return reader_fail(reader, &reader->word, "the type '%.*s' is not known",
                           READER_WORD(&reader->word));
    }
    is_const |= reader_take_const(reader);
    do {
        append(reader, &sequence,
               read_declarator(reader, is_auto ? NULL : &type, is_const));
    } while (reader_take(reader, ","));
    return close_sequence(reader, &word, &sequence);
}

static snippet_node_id read_condition(struct reader *reader)
{
    reader_expect(reader, "(");
    if (reader_is_type(reader) && !snippet_word_is(&reader->next, "(")) {
        return reader_fail(reader, &reader->word, "a declaration in a condition");
    }
    const snippet_node_id value = reader_to_bool(reader, reader_conditional(reader));
    reader_expect(reader, ")");
    return value;
}

/* A statement in a scope of its own: C++ gives one to the parts of if and loops. */
static snippet_node_id read_part(struct reader *reader)
{
    reader->scope++;
    const snippet_node_id part = read_statement(reader);
    reader_close_scope(reader);
    return part;
}

static snippet_node_id read_if(struct reader *reader)
{
    const struct snippet_word word = reader->word;
    reader_go_on(reader);
    const snippet_node_id condition = read_condition(reader);
    const snippet_node_id second = read_part(reader);
    const snippet_node_id third = reader_take(reader, "else") ? read_part(reader) : 0;
    return reader_add(
        reader, &word,
        (struct snippet_node){
            .kind = SNIPPET_IF, .first = condition, .second = second, .third = third});
}

static snippet_node_id read_loop_body(struct reader *reader)
{
    reader->loops++;
    const snippet_node_id body = read_part(reader);
    reader->loops--;
    return body;
}

static snippet_node_id read_while(struct reader *reader)
{
    const struct snippet_word word = reader->word;
    reader_go_on(reader);
    const snippet_node_id condition = read_condition(reader);
    const snippet_node_id body = read_loop_body(reader);
    return reader_add(
        reader, &word,
        (struct snippet_node){.kind = SNIPPET_WHILE, .first = condition, .second = body});
}

static snippet_node_id read_do(struct reader *reader)
{
    const struct snippet_word word = reader->word;
    reader_go_on(reader);
    const snippet_node_id body = read_loop_body(reader);
    reader_expect(reader, "while");
    const snippet_node_id condition = read_condition(reader);
    reader_expect(reader, ";");
    return reader_add(
        reader, &word,
        (struct snippet_node){.kind = SNIPPET_DO, .first = condition, .second = body});
}

/* Between the brackets of a for: the begin, the condition and the step, then the body. */
static snippet_node_id read_for(struct reader *reader)
{
    const struct snippet_word word = reader->word;
    struct sequence sequence = {0};
    snippet_node_id condition = 0;
    snippet_node_id step = 0;
    reader_go_on(reader);
    reader_expect(reader, "(");
    reader->scope++;
    if (!reader_is(reader, ";")) {
        append(reader, &sequence,
               reader_is_type(reader) ? read_declaration(reader)
                                      : read_expressions(reader));
    }
    reader_expect(reader, ";");
    condition = reader_is(reader, ";") ? reader_number(reader, &word, SNIPPET_BOOL, 1)
                                       : reader_to_bool(reader, reader_conditional(reader));
    reader_expect(reader, ";");
    if (!reader_is(reader, ")")) {
        step = read_expressions(reader);
    }
    reader_expect(reader, ")");
    const snippet_node_id body = read_loop_body(reader);
    append(reader, &sequence,
           reader_add(reader, &word,
                      (struct snippet_node){.kind = SNIPPET_WHILE,
                                            .first = condition,
                                            .second = body,
                                            .third = step}));
    reader_close_scope(reader);
    return close_sequence(reader, &word, &sequence);
}

static snippet_node_id read_jump(struct reader *reader)
{
    const struct snippet_word word = reader->word;
    const enum snippet_kind kind =
        reader_is(reader, "break") ? SNIPPET_BREAK : SNIPPET_CONTINUE;
    reader_go_on(reader);
    reader_expect(reader, ";");
    if (reader->loops == 0) {
        return reader_fail(reader, &word, "'%.*s' outside of a loop", READER_WORD(&word));
    }
    return reader_add(reader, &word, (struct snippet_node){.kind = kind});
}

/* Statements up to a closing bracket, or up to the end. */
static snippet_node_id read_statements(struct reader *reader, const char *closing)
{
    const struct snippet_word word = reader->word;
    struct sequence sequence = {0};
    reader->scope++;
    while (!reader->has_failed && reader->word.kind != SNIPPET_END &&
           !(closing != NULL && reader_is(reader, closing))) {
        append(reader, &sequence, read_statement(reader));
    }
    reader_close_scope(reader);
    return close_sequence(reader, &word, &sequence);
}

static snippet_node_id read_block(struct reader *reader)
{
    reader_expect(reader, "{");
    const snippet_node_id block = read_statements(reader, "}");
    reader_expect(reader, "}");
    return block;
}

/* Words with which no statement begins that is known here. */
static bool is_foreign(const struct reader *reader)
{
    static const char *const names[] = {"switch", "struct", "using",    "typedef",
                                        "enum",   "class",  "template", "return"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (reader_is(reader, names[i])) {
            return true;
        }
    }
    return false;
}

static snippet_node_id read_simple(struct reader *reader)
{
    const bool is_declaration =
        reader_is_type(reader) && !snippet_word_is(&reader->next, "(");
    const snippet_node_id statement =
        is_declaration ? read_declaration(reader) : read_expressions(reader);
    reader_expect(reader, ";");
    return statement;
}

static snippet_node_id read_any_statement(struct reader *reader)
{
    static const struct {
        const char *word;
        snippet_node_id (*read)(struct reader *reader);
    } statements[] = {{"{", read_block},      {"if", read_if},       {"for", read_for},
                      {"do", read_do},        {"while", read_while}, {"break", read_jump},
                      {"continue", read_jump}};
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
        if (reader_is(reader, statements[i].word)) {
            return statements[i].read(reader);
        }
    }
    if (is_foreign(reader)) {
        return reader_fail(reader, &reader->word, "'%.*s' is not known",
                           READER_WORD(&reader->word));
    }
    return reader_take(reader, ";") ? 0 : read_simple(reader);
}

static snippet_node_id read_statement(struct reader *reader)
{
    const snippet_node_id statement = reader_enter(reader) ? read_any_statement(reader) : 0;
    reader->depth--;
    return statement;
}

/* -------------------------------------------------------------------------- whole */

static void declare_name(struct reader *reader, const char *name, enum snippet_type type,
                         bool is_const, uint32_t slot)
{
    const struct snippet_word word = {
        .kind = SNIPPET_NAME, .text = name, .size = strlen(name), .line = 1, .column = 1};
    reader_declare(reader, &word, type, is_const, slot);
}

static void declare_scope(struct reader *reader, const struct snippet_operand *operands,
                          size_t count)
{
    static const char *const sizes[] = {"row", "col", "batch", "M", "N", "K"};
    declare_name(reader, "acc", SNIPPET_FLOAT, false, SNIPPET_SLOT_ACC);
    declare_name(reader, "acc0", SNIPPET_FLOAT, false, SNIPPET_SLOT_ACC0);
    declare_name(reader, "acc1", SNIPPET_FLOAT, false, SNIPPET_SLOT_ACC1);
    declare_name(reader, "d", SNIPPET_FLOAT, false, SNIPPET_SLOT_D);
    for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        declare_name(reader, sizes[i], SNIPPET_INT, true, SNIPPET_SLOT_ROW + i);
    }
    for (uint32_t i = 0; i < count; i++) {
        declare_name(reader, operands[i].name, SNIPPET_FLOAT, !operands[i].is_output,
                     SNIPPET_SLOT_OPERANDS + i);
        reader->snippet->is_output[i] = operands[i].is_output;
    }
    reader->snippet->operand_count = (uint32_t)count;
    reader->snippet->slot_count = SNIPPET_SLOT_OPERANDS + (uint32_t)count;
}

static void read_all(struct reader *reader)
{
    reader->snippet->body = read_statements(reader, NULL);
    if (!reader->has_failed && reader->uses_acc && reader->uses_pair) {
        reader_fail(reader, &reader->word, "acc beside acc0 or acc1");
    }
    reader->snippet->is_pair = reader->uses_pair;
}

struct snippet *snippet_read(const char *text, size_t size,
                             const struct snippet_operand *operands, size_t count,
                             char reason[SNIPPET_REASON_SIZE])
{
    struct snippet *snippet = calloc(1, sizeof(*snippet));
    struct reader *reader = calloc(1, sizeof(*reader));
    if (snippet == NULL || reader == NULL || count > SNIPPET_MAX_OPERANDS) {
        snprintf(reason, SNIPPET_REASON_SIZE,
                 "1:1: there is no memory for it, or more "
                 "than %d operands",
                 SNIPPET_MAX_OPERANDS);
        free(reader);
        snippet_free(snippet);
        return NULL;
    }
    *reader = (struct reader){.lexer = {.text = text, .size = size, .line = 1, .column = 1},
                              .snippet = snippet,
                              .reason = reason};
    reader_go_on(reader);
    reader_go_on(reader);
    if (reader_make_room(snippet)) { /* node 0 is none: an empty statement */
        snippet->nodes[snippet->node_count++] = (struct snippet_node){0};
        declare_scope(reader, operands, count);
        read_all(reader);
    } else {
        reader_fail(reader, &reader->word, "there is no memory for it");
    }
    const bool has_failed = reader->has_failed;
    free(reader);
    if (has_failed) {
        snippet_free(snippet);
        return NULL;
    }
    return snippet;
}

void snippet_free(struct snippet *snippet)
{
    if (snippet != NULL) {
        free(snippet->nodes);
        free(snippet);
    }
}

bool snippet_is_pair(const struct snippet *snippet)
{
    return snippet->is_pair;
}
