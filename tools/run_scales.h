/* SPDX-License-Identifier: MIT */
/* Scales of blocks of A and B: random ones for the blocks that there are, poison between.
 */
#ifndef RUN_SCALES_H
#define RUN_SCALES_H

#include <stdbool.h>

#include "run_index.h"
#include "run_matrix.h"

/* The scales of a matrix, `count` of them if it is a vector. */
struct run_scale_row {
    const char *name;
    const jit_gemm_scale *scale;
    int64_t count, k, batch;
    bool is_b;
    struct run_matrix *target;
};

/* Makes `row->target`, of blocks. It keeps `groups`. CLI_OK, or the error was printed. */
int run_block_scales_create(jit_gemm_context *context, const struct run_groups *groups,
                            const struct run_scale_row *row, uint64_t seed);

/* Those of rows of A as the launch gets them, in poison: where the index says,
 * when A has been spread (run_index_spread). Rows of the product with the index of the one
 * before get its scales in `ordered`, which `scales` describes. `belongs`: of each row of
 * the product. `ret_own` describes what is made. Owned by the caller. */
void *run_block_scales_spread(const struct run_index *index, const jit_gemm_scale *scale,
                              const struct run_matrix *scales, const bool *belongs,
                              void *ordered, struct element_view *ret_own);

/* The scales of D as the product has its rows, of such as the index has spread: `own` and
 * `data` are what the launch wrote, `ordered` is D in order. Those of rows that are dropped
 * are poison. `ret_view` describes what is made. Owned by the caller; NULL after an error,
 * if one was written of a row that no index names. */
void *run_block_scales_gather(const struct run_index *index, const jit_gemm_scale *scale,
                              const struct element_view *own, const void *data,
                              const struct element_view *ordered,
                              struct element_view *ret_view);

/* The scale of the block of row `mn` of A or column of B, and of element `k` along K.
 * `data` is what run_matrix_download gave of `scales`. 1 if the scale is none of blocks. */
double run_block_scale(const jit_gemm_scale *scale, const struct run_matrix *scales,
                       const void *data, int64_t batch, int64_t mn, int64_t k);

#endif
