/* SPDX-License-Identifier: MIT */
/* Vector clocks as arrays that grow to the highest entity they have heard of. */
#include "check/clock.h"

#include <string.h>

static void make_room(struct emu_clock *clock, uint32_t count)
{
    if (count <= clock->count) {
        return;
    }
    clock->at = emu_realloc(clock->at, count * sizeof *clock->at);
    memset(clock->at + clock->count, 0, (count - clock->count) * sizeof *clock->at);
    clock->count = count;
}

void emu_clock_raise(struct emu_clock *clock, uint32_t entity, uint32_t epoch)
{
    if (epoch <= emu_clock_get(clock, entity)) {
        return;
    }
    if (entity >= clock->count) {
        /* Entities are made one after the other: room for several at once. Only here:
         * clocks that are joined take over the room of each other, and must not add to it.
         */
        make_room(clock, entity < 12 ? 16 : entity + 1 + entity / 4);
    }
    clock->at[entity] = epoch;
}

void emu_clock_join(struct emu_clock *clock, const struct emu_clock *other)
{
    if (clock == other) {
        return;
    }
    make_room(clock, other->count);
    for (uint32_t i = 0; i < other->count; i++) {
        if (clock->at[i] < other->at[i]) {
            clock->at[i] = other->at[i];
        }
    }
}

void emu_clock_copy(struct emu_clock *clock, const struct emu_clock *other)
{
    if (clock == other) {
        return;
    }
    make_room(clock, other->count);
    if (other->count > 0) {
        memcpy(clock->at, other->at, other->count * sizeof *clock->at);
    }
    if (clock->count > other->count) {
        memset(clock->at + other->count, 0,
               (clock->count - other->count) * sizeof *clock->at);
    }
}

void emu_clock_free(struct emu_clock *clock)
{
    emu_free(clock->at);
    *clock = (struct emu_clock){0};
}

void emu_knowledge_join(struct emu_knowledge *to, const struct emu_knowledge *from)
{
    emu_clock_join(&to->happened, &from->happened);
    emu_clock_join(&to->proxied, &from->proxied);
    emu_clock_join(&to->fenced, &from->fenced);
    emu_clock_join(&to->tensor, &from->tensor);
    emu_clock_join(&to->met, &from->met);
}

void emu_knowledge_copy(struct emu_knowledge *to, const struct emu_knowledge *from)
{
    emu_clock_copy(&to->happened, &from->happened);
    emu_clock_copy(&to->proxied, &from->proxied);
    emu_clock_copy(&to->fenced, &from->fenced);
    emu_clock_copy(&to->tensor, &from->tensor);
    emu_clock_copy(&to->met, &from->met);
}

void emu_knowledge_free(struct emu_knowledge *knowledge)
{
    emu_clock_free(&knowledge->happened);
    emu_clock_free(&knowledge->proxied);
    emu_clock_free(&knowledge->fenced);
    emu_clock_free(&knowledge->tensor);
    emu_clock_free(&knowledge->met);
}
