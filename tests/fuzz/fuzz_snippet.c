/* SPDX-License-Identifier: MIT */
/* An epilogue: the first line declares operands (`bias:row_vector:bf16
 * aux:matrix:f32:out`), the rest is the snippet. What is accepted cannot leave its
 * function, by a second reading that knows comments, literals and brackets only; what is
 * refused is refused at a place of the text. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "fuzz_target.h"
#include "plan/epilogue.h"

/* Past a literal that begins here; NULL if the line ends before it does. */
static const char *skip_literal(const char *at, const char *end)
{
    const char quote = *at++;
    while (at < end && *at != quote && *at != '\n') {
        at += *at == '\\' && at + 1 < end ? 2 : 1;
    }
    return at < end && *at == quote ? at + 1 : NULL;
}

/* Past a comment that begins here; NULL if it does not end. */
static const char *skip_comment(const char *at, const char *end)
{
    const bool is_line = at[1] == '/';
    at += 2;
    while (at < end) {
        if (is_line && *at == '\n') {
            return at;
        }
        if (!is_line && *at == '*' && at + 1 < end && at[1] == '/') {
            return at + 2;
        }
        at++;
    }
    return is_line ? at : NULL;
}

static bool is_word_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_';
}

/* Past a name or a number that begins here. A sign behind an exponent's letter and a quote
 * before a digit or letter belong to a number: 0E-'4 is one. */
static const char *skip_word(const char *at, const char *end)
{
    const bool is_number = *at >= '0' && *at <= '9';
    char before = ' ';
    while (at < end &&
           (is_word_byte(*at) || (is_number && *at == '.') ||
            (is_number && (*at == '-' || *at == '+') && strchr("eEpP", before) != NULL) ||
            (is_number && *at == '\'' && at + 1 < end && is_word_byte(at[1])))) {
        before = *at;
        at++;
    }
    return at;
}

static bool is_number_behind_point(const char *at, const char *end)
{
    return *at == '.' && at + 1 < end && at[1] >= '0' && at[1] <= '9';
}

static char closing_of(char opening)
{
    return opening == '(' ? ')' : opening == '[' ? ']' : '}';
}

/* Brackets close what was opened, nothing is a directive, and the text ends outside of all.
 */
static bool stays_inside(const char *text, size_t size)
{
    const char *end = text + size;
    char open[256];
    size_t depth = 0;
    for (const char *at = text; at < end;) {
        if (is_number_behind_point(at, end)) {
            at++;
        }
        if (is_word_byte(*at)) { /* a quote inside of a number opens no literal: 1'000 */
            at = skip_word(at, end);
            continue;
        }
        if (*at == '"' || *at == '\'') {
            at = skip_literal(at, end);
            if (at == NULL) {
                return false;
            }
            continue;
        }
        if (*at == '/' && at + 1 < end && (at[1] == '/' || at[1] == '*')) {
            at = skip_comment(at, end);
            if (at == NULL) {
                return false;
            }
            continue;
        }
        if (*at == '#' || *at == '\\' || *at == '\0' || *at == '@' || *at == '`') {
            return false;
        }
        if (strchr("([{", *at) != NULL) {
            if (depth == sizeof(open)) {
                return false;
            }
            open[depth++] = closing_of(*at);
        } else if (strchr(")]}", *at) != NULL) {
            if (depth == 0 || open[--depth] != *at) {
                return false;
            }
        }
        at++;
    }
    return depth == 0;
}

static void expect_place(const jit_gemm_epilogue *epilogue)
{
    uint32_t lines = 1;
    for (size_t i = 0; i < epilogue->source_size; i++) {
        lines += epilogue->source[i] == '\n';
    }
    jit_gemm_diagnostics *diagnostics = NULL;
    fuzz_expect(jg_diagnostics_take(&diagnostics) == JIT_GEMM_OK &&
                    jg_diagnostics_count(diagnostics) > 0,
                "a snippet is refused with a diagnostic");
    const jit_gemm_diagnostic *first = jg_diagnostics_at(diagnostics, 0);
    fuzz_expect(first->origin == JIT_GEMM_DIAGNOSTIC_SNIPPET, "it is about the snippet");
    fuzz_expect(first->line >= 10 && first->line < 10 + lines + 1 && first->column >= 1 &&
                    first->column <= epilogue->source_size + 2,
                "the place is one of the text");
    jg_diagnostics_destroy(&diagnostics);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_operands declared = {.count = 0};
    const size_t line = fuzz_read_operands(data, size, 0, &declared);
    if (line == 0 || line == size) { /* no text would mean one that ends with a zero byte */
        return 0;
    }
    const size_t source_size = size - line;
    uint8_t *source = fuzz_copy(data + line, source_size);
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = "fuzzed",
                                        .source = (const char *)source,
                                        .source_size = source_size,
                                        .first_line = 10,
                                        .operand_count = declared.count,
                                        .operands = declared.operands};
    struct jg_epilogue *made = NULL;
    const jit_gemm_status status = jg_epilogue_create(&epilogue, &made);
    fuzz_note(status == JIT_GEMM_OK);
    if (status == JIT_GEMM_OK) {
        fuzz_expect(stays_inside(made->source, made->source_size),
                    "a snippet that is accepted stays inside of its function");
        jg_epilogue_destroy(made);
    } else {
        fuzz_expect_error(status);
        if (status == JIT_GEMM_ERR_COMPILE) {
            expect_place(&epilogue);
        }
    }
    free(source);
    return 0;
}
