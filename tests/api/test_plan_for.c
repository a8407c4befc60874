/* SPDX-License-Identifier: MIT */
/* A choice depends on the device: who builds without it can say which, and a manifest does.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_fixture.h"
#include "base/file.h"
#include "jit_gemm/prewarm_device.h"

/* Another tile is chosen for 8 multiprocessors than for the 132 of an H200. */
static const char problem_text[] = "256x256x512 bf16";

static void open_small_device(struct api_fixture *fixture, jit_gemm_policy policy)
{
    api_fixture_driver()->sm_count = 8;
    jit_gemm_context_options options = api_fixture_options(fixture);
    options.policy = policy;
    api_fixture_open_with(fixture, &options, 0);
}

/* A context over the same folder that opens no device. */
static jit_gemm_context *open_without_device(const struct api_fixture *fixture,
                                             const char *plan_for)
{
    jit_gemm_context *context = NULL;
    const jit_gemm_context_options options = {.struct_size = sizeof(options),
                                              .arch = plan_for == NULL ? "sm_90a" : NULL,
                                              .no_device = 1,
                                              .cache_dir = fixture->folder,
                                              .plan_for = plan_for};
    cr_assert_eq(jit_gemm_context_create(&options, &context), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    return context;
}

static void expect_creates(const struct api_fixture *fixture, jit_gemm_status wanted)
{
    const jit_gemm_problem problem = api_problem(problem_text);
    jit_gemm *gemm = NULL;
    cr_expect_eq(jit_gemm_create(fixture->context, &problem, &gemm), wanted, "%s",
                 jit_gemm_last_error());
    jit_gemm_destroy(&gemm);
}

static void plan_of(jit_gemm_context *context, char ret_text[4096])
{
    const jit_gemm_problem problem = api_problem(problem_text);
    size_t length = 0;
    cr_assert_eq(jit_gemm_plan(context, &problem, ret_text, 4096, &length), JIT_GEMM_OK);
}

static void words_of(jit_gemm_context *context, char ret_words[256])
{
    char text[4096];
    cr_assert_eq(jit_gemm_context_planned_device(context, ret_words, 256, NULL),
                 JIT_GEMM_OK);
    (void)jit_gemm_context_describe(context, text, sizeof(text), NULL);
    cr_expect(strstr(text, ret_words) != NULL, "%s", text);
}

Test(plan_for, a_manifest_builds_the_kernels_of_the_device_it_was_written_on)
{
    struct api_fixture fixture;
    struct api_fixture other;
    open_small_device(&fixture, JIT_GEMM_POLICY_FORBID);
    char path[128];
    struct jg_str text = {0};
    expect_creates(&fixture, JIT_GEMM_ERR_NOT_CACHED);
    snprintf(path, sizeof(path), "%s/manifest", fixture.folder);
    cr_assert_eq(jit_gemm_context_write_manifest(fixture.context, path), JIT_GEMM_OK);
    cr_assert_eq(jg_file_read(path, 1 << 16, &text), JIT_GEMM_OK);
    char *line = strstr(text.data, "plan_for cc=9.0 sm_count=8 ");
    cr_assert_not_null(line, "%s", text.data);
    jit_gemm_context_options options = api_fixture_options(&other);
    options.no_device = 1;
    options.arch = "sm_90a";
    options.cache_dir = fixture.folder;
    api_fixture_open_with(&other, &options, 0);

    /* Without the line another kernel is built. */
    line[0] = '#';
    cr_expect_eq(jit_gemm_prewarm(other.context, text.data, text.size, NULL, NULL),
                 JIT_GEMM_OK);
    expect_creates(&fixture, JIT_GEMM_ERR_NOT_CACHED);
    line[0] = 'p';
    cr_expect_eq(jit_gemm_prewarm(other.context, text.data, text.size, NULL, NULL),
                 JIT_GEMM_OK);
    expect_creates(&fixture, JIT_GEMM_OK);

    jg_str_free(&text);
    api_fixture_close(&other);
    api_fixture_close(&fixture);
}

Test(plan_for, a_context_without_a_device_plans_for_the_one_that_is_named)
{
    struct api_fixture fixture;
    open_small_device(&fixture, JIT_GEMM_POLICY_ALLOW);
    char words[256], own[4096], named[4096], other[4096];
    words_of(fixture.context, words);
    jit_gemm_context *same = open_without_device(&fixture, words);
    jit_gemm_context *h200 = open_without_device(&fixture, NULL);

    plan_of(fixture.context, own);
    plan_of(same, named);
    plan_of(h200, other);

    cr_expect_str_eq(own, named);
    cr_expect_str_neq(own, other);
    cr_expect_str_eq(jit_gemm_context_arch(same), "sm_90a");
    jit_gemm_context_destroy(&h200);
    jit_gemm_context_destroy(&same);
    api_fixture_close(&fixture);
}

Test(plan_for, a_context_with_a_device_can_plan_for_another)
{
    struct api_fixture fixture;
    open_small_device(&fixture, JIT_GEMM_POLICY_ALLOW);
    jit_gemm_context_options options = api_fixture_options(&fixture);
    char named[4096], other[4096];
    jit_gemm_context *context = NULL;
    options.plan_for = "h200";
    cr_assert_eq(jit_gemm_context_create(&options, &context), JIT_GEMM_OK);
    jit_gemm_context *h200 = open_without_device(&fixture, NULL);

    plan_of(context, named);
    plan_of(h200, other);

    cr_expect_str_eq(named, other);
    jit_gemm_context_destroy(&h200);
    jit_gemm_context_destroy(&context);
    api_fixture_close(&fixture);
}

Test(plan_for, a_prewarm_obeys_its_context_before_the_manifest)
{
    struct api_fixture fixture;
    struct api_fixture other;
    open_small_device(&fixture, JIT_GEMM_POLICY_FORBID);
    static const char manifest[] = "jit_gemm manifest 1\n"
                                   "plan_for b200\n"
                                   "plan_for h200 # not the one that is there\n"
                                   "problem 256x256x512 bf16\n";
    char words[256];
    words_of(fixture.context, words);
    jit_gemm_context_options options = api_fixture_options(&other);
    options.no_device = 1;
    options.cache_dir = fixture.folder;
    options.plan_for = words;
    api_fixture_open_with(&other, &options, 0);

    cr_expect_eq(jit_gemm_prewarm(other.context, manifest, strlen(manifest), NULL, NULL),
                 JIT_GEMM_OK);

    expect_creates(&fixture, JIT_GEMM_OK);
    api_fixture_close(&other);
    api_fixture_close(&fixture);
}

/* The line of what a prewarm for one architecture would be chosen for. */
static void expect_chosen(jit_gemm_context *context, const char *arch, const char *manifest,
                          const char *const words[], size_t count)
{
    const jit_gemm_prewarm_options options = {
        .struct_size = sizeof(options), .archs = &arch, .arch_count = 1};
    char text[1024] = "";
    size_t length = 0;
    cr_assert_eq(jit_gemm_prewarm_device(context, manifest, strlen(manifest), &options,
                                         text, sizeof(text), &length),
                 JIT_GEMM_OK, "%s", jit_gemm_last_error());
    cr_expect_eq(length, strlen(text));
    for (size_t i = 0; i < count; i++) {
        cr_expect(strstr(text, words[i]) != NULL, "%s: %s", words[i], text);
    }
}

Test(plan_for, what_is_here_goes_before_a_manifest_for_each_architecture)
{
    struct api_fixture fixture;
    struct api_fixture other;
    open_small_device(&fixture, JIT_GEMM_POLICY_FORBID);
    static const char manifest[] = "jit_gemm manifest 1\nplan_for h200\nplan_for b200\n"
                                   "problem 256x256x512 bf16\n";
    static const char *const here[] = {
        "for sm_90a are chosen for cc=9.0 sm_count=8 ",
        ", which is here, and not for the manifest's plan_for "
        "cc=9.0 sm_count=132 "};
    static const char *const manifests[] = {"for sm_100a are chosen for cc=10.0 ",
                                            "(NVIDIA B200), which the manifest names\n"};
    static const char *const archs[] = {"sm_90a", "sm_100a"};
    const jit_gemm_prewarm_options prewarm = {
        .struct_size = sizeof(prewarm), .archs = archs, .arch_count = 2};

    /* Whichever of the two the context has itself. */
    for (int i = 0; i < 2; i++) {
        jit_gemm_context_options options = api_fixture_options(&other);
        options.no_device = 1;
        options.arch = archs[i];
        options.plan_for = "here";
        options.cache_dir = fixture.folder;
        api_fixture_open_with(&other, &options, 0);
        expect_chosen(other.context, "sm_90a", manifest, here, 2);
        expect_chosen(other.context, "sm_100a", manifest, manifests, 2);
        if (i == 1) {
            cr_expect_eq(
                jit_gemm_prewarm(other.context, manifest, strlen(manifest), &prewarm, NULL),
                JIT_GEMM_OK, "%s", jit_gemm_last_error());
        }
        api_fixture_close(&other);
    }
    expect_creates(&fixture, JIT_GEMM_OK);
    expect_chosen(fixture.context, "sm_90a", manifest, here, 2);

    api_fixture_close(&fixture);
}

Test(plan_for, an_open_device_of_another_architecture_is_not_planned_for)
{
    struct api_fixture fixture;
    api_fixture_driver()->sm_count = 8;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    options.arch = "sm_100a";
    api_fixture_open_with(&fixture, &options, 0);
    static const char manifest[] = "jit_gemm manifest 1\nplan_for b200 sm_count=8\n";
    static const char *const words[] = {"for cc=10.0 sm_count=8 ",
                                        "which the manifest names"};

    expect_chosen(fixture.context, "sm_100a", manifest, words, 2);

    api_fixture_close(&fixture);
}

Test(plan_for, what_a_prewarm_is_for_is_told_only_of_right_arguments)
{
    struct api_fixture fixture;
    static const char *const archs[] = {"sm_91"};
    static const char manifest[] = "jit_gemm manifest 1\n";
    const size_t size = strlen(manifest);
    jit_gemm_prewarm_options options = {.struct_size = sizeof(options), .arch_count = 1};
    char text[4] = "abc";
    size_t length = 0;
    api_fixture_open(&fixture);
    jit_gemm_context *context = fixture.context;

    cr_expect_eq(jit_gemm_prewarm_device(NULL, manifest, size, NULL, NULL, 0, &length),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(jit_gemm_prewarm_device(context, NULL, size, NULL, NULL, 0, &length),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(jit_gemm_prewarm_device(context, manifest, size, NULL, NULL, 4, &length),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(jit_gemm_prewarm_device(context, "jit_gemm", 8, NULL, text, 4, &length),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(
        jit_gemm_prewarm_device(context, manifest, size, &options, text, 4, &length),
        JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("options.archs"));
    options.archs = archs;
    cr_expect_eq(
        jit_gemm_prewarm_device(context, manifest, size, &options, text, 4, &length),
        JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect(api_error_has("'sm_91'"));
    cr_expect_str_eq(text, "abc");
    cr_expect_eq(length, 0);
    cr_expect_eq(jit_gemm_prewarm_device(context, manifest, size, NULL, text, 4, &length),
                 JIT_GEMM_OK);
    cr_expect_str_eq(text, "ker");
    cr_expect_gt(length, 40);
    api_fixture_close(&fixture);
}

Test(plan_for, a_wrong_line_of_a_manifest_is_named)
{
    static const struct {
        const char *lines, *message;
    } rows[] = {
        {"plan_for h1000\n", "manifest line 2"},
        {"plan_for\n", "manifest line 2"},
        {"plan_for h100\nplan_for h200\n", "manifest line 3"},
    };
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[256];
        snprintf(text, sizeof(text), "jit_gemm manifest 1\n%sproblem 256x256x512 bf16\n",
                 rows[i].lines);

        cr_expect_eq(jit_gemm_prewarm(fixture.context, text, strlen(text), NULL, NULL),
                     JIT_GEMM_ERR_ARGUMENT, "%s", rows[i].lines);

        cr_expect(api_error_has(rows[i].message), "%s", jit_gemm_last_error());
    }
    api_fixture_close(&fixture);
}

Test(plan_for, a_device_that_does_not_fit_is_refused_with_the_field)
{
    jit_gemm_context *context = NULL;
    jit_gemm_context_options options = {.struct_size = sizeof(options),
                                        .arch = "sm_100a",
                                        .no_device = 1,
                                        .no_cache = 1,
                                        .plan_for = "h100"};

    cr_expect_eq(jit_gemm_context_create(&options, &context), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("options.plan_for: kernels for sm_100a do not run on NVIDIA "
                            "H100"));
    options.plan_for = "h100 cc=8.0";
    options.arch = NULL;
    cr_expect_eq(jit_gemm_context_create(&options, &context), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("any architecture do not run"), "%s", jit_gemm_last_error());
    options.plan_for = NULL;
    setenv("JIT_GEMM_PLAN_FOR", "h1000", 1);
    cr_expect_eq(jit_gemm_context_create(&options, &context), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("JIT_GEMM_PLAN_FOR: no device"), "%s", jit_gemm_last_error());
    setenv("JIT_GEMM_PLAN_FOR", "h100", 1);
    cr_expect_eq(jit_gemm_context_create(&options, &context), JIT_GEMM_OK);
    cr_expect_str_eq(jit_gemm_context_arch(context), "sm_90a");
    jit_gemm_context_destroy(&context);
}

Test(plan_for, here_is_the_device_whose_driver_is_asked_and_nothing_else)
{
    struct api_fixture fixture;
    char here[4096], own[4096];
    open_small_device(&fixture, JIT_GEMM_POLICY_ALLOW);
    plan_of(fixture.context, own);
    jit_gemm_context_options options = api_fixture_options(&fixture);
    options.no_device = 1;
    options.arch = "sm_90a";
    options.plan_for = "here";
    const long retains = atomic_load(&fixture.fake->retains);
    jit_gemm_context *context = NULL;

    cr_assert_eq(jit_gemm_context_create(&options, &context), JIT_GEMM_OK);
    plan_of(context, here);

    cr_expect_str_eq(here, own);
    cr_expect_eq(atomic_load(&fixture.fake->retains), retains);
    jit_gemm_context_destroy(&context);
    /* No device that runs the architecture, and no driver: its default, and no error. */
    options.arch = "sm_100a";
    cr_expect_eq(jit_gemm_context_create(&options, &context), JIT_GEMM_OK);
    jit_gemm_context_destroy(&context);
    options.arch = "sm_90a";
    options.driver = "/no/such/driver";
    cr_expect_eq(jit_gemm_context_create(&options, &context), JIT_GEMM_OK);
    cr_expect_str_eq(jit_gemm_last_error(), "");
    jit_gemm_context *h200 = open_without_device(&fixture, NULL);
    plan_of(context, here);
    plan_of(h200, own);
    cr_expect_str_eq(here, own);
    jit_gemm_context_destroy(&h200);
    jit_gemm_context_destroy(&context);
    api_fixture_close(&fixture);
}
