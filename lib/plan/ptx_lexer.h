/* SPDX-License-Identifier: MIT */
/* Words of a text of PTX. Comments are blanks. */
#ifndef JG_PLAN_PTX_LEXER_H
#define JG_PLAN_PTX_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum jg_ptx_kind {
    JG_PTX_END,    /* of the text */
    JG_PTX_WORD,   /* names, numbers, directives and opcodes with their dots */
    JG_PTX_STRING, /* with its quotes */
    JG_PTX_MARK,   /* one byte of punctuation */
    JG_PTX_BAD     /* an unterminated comment or string, or a byte that no PTX has */
};

struct jg_ptx_token {
    enum jg_ptx_kind kind;
    const char *text;
    size_t size;
    uint32_t line;      /* from 1 */
    bool follows_blank; /* a blank, a line's end or a comment stands before it */
};

struct jg_ptx_lexer {
    const char *at, *end;
    uint32_t line;
};

struct jg_ptx_lexer jg_ptx_lexer_begin(const char *text, size_t size);
struct jg_ptx_token jg_ptx_next(struct jg_ptx_lexer *lexer);
/* What comes next, without taking it. */
struct jg_ptx_token jg_ptx_peek(const struct jg_ptx_lexer *lexer);
bool jg_ptx_is(const struct jg_ptx_token *token, const char *text);
/* Does a name begin here: a letter, `_`, `$` or `%`? */
bool jg_ptx_is_name(const struct jg_ptx_token *token);
/* Takes tokens up to the brace that closes the one just taken; false at the text's end. */
bool jg_ptx_skip_braces(struct jg_ptx_lexer *lexer);

#endif
