/* SPDX-License-Identifier: MIT */
/* The queue of asynchronous operations of a cluster, and when each takes effect. */
#include "exec/async.h"

#include "exec/cluster.h"
#include "exec/events.h"
#include "exec/timing.h"

struct emu_async *emu_async_new(struct emu_warp *warp, const struct emu_insn *insn,
                                unsigned lane, size_t payload_bytes,
                                enum emu_async_result (*run)(struct emu_async *))
{
    struct emu_async *async = emu_alloc(sizeof(*async) + payload_bytes);
    async->warp = warp;
    async->insn = insn;
    async->lane = lane;
    async->run = run;
    if (emu_launch_of(warp->cta)->settings.races) {
        emu_view_copy(&async->view, &warp->sync.view);
    }
    return async;
}

static void free_async(struct emu_async *async)
{
    if (async->destroy != NULL) {
        async->destroy(async);
    }
    emu_view_free(&async->view);
    emu_free(async);
}

uint64_t emu_async_chain(struct emu_cluster *cluster)
{
    return ++cluster->next_chain;
}

/* Skewed towards short delays, with a long tail. */
static uint64_t random_delay(struct emu_cluster *cluster)
{
    uint32_t reach = 1u << emu_random_below(&cluster->random, 9);
    return 1 + emu_random_below(&cluster->random, reach);
}

static void append(struct emu_cluster *cluster, struct emu_async *async)
{
    async->id = ++cluster->next_async_id;
    async->due = cluster->now + random_delay(cluster);
    async->lazy |= emu_random_below(&cluster->random, 8) == 0 &&
                   cluster->grid->launch.settings.async == EMU_ASYNC_LATEST;
    async->next = NULL;
    if (cluster->pending_last == NULL) {
        cluster->pending = async;
    } else {
        cluster->pending_last->next = async;
    }
    cluster->pending_last = async;
    cluster->pending_count++;
    if (cluster->timer != NULL) {
        emu_timer_submit(cluster->timer, async);
    }
}

static void unlink_async(struct emu_cluster *cluster, struct emu_async *before,
                         struct emu_async *async)
{
    if (before == NULL) {
        cluster->pending = async->next;
    } else {
        before->next = async->next;
    }
    if (cluster->pending_last == async) {
        cluster->pending_last = before;
    }
    cluster->pending_count--;
}

/* Does the next part of an operation. */
static enum emu_async_result run_part(struct emu_cluster *cluster, struct emu_async *async)
{
    enum emu_async_result result = async->run(async);
    async->part++;
    async->due = cluster->now + random_delay(cluster);
    cluster->events++;
    if (result != EMU_ASYNC_AGAIN) {
        emu_end_lull(async->warp->cta);
    }
    return result;
}

static bool chain_is_free(const struct emu_cluster *cluster, const struct emu_async *async)
{
    for (const struct emu_async *other = cluster->pending; other != async;
         other = other->next) {
        if (other->chain == async->chain) {
            return false;
        }
    }
    return true;
}

bool emu_async_submit(struct emu_async *async, uint64_t chain)
{
    struct emu_cluster *cluster = async->warp->cta->cluster;
    if (cluster->grid->launch.settings.async == EMU_ASYNC_EAGER && cluster->timer == NULL) {
        return emu_async_submit_now(async);
    }
    async->chain = chain;
    append(cluster, async);
    return true;
}

bool emu_async_submit_now(struct emu_async *async)
{
    struct emu_cluster *cluster = async->warp->cta->cluster;
    append(cluster, async);
    enum emu_async_result result = EMU_ASYNC_AGAIN;
    while (result == EMU_ASYNC_AGAIN) {
        result = run_part(cluster, async);
    }
    struct emu_async *before = NULL;
    for (struct emu_async *other = cluster->pending; other != async; other = other->next) {
        before = other;
    }
    unlink_async(cluster, before, async);
    free_async(async);
    return result == EMU_ASYNC_DONE;
}

enum emu_async_result emu_async_run_timed(struct emu_async *async)
{
    struct emu_cluster *cluster = async->warp->cta->cluster;
    enum emu_async_result result = run_part(cluster, async);
    if (result == EMU_ASYNC_AGAIN) {
        async->at[0] = async->at[1];
        emu_timer_submit(cluster->timer, async);
    } else {
        struct emu_async *before = NULL;
        for (struct emu_async *other = cluster->pending; other != async;
             other = other->next) {
            before = other;
        }
        unlink_async(cluster, before, async);
        free_async(async);
    }
    return result;
}

/* The operation to run now, of those that are due (or of all, when `idle`). */
static struct emu_async *choose(struct emu_cluster *cluster, bool idle, bool lazy,
                                struct emu_async **ret_before)
{
    const struct emu_settings *settings = &cluster->grid->launch.settings;
    bool newest = settings->async == EMU_ASYNC_REORDER ||
                  (settings->async == EMU_ASYNC_LATEST && (settings->seed & 1) != 0);
    struct emu_async *chosen = NULL;
    struct emu_async *before = NULL;
    for (struct emu_async *async = cluster->pending; async != NULL; async = async->next) {
        if ((idle || async->due <= cluster->now) && (lazy || !async->lazy) &&
            (async->chain == 0 || chain_is_free(cluster, async))) {
            chosen = async;
            *ret_before = before;
            if (!newest) {
                break;
            }
        }
        before = async;
    }
    return chosen;
}

/* Nothing happens before the first operation: let the time pass. False: there are lazy ones
 * only. */
static bool skip_to_first_due(struct emu_cluster *cluster, bool lazy)
{
    uint64_t first = UINT64_MAX;
    for (struct emu_async *async = cluster->pending; async != NULL; async = async->next) {
        if (async->due < first && (lazy || !async->lazy) &&
            (async->chain == 0 || chain_is_free(cluster, async))) {
            first = async->due;
        }
    }
    if (first != UINT64_MAX && first > cluster->now) {
        cluster->now = first;
    }
    return first != UINT64_MAX;
}

bool emu_async_step(struct emu_cluster *cluster, bool idle, bool *ret_ran)
{
    enum emu_async_mode mode = cluster->grid->launch.settings.async;
    *ret_ran = false;
    if (cluster->pending == NULL || (mode == EMU_ASYNC_LATEST && !idle)) {
        return true;
    }
    bool lazy = false;
    if (idle && mode != EMU_ASYNC_LATEST) {
        lazy = !skip_to_first_due(cluster, false) && skip_to_first_due(cluster, true);
        idle = false;
    }
    for (;;) {
        struct emu_async *before = NULL;
        struct emu_async *async = choose(cluster, idle, lazy, &before);
        if (async == NULL && mode == EMU_ASYNC_LATEST) {
            async = choose(cluster, idle, true, &before);
        }
        if (async == NULL) {
            return true;
        }
        *ret_ran = true;
        enum emu_async_result result = run_part(cluster, async);
        if (result != EMU_ASYNC_AGAIN) {
            unlink_async(cluster, before, async);
            free_async(async);
        }
        if (result == EMU_ASYNC_FAILED || idle || lazy) {
            return result != EMU_ASYNC_FAILED;
        }
    }
}

void emu_async_drop_all(struct emu_cluster *cluster)
{
    while (cluster->pending != NULL) {
        struct emu_async *async = cluster->pending;
        cluster->pending = async->next;
        free_async(async);
    }
    cluster->pending_last = NULL;
    cluster->pending_count = 0;
}
