/* SPDX-License-Identifier: MIT */
/* Launches with groups along K, as the gradients of weights are, whose numbers are the
 * device's. On the emulator of both chips. */
#include <criterion/criterion.h>
#include <string.h>

#include "emulated_fixture.h"
#include "jit_gemm/convert.h"

enum { GROUPS = 4, ROWS = 40, COLUMNS = 24, K = 150, OF_D = ROWS * COLUMNS };

/* A and B as they lie: an element of K after the other. bf16, which holds these values. */
static uint16_t a[K][ROWS], b[K][COLUMNS];
static float c[GROUPS][OF_D], d[GROUPS][OF_D];

/* From -5 to 5, and its bits as bf16. */
static int value(int i)
{
    return i * 37 % 11 - 5;
}
static uint16_t bits_of(int number)
{
    return jit_gemm_bf16_from_float((float)number);
}

struct launch {
    jit_gemm_context *context;
    jit_gemm *gemm;
    jit_gemm_args args;
};

static const float half = 0.5F;

/* K from `used` on has NaN. */
static struct launch open_launch(const char *arch, const char *text, int used)
{
    struct launch launch = {.context = emulated_open(arch, "sms=4,async=latest")};
    const jit_gemm_problem problem = emulated_problem(text);
    const int32_t none[GROUPS] = {0};
    for (int i = 0; i < K * ROWS; i++) {
        a[i / ROWS][i % ROWS] = i / ROWS < used ? bits_of(value(i)) : UINT16_MAX;
    }
    for (int i = 0; i < K * COLUMNS; i++) {
        b[i / COLUMNS][i % COLUMNS] =
            i / COLUMNS < used ? bits_of(value(i * 3 + 1)) : UINT16_MAX;
    }
    for (int i = 0; i < GROUPS * OF_D; i++) {
        c[i / OF_D][i % OF_D] = (float)value(i);
    }
    launch.gemm = emulated_create(launch.context, &problem);
    launch.args =
        (jit_gemm_args){.struct_size = sizeof(launch.args),
                        .k = K,
                        .a = {.pointer = emulated_upload(launch.context, a, sizeof(a))},
                        .b = {.pointer = emulated_upload(launch.context, b, sizeof(b))},
                        .c = {.pointer = emulated_upload(launch.context, c, sizeof(c))},
                        .d = {.pointer = emulated_upload(launch.context, d, sizeof(d))},
                        .beta = &half,
                        .group_sizes = emulated_upload(launch.context, none, sizeof(none))};
    return launch;
}

static void close_launch(struct launch *launch)
{
    emulated_free(launch->context, launch->args.a.pointer);
    emulated_free(launch->context, launch->args.b.pointer);
    emulated_free(launch->context, launch->args.c.pointer);
    emulated_free(launch->context, launch->args.d.pointer);
    emulated_free(launch->context, launch->args.group_sizes);
    jit_gemm_destroy(&launch->gemm);
    jit_gemm_context_destroy(&launch->context);
}

/* D of each group is its part of K multiplied, and half of its C. */
static void expect_sums(const struct launch *launch, const int32_t ends[GROUPS])
{
    emulated_check(
        jit_gemm_device_download(launch->context, d, launch->args.d.pointer, sizeof(d)));
    for (int i = 0; i < GROUPS * OF_D; i++) {
        const int group = i / OF_D, row = i % OF_D / COLUMNS, column = i % COLUMNS;
        double wanted = (double)c[group][i % OF_D] / 2;
        for (int k = group > 0 ? ends[group - 1] : 0; k < ends[group]; k++) {
            wanted += value(k * ROWS + row) * value((k * COLUMNS + column) * 3 + 1);
        }
        const double got = (double)d[group][i % OF_D];
        cr_assert(got >= wanted && got <= wanted, "group %d, row %d, column %d: %g, not %g",
                  group, row, column, got, wanted);
    }
}

static const char text[] = "m=40 n=24 k=150 a=bf16 c=f32 d=f32 layout=tn groups=4 "
                           "group_by=k_offsets dynamic=k";

Test(k_groups, numbers_may_change_from_launch_to_launch)
{
    static const int32_t lists[][GROUPS] = {
        {140, 140, 140, 140}, {0, 0, 0, 0}, {1, 64, 65, 139}, {0, 8, 127, 128}};
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        struct launch launch = open_launch(emulated_archs[i], text, 140);
        for (size_t j = 0; j < sizeof(lists) / sizeof(lists[0]); j++) {
            emulated_check(jit_gemm_device_fill(launch.context, launch.args.d.pointer, 0xff,
                                                sizeof(d)));
            emulated_check(jit_gemm_device_upload(launch.context, launch.args.group_sizes,
                                                  lists[j], sizeof(lists[j])));
            emulated_check(jit_gemm_run(launch.gemm, &launch.args, NULL));
            expect_sums(&launch, lists[j]);
        }
        close_launch(&launch);
    }
}

/* What is below 0 or above K counts as that, and who ends before it begins is empty. */
Test(k_groups, wrong_numbers_lead_nowhere)
{
    static const int32_t given[GROUPS] = {-7, 20, 20, 2000000000};
    static const int32_t meant[GROUPS] = {0, 20, 20, K};
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        struct launch launch = open_launch(emulated_archs[i], text, K);
        emulated_check(jit_gemm_device_upload(launch.context, launch.args.group_sizes,
                                              given, sizeof(given)));
        emulated_check(jit_gemm_run(launch.gemm, &launch.args, NULL));
        expect_sums(&launch, meant);
        close_launch(&launch);
    }
}

/* Without K the numbers are 0 or wrong, and A and B need no memory. */
Test(k_groups, without_k_all_groups_are_half_of_c)
{
    static const int32_t given[GROUPS] = {0, 5, 5, 9}, meant[GROUPS] = {0};
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        struct launch launch = open_launch(emulated_archs[i], text, K);
        jit_gemm_args args = launch.args;
        args.k = JIT_GEMM_SIZE_EMPTY;
        args.a.pointer = args.b.pointer = 0;
        emulated_check(jit_gemm_device_upload(launch.context, launch.args.group_sizes,
                                              given, sizeof(given)));
        emulated_check(jit_gemm_run(launch.gemm, &args, NULL));
        expect_sums(&launch, meant);
        close_launch(&launch);
    }
}

/* A product of integers makes the numbers; nobody waits between the two launches. */
Test(k_groups, kernel_before_may_make_the_numbers)
{
    static const int32_t ends[GROUPS] = {3, 3, 77, 120};
    signed char ones[16] = {1}, rows[GROUPS][16] = {{0}};
    for (int i = 0; i < GROUPS; i++) {
        rows[i][0] = (signed char)ends[i];
    }
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        struct launch launch = open_launch(emulated_archs[i], text, ends[GROUPS - 1]);
        const jit_gemm_problem router = emulated_problem("1x4x16 s8 d=s32");
        jit_gemm *first = emulated_create(launch.context, &router);
        const jit_gemm_args args = {
            .struct_size = sizeof(args),
            .a = {.pointer = emulated_upload(launch.context, ones, sizeof(ones))},
            .b = {.pointer = emulated_upload(launch.context, rows, sizeof(rows))},
            .d = {.pointer = launch.args.group_sizes}};
        emulated_check(jit_gemm_run(first, &args, NULL));
        emulated_check(jit_gemm_run(launch.gemm, &launch.args, NULL));
        emulated_check(jit_gemm_device_synchronize(launch.context));
        expect_sums(&launch, ends);
        emulated_free(launch.context, args.a.pointer);
        emulated_free(launch.context, args.b.pointer);
        jit_gemm_destroy(&first);
        close_launch(&launch);
    }
}
