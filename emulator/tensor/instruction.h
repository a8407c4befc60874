/* SPDX-License-Identifier: MIT */
/* The 32-bit instruction descriptor of tcgen05.mma. */
#ifndef EMU_TENSOR_INSTRUCTION_H
#define EMU_TENSOR_INSTRUCTION_H

#include "numbers/numbers.h"
#include "tensor/descriptor.h"

enum emu_mma_kind {
    EMU_KIND_F16,
    EMU_KIND_TF32,
    EMU_KIND_F8F6F4,
    EMU_KIND_I8,
    EMU_KIND_MXF8F6F4,
    EMU_KIND_MXF4,
    EMU_KIND_MXF4NVF4,
    EMU_KIND_COUNT
};
/* "f16", …: what follows kind::. */
extern const char *const emu_mma_kind_words[EMU_KIND_COUNT];

static inline bool emu_kind_is_scaled(enum emu_mma_kind kind)
{
    return kind >= EMU_KIND_MXF8F6F4;
}

/* What the opcode and its descriptor say together. */
struct emu_instruction {
    enum emu_mma_kind kind;
    unsigned m, n, k; /* m and n of the whole instruction, over both CTAs of a pair */
    enum emu_format a, b, d;
    enum emu_packing a_packing, b_packing; /* in shared memory */
    bool a_mn_major, b_mn_major;
    bool negate_a, negate_b, saturate;
    enum emu_format scale;
    unsigned a_scale_id, b_scale_id; /* byte of the tensor-memory cell */
};

/*
 * `cta_group` 1 or 2; `factors`: scale factors per row (1, 2 or 4), 0 when not scaled.
 * False, and an error that names the field, when something is not legal.
 */
bool emu_instruction_decode(enum emu_mma_kind kind, unsigned cta_group, unsigned factors,
                            uint32_t bits, struct emu_instruction *ret_instruction,
                            struct emu_error *error);

#endif
