/* SPDX-License-Identifier: MIT */
/* The snippet scan: what passes, and every refusal with its line and column. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/epilogue.h"
#include "plan/snippet.h"

/* Operands of every test: inputs bias and r, and with `with_output` an output aux. */
static jit_gemm_status register_snippet(const char *source, size_t size, int with_output,
                                        struct jg_epilogue **ret_epilogue)
{
    jit_gemm_operand operands[3];
    memset(operands, 0, sizeof(operands));
    operands[0].name = "bias";
    operands[0].kind = JIT_GEMM_OPERAND_ROW_VECTOR;
    operands[1].name = "r";
    operands[1].kind = JIT_GEMM_OPERAND_MATRIX;
    operands[2].name = "aux";
    operands[2].kind = JIT_GEMM_OPERAND_MATRIX;
    operands[2].role = JIT_GEMM_OPERAND_OUTPUT;
    operands[0].dtype = operands[1].dtype = operands[2].dtype = JIT_GEMM_DTYPE_BF16;
    jit_gemm_epilogue user;
    memset(&user, 0, sizeof(user));
    user.struct_size = sizeof(user);
    user.name = "ep";
    user.source = source;
    user.source_size = size;
    user.operands = operands;
    user.operand_count = with_output ? 3 : 2;
    return jg_epilogue_create(&user, ret_epilogue);
}

Test(snippet, legal_ones_pass)
{
    static const char *const rows[] = {
        "d = acc;",
        "d = gelu(acc + bias) + r;",
        "d += acc;",
        "d -= -acc;",
        "d <<= 1;",
        "d++;",
        "--d;",
        "if (row == 0) { d = acc; } else { d = 0.0f; }",
        "float x = bias; x += r; d = x * acc;",
        "acc *= 2.0f; d = acc;",
        "for (int i = 0; i < 4; ++i) acc += bias; d = acc;",
        "// comment with asm, \" and {\nd = acc;",
        "/* comment with asm \" ' { ( # */ d = acc;",
        "d = acc; // the end",
        "d = acc; /* the end */",
        "const char c = '{'; d = acc + c;",
        "const char c = '\\''; d = acc + c;",
        "const char *s = \"} // \\\" asm\"; d = acc + s[0];",
        "int big = 1'000'000; d = acc + big;",
        "int hex = 0x1e+2; d = acc + 1.e+5f;",
        "d = acc < bias ? acc : bias;",
        "d = acc <= bias ? acc : bias >= r;",
        "d = bias == r ? acc : bias != r;",
        "struct P { float bias; }; P p; p.bias = acc; d = p.bias;",
        "d = acc;\r\nacc = d;\r\n",
        "\t d\n=\nacc\n;\n",
        "d = a??b;", /* no trigraph: fine for the scan */
        "d = acc; {}",
        "using T = float; d = T(acc);",
        "d = static_cast<float>(acc);",
        "d = acc < ::r ? 1 : 2;",
        "auto f = [=](float x) { d = x; }; f(acc);",
        "/* \xc3\xa4 umlaut */ d = acc;",
        "d = acc / bias / r;",
        "d = acc *bias;",
        "int goto_x = 1, asm_ = 2, returned = 3, x__y = 4; d = acc;",
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_epilogue *epilogue = NULL;
        cr_expect_eq(register_snippet(rows[i], 0, 0, &epilogue), JIT_GEMM_OK, "'%s': %s",
                     rows[i], jg_error_text());
        jg_epilogue_destroy(epilogue);
    }
}

Test(snippet, wrong_ones_are_refused_at_their_place)
{
    static const struct {
        const char *source;
        uint32_t line, column;
        const char *text;
    } rows[] = {
        /* directives */
        {"#include <x>\nd = acc;", 1, 1, "preprocessor directives are not allowed"},
        {"d = acc;\n  # define A", 2, 3, "preprocessor directives are not allowed"},
        {"d = acc; # x", 1, 10, "preprocessor directives are not allowed"},
        {"d = acc;\n#line 5", 2, 1, "preprocessor directives are not allowed"},
        {"/* */#pragma unroll\nd = acc;", 1, 6, "preprocessor directives are not allowed"},
        {"%: define A\nd = acc;", 1, 1, "preprocessor directives are not allowed"},
        {"_Pragma(\"unroll\") d = acc;", 1, 1, "'_Pragma' is not allowed"},
        {"d = acc; __pragma(x);", 1, 10, "'__pragma' is not allowed"},
        /* assembler */
        {"asm(\"exit;\"); d = acc;", 1, 1, "'asm' is not allowed"},
        {"d = acc;\nasm volatile(\"\");", 2, 1, "'asm' is not allowed"},
        {"__asm(\"\"); d = acc;", 1, 1, "'__asm' is not allowed"},
        {"d = acc; __asm__(\"\");", 1, 10, "'__asm__' is not allowed"},
        /* splices, trigraphs, digraphs, odd bytes */
        {"// x \\\nasm(\"\"); d = acc;", 1, 6, "line splice"},
        {"// x \\ \t\nd = acc;", 1, 6, "line splice"},
        {"// x \\\r\nd = acc;", 1, 6, "line splice"},
        {"d = acc; as\\\nm(\"\");", 1, 12, "line splice"},
        {"/* \\\n */ d = acc;", 1, 4, "line splice"},
        {"char c = 'a\\\n'; d = acc;", 1, 12, "line splice"},
        {"d = acc; // \\", 1, 13, "line splice"},
        {"d = acc; // \?\?/\nasm(\"\");", 1, 13, "trigraph '\?\?/'"},
        {"\?\?=define X\nd = acc;", 1, 1, "trigraph '\?\?='"},
        {"d = acc; \?\?>", 1, 10, "trigraph '\?\?>'"},
        {"<% d = acc; %>", 1, 1, "digraph '<%'"},
        {"d = acc; %>", 1, 10, "digraph '%>'"},
        {"int a<:1:>; d = acc;", 1, 6, "digraph '<:'"},
        {"d = acc; a :> b;", 1, 12, "digraph ':>'"},
        {"d = a<:::b;", 1, 6, "digraph '<:'"},
        {"d = \\u0061cc;", 1, 5, "backslash outside of a literal"},
        {"d = acc \\ 2;", 1, 9, "backslash outside of a literal"},
        {"d = \xc3\xa4;", 1, 5, "character 0xc3 has no meaning here"},
        {"d = acc @ 2;", 1, 9, "character 0x40 has no meaning here"},
        {"d = $x;", 1, 5, "character 0x24 has no meaning here"},
        {"d = acc;\n\x01", 2, 1, "character 0x01 has no meaning here"},
        {"// a\rasm(\"\");\nd = acc;", 1, 5, "carriage return inside of a line"},
        /* comments and literals */
        {"d = acc; /* open", 1, 10, "comment without an end"},
        {"d = acc;\n /*/", 2, 2, "comment without an end"},
        {"const char *s = \"open; d = acc;", 1, 17, "string literal without an end"},
        {"const char *s = \"open\nx\"; d = acc;", 1, 17, "string literal without an end"},
        {"const char *s = \"open\\\"; d = acc;", 1, 17, "string literal without an end"},
        {"char c = 'x; d = acc;", 1, 10, "character literal without an end"},
        {"const char *s = R\"(x)\"; d = acc;", 1, 17, "raw string literals are not"},
        {"const char *s = u8R\"(x)\"; d = acc;", 1, 17, "raw string literals are not"},
        {"const char *s = LR\"--(x)--\"; d = acc;", 1, 17, "raw string literals are not"},
        /* brackets */
        {"d = (acc;", 1, 5, "'(' is never closed"},
        {"d = acc);", 1, 8, "')' closes nothing"},
        {"d = acc; }", 1, 10, "'}' closes nothing"},
        {"d = acc; } void f() {", 1, 10, "'}' closes nothing"},
        {"{ d = acc;", 1, 1, "'{' is never closed"},
        {"d = a[1;\n", 1, 6, "'[' is never closed"},
        {"d = (a[1)];", 1, 9, "')' does not match '[' at 1:7"},
        {"{\n d = (acc; }", 2, 12, "'}' does not match '(' at 2:6"},
        {"d = acc];", 1, 8, "']' closes nothing"},
        {"if (row { d = acc; }", 1, 4, "'(' is never closed"},
        /* names */
        {"return; d = acc;", 1, 1, "'return' is not allowed"},
        {"d = acc;\nif (row) return;", 2, 10, "'return' is not allowed"},
        {"goto x; x: d = acc;", 1, 1, "'goto' is not allowed"},
        {"static float x; d = acc;", 1, 1, "'static' is not allowed"},
        {"extern float x; d = acc;", 1, 1, "'extern' is not allowed"},
        {"thread_local float x; d = acc;", 1, 1, "'thread_local' is not allowed"},
        {"__shared__ float x; d = acc;", 1, 1, "'__shared__' is not allowed"},
        {"__syncthreads(); d = acc;", 1, 1, "'__syncthreads' is not allowed"},
        {"d = acc; __syncwarp();", 1, 10, "'__syncwarp' is not allowed"},
        {"d = threadIdx.x;", 1, 5, "'threadIdx' is not allowed"},
        {"d = blockIdx.x;", 1, 5, "'blockIdx' is not allowed"},
        {"d = blockDim.x;", 1, 5, "'blockDim' is not allowed"},
        {"d = gridDim.x;", 1, 5, "'gridDim' is not allowed"},
        {"d = jg::f(acc);", 1, 5, "'jg' begins with a reserved prefix"},
        {"d = jgx;", 1, 5, "'jgx' begins with a reserved prefix"},
        {"JG_EPILOGUE_END d = acc;", 1, 1, "'JG_EPILOGUE_END' begins with a reserved"},
        {"d = __expf(acc);", 1, 5, "'__expf' begins with a reserved prefix"},
        {"d = acc + __LINE__;", 1, 11, "'__LINE__' begins with a reserved prefix"},
        /* assignments */
        {"bias = 1.0f; d = acc;", 1, 1, "input 'bias' cannot be assigned"},
        {"d = acc;\nbias += acc;", 2, 1, "input 'bias' cannot be assigned"},
        {"d = bias++;", 1, 5, "input 'bias' cannot be assigned"},
        {"d = --bias;", 1, 7, "input 'bias' cannot be assigned"},
        {"d = r >>= 1;", 1, 5, "input 'r' cannot be assigned"},
        {"d = (r = acc);", 1, 6, "input 'r' cannot be assigned"},
        {"float bias = 2.0f; d = acc;", 1, 7, "input 'bias' cannot be assigned"},
        {"acc = bias;", 1, 1, "the result 'd' is never assigned"},
        {"float x = d == acc;", 1, 1, "the result 'd' is never assigned"},
        {"// d = acc;\nacc = 1;", 1, 1, "the result 'd' is never assigned"},
        {"struct P { float d; } p; p.d = acc;", 1, 1, "the result 'd' is never assigned"},
        /* ends */
        {" \n\t", 1, 1, "the snippet has no statement"},
        {"// nothing", 1, 1, "the snippet has no statement"},
        {"d = acc", 1, 8, "expected ';' after 'acc'"},
        {"d = acc;\nd += gelu(bias) // x", 2, 16, "expected ';' after ')'"},
        {"d = acc; label:", 1, 16, "expected ';' after ':'"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_epilogue *epilogue = NULL;
        cr_expect_eq(register_snippet(rows[i].source, 0, 0, &epilogue),
                     JIT_GEMM_ERR_COMPILE, "'%s'", rows[i].source);
        cr_expect_null(epilogue);
        jit_gemm_diagnostics *diagnostics = NULL;
        cr_assert_eq(jg_diagnostics_take(&diagnostics), JIT_GEMM_OK);
        cr_assert_eq(jg_diagnostics_count(diagnostics), 1);
        const jit_gemm_diagnostic *found = jg_diagnostics_at(diagnostics, 0);
        cr_expect_eq(found->origin, JIT_GEMM_DIAGNOSTIC_SNIPPET);
        cr_expect_str_eq(found->where, "ep");
        cr_expect_gt(strlen(found->hint), 0, "'%s' has no hint", rows[i].source);
        cr_expect(found->line == rows[i].line && found->column == rows[i].column &&
                      strncmp(found->text, rows[i].text, strlen(rows[i].text)) == 0,
                  "'%s'\nexpected %u:%u '%s...'\n     got %u:%u '%s'", rows[i].source,
                  rows[i].line, rows[i].column, rows[i].text, found->line, found->column,
                  found->text);
        jg_diagnostics_destroy(&diagnostics);
    }
    cr_expect_geq(sizeof(rows) / sizeof(rows[0]), 60);
}

Test(snippet, output_must_be_assigned)
{
    struct jg_epilogue *epilogue = NULL;

    cr_expect_eq(register_snippet("d = acc + aux;", 0, 1, &epilogue), JIT_GEMM_ERR_COMPILE);
    cr_expect_str_eq(jg_error_text(), "1:1: error: output 'aux' is never assigned; assign "
                                      "it, or remove the operand");

    cr_expect_eq(register_snippet("aux = acc; d = acc;", 0, 1, &epilogue), JIT_GEMM_OK);
    jg_epilogue_destroy(epilogue);
}

Test(snippet, zero_bytes_are_refused_wherever_they_stand)
{
    static const struct {
        const char *source;
        size_t size;
        const char *begin;
    } rows[] = {
        {"d = acc;\0asm", 12, "1:9: error: zero byte"},
        {"// \0\nd = acc;", 13, "1:4: error: zero byte"},
        {"/*\n\0*/ d = acc;", 15, "2:1: error: zero byte"},
        {"char c = '\0'; d = acc;", 22, "1:11: error: zero byte"},
        {"int x\0y; d = acc;", 17, "1:6: error: zero byte"},
        {"d = acc;\0", 9, "1:9: error: zero byte"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_epilogue *epilogue = NULL;
        cr_expect_eq(register_snippet(rows[i].source, rows[i].size, 0, &epilogue),
                     JIT_GEMM_ERR_COMPILE);
        cr_expect_eq(strncmp(jg_error_text(), rows[i].begin, strlen(rows[i].begin)), 0,
                     "row %zu: %s", i, jg_error_text());
    }
}

Test(snippet, size_and_nesting_are_limited)
{
    char *text = malloc(JG_SNIPPET_MAX_BYTES + 2);
    memset(text, ' ', JG_SNIPPET_MAX_BYTES + 1);
    memcpy(text, "d = acc;", 8);
    text[JG_SNIPPET_MAX_BYTES + 1] = '\0';
    struct jg_epilogue *epilogue = NULL;

    cr_expect_eq(register_snippet(text, 0, 0, &epilogue), JIT_GEMM_ERR_COMPILE);
    cr_expect_str_eq(jg_error_text(), "1:1: error: the snippet has 65537 bytes, at most "
                                      "65536; use a shorter snippet");
    cr_expect_eq(register_snippet(text, JG_SNIPPET_MAX_BYTES, 0, &epilogue), JIT_GEMM_OK);
    jg_epilogue_destroy(epilogue);

    memset(text, '(', 300);
    cr_expect_eq(register_snippet(text, 400, 0, &epilogue), JIT_GEMM_ERR_COMPILE);
    cr_expect_str_eq(jg_error_text(),
                     "1:257: error: brackets are nested deeper than 256; nest less");
    free(text);
}

Test(snippet, first_double_literal_is_noted)
{
    static const struct {
        const char *source;
        uint32_t line, column;
    } rows[] = {
        {"d = acc;", 0, 0},
        {"d = acc * 2;", 0, 0},
        {"d = acc * 2.0f;", 0, 0},
        {"d = acc * 2.F + 0x1p3f + 1e5f + 0x1e5 + 0x1f;", 0, 0},
        {"d = acc * 2.0;", 1, 11},
        {"d = acc;\n d += .5 + 1.0;", 2, 7},
        {"d = acc + 1e5;", 1, 11},
        {"d = acc + 1E-5;", 1, 11},
        {"d = acc + 2.;", 1, 11},
        {"d = acc + 1.0l;", 1, 11},
        {"d = acc + 0x1.8p1;", 1, 11},
        {"// 1.0\nd = acc + '1' + 2.0f;", 0, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_epilogue *epilogue = NULL;
        cr_assert_eq(register_snippet(rows[i].source, 0, 0, &epilogue), JIT_GEMM_OK, "%s",
                     jg_error_text());
        cr_expect_eq(epilogue->double_line, rows[i].line, "%s", rows[i].source);
        cr_expect_eq(epilogue->double_column, rows[i].column, "%s", rows[i].source);
        jg_epilogue_destroy(epilogue);
    }
}

Test(snippet, calls_of_long_functions_are_counted)
{
    static const struct {
        const char *source;
        uint32_t calls;
    } rows[] = {
        {"d = acc;", 0},
        {"d = tanh(acc) + gelu (acc);", 2},
        {"d = relu(min(acc, 1.0f)) + fma(acc, abs(acc), float(row));", 0},
        {"if (acc > 0.0f) { d = exp(acc); } else { d = (acc); }", 1},
        {"// tanh(acc)\nd = acc /* exp(acc) */;", 0},
        {"auto f = [](float x) { d_of(x); }; d = f(acc);", 2},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_epilogue *epilogue = NULL;

        cr_assert_eq(register_snippet(rows[i].source, 0, 0, &epilogue), JIT_GEMM_OK, "%s",
                     jg_error_text());

        cr_expect_eq(epilogue->long_calls, rows[i].calls, "%s", rows[i].source);
        jg_epilogue_destroy(epilogue);
    }
}

Test(snippet, random_texts_never_crash_the_scan)
{
    static const char alphabet[] = "d=acc;(){}[]\"'/*\\?<>:%#\n\r\t 0.1efR_+-bias";
    uint64_t state = 88172645463325252u;
    int accepted = 0;
    for (int i = 0; i < 30000; i++) {
        char text[40];
        size_t size = 0;
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        const size_t wanted = 1 + state % sizeof(text);
        while (size < wanted) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            text[size++] = alphabet[state % (sizeof(alphabet) - 1)];
        }
        struct jg_epilogue *epilogue = NULL;
        const jit_gemm_status status = register_snippet(text, size, 0, &epilogue);
        cr_assert(status == JIT_GEMM_OK || status == JIT_GEMM_ERR_COMPILE);
        accepted += status == JIT_GEMM_OK;
        jg_epilogue_destroy(epilogue);
    }
    cr_expect_lt(accepted, 3000);
}
