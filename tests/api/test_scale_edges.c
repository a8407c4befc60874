/* SPDX-License-Identifier: MIT */
/*
 * Edges of the scales of MXFP8, MXFP4 and NVFP4: every code of a scale, that of a tensor,
 * blocks of zeros, NaN, no K at all, and what is refused; in the kernel of sm_100a and in
 * the reference kernel, on the emulator; and arguments of f32 scales. Values are told from
 * the bits by arithmetic of the host's own.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "emulated_fixture.h"
#include "jit_gemm/convert.h"
#include "jit_gemm/scales.h"

enum { ROWS = 256, COLUMNS = 8, MOST_K = 192, MOST_BYTES = ROWS * MOST_K };

static const struct kind {
    const char *text;
    int block_k;
    bool is_half_byte, is_ue4m3;
    unsigned char one; /* an element, of e2m1 the even one of a byte */
} kinds[] = {{"mxfp8", 32, false, false, 0x38},
             {"mxfp8e5m2", 32, false, false, 0x3c},
             {"mxfp4", 32, true, false, 0x02},
             {"nvfp4", 16, true, true, 0x02}};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* What a launch takes and gives. Scales lie in rows. */
struct data {
    const struct kind *kind;
    int k;
    float alpha;
    bool is_alpha_on_device;
    unsigned char a[MOST_BYTES], b[COLUMNS * MOST_K];
    unsigned char a_scales[ROWS * MOST_K / 16], b_scales[COLUMNS * MOST_K / 16];
    float d[ROWS * COLUMNS];
};

static struct data data;

static unsigned char scale_of_one(void)
{
    return data.kind->is_ue4m3 ? 0x38 : 127;
}

static int count_blocks(void)
{
    return data.k / data.kind->block_k;
}

/* Zeros, and scales of one. */
static void clear(const struct kind *kind, int k)
{
    memset(&data, 0, sizeof(data));
    data.kind = kind;
    data.k = k;
    data.alpha = 1;
    memset(data.a_scales, scale_of_one(), sizeof(data.a_scales));
    memset(data.b_scales, scale_of_one(), sizeof(data.b_scales));
    memset(data.d, 0xff, sizeof(data.d));
}

/* Sets the first element of a block to one. */
static void set_one(unsigned char *elements, int row, int block)
{
    const int at = row * data.k + block * data.kind->block_k;
    elements[data.kind->is_half_byte ? at / 2 : at] = data.kind->one;
}

static uint64_t upload_pieces(jit_gemm_context *context, const unsigned char *scales,
                              int rows)
{
    static unsigned char pieces[ROWS * MOST_K];
    size_t bytes = 0;
    jit_gemm_scale scale = {.kind = JIT_GEMM_SCALE_BLOCK,
                            .block_mn = 1,
                            .block_k = (uint32_t)data.kind->block_k};
    emulated_check(jit_gemm_scales_convert(&scale, rows, data.k, scales,
                                           JIT_GEMM_SCALE_LAYOUT_128X4, pieces));
    scale.layout = JIT_GEMM_SCALE_LAYOUT_128X4;
    emulated_check(jit_gemm_scales_bytes(&scale, rows, data.k, &bytes));
    return emulated_upload(context, pieces, bytes);
}

static void multiply(const char *config)
{
    char text[128];
    jit_gemm_context *context =
        emulated_open("sm_100a", "sms=4,async=latest,numbers=exact");
    snprintf(text, sizeof(text), "m=%d n=%d k=%d a=%s d=f32 config=%s", ROWS, COLUMNS,
             data.k, data.kind->text, config);
    const jit_gemm_problem problem = emulated_problem(text);
    jit_gemm *gemm = emulated_create(context, &problem);
    const size_t row_bytes = (size_t)(data.kind->is_half_byte ? data.k / 2 : data.k);
    const jit_gemm_args args = {
        .struct_size = sizeof(args),
        .a = {.pointer = emulated_upload(context, data.a, ROWS * row_bytes)},
        .b = {.pointer = emulated_upload(context, data.b, COLUMNS * row_bytes)},
        .a_scale = {.pointer = upload_pieces(context, data.a_scales, ROWS)},
        .b_scale = {.pointer = upload_pieces(context, data.b_scales, COLUMNS)},
        .alpha = data.is_alpha_on_device ? NULL : &data.alpha,
        .alpha_device = data.is_alpha_on_device
                            ? emulated_upload(context, &data.alpha, sizeof(data.alpha))
                            : 0,
        .d = {.pointer = emulated_upload(context, data.d, sizeof(data.d))}};
    emulated_check(jit_gemm_run(gemm, &args, NULL));
    emulated_check(
        jit_gemm_device_download(context, data.d, args.d.pointer, sizeof(data.d)));
    const uint64_t addresses[] = {args.a.pointer, args.b.pointer, args.a_scale.pointer,
                                  args.b_scale.pointer, args.d.pointer};
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        emulated_free(context, addresses[i]);
    }
    if (data.is_alpha_on_device) {
        emulated_free(context, args.alpha_device);
    }
    jit_gemm_destroy(&gemm);
    jit_gemm_context_destroy(&context);
}

static const char *const configs[] = {"mma=128x32", "mma=256x32 cta_group=2",
                                      "kernel=reference"};

enum { CONFIGS = sizeof(configs) / sizeof(configs[0]) };

/* ------------------------------------------------------------------------ every code */

/* What a byte of a scale is worth, by its bits. */
static double value_of(int code)
{
    const uint8_t bits = (uint8_t)code;
    return data.kind->is_ue4m3 ? (double)jit_gemm_ue4m3_to_float(bits)
                               : (double)jit_gemm_ue8m0_to_float(bits);
}

/* Row r has scale r. Columns have scales that keep the greatest finite, and the least
 * normal. */
Test(scale_edges, every_code_of_a_scale_is_worth_what_its_bits_say)
{
    for (int i = 0; i < KINDS * CONFIGS; i++) {
        clear(&kinds[i / CONFIGS], 64);
        for (int row = 0; row < ROWS; row++) {
            set_one(data.a, row, 0);
            data.a_scales[row * count_blocks()] = (unsigned char)row;
        }
        for (int column = 0; column < COLUMNS; column++) {
            set_one(data.b, column, 0);
            data.b_scales[column * count_blocks()] =
                (unsigned char)(scale_of_one() +
                                (data.kind->is_ue4m3 ? 8 : 1) * (column - 4));
        }
        multiply(configs[i % CONFIGS]);
        for (int j = 0; j < ROWS * COLUMNS; j++) {
            const int row = j / COLUMNS;
            const double wanted =
                (double)(float)ldexp(value_of(row), j % COLUMNS - 4); /* may be infinite */
            const double got = (double)data.d[j];
            if (wanted != 0 && wanted < 0x1p-126) {
                continue; /* subnormal sums are the tensor core's own affair */
            }
            cr_assert(isnan(wanted) ? isnan(got) : got == wanted,
                      "%s, %s, code %d, column %d: %g, not %g", data.kind->text,
                      configs[i % CONFIGS], row, j % COLUMNS, got, wanted);
        }
    }
}

/* That of an NVFP4 tensor: alpha. */
Test(scale_edges, the_scale_of_a_tensor_is_alpha_by_value_or_by_address)
{
    for (int i = 0; i < 2; i++) {
        clear(&kinds[3], 64);
        data.alpha = 0.375F;
        data.is_alpha_on_device = i == 1;
        for (int row = 0; row < ROWS; row++) {
            set_one(data.a, row, 0);
        }
        for (int column = 0; column < COLUMNS; column++) {
            set_one(data.b, column, 0);
        }
        multiply(configs[1]);
        for (int j = 0; j < ROWS * COLUMNS; j++) {
            cr_assert_eq(data.d[j], 0.375F, "%s: %g", i == 1 ? "address" : "value",
                         (double)data.d[j]);
        }
    }
}

/* ------------------------------------------------------------------- zeros, and NaN */

/* Rows: 0 to 2 have a block of zeros between two of ones, and as its scale the least, the
 * greatest, NaN; 3 has scales of the least in all blocks; 4 has nothing but zeros. Column 1
 * has a NaN for the middle block, column 2 zeros there. */
static void fill_zeros_and_nans(void)
{
    const unsigned char least = 1; /* 2^-126, or 2^-9 */
    const unsigned char greatest = data.kind->is_ue4m3 ? 0x7e : 254;
    const unsigned char nan = data.kind->is_ue4m3 ? 0x7f : 255;
    const int blocks = count_blocks(), middle = blocks / 2;
    for (int row = 0; row < ROWS; row++) {
        for (int block = 0; block < blocks; block++) {
            if (row != 4 && (block != middle || row > 2)) {
                set_one(data.a, row, block);
            }
            data.a_scales[row * blocks + block] = row == 3 ? least : scale_of_one();
        }
    }
    for (int column = 0; column < COLUMNS; column++) {
        for (int block = 0; block < blocks; block++) {
            if (column != 2 || block != middle) {
                set_one(data.b, column, block);
            }
        }
    }
    data.a_scales[0 * blocks + middle] = least;
    data.a_scales[1 * blocks + middle] = greatest;
    data.a_scales[2 * blocks + middle] = nan;
    data.b_scales[1 * blocks + middle] = nan;
}

Test(scale_edges, zeros_add_nothing_and_a_nan_reaches_its_row_or_column_through_zeros)
{
    for (int i = 0; i < KINDS * CONFIGS; i++) {
        clear(&kinds[i / CONFIGS], MOST_K);
        fill_zeros_and_nans();
        const int blocks = count_blocks();
        multiply(configs[i % CONFIGS]);
        for (int j = 0; j < ROWS * COLUMNS; j++) {
            const int row = j / COLUMNS, column = j % COLUMNS;
            const int products = blocks - (row <= 2 || column == 2);
            const double one = row == 3 ? value_of(1) : row == 4 ? 0.0 : 1.0;
            const bool is_nan = row == 2 || column == 1;
            const double got = (double)data.d[j];
            cr_assert(is_nan ? isnan(got) : got == one * products,
                      "%s, %s (%d, %d): %g, not %g", data.kind->text, configs[i % CONFIGS],
                      row, column, got, is_nan ? (double)NAN : one * products);
        }
    }
}

/* A scale of 0 is one of ue4m3 only. */
Test(scale_edges, a_block_whose_scale_is_zero_adds_nothing)
{
    for (int i = 0; i < CONFIGS; i++) {
        clear(&kinds[3], MOST_K);
        const int blocks = count_blocks();
        for (int block = 0; block < blocks; block++) {
            for (int row = 0; row < ROWS; row++) {
                set_one(data.a, row, block);
                data.a_scales[row * blocks + block] = row == block ? 0 : 0x38;
            }
            for (int column = 0; column < COLUMNS; column++) {
                set_one(data.b, column, block);
            }
        }
        multiply(configs[i]);
        for (int j = 0; j < ROWS * COLUMNS; j++) {
            const float wanted = (float)(blocks - (j / COLUMNS < blocks));
            cr_assert_eq(data.d[j], wanted, "%s, row %d: %g", configs[i], j / COLUMNS,
                         (double)data.d[j]);
        }
    }
}

/* -------------------------------------------------------------------------------- no K */

Test(scale_edges, without_k_d_is_beta_times_c)
{
    for (int i = 0; i < KINDS * CONFIGS; i++) {
        char text[128];
        jit_gemm_context *context = emulated_open("sm_100a", "sms=4,async=latest");
        snprintf(text, sizeof(text), "m=%d n=%d k=192 a=%s d=f32 c=f32 dynamic=k config=%s",
                 ROWS, COLUMNS, kinds[i / CONFIGS].text, configs[i % CONFIGS]);
        emulated_expect_half_of_c(context, text);
        jit_gemm_context_destroy(&context);
    }
}

/* --------------------------------------------------------------------------- refusals */

Test(scale_edges, scales_that_do_not_lie_in_whole_words_are_refused_by_name)
{
    jit_gemm_context *context = emulated_open("sm_100a", "sms=4");
    const jit_gemm_problem problem =
        emulated_problem("m=256 n=8 k=192 batch=2 a=mxfp8 d=f32");
    jit_gemm *gemm = emulated_create(context, &problem);
    const jit_gemm_arg right = {.pointer = 4096};
    const struct {
        jit_gemm_arg a, b;
        const char *message;
    } rows[] = {
        {{0}, right, "args.a_scale.pointer: the address of the scales is NULL"},
        {right, {.pointer = 4096 + 8}, "args.b_scale.pointer: "},
        {{.pointer = 4096, .ld = 6}, right, "args.a_scale.ld: "},
        {{.pointer = 4096, .batch_stride = 2048 + 8}, right, "args.a_scale.batch_stride: "},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const jit_gemm_args args = {.struct_size = sizeof(args),
                                    .a = right,
                                    .b = right,
                                    .d = right,
                                    .a_scale = rows[i].a,
                                    .b_scale = rows[i].b};
        cr_expect_neq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s", rows[i].message);
        cr_expect_eq(
            strncmp(jit_gemm_last_error(), rows[i].message, strlen(rows[i].message)), 0,
            "%s, not %s", jit_gemm_last_error(), rows[i].message);
    }
    jit_gemm_destroy(&gemm);
    jit_gemm_context_destroy(&context);
}

/* A tensor core that takes powers of two would read other bytes of an f32. */
Test(scale_edges, floats_in_the_place_of_powers_of_two_are_refused_by_name)
{
    jit_gemm_context *context = emulated_open("sm_100a", "sms=4");
    jit_gemm_problem problem = emulated_problem("256x256x256 mxfp8 d=bf16");
    problem.b.scale.dtype = JIT_GEMM_DTYPE_F32;
    cr_expect_eq(jit_gemm_check(context, &problem), JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect_not_null(strstr(jit_gemm_last_error(),
                              "problem.b.scale.block_k: there are no scales of blocks of "
                              "1x32 and type f32"),
                       "%s", jit_gemm_last_error());
    jit_gemm_context_destroy(&context);
}

/* ----------------------------------------------------------------------------- f32 */

/* Scales of 1x128 and 128x128 beside e4m3: what is wrong about the arguments of a launch.
 */
struct mistake {
    jit_gemm_arg a_scale, b_scale;
    const char *message;
};

static void expect_refused(jit_gemm *gemm, const struct mistake *mistake, uint64_t memory,
                           int64_t n)
{
    const jit_gemm_args args = {.struct_size = sizeof(args),
                                .a = {.pointer = memory},
                                .b = {.pointer = memory},
                                .d = {.pointer = memory},
                                .a_scale = mistake->a_scale,
                                .b_scale = mistake->b_scale,
                                .n = n};
    cr_expect_neq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s", mistake->message);
    cr_expect_eq(strncmp(jit_gemm_last_error(), mistake->message, strlen(mistake->message)),
                 0, "%s, not %s", jit_gemm_last_error(), mistake->message);
}

#define SIZES    "m=132 n=260 k=288 batch=2 a=e4m3 d=f32 "
#define COUNT(x) ((int)(sizeof(x) / sizeof((x)[0])))

enum { ADDRESS = 4096 }; /* nobody reads it */

static void expect_all_refused(const char *text, const struct mistake *mistakes, int count,
                               int64_t n)
{
    jit_gemm_context *context = emulated_open("sm_90a", "sms=4");
    const jit_gemm_problem problem = emulated_problem(text);
    jit_gemm *gemm = emulated_create(context, &problem);
    for (int i = 0; i < count; i++) {
        expect_refused(gemm, &mistakes[i], ADDRESS, n);
    }
    jit_gemm_destroy(&gemm);
    jit_gemm_context_destroy(&context);
}

Test(scale_edges, wrong_arguments_are_refused_by_name)
{
    const jit_gemm_arg right = {.pointer = ADDRESS};
    const struct mistake mistakes[] = {
        {{0}, right, "args.a_scale.pointer: the address of the scales is NULL; give a"},
        {right, {0}, "args.b_scale.pointer: the address of the scales is NULL; give a"},
        {{.pointer = ADDRESS, .ld = 131},
         right,
         "args.a_scale.ld: the leading dimension 131 of the scales is less than its row of "
         "132 elements; give at least 132, or 0"},
        {right,
         {.pointer = ADDRESS, .ld = 2},
         "args.b_scale.ld: the leading dimension 2 of the scales is less than its row of 3 "
         "elements; give at least 3, or 0"},
        {{.pointer = ADDRESS + 2},
         right,
         "args.a_scale.pointer: the address 0x1002 of the scales is misaligned: no multiple "
         "of the 4 bytes of an element"},
        {right,
         {.pointer = ADDRESS, .batch_stride = -5},
         "args.b_scale.batch_stride: the batch stride -5 of the scales is negative; give "
         "elements between batches, 0 for packed, or JIT_GEMM_STRIDE_BROADCAST"},
        {right,
         {.pointer = ADDRESS, .value = 2},
         "args.b_scale.value: the scales are a matrix and have no value (2); leave it zero"},
    };
    expect_all_refused(SIZES "a_scale=1x128 b_scale=128x128 a_scale_layout=column",
                       mistakes, COUNT(mistakes), 0);
}

Test(scale_edges, scales_that_there_are_none_of_are_refused_by_name)
{
    const struct mistake mistakes[] = {
        {{.pointer = ADDRESS},
         {.pointer = ADDRESS},
         "args.b_scale.pointer: an address is given, but this problem has no scales of B"},
    };
    const struct mistake with_ld[] = {
        {{.pointer = ADDRESS, .ld = 4},
         {0},
         "args.a_scale.ld: the scales are a scalar and have no leading dimension (4)"},
    };
    expect_all_refused(SIZES "a_scale=1x128", mistakes, COUNT(mistakes), 0);
    expect_all_refused(SIZES "a_scale=tensor", with_ld, COUNT(with_ld), 0);
}

Test(scale_edges, halves_of_a_launch_are_whole_blocks)
{
    const struct mistake mistakes[] = {
        {{.pointer = ADDRESS},
         {.pointer = ADDRESS},
         "args.n: half of B has 192 columns, which are no whole blocks of 128: one of scale "
         "128x128 would belong to both; give halves of a multiple of the block's columns, "
         "or blocks of 1x128"},
    };
    expect_all_refused("m=132 n=512 k=160 a=e4m3 d=f32 epilogue=swiglu pair=halves "
                       "dynamic=n a_scale=1x128 b_scale=128x128",
                       mistakes, COUNT(mistakes), 384);
}
