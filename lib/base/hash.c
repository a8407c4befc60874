/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <string.h>
#include <xxhash.h>

struct jg_hash jg_hash_bytes(const void *data, size_t size)
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, size));
    struct jg_hash hash;
    memcpy(hash.bytes, canonical.digest, sizeof(hash.bytes));
    return hash;
}

void jg_hash_hex(const struct jg_hash *hash, char ret_hex[33])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < sizeof(hash->bytes); i++) {
        ret_hex[2 * i] = digits[hash->bytes[i] >> 4];
        ret_hex[2 * i + 1] = digits[hash->bytes[i] & 15];
    }
    ret_hex[32] = '\0';
}

bool jg_hash_equal(const struct jg_hash *a, const struct jg_hash *b)
{
    return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}
