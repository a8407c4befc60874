/* SPDX-License-Identifier: MIT */
/* Contexts: options, the device or its absence, and what is said of them. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api_fixture.h"
#include "jit_gemm/device.h"
#include "jit_gemm/family.h"

static jit_gemm_status try_context(const jit_gemm_context_options *options)
{
    jit_gemm_context *context = NULL;
    const jit_gemm_status status = jit_gemm_context_create(options, &context);
    cr_expect_eq(status == JIT_GEMM_OK, context != NULL);
    jit_gemm_context_destroy(&context);
    return status;
}

Test(context, takes_architecture_and_facts_from_the_device)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm_device_info info = {.struct_size = sizeof(info)};

    cr_expect_str_eq(jit_gemm_context_arch(fixture.context), "sm_90a");
    cr_assert_eq(jit_gemm_device_get_info(fixture.context, &info), JIT_GEMM_OK);
    cr_expect_str_eq(info.name, "Fake GPU 0");
    cr_expect_eq(info.sm_count, 132);
    cr_expect_eq(info.driver_version, 13000);
    cr_expect_eq(info.smem_optin_bytes, 232448);
    api_fixture_close(&fixture);
}

Test(context, unsupported_device_lists_what_is_supported)
{
    struct api_fixture fixture;
    const jit_gemm_context_options options = api_fixture_options(&fixture);
    fixture.fake->cc_major = 8;

    cr_expect_eq(try_context(&options), JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect(api_error_has("Fake GPU 0 (sm_80)"));
    cr_expect(api_error_has("supported architectures: sm_90a"));
    api_fixture_close(&fixture);
}

Test(context, named_architecture_on_another_device_builds_but_does_not_create)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    fixture.fake->cc_major = 8;
    options.arch = "sm_90a";
    api_fixture_open_with(&fixture, &options, 0);
    const jit_gemm_problem problem = api_problem("512x512x512 bf16");
    jit_gemm *gemm = NULL;

    cr_expect_eq(jit_gemm_check(fixture.context, &problem), JIT_GEMM_OK);
    cr_expect_eq(jit_gemm_create(fixture.context, &problem, &gemm),
                 JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect(api_error_has("kernels for sm_90a do not run on device 0, Fake GPU 0"));
    api_fixture_close(&fixture);
}

Test(context, missing_driver_says_what_was_tried)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    options.driver = "/nonexistent/libcuda.so.1";
    const jit_gemm_problem problem = api_problem("512x512x512 bf16");

    cr_expect_eq(try_context(&options), JIT_GEMM_ERR_NO_DRIVER);
    cr_expect(api_error_has("options.driver: the CUDA driver cannot be opened (tried: "
                            "/nonexistent/libcuda.so.1"));
    options.arch = "sm_90a";
    api_fixture_open_with(&fixture, &options, 0);
    jit_gemm *gemm = NULL;
    cr_expect_eq(jit_gemm_create(fixture.context, &problem, &gemm), JIT_GEMM_ERR_NO_DRIVER);
    cr_expect(api_error_has("/nonexistent/libcuda.so.1"));
    uint64_t address = 0;
    cr_expect_eq(jit_gemm_device_alloc(fixture.context, 16, &address),
                 JIT_GEMM_ERR_NO_DRIVER);
    jit_gemm_artifact *artifact = NULL;
    cr_expect_eq(jit_gemm_build(fixture.context, &problem, JIT_GEMM_EMIT_CUBIN, &artifact),
                 JIT_GEMM_OK);
    jit_gemm_artifact_destroy(&artifact);
    api_fixture_close(&fixture);
}

Test(context, driver_that_is_too_old_or_no_driver_at_all)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);

    fixture.fake->version = 12040;
    cr_expect_eq(try_context(&options), JIT_GEMM_ERR_NO_DRIVER);
    cr_expect(api_error_has("is for CUDA 12.4, which is too old: 12.8 is needed"));
    fixture.fake->version = 13000;
    options.driver = "libm.so.6";
    cr_expect_eq(try_context(&options), JIT_GEMM_ERR_NO_DRIVER);
    cr_expect(api_error_has("libm.so.6 has no function cuInit"));
    options.driver = JG_FAKE_DRIVER;
    fixture.fake->device_count = 0;
    cr_expect_eq(try_context(&options), JIT_GEMM_ERR_DEVICE);
    cr_expect(api_error_has("the driver sees no GPU"));
    fixture.fake->device_count = 1;
    options.device = 3;
    cr_expect_eq(try_context(&options), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("options.device: there is no device 3"));
    options.device = 0;
    fixture.fake->failing_result = CUDA_ERROR_NO_DEVICE;
    fixture.fake->failing_function = "cuInit";
    cr_expect_eq(try_context(&options), JIT_GEMM_ERR_DEVICE);
    cr_expect(api_error_has("no GPU is visible"));
    fixture.fake->failing_result = CUDA_ERROR_UNKNOWN;
    cr_expect_eq(try_context(&options), JIT_GEMM_ERR_NO_DRIVER);
    fixture.fake->failing_function = "cuDevicePrimaryCtxRetain";
    cr_expect_eq(try_context(&options), JIT_GEMM_ERR_DEVICE);
    cr_expect_eq(atomic_load(&fixture.fake->retains), atomic_load(&fixture.fake->releases));
    api_fixture_close(&fixture);
}

/* What a driver says in a child of fork. */
Test(context, driver_that_its_parent_started_is_told_apart_from_none)
{
    struct api_fixture fixture;
    const jit_gemm_context_options options = api_fixture_options(&fixture);

    fixture.fake->failing_result = CUDA_ERROR_NOT_INITIALIZED;
    fixture.fake->failing_function = "cuInit";
    cr_expect_eq(try_context(&options), JIT_GEMM_ERR_NO_DRIVER);
    cr_expect(api_error_has("a child of fork cannot use its parent's driver: exec first"));
    api_fixture_close(&fixture);
}

Test(context, environment_names_driver_and_architecture)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    options.driver = NULL;

    setenv("JIT_GEMM_DRIVER", "/nonexistent/other.so", 1);
    cr_expect_eq(try_context(&options), JIT_GEMM_ERR_NO_DRIVER);
    cr_expect(api_error_has("JIT_GEMM_DRIVER:"));
    setenv("JIT_GEMM_ARCH", "sm_90a", 1);
    cr_expect_eq(try_context(&options), JIT_GEMM_OK);
    setenv("JIT_GEMM_ARCH", "sm_12", 1);
    cr_expect_eq(try_context(&options), JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect(api_error_has("JIT_GEMM_ARCH: this version has no kernels for 'sm_12'"));
    api_fixture_close(&fixture);
}

Test(context, wrong_options_are_named)
{
    struct api_fixture fixture;
    const jit_gemm_context_options good = api_fixture_options(&fixture);
    jit_gemm_context_options options = good;

    options.device = -1;
    cr_expect_eq(try_context(&options), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("options.device"));
    options = good;
    options.policy = (jit_gemm_policy)9;
    cr_expect_eq(try_context(&options), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("options.policy"));
    options = good;
    options.log_level = (jit_gemm_severity)-1;
    cr_expect_eq(try_context(&options), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("options.log_level"));
    options = good;
    options.cache_dir = "relative/folder";
    cr_expect_eq(try_context(&options), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(
        api_error_has("options.cache_dir: 'relative/folder' is not an absolute path"));
    options = good;
    options.no_device = 1;
    cr_expect_eq(try_context(&options), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("options.arch"));
    options = good;
    options.arch = "sm_1000";
    cr_expect_eq(try_context(&options), JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect(api_error_has("supported architectures: sm_90a, sm_100a"));
    cr_expect_eq(jit_gemm_context_create(&good, NULL), JIT_GEMM_ERR_ARGUMENT);
    struct {
        jit_gemm_context_options options;
        int64_t newer_field;
    } newer = {.options = good, .newer_field = 1};
    newer.options.struct_size = sizeof(newer);
    cr_expect_eq(try_context(&newer.options), JIT_GEMM_ERR_VERSION);
    api_fixture_close(&fixture);
}

Test(context, missing_compiler_says_what_was_tried)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    options.nvrtc = "/nonexistent/libnvrtc.so";
    cr_assert_eq(jit_gemm_context_create(&options, &fixture.context), JIT_GEMM_OK);
    const jit_gemm_problem problem = api_problem("512x512x512 bf16");
    jit_gemm *gemm = NULL;

    cr_expect_eq(jit_gemm_create(fixture.context, &problem, &gemm),
                 JIT_GEMM_ERR_NO_COMPILER);
    cr_expect(api_error_has("/nonexistent/libnvrtc.so"));
    size_t length = 0;
    char text[2048];
    cr_expect_eq(jit_gemm_context_describe(fixture.context, text, sizeof(text), &length),
                 JIT_GEMM_ERR_NO_COMPILER);
    cr_expect_eq(strlen(text), length);
    cr_expect_not_null(strstr(text, "device: 0, Fake GPU 0, sm_90"), "%s", text);
    cr_expect_not_null(strstr(text, fixture.folder), "%s", text);
    api_fixture_close(&fixture);
}

/* The stand-in for NVRTC is of version 98.0. */
Test(context, compiler_of_a_newer_release_than_the_driver_is_described)
{
    static const struct {
        int driver;
        bool is_older;
    } rows[] = {{13000, true}, {97090, true}, {98000, false}, {99000, false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct api_fixture fixture;
        jit_gemm_context_options options = api_fixture_options(&fixture);
        options.nvrtc = JG_FAKE_NVRTC_FLOW;
        fixture.fake->version = rows[i].driver;
        cr_assert_eq(jit_gemm_context_create(&options, &fixture.context), JIT_GEMM_OK);
        char text[4096];

        cr_expect_eq(jit_gemm_context_describe(fixture.context, text, sizeof(text), NULL),
                     JIT_GEMM_OK);

        cr_expect_not_null(strstr(text, "compiler: nvrtc 98.0"), "%s", text);
        cr_expect_eq(strstr(text, "compiler: it is of CUDA 98, and the driver of CUDA ") !=
                         NULL,
                     rows[i].is_older, "%s", text);
        fixture.fake->version = 13000;
        api_fixture_close(&fixture);
    }
}

Test(context, describe_measures_and_cuts)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    options.no_device = 1;
    options.arch = "sm_90a";
    options.no_cache = 1;
    api_fixture_open_with(&fixture, &options, 0);
    size_t length = 0;
    char small[10];

    cr_expect_eq(jit_gemm_context_describe(fixture.context, NULL, 0, &length),
                 JIT_GEMM_ERR_NO_DRIVER);
    cr_expect_gt(length, 50);
    cr_expect_eq(jit_gemm_context_describe(fixture.context, small, sizeof(small), NULL),
                 JIT_GEMM_ERR_NO_DRIVER);
    cr_expect_str_eq(small, "library: ");
    cr_expect_eq(jit_gemm_context_describe(fixture.context, NULL, 5, NULL),
                 JIT_GEMM_ERR_ARGUMENT);
    api_fixture_close(&fixture);
}

Test(context, plan_tells_choice_and_rejections)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_problem problem = api_problem("4096x4096x4096 bf16");
    static char text[16384];

    cr_assert_eq(jit_gemm_plan(fixture.context, &problem, text, sizeof(text), NULL),
                 JIT_GEMM_OK);

    cr_expect_not_null(strstr(text, "chosen: "), "%s", text);
    cr_expect_not_null(strstr(text, "tile=128x256"), "%s", text);
    cr_expect_not_null(strstr(text, "rejected: "), "%s", text);
    api_fixture_close(&fixture);
}

Test(context, device_memory_and_timer)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    uint64_t address = 0;
    char back[8] = {0};
    jit_gemm_timer *timer = NULL;
    double us = -1;

    cr_assert_eq(jit_gemm_device_alloc(fixture.context, 100, &address), JIT_GEMM_OK);
    cr_expect_eq(address % 256, 0);
    cr_expect_eq(jit_gemm_device_fill(fixture.context, address, 7, 100), JIT_GEMM_OK);
    cr_expect_eq(jit_gemm_device_upload(fixture.context, address, "abc", 3), JIT_GEMM_OK);
    cr_expect_eq(jit_gemm_device_download(fixture.context, back, address, 4), JIT_GEMM_OK);
    cr_expect_arr_eq(back, "abc\a", 4);
    cr_expect_eq(jit_gemm_device_synchronize(fixture.context), JIT_GEMM_OK);
    cr_expect_eq(jit_gemm_device_free(fixture.context, address), JIT_GEMM_OK);
    cr_expect_eq(jit_gemm_device_free(fixture.context, 0), JIT_GEMM_OK);
    cr_expect_eq(atomic_load(&fixture.fake->allocations), 0);
    cr_expect_eq(jit_gemm_device_upload(fixture.context, 0, "abc", 3),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(jit_gemm_device_alloc(fixture.context, 0, &address),
                 JIT_GEMM_ERR_ARGUMENT);
    fixture.fake->failing_result = CUDA_ERROR_OUT_OF_MEMORY;
    fixture.fake->failing_function = "cuMemAlloc_v2";
    cr_expect_eq(jit_gemm_device_alloc(fixture.context, 8, &address),
                 JIT_GEMM_ERR_NO_MEMORY);
    cr_expect(api_error_has("cuMemAlloc: out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2)"));

    cr_assert_eq(jit_gemm_timer_create(fixture.context, &timer), JIT_GEMM_OK);
    cr_expect_eq(jit_gemm_timer_start(timer, NULL), JIT_GEMM_OK);
    cr_expect_eq(jit_gemm_timer_stop(timer, NULL), JIT_GEMM_OK);
    cr_expect_eq(jit_gemm_timer_elapsed_us(timer, &us), JIT_GEMM_OK);
    cr_expect_geq(us, 0);
    jit_gemm_timer_destroy(&timer);
    cr_expect_null(timer);
    api_fixture_close(&fixture);
}

Test(context, versions_and_statuses)
{
    cr_expect_str_eq(jit_gemm_version_string(), "0.1.0");
    cr_expect_eq(jit_gemm_version(), JIT_GEMM_VERSION);
    cr_expect_str_eq(jit_gemm_status_name(JIT_GEMM_ERR_CAPTURE), "CAPTURE");
    cr_expect_str_eq(jit_gemm_origin_name(JIT_GEMM_ORIGIN_COMPILED), "compiled");
    cr_expect_str_eq(jit_gemm_origin_name(JIT_GEMM_ORIGIN_DISK), "disk");
    cr_expect_str_eq(jit_gemm_origin_name(JIT_GEMM_ORIGIN_MEMORY), "memory");
    cr_expect_str_eq(jit_gemm_origin_name(JIT_GEMM_ORIGIN_BUNDLE), "bundle");
    cr_expect_str_eq(jit_gemm_origin_name((jit_gemm_origin)4), "unknown");
    cr_expect_str_eq(jit_gemm_last_error(), "");
    jit_gemm_context_destroy(NULL);
    jit_gemm_destroy(NULL);
    jit_gemm_artifact_destroy(NULL);
    jit_gemm_timer_destroy(NULL);
    cr_expect_str_eq(jit_gemm_context_arch(NULL), "");
}

Test(context, creating_one_without_a_device_leaves_no_error)
{
    const jit_gemm_context_options options = {
        .struct_size = sizeof(options), .arch = "sm_90a", .no_device = 1, .no_cache = 1};
    jit_gemm_context *context = NULL;

    cr_assert_eq(jit_gemm_context_create(&options, &context), JIT_GEMM_OK);

    cr_expect_str_empty(jit_gemm_last_error());
    jit_gemm *gemm = NULL;
    const jit_gemm_problem problem = api_problem("512x512x512 bf16");
    cr_expect_eq(jit_gemm_create(context, &problem, &gemm), JIT_GEMM_ERR_NO_DRIVER);
    cr_expect(api_error_has("options.no_device"));
    jit_gemm_context_destroy(&context);
}

static void *create_held(void *user)
{
    struct api_fixture *fixture = user;
    const jit_gemm_problem problem = api_problem("512x512x512 bf16");
    jit_gemm *gemm = NULL;
    cr_expect_eq(jit_gemm_create(fixture->context, &problem, &gemm), JIT_GEMM_OK);
    jit_gemm_destroy(&gemm);
    return NULL;
}

/* The thread that builds is not there: a wait for it would have no end. */
Test(context, a_child_of_fork_is_refused_while_its_parent_builds)
{
    struct api_fixture fixture;
    pthread_t thread;
    api_fixture_open(&fixture);
    jg_compiler_dummy_hold(fixture.compiler, true);
    cr_assert_eq(pthread_create(&thread, NULL, create_held, &fixture), 0);
    while (jg_compiler_dummy_held(fixture.compiler) == 0) {
        sched_yield();
    }

    const pid_t child = fork();
    if (child == 0) {
        const jit_gemm_problem problem = api_problem("512x512x512 bf16");
        jit_gemm *gemm = NULL;
        bool is_good =
            jit_gemm_create(fixture.context, &problem, &gemm) == JIT_GEMM_ERR_ARGUMENT &&
            api_error_has("create a context after the fork");
        jit_gemm_context_destroy(&fixture.context);
        is_good &= fixture.context == NULL;
        _exit(is_good ? 0 : 1);
    }
    int status = -1;
    cr_assert_eq(waitpid(child, &status, 0), child);

    cr_expect_eq(status, 0);
    jg_compiler_dummy_hold(fixture.compiler, false);
    pthread_join(thread, NULL);
    api_fixture_close(&fixture);
}

static jit_gemm_status create_many(struct api_fixture *fixture, uint64_t cache_limit,
                                   jit_gemm_stats *ret_stats)
{
    jit_gemm_context_options options = api_fixture_options(fixture);
    options.cache_limit = cache_limit;
    api_fixture_open_with(fixture, &options, 0);
    for (int i = 1; i <= 6; i++) {
        char text[64];
        jit_gemm *gemm = NULL;
        snprintf(text, sizeof(text), "%dx256x256 bf16", 64 * i);
        const jit_gemm_problem problem = api_problem(text);
        cr_assert_eq(jit_gemm_create(fixture->context, &problem, &gemm), JIT_GEMM_OK, "%s",
                     jit_gemm_last_error());
        jit_gemm_destroy(&gemm);
    }
    *ret_stats = (jit_gemm_stats){.struct_size = sizeof(*ret_stats)};
    return jit_gemm_context_stats(fixture->context, ret_stats);
}

Test(context, cache_over_its_limit_loses_the_oldest_kernels)
{
    struct api_fixture small, usual;
    jit_gemm_stats stats;

    cr_expect_eq(create_many(&small, 1, &stats), JIT_GEMM_OK);
    cr_expect_gt(stats.cache_trimmed, 3, "only the last one stays");
    cr_expect_eq(create_many(&usual, 0, &stats), JIT_GEMM_OK);
    cr_expect_eq(stats.cache_trimmed, 0);

    api_fixture_close(&small);
    api_fixture_close(&usual);
}

Test(context, cache_limit_of_the_environment_is_read_or_refused_by_name)
{
    struct api_fixture fixture;
    jit_gemm_stats stats;
    jit_gemm_context *context = NULL;

    setenv("JIT_GEMM_CACHE_LIMIT", "1k", 1);
    cr_expect_eq(create_many(&fixture, 0, &stats), JIT_GEMM_OK);
    cr_expect_gt(stats.cache_trimmed, 0);
    api_fixture_close(&fixture);
    setenv("JIT_GEMM_CACHE_LIMIT", "none", 1);
    cr_expect_eq(create_many(&fixture, 0, &stats), JIT_GEMM_OK);
    cr_expect_eq(stats.cache_trimmed, 0);
    api_fixture_close(&fixture);
    static const char *const wrong[] = {"much", "-1", "0", "12q", "5mb", "99999999999g"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        const jit_gemm_context_options options = {.struct_size = sizeof(options),
                                                  .driver = JG_FAKE_DRIVER};
        setenv("JIT_GEMM_CACHE_LIMIT", wrong[i], 1);
        cr_expect_eq(jit_gemm_context_create(&options, &context), JIT_GEMM_ERR_ARGUMENT,
                     "%s", wrong[i]);
        cr_expect(api_error_has("JIT_GEMM_CACHE_LIMIT: "));
        cr_expect(api_error_has("is no size"));
    }
}

/* What a program does, from one thread: NULL if a call fails. */
static void *call_all(void *fixture_pointer)
{
    static const char manifest[] =
        "jit_gemm manifest 1\nepilogue e\nsnippet\nd = gelu(acc);\n"
        "end\nproblem 512x512x128 bf16 epilogue=e\n"
        "problem m=1..512 n=512 k=128 a=f16 dynamic=m\n";
    static char text[16384];
    struct api_fixture *fixture = fixture_pointer;
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = "small",
                                        .source =
                                            "d = silu(acc) * (acc > 0.0f ? 1.0f : 2.0f);"};
    jit_gemm_prewarm_result result = {.struct_size = sizeof(result)};
    jit_gemm_problem problem;
    jit_gemm_range range;
    jit_gemm_family *family = NULL;
    jit_gemm *gemm = NULL;
    api_fixture_open(fixture);
    jit_gemm_context *context = fixture->context;
    bool holds =
        jit_gemm_epilogue_register(context, &epilogue) == JIT_GEMM_OK &&
        jit_gemm_problem_parse("1024x512x256 bf16 epilogue=small", &problem) ==
            JIT_GEMM_OK &&
        jit_gemm_plan(context, &problem, text, sizeof(text), NULL) == JIT_GEMM_OK &&
        jit_gemm_create(context, &problem, &gemm) == JIT_GEMM_OK &&
        jit_gemm_problem_parse("64x512x256 e4m3 d=bf16 dynamic=m", &problem) ==
            JIT_GEMM_OK &&
        jit_gemm_range_parse("m=1..2048", &range) == JIT_GEMM_OK &&
        jit_gemm_family_create(context, &problem, &range, &family) == JIT_GEMM_OK &&
        jit_gemm_prewarm(context, manifest, sizeof(manifest) - 1, NULL, &result) ==
            JIT_GEMM_OK;
    jit_gemm_family_destroy(&family);
    jit_gemm_destroy(&gemm);
    api_fixture_close(fixture);
    return holds ? fixture_pointer : NULL;
}

/* What AddressSanitizer puts around variables takes as much again. */
#if defined(__SANITIZE_ADDRESS__)
enum { LEAST_STACK = 128 << 10 };
#elif defined(__has_feature)
#    if __has_feature(address_sanitizer)
enum { LEAST_STACK = 128 << 10 };
#    else
enum { LEAST_STACK = 64 << 10 };
#    endif
#else
enum { LEAST_STACK = 64 << 10 };
#endif

Test(context, a_thread_with_a_stack_of_64_kib_may_call_everything)
{
    static struct api_fixture fixture; /* larger than the stack */
    pthread_attr_t attributes;
    pthread_t thread;
    void *result = NULL;
    cr_assert_eq(pthread_attr_init(&attributes), 0);
    cr_assert_eq(pthread_attr_setstacksize(&attributes, LEAST_STACK), 0);

    cr_assert_eq(pthread_create(&thread, &attributes, call_all, &fixture), 0);
    cr_assert_eq(pthread_join(thread, &result), 0);

    cr_expect_not_null(result, "a call failed");
    pthread_attr_destroy(&attributes);
}
