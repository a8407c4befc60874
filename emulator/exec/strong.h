/* SPDX-License-Identifier: MIT */
/* Strong accesses of a kernel (check/sync_table.h): what they order, and when a loop of
 * them waits for others. */
#ifndef EMU_EXEC_STRONG_H
#define EMU_EXEC_STRONG_H

#include "check/sync_table.h"
#include "exec/machine.h"

static inline bool emu_strong_is_shared(uint64_t address)
{
    return (address & EMU_WINDOW_MASK) == EMU_WINDOW_SHARED;
}
/* `address` as emu_strong_address makes it; `order` must be strong. Call them at the
 * access: the read before it, the write behind it. */
void emu_strong_read(struct emu_warp *warp, uint64_t address, unsigned order);
void emu_strong_write(struct emu_warp *warp, unsigned lane, uint64_t address,
                      unsigned order, bool modify);

/*
 * A strong access changed nothing; `seen` is a digest of what it saw. In a loop that waits
 * for others the warp should not go on: EMU_YIELDED when it saw the same before, EMU_SPUN
 * when nothing at all has changed in the warp since, so that the loop never ends without
 * others. `global`: others may be other clusters.
 */
enum emu_step emu_strong_poll(struct emu_warp *warp, const struct emu_insn *insn,
                              uint64_t seen, bool global);

#endif
