/* SPDX-License-Identifier: MIT */
/* A prewarm: what it builds, resumed, cancelled, estimated, ended by a deadline. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/thread.h"
#include "prewarm_fixture.h"

static const char two_problems[] = "jit_gemm manifest 1\n"
                                   "# a comment\n"
                                   "\n"
                                   "epilogue scaled\n"
                                   "operand s scalar f32\n"
                                   "operand aux matrix bf16 out\n"
                                   "source 29 7 my file.epi\n"
                                   "aux = acc * s;\n"
                                   "d = aux + acc;"
                                   "\n"
                                   "end\n"
                                   "problem m=512 n=512 k=512 a=bf16 epilogue=scaled\n"
                                   "problem 256x256x256 f16\n";

Test(prewarm, a_kernel_that_must_be_cached_is_not_compiled)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_prewarm_options verify = {.struct_size = sizeof(verify),
                                             .jobs = 1, /* the first one fails first */
                                             .require_cached = 1};
    jit_gemm_prewarm_result result =
        prewarm(&fixture, two_problems, &verify, JIT_GEMM_ERR_NOT_CACHED);
    cr_expect_eq(result.total, 2);
    cr_expect_eq(result.failed, 2);
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 0);
    cr_expect(api_error_has("epilogue=scaled"), "%s", jit_gemm_last_error());
    cr_expect_not_null(strstr(fixture.log, "the kernel of \"m=256 n=256 k=256 a=f16\""));

    (void)prewarm(&fixture, two_problems, NULL, JIT_GEMM_OK);

    result = prewarm(&fixture, two_problems, &verify, JIT_GEMM_OK);
    cr_expect_eq(result.cached, 2);
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 2);
    api_fixture_close(&fixture);
}

Test(prewarm, jobs_compile_a_kernel_once)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    struct jg_str text = {0};
    jg_str_puts(&text, "jit_gemm manifest 1\n");
    for (int i = 0; i < 16; i++) {
        jg_str_printf(&text,
                      "problem m=%d n=512 k=512 a=bf16 dynamic=m config=tile=128x128 "
                      "raster=m raster_group=1 split_k=1 cluster=1x1\n",
                      1 << (i % 4 + 1));
    }
    const jit_gemm_prewarm_options options = {.struct_size = sizeof(options), .jobs = 4};
    const jit_gemm_prewarm_result result =
        prewarm(&fixture, jg_str_text(&text), &options, JIT_GEMM_OK);
    cr_expect_eq(result.total, 16);
    cr_expect_eq(result.compiled, 1);
    cr_expect_eq(result.cached, 15);
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 1);
    jg_str_free(&text);
    api_fixture_close(&fixture);
}

Test(prewarm, fills_the_cache_and_resumes)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    options.no_device = 1;
    options.arch = "sm_90a";
    api_fixture_open_with(&fixture, &options, 0);

    const jit_gemm_prewarm_result first =
        prewarm(&fixture, two_problems, NULL, JIT_GEMM_OK);
    const jit_gemm_prewarm_result second =
        prewarm(&fixture, two_problems, NULL, JIT_GEMM_OK);

    cr_expect_eq(first.total, 2);
    cr_expect_eq(first.compiled, 2);
    cr_expect_eq(first.cached, 0);
    cr_expect_eq(second.cached, 2);
    cr_expect_eq(second.compiled, 0);
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 2);
    api_fixture_close(&fixture);
}

struct progress {
    size_t calls, stop_after, last_done, total;
};

static int count_progress(void *user, size_t done, size_t total, const char *problem)
{
    struct progress *progress = user;
    progress->calls++;
    progress->last_done = done;
    progress->total = total;
    return strstr(problem, "m=") == NULL || progress->calls == progress->stop_after;
}

Test(prewarm, cancel_keeps_what_was_built)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    struct jg_str text = {0};
    jg_str_puts(&text, "jit_gemm manifest 1\n");
    for (int i = 1; i <= 10; i++) {
        jg_str_printf(&text, "problem %dx256x256 bf16\n", i * 64);
    }
    struct progress progress = {.stop_after = 3};
    const jit_gemm_prewarm_options options = {.struct_size = sizeof(options),
                                              .jobs = 1,
                                              .progress = count_progress,
                                              .progress_user = &progress};

    const jit_gemm_prewarm_result stopped =
        prewarm(&fixture, jg_str_text(&text), &options, JIT_GEMM_ERR_CANCELLED);
    cr_expect(api_error_has("3 of 10 builds"));
    progress.stop_after = 0;
    const jit_gemm_prewarm_result finished =
        prewarm(&fixture, jg_str_text(&text), &options, JIT_GEMM_OK);

    cr_expect_eq(stopped.compiled, 3);
    cr_expect_eq(finished.cached, 3);
    cr_expect_eq(finished.compiled, 7);
    cr_expect_eq(progress.last_done, 10);
    cr_expect_eq(progress.total, 10);
    jg_str_free(&text);
    api_fixture_close(&fixture);
}

Test(prewarm, failure_is_counted_and_the_rest_is_built)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    static const char text[] = "jit_gemm manifest 1\n"
                               "epilogue bad\n"
                               "source 16 1 bad.epi\n"
                               "d = DUMMY_ERROR;\n"
                               "end\n"
                               "problem 512x512x512 bf16 epilogue=bad\n"
                               "problem 256x256x256 bf16\n";
    const jit_gemm_prewarm_options options = {.struct_size = sizeof(options), .jobs = 2};

    const jit_gemm_prewarm_result result =
        prewarm(&fixture, text, &options, JIT_GEMM_ERR_COMPILE);

    cr_expect(api_error_has("DUMMY_ERROR"));
    cr_expect_eq(result.failed, 1);
    cr_expect_eq(result.compiled, 1);
    api_fixture_close(&fixture);
}

Test(prewarm, needs_a_cache_and_known_architectures)
{
    struct api_fixture fixture;
    jit_gemm_context_options context_options = api_fixture_options(&fixture);
    context_options.no_cache = 1;
    api_fixture_open_with(&fixture, &context_options, 0);
    (void)prewarm(&fixture, two_problems, NULL, JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("no_cache"));
    jit_gemm_context_destroy(&fixture.context);
    context_options.no_cache = 0;
    context_options.cache_dir = "/proc/jit_gemm_cannot_be_made";
    api_fixture_open_with(&fixture, &context_options, 0);
    (void)prewarm(&fixture, two_problems, NULL, JIT_GEMM_ERR_IO);
    api_fixture_reopen(&fixture);
    const char *const archs[] = {"sm_90a", "sm_1"};
    const jit_gemm_prewarm_options options = {
        .struct_size = sizeof(options), .archs = archs, .arch_count = 2};

    (void)prewarm(&fixture, two_problems, &options, JIT_GEMM_ERR_UNSUPPORTED);

    cr_expect(api_error_has("'sm_1'"));
    api_fixture_close(&fixture);
}

Test(prewarm, an_estimate_counts_each_missing_kernel_once_and_builds_none)
{
    static const char three[] = "jit_gemm manifest 1\n"
                                "problem 256x256x256 f16\n"
                                "problem m=256 n=256 k=256 a=f16\n"
                                "problem 512x512x512 f16\n"
                                "pack bytes=1 from=row to=128x4\n";
    static const char one[] = "jit_gemm manifest 1\nproblem 512x512x512 f16\n";
    const jit_gemm_prewarm_options estimate = {
        .struct_size = sizeof(estimate), .jobs = 2, .only_estimate = 1};
    struct api_fixture fixture;
    api_fixture_open(&fixture);

    const jit_gemm_prewarm_result none = prewarm(&fixture, three, &estimate, JIT_GEMM_OK);
    cr_expect_eq(none.total, 4);
    cr_expect_eq(none.cached, 0);
    cr_expect_eq(none.missing, 3, "%zu", none.missing);
    cr_expect_eq(none.jobs, 2);
    cr_expect_float_eq(none.estimated_seconds, 1.4, 1e-9); /* two rounds of 0.7 s */
    cr_expect_eq(none.estimated_bytes, 3 * 65536);
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 0);

    (void)prewarm(&fixture, one, NULL, JIT_GEMM_OK);
    const jit_gemm_prewarm_result some = prewarm(&fixture, three, &estimate, JIT_GEMM_OK);
    cr_expect_eq(some.cached, 1);
    cr_expect_eq(some.missing, 2);

    (void)prewarm(&fixture, three, NULL, JIT_GEMM_OK);
    const jit_gemm_prewarm_result all = prewarm(&fixture, three, &estimate, JIT_GEMM_OK);
    cr_expect_eq(all.cached, 4);
    cr_expect_eq(all.missing, 0);
    cr_expect_eq(all.estimated_bytes, 0);
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 3);
    api_fixture_close(&fixture);
}

Test(prewarm, an_estimate_names_what_could_not_be_built)
{
    static const char wrong[] = "jit_gemm manifest 1\nproblem 256x256x256 f16 "
                                "config=tile=3x3\nproblem 512x512x512 f16\n";
    const jit_gemm_prewarm_options estimate = {.struct_size = sizeof(estimate),
                                               .only_estimate = 1};
    struct api_fixture fixture;
    api_fixture_open(&fixture);

    const jit_gemm_prewarm_result result =
        prewarm(&fixture, wrong, &estimate, JIT_GEMM_ERR_ARGUMENT);

    cr_expect_eq(result.failed, 1);
    cr_expect_eq(result.missing, 1);
    cr_expect(api_error_has("tile"), "%s", jit_gemm_last_error());
    api_fixture_close(&fixture);
}

/* Goes on once the prewarm's time is over. */
static int32_t wait_until_late(void *user, size_t done, size_t total, const char *problem)
{
    const double *end_ms = user;
    (void)done;
    (void)total;
    (void)problem;
    while (jg_now_ms() <= *end_ms) {
    }
    return 0;
}

Test(prewarm, a_deadline_ends_it_and_the_next_one_goes_on)
{
    static const char three[] = "jit_gemm manifest 1\nproblem 256x256x256 f16\n"
                                "problem 512x512x512 f16\nproblem 1024x1024x1024 f16\n";
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    enum { DEADLINE_MS = 40 };
    double end_ms = 0;
    const jit_gemm_prewarm_options options = {.struct_size = sizeof(options),
                                              .jobs = 1,
                                              .progress = wait_until_late,
                                              .progress_user = &end_ms,
                                              .deadline_ms = DEADLINE_MS};

    end_ms = jg_now_ms() + 2 * DEADLINE_MS;
    const jit_gemm_prewarm_result first =
        prewarm(&fixture, three, &options, JIT_GEMM_ERR_CANCELLED);

    cr_expect_leq(first.compiled, 1);
    cr_expect(api_error_has("options.deadline_ms: the time was over after "), "%s",
              jit_gemm_last_error());
    cr_expect(api_error_has(" of 3 builds; run it again to go on"));
    const jit_gemm_prewarm_result second = prewarm(&fixture, three, NULL, JIT_GEMM_OK);
    cr_expect_eq(second.cached, first.compiled);
    cr_expect_eq(second.cached + second.compiled, 3);
    api_fixture_close(&fixture);
}
