/* SPDX-License-Identifier: MIT */
#include "base/bytes.h"

void jg_bytes_u32(struct jg_str *out, uint32_t value)
{
    char bytes[4];
    for (int i = 0; i < 4; i++) {
        bytes[i] = (char)(unsigned char)(value >> (8 * i));
    }
    jg_str_add(out, bytes, sizeof(bytes));
}

void jg_bytes_u64(struct jg_str *out, uint64_t value)
{
    jg_bytes_u32(out, (uint32_t)value);
    jg_bytes_u32(out, (uint32_t)(value >> 32));
}

void jg_bytes_field(struct jg_str *out, uint32_t tag, const void *data, size_t size)
{
    jg_bytes_u32(out, tag);
    jg_bytes_u64(out, size);
    jg_str_add(out, data, size);
}
