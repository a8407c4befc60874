/* SPDX-License-Identifier: MIT */
/* Rows of a matrix that are found by an index: names, and what a problem with it may be. */
#ifndef JG_PLAN_ROWS_H
#define JG_PLAN_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "jit_gemm/problem.h"
#include "plan/trial.h"

/* "in_order", "indexed". */
const char *jg_rows_name(jit_gemm_rows rows);
/* False if it is no name of how rows lie. */
bool jg_rows_parse(const char *text, size_t size, jit_gemm_rows *ret_rows);

/* ARGUMENT, with the field: of the caller's problem by itself. */
jit_gemm_status jg_rows_check_fields(const jit_gemm_problem *problem);
/* UNSUPPORTED, with the field: what no kernel does where an index names rows. */
jit_gemm_status jg_rows_check_kernel(const jit_gemm_problem *problem);

/* Rows of A that a CTA loads for a block of K, where copies of TMA bring those that an
 * index names; else 0. */
int jg_count_copied(const struct jg_trial *trial);

/* Before the chip looks at a trial: may TMA copy A's rows where it is asked to? Notes the
 * reason if not. */
bool jg_row_boxes_check(struct jg_trial *trial);
/* When the chip has derived the rest of it: sets the box, of a copy that brings so many
 * rows. Notes the reason if a CTA has no whole number of copies. */
bool jg_row_boxes_complete(struct jg_trial *trial, int copied_rows);

#endif
