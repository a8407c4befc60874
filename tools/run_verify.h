/* SPDX-License-Identifier: MIT */
/* The proof of a launch: its results beside those of the reference kernel. */
#ifndef RUN_VERIFY_H
#define RUN_VERIFY_H

#include <stdbool.h>

#include "run_interpret.h"

struct run_verdict {
    double rel_error; /* largest of all results; NAN before a comparison */
    bool is_wrong;    /* something differs by more than its bound */
    struct run_interpretation interpretation; /* zeroed without a snippet */
};

/*
 * Makes the same results with the reference kernel, which sums in f64 and keeps f32 or s32,
 * and compares D and every output operand: one line per matrix on standard output unless
 * `is_quiet`, an error line for each wrong one. On an emulated device the host makes the
 * sums, which are the results where there is no snippet. A snippet that can be interpreted
 * is, and the reference compared with that. CLI_OK if all were compared, or the error was
 * printed.
 */
int run_verify(const struct run_launch *launch, const struct cli_problem *problem,
               bool is_quiet, bool verbose, struct run_verdict *verdict);

#endif
