/* SPDX-License-Identifier: MIT */
/*
 * What orders warps through memory: strong accesses (atomics, acquire, release, relaxed and
 * volatile). A release publishes at its address what the warp knows; an acquire that reads
 * what was written there takes it up. A relaxed write publishes what the warp knew at its
 * last release fence, and what a relaxed read saw counts from the next acquire fence. Read
 * and modify keeps what was published before; a plain write replaces it, unless it was the
 * same warp's. Both sides must be within each other's scope.
 */
#ifndef EMU_EXEC_STRONG_H
#define EMU_EXEC_STRONG_H

#include "exec/machine.h"

/* An access's order, as the decoder packs it: a scope (0: weak) and these. */
enum { EMU_ORDER_SCOPE = 3, EMU_ORDER_ACQUIRE = 4, EMU_ORDER_RELEASE = 8 };
static inline enum emu_scope emu_order_scope(unsigned order)
{
    return (enum emu_scope)(order & EMU_ORDER_SCOPE);
}

static inline bool emu_strong_is_shared(uint64_t address)
{
    return (address & EMU_WINDOW_MASK) == EMU_WINDOW_SHARED;
}
/* `address` as emu_strong_address makes it; `order` must be strong. Call them at the
 * access: the read before it, the write behind it. */
void emu_strong_read(struct emu_warp *warp, uint64_t address, unsigned order);
void emu_strong_write(struct emu_warp *warp, uint64_t address, unsigned order, bool modify);
void emu_meetings_free(struct emu_meetings *meetings);

/*
 * A strong access was done that changed nothing, and saw what `seen` is a digest of. In a
 * loop that waits for others the warp should not go on: EMU_YIELDED when it saw the same
 * before, EMU_SPUN when nothing at all has changed in the warp since, so that without
 * others it never ends. `global`: others may be other clusters.
 */
enum emu_step emu_strong_poll(struct emu_warp *warp, const struct emu_insn *insn,
                              uint64_t seen, bool global);

/* ----------------------------------------------------- for fences and relaxed barriers */

/* What was published once may lie at many addresses. */
struct emu_published {
    unsigned users;
    struct emu_view view;
};
/* NULL is as good as nothing published. */
void emu_published_leave(struct emu_published *published);
/* Adds to what lies in *to; shares it where that is possible. */
void emu_published_join(struct emu_published **to, struct emu_published *from);

#endif
