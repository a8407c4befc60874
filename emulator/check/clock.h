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
 * array for its own block, the first one that it has learned of. That is nearly always the
 * only one: clusters learn of each other only through global memory. What a clock knows of
 * other blocks is shared with the clocks that it was taken from.
 */
#ifndef EMU_CHECK_CLOCK_H
#define EMU_CHECK_CLOCK_H

#include "base/base.h"

#define EMU_CLOCK_BLOCK  16384u  /* agents */
#define EMU_CLOCK_BLOCKS 262143u /* at most; UINT32_MAX is then no agent */

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
/* Keeps what both have. */
void emu_clock_meet(struct emu_clock *clock, const struct emu_clock *other);
void emu_clock_copy(struct emu_clock *clock, const struct emu_clock *other);
void emu_clock_free(struct emu_clock *clock);

/*
 * The happens-before view of a warp, or of an operation that it issued: what came before.
 *
 * happened: actions that happened before now.
 * proxied, proxied_global: those of them whose generic-proxy accesses to shared and to
 * global memory a proxy fence made visible to the async proxy. fenced: those before a
 * tcgen05.fence::before_thread_sync (or a commit); they count for tcgen05 operations after
 * the next fence::after_thread_sync. tensor: those that a tcgen05 operation issued now is
 * ordered after. met: those that are earlier on hardware, though PTX does not promise it:
 * what the same CTA did before it arrived relaxed at the cluster's barrier (a CTA runs on
 * one multiprocessor), and a load of tensor memory whose registers were read. signalled:
 * those that came before an arrival at another CTA's mbarrier whose scope does not reach
 * that CTA. It hands over no data, but what it tells free may be overwritten: known kernels
 * rely on that.
 */
struct emu_view {
    struct emu_clock happened, proxied, proxied_global, fenced, tensor, met, signalled;
    bool behind_grid; /* comes after all of the grid before: griddepcontrol.wait */
};
void emu_view_join(struct emu_view *to, const struct emu_view *from);
void emu_view_copy(struct emu_view *to, const struct emu_view *from);
void emu_view_free(struct emu_view *view);

#endif
