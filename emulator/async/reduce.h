/* SPDX-License-Identifier: MIT */
/* Reductions that copies do on their way, element by element. */
#ifndef EMU_ASYNC_REDUCE_H
#define EMU_ASYNC_REDUCE_H

#include "exec/decode.h"

enum emu_reduce_op {
    EMU_REDUCE_NONE, /* a plain copy */
    EMU_REDUCE_ADD,
    EMU_REDUCE_MIN,
    EMU_REDUCE_MAX,
    EMU_REDUCE_INC,
    EMU_REDUCE_DEC,
    EMU_REDUCE_AND,
    EMU_REDUCE_OR,
    EMU_REDUCE_XOR
};

struct emu_reduce {
    enum emu_reduce_op op;
    enum ptx_type type;
};

/* Takes the word of the operation. */
bool emu_take_reduce_op(struct emu_decoder *decoder, enum emu_reduce_op *ret_op);
/* The combinations that the PTX ISA lists for a destination in global or shared memory. */
bool emu_reduce_is_legal(const struct emu_reduce *reduce, bool to_global);
/* to[i] = op(to[i], from[i]); `bytes` is a multiple of the element. Undefined where one of
 * them is. */
void emu_reduce_bytes(const struct emu_reduce *reduce, uint32_t bytes, const uint8_t *from,
                      const uint8_t *from_defined, uint8_t *to, uint8_t *to_defined);

#endif
