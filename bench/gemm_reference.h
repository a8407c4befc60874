/* SPDX-License-Identifier: MIT */
/* The reference kernel beside those that are timed, where a rival may be missing: problems
 * with scales of a byte. */
#ifndef BENCH_GEMM_REFERENCE_H
#define BENCH_GEMM_REFERENCE_H

#include "gemm_match.h"

/*
 * Fails where the first contender's D of the first set is not what the reference kernel
 * computes; the others are compared with that contender. Nothing is done without scales of
 * a byte. What a kernel writes besides D, rows by an index and groups by pointers are not
 * compared, and the first entry's note says so.
 */
int gemm_reference_compare(struct match *match, const jit_gemm_problem *problem);

#endif
