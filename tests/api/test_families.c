/* SPDX-License-Identifier: MIT */
/* Families on the emulator of both chips: the kernel of each band gives the right D at both
 * ends of it, and writes no row beyond. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "emulated_fixture.h"
#include "jit_gemm/family.h"

enum { MOST_ROWS = 300, COLUMNS = 192, K = 128, MOST_BANDS = 16 };

/* Multiplied as tf32, which holds these values; their sums are exact in f32. */
static float a[MOST_ROWS][K], b[COLUMNS][K], d[MOST_ROWS][COLUMNS];

static float value(int i)
{
    return (float)(i * 37 % 23 - 11) / 8;
}

static void fill(void)
{
    for (int i = 0; i < MOST_ROWS * K; i++) {
        a[i / K][i % K] = value(i);
    }
    for (int i = 0; i < COLUMNS * K; i++) {
        b[i / K][i % K] = value(i * 5 + 3);
    }
}

/* Wrong elements of D after a launch of so many rows; rows beyond must be as they were. */
static int count_wrong(int64_t rows)
{
    int wrong = 0;
    for (int i = 0; i < MOST_ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++) {
            float sum = 0;
            for (int k = 0; k < K; k++) {
                sum += a[i][k] * b[j][k];
            }
            wrong += i < rows ? d[i][j] != sum : !isnan(d[i][j]);
        }
    }
    return wrong;
}

static jit_gemm_family *create(jit_gemm_context *context)
{
    const jit_gemm_problem problem = emulated_problem("n=192 k=128 a=tf32 dynamic=m");
    jit_gemm_range range;
    jit_gemm_family *family = NULL;
    emulated_check(jit_gemm_range_parse("m=1..300 loss=0%", &range));
    const jit_gemm_status status =
        jit_gemm_family_create(context, &problem, &range, &family);
    if (status == JIT_GEMM_ERR_NO_COMPILER) {
        cr_skip_test("NVRTC is needed: %s", jit_gemm_last_error());
    }
    emulated_check(status);
    return family;
}

static void expect_right_bands(const char *arch)
{
    jit_gemm_context *context = emulated_open(arch, "sms=4,async=latest");
    jit_gemm_family *family = create(context);
    jit_gemm_band bands[MOST_BANDS];
    size_t count = 0;
    emulated_check(jit_gemm_family_get_bands(family, bands, MOST_BANDS, &count));
    cr_assert_leq(count, MOST_BANDS);
    cr_expect_gt(count, 1, "%s: the sizes have one kernel", arch);
    jit_gemm_args args = {.struct_size = sizeof(args),
                          .a = {.pointer = emulated_upload(context, a, sizeof(a))},
                          .b = {.pointer = emulated_upload(context, b, sizeof(b))}};
    for (size_t i = 0; i < 2 * count; i++) {
        args.m = i % 2 == 0 ? bands[i / 2].first : bands[i / 2].last;
        memset(d, 0xff, sizeof(d));
        args.d.pointer = emulated_upload(context, d, sizeof(d));
        emulated_check(jit_gemm_family_run(family, &args, NULL));
        emulated_check(jit_gemm_device_download(context, d, args.d.pointer, sizeof(d)));
        cr_expect_eq(count_wrong(args.m), 0, "%s: m=%lld", arch, (long long)args.m);
        emulated_free(context, args.d.pointer);
    }
    emulated_free(context, args.a.pointer);
    emulated_free(context, args.b.pointer);
    jit_gemm_family_destroy(&family);
    jit_gemm_context_destroy(&context);
}

Test(families, both_ends_of_each_band_are_right, .timeout = 300)
{
    fill();
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        expect_right_bands(emulated_archs[i]);
    }
}
