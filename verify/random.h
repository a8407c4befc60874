/* SPDX-License-Identifier: MIT */
/* The random numbers of snippets, as docs/epilogues.md defines them. Shares nothing with
 * the device's code. */
#ifndef VERIFY_RANDOM_H
#define VERIFY_RANDOM_H

#include <stdint.h>

/* Philox4x32-10 of Salmon et al. (2011), as their Random123 has it. */
void random_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t ret_words[4]);

/* `uniform(seed)` at a place of D; `seed` is the 32 bits of the float. */
double random_uniform(uint32_t seed, uint32_t row, uint32_t col, uint32_t batch);

#endif
