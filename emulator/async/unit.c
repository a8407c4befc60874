/* SPDX-License-Identifier: MIT */
/* The unit of this folder: its instructions, the life of its state, and what is checked
 * when lanes and CTAs exit. */
#include "async/unit.h"

#include "async/opcodes.h"
#include "async/reach.h"
#include "async/state.h"

/* ------------------------------------------------------------------------ instructions */

static const struct emu_opcode sync_opcodes[] = {
    {"bar", emu_decode_barrier},
    {"barrier", emu_decode_barrier},
    {"barrier.cluster.arrive", emu_decode_cluster_arrive},
    {"barrier.cluster.wait", emu_decode_cluster_wait},
    {"clusterlaunchcontrol.query_cancel", emu_decode_launch_query},
    {"clusterlaunchcontrol.try_cancel", emu_decode_launch_cancel},
    {"fence", emu_decode_fence},
    {"fence.mbarrier_init", emu_decode_init_fence},
    {"fence.proxy", emu_decode_proxy_fence},
    {"getctarank", emu_decode_getctarank},
    {"griddepcontrol", emu_decode_grid_control},
    {"mapa", emu_decode_mapa},
    {"mbarrier.arrive", emu_decode_mbarrier_arrive},
    {"mbarrier.arrive_drop", emu_decode_mbarrier_arrive_drop},
    {"mbarrier.complete_tx", emu_decode_mbarrier_complete_tx},
    {"mbarrier.expect_tx", emu_decode_mbarrier_expect_tx},
    {"mbarrier.init", emu_decode_mbarrier_init},
    {"mbarrier.inval", emu_decode_mbarrier_inval},
    {"mbarrier.pending_count", emu_decode_mbarrier_pending_count},
    {"mbarrier.test_wait", emu_decode_mbarrier_test_wait},
    {"mbarrier.try_wait", emu_decode_mbarrier_try_wait},
    {"membar", emu_decode_membar},
    {"membar.proxy", emu_decode_proxy_fence},
    {"setmaxnreg", emu_decode_registers},
    {NULL, NULL},
};

static const struct emu_opcode copy_opcodes[] = {
    {"cp.async", emu_decode_copy},
    {"cp.async.bulk", emu_decode_bulk_copy},
    {"cp.async.bulk.commit_group", emu_decode_bulk_commit},
    {"cp.async.bulk.prefetch", emu_decode_bulk_prefetch},
    {"cp.async.bulk.prefetch.tensor", emu_decode_tensor_prefetch},
    {"cp.async.bulk.tensor", emu_decode_tensor_copy},
    {"cp.async.bulk.wait_group", emu_decode_bulk_wait},
    {"cp.async.commit_group", emu_decode_copy_commit},
    {"cp.async.mbarrier.arrive", emu_decode_copy_arrive},
    {"cp.async.wait_all", emu_decode_copy_wait_all},
    {"cp.async.wait_group", emu_decode_copy_wait},
    {"cp.reduce.async.bulk", emu_decode_bulk_reduce},
    {"cp.reduce.async.bulk.tensor", emu_decode_tensor_reduce},
    {"prefetch.tensormap", emu_decode_map_prefetch},
    {"red.async", emu_decode_async_reduce},
    {"st.async", emu_decode_async_store},
    {"tensormap.cp_fenceproxy", emu_decode_map_copy},
    {"tensormap.replace", emu_decode_map_replace},
    {NULL, NULL},
};

static const struct emu_opcode *const opcodes[] = {sync_opcodes, copy_opcodes, NULL};

/* -------------------------------------------------------------------------------- life */

static void attach_cluster(struct emu_cluster *cluster)
{
    cluster->async_state = emu_alloc(sizeof(struct emu_async_cluster));
}

static void attach_cta(struct emu_cta *cta)
{
    cta->async_state = emu_alloc(sizeof(struct emu_async_cta));
}

/* Registers are given out in steps of 8 per thread. */
static void attach_warp(struct emu_warp *warp)
{
    struct emu_async_warp *state = emu_alloc(sizeof(*state));
    unsigned registers = emu_launch_of(warp->cta)->registers_per_thread;
    state->registers = (uint32_t)emu_align_up(registers, 8);
    warp->async_state = state;
}

static void detach_warp(struct emu_warp *warp)
{
    struct emu_async_warp *state = emu_async_of_warp(warp);
    if (state == NULL) {
        return;
    }
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
        emu_groups_free(state->copies[lane]);
        emu_groups_free(state->bulk[lane]);
    }
    emu_copy_arrivals_free(state->copy_arrivals);
    emu_free(state);
    warp->async_state = NULL;
}

static void detach_cta(struct emu_cta *cta)
{
    struct emu_async_cta *state = emu_async_of_cta(cta);
    if (state == NULL) {
        return;
    }
    emu_mbarrier_table_free(&state->mbarriers);
    emu_clock_free(&state->leaving);
    emu_clock_free(&state->left);
    for (unsigned i = 0; i < EMU_NAMED_BARRIERS; i++) {
        emu_view_free(&state->named[i].gathered);
    }
    emu_maps_detach_cta(cta);
    emu_free(state);
    cta->async_state = NULL;
}

static void detach_cluster(struct emu_cluster *cluster)
{
    struct emu_async_cluster *state = emu_async_of_cluster(cluster);
    if (state == NULL) {
        return;
    }
    emu_view_free(&state->gathered);
    emu_view_free(&state->released);
    emu_clock_free(&state->inits_leaving);
    emu_clock_free(&state->inits_left);
    emu_free(state);
    cluster->async_state = NULL;
}

/* ------------------------------------------------------------------------------- exits */

static void lanes_exited(struct emu_warp *warp)
{
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

static bool cta_exited(struct emu_cta *cta)
{
    struct emu_async_cta *state = emu_async_of_cta(cta);
    emu_mbarriers_cta_exited(cta);
    emu_reaches_cta_exited(cta);
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

static void describe_wait(struct emu_warp *warp, const struct emu_insn *insn,
                          struct emu_text *text)
{
    if (!emu_mbarrier_describe_wait(warp, insn, text) &&
        !emu_named_barriers_describe(warp, insn, text) &&
        !emu_cluster_barrier_describe(warp, insn, text) &&
        !emu_groups_describe(warp, insn, text)) {
        emu_registers_describe(warp, insn, text);
    }
}

const struct emu_unit emu_async_unit = {
    .opcodes = opcodes,
    .attach_cluster = attach_cluster,
    .attach_cta = attach_cta,
    .attach_warp = attach_warp,
    .detach_cluster = detach_cluster,
    .detach_cta = detach_cta,
    .detach_warp = detach_warp,
    .lanes_exited = lanes_exited,
    .cta_exited = cta_exited,
    .describe_wait = describe_wait,
};
