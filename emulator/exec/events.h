/* SPDX-License-Identifier: MIT */
/* What others may wait for: those who tell of it, and whom the scheduler asks again. */
#ifndef EMU_EXEC_EVENTS_H
#define EMU_EXEC_EVENTS_H

#include "exec/machine.h"

/* Something for which warps of the CTA may wait. */
static inline void emu_end_lull(struct emu_cta *cta)
{
    cta->lull++;
    cta->cluster->waiting_warps -= cta->waiting_warps;
    cta->waiting_warps = 0;
}

/* A change that other warps may wait for. */
static inline void emu_note_event(struct emu_warp *warp)
{
    struct emu_cluster *cluster = warp->cta->cluster;
    cluster->events++;
    for (unsigned i = 0; i < cluster->cta_count; i++) {
        emu_end_lull(&cluster->ctas[i]);
    }
}

/* A change in memory, or one that ends no wait by itself. */
static inline void emu_note_write(struct emu_warp *warp)
{
    warp->cta->cluster->events++;
}

#endif
