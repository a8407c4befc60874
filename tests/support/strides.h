/* SPDX-License-Identifier: MIT */
/* How much of its lists a test goes through. */
#ifndef JG_TESTS_STRIDES_H
#define JG_TESTS_STRIDES_H

#include <stdio.h>
#include <stdlib.h>

/* Every how many entries of a list are taken: JIT_GEMM_TEST_EVERY, or `usual`. */
static inline int test_stride(int usual)
{
    const char *every = getenv("JIT_GEMM_TEST_EVERY");
    const int stride = every != NULL ? atoi(every) : usual;
    if (stride <= 0) {
        fprintf(stderr, "JIT_GEMM_TEST_EVERY=%s is no number of entries\n", every);
        abort();
    }
    return stride;
}

#endif
