/* SPDX-License-Identifier: MIT */
/* The life of what async/ keeps, and what is checked when lanes and CTAs exit. */
#include "async/knowledge.h"
#include "async/state.h"

void emu_async_attach_cluster(struct emu_cluster *cluster)
{
    cluster->async_state = emu_alloc(sizeof(struct emu_async_cluster));
}

void emu_async_attach_cta(struct emu_cta *cta)
{
    cta->async_state = emu_alloc(sizeof(struct emu_async_cta));
}

/* Registers are given out in steps of 8 a thread. */
void emu_async_attach_warp(struct emu_warp *warp)
{
    struct emu_async_warp *state = emu_alloc(sizeof *state);
    unsigned registers = emu_launch_of(warp->cta)->registers_per_thread;
    state->registers = (uint32_t)emu_align_up(registers, 8);
    warp->async_state = state;
}

void emu_async_detach_warp(struct emu_warp *warp)
{
    struct emu_async_warp *state = emu_async_of_warp(warp);
    if (state == NULL) {
        return;
    }
    for (unsigned scope = 0; scope < EMU_SCOPES; scope++) {
        emu_published_leave(state->fenced[scope]);
        emu_knowledge_free(&state->seen_relaxed[scope]);
    }
    emu_knowledge_free(&state->inits);
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
        emu_groups_free(state->copies[lane]);
        emu_groups_free(state->bulk[lane]);
    }
    emu_copy_arrivals_free(state->copy_arrivals);
    emu_free(state);
    warp->async_state = NULL;
}

void emu_async_detach_cta(struct emu_cta *cta)
{
    struct emu_async_cta *state = emu_async_of_cta(cta);
    if (state == NULL) {
        return;
    }
    emu_mbarrier_table_free(&state->mbarriers);
    emu_clock_free(&state->leaving);
    emu_clock_free(&state->left);
    for (unsigned i = 0; i < EMU_NAMED_BARRIERS; i++) {
        emu_knowledge_free(&state->named[i].gathered);
    }
    emu_maps_detach_cta(cta);
    emu_free(state);
    cta->async_state = NULL;
}

void emu_async_detach_cluster(struct emu_cluster *cluster)
{
    struct emu_async_cluster *state = emu_async_of_cluster(cluster);
    if (state == NULL) {
        return;
    }
    emu_knowledge_free(&state->gathered);
    emu_knowledge_free(&state->released);
    emu_clock_free(&state->inits_leaving);
    emu_clock_free(&state->inits_left);
    emu_maps_detach_cluster(cluster);
    emu_free(state);
    cluster->async_state = NULL;
}

/* ------------------------------------------------------------------------------- exits */

void emu_async_lanes_exited(struct emu_warp *warp, uint32_t lanes, bool warp_done)
{
    (void)lanes;
    (void)warp_done;
    emu_named_barriers_exited(warp);
    emu_cluster_barrier_exited(warp);
}

/*
 * Stores that nobody waited for read the shared memory of a CTA that is gone. Hardware
 * keeps it for them, as kernels that are known to run need it; nothing promises that.
 */
static void check_stores(struct emu_warp *warp)
{
    const struct emu_async_warp *state = emu_async_of_warp(warp);
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
        const struct emu_lane_groups *groups = state->bulk[lane];
        if (groups != NULL && groups->read_awaited < groups->ops) {
            emu_report(warp, groups->last_insn, lane, EMU_ADVICE, EMU_FINDING_IN_FLIGHT,
                       "the CTA has exited without cp.async.bulk.wait_group.read for this "
                       "copy, which may still read its shared memory");
        }
    }
}

bool emu_async_cta_exited(struct emu_cta *cta)
{
    struct emu_async_cta *state = emu_async_of_cta(cta);
    emu_mbarriers_cta_exited(cta);
    if (!state->allowed_dependents) {
        state->allowed_dependents = true;
        emu_dependents_allowed(cta->cluster->grid, 1);
    }
    bool good = emu_registers_cta_exited(cta);
    for (unsigned i = 0; i < cta->warp_count; i++) {
        check_stores(&cta->warps[i]);
    }
    return good;
}

void emu_async_describe_wait(struct emu_warp *warp, const struct emu_insn *insn,
                             struct emu_text *text)
{
    if (!emu_mbarrier_describe_wait(warp, insn, text) &&
        !emu_named_barriers_describe(warp, insn, text) &&
        !emu_cluster_barrier_describe(warp, insn, text) &&
        !emu_groups_describe(warp, insn, text)) {
        emu_registers_describe(warp, insn, text);
    }
}
