/* SPDX-License-Identifier: MIT */
/*
 * Vector clocks: what has happened before what, and through which proxy it can be seen.
 *
 * An agent is anything whose actions are ordered among themselves: a warp; an mbarrier
 * (its component counts completed phases); an asynchronous engine of a warp (bulk groups,
 * wgmma groups, tcgen05 operations, tensor-memory loads), whose component counts what was
 * issued. A clock holds, for each agent, the last action that is known to have happened.
 *
 * Agents are numbered in blocks; a cluster takes one block, rarely more. A clock is an
 * array for the block that it heard of first, which is nearly always the only one: clusters
 * know of each other only where they meet in global memory. What it knows of other blocks
 * is shared with the clocks that it learned it from.
 */
#ifndef EMU_CHECK_CLOCK_H
#define EMU_CHECK_CLOCK_H

#include "base/base.h"

#define EMU_CLOCK_BLOCK  16384u  /* agents */
#define EMU_CLOCK_BLOCKS 262143u /* so that UINT32_MAX is no agent */

/* What is known of a block that is not the clock's own; not changed while it is shared. The
 * clocks that share it belong to one grid, which one thread steps. */
struct emu_clock_part {
    unsigned users;
    uint32_t first; /* agent of the block */
    uint32_t count;
    uint32_t at[];
};

struct emu_clock {
    uint32_t *at;   /* by agent - first; beyond count everything is 0 */
    uint32_t first; /* agent of its own block, chosen when count grows from 0 */
    uint32_t count;
    uint32_t part_count;
    struct emu_clock_part **parts; /* of other blocks, by their first agent */
};

uint32_t emu_clock_get_part(const struct emu_clock *clock, uint32_t agent);
static inline uint32_t emu_clock_get(const struct emu_clock *clock, uint32_t agent)
{
    uint32_t index = agent - clock->first;
    if (index < clock->count) {
        return clock->at[index];
    }
    return clock->part_count == 0 ? 0 : emu_clock_get_part(clock, agent);
}
/* Raises one component; never lowers it. */
void emu_clock_raise(struct emu_clock *clock, uint32_t agent, uint32_t epoch);
void emu_clock_join(struct emu_clock *clock, const struct emu_clock *other);
/* Keeps what both know. */
void emu_clock_meet(struct emu_clock *clock, const struct emu_clock *other);
void emu_clock_copy(struct emu_clock *clock, const struct emu_clock *other);
void emu_clock_free(struct emu_clock *clock);

/*
 * The happens-before view of a warp, or of an operation that it issued: what came before.
 *
 * happened: actions that happened before now.
 * proxied: those of them whose generic-proxy accesses a proxy fence made visible to the
 *     async proxy.
 * fenced: those that a tcgen05.fence::before_thread_sync (or a commit) closed on the way
 *     here: offered, in force after fence::after_thread_sync.
 * tensor: those that a tcgen05 operation issued now is ordered after.
 * met: those that come first in practice, though PTX does not promise it: what the same CTA
 *     left behind at a barrier of the cluster where it arrived relaxed (a CTA is one
 *     multiprocessor); a load of tensor memory whose registers were read.
 */
struct emu_view {
    struct emu_clock happened, proxied, fenced, tensor, met;
};
void emu_view_join(struct emu_view *to, const struct emu_view *from);
void emu_view_copy(struct emu_view *to, const struct emu_view *from);
void emu_view_free(struct emu_view *view);

#endif
