/* SPDX-License-Identifier: MIT */
/* How the matrices and operands of one run lie in memory. */
#ifndef RUN_VIEWS_H
#define RUN_VIEWS_H

#include "run_inputs.h"

/* Of a matrix with rows of D: those of all groups, if they are stacked, make one. */
int64_t run_row_batch(const struct run_inputs *inputs);
bool run_is_by_pointers(const jit_gemm_problem *p);

/* As D lies in memory, and C and matrix operands with it. */
int64_t run_rows_of_d(const jit_gemm_problem *p, const struct run_inputs *inputs);
int64_t run_columns_of_d(const jit_gemm_problem *p, const struct run_inputs *inputs);

/* A view of `rows` x `columns`; `ld` 0 means padded to the promised alignment and no
 * better. An `ld` that is too small is a usage error, which is printed with `name`. */
int run_view_make(const char *name, jit_gemm_dtype dtype, int64_t batch, int64_t rows,
                  int64_t columns, int64_t ld, uint64_t promised,
                  struct element_view *ret_view);

/* The view of an operand, of which a reduction has what the kernel stores. */
int run_view_operand(const jit_gemm_problem *p, const jit_gemm_operand *operand,
                     const struct run_inputs *inputs, struct element_view *ret_view);

/* Does the operand hold a value for each element? Matrices do, and for the reference kernel
 * what others reduce, in f32. */
bool run_holds_elements(const jit_gemm_problem *p, const jit_gemm_operand *operand);
/* Columns of D in a block, of a kind that has a value for each; else 0. */
int64_t run_block_columns(jit_gemm_operand_kind kind);
/* Does the kernel fold what the snippet assigns to it? */
bool run_reduces(const jit_gemm_operand *operand);

#endif
