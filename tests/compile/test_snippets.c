/* SPDX-License-Identifier: MIT */
/* Snippets through the real compiler: hints, order of errors, and what compiles. Wrong ones
 * are in test_wrong_snippets.c. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "compile/build.h"
#include "compile/snippet_hint.h"
#include "source/embedded.h"
#include "unit_maker.h"

static struct jg_toolchain *open_toolchain(void)
{
    struct jg_toolchain *toolchain = NULL;
    struct jg_compiler *compiler = NULL;
    cr_assert_eq(jg_toolchain_create(NULL, &toolchain), JIT_GEMM_OK);
    if (jg_toolchain_compiler(toolchain, NULL, NULL, &compiler) != JIT_GEMM_OK) {
        cr_skip_test("NVRTC is needed: %s", jg_error_text());
    }
    return toolchain;
}

static jit_gemm_status compile(const struct jg_builder *builder, const struct unit *unit)
{
    struct jg_binary binary = {0};
    const struct jg_build_unit wanted = {&unit->source, unit->arch, unit->epilogue,
                                         jg_str_text(&unit->problem_text)};
    const jit_gemm_status status = jg_build(builder, &wanted, &binary, NULL);
    jg_binary_free(&binary);
    return status;
}

/* The list in the hint and the names that the device code brings into scope are the same.
 */
Test(snippets, hint_lists_exactly_the_functions_in_scope)
{
    struct unit unit = unit_make_snippet("d = acc;", NULL, 0);
    struct jg_str hint = {0};
    jg_snippet_hint(unit.epilogue, "identifier \"zzzzzzzz\" is undefined", "zzzzzzzz(acc)",
                    &hint);
    int listed = 0;
    for (const char *at = jg_str_text(&hint); (at = strchr(at, '(')) != NULL; at++) {
        listed++;
    }

    int in_scope = 0;
    for (size_t i = 0; i < jg_embedded_file_count; i++) {
        static const char word[] = "using jg::prelude::";
        for (const char *at = jg_embedded_files[i].text; (at = strstr(at, word)) != NULL;) {
            at += strlen(word);
            char call[72];
            snprintf(call, sizeof(call), " %.*s(", (int)strcspn(at, ";"), at);
            cr_expect_not_null(strstr(jg_str_text(&hint), call), "%s is not in: %s", call,
                               jg_str_text(&hint));
            in_scope++;
        }
    }

    cr_expect_gt(in_scope, 0);
    cr_expect_not_null(strstr(jg_str_text(&hint), " uniform("));
    cr_expect_eq(in_scope + 1, listed, "uniform is an object there");
    jg_str_free(&hint);
    unit_free(&unit);
}

Test(snippets, several_errors_come_in_order)
{
    const struct jg_builder builder = {.toolchain = open_toolchain()};
    struct unit unit = unit_make_snippet("d = one;\nd = two;\nd = three;", "user.cu", 10);

    cr_assert_eq(compile(&builder, &unit), JIT_GEMM_ERR_COMPILE);

    jit_gemm_diagnostics *diagnostics = NULL;
    cr_assert_eq(jg_diagnostics_take(&diagnostics), JIT_GEMM_OK);
    cr_assert_eq(jg_diagnostics_count(diagnostics), 3);
    for (uint32_t i = 0; i < 3; i++) {
        cr_expect_eq(jg_diagnostics_at(diagnostics, i)->line, 10 + i);
        cr_expect_eq(jg_diagnostics_at(diagnostics, i)->column, 5);
    }
    jg_diagnostics_destroy(&diagnostics);
    unit_free(&unit);
    jg_toolchain_destroy(builder.toolchain);
}

Test(snippets, the_structured_kernel_reports_alike)
{
    const struct jg_builder builder = {.toolchain = open_toolchain()};
    const struct unit_request request = {.problem = "256x256x64 bf16",
                                         .snippet = "d = acc\n  + bias[col];",
                                         .operands = "bias:row_vector:bf16",
                                         .source_name = "odd \"name\" (3).cu",
                                         .first_line = 7};
    struct unit unit = unit_make(&request);

    cr_assert_eq(compile(&builder, &unit), JIT_GEMM_ERR_COMPILE);

    cr_expect_eq(strncmp(jg_error_text(), "8:5: error: ", 12), 0, "%s", jg_error_text());
    unit_free(&unit);
    jg_toolchain_destroy(builder.toolchain);
}

Test(snippets, good_ones_compile)
{
    static const char *const good[] = {
        "d = gelu(acc * s + bias) + r;",
        "float x = acc + bias; d = x > 0.0f ? x : 0.1f * x;",
        "acc = relu(acc); acc *= 2.0f; d = acc;",
        "d = row < M && col < N && K > 0 && batch == 0 ? acc : 0.0f;",
        "aux = acc; d = clamp(acc, -1.0f, 1.0f);",
        "for (int i = 0; i < 3; ++i) { acc = tanh(acc); }\nd = fma(acc, s, bias);",
        "d = max(0, acc) + min(1, bias) + abs(r) + sqrt(exp(log(rsqrt(s))));",
        "d = silu(acc) * sigmoid(bias) + gelu_tanh(r); // the end",
        "d = acc != acc ? NAN : min(acc, INFINITY);",
        "const float low = -INFINITY; d = max(low, acc);",
        "struct P { float d, acc, bias; }; P p = {acc, bias, s}; d = p.d + p.acc + p.bias;",
        "aux = acc, d = aux * 2.0f; aux2 = d;",
        "if (acc > 0.0f) { aux = acc; } else { aux = 0.0f; } d = aux;",
        "float x(acc), y = float(s), z{bias}; d = x + y + z;",
        "auto store = [&](float x) { d = x; }; store(acc);",
        "for (int i = 0, j = 3; i < 3 && i < j; ++i, --j) { d = acc * (float)i; }",
    };
    const struct jg_builder builder = {.toolchain = open_toolchain()};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct unit unit = unit_make_snippet(good[i], NULL, 0);
        cr_expect_eq(compile(&builder, &unit), JIT_GEMM_OK, "%s: %s", good[i],
                     jg_error_text());
        unit_free(&unit);
    }
    jg_toolchain_destroy(builder.toolchain);
}
