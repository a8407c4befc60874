/* SPDX-License-Identifier: MIT */
#include "test_fatbin.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

enum { HEADER_BYTES = 16, ENTRY_BYTES = 64 };

static void put(struct fatbin *fatbin, uint64_t value, unsigned bytes)
{
    cr_assert_leq(fatbin->used + bytes, sizeof(fatbin->bytes));
    memcpy(fatbin->bytes + fatbin->used, &value, bytes);
    fatbin->used += bytes;
}

void fatbin_add_bytes(struct fatbin *fatbin, unsigned kind, unsigned flags,
                      const void *code, size_t bytes, size_t full_bytes)
{
    const bool is_compressed = full_bytes != 0;
    const size_t padded = (bytes + 8) / 8 * 8;
    if (fatbin->used == 0) {
        put(fatbin, 0xBA55ED50, 4);
        put(fatbin, 1, 2);
        put(fatbin, HEADER_BYTES, 2);
        put(fatbin, 0, 8);
    }
    put(fatbin, kind | 0x01010000, 4);
    put(fatbin, ENTRY_BYTES, 4);
    put(fatbin, padded, 8);
    put(fatbin, is_compressed ? bytes : 0, 8);
    put(fatbin, UINT64_C(90) << 32 | 9 << 16, 8); /* PTX 9.0, sm_90 */
    put(fatbin, 0, 8);
    put(fatbin, 0x11 | flags, 8);
    put(fatbin, 0, 8);
    put(fatbin, full_bytes, 8);
    for (size_t i = 0; i < padded; i++) {
        put(fatbin, i < bytes ? ((const unsigned char *)code)[i] : 0, 1);
    }
    const uint64_t all = fatbin->used - HEADER_BYTES;
    memcpy(fatbin->bytes + 8, &all, 8);
}

void fatbin_add(struct fatbin *fatbin, unsigned kind, unsigned flags, const char *code)
{
    fatbin_add_bytes(fatbin, kind, flags, code, strlen(code), 0);
}

struct fatbin_wrapper fatbin_wrap(const struct fatbin *fatbin)
{
    return (struct fatbin_wrapper){0x466243B1, 1, fatbin->bytes, NULL};
}
