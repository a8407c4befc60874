/* SPDX-License-Identifier: MIT */
/* Characters to tokens. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/internal.h"

/* ------------------------------------------------------------------------ characters */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* What an identifier goes on with. */
static bool is_follow(char c)
{
    return is_letter(c) || is_digit(c) || c == '_' || c == '$';
}

static int digit_value(char c)
{
    if (is_digit(c)) {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

/* The character `ahead` of the current one, 0 behind the end. */
static char look(const struct ptx_parser *parser, size_t ahead)
{
    if ((size_t)(parser->end - parser->at) <= ahead) {
        return '\0';
    }
    return parser->at[ahead];
}

static uint32_t column_of(const struct ptx_parser *parser, const char *at)
{
    return (uint32_t)(at - parser->line_start) + 1;
}

static void skip_line_end(struct ptx_parser *parser)
{
    parser->at++;
    parser->line++;
    parser->line_start = parser->at;
}

static void skip_long_comment(struct ptx_parser *parser)
{
    const uint32_t line = parser->line, column = column_of(parser, parser->at);
    parser->at += 2;
    while (parser->at < parser->end) {
        if (look(parser, 0) == '*' && look(parser, 1) == '/') {
            parser->at += 2;
            return;
        }
        if (*parser->at == '\n') {
            skip_line_end(parser);
        } else {
            parser->at++;
        }
    }
    ptx_fail_at(parser, line, column, "the comment that begins here does not end");
}

static void skip_blanks(struct ptx_parser *parser)
{
    while (parser->at < parser->end) {
        const char c = *parser->at;
        if (c == '\n') {
            skip_line_end(parser);
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
            parser->at++;
        } else if (c == '/' && look(parser, 1) == '/') {
            while (parser->at < parser->end && *parser->at != '\n') {
                parser->at++;
            }
        } else if (c == '/' && look(parser, 1) == '*') {
            skip_long_comment(parser);
        } else {
            return;
        }
    }
}

/* --------------------------------------------------------------------------- numbers */

/* 0f and 0d: the bits of a number, in exactly 8 or 16 hexadecimal digits. */
static bool lex_float_bits(struct ptx_parser *parser, unsigned digits)
{
    struct ptx_token *token = &parser->token;
    parser->at += 2;
    for (unsigned i = 0; i < digits; i++, parser->at++) {
        const int digit = digit_value(look(parser, 0));
        if (digit >= 16) {
            return ptx_fail(parser, "expected %u hexadecimal digits behind '%.2s'", digits,
                            token->start);
        }
        token->bits = token->bits << 4 | (uint64_t)digit;
    }
    token->kind = digits == 8 ? PTX_TOKEN_FLOAT32 : PTX_TOKEN_FLOAT64;
    return true;
}

/* Correctly rounded and the same in every locale. */
static bool lex_decimal(struct ptx_parser *parser, size_t length)
{
    char text[64];
    if (length >= sizeof(text)) {
        return ptx_fail(parser, "a decimal number of %zu characters is too long", length);
    }
    memcpy(text, parser->at, length);
    text[length] = '\0';
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0) {
        return ptx_fail(parser, "the C locale is missing: cannot read '%s'", text);
    }
    const double value = strtod_l(text, NULL, plain);
    freelocale(plain);
    memcpy(&parser->token.bits, &value, sizeof(value));
    parser->token.kind = PTX_TOKEN_DECIMAL;
    parser->at += length;
    return true;
}

/* Length of `1.5`, `1e-5`, `2.`; 0 when an integer stands here. */
static size_t decimal_length(const struct ptx_parser *parser)
{
    size_t length = 0;
    bool real = false;
    while (is_digit(look(parser, length))) {
        length++;
    }
    if (look(parser, length) == '.') {
        real = true;
        length++;
        while (is_digit(look(parser, length))) {
            length++;
        }
    }
    const char e = look(parser, length);
    if (e == 'e' || e == 'E') {
        const char sign = look(parser, length + 1);
        size_t digits = length + (sign == '+' || sign == '-' ? 2 : 1);
        if (is_digit(look(parser, digits))) {
            real = true;
            while (is_digit(look(parser, digits))) {
                digits++;
            }
            length = digits;
        }
    }
    return real ? length : 0;
}

static bool lex_integer(struct ptx_parser *parser)
{
    struct ptx_token *token = &parser->token;
    const char second = look(parser, 1);
    uint64_t base = 10;
    if (look(parser, 0) == '0' && (second == 'x' || second == 'X')) {
        base = 16;
        parser->at += 2;
    } else if (look(parser, 0) == '0' && (second == 'b' || second == 'B')) {
        base = 2;
        parser->at += 2;
    } else if (look(parser, 0) == '0') {
        base = 8;
    }
    const char *first = parser->at;
    uint64_t value = 0;
    while ((uint64_t)digit_value(look(parser, 0)) < base) {
        if (__builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit_value(*parser->at), &value)) {
            return ptx_fail(parser, "the integer does not fit into 64 bits");
        }
        parser->at++;
    }
    if (parser->at == first) {
        return ptx_fail(parser, "expected digits behind '%.2s'", token->start);
    }
    token->kind = PTX_TOKEN_INTEGER;
    token->bits = value;
    /* What does not fit a signed number is unsigned without being told. */
    token->is_unsigned = value > INT64_MAX;
    if (look(parser, 0) == 'U') {
        token->is_unsigned = true;
        parser->at++;
    }
    return true;
}

static void lex_number(struct ptx_parser *parser)
{
    const bool prefixed = look(parser, 0) == '0';
    const char second = look(parser, prefixed ? 1 : 0);
    const size_t decimal = decimal_length(parser);
    bool ok = false;
    if (second == 'f' || second == 'F') {
        ok = lex_float_bits(parser, 8);
    } else if (second == 'd' || second == 'D') {
        ok = lex_float_bits(parser, 16);
    } else if (decimal > 0) {
        ok = lex_decimal(parser, decimal);
    } else {
        ok = lex_integer(parser);
    }
    if (ok && is_follow(look(parser, 0))) {
        ptx_fail(parser, "'%c' does not belong to a number", *parser->at);
    }
}

/* ---------------------------------------------------------------------------- tokens */

static void lex_word(struct ptx_parser *parser)
{
    const char *first = parser->at++;
    while (is_follow(look(parser, 0))) {
        parser->at++;
    }
    parser->token.kind = PTX_TOKEN_WORD;
    parser->token.name =
        ptx_intern(parser, &parser->names, first, (size_t)(parser->at - first));
}

/* `.reg` and parts of opcodes such as `.mbarrier::complete_tx::bytes`. */
static void lex_directive(struct ptx_parser *parser)
{
    const char *first = ++parser->at;
    while (is_follow(look(parser, 0))) {
        parser->at++;
        if (look(parser, 0) == ':' && look(parser, 1) == ':' &&
            is_follow(look(parser, 2))) {
            parser->at += 2;
        }
    }
    parser->token.kind = PTX_TOKEN_DIRECTIVE;
    parser->token.start = first;
    parser->token.name =
        ptx_intern(parser, &parser->names, first, (size_t)(parser->at - first));
}

static void lex_string(struct ptx_parser *parser)
{
    parser->token.start = ++parser->at;
    while (look(parser, 0) != '"') {
        if (parser->at == parser->end || *parser->at == '\n') {
            ptx_fail(parser, "the string that begins here does not end on its line");
            return;
        }
        const bool escape =
            look(parser, 0) == '\\' && (look(parser, 1) == '"' || look(parser, 1) == '\\');
        parser->at += escape ? 2 : 1;
    }
    parser->token.kind = PTX_TOKEN_STRING;
    parser->token.length = (size_t)(parser->at - parser->token.start);
    parser->at++;
}

static void lex_mark(struct ptx_parser *parser)
{
    static const char pairs[] = "<<>><=>===!=&&||";
    const char c = look(parser, 0), second = look(parser, 1);
    parser->token.kind = PTX_TOKEN_MARK;
    for (size_t i = 0; pairs[i] != '\0'; i += 2) {
        if (c == pairs[i] && second == pairs[i + 1]) {
            parser->token.mark = PTX_MARK2(c, second);
            parser->at += 2;
            return;
        }
    }
    if (c == '\0' || strchr(",;:{}[]()<>=+-*/%!~&|^?@", c) == NULL) {
        ptx_fail(parser, "a character of code 0x%02x has no meaning here",
                 (unsigned)(unsigned char)c);
        return;
    }
    parser->token.mark = (unsigned char)c;
    parser->at++;
}

void ptx_next(struct ptx_parser *parser)
{
    struct ptx_token *token = &parser->token;
    skip_blanks(parser);
    *token = (struct ptx_token){.kind = PTX_TOKEN_END,
                                .start = parser->at,
                                .line = parser->line,
                                .column = column_of(parser, parser->at)};
    if (parser->at == parser->end) {
        return;
    }
    const char c = *parser->at, second = look(parser, 1);
    if (is_letter(c) || c == '_' || ((c == '$' || c == '%') && is_follow(second))) {
        lex_word(parser);
    } else if (is_digit(c)) {
        lex_number(parser);
    } else if (c == '.' && is_follow(second)) {
        lex_directive(parser);
    } else if (c == '"') {
        lex_string(parser);
    } else {
        lex_mark(parser);
    }
    if (token->kind != PTX_TOKEN_STRING && token->kind != PTX_TOKEN_END) {
        token->length = (size_t)(parser->at - token->start);
    }
}

struct ptx_cursor ptx_save(const struct ptx_parser *parser)
{
    return (struct ptx_cursor){.token = parser->token,
                               .at = parser->at,
                               .line_start = parser->line_start,
                               .line = parser->line};
}

void ptx_restore(struct ptx_parser *parser, const struct ptx_cursor *cursor)
{
    parser->token = cursor->token;
    parser->at = cursor->at;
    parser->line_start = cursor->line_start;
    parser->line = cursor->line;
}

struct ptx_token ptx_peek(struct ptx_parser *parser)
{
    const struct ptx_cursor current = ptx_save(parser);
    ptx_next(parser);
    const struct ptx_token ahead = parser->token;
    if (!parser->failed) {
        ptx_restore(parser, &current);
    }
    return ahead;
}

bool ptx_is_mark(const struct ptx_parser *parser, int mark)
{
    return parser->token.kind == PTX_TOKEN_MARK && parser->token.mark == mark;
}

bool ptx_is_directive(const struct ptx_parser *parser, const char *word)
{
    return parser->token.kind == PTX_TOKEN_DIRECTIVE &&
           strcmp(parser->token.name->text, word) == 0;
}

bool ptx_accept(struct ptx_parser *parser, int mark)
{
    if (!ptx_is_mark(parser, mark)) {
        return false;
    }
    ptx_next(parser);
    return true;
}

bool ptx_expect(struct ptx_parser *parser, int mark)
{
    if (ptx_accept(parser, mark)) {
        return !parser->failed;
    }
    const char expected[] = {'\'', (char)mark, '\'', '\0'};
    return ptx_fail_expected(parser, expected);
}

bool ptx_expect_integer(struct ptx_parser *parser, uint64_t most, uint64_t *ret_value)
{
    if (parser->token.kind != PTX_TOKEN_INTEGER) {
        return ptx_fail_expected(parser, "an integer");
    }
    if (parser->token.bits > most) {
        return ptx_fail(parser, "%llu is more than the %llu that are supported",
                        (unsigned long long)parser->token.bits, (unsigned long long)most);
    }
    *ret_value = parser->token.bits;
    ptx_next(parser);
    return !parser->failed;
}

bool ptx_expect_word(struct ptx_parser *parser, const char *expected,
                     struct ptx_token *ret_token)
{
    if (parser->token.kind != PTX_TOKEN_WORD ||
        strcmp(parser->token.name->text, "_") == 0) {
        return ptx_fail_expected(parser, expected);
    }
    *ret_token = parser->token;
    ptx_next(parser);
    return !parser->failed;
}

bool ptx_expect_string(struct ptx_parser *parser, const char **ret_text)
{
    if (parser->token.kind != PTX_TOKEN_STRING) {
        return ptx_fail_expected(parser, "a string");
    }
    *ret_text = emu_arena_strndup(&parser->module->arena, parser->token.start,
                                  parser->token.length);
    ptx_next(parser);
    return !parser->failed;
}
