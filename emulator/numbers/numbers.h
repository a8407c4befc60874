/* SPDX-License-Identifier: MIT */
/*
 * Number formats, conversions and the arithmetic of tensor cores, to the bit. Pure
 * functions: no state, safe from any thread.
 */
#ifndef EMU_NUMBERS_NUMBERS_H
#define EMU_NUMBERS_NUMBERS_H

#include "base/base.h"

/* --------------------------------------------------------------------------- formats */

enum emu_format {
    EMU_F64,
    EMU_F32,
    EMU_TF32, /* in a 32-bit container; the low 13 bits are ignored when read */
    EMU_BF16,
    EMU_F16,
    EMU_E4M3,  /* no infinity; 0x7F and 0xFF are NaN; largest 448 */
    EMU_E5M2,  /* IEEE-like; largest finite 57344 */
    EMU_E2M3,  /* 6 bits in a byte; no NaN, no infinity; largest 7.5 */
    EMU_E3M2,  /* 6 bits in a byte; no NaN, no infinity; largest 28 */
    EMU_E2M1,  /* 4 bits in a byte; no NaN, no infinity; largest 6 */
    EMU_UE8M0, /* 2^(bits - 127); 0xFF is NaN */
    EMU_UE4M3, /* E4M3 with the sign bit ignored */
    EMU_S8,
    EMU_U8,
    EMU_FORMAT_COUNT
};

enum emu_rounding {
    EMU_RN,  /* nearest, ties to even */
    EMU_RZ,  /* toward zero */
    EMU_RM,  /* down */
    EMU_RP,  /* up */
    EMU_RNA, /* nearest, ties away from zero */
    EMU_RS   /* by random bits: away from zero where they and what is cut off make a unit */
};

struct emu_encode {
    enum emu_rounding rounding;
    bool saturate_finite; /* .satfinite: overflow and infinity become the largest finite */
    bool relu;            /* negatives and -0 become +0; NaN stays NaN */
    bool flush;           /* .ftz: a subnormal result becomes zero of its sign */
    uint16_t random;      /* of EMU_RS: in 65536ths of a unit of the last place */
};

/* The value of `bits`, exactly: a double holds every value of every format. */
double emu_decode(enum emu_format format, uint64_t bits);
/* The bits of `value` in `format`, rounded once. NaN becomes the canonical NaN that `cvt`
 * gives (f32 0x7FFFFFFF, tf32 0x7FFFE000, f16 and bf16 0x7FFF, e4m3 and e5m2 0x7F; a format
 * without NaN gives its largest value). UE8M0 follows `cvt` to ue8m0x2: |value|, RZ or RP
 * of the exponent. */
uint64_t emu_encode(enum emu_format format, double value, struct emu_encode how);

/* ------------------------------------------------- f32 and f64 arithmetic of the ALUs */

/* Rounded once in the given direction (RNA is not legal here). */
float emu_add_f32(float a, float b, enum emu_rounding rounding);
float emu_mul_f32(float a, float b, enum emu_rounding rounding);
float emu_fma_f32(float a, float b, float c, enum emu_rounding rounding);
float emu_div_f32(float a, float b, enum emu_rounding rounding);
float emu_sqrt_f32(float a, enum emu_rounding rounding);
double emu_add_f64(double a, double b, enum emu_rounding rounding);
double emu_mul_f64(double a, double b, enum emu_rounding rounding);
double emu_fma_f64(double a, double b, double c, enum emu_rounding rounding);
double emu_div_f64(double a, double b, enum emu_rounding rounding);
double emu_sqrt_f64(double a, enum emu_rounding rounding);
/* One operation of f16 or bf16 (`format`), operands and result as bits; computed exactly
 * and rounded once to nearest even. */
uint16_t emu_add_half(enum emu_format format, uint16_t a, uint16_t b);
uint16_t emu_mul_half(enum emu_format format, uint16_t a, uint16_t b);
uint16_t emu_fma_half(enum emu_format format, uint16_t a, uint16_t b, uint16_t c);

/* The approximate functions (ex2, lg2, rcp, rsqrt, sqrt, sin, cos, tanh), correctly rounded
 * here; hardware may differ in the last two bits (tanh: relative 2^-11). */
enum emu_approx {
    EMU_EX2,
    EMU_LG2,
    EMU_RCP,
    EMU_RSQRT,
    EMU_SQRT,
    EMU_SIN,
    EMU_COS,
    EMU_TANH
};
float emu_approx_f32(enum emu_approx function, float a);

/* f32 → f32 of .ftz: subnormals become zero of their sign. */
float emu_flush_f32(float a);

/* ------------------------------------------------------------- tensor-core arithmetic */

/* What a tensor core does with one instruction. */
struct emu_mma_rule {
    enum emu_format a, b;
    enum emu_format d; /* EMU_F32, EMU_F16, or EMU_S8 for 32-bit integer accumulation */
    unsigned k;        /* products that are summed at once (an instruction's K) */
    /* Terms are truncated to this many bits below the largest: 25, or 13 (Hopper FP8). With
     * block scaling 35 means FP4's way: groups of 16 products are summed exactly, then
     * scaled and truncated. */
    unsigned fraction_bits;
    unsigned result_bits;  /* mantissa bits kept of an f32 result: 23, or 13 (Hopper FP8) */
    unsigned scale_block;  /* elements of K per scale factor; 0: not block-scaled */
    enum emu_format scale; /* EMU_UE8M0 or EMU_UE4M3 */
    bool negate_a, negate_b;
    bool saturate; /* integers: saturate instead of wrapping */
    bool fast;     /* plain f32 FMA in order of K instead of the bit-exact model */
};

/*
 * D[m][n] (+)= A[m][k] · B[n][k], one instruction of rule.k along K.
 *
 * a, b: one element per 32-bit cell, raw bits of the format, row-major, `rule->k` per row.
 * d: 32-bit cells (f32 bits, f16 bits in the low half, or s32), row pitch d_pitch cells.
 * accumulate: false means D = A·B and D is not read.
 * a_scales, b_scales: one factor per scale_block elements, raw bits, row-major; NULL when
 * not block-scaled.
 */
void emu_mma(const struct emu_mma_rule *rule, unsigned m, unsigned n, const uint32_t *a,
             const uint32_t *b, uint32_t *d, size_t d_pitch, bool accumulate,
             const uint8_t *a_scales, const uint8_t *b_scales);

#endif
