/* SPDX-License-Identifier: MIT */
/* Numbers of groups and indices of rows that cannot be, in arrays of their exact size: what
 * the emulator finds outside of one is an error. Rows that are a group's all the same are
 * right, others as they were, and a launch with right numbers behind it finds counters and
 * workspace as it needs them. On the emulator of both chips. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "emulated_fixture.h"

enum {
    GROUPS = 4,
    COLUMNS = 72,
    K = 32,
    MOST_ROWS = 420, /* of the product, those of all groups */
    A_ROWS = 37,     /* where an index names them */
    D_ROWS = 450,
    TURNS = 6
};

struct form {
    const char *words;
    jit_gemm_group_by by;
    int m;
    bool reduces, is_indexed, is_cleared;
};

static const struct form forms[] = {
    {"m=70 group_by=counts epilogue=of_groups", JIT_GEMM_GROUP_BY_COUNTS, 70, true, false,
     false},
    {"m=70 group_by=counts a_rows=indexed d_rows=indexed", JIT_GEMM_GROUP_BY_COUNTS, 70,
     false, true, false},
    {"m=70 group_by=counts group_rest=zero epilogue=of_groups", JIT_GEMM_GROUP_BY_COUNTS,
     70, true, false, true},
    {"m=420 group_by=rows epilogue=of_groups", JIT_GEMM_GROUP_BY_ROWS, 420, true, false,
     false},
    {"m=420 group_by=rows a_rows=indexed d_rows=indexed epilogue=of_groups",
     JIT_GEMM_GROUP_BY_ROWS, 420, true, true, false},
    {"m=420 group_by=rows group_rest=zero", JIT_GEMM_GROUP_BY_ROWS, 420, false, false,
     true},
    {"m=300 group_by=offsets a_rows=indexed d_rows=indexed epilogue=of_groups",
     JIT_GEMM_GROUP_BY_OFFSETS, 300, true, true, false},
};
enum { FORMS = sizeof(forms) / sizeof(forms[0]) };

/* Right ones in every other turn. Of `rows` those of blocks of 128. */
static const int32_t numbers_of[TURNS][GROUPS] = {{INT32_MAX, -1, 71, INT32_MIN},
                                                  {3, 70, 0, 64},
                                                  {-2, 301, 5, 300},
                                                  {0, 2, 3, 1},
                                                  {300, 4, 300, 7},
                                                  {1, 1, 2, 3}};

static float a[MOST_ROWS][K], b[GROUPS][COLUMNS][K];
static int32_t index_of_a[MOST_ROWS], index_of_d[MOST_ROWS];
static int group_of[MOST_ROWS]; /* -1: of none */

/* Multiplied as tf32, which holds these values, and sums of their products. */
static float value(int i)
{
    return (float)(i * 37 % 23 - 11) / 8;
}

static void fill(void)
{
    static const int32_t none[] = {-1, D_ROWS, INT32_MIN, INT32_MAX, -D_ROWS};
    for (int i = 0; i < MOST_ROWS * K; i++) {
        a[i / K][i % K] = value(i);
    }
    for (int i = 0; i < GROUPS * COLUMNS * K; i++) {
        b[i / K / COLUMNS][i / K % COLUMNS][i % K] = value(i * 5 + 3);
    }
    for (int i = 0; i < MOST_ROWS; i++) {
        index_of_a[i] = i % 3 == 0 ? none[i / 3 % 5] : i * 5 % A_ROWS;
        index_of_d[i] = i % 4 == 0 ? none[i / 4 % 5] : (i * 7 + 5) % D_ROWS;
    }
}

static int clip(int32_t number, int most)
{
    return number < 0 ? 0 : number > most ? most : number;
}

static int rows_of(const struct form *form)
{
    return form->by == JIT_GEMM_GROUP_BY_COUNTS ? GROUPS * form->m : form->m;
}

/* Which rows are whose, as docs/grouped.md promises it. */
static void find_groups(const struct form *form, const int32_t numbers[GROUPS])
{
    int reached = 0, last = 0;
    memset(group_of, 0xff, sizeof(group_of));
    for (int group = 0; group < GROUPS; group++) {
        const int number = clip(numbers[group], form->m);
        const int begin = number < last ? number : last;
        for (int i = 0; form->by == JIT_GEMM_GROUP_BY_COUNTS && i < number; i++) {
            group_of[group * form->m + i] = group;
        }
        for (int i = begin; form->by == JIT_GEMM_GROUP_BY_OFFSETS && i < number; i++) {
            group_of[i] = begin < reached ? group_of[i] : group;
        }
        reached = number > reached ? number : reached;
        last = number;
    }
    for (int i = 0; form->by == JIT_GEMM_GROUP_BY_ROWS && i < form->m; i++) {
        const int32_t number = numbers[i / 128];
        group_of[i] = number >= 0 && number < GROUPS ? number : -1;
    }
}

static float element(const struct form *form, int row, int column)
{
    const int32_t of_a = form->is_indexed ? index_of_a[row] : row;
    const bool is_there = !form->is_indexed || (of_a >= 0 && of_a < A_ROWS);
    float sum = 0;
    for (int k = 0; k < K && is_there; k++) {
        sum += a[of_a][k] * b[group_of[row]][column][k];
    }
    return sum;
}

struct results {
    float d[D_ROWS][COLUMNS], rows[MOST_ROWS], columns[GROUPS][COLUMNS], greatest[GROUPS];
};

/* What is not written is NaN. */
static void make_results(const struct form *form, struct results *results)
{
    memset(results, 0xff, sizeof(*results));
    memset(results->columns, 0, sizeof(results->columns));
    for (int group = 0; group < GROUPS; group++) {
        results->greatest[group] = -INFINITY;
    }
    for (int row = 0; row < rows_of(form); row++) {
        const int group = group_of[row];
        const int32_t to = form->is_indexed ? index_of_d[row] : row;
        const bool is_stored = to >= 0 && to < D_ROWS;
        results->rows[row] = group < 0 ? NAN : 0;
        for (int column = 0; column < COLUMNS; column++) {
            const float made = group < 0 ? 0 : element(form, row, column);
            if (is_stored && (group >= 0 || form->is_cleared)) {
                results->d[to][column] = made;
            }
            if (group >= 0) {
                results->rows[row] += made;
                results->columns[group][column] += made;
                results->greatest[group] = fmaxf(results->greatest[group], made);
            }
        }
    }
}

struct launch {
    jit_gemm_context *context;
    jit_gemm *gemm;
    jit_gemm_args args;
    jit_gemm_arg operands[3];
};

static uint64_t upload_floats(const struct launch *launch, const void *data, int count)
{
    return emulated_upload(launch->context, data, (size_t)count * sizeof(float));
}

static void open_launch(struct launch *launch, const char *arch, const struct form *form)
{
    static const jit_gemm_operand reduced[] = {
        {"s", JIT_GEMM_OPERAND_COLUMN_VECTOR, JIT_GEMM_DTYPE_F32, JIT_GEMM_OPERAND_SUM, 0},
        {"g", JIT_GEMM_OPERAND_ROW_VECTOR, JIT_GEMM_DTYPE_F32, JIT_GEMM_OPERAND_SUM, 0},
        {"m", JIT_GEMM_OPERAND_SCALAR, JIT_GEMM_DTYPE_F32, JIT_GEMM_OPERAND_MAX, 0}};
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = "of_groups",
                                        .source = "d = acc; s = acc; g = acc; m = acc;",
                                        .operand_count = 3,
                                        .operands = reduced};
    static const struct results nothing;
    const int rows = rows_of(form);
    char text[160];
    jit_gemm_info info = {.struct_size = sizeof(info)};
    *launch = (struct launch){.context = emulated_open(arch, "sms=4,async=latest")};
    emulated_check(jit_gemm_epilogue_register(launch->context, &epilogue));
    snprintf(text, sizeof(text), "%s n=72 k=32 a=tf32 groups=4", form->words);
    const jit_gemm_problem problem = emulated_problem(text);
    launch->gemm = emulated_create(launch->context, &problem);
    emulated_check(jit_gemm_get_info(launch->gemm, &info));
    launch->args = (jit_gemm_args){
        .struct_size = sizeof(launch->args),
        .a = {.pointer = upload_floats(launch, a, (form->is_indexed ? A_ROWS : rows) * K)},
        .b = {.pointer = emulated_upload(launch->context, b, sizeof(b))},
        .d = {.pointer = upload_floats(launch, &nothing,
                                       (form->is_indexed ? D_ROWS : rows) * COLUMNS)},
        .group_sizes = upload_floats(launch, &nothing,
                                     form->by == JIT_GEMM_GROUP_BY_ROWS ? rows : GROUPS)};
    if (form->is_indexed) {
        launch->args.a_rows.pointer = upload_floats(launch, index_of_a, rows);
        launch->args.d_rows.pointer = upload_floats(launch, index_of_d, rows);
        launch->args.a_row_count = A_ROWS;
        launch->args.d_row_count = D_ROWS;
    }
    if (form->reduces) {
        launch->operands[0].pointer = upload_floats(launch, &nothing, rows);
        launch->operands[1].pointer = upload_floats(launch, &nothing, GROUPS * COLUMNS);
        launch->operands[2].pointer = upload_floats(launch, &nothing, GROUPS);
        launch->args.operands = launch->operands;
        launch->args.operand_count = 3;
    }
    if (info.workspace_bytes > 0) {
        const size_t bytes = (size_t)info.workspace_bytes;
        emulated_check(
            jit_gemm_device_alloc(launch->context, bytes, &launch->args.workspace));
        emulated_check(
            jit_gemm_device_fill(launch->context, launch->args.workspace, 0, bytes));
    }
}

static void close_launch(struct launch *launch)
{
    const jit_gemm_args *args = &launch->args;
    const uint64_t all[] = {args->a.pointer,
                            args->b.pointer,
                            args->d.pointer,
                            args->group_sizes,
                            args->a_rows.pointer,
                            args->d_rows.pointer,
                            args->workspace,
                            launch->operands[0].pointer,
                            launch->operands[1].pointer,
                            launch->operands[2].pointer};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        emulated_free(launch->context, all[i]);
    }
    jit_gemm_destroy(&launch->gemm);
    jit_gemm_context_destroy(&launch->context);
}

static void upload_numbers(const struct launch *launch, const struct form *form,
                           const int32_t numbers[GROUPS])
{
    int32_t of_rows[MOST_ROWS];
    for (int i = 0; i < MOST_ROWS; i++) { /* only those of first rows count */
        of_rows[i] = i % 128 == 0 ? numbers[i / 128] : INT32_MAX - i;
    }
    const bool is_by_rows = form->by == JIT_GEMM_GROUP_BY_ROWS;
    emulated_check(jit_gemm_device_upload(
        launch->context, launch->args.group_sizes, is_by_rows ? of_rows : numbers,
        sizeof(int32_t) * (size_t)(is_by_rows ? form->m : GROUPS)));
}

static void download(const struct launch *launch, float *to, uint64_t from, int count)
{
    emulated_check(
        jit_gemm_device_download(launch->context, to, from, (size_t)count * sizeof(float)));
}

static void fill_floats(const struct launch *launch, uint64_t address, int count)
{
    emulated_check(jit_gemm_device_fill(launch->context, address, 0xff,
                                        (size_t)count * sizeof(float)));
}

static void run_and_compare(const struct launch *launch, const struct form *form)
{
    static struct results wanted, got;
    const int rows = rows_of(form);
    const int of_d = (form->is_indexed ? D_ROWS : rows) * COLUMNS;
    make_results(form, &wanted);
    fill_floats(launch, launch->args.d.pointer, of_d);
    if (form->reduces) {
        fill_floats(launch, launch->operands[0].pointer, rows);
    }
    emulated_check(jit_gemm_run(launch->gemm, &launch->args, NULL));
    download(launch, &got.d[0][0], launch->args.d.pointer, of_d);
    emulated_expect_equal("element", &got.d[0][0], &wanted.d[0][0], of_d);
    if (form->reduces) {
        download(launch, got.rows, launch->operands[0].pointer, rows);
        download(launch, &got.columns[0][0], launch->operands[1].pointer, GROUPS * COLUMNS);
        download(launch, got.greatest, launch->operands[2].pointer, GROUPS);
        emulated_expect_equal("row", got.rows, wanted.rows, rows);
        emulated_expect_equal("column", &got.columns[0][0], &wanted.columns[0][0],
                              GROUPS * COLUMNS);
        emulated_expect_equal("the greatest of group", got.greatest, wanted.greatest,
                              GROUPS);
    }
}

static void expect_on(const char *arch)
{
    fill();
    for (int i = 0; i < FORMS; i++) {
        struct launch launch;
        open_launch(&launch, arch, &forms[i]);
        for (int turn = 0; turn < TURNS; turn++) {
            find_groups(&forms[i], numbers_of[turn]);
            upload_numbers(&launch, &forms[i], numbers_of[turn]);
            run_and_compare(&launch, &forms[i]);
        }
        close_launch(&launch);
    }
}

Test(wrong_numbers, lead_nowhere_on_sm_90a, .timeout = 300)
{
    expect_on("sm_90a");
}
Test(wrong_numbers, lead_nowhere_on_sm_100a, .timeout = 300)
{
    expect_on("sm_100a");
}
