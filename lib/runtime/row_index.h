/* SPDX-License-Identifier: MIT */
/* What a launch gives where an index names rows of D or A: checked, with the defaults
 * filled in. */
#ifndef JG_RUNTIME_ROW_INDEX_H
#define JG_RUNTIME_ROW_INDEX_H

#include "base/status.h"
#include "jit_gemm/launch.h"
#include "plan/kernel_params.h"
#include "plan/problem.h"
#include "runtime/array.h"

/* ARGUMENT, for a `reserved` that is not zero. */
jit_gemm_status jg_row_index_check_reserved(const jit_gemm_args *args);

/* Fills d_rows, a_rows and how many there are of `params`, whose sizes are set: zeros where
 * rows of D or A lie in order. ARGUMENT, also if anything is given then. `extents`: NULL,
 * or as in struct jg_array. */
jit_gemm_status jg_row_index_resolve(const struct jg_problem *problem,
                                     const jit_gemm_args *args,
                                     struct jg_kernel_params *params,
                                     struct jg_extents *extents);

/* Do A's scales lie as A's rows do, which an index names? */
bool jg_row_index_names_scales(const struct jg_problem *problem);
/* With such a vector goes the index of A's rows (jg/epilogue/indexed_scales.cuh). */
void jg_row_index_join(const struct jg_kernel_params *params,
                       struct jg_matrix_param *scale);

#endif
