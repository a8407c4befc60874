/* SPDX-License-Identifier: MIT */
/*
 * f32 and f64 arithmetic in every rounding direction, and arithmetic of halves.
 *
 * f32 and f64 use the host's IEEE 754 arithmetic. Compilers assume its default rounding
 * mode, so for the other directions operands and results pass through volatile objects:
 * the operation can neither be folded nor leave its place between the changes of mode.
 */
#include <assert.h>
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "numbers/numbers.h"

_Static_assert(FLT_EVAL_METHOD == 0, "float arithmetic must round to float");

enum operation { ADD, MUL, FMA, DIV, SQRT };

static int get_host_rounding(enum emu_rounding rounding)
{
    switch (rounding) {
    case EMU_RN:
        return FE_TONEAREST;
    case EMU_RZ:
        return FE_TOWARDZERO;
    case EMU_RM:
        return FE_DOWNWARD;
    case EMU_RP:
        return FE_UPWARD;
    case EMU_RNA:
    case EMU_RS:
        break;
    }
    assert(false && "arithmetic knows no such rounding");
    return FE_TONEAREST;
}

static float apply_f32(enum operation operation, float a, float b, float c)
{
    volatile float x = a, y = b, z = c;
    volatile float result;
    switch (operation) {
    case ADD:
        result = x + y;
        break;
    case MUL:
        result = x * y;
        break;
    case FMA:
        result = fmaf(x, y, z);
        break;
    case DIV:
        result = x / y;
        break;
    case SQRT:
    default:
        result = sqrtf(x);
        break;
    }
    return result;
}

static double apply_f64(enum operation operation, double a, double b, double c)
{
    volatile double x = a, y = b, z = c;
    volatile double result;
    switch (operation) {
    case ADD:
        result = x + y;
        break;
    case MUL:
        result = x * y;
        break;
    case FMA:
        result = fma(x, y, z);
        break;
    case DIV:
        result = x / y;
        break;
    case SQRT:
    default:
        result = sqrt(x);
        break;
    }
    return result;
}

/* The GPU's NaN in place of the host's. */
static float finish_f32(float result)
{
    if (isnan(result)) {
        const uint32_t canonical = 0x7FFFFFFF;
        memcpy(&result, &canonical, sizeof(result));
    }
    return result;
}

static float direct_f32(enum operation operation, float a, float b, float c,
                        enum emu_rounding rounding)
{
    const int before = fegetround();
    fesetround(get_host_rounding(rounding));
    const float result = apply_f32(operation, a, b, c);
    fesetround(before);
    return finish_f32(result);
}

static double finish_f64(double result)
{
    if (isnan(result)) {
        const uint64_t canonical = UINT64_C(0x7FF8000000000000);
        memcpy(&result, &canonical, sizeof(result));
    }
    return result;
}

static double direct_f64(enum operation operation, double a, double b, double c,
                         enum emu_rounding rounding)
{
    const int before = fegetround();
    fesetround(get_host_rounding(rounding));
    const double result = apply_f64(operation, a, b, c);
    fesetround(before);
    return finish_f64(result);
}

float emu_add_f32(float a, float b, enum emu_rounding rounding)
{
    return rounding == EMU_RN ? finish_f32(a + b) : direct_f32(ADD, a, b, 0, rounding);
}

float emu_mul_f32(float a, float b, enum emu_rounding rounding)
{
    return rounding == EMU_RN ? finish_f32(a * b) : direct_f32(MUL, a, b, 0, rounding);
}

float emu_fma_f32(float a, float b, float c, enum emu_rounding rounding)
{
    return rounding == EMU_RN ? finish_f32(fmaf(a, b, c))
                              : direct_f32(FMA, a, b, c, rounding);
}

float emu_div_f32(float a, float b, enum emu_rounding rounding)
{
    return rounding == EMU_RN ? finish_f32(a / b) : direct_f32(DIV, a, b, 0, rounding);
}

float emu_sqrt_f32(float a, enum emu_rounding rounding)
{
    return rounding == EMU_RN ? finish_f32(sqrtf(a)) : direct_f32(SQRT, a, 0, 0, rounding);
}

double emu_add_f64(double a, double b, enum emu_rounding rounding)
{
    return rounding == EMU_RN ? finish_f64(a + b) : direct_f64(ADD, a, b, 0, rounding);
}

double emu_mul_f64(double a, double b, enum emu_rounding rounding)
{
    return rounding == EMU_RN ? finish_f64(a * b) : direct_f64(MUL, a, b, 0, rounding);
}

double emu_fma_f64(double a, double b, double c, enum emu_rounding rounding)
{
    return rounding == EMU_RN ? finish_f64(fma(a, b, c))
                              : direct_f64(FMA, a, b, c, rounding);
}

double emu_div_f64(double a, double b, enum emu_rounding rounding)
{
    return rounding == EMU_RN ? finish_f64(a / b) : direct_f64(DIV, a, b, 0, rounding);
}

double emu_sqrt_f64(double a, enum emu_rounding rounding)
{
    return rounding == EMU_RN ? finish_f64(sqrt(a)) : direct_f64(SQRT, a, 0, 0, rounding);
}

/*
 * a + b as a double that keeps what a later rounding needs: where the sum is not exact,
 * the neighbour with an odd last bit (Boldo and Melquiond, "Emulation of a FMA and
 * correctly rounded sums", 2008). Rounding it to a format of at most 51 bits gives the same
 * as rounding the exact sum.
 */
static double add_to_odd(double a, double b)
{
    const double sum = a + b;
    if (!isfinite(sum) || sum == 0) {
        return sum;
    }
    /* The exact error of the sum (Knuth's TwoSum). */
    const double b_part = sum - a;
    const double error = (a - (sum - b_part)) + (b - b_part);
    if (error == 0) {
        return sum;
    }
    uint64_t bits;
    memcpy(&bits, &sum, sizeof(bits));
    if ((error < 0) != (sum < 0)) {
        bits -= 1; /* the sum was rounded away from zero: back to the truncated one */
    }
    bits |= 1;
    double odd;
    memcpy(&odd, &bits, sizeof(odd));
    return odd;
}

static uint16_t encode_half(enum emu_format format, double value)
{
    return (uint16_t)emu_encode(format, value, (struct emu_encode){.rounding = EMU_RN});
}

uint16_t emu_add_half(enum emu_format format, uint16_t a, uint16_t b)
{
    return encode_half(format, add_to_odd(emu_decode(format, a), emu_decode(format, b)));
}

uint16_t emu_mul_half(enum emu_format format, uint16_t a, uint16_t b)
{
    return encode_half(format, emu_decode(format, a) * emu_decode(format, b));
}

uint16_t emu_fma_half(enum emu_format format, uint16_t a, uint16_t b, uint16_t c)
{
    /* The product of two halves is exact in a double. */
    const double product = emu_decode(format, a) * emu_decode(format, b);
    return encode_half(format, add_to_odd(product, emu_decode(format, c)));
}
