/* SPDX-License-Identifier: MIT */
#include "plan/snippet_token.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "plan/text.h"

bool jg_token_is(const struct jg_token *token, const char *text)
{
    return jg_word_is(token->text, token->size, text);
}

bool jg_token_is_one_of(const struct jg_token *token, const char *const *words)
{
    while (*words != NULL && !jg_token_is(token, *words)) {
        words++;
    }
    return *words != NULL;
}

jit_gemm_status jg_snippet_refuse(const struct jg_epilogue *epilogue,
                                  struct jg_position position, const char *hint,
                                  const char *format, ...)
{
    char text[192];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    jg_error_begin(JIT_GEMM_ERR_COMPILE);
    jg_error_add(JIT_GEMM_SEVERITY_ERROR, JIT_GEMM_DIAGNOSTIC_SNIPPET, position.line,
                 position.column, epilogue->source_name, text, hint);
    return JIT_GEMM_ERR_COMPILE;
}
