/* SPDX-License-Identifier: MIT */
/* What loads, stores and atomics share. */
#ifndef EMU_EXEC_OP_MEMORY_H
#define EMU_EXEC_OP_MEMORY_H

#include "exec/decode.h"
#include "exec/memory.h"

/* Takes the state space; generic when none is written (then false). */
bool emu_take_space(struct emu_decoder *decoder, enum emu_space *ret_space);
/* Takes .weak/.relaxed/.acquire/… and the scope: an order of exec/strong.h, 0 of a weak
 * access. `always`: without a word it is .relaxed. */
uint8_t emu_take_order(struct emu_decoder *decoder, bool always);
/* What a store of one lane does: the memory of another CTA has it later where the launch
 * is timed. */
bool emu_store(const struct emu_actor *actor, enum emu_space space, uint64_t address,
               uint32_t bytes, const void *data);
/* The address by which strong accesses are compared. */
uint64_t emu_strong_address(enum emu_space space, uint64_t address);

#endif
