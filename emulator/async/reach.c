/* SPDX-License-Identifier: MIT */
#include "async/reach.h"

#include <string.h>

#include "async/state.h"
#include "check/lane_agents.h"
#include "exec/async.h"
#include "exec/timing.h"

/* -------------------------------------------------------------------- who knows of whom */

/* Takes the lanes away whose actions up to `epoch` the clock has. */
static void take_known(const struct emu_clock *clock, const struct emu_warp *who,
                       uint32_t epoch, uint32_t *lanes)
{
    if (emu_clock_get(clock, who->sync.agent) >= epoch) {
        *lanes = 0;
        return;
    }
    const uint32_t *agents =
        who->sync.lane_agents == NULL
            ? NULL
            : emu_lane_agents_find(*who->sync.lane_agents, who->sync.agent);
    for (uint32_t rest = agents == NULL ? 0 : *lanes; rest != 0; rest &= rest - 1) {
        const unsigned lane = emu_lowest_bit(rest);
        if (agents[lane] != 0 && emu_clock_get(clock, agents[lane]) >= epoch) {
            *lanes &= ~(1u << lane);
        }
    }
}

/* Some warp of the CTA knows what these lanes did. A relaxed wait, or an arrival whose
 * scope does not reach here, hands over no data and tells enough. */
static bool is_known(const struct emu_cta *cta, const struct emu_reach *reach)
{
    const struct emu_warp *who = reach->warp;
    const uint32_t epoch = reach->epoch;
    uint32_t lanes = reach->lanes;
    for (unsigned i = 0; i < cta->warp_count && lanes != 0; i++) {
        const struct emu_sync *sync = &cta->warps[i].sync;
        take_known(&sync->view.happened, who, epoch, &lanes);
        take_known(&sync->view.signalled, who, epoch, &lanes);
        for (unsigned scope = EMU_SCOPE_CTA; scope < EMU_SCOPES; scope++) {
            take_known(&sync->seen_relaxed[scope].happened, who, epoch, &lanes);
        }
    }
    return lanes == 0 || (reach->any && lanes != reach->lanes);
}

/* A warp of the CTA has waited at the cluster's barrier for what the other warp did when it
 * came to it relaxed, behind that. */
static bool has_met_since(const struct emu_cta *cta, const struct emu_warp *who,
                          uint32_t epoch)
{
    const struct emu_async_warp *other = emu_async_of_warp(who);
    uint64_t waited = 0;
    for (unsigned i = 0; i < cta->warp_count; i++) {
        const uint64_t own = emu_async_of_warp(&cta->warps[i])->waited_phase;
        waited = own > waited ? own : waited;
    }
    bool met = false;
    for (unsigned i = 0; i < 2; i++) {
        met |= other->left_phase[i] > 0 && other->left_phase[i] <= waited &&
               other->left_epoch[i] >= epoch;
    }
    return met;
}

/* What kernels that are known to run leave to a relaxed barrier is advice. */
static enum emu_severity severity_of(const struct emu_cta *cta,
                                     const struct emu_reach *reach)
{
    return has_met_since(cta, reach->warp, reach->epoch) ? EMU_ADVICE : EMU_ERROR;
}

void emu_reaches_cta_exited(struct emu_cta *cta)
{
    for (unsigned i = 0; cta->reaches != NULL && i < cta->reaches->count; i++) {
        const struct emu_reach *reach = &cta->reaches->list[i];
        if (is_known(cta, reach)) {
            continue;
        }
        emu_report(reach->warp, reach->insn, emu_lowest_bit(reach->lanes),
                   severity_of(cta, reach), EMU_FINDING_EXITED_CTA,
                   "shared memory of CTA %u, which has exited since: nothing told it that "
                   "this was over; it must wait for an arrival behind this, or for a "
                   "barrier of the cluster, before its end",
                   cta->rank);
    }
}

/* ---------------------------------------------------------------------- arrivals on the
 * way */

static void free_arrival(struct emu_async *async)
{
    struct emu_remote_arrival *arrival = (void *)async->payload;
    emu_view_free(&arrival->gathered);
}

static enum emu_async_result run_arrival(struct emu_async *async)
{
    struct emu_remote_arrival *arrival = (void *)async->payload;
    struct emu_cta *cta = arrival->cta;
    if (cta->exited) {
        if (emu_checks_races(cta) && !is_known(cta, &arrival->behind)) {
            emu_report(async->warp, async->insn, async->lane,
                       severity_of(cta, &arrival->behind), EMU_FINDING_EXITED_CTA,
                       "an arrival at the mbarrier at shared offset %u of CTA %u comes "
                       "when that CTA has exited; it must wait for it, or for a barrier "
                       "of the cluster, before its end",
                       arrival->offset, cta->rank);
        }
        return EMU_ASYNC_DONE;
    }
    const struct emu_mbarrier_use use = {async->warp, async->insn, async->lane, cta,
                                         arrival->offset};
    struct emu_mbarrier *barrier = emu_mbarrier_use(&use, NULL);
    if (barrier == NULL) {
        return EMU_ASYNC_FAILED;
    }
    if (emu_checks_races(cta)) {
        emu_view_join(&barrier->gathered, &arrival->gathered);
    }
    for (unsigned i = 0; i < arrival->count; i++) {
        if ((arrival->expects[i] > 0 &&
             !emu_mbarrier_expect(&use, barrier, arrival->expects[i])) ||
            !emu_mbarrier_arrive(&use, barrier, arrival->op, arrival->counts[i],
                                 arrival->may_complete)) {
            return EMU_ASYNC_FAILED;
        }
    }
    return EMU_ASYNC_DONE;
}

bool emu_remote_arrive(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                       const struct emu_remote_arrival *arrival)
{
    struct emu_async *async =
        emu_async_new(warp, insn, lane, sizeof(*arrival), run_arrival);
    memcpy(async->payload, arrival, sizeof(*arrival));
    async->destroy = free_arrival;
    if (emu_is_timed(warp->cta)) {
        async->at[0] = emu_time_reach(warp->cta, arrival->cta, arrival->count, 0);
    }
    return emu_async_submit(async, 0);
}
