/* SPDX-License-Identifier: MIT */
/*
 * The loops of tensor-core arithmetic, written so that the compiler turns a block of
 * columns into vectors. On x86-64 each loop is compiled a second time for processors with
 * AVX2, whose shifts by a vector of counts the alignment needs. Both give the same bits:
 * the build forbids contraction to FMA.
 */
#include <string.h>

#include "numbers/mma.h"

#define ALWAYS_INLINE __attribute__((always_inline)) static inline

/* Sums of so many truncated products stay within 32 bits: each is less than 2^28. */
enum { PRODUCTS_PER_PART = 8 };

/* (value << left) >> right, toward zero; a right shift of 31 or more leaves nothing. */
ALWAYS_INLINE int32_t shift_truncating(int32_t value, int left, int32_t right)
{
    const int32_t places = right < 31 ? right : 31;
    const int32_t negative = value >> 31;
    const uint32_t magnitude = (uint32_t)((value ^ negative) - negative) << left;
    return ((int32_t)(magnitude >> places) ^ negative) - negative;
}

ALWAYS_INLINE int get_left_shift(int fraction_bits, int mantissa_bits)
{
    return fraction_bits > mantissa_bits ? fraction_bits - mantissa_bits : 0;
}

ALWAYS_INLINE void sum_aligned(const struct emu_mma_terms *terms,
                               const int32_t c_significands[EMU_MMA_COLUMNS],
                               int32_t exponents[EMU_MMA_COLUMNS],
                               int64_t sums[EMU_MMA_COLUMNS])
{
    const unsigned k = terms->k;
    const size_t pitch = terms->pitch;
    int32_t largest[EMU_MMA_COLUMNS];
    memcpy(largest, exponents, sizeof(largest));
    for (unsigned i = 0; i < k; i++) {
        const int32_t a = terms->a_exponents[i];
        const int32_t *b = terms->b_exponents + i * pitch;
        for (unsigned j = 0; j < EMU_MMA_COLUMNS; j++) {
            const int32_t product = a + b[j];
            largest[j] = product > largest[j] ? product : largest[j];
        }
    }

    const int c_left = get_left_shift(terms->fraction_bits, terms->c_bits);
    const int c_right = c_left - (terms->fraction_bits - terms->c_bits);
    int64_t total[EMU_MMA_COLUMNS];
    for (unsigned j = 0; j < EMU_MMA_COLUMNS; j++) {
        total[j] = shift_truncating(c_significands[j], c_left,
                                    largest[j] - exponents[j] + c_right);
    }
    const int left = get_left_shift(terms->fraction_bits, terms->product_bits);
    const int right = left - (terms->fraction_bits - terms->product_bits);
    for (unsigned first = 0; first < k; first += PRODUCTS_PER_PART) {
        const unsigned end = first + PRODUCTS_PER_PART < k ? first + PRODUCTS_PER_PART : k;
        int32_t part[EMU_MMA_COLUMNS] = {0};
        for (unsigned i = first; i < end; i++) {
            const int32_t a = terms->a_significands[i];
            const int32_t a_exponent = terms->a_exponents[i] - right;
            const int32_t *b = terms->b_significands + i * pitch;
            const int32_t *b_exponents = terms->b_exponents + i * pitch;
            for (unsigned j = 0; j < EMU_MMA_COLUMNS; j++) {
                part[j] += shift_truncating(a * b[j], left,
                                            largest[j] - (a_exponent + b_exponents[j]));
            }
        }
        for (unsigned j = 0; j < EMU_MMA_COLUMNS; j++) {
            total[j] += part[j];
        }
    }
    memcpy(exponents, largest, sizeof(largest));
    memcpy(sums, total, sizeof(total));
}

ALWAYS_INLINE void sum_integers(unsigned k, size_t pitch, const int32_t *a,
                                const int32_t *b, int32_t sums[EMU_MMA_COLUMNS])
{
    int32_t total[EMU_MMA_COLUMNS] = {0};
    for (unsigned i = 0; i < k; i++) {
        for (unsigned j = 0; j < EMU_MMA_COLUMNS; j++) {
            total[j] += a[i] * b[i * pitch + j];
        }
    }
    memcpy(sums, total, sizeof(total));
}

ALWAYS_INLINE void sum_floats(unsigned k, size_t pitch, const float *a, const float *b,
                              float sums[EMU_MMA_COLUMNS])
{
    float total[EMU_MMA_COLUMNS];
    memcpy(total, sums, sizeof(total));
    for (unsigned i = 0; i < k; i++) {
        for (unsigned j = 0; j < EMU_MMA_COLUMNS; j++) {
            total[j] += a[i] * b[i * pitch + j];
        }
    }
    memcpy(sums, total, sizeof(total));
}

#if defined(__x86_64__)
#    define AVX2 __attribute__((target("avx2")))

AVX2 static void sum_aligned_avx2(const struct emu_mma_terms *terms,
                                  const int32_t c_significands[EMU_MMA_COLUMNS],
                                  int32_t exponents[EMU_MMA_COLUMNS],
                                  int64_t sums[EMU_MMA_COLUMNS])
{
    sum_aligned(terms, c_significands, exponents, sums);
}

AVX2 static void sum_integers_avx2(unsigned k, size_t pitch, const int32_t *a,
                                   const int32_t *b, int32_t sums[EMU_MMA_COLUMNS])
{
    sum_integers(k, pitch, a, b, sums);
}

AVX2 static void sum_floats_avx2(unsigned k, size_t pitch, const float *a, const float *b,
                                 float sums[EMU_MMA_COLUMNS])
{
    sum_floats(k, pitch, a, b, sums);
}

#    define CALL_BEST(function, ...)          \
        if (__builtin_cpu_supports("avx2")) { \
            function##_avx2(__VA_ARGS__);     \
        } else {                              \
            function(__VA_ARGS__);            \
        }
#else
#    define CALL_BEST(function, ...) function(__VA_ARGS__);
#endif

void emu_mma_sum_aligned(const struct emu_mma_terms *terms,
                         const int32_t c_significands[EMU_MMA_COLUMNS],
                         int32_t exponents[EMU_MMA_COLUMNS], int64_t sums[EMU_MMA_COLUMNS])
{
    CALL_BEST(sum_aligned, terms, c_significands, exponents, sums)
}

void emu_mma_sum_integers(unsigned k, size_t pitch, const int32_t *a, const int32_t *b,
                          int32_t sums[EMU_MMA_COLUMNS])
{
    CALL_BEST(sum_integers, k, pitch, a, b, sums)
}

void emu_mma_sum_floats(unsigned k, size_t pitch, const float *a, const float *b,
                        float sums[EMU_MMA_COLUMNS])
{
    CALL_BEST(sum_floats, k, pitch, a, b, sums)
}
