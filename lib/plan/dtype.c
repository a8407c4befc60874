/* SPDX-License-Identifier: MIT */
#include "plan/dtype.h"

#include <string.h>

#include "plan/text.h"

/* Where a type may stand, and what it is. */
enum {
    IS_INPUT = 1,
    IS_OUTPUT = 2,
    IS_OPERAND = 4,
    IS_INTEGER = 8,
    IS_SCALE = 16,
    IS_SCALED = 32
};

static const struct row {
    const char *name;
    int significand_bits;
    int uses;
    jit_gemm_dtype d; /* of an input: the default type of D */
} rows[JG_DTYPE_COUNT] = {
    [JIT_GEMM_DTYPE_NONE] = {"none", 0, 0, JIT_GEMM_DTYPE_NONE},
    [JIT_GEMM_DTYPE_BF16] = {"bf16", 8, IS_INPUT | IS_OUTPUT | IS_OPERAND,
                             JIT_GEMM_DTYPE_BF16},
    [JIT_GEMM_DTYPE_F16] = {"f16", 11, IS_INPUT | IS_OUTPUT | IS_OPERAND,
                            JIT_GEMM_DTYPE_F16},
    [JIT_GEMM_DTYPE_F32] = {"f32", 24, IS_OUTPUT | IS_OPERAND, JIT_GEMM_DTYPE_NONE},
    [JIT_GEMM_DTYPE_TF32] = {"tf32", 11, IS_INPUT, JIT_GEMM_DTYPE_F32},
    [JIT_GEMM_DTYPE_E4M3] = {"e4m3", 4, IS_INPUT | IS_OUTPUT | IS_OPERAND,
                             JIT_GEMM_DTYPE_E4M3},
    [JIT_GEMM_DTYPE_E5M2] = {"e5m2", 3, IS_INPUT | IS_OUTPUT | IS_OPERAND,
                             JIT_GEMM_DTYPE_E5M2},
    [JIT_GEMM_DTYPE_S8] = {"s8", 8, IS_INPUT | IS_OUTPUT | IS_INTEGER, JIT_GEMM_DTYPE_S32},
    [JIT_GEMM_DTYPE_S32] = {"s32", 32, IS_OUTPUT | IS_INTEGER, JIT_GEMM_DTYPE_NONE},
    [JIT_GEMM_DTYPE_UE8M0] = {"ue8m0", 1, IS_SCALE, JIT_GEMM_DTYPE_NONE},
    [JIT_GEMM_DTYPE_E2M1] = {"e2m1", 2, IS_SCALED, JIT_GEMM_DTYPE_BF16},
    [JIT_GEMM_DTYPE_UE4M3] = {"ue4m3", 4, IS_SCALE, JIT_GEMM_DTYPE_NONE},
};

const unsigned char jg_element_bits[JG_DTYPE_COUNT] = {
    [JIT_GEMM_DTYPE_NONE] = 0,  [JIT_GEMM_DTYPE_BF16] = 16, [JIT_GEMM_DTYPE_F16] = 16,
    [JIT_GEMM_DTYPE_F32] = 32,  [JIT_GEMM_DTYPE_TF32] = 32, [JIT_GEMM_DTYPE_E4M3] = 8,
    [JIT_GEMM_DTYPE_E5M2] = 8,  [JIT_GEMM_DTYPE_S8] = 8,    [JIT_GEMM_DTYPE_S32] = 32,
    [JIT_GEMM_DTYPE_UE8M0] = 8, [JIT_GEMM_DTYPE_E2M1] = 4,  [JIT_GEMM_DTYPE_UE4M3] = 8};

enum { F32_FRACTION_BITS = 23 };

static const struct row *find_row(jit_gemm_dtype dtype)
{
    static const struct row unknown = {.name = "unknown"};
    return jg_dtype_exists(dtype) ? &rows[dtype] : &unknown;
}

const char *jg_dtype_name(jit_gemm_dtype dtype)
{
    return find_row(dtype)->name;
}

int jg_dtype_significand_bits(jit_gemm_dtype dtype)
{
    return find_row(dtype)->significand_bits;
}

bool jg_dtype_is_input(jit_gemm_dtype dtype)
{
    return (find_row(dtype)->uses & IS_INPUT) != 0;
}

bool jg_dtype_is_output(jit_gemm_dtype dtype)
{
    return (find_row(dtype)->uses & IS_OUTPUT) != 0;
}

bool jg_dtype_is_scaled(jit_gemm_dtype dtype)
{
    return (find_row(dtype)->uses & IS_SCALED) != 0;
}

bool jg_dtype_is_operand(jit_gemm_dtype dtype)
{
    return (find_row(dtype)->uses & IS_OPERAND) != 0;
}

bool jg_dtype_is_integer(jit_gemm_dtype dtype)
{
    return (find_row(dtype)->uses & IS_INTEGER) != 0;
}

bool jg_dtype_is_of_scales(jit_gemm_dtype dtype)
{
    return find_row(dtype)->uses == IS_SCALE;
}

bool jg_dtype_is_fp8(jit_gemm_dtype dtype)
{
    return dtype == JIT_GEMM_DTYPE_E4M3 || dtype == JIT_GEMM_DTYPE_E5M2;
}

int jg_dtype_sum_fraction_bits(jit_gemm_dtype input)
{
    return jg_dtype_is_integer(input) ? 0 : F32_FRACTION_BITS;
}

jit_gemm_dtype jg_dtype_default_d(jit_gemm_dtype a)
{
    return find_row(a)->d;
}

/* What others call our types: of several the one that may stand there. */
static const struct {
    const char *said;
    jit_gemm_dtype dtype;
} other_names[] = {
    {"fp16", JIT_GEMM_DTYPE_F16},         {"float16", JIT_GEMM_DTYPE_F16},
    {"half", JIT_GEMM_DTYPE_F16},         {"bfloat16", JIT_GEMM_DTYPE_BF16},
    {"nv_bfloat16", JIT_GEMM_DTYPE_BF16}, {"bfloat", JIT_GEMM_DTYPE_BF16},
    {"fp32", JIT_GEMM_DTYPE_F32},         {"fp32", JIT_GEMM_DTYPE_TF32},

    {"float32", JIT_GEMM_DTYPE_F32},      {"float32", JIT_GEMM_DTYPE_TF32},
    {"float", JIT_GEMM_DTYPE_F32},        {"float", JIT_GEMM_DTYPE_TF32},
    {"tfloat32", JIT_GEMM_DTYPE_F32},     {"tfloat32", JIT_GEMM_DTYPE_TF32},
    {"fp8", JIT_GEMM_DTYPE_E4M3},         {"f8", JIT_GEMM_DTYPE_E4M3},
    {"float8", JIT_GEMM_DTYPE_E4M3},      {"e4m3fn", JIT_GEMM_DTYPE_E4M3},
    {"fp8e4m3", JIT_GEMM_DTYPE_E4M3},     {"fp8e4m3fn", JIT_GEMM_DTYPE_E4M3},
    {"float8e4m3", JIT_GEMM_DTYPE_E4M3},  {"float8e4m3fn", JIT_GEMM_DTYPE_E4M3},
    {"fp8e5m2", JIT_GEMM_DTYPE_E5M2},     {"float8e5m2", JIT_GEMM_DTYPE_E5M2},
    {"int8", JIT_GEMM_DTYPE_S8},          {"i8", JIT_GEMM_DTYPE_S8},
    {"char", JIT_GEMM_DTYPE_S8},          {"int32", JIT_GEMM_DTYPE_S32},
    {"i32", JIT_GEMM_DTYPE_S32},          {"int", JIT_GEMM_DTYPE_S32},
};

enum { OTHER_NAME_COUNT = sizeof(other_names) / sizeof(other_names[0]) };

void jg_dtype_nearest(struct jg_nearest *nearest, bool (*may_stand)(jit_gemm_dtype))
{
    for (int i = 0; i < JG_DTYPE_COUNT; i++) {
        if (may_stand((jit_gemm_dtype)i)) {
            jg_nearest_try(nearest, rows[i].name, strlen(rows[i].name));
        }
    }
    for (int i = 0; i < OTHER_NAME_COUNT; i++) {
        if (may_stand(other_names[i].dtype)) {
            jg_nearest_other(nearest, other_names[i].said,
                             jg_dtype_name(other_names[i].dtype));
        }
    }
}

bool jg_dtype_parse(const char *text, size_t size, jit_gemm_dtype *ret_dtype)
{
    for (int i = 0; i < JG_DTYPE_COUNT; i++) {
        if (jg_word_is(text, size, rows[i].name)) {
            *ret_dtype = (jit_gemm_dtype)i;
            return true;
        }
    }
    return false;
}
