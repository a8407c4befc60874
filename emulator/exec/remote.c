/* SPDX-License-Identifier: MIT */
/*
 * Stores of threads to the shared memory of another CTA, where the launch is timed: they
 * take effect when they are there. What tells others of them waits until then, see
 * emu_time_insn.tells.
 */
#include <string.h>

#include "exec/async.h"
#include "exec/events.h"
#include "exec/memory.h"
#include "exec/op_memory.h"
#include "exec/timing.h"

struct store_on_its_way {
    struct emu_actor actor; /* its view is the operation's */
    struct emu_cta *cta;
    uint32_t offset, bytes;
    uint8_t data[64];
};

static enum emu_async_result run_store(struct emu_async *async)
{
    struct store_on_its_way *store = (void *)async->payload;
    struct emu_cta *cta = store->cta;
    store->actor.view = &async->view;
    if (!emu_shared_write(&store->actor, cta, store->offset, store->bytes, store->bytes,
                          store->data, NULL)) {
        return EMU_ASYNC_FAILED;
    }
    emu_end_lull(cta);
    return EMU_ASYNC_DONE;
}

bool emu_store(const struct emu_actor *actor, enum emu_space space, uint64_t address,
               uint32_t bytes, const void *data)
{
    struct emu_cta *own = actor->warp->cta;
    enum emu_space found = space;
    uint64_t at = address;
    if (!emu_is_timed(own)) {
        return emu_write(actor, space, address, bytes, data, NULL);
    }
    if (space == EMU_SPACE_GENERIC) {
        emu_classify(address, &found, &at);
    }
    if ((found != EMU_SPACE_SHARED && found != EMU_SPACE_SHARED_CLUSTER) ||
        at >> EMU_SHARED_RANK_SHIFT == own->rank) {
        return emu_write(actor, space, address, bytes, data, NULL);
    }
    struct store_on_its_way store = {.actor = *actor, .bytes = bytes};
    store.cta = emu_shared_resolve(actor->warp, actor->insn, actor->lane, (uint32_t)at,
                                   found == EMU_SPACE_SHARED_CLUSTER, &store.offset);
    if (store.cta == NULL) {
        return false;
    }
    memcpy(store.data, data, bytes);
    if (store.cta->shadow != NULL) {
        emu_shared_reached(store.cta, (struct emu_reach){.warp = actor->warp,
                                                         .insn = actor->insn,
                                                         .epoch = actor->epoch,
                                                         .lanes = 1u << actor->lane});
    }
    struct emu_async *async =
        emu_async_new(actor->warp, actor->insn, actor->lane, sizeof(store), run_store);
    memcpy(async->payload, &store, sizeof(store));
    async->at[0] = own->time->there;
    return emu_async_submit(async, 0);
}
