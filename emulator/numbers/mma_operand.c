/* SPDX-License-Identifier: MIT */
/* Operands of tensor-core arithmetic: unpacked once, and the sums that are not finite. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "numbers/mma.h"
#include "numbers/shape.h"

enum { F32_MANTISSA_BITS = 23, F32_BIAS = 127 };

static float make_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

int emu_mma_mantissa_bits(enum emu_format format)
{
    const struct emu_shape *shape = emu_shape_get(format);
    assert(shape != NULL);
    return shape->mantissa_bits;
}

static bool is_negative(const struct emu_shape *shape, uint32_t bits)
{
    return (bits >> shape->unused_low_bits & shape->sign) != 0;
}

static uint32_t get_magnitude(const struct emu_shape *shape, uint32_t bits)
{
    return (uint32_t)(bits >> shape->unused_low_bits & shape->mask);
}

/* Of a magnitude: significand without sign, and exponent. */
static void split_magnitude(const struct emu_shape *shape, uint32_t magnitude,
                            int32_t *significand, int32_t *exponent)
{
    const uint32_t hidden = UINT32_C(1) << shape->mantissa_bits;
    const uint32_t fraction = magnitude & (hidden - 1);
    const int32_t field = (int32_t)(magnitude >> shape->mantissa_bits);
    *significand = (int32_t)(field == 0 ? fraction : fraction | hidden);
    *exponent =
        magnitude == 0 ? EMU_MMA_ZERO_EXPONENT : (field == 0 ? 1 : field) - shape->bias;
}

void emu_mma_split(enum emu_format format, uint32_t bits, int32_t *significand,
                   int32_t *exponent)
{
    if (format == EMU_UE8M0) {
        *significand = 1;
        *exponent = (int32_t)bits - F32_BIAS; /* UE8M0 is f32's exponent field */
        return;
    }
    const struct emu_shape *shape = emu_shape_get(format);
    assert(shape != NULL);
    split_magnitude(shape, get_magnitude(shape, bits), significand, exponent);
    if (is_negative(shape, bits)) {
        *significand = -*significand;
    }
}

/* Every narrow format's fields, put where an f32 has them, stand for the value short of
 * the power of two by which the biases differ; the product is exact. */
static float convert_to_float(const struct emu_shape *shape, uint32_t magnitude)
{
    if (magnitude > shape->largest) {
        return magnitude == shape->infinity ? INFINITY : NAN;
    }
    const float fields =
        make_float(magnitude << (F32_MANTISSA_BITS - shape->mantissa_bits));
    const uint32_t factor = (uint32_t)(2 * F32_BIAS - shape->bias) << F32_MANTISSA_BITS;
    return fields * make_float(factor);
}

static bool scale_is_nan(const struct emu_mma_operand *operand, size_t index)
{
    return isnan(emu_decode(operand->scale, operand->scales[index]));
}

static void prepare_scales(struct emu_mma_operand *operand, enum emu_mma_way way)
{
    const size_t per_row = operand->k / operand->scale_block;
    const size_t count = operand->rows * per_row;
    if (way == EMU_MMA_GROUPS) {
        operand->scale_significands =
            emu_alloc(count * sizeof(*operand->scale_significands));
        operand->scale_exponents = emu_alloc(count * sizeof(*operand->scale_exponents));
    }
    for (size_t i = 0; i < count; i++) {
        if (scale_is_nan(operand, i)) {
            operand->special[i / per_row] = true;
        }
        if (way == EMU_MMA_GROUPS) {
            emu_mma_split(operand->scale, operand->scales[i],
                          &operand->scale_significands[i], &operand->scale_exponents[i]);
        }
    }
}

static void prepare_integers(struct emu_mma_operand *operand)
{
    for (unsigned row = 0; row < operand->rows; row++) {
        const uint32_t *bits = operand->bits + (size_t)row * operand->k;
        int32_t *values = operand->significands + row * operand->row_pitch;
        for (unsigned i = 0; i < operand->k; i++) {
            const int32_t value = operand->format == EMU_S8 ? (int8_t)(uint8_t)bits[i]
                                                            : (int32_t)(uint8_t)bits[i];
            values[i * operand->k_pitch] = operand->negate ? -value : value;
        }
    }
}

static void prepare_numbers(struct emu_mma_operand *operand, enum emu_mma_way way)
{
    const struct emu_shape *shape = emu_shape_get(operand->format);
    assert(shape != NULL);
    const size_t scales_per_row =
        operand->scales != NULL ? operand->k / operand->scale_block : 0;
    for (unsigned row = 0; row < operand->rows; row++) {
        const uint32_t *bits = operand->bits + (size_t)row * operand->k;
        for (unsigned i = 0; i < operand->k; i++) {
            const size_t place = row * operand->row_pitch + i * operand->k_pitch;
            const uint32_t magnitude = get_magnitude(shape, bits[i]);
            const bool negative = is_negative(shape, bits[i]) != operand->negate;
            const uint32_t scale =
                scales_per_row != 0
                    ? operand->scales[row * scales_per_row + i / operand->scale_block]
                    : 0;
            if (magnitude > shape->largest) {
                operand->special[row] = true;
            }
            if (way == EMU_MMA_FLOATS) {
                float value = convert_to_float(shape, magnitude);
                if (scales_per_row != 0) {
                    value *= (float)emu_decode(operand->scale, scale);
                }
                operand->values[place] = negative ? -value : value;
                continue;
            }
            int32_t significand, exponent;
            split_magnitude(shape, magnitude, &significand, &exponent);
            if (way == EMU_MMA_GROUPS) {
                /* E2M1: one mantissa bit and exponents from 0, so this is twice the value.
                 */
                significand <<= exponent > 0 ? exponent : 0;
            } else if (scales_per_row != 0 && significand != 0) {
                int32_t one, scale_exponent;
                emu_mma_split(operand->scale, scale, &one, &scale_exponent);
                exponent += scale_exponent;
            }
            operand->significands[place] = negative ? -significand : significand;
            if (way == EMU_MMA_ALIGNED) {
                operand->exponents[place] = exponent;
            }
        }
    }
}

void emu_mma_operand_prepare(struct emu_mma_operand *operand, enum emu_mma_way way)
{
    /* The last element's place ends the room; pitches cover padding. */
    const size_t room = operand->k_pitch == 1 ? operand->rows * operand->row_pitch
                                              : operand->k * operand->k_pitch;
    operand->special = emu_alloc(operand->rows * sizeof(*operand->special));
    if (way == EMU_MMA_FLOATS) {
        operand->values = emu_alloc(room * sizeof(*operand->values));
    } else {
        operand->significands = emu_alloc(room * sizeof(*operand->significands));
    }
    if (way == EMU_MMA_ALIGNED) {
        operand->exponents = emu_alloc(room * sizeof(*operand->exponents));
    }
    if (operand->scales != NULL) {
        prepare_scales(operand, way);
    }
    if (way == EMU_MMA_INTEGERS) {
        prepare_integers(operand);
    } else {
        prepare_numbers(operand, way);
    }
}

void emu_mma_operand_free(struct emu_mma_operand *operand)
{
    emu_free(operand->significands);
    emu_free(operand->exponents);
    emu_free(operand->values);
    emu_free(operand->scale_significands);
    emu_free(operand->scale_exponents);
    emu_free(operand->special);
}

/* An element with its sign and scale factor. A double holds every such product. */
static double get_value(const struct emu_mma_operand *operand, unsigned row, unsigned i)
{
    double value = emu_decode(operand->format, operand->bits[(size_t)row * operand->k + i]);
    if (operand->scales != NULL) {
        const size_t per_row = operand->k / operand->scale_block;
        value *= emu_decode(operand->scale,
                            operand->scales[row * per_row + i / operand->scale_block]);
    }
    return operand->negate ? -value : value;
}

double emu_mma_sum_special(const struct emu_mma_operand *a, unsigned row,
                           const struct emu_mma_operand *b, unsigned column, double c)
{
    /* Finite terms change nothing and might overflow the sum, so they are left out. */
    double sum = isfinite(c) ? 0 : c;
    for (unsigned i = 0; i < a->k; i++) {
        const double product = get_value(a, row, i) * get_value(b, column, i);
        if (!isfinite(product)) {
            sum += product;
        }
    }
    return sum;
}
