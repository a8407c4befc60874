/* SPDX-License-Identifier: MIT */
/* The reference of `run --verify` beside the second reading of the snippet: the reference
 * kernel includes the same snippet and prelude as the kernel that it judges. */
#ifndef RUN_INTERPRET_H
#define RUN_INTERPRET_H

#include <stdbool.h>

#include "run_launch.h"
#include "verify/snippet.h"

struct run_interpretation {
    uint64_t elements;                /* that were interpreted and compared */
    uint64_t wrong;                   /* of these */
    char reason[SNIPPET_REASON_SIZE]; /* why none or not all of them were, or empty */
};

/*
 * Interprets the snippet at some hundred elements of D and compares each of its results
 * with those of the reference, which are f32 or s32: an error line for the first that
 * differs. `launch` has the inputs and factors, `reference` the results. CLI_OK if it was
 * done or cannot be, or the error was printed.
 */
int run_interpret(const struct run_launch *launch, const struct cli_problem *problem,
                  const struct run_results *reference,
                  struct run_interpretation *ret_interpretation);

/*
 * What the epilogue of the kernel itself may make of sums, by the errors that are
 * documented for results of its types (verify/compare.h: struct compare_range). `sums` has
 * `acc` of each element, of a pair each column of B, laid out as D; it is borrowed, as the
 * rest. Each may be off by `sum_error` of their root mean square: a steep snippet makes
 * more of that than results are. NULL, with CLI_OK, where the snippet cannot be
 * interpreted.
 */
struct run_range;
int run_range_create(const struct run_launch *launch, const struct cli_problem *problem,
                     const struct run_matrix *sums, double sum_error,
                     struct run_range **ret_range);
/* Sets the pointer to NULL. Accepts NULL. */
void run_range_free(struct run_range **range);
/* `result`: the number of an output operand, the count of operands for D. False where
 * nothing finite is known. */
bool run_range_find(const struct run_range *range, size_t result, int64_t batch,
                    int64_t row, int64_t column, double *ret_low, double *ret_high);

#endif
