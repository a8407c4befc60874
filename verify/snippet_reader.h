/* SPDX-License-Identifier: MIT */
/* What the reader of snippets is made of: words, nodes, variables and types; and, on top of
 * them, expressions. For the files of the interpreter. */
#ifndef VERIFY_SNIPPET_READER_H
#define VERIFY_SNIPPET_READER_H

#include "verify/snippet_lex.h"
#include "verify/snippet_tree.h"

enum { READER_MAX_DEPTH = 300, READER_NAME_SIZE = 64 };

struct reader_variable {
    char name[READER_NAME_SIZE];
    uint32_t slot, scope;
    enum snippet_type type;
    bool is_const;
};

struct reader {
    struct snippet_lexer lexer;
    struct snippet_word word, next; /* the current one, and the one behind it */
    struct snippet *snippet;
    struct reader_variable variables[SNIPPET_MAX_SLOTS]; /* innermost scope last */
    uint32_t variable_count;
    uint32_t scope, depth, loops;
    bool uses_acc, uses_pair;
    bool has_failed; /* nothing is read any more; functions give 0 */
    char *reason;
};

/* A word for a message, as `%.*s`. */
#define READER_WORD(word) (int)((word)->size < 40 ? (word)->size : 40), (word)->text

/* Notes why the snippet cannot be interpreted; the first reason counts. Gives 0. */
snippet_node_id reader_fail(struct reader *reader, const struct snippet_word *word,
                            const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Words. */
void reader_go_on(struct reader *reader);
bool reader_is(const struct reader *reader, const char *text);
bool reader_take(struct reader *reader, const char *text);
void reader_expect(struct reader *reader, const char *text);
/* Goes one level deeper; against texts that nest without end. The caller goes back by
 * `depth`. */
bool reader_enter(struct reader *reader);

/* Nodes. Children are made before their parents. */
bool reader_make_room(struct snippet *snippet);
struct snippet_node *reader_node(const struct reader *reader, snippet_node_id id);
enum snippet_type reader_type(const struct reader *reader, snippet_node_id id);
snippet_node_id reader_add(struct reader *reader, const struct snippet_word *word,
                           struct snippet_node node);
snippet_node_id reader_number(struct reader *reader, const struct snippet_word *word,
                              enum snippet_type type, double value);
snippet_node_id reader_convert(struct reader *reader, const struct snippet_word *word,
                               snippet_node_id id, enum snippet_type type);
snippet_node_id reader_to_bool(struct reader *reader, snippet_node_id id);

/* Variables. */
struct reader_variable *reader_find(struct reader *reader, const struct snippet_word *word);
void reader_declare(struct reader *reader, const struct snippet_word *word,
                    enum snippet_type type, bool is_const, uint32_t slot);
/* Notes which of acc, acc0 and acc1 is used, unless a variable of the snippet hides it. */
void reader_note_use(struct reader *reader, const struct reader_variable *variable);
void reader_close_scope(struct reader *reader);

/* Types: does a declaration or a cast begin at the current word? */
bool reader_is_type(const struct reader *reader);
bool reader_take_type(struct reader *reader, enum snippet_type *ret_type);
bool reader_take_const(struct reader *reader);

/* snippet_expressions.c: a value without side effects. */
snippet_node_id reader_conditional(struct reader *reader);
/* `first op second`, with C++'s conversions. */
snippet_node_id reader_binary(struct reader *reader, const struct snippet_word *word,
                              snippet_node_id first, snippet_node_id second);
/* How tightly a binary operator binds; 0 for what is none. */
int reader_level(const struct snippet_word *word);
enum {
    READER_OR = 1,
    READER_AND = 2,
    READER_BITS = 5,
    READER_COMPARISON = 7,
    READER_SHIFT = 8
};

#endif
