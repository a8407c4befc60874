/* SPDX-License-Identifier: MIT */
/*
 * Scales that kernels compute for blocks of D, on the emulator through the public API, bit
 * for bit. The snippet gives D the values of a matrix, so that a test chooses what a block
 * has: zeros, the least and the greatest of f32, infinities, NaN, ties. All memory around
 * and between what is written is guarded.
 */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulated_fixture.h"
#include "strides.h"
#include "verify/quantise.h"

enum { ROWS = 37, COLUMNS = 300, BATCH = 2, K = 16, GUARD = 0xa5, GUARD_BYTES = 64 };
enum { SCALE_BYTES = 1 << 16 }; /* more than any layout takes */

/* What a launch reads and writes, on the host. */
struct data {
    float values[BATCH][ROWS][COLUMNS];
    unsigned char d[BATCH * ROWS * COLUMNS + GUARD_BYTES];
    unsigned char scales[SCALE_BYTES];
};

static jit_gemm_context *open_context(const char *arch)
{
    static const jit_gemm_operand operand = {
        .name = "x", .kind = JIT_GEMM_OPERAND_MATRIX, .dtype = JIT_GEMM_DTYPE_F32};
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = "given",
                                        .source = "d = x;",
                                        .operand_count = 1,
                                        .operands = &operand};
    jit_gemm_context *context = emulated_open(arch, "sms=2,async=random,seed=9");
    emulated_check(jit_gemm_epilogue_register(context, &epilogue));
    return context;
}

/* Runs the problem with `data->values` and fills the rest of it. */
static void run(jit_gemm_context *context, const jit_gemm_problem *problem,
                struct data *data)
{
    static const unsigned char zeros[BATCH * COLUMNS * K * 2];
    jit_gemm *gemm = emulated_create(context, problem);
    memset(data->d, GUARD, sizeof(data->d));
    memset(data->scales, GUARD, sizeof(data->scales));
    const jit_gemm_arg x = {
        .pointer = emulated_upload(context, data->values, sizeof(data->values))};
    const jit_gemm_args args = {
        .struct_size = sizeof(args),
        .a = {.pointer = emulated_upload(context, zeros, sizeof(zeros))},
        .b = {.pointer = emulated_upload(context, zeros, sizeof(zeros))},
        .d = {.pointer = emulated_upload(context, data->d, sizeof(data->d))},
        .d_scale = {.pointer =
                        emulated_upload(context, data->scales, sizeof(data->scales))},
        .operands = &x,
        .operand_count = 1};
    emulated_check(jit_gemm_run(gemm, &args, NULL));
    emulated_check(
        jit_gemm_device_download(context, data->d, args.d.pointer, sizeof(data->d)));
    emulated_check(jit_gemm_device_download(context, data->scales, args.d_scale.pointer,
                                            sizeof(data->scales)));
    const uint64_t addresses[] = {args.a.pointer, args.b.pointer, args.d.pointer,
                                  args.d_scale.pointer, x.pointer};
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        emulated_check(jit_gemm_device_free(context, addresses[i]));
    }
    jit_gemm_destroy(&gemm);
}

static jit_gemm_problem make_problem(const char *rest)
{
    char text[256];
    jit_gemm_problem problem;
    snprintf(text, sizeof(text),
             "m=%d n=%d k=%d batch=%d a=bf16 output_align=1 epilogue=given %s", ROWS,
             COLUMNS, K, BATCH, rest);
    emulated_check(jit_gemm_problem_parse(text, &problem));
    return problem;
}

/* --------------------------------------------------------------------- known bytes */

/* The first block of each row: what it has, and what must come of that. Elements are
 * values[0] to values[3], all others zero. */
static const struct known {
    const char *what;
    float values[4];
    float scale;        /* of 1x128 */
    unsigned char d[4]; /* beside it, e4m3 */
    unsigned char mx;   /* scale of mx */
    unsigned char mx_d[4];
    unsigned char nv; /* scale of nv, with tensor scales of one */
    unsigned char nv_d[2];
    unsigned char mx4; /* scale of mx beside e2m1 */
    unsigned char mx4_d[2];
} known_rows[] = {
    {"zeros",
     {0, -0.0F, 0, 0},
     1,
     {0, 0x80, 0, 0},
     0,
     {0, 0x80, 0, 0},
     0x01,
     {0x80, 0x00},
     0,
     {0x80, 0x00}},
    {"448",
     {448, -448, 224, 1},
     1,
     {0x7e, 0xfe, 0x76, 0x38},
     127,
     {0x7e, 0xfe, 0x76, 0x38},
     0x69,
     {0xf7, 0x05},
     134,
     {0xe6, 0x04}},
    {"the next after 448",
     {448.00003F, 448, 1, 0},
     1.0000001F,
     {0x7e, 0x7e, 0x38, 0},
     128,
     {0x76, 0x76, 0x30, 0},
     0x69,
     {0x77, 0x00},
     134,
     {0x66, 0x00}},
    {"896",
     {896, 448, 2, -2},
     2,
     {0x7e, 0x76, 0x38, 0xb8},
     128,
     {0x7e, 0x76, 0x38, 0xb8},
     0x71,
     {0x57, 0x80},
     135,
     {0x46, 0x80}},
    {"ties",
     {448, 17, 19, 0x1p-10F},
     1,
     {0x7e, 0x58, 0x5a, 0},
     127,
     {0x7e, 0x58, 0x5a, 0},
     0x69,
     {0x07, 0x01},
     134,
     {0x06, 0x00}},
    {"infinity",
     {INFINITY, 1, -INFINITY, 0},
     FLT_MAX / 448,
     {0x7e, 0, 0xfe, 0},
     254,
     {0x7e, 0, 0xfe, 0},
     0x7e,
     {0x07, 0x0f},
     254,
     {0x07, 0x0f}},
    {"NaN",
     {1, NAN, INFINITY, 0},
     NAN,
     {0x7f, 0x7f, 0x7f, 0x7f},
     255,
     {0x7f, 0x7f, 0x7f, 0x7f},
     0x7f,
     {0x77, 0x77},
     255,
     {0x77, 0x77}},
    {"the greatest",
     {FLT_MAX, 1, 0, 0},
     FLT_MAX / 448,
     {0x7e, 0, 0, 0},
     247,
     {0x78, 0, 0, 0},
     0x7e,
     {0x07, 0x00},
     253,
     {0x06, 0x00}},
    {"the least normal",
     {FLT_MIN, -FLT_MIN, 0, 0},
     FLT_MIN,
     {0x38, 0xb8, 0, 0},
     0,
     {0x40, 0xc0, 0, 0},
     0x01,
     {0x80, 0x00},
     0,
     {0xc4, 0x00}},
    {"the least",
     {0x1p-149F, 0, 0, 0},
     FLT_MIN,
     {0, 0, 0, 0},
     0,
     {0, 0, 0, 0},
     0x01,
     {0x00, 0x00},
     0,
     {0x00, 0x00}},
    {"ties of nv",
     {6, 0.25F, -0.75F, 1.25F},
     6.0F / 448,
     {0x7e, 0x59, 0xe6, 0x6c},
     121,
     {0x7c, 0x58, 0xe4, 0x6a},
     0x38,
     {0x07, 0x2a},
     127,
     {0x07, 0x2a}},
    {"more ties of nv",
     {6, 1.75F, -2.5F, 3.5F},
     6.0F / 448,
     {0x7e, 0x70, 0xf4, 0x78},
     121,
     {0x7c, 0x6e, 0xf2, 0x76},
     0x38,
     {0x47, 0x6c},
     127,
     {0x47, 0x6c}},
    {"a tie of nv's scale",
     {6.375F, 5, -5.125F, 0.25F},
     6.375F / 448,
     {0x7e, 0x7b, 0xfb, 0x59},
     121,
     {0x7d, 0x7a, 0xfa, 0x58},
     0x38,
     {0x67, 0x0f},
     128,
     {0x45, 0x0d}},
};

enum { KNOWN_ROWS = sizeof(known_rows) / sizeof(known_rows[0]) };

static void fill_known(struct data *data)
{
    memset(data->values, 0, sizeof(data->values));
    for (int row = 0; row < KNOWN_ROWS; row++) {
        memcpy(data->values[0][row], known_rows[row].values,
               sizeof(known_rows[row].values));
    }
}

static float f32_at(const struct data *data, size_t index)
{
    float value;
    memcpy(&value, data->scales + index * sizeof(value), sizeof(value));
    return value;
}

static void expect_bytes(const struct data *data, const struct known *known, int at,
                         const unsigned char *want, int count)
{
    for (int i = 0; i < count; i++) {
        cr_expect_eq(data->d[at + i], want[i], "%s, byte %d: %02x", known->what, i,
                     data->d[at + i]);
    }
}

static void expect_known_f32(const struct data *data)
{
    for (int row = 0; row < KNOWN_ROWS; row++) {
        const struct known *known = &known_rows[row];
        const float got = f32_at(data, (size_t)(row * ((COLUMNS + 127) / 128)));
        cr_expect(isnan(known->scale) ? isnan(got)
                                      : got >= known->scale && got <= known->scale,
                  "%s: %a", known->what, (double)got);
        expect_bytes(data, known, row * COLUMNS, known->d, 4);
    }
}

static void expect_known_mx(const struct data *data)
{
    for (int row = 0; row < KNOWN_ROWS; row++) {
        const struct known *known = &known_rows[row];
        const unsigned char got = data->scales[row * ((COLUMNS + 31) / 32)];
        cr_expect_eq(got, known->mx, "%s: %u", known->what, got);
        expect_bytes(data, known, row * COLUMNS, known->mx_d, 4);
    }
}

/* The same: the elements of a block of 32 are all that a block of 128 has. */
static void expect_known_power(const struct data *data)
{
    for (int row = 0; row < KNOWN_ROWS; row++) {
        const struct known *known = &known_rows[row];
        const unsigned char got = data->scales[row * ((COLUMNS + 127) / 128)];
        cr_expect_eq(got, known->mx, "%s: %u", known->what, got);
        expect_bytes(data, known, row * COLUMNS, known->mx_d, 4);
    }
}

static void expect_known_mx4(const struct data *data)
{
    for (int row = 0; row < KNOWN_ROWS; row++) {
        const struct known *known = &known_rows[row];
        const unsigned char got = data->scales[row * ((COLUMNS + 31) / 32)];
        cr_expect_eq(got, known->mx4, "%s: %u", known->what, got);
        expect_bytes(data, known, row * COLUMNS / 2, known->mx4_d, 2);
    }
}

static void expect_known_nv(const struct data *data)
{
    for (int row = 0; row < KNOWN_ROWS; row++) {
        const struct known *known = &known_rows[row];
        const unsigned char got = data->scales[row * ((COLUMNS + 15) / 16)];
        cr_expect_eq(got, known->nv, "%s: %02x", known->what, got);
        expect_bytes(data, known, row * COLUMNS / 2, known->nv_d, 2);
    }
}

Test(block_scales, edges_have_known_bytes)
{
    static const struct {
        const char *text;
        void (*expect)(const struct data *data);
    } kinds[] = {{"d=e4m3 d_scale=1x128", expect_known_f32},
                 {"d=e4m3 d_scale=1x128ue8m0", expect_known_power},
                 {"d=e4m3 d_scale=mx", expect_known_mx},
                 {"d=e2m1 d_scale=mx", expect_known_mx4},
                 {"d=e2m1 d_scale=nv", expect_known_nv}};
    struct data *data = malloc(sizeof(*data));
    cr_assert_not_null(data);
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        jit_gemm_context *context = open_context(emulated_archs[i]);
        for (size_t j = 0; j < sizeof(kinds) / sizeof(kinds[0]); j++) {
            const jit_gemm_problem problem = make_problem(kinds[j].text);
            fill_known(data);
            run(context, &problem, data);
            kinds[j].expect(data);
        }
        jit_gemm_context_destroy(&context);
    }
    free(data);
}

/* --------------------------------------------------------------- layouts and guards */

/* Magnitudes of many powers of two, so that neighbours have other scales. */
static void fill_random(struct data *data)
{
    uint32_t state = 12345;
    float *value = &data->values[0][0][0];
    for (int i = 0; i < BATCH * ROWS * COLUMNS; i++) {
        state = state * 1664525U + 1013904223U;
        const float unit = (float)(int32_t)state * 0x1p-31F;
        value[i] = ldexpf(unit, (i / 32 * 7 + i / COLUMNS) % 60 - 30);
    }
}

/* The host's quantisation is exact beside a launch's: the reference is what was given. */
static void expect_quantised(const struct data *data, const jit_gemm_problem *problem,
                             const char *what)
{
    const struct element_view view = {problem->d.dtype, BATCH,   ROWS,
                                      COLUMNS,          COLUMNS, ROWS * COLUMNS};
    const struct element_view ref_view = {JIT_GEMM_DTYPE_F32, BATCH, ROWS, COLUMNS, COLUMNS,
                                          ROWS * COLUMNS};
    struct element_view scale_view = quantise_scale_view(
        &problem->d.scale, 1, quantise_scale_rows(&problem->d.scale, ROWS), COLUMNS);
    scale_view.batch = BATCH; /* packed */
    const struct quantised all = {.scale = &problem->d.scale,
                                  .view = &view,
                                  .scale_view = &scale_view,
                                  .ref_view = &ref_view,
                                  .data = data->d,
                                  .scales = data->scales,
                                  .ref = &data->values[0][0][0]};
    const struct compare_bounds exact = {0};
    struct compare_report elements, scales;
    char text[512];
    quantise_compare(&all, &exact, &elements, &scales);
    compare_describe(&elements, text, sizeof(text));
    cr_expect(elements.over_bound == 0 && elements.wrong_nan == 0, "%s, D: %s", what, text);
    compare_describe(&scales, text, sizeof(text));
    cr_expect_eq(scales.over_bound, 0, "%s, scales: %s", what, text);
    const size_t end = element_view_bytes(&scale_view);
    for (size_t i = end; i < sizeof(data->scales); i++) {
        cr_assert_eq(data->scales[i], GUARD, "%s: byte %zu beyond the scales", what,
                     i - end);
    }
    for (size_t i = element_view_bytes(&view); i < sizeof(data->d); i++) {
        cr_assert_eq(data->d[i], GUARD, "%s: a byte beyond D", what);
    }
}

Test(block_scales, layouts_and_types_are_exact)
{
    static const char *const texts[] = {"d=e5m2 d_scale=1x128",
                                        "d=e4m3 d_scale=1x128 d_scale_layout=column",
                                        "d=e5m2 d_scale=mx",
                                        "d=e4m3 d_scale=mx d_scale_layout=128x4",
                                        "d=nvfp4 d_scale_layout=row",
                                        "d=nvfp4 d_scale_layout=128x4",
                                        "d=e4m3 d_scale=128x128",
                                        "d=e5m2 d_scale=128x128 d_scale_layout=column",
                                        "d=e4m3 d_scale=128x128ue8m0 d_scale_layout=mn_k4"};
    struct data *data = malloc(sizeof(*data));
    cr_assert_not_null(data);
    fill_random(data);
    const int step = test_stride(EMULATED_ARCHS);
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        jit_gemm_context *context = open_context(emulated_archs[i]);
        for (size_t j = (size_t)(i % step); j < sizeof(texts) / sizeof(texts[0]);
             j += (size_t)step) {
            const jit_gemm_problem problem = make_problem(texts[j]);
            run(context, &problem, data);
            expect_quantised(data, &problem, texts[j]);
        }
        jit_gemm_context_destroy(&context);
    }
    free(data);
}

/* Every third pair of a type and a layout, on the chips in turn: each type and each layout
 * is among them. */
Test(block_scales, scales_of_a_byte_are_exact_in_every_layout)
{
    static const char *const types[] = {"d=e4m3 d_scale=1x128ue8m0",
                                        "d=e5m2 d_scale=1x128ue8m0", "d=mxfp8", "d=mxfp4",
                                        "d=nvfp4"};
    static const char *const layouts[] = {"row", "column", "128x4", "8x4", "mn_k4"};
    struct data *data = malloc(sizeof(*data));
    cr_assert_not_null(data);
    fill_random(data);
    for (int i = 0; i < 5 * 5; i += test_stride(3)) {
        jit_gemm_context *context = open_context(emulated_archs[i % EMULATED_ARCHS]);
        char text[128];
        snprintf(text, sizeof(text), "%s d_scale_layout=%s", types[i / 5], layouts[i % 5]);
        const jit_gemm_problem problem = make_problem(text);
        run(context, &problem, data);
        expect_quantised(data, &problem, text);
        jit_gemm_context_destroy(&context);
    }
    free(data);
}

/* Few rows as columns of the multiplication: blocks in a warp, of several warps, of both
 * warpgroups; several tiles, and tiles of several steps. */
Test(block_scales, scales_of_a_transposed_product_are_exact)
{
    static const struct {
        const char *arch, *config, *types[4];
    } rows[] = {
        {"sm_90a",
         "tile=128x16",
         {"d=e4m3 d_scale=1x128", "d=mxfp8", "d=nvfp4", "d=mxfp4"}},
        {"sm_90a", "tile=128x64", {"d=e5m2 d_scale=1x128 d_scale_layout=column"}},
        {"sm_90a", "tile=64x32", {"d=mxfp8e5m2 d_scale_layout=mn_k4", "d=nvfp4"}},
        {"sm_90a", "tile=128x32 cluster=2x1", {"d=e4m3 d_scale=1x128ue8m0"}},
        {"sm_100a",
         "mma=128x16",
         {"d=e4m3 d_scale=1x128", "d=mxfp8", "d=nvfp4", "d=mxfp4"}},
        {"sm_100a", "mma=128x48", {"d=e5m2 d_scale=1x128ue8m0 d_scale_layout=8x4"}},
        {"sm_100a", "mma=128x128", {"d=e5m2 d_scale=1x128 d_scale_layout=column"}},
        {"sm_100a", "mma=64x32", {"d=mxfp8e5m2 d_scale_layout=mn_k4", "d=nvfp4"}},
        {"sm_100a", "mma=128x32 cta_group=2", {"d=mxfp8", "d=nvfp4"}},
        {"sm_100a", "mma=256x64 cta_group=2", {"d=e4m3 d_scale=1x128ue8m0", "d=mxfp4"}},
        {"sm_90a", "tile=128x64", {"d=e4m3 d_scale=128x128"}},
        {"sm_100a", "mma=128x64", {"d=e5m2 d_scale=128x128ue8m0 d_scale_layout=8x4"}},
        {"sm_100a", "mma=256x128 cta_group=2", {"d=e4m3 d_scale=128x128"}},
    };
    struct data *data = malloc(sizeof(*data));
    cr_assert_not_null(data);
    fill_random(data);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i += (size_t)test_stride(2)) {
        jit_gemm_context *context = open_context(rows[i].arch);
        for (int j = 0; j < 4 && rows[i].types[j] != NULL; j++) {
            char text[192];
            snprintf(text, sizeof(text), "%s config=swap_ab=1 %s", rows[i].types[j],
                     rows[i].config);
            const jit_gemm_problem problem = make_problem(text);
            run(context, &problem, data);
            expect_quantised(data, &problem, text);
        }
        jit_gemm_context_destroy(&context);
    }
    free(data);
}

/* A value of one element, anywhere in a block, decides the scale of all of its elements;
 * the blocks beside it keep theirs. */
Test(block_scales, one_element_decides_a_square_of_d)
{
    static const struct {
        int row, column;
        float value;
    } places[] = {{0, 0, 448},         {ROWS - 1, 127, 896}, {17, 64, -1792},
                  {ROWS - 1, 31, NAN}, {31, 96, -INFINITY},  {8, 1, 0x1p-149F}};
    struct data *data = malloc(sizeof(*data));
    cr_assert_not_null(data);
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        jit_gemm_context *context = open_context(emulated_archs[i]);
        const jit_gemm_problem problem = make_problem("d=e4m3 d_scale=128x128");
        for (size_t j = 0; j < sizeof(places) / sizeof(places[0]); j++) {
            const float value = places[j].value;
            memset(data->values, 0, sizeof(data->values));
            data->values[1][places[j].row][128 + places[j].column] = value;
            run(context, &problem, data);
            const float got = f32_at(data, 3 + 1);
            const float want = quantise_scale(&problem.d.scale, problem.d.dtype,
                                              isnan(value) ? value : fabsf(value));
            cr_expect(isnan(want) ? isnan(got) : got >= want && got <= want, "%a: %a",
                      (double)value, (double)got);
            for (size_t block = 0; block < 6; block++) {
                cr_expect(block == 4 ||
                              (f32_at(data, block) >= 1 && f32_at(data, block) <= 1),
                          "%a: block %zu", (double)value, block);
            }
            expect_quantised(data, &problem, "one element");
        }
        jit_gemm_context_destroy(&context);
    }
    free(data);
}

/* Of element (row, column) of a column-major D: in row `column` of the scales, of all rows
 * of that block of 128. */
Test(block_scales, blocks_of_a_column_major_d_lie_along_its_columns)
{
    enum { M = COLUMNS, N = ROWS, BLOCKS_OF_M = 3, ROW = 200, COLUMN = 5 };
    static const char *const scales[] = {"1x128", "128x128"};
    struct data *data = malloc(sizeof(*data));
    cr_assert_not_null(data);
    for (int i = 0; i < 2 * EMULATED_ARCHS; i++) {
        jit_gemm_context *context = open_context(emulated_archs[i / 2]);
        char text[256];
        jit_gemm_problem problem;
        snprintf(text, sizeof(text),
                 "m=%d n=%d k=%d batch=%d a=bf16 output_align=1 epilogue=given d=e4m3 "
                 "d_layout=column d_scale=%s",
                 M, N, K, BATCH, scales[i % 2]);
        emulated_check(jit_gemm_problem_parse(text, &problem));
        memset(data->values, 0, sizeof(data->values));
        data->values[0][COLUMN][ROW] = 896; /* in memory a column is a row */
        run(context, &problem, data);
        const int columns = i % 2 == 0 ? N : 1;
        for (int j = 0; j < columns * BLOCKS_OF_M; j++) {
            const bool is_its_block = j / BLOCKS_OF_M == (columns == 1 ? 0 : COLUMN) &&
                                      j % BLOCKS_OF_M == ROW / 128;
            const float got = f32_at(data, (size_t)j), want = is_its_block ? 2 : 1;
            cr_expect(got >= want && got <= want, "%s: scale %d is %a", text, j,
                      (double)got);
        }
        cr_expect_eq(data->d[COLUMN * M + ROW], 0x7e, "%s", text);
        fill_random(data);
        run(context, &problem, data);
        expect_quantised(data, &problem, text);
        jit_gemm_context_destroy(&context);
    }
    free(data);
}

/* -------------------------------------------------------------------------- padding */

enum { ALL_ROWS = 40, BLOCKS = (COLUMNS + 31) / 32, ALL_BLOCKS = 12 }; /* rounded up to 4 */

static int byte_of_128x4(int row, int block)
{
    return block / 4 * 512 + row % 32 * 16 + row / 32 * 4 + block % 4;
}

static int byte_of_8x4(int row, int block)
{
    return (row / 8 * (ALL_BLOCKS / 4) + block / 4) * 32 + row % 8 * 4 + block % 4;
}

static int byte_of_mn_k4(int row, int block)
{
    return (block / 4 * ALL_ROWS + row) * 4 + block % 4;
}

/* By the letter of docs/scales.md: rows beyond M, and what fills up a column, are not
 * written; missing blocks of a row's last word are zero. */
Test(block_scales, pads_are_zero_or_untouched)
{
    static const struct {
        const char *layout;
        int rows;
        int (*byte_of)(int row, int block);
    } words[] = {{"128x4", 128, byte_of_128x4},
                 {"8x4", ALL_ROWS, byte_of_8x4},
                 {"mn_k4", ALL_ROWS, byte_of_mn_k4}};
    struct data *data = malloc(sizeof(*data));
    cr_assert_not_null(data);
    fill_random(data);
    jit_gemm_context *context = open_context(emulated_archs[0]);
    const jit_gemm_problem column =
        make_problem("d=e4m3 d_scale=1x128 d_scale_layout=column");
    run(context, &column, data);
    for (int block = 0; block < 3; block++) {
        for (int row = ROWS; row < ALL_ROWS; row++) {
            const size_t byte = (size_t)(block * ALL_ROWS + row) * sizeof(float);
            cr_expect_eq(data->scales[byte], GUARD, "block %d row %d", block, row);
        }
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        char text[64];
        snprintf(text, sizeof(text), "d=e4m3 d_scale=mx d_scale_layout=%s",
                 words[i].layout);
        const jit_gemm_problem problem = make_problem(text);
        run(context, &problem, data);
        for (int j = 0; j < words[i].rows * ALL_BLOCKS; j++) {
            const int row = j / ALL_BLOCKS, block = j % ALL_BLOCKS;
            const unsigned char got = data->scales[words[i].byte_of(row, block)];
            const bool is_right = row >= ROWS       ? got == GUARD
                                  : block >= BLOCKS ? got == 0
                                                    : got != GUARD;
            cr_expect(is_right, "%s: row %d block %d: %02x", text, row, block, got);
        }
    }
    jit_gemm_context_destroy(&context);
    free(data);
}
