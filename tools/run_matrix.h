/* SPDX-License-Identifier: MIT */
/* A matrix on the device between two guards. */
#ifndef RUN_MATRIX_H
#define RUN_MATRIX_H

#include "run_groups.h"
#include "verify/elements.h"

/* Zeroed: no matrix. */
struct run_matrix {
    struct element_view view;
    uint64_t base;    /* the allocation: guard, matrix, guard */
    uint64_t address; /* of the matrix: aligned to 256, or no better than promised */
    const struct run_groups
        *groups;          /* of scales of A of one byte, of their rows; or NULL */
    int64_t scale_rows;   /* of scales of one byte: of a batch; in 128x4 without bands, */
    int64_t scale_blocks; /* and blocks of K that they are laid out for */
};

/* Bytes that a matrix of this type is aligned to if the problem promises `promised`: at
 * least an element's; 0 where the promise is what TMA needs. */
uint64_t run_matrix_alignment(jit_gemm_dtype dtype, uint64_t promised);

/* Makes a matrix with guards around it, poisoned, then filled with `data` (as the view
 * says) unless that is NULL; no better aligned than `promised`, if that is not 0. CLI_OK,
 * or the error was printed; free it in either case. */
int run_matrix_create(jit_gemm_context *context, const struct element_view *view,
                      const void *data, uint64_t promised, struct run_matrix *ret_matrix);
void run_matrix_free(jit_gemm_context *context, struct run_matrix *matrix);

/* Fills it with its type's poison; the guards stay. */
jit_gemm_status run_matrix_poison(jit_gemm_context *context,
                                  const struct run_matrix *matrix);
/* The matrix's memory, padding included; owned by the caller. NULL after an error. */
void *run_matrix_download(jit_gemm_context *context, const struct run_matrix *matrix);
/* Which of the matrix's batches has what belongs to batch index or group `batch`: the only
 * one, where groups are stacked. */
int64_t run_matrix_batch(const struct run_matrix *matrix, int64_t batch);
/* CLI_OK if the guards are untouched; else the error, with the matrix's `name`, was
 * printed. */
int run_matrix_check_guards(jit_gemm_context *context, const char *name,
                            const struct run_matrix *matrix);

#endif
