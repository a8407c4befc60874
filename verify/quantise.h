/* SPDX-License-Identifier: MIT */
/* Blocks of D with scales that the kernel computes, once more on the host (docs/scales.md):
 * where scales lie, also those of A and B, what they are, and whether a kernel's are right.
 */
#ifndef VERIFY_QUANTISE_H
#define VERIFY_QUANTISE_H

#include <stdbool.h>

#include "verify/compare.h"

/* Rows of scales that a D or an A of so many rows has. */
int64_t quantise_scale_rows(const jit_gemm_scale *scale, int64_t rows);
/* Rows of A that scales in layout 128x4 are laid out for, where groups by offsets have so
 * many: the scales of each group begin at a multiple of QUANTISE_BAND_ROWS. */
enum { QUANTISE_BAND_ROWS = 128 };
int64_t quantise_group_rows(int64_t rows, int64_t groups);
/* Is it one of blocks, of a byte each, as the tensor core multiplies by? */
bool quantise_has_byte_scales(const jit_gemm_scale *scale);
/* The memory of `rows` rows of scales, of a D or an A with so many columns: a row per
 * batch. */
struct element_view quantise_scale_view(const jit_gemm_scale *scale, int64_t batch,
                                        int64_t rows, int64_t columns);
/* Element of a batch of it that has the scale of block `block` of row `row` of them. */
int64_t quantise_scale_index(const jit_gemm_scale *scale, int64_t rows, int64_t columns,
                             int64_t row, int64_t block);

/* Are those of four blocks along K neighbours: does the layout have words? */
bool quantise_has_words(const jit_gemm_scale *scale);

/* A scale of a block of A or B, about 1, of ue8m0 a power of two; `random` is in [-1, 1].
 */
double quantise_random_scale(jit_gemm_dtype dtype, float random);

/* The scale of a block whose greatest magnitude is `amax`, of elements of type `d`. */
float quantise_scale(const jit_gemm_scale *scale, jit_gemm_dtype d, float amax);
/* Its recipe, in words. */
void quantise_describe(const jit_gemm_scale *scale, jit_gemm_dtype d, char *text,
                       size_t size);
/* An element of type `d` as it is stored beside a scale. */
double quantise_element(jit_gemm_dtype d, float scale, float value);

/* A kernel's D with its scales, and the same D in f32, not scaled, of a reference. */
struct quantised {
    const jit_gemm_scale *scale;
    const struct element_view *view, *scale_view, *ref_view;
    const void *data, *scales;
    const float *ref;
    const int64_t *scale_rows; /* of each row of each batch the row of its scales in 128x4,
                                * -1 where no launch writes it; NULL: all their own */
};

/*
 * Are both what an element of the reference gives that is off by no more than `bounds`
 * (compare_bounds_for, of f32) allow? A scale must be one of an amax within its bounds; an
 * element one that the kernel's own scale makes of a value within its bounds: both are
 * monotone, and where the bounds are zero both must be equal. Where these call a scale or
 * an element wrong the bounds' range is asked, as compare_matrices does. What pads rows,
 * batches and layouts must be poison, or zero where the layout says so.
 *
 * The relative error of the elements is of those blocks that a scale fits, and judged; the
 * others are counted, and compared as all are. It is NAN where there are only such.
 */
void quantise_compare(const struct quantised *all, const struct compare_bounds *bounds,
                      struct compare_report *ret_elements,
                      struct compare_report *ret_scales);

#endif
