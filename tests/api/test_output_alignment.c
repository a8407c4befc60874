/* SPDX-License-Identifier: MIT */
/*
 * D, C and operands at any element, on the emulator through the public API: every remainder
 * of an address modulo 16, leading dimensions that are odd or no more than a row, and odd
 * batch strides. D begins as bytes that no kernel writes; all of them that lie beside its
 * rows must remain.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit_gemm/convert.h"
#include "jit_gemm/device.h"
#include "jit_gemm/jit_gemm.h"

enum { GUARD_BYTES = 64, GUARD = 0xa5, SIZE_K = 40 };

static const char *const archs[] = {"sm_90a", "sm_100a"};

enum { ARCHS = sizeof(archs) / sizeof(archs[0]) };

static void check(jit_gemm_status status)
{
    cr_assert_eq(status, JIT_GEMM_OK, "%s", jit_gemm_last_error());
}

static jit_gemm_context *open_context(const char *arch)
{
    const jit_gemm_context_options options = {.struct_size = sizeof(options),
                                              .arch = arch,
                                              .driver = EMU_LIBRARY_PATH,
                                              .no_cache = 1};
    jit_gemm_context *context = NULL;
    setenv("JIT_GEMM_EMULATOR", "sms=2,async=random,seed=7", 1);
    check(jit_gemm_context_create(&options, &context));
    return context;
}

static jit_gemm *create(jit_gemm_context *context, const char *text)
{
    jit_gemm_problem problem;
    jit_gemm *gemm = NULL;
    check(jit_gemm_problem_parse(text, &problem));
    const jit_gemm_status status = jit_gemm_create(context, &problem, &gemm);
    if (status == JIT_GEMM_ERR_NO_COMPILER) {
        cr_skip_test("NVRTC is needed: %s", jit_gemm_last_error());
    }
    cr_assert_eq(status, JIT_GEMM_OK, "%s: %s", text, jit_gemm_last_error());
    return gemm;
}

/* Rows of D in memory, between guards. */
struct place {
    int rows, columns, batch; /* as they lie */
    int element_bytes;
    int offset; /* elements from an address that is a multiple of 16 to the first */
    int ld, batch_stride;
};

/* One matrix on the device. */
struct matrix {
    struct place place;
    unsigned char *bytes; /* of the allocation: guard, matrix, guard */
    size_t size, begin;
    uint64_t allocation, address;
};

static size_t byte_of(const struct matrix *matrix, int batch, int row, int column)
{
    const struct place *place = &matrix->place;
    return matrix->begin +
           (size_t)place->element_bytes *
               (size_t)(batch * place->batch_stride + row * place->ld + column);
}

static struct matrix make_matrix(jit_gemm_context *context, const struct place *place)
{
    struct matrix matrix = {
        .place = *place,
        .begin = (size_t)(GUARD_BYTES + place->offset * place->element_bytes)};
    matrix.size =
        byte_of(&matrix, place->batch - 1, place->rows - 1, place->columns) + GUARD_BYTES;
    matrix.bytes = malloc(matrix.size);
    cr_assert_not_null(matrix.bytes);
    memset(matrix.bytes, GUARD, matrix.size);
    check(jit_gemm_device_alloc(context, matrix.size, &matrix.allocation));
    matrix.address = matrix.allocation + matrix.begin;
    return matrix;
}

static void free_matrix(jit_gemm_context *context, struct matrix *matrix)
{
    check(jit_gemm_device_free(context, matrix->allocation));
    free(matrix->bytes);
}

/* ------------------------------------------------------------------ what is computed */

/* Small integers, so that every type holds every sum. */
static int a_value(int row, int k)
{
    return k % 16 == 0 ? row % 3 : 0;
}

static int b_value(int column, int k)
{
    return k % 16 == 0 ? column % 2 : 0;
}

static int c_value(int batch, int row, int column)
{
    return (batch + row + column) % 2;
}

static int sum_of(int row, int column, int k)
{
    int sum = 0;
    for (int i = 0; i < k; i++) {
        sum += a_value(row, i) * b_value(column, i);
    }
    return sum;
}

/* Bits of an integer from 0 to 8. */
static uint32_t bits_of(int dtype, int value)
{
    const float number = (float)value;
    uint32_t bits = 0;
    if (dtype == JIT_GEMM_DTYPE_NONE) { /* of a C that is not there, and not read */
        return bits;
    }
    cr_assert_eq(jit_gemm_convert_from_float((jit_gemm_dtype)dtype, &number, 1, &bits),
                 JIT_GEMM_OK);
    return bits;
}

struct row {
    const char *text; /* of the problem, without its sizes */
    int a, d, c, r;   /* types; c, r: NONE if there is none */
    int m, n, batch;
    int by_columns;   /* is D column-major? */
    int offset, more; /* of D, C and r: first element modulo 16 bytes; ld beyond a row */
};

static int bytes_of(int dtype)
{
    switch (dtype) {
    case JIT_GEMM_DTYPE_BF16:
    case JIT_GEMM_DTYPE_F16:
        return 2;
    case JIT_GEMM_DTYPE_F32:
    case JIT_GEMM_DTYPE_S32:
        return 4;
    default:
        return 1;
    }
}

/* D, C or r of a row; `filled`: with c_value. */
static struct matrix make_output(jit_gemm_context *context, const struct row *row,
                                 int dtype, int filled)
{
    struct place place = {.rows = row->by_columns ? row->n : row->m,
                          .columns = row->by_columns ? row->m : row->n,
                          .batch = row->batch,
                          .element_bytes = bytes_of(dtype),
                          .offset = row->offset};
    place.ld = place.columns + row->more;
    place.batch_stride = place.rows * place.ld + 1;
    struct matrix matrix = make_matrix(context, &place);
    for (int i = 0; filled && i < row->batch * place.rows * place.columns; i++) {
        const int batch = i / place.columns / place.rows;
        const int line = i / place.columns % place.rows;
        const int column = i % place.columns;
        const uint32_t bits = bits_of(dtype, c_value(batch, row->by_columns ? column : line,
                                                     row->by_columns ? line : column));
        memcpy(matrix.bytes + byte_of(&matrix, batch, line, column), &bits,
               (size_t)place.element_bytes);
    }
    check(jit_gemm_device_upload(context, matrix.allocation, matrix.bytes, matrix.size));
    return matrix;
}

static struct matrix make_input(jit_gemm_context *context, int dtype, int rows,
                                int (*value)(int row, int k))
{
    const struct place place = {.rows = rows,
                                .columns = SIZE_K,
                                .batch = 1,
                                .element_bytes = bytes_of(dtype),
                                .ld = 64};
    struct matrix matrix = make_matrix(context, &place);
    for (int i = 0; i < rows * SIZE_K; i++) {
        const uint32_t bits = bits_of(dtype, value(i / SIZE_K, i % SIZE_K));
        memcpy(matrix.bytes + byte_of(&matrix, 0, i / SIZE_K, i % SIZE_K), &bits,
               (size_t)place.element_bytes);
    }
    check(jit_gemm_device_upload(context, matrix.allocation, matrix.bytes, matrix.size));
    return matrix;
}

/* Every byte of D's allocation: the result in its rows, what was there elsewhere. */
static void expect_result(jit_gemm_context *context, const struct row *row,
                          const struct matrix *d, const char *arch)
{
    unsigned char *got = malloc(d->size);
    int wrong = 0;
    cr_assert_not_null(got);
    for (int i = 0; i < row->batch * row->m * row->n; i++) {
        const int batch = i / row->n / row->m;
        const int line = i / row->n % row->m;
        const int column = i % row->n;
        const int times = (row->c != JIT_GEMM_DTYPE_NONE) + (row->r != JIT_GEMM_DTYPE_NONE);
        const uint32_t bits = bits_of(row->d, sum_of(line, column, SIZE_K) +
                                                  times * c_value(batch, line, column));
        memcpy(d->bytes + byte_of(d, batch, row->by_columns ? column : line,
                                  row->by_columns ? line : column),
               &bits, (size_t)d->place.element_bytes);
    }
    check(jit_gemm_device_download(context, got, d->allocation, d->size));
    for (size_t i = 0; i < d->size && wrong < 4; i++) {
        wrong += got[i] != d->bytes[i];
        cr_expect_eq(got[i], d->bytes[i],
                     "%s %dx%d %s: byte %zu after D is 0x%02x, not 0x%02x", arch, row->m,
                     row->n, row->text, i - d->begin, got[i], d->bytes[i]);
    }
    free(got);
}

static void run_row(jit_gemm_context *context, const struct row *row, const char *arch)
{
    char text[256];
    snprintf(text, sizeof(text), "%dx%dx%d %s", row->m, row->n, SIZE_K, row->text);
    jit_gemm *gemm = create(context, text);
    struct matrix a = make_input(context, row->a, row->m, a_value);
    struct matrix b = make_input(context, row->a, row->n, b_value);
    struct matrix d = make_output(context, row, row->d, 0);
    struct matrix c = make_output(context, row, row->c, 1);
    struct matrix r = make_output(context, row, row->r, 1);
    const jit_gemm_arg operand = {
        .pointer = r.address, .ld = r.place.ld, .batch_stride = r.place.batch_stride};
    jit_gemm_args args = {.struct_size = sizeof(args),
                          .a = {a.address, a.place.ld, JIT_GEMM_STRIDE_BROADCAST, 0, 0},
                          .b = {b.address, b.place.ld, JIT_GEMM_STRIDE_BROADCAST, 0, 0},
                          .d = {d.address, d.place.ld, d.place.batch_stride, 0, 0}};
    if (row->c != JIT_GEMM_DTYPE_NONE) {
        args.c = (jit_gemm_arg){c.address, c.place.ld, c.place.batch_stride, 0, 0};
    }
    if (row->r != JIT_GEMM_DTYPE_NONE) {
        args.operands = &operand;
        args.operand_count = 1;
    }
    const jit_gemm_status status = jit_gemm_run(gemm, &args, NULL);
    cr_assert_eq(status, JIT_GEMM_OK, "%s %s: %s", arch, text, jit_gemm_last_error());
    const jit_gemm_status done = jit_gemm_device_synchronize(context);
    cr_assert_eq(done, JIT_GEMM_OK, "%s %s: %s", arch, text, jit_gemm_last_error());
    expect_result(context, row, &d, arch);
    struct matrix *const matrices[] = {&a, &b, &d, &c, &r};
    for (size_t i = 0; i < sizeof(matrices) / sizeof(matrices[0]); i++) {
        free_matrix(context, matrices[i]);
    }
    jit_gemm_destroy(&gemm);
}

static void register_sum(jit_gemm_context *context, const char *name, jit_gemm_dtype dtype)
{
    const jit_gemm_operand operand = {
        .name = "r", .kind = JIT_GEMM_OPERAND_MATRIX, .dtype = dtype};
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = name,
                                        .source = "d = acc + r;",
                                        .operands = &operand,
                                        .operand_count = 1};
    check(jit_gemm_epilogue_register(context, &epilogue));
}

Test(output_alignment, every_address_and_pitch_and_no_byte_beside, .timeout = 300)
{
    enum {
        NONE = JIT_GEMM_DTYPE_NONE,
        BF16 = JIT_GEMM_DTYPE_BF16,
        F16 = JIT_GEMM_DTYPE_F16,
        F32 = JIT_GEMM_DTYPE_F32,
        E4M3 = JIT_GEMM_DTYPE_E4M3,
        E5M2 = JIT_GEMM_DTYPE_E5M2,
        S8 = JIT_GEMM_DTYPE_S8,
        S32 = JIT_GEMM_DTYPE_S32
    };
    static const struct row rows[] = {
        {"bf16 output_align=2", BF16, BF16, NONE, NONE, 7, 9, 1, 0, 1, 0},
        {"bf16 output_align=2", BF16, BF16, NONE, NONE, 5, 16, 1, 0, 7, 1},
        {"bf16 output_align=2 c=f32", BF16, BF16, F32, NONE, 5, 8, 1, 0, 3, 3},
        {"bf16 output_align=4 d_layout=column", BF16, BF16, NONE, NONE, 8, 5, 1, 1, 2, 6},
        {"f16 output_align=8 c=f16", F16, F16, F16, NONE, 3, 24, 1, 0, 4, 4},
        {"bf16 output_align=2 batch=3", BF16, BF16, NONE, NONE, 9, 1, 3, 0, 5, 0},
        {"bf16 output_align=2 batch=2 d_layout=column", BF16, BF16, NONE, NONE, 1, 9, 2, 1,
         3, 0},
        {"bf16 d=f32 output_align=2 c=bf16 epilogue=sum_bf16 batch=2", BF16, F32, BF16,
         BF16, 5, 11, 2, 0, 3, 2},
        {"bf16 d=e4m3 output_align=1 epilogue=sum_e5m2", BF16, E4M3, NONE, E5M2, 6, 17, 1,
         0, 5, 2},
        {"bf16 d=e5m2 output_align=4 c=f32", BF16, E5M2, F32, NONE, 6, 16, 1, 0, 4, 4},
        {"s8 output_align=4", S8, S32, NONE, NONE, 4, 9, 1, 0, 1, 0},
        {"s8 output_align=8 c=s32", S8, S32, S32, NONE, 3, 10, 1, 0, 2, 2},
    };
    for (int i = 0; i < ARCHS; i++) {
        jit_gemm_context *context = open_context(archs[i]);
        register_sum(context, "sum_bf16", JIT_GEMM_DTYPE_BF16);
        register_sum(context, "sum_e5m2", JIT_GEMM_DTYPE_E5M2);
        for (size_t j = 0; j < sizeof(rows) / sizeof(rows[0]); j++) {
            run_row(context, &rows[j], archs[i]);
        }
        jit_gemm_context_destroy(&context);
    }
}
