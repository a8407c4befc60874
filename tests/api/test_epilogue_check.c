/* SPDX-License-Identifier: MIT */
/* An epilogue checked by itself: how far the check goes, and what it leaves alone. */
#include <criterion/criterion.h>
#include <stdbool.h>
#include <string.h>

#include "api_fixture.h"
#include "base/alloc.h"

static jit_gemm_epilogue make_epilogue(const char *source)
{
    return (jit_gemm_epilogue){
        .struct_size = sizeof(jit_gemm_epilogue), .name = "e", .source = source};
}

Test(epilogue_check, compiler_is_asked_where_there_is_one)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_epilogue epilogue = make_epilogue("d = relu(acc);");
    jit_gemm_epilogue_depth depth = 0;

    cr_expect_eq(jit_gemm_epilogue_check(fixture.context, &epilogue, &depth), JIT_GEMM_OK);

    cr_expect_eq(depth, JIT_GEMM_EPILOGUE_COMPILED);
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 1);
    cr_expect_eq(jit_gemm_epilogue_check(fixture.context, &epilogue, NULL), JIT_GEMM_OK);
    jit_gemm_stats stats = {.struct_size = sizeof(stats)};
    cr_expect_eq(jit_gemm_context_stats(fixture.context, &stats), JIT_GEMM_OK);
    cr_expect_eq(stats.compiles, 0, "no kernel was compiled");
    api_fixture_close(&fixture);
}

Test(epilogue_check, nothing_is_registered)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm_epilogue epilogue = make_epilogue("d = relu(acc);");
    cr_expect_eq(jit_gemm_epilogue_check(fixture.context, &epilogue, NULL), JIT_GEMM_OK);

    epilogue.source = "d = acc * 2.0f;";

    cr_expect_eq(jit_gemm_epilogue_register(fixture.context, &epilogue), JIT_GEMM_OK);
    epilogue.source = "d = acc * 3.0f;";
    cr_expect_eq(jit_gemm_epilogue_check(fixture.context, &epilogue, NULL), JIT_GEMM_OK,
                 "the name may be taken");
    api_fixture_close(&fixture);
}

Test(epilogue_check, scan_is_all_without_a_context_or_a_permission)
{
    const jit_gemm_epilogue unknown = make_epilogue("d = DUMMY_ERROR;");
    jit_gemm_epilogue_depth depth = 0;
    cr_expect_eq(jit_gemm_epilogue_check(NULL, &unknown, &depth), JIT_GEMM_OK);
    cr_expect_eq(depth, JIT_GEMM_EPILOGUE_SCANNED);
    cr_expect_eq(jit_gemm_epilogue_check(NULL, &unknown, NULL), JIT_GEMM_OK);

    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm_context_destroy(&fixture.context);
    jit_gemm_context_options options = api_fixture_options(&fixture);
    options.policy = JIT_GEMM_POLICY_FORBID;
    api_fixture_open_with(&fixture, &options, 0);
    depth = 0;
    cr_expect_eq(jit_gemm_epilogue_check(fixture.context, &unknown, &depth), JIT_GEMM_OK);
    cr_expect_eq(depth, JIT_GEMM_EPILOGUE_SCANNED);
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 0);
    api_fixture_close(&fixture);
}

Test(epilogue_check, mistakes_are_named_and_nothing_is_returned)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_operand operand = {.name = "NULL", .dtype = JIT_GEMM_DTYPE_F32};
    jit_gemm_epilogue newer = make_epilogue("d = acc;");
    newer.struct_size = 0;
    jit_gemm_epilogue macro = make_epilogue("d = acc * NULL;");
    macro.operands = &operand;
    macro.operand_count = 1;
    const jit_gemm_epilogue hidden = make_epilogue("float d = acc;");
    const jit_gemm_epilogue unknown = make_epilogue("d = DUMMY_ERROR;");
    const struct {
        const jit_gemm_epilogue *epilogue;
        jit_gemm_status status;
        const char *words;
    } rows[] = {
        {NULL, JIT_GEMM_ERR_ARGUMENT, "epilogue: is NULL"},
        {&newer, JIT_GEMM_ERR_ARGUMENT, "epilogue.struct_size: is 0"},
        {&macro, JIT_GEMM_ERR_ARGUMENT, "operands[0].name: 'NULL' is a macro of CUDA"},
        {&hidden, JIT_GEMM_ERR_COMPILE, "1:7: error: a variable 'd' would hide"},
        {&unknown, JIT_GEMM_ERR_COMPILE, "1:1: error: identifier \"DUMMY_ERROR\""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        jit_gemm_epilogue_depth depth = 77;

        cr_expect_eq(jit_gemm_epilogue_check(fixture.context, rows[i].epilogue, &depth),
                     rows[i].status, "row %zu", i);

        cr_expect(api_error_has(rows[i].words), "row %zu: %s", i, jit_gemm_last_error());
        cr_expect_eq(depth, 77, "row %zu", i);
    }
    api_fixture_close(&fixture);
}

Test(epilogue_check, every_failing_allocation_is_survived)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_epilogue epilogue = make_epilogue("d = relu(acc);");
    jit_gemm_status status = JIT_GEMM_ERR_NO_MEMORY;
    long number = 0;
    while (status != JIT_GEMM_OK && number++ < 1000) {
        jg_alloc_fail_at(number, 0);
        status = jit_gemm_epilogue_check(fixture.context, &epilogue, NULL);
        jg_alloc_fail_at(0, 0);
        cr_expect(status == JIT_GEMM_OK || status == JIT_GEMM_ERR_NO_MEMORY,
                  "allocation %ld: %s", number, jit_gemm_last_error());
    }
    cr_expect_eq(status, JIT_GEMM_OK);
    cr_expect_gt(number, 3);
    api_fixture_close(&fixture);
}

/* The compiler is there, and fails at every text: a check that could not look for it may
 * not say that the scan was all. */
Test(epilogue_check, want_of_memory_is_no_want_of_a_compiler)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    options.nvrtc = JG_FAKE_NVRTC_BROKEN;
    const jit_gemm_epilogue epilogue = make_epilogue("d = relu(acc);");
    bool is_finished = false;
    int failures = 0;
    for (long number = 1; !is_finished && number < 1000; number++) {
        cr_assert_eq(jit_gemm_context_create(&options, &fixture.context), JIT_GEMM_OK);
        const long before = jg_alloc_count();
        jg_alloc_fail_at(number, 0);
        const jit_gemm_status status =
            jit_gemm_epilogue_check(fixture.context, &epilogue, NULL);
        is_finished = jg_alloc_count() - before < number;
        jg_alloc_fail_at(0, 0);
        failures += status == JIT_GEMM_ERR_NO_MEMORY;
        cr_expect(status == JIT_GEMM_ERR_INTERNAL ||
                      (status == JIT_GEMM_ERR_NO_MEMORY && !is_finished),
                  "allocation %ld: %d", number, (int)status);
        jit_gemm_context_destroy(&fixture.context);
    }
    cr_expect(is_finished);
    cr_expect_gt(failures, 10);
    api_fixture_close(&fixture);
}

/* Its kernel is not compiled here, nor is anything else. */
Test(epilogue_check, compiled_functions_are_scanned)
{
    static const char ptx[] =
        ".version 7.0\n.target sm_80\n.address_size 64\n"
        ".visible .func (.param .b32 r) keep(.param .b32 a, .param .b32 b, .param .b32 c,"
        " .param .b32 e)\n{\n  .reg .f32 %f<2>;\n  ld.param.f32 %f1, [a];\n"
        "  st.param.f32 [r], %f1;\n  ret;\n}\n";
    jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                  .name = "keep",
                                  .code = ptx,
                                  .code_size = sizeof(ptx) - 1,
                                  .symbol = "keep"};
    jit_gemm_epilogue_depth depth = JIT_GEMM_EPILOGUE_COMPILED;
    cr_expect_eq(jit_gemm_epilogue_check(NULL, &epilogue, &depth), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    cr_expect_eq(depth, JIT_GEMM_EPILOGUE_SCANNED);
    epilogue.symbol = "missing";
    cr_expect_eq(jit_gemm_epilogue_check(NULL, &epilogue, &depth), JIT_GEMM_ERR_ARGUMENT);
}
