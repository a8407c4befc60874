/* SPDX-License-Identifier: MIT */
/* Where the scales of A and B lie, and random ones. */
#ifndef BENCH_GEMM_SCALE_H
#define BENCH_GEMM_SCALE_H

#include <stdint.h>

#include "jit_gemm/problem.h"
#include "verify/elements.h"

/*
 * Scales of f32 of a matrix: one for each block of it. Scale (r, kb) is that of block row r
 * (of A; of B block column r) and of block kb along K; it lies at index
 * r * row_stride + kb * block_stride of a batch's.
 */
struct gemm_scales {
    int64_t mn, k;             /* elements of the matrix */
    int64_t block_mn, block_k; /* elements of a block */
    int64_t rows, blocks;
    int64_t row_stride, block_stride;
    int64_t count; /* elements of a batch, those between scales included; 0: no scales */
    int64_t batches;
};

/* Those of A (`mn` is M) or B (`mn` is N) as jit_gemm takes them. A scale of the tensor is
 * shared by all batches, others are not. */
void gemm_scales_describe(const jit_gemm_scale *scale, int64_t mn, int64_t k, int64_t batch,
                          struct gemm_scales *ret_scales);

/* Positive values from 2^-6 to 1, from 1/2 to 1 where there is one for all elements, which
 * an 8-bit D must not lose. `values` holds all batches. */
void gemm_scales_fill(const struct gemm_scales *scales, uint64_t seed, float *values);

/*
 * Scales of a byte for each block (mx, nv, ue8m0) lie as verify/quantise.h says; these are
 * those of `rows` rows of A or B in each of so many batches, which begin at multiples of 16
 * bytes.
 */
struct element_view gemm_scales_view_bytes(const jit_gemm_scale *scale, int64_t rows,
                                           int64_t k, int64_t batches);

/* Random ones, as `jit-gemm run` has them, for all of it: what pads blocks too, and what
 * lies between those of groups, wherever that is. */
void gemm_scales_fill_bytes(const struct element_view *view, uint64_t seed, void *values);

/* Lays the first batch of `from` out as `to`, whose blocks lie inside those of `from`. What
 * is between scales is zero; without scales in `from` all are 1. */
void gemm_scales_lay_out(const struct gemm_scales *from, const float *from_values,
                         const struct gemm_scales *to, float *to_values);

#endif
