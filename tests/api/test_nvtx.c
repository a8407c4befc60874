/* SPDX-License-Identifier: MIT */
/* NVTX ranges by a context's options, as a tool in a profiler's place sees them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_fixture.h"
#include "base/file.h"
#include "base/str.h"

#ifdef JG_COUNTING_NVTX

/* What the tool has seen of a create by a context with this option. */
static void ranges_of(jit_gemm_nvtx nvtx, struct jg_str *ret_lines)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    char path[128];
    snprintf(path, sizeof(path), "%s/ranges", fixture.folder);
    cr_assert_eq(setenv("NVTX_INJECTION64_PATH", JG_COUNTING_NVTX, 1), 0);
    cr_assert_eq(setenv("COUNTING_NVTX", path, 1), 0);
    options.nvtx = nvtx;
    api_fixture_open_with(&fixture, &options, 0);
    (void)api_info_of(&fixture, "256x256x512 bf16");
    (void)jg_file_read(path, 1 << 16, ret_lines); /* no range, no file */
    api_fixture_close(&fixture);
}

static void expect_ranges(const struct jg_str *lines)
{
    static const char *const pushes[] = {"0 push jit_gemm: create m=256",
                                         "1 push jit_gemm: compile m=256",
                                         "1 push jit_gemm: load m=256"};
    for (size_t i = 0; i < sizeof(pushes) / sizeof(pushes[0]); i++) {
        cr_expect(strstr(jg_str_text(lines), pushes[i]) != NULL, "%s in:\n%s", pushes[i],
                  jg_str_text(lines));
    }
}

Test(nvtx, context_that_asks_has_ranges_without_the_variable_and_against_it)
{
    struct jg_str lines = {0};

    ranges_of(JIT_GEMM_NVTX_ON, &lines);
    expect_ranges(&lines);
    jg_str_free(&lines);
    cr_assert_eq(setenv("JIT_GEMM_NVTX", "0", 1), 0);
    ranges_of(JIT_GEMM_NVTX_ON, &lines);

    expect_ranges(&lines);
    jg_str_free(&lines);
}

Test(nvtx, context_that_says_no_has_none_where_the_variable_asks)
{
    struct jg_str lines = {0};

    cr_assert_eq(setenv("JIT_GEMM_NVTX", "1", 1), 0);
    ranges_of(JIT_GEMM_NVTX_OFF, &lines);
    cr_expect_str_empty(jg_str_text(&lines));
    ranges_of(JIT_GEMM_NVTX_ENVIRONMENT, &lines);

    expect_ranges(&lines);
    jg_str_free(&lines);
}

#else

Test(nvtx, ranges_that_were_not_built_in_are_refused)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);

    options.nvtx = JIT_GEMM_NVTX_ON;

    cr_expect_eq(jit_gemm_context_create(&options, &fixture.context),
                 JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect(api_error_has("options.nvtx: this library was built without NVTX"));
    api_fixture_close(&fixture);
}

#endif

Test(nvtx, what_is_no_answer_is_refused)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);

    options.nvtx = (jit_gemm_nvtx)3;
    cr_expect_eq(jit_gemm_context_create(&options, &fixture.context),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("options.nvtx: 3 is no answer"));
    options.nvtx = JIT_GEMM_NVTX_ENVIRONMENT;
    options.reserved_end = 1;

    cr_expect_eq(jit_gemm_context_create(&options, &fixture.context),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("options.reserved_end: must be 0, is 1"));
    api_fixture_close(&fixture);
}
