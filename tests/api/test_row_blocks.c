/* SPDX-License-Identifier: MIT */
/* Launches whose rows name their groups, in blocks of 128: indices that are made by the
 * kernel before, changed between launches, wrong, and without K. On the emulator of both
 * chips. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "emulated_fixture.h"

enum { GROUPS = 3, BLOCKS = 4, ROWS = 420, COLUMNS = 64, K = 32, OF_D = ROWS * COLUMNS };

static const char text_of_problem[] = "m=420 n=64 k=32 a=tf32 groups=3 group_by=rows";

/* Multiplied as tf32, which holds these values. */
static float a[ROWS][K], b[GROUPS][COLUMNS][K], d[ROWS][COLUMNS];
static int32_t indices[ROWS];

static float value(int i)
{
    return (float)(i * 37 % 23 - 11) / 8;
}

/* Of the first row of each block; the others have another, which nobody reads. */
static void fill_indices(const int32_t groups[BLOCKS])
{
    for (int row = 0; row < ROWS; row++) {
        indices[row] = row % 128 == 0 ? groups[row / 128] : (groups[row / 128] + 1) % 2;
    }
}

struct launch {
    jit_gemm_context *context;
    jit_gemm *gemm;
    jit_gemm_args args;
};

static struct launch open_launch(const char *arch, const char *text)
{
    struct launch launch = {.context = emulated_open(arch, "sms=4,async=latest")};
    const jit_gemm_problem problem = emulated_problem(text);
    for (int i = 0; i < ROWS * K; i++) {
        a[i / K][i % K] = value(i);
    }
    for (int i = 0; i < GROUPS * COLUMNS * K; i++) {
        b[i / K / COLUMNS][i / K % COLUMNS][i % K] = value(i * 5 + 3);
    }
    memset(d, 0xff, sizeof(d));
    launch.gemm = emulated_create(launch.context, &problem);
    launch.args = (jit_gemm_args){
        .struct_size = sizeof(launch.args),
        .a = {.pointer = emulated_upload(launch.context, a, sizeof(a))},
        .b = {.pointer = emulated_upload(launch.context, b, sizeof(b))},
        .d = {.pointer = emulated_upload(launch.context, d, sizeof(d))},
        .group_sizes = emulated_upload(launch.context, indices, sizeof(indices))};
    return launch;
}

static void close_launch(struct launch *launch)
{
    emulated_free(launch->context, launch->args.a.pointer);
    emulated_free(launch->context, launch->args.b.pointer);
    emulated_free(launch->context, launch->args.d.pointer);
    emulated_free(launch->context, launch->args.group_sizes);
    jit_gemm_destroy(&launch->gemm);
    jit_gemm_context_destroy(&launch->context);
}

/* Fills A's rows of blocks of no group with NaN, and D with NaN. */
static void prepare(const struct launch *launch, const int32_t groups[BLOCKS])
{
    static float given[ROWS][K];
    for (int i = 0; i < ROWS * K; i++) {
        const int32_t group = groups[i / K / 128];
        given[i / K][i % K] = group >= 0 && group < GROUPS ? a[i / K][i % K] : NAN;
    }
    emulated_check(jit_gemm_device_upload(launch->context, launch->args.a.pointer, given,
                                          sizeof(given)));
    emulated_check(
        jit_gemm_device_fill(launch->context, launch->args.d.pointer, 0xff, sizeof(d)));
}

/* D is the product with the group's B in each block, and untouched where it is of none. */
static void expect_products(const struct launch *launch, const int32_t groups[BLOCKS],
                            int rows)
{
    emulated_check(
        jit_gemm_device_download(launch->context, d, launch->args.d.pointer, sizeof(d)));
    for (int i = 0; i < OF_D; i++) {
        const int row = i / COLUMNS, column = i % COLUMNS, group = groups[row / 128];
        const bool is_written = row < rows && group >= 0 && group < GROUPS;
        double wanted = 0;
        for (int k = 0; k < K && is_written; k++) {
            wanted += (double)a[row][k] * (double)b[group][column][k];
        }
        const double got = (double)d[row][column];
        cr_assert(is_written ? got >= wanted && got <= wanted : isnan(got),
                  "row %d, column %d, group %d: %g, not %g", row, column, group, got,
                  wanted);
    }
}

static void run_with(struct launch *launch, const int32_t groups[BLOCKS])
{
    fill_indices(groups);
    prepare(launch, groups);
    emulated_check(jit_gemm_device_upload(launch->context, launch->args.group_sizes,
                                          indices, sizeof(indices)));
    emulated_check(jit_gemm_run(launch->gemm, &launch->args, NULL));
    expect_products(launch, groups, ROWS);
}

Test(row_blocks, indices_may_change_from_launch_to_launch)
{
    static const int32_t lists[][BLOCKS] = {
        {0, 1, 2, 0}, {2, 0, 2, 1}, {-1, -1, -1, -1}, {1, 1, -1, 1}, {-1, -1, -1, 2}};
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        struct launch launch = open_launch(emulated_archs[i], text_of_problem);
        for (size_t j = 0; j < sizeof(lists) / sizeof(lists[0]); j++) {
            run_with(&launch, lists[j]);
        }
        close_launch(&launch);
    }
}

Test(row_blocks, indices_of_no_group_lead_nowhere)
{
    static const int32_t lists[][BLOCKS] = {{3, 2, INT32_MAX, INT32_MIN},
                                            {INT32_MIN, -2, 4096, 0}};
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        struct launch launch = open_launch(emulated_archs[i], text_of_problem);
        for (size_t j = 0; j < sizeof(lists) / sizeof(lists[0]); j++) {
            run_with(&launch, lists[j]);
        }
        close_launch(&launch);
    }
}

/* Of fewer rows only their indices are read, and the last block ends with them. */
Test(row_blocks, dynamic_rows_end_inside_of_a_block)
{
    static const int32_t groups[BLOCKS] = {1, 0, 2, 2};
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        struct launch launch = open_launch(
            emulated_archs[i], "m=420 n=64 k=32 a=tf32 groups=3 group_by=rows dynamic=m");
        fill_indices(groups);
        prepare(&launch, groups);
        emulated_free(launch.context, launch.args.group_sizes);
        launch.args.group_sizes =
            emulated_upload(launch.context, indices, 257 * sizeof(indices[0]));
        launch.args.m = 257;
        emulated_check(jit_gemm_run(launch.gemm, &launch.args, NULL));
        expect_products(&launch, groups, 257);
        close_launch(&launch);
    }
}

/* A product of integers makes the indices; nobody waits between the two launches, which
 * may overlap until the second one says that it needs what the first one wrote. */
Test(row_blocks, kernel_before_may_make_the_indices)
{
    static const int32_t groups[BLOCKS] = {2, -1, 1, 0};
    static signed char ones[16] = {1}, rows[ROWS][16];
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        fill_indices((const int32_t[BLOCKS]){0, 0, 0, 0});
        struct launch launch = open_launch(emulated_archs[i], text_of_problem);
        const jit_gemm_problem router = emulated_problem("1x420x16 s8 d=s32");
        jit_gemm *first = emulated_create(launch.context, &router);
        fill_indices(groups);
        for (int row = 0; row < ROWS; row++) {
            rows[row][0] = (signed char)indices[row];
        }
        const jit_gemm_args args = {
            .struct_size = sizeof(args),
            .a = {.pointer = emulated_upload(launch.context, ones, sizeof(ones))},
            .b = {.pointer = emulated_upload(launch.context, rows, sizeof(rows))},
            .d = {.pointer = launch.args.group_sizes}};
        prepare(&launch, groups);
        emulated_check(jit_gemm_run(first, &args, NULL));
        emulated_check(jit_gemm_run(launch.gemm, &launch.args, NULL));
        emulated_check(jit_gemm_device_synchronize(launch.context));
        expect_products(&launch, groups, ROWS);
        emulated_free(launch.context, args.a.pointer);
        emulated_free(launch.context, args.b.pointer);
        jit_gemm_destroy(&first);
        close_launch(&launch);
    }
}

Test(row_blocks, without_k_every_row_of_a_group_is_half_of_c)
{
    static const int32_t groups[BLOCKS] = {1, -1, 3, 0};
    static const float beta = 0.5F;
    static float c[ROWS][COLUMNS];
    for (int i = 0; i < OF_D; i++) {
        c[i / COLUMNS][i % COLUMNS] = value(i);
    }
    fill_indices(groups);
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        struct launch launch =
            open_launch(emulated_archs[i],
                        "m=420 n=64 k=32 a=tf32 c=f32 groups=3 group_by=rows dynamic=k");
        launch.args.k = JIT_GEMM_SIZE_EMPTY;
        launch.args.beta = &beta;
        launch.args.c.pointer = emulated_upload(launch.context, c, sizeof(c));
        emulated_check(jit_gemm_run(launch.gemm, &launch.args, NULL));
        emulated_check(
            jit_gemm_device_download(launch.context, d, launch.args.d.pointer, sizeof(d)));
        for (int j = 0; j < OF_D; j++) {
            const int row = j / COLUMNS;
            const bool is_written = groups[row / 128] >= 0 && groups[row / 128] < GROUPS;
            const double got = (double)d[row][j % COLUMNS];
            const double wanted = (double)(beta * c[row][j % COLUMNS]);
            cr_assert(is_written ? got >= wanted && got <= wanted : isnan(got),
                      "row %d: %g, not %g", row, got, wanted);
        }
        emulated_free(launch.context, launch.args.c.pointer);
        close_launch(&launch);
    }
}
