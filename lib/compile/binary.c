/* SPDX-License-Identifier: MIT */
#include "compile/binary.h"

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
