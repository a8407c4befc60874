/* SPDX-License-Identifier: MIT */
/*
 * Kernels that split K, executed on the emulator through the public API: the bits of their
 * sums, and what a launch leaves behind in its workspace.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "jit_gemm/device.h"
#include "split_fixture.h"

/* The parts begin at block part * 9 / parts. */
Test(split_k, serial_order_gives_the_sum_of_the_parts_in_the_order_of_k)
{
    static const struct {
        const char *arch, *settings, *problem;
        int parts;
    } rows[] = {
        {"sm_90a", "numbers=exact,async=latest,sms=4",
         "200x136x520 bf16 d=f32 config=tile=64x128 cluster=1x1 split_k=2", 2},
        {"sm_90a", "numbers=exact,async=random,seed=6,sms=8,resident=1",
         "200x136x520 bf16 d=f32 config=tile=128x128 cluster=2x1 split_k=4", 4},
        {"sm_100a", "numbers=exact,async=latest,sms=4",
         "200x136x520 bf16 d=f32 config=mma=128x64 cluster=1x1 split_k=2", 2},
        {"sm_100a", "numbers=exact,async=random,seed=3,sms=8,schedule=starve",
         "200x136x520 bf16 d=f32 config=mma=256x128 cluster=2x1 split_k=3", 3},
        {"sm_100a", "numbers=exact,async=reorder,seed=4,sms=8,resident=1",
         "200x136x520 bf16 d=f32 config=mma=256x256 cluster=4x1 split_k=4", 4},
        {"sm_100a", "numbers=exact,async=random,seed=5,sms=4,schedule=random",
         "200x136x520 bf16 d=f32 config=mma=128x128 cluster=2x2 split_k=9", 9},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct split_fixture fixture;
        split_open(&fixture, rows[row].arch, rows[row].settings, 0);
        jit_gemm *split = split_create(&fixture, rows[row].problem);
        jit_gemm *part =
            split_create(&fixture, "200x136x520 bf16 d=f32 dynamic=k config=split_k=1");
        jit_gemm *whole = split_create(&fixture, "200x136x520 bf16 d=f32 config=split_k=1");
        const struct split_workspace workspace =
            split_make_workspace(&fixture, split_workspace_bytes(split));

        float *got = split_run(&fixture, split, 0, 0, workspace.address);
        float *unsplit = split_run(&fixture, whole, 0, 0, 0);
        float *sum = NULL;
        for (int i = 0; i < rows[row].parts; i++) {
            const int64_t first = i * 9 / rows[row].parts;
            const int64_t end = (i + 1) * 9 / rows[row].parts * BLOCK;
            float *values =
                split_run(&fixture, part, first, (end < K ? end : K) - first * BLOCK,
                          workspace.address);
            for (size_t j = 0; sum != NULL && j < (size_t)M * N; j++) {
                values[j] = sum[j] + values[j];
            }
            free(sum);
            sum = values;
        }

        cr_expect_eq(split_first_difference(got, sum), (size_t)M * N, "%s: element %zu",
                     rows[row].problem, split_first_difference(got, sum));
        cr_expect_neq(split_first_difference(got, unsplit), (size_t)M * N,
                      "the test could not tell a split kernel from another");
        split_expect_kept(&fixture, &workspace);
        free(got);
        free(unsplit);
        free(sum);
        split_check(jit_gemm_device_free(fixture.context, workspace.base));
        jit_gemm_destroy(&split);
        jit_gemm_destroy(&part);
        jit_gemm_destroy(&whole);
        split_close(&fixture);
    }
}

enum { KERNELS = 3, ROUNDS = 3 };

/* The kernels of one chip take turns. */
static void share_workspace(const char *arch, const char *const problems[KERNELS])
{
    struct split_fixture fixture;
    split_open(&fixture, arch, "async=random,seed=9,sms=8", 1);
    jit_gemm *gemms[KERNELS];
    size_t most = 0;
    for (int i = 0; i < KERNELS; i++) {
        gemms[i] = split_create(&fixture, problems[i]);
        most =
            split_workspace_bytes(gemms[i]) > most ? split_workspace_bytes(gemms[i]) : most;
    }
    jit_gemm *whole = split_create(&fixture, "200x136x520 bf16 d=f32 config=split_k=1");
    const struct split_workspace workspace = split_make_workspace(&fixture, most);
    float *expected = split_run(&fixture, whole, 0, 0, 0);

    for (int i = 0; i < ROUNDS * KERNELS; i++) {
        float *got = split_run(&fixture, gemms[i % KERNELS], 0, 0, workspace.address);
        cr_expect_eq(split_first_difference(got, expected), (size_t)M * N,
                     "launch %d: element %zu", i, split_first_difference(got, expected));
        split_expect_kept(&fixture, &workspace);
        free(got);
    }

    free(expected);
    split_check(jit_gemm_device_free(fixture.context, workspace.base));
    for (int i = 0; i < KERNELS; i++) {
        jit_gemm_destroy(&gemms[i]);
    }
    jit_gemm_destroy(&whole);
    split_close(&fixture);
}

Test(split_k, one_workspace_serves_the_launches_of_all_kernels_one_after_the_other)
{
    static const char *const blackwell[KERNELS] = {
        "200x136x520 bf16 d=f32 config=mma=256x256 cluster=2x1 split_k=2",
        "200x136x520 bf16 d=f32 config=mma=128x64 cluster=1x1 split_k=3",
        ("200x136x520 bf16 d=f32 "
         "config=mma=128x64 cluster=4x2 split_k=4 split_order=arrival"),
    };
    static const char *const hopper[KERNELS] = {
        "200x136x520 bf16 d=f32 config=tile=128x256 cluster=2x1 split_k=2",
        "200x136x520 bf16 d=f32 config=tile=64x128 cluster=1x1 split_k=3",
        ("200x136x520 bf16 d=f32 "
         "config=tile=64x128 cluster=1x2 split_k=5 split_order=arrival"),
    };
    static const char *const shares[KERNELS] = {
        "200x136x520 bf16 d=f32 config=tile=128x192 cluster=2x1 split_k=2 "
        "split_order=parallel",
        "200x136x520 bf16 d=f32 config=tile=64x128 cluster=1x1 split_k=3",
        ("200x136x520 bf16 d=f32 "
         "config=tile=64x128 cluster=1x1 split_k=7 split_order=parallel"),
    };

    share_workspace("sm_100a", blackwell);
    share_workspace("sm_90a", hopper);
    share_workspace("sm_90a", shares);
}

Test(split_k, larger_launch_than_planned_needs_a_larger_workspace_and_says_so)
{
    struct split_fixture fixture;
    split_open(&fixture, "sm_100a", "async=latest,sms=4", 1);
    jit_gemm *small = split_create(&fixture, "m=128 n=136 k=520 a=bf16 d=f32 dynamic=m "
                                             "config=mma=128x64 cluster=1x1 split_k=2");
    jit_gemm *whole = split_create(&fixture, "200x136x520 bf16 d=f32 config=split_k=1");
    const size_t needed = LOCK_BYTES + (size_t)2 * 3 * 128 * 64 * sizeof(float);
    const struct split_workspace workspace = split_make_workspace(&fixture, needed);
    jit_gemm_args args = {.struct_size = sizeof(args),
                          .a = {.pointer = fixture.a},
                          .b = {.pointer = fixture.b},
                          .d = {.pointer = fixture.d},
                          .m = M,
                          .workspace = workspace.address};
    float *expected = split_run(&fixture, whole, 0, 0, 0);
    const size_t bytes = (size_t)M * N * sizeof(float);
    float *got = malloc(bytes);
    cr_assert_not_null(got);

    cr_expect_eq(jit_gemm_run(small, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_not_null(strstr(jit_gemm_last_error(), "args.workspace_bytes"));
    args.workspace_bytes = needed;
    split_check(jit_gemm_device_fill(fixture.context, fixture.d, 0xFF, bytes));
    split_check(jit_gemm_run(small, &args, NULL));
    split_check(jit_gemm_device_synchronize(fixture.context));
    split_check(jit_gemm_device_download(fixture.context, got, fixture.d, bytes));

    cr_expect_eq(split_first_difference(got, expected), (size_t)M * N);
    split_expect_kept(&fixture, &workspace);
    free(got);
    free(expected);
    split_check(jit_gemm_device_free(fixture.context, workspace.base));
    jit_gemm_destroy(&small);
    jit_gemm_destroy(&whole);
    split_close(&fixture);
}
