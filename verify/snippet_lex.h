/* SPDX-License-Identifier: MIT */
/* The words of a snippet. For the files of the interpreter. */
#ifndef VERIFY_SNIPPET_LEX_H
#define VERIFY_SNIPPET_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum snippet_word_kind { SNIPPET_END, SNIPPET_NAME, SNIPPET_LITERAL, SNIPPET_SIGN };

struct snippet_word {
    enum snippet_word_kind kind;
    const char *text;
    size_t size;
    uint32_t line, column;
};

struct snippet_lexer {
    const char *text;
    size_t size, offset;
    uint32_t line, column; /* of text[offset] */
};

/* Goes past blanks and comments, then takes a word: a name, a number, or the longest sign
 * of C++. Characters that mean nothing are signs of one byte. */
struct snippet_word snippet_next_word(struct snippet_lexer *lexer);

bool snippet_word_is(const struct snippet_word *word, const char *text);

#endif
