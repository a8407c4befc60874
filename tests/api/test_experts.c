/* SPDX-License-Identifier: MIT */
/* Operands of batched problems, as a layer of experts has them: values, vectors and
 * matrices for each batch, or one for all. On the emulator of both chips; A is zero, so
 * that D is what the snippet adds up, and each operand has decimal digits of its own there.
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "jit_gemm/device.h"

enum { M = 72, N = 40, K = 16, EXPERTS = 3, PADDING = 8, ELEMENTS = M * N * EXPERTS };

static void check(jit_gemm_status status)
{
    cr_assert_eq(status, JIT_GEMM_OK, "%s", jit_gemm_last_error());
}

/* An operand: `unit` times its index and ten times its batch, that many elements apart. */
struct row {
    const char *name;
    jit_gemm_operand_kind kind;
    float unit;
    int count;            /* of one batch */
    int64_t batch_stride; /* as the launch gives it */
};

static const struct row plain_rows[] = {
    {"own", JIT_GEMM_OPERAND_SCALAR, 1, 1, 0},
    {"spread", JIT_GEMM_OPERAND_SCALAR, 100, 1, 5},
    {"shared", JIT_GEMM_OPERAND_SCALAR, 1, 1, JIT_GEMM_STRIDE_BROADCAST},
};

static const struct row all_rows[] = {
    {"own", JIT_GEMM_OPERAND_SCALAR, 1000, 1, 0},
    {"shared", JIT_GEMM_OPERAND_SCALAR, 1, 1, JIT_GEMM_STRIDE_BROADCAST},
    {"own_row", JIT_GEMM_OPERAND_ROW_VECTOR, 1, N, 0},
    {"spread_row", JIT_GEMM_OPERAND_ROW_VECTOR, 2, N, N + PADDING},
    {"shared_row", JIT_GEMM_OPERAND_ROW_VECTOR, 4, N, JIT_GEMM_STRIDE_BROADCAST},
    {"own_column", JIT_GEMM_OPERAND_COLUMN_VECTOR, 8, M, 0},
    {"spread_column", JIT_GEMM_OPERAND_COLUMN_VECTOR, 16, M, M + PADDING},
    {"shared_column", JIT_GEMM_OPERAND_COLUMN_VECTOR, 32, M, JIT_GEMM_STRIDE_BROADCAST},
    {"own_matrix", JIT_GEMM_OPERAND_MATRIX, 64, M *N, M *N},
    {"shared_matrix", JIT_GEMM_OPERAND_MATRIX, 1, M *N, JIT_GEMM_STRIDE_BROADCAST},
};

static int64_t stride_of(const struct row *row)
{
    return row->batch_stride > 0    ? row->batch_stride
           : row->batch_stride == 0 ? row->count
                                    : 0;
}

static float value_of(const struct row *row, int index, int batch)
{
    return row->unit * (float)(index % 11 + (stride_of(row) > 0 ? 10 * batch : 0));
}

static int index_in(const struct row *row, int line, int column)
{
    switch (row->kind) {
    case JIT_GEMM_OPERAND_ROW_VECTOR:
        return column;
    case JIT_GEMM_OPERAND_COLUMN_VECTOR:
        return line;
    case JIT_GEMM_OPERAND_MATRIX:
        return line * N + column;
    default:
        return 0;
    }
}

static uint64_t upload_row(jit_gemm_context *context, const struct row *row)
{
    static float data[EXPERTS * (M * N + PADDING)];
    uint64_t address = 0;
    for (size_t i = 0; i < sizeof(data) / sizeof(data[0]); i++) {
        data[i] = -1e9f; /* nobody may read between batches */
    }
    for (int batch = 0; batch < EXPERTS; batch++) {
        for (int i = 0; i < row->count; i++) {
            data[stride_of(row) * batch + i] = value_of(row, i, batch);
        }
    }
    check(jit_gemm_device_alloc(context, sizeof(data), &address));
    check(jit_gemm_device_upload(context, address, data, sizeof(data)));
    return address;
}

static jit_gemm *create(jit_gemm_context *context, const struct row *rows, uint32_t count,
                        const char *config)
{
    jit_gemm_operand operands[JIT_GEMM_MAX_OPERANDS] = {{0}};
    char source[512] = "d = acc";
    char text[128];
    jit_gemm_problem problem;
    jit_gemm *gemm = NULL;
    size_t used = 7;
    for (uint32_t i = 0; i < count; i++) {
        operands[i] = (jit_gemm_operand){
            .name = rows[i].name, .kind = rows[i].kind, .dtype = JIT_GEMM_DTYPE_F32};
        used +=
            (size_t)snprintf(source + used, sizeof(source) - used, " + %s", rows[i].name);
    }
    snprintf(source + used, sizeof(source) - used, ";");
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = count > 5 ? "all" : "plain",
                                        .source = source,
                                        .operand_count = count,
                                        .operands = operands};
    check(jit_gemm_epilogue_register(context, &epilogue));
    snprintf(text, sizeof(text), "%dx%dx%d bf16 d=f32 batch=%d epilogue=%s %s", M, N, K,
             EXPERTS, epilogue.name, config);
    check(jit_gemm_problem_parse(text, &problem));
    check(jit_gemm_create(context, &problem, &gemm));
    return gemm;
}

static void expect_sums(jit_gemm_context *context, const struct row *rows, uint32_t count,
                        const char *config)
{
    static float got[ELEMENTS];
    uint64_t zeros = 0, d = 0;
    jit_gemm_arg operands[JIT_GEMM_MAX_OPERANDS] = {{0}};
    jit_gemm *gemm = create(context, rows, count, config);
    check(jit_gemm_device_alloc(context, 2 * EXPERTS * M * K, &zeros));
    check(jit_gemm_device_fill(context, zeros, 0, 2 * EXPERTS * M * K));
    check(jit_gemm_device_alloc(context, sizeof(got), &d));
    for (uint32_t i = 0; i < count; i++) {
        operands[i] = (jit_gemm_arg){.pointer = upload_row(context, &rows[i]),
                                     .batch_stride = rows[i].batch_stride};
    }
    const jit_gemm_args args = {.struct_size = sizeof(args),
                                .a = {.pointer = zeros},
                                .b = {.pointer = zeros},
                                .d = {.pointer = d},
                                .operands = operands,
                                .operand_count = count};

    check(jit_gemm_run(gemm, &args, NULL));

    check(jit_gemm_device_download(context, got, d, sizeof(got)));
    int wrong = 0;
    for (int i = 0; i < ELEMENTS; i++) {
        float want = 0;
        for (uint32_t j = 0; j < count; j++) {
            want += value_of(&rows[j], index_in(&rows[j], i / N % M, i % N), i / (M * N));
        }
        wrong += got[i] < want || got[i] > want;
    }
    cr_expect_eq(wrong, 0, "%s, %u operands: %d of %d are wrong", config, count, wrong,
                 ELEMENTS);
    for (uint32_t i = 0; i < count; i++) {
        check(jit_gemm_device_free(context, operands[i].pointer));
    }
    check(jit_gemm_device_free(context, zeros));
    check(jit_gemm_device_free(context, d));
    jit_gemm_destroy(&gemm);
}

static void expect_operands_of_experts(const char *arch, const char *config)
{
    jit_gemm_context *context = NULL;
    setenv("JIT_GEMM_EMULATOR", "sms=2", 1);
    const jit_gemm_context_options options = {
        .struct_size = sizeof(options), .arch = arch, .driver = EMU_LIBRARY_PATH};
    check(jit_gemm_context_create(&options, &context));

    expect_sums(context, plain_rows, sizeof(plain_rows) / sizeof(plain_rows[0]), config);
    expect_sums(context, all_rows, sizeof(all_rows) / sizeof(all_rows[0]), config);

    jit_gemm_context_destroy(&context);
}

Test(experts, have_their_own_operands_on_sm_90a)
{
    expect_operands_of_experts("sm_90a", "");
}

Test(experts, have_their_own_operands_on_sm_100a)
{
    expect_operands_of_experts("sm_100a", "");
}

Test(experts, have_their_own_operands_in_a_transposed_product)
{
    expect_operands_of_experts("sm_100a", "config=mma=64x40 swap_ab=1");
}

/* D over the residual that is added: two launches add twice, each element once. */
static void expect_residual_in_place(const char *arch, const char *problem_text)
{
    static float values[ELEMENTS], got[ELEMENTS];
    jit_gemm_context *context = NULL;
    jit_gemm_problem problem;
    jit_gemm *gemm = NULL;
    uint64_t zeros = 0, d = 0;
    const jit_gemm_operand operand = {
        .name = "r", .kind = JIT_GEMM_OPERAND_MATRIX, .dtype = JIT_GEMM_DTYPE_F32};
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = "add",
                                        .source = "d = acc + r + 0.5f;",
                                        .operand_count = 1,
                                        .operands = &operand};
    setenv("JIT_GEMM_EMULATOR", "sms=2,async=random,seed=7", 1);
    const jit_gemm_context_options options = {
        .struct_size = sizeof(options), .arch = arch, .driver = EMU_LIBRARY_PATH};
    check(jit_gemm_context_create(&options, &context));
    check(jit_gemm_epilogue_register(context, &epilogue));
    check(jit_gemm_problem_parse(problem_text, &problem));
    check(jit_gemm_create(context, &problem, &gemm));
    check(jit_gemm_device_alloc(context, 2 * EXPERTS * M * K, &zeros));
    check(jit_gemm_device_fill(context, zeros, 0, 2 * EXPERTS * M * K));
    for (int i = 0; i < ELEMENTS; i++) {
        values[i] = (float)i;
    }
    check(jit_gemm_device_alloc(context, sizeof(values), &d));
    check(jit_gemm_device_upload(context, d, values, sizeof(values)));
    const jit_gemm_arg residual = {.pointer = d};
    const jit_gemm_args args = {.struct_size = sizeof(args),
                                .a = {.pointer = zeros},
                                .b = {.pointer = zeros},
                                .d = {.pointer = d},
                                .operands = &residual,
                                .operand_count = 1};

    check(jit_gemm_run(gemm, &args, NULL));
    check(jit_gemm_run(gemm, &args, NULL));

    check(jit_gemm_device_download(context, got, d, sizeof(got)));
    int wrong = 0;
    for (int i = 0; i < ELEMENTS; i++) {
        wrong += got[i] < values[i] + 1 || got[i] > values[i] + 1;
    }
    cr_expect_eq(wrong, 0, "%s: %d of %d are wrong", problem_text, wrong, ELEMENTS);
    check(jit_gemm_device_free(context, zeros));
    check(jit_gemm_device_free(context, d));
    jit_gemm_destroy(&gemm);
    jit_gemm_context_destroy(&context);
}

Test(in_place, residual_is_added_on_sm_90a)
{
    expect_residual_in_place("sm_90a", "72x40x16 bf16 d=f32 batch=3 epilogue=add");
    expect_residual_in_place("sm_90a",
                             "72x40x16 bf16 d=f32 batch=3 d_layout=column epilogue=add");
}

Test(in_place, residual_is_added_on_sm_100a)
{
    expect_residual_in_place(
        "sm_100a", "72x40x16 bf16 d=f32 batch=3 epilogue=add config=mma=128x64 swap_ab=0");
    expect_residual_in_place("sm_100a",
                             "72x40x16 bf16 d=f32 batch=3 output_align=4 epilogue=add");
}
