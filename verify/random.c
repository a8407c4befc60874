/* SPDX-License-Identifier: MIT */
#include "verify/random.h"

enum { PHILOX_ROUNDS = 10 };

/* PHILOX_M4x32_0 and _1, PHILOX_W32_0 and _1 of Random123's philox.h. */
static const uint32_t multipliers[2] = {UINT32_C(0xD2511F53), UINT32_C(0xCD9E8D57)};
static const uint32_t key_steps[2] = {UINT32_C(0x9E3779B9), UINT32_C(0xBB67AE85)};

void random_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t ret_words[4])
{
    uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]};
    uint32_t k[2] = {key[0], key[1]};
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        const uint64_t first = (uint64_t)multipliers[0] * c[0];
        const uint64_t second = (uint64_t)multipliers[1] * c[2];
        c[0] = (uint32_t)(second >> 32) ^ c[1] ^ k[0];
        c[1] = (uint32_t)second;
        c[2] = (uint32_t)(first >> 32) ^ c[3] ^ k[1];
        c[3] = (uint32_t)first;
        k[0] += key_steps[0];
        k[1] += key_steps[1];
    }
    for (int i = 0; i < 4; i++) {
        ret_words[i] = c[i];
    }
}

double random_uniform(uint32_t seed, uint32_t row, uint32_t col, uint32_t batch)
{
    const uint32_t counter[4] = {col / 4, row, batch, 0};
    const uint32_t key[2] = {seed, 0};
    uint32_t words[4];
    random_philox(counter, key, words);
    return (double)(words[col % 4] >> 8) * 0x1p-24;
}
