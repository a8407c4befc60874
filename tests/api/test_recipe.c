/* SPDX-License-Identifier: MIT */
/* Recipes of a context: what they choose, where they do not, and how they are written. */
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api_fixture.h"
#include "base/alloc.h"
#include "base/file.h"
#include "jit_gemm/recipe.h"

#define HEAD "jit_gemm recipe 1\n"
#define TILE "tile=128x128 cluster=1x1"

static const char one_line[] =
    HEAD "problem sm_90a 512x512x512 bf16 config=" TILE " # measured 1.23 us\n";

static jit_gemm_status add(struct api_fixture *fixture, const char *name, const char *text)
{
    return jit_gemm_context_add_recipe(fixture->context, name, text, strlen(text));
}

static void expect_added(struct api_fixture *fixture, const char *name, const char *text)
{
    cr_assert_eq(add(fixture, name, text), JIT_GEMM_OK, "%s", jit_gemm_last_error());
}

static int has(const char *text, const char *piece)
{
    return strstr(text, piece) != NULL;
}

Test(recipe, a_later_create_takes_its_config_and_says_so)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_info before = api_info_of(&fixture, "512x512x512 bf16");
    expect_added(&fixture, "h200.recipe", one_line);

    const jit_gemm_info after = api_info_of(&fixture, "512x512x512 bf16");
    const jit_gemm_info other = api_info_of(&fixture, "512x512x512 f16");

    cr_expect_not(has(before.config, TILE), "%s: the test shows nothing", before.config);
    cr_expect(has(after.config, "tile=128x128x64 cluster=1x1"), "%s", after.config);
    cr_expect_str_eq(before.recipe, "");
    cr_expect_str_eq(after.recipe, "h200.recipe:2");
    cr_expect_str_eq(other.recipe, "");
    cr_expect_eq(api_fixture_stats(&fixture).compiles, 3);
    cr_expect_str_eq(api_info_of(&fixture, "512x512x512 bf16").key, after.key);
    cr_expect_eq(api_fixture_stats(&fixture).memory_hits, 1);
    api_fixture_close(&fixture);
}

/* The same config is the same entry, whoever named it; the manifest has what was asked. */
Test(recipe, keys_depend_on_the_config_only)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    expect_added(&fixture, "r", one_line);
    const jit_gemm_info named = api_info_of(&fixture, "512x512x512 bf16");
    struct jg_str manifest = {0};
    jg_record_print(fixture.context->asked, &manifest);
    cr_expect_str_eq(jg_str_text(&manifest), "problem m=512 n=512 k=512 a=bf16\n");
    jg_str_free(&manifest);
    api_fixture_reopen(&fixture);

    const jit_gemm_info direct = api_info_of(&fixture, "512x512x512 bf16 config=" TILE);

    cr_expect_str_eq(direct.key, named.key);
    cr_expect_eq(direct.origin, JIT_GEMM_ORIGIN_DISK);
    cr_expect_str_eq(direct.recipe, "");
    api_fixture_close(&fixture);
}

Test(recipe, check_plan_build_and_prewarm_take_it)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    expect_added(&fixture, "r", one_line);
    const jit_gemm_problem problem = api_problem("512x512x512 bf16");
    char plan[256];
    jit_gemm_artifact *artifact = NULL;
    jit_gemm_info info = {.struct_size = sizeof(info)};
    static const char manifest[] = "jit_gemm manifest 1\nproblem 512x512x512 bf16\n";

    cr_expect_eq(jit_gemm_check(fixture.context, &problem), JIT_GEMM_OK);
    cr_assert_eq(jit_gemm_plan(fixture.context, &problem, plan, sizeof(plan), NULL),
                 JIT_GEMM_OK);
    cr_expect(has(plan, "recipe: chosen by recipe r:2 (measured 1.23 us)\n"
                        "chosen: kernel=gemm tile=128x128x64 cluster=1x1"),
              "%s", plan);
    cr_assert_eq(jit_gemm_build(fixture.context, &problem, JIT_GEMM_EMIT_SOURCE, &artifact),
                 JIT_GEMM_OK);
    cr_assert_eq(jit_gemm_artifact_get_info(artifact, &info), JIT_GEMM_OK);
    cr_expect_str_eq(info.recipe, "r:2");
    jit_gemm_artifact_destroy(&artifact);
    cr_assert_eq(jit_gemm_prewarm(fixture.context, manifest, strlen(manifest), NULL, NULL),
                 JIT_GEMM_OK, "%s", jit_gemm_last_error());
    cr_expect_eq(api_info_of(&fixture, "512x512x512 bf16").origin, JIT_GEMM_ORIGIN_DISK);
    api_fixture_close(&fixture);
}

Test(recipe, words_of_the_caller_win)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    expect_added(&fixture, "r", one_line);
    const jit_gemm_problem problem = api_problem("512x512x512 bf16 config=tile=64x128");
    char plan[256];

    const jit_gemm_info same = api_info_of(&fixture, "512x512x512 bf16 config=cluster=1x1");
    const jit_gemm_info others =
        api_info_of(&fixture, "512x512x512 bf16 config=tile=64x128");

    cr_expect_str_eq(same.recipe, "r:2");
    cr_expect_str_eq(others.recipe, "");
    cr_expect(has(others.config, "tile=64x128"), "%s", others.config);
    cr_assert_eq(jit_gemm_plan(fixture.context, &problem, plan, sizeof(plan), NULL),
                 JIT_GEMM_OK);
    cr_expect(has(plan, "recipe: r:2 is not taken: the problem's config names"), "%s",
              plan);
    api_fixture_close(&fixture);
}

Test(recipe, what_came_last_goes_first)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    expect_added(&fixture, "first", one_line);
    expect_added(&fixture, "second",
                 HEAD "problem sm_90a 512x512x512 bf16 config=tile=64x128\n");
    expect_added(&fixture, "third",
                 HEAD "problem sm_100a 512x512x512 bf16 config=mma=128x64\n"
                      "problem sm_90a 512x512x512 f16 config=tile=64x128\n");

    cr_expect_str_eq(api_info_of(&fixture, "512x512x512 bf16").recipe, "second:2");
    cr_expect_str_eq(api_info_of(&fixture, "512x512x512 f16").recipe, "third:3");
    api_fixture_close(&fixture);
}

Test(recipe, nothing_is_taken_of_one_that_is_wrong)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    char wrong[512];
    snprintf(wrong, sizeof(wrong),
             "%sproblem sm_90a 512x512x512 f16 config=tile=1000x1000\n", one_line);

    cr_expect_eq(add(&fixture, "w", wrong), JIT_GEMM_ERR_ARGUMENT);

    cr_expect(api_error_has("recipe w:3: problem.config: "), "%s", jit_gemm_last_error());
    cr_expect_str_eq(api_info_of(&fixture, "512x512x512 bf16").recipe, "");
    cr_expect_eq(jit_gemm_context_load_recipe(fixture.context, "/nowhere/r"),
                 JIT_GEMM_ERR_IO);
    cr_expect(api_error_has("'/nowhere/r' cannot be read"), "%s", jit_gemm_last_error());
    api_fixture_close(&fixture);
}

/* A recipe may be read before the program registers what it is for. */
Test(recipe, a_config_of_an_unknown_epilogue_is_checked_when_it_is_asked_for)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    expect_added(&fixture, "r",
                 HEAD "problem sm_90a 512x512x512 bf16 epilogue=fused config=" TILE "\n"
                      "problem sm_90a 256x256x256 bf16 epilogue=fused "
                      "config=tile=1000x1000\n");
    cr_assert_eq(jit_gemm_epilogue_register(fixture.context, &api_fused), JIT_GEMM_OK);
    const jit_gemm_problem wrong = api_problem("256x256x256 bf16 epilogue=fused");

    cr_expect_str_eq(api_info_of(&fixture, "512x512x512 bf16 epilogue=fused").recipe,
                     "r:2");
    cr_expect_eq(jit_gemm_check(fixture.context, &wrong), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("recipe r:3: "), "%s", jit_gemm_last_error());
    cr_expect(api_error_has("tune the problem again"), "%s", jit_gemm_last_error());
    cr_expect_eq(add(&fixture, "again",
                     HEAD "problem sm_90a 256x256x256 bf16 epilogue=fused "
                          "config=tile=1000x1000\n"),
                 JIT_GEMM_ERR_ARGUMENT);
    api_fixture_close(&fixture);
}

Test(recipe, a_cluster_that_does_not_fit_names_the_recipe)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    fixture.fake->resident_clusters = 0;
    expect_added(&fixture, "r",
                 HEAD "problem sm_90a 4096x4096x4096 bf16 "
                      "config=tile=128x256 cluster=2x1\n");
    const jit_gemm_problem problem = api_problem("4096x4096x4096 bf16");
    jit_gemm *gemm = NULL;

    cr_expect_eq(jit_gemm_create(fixture.context, &problem, &gemm), JIT_GEMM_ERR_LOAD);

    cr_expect(api_error_has("recipe r:2: "), "%s", jit_gemm_last_error());
    cr_expect(api_error_has("not one cluster of 2 CTAs"), "%s", jit_gemm_last_error());
    cr_expect_null(gemm);
    api_fixture_close(&fixture);
}

/* It is no part of the problem that the recipe has, and held against its kernel. */
Test(recipe, a_budget_that_its_kernel_exceeds_names_the_recipe)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    expect_added(&fixture, "r", one_line);
    const jit_gemm_problem problem = api_problem("512x512x512 bf16 max_registers=100");
    static const char manifest[] =
        "jit_gemm manifest 1\nproblem 512x512x512 bf16 max_registers=100\n";
    jit_gemm_artifact *artifact = NULL;
    jit_gemm *gemm = NULL;

    cr_expect_eq(jit_gemm_create(fixture.context, &problem, &gemm), JIT_GEMM_ERR_BUDGET);
    cr_expect(api_error_has("recipe r:2: problem.register_limit: "), "%s",
              jit_gemm_last_error());
    cr_expect_eq(jit_gemm_build(fixture.context, &problem, JIT_GEMM_EMIT_CUBIN, &artifact),
                 JIT_GEMM_ERR_BUDGET);
    cr_expect(api_error_has("recipe r:2: "), "%s", jit_gemm_last_error());
    cr_expect_eq(jit_gemm_prewarm(fixture.context, manifest, strlen(manifest), NULL, NULL),
                 JIT_GEMM_ERR_BUDGET);
    cr_expect(api_error_has("recipe r:2: "), "%s", jit_gemm_last_error());
    api_fixture_close(&fixture);
}

Test(recipe, of_a_long_name_the_end_is_told)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    char name[300];
    memset(name, 'x', sizeof(name));
    memcpy(name + sizeof(name) - 8, "/the.rec", 8);
    name[sizeof(name) - 1] = '\0';
    expect_added(&fixture, name, one_line);

    const jit_gemm_info info = api_info_of(&fixture, "512x512x512 bf16");

    cr_expect_eq(strncmp(info.recipe, "...xxx", 6), 0, "%s", info.recipe);
    cr_expect(has(info.recipe, "xxx/the.re:2"), "%s", info.recipe);
    api_fixture_close(&fixture);
}

static void expect_file(const char *path, const char *expected)
{
    struct jg_str text = {0};
    cr_assert_eq(jg_file_read(path, 8191, &text), JIT_GEMM_OK);
    cr_expect_str_eq(jg_str_text(&text), expected);
    jg_str_free(&text);
}

Test(recipe, what_is_written_is_taken_and_updated)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_problem first = api_problem("512x512x512 bf16 config=" TILE);
    const jit_gemm_problem second = api_problem("512x512x512 f16 config=tile=64x128");
    const jit_gemm_problem newer = api_problem("512x512x512 bf16 config=tile=64x256");
    const jit_gemm_recipe_line both[] = {{&first, 1.234, 2.5}, {&second, 0, 0}};
    const jit_gemm_recipe_line twice[] = {{&first, 1, 1}, {&newer, 1, 1}};
    const jit_gemm_recipe_line one = {&newer, 1.0, 0};
    char path[128];
    char expected[1024];
    char device[256];
    snprintf(path, sizeof(path), "%s/r.recipe", fixture.folder);
    snprintf(device, sizeof(device), "on %s, %d multiprocessors",
             fixture.context->facts.name, fixture.context->facts.sm_count);

    cr_assert_eq(
        jit_gemm_recipe_write(fixture.context, path, both, 2, JIT_GEMM_RECIPE_UPDATE),
        JIT_GEMM_OK, "%s", jit_gemm_last_error());
    snprintf(expected, sizeof(expected),
             HEAD "problem sm_90a m=512 n=512 k=512 a=bf16 config=" TILE
                  " # measured 1.23 us, predicted 2.50 us, %s\n"
                  "problem sm_90a m=512 n=512 k=512 a=f16 config=tile=64x128 # %s\n",
             device, device);
    expect_file(path, expected);
    cr_assert_eq(jit_gemm_context_load_recipe(fixture.context, path), JIT_GEMM_OK);
    cr_expect(has(api_info_of(&fixture, "512x512x512 bf16").recipe, "/r.recipe:2"));
    cr_expect_eq(jit_gemm_recipe_write(fixture.context, path, twice, 2, 0),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("is there twice"), "%s", jit_gemm_last_error());
    expect_file(path, expected);
    cr_expect_eq(jit_gemm_recipe_write(fixture.context, path, &one, 1,
                                       JIT_GEMM_RECIPE_UPDATE | JIT_GEMM_RECIPE_CHECK),
                 JIT_GEMM_OK);
    expect_file(path, expected);
    cr_expect_eq(jit_gemm_recipe_write(fixture.context, path, &one, 1, 4),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_assert_eq(
        jit_gemm_recipe_write(fixture.context, path, &one, 1, JIT_GEMM_RECIPE_UPDATE),
        JIT_GEMM_OK);
    snprintf(expected, sizeof(expected),
             HEAD "problem sm_90a m=512 n=512 k=512 a=bf16 config=tile=64x256"
                  " # measured 1.00 us, %s\n"
                  "problem sm_90a m=512 n=512 k=512 a=f16 config=tile=64x128 # %s\n",
             device, device);
    expect_file(path, expected);
    cr_expect_eq(jit_gemm_recipe_write(fixture.context, "/nowhere/r", &one, 1, 0),
                 JIT_GEMM_ERR_IO);
    cr_expect_eq(unlink(path), 0);
    api_fixture_close(&fixture);
}

Test(recipe, a_time_that_is_none_is_refused)
{
    static const double times[] = {NAN, INFINITY, -INFINITY, -1, 1e300};
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_problem problem = api_problem("512x512x512 bf16 config=" TILE);
    char path[128];
    snprintf(path, sizeof(path), "%s/r.recipe", fixture.folder);

    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        const jit_gemm_recipe_line measured = {&problem, times[i], 0};
        const jit_gemm_recipe_line predicted = {&problem, 0, times[i]};

        cr_expect_eq(jit_gemm_recipe_write(fixture.context, path, &measured, 1, 0),
                     JIT_GEMM_ERR_ARGUMENT);
        cr_expect(api_error_has("lines.measured_us: must be 0 to"), "%s",
                  jit_gemm_last_error());
        cr_expect_eq(jit_gemm_recipe_write(fixture.context, path, &predicted, 1, 0),
                     JIT_GEMM_ERR_ARGUMENT);
        cr_expect(api_error_has("lines.predicted_us: must be 0 to"), "%s",
                  jit_gemm_last_error());
        cr_expect_neq(unlink(path), 0, "something was written");
    }
    api_fixture_close(&fixture);
}

enum { WRITERS = 8, WRITES = 12, UPDATE = JIT_GEMM_RECIPE_UPDATE };
static struct api_fixture shared;
static char shared_path[128];

static void *update_again_and_again(void *first)
{
    for (int i = 0; i < WRITES; i++) {
        char text[96];
        snprintf(text, sizeof(text), "%dx512x512 bf16 config=" TILE, *(int *)first + i);
        const jit_gemm_problem problem = api_problem(text);
        const jit_gemm_recipe_line line = {&problem, 0, 0};
        cr_expect_eq(jit_gemm_recipe_write(shared.context, shared_path, &line, 1, UPDATE),
                     0);
    }
    return NULL;
}

Test(recipe, who_update_a_file_at_the_same_time_drop_no_lines)
{
    pthread_t threads[WRITERS];
    int first[WRITERS], lines = 0;
    struct jg_str text = {0};
    api_fixture_open(&shared);
    snprintf(shared_path, sizeof(shared_path), "%s/r.recipe", shared.folder);
    for (int i = 0; i < WRITERS; i++) {
        first[i] = 1 + i * WRITES;
        pthread_create(&threads[i], NULL, update_again_and_again, &first[i]);
    }
    for (int i = 0; i < WRITERS; pthread_join(threads[i++], NULL)) {
    }
    cr_assert_eq(jg_file_read(shared_path, 1 << 20, &text), JIT_GEMM_OK);
    for (size_t i = 0; i < text.size; i++) {
        lines += text.data[i] == '\n';
    }
    cr_expect_eq(lines, 1 + WRITERS * WRITES);
    jg_str_free(&text);
    cr_expect_eq(unlink(shared_path), 0);
    api_fixture_close(&shared);
}

Test(recipe, candidates_begin_with_what_is_chosen)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_problem problem = api_problem("512x512x512 bf16");
    jit_gemm_candidate candidates[3];
    size_t count = 0;
    memset(candidates, 0, sizeof(candidates));
    expect_added(&fixture, "r", one_line); /* they do not look at it */

    cr_assert_eq(jit_gemm_plan_candidates(fixture.context, &problem, candidates, 2, &count),
                 JIT_GEMM_OK, "%s", jit_gemm_last_error());

    cr_expect_gt(count, 3);
    cr_expect_not(has(candidates[0].config, "tile=128x128x64 cluster=1x1"));
    cr_expect_gt(candidates[0].predicted_us, 0);
    cr_expect_geq(candidates[1].predicted_us, candidates[0].predicted_us);
    cr_expect_str_eq(candidates[2].config, "");
    api_fixture_reopen(&fixture);
    cr_expect_str_eq(api_info_of(&fixture, "512x512x512 bf16").config,
                     candidates[0].config);
    api_fixture_close(&fixture);
}

/* Adding, taking and writing. */
Test(recipe, every_failing_allocation_is_survived)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_problem problem = api_problem("512x512x512 bf16");
    const jit_gemm_problem named = api_problem("512x512x512 bf16 config=" TILE);
    const jit_gemm_recipe_line line = {&named, 1, 1};
    char path[128];
    snprintf(path, sizeof(path), "%s/r.recipe", fixture.folder);
    jit_gemm_status status = JIT_GEMM_ERR_NO_MEMORY;
    long failures = 0;
    for (long number = 1; status != JIT_GEMM_OK && number < 1000; number++) {
        jg_alloc_fail_at(number, 0);
        status = add(&fixture, "r", one_line);
        if (status == JIT_GEMM_OK) {
            status = jit_gemm_check(fixture.context, &problem);
        }
        if (status == JIT_GEMM_OK) {
            status = jit_gemm_recipe_write(fixture.context, path, &line, 1,
                                           JIT_GEMM_RECIPE_UPDATE);
        }
        jg_alloc_fail_at(0, 0);
        failures += status != JIT_GEMM_OK;
        cr_assert(status == JIT_GEMM_OK || status == JIT_GEMM_ERR_NO_MEMORY,
                  "allocation %ld: %s", number, jit_gemm_last_error());
    }
    cr_expect_gt(failures, 10);
    cr_expect_eq(unlink(path), 0);
    api_fixture_close(&fixture);
}
