/* SPDX-License-Identifier: MIT */
/* Numbers in files: little-endian. */
#ifndef JG_CACHE_BYTES_H
#define JG_CACHE_BYTES_H

#include <stdint.h>

static inline void store_u32(unsigned char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        at[i] = (unsigned char)(value >> (8 * i));
    }
}

static inline void store_u64(unsigned char *at, uint64_t value)
{
    for (int i = 0; i < 8; i++) {
        at[i] = (unsigned char)(value >> (8 * i));
    }
}

static inline uint32_t load_u32(const unsigned char *at)
{
    uint32_t value = 0;
    for (int i = 3; i >= 0; i--) {
        value = value << 8 | at[i];
    }
    return value;
}

static inline uint64_t load_u64(const unsigned char *at)
{
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--) {
        value = value << 8 | at[i];
    }
    return value;
}

#endif
