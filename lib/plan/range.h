/* SPDX-License-Identifier: MIT */
/* The sizes that a dynamic dimension takes: checked, and as text. Pure. */
#ifndef JG_PLAN_RANGE_H
#define JG_PLAN_RANGE_H

#include <stdbool.h>

#include "base/str.h"
#include "plan/problem_text.h"

/* One that is checked. */
struct jg_range {
    enum jg_dim_index index;
    int64_t first, last;
    double loss; /* from 0 */
};

/* The range of a problem as it is after normalisation. ARGUMENT, VERSION; the error names
 * the field as "range.first" and so on. */
jit_gemm_status jg_range_check(const jit_gemm_range *user, const struct jg_problem *problem,
                               struct jg_range *ret_range);

/* The name of its dimension, such as "m". Static. */
const char *jg_range_name(const struct jg_range *range);
/* The dimension of a canonical problem. */
jit_gemm_dim *jg_range_dim(const struct jg_range *range, struct jg_problem *problem);

/* The text form of the public struct. ARGUMENT. */
jit_gemm_status jg_range_parse(const char *text, jit_gemm_range *ret_range);
void jg_range_print(const struct jg_range *range, struct jg_str *out);

/*
 * A problem's text that may have a range in a size's place, and a loss: both are taken out
 * of it in place, which leaves the greatest size; columns stay as they are. *ret_has_range
 * says whether there was one. ARGUMENT.
 */
jit_gemm_status jg_range_take(char *text, jit_gemm_range *ret_range, bool *ret_has_range);

#endif
