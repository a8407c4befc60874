/* SPDX-License-Identifier: MIT */
/* Many epilogues in a context, and equal lines of a manifest: each is worked on once. Lines
 * that cannot be built. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "api/record.h"
#include "api_fixture.h"
#include "base/file.h"
#include "base/str.h"

enum { EPILOGUES = 3000 };

static jit_gemm_status register_one(struct api_fixture *fixture, int number, int factor)
{
    char name[32], source[64];
    snprintf(name, sizeof(name), "scaled_%d", number);
    snprintf(source, sizeof(source), "d = acc * %d.0f;", factor);
    const jit_gemm_epilogue epilogue = {
        .struct_size = sizeof(epilogue), .name = name, .source = source};
    return jit_gemm_epilogue_register(fixture->context, &epilogue);
}

Test(many_epilogues, are_registered_found_and_told_from_each_other)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);

    for (int i = 0; i < EPILOGUES; i++) {
        cr_assert_eq(register_one(&fixture, i, i), JIT_GEMM_OK, "%s",
                     jit_gemm_last_error());
    }

    for (int i = 0; i < EPILOGUES; i += 7) {
        cr_expect_eq(register_one(&fixture, i, i), JIT_GEMM_OK, "again");
        cr_expect_eq(register_one(&fixture, i, i + 1), JIT_GEMM_ERR_ARGUMENT, "another");
    }
    const jit_gemm_problem last = api_problem("256x256x256 f16 epilogue=scaled_2999");
    cr_expect_eq(jit_gemm_check(fixture.context, &last), JIT_GEMM_OK);
    const jit_gemm_problem none = api_problem("256x256x256 f16 epilogue=scaled_3000");
    cr_expect_eq(jit_gemm_check(fixture.context, &none), JIT_GEMM_ERR_ARGUMENT);
    api_fixture_close(&fixture);
}

Test(many_epilogues, those_that_were_asked_for_are_in_the_manifest)
{
    struct jg_record *record = jg_record_create();
    cr_assert_not_null(record);
    static const char line[] = "problem m=8 n=8 k=8 a=f16 epilogue=one config=stages=2";

    cr_assert_eq(jg_record_add(record, line), JIT_GEMM_OK);
    cr_assert_eq(jg_record_add(record, "problem m=8 n=8 k=8 a=f16 epilogue=two"),
                 JIT_GEMM_OK);
    cr_assert_eq(jg_record_add(record, "problem m=8 n=8 k=8 a=f16"), JIT_GEMM_OK);
    cr_assert_eq(jg_record_add(record, line), JIT_GEMM_OK);

    cr_expect(jg_record_has_epilogue(record, "one"));
    cr_expect(jg_record_has_epilogue(record, "two"));
    cr_expect_not(jg_record_has_epilogue(record, "tw"));
    cr_expect_not(jg_record_has_epilogue(record, ""));
    struct jg_str text = {0};
    jg_record_print(record, &text);
    cr_expect_str_eq(jg_str_text(&text),
                     "problem m=8 n=8 k=8 a=f16 epilogue=one config=stages=2\n"
                     "problem m=8 n=8 k=8 a=f16 epilogue=two\n"
                     "problem m=8 n=8 k=8 a=f16\n");
    jg_str_free(&text);
    jg_record_destroy(record);
}

static int count_calls(void *user, size_t done, size_t total, const char *problem)
{
    (void)done;
    (void)total;
    (void)problem;
    ++*(int *)user;
    return 0;
}

/* A prewarm of a line so many times, and how often its progress was told. */
static jit_gemm_prewarm_result prewarm_lines(struct api_fixture *fixture, const char *line,
                                             int lines, int32_t only_estimate,
                                             jit_gemm_status expected, int *ret_calls)
{
    struct jg_str text = {0};
    jg_str_puts(&text, "jit_gemm manifest 1\n");
    for (int i = 0; i < lines; i++) {
        jg_str_printf(&text, "problem %s # number %d\n", line, i);
    }
    *ret_calls = 0;
    const jit_gemm_prewarm_options options = {.struct_size = sizeof(options),
                                              .progress = count_calls,
                                              .progress_user = ret_calls,
                                              .only_estimate = only_estimate};
    jit_gemm_prewarm_result result = {.struct_size = sizeof(result)};
    cr_expect_eq(jit_gemm_prewarm(fixture->context, jg_str_text(&text), text.size, &options,
                                  &result),
                 expected, "%s", jit_gemm_last_error());
    jg_str_free(&text);
    return result;
}

Test(equal_lines, are_built_once_and_counted_each)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    int calls = 0;
    static const char line[] = "512x512x512 f16";

    jit_gemm_prewarm_result result =
        prewarm_lines(&fixture, line, 100, 0, JIT_GEMM_OK, &calls);
    cr_expect_eq(result.total, 100);
    cr_expect_eq(result.compiled, 1);
    cr_expect_eq(result.cached, 99);
    cr_expect_eq(calls, 1);
    cr_expect_eq(api_fixture_stats(&fixture).disk_hits, 0, "99 looked for it");

    result = prewarm_lines(&fixture, line, 100, 1, JIT_GEMM_OK, &calls);
    cr_expect_eq(result.cached, 100);
    result = prewarm_lines(&fixture, "512x512x512 f16 config=tile=3x3", 100, 0,
                           JIT_GEMM_ERR_ARGUMENT, &calls);
    cr_expect_eq(result.failed, 100);
    cr_expect_eq(calls, 1);
    api_fixture_close(&fixture);
}

Test(equal_lines, of_a_range_have_its_bands_once)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    int calls = 0, calls_of_one = 0;
    static const char line[] = "m=1..64 n=512 k=512 a=f16 dynamic=m loss=0%";

    const jit_gemm_prewarm_result one =
        prewarm_lines(&fixture, line, 1, 0, JIT_GEMM_OK, &calls_of_one);
    const jit_gemm_prewarm_result five =
        prewarm_lines(&fixture, line, 5, 0, JIT_GEMM_OK, &calls);

    cr_expect_eq(five.total, 5 * one.total);
    cr_expect_eq(five.cached, five.total);
    cr_expect_eq(calls, calls_of_one);
    api_fixture_close(&fixture);
}

/* What only the choice or the cache finds out, once all lines are read. */
Test(many_lines, what_cannot_be_built_is_named_with_its_line)
{
    static const char wrong[] = "jit_gemm manifest 1\n"
                                "problem 256x256x256 f16\n"
                                "\n"
                                "problem 256x256x256 bf16 config=tile=64x72\n";
    static const char missing[] = "jit_gemm manifest 1\n"
                                  "# one that nobody has built\n"
                                  "problem 512x256x256 f16\n";
    static const char beside[] = "jit_gemm manifest 1\n"
                                 "\n"
                                 "combine rows=bf16 d=bf16 chosen=3\n";
    static const char config[] = "manifest line 4: problem.config: tile=64x72 ";
    const struct {
        const char *text;
        jit_gemm_prewarm_options options;
        jit_gemm_status status;
        const char *error;
    } rows[] = {
        {wrong, {.only_estimate = 1}, JIT_GEMM_ERR_ARGUMENT, config},
        {wrong, {.only_estimate = 0}, JIT_GEMM_ERR_ARGUMENT, config},
        {missing,
         {.require_cached = 1},
         JIT_GEMM_ERR_NOT_CACHED,
         "manifest line 3: cache: "},
        {beside,
         {.require_cached = 1},
         JIT_GEMM_ERR_NOT_CACHED,
         "manifest line 3: cache: "},
    };
    struct api_fixture fixture;
    api_fixture_open(&fixture);

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        jit_gemm_prewarm_options options = rows[i].options;
        options.struct_size = sizeof(options);
        jit_gemm_prewarm_result result = {.struct_size = sizeof(result)};
        cr_expect_eq(jit_gemm_prewarm(fixture.context, rows[i].text, strlen(rows[i].text),
                                      &options, &result),
                     rows[i].status);
        cr_expect_eq(result.failed, 1, "row %zu", i);
        cr_expect(api_error_has(rows[i].error), "row %zu: %s", i, jit_gemm_last_error());
    }
    api_fixture_close(&fixture);
}

Test(many_lines, what_cannot_be_created_is_named_with_its_line)
{
    static const char *const rows[][2] = {
        {"\nproblem 256x256x64 bf16 config=tile=64x72\n",
         "manifest line 3: problem.config: tile=64x72 "},
        {"problem m=1..64 n=256 k=64 a=bf16 dynamic=m config=tile=64x72\n",
         "manifest line 2: problem.config: tile=64x72 "},
        {"problem 256x256x64 bf16\n", "manifest line 2: cache: "},
        {"\n\ncombine rows=bf16 d=f32 chosen=3\n", "manifest line 4: cache: "},
        {"pack bytes=1 from=row to=8x4\n", "manifest line 2: cache: "},
    };
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    options.policy = JIT_GEMM_POLICY_FORBID;
    api_fixture_open_with(&fixture, &options, 0);
    char path[96];
    snprintf(path, sizeof(path), "%s/lines.manifest", fixture.folder);

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_str text = {0};
        jg_str_printf(&text, "jit_gemm manifest 1\n%s", rows[i][0]);
        cr_assert_eq(jg_file_replace(path, &text), JIT_GEMM_OK);
        jg_str_free(&text);

        cr_expect_neq(jit_gemm_context_load_manifest(fixture.context, path, 1), JIT_GEMM_OK,
                      "row %zu", i);
        cr_expect(api_error_has(rows[i][1]), "row %zu: %s", i, jit_gemm_last_error());
    }
    api_fixture_close(&fixture);
}
