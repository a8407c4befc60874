/* SPDX-License-Identifier: MIT */
/* Launches whose rows of D an index names: one that changes between launches, that the
 * kernel before makes, that leads nowhere, that batches and groups share a D by. On the
 * emulator of both chips. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "emulated_fixture.h"

enum {
    ROWS = 300,
    GROUPS = 3,
    COLUMNS = 72,
    K = 32,
    D_ROWS = 311, /* and a few behind them, which nobody names */
    ALL_ROWS = D_ROWS + 9
};

static const char text_of_groups[] = "m=300 n=72 k=32 a=tf32 groups=3 d_rows=indexed";
static const int32_t ends[GROUPS] = {129, 129, 257};

/* Multiplied as tf32, which holds these values. */
static float a[ROWS][K], b[GROUPS][COLUMNS][K], d[ALL_ROWS][COLUMNS];
static int32_t index_of[ROWS];

static float value(int i)
{
    return (float)(i * 37 % 23 - 11) / 8;
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
    launch.gemm = emulated_create(launch.context, &problem);
    launch.args = (jit_gemm_args){
        .struct_size = sizeof(launch.args),
        .a = {.pointer = emulated_upload(launch.context, a, sizeof(a))},
        .b = {.pointer = emulated_upload(launch.context, b, sizeof(b))},
        .d = {.pointer = emulated_upload(launch.context, d, sizeof(d))},
        .group_sizes = problem.group_by != JIT_GEMM_GROUP_NONE
                           ? emulated_upload(launch.context, ends, sizeof(ends))
                           : 0,
        .d_rows = {.pointer = emulated_upload(launch.context, index_of, sizeof(index_of))},
        .d_row_count = D_ROWS};
    return launch;
}

static void close_launch(struct launch *launch)
{
    emulated_free(launch->context, launch->args.a.pointer);
    emulated_free(launch->context, launch->args.b.pointer);
    emulated_free(launch->context, launch->args.d.pointer);
    emulated_free(launch->context, launch->args.d_rows.pointer);
    emulated_free(launch->context, launch->args.group_sizes);
    jit_gemm_destroy(&launch->gemm);
    jit_gemm_context_destroy(&launch->context);
}

/* Rows in another order, `step` rows apart, and every `skip`th of them dropped. */
static void fill_index(int step, int skip)
{
    static const int32_t none[] = {-1, D_ROWS, INT32_MIN, INT32_MAX, -D_ROWS};
    for (int i = 0; i < ROWS; i++) {
        index_of[i] = i % skip == 0 ? none[i / skip % 5] : (i * step + 5) % D_ROWS;
    }
}

/* With D full of NaN. */
static void prepare(const struct launch *launch)
{
    emulated_check(jit_gemm_device_upload(launch->context, launch->args.d_rows.pointer,
                                          index_of, sizeof(index_of)));
    emulated_check(
        jit_gemm_device_fill(launch->context, launch->args.d.pointer, 0xff, sizeof(d)));
}

static int group_of(int row, bool has_groups)
{
    return !has_groups || row < ends[0] ? 0 : row < ends[2] ? 2 : -1;
}

/* D's rows are the products' that the index sends there; all others are untouched. */
static void expect_rows(const struct launch *launch, bool has_groups)
{
    emulated_check(
        jit_gemm_device_download(launch->context, d, launch->args.d.pointer, sizeof(d)));
    for (int row = 0; row < ALL_ROWS; row++) {
        int from = ROWS - 1;
        while (from >= 0 &&
               (index_of[from] != row || row >= D_ROWS || group_of(from, has_groups) < 0)) {
            from--;
        }
        for (int column = 0; column < COLUMNS; column++) {
            const double got = (double)d[row][column];
            double wanted = 0;
            for (int k = 0; k < K && from >= 0; k++) {
                wanted +=
                    (double)a[from][k] * (double)b[group_of(from, has_groups)][column][k];
            }
            cr_assert(from >= 0 ? got >= wanted && got <= wanted : isnan(got),
                      "row %d of D, row %d of the product, column %d: %g, not %g", row,
                      from, column, got, wanted);
        }
    }
}

Test(indexed_rows, index_may_change_from_launch_to_launch)
{
    static const int lists[][2] = {{1, 1000}, {7, 5}, {310, 3}, {2, 1}};
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        struct launch launch = open_launch(emulated_archs[i], text_of_groups);
        for (size_t j = 0; j < sizeof(lists) / sizeof(lists[0]); j++) {
            fill_index(lists[j][0], lists[j][1]);
            prepare(&launch);
            emulated_check(jit_gemm_run(launch.gemm, &launch.args, NULL));
            expect_rows(&launch, true);
        }
        close_launch(&launch);
    }
}

Test(indexed_rows, product_without_groups_has_an_index_too)
{
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        struct launch launch =
            open_launch(emulated_archs[i], "m=300 n=72 k=32 a=tf32 d_rows=indexed");
        fill_index(13, 11);
        prepare(&launch);
        emulated_check(jit_gemm_run(launch.gemm, &launch.args, NULL));
        expect_rows(&launch, false);
        close_launch(&launch);
    }
}

/* An index for rows that the launch does not have is not read: the memory ends there. */
Test(indexed_rows, dynamic_rows_read_their_part_of_the_index)
{
    enum { SOME = 131 };
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        struct launch launch = open_launch(
            emulated_archs[i], "m=300 n=72 k=32 a=tf32 d_rows=indexed dynamic=m");
        fill_index(13, 11);
        prepare(&launch);
        emulated_free(launch.context, launch.args.d_rows.pointer);
        launch.args.d_rows.pointer =
            emulated_upload(launch.context, index_of, SOME * sizeof(index_of[0]));
        launch.args.m = SOME;
        emulated_check(jit_gemm_run(launch.gemm, &launch.args, NULL));
        for (int row = SOME; row < ROWS; row++) {
            index_of[row] = -1;
        }
        expect_rows(&launch, false);
        close_launch(&launch);
    }
}

/* A product of integers makes the index; nobody waits between the two launches, which may
 * overlap until the second one says that it needs what the first one wrote. */
Test(indexed_rows, kernel_before_may_make_the_index)
{
    static signed char ones[16] = {1, 1, 1}, rows[ROWS][16];
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        struct launch launch = open_launch(emulated_archs[i], text_of_groups);
        const jit_gemm_problem router = emulated_problem("1x300x16 s8 d=s32");
        jit_gemm *first = emulated_create(launch.context, &router);
        memset(index_of, 0xff, sizeof(index_of));
        prepare(&launch);
        for (int row = 0; row < ROWS; row++) {
            index_of[row] = row % 9 == 0 ? -1 : (row * 7 + 2) % D_ROWS;
            for (int part = 0; part < 3; part++) { /* as sums of what a byte holds */
                const int left = index_of[row] - part * 127;
                rows[row][part] = (signed char)(index_of[row] < 0 ? -(part == 0)
                                                : left < 0        ? 0
                                                : left > 127      ? 127
                                                                  : left);
            }
        }
        const jit_gemm_args args = {
            .struct_size = sizeof(args),
            .a = {.pointer = emulated_upload(launch.context, ones, sizeof(ones))},
            .b = {.pointer = emulated_upload(launch.context, rows, sizeof(rows))},
            .d = {.pointer = launch.args.d_rows.pointer}};
        emulated_check(jit_gemm_run(first, &args, NULL));
        emulated_check(jit_gemm_run(launch.gemm, &launch.args, NULL));
        emulated_check(jit_gemm_device_synchronize(launch.context));
        expect_rows(&launch, true);
        emulated_free(launch.context, args.a.pointer);
        emulated_free(launch.context, args.b.pointer);
        jit_gemm_destroy(&first);
        close_launch(&launch);
    }
}
