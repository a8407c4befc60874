/* SPDX-License-Identifier: MIT */
#include "plan/ptx_lexer.h"

#include <string.h>

static bool is_word_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_' || byte == '$' || byte == '%' ||
           byte == '.';
}

struct jg_ptx_lexer jg_ptx_lexer_begin(const char *text, size_t size)
{
    return (struct jg_ptx_lexer){.at = text, .end = text + size, .line = 1};
}

static bool begins_with(const struct jg_ptx_lexer *lexer, const char *two)
{
    return lexer->end - lexer->at >= 2 && lexer->at[0] == two[0] && lexer->at[1] == two[1];
}

/* False if the comment never ends. */
static bool skip_comment(struct jg_ptx_lexer *lexer)
{
    lexer->at += 2;
    while (lexer->at < lexer->end && !begins_with(lexer, "*/")) {
        lexer->line += *lexer->at == '\n';
        lexer->at++;
    }
    if (lexer->at == lexer->end) {
        return false;
    }
    lexer->at += 2;
    return true;
}

/* Blanks and comments; false if a comment never ends. */
static bool skip_blanks(struct jg_ptx_lexer *lexer)
{
    while (lexer->at < lexer->end) {
        const char byte = *lexer->at;
        if (begins_with(lexer, "//")) {
            const char *feed = memchr(lexer->at, '\n', (size_t)(lexer->end - lexer->at));
            lexer->at = feed != NULL ? feed : lexer->end;
        } else if (begins_with(lexer, "/*")) {
            if (!skip_comment(lexer)) {
                return false;
            }
        } else if (byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n') {
            lexer->line += byte == '\n';
            lexer->at++;
        } else {
            break;
        }
    }
    return true;
}

/* "::" belongs to an opcode's word, as in .shared::cta; one colon ends a label. */
static const char *find_end_of_word(const char *at, const char *end)
{
    for (;;) {
        while (at < end && is_word_byte(*at)) {
            at++;
        }
        if (end - at < 3 || at[0] != ':' || at[1] != ':' || !is_word_byte(at[2])) {
            return at;
        }
        at += 2;
    }
}

/* NULL if the string does not end on its line. */
static const char *find_end_of_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '\n'; at++) {
        if (*at == '"') {
            return at + 1;
        }
        at += *at == '\\' && at + 1 < end;
    }
    return NULL;
}

struct jg_ptx_token jg_ptx_next(struct jg_ptx_lexer *lexer)
{
    const char *before = lexer->at;
    const bool is_whole = skip_blanks(lexer);
    struct jg_ptx_token token = {.kind = is_whole ? JG_PTX_END : JG_PTX_BAD,
                                 .text = lexer->at,
                                 .line = lexer->line,
                                 .follows_blank = lexer->at != before};
    if (lexer->at == lexer->end) {
        return token;
    }
    const char first = *lexer->at;
    const char *end = lexer->at + 1;
    token.kind = first > ' ' && first < 0x7f ? JG_PTX_MARK : JG_PTX_BAD;
    if (is_word_byte(first)) {
        token.kind = JG_PTX_WORD;
        end = find_end_of_word(lexer->at, lexer->end);
    } else if (first == '"') {
        const char *found = find_end_of_string(lexer->at, lexer->end);
        token.kind = found != NULL ? JG_PTX_STRING : JG_PTX_BAD;
        end = found != NULL ? found : end;
    }
    token.size = (size_t)(end - lexer->at);
    if (token.kind == JG_PTX_BAD) { /* nothing after it can be trusted */
        lexer->at = lexer->end;
    } else {
        lexer->at = end;
    }
    return token;
}

struct jg_ptx_token jg_ptx_peek(const struct jg_ptx_lexer *lexer)
{
    struct jg_ptx_lexer copy = *lexer;
    return jg_ptx_next(&copy);
}

bool jg_ptx_is(const struct jg_ptx_token *token, const char *text)
{
    return token->size == strlen(text) && memcmp(token->text, text, token->size) == 0;
}

bool jg_ptx_is_name(const struct jg_ptx_token *token)
{
    return token->kind == JG_PTX_WORD && token->text[0] != '.' &&
           !(token->text[0] >= '0' && token->text[0] <= '9');
}

bool jg_ptx_skip_braces(struct jg_ptx_lexer *lexer)
{
    for (int depth = 1; depth > 0;) {
        const struct jg_ptx_token token = jg_ptx_next(lexer);
        if (token.kind == JG_PTX_END || token.kind == JG_PTX_BAD) {
            return false;
        }
        depth += jg_ptx_is(&token, "{");
        depth -= jg_ptx_is(&token, "}");
    }
    return true;
}
