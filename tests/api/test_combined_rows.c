/* SPDX-License-Identifier: MIT */
/* Rows that are added up, several to one, on the emulator of both chips: to the bit what
 * the order of the index makes of them, with odd sizes, rows apart, parts that are none,
 * and guard elements around the result. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "emulated_fixture.h"
#include "jit_gemm/combine.h"
#include "jit_gemm/convert.h"

enum { MOST = 4096, GUARD = 16 };

/* What one launch is about. */
struct shape {
    jit_gemm_dtype rows, d;
    uint32_t chosen;
    int tokens, columns, row_count;
    int rows_ld, d_ld;
    bool has_index, has_weights, has_c;
};

static float value(int i)
{
    return (float)(i * 37 % 51 - 25) / 16 + (float)(i % 7) / 1024;
}

static size_t bytes_of(jit_gemm_dtype dtype)
{
    return dtype == JIT_GEMM_DTYPE_F32 ? 4 : 2;
}

static float load(jit_gemm_dtype dtype, const void *data, int i)
{
    if (dtype == JIT_GEMM_DTYPE_F32) {
        return ((const float *)data)[i];
    }
    const uint16_t bits = ((const uint16_t *)data)[i];
    return dtype == JIT_GEMM_DTYPE_BF16 ? jit_gemm_bf16_to_float(bits)
                                        : jit_gemm_f16_to_float(bits);
}

static void store(jit_gemm_dtype dtype, void *data, int i, float x)
{
    if (dtype == JIT_GEMM_DTYPE_F32) {
        ((float *)data)[i] = x;
    } else {
        ((uint16_t *)data)[i] = dtype == JIT_GEMM_DTYPE_BF16 ? jit_gemm_bf16_from_float(x)
                                                             : jit_gemm_f16_from_float(x);
    }
}

static unsigned char rows[4 * MOST], d[4 * MOST], got[4 * MOST];
static int32_t indices[MOST];
static float weights[MOST];

/* A part's row; below 0: none. */
static int row_of(const struct shape *shape, int entry)
{
    const int row = shape->has_index ? indices[entry] : entry;
    return row < shape->row_count ? row : -1;
}

/* What column `column` of row `token` becomes. */
static float wanted(const struct shape *shape, int token, int column, int at)
{
    float sum = shape->has_c ? load(shape->d, d, at) : 0.0F;
    for (uint32_t j = 0; j < shape->chosen; j++) {
        const int entry = token * (int)shape->chosen + (int)j;
        const int row = row_of(shape, entry);
        if (row >= 0) {
            sum = fmaf(shape->has_weights ? weights[entry] : 1.0F,
                       load(shape->rows, rows, row * shape->rows_ld + column), sum);
        }
    }
    unsigned char rounded[4];
    store(shape->d, rounded, 0, sum);
    return load(shape->d, rounded, 0);
}

static void fill(const struct shape *shape)
{
    static const int32_t none[] = {-1, INT32_MIN, INT32_MAX, 0};
    memset(rows, 0xff, sizeof(rows)); /* NaN between rows */
    memset(d, 0xff, sizeof(d));
    for (int i = 0; i < shape->row_count * shape->columns; i++) {
        store(shape->rows, rows, i / shape->columns * shape->rows_ld + i % shape->columns,
              value(i));
    }
    for (int i = 0; i < shape->tokens * (int)shape->chosen; i++) {
        const bool is_none = shape->has_index && i % 5 == 3;
        indices[i] = is_none ? none[i % 3] : i * 7 % shape->row_count;
        weights[i] = is_none ? NAN : value(i * 3 + 1);
    }
    for (int i = 0; shape->has_c && i < shape->tokens * shape->columns; i++) {
        store(shape->d, d, GUARD + i / shape->columns * shape->d_ld + i % shape->columns,
              value(i * 11 + 5));
    }
}

static void run(jit_gemm_context *context, const struct shape *shape)
{
    jit_gemm_combiner *combiner = NULL;
    const jit_gemm_status status =
        jit_gemm_combiner_create(context, shape->rows, shape->d, shape->chosen, &combiner);
    if (status == JIT_GEMM_ERR_NO_COMPILER) {
        cr_skip("no compiler");
    }
    emulated_check(status);
    fill(shape);
    const int entries = shape->tokens * (int)shape->chosen;
    const size_t d_bytes = bytes_of(shape->d);
    const size_t all = (size_t)(2 * GUARD + shape->tokens * shape->d_ld) * d_bytes;
    const uint64_t to = emulated_upload(context, d, all);
    const jit_gemm_combiner_args args = {
        .struct_size = sizeof(args),
        .tokens = shape->tokens,
        .columns = shape->columns,
        .rows = emulated_upload(
            context, rows,
            (size_t)((shape->row_count - 1) * shape->rows_ld + shape->columns) *
                bytes_of(shape->rows)),
        .rows_ld = shape->rows_ld == shape->columns ? 0 : shape->rows_ld,
        .row_count = shape->row_count,
        .index = shape->has_index
                     ? emulated_upload(context, indices, (size_t)entries * sizeof(int32_t))
                     : 0,
        .weights = shape->has_weights
                       ? emulated_upload(context, weights, (size_t)entries * sizeof(float))
                       : 0,
        .c = shape->has_c ? to + GUARD * d_bytes : 0,
        .c_ld = shape->has_c ? shape->d_ld : 0,
        .d = to + GUARD * d_bytes,
        .d_ld = shape->d_ld};
    emulated_check(jit_gemm_combiner_run(combiner, &args, NULL));
    emulated_check(jit_gemm_device_download(context, got, to, all));
    for (int i = 0; i < 2 * GUARD + shape->tokens * shape->d_ld; i++) {
        const int token = (i - GUARD) / shape->d_ld, column = (i - GUARD) % shape->d_ld;
        if (i < GUARD || token >= shape->tokens || column >= shape->columns) {
            cr_assert_eq(
                memcmp(got + (size_t)i * d_bytes, d + (size_t)i * d_bytes, d_bytes), 0,
                "element %d is no row's and was written", i - GUARD);
            continue;
        }
        const float is = load(shape->d, got, i), right = wanted(shape, token, column, i);
        cr_assert(is >= right && is <= right, "token %d, column %d: %.9g, not %.9g", token,
                  column, (double)is, (double)right);
    }
    emulated_free(context, args.rows);
    emulated_free(context, args.index);
    emulated_free(context, args.weights);
    emulated_free(context, to);
    jit_gemm_combiner_destroy(&combiner);
}

Test(combined_rows, rows_are_added_up_in_the_order_of_the_index)
{
    const jit_gemm_dtype bf16 = JIT_GEMM_DTYPE_BF16, f16 = JIT_GEMM_DTYPE_F16,
                         f32 = JIT_GEMM_DTYPE_F32;
    const struct shape shapes[] = {
        {bf16, bf16, 2, 5, 64, 20, 64, 64, .has_index = true, .has_weights = true},
        {bf16, bf16, 2, 9, 37, 20, 41, 39, .has_index = true, .has_weights = true},
        {bf16, bf16, 2, 3, 72, 6, 72, 80, .has_c = true},
        {f32, f32, 9, 7, 20, 30, 20, 24, .has_index = true, .has_weights = true,
         .has_c = true},
        {f32, f16, 3, 11, 5, 31, 5, 5, .has_weights = true},
        {bf16, f32, 1, 1, 1, 1, 1, 1, .has_index = true},
    };
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        jit_gemm_context *context =
            emulated_open(emulated_archs[i], "sms=2,schedule=random");
        for (size_t j = 0; j < sizeof(shapes) / sizeof(shapes[0]); j++) {
            run(context, &shapes[j]);
        }
        jit_gemm_context_destroy(&context);
    }
}
