/* SPDX-License-Identifier: MIT */
/* Tokens of a snippet, as snippet_lexer.h makes them. */
#ifndef JG_PLAN_SNIPPET_TOKEN_H
#define JG_PLAN_SNIPPET_TOKEN_H

#include <stdbool.h>

#include "base/status.h"
#include "plan/epilogue.h"

/* Compilers recurse with each of these, and take far longer than in proportion: brackets
 * inside of each other, operators side by side, and tokens in all. */
#define JG_SNIPPET_MAX_DEPTH     64
#define JG_SNIPPET_MAX_OPERATORS 64
#define JG_SNIPPET_MAX_TOKENS    8192

/* In the user's file. Columns count bytes from 1: a tab is one, and a character of UTF-8 as
 * many as it has. */
struct jg_position {
    uint32_t line, column;
};

enum jg_token_kind {
    JG_TOKEN_END,
    JG_TOKEN_NAME,
    JG_TOKEN_NUMBER,
    JG_TOKEN_LITERAL,
    JG_TOKEN_PUNCTUATOR
};

struct jg_token {
    enum jg_token_kind kind;
    const char *text;
    size_t size;
    struct jg_position begin, end; /* end: just past the token */
};

bool jg_token_is(const struct jg_token *token, const char *text);
/* Is it one of the words of a list that ends with NULL? */
bool jg_token_is_one_of(const struct jg_token *token, const char *const *words);

/* Records COMPILE at a place of the snippet, and returns it. */
jit_gemm_status jg_snippet_refuse(const struct jg_epilogue *epilogue,
                                  struct jg_position position, const char *hint,
                                  const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
