/* SPDX-License-Identifier: MIT */
/* Element types: names, sizes, numbers that never change. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "plan/dtype.h"

Test(dtype, names_and_sizes)
{
    jit_gemm_dtype dtype;

    cr_expect_str_eq(jg_dtype_name(JIT_GEMM_DTYPE_NONE), "none");
    cr_expect_str_eq(jg_dtype_name(JIT_GEMM_DTYPE_F32), "f32");
    cr_expect_str_eq(jg_dtype_name((jit_gemm_dtype)99), "unknown");
    cr_expect_eq(jg_dtype_bits(JIT_GEMM_DTYPE_BF16), 16);
    cr_expect_eq(jg_dtype_bits(JIT_GEMM_DTYPE_F32), 32);
    cr_expect_eq(jg_dtype_bits((jit_gemm_dtype)99), 0);
    cr_expect_eq(jg_bytes_of(JIT_GEMM_DTYPE_F16, 3), 6);
    cr_expect_eq(jg_bytes_of(JIT_GEMM_DTYPE_TF32, INT64_C(1) << 38), INT64_C(1) << 40);
    cr_expect_eq(jg_bytes_of(JIT_GEMM_DTYPE_NONE, 3), 0);
    cr_expect_eq(jg_dtype_bits(JIT_GEMM_DTYPE_E2M1), 4);
    cr_expect_eq(jg_bytes_of(JIT_GEMM_DTYPE_E2M1, 5), 3);
    cr_expect(jg_dtype_parse("f16xx", 3, &dtype));
    cr_expect_eq(dtype, JIT_GEMM_DTYPE_F16);
    cr_expect_not(jg_dtype_parse("f1", 2, &dtype));
    cr_expect_not(jg_dtype_parse("e4m2", 4, &dtype));
}

static void expect_hint(const char *hint, bool (*is_listed)(jit_gemm_dtype dtype))
{
    char names[128] = "types:";
    for (int i = 1; jg_dtype_exists((jit_gemm_dtype)i); i++) {
        if (is_listed((jit_gemm_dtype)i)) {
            const size_t size = strlen(names);
            snprintf(names + size, sizeof(names) - size, " %s",
                     jg_dtype_name((jit_gemm_dtype)i));
        }
    }
    cr_expect_str_eq(names, hint);
}

Test(dtype, hints_name_exactly_the_types_of_the_table)
{
    expect_hint(JG_INPUT_TYPES, jg_dtype_is_input);
    expect_hint(JG_OUTPUT_TYPES, jg_dtype_is_output);
    expect_hint(JG_OPERAND_TYPES, jg_dtype_is_operand);
}

Test(dtype, values_are_never_renumbered)
{
    static const struct {
        const char *name;
        int value, bytes;
    } rows[] = {
        {"bf16", 1, 2},  {"f16", 2, 2},   {"f32", 3, 4},    {"tf32", 4, 4},
        {"e4m3", 5, 1},  {"e5m2", 6, 1},  {"s8", 7, 1},     {"s32", 8, 4},
        {"ue8m0", 9, 1}, {"e2m1", 10, 1}, {"ue4m3", 11, 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        jit_gemm_dtype dtype = JIT_GEMM_DTYPE_NONE;
        cr_expect(jg_dtype_parse(rows[i].name, strlen(rows[i].name), &dtype));
        cr_expect_eq((int)dtype, rows[i].value, "%s", rows[i].name);
        cr_expect_eq(jg_bytes_of(dtype, 1), rows[i].bytes, "%s", rows[i].name);
        cr_expect_str_eq(jg_dtype_name(dtype), rows[i].name);
    }
}
