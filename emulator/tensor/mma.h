/* SPDX-License-Identifier: MIT */
/* One tcgen05.mma, from its issue to its effect. */
#ifndef EMU_TENSOR_MMA_H
#define EMU_TENSOR_MMA_H

#include "tensor/engine.h"
#include "tensor/instruction.h"

/* The payload of its operation. */
struct emu_mma_task {
    struct emu_instruction instruction;
    unsigned cta_count;             /* 1, or 2 for a pair */
    unsigned factors;               /* scale factors per row; 0: not block-scaled */
    uint32_t d, a_scales, b_scales; /* tensor-memory addresses */
    bool a_in_tensor_memory;
    uint32_t a_address;   /* in tensor memory, or */
    struct emu_tile a, b; /* the rows that each CTA holds in shared memory */
    bool accumulate;
    unsigned scale_input; /* D is multiplied by 2^-scale_input first */
    bool any_disabled;
    uint32_t disabled[8]; /* lanes of D that are not written, by CTA */
};

/* Columns of tensor memory that D takes. */
unsigned emu_mma_count_columns(unsigned cta_group, unsigned m, unsigned n);

/* Reads operands, multiplies, writes D. */
bool emu_mma_run(struct emu_tensor_op *op);

#endif
