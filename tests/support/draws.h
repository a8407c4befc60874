/* SPDX-License-Identifier: MIT */
/* Numbers that are drawn, the same ones in every run. */
#ifndef JG_TESTS_DRAWS_H
#define JG_TESTS_DRAWS_H

#include <stdint.h>

/* From 0 to below - 1, of one stream for the process and one thread (Marsaglia, Xorshift
 * RNGs, 2003: 13, 7, 17). */
static inline uint64_t draw(uint64_t below)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

/* The next 16 bits of a stream of the caller's own (Numerical Recipes' constants). */
static inline uint32_t draw_bits(uint32_t *state)
{
    *state = *state * 1664525U + 1013904223U;
    return *state >> 16;
}

#endif
