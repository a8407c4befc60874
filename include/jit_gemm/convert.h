/* SPDX-License-Identifier: MIT */
/**
 * @file convert.h
 * @brief Elements on the host: to and from float, as the kernels round them.
 *
 * To nearest, ties to even (docs/types.md). To f16 and bf16 what is too great becomes an
 * infinity; to e4m3, e5m2 and e2m1 it saturates: it becomes the greatest value with its
 * sign, and so does an infinity. A NaN becomes the type's (0x7fff, 0x7f), and 6 in e2m1,
 * which has none.
 * To ue8m0, a power of two without a sign, magnitudes are rounded up, from 2^-127 to
 * 2^127, and a NaN becomes 0xff. From a type to float every value is exact.
 *
 * All functions are thread-safe and pure; they need no context and no GPU.
 */
#ifndef JIT_GEMM_CONVERT_H
#define JIT_GEMM_CONVERT_H

#include <stddef.h>
#include <stdint.h>

#include "jit_gemm/export.h"
#include "jit_gemm/problem.h"
#include "jit_gemm/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------ one element */

/** f16: 5 bits of exponent, 10 of fraction; up to 65504. */
JIT_GEMM_API uint16_t jit_gemm_f16_from_float(float value);
/** The value of an encoding of f16. */
JIT_GEMM_API float jit_gemm_f16_to_float(uint16_t bits);

/** bf16: the upper half of an f32. */
JIT_GEMM_API uint16_t jit_gemm_bf16_from_float(float value);
/** The value of an encoding of bf16. */
JIT_GEMM_API float jit_gemm_bf16_to_float(uint16_t bits);

/** tf32: an f32 with 10 bits of fraction, as copies into shared memory round it. */
JIT_GEMM_API float jit_gemm_tf32_from_float(float value);

/** e4m3: up to 448, no infinity; 0x7f and 0xff are NaN. */
JIT_GEMM_API uint8_t jit_gemm_e4m3_from_float(float value);
/** The value of an encoding of e4m3. */
JIT_GEMM_API float jit_gemm_e4m3_to_float(uint8_t bits);

/** e5m2: up to 57344, with infinities. */
JIT_GEMM_API uint8_t jit_gemm_e5m2_from_float(float value);
/** The value of an encoding of e5m2. */
JIT_GEMM_API float jit_gemm_e5m2_to_float(uint8_t bits);

/** e2m1: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and a sign, in the lower four bits; the upper ones are
 * 0, and are not read. */
JIT_GEMM_API uint8_t jit_gemm_e2m1_from_float(float value);
/** The value of an encoding of e2m1. */
JIT_GEMM_API float jit_gemm_e2m1_to_float(uint8_t bits);

/** ue8m0, of scales: 2^(bits - 127); 0xff is NaN. */
JIT_GEMM_API uint8_t jit_gemm_ue8m0_from_float(float value);
/** The value of an encoding of ue8m0. */
JIT_GEMM_API float jit_gemm_ue8m0_to_float(uint8_t bits);

/** ue4m3, of scales: the e4m3 of the magnitude; the sign bit is not read. */
JIT_GEMM_API uint8_t jit_gemm_ue4m3_from_float(float value);
/** The value of an encoding of ue4m3. */
JIT_GEMM_API float jit_gemm_ue4m3_to_float(uint8_t bits);

/* ------------------------------------------------------------------------------ arrays */

/**
 * Converts neighbouring elements from float. Those of e2m1 lie two in a byte, the first in
 * its lower half; of an odd number the last upper half becomes 0. To s8 and s32 values are
 * rounded to nearest even and saturate, and a NaN becomes 0.
 *
 * @param to as many bytes as the elements take; may be `from` of f32 and tf32
 *
 * Errors: ARGUMENT (no such type, or NULL with a count). Nothing is written then.
 */
JIT_GEMM_API jit_gemm_status jit_gemm_convert_from_float(jit_gemm_dtype dtype,
                                                         const float *from, size_t count,
                                                         void *to);

/**
 * Converts neighbouring elements to float, exactly but of s32 beyond 2^24, which are
 * rounded to nearest even. A tf32 is rounded as a kernel reads it.
 *
 * @param to `count` floats; may be `from` of f32 and tf32
 *
 * Errors: ARGUMENT (no such type, or NULL with a count). Nothing is written then.
 */
JIT_GEMM_API jit_gemm_status jit_gemm_convert_to_float(jit_gemm_dtype dtype,
                                                       const void *from, size_t count,
                                                       float *to);

#ifdef __cplusplus
}
#endif

#endif
