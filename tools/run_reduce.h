/* SPDX-License-Identifier: MIT */
/* What reductions of groups of rows come to, on the host. */
#ifndef RUN_REDUCE_H
#define RUN_REDUCE_H

#include <stdbool.h>

#include "run_groups.h"
#include "verify/reduce.h"

/* Folds what each element of D contributes (`elements`, stacked or a matrix per group)
 * group by group, to packed f32 results of the batches, rows and columns of `out`: of a
 * group without rows what nothing comes to. Results of rows that belong to no group are
 * still poison in `out_data`, or there is an error about `name` and false; they are made 0
 * in both. `*ret_magnitude` as of reduce_elements. */
bool run_reduce_groups(const struct run_groups *groups, const char *name,
                       const struct reduction *reduction,
                       const struct element_view *elements, const void *data,
                       const struct element_view *out, void *out_data, float *results,
                       double *ret_magnitude);

#endif
