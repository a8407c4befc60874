/* SPDX-License-Identifier: MIT */
/* The twelve steps without a GPU: where a kernel comes from, and who owns what. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "api_fixture.h"

static jit_gemm *create(struct api_fixture *fixture, const char *text)
{
    const jit_gemm_problem problem = api_problem(text);
    jit_gemm *gemm = NULL;
    cr_assert_eq(jit_gemm_create(fixture->context, &problem, &gemm), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    return gemm;
}

static jit_gemm_info info_of(const jit_gemm *gemm)
{
    jit_gemm_info info = {.struct_size = sizeof(info)};
    cr_assert_eq(jit_gemm_get_info(gemm, &info), JIT_GEMM_OK);
    return info;
}

/* Registers one text under one name, as if it stood at that place of that file. */
static void register_at(struct api_fixture *fixture, const char *file, uint32_t line)
{
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = "moved",
                                        .source = "d = acc + 1.0f;",
                                        .source_name = file,
                                        .first_line = line};
    cr_assert_eq(jit_gemm_epilogue_register(fixture->context, &epilogue), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
}

Test(create, kernel_is_found_wherever_the_text_of_its_epilogue_stands)
{
    static const char plain[] = "1024x1024x512 bf16 epilogue=moved";
    static const char profiled[] = "1024x1024x512 bf16 epilogue=moved config=lineinfo=1";
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    register_at(&fixture, "src/one.cu", 12);
    const jit_gemm_info first = api_info_of(&fixture, plain);
    const jit_gemm_info first_profiled = api_info_of(&fixture, profiled);
    api_fixture_reopen(&fixture);
    register_at(&fixture, "other/two.cu", 900);

    const jit_gemm_info second = api_info_of(&fixture, plain);
    const jit_gemm_info second_profiled = api_info_of(&fixture, profiled);

    cr_expect_eq(second.origin, JIT_GEMM_ORIGIN_DISK);
    cr_expect_str_eq(second.key, first.key);
    cr_expect_eq(second_profiled.origin, JIT_GEMM_ORIGIN_COMPILED);
    cr_expect_str_neq(second_profiled.key, first_profiled.key);
    api_fixture_close(&fixture);
}

Test(create, compiles_then_memory_then_disk)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);

    jit_gemm *first = create(&fixture, "1024x1024x512 bf16");
    jit_gemm *second = create(&fixture, "1024x1024x512 bf16");
    const jit_gemm_info compiled = info_of(first);
    const jit_gemm_info memory = info_of(second);
    const jit_gemm_stats stats = api_fixture_stats(&fixture);

    cr_expect_eq(compiled.origin, JIT_GEMM_ORIGIN_COMPILED);
    cr_expect_eq(memory.origin, JIT_GEMM_ORIGIN_MEMORY);
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 1);
    cr_expect_eq(atomic_load(&fixture.fake->loads), 1);
    cr_expect_eq(stats.creates, 2);
    cr_expect_eq(stats.memory_hits, 1);
    cr_expect_eq(stats.compiles, 1);
    cr_expect(stats.load_ms > 0);
    jit_gemm_destroy(&first);
    jit_gemm_destroy(&second);
    cr_expect_null(first);

    api_fixture_reopen(&fixture);
    jit_gemm *third = create(&fixture, "1024x1024x512 bf16");
    const jit_gemm_info disk = info_of(third);
    cr_expect_eq(disk.origin, JIT_GEMM_ORIGIN_DISK);
    cr_expect_eq(disk.compile_ms, 0.0);
    cr_expect_str_eq(disk.key, compiled.key);
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 0);
    cr_expect_eq(api_fixture_stats(&fixture).disk_hits, 1);
    jit_gemm_destroy(&third);
    api_fixture_close(&fixture);
    cr_expect_eq(atomic_load(&fixture.fake->loads), atomic_load(&fixture.fake->unloads));
    cr_expect_eq(atomic_load(&fixture.fake->retains), atomic_load(&fixture.fake->releases));
}

Test(create, info_tells_what_was_loaded)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);

    jit_gemm *gemm =
        create(&fixture, "4096x4096x4096 bf16 config=tile=128x256 cluster=2x1");
    const jit_gemm_info info = info_of(gemm);

    cr_expect_str_eq(info.arch, "sm_90a");
    cr_expect_eq(strlen(info.key), 32);
    cr_expect_neq(info.entry[0], '\0');
    cr_expect_not_null(strstr(info.config, "tile=128x256"), "%s", info.config);
    cr_expect_not_null(strstr(info.config, "cluster=2x1"), "%s", info.config);
    cr_expect_eq(info.threads, 384);
    cr_expect_eq(info.grid_ctas, 132);
    cr_expect_eq(info.registers, 168);
    cr_expect_gt(info.smem_bytes, 100000);
    cr_expect_leq(info.smem_bytes, 232448);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(create, handle_outlives_its_context)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm *gemm = create(&fixture, "256x256x256 bf16");
    const jit_gemm_args args = {.struct_size = sizeof(args),
                                .a = {.pointer = 0x10000},
                                .b = {.pointer = 0x20000},
                                .d = {.pointer = 0x30000}};

    jit_gemm_context_destroy(&fixture.context);

    cr_expect_null(fixture.context);
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s", jit_gemm_last_error());
    cr_expect_eq(atomic_load(&fixture.fake->launches), 1);
    cr_expect_eq(atomic_load(&fixture.fake->unloads), 0);
    jit_gemm_destroy(&gemm);
    cr_expect_eq(atomic_load(&fixture.fake->unloads), 1);
    cr_expect_eq(atomic_load(&fixture.fake->releases), 1);
    api_fixture_close(&fixture);
}

Test(create, near_hints_of_a_dynamic_size_share_a_kernel)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);

    jit_gemm *first = create(&fixture, "m=1000 n=512 k=512 a=bf16 dynamic=m");
    jit_gemm *second = create(&fixture, "m=900 n=512 k=512 a=bf16 dynamic=m");

    cr_expect_eq(info_of(second).origin, JIT_GEMM_ORIGIN_MEMORY);
    jit_gemm_destroy(&first);
    jit_gemm_destroy(&second);
    api_fixture_close(&fixture);
}

Test(create, forbidden_miss_names_the_problem)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    options.policy = JIT_GEMM_POLICY_FORBID;
    api_fixture_open_with(&fixture, &options, 0);
    const jit_gemm_problem problem = api_problem("512x512x512 bf16");
    jit_gemm *gemm = NULL;

    cr_expect_eq(jit_gemm_create(fixture.context, &problem, &gemm),
                 JIT_GEMM_ERR_NOT_CACHED);
    cr_expect_null(gemm);
    cr_expect(api_error_has("m=512"));
    cr_expect(api_error_has("prewarm"));
    cr_expect_eq(api_fixture_stats(&fixture).forbidden_misses, 1);
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 0);
    api_fixture_close(&fixture);
}

Test(create, failed_compile_is_tried_again)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_epilogue epilogue = {
        .struct_size = sizeof(epilogue), .name = "wrong", .source = "d = DUMMY_ERROR;"};
    cr_assert_eq(jit_gemm_epilogue_register(fixture.context, &epilogue), JIT_GEMM_OK);
    const jit_gemm_problem problem = api_problem("512x512x512 bf16 epilogue=wrong");
    jit_gemm *gemm = NULL;

    cr_expect_eq(jit_gemm_create(fixture.context, &problem, &gemm), JIT_GEMM_ERR_COMPILE);
    cr_expect(api_error_has("1:1: error: identifier \"DUMMY_ERROR\""));
    cr_expect_eq(jit_gemm_create(fixture.context, &problem, &gemm), JIT_GEMM_ERR_COMPILE);
    cr_expect_null(gemm);
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 2);
    cr_expect_eq(api_fixture_stats(&fixture).compile_failures, 2);
    api_fixture_close(&fixture);
}

Test(create, unwritable_cache_folder_costs_only_a_counter)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    options.cache_dir = "/proc/jit_gemm_cannot_be_made";
    api_fixture_open_with(&fixture, &options, 0);
    const jit_gemm_problem problem = api_problem("512x512x512 bf16");
    cr_expect_eq(jit_gemm_check(fixture.context, &problem), JIT_GEMM_OK);
    cr_expect_null(strstr(fixture.log, "no disk cache"), "nothing was compiled");

    jit_gemm *gemm = create(&fixture, "512x512x512 bf16");
    jit_gemm *other = create(&fixture, "256x512x512 bf16");

    cr_expect_eq(info_of(gemm).origin, JIT_GEMM_ORIGIN_COMPILED);
    cr_expect_eq(api_fixture_stats(&fixture).cache_store_errors, 2);
    const char *line = strstr(fixture.log, "no disk cache");
    cr_assert_not_null(line, "%s", fixture.log);
    cr_expect_not_null(strstr(line, "/proc/jit_gemm_cannot_be_made"), "%s", line);
    cr_expect_null(strstr(line + 1, "no disk cache"), "once");
    jit_gemm_destroy(&other);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

/* Its checksums are right: nothing but the driver knows. */
Test(create, entry_that_the_driver_refuses_is_compiled_once_more)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm *gemm = create(&fixture, "512x512x512 bf16");
    jit_gemm_destroy(&gemm);
    api_fixture_reopen(&fixture);
    fixture.fake->failing_result = CUDA_ERROR_INVALID_IMAGE;
    fixture.fake->failing_function = "cuLibraryLoadData";
    fixture.fake->failing_times = 1;

    gemm = create(&fixture, "512x512x512 bf16");

    cr_expect_eq(info_of(gemm).origin, JIT_GEMM_ORIGIN_COMPILED);
    cr_expect_eq(api_fixture_stats(&fixture).cache_rejects, 1);
    cr_expect_not_null(
        strstr(fixture.log, "is compiled again: the driver does not load it"), "%s",
        fixture.log);
    jit_gemm_destroy(&gemm);
    api_fixture_reopen(&fixture);
    gemm = create(&fixture, "512x512x512 bf16");
    cr_expect_eq(info_of(gemm).origin, JIT_GEMM_ORIGIN_DISK);
    cr_expect_eq(api_fixture_stats(&fixture).cache_rejects, 0);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

/* The plan is the same on all boards; one with fewer says so, and how to plan for it. */
Test(create, clusters_of_parts_that_a_board_does_not_hold_at_once_are_told)
{
    static const struct {
        const char *text;
        int resident;
        const char *told; /* NULL: nothing */
    } rows[] = {
        {"512x512x8192 bf16 config=tile=128x128 split_k=4 split_order=cluster", 15,
         "15 clusters of 4 CTAs run at once on this device, where the plan counts on 16: "
         "launches take a turn more; clusters_of_4=15 in plan_for, cluster= or"},
        {"512x512x8192 bf16 config=tile=128x128 split_k=4 split_order=cluster", 16, NULL},
        {"640x768x8192 bf16 config=tile=128x128 cluster=1x2 split_k=4 split_order=cluster",
         14,
         "14 clusters of 8 CTAs run at once on this device, where the plan counts on 15: "
         "launches take a turn more; clusters_of_8=14 in plan_for, cluster= or"},
        {"512x512x8192 bf16 config=tile=128x128 split_k=5 split_order=cluster", 15,
         "15 clusters of 5 CTAs run at once on this device, where the plan counts on 16: "
         "launches take a turn more; cluster= or"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct api_fixture fixture;
        api_fixture_open(&fixture);
        fixture.fake->resident_clusters = rows[i].resident;
        jit_gemm *gemm = create(&fixture, rows[i].text);

        const char *told = rows[i].told != NULL ? rows[i].told : "run at once";
        cr_expect_eq(strstr(fixture.log, told) != NULL, rows[i].told != NULL, "%s",
                     fixture.log);

        jit_gemm_destroy(&gemm);
        api_fixture_close(&fixture);
    }
}

/* What was just compiled is not compiled for ever. */
Test(create, fresh_code_that_the_driver_refuses_fails_at_once)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    fixture.fake->failing_result = CUDA_ERROR_INVALID_IMAGE;
    fixture.fake->failing_function = "cuLibraryLoadData";
    const jit_gemm_problem problem = api_problem("512x512x512 bf16");
    jit_gemm *gemm = NULL;

    cr_expect_eq(jit_gemm_create(fixture.context, &problem, &gemm), JIT_GEMM_ERR_LOAD);
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 1);
    cr_expect_eq(jit_gemm_create(fixture.context, &problem, &gemm), JIT_GEMM_ERR_LOAD);

    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 2);
    fixture.fake->failing_function = NULL;
    api_fixture_close(&fixture);
}

Test(create, load_failure_is_reported_and_leaves_nothing)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_problem problem = api_problem("512x512x512 bf16");
    static const struct {
        const char *function;
        jit_gemm_status status;
    } rows[] = {
        {"cuLibraryLoadData", JIT_GEMM_ERR_LOAD},
        {"cuLibraryGetKernel", JIT_GEMM_ERR_LOAD},
        {"cuKernelSetAttribute", JIT_GEMM_ERR_LOAD},
        {"cuKernelGetAttribute", JIT_GEMM_ERR_LOAD},
        {"cuKernelGetFunction", JIT_GEMM_ERR_LOAD},
        {"cuCtxGetCurrent", JIT_GEMM_ERR_DEVICE},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        jit_gemm *gemm = NULL;
        fixture.fake->failing_result = CUDA_ERROR_UNKNOWN;
        fixture.fake->failing_function = rows[i].function;
        const jit_gemm_status status = jit_gemm_create(fixture.context, &problem, &gemm);
        fixture.fake->failing_function = NULL;
        cr_expect_eq(status, rows[i].status, "%s gave %d", rows[i].function, (int)status);
        cr_expect_null(gemm);
        cr_expect(api_error_has("fake driver error"));
        cr_expect_eq(atomic_load(&fixture.fake->loads),
                     atomic_load(&fixture.fake->unloads));
    }
    fixture.fake->failing_result = CUDA_ERROR_OUT_OF_MEMORY;
    fixture.fake->failing_function = "cuLibraryLoadData";
    jit_gemm *gemm = NULL;
    cr_expect_eq(jit_gemm_create(fixture.context, &problem, &gemm), JIT_GEMM_ERR_NO_MEMORY);
    api_fixture_close(&fixture);
}

static const char *hint_of_refusal(struct api_fixture *fixture, CUresult result)
{
    static char hint[256];
    jit_gemm_diagnostics *diagnostics = NULL;
    jit_gemm_diagnostic item = {.struct_size = sizeof(item)};
    jit_gemm *gemm = NULL;
    const jit_gemm_problem problem = api_problem("512x512x512 bf16");
    fixture->fake->failing_result = result;
    fixture->fake->failing_function = "cuLibraryGetKernel";
    cr_expect_eq(jit_gemm_create(fixture->context, &problem, &gemm), JIT_GEMM_ERR_LOAD);
    fixture->fake->failing_function = NULL;
    cr_assert_eq(jit_gemm_diagnostics_take(&diagnostics), JIT_GEMM_OK);
    cr_assert_eq(jit_gemm_diagnostics_get(diagnostics, 0, &item), JIT_GEMM_OK);
    snprintf(hint, sizeof(hint), "%s", item.hint);
    jit_gemm_diagnostics_destroy(&diagnostics);
    return hint;
}

Test(create, only_code_without_its_kernel_is_a_reason_to_empty_the_cache)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);

    cr_expect_not_null(
        strstr(hint_of_refusal(&fixture, CUDA_ERROR_NOT_FOUND), "empty the disk cache"));
    cr_expect_null(strstr(hint_of_refusal(&fixture, CUDA_ERROR_NOT_SUPPORTED), "cache"));
    api_fixture_close(&fixture);
}

Test(create, cluster_that_does_not_fit_is_a_load_error)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    fixture.fake->resident_clusters = 0;
    const jit_gemm_problem problem =
        api_problem("4096x4096x4096 bf16 config=tile=128x256 cluster=2x1");
    jit_gemm *gemm = NULL;

    cr_expect_eq(jit_gemm_create(fixture.context, &problem, &gemm), JIT_GEMM_ERR_LOAD);
    cr_expect(api_error_has("not one cluster of 2 CTAs"));
    api_fixture_close(&fixture);
}

Test(create, smaller_clusters_are_chosen_where_none_fits)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    fixture.fake->most_cluster_ctas = 1;
    const jit_gemm_problem problem = api_problem("4096x4096x4096 bf16");
    char trace[65536];

    cr_assert_eq(jit_gemm_plan(fixture.context, &problem, trace, sizeof(trace), NULL),
                 JIT_GEMM_OK);
    cr_expect_not_null(strstr(trace, "chosen: kernel=gemm tile=128x256x64 cluster=2x1"));
    jit_gemm *gemm = create(&fixture, "4096x4096x4096 bf16");
    const long loads = atomic_load(&fixture.fake->loads);
    jit_gemm *other = create(&fixture, "8192x4096x4096 bf16");

    cr_expect_not_null(strstr(info_of(gemm).config, "cluster=1x1"), "%s",
                       info_of(gemm).config);
    cr_expect_not_null(strstr(info_of(other).config, "cluster=1x1"));
    cr_expect_eq(atomic_load(&fixture.fake->loads), loads + 1, "the context has learned");
    cr_expect_not_null(strstr(fixture.log, "holds no cluster of 2 CTAs"), "%s",
                       fixture.log);
    cr_assert_eq(jit_gemm_plan(fixture.context, &problem, trace, sizeof(trace), NULL),
                 JIT_GEMM_OK);
    cr_expect_not_null(strstr(trace, "cluster=2x1: the device holds no cluster of 2 CTAs"));
    jit_gemm_destroy(&gemm);
    jit_gemm_destroy(&other);
    api_fixture_close(&fixture);
}

Test(create, spills_and_registers_beyond_the_plan_are_logged)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    fixture.fake->local_bytes = 48;
    fixture.fake->registers = 255;

    jit_gemm *gemm = create(&fixture, "512x512x512 bf16");

    cr_expect_eq(info_of(gemm).spill_bytes, 48);
    cr_expect_not_null(strstr(fixture.log, "48 bytes of local memory"), "%s", fixture.log);
    cr_expect_not_null(strstr(fixture.log, "255 registers"), "%s", fixture.log);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(create, capture_is_refused_unless_the_kernel_is_loaded)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm *loaded = create(&fixture, "512x512x512 bf16");
    const jit_gemm_problem other = api_problem("256x512x512 bf16");
    fixture.fake->capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;

    jit_gemm *gemm = NULL;
    cr_expect_eq(jit_gemm_create(fixture.context, &other, &gemm), JIT_GEMM_ERR_CAPTURE);
    cr_expect(api_error_has("create the kernel before the capture"));
    fixture.fake->capture = 0;
    fixture.fake->failing_result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    fixture.fake->failing_function = "cuStreamIsCapturing";
    cr_expect_eq(jit_gemm_create(fixture.context, &other, &gemm), JIT_GEMM_ERR_CAPTURE);
    jit_gemm *again = create(&fixture, "512x512x512 bf16");
    cr_expect_eq(info_of(again).origin, JIT_GEMM_ORIGIN_MEMORY);

    jit_gemm_destroy(&again);
    jit_gemm_destroy(&loaded);
    api_fixture_close(&fixture);
}

Test(create, foreign_context_of_the_thread_is_left_alone)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const struct jg_device *device = fixture.context->device;
    int marker = 0;
    CUcontext foreign = (CUcontext)(void *)&marker;
    cr_assert_eq(device->driver->ctx_set_current(foreign), CUDA_SUCCESS);

    jit_gemm *gemm = create(&fixture, "512x512x512 bf16");

    CUcontext current = NULL;
    cr_expect_eq(device->driver->ctx_get_current(&current), CUDA_SUCCESS);
    cr_expect_eq(current, foreign);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(build, forms_without_a_device)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    options.no_device = 1;
    options.arch = "sm_90a";
    api_fixture_open_with(&fixture, &options, 0);
    const jit_gemm_problem problem = api_problem("512x512x512 bf16");
    jit_gemm_artifact *artifact = NULL;
    size_t size = 0;

    cr_assert_eq(jit_gemm_build(fixture.context, &problem, JIT_GEMM_EMIT_SOURCE, &artifact),
                 JIT_GEMM_OK);
    cr_expect_not_null(strstr(jit_gemm_artifact_data(artifact, &size), "struct Config"));
    cr_expect_eq(strlen(jit_gemm_artifact_data(artifact, NULL)), size);
    jit_gemm_artifact_destroy(&artifact);
    cr_assert_eq(jit_gemm_build(fixture.context, &problem, JIT_GEMM_EMIT_PTX, &artifact),
                 JIT_GEMM_OK);
    cr_expect_not_null(strstr(jit_gemm_artifact_data(artifact, &size), "dummy PTX"));
    jit_gemm_artifact_destroy(&artifact);
    cr_assert_eq(jit_gemm_build(fixture.context, &problem, JIT_GEMM_EMIT_CUBIN, &artifact),
                 JIT_GEMM_OK);
    cr_expect_eq(memcmp(jit_gemm_artifact_data(artifact, &size), "\177ELF", 4), 0);
    jit_gemm_artifact_destroy(&artifact);
    cr_expect_null(artifact);
    cr_expect_eq(jit_gemm_build(fixture.context, &problem, (jit_gemm_emit)9, &artifact),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(atomic_load(&fixture.fake->calls), 0);
    api_fixture_close(&fixture);
}

/* What a build of the cache folder's context gives for the problem. */
static jit_gemm_artifact *build(const struct api_fixture *fixture, const char *text,
                                jit_gemm_emit emit)
{
    const jit_gemm_problem problem = api_problem(text);
    jit_gemm_artifact *artifact = NULL;
    cr_assert_eq(jit_gemm_build(fixture->context, &problem, emit, &artifact), JIT_GEMM_OK,
                 "%s: %s", text, jit_gemm_last_error());
    return artifact;
}

static jit_gemm_info info_of_artifact(const jit_gemm_artifact *artifact)
{
    jit_gemm_info info = {.struct_size = sizeof(info)};
    cr_assert_eq(jit_gemm_artifact_get_info(artifact, &info), JIT_GEMM_OK);
    return info;
}

enum { MOST_SIZES = 16 };

/* Builds the problem for planned sizes of a dynamic M, 1, 2, 4, ... 2^(count - 1): equal
 * units have one key, one entry and one compile, and others have others. */
static void expect_an_entry_per_kernel(struct api_fixture *fixture, const char *rest,
                                       int count)
{
    jit_gemm_artifact *units[MOST_SIZES];
    char keys[MOST_SIZES][33];
    const int calls = jg_compiler_dummy_calls(fixture->compiler);
    int kernels = 0;
    for (int i = 0; i < count; i++) {
        char text[256];
        snprintf(text, sizeof(text), "m=%d %s dynamic=m", 1 << i, rest);
        units[i] = build(fixture, text, JIT_GEMM_EMIT_SOURCE);
        jit_gemm_artifact *code = build(fixture, text, JIT_GEMM_EMIT_CUBIN);
        const jit_gemm_info info = info_of_artifact(code);
        memcpy(keys[i], info.key, sizeof(keys[i]));
        bool is_known = false;
        for (int other = 0; other < i; other++) {
            const bool is_same = strcmp(jit_gemm_artifact_data(units[i], NULL),
                                        jit_gemm_artifact_data(units[other], NULL)) == 0;
            cr_expect_eq(strcmp(keys[i], keys[other]) == 0, is_same, "%s", text);
            is_known |= is_same;
        }
        kernels += !is_known;
        cr_expect_eq(info.origin,
                     is_known ? JIT_GEMM_ORIGIN_DISK : JIT_GEMM_ORIGIN_COMPILED, "%s",
                     text);
        jit_gemm_artifact_destroy(&code);
    }
    cr_expect_lt(kernels, count);
    cr_expect_eq(jg_compiler_dummy_calls(fixture->compiler) - calls, kernels);
    for (int i = 0; i < count; i++) {
        jit_gemm_artifact_destroy(&units[i]);
    }
}

Test(build, planned_sizes_of_one_kernel_are_one_entry)
{
    static const char *const chips[] = {"sm_90a", "sm_100a"};
    for (int chip = 0; chip < 2; chip++) {
        struct api_fixture fixture;
        jit_gemm_context_options options = api_fixture_options(&fixture);
        options.no_device = 1;
        options.arch = chips[chip];
        api_fixture_open_with(&fixture, &options, 0);
        expect_an_entry_per_kernel(&fixture, "n=4096 k=4096 a=bf16", 14);
        expect_an_entry_per_kernel(&fixture, "n=1000 k=8192 a=f16 d=f32", 14);
        expect_an_entry_per_kernel(&fixture, "n=8192 k=512 a=e4m3 d=bf16 workspace=64m",
                                   14);
        api_fixture_close(&fixture);
    }
}

Test(build, a_config_of_every_planned_size_is_one_entry)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    options.no_device = 1;
    options.arch = "sm_100a";
    api_fixture_open_with(&fixture, &options, 0);
    static const char *const texts[] = {
        "m=16 n=4096 k=512 a=bf16 dynamic=m config=mma=256x128 cta_group=2 cluster=2x1 "
        "scheduler=clc k_group=1 stages=4 acc_stages=2 raster=m raster_group=1 split_k=1",
        "m=8192 n=4096 k=512 a=bf16 dynamic=m config=mma=256x128 cta_group=2 cluster=2x1 "
        "scheduler=clc k_group=1 stages=4 acc_stages=2 raster=m raster_group=1 split_k=1 "
        "out_stages=2",
        "m=8192 n=4096 k=512 a=bf16 dynamic=m workspace=64m config=mma=256x128 "
        "cluster=2x1 scheduler=clc k_group=1 stages=4 acc_stages=2 raster=m "
        "raster_group=1 split_k=1 pdl=1",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        jit_gemm_artifact *code = build(&fixture, texts[i], JIT_GEMM_EMIT_CUBIN);
        jit_gemm_artifact_destroy(&code);
    }
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 1);
    api_fixture_close(&fixture);
}

Test(build, an_artifact_says_what_was_built)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    options.no_device = 1;
    options.arch = "sm_100a";
    api_fixture_open_with(&fixture, &options, 0);
    const jit_gemm_problem problem =
        api_problem("512x512x512 bf16 config=mma=256x192 cluster=2x1 acc_stages=2");
    jit_gemm_artifact *artifact = NULL;
    jit_gemm_info info = {.struct_size = sizeof(info)};

    cr_assert_eq(jit_gemm_build(fixture.context, &problem, JIT_GEMM_EMIT_CUBIN, &artifact),
                 JIT_GEMM_OK);
    cr_assert_eq(jit_gemm_artifact_get_info(artifact, &info), JIT_GEMM_OK);
    cr_expect_str_eq(info.arch, "sm_100a");
    cr_expect_eq(info.tmem_columns, 512); /* 2 * 192, rounded up to a power of two */
    cr_expect_eq(info.threads, 192);
    cr_expect_eq(info.registers, 168); /* what the dummy compiler reports */
    cr_expect_eq(info.origin, JIT_GEMM_ORIGIN_COMPILED);
    cr_expect_eq(strlen(info.key), 32);
    cr_expect_not_null(strstr(info.entry, "256x192"));
    cr_expect_not_null(strstr(info.config, "mma=256x192 cta_group=2 cluster=2x1"));
    cr_expect_eq(jit_gemm_artifact_get_info(artifact, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(jit_gemm_artifact_get_info(NULL, &info), JIT_GEMM_ERR_ARGUMENT);
    jit_gemm_artifact_destroy(&artifact);
    cr_assert_eq(jit_gemm_build(fixture.context, &problem, JIT_GEMM_EMIT_SOURCE, &artifact),
                 JIT_GEMM_OK);
    cr_assert_eq(jit_gemm_artifact_get_info(artifact, &info), JIT_GEMM_OK);
    cr_expect_str_eq(info.key, "");
    cr_expect_eq(info.registers, 0);
    cr_expect_eq(info.tmem_columns, 512);
    jit_gemm_artifact_destroy(&artifact);
    api_fixture_close(&fixture);
}

Test(create, info_says_what_sums_keep)
{
    static const struct {
        const char *arch, *problem;
        uint32_t bits;
    } rows[] = {
        {"sm_90a", "512x512x512 bf16", 23},
        {"sm_90a", "512x512x512 tf32", 23},
        {"sm_90a", "512x512x512 e4m3 d=f32", 13},
        {"sm_90a", "512x512x512 e5m2 b=e4m3", 13},
        {"sm_90a", "512x512x512 s8", 0},
        {"sm_90a", "512x512x512 e4m3 config=kernel=reference", 52},
        {"sm_90a", "512x512x512 s8 config=kernel=reference", 0},
        {"sm_100a", "512x512x512 bf16", 23},
        {"sm_100a", "512x512x512 e4m3", 23},
        {"sm_100a", "512x512x512 s8", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct api_fixture fixture;
        jit_gemm_context_options options = api_fixture_options(&fixture);
        options.no_device = 1;
        options.arch = rows[i].arch;
        api_fixture_open_with(&fixture, &options, 0);
        const jit_gemm_problem problem = api_problem(rows[i].problem);
        jit_gemm_artifact *artifact = NULL;
        jit_gemm_info info = {.struct_size = sizeof(info), .sum_fraction_bits = 99};

        cr_assert_eq(
            jit_gemm_build(fixture.context, &problem, JIT_GEMM_EMIT_SOURCE, &artifact),
            JIT_GEMM_OK, "%s", jit_gemm_last_error());
        cr_assert_eq(jit_gemm_artifact_get_info(artifact, &info), JIT_GEMM_OK);

        cr_expect_eq(info.sum_fraction_bits, rows[i].bits, "%s %s: %u", rows[i].arch,
                     rows[i].problem, info.sum_fraction_bits);
        jit_gemm_artifact_destroy(&artifact);
        api_fixture_close(&fixture);
    }
}

Test(create, info_of_a_handle_says_what_sums_keep)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_problem problem = api_problem("512x512x512 e4m3");
    jit_gemm *gemm = NULL;
    jit_gemm_info info = {.struct_size = sizeof(info)};
    cr_assert_eq(jit_gemm_create(fixture.context, &problem, &gemm), JIT_GEMM_OK);

    cr_assert_eq(jit_gemm_get_info(gemm, &info), JIT_GEMM_OK);

    cr_expect_eq(info.sum_fraction_bits, 13);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(create, reference_kernel_runs_without_maps)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm *gemm =
        create(&fixture, "m=333 n=17 k=333 a=bf16 d=f32 config=kernel=reference");
    fixture.fake->recording = 1;
    const jit_gemm_args args = {.struct_size = sizeof(args),
                                .a = {.pointer = 0x10002},
                                .b = {.pointer = 0x20002},
                                .d = {.pointer = 0x30004}};

    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s", jit_gemm_last_error());

    cr_expect_eq(atomic_load(&fixture.fake->encodes), 0);
    cr_expect_eq(fixture.fake->last_launch.block, 256);
    cr_expect_eq(fixture.fake->last_launch.grid, (333 * 17 + 255) / 256);
    cr_expect_eq(fixture.fake->last_launch.params.a.ld, 333);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}
