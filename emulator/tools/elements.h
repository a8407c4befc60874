/* SPDX-License-Identifier: MIT */
/* Elements of buffers by the names that launch files use. */
#ifndef EMU_TOOLS_ELEMENTS_H
#define EMU_TOOLS_ELEMENTS_H

#include <cuda.h>

#include "numbers/numbers.h"

enum emu_element_kind { EMU_ELEMENT_FLOAT, EMU_ELEMENT_UNSIGNED, EMU_ELEMENT_SIGNED };

struct emu_element_type {
    const char *name;
    unsigned bits; /* 4: two elements per byte, the first one in the low half */
    enum emu_element_kind kind;
    enum emu_format format; /* of floats */
    int map_type;           /* CUtensorMapDataType, or -1: none fits */
};

/* NULL when there is no such type. */
const struct emu_element_type *emu_element_type_find(const char *name);
/* "f32, f16, …" */
void emu_element_types_list(struct emu_text *text);

static inline uint64_t emu_element_bytes(const struct emu_element_type *type,
                                         uint64_t count)
{
    return (count * type->bits + 7) / 8;
}
double emu_element_get(const struct emu_element_type *type, const void *data,
                       uint64_t index);
/* Rounds to nearest; what is too large becomes the largest. */
void emu_element_set(const struct emu_element_type *type, void *data, uint64_t index,
                     double value);

#endif
