/* SPDX-License-Identifier: MIT */
/* Launches with groups whose numbers are the device's: made by the kernel before, changed
 * between launches, wrong, and without K. On the emulator of both chips. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "emulated_fixture.h"

enum { GROUPS = 4, ROWS = 70, COLUMNS = 64, K = 32, OF_D = ROWS * COLUMNS };

/* Multiplied as tf32, which holds these values. */
static float a[ROWS][K], b[GROUPS][COLUMNS][K], d[ROWS][COLUMNS];

static float value(int i)
{
    return (float)(i * 37 % 23 - 11) / 8;
}

static void fill(void)
{
    for (int i = 0; i < ROWS * K; i++) {
        a[i / K][i % K] = value(i);
    }
    for (int i = 0; i < GROUPS * COLUMNS * K; i++) {
        b[i / K / COLUMNS][i / K % COLUMNS][i % K] = value(i * 5 + 3);
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
    const int32_t none[GROUPS] = {0};
    fill();
    memset(d, 0xff, sizeof(d));
    launch.gemm = emulated_create(launch.context, &problem);
    launch.args =
        (jit_gemm_args){.struct_size = sizeof(launch.args),
                        .a = {.pointer = emulated_upload(launch.context, a, sizeof(a))},
                        .b = {.pointer = emulated_upload(launch.context, b, sizeof(b))},
                        .d = {.pointer = emulated_upload(launch.context, d, sizeof(d))},
                        .group_sizes = emulated_upload(launch.context, none, sizeof(none))};
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

/* D is each group's product, where rows of the list begin and end, and untouched elsewhere.
 */
static void expect_products(const struct launch *launch, const int32_t ends[GROUPS])
{
    emulated_check(
        jit_gemm_device_download(launch->context, d, launch->args.d.pointer, sizeof(d)));
    for (int i = 0; i < OF_D; i++) {
        const int row = i / COLUMNS, column = i % COLUMNS;
        int group = 0;
        double wanted = 0;
        while (group < GROUPS && row >= ends[group]) {
            group++;
        }
        for (int k = 0; k < K && group < GROUPS; k++) {
            wanted += (double)a[row][k] * (double)b[group][column][k];
        }
        const double got = (double)d[row][column];
        cr_assert(group < GROUPS ? got >= wanted && got <= wanted : isnan(got),
                  "row %d, column %d, group %d: %g, not %g", row, column, group, got,
                  wanted);
    }
}

static const char stacked[] = "m=70 n=64 k=32 a=tf32 groups=4 group_by=offsets";

Test(group_launches, numbers_may_change_from_launch_to_launch)
{
    static const int32_t lists[][GROUPS] = {
        {70, 70, 70, 70}, {0, 0, 0, 0}, {1, 33, 33, 69}, {0, 0, 0, 70}};
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        struct launch launch = open_launch(emulated_archs[i], stacked);
        for (size_t j = 0; j < sizeof(lists) / sizeof(lists[0]); j++) {
            emulated_check(jit_gemm_device_fill(launch.context, launch.args.d.pointer, 0xff,
                                                sizeof(d)));
            emulated_check(jit_gemm_device_upload(launch.context, launch.args.group_sizes,
                                                  lists[j], sizeof(lists[j])));
            emulated_check(jit_gemm_run(launch.gemm, &launch.args, NULL));
            expect_products(&launch, lists[j]);
        }
        close_launch(&launch);
    }
}

/* What is below 0 or above M counts as that, and a group that begins where an earlier one
 * has not ended yet has no rows. */
Test(group_launches, wrong_numbers_lead_nowhere)
{
    static const int32_t given[][GROUPS] = {{-7, 20, 20, 2000000000},
                                            {INT32_MIN, -1, 5, INT32_MAX},
                                            {70, 0, 70, 0},
                                            {40, 30, 70, 40}};
    static const int32_t meant[][GROUPS] = {
        {0, 20, 20, 70}, {0, 0, 5, 70}, {70, 70, 70, 70}, {40, 40, 40, 40}};
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        for (size_t j = 0; j < sizeof(given) / sizeof(given[0]); j++) {
            struct launch launch = open_launch(emulated_archs[i], stacked);
            emulated_check(jit_gemm_device_upload(launch.context, launch.args.group_sizes,
                                                  given[j], sizeof(given[j])));
            emulated_check(jit_gemm_run(launch.gemm, &launch.args, NULL));
            expect_products(&launch, meant[j]);
            close_launch(&launch);
        }
    }
}

/* The host's numbers count; what is on the device is not read, however wrong it is, and
 * need not be there. */
Test(group_launches, numbers_may_come_from_the_host)
{
    static const int32_t lists[][GROUPS] = {
        {70, 70, 70, 70}, {0, 0, 0, 0}, {1, 33, 33, 69}, {0, 0, 0, 70}};
    static const int32_t others[GROUPS] = {5, 6, 7, 8};
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        struct launch launch = open_launch(emulated_archs[i], stacked);
        emulated_check(jit_gemm_device_upload(launch.context, launch.args.group_sizes,
                                              others, sizeof(others)));
        for (size_t j = 0; j < sizeof(lists) / sizeof(lists[0]); j++) {
            jit_gemm_args args = launch.args;
            int32_t numbers[GROUPS];
            memcpy(numbers, lists[j], sizeof(numbers));
            args.group_sizes = j % 2 == 0 ? launch.args.group_sizes : 0;
            args.host_group_sizes = numbers;
            args.host_group_count = GROUPS;
            emulated_check(jit_gemm_device_fill(launch.context, launch.args.d.pointer, 0xff,
                                                sizeof(d)));
            emulated_check(jit_gemm_run(launch.gemm, &args, NULL));
            memset(numbers, 0xff, sizeof(numbers)); /* they are the caller's again */
            expect_products(&launch, lists[j]);
        }
        close_launch(&launch);
    }
}

/* A product of integers makes the offsets; nobody waits between the two launches, which
 * may overlap until the second one says that it needs what the first one wrote. */
Test(group_launches, kernel_before_may_make_the_numbers)
{
    static const int32_t ends[GROUPS] = {3, 3, 40, 67};
    signed char ones[16] = {1}, rows[GROUPS][16] = {{0}};
    for (int i = 0; i < GROUPS; i++) {
        rows[i][0] = (signed char)ends[i];
    }
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        struct launch launch = open_launch(emulated_archs[i], stacked);
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
        expect_products(&launch, ends);
        emulated_free(launch.context, args.a.pointer);
        emulated_free(launch.context, args.b.pointer);
        jit_gemm_destroy(&first);
        close_launch(&launch);
    }
}

Test(group_launches, without_k_every_row_of_a_group_is_half_of_c)
{
    static const int32_t ends[GROUPS] = {0, 20, 20, 61};
    static const float beta = 0.5F;
    static float c[ROWS][COLUMNS];
    for (int i = 0; i < OF_D; i++) {
        c[i / COLUMNS][i % COLUMNS] = value(i);
    }
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        struct launch launch = open_launch(
            emulated_archs[i], "m=70 n=64 k=32 a=tf32 c=f32 groups=4 dynamic=k");
        launch.args.k = JIT_GEMM_SIZE_EMPTY;
        launch.args.beta = &beta;
        launch.args.c.pointer = emulated_upload(launch.context, c, sizeof(c));
        emulated_check(jit_gemm_device_upload(launch.context, launch.args.group_sizes, ends,
                                              sizeof(ends)));
        emulated_check(jit_gemm_run(launch.gemm, &launch.args, NULL));
        emulated_check(
            jit_gemm_device_download(launch.context, d, launch.args.d.pointer, sizeof(d)));
        for (int j = 0; j < OF_D; j++) {
            const double got = (double)d[j / COLUMNS][j % COLUMNS];
            const double wanted = (double)(beta * c[j / COLUMNS][j % COLUMNS]);
            cr_assert(j / COLUMNS < ends[3] ? got >= wanted && got <= wanted : isnan(got),
                      "row %d: %g, not %g", j / COLUMNS, got, wanted);
        }
        emulated_free(launch.context, launch.args.c.pointer);
        close_launch(&launch);
    }
}

/* ----------------------------------------------------------------------- reductions */

enum { REDUCED = 3 };
static const jit_gemm_operand reduced[REDUCED] = {
    {"s", JIT_GEMM_OPERAND_COLUMN_VECTOR, JIT_GEMM_DTYPE_F32, JIT_GEMM_OPERAND_SUM, 0},
    {"g", JIT_GEMM_OPERAND_ROW_VECTOR, JIT_GEMM_DTYPE_F32, JIT_GEMM_OPERAND_SUM, 0},
    {"m", JIT_GEMM_OPERAND_SCALAR, JIT_GEMM_DTYPE_F32, JIT_GEMM_OPERAND_MAX, 0}};

/* What the sums of each row, of each column of a group, and its greatest element are. */
struct results {
    float rows[ROWS], columns[GROUPS][COLUMNS], greatest[GROUPS];
};

static struct results reduce(const int32_t ends[GROUPS])
{
    struct results results;
    memset(&results, 0, sizeof(results));
    for (int group = 0; group < GROUPS; group++) {
        results.greatest[group] = -INFINITY;
    }
    for (int row = 0, group = 0; row < ROWS; row++) {
        while (group < GROUPS && row >= ends[group]) {
            group++;
        }
        if (group == GROUPS) {
            results.rows[row] = NAN;
            continue;
        }
        for (int column = 0; column < COLUMNS; column++) {
            float element = 0;
            for (int k = 0; k < K; k++) {
                element += a[row][k] * b[group][column][k];
            }
            results.rows[row] += element;
            results.columns[group][column] += element;
            results.greatest[group] = fmaxf(results.greatest[group], element);
        }
    }
    return results;
}

/* One workspace serves them all; what a group without rows comes to is written, too, and
 * nothing of rows that belong to no group. Sums of these values are exact. */
Test(group_launches, reductions_follow_the_numbers)
{
    static const struct {
        int32_t given[GROUPS], meant[GROUPS];
        bool is_of_host;
    } lists[] = {{{70, 70, 70, 70}, {70, 70, 70, 70}, false},
                 {{0, 0, 0, 0}, {0, 0, 0, 0}, true},
                 {{1, 33, 33, 69}, {1, 33, 33, 69}, false},
                 {{70, 0, 70, 0}, {70, 70, 70, 70}, false}, /* rows of two groups */
                 {{0, 65, 65, 70}, {0, 65, 65, 70}, true},
                 {{40, 30, 70, 40}, {40, 40, 40, 40}, false},
                 {{0, 0, 0, 0}, {0, 0, 0, 0}, false}};
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = "of_groups",
                                        .source = "d = acc; s = acc; g = acc; m = acc;",
                                        .operand_count = REDUCED,
                                        .operands = reduced};
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        struct launch launch = {.context =
                                    emulated_open(emulated_archs[i], "sms=4,async=latest")};
        static struct results got;
        jit_gemm_info info = {.struct_size = sizeof(info)};
        fill();
        emulated_check(jit_gemm_epilogue_register(launch.context, &epilogue));
        const jit_gemm_problem problem =
            emulated_problem("m=70 n=64 k=32 a=tf32 groups=4 epilogue=of_groups");
        launch.gemm = emulated_create(launch.context, &problem);
        emulated_check(jit_gemm_get_info(launch.gemm, &info));
        const uint64_t made = emulated_upload(launch.context, &got, sizeof(got));
        const jit_gemm_arg operands[REDUCED] = {
            {.pointer = made + offsetof(struct results, rows)},
            {.pointer = made + offsetof(struct results, columns)},
            {.pointer = made + offsetof(struct results, greatest)}};
        launch.args =
            (jit_gemm_args){.struct_size = sizeof(launch.args),
                            .a = {.pointer = emulated_upload(launch.context, a, sizeof(a))},
                            .b = {.pointer = emulated_upload(launch.context, b, sizeof(b))},
                            .d = {.pointer = emulated_upload(launch.context, d, sizeof(d))},
                            .operands = operands,
                            .operand_count = REDUCED,
                            .group_sizes = emulated_upload(launch.context, lists[0].given,
                                                           sizeof(lists[0].given))};
        emulated_check(jit_gemm_device_alloc(launch.context, info.workspace_bytes,
                                             &launch.args.workspace));
        emulated_check(jit_gemm_device_fill(launch.context, launch.args.workspace, 0,
                                            info.workspace_bytes));
        for (size_t j = 0; j < sizeof(lists) / sizeof(lists[0]); j++) {
            const struct results wanted = reduce(lists[j].meant);
            emulated_check(jit_gemm_device_fill(launch.context, made, 0xff, sizeof(got)));
            emulated_check(jit_gemm_device_upload(launch.context, launch.args.group_sizes,
                                                  lists[j].given, sizeof(lists[j].given)));
            launch.args.host_group_sizes = lists[j].is_of_host ? lists[j].given : NULL;
            launch.args.host_group_count = lists[j].is_of_host ? GROUPS : 0;
            emulated_check(jit_gemm_run(launch.gemm, &launch.args, NULL));
            emulated_check(
                jit_gemm_device_download(launch.context, &got, made, sizeof(got)));
            emulated_expect_equal("row", got.rows, wanted.rows, ROWS);
            emulated_expect_equal("column", &got.columns[0][0], &wanted.columns[0][0],
                                  GROUPS * COLUMNS);
            emulated_expect_equal("the greatest of group", got.greatest, wanted.greatest,
                                  GROUPS);
        }
        emulated_free(launch.context, made);
        emulated_free(launch.context, launch.args.workspace);
        close_launch(&launch);
    }
}

/* As many groups as there may be, next to all of them empty, the last one not. Where empty
 * ones end before the others, nothing is another group's. */
Test(group_launches, there_may_be_4096_groups)
{
    enum { MOST = 4096, N = 16 };
    static float many[MOST][N][K], out[ROWS][N];
    static int32_t ends[MOST], falling[MOST];
    static int group_of[ROWS];
    fill();
    for (int i = 0; i < MOST * N * K; i++) {
        many[i / K / N][i / K % N][i % K] = value(i * 5 + 3 + i / (N * K));
    }
    for (int i = 0, rows = 0; i < MOST; i++) {
        for (int more = i % 100 == 31 ? i % 3 : i == MOST - 1; more > 0; more--) {
            group_of[rows++] = i;
        }
        ends[i] = rows;
        falling[i] = i > 1000 && i % 100 > 40 && i % 7 == 3 ? i % 3 : rows;
    }
    for (int i = 0; i < 2 * EMULATED_ARCHS; i++) {
        struct launch launch =
            open_launch(emulated_archs[i / 2], "m=70 n=16 k=32 a=tf32 groups=4096");
        jit_gemm_args args = launch.args;
        args.b.pointer = emulated_upload(launch.context, many, sizeof(many));
        args.group_sizes =
            emulated_upload(launch.context, i % 2 == 0 ? ends : falling, sizeof(ends));
        emulated_check(jit_gemm_run(launch.gemm, &args, NULL));
        emulated_check(
            jit_gemm_device_download(launch.context, out, args.d.pointer, sizeof(out)));
        for (int row = 0; row < ends[MOST - 1]; row++) {
            for (int column = 0; column < N; column++) {
                double wanted = 0;
                for (int k = 0; k < K; k++) {
                    wanted += (double)a[row][k] * (double)many[group_of[row]][column][k];
                }
                cr_assert_float_eq((double)out[row][column], wanted, 0.0, "row %d", row);
            }
        }
        cr_expect(isnan(out[ends[MOST - 1]][0]));
        emulated_free(launch.context, args.b.pointer);
        emulated_free(launch.context, args.group_sizes);
        close_launch(&launch);
    }
}
