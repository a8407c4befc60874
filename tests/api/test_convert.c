/* SPDX-License-Identifier: MIT */
/* Arrays of elements to and from float. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "jit_gemm/convert.h"
#include "jit_gemm/error.h"

static const float values[] = {0, 1, -1.5F, 2.5F, 0.25F, 3.5F, -6, 1000, 1e9F, -1e9F, NAN};

enum { COUNT = sizeof(values) / sizeof(values[0]), GUARD = 0x5a };

/* Bytes of the elements of a type. */
static const struct {
    jit_gemm_dtype dtype;
    size_t bytes;
} types[] = {
    {JIT_GEMM_DTYPE_BF16, 2 * COUNT},
    {JIT_GEMM_DTYPE_F16, 2 * COUNT},
    {JIT_GEMM_DTYPE_F32, 4 * COUNT},
    {JIT_GEMM_DTYPE_TF32, 4 * COUNT},
    {JIT_GEMM_DTYPE_E4M3, COUNT},
    {JIT_GEMM_DTYPE_E5M2, COUNT},
    {JIT_GEMM_DTYPE_S8, COUNT},
    {JIT_GEMM_DTYPE_S32, 4 * COUNT},
    {JIT_GEMM_DTYPE_UE8M0, COUNT},
    {JIT_GEMM_DTYPE_UE4M3, COUNT},
    {JIT_GEMM_DTYPE_E2M1, (COUNT + 1) / 2},
};

Test(convert_arrays, every_type_takes_its_bytes_and_comes_back)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        unsigned char once[4 * COUNT + 1], twice[4 * COUNT + 1];
        float floats[COUNT] = {0};
        memset(once, GUARD, sizeof(once));
        memset(twice, GUARD, sizeof(twice));

        cr_assert_eq(jit_gemm_convert_from_float(types[i].dtype, values, COUNT, once), 0);
        cr_assert_eq(jit_gemm_convert_to_float(types[i].dtype, once, COUNT, floats), 0);
        cr_assert_eq(jit_gemm_convert_from_float(types[i].dtype, floats, COUNT, twice), 0);

        cr_expect_arr_eq(once, twice, sizeof(once), "type %d", (int)types[i].dtype);
        cr_expect_eq(once[types[i].bytes], GUARD, "type %d writes more",
                     (int)types[i].dtype);
        cr_expect_neq(once[types[i].bytes - 1], GUARD, "type %d writes less",
                      (int)types[i].dtype);
    }
}

Test(convert_arrays, known_values_have_known_bytes)
{
    uint8_t nibbles[COUNT / 2 + 1], bytes[COUNT];
    int8_t small[COUNT];
    int32_t sums[COUNT];
    static const uint8_t expected[] = {0x20, 0x4b, 0x60, 0x7f, 0xf7, 0x07};
    static const int8_t expected_s8[] = {0, 1, -2, 2, 0, 4, -6, 127, 127, -128, 0};

    cr_assert_eq(jit_gemm_convert_from_float(JIT_GEMM_DTYPE_E2M1, values, COUNT, nibbles),
                 0);
    cr_assert_eq(jit_gemm_convert_from_float(JIT_GEMM_DTYPE_S8, values, COUNT, small), 0);
    cr_assert_eq(jit_gemm_convert_from_float(JIT_GEMM_DTYPE_S32, values, COUNT, sums), 0);
    cr_assert_eq(jit_gemm_convert_from_float(JIT_GEMM_DTYPE_E4M3, values, COUNT, bytes), 0);

    cr_expect_arr_eq(nibbles, expected, sizeof(expected));
    cr_expect_arr_eq(small, expected_s8, sizeof(expected_s8));
    cr_expect_eq(sums[8], 1000000000);
    cr_expect_eq(bytes[8], 0x7e);
    cr_expect_eq(bytes[10], 0x7f);
    const float beyond[] = {3e9F, -3e9F, INFINITY, 2147483648.0F};
    cr_assert_eq(jit_gemm_convert_from_float(JIT_GEMM_DTYPE_S32, beyond, 4, sums), 0);
    cr_expect_eq(sums[0], INT32_MAX);
    cr_expect_eq(sums[1], INT32_MIN);
    cr_expect_eq(sums[2], INT32_MAX);
    cr_expect_eq(sums[3], INT32_MAX);
}

Test(convert_arrays, wrong_arguments_write_nothing_and_name_the_field)
{
    float floats[2] = {1, 2};
    uint16_t halves[2] = {7, 7};

    cr_expect_eq(jit_gemm_convert_from_float(JIT_GEMM_DTYPE_NONE, floats, 2, halves),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_not_null(strstr(jit_gemm_last_error(), "dtype: there is no type 0"));
    cr_expect_eq(jit_gemm_convert_to_float((jit_gemm_dtype)999, halves, 2, floats),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(jit_gemm_convert_from_float(JIT_GEMM_DTYPE_F16, NULL, 2, halves),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_not_null(strstr(jit_gemm_last_error(), "from"));
    cr_expect_eq(jit_gemm_convert_to_float(JIT_GEMM_DTYPE_F16, halves, 2, NULL),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(jit_gemm_convert_to_float(JIT_GEMM_DTYPE_F16, halves, SIZE_MAX, floats),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(jit_gemm_convert_to_float(JIT_GEMM_DTYPE_F16, NULL, 0, NULL), JIT_GEMM_OK);
    cr_expect(floats[0] == 1 && halves[0] == 7);
}
