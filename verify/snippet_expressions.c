/* SPDX-License-Identifier: MIT */
/* Values of a snippet: literals, names, calls, casts and operators. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "verify/snippet_reader.h"

/* ------------------------------------------------------------------------ numbers */

static bool is_hexadecimal(const char *text)
{
    return text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
}

static snippet_node_id read_floating(struct reader *reader, const struct snippet_word *word,
                                     char *text)
{
    char *end;
    const size_t size = strlen(text);
    const bool is_float = text[size - 1] == 'f' || text[size - 1] == 'F';
    if (is_float) {
        text[size - 1] = '\0';
    }
    /* strtof rounds once; by way of f64 it would be twice. */
    const double value = is_float ? (double)strtof(text, &end) : strtod(text, &end);
    if (*end != '\0' || end == text || isinf(value)) {
        return reader_fail(reader, word, "'%.*s' is no number that is known here",
                           READER_WORD(word));
    }
    return reader_number(reader, word, is_float ? SNIPPET_FLOAT : SNIPPET_DOUBLE, value);
}

static snippet_node_id read_integer(struct reader *reader, const struct snippet_word *word,
                                    char *text)
{
    char *end;
    size_t size = strlen(text);
    const bool is_unsigned = size > 1 && (text[size - 1] == 'u' || text[size - 1] == 'U');
    if (is_unsigned) {
        text[--size] = '\0';
    }
    const bool is_binary = text[0] == '0' && (text[1] == 'b' || text[1] == 'B');
    errno = 0;
    const unsigned long long value =
        is_binary ? strtoull(text + 2, &end, 2) : strtoull(text, &end, 0);
    if (*end != '\0' || end == text || errno != 0) {
        return reader_fail(reader, word, "'%.*s' is no number that is known here",
                           READER_WORD(word));
    }
    /* Without u: an int, or unsigned if it is not decimal. */
    const bool may_be_unsigned = is_unsigned || text[0] == '0';
    if (value > (may_be_unsigned ? UINT32_MAX : INT32_MAX)) {
        return reader_fail(reader, word, "'%.*s' needs more than 32 bits",
                           READER_WORD(word));
    }
    return reader_number(reader, word,
                         is_unsigned || value > INT32_MAX ? SNIPPET_UNSIGNED : SNIPPET_INT,
                         (double)value);
}

static snippet_node_id read_literal(struct reader *reader)
{
    const struct snippet_word word = reader->word;
    char text[128];
    size_t size = 0;
    if (word.size >= sizeof(text)) {
        return reader_fail(reader, &word, "a number of more than %zu letters",
                           sizeof(text) - 1);
    }
    for (size_t i = 0; i < word.size; i++) {
        if (word.text[i] != '\'') {
            text[size++] = word.text[i];
        }
    }
    text[size] = '\0';
    reader_go_on(reader);
    const char *const marks = is_hexadecimal(text) ? ".pP" : ".eE";
    return strpbrk(text, marks) != NULL ? read_floating(reader, &word, text)
                                        : read_integer(reader, &word, text);
}

/* -------------------------------------------------------------------- expressions */

static snippet_node_id read_unary(struct reader *reader);

/* The only function that depends on the element's place. */
static snippet_node_id read_uniform(struct reader *reader, const struct snippet_word *word)
{
    reader_expect(reader, "(");
    const snippet_node_id seed =
        reader_convert(reader, word, reader_conditional(reader), SNIPPET_FLOAT);
    reader_expect(reader, ")");
    return reader_add(reader, word,
                      (struct snippet_node){
                          .kind = SNIPPET_UNIFORM, .type = SNIPPET_FLOAT, .first = seed});
}

static snippet_node_id read_call(struct reader *reader, const struct snippet_word *word)
{
    if (snippet_word_is(word, "uniform")) {
        return read_uniform(reader, word);
    }
    char name[READER_NAME_SIZE] = {0};
    memcpy(name, word->text,
           word->size < READER_NAME_SIZE ? word->size : READER_NAME_SIZE - 1);
    const struct interval_function *function = interval_function_find(name);
    if (function == NULL) {
        return reader_fail(reader, word, "the function '%.*s' is not known",
                           READER_WORD(word));
    }
    snippet_node_id arguments[3] = {0};
    reader_expect(reader, "(");
    for (int i = 0; i < function->parameter_count; i++) {
        if (i > 0) {
            reader_expect(reader, ",");
        }
        arguments[i] =
            reader_convert(reader, word, reader_conditional(reader), SNIPPET_FLOAT);
    }
    reader_expect(reader, ")");
    return reader_add(reader, word,
                      (struct snippet_node){.kind = SNIPPET_CALL,
                                            .type = SNIPPET_FLOAT,
                                            .function = function,
                                            .first = arguments[0],
                                            .second = arguments[1],
                                            .third = arguments[2]});
}

static snippet_node_id read_constant(struct reader *reader, const struct snippet_word *word)
{
    static const struct {
        const char *name;
        enum snippet_type type;
        double value;
    } constants[] = {{"true", SNIPPET_BOOL, 1},
                     {"false", SNIPPET_BOOL, 0},
                     {"NAN", SNIPPET_FLOAT, (double)NAN},
                     {"INFINITY", SNIPPET_FLOAT, (double)INFINITY}};
    for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++) {
        if (snippet_word_is(word, constants[i].name)) {
            return reader_number(reader, word, constants[i].type, constants[i].value);
        }
    }
    return reader_fail(reader, word, "the name '%.*s' is not known", READER_WORD(word));
}

static snippet_node_id read_name(struct reader *reader)
{
    const struct snippet_word word = reader->word;
    const struct reader_variable *variable = reader_find(reader, &word);
    reader_go_on(reader);
    if (variable != NULL) {
        reader_note_use(reader, variable);
        return reader_add(reader, &word,
                          (struct snippet_node){.kind = SNIPPET_VARIABLE,
                                                .type = variable->type,
                                                .slot = variable->slot});
    }
    return reader_is(reader, "(") ? read_call(reader, &word) : read_constant(reader, &word);
}

/* static_cast<float>(x) */
static snippet_node_id read_static_cast(struct reader *reader)
{
    const struct snippet_word word = reader->word;
    enum snippet_type type = SNIPPET_FLOAT;
    reader_go_on(reader);
    reader_expect(reader, "<");
    (void)reader_take_const(reader);
    if (!reader_take_type(reader, &type)) {
        return reader_fail(reader, &reader->word, "a cast to '%.*s' is not known",
                           READER_WORD(&reader->word));
    }
    reader_expect(reader, ">");
    reader_expect(reader, "(");
    const snippet_node_id value = reader_conditional(reader);
    reader_expect(reader, ")");
    return reader_convert(reader, &word, value, type);
}

/* (x), or (float)x */
static snippet_node_id read_bracket(struct reader *reader)
{
    const struct snippet_word word = reader->word;
    enum snippet_type type = SNIPPET_FLOAT;
    reader_go_on(reader);
    const bool is_cast = reader_is_type(reader) && !snippet_word_is(&reader->next, "(");
    if (is_cast) {
        (void)reader_take_const(reader);
        if (!reader_take_type(reader, &type)) {
            return reader_fail(reader, &reader->word, "a cast to '%.*s' is not known",
                               READER_WORD(&reader->word));
        }
        reader_expect(reader, ")");
        return reader_convert(reader, &word, read_unary(reader), type);
    }
    const snippet_node_id value = reader_conditional(reader);
    reader_expect(reader, ")");
    return value;
}

/* float(x) */
static snippet_node_id read_type_call(struct reader *reader)
{
    const struct snippet_word word = reader->word;
    enum snippet_type type = SNIPPET_FLOAT;
    if (!reader_take_type(reader, &type)) {
        return reader_fail(reader, &word, "'%.*s' where a value was expected",
                           READER_WORD(&word));
    }
    reader_expect(reader, "(");
    const snippet_node_id value = reader_conditional(reader);
    reader_expect(reader, ")");
    return reader_convert(reader, &word, value, type);
}

static snippet_node_id read_primary(struct reader *reader)
{
    if (reader->word.kind == SNIPPET_LITERAL) {
        return read_literal(reader);
    }
    if (reader_is(reader, "(")) {
        return read_bracket(reader);
    }
    if (reader_is(reader, "static_cast")) {
        return read_static_cast(reader);
    }
    if (reader_is_type(reader)) {
        return read_type_call(reader);
    }
    if (reader->word.kind == SNIPPET_NAME) {
        return read_name(reader);
    }
    return reader_fail(reader, &reader->word, "'%.*s' where a value was expected",
                       READER_WORD(&reader->word));
}

static snippet_node_id promote(struct reader *reader, const struct snippet_word *word,
                               snippet_node_id id)
{
    return !reader->has_failed && reader_type(reader, id) == SNIPPET_BOOL
               ? reader_convert(reader, word, id, SNIPPET_INT)
               : id;
}

static snippet_node_id read_signed(struct reader *reader)
{
    const struct snippet_word word = reader->word;
    const char sign = word.text[0];
    reader_go_on(reader);
    snippet_node_id value = read_unary(reader);
    if (reader->has_failed) {
        return 0;
    }
    if (sign == '!') {
        return reader_add(reader, &word,
                          (struct snippet_node){.kind = SNIPPET_NOT,
                                                .type = SNIPPET_BOOL,
                                                .first = reader_to_bool(reader, value)});
    }
    value = promote(reader, &word, value);
    const enum snippet_type type = reader_type(reader, value);
    if (sign == '+') {
        return value;
    }
    if (sign == '~' && type >= SNIPPET_FLOAT) {
        return reader_fail(reader, &word, "'~' of a number that is no integer");
    }
    return reader_add(
        reader, &word,
        (struct snippet_node){.kind = sign == '-' ? SNIPPET_NEGATE : SNIPPET_COMPLEMENT,
                              .type = type,
                              .first = value});
}

static snippet_node_id read_unary(struct reader *reader)
{
    snippet_node_id value = 0;
    if (reader_enter(reader)) {
        const bool is_sign = reader_is(reader, "-") || reader_is(reader, "+") ||
                             reader_is(reader, "!") || reader_is(reader, "~");
        value = is_sign ? read_signed(reader) : read_primary(reader);
        if (reader_is(reader, "[") || reader_is(reader, ".") || reader_is(reader, "->") ||
            reader_is(reader, "++") || reader_is(reader, "--")) {
            reader_fail(reader, &reader->word, "'%.*s' behind a value is not known",
                        READER_WORD(&reader->word));
        }
    }
    reader->depth--;
    return value;
}

int reader_level(const struct snippet_word *word)
{
    static const struct {
        const char *sign;
        int level;
    } levels[] = {{"||", 1}, {"&&", 2}, {"|", 3}, {"^", 4},  {"&", 5},  {"==", 6},
                  {"!=", 6}, {"<", 7},  {">", 7}, {"<=", 7}, {">=", 7}, {"<<", 8},
                  {">>", 8}, {"+", 9},  {"-", 9}, {"*", 10}, {"/", 10}, {"%", 10}};
    for (size_t i = 0; word->kind == SNIPPET_SIGN && i < sizeof(levels) / sizeof(levels[0]);
         i++) {
        if (snippet_word_is(word, levels[i].sign)) {
            return levels[i].level;
        }
    }
    return 0;
}

static snippet_node_id add_logic(struct reader *reader, const struct snippet_word *word,
                                 int level, snippet_node_id first, snippet_node_id second)
{
    const snippet_node_id left = reader_to_bool(reader, first);
    const snippet_node_id right = reader_to_bool(reader, second);
    return reader_add(
        reader, word,
        (struct snippet_node){.kind = level == READER_OR ? SNIPPET_OR : SNIPPET_AND,
                              .type = SNIPPET_BOOL,
                              .first = left,
                              .second = right});
}

/* Of arithmetic, comparisons and bits: the operands get their common type first. */
snippet_node_id reader_binary(struct reader *reader, const struct snippet_word *word,
                              snippet_node_id first, snippet_node_id second)
{
    const int level = reader_level(word);
    if (reader->has_failed) {
        return 0;
    }
    if (level <= READER_AND) {
        return add_logic(reader, word, level, first, second);
    }
    snippet_node_id left = promote(reader, word, first);
    snippet_node_id right = promote(reader, word, second);
    if (reader->has_failed) {
        return 0;
    }
    const enum snippet_type a = reader_type(reader, left);
    const enum snippet_type b = reader_type(reader, right);
    const enum snippet_type greater = a > b ? a : b;
    if (greater >= SNIPPET_FLOAT &&
        (level <= READER_BITS || level == READER_SHIFT || snippet_word_is(word, "%"))) {
        return reader_fail(reader, word, "'%.*s' of a number that is no integer",
                           READER_WORD(word));
    }
    const enum snippet_type type = level == READER_SHIFT ? a : greater;
    left = reader_convert(reader, word, left, type);
    right = level == READER_SHIFT ? right : reader_convert(reader, word, right, type);
    const bool is_truth = level > READER_BITS && level <= READER_COMPARISON;
    struct snippet_node node = {.kind = SNIPPET_BINARY,
                                .type = is_truth ? SNIPPET_BOOL : type,
                                .first = left,
                                .second = right};
    memcpy(node.op, word->text, word->size);
    return reader_add(reader, word, node);
}

static snippet_node_id read_binary(struct reader *reader, int least)
{
    snippet_node_id left = read_unary(reader);
    for (int level = reader_level(&reader->word); level >= least && !reader->has_failed;
         level = reader_level(&reader->word)) {
        const struct snippet_word word = reader->word;
        reader_go_on(reader);
        left = reader_binary(reader, &word, left, read_binary(reader, level + 1));
    }
    return left;
}

static snippet_node_id add_choice(struct reader *reader, const struct snippet_word *word,
                                  snippet_node_id condition, snippet_node_id second,
                                  snippet_node_id third)
{
    if (reader->has_failed) {
        return 0;
    }
    const enum snippet_type a = reader_type(reader, second);
    const enum snippet_type b = reader_type(reader, third);
    const enum snippet_type type = a > b ? a : b;
    const snippet_node_id left = reader_convert(reader, word, second, type);
    const snippet_node_id right = reader_convert(reader, word, third, type);
    return reader_add(reader, word,
                      (struct snippet_node){.kind = SNIPPET_CONDITIONAL,
                                            .type = type,
                                            .first = condition,
                                            .second = left,
                                            .third = right});
}

snippet_node_id reader_conditional(struct reader *reader)
{
    snippet_node_id value = 0;
    if (reader_enter(reader)) {
        const struct snippet_word word = reader->word;
        value = read_binary(reader, 1);
        if (reader_take(reader, "?")) {
            const snippet_node_id condition = reader_to_bool(reader, value);
            const snippet_node_id second = reader_conditional(reader);
            reader_expect(reader, ":");
            value =
                add_choice(reader, &word, condition, second, reader_conditional(reader));
        }
    }
    reader->depth--;
    return value;
}
