/* SPDX-License-Identifier: MIT */
/*
 * Threads that write to the shared memory of another CTA or arrive there, and that CTA's
 * end. A CTA may exit when it knows that this is over: it has waited for an arrival behind
 * it, or for a barrier of the cluster.
 */
#ifndef EMU_ASYNC_REACH_H
#define EMU_ASYNC_REACH_H

#include "async/mbarrier.h"
#include "exec/memory.h"

/* The lanes of a warp arrive at an mbarrier of another CTA, and have published that. */
struct emu_remote_arrival {
    struct emu_cta *cta;
    uint32_t offset;
    enum emu_mbarrier_op op;
    bool may_complete;
    struct emu_reach behind;     /* what tells that the arrival was before */
    unsigned count;              /* of the two lists */
    uint32_t counts[EMU_LANES];  /* of arrivals */
    uint32_t expects[EMU_LANES]; /* bytes that are expected before it; 0: none */
    struct emu_view gathered;    /* what was published; taken over */
};
/* It comes there when the settings say so. False: it failed. */
bool emu_remote_arrive(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                       const struct emu_remote_arrival *arrival);

/* The CTA has exited: what nothing tells it of may still be under way. */
void emu_reaches_cta_exited(struct emu_cta *cta);

#endif
