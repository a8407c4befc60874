/* SPDX-License-Identifier: MIT */
/*
 * Predicates as sources: insn->src[k] is a predicate, or EMU_NO_PREDICATE for the constant
 * false; bit k of insn->mode2 negates it.
 */
#ifndef EMU_EXEC_OP_PREDICATE_H
#define EMU_EXEC_OP_PREDICATE_H

#include "exec/decode.h"

static inline uint32_t emu_predicate_read(const struct emu_warp *warp,
                                          const struct emu_insn *insn, unsigned index)
{
    const uint32_t predicate = insn->src[index];
    const uint32_t values = predicate == EMU_NO_PREDICATE ? 0 : warp->p[predicate];
    return (insn->mode2 >> index & 1) != 0 ? ~values : values;
}

static inline uint32_t emu_predicate_undefined(const struct emu_warp *warp,
                                               const struct emu_insn *insn, unsigned index)
{
    const uint32_t predicate = insn->src[index];
    return predicate == EMU_NO_PREDICATE ? 0 : warp->p_undefined[predicate];
}

/* and, or, xor, not and mov of type .pred, which was taken. */
bool emu_predicate_decode(struct emu_decoder *decoder);

#endif
