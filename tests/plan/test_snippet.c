/* SPDX-License-Identifier: MIT */
/* The snippet scan: what passes, and what it notes. What it refuses: wrong_snippets. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "draws.h"
#include "epilogue_maker.h"
#include "plan/epilogue.h"
#include "plan/snippet.h"
#include "strides.h"

/* With the operands that the text names. */
static jit_gemm_status register_snippet(const char *source, size_t size,
                                        struct jg_epilogue **ret_epilogue)
{
    char operands[256];
    epilogue_list_operands(source, operands, sizeof(operands));
    const struct epilogue_request request = {
        .snippet = source, .snippet_size = size, .operands = operands, .name = "ep"};
    return epilogue_make(&request, ret_epilogue);
}

Test(snippet, legal_ones_pass)
{
    static const char *const rows[] = {
        "d = acc;",
        "d = gelu(acc + bias) + r;",
        "d = silu(acc0) * acc1;",
        "d = acc1; /* acc */ acc0 = d;",
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
        "const char k = '{'; d = acc + k;",
        "const char k = '\\''; d = acc + k;",
        "const char *t = \"} // \\\" asm\"; d = acc + t[0];",
        "int big = 1'000'000; d = acc + big;",
        "int hex = 0x1e+2; d = acc + 1.e+5f;",
        "d = acc < bias ? acc : bias;",
        "d = acc <= bias ? acc : bias >= r;",
        "d = bias == r ? acc : bias != r;",
        "struct P { float bias; }; P p; p.bias = acc; d = p.bias + bias;",
        "d = acc;\r\nacc = d;\r\n",
        "\t d\n=\nacc\n;\n",
        "d = a??b;", /* no trigraph: fine for the scan */
        "d = acc; {}",
        "using T = float; d = T(acc);",
        "d = static_cast<float>(acc);",
        "d = acc < ::r ? r : 2;",
        "auto f = [=](float x) { d = x; }; f(acc);",
        "/* \xc3\xa4 umlaut */ d = acc;",
        "d = acc / bias / r;",
        "d = acc *bias;",
        /* declarations that hide nothing, and uses that look like declarations */
        "struct P { float d, acc, bias; }; P p = {acc, bias}; d = p.d;",
        "float x = acc, y = d, z(bias); d = x + y + z;",
        "float x(acc), y(float(acc) * 2.0f), z(float(3)); d = x + y + z;",
        "d = static_cast<const float>(d) + static_cast<float>(acc);",
        "d = float(acc), acc = d;",
        "auto f = [&](float x) { d = x; acc = d; }; f(acc);",
        "auto f = [&aux](float x) { aux = x; }; aux = acc; d = aux; f(d);",
        "if (acc > 0.0f) d = acc; else d = -acc;",
        "switch (row) { case 0: d = acc; break; default: d = bias; }",
        "for (int i = 0, j = M; i < M && i < j; ++i, --j) { d = acc; }",
        /* loops with a bound that is seen */
        "for (int i = 0; i < 64 && acc > 1.0f; i++) acc *= 0.5f; d = acc;",
        "for (int i = 0; acc > 1.0f and i < 64; i += 2) acc *= 0.5f; d = acc;",
        "for (int i = 0; i < 65535; ++i) d += acc;",
        "for (int i = 255; i >= 0; i--) for (int j = 0; j < 255; j++) d += acc;",
        "for (int i = K - 1; i >= 0; --i) d += acc;",
        "for (int i = row; i <= col + 4; i += 16) d += acc;",
        "for (int i = 1; i < 64; i *= 2) d += acc; for (int i = 16; i > 0; i >>= 1) d++;",
        "for (int i = 0; i < 8; ++i) for (int j = 0; j < i; ++j) for (int k = j; k < 9; k++) d++;",
        "const int n = 3; constexpr int k = 0x4; for (int i = -n; i < 4 * k; i++) d += acc;",
        "float v[3] = {acc}; for (float x : v) d += x;",
        "for (int i = 0, n = 9; i < 4; i++, n--) d += n & i;",
        "for (int i = 0; i < 4; i++) if (row) d = acc; else d++; int i = 3; i = 4; d += i;",
        "for (int i = 0; i < 4; i++) { if (row) { d = acc; } } int i = 3; i++; d += i;",
        "if (row) for (int i = 0; i < 4; i++) d = acc; else { int i = 3; i++; d += i; }",
        "struct P { float x; } q; P *p = &q; auto f = [&](float x) { p->x = x; }; f(acc); d = q.x;",
        "float a[32][32]; for (int i = 0; i < 4; i++) { a[i][0] = acc; } d = a[0][31] + a[1][31];",
        "decltype(acc) x = acc; d = x;",
        "enum { A, B = 2 }; d = acc * B;",
        "struct P { alignas(8) float x = float(3); int n : 5; float (y), v = (d)*(3); }; P p; d = p.x + p.n;",
        "float v[2] = {acc, d}; d = v[0];",
        "float (*p)(float) = tanh; d = p(acc);",
        "const float *p = &acc; d = *p;",
        "unsigned x = 18446744073709551615u; d = x + 0xffffffffffffffff;",
        /* outputs with a value of their own */
        "aux = acc; aux += bias; d = aux;",
        "aux = acc, d = aux;",
        "if (acc > 0.0f) aux = acc; else aux = 0.0f; d = aux;",
        "(aux = acc) > 0.0f ? d = aux : d = 0.0f;",
        "aux = aux2 = acc; d = aux2 + aux;",
        "for (int i = 0; i < 3; i++) { aux = acc; } d = aux;",
        "d = isnan(acc) ? NAN : -INFINITY;",
        "int goto_x = 1, asm_ = 2, returned = 3, x__y = 4; d = acc;",
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_epilogue *epilogue = NULL;
        cr_expect_eq(register_snippet(rows[i], 0, &epilogue), JIT_GEMM_OK, "'%s': %s",
                     rows[i], jg_error_text());
        jg_epilogue_destroy(epilogue);
    }
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
        {"char k = '\0'; d = acc;", 22, "1:11: error: zero byte"},
        {"int x\0y; d = acc;", 17, "1:6: error: zero byte"},
        {"d = acc;\0", 9, "1:9: error: zero byte"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_epilogue *epilogue = NULL;
        cr_expect_eq(register_snippet(rows[i].source, rows[i].size, &epilogue),
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

    cr_expect_eq(register_snippet(text, 0, &epilogue), JIT_GEMM_ERR_COMPILE);
    cr_expect_str_eq(jg_error_text(), "1:1: error: the snippet has 65537 bytes, at most "
                                      "65536; use a shorter snippet");
    cr_expect_eq(register_snippet(text, JG_SNIPPET_MAX_BYTES, &epilogue), JIT_GEMM_OK);
    jg_epilogue_destroy(epilogue);

    memset(text, '(', 300);
    cr_expect_eq(register_snippet(text, 400, &epilogue), JIT_GEMM_ERR_COMPILE);
    cr_expect_str_eq(jg_error_text(),
                     "1:65: error: brackets are nested deeper than 64; nest less");
    free(text);
}

/* A text of `head`, `count` times `part`, and `tail`. */
static jit_gemm_status register_repeated(const char *head, const char *part, int count,
                                         const char *tail)
{
    struct jg_str text = {0};
    struct jg_epilogue *epilogue = NULL;
    jg_str_puts(&text, head);
    for (int i = 0; i < count; i++) {
        jg_str_puts(&text, part);
    }
    jg_str_puts(&text, tail);
    const jit_gemm_status status = register_snippet(jg_str_text(&text), 0, &epilogue);
    jg_epilogue_destroy(epilogue);
    jg_str_free(&text);
    return status;
}

Test(snippet, what_a_compiler_recurses_on_is_limited)
{
    cr_expect_eq(register_repeated("d = ", "-", 63, "acc;"), JIT_GEMM_OK, "%s",
                 jg_error_text());
    cr_expect_eq(register_repeated("d = ", "- ", 64, "acc;"), JIT_GEMM_ERR_COMPILE);
    cr_expect_str_eq(jg_error_text(), "1:131: error: more than 64 operators stand side by "
                                      "side; remove some");
    cr_expect_eq(register_repeated("d = acc", "+acc", 4094, ";"), JIT_GEMM_OK, "%s",
                 jg_error_text());
    cr_expect_eq(register_repeated("d = acc", "+acc", 4095, ";"), JIT_GEMM_ERR_COMPILE);
    cr_expect_not_null(strstr(jg_error_text(), "the snippet has more than 8192 names, "
                                               "numbers and operators; use a shorter"),
                       "%s", jg_error_text());
    cr_expect_eq(register_repeated("d = ", "gelu(", 250, "acc);"), JIT_GEMM_ERR_COMPILE);
    cr_expect_not_null(strstr(jg_error_text(), "brackets are nested deeper than 64"));
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
        cr_assert_eq(register_snippet(rows[i].source, 0, &epilogue), JIT_GEMM_OK, "%s",
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

        cr_assert_eq(register_snippet(rows[i].source, 0, &epilogue), JIT_GEMM_OK, "%s",
                     jg_error_text());

        cr_expect_eq(epilogue->long_calls, rows[i].calls, "%s", rows[i].source);
        jg_epilogue_destroy(epilogue);
    }
}

Test(snippet, random_numbers_that_are_only_compared_are_known)
{
    static const struct {
        const char *source;
        bool is_random, compares;
    } rows[] = {
        {"d = uniform(1.0f) < 0.5f ? acc : 0.0f;", true, true},
        {"d = uniform ( /* ) */ 1.0f)\n  >= 0.5f ? acc : 0.0f;", true, true},
        {"d = acc * (uniform((1.0f + 2.0f)) < 0.5f);", true, true},
        {"d = uniform(1.0f) < 0.5f && uniform(2.0f) < 0.5f ? acc : 0.0f;", true, true},
        {"d = acc < 0.5f ? uniform(1.0f) : 0.0f;", true, false},
        {"d = (uniform(1.0f)) < 0.5f ? acc : 0.0f;", true, false},
        {"d = uniform(1.0f) <= 0.5f ? acc : 0.0f;", true, false},
        {"d = 1.0f - uniform(1.0f) < 0.5f ? acc : 0.0f;", true, false},
        {"d = (float)uniform(1.0f) < 0.5f ? acc : 0.0f;", true, false},
        {"d = 0.5f > uniform(1.0f) ? acc : 0.0f;", true, false},
        {"d = uniform(1.0f) < 0.5f ? acc : uniform(2.0f);", true, false},
        {"d = uniform(uniform(1.0f)) < 0.5f ? acc : 0.0f;", true, false},
        {"float u = uniform(1.0f); d = u < 0.5f ? acc : 0.0f;", true, false},
        {"d = exp(acc) < 0.5f ? acc : 0.0f;", false, true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_epilogue *epilogue = NULL;

        cr_assert_eq(register_snippet(rows[i].source, 0, &epilogue), JIT_GEMM_OK, "%s",
                     jg_error_text());

        cr_expect_eq(epilogue->is_random, rows[i].is_random, "%s", rows[i].source);
        cr_expect_eq(epilogue->compares_random, rows[i].compares, "%s", rows[i].source);
        jg_epilogue_destroy(epilogue);
    }
}

Test(snippet, one_seed_of_all_random_numbers_is_known)
{
    static const struct {
        const char *source;
        const char *seed; /* NULL: there is not one */
    } rows[] = {
        {"d = uniform(s) < 0.5f ? acc : 0.0f;", "s"},
        {"d = acc * c + uniform ( /* ( */ s );", "s"},
        {"d = uniform(s) < 0.5f ? uniform(s) : acc;", "s"},
        {"float u = uniform(s); d = u < 0.5f ? acc : c;", "s"},
        {"d = uniform(s) < 0.5f ? uniform(c) : acc;", NULL},
        {"d = uniform(s) < 0.5f ? uniform(1.0f) : acc + uniform(s);", NULL},
        {"d = acc + uniform(s + 1.0f);", NULL},
        {"d = acc + uniform(-s);", NULL},
        {"d = acc + uniform((s));", NULL},
        {"d = acc + uniform(uniform(s));", NULL},
        {"d = acc + uniform(bias);", NULL},
        {"d = acc + uniform(acc);", NULL},
        {"d = acc + s;", NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_epilogue *epilogue = NULL;

        cr_assert_eq(register_snippet(rows[i].source, 0, &epilogue), JIT_GEMM_OK, "%s",
                     jg_error_text());

        cr_expect_eq(epilogue->has_seed, rows[i].seed != NULL, "%s", rows[i].source);
        if (rows[i].seed != NULL) {
            cr_expect_str_eq(epilogue->operands[epilogue->seed].name, rows[i].seed, "%s",
                             rows[i].source);
        }
        jg_epilogue_destroy(epilogue);
    }
}

Test(snippet, random_texts_never_crash_the_scan)
{
    static const char alphabet[] = "d=acc;(){}[]\"'/*\\?<>:%#\n\r\t 0.1efR_+-bias";
    int accepted = 0;
    for (int i = 0; i < 30000; i++) {
        char text[41] = "";
        size_t size = 0;
        const size_t wanted = 1 + draw(sizeof(text) - 1);
        while (size < wanted) {
            text[size++] = alphabet[draw(sizeof(alphabet) - 1)];
        }
        struct jg_epilogue *epilogue = NULL;
        const jit_gemm_status status = register_snippet(text, size, &epilogue);
        cr_assert(status == JIT_GEMM_OK || status == JIT_GEMM_ERR_COMPILE);
        accepted += status == JIT_GEMM_OK;
        jg_epilogue_destroy(epilogue);
    }
    cr_expect_lt(accepted, 3000);
}

Test(snippet, random_tokens_never_crash_the_scan)
{
    static const char *const tokens[] = {
        "d",       "acc",   "bias",     "aux",  "r",    "x",     "P",     "=",
        "+=",      ";",     ",",        "(",    ")",    "[",     "]",     "{",
        "}",       "float", "struct",   "enum", "auto", "const", "using", "if",
        "else",    "for",   "decltype", "*",    "&",    "::",    ".",     "->",
        "++",      "1.0f",  "\"s\"",    ":",    "new",  "<",     ">",     "...",
        "typedef", "class", "sizeof",   "NAN",  "do",
    };
    enum { TOKEN_COUNT = sizeof(tokens) / sizeof(tokens[0]) };
    const int count = 60000 / test_stride(3);
    int accepted = 0;
    for (int i = 0; i < count; i++) {
        char text[512] = "";
        size_t used = 0;
        for (uint64_t left = 1 + draw(30); left > 0; left--) {
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s ",
                                     tokens[draw(TOKEN_COUNT)]);
        }
        snprintf(text + used, sizeof(text) - used, "; d = acc;");
        struct jg_epilogue *epilogue = NULL;
        const jit_gemm_status status = register_snippet(text, 0, &epilogue);
        cr_assert(status == JIT_GEMM_OK || status == JIT_GEMM_ERR_COMPILE);
        accepted += status == JIT_GEMM_OK;
        jg_epilogue_destroy(epilogue);
    }
    cr_expect(accepted > count / 600 && accepted < count / 2, "%d", accepted);
}
