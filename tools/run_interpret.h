/* SPDX-License-Identifier: MIT */
/* The reference of `run --verify` beside the second reading of the snippet: the reference
 * kernel includes the same snippet and prelude as the kernel that it judges. */
#ifndef RUN_INTERPRET_H
#define RUN_INTERPRET_H

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

#endif
