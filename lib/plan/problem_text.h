/* SPDX-License-Identifier: MIT */
/* Shared by the files of the problem: its checks (problem.c, problem_fields.c) and its text
 * form (problem_text.c, which defines jg_problem_parse, and problem_print.c, which defines
 * jg_problem_print and jg_problem_text). */
#ifndef JG_PLAN_PROBLEM_TEXT_H
#define JG_PLAN_PROBLEM_TEXT_H

#include "plan/problem.h"

#define JG_MAX_SIZE ((INT64_C(1) << 31) - 1) /* elements of one dimension */

enum jg_dim_index { JG_DIM_M, JG_DIM_N, JG_DIM_K, JG_DIM_BATCH, JG_DIM_COUNT };

/* What to give for a dimension. Static. */
const char *jg_dim_hint(enum jg_dim_index index);
jit_gemm_dim *jg_problem_dim(jit_gemm_problem *problem, enum jg_dim_index index);

enum jg_matrix_index {
    JG_MATRIX_A,
    JG_MATRIX_B,
    JG_MATRIX_C,
    JG_MATRIX_D,
    JG_MATRIX_COUNT
};

jit_gemm_matrix *jg_problem_matrix(jit_gemm_problem *problem, enum jg_matrix_index index);

/* Ranges and enumerations of every field, then the defaults: batch 1, B's type A's, D's by
 * A's, C laid out as D, types of scales, and the lesser alignment in both matrices that
 * share it. The config text and the existence of the epilogue are not checked. ARGUMENT,
 * UNSUPPORTED. */
jit_gemm_status jg_problem_check_fields(jit_gemm_problem *problem);

#endif
