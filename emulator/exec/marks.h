/* SPDX-License-Identifier: MIT */
/*
 * Which clusters read and wrote each byte of device memory during a launch. It finds those
 * that meet although nothing can order them, in whatever order they ran: clusters of a
 * grid that share no lock and no counter, and grids of which the later one has not waited
 * for the earlier one. Clusters that can be ordered are watched by a shadow instead.
 */
#ifndef EMU_EXEC_MARKS_H
#define EMU_EXEC_MARKS_H

#include "exec/memory.h"

/* Notes a legal access; false: it was reported as a race. Thread-safe; of two accesses at
 * the same moment the race may go unseen. */
bool emu_marks_note(const struct emu_actor *actor, struct emu_allocation *allocation,
                    uint64_t offset, uint32_t bytes, bool write);

#endif
