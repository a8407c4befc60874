/* SPDX-License-Identifier: MIT */
/*
 * A snippet's text to tokens of C++. It must see literals, comments and brackets as the
 * compiler does, or a snippet could end its function unseen; where the language has two
 * spellings (splices, trigraphs, digraphs, raw strings) the rarer one is refused.
 */
#ifndef JG_PLAN_SNIPPET_LEXER_H
#define JG_PLAN_SNIPPET_LEXER_H

#include "plan/snippet_token.h"

struct jg_snippet_lexer {
    const struct jg_epilogue *epilogue; /* whose errors are recorded */
    const char *text;
    size_t size, offset;
    struct jg_position position; /* of text[offset] */
};

/* Gives the next token, at last JG_TOKEN_END. COMPILE. */
jit_gemm_status jg_snippet_next_token(struct jg_snippet_lexer *lexer,
                                      struct jg_token *ret_token);

#endif
