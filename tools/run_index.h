/* SPDX-License-Identifier: MIT */
/* The index that names rows of D or A, where a problem has one: drawn, followed, undone. */
#ifndef RUN_INDEX_H
#define RUN_INDEX_H

#include <stdbool.h>

#include "cli.h"
#include "verify/elements.h"

/* Zeroed: rows lie in order. */
struct run_index {
    int32_t *rows;    /* for each row of the product one of the matrix, or none */
    int64_t count;    /* rows of the product, of all batches or groups */
    int64_t own_rows; /* of the matrix, more than are named */
};

/* Draws an index of `count` rows: each names a row of its own, or none. */
void run_index_draw(int64_t count, uint64_t seed, struct run_index *ret_index);
void run_index_free(struct run_index *index);
/* Is it a row of the matrix? */
bool run_index_has(const struct run_index *index, int32_t row);

/* D as the product has it, of rows that the index has spread: `data` and `d` are what the
 * launch wrote, `view` is D in order, with the leading dimension of `d`. Rows that are
 * dropped become `dropped`, as `view` without padding has them: those of the reference.
 * Owned by the caller; NULL after an error, if a row was written that no index names. */
void *run_index_gather(const struct run_index *index, const struct element_view *d,
                       const void *data, const struct element_view *view,
                       const struct element_view *dropped_view, const void *dropped);

/* A as the launch gets it, in poison: rows of `ordered`, which `view` describes, where the
 * index says, with its leading dimension. Some rows of the product get the index of the one
 * before, and its values in `ordered`, and those whose index is none get zeros; rows that
 * do not belong to a group are left out. Owned by the caller. */
void *run_index_spread(struct run_index *index, const struct element_view *view,
                       const bool *belongs, void *ordered);

/* The same of scales that rows of A have, when A has been spread: those of a row lie
 * side by side, or with `by_columns` a row apart. `ret_own` describes what is
 * made. Owned by the caller. */
void *run_index_spread_scales(const struct run_index *index,
                              const struct element_view *view, bool by_columns,
                              const bool *belongs, void *ordered,
                              struct element_view *ret_own);

#endif
