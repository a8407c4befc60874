/* SPDX-License-Identifier: MIT */
/*
 * Tensor-core arithmetic of one instruction.
 *
 * The model is the one that Khattak and Mikaitis ("Accurate Models of NVIDIA Tensor
 * Cores", arXiv 2512.07004) and MMA-Sim (arXiv 2511.10909) found by probing GPUs. For one
 * element of D:
 *  1. All products of the instruction are exact; a product's exponent is the sum of its
 *     factors' exponents. A subnormal keeps the least exponent of its format and a
 *     significand below 1; a product's significand may reach 4. Nothing is normalised.
 *  2. The largest exponent of the products and of C is found, -133 at least. A term that
 *     is zero does not count.
 *  3. Every term is aligned to it and truncated toward zero to `fraction_bits` bits.
 *  4. The sum of these is exact. It is truncated to f32 (to `result_bits` bits of
 *     mantissa), or rounded to nearest even to f16.
 *
 * FP8 and FP6 with block scaling: the factors' exponents are added to those of the
 * products. FP4 with block scaling (35 fraction bits): each 16 products are summed exactly
 * and multiplied by the scale factors' significands; that is a term, whose exponent is the
 * sum of the factors' exponents.
 *
 * Special values: a result of zero is +0, be it a sum of zeros, a cancellation or an
 * underflow of either sign. A sum that reaches 2^128 becomes an infinity although results
 * are truncated otherwise. NaN, and infinities of both signs, give the canonical NaN.
 * Products do not overflow by themselves.
 *
 * All of this but block scaling, FP6 and FP4 agrees to the bit with wgmma of an H200, where
 * the least exponent, zeros and overflow were measured.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "numbers/mma.h"
#include "numbers/shape.h"

enum { F32_NAN = 0x7FFFFFFF, F32_INFINITY = 0x7F800000 };
enum { MAX_FRACTION_BITS_ALIGNED = 26, MAX_FRACTION_BITS_GROUPS = 35 };
enum { MAX_GROUPS = 8 };
enum { LEAST_EXPONENT = -133 }; /* that terms are aligned to */

struct mma {
    const struct emu_mma_rule *rule;
    enum emu_mma_way way;
    struct emu_mma_operand a, b;
    bool accumulate;
};

static enum emu_mma_way choose_way(const struct emu_mma_rule *rule)
{
    if (rule->d == EMU_S8) {
        return EMU_MMA_INTEGERS;
    }
    if (rule->fast) {
        return EMU_MMA_FLOATS;
    }
    return rule->scale_block != 0 && rule->fraction_bits > MAX_FRACTION_BITS_ALIGNED
               ? EMU_MMA_GROUPS
               : EMU_MMA_ALIGNED;
}

/* What the loops rely on. The decoder of instructions makes rules, so anything else is a
 * mistake in this program. */
static void check_rule(const struct emu_mma_rule *rule, enum emu_mma_way way)
{
    assert(rule->k != 0);
    if (way == EMU_MMA_INTEGERS) {
        assert(rule->a == EMU_S8 || rule->a == EMU_U8);
        assert(rule->b == EMU_S8 || rule->b == EMU_U8);
        assert(rule->scale_block == 0);
        return;
    }
    assert(rule->d == EMU_F32 || rule->d == EMU_F16);
    assert(emu_mma_mantissa_bits(rule->a) <= 10 && emu_mma_mantissa_bits(rule->b) <= 10);
    assert(rule->result_bits <= 23);
    assert(rule->scale_block == 0 || rule->k % rule->scale_block == 0);
    assert(rule->scale_block == 0 || rule->scale == EMU_UE8M0 || rule->scale == EMU_UE4M3);
    if (way == EMU_MMA_GROUPS) {
        assert(rule->a == EMU_E2M1 && rule->b == EMU_E2M1);
        assert(rule->scale_block % EMU_MMA_GROUP == 0);
        assert(rule->k <= MAX_GROUPS * EMU_MMA_GROUP);
        assert(rule->fraction_bits <= MAX_FRACTION_BITS_GROUPS);
    } else if (way == EMU_MMA_ALIGNED) {
        assert(rule->scale_block == 0 || rule->scale == EMU_UE8M0);
        assert(rule->fraction_bits <= MAX_FRACTION_BITS_ALIGNED);
    }
}

static float get_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static uint32_t get_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* ---------------------------------------------------------------------------- results */

static uint32_t round_to_half(double value)
{
    return (uint32_t)emu_encode(EMU_F16, value, (struct emu_encode){.rounding = EMU_RN});
}

/* Truncates to f32 and then to `mantissa_bits`. */
static uint32_t truncate_to_float(double value, unsigned mantissa_bits)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    const uint32_t sign = (uint32_t)(bits >> 32) & 0x80000000;
    const int exponent = (int)(bits >> 52 & 0x7FF) - 1023;
    if (exponent > 127) {
        return sign | F32_INFINITY;
    }
    if (exponent < -126) {
        bits = emu_encode(EMU_F32, value, (struct emu_encode){.rounding = EMU_RZ});
    } else {
        bits = sign | (uint32_t)(exponent + 127) << 23 | (uint32_t)(bits >> 29 & 0x7FFFFF);
    }
    return (uint32_t)bits & ~((UINT32_C(1) << (23 - mantissa_bits)) - 1);
}

/* The result of sum · 2^scale. */
static uint32_t round_sum(const struct emu_mma_rule *rule, int64_t sum, int32_t scale)
{
    if (sum == 0) {
        return 0;
    }
    /* Sums have less than 53 bits, and every scale is a normal double: this is exact. */
    const uint64_t factor_bits = (uint64_t)(scale + 1023) << 52;
    double factor;
    memcpy(&factor, &factor_bits, sizeof(factor));
    const double value = (double)sum * factor;
    const uint32_t bits = rule->d == EMU_F16 ? round_to_half(value)
                                             : truncate_to_float(value, rule->result_bits);
    const bool zero = (bits & emu_shape_get(rule->d)->mask) == 0;
    return zero ? 0 : bits;
}

/* The result where a term is not finite. */
static uint32_t round_special(const struct emu_mma_rule *rule, double sum)
{
    if (rule->d == EMU_F16) {
        return round_to_half(sum);
    }
    return isnan(sum) ? F32_NAN : sum < 0 ? F32_INFINITY | 0x80000000 : F32_INFINITY;
}

/* --------------------------------------------------------------- a block of the result */

/* C as bits; zero where there is none. Above an f16 there may be anything. */
static void load_c(const struct mma *mma, const uint32_t *d, unsigned columns,
                   uint32_t c[EMU_MMA_COLUMNS])
{
    memset(c, 0, EMU_MMA_COLUMNS * sizeof(*c));
    if (mma->accumulate) {
        memcpy(c, d, columns * sizeof(*c));
    }
}

/* (value << left) >> right, toward zero. */
static int64_t align_term(int64_t value, int left, int32_t right)
{
    if (value == 0 || right > 62) {
        return 0;
    }
    const uint64_t magnitude = (uint64_t)(value < 0 ? -value : value) << left >> right;
    return value < 0 ? -(int64_t)magnitude : (int64_t)magnitude;
}

/* FP4: one group of products at a time. Sums and exponents as emu_mma_sum_aligned. */
static void sum_groups(const struct mma *mma, unsigned row, unsigned column,
                       unsigned columns, const int32_t c_significands[EMU_MMA_COLUMNS],
                       int32_t exponents[EMU_MMA_COLUMNS], int64_t sums[EMU_MMA_COLUMNS])
{
    const struct emu_mma_operand *a = &mma->a, *b = &mma->b;
    const int fraction_bits = (int)mma->rule->fraction_bits;
    const unsigned groups = a->k / EMU_MMA_GROUP;
    const size_t scales_per_row = a->k / a->scale_block;
    const int scale_bits = a->scale == EMU_UE8M0 ? 0 : emu_mma_mantissa_bits(a->scale);
    /* A group's sum counts quarters, as each factor counts halves. */
    const int left = fraction_bits - 2 - 2 * scale_bits;
    const int c_left = fraction_bits - emu_mma_mantissa_bits(mma->rule->d);

    int32_t group_sums[MAX_GROUPS][EMU_MMA_COLUMNS];
    for (unsigned group = 0; group < groups; group++) {
        const size_t first = (size_t)group * EMU_MMA_GROUP;
        emu_mma_sum_integers(
            EMU_MMA_GROUP, b->k_pitch, a->significands + row * a->row_pitch + first,
            b->significands + first * b->k_pitch + column, group_sums[group]);
    }
    for (unsigned j = 0; j < columns; j++) {
        int64_t terms[MAX_GROUPS];
        int32_t term_exponents[MAX_GROUPS];
        int32_t largest = exponents[j];
        for (unsigned group = 0; group < groups; group++) {
            const size_t scale = (size_t)group * EMU_MMA_GROUP / a->scale_block;
            const size_t a_scale = row * scales_per_row + scale;
            const size_t b_scale = (column + j) * scales_per_row + scale;
            terms[group] = (int64_t)group_sums[group][j] * a->scale_significands[a_scale] *
                           b->scale_significands[b_scale];
            term_exponents[group] =
                a->scale_exponents[a_scale] + b->scale_exponents[b_scale];
            if (terms[group] != 0 && term_exponents[group] > largest) {
                largest = term_exponents[group];
            }
        }
        int64_t sum = align_term(c_significands[j], c_left, largest - exponents[j]);
        for (unsigned group = 0; group < groups; group++) {
            sum += align_term(terms[group], left, largest - term_exponents[group]);
        }
        sums[j] = sum;
        exponents[j] = largest;
    }
}

static void compute_exact(const struct mma *mma, unsigned row, unsigned column,
                          unsigned columns, uint32_t *d)
{
    const struct emu_mma_rule *rule = mma->rule;
    uint32_t c[EMU_MMA_COLUMNS];
    int32_t c_significands[EMU_MMA_COLUMNS], exponents[EMU_MMA_COLUMNS];
    int64_t sums[EMU_MMA_COLUMNS];
    load_c(mma, d, columns, c);
    for (unsigned j = 0; j < EMU_MMA_COLUMNS; j++) {
        emu_mma_split(rule->d, c[j], &c_significands[j], &exponents[j]);
        exponents[j] = exponents[j] < LEAST_EXPONENT ? LEAST_EXPONENT : exponents[j];
    }
    if (mma->way == EMU_MMA_GROUPS) {
        sum_groups(mma, row, column, columns, c_significands, exponents, sums);
    } else {
        const struct emu_mma_terms terms = {
            .k = rule->k,
            .pitch = mma->b.k_pitch,
            .a_significands = mma->a.significands + row * mma->a.row_pitch,
            .a_exponents = mma->a.exponents + row * mma->a.row_pitch,
            .b_significands = mma->b.significands + column,
            .b_exponents = mma->b.exponents + column,
            .product_bits = emu_mma_mantissa_bits(rule->a) + emu_mma_mantissa_bits(rule->b),
            .c_bits = emu_mma_mantissa_bits(rule->d),
            .fraction_bits = (int)rule->fraction_bits,
        };
        emu_mma_sum_aligned(&terms, c_significands, exponents, sums);
    }
    const struct emu_shape *c_shape = emu_shape_get(rule->d);
    for (unsigned j = 0; j < columns; j++) {
        if (mma->a.special[row] || mma->b.special[column + j] ||
            (c[j] & c_shape->mask) > c_shape->largest) {
            d[j] =
                round_special(rule, emu_mma_sum_special(&mma->a, row, &mma->b, column + j,
                                                        emu_decode(rule->d, c[j])));
        } else {
            d[j] = round_sum(rule, sums[j], exponents[j] - (int32_t)rule->fraction_bits);
        }
    }
}

static void compute_integers(const struct mma *mma, unsigned row, unsigned column,
                             unsigned columns, uint32_t *d)
{
    int32_t sums[EMU_MMA_COLUMNS];
    uint32_t c[EMU_MMA_COLUMNS];
    load_c(mma, d, columns, c);
    emu_mma_sum_integers(mma->rule->k, mma->b.k_pitch,
                         mma->a.significands + row * mma->a.row_pitch,
                         mma->b.significands + column, sums);
    for (unsigned j = 0; j < columns; j++) {
        const int64_t sum = (int64_t)(int32_t)c[j] + sums[j];
        const int64_t clamped = sum < INT32_MIN   ? INT32_MIN
                                : sum > INT32_MAX ? INT32_MAX
                                                  : sum;
        d[j] = (uint32_t)(mma->rule->saturate ? clamped : sum);
    }
}

static void compute_floats(const struct mma *mma, unsigned row, unsigned column,
                           unsigned columns, uint32_t *d)
{
    const bool half = mma->rule->d == EMU_F16;
    uint32_t c[EMU_MMA_COLUMNS];
    float sums[EMU_MMA_COLUMNS];
    load_c(mma, d, columns, c);
    for (unsigned j = 0; j < EMU_MMA_COLUMNS; j++) {
        /* Added to +0, so that zeros sum up to +0 as they do in the exact model. */
        sums[j] = (half ? (float)emu_decode(EMU_F16, c[j]) : get_float(c[j])) + 0.0F;
    }
    emu_mma_sum_floats(mma->rule->k, mma->b.k_pitch, mma->a.values + row * mma->a.row_pitch,
                       mma->b.values + column, sums);
    for (unsigned j = 0; j < columns; j++) {
        if (half) {
            d[j] = round_to_half((double)sums[j]);
        } else {
            d[j] = isnan(sums[j]) ? F32_NAN : get_bits(sums[j]);
        }
    }
}

void emu_mma(const struct emu_mma_rule *rule, unsigned m, unsigned n, const uint32_t *a,
             const uint32_t *b, uint32_t *d, size_t d_pitch, bool accumulate,
             const uint8_t *a_scales, const uint8_t *b_scales)
{
    const enum emu_mma_way way = choose_way(rule);
    check_rule(rule, way);
    assert((rule->scale_block != 0) == (a_scales != NULL && b_scales != NULL));
    const struct emu_mma_operand common = {
        .k = rule->k, .scale_block = rule->scale_block, .scale = rule->scale};
    struct mma mma = {
        .rule = rule, .way = way, .a = common, .b = common, .accumulate = accumulate};
    mma.a.rows = m;
    mma.a.format = rule->a;
    mma.a.bits = a;
    mma.a.scales = a_scales;
    mma.a.negate = rule->negate_a;
    mma.a.row_pitch = rule->k;
    mma.a.k_pitch = 1;
    mma.b.rows = n;
    mma.b.format = rule->b;
    mma.b.bits = b;
    mma.b.scales = b_scales;
    mma.b.negate = rule->negate_b;
    mma.b.row_pitch = 1;
    mma.b.k_pitch = emu_align_up(n, EMU_MMA_COLUMNS);
    emu_mma_operand_prepare(&mma.a, way);
    emu_mma_operand_prepare(&mma.b, way);

    for (unsigned row = 0; row < m; row++) {
        for (unsigned column = 0; column < n; column += EMU_MMA_COLUMNS) {
            const unsigned columns =
                n - column < EMU_MMA_COLUMNS ? n - column : EMU_MMA_COLUMNS;
            uint32_t *block = d + row * d_pitch + column;
            switch (way) {
            case EMU_MMA_ALIGNED:
            case EMU_MMA_GROUPS:
                compute_exact(&mma, row, column, columns, block);
                break;
            case EMU_MMA_INTEGERS:
                compute_integers(&mma, row, column, columns, block);
                break;
            case EMU_MMA_FLOATS:
                compute_floats(&mma, row, column, columns, block);
                break;
            }
        }
    }
    emu_mma_operand_free(&mma.a);
    emu_mma_operand_free(&mma.b);
}
