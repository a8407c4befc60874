/* SPDX-License-Identifier: MIT */
/*
 * How knowledge moves. A warp's own component of `happened` is its last closed epoch:
 * publishing and fencing close the current one, so that what the warp does next is not
 * taken for something published or fenced.
 */
#include "async/knowledge.h"

#include "async/state.h"

bool emu_know_races(const struct emu_cta *cta)
{
    return emu_launch_of(cta)->settings.races;
}

void emu_know_release(struct emu_warp *warp, struct emu_view *published)
{
    if (!emu_know_races(warp->cta)) {
        return;
    }
    emu_view_join(published, &warp->view);
    emu_clock_raise(&published->happened, warp->agent, warp->epoch);
    warp->epoch++;
}

/* `tensor` is not taken: what a warp's own tensor operations are ordered after changes at
 * its tcgen05.fence::after_thread_sync only. */
static void take_up(struct emu_view *to, const struct emu_view *published)
{
    emu_clock_join(&to->happened, &published->happened);
    emu_clock_join(&to->proxied, &published->proxied);
    emu_clock_join(&to->fenced, &published->fenced);
    emu_clock_join(&to->met, &published->met);
}

void emu_know_acquire(struct emu_warp *warp, const struct emu_view *published)
{
    if (emu_know_races(warp->cta)) {
        take_up(&warp->view, published);
    }
}

void emu_know_proxy_fence(struct emu_warp *warp)
{
    if (!emu_know_races(warp->cta)) {
        return;
    }
    struct emu_async_warp *state = emu_async_of_warp(warp);
    state->inits_published = state->inits_made;
    emu_clock_join(&warp->view.proxied, &warp->view.happened);
    emu_clock_raise(&warp->view.proxied, warp->agent, warp->epoch);
    warp->epoch++;
}

void emu_know_tensor_before(struct emu_warp *warp)
{
    if (!emu_know_races(warp->cta)) {
        return;
    }
    emu_clock_join(&warp->view.fenced, &warp->view.happened);
    emu_clock_join(&warp->view.fenced, &warp->view.tensor);
    emu_clock_raise(&warp->view.fenced, warp->agent, warp->epoch);
    warp->epoch++;
}

void emu_know_tensor_after(struct emu_warp *warp)
{
    if (emu_know_races(warp->cta)) {
        emu_clock_join(&warp->view.tensor, &warp->view.fenced);
    }
}

void emu_know_warp_meeting(struct emu_warp *warp)
{
    if (!emu_know_races(warp->cta)) {
        return;
    }
    emu_clock_raise(&warp->view.happened, warp->agent, warp->epoch);
    warp->epoch++;
}

/* ---------------------------------------------------------------------------- fences */

/* Replaces what fences of this scope and below published: a warp never knows less. */
static void set_fenced(struct emu_warp *warp, enum emu_scope most,
                       struct emu_published *published)
{
    struct emu_async_warp *state = emu_async_of_warp(warp);
    for (unsigned scope = EMU_SCOPE_CTA; scope <= most; scope++) {
        emu_published_leave(state->fenced[scope]);
        state->fenced[scope] = published;
        published->users++;
    }
}

void emu_know_fence(struct emu_warp *warp, enum emu_scope scope, bool release, bool acquire)
{
    if (!emu_know_races(warp->cta)) {
        return;
    }
    struct emu_async_warp *state = emu_async_of_warp(warp);
    for (unsigned i = EMU_SCOPE_CTA; acquire && i <= scope; i++) {
        take_up(&warp->view, &state->seen_relaxed[i]);
    }
    if (release) {
        struct emu_published *published = emu_alloc(sizeof *published);
        published->users = 1;
        emu_know_release(warp, &published->view);
        set_fenced(warp, scope, published);
        emu_published_leave(published);
    }
}

struct emu_published *emu_know_fenced(const struct emu_warp *warp, enum emu_scope scope)
{
    return emu_async_of_warp(warp)->fenced[scope];
}

void emu_know_release_relaxed(struct emu_warp *warp, enum emu_scope scope,
                              struct emu_view *published)
{
    const struct emu_published *fenced = emu_async_of_warp(warp)->fenced[scope];
    if (emu_know_races(warp->cta) && fenced != NULL) {
        take_up(published, &fenced->view);
    }
}

void emu_know_acquire_relaxed(struct emu_warp *warp, enum emu_scope scope,
                              const struct emu_view *published)
{
    if (emu_know_races(warp->cta)) {
        take_up(&emu_async_of_warp(warp)->seen_relaxed[scope], published);
    }
}

void emu_know_leave(struct emu_warp *warp, struct emu_clock *left,
                    struct emu_clock *inits_left)
{
    if (!emu_know_races(warp->cta)) {
        return;
    }
    emu_clock_join(inits_left, &emu_async_of_warp(warp)->inits.happened);
    emu_clock_join(left, &warp->view.happened);
    emu_clock_join(left, &warp->view.met);
    emu_clock_raise(left, warp->agent, warp->epoch);
    warp->epoch++;
}

void emu_know_meet(struct emu_warp *warp, const struct emu_clock *left)
{
    if (emu_know_races(warp->cta)) {
        emu_clock_join(&warp->view.met, left);
    }
}

void emu_know_init(struct emu_warp *warp, uint32_t agent, uint32_t epoch)
{
    if (emu_know_races(warp->cta)) {
        emu_clock_raise(&warp->view.happened, agent, epoch);
        emu_clock_raise(&emu_async_of_warp(warp)->inits.happened, agent, epoch);
    }
}

void emu_know_init_fence(struct emu_warp *warp)
{
    if (!emu_know_races(warp->cta)) {
        return;
    }
    struct emu_async_warp *state = emu_async_of_warp(warp);
    struct emu_published *inits = emu_alloc(sizeof *inits);
    inits->users = 1;
    emu_clock_copy(&inits->view.happened, &state->inits.happened);
    for (unsigned scope = EMU_SCOPE_CTA; scope <= EMU_SCOPE_CLUSTER; scope++) {
        emu_published_join(&state->fenced[scope], inits);
    }
    emu_published_leave(inits);
    state->inits_published = state->inits_made;
}
