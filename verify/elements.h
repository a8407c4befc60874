/* SPDX-License-Identifier: MIT */
/* Matrices on the host: element types, random inputs, and the poison that shows stray reads
 * and missed writes. Plain memory; knows nothing of devices. */
#ifndef VERIFY_ELEMENTS_H
#define VERIFY_ELEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jit_gemm/problem.h"

/* Every byte of poisoned memory. Of the float types it makes a NaN that no kernel computes
 * (hardware NaNs are 0x7f, 0x7fff and 0x7fffffff), of the integers, which have none, the
 * least value of s8 and a sum that takes more than a hundred thousand products. An e2m1 has
 * none either: there it is -6. */
unsigned char element_poison_byte(jit_gemm_dtype dtype);

/* A batch of row-major matrices. Strides are in elements; padding is between `columns` and
 * `ld`, and after the last row of a batch index. */
struct element_view {
    jit_gemm_dtype dtype;
    int64_t batch, rows, columns;
    int64_t ld, batch_stride;
};

/* Products of integers are added up exactly. */
bool element_is_integer(jit_gemm_dtype dtype);
/* What a rounding to the type keeps, the leading bit included; of s32 as much as an f32. */
int element_significand_bits(jit_gemm_dtype dtype);
/* Bytes of one element, a part of a byte counted whole; 0 for NONE. */
size_t element_size(jit_gemm_dtype dtype);
/* Bytes that so many neighbours take, the last one whole; elements in so many bytes. */
size_t element_bytes(jit_gemm_dtype dtype, size_t count);
int64_t element_count(jit_gemm_dtype dtype, uint64_t bytes);
/* Name as a problem's text writes it, for instance "bf16". */
const char *element_dtype_name(jit_gemm_dtype dtype);
/* Reads a type's name; false if there is no such type. */
bool element_dtype_parse(const char *text, jit_gemm_dtype *ret_dtype);

/* The type of D: the problem's, or, where it names none, what the library derives from
 * A's type. */
jit_gemm_dtype element_d_type(const jit_gemm_problem *problem);

/* The value as a kernel sees it; a tf32 is an f32 rounded to 10 fraction bits. */
double element_load(jit_gemm_dtype dtype, const void *data, size_t index);
/* Rounds to nearest, ties to even. Overflow becomes infinity, of 8-bit floats and integers
 * the greatest value, of e2m1 also a NaN; a NaN becomes the type's, of integers 0. A tf32
 * is stored as f32. A ue8m0 is rounded up, a ue4m3 keeps no sign. */
void element_store(jit_gemm_dtype dtype, void *data, size_t index, double value);
double element_round(jit_gemm_dtype dtype, double value);
/* True: all bits of the element are still those of the poison. */
bool element_is_poison(jit_gemm_dtype dtype, const void *data, size_t index);

/* Bytes from the first element to the end of the last batch's stride. */
size_t element_view_bytes(const struct element_view *view);
/* Smallest leading dimension >= `columns` whose pitch is a multiple of `alignment` bytes.
 */
int64_t element_padded_ld(jit_gemm_dtype dtype, int64_t columns, uint64_t alignment);

/* Poisons all of the view's memory, padding included. */
void element_fill_poison(const struct element_view *view, void *data);
/* Uniform in [-1, 1], for s8 in its whole range, for s32 in [-1000, 1000], rounded to the
 * type; the padding keeps its poison. The value of an element depends only on the seed and
 * its position, not on the strides. */
void element_fill_random(const struct element_view *view, void *data, uint64_t seed);

#endif
