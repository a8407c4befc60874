/* SPDX-License-Identifier: MIT */
/* Element types: names, sizes, and where a type may stand. */
#ifndef JG_PLAN_DTYPE_H
#define JG_PLAN_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/nearest.h"
#include "jit_gemm/problem.h"

enum { JG_DTYPE_COUNT = JIT_GEMM_DTYPE_UE4M3 + 1 };
/* In each launch, and so not behind a call. */
extern const unsigned char jg_element_bits[JG_DTYPE_COUNT];

static inline bool jg_dtype_exists(jit_gemm_dtype dtype)
{
    return (unsigned)dtype < JG_DTYPE_COUNT;
}
/* "none" for NONE, "unknown" for what is no type. */
const char *jg_dtype_name(jit_gemm_dtype dtype);
/* Bits of an element; 0 for NONE. An element may have fewer than 8. */
static inline int jg_dtype_bits(jit_gemm_dtype dtype)
{
    return jg_dtype_exists(dtype) ? jg_element_bits[dtype] : 0;
}
/* Those that a number's digits take, the one that is not stored included; of integers,
 * those that the greatest ones need. */
int jg_dtype_significand_bits(jit_gemm_dtype dtype);
/* Bytes that so many neighbouring elements take, the last byte whole. */
static inline int64_t jg_bytes_of(jit_gemm_dtype dtype, int64_t elements)
{
    return (elements * jg_dtype_bits(dtype) + 7) / 8;
}
/* By name; false if there is no such name. */
bool jg_dtype_parse(const char *text, size_t size, jit_gemm_dtype *ret_dtype);

/* Where a name is none of a type: tries those of types that may stand there, and what CUDA,
 * PyTorch and others call them. */
void jg_dtype_nearest(struct jg_nearest *nearest, bool (*may_stand)(jit_gemm_dtype));

/* Where types may stand: A and B, C and D, operands of an epilogue. The texts are hints. */
#define JG_INPUT_TYPES   "types: bf16 f16 tf32 e4m3 e5m2 s8"
#define JG_OUTPUT_TYPES  "types: bf16 f16 f32 e4m3 e5m2 s8 s32"
#define JG_OPERAND_TYPES "types: bf16 f16 f32 e4m3 e5m2"
bool jg_dtype_is_input(jit_gemm_dtype dtype);
bool jg_dtype_is_output(jit_gemm_dtype dtype);
bool jg_dtype_is_operand(jit_gemm_dtype dtype);
/* Of A, B and D, beside scales of their blocks only? */
bool jg_dtype_is_scaled(jit_gemm_dtype dtype);
/* Integers are added up in s32, all other inputs in f32; 8-bit ones are also what an f32 of
 * the epilogue is rounded to, whatever the inputs are. */
bool jg_dtype_is_integer(jit_gemm_dtype dtype);
/* For scales only? */
bool jg_dtype_is_of_scales(jit_gemm_dtype dtype);
/* e4m3 or e5m2. */
bool jg_dtype_is_fp8(jit_gemm_dtype dtype);
/* Fraction bits of the type that sums have on the device; 0: they are exact integers. */
int jg_dtype_sum_fraction_bits(jit_gemm_dtype input);
/* The type of D where none is given; NONE if A cannot be of this type. */
jit_gemm_dtype jg_dtype_default_d(jit_gemm_dtype a);

#endif
