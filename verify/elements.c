/* SPDX-License-Identifier: MIT */
#include "verify/elements.h"

#include <math.h>
#include <string.h>

static const struct dtype_row {
    jit_gemm_dtype dtype;
    const char *name;
    size_t bits;
    bool is_integer;
    jit_gemm_dtype d;      /* the type of D beside such an A */
    double random_extreme; /* greatest magnitude of a random element */
} dtype_rows[] = {
    {JIT_GEMM_DTYPE_BF16, "bf16", 16, false, JIT_GEMM_DTYPE_BF16, 1},
    {JIT_GEMM_DTYPE_F16, "f16", 16, false, JIT_GEMM_DTYPE_F16, 1},
    {JIT_GEMM_DTYPE_F32, "f32", 32, false, JIT_GEMM_DTYPE_F32, 1},
    {JIT_GEMM_DTYPE_TF32, "tf32", 32, false, JIT_GEMM_DTYPE_F32, 1},
    {JIT_GEMM_DTYPE_E4M3, "e4m3", 8, false, JIT_GEMM_DTYPE_E4M3, 1},
    {JIT_GEMM_DTYPE_E5M2, "e5m2", 8, false, JIT_GEMM_DTYPE_E5M2, 1},
    {JIT_GEMM_DTYPE_S8, "s8", 8, true, JIT_GEMM_DTYPE_S32, 128},
    {JIT_GEMM_DTYPE_S32, "s32", 32, true, JIT_GEMM_DTYPE_S32, 1000},
    {JIT_GEMM_DTYPE_UE8M0, "ue8m0", 8, false, JIT_GEMM_DTYPE_NONE, 1},
    {JIT_GEMM_DTYPE_E2M1, "e2m1", 4, false, JIT_GEMM_DTYPE_NONE, 6},
    {JIT_GEMM_DTYPE_UE4M3, "ue4m3", 8, false, JIT_GEMM_DTYPE_NONE, 1},
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

static uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static float bits_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static uint16_t bf16_from_float(float value)
{
    uint32_t bits = float_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return 0x7fff;
    }
    bits += 0x7fffu + ((bits >> 16) & 1u);
    return (uint16_t)(bits >> 16);
}

static float float_from_bf16(uint16_t half)
{
    return bits_float((uint32_t)half << 16);
}

static uint16_t f16_from_float(float value)
{
    const uint32_t bits = float_bits(value);
    const uint32_t sign = (bits >> 16) & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
        return 0x7fff;
    }
    if (magnitude >= 0x477ff000u) { /* 65520 and up round to infinity */
        return (uint16_t)(sign | 0x7c00u);
    }
    if (magnitude < 0x33000000u) { /* below half of the smallest subnormal */
        return (uint16_t)sign;
    }
    if (magnitude >= 0x38800000u) { /* normal */
        uint32_t half = magnitude - 0x38000000u;
        half += 0xfffu + ((half >> 13) & 1u);
        return (uint16_t)(sign | (half >> 13));
    }
    /* Subnormal: units of 2^-24. */
    const unsigned shift = 126u - (magnitude >> 23);
    const uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    uint32_t half = mantissa >> shift;
    const uint32_t rest = mantissa & ((1u << shift) - 1u);
    if (rest > (1u << (shift - 1u)) || (rest == (1u << (shift - 1u)) && (half & 1u))) {
        half++;
    }
    return (uint16_t)(sign | half);
}

static float float_from_f16(uint16_t half)
{
    const uint32_t sign = ((uint32_t)half & 0x8000u) << 16;
    const uint32_t exponent = ((uint32_t)half >> 10) & 0x1fu;
    const uint32_t mantissa = (uint32_t)half & 0x3ffu;
    if (exponent == 0x1f) {
        return bits_float(sign | 0x7f800000u | (mantissa << 13));
    }
    if (exponent == 0) {
        const float value = (float)mantissa * 0x1p-24f;
        return sign ? -value : value;
    }
    return bits_float(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

/* 8-bit floats: fraction bits, bias, the greatest value and the NaN. */
struct fp8 {
    int fraction_bits, bias;
    unsigned char greatest, nan;
};

static const struct fp8 e4m3 = {3, 7, 0x7e, 0x7f}, e5m2 = {2, 15, 0x7b, 0x7f};

static unsigned char fp8_from_double(const struct fp8 *type, double value)
{
    if (isnan(value)) {
        return type->nan;
    }
    const unsigned sign = signbit(value) ? 0x80u : 0;
    value = fabs(value);
    if (value >= ldexp(1, type->bias + 2)) { /* more than either holds */
        return (unsigned char)(sign | type->greatest);
    }
    int exponent = 1 - type->bias;
    if (value >= ldexp(1, exponent)) {
        exponent = ilogb(value);
    }
    /* A carry out of the fraction makes the next exponent. */
    unsigned bits = (unsigned)(exponent + type->bias - 1) << type->fraction_bits;
    bits += (unsigned)rint(ldexp(value, type->fraction_bits - exponent));
    return (unsigned char)(sign | (bits < type->greatest ? bits : type->greatest));
}

static double double_from_fp8(const struct fp8 *type, unsigned char byte)
{
    const unsigned fraction = byte & ((1u << type->fraction_bits) - 1u);
    const int exponent = (byte & 0x7f) >> type->fraction_bits;
    double value;
    if ((byte & 0x7fu) > type->greatest) { /* e5m2 has infinities, e4m3 has none */
        value = type == &e5m2 && fraction == 0 ? (double)INFINITY : (double)NAN;
    } else if (exponent == 0) {
        value = ldexp(fraction, 1 - type->bias - type->fraction_bits);
    } else {
        value = ldexp(fraction + (1u << type->fraction_bits),
                      exponent - type->bias - type->fraction_bits);
    }
    return byte & 0x80 ? -value : value;
}

/* As copies into shared memory round it: to nearest, ties to even. */
static float round_to_tf32(float value)
{
    uint32_t bits = float_bits(value);
    if ((bits & 0x7f800000u) == 0x7f800000u) {
        return value;
    }
    bits += 0xfffu + ((bits >> 13) & 1u);
    return bits_float(bits & ~0x1fffu);
}

static double double_from_ue8m0(unsigned char byte)
{
    return byte == 0xff ? (double)NAN : ldexp(1, byte - 127);
}

/* To the next power of two that is not less. */
static unsigned char ue8m0_from_double(double value)
{
    int exponent;
    if (isnan(value)) {
        return 0xff;
    }
    if (isinf(value)) {
        return 254;
    }
    const double fraction = frexp(value, &exponent); /* in [0.5, 1) */
    const int power = fraction <= 0.5 ? exponent - 1 : exponent;
    return value < 0x1p-127 ? 0 : power > 127 ? 254 : (unsigned char)(power + 127);
}

/* Values of e2m1 by their code, which has the sign above it. */
static const double e2m1_values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};

enum { E2M1_GREATEST = 7, E2M1_SIGN = 8 };

/* In the middle of two values the one with the even code is taken. */
static unsigned e2m1_from_double(double value)
{
    unsigned code = 0;
    if (isnan(value)) {
        return E2M1_GREATEST;
    }
    for (; code < E2M1_GREATEST; code++) {
        const double middle = (e2m1_values[code] + e2m1_values[code + 1]) / 2;
        if (fabs(value) < middle || (code % 2 == 0 && fabs(value) <= middle)) {
            break;
        }
    }
    return signbit(value) ? code | E2M1_SIGN : code;
}

static double double_from_e2m1(unsigned code)
{
    const double value = e2m1_values[code & E2M1_GREATEST];
    return code & E2M1_SIGN ? -value : value;
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
        return (double)round_to_tf32(((const float *)data)[index]);
    case JIT_GEMM_DTYPE_F16:
        return (double)float_from_f16(((const uint16_t *)data)[index]);
    case JIT_GEMM_DTYPE_E4M3:
        return double_from_fp8(&e4m3, ((const unsigned char *)data)[index]);
    case JIT_GEMM_DTYPE_E5M2:
        return double_from_fp8(&e5m2, ((const unsigned char *)data)[index]);
    case JIT_GEMM_DTYPE_UE8M0:
        return double_from_ue8m0(((const unsigned char *)data)[index]);
    case JIT_GEMM_DTYPE_UE4M3: /* whose sign nobody reads */
        return double_from_fp8(&e4m3, ((const unsigned char *)data)[index] & 0x7f);
    case JIT_GEMM_DTYPE_E2M1:
        return double_from_e2m1(load_nibble(data, index));
    case JIT_GEMM_DTYPE_S8:
        return ((const int8_t *)data)[index];
    case JIT_GEMM_DTYPE_S32:
        return ((const int32_t *)data)[index];
    case JIT_GEMM_DTYPE_BF16:
    case JIT_GEMM_DTYPE_NONE:
        break;
    }
    return (double)float_from_bf16(((const uint16_t *)data)[index]);
}

void element_store(jit_gemm_dtype dtype, void *data, size_t index, double value)
{
    switch (dtype) {
    case JIT_GEMM_DTYPE_F32:
    case JIT_GEMM_DTYPE_TF32:
        ((float *)data)[index] = (float)value;
        return;
    case JIT_GEMM_DTYPE_F16:
        ((uint16_t *)data)[index] = f16_from_float((float)value);
        return;
    case JIT_GEMM_DTYPE_E4M3:
        ((unsigned char *)data)[index] = fp8_from_double(&e4m3, value);
        return;
    case JIT_GEMM_DTYPE_E5M2:
        ((unsigned char *)data)[index] = fp8_from_double(&e5m2, value);
        return;
    case JIT_GEMM_DTYPE_UE8M0:
        ((unsigned char *)data)[index] = ue8m0_from_double(value);
        return;
    case JIT_GEMM_DTYPE_UE4M3:
        ((unsigned char *)data)[index] = fp8_from_double(&e4m3, fabs(value));
        return;
    case JIT_GEMM_DTYPE_E2M1:
        store_nibble(data, index, e2m1_from_double(value));
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
    ((uint16_t *)data)[index] = bf16_from_float((float)value);
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
