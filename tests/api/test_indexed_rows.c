/* SPDX-License-Identifier: MIT */
/* Launches whose rows of D or A an index names: one that changes between launches, that the
 * kernel before makes, that leads nowhere, that is longer than the launch. On the emulator
 * of both chips. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "emulated_fixture.h"
#include "jit_gemm/convert.h"

enum {
    ROWS = 300,
    GROUPS = 3,
    COLUMNS = 72,
    K = 32,
    D_ROWS = 311, /* and a few behind them, which nobody names */
    ALL_ROWS = D_ROWS + 9,
    A_ROWS = 97 /* where an index names them */
};

static const char text_of_groups[] = "m=300 n=72 k=32 a=tf32 groups=3 d_rows=indexed";
static const char text_of_a[] =
    "m=300 n=72 k=32 a=bf16 d=f32 groups=3 a_rows=indexed d_rows=indexed";
static const int32_t ends[GROUPS] = {129, 129, 257};

/* Multiplied as tf32, which holds these values. */
static float a[ROWS][K], b[GROUPS][COLUMNS][K], d[ALL_ROWS][COLUMNS];
static int32_t index_of[ROWS], index_of_a[ROWS];

static float value(int i)
{
    return (float)(i * 37 % 23 - 11) / 8;
}

/* As bf16. */
static uint64_t upload_short(jit_gemm_context *context, const float *values, int count)
{
    static uint16_t shorts[GROUPS * COLUMNS * K];
    for (int i = 0; i < count; i++) {
        shorts[i] = jit_gemm_bf16_from_float(values[i]);
    }
    return emulated_upload(context, shorts, (size_t)count * sizeof(shorts[0]));
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
    const bool is_short = problem.a.dtype == JIT_GEMM_DTYPE_BF16;
    const bool has_a_rows = problem.a_rows == JIT_GEMM_ROWS_INDEXED;
    const int a_rows = has_a_rows ? A_ROWS : ROWS;
    launch.gemm = emulated_create(launch.context, &problem);
    launch.args = (jit_gemm_args){
        .struct_size = sizeof(launch.args),
        .a = {.pointer = is_short ? upload_short(launch.context, a[0], a_rows * K)
                                  : emulated_upload(launch.context, a,
                                                    (size_t)a_rows * sizeof(a[0]))},
        .b = {.pointer = is_short
                             ? upload_short(launch.context, b[0][0], GROUPS * COLUMNS * K)
                             : emulated_upload(launch.context, b, sizeof(b))},
        .a_rows = {.pointer = has_a_rows ? emulated_upload(launch.context, index_of_a,
                                                           sizeof(index_of_a))
                                         : 0},
        .a_row_count = has_a_rows ? A_ROWS : 0,
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
    emulated_free(launch->context, launch->args.a_rows.pointer);
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

/* Of A: each row several times, and those that are none. */
static void fill_index_of_a(int step, int skip)
{
    static const int32_t none[] = {-1, A_ROWS, INT32_MIN, INT32_MAX, -A_ROWS};
    for (int i = 0; i < ROWS; i++) {
        index_of_a[i] = i % skip == 0 ? none[i / skip % 5] : (i * step + 3) % A_ROWS;
    }
}

/* With D full of NaN. */
static void prepare(const struct launch *launch)
{
    if (launch->args.a_rows.pointer != 0) {
        emulated_check(jit_gemm_device_upload(launch->context, launch->args.a_rows.pointer,
                                              index_of_a, sizeof(index_of_a)));
    }
    emulated_check(jit_gemm_device_upload(launch->context, launch->args.d_rows.pointer,
                                          index_of, sizeof(index_of)));
    emulated_check(
        jit_gemm_device_fill(launch->context, launch->args.d.pointer, 0xff, sizeof(d)));
}

static int group_of(int row, bool has_groups)
{
    return !has_groups || row < ends[0] ? 0 : row < ends[2] ? 2 : -1;
}

/* Of A, what row `row` of the product is made of; -1: zeros. */
static int source_of(const struct launch *launch, int row)
{
    if (launch->args.a_rows.pointer == 0) {
        return row;
    }
    return index_of_a[row] >= 0 && index_of_a[row] < A_ROWS ? index_of_a[row] : -1;
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
        const int source = from >= 0 ? source_of(launch, from) : -1;
        for (int column = 0; column < COLUMNS; column++) {
            const double got = (double)d[row][column];
            double wanted = 0;
            for (int k = 0; k < K && source >= 0; k++) {
                wanted +=
                    (double)a[source][k] * (double)b[group_of(from, has_groups)][column][k];
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
        struct launch launch =
            open_launch(emulated_archs[i], "m=300 n=72 k=32 a=bf16 d=f32 a_rows=indexed "
                                           "d_rows=indexed dynamic=m");
        fill_index(13, 11);
        fill_index_of_a(5, 9);
        prepare(&launch);
        emulated_free(launch.context, launch.args.d_rows.pointer);
        emulated_free(launch.context, launch.args.a_rows.pointer);
        launch.args.d_rows.pointer =
            emulated_upload(launch.context, index_of, SOME * sizeof(index_of[0]));
        launch.args.a_rows.pointer =
            emulated_upload(launch.context, index_of_a, SOME * sizeof(index_of_a[0]));
        launch.args.m = SOME;
        emulated_check(jit_gemm_run(launch.gemm, &launch.args, NULL));
        for (int row = SOME; row < ROWS; row++) {
            index_of[row] = -1;
        }
        expect_rows(&launch, false);
        close_launch(&launch);
    }
}

Test(indexed_rows, index_of_a_may_change_from_launch_to_launch)
{
    static const int lists[][2] = {{1, 1000}, {7, 5}, {96, 3}, {2, 1}};
    fill_index(7, 13);
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        struct launch launch = open_launch(emulated_archs[i], text_of_a);
        for (size_t j = 0; j < sizeof(lists) / sizeof(lists[0]); j++) {
            fill_index_of_a(lists[j][0], lists[j][1]);
            prepare(&launch);
            emulated_check(jit_gemm_run(launch.gemm, &launch.args, NULL));
            expect_rows(&launch, true);
        }
        close_launch(&launch);
    }
}

/* Rounded as aligned tf32 is, by words. */
Test(indexed_rows, rows_of_words_that_are_rounded)
{
    fill_index(7, 13);
    fill_index_of_a(5, 4);
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        struct launch launch = open_launch(
            emulated_archs[i], "m=300 n=72 k=32 a=tf32 a_rows=indexed d_rows=indexed");
        prepare(&launch);
        emulated_check(jit_gemm_run(launch.gemm, &launch.args, NULL));
        expect_rows(&launch, false);
        close_launch(&launch);
    }
}

/* Neither A nor B needs an address then, nor has A's index to be of any use. */
Test(indexed_rows, without_k_every_row_is_half_of_c)
{
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        jit_gemm_context *context = emulated_open(emulated_archs[i], "sms=4");
        const jit_gemm_problem problem =
            emulated_problem("m=300 n=72 k=32 a=bf16 c=f32 d=f32 a_rows=indexed dynamic=k");
        jit_gemm *gemm = emulated_create(context, &problem);
        static float c[ROWS][COLUMNS], got[ROWS][COLUMNS];
        static const float beta = 0.5F;
        for (int j = 0; j < ROWS * COLUMNS; j++) {
            c[j / COLUMNS][j % COLUMNS] = value(j);
        }
        fill_index_of_a(5, 4);
        const jit_gemm_args args = {
            .struct_size = sizeof(args),
            .c = {.pointer = emulated_upload(context, c, sizeof(c))},
            .d = {.pointer = emulated_upload(context, got, sizeof(got))},
            .a_rows = {.pointer = emulated_upload(context, index_of_a, sizeof(index_of_a))},
            .beta = &beta,
            .k = JIT_GEMM_SIZE_EMPTY};
        emulated_check(jit_gemm_run(gemm, &args, NULL));
        emulated_check(jit_gemm_device_download(context, got, args.d.pointer, sizeof(got)));
        for (int j = 0; j < ROWS * COLUMNS; j++) {
            const float wanted = beta * c[j / COLUMNS][j % COLUMNS];
            const float is = got[j / COLUMNS][j % COLUMNS];
            cr_assert(is >= wanted && is <= wanted, "element %d: %g, not %g", j, (double)is,
                      (double)wanted);
        }
        emulated_free(context, args.c.pointer);
        emulated_free(context, args.d.pointer);
        emulated_free(context, args.a_rows.pointer);
        jit_gemm_destroy(&gemm);
        jit_gemm_context_destroy(&context);
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
