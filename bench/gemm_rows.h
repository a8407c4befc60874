/* SPDX-License-Identifier: MIT */
/* Rows of A and D that an index names: a permutation of all rows that a set has. */
#ifndef BENCH_GEMM_ROWS_H
#define BENCH_GEMM_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gemm_shape.h"

/* An index on the host, and where each set has it. */
struct gemm_row_index {
    int64_t count;    /* entries: rows of the product, and of the matrix; 0: no index */
    int32_t *entries; /* owned */
    size_t offset;    /* inside a set */
};

/* Bytes of an index that the problem has, or 0. */
size_t gemm_row_index_bytes(const struct gemm_shape *shape, jit_gemm_rows rows);

/* Draws one; nothing where the problem has none. -1 without memory. */
int gemm_row_index_draw(const struct gemm_shape *shape, jit_gemm_rows rows, uint64_t seed,
                        struct gemm_row_index *index);

/* What a launch gets for the rows from `row` on; nothing of no index. `address`: of the
 * index in the launch's set. */
jit_gemm_arg gemm_row_index_argument(const struct gemm_row_index *index, uint64_t address,
                                     int64_t row);

/* Of each row of the matrix what `has_row` says of the product's row that is there; owned
 * by the caller. NULL without memory. */
bool *gemm_row_index_move(const struct gemm_row_index *index, const bool *has_row);

void gemm_row_index_free(struct gemm_row_index *index);

#endif
