/* SPDX-License-Identifier: MIT */
/*
 * What orders warps through memory: strong accesses (atomics, acquire, release, relaxed and
 * volatile). A strong write publishes what the warp knows at the address, a strong read
 * takes it up; relaxed ones count too, because a fence beside them makes them so, and a
 * false report would cost more than a missed one.
 */
#ifndef EMU_EXEC_STRONG_H
#define EMU_EXEC_STRONG_H

#include "exec/machine.h"

/* `address` is unique over spaces: shared addresses carry their window. */
void emu_strong_publish(struct emu_warp *warp, uint64_t address);
void emu_strong_observe(struct emu_warp *warp, uint64_t address);
void emu_strong_free(struct emu_cluster *cluster);

#endif
