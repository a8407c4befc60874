/* SPDX-License-Identifier: MIT */
/* Handles that convert scales, without a GPU: where their kernels come from, and what a run
 * refuses before it calls the driver. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_fixture.h"
#include "base/alloc.h"
#include "jit_gemm/scales.h"

static const jit_gemm_scale mx = {
    .kind = JIT_GEMM_SCALE_BLOCK, .block_mn = 1, .block_k = 32};
static const jit_gemm_scale nv = {
    .kind = JIT_GEMM_SCALE_BLOCK, .block_mn = 1, .block_k = 16};
static const jit_gemm_scale rows_of_128 = {
    .kind = JIT_GEMM_SCALE_BLOCK, .block_mn = 1, .block_k = 128};

static jit_gemm_packer *create(struct api_fixture *fixture, const jit_gemm_scale *scale,
                               uint32_t to)
{
    jit_gemm_packer *packer = NULL;
    cr_assert_eq(jit_gemm_packer_create(fixture->context, scale, to, &packer), JIT_GEMM_OK,
                 "%s", jit_gemm_last_error());
    return packer;
}

static jit_gemm_info info_of(const jit_gemm_packer *packer)
{
    jit_gemm_info info = {.struct_size = sizeof(info)};
    cr_assert_eq(jit_gemm_packer_get_info(packer, &info), JIT_GEMM_OK);
    return info;
}

/* 300 rows of 10 blocks of MX. */
static const jit_gemm_packer_args good_args = {
    .struct_size = sizeof(good_args), .mn = 300, .k = 320, .from = 0x10000, .to = 0x20000};

Test(packer, compiles_then_memory_then_disk)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);

    jit_gemm_packer *first = create(&fixture, &mx, JIT_GEMM_SCALE_LAYOUT_128X4);
    jit_gemm_packer *second = create(&fixture, &nv, JIT_GEMM_SCALE_LAYOUT_128X4);
    jit_gemm_packer *other = create(&fixture, &rows_of_128, JIT_GEMM_SCALE_LAYOUT_COLUMN);
    const jit_gemm_info compiled = info_of(first), memory = info_of(second);
    jit_gemm_stats stats = {.struct_size = sizeof(stats)};
    cr_assert_eq(jit_gemm_context_stats(fixture.context, &stats), JIT_GEMM_OK);

    cr_expect_eq(compiled.origin, JIT_GEMM_ORIGIN_COMPILED);
    cr_expect_eq(memory.origin, JIT_GEMM_ORIGIN_MEMORY, "NV shares the kernel of MX");
    cr_expect_str_eq(compiled.entry, "jit_gemm_pack_1_row_128x4");
    cr_expect_str_eq(info_of(other).entry, "jit_gemm_pack_4_row_column");
    cr_expect_str_eq(compiled.config, "");
    cr_expect_eq(compiled.registers, 168);
    cr_expect_eq(stats.creates, 3);
    cr_expect_eq(stats.memory_hits, 1);
    cr_expect_eq(stats.compiles, 2);
    cr_expect_eq(atomic_load(&fixture.fake->loads), 2);
    jit_gemm_packer_destroy(&first);
    jit_gemm_packer_destroy(&second);
    jit_gemm_packer_destroy(&other);
    cr_expect_null(first);
    jit_gemm_packer_destroy(&first);

    api_fixture_reopen(&fixture);
    jit_gemm_packer *third = create(&fixture, &mx, JIT_GEMM_SCALE_LAYOUT_128X4);
    const jit_gemm_info disk = info_of(third);
    cr_expect_eq(disk.origin, JIT_GEMM_ORIGIN_DISK);
    cr_expect_eq(disk.compile_ms, 0.0);
    cr_expect_str_eq(disk.key, compiled.key);
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 0);
    jit_gemm_packer_destroy(&third);
    cr_expect_eq(atomic_load(&fixture.fake->loads), atomic_load(&fixture.fake->unloads) + 1,
                 "the context holds one");
    api_fixture_close(&fixture);
}

static const char manifest[] = "jit_gemm manifest 1\n"
                               "pack bytes=1 from=8x4 to=128x4\n"
                               "problem 512x512x512 bf16\n"
                               "pack bytes=4 from=row to=column\n";

static jit_gemm_prewarm_result prewarm(struct api_fixture *fixture, const char *text)
{
    jit_gemm_prewarm_result result = {.struct_size = sizeof(result)};
    cr_expect_eq(jit_gemm_prewarm(fixture->context, text, strlen(text), NULL, &result),
                 JIT_GEMM_OK, "%s", jit_gemm_last_error());
    return result;
}

Test(packer, manifest_names_it_and_a_prewarm_leaves_nothing_to_compile)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    options.policy = JIT_GEMM_POLICY_FORBID;
    api_fixture_open_with(&fixture, &options, 0);
    jit_gemm_scale scale = mx;
    scale.layout = JIT_GEMM_SCALE_LAYOUT_8X4;
    jit_gemm_packer *packer = NULL;

    cr_expect_eq(jit_gemm_packer_create(fixture.context, &scale,
                                        JIT_GEMM_SCALE_LAYOUT_128X4, &packer),
                 JIT_GEMM_ERR_NOT_CACHED);
    cr_expect(api_error_has("the kernel of \"pack bytes=1 from=8x4 to=128x4\""));
    cr_expect_null(packer);
    char path[128], text[256] = "";
    snprintf(path, sizeof(path), "%s/manifest", fixture.folder);
    cr_assert_eq(jit_gemm_context_write_manifest(fixture.context, path), JIT_GEMM_OK);
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file);
    cr_assert_gt(fread(text, 1, sizeof(text) - 1, file), 0);
    fclose(file);
    cr_expect(strstr(text, "Fake GPU 0\npack bytes=1 from=8x4 to=128x4\n"), "%s", text);

    const jit_gemm_prewarm_result result = prewarm(&fixture, manifest);
    cr_expect_eq(result.total, 3);
    cr_expect_eq(result.compiled, 3);
    packer = create(&fixture, &scale, JIT_GEMM_SCALE_LAYOUT_128X4);
    cr_expect_eq(info_of(packer).origin, JIT_GEMM_ORIGIN_DISK);
    cr_expect_eq(prewarm(&fixture, manifest).cached, 3);
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 3);
    jit_gemm_packer_destroy(&packer);
    api_fixture_close(&fixture);
}

Test(packer, wrong_lines_of_a_manifest_are_refused_by_line)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    static const struct {
        const char *line, *error;
    } rows[] = {
        {"pack bytes=1 from=row", NULL}, /* `to` is row */
        {"pack bytes=2 from=row to=row", "there are no scales of 2 bytes"},
        {"pack from=row to=row", "there are no scales of 0 bytes"},
        {"pack bytes=4 from=row to=8x4", "there are no scales of 4 bytes from row to 8x4"},
        {"pack bytes=1 from=column to=9x4", "'to=9x4' is nothing of a pack"},
        {"pack bytes=1 from=row to=row what", "'what' is nothing of a pack"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[128];
        snprintf(text, sizeof(text), "jit_gemm manifest 1\n%s\n", rows[i].line);
        const jit_gemm_status status =
            jit_gemm_prewarm(fixture.context, text, strlen(text), NULL, NULL);
        cr_expect_eq(status, rows[i].error == NULL ? JIT_GEMM_OK : JIT_GEMM_ERR_ARGUMENT,
                     "%s", rows[i].line);
        if (rows[i].error != NULL) {
            cr_expect(api_error_has("manifest line 2: pack: "));
            cr_expect(api_error_has(rows[i].error));
        }
    }
    api_fixture_close(&fixture);
}

Test(packer, run_is_one_call_of_the_driver_also_while_a_stream_is_captured)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm_packer *packer = create(&fixture, &mx, JIT_GEMM_SCALE_LAYOUT_128X4);
    fixture.fake->capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    const long calls = atomic_load(&fixture.fake->calls);

    for (int i = 0; i < 3; i++) {
        cr_expect_eq(jit_gemm_packer_run(packer, &good_args, NULL), JIT_GEMM_OK, "%s",
                     jit_gemm_last_error());
    }

    cr_expect_eq(atomic_load(&fixture.fake->calls), calls + 3);
    cr_expect_eq(atomic_load(&fixture.fake->launches), 3);
    jit_gemm_packer *other = NULL;
    cr_expect_eq(
        jit_gemm_packer_create(fixture.context, &mx, JIT_GEMM_SCALE_LAYOUT_8X4, &other),
        JIT_GEMM_ERR_CAPTURE);
    cr_expect_null(other);
    jit_gemm_packer_destroy(&packer);
    api_fixture_close(&fixture);
}

Test(packer, wrong_arguments_are_refused_by_name_before_any_work)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm_packer *packer = create(&fixture, &mx, JIT_GEMM_SCALE_LAYOUT_128X4);
    const long calls = atomic_load(&fixture.fake->calls);
    jit_gemm_packer_args args[16];
    for (size_t i = 0; i < sizeof(args) / sizeof(args[0]); i++) {
        args[i] = good_args;
    }
    args[0].mn = 0;
    args[1].k = INT64_MAX;
    args[2].batch = -1;
    args[3].from = 0;
    args[4].to = 0;
    args[5].to += 2;
    args[6].to_stride = 4607;
    args[7].to_stride = 4604;
    args[8].from_stride = 2999;
    args[9].from_stride = -1;
    args[10].to = args[10].from + 2999;
    args[11].to = args[11].from - 4604;
    args[12].batch = 3;
    args[12].from_stride = 0x10000 - 4;
    args[13].batch = INT32_MAX;
    args[13].to_stride = INT64_MAX / 4 * 4;
    args[14].from = UINT64_MAX - 100;
    args[15].struct_size = 0;
    static const char *const errors[] = {
        "args.mn: must be 1 to 2147483648, is 0",
        "args.k: must be 1 to 2147483648",
        "args.batch: must be 0 to 2147483647, is -1",
        "args.from: is NULL",
        "args.to: is NULL",
        "args.to: 0x20002 is no multiple of 4",
        "args.to_stride: 4607 bytes would cut the words of layout 128x4",
        "args.to_stride: must be at least 4608, is 4604",
        "args.from_stride: must be at least 3000, is 2999",
        "args.from_stride: must be at least 3000, is -1",
        NULL,
        "args.to: 4608 bytes at 0xee04 overlap with the 3000 bytes of scales at 0x10000",
        "args.to: 13824 bytes at 0x20000 overlap",
        "args.batch: 2147483647 batches reach beyond the end of all addresses",
        "args.from: 3000 scales at 0xffffffffffffff9b reach beyond the end",
        "args.struct_size",
    };
    args[10].to = args[10].from + 2996; /* the last scales of the source */

    for (size_t i = 0; i < sizeof(args) / sizeof(args[0]); i++) {
        cr_expect_eq(jit_gemm_packer_run(packer, &args[i], NULL), JIT_GEMM_ERR_ARGUMENT,
                     "arguments %zu", i);
        cr_expect(api_error_has(errors[i] != NULL ? errors[i] : "overlap"));
    }
    cr_expect_eq(jit_gemm_packer_run(NULL, &good_args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(jit_gemm_packer_run(packer, NULL, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(atomic_load(&fixture.fake->calls), calls);
    jit_gemm_packer_args beside = good_args;
    beside.to = beside.from + 3000;
    cr_expect_eq(jit_gemm_packer_run(packer, &beside, NULL), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    beside.to = beside.from - 4608;
    cr_expect_eq(jit_gemm_packer_run(packer, &beside, NULL), JIT_GEMM_OK);
    jit_gemm_packer_destroy(&packer);
    api_fixture_close(&fixture);
}

Test(packer, scales_that_there_are_none_of_are_refused_by_name)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm_scale other = mx;
    jit_gemm_packer *packer = NULL;
    const jit_gemm_scale tensor = {.kind = JIT_GEMM_SCALE_TENSOR};
    other.block_k = 48;
    const struct {
        const jit_gemm_scale *scale;
        uint32_t to;
        jit_gemm_status status;
        const char *error;
    } rows[] = {
        {NULL, 0, JIT_GEMM_ERR_ARGUMENT, "scale: is NULL"},
        {&tensor, 0, JIT_GEMM_ERR_ARGUMENT, "scale.kind: scales of kind 1"},
        {&other, 0, JIT_GEMM_ERR_UNSUPPORTED, "there are no scales of blocks of 1x48"},
        {&mx, 5, JIT_GEMM_ERR_ARGUMENT, "to_layout: 5 is no layout"},
        {&rows_of_128, JIT_GEMM_SCALE_LAYOUT_MN_K4, JIT_GEMM_ERR_ARGUMENT,
         "to_layout: 4 is no layout of scales of type f32"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cr_expect_eq(
            jit_gemm_packer_create(fixture.context, rows[i].scale, rows[i].to, &packer),
            rows[i].status);
        cr_expect(api_error_has(rows[i].error));
    }
    cr_expect_eq(jit_gemm_packer_create(fixture.context, &mx, 0, NULL),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_null(packer);
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 0);
    api_fixture_close(&fixture);
}

Test(packer, entry_that_the_driver_refuses_is_compiled_again)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm_packer *packer = create(&fixture, &mx, JIT_GEMM_SCALE_LAYOUT_128X4);
    jit_gemm_packer_destroy(&packer);
    api_fixture_reopen(&fixture);
    fixture.fake->failing_result = CUDA_ERROR_INVALID_IMAGE;
    fixture.fake->failing_times = 1;
    fixture.fake->failing_function = "cuLibraryLoadData";

    packer = create(&fixture, &mx, JIT_GEMM_SCALE_LAYOUT_128X4);

    cr_expect_eq(info_of(packer).origin, JIT_GEMM_ORIGIN_COMPILED);
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 1);
    jit_gemm_packer_destroy(&packer);
    api_fixture_close(&fixture);
}

Test(packer, create_survives_every_failing_allocation)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    options.no_cache = 1;
    options.log_level = JIT_GEMM_SEVERITY_ERROR;
    api_fixture_open_with(&fixture, &options, 0);
    jit_gemm_packer *packer = NULL;
    long failures = 0;
    for (long number = 1; packer == NULL && number < 1000; number++) {
        jg_alloc_fail_at(number, 0);
        const jit_gemm_status status = jit_gemm_packer_create(
            fixture.context, &mx, JIT_GEMM_SCALE_LAYOUT_128X4, &packer);
        jg_alloc_fail_at(0, 0);
        failures += status != JIT_GEMM_OK;
        cr_assert(status == JIT_GEMM_OK || status == JIT_GEMM_ERR_NO_MEMORY,
                  "allocation %ld: %s", number, jit_gemm_last_error());
    }
    cr_expect_not_null(packer);
    cr_expect_gt(failures, 5);
    jit_gemm_packer_destroy(&packer);
    api_fixture_close(&fixture);
}
