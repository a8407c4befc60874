/* SPDX-License-Identifier: MIT */
/*
 * Reductions of blocks of D's rows, on the emulator through the public API, bit for bit.
 * The snippet gives D the values of a matrix, so that a test chooses what a block has. Rows
 * and batches of results lie apart, and what is between them must stay.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit_gemm/device.h"
#include "jit_gemm/jit_gemm.h"

enum { ROWS = 133, COLUMNS = 300, BATCH = 2, K = 16, GUARD = 0xa5, RESULTS = 3 };
/* Values of a row of results, the widest one and what is beside it, and of a batch. */
enum { LD = (COLUMNS + 15) / 16 + 3, STRIDE = ROWS * LD + 5 };

/* What the snippet assigns, and what becomes of it. The values are small integers, so that
 * all sums are exact. */
static const jit_gemm_operand operands[] = {
    {.name = "x", .kind = JIT_GEMM_OPERAND_MATRIX, .dtype = JIT_GEMM_DTYPE_F32},
    {.name = "most",
     .kind = JIT_GEMM_OPERAND_BLOCK_1X128,
     .dtype = JIT_GEMM_DTYPE_F32,
     .role = JIT_GEMM_OPERAND_MAX},
    {.name = "sum",
     .kind = JIT_GEMM_OPERAND_BLOCK_1X32,
     .dtype = JIT_GEMM_DTYPE_F32,
     .role = JIT_GEMM_OPERAND_SUM},
    {.name = "least",
     .kind = JIT_GEMM_OPERAND_BLOCK_1X16,
     .dtype = JIT_GEMM_DTYPE_F32,
     .role = JIT_GEMM_OPERAND_MIN}};
static const char snippet[] = "d = x; most = abs(x); if (x != 2.0f) sum = x; least = x;";
static const int blocks[RESULTS] = {128, 32, 16};

struct data {
    float values[BATCH][ROWS][COLUMNS];
    float results[RESULTS][BATCH * STRIDE];
};

static void check(jit_gemm_status status)
{
    cr_assert_eq(status, JIT_GEMM_OK, "%s", jit_gemm_last_error());
}

static jit_gemm_context *open_context(const char *arch)
{
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = "given",
                                        .source = snippet,
                                        .operand_count = 1 + RESULTS,
                                        .operands = operands};
    const jit_gemm_context_options options = {.struct_size = sizeof(options),
                                              .arch = arch,
                                              .driver = EMU_LIBRARY_PATH,
                                              .no_cache = 1};
    jit_gemm_context *context = NULL;
    setenv("JIT_GEMM_EMULATOR", "sms=2,async=random,schedule=random,seed=9", 1);
    check(jit_gemm_context_create(&options, &context));
    check(jit_gemm_epilogue_register(context, &epilogue));
    return context;
}

static void fill_values(struct data *data)
{
    uint32_t state = 12345;
    float *value = &data->values[0][0][0];
    for (int i = 0; i < BATCH * ROWS * COLUMNS; i++) {
        state = state * 1664525U + 1013904223U;
        value[i] = (float)((int)(state >> 24) - 128);
    }
    data->values[0][3][140] = NAN;
    data->values[1][ROWS - 1][COLUMNS - 1] = INFINITY;
}

static uint64_t upload(jit_gemm_context *context, const void *data, size_t bytes)
{
    uint64_t address = 0;
    check(jit_gemm_device_alloc(context, bytes, &address));
    check(jit_gemm_device_upload(context, address, data, bytes));
    return address;
}

/* Fills the results. `has_scales`: of D, which nobody looks at here. */
static void run(jit_gemm_context *context, jit_gemm *gemm, bool has_scales,
                struct data *data)
{
    static const unsigned char zeros[BATCH * COLUMNS * K * 2];
    static unsigned char d[BATCH * ROWS * COLUMNS * 4];
    jit_gemm_arg given[1 + RESULTS] = {
        {.pointer = upload(context, data->values, sizeof(data->values))}};
    memset(data->results, GUARD, sizeof(data->results));
    for (int i = 0; i < RESULTS; i++) {
        given[1 + i].pointer = upload(context, data->results[i], sizeof(data->results[i]));
        given[1 + i].ld = LD;
        given[1 + i].batch_stride = STRIDE;
    }
    const jit_gemm_args args = {
        .struct_size = sizeof(args),
        .a = {.pointer = upload(context, zeros, sizeof(zeros))},
        .b = {.pointer = upload(context, zeros, sizeof(zeros))},
        .d = {.pointer = upload(context, d, sizeof(d))},
        .d_scale = {.pointer = has_scales ? upload(context, d, sizeof(d)) : 0},
        .operands = given,
        .operand_count = 1 + RESULTS,
        .m = ROWS,
        .n = COLUMNS};
    check(jit_gemm_run(gemm, &args, NULL));
    check(jit_gemm_device_free(context, given[0].pointer));
    for (int i = 0; i < RESULTS; i++) {
        check(jit_gemm_device_download(context, data->results[i], given[1 + i].pointer,
                                       sizeof(data->results[i])));
        check(jit_gemm_device_free(context, given[1 + i].pointer));
    }
    check(jit_gemm_device_free(context, args.a.pointer));
    check(jit_gemm_device_free(context, args.b.pointer));
    check(jit_gemm_device_free(context, args.d.pointer));
    check(jit_gemm_device_free(context, args.d_scale.pointer));
}

static float fold(int result, float so_far, float x)
{
    if (result == 1) {
        return x < 2 || x > 2 ? so_far + x : so_far;
    }
    if (isnan(so_far) || isnan(x)) {
        return NAN;
    }
    return result == 0 ? fmaxf(so_far, fabsf(x)) : fminf(so_far, x);
}

static float expect_result(const struct data *data, int result, int64_t batch, int64_t row,
                           int64_t block)
{
    static const float nothing[RESULTS] = {-INFINITY, 0, INFINITY};
    float value = nothing[result];
    for (int i = 0; i < blocks[result]; i++) {
        const int64_t column = block * blocks[result] + i;
        if (column < COLUMNS) {
            const float x = data->values[batch][row][column];
            value = isnan(x) ? NAN : fold(result, value, x);
        }
    }
    return value;
}

static bool is_same(float got, float wanted)
{
    return isnan(wanted) ? isnan(got) : got >= wanted && got <= wanted;
}

static bool is_untouched(const float *value)
{
    static const unsigned char guard[] = {GUARD, GUARD, GUARD, GUARD};
    return memcmp(value, guard, sizeof(guard)) == 0;
}

static void expect_results(const struct data *data, const char *what)
{
    for (int result = 0; result < RESULTS; result++) {
        const int64_t count = (COLUMNS + blocks[result] - 1) / blocks[result];
        for (int64_t at = 0; at < BATCH * STRIDE; at++) {
            const int64_t batch = at / STRIDE, row = at % STRIDE / LD;
            const int64_t block = at % STRIDE % LD;
            const float *got = &data->results[result][at];
            if (row < ROWS && block < count) {
                const float wanted = expect_result(data, result, batch, row, block);
                cr_assert(is_same(*got, wanted),
                          "%s: %s of batch %d, row %d, block %d is %g, not %g", what,
                          operands[1 + result].name, (int)batch, (int)row, (int)block,
                          (double)*got, (double)wanted);
            } else {
                cr_assert(is_untouched(got), "%s: %s, value %d beside the results", what,
                          operands[1 + result].name, (int)at);
            }
        }
    }
}

static void check_problem(jit_gemm_context *context, const char *rest, struct data *data)
{
    char text[256];
    jit_gemm_problem problem;
    jit_gemm *gemm = NULL;
    snprintf(text, sizeof(text), "m=%d n=%d k=%d batch=%d a=bf16 epilogue=given %s", ROWS,
             COLUMNS, K, BATCH, rest);
    check(jit_gemm_problem_parse(text, &problem));
    const jit_gemm_status status = jit_gemm_create(context, &problem, &gemm);
    if (status == JIT_GEMM_ERR_NO_COMPILER) {
        cr_skip_test("NVRTC is needed: %s", jit_gemm_last_error());
    }
    check(status);
    jit_gemm_info info = {.struct_size = sizeof(info)};
    check(jit_gemm_get_info(gemm, &info));
    cr_expect_eq(info.workspace_bytes, 0, "%s", rest); /* no block is that of two tiles */
    run(context, gemm, problem.d.scale.kind != JIT_GEMM_SCALE_NONE, data);
    expect_results(data, rest);
    jit_gemm_destroy(&gemm);
}

static void check_problems(const char *arch, const char *const *texts)
{
    struct data *data = malloc(sizeof(*data));
    cr_assert_not_null(data);
    fill_values(data);
    jit_gemm_context *context = open_context(arch);
    for (; *texts != NULL; texts++) {
        check_problem(context, *texts, data);
    }
    jit_gemm_context_destroy(&context);
    free(data);
}

/* Tiles whose teams have whole blocks of 128, and such as have half of each. */
Test(reduced_blocks, hopper_kernels_fold_each_block)
{
    static const char *const texts[] = {
        "d=f32",
        "d=f32 dynamic=m,n config=tile=64x256 cluster=1x1",
        "d=f32 config=tile=64x128 cluster=1x2",
        "output_align=4 config=tile=128x128 cluster=2x1",
        "d=e4m3 d_scale=1x128 output_align=4 config=tile=128x128",
        "d=e4m3 d_scale=1x128 output_align=4 config=tile=64x128",
        "d=nvfp4 output_align=2",
        NULL};
    check_problems("sm_90a", texts);
}

Test(reduced_blocks, blackwell_kernels_fold_each_block)
{
    static const char *const texts[] = {
        "d=f32",
        "d=f32 config=mma=128x128 cta_group=2",
        "d=f32 dynamic=m,n config=mma=256x256",
        "output_align=4 config=mma=64x128 cluster=1x1",
        "d=e4m3 d_scale=1x128 output_align=4",
        "d=e5m2 d_scale=1x128 output_align=4 config=mma=128x128 cta_group=2",
        "d=nvfp4 output_align=2",
        NULL};
    check_problems("sm_100a", texts);
}

Test(reduced_blocks, column_major_d_is_refused_by_name)
{
    jit_gemm_context *context = open_context("sm_100a");
    jit_gemm_problem problem;
    jit_gemm *gemm = NULL;
    check(
        jit_gemm_problem_parse("128x128x64 bf16 d_layout=column epilogue=given", &problem));
    cr_expect_eq(jit_gemm_create(context, &problem, &gemm), JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect_not_null(
        strstr(jit_gemm_last_error(),
               "problem.d.layout: there is no kernel for the 1x128 'most' of "
               "a column-major D; give JIT_GEMM_LAYOUT_ROW_MAJOR"),
        "%s", jit_gemm_last_error());
    jit_gemm_context_destroy(&context);
}
