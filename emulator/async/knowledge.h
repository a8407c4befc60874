/* SPDX-License-Identifier: MIT */
/*
 * Knowledge that fences hand on: a relaxed signal behind a release fence publishes what the
 * warp knew at the fence, and what a relaxed wait saw counts from the next acquire fence.
 * The plain release and acquire, and the relaxed wait, are in exec/families.h.
 */
#ifndef EMU_ASYNC_KNOWLEDGE_H
#define EMU_ASYNC_KNOWLEDGE_H

#include "exec/machine.h"

bool emu_know_races(const struct emu_cta *cta);

/* A fence of the given halves. */
void emu_know_fence(struct emu_warp *warp, enum emu_scope scope, bool release,
                    bool acquire);
/* What a relaxed signal of that scope publishes. */
void emu_know_release_relaxed(struct emu_warp *warp, enum emu_scope scope,
                              struct emu_view *published);
/* A relaxed arrival at the barrier of the cluster, and the wait: see `met` in
 * check/clock.h. */
void emu_know_leave(struct emu_warp *warp, struct emu_clock *left,
                    struct emu_clock *inits_left);
void emu_know_meet(struct emu_warp *warp, const struct emu_clock *left);
/* The warp made mbarrier `agent`; others may know of it from here on, or, by a relaxed
 * signal, from the next fence.mbarrier_init on. */
void emu_know_init(struct emu_warp *warp, uint32_t agent, uint32_t epoch);
void emu_know_init_fence(struct emu_warp *warp);

#endif
