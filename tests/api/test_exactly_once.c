/* SPDX-License-Identifier: MIT */
/*
 * Our sm_100a kernels under each scheduler: every tile is computed once, however many
 * clusters are resident and whatever launch control answers. D is its own C with beta = 1,
 * so that a tile that is computed twice is added twice, and one that is forgotten is
 * missing.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "emulator/driver/emulator.h"
#include "jit_gemm/device.h"

enum { M = 300, N = 200, K = 72, ELEMENTS = M * N, WORKSPACE_BYTES = 1 << 20 };

#define ONE 0x3f80 /* bf16 */

static jit_gemm_context *context;
static uint64_t a, b, d; /* device addresses; A and B are all ones */
static uint64_t workspace;

static void expect_ok(jit_gemm_status status)
{
    cr_assert_eq(status, JIT_GEMM_OK, "%s", jit_gemm_last_error());
}

static void fill_with_ones(uint64_t address, size_t count)
{
    uint16_t *ones = malloc(count * sizeof(*ones));
    cr_assert_not_null(ones);
    for (size_t i = 0; i < count; i++) {
        ones[i] = ONE;
    }
    expect_ok(jit_gemm_device_upload(context, address, ones, count * sizeof(*ones)));
    free(ones);
}

static void start(void)
{
    const jit_gemm_context_options options = {
        .struct_size = sizeof(options), .arch = "sm_100a", .driver = EMU_LIBRARY_PATH};
    expect_ok(jit_gemm_context_create(&options, &context));
    expect_ok(jit_gemm_device_alloc(context, M * K * sizeof(uint16_t), &a));
    expect_ok(jit_gemm_device_alloc(context, N * K * sizeof(uint16_t), &b));
    expect_ok(jit_gemm_device_alloc(context, ELEMENTS * sizeof(float), &d));
    expect_ok(jit_gemm_device_alloc(context, WORKSPACE_BYTES, &workspace));
    void *zeros = calloc(1, WORKSPACE_BYTES);
    cr_assert_not_null(zeros);
    expect_ok(jit_gemm_device_upload(context, workspace, zeros, WORKSPACE_BYTES));
    free(zeros);
    fill_with_ones(a, M * K);
    fill_with_ones(b, N * K);
}

static void stop(void)
{
    jit_gemm_context_destroy(&context);
}

TestSuite(exactly_once, .init = start, .fini = stop, .timeout = 240);

/* Skips the test where there is no compiler. */
static jit_gemm *create(const char *config)
{
    char text[256];
    snprintf(text, sizeof(text), "m=%d n=%d k=%d a=bf16 c=f32 d=f32 config=%s", M, N, K,
             config);
    jit_gemm_problem problem = {.struct_size = sizeof(problem)};
    expect_ok(jit_gemm_problem_parse(text, &problem));
    jit_gemm *gemm = NULL;
    const jit_gemm_status status = jit_gemm_create(context, &problem, &gemm);
    if (status == JIT_GEMM_ERR_NO_COMPILER) {
        cr_skip_test("NVRTC is needed: %s", jit_gemm_last_error());
    }
    expect_ok(status);
    return gemm;
}

/* Launches that follow each other with nothing between: dependent ones run side by side. */
static void run(const jit_gemm *gemm, const char *settings, int launches)
{
    float *values = malloc(ELEMENTS * sizeof(*values));
    cr_assert_not_null(values);
    for (int i = 0; i < ELEMENTS; i++) {
        values[i] = (float)(i % 7);
    }
    expect_ok(jit_gemm_device_upload(context, d, values, ELEMENTS * sizeof(*values)));
    cr_assert_eq(emuConfigure(settings), CUDA_SUCCESS, "%s", emuLastError());
    const float one = 1.0F;
    const jit_gemm_args args = {.struct_size = sizeof(args),
                                .a = {.pointer = a},
                                .b = {.pointer = b},
                                .c = {.pointer = d},
                                .d = {.pointer = d},
                                .beta = &one,
                                .workspace = workspace,
                                .workspace_bytes = WORKSPACE_BYTES};
    for (int i = 0; i < launches; i++) {
        expect_ok(jit_gemm_run(gemm, &args, NULL));
    }
    expect_ok(jit_gemm_device_download(context, values, d, ELEMENTS * sizeof(*values)));
    int wrong = 0;
    for (int i = 0; i < ELEMENTS; i++) {
        wrong += values[i] != (float)(i % 7 + launches * K);
    }
    cr_expect_eq(wrong, 0, "%s: %d elements are wrong after %d launches", settings, wrong,
                 launches);
    free(values);
    char *found = emuReports(1);
    cr_assert_not_null(found);
    cr_expect_str_empty(found, "%s:\n%s", settings, found);
    free(found);
}

static const char *const schedules[] = {"schedule=fair", "schedule=random", "schedule=deep",
                                        "schedule=starve"};
static const char *const times[] = {"async=eager", "async=latest", "async=random",
                                    "async=reorder"};

/* What the grid meets: one cluster at a time, few, all at once, and refusals of questions
 * that could have been granted. */
static const char *const places[] = {"resident=1",
                                     "resident=3",
                                     "resident=64",
                                     "resident=1,refuse=40",
                                     "resident=2,refuse=100",
                                     "resident=64,refuse=40"};
enum { PLACE_COUNT = sizeof(places) / sizeof(places[0]) };

static void run_everywhere(const char *config, int launches)
{
    jit_gemm *gemm = create(config);
    for (int i = 0; i < 2 * PLACE_COUNT; i++) {
        char settings[160];
        snprintf(settings, sizeof(settings), "%s,%s,%s,seed=%d,sms=64,show=none",
                 places[i % PLACE_COUNT], schedules[(i + launches) % 4],
                 times[(i + i / 4) % 4], i + 1);
        run(gemm, settings, launches);
    }
    jit_gemm_destroy(&gemm);
}

#define ALONE "mma=128x64 cta_group=1 cluster=1x1 stages=2"
#define PAIRS "mma=256x128 cta_group=2 cluster=2x1 stages=2"
#define EIGHT "mma=256x128 cta_group=2 cluster=4x2 stages=2"
#define WIDE  "mma=128x64 cta_group=1 cluster=1x2 stages=2"

Test(exactly_once, clc_with_a_cta_alone)
{
    run_everywhere(ALONE " scheduler=clc", 1);
}

Test(exactly_once, clc_with_pairs)
{
    run_everywhere(PAIRS " scheduler=clc", 1);
}

Test(exactly_once, clc_with_clusters_beyond_the_edge)
{
    run_everywhere(EIGHT " scheduler=clc", 1);
    run_everywhere(WIDE " scheduler=clc", 1);
}

/* The second grid adds to what the first one wrote, and may start before that is there. */
Test(exactly_once, dependent_grids_under_each_scheduler)
{
    run_everywhere(ALONE " scheduler=clc pdl=1", 2);
    run_everywhere(PAIRS " scheduler=clc pdl=1 prefetch=b", 2);
    run_everywhere(ALONE " scheduler=single pdl=1", 2);
    run_everywhere(PAIRS " scheduler=static pdl=1", 2);
}

/* 12 and 4 cluster tiles, of which 5 and 1 have two parts of K. */
Test(exactly_once, parts_of_the_last_wave)
{
    run_everywhere(ALONE " scheduler=static split_k=2 split_tail=7", 1);
    run_everywhere(ALONE " scheduler=clc split_k=2 split_tail=7", 1);
    run_everywhere(PAIRS " scheduler=static split_k=2 split_tail=3 pdl=1", 2);
    run_everywhere(PAIRS " scheduler=single split_k=2 split_tail=3 pdl=1", 2);
}

/* Otherwise the tests above would hold for a scheduler that never gets a tile. */
Test(exactly_once, clusters_do_take_tiles_over)
{
    jit_gemm *gemm = create(ALONE " scheduler=clc");
    const unsigned long long begin = emuThreadSteps();
    run(gemm, "resident=1,seed=1,async=eager,show=none", 1);
    const unsigned long long granted = emuThreadSteps() - begin;
    run(gemm, "resident=1,refuse=100,seed=1,async=eager,show=none", 1);
    const unsigned long long refused = emuThreadSteps() - begin - granted;

    /* Twelve tiles: each cluster that is launched sets itself up. */
    cr_expect_lt(granted, refused);
    jit_gemm_destroy(&gemm);
}
