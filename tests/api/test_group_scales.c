/* SPDX-License-Identifier: MIT */
/* Scales of groups by offsets in the layout 128x4: at which row those of each group begin,
 * stacked and padded; and those of rows of A that an index names. On the emulator, with
 * places that are written down here. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "emulated_fixture.h"

enum {
    GROUPS = 4,
    ROWS = 140, /* of which the groups have 136 */
    COLUMNS = 128,
    K = 128,
    PIECE_ROWS = 128,
    PIECE_BYTES = 512, /* K and COLUMNS have four blocks of 32 each: a piece for 128 rows */
    PIECES = ROWS / PIECE_ROWS + GROUPS,
    A_ROWS = 197, /* where an index names them */
    BLOCKS = K / 32,
    ONE = 127,       /* 2^0 of ue8m0 */
    NO_SCALE = 0xff, /* NaN */
    E4M3_ONE = 0x38,
    BF16_ONE = 0x3f80,
    BF16_EXPONENT = 7, /* bits below it */
    E4M3_MOST_EXPONENT = 8
};

static const int32_t ends[GROUPS] = {5, 5, 135, 136};

/* Where the scales of each group's rows begin. */
static const struct {
    const char *words;
    int first[GROUPS];
} layouts[] = {{"scale_rows=stacked", {0, 128, 256, 512}},
               {"scale_rows=per_group_padded", {0, 128, 128, 384}}};
enum { LAYOUTS = sizeof(layouts) / sizeof(layouts[0]) };

static int group_of(int row)
{
    int group = 0;
    while (group < GROUPS && row >= ends[group]) {
        group++;
    }
    return group;
}

/* Of a row of A, or of D, in its group: whose scales lie at that row of theirs. */
static int row_of_scales(const int first[GROUPS], int row)
{
    const int group = group_of(row);
    return first[group] + row - (group > 0 ? ends[group - 1] : 0);
}

/* The byte of block `block` of a row in the layout 128x4, with four blocks along K. */
static size_t place_of(int row, int block)
{
    const int in_piece = row % PIECE_ROWS;
    return (size_t)(row / PIECE_ROWS * PIECE_BYTES + in_piece % 32 * 16 +
                    in_piece / 32 * 4 + block);
}

/* The exponent that a row has. */
static int exponent_of(int row)
{
    return group_of(row) + row % 3;
}

static uint64_t fill(jit_gemm_context *context, int byte, size_t bytes)
{
    uint64_t address = 0;
    emulated_check(jit_gemm_device_alloc(context, bytes, &address));
    emulated_check(jit_gemm_device_fill(context, address, (uint8_t)byte, bytes));
    return address;
}

static void free_all(jit_gemm_context *context, const jit_gemm_args *args)
{
    emulated_free(context, args->a.pointer);
    emulated_free(context, args->b.pointer);
    emulated_free(context, args->d.pointer);
    emulated_free(context, args->a_scale.pointer);
    emulated_free(context, args->b_scale.pointer);
    emulated_free(context, args->d_scale.pointer);
    emulated_free(context, args->group_sizes);
    emulated_free(context, args->a_rows.pointer);
    emulated_free(context, args->workspace);
}

/* Zeros, of as many bytes as the kernel asks for. */
static uint64_t make_workspace(jit_gemm_context *context, const jit_gemm *gemm)
{
    jit_gemm_info info = {.struct_size = sizeof(info)};
    emulated_check(jit_gemm_get_info(gemm, &info));
    return info.workspace_bytes > 0 ? fill(context, 0, info.workspace_bytes) : 0;
}

/* Numbers of groups that fall, or lie beyond the rows, lead nowhere: the emulator reports
 * what is read or written outside of arrays, and what two write of rows in common. */
static void run_with_wrong_numbers(jit_gemm_context *context, const jit_gemm *gemm,
                                   const jit_gemm_args *args)
{
    static const int32_t wrong[][GROUPS] = {{130, -5, -7, -1},
                                            {INT32_MAX, INT32_MIN, -1, 0},
                                            {ROWS + 1, 4 * ROWS, INT32_MAX, ROWS},
                                            {ROWS, 0, ROWS, 0},
                                            {ROWS, 129, ROWS, 1}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        emulated_check(
            jit_gemm_device_upload(context, args->group_sizes, wrong[i], sizeof(wrong[i])));
        emulated_check(jit_gemm_run(gemm, args, NULL));
    }
}

/* All elements are 1, and so are the scales of B: an element of D is K times the scale of
 * its row. What no row has is NaN. Without `first` scales lie as A's rows do, and a kernel
 * before the product's brings them to pieces. */
static void expect_scales_of_a(jit_gemm_context *context, const char *words,
                               const int first[GROUPS], const char *config)
{
    static uint8_t scales[PIECES * PIECE_BYTES];
    static float d[ROWS][COLUMNS];
    const size_t bytes = first != NULL ? sizeof(scales) : (size_t)ROWS * BLOCKS;
    char text[160];
    snprintf(text, sizeof(text), "m=140 n=128 k=128 mxfp8 d=f32 groups=4 %s%s", words,
             config);
    const jit_gemm_problem problem = emulated_problem(text);
    jit_gemm *gemm = emulated_create(context, &problem);
    memset(scales, NO_SCALE, sizeof(scales));
    for (int row = 0; row < ends[GROUPS - 1]; row++) {
        for (int block = 0; block < K / 32; block++) {
            const size_t place = first != NULL ? place_of(row_of_scales(first, row), block)
                                               : (size_t)row * BLOCKS + (size_t)block;
            scales[place] = (uint8_t)(ONE + exponent_of(row));
        }
    }
    const jit_gemm_args args = {
        .struct_size = sizeof(args),
        .a = {.pointer = fill(context, E4M3_ONE, ROWS * K)},
        .b = {.pointer = fill(context, E4M3_ONE, GROUPS * COLUMNS * K)},
        .d = {.pointer = fill(context, NO_SCALE, sizeof(d))},
        .a_scale = {.pointer = emulated_upload(context, scales, bytes)},
        .b_scale = {.pointer = fill(context, ONE, GROUPS * PIECE_BYTES)},
        .workspace = make_workspace(context, gemm),
        .group_sizes = emulated_upload(context, ends, sizeof(ends))};

    emulated_check(jit_gemm_run(gemm, &args, NULL));

    emulated_check(jit_gemm_device_download(context, d, args.d.pointer, sizeof(d)));
    for (int row = 0; row < ROWS; row++) {
        for (int column = 0; column < COLUMNS; column++) {
            const double wanted = ldexp(K, exponent_of(row));
            const double got = (double)d[row][column];
            cr_assert(group_of(row) < GROUPS ? got >= wanted && got <= wanted : isnan(got),
                      "%s: row %d, column %d: %g, not %g", text, row, column, got, wanted);
        }
    }
    run_with_wrong_numbers(context, gemm, &args);
    free_all(context, &args);
    jit_gemm_destroy(&gemm);
}

Test(group_scales, scales_of_a_begin_where_the_problem_says, .timeout = 300)
{
    static const char *const configs[] = {"", " config=mma=128x128 swap_ab=0",
                                          " config=mma=128x32 swap_ab=1"};
    jit_gemm_context *context = emulated_open("sm_100a", "sms=4,async=latest");
    for (int i = 0; i < LAYOUTS; i++) {
        for (size_t j = 0; j < sizeof(configs) / sizeof(configs[0]); j++) {
            expect_scales_of_a(context, layouts[i].words, layouts[i].first, configs[j]);
        }
    }
    for (size_t j = 0; j < sizeof(configs) / sizeof(configs[0]); j++) {
        expect_scales_of_a(context, "a_scale_layout=row", NULL, configs[j]);
    }
    jit_gemm_context_destroy(&context);
}

enum { FALLING_ROWS = 300 }; /* of three bands */

/* Numbers that fall, and the groups that have rows beside them: bands of those that have
 * none lie in the others', and before them. */
static const struct {
    int32_t numbers[GROUPS];
    int begin[GROUPS], end[GROUPS];
} falling[] = {{{FALLING_ROWS, 0, FALLING_ROWS, FALLING_ROWS}, {0}, {FALLING_ROWS}},
               {{130, -5, 135, 0}, {0}, {130}},
               {{2, 133, 1, 139}, {0, 2}, {2, 133}},
               {{131, 130, 131, 139}, {0, 0, 0, 131}, {131, 0, 0, 139}},
               {{299, 1, 290, 299}, {0}, {299}}};

/* As in expect_scales_of_a(), with scales that lie as A's rows do. */
static void expect_packed_scales(jit_gemm_context *context, size_t which)
{
    static uint8_t scales[FALLING_ROWS * BLOCKS];
    static float d[FALLING_ROWS][COLUMNS];
    const jit_gemm_problem problem =
        emulated_problem("m=300 n=128 k=128 mxfp8 d=f32 groups=4 a_scale_layout=row");
    jit_gemm *gemm = emulated_create(context, &problem);
    for (int row = 0; row < FALLING_ROWS; row++) {
        memset(&scales[row * BLOCKS], ONE + row % 7, BLOCKS);
    }
    const int32_t *numbers = falling[which].numbers;
    const jit_gemm_args args = {
        .struct_size = sizeof(args),
        .a = {.pointer = fill(context, E4M3_ONE, FALLING_ROWS * K)},
        .b = {.pointer = fill(context, E4M3_ONE, GROUPS * COLUMNS * K)},
        .d = {.pointer = fill(context, NO_SCALE, sizeof(d))},
        .a_scale = {.pointer = emulated_upload(context, scales, sizeof(scales))},
        .b_scale = {.pointer = fill(context, ONE, GROUPS * PIECE_BYTES)},
        .workspace = make_workspace(context, gemm),
        .group_sizes = emulated_upload(context, numbers, sizeof(falling[which].numbers))};

    emulated_check(jit_gemm_run(gemm, &args, NULL));

    emulated_check(jit_gemm_device_download(context, d, args.d.pointer, sizeof(d)));
    for (int row = 0; row < FALLING_ROWS; row++) {
        bool has_group = false;
        for (int group = 0; group < GROUPS; group++) {
            has_group |=
                row >= falling[which].begin[group] && row < falling[which].end[group];
        }
        const double wanted = ldexp(K, row % 7);
        const double got = (double)d[row][COLUMNS - 1];
        cr_assert(has_group ? got >= wanted && got <= wanted : isnan(got),
                  "numbers %zu: row %d: %g, not %g", which, row, got, wanted);
    }
    free_all(context, &args);
    jit_gemm_destroy(&gemm);
}

Test(group_scales, packed_scales_follow_numbers_that_fall, .timeout = 300)
{
    jit_gemm_context *context = emulated_open("sm_100a", "sms=4,async=latest");
    for (size_t i = 0; i < sizeof(falling) / sizeof(falling[0]); i++) {
        expect_packed_scales(context, i);
    }
    jit_gemm_context_destroy(&context);
}

/* Row r of A is 2^exponent_of(r), B is 1: the greatest element of each block of D is known,
 * and its scale is a power of two. Scales of no row are not written. */
static void expect_scales_of_d(jit_gemm_context *context, const char *words,
                               const int first[GROUPS])
{
    static uint16_t a[ROWS][K], b[GROUPS][COLUMNS][K];
    static uint8_t wanted[PIECES * PIECE_BYTES], got[PIECES * PIECE_BYTES];
    char text[160];
    snprintf(text, sizeof(text), "m=140 n=128 k=128 bf16 d=mxfp8 groups=4 %s", words);
    const jit_gemm_problem problem = emulated_problem(text);
    jit_gemm *gemm = emulated_create(context, &problem);
    for (int i = 0; i < ROWS * K; i++) {
        a[i / K][i % K] = (uint16_t)(BF16_ONE + (exponent_of(i / K) << BF16_EXPONENT));
    }
    for (int i = 0; i < GROUPS * COLUMNS * K; i++) {
        b[i / K / COLUMNS][i / K % COLUMNS][i % K] = BF16_ONE;
    }
    memset(wanted, NO_SCALE, sizeof(wanted));
    for (int row = 0; row < ends[GROUPS - 1]; row++) {
        const int exponent = (int)log2(K) + exponent_of(row);
        for (int block = 0; block < COLUMNS / 32; block++) {
            wanted[place_of(row_of_scales(first, row), block)] =
                (uint8_t)(ONE + exponent - E4M3_MOST_EXPONENT);
        }
    }
    const jit_gemm_args args = {
        .struct_size = sizeof(args),
        .a = {.pointer = emulated_upload(context, a, sizeof(a))},
        .b = {.pointer = emulated_upload(context, b, sizeof(b))},
        .d = {.pointer = fill(context, NO_SCALE, ROWS * COLUMNS)},
        .d_scale = {.pointer = fill(context, NO_SCALE, sizeof(got))},
        .group_sizes = emulated_upload(context, ends, sizeof(ends))};

    emulated_check(jit_gemm_run(gemm, &args, NULL));

    emulated_check(
        jit_gemm_device_download(context, got, args.d_scale.pointer, sizeof(got)));
    for (size_t i = 0; i < sizeof(got); i++) {
        cr_assert_eq(got[i], wanted[i], "%s: byte %zu is %d, not %d", text, i, got[i],
                     wanted[i]);
    }
    free_all(context, &args);
    jit_gemm_destroy(&gemm);
}

Test(group_scales, scales_of_d_begin_where_the_problem_says, .timeout = 300)
{
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        jit_gemm_context *context = emulated_open(emulated_archs[i], "sms=4,async=latest");
        for (int j = 0; j < LAYOUTS; j++) {
            expect_scales_of_d(context, layouts[j].words, layouts[j].first);
        }
        jit_gemm_context_destroy(&context);
    }
}

/* Of A where an index names its rows: row `row` is 1, 2 or 3 times its blocks' scales. */
static int value_of(int row)
{
    return row % 3 + 1;
}

static int exponent_of_block(int row, int block)
{
    return (row / 3 + 5 * block) % 11 - 4;
}

/* A row of A that row `i` of the product is made of, or none of them. */
static int32_t index_at(int i, int step)
{
    static const int32_t none[] = {-1, A_ROWS, INT32_MIN, INT32_MAX};
    return i % 9 == 4 ? none[i / 9 % 4] : (i * step + 190) % A_ROWS;
}

static double indexed_value(int32_t row)
{
    double sum = 0;
    for (int block = 0; row >= 0 && row < A_ROWS && block < BLOCKS; block++) {
        sum += 32.0 * value_of(row) * ldexp(1, exponent_of_block(row, block));
    }
    return sum;
}

/* Scales of rows beyond A's, and in memory D's rows of no group, are NaN. */
static jit_gemm_args make_indexed(jit_gemm_context *context)
{
    static const uint8_t values[] = {0, E4M3_ONE, 0x40, 0x44};
    static uint8_t a[A_ROWS][K], scales[2 * PIECE_BYTES];
    memset(scales, NO_SCALE, sizeof(scales));
    for (int row = 0; row < A_ROWS; row++) {
        memset(a[row], values[value_of(row)], K);
        for (int block = 0; block < BLOCKS; block++) {
            scales[place_of(row, block)] = (uint8_t)(ONE + exponent_of_block(row, block));
        }
    }
    return (jit_gemm_args){
        .struct_size = sizeof(jit_gemm_args),
        .a = {.pointer = emulated_upload(context, a, sizeof(a))},
        .b = {.pointer = fill(context, E4M3_ONE, GROUPS * COLUMNS * K)},
        .d = {.pointer = fill(context, NO_SCALE, sizeof(float[ROWS][COLUMNS]))},
        .a_scale = {.pointer = emulated_upload(context, scales, sizeof(scales))},
        .b_scale = {.pointer = fill(context, ONE, GROUPS * PIECE_BYTES)},
        .group_sizes = emulated_upload(context, ends, sizeof(ends)),
        .a_rows = {.pointer = fill(context, 0, ROWS * sizeof(int32_t))},
        .a_row_count = A_ROWS};
}

static void expect_indexed(jit_gemm_context *context, const char *text)
{
    static const int steps[] = {1, 71, 0};
    static float d[ROWS][COLUMNS];
    int32_t index[ROWS];
    const jit_gemm_problem problem = emulated_problem(text);
    jit_gemm *gemm = emulated_create(context, &problem);
    const jit_gemm_args args = make_indexed(context);
    for (size_t step = 0; step < sizeof(steps) / sizeof(steps[0]); step++) {
        for (int i = 0; i < ROWS; i++) {
            index[i] = index_at(i, steps[step]);
        }
        emulated_check(
            jit_gemm_device_upload(context, args.a_rows.pointer, index, sizeof(index)));

        emulated_check(jit_gemm_run(gemm, &args, NULL));

        emulated_check(jit_gemm_device_download(context, d, args.d.pointer, sizeof(d)));
        for (int i = 0; i < ROWS * COLUMNS; i++) {
            const int row = i / COLUMNS;
            const double wanted = indexed_value(index[row]);
            const double got = (double)d[row][i % COLUMNS];
            cr_assert(group_of(row) < GROUPS ? got >= wanted && got <= wanted : isnan(got),
                      "%s: row %d, column %d: %g, not %g", text, row, i % COLUMNS, got,
                      wanted);
        }
    }
    free_all(context, &args);
    jit_gemm_destroy(&gemm);
}

Test(group_scales, scales_come_with_the_rows_that_an_index_names, .timeout = 300)
{
    static const char *const configs[] = {"mma=256x128 cta_group=2 cluster=2x1 swap_ab=0",
                                          "mma=128x96 cluster=1x1 swap_ab=1"};
    jit_gemm_context *context = emulated_open("sm_100a", "sms=4,async=latest");
    for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]); i++) {
        char text[160];
        snprintf(text, sizeof(text),
                 "m=140 n=128 k=128 mxfp8 d=f32 groups=4 a_rows=indexed config=%s",
                 configs[i]);
        expect_indexed(context, text);
    }
    jit_gemm_context_destroy(&context);
}
