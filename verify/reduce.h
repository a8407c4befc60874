/* SPDX-License-Identifier: MIT */
/* What a reduction of an epilogue comes to, on the host: from what the reference kernel
 * says that each element of D contributes. */
#ifndef VERIFY_REDUCE_H
#define VERIFY_REDUCE_H

#include "verify/compare.h"

/* What the elements become. */
enum reduce_operation { REDUCE_SUM, REDUCE_MAX, REDUCE_MIN };
/* What has a result of its own in each batch: each row of the view, each column, all, or
 * each block of some columns of a row. */
enum reduce_of { REDUCE_ROWS, REDUCE_COLUMNS, REDUCE_ALL, REDUCE_BLOCKS };

struct reduction {
    enum reduce_operation operation;
    enum reduce_of of;
    int64_t block; /* columns */
};

/* The results: packed f32, one row a batch, of blocks one a row. */
struct element_view reduce_view(const struct element_view *elements,
                                const struct reduction *reduction);

/*
 * Fills `results` (of reduce_view) with the sums, or the greatest or least, of `data`, made
 * in f64. NaN where one of them is NaN. Returns what a sum of such terms comes to if their
 * signs are random: the root of the sum of their squares, over all results as a root mean
 * square; and of the greatest or least what an element comes to.
 */
double reduce_elements(const struct element_view *elements, const void *data,
                       const struct reduction *reduction, float *results);

/* What is accepted of results of type `dtype`: as of elements, and that much of
 * `magnitude`: the terms of a sum may cancel, and of squares the least may be none. */
struct compare_bounds reduce_bounds_for(jit_gemm_dtype dtype, enum compare_sums sums,
                                        int64_t k, double magnitude);

#endif
