/* SPDX-License-Identifier: MIT */
/* What a problem allows its kernel to need, wherever the kernel comes from. The dummy
 * compiler says 168 registers, and the fake driver what a test sets. */
#include <criterion/criterion.h>
#include <string.h>

#include "api_fixture.h"

#define EXACTLY  "1024x1024x512 bf16 max_registers=168 local_memory=none"
#define TOO_FEW  "1024x1024x512 bf16 max_registers=167"
#define NO_LIMIT "1024x1024x512 bf16"

static jit_gemm_status try_create(struct api_fixture *fixture, const char *text,
                                  jit_gemm_origin *ret_origin)
{
    const jit_gemm_problem problem = api_problem(text);
    jit_gemm *gemm = NULL;
    const jit_gemm_status status = jit_gemm_create(fixture->context, &problem, &gemm);
    if (status == JIT_GEMM_OK) {
        jit_gemm_info info = {.struct_size = sizeof(info)};
        cr_assert_eq(jit_gemm_get_info(gemm, &info), JIT_GEMM_OK);
        *ret_origin = info.origin;
    }
    jit_gemm_destroy(&gemm);
    return status;
}

static jit_gemm_status try_build(struct api_fixture *fixture, const char *text,
                                 jit_gemm_emit emit)
{
    const jit_gemm_problem problem = api_problem(text);
    jit_gemm_artifact *artifact = NULL;
    const jit_gemm_status status =
        jit_gemm_build(fixture->context, &problem, emit, &artifact);
    cr_expect_eq(artifact != NULL, status == JIT_GEMM_OK);
    jit_gemm_artifact_destroy(&artifact);
    return status;
}

/* A compile, the memory and the disk, in this order: one kernel for all budgets. */
static void expect_everywhere(const char *text, jit_gemm_status expected, const char *words)
{
    struct api_fixture fixture;
    jit_gemm_origin origin = JIT_GEMM_ORIGIN_COMPILED;
    api_fixture_open(&fixture);
    fixture.fake->local_bytes = 64;

    for (int i = 0; i < 3; i++) {
        if (i == 2) {
            api_fixture_reopen(&fixture);
            fixture.fake->local_bytes = 64;
        }
        const jit_gemm_status status = try_create(&fixture, text, &origin);
        cr_expect_eq(status, expected, "%d: %s", i, jit_gemm_last_error());
        cr_expect(status == JIT_GEMM_OK || api_error_has(words), "%d", i);
        cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), i < 2);
        cr_expect_eq(try_create(&fixture, NO_LIMIT, &origin), JIT_GEMM_OK);
        cr_expect_eq(origin, JIT_GEMM_ORIGIN_MEMORY, "%d", i);
    }

    fixture.fake->local_bytes = 0;
    api_fixture_close(&fixture);
}

Test(budget, more_registers_than_allowed_are_refused_from_everywhere)
{
    expect_everywhere(TOO_FEW, JIT_GEMM_ERR_BUDGET,
                      "has 168 registers a thread, 167 are allowed; raise it, choose a");
}

Test(budget, as_many_registers_as_allowed_are_taken_from_everywhere)
{
    expect_everywhere("1024x1024x512 bf16 max_registers=168", JIT_GEMM_OK, "");
}

Test(budget, local_memory_is_refused_from_everywhere)
{
    expect_everywhere("1024x1024x512 bf16 local_memory=none", JIT_GEMM_ERR_BUDGET,
                      "problem.no_local_memory: ");
}

Test(budget, both_excesses_are_told_with_field_number_and_remedy)
{
    struct api_fixture fixture;
    jit_gemm_origin origin;
    jit_gemm_diagnostics *diagnostics = NULL;
    jit_gemm_diagnostic first = {.struct_size = sizeof(first)};
    jit_gemm_diagnostic second = {.struct_size = sizeof(second)};
    api_fixture_open(&fixture);
    fixture.fake->local_bytes = 64;

    cr_expect_eq(try_create(&fixture, TOO_FEW " local_memory=none", &origin),
                 JIT_GEMM_ERR_BUDGET);
    cr_assert_eq(jit_gemm_diagnostics_take(&diagnostics), JIT_GEMM_OK);
    cr_assert_eq(jit_gemm_diagnostics_count(diagnostics), 2);
    cr_assert_eq(jit_gemm_diagnostics_get(diagnostics, 0, &first), JIT_GEMM_OK);
    cr_assert_eq(jit_gemm_diagnostics_get(diagnostics, 1, &second), JIT_GEMM_OK);

    cr_expect_str_eq(first.where, "problem.register_limit");
    cr_expect_str_eq(second.where, "problem.no_local_memory");
    cr_expect_not_null(strstr(second.text, "has 64 bytes of local memory a thread, none"));
    cr_expect_not_null(strstr(second.hint, "choose a smaller tile"));
    jit_gemm_diagnostics_destroy(&diagnostics);
    fixture.fake->local_bytes = 0;
    api_fixture_close(&fixture);
}

Test(budget, build_compares_what_the_compiler_said_and_what_the_disk_keeps)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);

    for (int i = 0; i < 2; i++) { /* compiled, then from the disk */
        cr_expect_eq(try_build(&fixture, TOO_FEW, JIT_GEMM_EMIT_CUBIN),
                     JIT_GEMM_ERR_BUDGET);
        cr_expect(api_error_has("168 registers a thread, 167 are allowed"));
        cr_expect_eq(try_build(&fixture, EXACTLY, JIT_GEMM_EMIT_CUBIN), JIT_GEMM_OK);
    }

    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 1);
    api_fixture_close(&fixture);
}

Test(budget, what_is_no_machine_code_is_refused_before_any_work)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    jit_gemm_origin origin;
    struct fake_driver *emulator = api_fixture_driver_at(JG_FAKE_EMULATOR);
    options.driver = JG_FAKE_EMULATOR;
    options.arch = "sm_90a";
    api_fixture_open_with(&fixture, &options, 0);
    const long loads = atomic_load(&emulator->loads);

    cr_expect_eq(try_create(&fixture, EXACTLY, &origin), JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect(api_error_has("problem.register_limit: what is made is not machine code"));
    cr_expect_eq(try_create(&fixture, "256x256x256 bf16 local_memory=none", &origin),
                 JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect(api_error_has("problem.no_local_memory: "));
    cr_expect(api_error_has("leave it zero here"));
    cr_expect_eq(try_build(&fixture, EXACTLY, JIT_GEMM_EMIT_PTX), JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect_eq(try_build(&fixture, EXACTLY, JIT_GEMM_EMIT_SOURCE),
                 JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 0);
    cr_expect_eq(try_create(&fixture, NO_LIMIT, &origin), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());

    cr_expect_eq(atomic_load(&emulator->loads), loads + 1);
    api_fixture_close(&fixture);
}

static const char manifest[] = "jit_gemm manifest 1\n"
                               "problem " TOO_FEW "\n"
                               "problem " EXACTLY "\n";

Test(budget, prewarm_counts_a_kernel_over_its_budget_as_failed_and_keeps_it)
{
    struct api_fixture fixture;
    jit_gemm_prewarm_options options = {.struct_size = sizeof(options), .jobs = 1};
    jit_gemm_prewarm_result result = {.struct_size = sizeof(result)};
    api_fixture_open(&fixture);

    cr_expect_eq(
        jit_gemm_prewarm(fixture.context, manifest, strlen(manifest), &options, &result),
        JIT_GEMM_ERR_BUDGET);

    cr_expect(api_error_has("167 are allowed"));
    cr_expect_eq(result.failed, 1);
    cr_expect_eq(result.cached, 1); /* the second finds what the first has made */
    options.ptx = 1;
    cr_expect_eq(
        jit_gemm_prewarm(fixture.context, manifest, strlen(manifest), &options, &result),
        JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect_eq(result.failed, 2);
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 1);
    api_fixture_close(&fixture);
}

Test(budget, fields_out_of_range_are_named)
{
    jit_gemm_problem problem = api_problem(NO_LIMIT);
    char text[256];
    problem.register_limit = 256;

    cr_expect_eq(jit_gemm_problem_print(&problem, text, sizeof(text), NULL),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("problem.register_limit: must be 0 to 255, is 256"));
}
