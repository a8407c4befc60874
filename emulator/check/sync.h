/* SPDX-License-Identifier: MIT */
/*
 * How warps learn of each other's accesses: releases and acquires, fences, and relaxed
 * signals together with fences. A relaxed signal after a release fence publishes the
 * happens-before view that the warp had at the fence. What a relaxed wait saw counts from
 * the next acquire fence on.
 */
#ifndef EMU_CHECK_SYNC_H
#define EMU_CHECK_SYNC_H

#include "check/clock.h"
#include "check/lane_agents.h"

/* What a strong access or a fence orders; .sys is treated as .gpu. */
enum emu_scope {
    EMU_SCOPE_NONE, /* a weak access */
    EMU_SCOPE_CTA,
    EMU_SCOPE_CLUSTER,
    EMU_SCOPE_GPU,
    EMU_SCOPES
};

/* A view that was published, possibly at many addresses. */
struct emu_published {
    unsigned users;
    struct emu_view view;
};
/* NULL: nothing was published. */
void emu_published_leave(struct emu_published *published);
/* Adds `from` to *to; shares it where that is possible. */
void emu_published_join(struct emu_published **to, struct emu_published *from);

/* A warp as an agent, its happens-before view, and what its fences have collected. */
struct emu_sync {
    bool checked;          /* otherwise all functions of this header do nothing with it */
    uint32_t agent, epoch; /* the epoch ends at each release, fence and convergence */
    /* Lanes that have accessed memory since all of them last met: in the current epoch, and
     * in those before. Where a lane publishes that is not all of them, see lane_agents.h.
     */
    uint32_t fresh, touched;
    struct emu_lane_agents **lane_agents;
    struct emu_lane_facts *facts; /* NULL: none yet */
    uint32_t knowing;             /* lanes that have some */
    uint32_t (*new_agent)(void *owner);
    void *owner;
    uint64_t group[EMU_SCOPES]; /* that the warp belongs to: its CTA, its cluster, all */
    struct emu_view view;
    /* By scope: what the last release fence published, what relaxed reads have seen. */
    struct emu_published *fenced[EMU_SCOPES];
    struct emu_view seen_relaxed[EMU_SCOPES];
    struct emu_clock inits; /* of the mbarriers that it initialised */
    /* The number of those mbarriers, and how many of them it has made visible to the async
     * proxy by fence.mbarrier_init or fence.proxy.async. */
    uint64_t inits_made, inits_published;
};
void emu_sync_free(struct emu_sync *sync);

/* `lanes`, here and below: those that do it. A release is of what they know and did. */
void emu_sync_release(struct emu_sync *sync, uint32_t lanes, struct emu_view *published);
/* Only of what they did: adds it to a view that holds what they know. */
void emu_sync_publish(struct emu_sync *sync, uint32_t lanes, struct emu_view *published);
void emu_sync_acquire(struct emu_sync *sync, const struct emu_view *published);
/* What a signal publishes to a CTA that its scope does not reach. */
void emu_sync_release_narrow(struct emu_sync *sync, struct emu_view *published);
/* What a relaxed signal of that scope publishes. */
void emu_sync_release_relaxed(struct emu_sync *sync, enum emu_scope scope,
                              struct emu_view *published);
/* What a relaxed read has seen, for the next acquire fence of at least that scope. */
void emu_sync_acquire_relaxed(struct emu_sync *sync, enum emu_scope scope,
                              const struct emu_view *published);
/* A lane has waited for an operation of its own: its neighbours know when they meet it. */
void emu_sync_learn(struct emu_sync *sync, unsigned lane, uint32_t agent, uint32_t epoch);
/* Adds what the lanes have learned so. */
void emu_sync_tell(const struct emu_sync *sync, uint32_t lanes, struct emu_clock *clock);
/* All lanes of the warp meet (bar.warp.sync, a barrier): later accesses are ordered. */
void emu_sync_lanes(struct emu_sync *sync);

/* A fence of the given halves. */
void emu_sync_fence(struct emu_sync *sync, uint32_t lanes, enum emu_scope scope,
                    bool release, bool acquire);
/* fence.proxy.async for shared memory, for global memory or for both. */
void emu_sync_proxy_fence(struct emu_sync *sync, uint32_t lanes, bool shared, bool global);
/* tcgen05.fence::before_thread_sync and ::after_thread_sync. */
void emu_sync_tensor_before(struct emu_sync *sync);
void emu_sync_tensor_after(struct emu_sync *sync);

/* The warp made an mbarrier. Others may know of it from here on, or, by a relaxed signal,
 * from the next fence.mbarrier_init on. */
void emu_sync_init(struct emu_sync *sync, uint32_t mbarrier_agent, uint32_t epoch);
void emu_sync_init_fence(struct emu_sync *sync);

/* A relaxed arrival at the barrier of the cluster, and the wait: see `met` in clock.h. */
void emu_sync_leave(struct emu_sync *sync, struct emu_clock *left,
                    struct emu_clock *inits_left);
void emu_sync_meet(struct emu_sync *sync, const struct emu_clock *left);

#endif
