/* SPDX-License-Identifier: MIT */
/* Vector clocks as arrays that grow to the highest agent they have heard of. */
#include "check/clock.h"

#include <string.h>

static void make_room(struct emu_clock *clock, uint32_t count)
{
    if (count <= clock->count) {
        return;
    }
    clock->at = emu_realloc(clock->at, count * sizeof(*clock->at));
    memset(clock->at + clock->count, 0, (count - clock->count) * sizeof(*clock->at));
    clock->count = count;
}

static uint32_t first_of_block(uint32_t agent)
{
    return agent - agent % EMU_CLOCK_BLOCK;
}

/* -------------------------------------------------------------- parts of other clusters */

static struct emu_clock_part *make_part(uint32_t first, uint32_t count)
{
    struct emu_clock_part *part = emu_alloc(sizeof(*part) + count * sizeof(part->at[0]));
    part->users = 1;
    part->first = first;
    part->count = count;
    return part;
}

static void leave_part(struct emu_clock_part *part)
{
    if (--part->users == 0) {
        emu_free(part);
    }
}

/* Index of the first part that does not lie before that block. */
static uint32_t find_part(const struct emu_clock *clock, uint32_t first)
{
    uint32_t low = 0;
    uint32_t high = clock->part_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (clock->parts[middle]->first < first) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool has_part(const struct emu_clock *clock, uint32_t index, uint32_t first)
{
    return index < clock->part_count && clock->parts[index]->first == first;
}

uint32_t emu_clock_get_part(const struct emu_clock *clock, uint32_t agent)
{
    uint32_t first = first_of_block(agent);
    uint32_t index = find_part(clock, first);
    if (!has_part(clock, index, first) || agent - first >= clock->parts[index]->count) {
        return 0;
    }
    return clock->parts[index]->at[agent - first];
}

/* Takes over the caller's use of `part`. */
static void insert_part(struct emu_clock *clock, uint32_t index,
                        struct emu_clock_part *part)
{
    EMU_GROW(clock->parts, clock->part_count);
    memmove(clock->parts + index + 1, clock->parts + index,
            (clock->part_count - index) * sizeof(struct emu_clock_part *));
    clock->parts[index] = part;
    clock->part_count++;
}

/* Whether every component of `low` is reached by `high`. */
static bool covers(const uint32_t *high, uint32_t high_count, const uint32_t *low,
                   uint32_t low_count)
{
    for (uint32_t i = 0; i < low_count; i++) {
        if (low[i] > (i < high_count ? high[i] : 0)) {
            return false;
        }
    }
    return true;
}

static void join_array(uint32_t *to, const uint32_t *at, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (to[i] < at[i]) {
            to[i] = at[i];
        }
    }
}

/* Joins what is known of one other block; `part` holds that, where it can be shared. */
static void join_foreign(struct emu_clock *clock, uint32_t first, const uint32_t *at,
                         uint32_t count, struct emu_clock_part *part)
{
    uint32_t index = find_part(clock, first);
    struct emu_clock_part *known =
        has_part(clock, index, first) ? clock->parts[index] : NULL;
    if (known != NULL && (known == part || covers(known->at, known->count, at, count))) {
        return;
    }
    struct emu_clock_part *sum = part;
    if (part != NULL && (known == NULL || covers(at, count, known->at, known->count))) {
        part->users++;
    } else {
        sum =
            make_part(first, known != NULL && known->count > count ? known->count : count);
        join_array(sum->at, at, count);
    }
    if (known == NULL) {
        insert_part(clock, index, sum);
        return;
    }
    if (sum != part) {
        join_array(sum->at, known->at, known->count);
    }
    clock->parts[index] = sum;
    leave_part(known);
}

static void raise_foreign(struct emu_clock *clock, uint32_t agent, uint32_t epoch)
{
    uint32_t first = first_of_block(agent);
    uint32_t index = find_part(clock, first);
    if (has_part(clock, index, first) && clock->parts[index]->users == 1 &&
        agent - first < clock->parts[index]->count) {
        clock->parts[index]->at[agent - first] = epoch;
        return;
    }
    struct emu_clock_part *one = make_part(first, agent - first + 1);
    one->at[agent - first] = epoch;
    join_foreign(clock, first, one->at, one->count, one);
    leave_part(one);
}

/* ------------------------------------------------------------------------------- whole */

static void join_block(struct emu_clock *clock, uint32_t first, const uint32_t *at,
                       uint32_t count, struct emu_clock_part *part)
{
    if (count == 0) {
        return;
    }
    if (clock->count == 0) {
        clock->first = first;
    } else if (clock->first != first) {
        join_foreign(clock, first, at, count, part);
        return;
    }
    make_room(clock, count);
    join_array(clock->at, at, count);
}

void emu_clock_raise(struct emu_clock *clock, uint32_t agent, uint32_t epoch)
{
    if (epoch <= emu_clock_get(clock, agent)) {
        return;
    }
    uint32_t first = first_of_block(agent);
    uint32_t index = agent - first;
    if (clock->count == 0) {
        clock->first = first;
    } else if (clock->first != first) {
        raise_foreign(clock, agent, epoch);
        return;
    }
    if (index >= clock->count) {
        /* Agents are made one after the other, so the array grows by several at once. Only
         * here: a clock that is joined takes the other's size and must not add to it. */
        uint32_t room = index < 12 ? 16 : index + 1 + index / 4;
        make_room(clock, room < EMU_CLOCK_BLOCK ? room : EMU_CLOCK_BLOCK);
    }
    clock->at[index] = epoch;
}

void emu_clock_join(struct emu_clock *clock, const struct emu_clock *other)
{
    if (clock == other) {
        return;
    }
    join_block(clock, other->first, other->at, other->count, NULL);
    for (uint32_t i = 0; i < other->part_count; i++) {
        struct emu_clock_part *part = other->parts[i];
        join_block(clock, part->first, part->at, part->count, part);
    }
}

/* Lowers components from agent `first` on to those of `other`. */
static void meet_array(uint32_t *at, uint32_t first, uint32_t count,
                       const struct emu_clock *other)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t known = emu_clock_get(other, first + i);
        at[i] = at[i] < known ? at[i] : known;
    }
}

void emu_clock_meet(struct emu_clock *clock, const struct emu_clock *other)
{
    if (clock == other) {
        return;
    }
    meet_array(clock->at, clock->first, clock->count, other);
    for (uint32_t i = 0; i < clock->part_count; i++) {
        struct emu_clock_part *was = clock->parts[i];
        uint32_t at_other = find_part(other, was->first);
        if (has_part(other, at_other, was->first) && other->parts[at_other] == was) {
            continue;
        }
        clock->parts[i] = make_part(was->first, was->count);
        memcpy(clock->parts[i]->at, was->at, was->count * sizeof(was->at[0]));
        leave_part(was);
        meet_array(clock->parts[i]->at, clock->parts[i]->first, clock->parts[i]->count,
                   other);
    }
}

static void forget_parts(struct emu_clock *clock)
{
    for (uint32_t i = 0; i < clock->part_count; i++) {
        leave_part(clock->parts[i]);
    }
    emu_free(clock->parts);
    clock->parts = NULL;
    clock->part_count = 0;
}

void emu_clock_copy(struct emu_clock *clock, const struct emu_clock *other)
{
    if (clock == other) {
        return;
    }
    make_room(clock, other->count);
    if (other->count > 0) {
        memcpy(clock->at, other->at, other->count * sizeof(*clock->at));
    }
    if (clock->count > other->count) {
        memset(clock->at + other->count, 0,
               (clock->count - other->count) * sizeof(*clock->at));
    }
    clock->first = other->first;
    forget_parts(clock);
    for (uint32_t i = 0; i < other->part_count; i++) {
        other->parts[i]->users++;
        insert_part(clock, i, other->parts[i]);
    }
}

void emu_clock_free(struct emu_clock *clock)
{
    forget_parts(clock);
    emu_free(clock->at);
    *clock = (struct emu_clock){0};
}

void emu_view_join(struct emu_view *to, const struct emu_view *from)
{
    emu_clock_join(&to->happened, &from->happened);
    emu_clock_join(&to->proxied, &from->proxied);
    emu_clock_join(&to->proxied_global, &from->proxied_global);
    emu_clock_join(&to->fenced, &from->fenced);
    emu_clock_join(&to->tensor, &from->tensor);
    emu_clock_join(&to->met, &from->met);
    emu_clock_join(&to->signalled, &from->signalled);
    to->behind_grid |= from->behind_grid;
}

void emu_view_copy(struct emu_view *to, const struct emu_view *from)
{
    emu_clock_copy(&to->happened, &from->happened);
    emu_clock_copy(&to->proxied, &from->proxied);
    emu_clock_copy(&to->proxied_global, &from->proxied_global);
    emu_clock_copy(&to->fenced, &from->fenced);
    emu_clock_copy(&to->tensor, &from->tensor);
    emu_clock_copy(&to->met, &from->met);
    emu_clock_copy(&to->signalled, &from->signalled);
    to->behind_grid = from->behind_grid;
}

void emu_view_free(struct emu_view *view)
{
    emu_clock_free(&view->happened);
    emu_clock_free(&view->proxied);
    emu_clock_free(&view->proxied_global);
    emu_clock_free(&view->fenced);
    emu_clock_free(&view->tensor);
    emu_clock_free(&view->met);
    emu_clock_free(&view->signalled);
}
