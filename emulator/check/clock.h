/* SPDX-License-Identifier: MIT */
/*
 * Vector clocks: what has happened before what, and through which proxy it can be seen.
 *
 * An entity is anything whose actions are ordered among themselves: a warp; an mbarrier
 * (its component counts completed phases); an asynchronous engine of a warp (bulk groups,
 * wgmma groups, tcgen05 operations, tensor-memory loads), whose component counts what was
 * issued. A clock holds, for each entity, the last action that is known to have happened.
 */
#ifndef EMU_CHECK_CLOCK_H
#define EMU_CHECK_CLOCK_H

#include "base/base.h"

struct emu_clock {
    uint32_t *at; /* by entity; beyond count everything is 0 */
    uint32_t count;
};

static inline uint32_t emu_clock_get(const struct emu_clock *clock, uint32_t entity)
{
    return entity < clock->count ? clock->at[entity] : 0;
}
/* Raises one component; never lowers it. */
void emu_clock_raise(struct emu_clock *clock, uint32_t entity, uint32_t epoch);
void emu_clock_join(struct emu_clock *clock, const struct emu_clock *other);
void emu_clock_copy(struct emu_clock *clock, const struct emu_clock *other);
void emu_clock_free(struct emu_clock *clock);

/*
 * What a warp (or an operation that it issued) knows.
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
struct emu_knowledge {
    struct emu_clock happened, proxied, fenced, tensor, met;
};
void emu_knowledge_join(struct emu_knowledge *to, const struct emu_knowledge *from);
void emu_knowledge_copy(struct emu_knowledge *to, const struct emu_knowledge *from);
void emu_knowledge_free(struct emu_knowledge *knowledge);

#endif
