/* SPDX-License-Identifier: MIT */
/*
 * How views move. A warp's own component of `happened` is the epoch in which its lanes last
 * met. Publishing and fencing close the current one, so that what the warp does next is not
 * taken for something published or fenced.
 */
#include "check/sync.h"

#include <string.h>

void emu_published_leave(struct emu_published *published)
{
    if (published != NULL && --published->users == 0) {
        emu_view_free(&published->view);
        emu_free(published);
    }
}

void emu_published_join(struct emu_published **to, struct emu_published *from)
{
    struct emu_published *was = *to;
    if (from == NULL || was == from) {
        return;
    }
    if (was == NULL) {
        from->users++;
        *to = from;
        return;
    }
    if (was->users > 1) {
        *to = emu_alloc(sizeof(**to));
        (*to)->users = 1;
        emu_view_copy(&(*to)->view, &was->view);
        emu_published_leave(was);
    }
    emu_view_join(&(*to)->view, &from->view);
}

void emu_sync_free(struct emu_sync *sync)
{
    for (unsigned scope = 0; scope < EMU_SCOPES; scope++) {
        emu_published_leave(sync->fenced[scope]);
        emu_view_free(&sync->seen_relaxed[scope]);
    }
    emu_clock_free(&sync->inits);
    emu_free(sync->facts);
    emu_view_free(&sync->view);
}

void emu_sync_learn(struct emu_sync *sync, unsigned lane, uint32_t agent, uint32_t epoch)
{
    if (!sync->checked || epoch == 0) {
        return;
    }
    if (sync->facts == NULL) {
        sync->facts = emu_alloc(sizeof(*sync->facts));
    }
    unsigned place = 0;
    while (sync->facts->at[lane][place].epoch != 0 &&
           sync->facts->at[lane][place].agent != agent) {
        place++; /* there are as many places as agents that a lane waits for */
    }
    sync->facts->at[lane][place].agent = agent;
    if (sync->facts->at[lane][place].epoch < epoch) {
        sync->facts->at[lane][place].epoch = epoch;
    }
    sync->knowing |= 1u << lane;
}

void emu_sync_tell(const struct emu_sync *sync, uint32_t lanes, struct emu_clock *clock)
{
    for (uint32_t rest = sync->knowing & lanes; rest != 0; rest &= rest - 1) {
        unsigned lane = emu_lowest_bit(rest);
        for (unsigned i = 0; i < EMU_LANE_FACTS; i++) {
            emu_clock_raise(clock, sync->facts->at[lane][i].agent,
                            sync->facts->at[lane][i].epoch);
        }
    }
}

static void close_epoch(struct emu_sync *sync)
{
    sync->touched |= sync->fresh;
    sync->fresh = 0;
    sync->epoch++;
}

/* Raises what the lanes did up to now; the clock has what they did before they met. */
static void raise_lanes(struct emu_sync *sync, uint32_t lanes, struct emu_clock *clock)
{
    emu_sync_tell(sync, lanes, clock);
    uint32_t active = sync->touched | sync->fresh;
    if ((active & ~lanes) == 0) {
        emu_clock_raise(clock, sync->agent, sync->epoch);
        return;
    }
    uint32_t *agents = emu_lane_agents_get(sync->lane_agents, sync->agent);
    /* One that did nothing tells at least that it, and not its neighbours, came here. */
    uint32_t rest = (active & lanes) != 0 ? active & lanes : lanes & (0 - lanes);
    for (; rest != 0; rest &= rest - 1) {
        unsigned lane = emu_lowest_bit(rest);
        if (agents[lane] == 0) {
            agents[lane] = sync->new_agent(sync->owner);
        }
        emu_clock_raise(clock, agents[lane], sync->epoch);
    }
}

void emu_sync_publish(struct emu_sync *sync, uint32_t lanes, struct emu_view *published)
{
    if (sync->checked) {
        raise_lanes(sync, lanes, &published->happened);
        close_epoch(sync);
    }
}

void emu_sync_release(struct emu_sync *sync, uint32_t lanes, struct emu_view *published)
{
    if (sync->checked) {
        emu_view_join(published, &sync->view);
        emu_sync_publish(sync, lanes, published);
    }
}

/* `tensor` is not taken: what a warp's own tensor operations are ordered after changes at
 * its tcgen05.fence::after_thread_sync only. */
static void take_up(struct emu_view *to, const struct emu_view *published)
{
    emu_clock_join(&to->happened, &published->happened);
    emu_clock_join(&to->proxied, &published->proxied);
    emu_clock_join(&to->proxied_global, &published->proxied_global);
    emu_clock_join(&to->fenced, &published->fenced);
    emu_clock_join(&to->met, &published->met);
    emu_clock_join(&to->signalled, &published->signalled);
    to->behind_grid |= published->behind_grid;
}

void emu_sync_release_narrow(struct emu_sync *sync, struct emu_view *published)
{
    if (!sync->checked) {
        return;
    }
    emu_clock_join(&published->fenced, &sync->view.fenced);
    emu_clock_join(&published->met, &sync->view.met);
    published->behind_grid |= sync->view.behind_grid;
    emu_clock_join(&published->signalled, &sync->view.signalled);
    emu_clock_join(&published->signalled, &sync->view.happened);
    emu_clock_raise(&published->signalled, sync->agent, sync->epoch);
    close_epoch(sync);
}

void emu_sync_acquire(struct emu_sync *sync, const struct emu_view *published)
{
    if (!sync->checked) {
        return;
    }
    take_up(&sync->view, published);
    if (emu_clock_get(&sync->view.happened, sync->agent) + 1 >= sync->epoch) {
        sync->touched = 0; /* what it published as a whole came back: the lanes met */
    }
}

void emu_sync_proxy_fence(struct emu_sync *sync, uint32_t lanes, bool shared, bool global)
{
    if (!sync->checked) {
        return;
    }
    if (shared) {
        sync->inits_published = sync->inits_made;
        emu_clock_join(&sync->view.proxied, &sync->view.happened);
        raise_lanes(sync, lanes, &sync->view.proxied);
    }
    if (global) {
        emu_clock_join(&sync->view.proxied_global, &sync->view.happened);
        raise_lanes(sync, lanes, &sync->view.proxied_global);
    }
    close_epoch(sync);
}

void emu_sync_tensor_before(struct emu_sync *sync)
{
    if (!sync->checked) {
        return;
    }
    emu_clock_join(&sync->view.fenced, &sync->view.happened);
    emu_clock_join(&sync->view.fenced, &sync->view.tensor);
    emu_clock_raise(&sync->view.fenced, sync->agent, sync->epoch);
    close_epoch(sync);
}

void emu_sync_tensor_after(struct emu_sync *sync)
{
    if (sync->checked) {
        emu_clock_join(&sync->view.tensor, &sync->view.fenced);
    }
}

void emu_sync_lanes(struct emu_sync *sync)
{
    if (!sync->checked) {
        return;
    }
    emu_clock_raise(&sync->view.happened, sync->agent, sync->epoch);
    if (sync->knowing != 0) {
        emu_sync_tell(sync, sync->knowing, &sync->view.happened);
        memset(sync->facts, 0, sizeof(*sync->facts));
        sync->knowing = 0;
    }
    close_epoch(sync);
    sync->touched = 0;
}

/* ---------------------------------------------------------------------------- fences */

/* Replaces what fences of this scope and below published: a warp never knows less. */
static void set_fenced(struct emu_sync *sync, enum emu_scope most,
                       struct emu_published *published)
{
    for (unsigned scope = EMU_SCOPE_CTA; scope <= most; scope++) {
        emu_published_leave(sync->fenced[scope]);
        sync->fenced[scope] = published;
        published->users++;
    }
}

void emu_sync_fence(struct emu_sync *sync, uint32_t lanes, enum emu_scope scope,
                    bool release, bool acquire)
{
    if (!sync->checked) {
        return;
    }
    for (unsigned i = EMU_SCOPE_CTA; acquire && i <= scope; i++) {
        take_up(&sync->view, &sync->seen_relaxed[i]);
    }
    if (release) {
        struct emu_published *published = emu_alloc(sizeof(*published));
        published->users = 1;
        emu_sync_release(sync, lanes, &published->view);
        set_fenced(sync, scope, published);
        emu_published_leave(published);
    }
}

void emu_sync_release_relaxed(struct emu_sync *sync, enum emu_scope scope,
                              struct emu_view *published)
{
    const struct emu_published *fenced = sync->fenced[scope];
    if (sync->checked && fenced != NULL) {
        take_up(published, &fenced->view);
    }
}

void emu_sync_acquire_relaxed(struct emu_sync *sync, enum emu_scope scope,
                              const struct emu_view *published)
{
    if (sync->checked) {
        take_up(&sync->seen_relaxed[scope], published);
    }
}

void emu_sync_leave(struct emu_sync *sync, struct emu_clock *left,
                    struct emu_clock *inits_left)
{
    if (!sync->checked) {
        return;
    }
    emu_clock_join(inits_left, &sync->inits);
    emu_clock_join(left, &sync->view.happened);
    emu_clock_join(left, &sync->view.met);
    emu_sync_tell(sync, sync->knowing, left);
    emu_clock_raise(left, sync->agent, sync->epoch);
    close_epoch(sync);
}

void emu_sync_meet(struct emu_sync *sync, const struct emu_clock *left)
{
    if (sync->checked) {
        emu_clock_join(&sync->view.met, left);
    }
}

void emu_sync_init(struct emu_sync *sync, uint32_t mbarrier_agent, uint32_t epoch)
{
    if (sync->checked) {
        emu_clock_raise(&sync->view.happened, mbarrier_agent, epoch);
        emu_clock_raise(&sync->inits, mbarrier_agent, epoch);
    }
}

void emu_sync_init_fence(struct emu_sync *sync)
{
    if (!sync->checked) {
        return;
    }
    struct emu_published *inits = emu_alloc(sizeof(*inits));
    inits->users = 1;
    emu_clock_copy(&inits->view.happened, &sync->inits);
    for (unsigned scope = EMU_SCOPE_CTA; scope <= EMU_SCOPE_CLUSTER; scope++) {
        emu_published_join(&sync->fenced[scope], inits);
    }
    emu_published_leave(inits);
    sync->inits_published = sync->inits_made;
}
