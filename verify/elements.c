/* SPDX-License-Identifier: MIT */
#include "verify/elements.h"

#include <math.h>
#include <string.h>

#include "jit_gemm/convert.h"

static const struct dtype_row {
    jit_gemm_dtype dtype;
    const char *name;
    size_t bits;
    int significand_bits;
    bool is_integer;
    jit_gemm_dtype d;      /* the type of D beside such an A */
    double random_extreme; /* greatest magnitude of a random element */
} dtype_rows[] = {
    {JIT_GEMM_DTYPE_BF16, "bf16", 16, 8, false, JIT_GEMM_DTYPE_BF16, 1},
    {JIT_GEMM_DTYPE_F16, "f16", 16, 11, false, JIT_GEMM_DTYPE_F16, 1},
    {JIT_GEMM_DTYPE_F32, "f32", 32, 24, false, JIT_GEMM_DTYPE_F32, 1},
    {JIT_GEMM_DTYPE_TF32, "tf32", 32, 11, false, JIT_GEMM_DTYPE_F32, 1},
    {JIT_GEMM_DTYPE_E4M3, "e4m3", 8, 4, false, JIT_GEMM_DTYPE_E4M3, 1},
    {JIT_GEMM_DTYPE_E5M2, "e5m2", 8, 3, false, JIT_GEMM_DTYPE_E5M2, 1},
    {JIT_GEMM_DTYPE_S8, "s8", 8, 8, true, JIT_GEMM_DTYPE_S32, 128},
    {JIT_GEMM_DTYPE_S32, "s32", 32, 24, true, JIT_GEMM_DTYPE_S32, 1000},
    {JIT_GEMM_DTYPE_UE8M0, "ue8m0", 8, 1, false, JIT_GEMM_DTYPE_NONE, 1},
    {JIT_GEMM_DTYPE_E2M1, "e2m1", 4, 2, false, JIT_GEMM_DTYPE_NONE, 6},
    {JIT_GEMM_DTYPE_UE4M3, "ue4m3", 8, 4, false, JIT_GEMM_DTYPE_NONE, 1},
};

enum { DTYPE_ROWS = sizeof(dtype_rows) / sizeof(dtype_rows[0]) };

static const struct dtype_row *find_row(jit_gemm_dtype dtype)
{
    static const struct dtype_row none = {.name = "none", .random_extreme = 1};
    for (size_t i = 0; i < DTYPE_ROWS; i++) {
        if (dtype_rows[i].dtype == dtype) {
            return &dtype_rows[i];
        }
    }
    return &none;
}

size_t element_bytes(jit_gemm_dtype dtype, size_t count)
{
    return (count * find_row(dtype)->bits + 7) / 8;
}

size_t element_size(jit_gemm_dtype dtype)
{
    return element_bytes(dtype, 1);
}

const char *element_dtype_name(jit_gemm_dtype dtype)
{
    return find_row(dtype)->name;
}

int element_significand_bits(jit_gemm_dtype dtype)
{
    return find_row(dtype)->significand_bits;
}

bool element_is_integer(jit_gemm_dtype dtype)
{
    return find_row(dtype)->is_integer;
}

bool element_dtype_parse(const char *text, jit_gemm_dtype *ret_dtype)
{
    for (size_t i = 0; i < DTYPE_ROWS; i++) {
        if (strcmp(dtype_rows[i].name, text) == 0) {
            *ret_dtype = dtype_rows[i].dtype;
            return true;
        }
    }
    return false;
}

jit_gemm_dtype element_d_type(const jit_gemm_problem *problem)
{
    return problem->d.dtype != JIT_GEMM_DTYPE_NONE ? problem->d.dtype
                                                   : find_row(problem->a.dtype)->d;
}

/* Elements of half a byte: the even one is in its lower half. */
static unsigned load_nibble(const void *data, size_t index)
{
    return ((const unsigned char *)data)[index / 2] >> (index % 2 * 4) & 0xfu;
}

static void store_nibble(void *data, size_t index, unsigned nibble)
{
    unsigned char *byte = (unsigned char *)data + index / 2;
    const unsigned shift = index % 2 * 4;
    *byte = (unsigned char)((*byte & ~(0xfu << shift)) | nibble << shift);
}

static double clamp_integer(double value, double low, double high)
{
    if (isnan(value)) {
        return 0;
    }
    value = rint(value);
    return value < low ? low : value > high ? high : value;
}

double element_load(jit_gemm_dtype dtype, const void *data, size_t index)
{
    switch (dtype) {
    case JIT_GEMM_DTYPE_F32:
        return (double)((const float *)data)[index];
    case JIT_GEMM_DTYPE_TF32:
        return (double)jit_gemm_tf32_from_float(((const float *)data)[index]);
    case JIT_GEMM_DTYPE_F16:
        return (double)jit_gemm_f16_to_float(((const uint16_t *)data)[index]);
    case JIT_GEMM_DTYPE_E4M3:
        return (double)jit_gemm_e4m3_to_float(((const unsigned char *)data)[index]);
    case JIT_GEMM_DTYPE_E5M2:
        return (double)jit_gemm_e5m2_to_float(((const unsigned char *)data)[index]);
    case JIT_GEMM_DTYPE_UE8M0:
        return (double)jit_gemm_ue8m0_to_float(((const unsigned char *)data)[index]);
    case JIT_GEMM_DTYPE_UE4M3: /* whose sign nobody reads */
        return (double)jit_gemm_ue4m3_to_float(((const unsigned char *)data)[index]);
    case JIT_GEMM_DTYPE_E2M1:
        return (double)jit_gemm_e2m1_to_float((uint8_t)load_nibble(data, index));
    case JIT_GEMM_DTYPE_S8:
        return ((const int8_t *)data)[index];
    case JIT_GEMM_DTYPE_S32:
        return ((const int32_t *)data)[index];
    case JIT_GEMM_DTYPE_BF16:
    case JIT_GEMM_DTYPE_NONE:
        break;
    }
    return (double)jit_gemm_bf16_to_float(((const uint16_t *)data)[index]);
}

void element_store(jit_gemm_dtype dtype, void *data, size_t index, double value)
{
    switch (dtype) {
    case JIT_GEMM_DTYPE_F32:
    case JIT_GEMM_DTYPE_TF32:
        ((float *)data)[index] = (float)value;
        return;
    case JIT_GEMM_DTYPE_F16:
        ((uint16_t *)data)[index] = jit_gemm_f16_from_float((float)value);
        return;
    case JIT_GEMM_DTYPE_E4M3:
        ((unsigned char *)data)[index] = jit_gemm_e4m3_from_float((float)value);
        return;
    case JIT_GEMM_DTYPE_E5M2:
        ((unsigned char *)data)[index] = jit_gemm_e5m2_from_float((float)value);
        return;
    case JIT_GEMM_DTYPE_UE8M0:
        ((unsigned char *)data)[index] = jit_gemm_ue8m0_from_float((float)value);
        return;
    case JIT_GEMM_DTYPE_UE4M3:
        ((unsigned char *)data)[index] = jit_gemm_ue4m3_from_float((float)value);
        return;
    case JIT_GEMM_DTYPE_E2M1:
        store_nibble(data, index, jit_gemm_e2m1_from_float((float)value));
        return;
    case JIT_GEMM_DTYPE_S8:
        ((int8_t *)data)[index] = (int8_t)clamp_integer(value, INT8_MIN, INT8_MAX);
        return;
    case JIT_GEMM_DTYPE_S32:
        ((int32_t *)data)[index] = (int32_t)clamp_integer(value, INT32_MIN, INT32_MAX);
        return;
    case JIT_GEMM_DTYPE_BF16:
    case JIT_GEMM_DTYPE_NONE:
        break;
    }
    ((uint16_t *)data)[index] = jit_gemm_bf16_from_float((float)value);
}

double element_round(jit_gemm_dtype dtype, double value)
{
    uint32_t element[1] = {0};
    element_store(dtype, element, 0, value);
    return element_load(dtype, element, 0);
}

unsigned char element_poison_byte(jit_gemm_dtype dtype)
{
    return element_is_integer(dtype) ? 0x80 : 0xff;
}

bool element_is_poison(jit_gemm_dtype dtype, const void *data, size_t index)
{
    const size_t size = element_size(dtype);
    const unsigned char *bytes = (const unsigned char *)data + index * size;
    if (find_row(dtype)->bits == 4) {
        return load_nibble(data, index) == (element_poison_byte(dtype) & 0xfu);
    }
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != element_poison_byte(dtype)) {
            return false;
        }
    }
    return true;
}

size_t element_view_bytes(const struct element_view *view)
{
    return element_bytes(view->dtype, (size_t)view->batch * (size_t)view->batch_stride);
}

int64_t element_count(jit_gemm_dtype dtype, uint64_t bytes)
{
    return (int64_t)(8 * bytes / find_row(dtype)->bits);
}

int64_t element_padded_ld(jit_gemm_dtype dtype, int64_t columns, uint64_t alignment)
{
    const int64_t unit = element_count(dtype, alignment);
    return (columns + unit - 1) / unit * unit;
}

void element_fill_poison(const struct element_view *view, void *data)
{
    memset(data, element_poison_byte(view->dtype), element_view_bytes(view));
}

/* The splitmix64 output function. */
static uint64_t mix_bits(uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

void element_fill_random(const struct element_view *view, void *data, uint64_t seed)
{
    const double scale = find_row(view->dtype)->random_extreme;
    uint64_t state = mix_bits(seed + 0x9e3779b97f4a7c15u);
    for (int64_t batch = 0; batch < view->batch; batch++) {
        for (int64_t row = 0; row < view->rows; row++) {
            const size_t start = (size_t)(batch * view->batch_stride + row * view->ld);
            for (int64_t column = 0; column < view->columns; column++) {
                const uint64_t bits = mix_bits(state);
                const float value = (float)(int32_t)(bits >> 32) * 0x1p-31f;
                state += 0x9e3779b97f4a7c15u;
                element_store(view->dtype, data, start + (size_t)column,
                              scale * (double)value);
            }
        }
    }
}
