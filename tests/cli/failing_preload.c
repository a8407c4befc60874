/* SPDX-License-Identifier: MIT */
/*
 * The tool's allocations, of which one fails: the one of number
 * JIT_GEMM_TEST_FAILING_MALLOC, from 1 where the program begins. Preloaded; at the end it
 * writes to standard error how many there were, where JIT_GEMM_TEST_COUNT_MALLOC is set.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "failing_allocations.h"

static atomic_long seen;
static long failing; /* 0: none */
static bool is_on;

__attribute__((constructor)) static void begin(void)
{
    const char *number = getenv("JIT_GEMM_TEST_FAILING_MALLOC");
    failing = number != NULL ? strtol(number, NULL, 10) : 0;
    is_on = true;
}

__attribute__((destructor)) static void end(void)
{
    is_on = false;
    if (getenv("JIT_GEMM_TEST_COUNT_MALLOC") != NULL) {
        fprintf(stderr, "%ld allocations\n", atomic_load(&seen));
    }
}

static bool strikes(void)
{
    return is_on && atomic_fetch_add(&seen, 1) + 1 == failing;
}
