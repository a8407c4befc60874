/* SPDX-License-Identifier: MIT */
/* The state of mbarriers and the rules of their operations. */
#include "async/mbarrier.h"

#include <string.h>

#include "async/state.h"
#include "exec/events.h"
#include "exec/memory.h"
#include "exec/timing.h"

static struct emu_mbarrier_table *table_of(struct emu_cta *cta)
{
    return &emu_async_of_cta(cta)->mbarriers;
}

/* Also those that were invalidated: their place keeps its agent. */
static struct emu_mbarrier *find_any(struct emu_cta *cta, uint32_t offset)
{
    const struct emu_mbarrier_table *table = table_of(cta);
    if (table->by_offset == NULL || offset >= cta->shared_bytes ||
        offset % EMU_MBARRIER_BYTES != 0) {
        return NULL;
    }
    uint32_t index = table->by_offset[offset / EMU_MBARRIER_BYTES];
    return index == 0 ? NULL : table->list[index - 1];
}

static struct emu_mbarrier *find_live(struct emu_cta *cta, uint32_t offset)
{
    struct emu_mbarrier *barrier = find_any(cta, offset);
    return barrier != NULL && barrier->live ? barrier : NULL;
}

/* The use comes after the initialisation. */
static void check_order(const struct emu_mbarrier_use *use,
                        const struct emu_mbarrier *barrier, const struct emu_view *known)
{
    if (known == NULL || !emu_checks_races(use->cta) ||
        emu_clock_get(&known->happened, barrier->agent) >= barrier->base) {
        return;
    }
    if (emu_clock_get(&known->met, barrier->agent) >= barrier->base) {
        /* Kernels that are known to run do it, with a barrier that they use much later. */
        emu_report(use->warp, use->insn, use->lane, EMU_ADVICE, EMU_FINDING_RACE,
                   "the mbarrier at shared offset %u of CTA %u is used, but between this "
                   "and its initialisation is only a relaxed barrier.cluster.arrive "
                   "without fence.mbarrier_init",
                   use->offset, use->cta->rank);
        emu_clock_raise(&use->warp->sync.view.happened, barrier->agent, barrier->base);
        return;
    }
    emu_report(
        use->warp, use->insn, use->lane, EMU_ERROR, EMU_FINDING_RACE,
        "the mbarrier at shared offset %u of CTA %u is used, but nothing orders this "
        "after its initialisation",
        use->offset, use->cta->rank);
}

struct emu_mbarrier *emu_mbarrier_use(const struct emu_mbarrier_use *use,
                                      const struct emu_view *known)
{
    /* Of a thread it was reported where its address was looked up. */
    if (use->cta->exited && use->lane == EMU_LANES) {
        emu_report_error(use->warp, use->insn, use->lane, EMU_FINDING_IN_FLIGHT,
                         "the mbarrier at shared offset %u of CTA %u is signalled, but "
                         "that CTA has exited",
                         use->offset, use->cta->rank);
        return NULL;
    }
    if (use->offset % EMU_MBARRIER_BYTES != 0) {
        emu_report_error(use->warp, use->insn, use->lane, EMU_FINDING_MISALIGNED,
                         "an mbarrier at shared offset %u, which is not a multiple of 8",
                         use->offset);
        return NULL;
    }
    struct emu_mbarrier *barrier = find_live(use->cta, use->offset);
    if (barrier == NULL) {
        emu_report_error(use->warp, use->insn, use->lane, EMU_FINDING_BARRIER,
                         "there is no initialised mbarrier at shared offset %u of CTA %u",
                         use->offset, use->cta->rank);
        return NULL;
    }
    check_order(use, barrier, known);
    return barrier;
}

static void note_event(const struct emu_mbarrier_use *use, struct emu_mbarrier *barrier,
                       enum emu_mbarrier_op op, uint32_t amount)
{
    barrier->events[barrier->event_count++ % EMU_MBARRIER_EVENTS] =
        (struct emu_mbarrier_event){.insn = use->insn,
                                    .cta = (uint16_t)use->warp->cta->rank,
                                    .warp = (uint16_t)use->warp->index,
                                    .op = (uint8_t)op,
                                    .amount = amount,
                                    .phase = barrier->phase};
    emu_note_write(use->warp);
}

/* The phase completes when all have arrived and all bytes have come. */
static bool test_phase(const struct emu_mbarrier_use *use, struct emu_mbarrier *barrier)
{
    if (barrier->pending != 0) {
        return true;
    }
    if (barrier->tx < 0) {
        return emu_mbarrier_error(use, barrier,
                                  "more bytes were delivered in this phase than expected");
    }
    if (barrier->tx > 0) {
        return true;
    }
    if (emu_is_timed(use->cta)) {
        barrier->released_at =
            emu_time_now(use->cta) + emu_time_chip(use->cta)->wake_latency;
    }
    barrier->phase++;
    barrier->pending = barrier->expected;
    barrier->observed = false;
    emu_end_lull(use->cta);
    if (emu_checks_races(use->cta)) {
        emu_clock_raise(&barrier->gathered.happened, barrier->agent,
                        barrier->base + (uint32_t)barrier->phase);
        emu_view_join(&barrier->released, &barrier->gathered);
    }
    return true;
}

/* --------------------------------------------------------------------------- lifetime */

static struct emu_mbarrier *make_place(struct emu_cta *cta, uint32_t offset)
{
    struct emu_mbarrier_table *table = table_of(cta);
    if (table->by_offset == NULL) {
        table->by_offset = emu_alloc((cta->shared_bytes / EMU_MBARRIER_BYTES + 1) *
                                     sizeof(*table->by_offset));
    }
    struct emu_mbarrier *barrier = emu_alloc(sizeof(*barrier));
    barrier->offset = offset;
    barrier->agent = emu_cluster_agent(cta->cluster);
    barrier->seen = emu_alloc(cta->warp_count * sizeof(*barrier->seen));
    EMU_GROW(table->list, table->count);
    table->list[table->count++] = barrier;
    table->by_offset[offset / EMU_MBARRIER_BYTES] = table->count;
    return barrier;
}

/* To other accesses, making and ending an mbarrier are writes of its 8 bytes. */
static bool write_place(const struct emu_mbarrier_use *use)
{
    static const unsigned char nothing[EMU_MBARRIER_BYTES];
    struct emu_actor actor = emu_actor_of_lane(use->warp, use->insn, use->lane);
    return emu_shared_write(&actor, use->cta, use->offset, EMU_MBARRIER_BYTES,
                            EMU_MBARRIER_BYTES, nothing, NULL);
}

bool emu_mbarrier_init(const struct emu_mbarrier_use *use, uint32_t count)
{
    struct emu_mbarrier *barrier = find_any(use->cta, use->offset);
    if (barrier != NULL && barrier->live) {
        return emu_mbarrier_error(use, barrier,
                                  "it is initialised while it is alive; mbarrier.inval "
                                  "must come first");
    }
    if (count < 1 || count > EMU_MBARRIER_MOST) {
        emu_report_error(use->warp, use->insn, use->lane, EMU_FINDING_BARRIER,
                         "an mbarrier for %u arrivals; legal are 1 to %u", count,
                         EMU_MBARRIER_MOST);
        return false;
    }
    if (!write_place(use)) {
        return false;
    }
    memset(use->cta->shared_state + use->offset, EMU_BARRIER, EMU_MBARRIER_BYTES);
    if (barrier == NULL) {
        barrier = make_place(use->cta, use->offset);
    }
    barrier->live = true;
    /* One beyond what data of a phase that never completed may carry. */
    barrier->base += (uint32_t)barrier->phase + 2;
    barrier->phase = 0;
    barrier->expected = barrier->pending = count;
    barrier->tx = 0;
    barrier->observed = true;
    memset(barrier->seen, 0, use->cta->warp_count * sizeof(*barrier->seen));
    emu_sync_init(&use->warp->sync, barrier->agent, barrier->base);
    barrier->maker = use->warp;
    barrier->made = ++use->warp->sync.inits_made;
    note_event(use, barrier, EMU_MBARRIER_INIT, count);
    return true;
}

bool emu_mbarrier_inval(const struct emu_mbarrier_use *use)
{
    struct emu_mbarrier *barrier = emu_mbarrier_use(use, &use->warp->sync.view);
    if (barrier == NULL) {
        return false;
    }
    barrier->live = false;
    memset(use->cta->shared_state + use->offset, EMU_UNDEFINED, EMU_MBARRIER_BYTES);
    bool good = write_place(use);
    memset(use->cta->shared_state + use->offset, EMU_UNDEFINED, EMU_MBARRIER_BYTES);
    emu_note_event(use->warp);
    return good;
}

void emu_mbarrier_table_free(struct emu_mbarrier_table *table)
{
    for (uint32_t i = 0; i < table->count; i++) {
        emu_view_free(&table->list[i]->gathered);
        emu_view_free(&table->list[i]->released);
        emu_free(table->list[i]->seen);
        emu_free(table->list[i]);
    }
    emu_free(table->list);
    emu_free(table->by_offset);
}

/* ------------------------------------------------------------------------- operations */

bool emu_mbarrier_expect(const struct emu_mbarrier_use *use, struct emu_mbarrier *barrier,
                         uint32_t bytes)
{
    if (barrier->tx + bytes > EMU_MBARRIER_MOST) {
        return emu_mbarrier_error(use, barrier, "expect_tx of %u bytes takes tx beyond %u",
                                  bytes, EMU_MBARRIER_MOST);
    }
    barrier->tx += bytes;
    note_event(use, barrier, EMU_MBARRIER_EXPECT_TX, bytes);
    return true;
}

bool emu_mbarrier_complete(const struct emu_mbarrier_use *use, struct emu_mbarrier *barrier,
                           uint32_t bytes)
{
    if (barrier->tx - (int64_t)bytes < -(int64_t)EMU_MBARRIER_MOST) {
        return emu_mbarrier_error(use, barrier,
                                  "complete_tx of %u bytes takes tx below -%u", bytes,
                                  EMU_MBARRIER_MOST);
    }
    barrier->tx -= (int64_t)bytes;
    note_event(use, barrier, EMU_MBARRIER_COMPLETE_TX, bytes);
    return test_phase(use, barrier);
}

bool emu_mbarrier_arrive(const struct emu_mbarrier_use *use, struct emu_mbarrier *barrier,
                         enum emu_mbarrier_op op, uint32_t count, bool may_complete)
{
    if (count < 1 || count > EMU_MBARRIER_MOST) {
        return emu_mbarrier_error(use, barrier, "an arrival of count %u; legal are 1 to %u",
                                  count, EMU_MBARRIER_MOST);
    }
    if (count > barrier->pending) {
        return emu_mbarrier_error(
            use, barrier, "%u arrive%s where %u are pending: more arrivals than expected",
            count, count == 1 ? "s" : "", barrier->pending);
    }
    if (op == EMU_MBARRIER_ARRIVE_DROP && count > barrier->expected) {
        return emu_mbarrier_error(use, barrier, "%u drop out where %u are expected", count,
                                  barrier->expected);
    }
    if (!barrier->observed) {
        /* Kernels that are known to run do this: consumers release a stage of another
         * CTA whose producer is late. */
        bool remote = use->cta != use->warp->cta;
        emu_mbarrier_warn(use, barrier, remote ? EMU_ADVICE : EMU_WARNING,
                          "an arrival for this phase, but nobody has waited successfully "
                          "for the phase before it");
    }
    if (op == EMU_MBARRIER_ARRIVE_DROP) {
        barrier->expected -= count;
    }
    barrier->pending -= count;
    note_event(use, barrier, op, count);
    if (!may_complete && barrier->pending == 0 && barrier->tx == 0) {
        return emu_mbarrier_error(use, barrier,
                                  "an arrival with .noComplete completes the phase");
    }
    return test_phase(use, barrier);
}

bool emu_mbarrier_add_pending(const struct emu_mbarrier_use *use,
                              struct emu_mbarrier *barrier)
{
    if (barrier->pending == EMU_MBARRIER_MOST) {
        return emu_mbarrier_error(use, barrier, "more than %u arrivals are pending",
                                  EMU_MBARRIER_MOST);
    }
    barrier->pending++;
    note_event(use, barrier, EMU_MBARRIER_COPY_PENDING, 1);
    return true;
}

/* ------------------------------------------------ on behalf of asynchronous operations */

/* The mbarrier for an operation of the async proxy, which sees an initialisation only
 * behind a fence. */
static struct emu_mbarrier *use_in_async_proxy(const struct emu_mbarrier_use *use,
                                               const struct emu_view *known)
{
    struct emu_mbarrier *barrier = emu_mbarrier_use(use, known);
    if (barrier == NULL || !emu_checks_races(use->cta) ||
        barrier->maker->sync.inits_published >= barrier->made) {
        return barrier;
    }
    emu_report(
        use->warp, use->insn, use->lane, EMU_ERROR, EMU_FINDING_PROXY_FENCE,
        "the mbarrier at shared offset %u of CTA %u is signalled by the async proxy, "
        "but after its initialisation there was neither fence.mbarrier_init nor "
        "fence.proxy.async",
        use->offset, use->cta->rank);
    return barrier;
}

bool emu_mbarrier_async_arrive(struct emu_warp *issuer, const struct emu_insn *insn,
                               struct emu_cta *cta, uint32_t offset,
                               const struct emu_view *view)
{
    const struct emu_mbarrier_use use = {issuer, insn, EMU_LANES, cta, offset};
    if (cta->exited && cta == issuer->cta) {
        /* The last commit of a ring, whose stage nobody fills again: kernels that are known
         * to run leave it so. */
        emu_report(
            issuer, insn, EMU_LANES, EMU_ADVICE, EMU_FINDING_IN_FLIGHT,
            "the CTA has exited before this arrives at its mbarrier at shared offset "
            "%u; nobody has waited for it",
            offset);
        return true;
    }
    struct emu_mbarrier *barrier = use_in_async_proxy(&use, view);
    if (barrier == NULL) {
        return false;
    }
    if (emu_checks_races(cta)) {
        emu_view_join(&barrier->gathered, view);
    }
    return emu_mbarrier_arrive(&use, barrier, EMU_MBARRIER_ASYNC_ARRIVE, 1, true);
}

bool emu_mbarrier_complete_tx(struct emu_warp *issuer, const struct emu_insn *insn,
                              struct emu_cta *cta, uint32_t offset, uint32_t bytes)
{
    const struct emu_mbarrier_use use = {issuer, insn, EMU_LANES, cta, offset};
    struct emu_mbarrier *barrier = use_in_async_proxy(&use, NULL);
    return barrier != NULL && emu_mbarrier_complete(&use, barrier, bytes);
}

bool emu_mbarrier_stamp(struct emu_warp *issuer, const struct emu_insn *insn,
                        struct emu_cta *cta, uint32_t offset, uint32_t *ret_agent,
                        uint32_t *ret_epoch)
{
    const struct emu_mbarrier_use use = {issuer, insn, EMU_LANES, cta, offset};
    struct emu_mbarrier *barrier = emu_mbarrier_use(&use, NULL);
    if (barrier == NULL) {
        return false;
    }
    *ret_agent = barrier->agent;
    *ret_epoch = barrier->base + (uint32_t)barrier->phase + 1;
    return true;
}

/* ------------------------------------------------------------------------------ reports */

void emu_mbarriers_cta_exited(struct emu_cta *cta)
{
    const struct emu_mbarrier_table *table = &emu_async_of_cta(cta)->mbarriers;
    for (uint32_t i = 0; i < table->count; i++) {
        const struct emu_mbarrier *barrier = table->list[i];
        bool resting = barrier->pending == barrier->expected && barrier->tx == 0;
        if (!barrier->live || resting || barrier->event_count == 0) {
            continue;
        }
        unsigned last = (barrier->event_count - 1) % EMU_MBARRIER_EVENTS;
        const struct emu_mbarrier_use use = {&cta->warps[0], barrier->events[last].insn,
                                             EMU_LANES, cta, barrier->offset};
        emu_mbarrier_warn(&use, barrier, EMU_WARNING,
                          "the CTA has exited in the middle of a phase");
    }
}

bool emu_mbarrier_describe_wait(struct emu_warp *warp, const struct emu_insn *insn,
                                struct emu_text *text)
{
    const struct emu_async_warp *state = emu_async_of_warp(warp);
    if (state->waited_at != insn) {
        return false;
    }
    const struct emu_mbarrier *barrier = find_live(warp->cta, state->waited_offset);
    if (barrier == NULL) {
        return false;
    }
    emu_text_add(text, "waits for ");
    emu_mbarrier_describe(warp->cta, barrier, text);
    return true;
}
