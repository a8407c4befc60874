/* SPDX-License-Identifier: MIT */
#include "verify/snippet_lex.h"

#include <string.h>

static char peek(const struct snippet_lexer *lexer, size_t ahead)
{
    return ahead < lexer->size - lexer->offset ? lexer->text[lexer->offset + ahead] : '\0';
}

static void advance(struct snippet_lexer *lexer)
{
    if (lexer->offset < lexer->size && lexer->text[lexer->offset++] == '\n') {
        lexer->line++;
        lexer->column = 1;
    } else {
        lexer->column++;
    }
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

static bool is_at(const struct snippet_lexer *lexer, char first, char second)
{
    return peek(lexer, 0) == first && peek(lexer, 1) == second;
}

static void skip_comment(struct snippet_lexer *lexer)
{
    if (is_at(lexer, '/', '/')) {
        while (lexer->offset < lexer->size && peek(lexer, 0) != '\n') {
            advance(lexer);
        }
        return;
    }
    advance(lexer);
    advance(lexer);
    while (lexer->offset < lexer->size && !is_at(lexer, '*', '/')) {
        advance(lexer);
    }
    advance(lexer);
    advance(lexer);
}

static void skip_blanks(struct snippet_lexer *lexer)
{
    while (lexer->offset < lexer->size) {
        const char c = peek(lexer, 0);
        if (is_at(lexer, '/', '/') || is_at(lexer, '/', '*')) {
            skip_comment(lexer);
        } else if (c == ' ' || (c >= '\t' && c <= '\r')) {
            advance(lexer);
        } else {
            break;
        }
    }
}

static size_t sign_size(const struct snippet_lexer *lexer)
{
    static const char *const signs[] = {
        "<<=", ">>=", "->*", "...", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
        "++",  "--",  "+=",  "-=",  "*=", "/=", "%=", "&=", "|=", "^=", "->", "::"};
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        const size_t size = strlen(signs[i]);
        if (lexer->size - lexer->offset >= size &&
            memcmp(lexer->text + lexer->offset, signs[i], size) == 0) {
            return size;
        }
    }
    return 1;
}

/* A number as the preprocessor sees it: 1e-3f, 0x1p+2. */
static void skip_number(struct snippet_lexer *lexer)
{
    for (;;) {
        const char c = peek(lexer, 0);
        const char next = peek(lexer, 1);
        if (c != '\0' && strchr("eEpP", c) != NULL && (next == '+' || next == '-')) {
            advance(lexer);
        } else if (!is_name_character(c) && c != '.' &&
                   !(c == '\'' && is_name_character(next))) {
            return;
        }
        advance(lexer);
    }
}

struct snippet_word snippet_next_word(struct snippet_lexer *lexer)
{
    skip_blanks(lexer);
    struct snippet_word word = {.kind = SNIPPET_END,
                                .text = lexer->text + lexer->offset,
                                .line = lexer->line,
                                .column = lexer->column};
    const char c = peek(lexer, 0);
    if (lexer->offset >= lexer->size) {
        return word;
    }
    if (is_digit(c) || (c == '.' && is_digit(peek(lexer, 1)))) {
        word.kind = SNIPPET_LITERAL;
        skip_number(lexer);
    } else if (is_name_character(c)) {
        word.kind = SNIPPET_NAME;
        while (is_name_character(peek(lexer, 0))) {
            advance(lexer);
        }
    } else {
        word.kind = SNIPPET_SIGN;
        for (size_t left = sign_size(lexer); left > 0; left--) {
            advance(lexer);
        }
    }
    word.size = (size_t)(lexer->text + lexer->offset - word.text);
    return word;
}

bool snippet_word_is(const struct snippet_word *word, const char *text)
{
    return word->size == strlen(text) && memcmp(word->text, text, word->size) == 0;
}
