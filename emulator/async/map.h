/* SPDX-License-Identifier: MIT */
/*
 * Tensor maps (CUtensorMap): 128 bytes in an encoding of the emulator's own, with a check
 * sum. The descriptors that a kernel has read or changed are remembered, so that the use of
 * a stale one is found.
 */
#ifndef EMU_ASYNC_MAP_H
#define EMU_ASYNC_MAP_H

#include "async/operand.h"
#include "async/tensor_map.h"
#include "exec/async.h"

/* The bytes of a map in global memory, which an operation was issued with. */
struct emu_map_hold {
    uint64_t address; /* 0: a parameter, which nobody can change */
    uint64_t mark;    /* hash of the bytes */
};

/*
 * Reads the tensor map at a lane's address, as the TMA unit would: it must be whole, legal,
 * and not have been changed since this CTA read it, nor by an instruction of whatever
 * kernel, unless a fence of this CTA stands between. False: reported.
 */
bool emu_map_fetch(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                   const struct emu_address *operand, struct emu_tensor_map *ret_map,
                   struct emu_map_hold *ret_hold);
/* Are they still there, where the operation takes effect? False: reported. */
bool emu_map_is_held(const struct emu_async *async, const struct emu_map_hold *hold);
/* fence.proxy.tensormap::generic.acquire of the map at a global address. */
void emu_map_acquire(struct emu_cta *cta, uint64_t address);
/* An instruction of this CTA changed the map there. */
void emu_map_changed(struct emu_cta *cta, uint64_t address);

#endif
