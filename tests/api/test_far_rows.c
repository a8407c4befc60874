/* SPDX-License-Identifier: MIT */
/* Groups of which a matrix has its last row further than 2^31 elements from its first one,
 * so that no product of a row and a stride fits 32 bits. Memory is as large and has pages
 * where elements are only: the emulator's is empty until it is written. On the emulator of
 * both chips; a device with less memory skips them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "emulated_fixture.h"
#include "verify/elements.h"

/* 280 * FAR > 2^31 */
enum { ROWS = 300, K = 64, COLUMNS = 16, GROUPS = 3, FAR = 7680000, MOST_BYTES = 256 };

/* Rows of `count` elements: `ld` from one to the next, and each `of_part` of them
 * `part_stride` from those before. */
struct rows {
    jit_gemm_dtype dtype;
    int64_t count, ld, of_part, part_stride;
    uint64_t address;
};

/* A launch of 300 rows in 3 groups, by offsets or of 100 each by counts. `far`: the matrix
 * whose rows, or groups, lie far apart. */
struct launch {
    const char *arch, *text;
    char far;
    bool by_counts;
    int32_t numbers[GROUPS];
    struct rows a, b, d;
};

static int value(int64_t i)
{
    return (int)(i * 37 % 11) - 5;
}

static uint64_t address_of(const struct rows *rows, int64_t row)
{
    const int64_t element =
        row / rows->of_part * rows->part_stride + row % rows->of_part * rows->ld;
    return rows->address + element_bytes(rows->dtype, (size_t)element);
}

/* Device memory that nobody has written. */
static void allocate(jit_gemm_context *context, struct rows *rows, int64_t all)
{
    const uint64_t end =
        address_of(rows, all - 1) + element_bytes(rows->dtype, (size_t)rows->count);
    if (jit_gemm_device_alloc(context, end, &rows->address) != JIT_GEMM_OK) {
        cr_skip("the device has no %llu bytes", (unsigned long long)end);
    }
}

/* value() from `first` on, row by row. */
static void write_rows(jit_gemm_context *context, const struct rows *rows, int64_t all,
                       int64_t first)
{
    char bytes[MOST_BYTES];
    for (int64_t row = 0; row < all; row++) {
        for (int64_t i = 0; i < rows->count; i++) {
            element_store(rows->dtype, bytes, (size_t)i, value(first + row * K + i));
        }
        emulated_check(
            jit_gemm_device_upload(context, address_of(rows, row), bytes,
                                   element_bytes(rows->dtype, (size_t)rows->count)));
    }
}

/* -1: of none. */
static int group_of(const struct launch *launch, int64_t row)
{
    if (launch->by_counts) {
        return row % 100 < launch->numbers[row / 100] ? (int)(row / 100) : -1;
    }
    for (int group = 0; group < GROUPS; group++) {
        if (row < launch->numbers[group]) {
            return group;
        }
    }
    return -1;
}

static void expect_rows(jit_gemm_context *context, const struct launch *launch)
{
    for (int64_t row = 0; row < ROWS; row++) {
        const int group = group_of(launch, row);
        char got[MOST_BYTES];
        if (group < 0) {
            continue;
        }
        emulated_check(jit_gemm_device_download(context, got, address_of(&launch->d, row),
                                                element_bytes(launch->d.dtype, COLUMNS)));
        for (int column = 0; column < COLUMNS; column++) {
            double sum = 0;
            for (int k = 0; k < K; k++) {
                sum += value(row * K + 1 + k) *
                       value((int64_t)(group * COLUMNS + column) * K + k);
            }
            const double wanted = element_round(launch->d.dtype, sum);
            const double found = element_load(launch->d.dtype, got, (size_t)column);
            cr_assert(found >= wanted && found <= wanted,
                      "%s %s: row %lld, column %d: %g, not %g", launch->arch, launch->text,
                      (long long)row, column, found, wanted);
        }
    }
}

static struct rows place_rows(const struct launch *launch, jit_gemm_dtype dtype,
                              int64_t count, bool is_far)
{
    const int64_t ld = is_far && !launch->by_counts ? FAR : count;
    return (struct rows){.dtype = dtype,
                         .count = count,
                         .ld = ld,
                         .of_part = launch->by_counts ? 100 : ROWS,
                         .part_stride = is_far ? (int64_t)ROWS / 2 * FAR : 100 * ld};
}

static void expect_sums(struct launch launch)
{
    jit_gemm_context *context = emulated_open(launch.arch, "sms=4,async=latest");
    const jit_gemm_problem problem = emulated_problem(launch.text);
    jit_gemm *gemm = emulated_create(context, &problem);
    launch.a = place_rows(&launch, problem.a.dtype, K, launch.far == 'a');
    launch.d = place_rows(&launch, problem.d.dtype, COLUMNS, launch.far == 'd');
    launch.b = (struct rows){.dtype = problem.b.dtype,
                             .count = K,
                             .ld = K,
                             .of_part = COLUMNS,
                             .part_stride = launch.far == 'b' ? (int64_t)ROWS / 2 * FAR
                                                              : (int64_t)COLUMNS * K};
    allocate(context, &launch.a, ROWS);
    allocate(context, &launch.b, (int64_t)GROUPS * COLUMNS);
    allocate(context, &launch.d, ROWS);
    write_rows(context, &launch.a, ROWS, 1);
    write_rows(context, &launch.b, (int64_t)GROUPS * COLUMNS, 0);
    const jit_gemm_args args = {
        .struct_size = sizeof(args),
        .a = {.pointer = launch.a.address,
              .ld = launch.a.ld,
              .batch_stride = launch.by_counts ? launch.a.part_stride : 0},
        .b = {.pointer = launch.b.address, .batch_stride = launch.b.part_stride},
        .d = {.pointer = launch.d.address,
              .ld = launch.d.ld,
              .batch_stride = launch.by_counts ? launch.d.part_stride : 0},
        .group_sizes = emulated_upload(context, launch.numbers, sizeof(launch.numbers))};

    emulated_check(jit_gemm_run(gemm, &args, NULL));

    expect_rows(context, &launch);
    emulated_free(context, args.a.pointer);
    emulated_free(context, args.b.pointer);
    emulated_free(context, args.d.pointer);
    emulated_free(context, args.group_sizes);
    jit_gemm_destroy(&gemm);
    jit_gemm_context_destroy(&context);
}

static void expect_on_both(const char *text, char far, bool by_counts)
{
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        struct launch launch = {.arch = emulated_archs[i],
                                .text = text,
                                .far = far,
                                .by_counts = by_counts,
                                .numbers = {3, 261, 300}};
        if (by_counts) {
            launch.numbers[1] = 0;
            launch.numbers[2] = 77;
        }
        expect_sums(launch);
    }
}

#define OFFSETS "m=300 n=16 k=64 a=e4m3 groups=3"
#define COUNTS  "m=100 n=16 k=64 a=e4m3 groups=3 group_by=counts"

Test(far_rows, rows_by_copies_are_the_hosts)
{
    expect_on_both(OFFSETS " d=f32 config=swap_ab=0", 'a', false);
    expect_on_both(OFFSETS " d=f32 config=swap_ab=1", 'b', false);
    expect_on_both(OFFSETS " d=e4m3", 'd', false);
}

Test(far_rows, rows_by_threads_are_the_hosts)
{
    expect_on_both(OFFSETS " d=f32 input_align=1", 'a', false);
    expect_on_both(OFFSETS " d=f32 input_align=1", 'b', false);
    expect_on_both(OFFSETS " d=e4m3 output_align=1", 'd', false);
}

Test(far_rows, groups_by_counts_are_the_hosts)
{
    expect_on_both(COUNTS " d=e4m3", 'a', true);
    expect_on_both(COUNTS " d=e4m3", 'd', true);
}
