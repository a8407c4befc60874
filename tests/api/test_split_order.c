/* SPDX-License-Identifier: MIT */
/* Orders in which parts of K are added up, which give the same bits. */
#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jit_gemm/debug.h"
#include "jit_gemm/device.h"
#include "split_fixture.h"
#include "strides.h"

struct same_bits {
    const char *settings, *serial, *other;
};

/* Twice, of which the second launch finds what the first has left. The test above compares
 * the serial order with the sums of single parts. */
static void expect_serial_bits(const struct same_bits *row)
{
    struct split_fixture fixture;
    const char *arch = strstr(row->serial, "mma=") != NULL ? "sm_100a" : "sm_90a";
    split_open(&fixture, arch, row->settings, 0);
    jit_gemm *serial = split_create(&fixture, row->serial);
    jit_gemm *other = split_create(&fixture, row->other);
    jit_gemm *whole = split_create(&fixture, "200x136x520 bf16 d=f32 config=split_k=1");
    const size_t bytes = split_workspace_bytes(other) > split_workspace_bytes(serial)
                             ? split_workspace_bytes(other)
                             : split_workspace_bytes(serial);
    const struct split_workspace workspace = split_make_workspace(&fixture, bytes);

    float *expected = split_run(&fixture, serial, 0, 0, workspace.address);
    float *unsplit = split_run(&fixture, whole, 0, 0, 0);

    for (int i = 0; i < 2; i++) {
        float *got = split_run(&fixture, other, 0, 0,
                               split_workspace_bytes(other) > 0 ? workspace.address : 0);
        cr_expect_eq(split_first_difference(got, expected), (size_t)M * N,
                     "%s: element %zu", row->other, split_first_difference(got, expected));
        cr_expect_neq(split_first_difference(got, unsplit), (size_t)M * N,
                      "the test could not tell a split kernel from another");
        split_expect_kept(&fixture, &workspace);
        free(got);
    }
    free(expected);
    free(unsplit);
    split_check(jit_gemm_device_free(fixture.context, workspace.base));
    jit_gemm_destroy(&serial);
    jit_gemm_destroy(&other);
    jit_gemm_destroy(&whole);
    split_close(&fixture);
}

Test(split_order, cluster_gives_the_bits_of_serial_order_without_a_workspace)
{
    static const struct same_bits rows[] = {
        {"numbers=exact,async=latest,sms=8",
         "200x136x520 bf16 d=f32 config=tile=64x128 cluster=1x1 split_k=2",
         "200x136x520 bf16 d=f32 config=tile=64x128 split_k=2 split_order=cluster"},
        {"numbers=exact,async=random,seed=6,sms=8,schedule=starve",
         "200x136x520 bf16 d=f32 config=tile=128x128 cluster=1x1 split_k=8",
         "200x136x520 bf16 d=f32 config=tile=128x128 split_k=8 split_order=cluster"},
        {"numbers=exact,async=reorder,seed=7,sms=8,schedule=random",
         "200x136x520 bf16 d=f32 config=tile=64x256 cluster=1x1 split_k=5",
         "200x136x520 bf16 d=f32 config=tile=64x256 split_k=5 split_order=cluster"},
        {"numbers=exact,async=random,seed=8,sms=16",
         "200x136x520 bf16 d=f32 config=tile=64x128 cluster=2x1 split_k=4",
         "200x136x520 bf16 d=f32 config=tile=64x128 cluster=2x1 split_k=4 "
         "split_order=cluster"},
        {"numbers=exact,async=reorder,seed=9,sms=8,schedule=starve",
         "200x136x520 bf16 d=f32 config=tile=128x192 cluster=1x2 split_k=3",
         "200x136x520 bf16 d=f32 config=tile=128x192 cluster=1x2 split_k=3 "
         "split_order=cluster"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        expect_serial_bits(&rows[i]);
    }
}

/* Also where one part or a few run at a time, so that those that wait leave their shares to
 * the last one. */
Test(split_order, parts_that_write_a_share_each_give_the_bits_of_serial_order)
{
    static const struct same_bits rows[] = {
        {"numbers=exact,async=random,seed=8,sms=16",
         "200x136x520 bf16 d=f32 config=tile=64x128 cluster=2x1 split_k=4",
         "200x136x520 bf16 d=f32 config=tile=64x128 cluster=2x1 split_k=4 "
         "split_order=parallel"},
        {"numbers=exact,async=latest,sms=16",
         "200x136x520 bf16 d=f32 config=tile=64x128 cluster=1x1 split_k=2",
         "200x136x520 bf16 d=f32 config=tile=64x128 cluster=1x1 split_k=2 "
         "split_order=parallel"},
        {"numbers=exact,async=random,seed=6,sms=1,schedule=starve",
         "200x136x520 bf16 d=f32 config=tile=128x128 cluster=1x1 split_k=8",
         "200x136x520 bf16 d=f32 config=tile=128x128 cluster=1x1 split_k=8 "
         "split_order=parallel"},
        {"numbers=exact,async=reorder,seed=7,sms=7,schedule=random",
         "200x136x520 bf16 d=f32 config=tile=64x32 swap_ab=1 cluster=1x1 split_k=9",
         "200x136x520 bf16 d=f32 config=tile=64x32 swap_ab=1 cluster=1x1 split_k=9 "
         "split_order=parallel"},
        {"numbers=exact,async=random,seed=10,sms=1,schedule=starve",
         "200x136x520 bf16 d=f32 config=mma=128x64 cluster=1x1 split_k=8",
         "200x136x520 bf16 d=f32 config=mma=128x64 cluster=1x1 split_k=8 "
         "split_order=parallel"},
        {"numbers=exact,async=reorder,seed=9,sms=8,schedule=starve",
         "200x136x520 bf16 d=f32 config=tile=128x192 cluster=1x2 split_k=3",
         "200x136x520 bf16 d=f32 config=tile=128x192 cluster=2x2 split_k=3 "
         "split_order=parallel"},
        {"numbers=exact,async=reorder,seed=11,sms=16,schedule=random",
         "200x136x520 bf16 d=f32 config=mma=256x128 cluster=2x1 split_k=5",
         "200x136x520 bf16 d=f32 config=mma=256x128 cluster=2x1 split_k=5 "
         "split_order=parallel"},
    };
    const size_t step = (size_t)test_stride(2);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i += step) {
        expect_serial_bits(&rows[i]);
    }
}

struct filled {
    const char *problem;
    uint32_t word; /* that fills the workspace */
};

enum { NOT_COMPILED = 3 };

/* A launch that gets such a workspace, in a process that ends with it: 0 if the launch
 * failed, and where there is a debug build said why. */
static int run_filled(const struct filled *row)
{
    const bool is_debug = strstr(row->problem, "debug=1") != NULL;
    const bool reduces = strstr(row->problem, "epilogue=") != NULL;
    struct split_fixture fixture;
    jit_gemm_arg sums = {0};
    split_open(&fixture, strstr(row->problem, "mma=") != NULL ? "sm_100a" : "sm_90a",
               "numbers=exact,sms=16,show=none", 0);
    jit_gemm_problem problem;
    jit_gemm *gemm = NULL;
    split_check(jit_gemm_problem_parse(row->problem, &problem));
    if (jit_gemm_create(fixture.context, &problem, &gemm) != JIT_GEMM_OK) {
        return NOT_COMPILED;
    }
    const struct split_workspace workspace =
        split_make_workspace(&fixture, split_workspace_bytes(gemm));
    uint32_t words[LOCK_BYTES / sizeof(uint32_t)];
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        words[i] = row->word;
    }
    split_check(
        jit_gemm_device_upload(fixture.context, workspace.address, words, sizeof(words)));
    split_check(jit_gemm_device_alloc(fixture.context, N * sizeof(float), &sums.pointer));
    const jit_gemm_args args = {.struct_size = sizeof(args),
                                .a = {.pointer = fixture.a, .ld = K},
                                .b = {.pointer = fixture.b, .ld = K},
                                .d = {.pointer = fixture.d},
                                .operands = &sums,
                                .operand_count = reduces ? 1 : 0,
                                .workspace = workspace.address};
    split_check(jit_gemm_run(gemm, &args, NULL));
    if (jit_gemm_device_synchronize(fixture.context) == JIT_GEMM_OK) {
        return 1;
    }
    char report[4096] = "";
    if (is_debug) {
        split_check(jit_gemm_debug_report(gemm, report, sizeof(report), NULL));
    }
    return is_debug && strstr(report, "in a word of the workspace that counts: its bytes "
                                      "must be zero before the first launch") == NULL
               ? 2
               : 0;
}

/* Whatever counted there would be taken for parts that have come, and D left as it was, or
 * made of other sums. */
Test(split_order, workspace_that_was_not_zero_ends_the_launch)
{
    static const struct filled rows[] = {
        {"200x136x520 bf16 d=f32 config=tile=64x128 cluster=1x1 split_k=4 debug=1", 3},
        {"200x136x520 bf16 d=f32 config=tile=64x128 cluster=1x1 split_k=4 "
         "split_order=unordered",
         1},
        {"200x136x520 bf16 d=f32 config=tile=64x128 cluster=1x1 split_k=4 "
         "split_order=parallel",
         0xffffffff},
        {"200x136x520 bf16 d=f32 config=tile=64x128 cluster=1x1 split_k=4 "
         "split_order=parallel debug=1",
         1},
        {"200x136x520 bf16 d=f32 config=mma=128x64 cluster=1x1 split_k=4", 0x3f800000},
        {"200x136x520 bf16 d=f32 config=mma=128x64 cluster=1x1 split_k=4 "
         "split_order=parallel",
         0xffffffff},
        /* of a reduction, whose last team counts there */
        {"200x136x520 bf16 d=f32 epilogue=bias_gradient config=tile=64x128 cluster=1x1", 1},
        {"200x136x520 bf16 d=f32 epilogue=bias_gradient config=tile=64x128 cluster=1x1 "
         "debug=1",
         0xffffffff},
        {"200x136x520 bf16 d=f32 epilogue=bias_gradient config=mma=128x64 cluster=1x1",
         0x3f800000}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const pid_t child = fork(); /* the device is dead afterwards */
        if (child == 0) {
            _exit(run_filled(&rows[i]));
        }
        int status = -1;
        cr_assert_eq(waitpid(child, &status, 0), child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_COMPILED) {
            cr_skip_test("NVRTC is needed");
        }
        cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s with 0x%08x: %x",
                  rows[i].problem, rows[i].word, (unsigned)status);
    }
}
