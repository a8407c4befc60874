/* SPDX-License-Identifier: MIT */
/* Arrays of elements to and from float. */
#include "jit_gemm/convert.h"

#include <stdbool.h>

#include "api/context.h"
#include "base/error.h"
#include "plan/dtype.h"
#include "plan/text.h"

static jit_gemm_status check(jit_gemm_dtype dtype, const void *from, size_t count,
                             const void *to)
{
    if (!jg_dtype_exists(dtype) || dtype == JIT_GEMM_DTYPE_NONE) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "dtype", "give one of JIT_GEMM_DTYPE_*",
                       "there is no type %d", (int)dtype);
    }
    if (count > SIZE_MAX / sizeof(float)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "count", "give the number of elements",
                       "no memory has as many");
    }
    if (count > 0) {
        JG_TRY(jg_check_pointer(from, "from"));
        JG_TRY(jg_check_pointer(to, "to"));
    }
    return JIT_GEMM_OK;
}

/* To nearest even, saturated; whatever the rounding mode is. */
static int32_t integer_from_float(float value, int32_t low, int32_t high)
{
    if (value != value) { /* NaN */
        return 0;
    }
    if (value <= (float)low || value >= (float)high) {
        return value < 0 ? low : high;
    }
    int64_t whole = (int64_t)value; /* cut off */
    const double rest = (double)value - (double)whole;
    const bool is_odd = whole % 2 != 0;
    if (rest > 0.5 || (rest == 0.5 && is_odd)) {
        whole++;
    } else if (rest < -0.5 || (rest == -0.5 && is_odd)) {
        whole--;
    }
    return (int32_t)whole;
}

static void store_e2m1(uint8_t *bytes, size_t i, float value)
{
    const uint8_t code = jit_gemm_e2m1_from_float(value);
    uint8_t *byte = &bytes[i / 2];
    *byte = i % 2 == 0 ? code : (uint8_t)(*byte | code << 4);
}

static void store(jit_gemm_dtype dtype, void *to, size_t i, float value)
{
    switch (dtype) {
    case JIT_GEMM_DTYPE_BF16:
        ((uint16_t *)to)[i] = jit_gemm_bf16_from_float(value);
        break;
    case JIT_GEMM_DTYPE_F16:
        ((uint16_t *)to)[i] = jit_gemm_f16_from_float(value);
        break;
    case JIT_GEMM_DTYPE_F32:
        ((float *)to)[i] = value;
        break;
    case JIT_GEMM_DTYPE_TF32:
        ((float *)to)[i] = jit_gemm_tf32_from_float(value);
        break;
    case JIT_GEMM_DTYPE_E4M3:
        ((uint8_t *)to)[i] = jit_gemm_e4m3_from_float(value);
        break;
    case JIT_GEMM_DTYPE_E5M2:
        ((uint8_t *)to)[i] = jit_gemm_e5m2_from_float(value);
        break;
    case JIT_GEMM_DTYPE_S8:
        ((int8_t *)to)[i] = (int8_t)integer_from_float(value, INT8_MIN, INT8_MAX);
        break;
    case JIT_GEMM_DTYPE_S32:
        ((int32_t *)to)[i] = integer_from_float(value, INT32_MIN, INT32_MAX);
        break;
    case JIT_GEMM_DTYPE_UE8M0:
        ((uint8_t *)to)[i] = jit_gemm_ue8m0_from_float(value);
        break;
    case JIT_GEMM_DTYPE_UE4M3:
        ((uint8_t *)to)[i] = jit_gemm_ue4m3_from_float(value);
        break;
    case JIT_GEMM_DTYPE_E2M1:
        store_e2m1(to, i, value);
        break;
    case JIT_GEMM_DTYPE_NONE:
        break;
    }
}

static float load(jit_gemm_dtype dtype, const void *from, size_t i)
{
    switch (dtype) {
    case JIT_GEMM_DTYPE_BF16:
        return jit_gemm_bf16_to_float(((const uint16_t *)from)[i]);
    case JIT_GEMM_DTYPE_F16:
        return jit_gemm_f16_to_float(((const uint16_t *)from)[i]);
    case JIT_GEMM_DTYPE_TF32:
        return jit_gemm_tf32_from_float(((const float *)from)[i]);
    case JIT_GEMM_DTYPE_E4M3:
        return jit_gemm_e4m3_to_float(((const uint8_t *)from)[i]);
    case JIT_GEMM_DTYPE_E5M2:
        return jit_gemm_e5m2_to_float(((const uint8_t *)from)[i]);
    case JIT_GEMM_DTYPE_S8:
        return (float)((const int8_t *)from)[i];
    case JIT_GEMM_DTYPE_S32:
        return (float)((const int32_t *)from)[i];
    case JIT_GEMM_DTYPE_UE8M0:
        return jit_gemm_ue8m0_to_float(((const uint8_t *)from)[i]);
    case JIT_GEMM_DTYPE_UE4M3:
        return jit_gemm_ue4m3_to_float(((const uint8_t *)from)[i]);
    case JIT_GEMM_DTYPE_E2M1:
        return jit_gemm_e2m1_to_float(
            (uint8_t)(((const uint8_t *)from)[i / 2] >> i % 2 * 4));
    case JIT_GEMM_DTYPE_F32:
    case JIT_GEMM_DTYPE_NONE:
        break;
    }
    return ((const float *)from)[i];
}

jit_gemm_status jit_gemm_convert_from_float(jit_gemm_dtype dtype, const float *from,
                                            size_t count, void *to)
{
    JG_TRY(check(dtype, from, count, to));
    for (size_t i = 0; i < count; i++) {
        store(dtype, to, i, from[i]);
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jit_gemm_convert_to_float(jit_gemm_dtype dtype, const void *from,
                                          size_t count, float *to)
{
    JG_TRY(check(dtype, from, count, to));
    for (size_t i = 0; i < count; i++) {
        to[i] = load(dtype, from, i);
    }
    return JIT_GEMM_OK;
}
