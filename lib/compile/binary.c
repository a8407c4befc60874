/* SPDX-License-Identifier: MIT */
#include "compile/binary.h"

#include <stdlib.h>

void jg_binary_copy(const struct jg_binary *binary, struct jg_binary *ret_copy)
{
    *ret_copy = *binary;
    ret_copy->code = (struct jg_str){0};
    jg_str_add(&ret_copy->code, binary->code.data, binary->code.size);
}

void jg_binary_free(struct jg_binary *binary)
{
    jg_str_free(&binary->code);
}

jg_cache_name jg_binary_name(const struct jg_binary *binary)
{
    jg_cache_name name;
    for (size_t i = 0; i < sizeof(name.bytes); i++) {
        const char digits[3] = {binary->key[2 * i], binary->key[2 * i + 1]};
        name.bytes[i] = (unsigned char)strtoul(digits, NULL, 16);
    }
    return name;
}
