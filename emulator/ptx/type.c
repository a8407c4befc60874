/* SPDX-License-Identifier: MIT */
/* The types of PTX: their words and sizes. */
#include <string.h>

#include "ptx/internal.h"

static const struct {
    const char *word;
    unsigned bytes;
} types[PTX_TYPE_COUNT] = {
    [PTX_PRED] = {"pred", 1},   [PTX_B8] = {"b8", 1},     [PTX_B16] = {"b16", 2},
    [PTX_B32] = {"b32", 4},     [PTX_B64] = {"b64", 8},   [PTX_B128] = {"b128", 16},
    [PTX_U8] = {"u8", 1},       [PTX_U16] = {"u16", 2},   [PTX_U32] = {"u32", 4},
    [PTX_U64] = {"u64", 8},     [PTX_S8] = {"s8", 1},     [PTX_S16] = {"s16", 2},
    [PTX_S32] = {"s32", 4},     [PTX_S64] = {"s64", 8},   [PTX_F16] = {"f16", 2},
    [PTX_F16X2] = {"f16x2", 4}, [PTX_BF16] = {"bf16", 2}, [PTX_BF16X2] = {"bf16x2", 4},
    [PTX_F32] = {"f32", 4},     [PTX_F64] = {"f64", 8},
};

unsigned ptx_type_bytes(enum ptx_type type)
{
    return types[type].bytes;
}

const char *ptx_type_word(enum ptx_type type)
{
    return types[type].word;
}

bool ptx_type_of(const char *word, enum ptx_type *ret_type)
{
    for (unsigned i = 0; i < PTX_TYPE_COUNT; i++) {
        if (strcmp(word, types[i].word) == 0) {
            *ret_type = (enum ptx_type)i;
            return true;
        }
    }
    return false;
}
