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

#include "jit_gemm/device.h"
#include "jit_gemm/jit_gemm.h"
#include "verify/quantise.h"

enum { ROWS = 37, COLUMNS = 300, BATCH = 2, K = 16, GUARD = 0xa5, GUARD_BYTES = 64 };
enum { SCALE_BYTES = 1 << 16 }; /* more than any layout takes */

static const char *const archs[] = {"sm_90a", "sm_100a"};

enum { ARCHS = sizeof(archs) / sizeof(archs[0]) };

/* What a launch reads and writes, on the host. */
struct data {
    float values[BATCH][ROWS][COLUMNS];
    unsigned char d[BATCH * ROWS * COLUMNS + GUARD_BYTES];
    unsigned char scales[SCALE_BYTES];
};

static void check(jit_gemm_status status)
{
    cr_assert_eq(status, JIT_GEMM_OK, "%s", jit_gemm_last_error());
}

static jit_gemm_context *open_context(const char *arch)
{
    static const jit_gemm_operand operand = {
        .name = "x", .kind = JIT_GEMM_OPERAND_MATRIX, .dtype = JIT_GEMM_DTYPE_F32};
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = "given",
                                        .source = "d = x;",
                                        .operand_count = 1,
                                        .operands = &operand};
    const jit_gemm_context_options options = {.struct_size = sizeof(options),
                                              .arch = arch,
                                              .driver = EMU_LIBRARY_PATH,
                                              .no_cache = 1};
    jit_gemm_context *context = NULL;
    setenv("JIT_GEMM_EMULATOR", "sms=2,async=random,seed=9", 1);
    check(jit_gemm_context_create(&options, &context));
    check(jit_gemm_epilogue_register(context, &epilogue));
    return context;
}

static uint64_t upload(jit_gemm_context *context, const void *data, size_t bytes)
{
    uint64_t address = 0;
    check(jit_gemm_device_alloc(context, bytes, &address));
    check(jit_gemm_device_upload(context, address, data, bytes));
    return address;
}

/* Runs the problem with `data->values` and fills the rest of it. */
static void run(jit_gemm_context *context, const jit_gemm_problem *problem,
                struct data *data)
{
    static const unsigned char zeros[BATCH * COLUMNS * K * 2];
    jit_gemm *gemm = NULL;
    const jit_gemm_status status = jit_gemm_create(context, problem, &gemm);
    if (status == JIT_GEMM_ERR_NO_COMPILER) {
        cr_skip_test("NVRTC is needed: %s", jit_gemm_last_error());
    }
    check(status);
    memset(data->d, GUARD, sizeof(data->d));
    memset(data->scales, GUARD, sizeof(data->scales));
    const jit_gemm_arg x = {.pointer = upload(context, data->values, sizeof(data->values))};
    const jit_gemm_args args = {
        .struct_size = sizeof(args),
        .a = {.pointer = upload(context, zeros, sizeof(zeros))},
        .b = {.pointer = upload(context, zeros, sizeof(zeros))},
        .d = {.pointer = upload(context, data->d, sizeof(data->d))},
        .d_scale = {.pointer = upload(context, data->scales, sizeof(data->scales))},
        .operands = &x,
        .operand_count = 1};
    check(jit_gemm_run(gemm, &args, NULL));
    check(jit_gemm_device_download(context, data->d, args.d.pointer, sizeof(data->d)));
    check(jit_gemm_device_download(context, data->scales, args.d_scale.pointer,
                                   sizeof(data->scales)));
    const uint64_t addresses[] = {args.a.pointer, args.b.pointer, args.d.pointer,
                                  args.d_scale.pointer, x.pointer};
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        check(jit_gemm_device_free(context, addresses[i]));
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
    check(jit_gemm_problem_parse(text, &problem));
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
} rows_of_e4m3[] = {
    {"zeros", {0, -0.0F, 0, 0}, 1, {0, 0x80, 0, 0}, 0, {0, 0x80, 0, 0}},
    {"448",
     {448, -448, 224, 1},
     1,
     {0x7e, 0xfe, 0x76, 0x38},
     127,
     {0x7e, 0xfe, 0x76, 0x38}},
    {"the next after 448",
     {448.00003F, 448, 1, 0},
     1.0000001F,
     {0x7e, 0x7e, 0x38, 0},
     128,
     {0x76, 0x76, 0x30, 0}},
    {"896", {896, 448, 2, -2}, 2, {0x7e, 0x76, 0x38, 0xb8}, 128, {0x7e, 0x76, 0x38, 0xb8}},
    {"ties", {448, 17, 19, 0x1p-10F}, 1, {0x7e, 0x58, 0x5a, 0}, 127, {0x7e, 0x58, 0x5a, 0}},
    {"infinity",
     {INFINITY, 1, -INFINITY, 0},
     FLT_MAX / 448,
     {0x7e, 0, 0xfe, 0},
     254,
     {0x7e, 0, 0xfe, 0}},
    {"NaN",
     {1, NAN, INFINITY, 0},
     NAN,
     {0x7f, 0x7f, 0x7f, 0x7f},
     255,
     {0x7f, 0x7f, 0x7f, 0x7f}},
    {"the greatest",
     {FLT_MAX, 1, 0, 0},
     FLT_MAX / 448,
     {0x7e, 0, 0, 0},
     247,
     {0x78, 0, 0, 0}},
    {"the least normal",
     {FLT_MIN, -FLT_MIN, 0, 0},
     FLT_MIN,
     {0x38, 0xb8, 0, 0},
     0,
     {0x40, 0xc0, 0, 0}},
    {"the least", {0x1p-149F, 0, 0, 0}, FLT_MIN, {0, 0, 0, 0}, 0, {0, 0, 0, 0}},
};

enum { KNOWN_ROWS = sizeof(rows_of_e4m3) / sizeof(rows_of_e4m3[0]) };

static void fill_known(struct data *data)
{
    memset(data->values, 0, sizeof(data->values));
    for (int row = 0; row < KNOWN_ROWS; row++) {
        memcpy(data->values[0][row], rows_of_e4m3[row].values,
               sizeof(rows_of_e4m3[row].values));
    }
}

static float f32_at(const struct data *data, size_t index)
{
    float value;
    memcpy(&value, data->scales + index * sizeof(value), sizeof(value));
    return value;
}

static void expect_known(const struct data *data, const char *arch, bool is_mx)
{
    const int blocks = is_mx ? (COLUMNS + 31) / 32 : (COLUMNS + 127) / 128;
    for (int row = 0; row < KNOWN_ROWS; row++) {
        const struct known *known = &rows_of_e4m3[row];
        const size_t index = (size_t)(row * blocks);
        const unsigned char *want = is_mx ? known->mx_d : known->d;
        if (is_mx) {
            cr_expect_eq(data->scales[index], known->mx, "%s, %s: %u", arch, known->what,
                         data->scales[index]);
        } else {
            const float got = f32_at(data, index);
            cr_expect(isnan(known->scale) ? isnan(got)
                                          : got >= known->scale && got <= known->scale,
                      "%s, %s: %a", arch, known->what, (double)got);
        }
        for (int i = 0; i < 4; i++) {
            const unsigned char got = data->d[row * COLUMNS + i];
            cr_expect_eq(got, want[i], "%s, %s, mx %d, element %d: %02x", arch, known->what,
                         is_mx, i, got);
        }
    }
}

Test(block_scales, edges_have_known_bytes)
{
    struct data *data = malloc(sizeof(*data));
    cr_assert_not_null(data);
    for (int i = 0; i < ARCHS; i++) {
        jit_gemm_context *context = open_context(archs[i]);
        const jit_gemm_problem f32 = make_problem("d=e4m3 d_scale=1x128");
        const jit_gemm_problem mx = make_problem("d=e4m3 d_scale=mx");
        fill_known(data);
        run(context, &f32, data);
        expect_known(data, archs[i], false);
        run(context, &mx, data);
        expect_known(data, archs[i], true);
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
    struct element_view scale_view =
        quantise_scale_view(&problem->d.scale, 1, ROWS, COLUMNS);
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
    for (size_t i = BATCH * ROWS * COLUMNS; i < sizeof(data->d); i++) {
        cr_assert_eq(data->d[i], GUARD, "%s: a byte beyond D", what);
    }
}

Test(block_scales, layouts_and_types_are_exact)
{
    static const char *const texts[] = {
        "d=e5m2 d_scale=1x128", "d=e4m3 d_scale=1x128 d_scale_layout=column",
        "d=e5m2 d_scale=mx", "d=e4m3 d_scale=mx d_scale_layout=128x4"};
    struct data *data = malloc(sizeof(*data));
    cr_assert_not_null(data);
    fill_random(data);
    for (int i = 0; i < ARCHS; i++) {
        jit_gemm_context *context = open_context(archs[i]);
        for (size_t j = 0; j < sizeof(texts) / sizeof(texts[0]); j++) {
            const jit_gemm_problem problem = make_problem(texts[j]);
            run(context, &problem, data);
            expect_quantised(data, &problem, texts[j]);
        }
        jit_gemm_context_destroy(&context);
    }
    free(data);
}

/* Pads by the letter of docs/scales.md: rows beyond M, and what fills up a column, are not
 * written; missing blocks of a row's last four are zero. */
Test(block_scales, pads_are_zero_or_untouched)
{
    struct data *data = malloc(sizeof(*data));
    cr_assert_not_null(data);
    fill_random(data);
    jit_gemm_context *context = open_context(archs[0]);
    const jit_gemm_problem column =
        make_problem("d=e4m3 d_scale=1x128 d_scale_layout=column");
    run(context, &column, data);
    for (int block = 0; block < 3; block++) {
        for (int row = ROWS; row < 40; row++) {
            const size_t byte = (size_t)(block * 40 + row) * sizeof(float);
            cr_expect_eq(data->scales[byte], GUARD, "block %d row %d", block, row);
        }
    }
    const jit_gemm_problem pieces = make_problem("d=e4m3 d_scale=mx d_scale_layout=128x4");
    run(context, &pieces, data);
    for (int row = 0; row < 128; row++) {
        for (int block = 10; block < 12; block++) { /* of 300 columns there are 10 */
            const int byte = block / 4 * 512 + row % 32 * 16 + row / 32 * 4 + block % 4;
            cr_expect_eq(data->scales[byte], row < ROWS ? 0 : GUARD, "row %d block %d", row,
                         block);
        }
        const int first = row % 32 * 16 + row / 32 * 4;
        cr_expect_eq(data->scales[first] == GUARD, row >= ROWS, "row %d", row);
    }
    jit_gemm_context_destroy(&context);
    free(data);
}
