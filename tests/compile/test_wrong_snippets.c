/* SPDX-License-Identifier: MIT */
/* Wrong snippets that the compiler refuses: the words and the place that the table says
 * from the snippet compiled by itself, and of every third the same ones from a whole
 * kernel. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "compile/build.h"
#include "compile/snippet_check.h"
#include "epilogue_maker.h"
#include "strides.h"
#include "unit_maker.h"
#include "wrong_snippets.h"

struct compilers {
    struct jg_builder builder;
    struct jg_compiler *compiler;
};

static const struct jg_snippet_check without_limit = {.arch = "sm_90a"};

static struct compilers open_compilers(void)
{
    struct compilers own = {.builder = {.code_kind = JG_CODE_PTX}};
    cr_assert_eq(jg_toolchain_create(NULL, &own.builder.toolchain), JIT_GEMM_OK);
    if (jg_toolchain_compiler(own.builder.toolchain, NULL, NULL, &own.compiler) !=
        JIT_GEMM_OK) {
        cr_skip_test("NVRTC is needed: %s", jg_error_text());
    }
    return own;
}

static jit_gemm_status compile_kernel(const struct jg_builder *builder,
                                      struct jg_epilogue *epilogue, const char *problem,
                                      const char *arch)
{
    struct unit unit = unit_make_registered(problem, arch, epilogue);
    const struct jg_build_unit wanted = {&unit.source, unit.arch, epilogue,
                                         jg_str_text(&unit.problem_text)};
    struct jg_binary binary = {0};
    const jit_gemm_status status = jg_build(builder, &wanted, &binary, NULL);
    jg_binary_free(&binary);
    unit.epilogue = NULL; /* the caller's */
    unit_free(&unit);
    return status;
}

static void expect_refused(void *user, const struct wrong_snippet *row)
{
    const struct compilers *own = user;
    struct jg_epilogue *epilogue = NULL;
    cr_assert_eq(wrong_snippet_make(row, &epilogue), JIT_GEMM_OK, "row %u: %s", row->row,
                 jg_error_text());

    cr_expect_eq(jg_snippet_compile(own->compiler, epilogue, &without_limit),
                 JIT_GEMM_ERR_COMPILE, "row %u compiled: %.60s", row->row, row->text);
    char alone[1024];
    snprintf(alone, sizeof(alone), "%s", jg_error_text());
    wrong_snippet_expect(row);
    if (row->row % (unsigned)test_stride(5) != 0) {
        jg_epilogue_destroy(epilogue);
        return;
    }

    cr_expect_eq(compile_kernel(&own->builder, epilogue,
                                "64x64x64 bf16 config=kernel=reference", "sm_90a"),
                 JIT_GEMM_ERR_COMPILE);
    cr_expect_eq(strncmp(jg_error_text(), alone, sizeof(alone) - 1), 0,
                 "row %u: alone:  %s\n  in a kernel: %s", row->row, alone, jg_error_text());
    jg_epilogue_destroy(epilogue);
}

Test(wrong_snippets, the_compiler_names_line_column_and_remedy)
{
    struct compilers own = open_compilers();

    cr_expect_geq(wrong_snippets_walk(WRONG_BY_COMPILER, expect_refused, &own), 200);

    jg_toolchain_destroy(own.builder.toolchain);
}

/* Names of the headers, of the unit, of CUDA and of other languages, as operands. */
Test(operand_names, every_legal_one_compiles)
{
    static const char *const groups[] = {
        "X Y J x params Config Epilogue snippet index name Kind type operand coord reader i",
        "bf16 f16 f32 u32 e4m3 ScalarInput RowVectorInput MatrixOutput Vector Fragment "
        "Element Argument shape scalar value values",
        "std float4 size_t printf expf sinf cudaStream_t final override concept requires "
        "main linux unix blockSize laneid",
        "D A B C alpha beta a b c m n k acc_ d_ row_ _x",
        "load store count base kLoads kN prelude ptx tile smem tensor_map half int8 self "
        "None lambda",
    };
    static const char *const problems[][2] = {
        {"64x64x64 bf16 config=kernel=reference", "sm_90a"},
        {"256x256x64 bf16", "sm_90a"},
        {"256x256x64 bf16", "sm_100a"},
    };
    const struct compilers own = open_compilers();
    for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++) {
        char operands[1024] = "";
        char snippet[512] = "d = acc";
        char names[512];
        snprintf(names, sizeof(names), "%s", groups[g]);
        char *rest = NULL;
        for (char *word = strtok_r(names, " ", &rest); word != NULL;
             word = strtok_r(NULL, " ", &rest)) {
            const size_t used = strlen(operands);
            snprintf(operands + used, sizeof(operands) - used, "%s%s:scalar:f32",
                     used > 0 ? " " : "", word);
            const size_t length = strlen(snippet);
            snprintf(snippet + length, sizeof(snippet) - length, " + %s", word);
        }
        strncat(snippet, ";", sizeof(snippet) - strlen(snippet) - 1);
        const struct epilogue_request request = {.snippet = snippet, .operands = operands};
        struct jg_epilogue *epilogue = NULL;
        cr_assert_eq(epilogue_make(&request, &epilogue), JIT_GEMM_OK, "%s: %s", snippet,
                     jg_error_text());

        cr_expect_eq(jg_snippet_compile(own.compiler, epilogue, &without_limit),
                     JIT_GEMM_OK, "%s: %s", snippet, jg_error_text());
        for (size_t p = 0; p < sizeof(problems) / sizeof(problems[0]); p++) {
            cr_expect_eq(
                compile_kernel(&own.builder, epilogue, problems[p][0], problems[p][1]),
                JIT_GEMM_OK, "%s: %s", snippet, jg_error_text());
        }
        jg_epilogue_destroy(epilogue);
    }
    jg_toolchain_destroy(own.builder.toolchain);
}

/* Every compile takes more than a millisecond. */
Test(compile_limit, a_compile_that_takes_too_long_is_ended)
{
    struct compilers own = open_compilers();
    own.builder.compile_limit_ms = 1;
    const struct epilogue_request request = {
        .snippet = "d = gelu(acc);", .source_name = "user.cu", .first_line = 7};
    struct jg_epilogue *epilogue = NULL;
    cr_assert_eq(epilogue_make(&request, &epilogue), JIT_GEMM_OK);

    cr_expect_eq(compile_kernel(&own.builder, epilogue, "256x256x64 bf16", "sm_90a"),
                 JIT_GEMM_ERR_COMPILE);

    cr_expect_str_eq(jg_error_text(),
                     "7:1: error: the compiler was stopped: it had taken its 1 ms; shorten "
                     "the snippet, or raise options.compile_limit_ms (--compile-limit)");
    const struct jg_snippet_check one_ms = {.arch = "sm_90a", .limit_ms = 1};
    cr_expect_eq(jg_snippet_compile(own.compiler, epilogue, &one_ms), JIT_GEMM_ERR_COMPILE);
    cr_expect_eq(jg_snippet_compile(own.compiler, epilogue, &without_limit), JIT_GEMM_OK,
                 "%s", jg_error_text());
    jg_epilogue_destroy(epilogue);
    cr_expect_eq(compile_kernel(&own.builder, NULL, "256x256x64 bf16", "sm_90a"),
                 JIT_GEMM_ERR_COMPILE);
    cr_expect_str_eq(jg_error_text(),
                     "compiler: the compiler was stopped: it had taken its 1 ms; raise "
                     "options.compile_limit_ms (--compile-limit)");
    jg_toolchain_destroy(own.builder.toolchain);
}

/* The compiler itself is asked to stop at its first look; a build would not have begun. */
Test(compile_limit, a_compile_that_is_cancelled_is_ended)
{
    struct compilers own = open_compilers();
    const struct epilogue_request request = {.snippet = "d = gelu(acc);"};
    struct jg_epilogue *epilogue = NULL;
    atomic_uint requests;
    cr_assert_eq(epilogue_make(&request, &epilogue), JIT_GEMM_OK);
    atomic_init(&requests, 1);
    struct jg_snippet_check check = {.arch = "sm_90a", .stop = {.requests = &requests}};

    cr_expect_eq(jg_snippet_compile(own.compiler, epilogue, &check),
                 JIT_GEMM_ERR_CANCELLED);
    cr_expect_not_null(strstr(jg_error_text(), "context: jit_gemm_cancel was called"));
    check.stop.seen = 1;
    cr_expect_eq(jg_snippet_compile(own.compiler, epilogue, &check), JIT_GEMM_OK, "%s",
                 jg_error_text());

    jg_epilogue_destroy(epilogue);
    jg_toolchain_destroy(own.builder.toolchain);
}

/* What the scan cannot know: the alias of a function's type. */
Test(bodiless_functions, are_found_by_assembler_and_in_ptx)
{
    struct compilers own = open_compilers();
    const struct epilogue_request request = {
        .snippet = "using F = float(float);\nF missing;\nd = missing(acc);"};
    struct jg_epilogue *epilogue = NULL;
    cr_assert_eq(epilogue_make(&request, &epilogue), JIT_GEMM_OK, "%s", jg_error_text());
    for (int kind = JG_CODE_CUBIN; kind <= JG_CODE_PTX; kind++) {
        own.builder.code_kind = (enum jg_code_kind)kind;

        cr_expect_eq(compile_kernel(&own.builder, epilogue,
                                    "64x64x64 bf16 config=kernel=reference", "sm_90a"),
                     JIT_GEMM_ERR_COMPILE);

        cr_expect_str_eq(jg_error_text(),
                         "2:3: error: 'missing' is a function that is declared and has no "
                         "body; write the formula where it is used, or call a function of "
                         "the prelude");
    }
    jg_epilogue_destroy(epilogue);
    jg_toolchain_destroy(own.builder.toolchain);
}
