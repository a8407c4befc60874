/* SPDX-License-Identifier: MIT */
/* Errors that name a line and a column of the text. */
#include "ptx/internal.h"

static void fail_with(struct ptx_parser *parser, uint32_t line, uint32_t column,
                      const char *format, va_list args)
{
    if (!parser->failed) {
        struct emu_text text = {0};
        emu_text_addv(&text, format, args);
        emu_fail(parser->error, "%u:%u: %s", line, column, emu_text_get(&text));
        emu_text_free(&text);
        parser->failed = true;
    }
    parser->token.kind = PTX_TOKEN_END;
    parser->at = parser->end;
}

bool ptx_fail_at(struct ptx_parser *parser, uint32_t line, uint32_t column,
                 const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail_with(parser, line, column, format, args);
    va_end(args);
    return false;
}

bool ptx_fail(struct ptx_parser *parser, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail_with(parser, parser->token.line, parser->token.column, format, args);
    va_end(args);
    return false;
}

bool ptx_fail_expected(struct ptx_parser *parser, const char *expected)
{
    const struct ptx_token *token = &parser->token;
    if (token->kind == PTX_TOKEN_END) {
        return ptx_fail(parser, "expected %s but the text ends", expected);
    }
    if (token->kind == PTX_TOKEN_STRING) {
        return ptx_fail(parser, "expected %s but met a string", expected);
    }
    const char *before = token->kind == PTX_TOKEN_DIRECTIVE ? "'." : "'";
    const int shown = token->length > 200 ? 200 : (int)token->length;
    return ptx_fail(parser, "expected %s but met %s%.*s'", expected, before, shown,
                    token->start);
}
