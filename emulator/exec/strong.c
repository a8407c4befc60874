/* SPDX-License-Identifier: MIT */
#include "exec/strong.h"

#include "exec/cluster.h"
#include "exec/families.h"

/*
 * Whom a publication is for. One of a wide scope is there for the narrower ones too,
 * because an acquire of CTA scope takes up what a thread of the same CTA published.
 */
struct audience {
    enum emu_scope scope;
    uint64_t group; /* the CTA or the cluster */
};

struct entry {
    struct audience audience;
    struct emu_published *published;
};

struct place {
    struct place *next;
    uint64_t address;
    uint32_t writer; /* agent of the last one who wrote it plainly */
    uint32_t count;
    struct entry *entries;
};

struct emu_meetings {
    struct place **buckets;
    uint64_t count, bucket_count; /* a power of 2 */
};

/* -------------------------------------------------------------------------- published */

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
        *to = emu_alloc(sizeof **to);
        (*to)->users = 1;
        emu_view_copy(&(*to)->view, &was->view);
        emu_published_leave(was);
    }
    emu_view_join(&(*to)->view, &from->view);
}

/* ----------------------------------------------------------------------------- places */

static struct emu_meetings **meetings_of(struct emu_cluster *cluster, uint64_t address)
{
    return !emu_strong_is_shared(address) && cluster->grid->launch.program->shares_grid
               ? &cluster->grid->meetings
               : &cluster->meetings;
}

static struct place **bucket_of(const struct emu_meetings *meetings, uint64_t address)
{
    return &meetings->buckets[emu_mix(address, 0) & (meetings->bucket_count - 1)];
}

static struct place *find_place(struct emu_cluster *cluster, uint64_t address)
{
    const struct emu_meetings *meetings = *meetings_of(cluster, address);
    struct place *place = meetings == NULL ? NULL : *bucket_of(meetings, address);
    while (place != NULL && place->address != address) {
        place = place->next;
    }
    return place;
}

static void grow(struct emu_meetings *meetings)
{
    struct place **was = meetings->buckets;
    uint64_t was_count = meetings->bucket_count;
    meetings->bucket_count = was_count == 0 ? 64 : 4 * was_count;
    meetings->buckets = emu_alloc(meetings->bucket_count * sizeof(struct place *));
    for (uint64_t i = 0; i < was_count; i++) {
        while (was[i] != NULL) {
            struct place *place = was[i];
            struct place **bucket = bucket_of(meetings, place->address);
            was[i] = place->next;
            place->next = *bucket;
            *bucket = place;
        }
    }
    emu_free(was);
}

static struct place *make_place(struct emu_cluster *cluster, uint64_t address)
{
    struct emu_meetings **meetings = meetings_of(cluster, address);
    if (*meetings == NULL) {
        *meetings = emu_alloc(sizeof **meetings);
    }
    if ((*meetings)->count == (*meetings)->bucket_count) {
        grow(*meetings);
    }
    (*meetings)->count++;
    struct place *place = emu_alloc(sizeof *place);
    struct place **bucket = bucket_of(*meetings, address);
    place->address = address;
    place->next = *bucket;
    *bucket = place;
    return place;
}

static void clear_place(struct place *place)
{
    for (uint32_t i = 0; i < place->count; i++) {
        emu_published_leave(place->entries[i].published);
    }
    emu_free(place->entries);
    place->entries = NULL;
    place->count = 0;
}

void emu_meetings_free(struct emu_meetings *meetings)
{
    if (meetings == NULL) {
        return;
    }
    for (uint64_t i = 0; i < meetings->bucket_count; i++) {
        while (meetings->buckets[i] != NULL) {
            struct place *place = meetings->buckets[i];
            meetings->buckets[i] = place->next;
            clear_place(place);
            emu_free(place);
        }
    }
    emu_free(meetings->buckets);
    emu_free(meetings);
}

/* --------------------------------------------------------------------------- accesses */

static struct audience audience_of(const struct emu_warp *warp, enum emu_scope scope)
{
    const struct emu_cta *cta = warp->cta;
    uint64_t group = scope == EMU_SCOPE_GPU ? 0
                     : scope == EMU_SCOPE_CLUSTER
                         ? cta->cluster->index
                         : cta->cluster->index * EMU_MAX_CLUSTER + cta->rank;
    return (struct audience){scope, group};
}

static struct emu_published **find_entry(struct place *place, struct audience audience)
{
    for (uint32_t i = 0; i < place->count; i++) {
        struct entry *entry = &place->entries[i];
        if (entry->audience.scope == audience.scope &&
            entry->audience.group == audience.group) {
            return &entry->published;
        }
    }
    return NULL;
}

static void publish(struct emu_warp *warp, struct place **place, uint64_t address,
                    enum emu_scope scope, struct emu_published *published)
{
    if (published == NULL) {
        return;
    }
    if (*place == NULL) {
        *place = make_place(warp->cta->cluster, address);
    }
    struct audience audience = audience_of(warp, scope);
    struct emu_published **entry = find_entry(*place, audience);
    if (entry == NULL) {
        EMU_GROW((*place)->entries, (*place)->count);
        (*place)->entries[(*place)->count] = (struct entry){audience, NULL};
        entry = &(*place)->entries[(*place)->count++].published;
    }
    emu_published_join(entry, published);
}

void emu_strong_write(struct emu_warp *warp, uint64_t address, unsigned order, bool modify)
{
    if (!emu_launch_of(warp->cta)->settings.races) {
        return;
    }
    struct place *place = find_place(warp->cta->cluster, address);
    if (!modify && place != NULL && place->writer != warp->agent) {
        clear_place(place);
    }
    struct emu_published *all = NULL;
    if ((order & EMU_ORDER_RELEASE) != 0) {
        all = emu_alloc(sizeof *all);
        all->users = 1;
        emu_know_release(warp, &all->view);
    }
    for (unsigned scope = EMU_SCOPE_CTA; scope <= emu_order_scope(order); scope++) {
        publish(warp, &place, address, (enum emu_scope)scope,
                all != NULL ? all : emu_know_fenced(warp, (enum emu_scope)scope));
    }
    emu_published_leave(all);
    if (!modify && place != NULL) {
        place->writer = warp->agent;
    }
}

void emu_strong_read(struct emu_warp *warp, uint64_t address, unsigned order)
{
    struct place *place = find_place(warp->cta->cluster, address);
    for (unsigned i = EMU_SCOPE_CTA; place != NULL && i <= emu_order_scope(order); i++) {
        enum emu_scope scope = (enum emu_scope)i;
        struct emu_published **entry = find_entry(place, audience_of(warp, scope));
        if (entry == NULL) {
            continue;
        }
        if ((order & EMU_ORDER_ACQUIRE) != 0) {
            emu_know_acquire(warp, &(*entry)->view);
        } else {
            emu_know_acquire_relaxed(warp, scope, &(*entry)->view);
        }
    }
}

/* ------------------------------------------------------------------------------ loops */

/* All that decides what the warp does next, besides memory. */
static uint64_t hash_state(const struct emu_warp *warp)
{
    const struct emu_program *program = emu_launch_of(warp->cta)->program;
    uint64_t hash = emu_hash(warp->r, program->slot_count * sizeof *warp->r);
    hash = emu_mix(hash, emu_hash(warp->p, program->predicate_count * sizeof *warp->p));
    hash = emu_mix(hash, emu_hash(warp->lane_pc, sizeof warp->lane_pc));
    return emu_mix(hash, (uint64_t)warp->live << 32 | warp->mask);
}

/* The note about that instruction; a new one takes the place of the oldest. */
static struct emu_poll *find_poll(struct emu_warp *warp, const struct emu_insn *insn)
{
    for (unsigned i = 0; i < EMU_POLLS; i++) {
        if (warp->polls[i].insn == insn) {
            return &warp->polls[i];
        }
    }
    struct emu_poll *poll = &warp->polls[warp->next_poll++ % EMU_POLLS];
    *poll = (struct emu_poll){.insn = insn};
    return poll;
}

/* A loop that looks at the clock besides changes nothing but the time that it knows. So the
 * clock stands for three turns of it and goes on in the fourth: the loop may end by it. */
static void stop_clock(struct emu_warp *warp, unsigned turn)
{
    warp->time_stands = turn % 4 == 3 ? 0 : warp->steps + EMU_SPIN_STEPS;
    if (turn % 4 == 0) {
        warp->time_shown = 0;
    }
}

enum emu_step emu_strong_poll(struct emu_warp *warp, const struct emu_insn *insn,
                              uint64_t seen, bool global)
{
    struct emu_poll *poll = find_poll(warp, insn);
    if (poll->seen != seen) {
        poll->seen = seen;
        poll->state = 0;
        poll->repeats = 0;
        warp->time_stands = 0;
        return EMU_NEXT;
    }
    stop_clock(warp, poll->repeats++);
    uint64_t state = hash_state(warp);
    bool same = state == poll->state;
    poll->state = state;
    if (!same) {
        return EMU_YIELDED;
    }
    if (global && warp->cta->cluster->grid->launch.program->shares_grid) {
        warp->cta->cluster->waits_for_grid = true;
    }
    return EMU_SPUN;
}
