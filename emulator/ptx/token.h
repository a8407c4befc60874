/* SPDX-License-Identifier: MIT */
/* Tokens of PTX text, and the errors that name a place in it. */
#ifndef EMU_PTX_TOKEN_H
#define EMU_PTX_TOKEN_H

#include "base/base.h"

struct ptx_parser;

enum ptx_token_kind {
    PTX_TOKEN_END,
    PTX_TOKEN_WORD,      /* name: add, %r1, $L__BB0_2, _ */
    PTX_TOKEN_DIRECTIVE, /* name, without the dot: .reg, .shared::cta */
    PTX_TOKEN_INTEGER,   /* bits, is_unsigned */
    PTX_TOKEN_DECIMAL,   /* bits of a double: 1.5 */
    PTX_TOKEN_FLOAT32,   /* bits: 0f3F800000 */
    PTX_TOKEN_FLOAT64,   /* bits: 0d3FF0000000000000 */
    PTX_TOKEN_STRING,    /* start and length are what stands between the quotes */
    PTX_TOKEN_MARK       /* mark: a character, or two of them by PTX_MARK2 */
};
#define PTX_MARK2(a, b) ((a) << 8 | (b))

struct ptx_token {
    enum ptx_token_kind kind;
    const char *start;
    size_t length;
    uint32_t line, column;
    struct ptx_name *name;
    uint64_t bits;
    bool is_unsigned;
    int mark;
};

/* A place to come back to. */
struct ptx_cursor {
    struct ptx_token token;
    const char *at, *line_start;
    uint32_t line;
};

/* After a failure the token is the end, so that every loop ends. */
void ptx_next(struct ptx_parser *parser);
struct ptx_token ptx_peek(struct ptx_parser *parser); /* the one behind the current one */
struct ptx_cursor ptx_save(const struct ptx_parser *parser);
void ptx_restore(struct ptx_parser *parser, const struct ptx_cursor *cursor);
bool ptx_fail(struct ptx_parser *parser, const char *format, ...) EMU_PRINTF(2, 3);
bool ptx_fail_at(struct ptx_parser *parser, uint32_t line, uint32_t column,
                 const char *format, ...) EMU_PRINTF(4, 5);
/* Fails with "expected WHAT but met TOKEN". */
bool ptx_fail_expected(struct ptx_parser *parser, const char *expected);
bool ptx_is_mark(const struct ptx_parser *parser, int mark);
bool ptx_is_directive(const struct ptx_parser *parser, const char *word);
bool ptx_accept(struct ptx_parser *parser, int mark); /* consumes it, if it is there */
bool ptx_expect(struct ptx_parser *parser, int mark);
bool ptx_expect_integer(struct ptx_parser *parser, uint64_t most, uint64_t *ret_value);
bool ptx_expect_word(struct ptx_parser *parser, const char *expected,
                     struct ptx_token *ret_token);
bool ptx_expect_string(struct ptx_parser *parser, const char **ret_text);

#endif
