/* SPDX-License-Identifier: MIT */
/* Families: the kernels of the bands of a range, which of them a launch takes, and
 * manifests that name a range. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "api_fixture.h"
#include "base/alloc.h"
#include "jit_gemm/family.h"

#define PROBLEM "n=4096 k=4096 a=bf16 dynamic=m"
#define RANGE   "m=1..640"

enum { MOST_BANDS = 64 };

static jit_gemm_range range_of(const char *text)
{
    jit_gemm_range range;
    cr_assert_eq(jit_gemm_range_parse(text, &range), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    return range;
}

static jit_gemm_family *create(struct api_fixture *fixture, const char *text,
                               const char *range_text)
{
    const jit_gemm_problem problem = api_problem(text);
    const jit_gemm_range range = range_of(range_text);
    jit_gemm_family *family = NULL;
    cr_assert_eq(jit_gemm_family_create(fixture->context, &problem, &range, &family),
                 JIT_GEMM_OK, "%s", jit_gemm_last_error());
    return family;
}

static size_t bands_of(const jit_gemm_family *family, jit_gemm_band bands[MOST_BANDS])
{
    size_t count = 0;
    cr_assert_eq(jit_gemm_family_get_bands(family, bands, MOST_BANDS, &count), JIT_GEMM_OK);
    cr_assert_leq(count, MOST_BANDS);
    return count;
}

static size_t count_kernels(const jit_gemm_band *bands, size_t count)
{
    size_t kernels = 0;
    for (size_t i = 0; i < count; i++) {
        kernels = bands[i].kernel >= kernels ? bands[i].kernel + 1 : kernels;
    }
    return kernels;
}

static jit_gemm_args args_of(int64_t m)
{
    const jit_gemm_args args = {.struct_size = sizeof(args),
                                .a = {.pointer = 0x10000000},
                                .b = {.pointer = 0x20000000},
                                .d = {.pointer = 0x40000000},
                                .m = m};
    return args;
}

Test(family, has_the_bands_of_the_plan_and_their_kernels)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_problem problem = api_problem(PROBLEM);
    const jit_gemm_range range = range_of(RANGE);
    jit_gemm_band planned[MOST_BANDS];
    jit_gemm_band bands[MOST_BANDS];
    size_t planned_count = 0;
    cr_assert_eq(jit_gemm_plan_bands(fixture.context, &problem, &range, planned, MOST_BANDS,
                                     &planned_count),
                 JIT_GEMM_OK);
    cr_expect_eq(api_fixture_stats(&fixture).compiles, 0);

    jit_gemm_family *family = create(&fixture, PROBLEM, RANGE);

    const size_t count = bands_of(family, bands);
    cr_assert_eq(count, planned_count);
    const size_t kernels = count_kernels(bands, count);
    cr_expect_gt(kernels, 1);
    cr_expect_lt(kernels, count + 1);
    cr_expect_eq((size_t)jg_compiler_dummy_calls(fixture.compiler), kernels);
    for (size_t i = 0; i < count; i++) {
        jit_gemm_info info = {.struct_size = sizeof(info)};
        cr_expect_eq(memcmp(&bands[i], &planned[i], sizeof(bands[i])), 0);
        cr_assert_eq(jit_gemm_family_get_info(family, i, &info), JIT_GEMM_OK);
        cr_expect_str_eq(info.config, bands[i].config);
        cr_expect_eq(info.origin, JIT_GEMM_ORIGIN_COMPILED);
    }
    jit_gemm_info info = {.struct_size = sizeof(info)};
    cr_expect_eq(jit_gemm_family_get_info(family, count, &info), JIT_GEMM_ERR_ARGUMENT);
    jit_gemm_family_destroy(&family);
    cr_expect_null(family);
    jit_gemm_family_destroy(&family);
    api_fixture_close(&fixture);
}

Test(family, a_launch_takes_the_kernel_of_its_band_and_allocates_nothing)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm_family *family = create(&fixture, PROBLEM, RANGE);
    jit_gemm_band bands[MOST_BANDS];
    const size_t count = bands_of(family, bands);
    fixture.fake->recording = 1;
    for (size_t i = 0; i < count; i++) {
        jit_gemm_problem problem = api_problem(PROBLEM);
        memcpy(problem.config, bands[i].config, sizeof(problem.config));
        jit_gemm *alone = NULL;
        cr_assert_eq(jit_gemm_create(fixture.context, &problem, &alone), JIT_GEMM_OK);
        const int64_t sizes[] = {bands[i].first, bands[i].last};
        for (int end = 0; end < 2; end++) {
            const jit_gemm_args args = args_of(sizes[end]);
            cr_assert_eq(jit_gemm_run(alone, &args, NULL), JIT_GEMM_OK);
            const struct fake_launch expected = fixture.fake->last_launch;
            cr_assert_eq(jit_gemm_family_run(family, &args, NULL), JIT_GEMM_OK, "%s",
                         jit_gemm_last_error());
            const long allocations = jg_alloc_count();
            const long calls = atomic_load(&fixture.fake->calls);
            cr_assert_eq(jit_gemm_family_run(family, &args, NULL), JIT_GEMM_OK);
            cr_expect_eq(jg_alloc_count(), allocations);
            cr_expect_eq(atomic_load(&fixture.fake->calls), calls + 1);
            const struct fake_launch found = fixture.fake->last_launch;
            cr_expect_eq(found.grid, expected.grid, "band %zu", i);
            cr_expect_eq(found.smem_bytes, expected.smem_bytes, "band %zu", i);
            cr_expect_eq(found.cluster, expected.cluster, "band %zu", i);
        }
        jit_gemm_destroy(&alone);
    }
    jit_gemm_family_destroy(&family);
    api_fixture_close(&fixture);
}

Test(family, sizes_outside_of_the_range_are_refused)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm_family *family = create(&fixture, PROBLEM, "m=16..512 loss=20%");
    const int64_t wrong[] = {0, 15, 513, -2};
    for (int i = 0; i < 4; i++) {
        char error[96];
        const jit_gemm_args args = args_of(wrong[i]);
        snprintf(error, sizeof(error),
                 "args.m: %lld is outside of the family's range, 16 to 512",
                 (long long)wrong[i]);
        cr_expect_eq(jit_gemm_family_run(family, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
        cr_expect(api_error_has(error), "%s", jit_gemm_last_error());
    }
    cr_expect_eq(atomic_load(&fixture.fake->launches), 0);
    const jit_gemm_args empty = args_of(JIT_GEMM_SIZE_EMPTY);
    cr_expect_eq(jit_gemm_family_run(family, &empty, NULL), JIT_GEMM_OK);
    cr_expect_eq(atomic_load(&fixture.fake->launches), 0);
    jit_gemm_args older = args_of(512); /* a caller who knows no groups */
    older.struct_size = offsetof(jit_gemm_args, group_sizes);
    cr_expect_eq(jit_gemm_family_run(family, &older, NULL), JIT_GEMM_OK);
    cr_expect_eq(atomic_load(&fixture.fake->launches), 1);
    jit_gemm_family_destroy(&family);
    api_fixture_close(&fixture);
}

Test(family, wrong_arguments_name_the_field_and_make_nothing)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm_family *family = NULL;
    const jit_gemm_problem problem = api_problem(PROBLEM);
    const jit_gemm_problem exact = api_problem("512x512x512 bf16");
    jit_gemm_range range = range_of(RANGE);
    cr_expect_eq(jit_gemm_family_create(fixture.context, &exact, &range, &family),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("range.dimension: 'm' is compiled into the kernel"));
    cr_expect_eq(jit_gemm_family_create(fixture.context, &problem, NULL, &family),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(jit_gemm_family_create(fixture.context, &problem, &range, NULL),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(jit_gemm_plan_bands(fixture.context, &problem, &range, NULL, 1, NULL),
                 JIT_GEMM_ERR_ARGUMENT);
    range.last = 0;
    cr_expect_eq(jit_gemm_family_create(fixture.context, &problem, &range, &family),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_null(family);
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 0);
    api_fixture_close(&fixture);
}

Test(family, takes_smaller_clusters_where_the_device_holds_no_others)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    fixture.fake->most_cluster_ctas = 1;
    jit_gemm_family *family = create(&fixture, PROBLEM, RANGE);
    jit_gemm_band bands[MOST_BANDS];
    const size_t count = bands_of(family, bands);
    for (size_t i = 0; i < count; i++) {
        cr_expect_not_null(strstr(bands[i].config, "cluster=1x1"), "%s", bands[i].config);
    }
    jit_gemm_family_destroy(&family);
    api_fixture_close(&fixture);
}

Test(family, every_failing_allocation_is_survived)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    options.no_cache = 1;
    options.log_level = JIT_GEMM_SEVERITY_ERROR;
    api_fixture_open_with(&fixture, &options, 0);
    const jit_gemm_problem problem = api_problem("n=512 k=512 a=bf16 dynamic=m");
    const jit_gemm_range range = range_of("m=1..64 loss=1%");
    jit_gemm_family *family = NULL;
    jit_gemm_status status;
    long number = 0;
    do {
        jg_alloc_fail_at(++number, false);
        status = jit_gemm_family_create(fixture.context, &problem, &range, &family);
        jg_alloc_fail_at(0, false);
        cr_assert(status == JIT_GEMM_OK
                      ? family != NULL
                      : family == NULL && status == JIT_GEMM_ERR_NO_MEMORY,
                  "%ld: %s", number, jit_gemm_last_error());
    } while (status != JIT_GEMM_OK && number < 5000);
    cr_expect_eq(status, JIT_GEMM_OK);
    jit_gemm_family_destroy(&family);
    api_fixture_close(&fixture);
}

/* ----------------------------------------------------------------------- manifests */

static jit_gemm_prewarm_result prewarm(struct api_fixture *fixture, const char *text,
                                       jit_gemm_status expected)
{
    jit_gemm_prewarm_result result = {.struct_size = sizeof(result)};
    cr_expect_eq(jit_gemm_prewarm(fixture->context, text, strlen(text), NULL, &result),
                 expected, "%s", jit_gemm_last_error());
    return result;
}

/* Prewarmed by a range, no size of it compiles; and the context's own manifest says it
 * again. */
Test(family, a_prewarmed_range_compiles_nothing)
{
    static const char manifest[] = "jit_gemm manifest 1\n"
                                   "problem m=1..640 n=4096 k=4096 a=bf16 dynamic=m\n";
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm_context_destroy(&fixture.context);
    jit_gemm_context_options options = {.struct_size = sizeof(options),
                                        .driver = JG_FAKE_DRIVER,
                                        .cache_dir = fixture.folder,
                                        .policy = JIT_GEMM_POLICY_FORBID};
    api_fixture_open_with(&fixture, &options, 0);
    const jit_gemm_problem problem = api_problem(PROBLEM);
    const jit_gemm_range range = range_of(RANGE);
    jit_gemm_family *family = NULL;
    cr_expect_eq(jit_gemm_family_create(fixture.context, &problem, &range, &family),
                 JIT_GEMM_ERR_NOT_CACHED);

    const jit_gemm_prewarm_result made = prewarm(&fixture, manifest, JIT_GEMM_OK);

    cr_expect_gt(made.total, 1);
    cr_expect_eq(made.compiled, made.total);
    family = create(&fixture, PROBLEM, RANGE);
    jit_gemm_band bands[MOST_BANDS];
    const size_t count = bands_of(family, bands);
    cr_expect_eq(count_kernels(bands, count), made.total);
    cr_expect_eq(api_fixture_stats(&fixture).disk_hits, made.total);
    jit_gemm_family_destroy(&family);
    char path[96];
    snprintf(path, sizeof(path), "%s/manifest", fixture.folder);
    cr_assert_eq(jit_gemm_context_write_manifest(fixture.context, path), JIT_GEMM_OK);
    char text[512] = "";
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    cr_expect_gt(fread(text, 1, sizeof(text) - 1, file), 0);
    fclose(file);
    cr_expect(strstr(text, "Fake GPU 0\n"
                           "problem m=1..640 loss=5% n=4096 k=4096 a=bf16 dynamic=m\n"),
              "%s", text);
    cr_expect_eq(prewarm(&fixture, text, JIT_GEMM_OK).cached, made.total);
    api_fixture_close(&fixture);
}

Test(family, a_wrong_range_of_a_manifest_names_the_line)
{
    static const struct {
        const char *line, *error;
    } cases[] = {
        {"problem m=5..1 n=512 k=512 a=bf16 dynamic=m",
         "manifest line 2: range: '5..1' at column 3 is no range"},
        {"problem m=1..5 n=512 k=512 a=bf16",
         "manifest line 2: range.dimension: 'm' is compiled into the kernel"},
        {"problem m=1..5 n=1..5 k=512 a=bf16 dynamic=m,n",
         "manifest line 2: range: two dimensions have a range"},
        {"problem m=512 n=512 k=512 a=bf16 dynamic=m loss=5%",
         "manifest line 2: range.loss: a loss is given, and no size has a range"},
    };
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[160];
        snprintf(text, sizeof(text), "jit_gemm manifest 1\n%s\n", cases[i].line);
        (void)prewarm(&fixture, text, JIT_GEMM_ERR_ARGUMENT);
        cr_expect(api_error_has(cases[i].error), "%s", jit_gemm_last_error());
    }
    api_fixture_close(&fixture);
}
