/* SPDX-License-Identifier: MIT */
/* Wrong snippets through the real compiler: the message must stand at the user's line and
 * column, say what is wrong, and say what to do. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "compile/build.h"
#include "compile/snippet_hint.h"
#include "source/embedded.h"
#include "unit_maker.h"

enum { FIRST_LINE = 10 };

/* Operands: bias, r and s are inputs; aux is an output where the snippet names it. */
static const struct {
    const char *snippet;
    uint32_t line, column;
    const char *text; /* words of the message */
    const char *hint; /* words of the hint; "" if there is none */
} cases[] = {
    /* names */
    {"d = acc + bais;", 10, 11, "\"bais\" is undefined", "did you mean bias?"},
    {"d = acc + zz;", 10, 11, "\"zz\" is undefined",
     "names in scope: acc, d, row, col, "
     "batch, M, N, K, bias, r, s"},
    {"d = Acc;", 10, 5, "\"Acc\" is undefined", "did you mean acc?"},
    {"d = acc * alpha;", 10, 11, "\"alpha\" is undefined", "is already in acc"},
    {"d = acc + C;", 10, 11, "\"C\" is undefined", "declare a matrix operand"},
    {"D = acc; d = acc;", 10, 1, "\"D\" is undefined", "the result is d"},
    {"d = gleu(acc);", 10, 5, "\"gleu\" is undefined", "did you mean gelu?"},
    {"d = swish(acc);", 10, 5, "\"swish\" is undefined", "functions: abs(x)"},
    {"d = sigmod(acc) * r;", 10, 5, "\"sigmod\" is undefined", "did you mean sigmoid?"},
    {"d = acc;\nd += undefined_thing;", 11, 6, "is undefined", "names in scope"},
    {"\n\n\td = acc\n\t  * biass;", 13, 6, "\"biass\" is undefined", "did you mean bias?"},
    {"half h = acc; d = h;", 10, 1, "\"half\" is undefined", "every value is a float"},
    {"uint32_t i = row; d = i;", 10, 1, "\"uint32_t\" is undefined", "unsigned int"},
    {"d = min(acc, INFINITY);", 10, 14, "\"INFINITY\" is undefined", "1.0f / 0.0f"},
    {"d = acc * M_PI;", 10, 11, "\"M_PI\" is undefined", "3.14159265f"},
    {"d = std::max(acc, 0.0f);", 10, 10, "has no member \"max\"", "functions: abs(x)"},
    /* operands and scope names used as something else */
    {"d = acc + bias[col];", 10, 11, "pointer-to-object",
     "bias is already loaded for "
     "this element; use it without "
     "an index"},
    {"d = r[row][col];", 10, 5, "pointer-to-object", "r is already loaded"},
    {"d = acc[0];", 10, 5, "pointer-to-object", "acc is a plain number"},
    {"d = bias(col);", 10, 5, "apparent call", "without parentheses"},
    {"d = acc.x;", 10, 5, "must have class type", "without a member"},
    {"d = acc + s->value;", 10, 11, "", "s is already loaded"},
    {"d = *bias;", 10, 6, "must be a pointer", "bias is already loaded"},
    {"aux[col] = acc; d = acc; aux = d;", 10, 1, "pointer-to-object",
     "aux is this "
     "element's float"},
    {"row = 3; d = acc;", 10, 1, "modifiable lvalue", "row cannot be changed"},
    {"N++; d = acc;", 10, 1, "modifiable lvalue", "N cannot be changed"},
    {"1 = acc; d = acc;", 10, 1, "modifiable lvalue", "assign to d, to acc"},
    {"acc + 1.0f = d; d = acc;", 10, 1, "modifiable lvalue", "assign to d"},
    /* calls */
    {"d = relu(acc, bias);", 10, 15, "too many arguments", "call it as relu(x)"},
    {"d = clamp(acc, 0.0f);", 10, 20, "too few arguments",
     "call it as clamp(x, low, "
     "high)"},
    {"d = max(acc);", 10, 12, "too few arguments", "call it as max(x, y)"},
    {"d = gelu();", 10, 10, "too few arguments", "call it as gelu(x)"},
    /* punctuation */
    {"float x = acc\nd = x;", 11, 1, "expected a \";\"", "semicolon"},
    {"d = acc bias;", 10, 9, "expected a \";\"", "semicolon"},
    {"d = acc +;", 10, 10, "expected an expression", ""},
    {"d = (acc + ) * 2.0f;", 10, 12, "expected an expression", ""},
    {"d = acc > 0.0f ? acc;", 10, 21, "expected a \":\"", ""},
    {"else d = acc;", 10, 1, "expected a statement", ""},
    {"if acc > 0.0f { d = acc; }", 10, 4, "expected a \"(\"", ""},
    {"for (int i = 0; i < 3) { d = acc; }", 10, 22, "expected a \";\"", "semicolon"},
    /* types and operators */
    {"d = \"text\";", 10, 3, "cannot be assigned", "plain floats"},
    {"d = &acc;", 10, 3, "cannot be assigned", "plain floats"},
    {"float *p = acc; d = *p;", 10, 12, "cannot be used to initialize", "plain floats"},
    {"d = acc % 2;", 10, 5, "must have integral", "int(acc)"},
    {"d = acc ^ 2.0f;", 10, 5, "must have integral", "int(acc)"},
    {"d = acc & bias;", 10, 5, "must have integral", "int(acc)"},
    {"d = (float4)acc;", 10, 13, "no suitable constructor", "every value is a float"},
    {"d = 1.0 e5 * acc;", 10, 9, "expected a \";\"", "semicolon"},
    {"d = 1.5ff * acc;", 10, 5, "user-defined literal", "such as 1.0f"},
    {"d = 0x * acc;", 10, 5, "invalid hexadecimal", ""},
    {"float x = 1.0f; float x = 2.0f; d = x;", 10, 23, "already been declared",
     "another name"},
    {"float gelu = 1.0f; d = gelu(acc);", 10, 24, "apparent call", "without parentheses"},
    {"int n = row; float v[n]; d = v[0];", 10, 22, "constant value", ""},
    {"d = acc; break;", 10, 10, "break statement", ""},
    {"throw 1; d = acc;", 10, 1, "exception handling", "one element"},
    {"d = acc; case 1:;", 10, 10, "case label", ""},
    {"auto x; d = acc;", 10, 6, "", ""},
    {"d = acc /* h\xc3\xa9 */ + zz;", 10, 21, "\"zz\" is undefined", "names in scope"},
};
enum { CASE_COUNT = sizeof(cases) / sizeof(cases[0]) };

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

static void expect_case(const struct jg_builder *builder, int index)
{
    struct unit unit = unit_make_snippet(cases[index].snippet, "user.cu", FIRST_LINE);
    cr_expect_eq(compile(builder, &unit), JIT_GEMM_ERR_COMPILE, "%s compiled",
                 cases[index].snippet);
    char place[32];
    snprintf(place, sizeof(place), "%u:%u: error: ", cases[index].line,
             cases[index].column);
    cr_expect_eq(strncmp(jg_error_text(), place, strlen(place)), 0,
                 "%s\n  want %s\n  got %s", cases[index].snippet, place, jg_error_text());

    jit_gemm_diagnostics *diagnostics = NULL;
    cr_assert_eq(jg_diagnostics_take(&diagnostics), JIT_GEMM_OK);
    const jit_gemm_diagnostic *first = NULL;
    for (size_t i = 0; i < jg_diagnostics_count(diagnostics) && first == NULL; i++) {
        const jit_gemm_diagnostic *item = jg_diagnostics_at(diagnostics, i);
        first = item->severity == JIT_GEMM_SEVERITY_ERROR ? item : NULL;
    }
    cr_assert_not_null(first);
    cr_expect_eq(first->origin, JIT_GEMM_DIAGNOSTIC_SNIPPET, "%s", cases[index].snippet);
    cr_expect_str_eq(first->where, "user.cu");
    cr_expect_not_null(strstr(first->text, cases[index].text),
                       "%s\n  want text %s\n  got %s", cases[index].snippet,
                       cases[index].text, first->text);
    if (cases[index].hint[0] == '\0') {
        cr_expect_str_empty(first->hint, "%s: %s", cases[index].snippet, first->hint);
    } else {
        cr_expect_not_null(strstr(first->hint, cases[index].hint),
                           "%s\n  want hint %s\n  got %s", cases[index].snippet,
                           cases[index].hint, first->hint);
    }
    cr_expect_not_null(strstr(jg_diagnostics_log(diagnostics), "error"));
    cr_expect_null(strstr(first->text, "jg::"), "%s", first->text);
    jg_diagnostics_destroy(&diagnostics);
    unit_free(&unit);
}

Test(snippets, wrong_ones_are_reported_where_they_are_wrong)
{
    const struct jg_builder builder = {.toolchain = open_toolchain()};
    for (int i = 0; i < CASE_COUNT; i++) {
        expect_case(&builder, i);
    }
    jg_toolchain_destroy(builder.toolchain);
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
    cr_expect_eq(in_scope, listed);
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
