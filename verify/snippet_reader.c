/* SPDX-License-Identifier: MIT */
#include "verify/snippet_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

snippet_node_id reader_fail(struct reader *reader, const struct snippet_word *word,
                            const char *format, ...)
{
    if (!reader->has_failed) {
        const int used = snprintf(reader->reason, SNIPPET_REASON_SIZE,
                                  "%u:%u: ", word->line, word->column);
        va_list args;
        va_start(args, format);
        vsnprintf(reader->reason + used, SNIPPET_REASON_SIZE - (size_t)used, format, args);
        va_end(args);
        reader->has_failed = true;
    }
    return 0;
}

void reader_go_on(struct reader *reader)
{
    reader->word = reader->next;
    reader->next = snippet_next_word(&reader->lexer);
}

bool reader_is(const struct reader *reader, const char *text)
{
    return reader->word.kind != SNIPPET_END && snippet_word_is(&reader->word, text);
}

bool reader_take(struct reader *reader, const char *text)
{
    if (reader->has_failed || !reader_is(reader, text)) {
        return false;
    }
    reader_go_on(reader);
    return true;
}

void reader_expect(struct reader *reader, const char *text)
{
    if (!reader_take(reader, text)) {
        reader_fail(reader, &reader->word, "'%.*s' where '%s' was expected",
                    READER_WORD(&reader->word), text);
    }
}

bool reader_enter(struct reader *reader)
{
    if (++reader->depth > READER_MAX_DEPTH) {
        reader_fail(reader, &reader->word, "it is nested deeper than %d", READER_MAX_DEPTH);
    }
    return !reader->has_failed;
}

/* -------------------------------------------------------------------------- nodes */

struct snippet_node *reader_node(const struct reader *reader, snippet_node_id id)
{
    return &reader->snippet->nodes[id];
}

enum snippet_type reader_type(const struct reader *reader, snippet_node_id id)
{
    return reader_node(reader, id)->type;
}

bool reader_make_room(struct snippet *snippet)
{
    if (snippet->node_count < snippet->node_capacity) {
        return true;
    }
    const uint32_t capacity = snippet->node_capacity > 0 ? snippet->node_capacity * 2 : 64;
    struct snippet_node *nodes =
        realloc(snippet->nodes, capacity * sizeof(struct snippet_node));
    if (nodes == NULL) {
        return false;
    }
    snippet->nodes = nodes;
    snippet->node_capacity = capacity;
    return true;
}

/* Appends a node, whose children are there already. */
snippet_node_id reader_add(struct reader *reader, const struct snippet_word *word,
                           struct snippet_node node)
{
    if (reader->has_failed) {
        return 0;
    }
    const snippet_node_id children[] = {node.first, node.second, node.third};
    for (size_t i = 0; i < sizeof(children) / sizeof(children[0]); i++) {
        const uint32_t depth = reader_node(reader, children[i])->depth;
        node.depth = depth > node.depth ? depth : node.depth;
    }
    if (++node.depth > READER_MAX_DEPTH) {
        return reader_fail(reader, word, "it is nested deeper than %d", READER_MAX_DEPTH);
    }
    if (!reader_make_room(reader->snippet)) {
        return reader_fail(reader, word, "there is no memory for it");
    }
    node.line = word->line;
    node.column = word->column;
    reader->snippet->nodes[reader->snippet->node_count] = node;
    return reader->snippet->node_count++;
}

snippet_node_id reader_number(struct reader *reader, const struct snippet_word *word,
                              enum snippet_type type, double value)
{
    return reader_add(reader, word,
                      (struct snippet_node){.kind = SNIPPET_NUMBER,
                                            .type = type,
                                            .value = interval_of(value)});
}

snippet_node_id reader_convert(struct reader *reader, const struct snippet_word *word,
                               snippet_node_id id, enum snippet_type type)
{
    if (reader->has_failed || reader_type(reader, id) == type) {
        return id;
    }
    return reader_add(
        reader, word,
        (struct snippet_node){.kind = SNIPPET_CONVERT, .type = type, .first = id});
}

snippet_node_id reader_to_bool(struct reader *reader, snippet_node_id id)
{
    return reader_convert(reader, &reader->word, id, SNIPPET_BOOL);
}

/* ---------------------------------------------------------------------- variables */

struct reader_variable *reader_find(struct reader *reader, const struct snippet_word *word)
{
    for (uint32_t i = reader->variable_count; i > 0; i--) {
        if (snippet_word_is(word, reader->variables[i - 1].name)) {
            return &reader->variables[i - 1];
        }
    }
    return NULL;
}

void reader_declare(struct reader *reader, const struct snippet_word *word,
                    enum snippet_type type, bool is_const, uint32_t slot)
{
    if (reader->variable_count == SNIPPET_MAX_SLOTS || slot >= SNIPPET_MAX_SLOTS ||
        word->size >= READER_NAME_SIZE) {
        reader_fail(reader, word, "too many variables, or a name of more than %d letters",
                    READER_NAME_SIZE - 1);
        return;
    }
    struct reader_variable *variable = &reader->variables[reader->variable_count++];
    *variable = (struct reader_variable){
        .slot = slot, .scope = reader->scope, .type = type, .is_const = is_const};
    memcpy(variable->name, word->text, word->size);
}

void reader_note_use(struct reader *reader, const struct reader_variable *variable)
{
    if (variable->slot == SNIPPET_SLOT_ACC) {
        reader->uses_acc = true;
    } else if (variable->slot == SNIPPET_SLOT_ACC0 || variable->slot == SNIPPET_SLOT_ACC1) {
        reader->uses_pair = true;
    }
}

void reader_close_scope(struct reader *reader)
{
    while (reader->variable_count > 0 &&
           reader->variables[reader->variable_count - 1].scope == reader->scope) {
        reader->variable_count--;
    }
    reader->scope--;
}

/* ------------------------------------------------------------------------- types */

bool reader_is_type(const struct reader *reader)
{
    static const char *const names[] = {"float",    "int",   "bool",      "double",
                                        "unsigned", "const", "constexpr", "auto"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (reader_is(reader, names[i])) {
            return true;
        }
    }
    return false;
}

bool reader_take_type(struct reader *reader, enum snippet_type *ret_type)
{
    static const struct {
        const char *name;
        enum snippet_type type;
    } types[] = {{"float", SNIPPET_FLOAT},
                 {"int", SNIPPET_INT},
                 {"bool", SNIPPET_BOOL},
                 {"double", SNIPPET_DOUBLE},
                 {"unsigned", SNIPPET_UNSIGNED}};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (reader_take(reader, types[i].name)) {
            *ret_type = types[i].type;
            if (types[i].type == SNIPPET_UNSIGNED) {
                (void)reader_take(reader, "int");
            }
            return true;
        }
    }
    return false;
}

bool reader_take_const(struct reader *reader)
{
    return reader_take(reader, "const") || reader_take(reader, "constexpr");
}
