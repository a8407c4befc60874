/* SPDX-License-Identifier: MIT */
#include "plan/snippet_lexer.h"

#include <stdio.h>
#include <string.h>

/* --------------------------------------------------------------------- characters */

/* The character that stands `ahead` further on; 0 past the end (zero bytes are refused
 * earlier). */
static char peek(const struct jg_snippet_lexer *lexer, size_t ahead)
{
    if (ahead >= lexer->size - lexer->offset) {
        return '\0';
    }
    return lexer->text[lexer->offset + ahead];
}

static bool at_end(const struct jg_snippet_lexer *lexer)
{
    return lexer->offset == lexer->size;
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Is the backslash at text[offset] followed by a line end (or by the end of the text, which
 * the generated source continues with a line end)? Blanks between do not help: some
 * compilers skip them. */
static bool is_splice(const struct jg_snippet_lexer *lexer)
{
    size_t ahead = 1;
    while (peek(lexer, ahead) == ' ' || peek(lexer, ahead) == '\t' ||
           peek(lexer, ahead) == '\v' || peek(lexer, ahead) == '\f') {
        ahead++;
    }
    const char c = peek(lexer, ahead);
    return c == '\n' || c == '\r' || lexer->offset + ahead >= lexer->size;
}

/* What is refused wherever it stands, in comments and literals too. */
static jit_gemm_status check_character(const struct jg_snippet_lexer *lexer)
{
    const char c = lexer->text[lexer->offset];
    if (c == '\0') {
        return jg_snippet_refuse(lexer->epilogue, lexer->position,
                                 "give a text without zero bytes",
                                 "zero byte in the snippet");
    }
    const bool is_last = lexer->offset + 1 == lexer->size;
    if (c == '\r' && peek(lexer, 1) != '\n' && !is_last) {
        return jg_snippet_refuse(lexer->epilogue, lexer->position,
                                 "end lines with a line feed",
                                 "carriage return inside of a line");
    }
    if (c == '\\' && is_splice(lexer)) {
        return jg_snippet_refuse(lexer->epilogue, lexer->position,
                                 "put it on one line, or break without '\\'",
                                 "line splice: backslash before a line end");
    }
    if (c == '?' && peek(lexer, 1) == '?' && peek(lexer, 2) != '\0' &&
        strchr("=/'()!<>-", peek(lexer, 2)) != NULL) {
        return jg_snippet_refuse(lexer->epilogue, lexer->position,
                                 "write the character itself", "trigraph '?\?%c'",
                                 peek(lexer, 2));
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status advance(struct jg_snippet_lexer *lexer)
{
    JG_TRY(check_character(lexer));
    if (lexer->text[lexer->offset++] == '\n') {
        lexer->position.line++;
        lexer->position.column = 1;
    } else {
        lexer->position.column++;
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status advance_by(struct jg_snippet_lexer *lexer, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        JG_TRY(advance(lexer));
    }
    return JIT_GEMM_OK;
}

/* ------------------------------------------------------------------------- tokens */

static jit_gemm_status skip_block_comment(struct jg_snippet_lexer *lexer)
{
    const struct jg_position begin = lexer->position;
    JG_TRY(advance_by(lexer, 2));
    while (!at_end(lexer)) {
        if (peek(lexer, 0) == '*' && peek(lexer, 1) == '/') {
            return advance_by(lexer, 2);
        }
        JG_TRY(advance(lexer));
    }
    return jg_snippet_refuse(lexer->epilogue, begin, "close it with '*/'",
                             "comment without an end");
}

static jit_gemm_status skip_blanks(struct jg_snippet_lexer *lexer)
{
    while (!at_end(lexer)) {
        const char c = peek(lexer, 0);
        if (c == '/' && peek(lexer, 1) == '/') {
            while (!at_end(lexer) && peek(lexer, 0) != '\n') {
                JG_TRY(advance(lexer));
            }
        } else if (c == '/' && peek(lexer, 1) == '*') {
            JG_TRY(skip_block_comment(lexer));
        } else if (c == ' ' || (c >= '\t' && c <= '\r')) {
            JG_TRY(advance(lexer));
        } else {
            break;
        }
    }
    return JIT_GEMM_OK;
}

/* A string or character literal from its quote on. */
static jit_gemm_status scan_literal(struct jg_snippet_lexer *lexer)
{
    const struct jg_position begin = lexer->position;
    const char quote = peek(lexer, 0);
    JG_TRY(advance(lexer));
    while (!at_end(lexer) && peek(lexer, 0) != '\n') {
        const char c = peek(lexer, 0);
        JG_TRY(advance(lexer));
        if (c == quote) {
            return JIT_GEMM_OK;
        }
        if (c == '\\') {
            JG_TRY(advance(lexer));
        }
    }
    return jg_snippet_refuse(lexer->epilogue, begin, "close it on the same line",
                             quote == '"' ? "string literal without an end"
                                          : "character literal without an end");
}

/* A preprocessing number, digit separators included: 1'000, 0x1p-3f, 1e+5. */
static jit_gemm_status scan_number(struct jg_snippet_lexer *lexer)
{
    for (;;) {
        const char c = peek(lexer, 0);
        const char next = peek(lexer, 1);
        if (c != '\0' && strchr("eEpP", c) != NULL && (next == '+' || next == '-')) {
            JG_TRY(advance_by(lexer, 2));
        } else if (is_name_char(c) || c == '.' || (c == '\'' && is_name_char(next))) {
            JG_TRY(advance(lexer));
        } else {
            return JIT_GEMM_OK;
        }
    }
}

static size_t punctuator_size(const struct jg_snippet_lexer *lexer)
{
    static const char *const long_punctuators[] = {
        "<<=", ">>=", "->*", "...", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
        "++",  "--",  "+=",  "-=",  "*=", "/=", "%=", "&=", "|=", "^=", "->", "::"};
    for (size_t i = 0; i < sizeof(long_punctuators) / sizeof(long_punctuators[0]); i++) {
        const size_t size = strlen(long_punctuators[i]);
        if (lexer->size - lexer->offset >= size &&
            memcmp(lexer->text + lexer->offset, long_punctuators[i], size) == 0) {
            return size;
        }
    }
    return 1;
}

/* `<:` is '[', but not in `<::name`, which is '<' and '::'. */
static bool is_digraph(const struct jg_snippet_lexer *lexer)
{
    const char c = peek(lexer, 0);
    const char next = peek(lexer, 1);
    if (c == '<' && next == ':') {
        const char third = peek(lexer, 2);
        const char fourth = peek(lexer, 3);
        return third != ':' || fourth == ':' || fourth == '>';
    }
    return (c == '<' && next == '%') || ((c == '%' || c == ':') && next == '>');
}

/* "U+2212" for a character of UTF-8, which an editor may have put in place of an ordinary
 * one; "'@'" for another that prints, "0x01" for one that does not. */
static void print_character(const struct jg_snippet_lexer *lexer, char *buffer, size_t size)
{
    const unsigned char first = (unsigned char)peek(lexer, 0);
    if (first > 0x20 && first < 0x7f) {
        snprintf(buffer, size, "'%c'", first);
        return;
    }
    const int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc2 ? 1 : 0;
    unsigned code = more > 0 ? first & (0x3fu >> more) : first;
    bool is_whole = more > 0 && first < 0xf5;
    for (int i = 1; i <= more && is_whole; i++) {
        const unsigned char next = (unsigned char)peek(lexer, (size_t)i);
        is_whole = (next & 0xc0) == 0x80;
        code = code << 6 | (next & 0x3fu);
    }
    snprintf(buffer, size, is_whole ? "U+%04X" : "0x%02x", is_whole ? code : first);
}

/* Does the '#' begin what may be meant for a directive? A comment of other languages may be
 * any word. */
static bool begins_directive(const struct jg_snippet_lexer *lexer)
{
    static const char *const words[] = {"define", "include", "pragma", "undef", "if",
                                        "ifdef",  "ifndef",  "else",   "elif",  "endif",
                                        "line",   "error",   "warning"};
    size_t ahead = 1;
    while (peek(lexer, ahead) == ' ' || peek(lexer, ahead) == '\t') {
        ahead++;
    }
    const char *word = lexer->text + lexer->offset + ahead;
    size_t size = 0;
    while (is_name_char(peek(lexer, ahead + size))) {
        size++;
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strlen(words[i]) == size && memcmp(words[i], word, size) == 0) {
            return true;
        }
    }
    return false;
}

static jit_gemm_status check_punctuator(const struct jg_snippet_lexer *lexer)
{
    const char c = peek(lexer, 0);
    if (c == '#' || (c == '%' && peek(lexer, 1) == ':')) {
        return jg_snippet_refuse(
            lexer->epilogue, lexer->position,
            c == '%' || begins_directive(lexer)
                ? "a snippet is statements only; name a constant with 'const float'"
                : "a comment begins with //",
            "preprocessor directives are not allowed in a snippet");
    }
    if (is_digraph(lexer)) {
        return jg_snippet_refuse(lexer->epilogue, lexer->position,
                                 "write the bracket itself", "digraph '%c%c'", c,
                                 peek(lexer, 1));
    }
    if (c == '\\') {
        return jg_snippet_refuse(lexer->epilogue, lexer->position, "remove it",
                                 "backslash outside of a literal");
    }
    if ((unsigned char)c >= 0x7f || (unsigned char)c < 0x20 || strchr("@$`", c) != NULL) {
        char shown[16];
        print_character(lexer, shown, sizeof(shown));
        return jg_snippet_refuse(lexer->epilogue, lexer->position,
                                 "use plain ASCII outside of comments and literals",
                                 "character %s has no meaning here", shown);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status scan_name(struct jg_snippet_lexer *lexer,
                                 const struct jg_token *token)
{
    while (is_name_char(peek(lexer, 0))) {
        JG_TRY(advance(lexer));
    }
    if (peek(lexer, 0) == '"' && lexer->text[lexer->offset - 1] == 'R') {
        return jg_snippet_refuse(lexer->epilogue, token->begin,
                                 "use an ordinary string literal",
                                 "raw string literals are not allowed in a snippet");
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_snippet_next_token(struct jg_snippet_lexer *lexer,
                                      struct jg_token *ret_token)
{
    JG_TRY(skip_blanks(lexer));
    struct jg_token token = {.kind = JG_TOKEN_END,
                             .text = lexer->text + lexer->offset,
                             .begin = lexer->position};
    if (!at_end(lexer)) {
        JG_TRY(check_character(lexer));
        const char c = peek(lexer, 0);
        if (is_digit(c) || (c == '.' && is_digit(peek(lexer, 1)))) {
            token.kind = JG_TOKEN_NUMBER;
            JG_TRY(scan_number(lexer));
        } else if (is_name_char(c)) {
            token.kind = JG_TOKEN_NAME;
            JG_TRY(scan_name(lexer, &token));
        } else if (c == '"' || c == '\'') {
            token.kind = JG_TOKEN_LITERAL;
            JG_TRY(scan_literal(lexer));
        } else {
            token.kind = JG_TOKEN_PUNCTUATOR;
            JG_TRY(check_punctuator(lexer));
            JG_TRY(advance_by(lexer, punctuator_size(lexer)));
        }
    }
    token.size = (size_t)(lexer->text + lexer->offset - token.text);
    token.end = lexer->position;
    *ret_token = token;
    return JIT_GEMM_OK;
}
