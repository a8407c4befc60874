/* SPDX-License-Identifier: MIT */
/* XXH3-128 in canonical (big-endian) form. It names things; it is no proof of anything. */
#ifndef JG_BASE_HASH_H
#define JG_BASE_HASH_H

#include <stdbool.h>

#include "base/status.h"

struct jg_hash {
    unsigned char bytes[16];
};

struct jg_hash jg_hash_bytes(const void *data, size_t size);
/* 32 lower-case hexadecimal digits and a zero byte. */
void jg_hash_hex(const struct jg_hash *hash, char ret_hex[33]);
bool jg_hash_equal(const struct jg_hash *a, const struct jg_hash *b);

#endif
