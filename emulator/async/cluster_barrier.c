/* SPDX-License-Identifier: MIT */
/* barrier.cluster, and addresses in other CTAs: mapa, getctarank. */
#include <inttypes.h>

#include "async/opcodes.h"
#include "async/operand.h"
#include "async/state.h"
#include "exec/events.h"
#include "exec/timing.h"

enum { RELAXED = 1 }; /* insn->mode of barrier.cluster */

/* Every thread of the cluster that has not exited must arrive. */
static void test_barrier(struct emu_cluster *cluster)
{
    struct emu_async_cluster *state = emu_async_of_cluster(cluster);
    uint32_t arrived = 0;
    for (unsigned i = 0; i < cluster->cta_count; i++) {
        for (unsigned j = 0; j < cluster->ctas[i].warp_count; j++) {
            const struct emu_warp *warp = &cluster->ctas[i].warps[j];
            uint32_t lanes = emu_async_of_warp(warp)->cluster_arrived;
            if ((warp->live & ~lanes) != 0) {
                return;
            }
            arrived |= lanes;
        }
    }
    if (arrived == 0) {
        return;
    }
    for (unsigned i = 0; i < cluster->cta_count; i++) {
        for (unsigned j = 0; j < cluster->ctas[i].warp_count; j++) {
            emu_async_of_warp(&cluster->ctas[i].warps[j])->cluster_arrived = 0;
        }
    }
    state->phase++;
    if (emu_is_timed(&cluster->ctas[0])) {
        state->released_at = emu_time_now(&cluster->ctas[0]) +
                             emu_time_chip(&cluster->ctas[0])->cluster_barrier_latency;
    }
    emu_view_join(&state->released, &state->gathered);
    emu_clock_join(&state->inits_left, &state->inits_leaving);
    for (unsigned i = 0; i < cluster->cta_count; i++) {
        struct emu_async_cta *cta = emu_async_of_cta(&cluster->ctas[i]);
        emu_clock_join(&cta->left, &cta->leaving);
        emu_end_lull(&cluster->ctas[i]);
    }
    cluster->events++;
}

static enum emu_step exec_arrive(struct emu_warp *warp, const struct emu_insn *insn,
                                 uint32_t lanes)
{
    struct emu_async_warp *state = emu_async_of_warp(warp);
    struct emu_async_cluster *cluster = emu_async_of_cluster(warp->cta->cluster);
    if ((state->cluster_arrived & lanes) != 0) {
        return emu_report_error(warp, insn, emu_lowest_bit(state->cluster_arrived & lanes),
                                EMU_FINDING_BARRIER,
                                "a second arrival at the cluster's barrier before its "
                                "phase %" PRIu64 " has completed",
                                cluster->phase);
    }
    if ((state->cluster_unwaited & lanes) != 0) {
        emu_report(warp, insn, emu_lowest_bit(state->cluster_unwaited & lanes), EMU_WARNING,
                   EMU_FINDING_BARRIER,
                   "an arrival at the cluster's barrier without a wait for the one before");
    }
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        state->cluster_phase[emu_lowest_bit(rest)] = cluster->phase;
    }
    state->left_epoch[1] = state->left_epoch[0];
    state->left_phase[1] = state->left_phase[0];
    state->left_epoch[0] = warp->sync.epoch;
    state->left_phase[0] = cluster->phase + 1;
    state->cluster_arrived |= lanes;
    state->cluster_unwaited |= lanes;
    if ((insn->mode & RELAXED) != 0) {
        emu_sync_release_relaxed(&warp->sync, EMU_SCOPE_CLUSTER, &cluster->gathered);
        emu_sync_leave(&warp->sync, &emu_async_of_cta(warp->cta)->leaving,
                       &cluster->inits_leaving);
    } else {
        emu_sync_release(&warp->sync, lanes, &cluster->gathered);
    }
    emu_note_write(warp);
    test_barrier(warp->cta->cluster);
    return EMU_NEXT;
}

static enum emu_step exec_wait(struct emu_warp *warp, const struct emu_insn *insn,
                               uint32_t lanes)
{
    struct emu_async_warp *state = emu_async_of_warp(warp);
    const struct emu_async_cluster *cluster = emu_async_of_cluster(warp->cta->cluster);
    if ((lanes & ~state->cluster_unwaited) != 0) {
        return emu_report_error(
            warp, insn, emu_lowest_bit(lanes & ~state->cluster_unwaited),
            EMU_FINDING_BARRIER, "a wait at the cluster's barrier without an arrival");
    }
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        if (state->cluster_phase[emu_lowest_bit(rest)] >= cluster->phase) {
            return EMU_BLOCKED;
        }
    }
    state->cluster_unwaited &= ~lanes;
    state->waited_phase = cluster->phase;
    warp->cta->has_met_cluster = true;
    emu_time_raise(warp, cluster->released_at, EMU_STALL_CLUSTER_BARRIER);
    emu_sync_acquire(&warp->sync, &cluster->released);
    emu_sync_meet(&warp->sync, &emu_async_of_cta(warp->cta)->left);
    emu_sync_meet(&warp->sync, &cluster->inits_left);
    return EMU_NEXT;
}

void emu_cluster_barrier_exited(struct emu_warp *warp)
{
    test_barrier(warp->cta->cluster);
}

bool emu_cluster_barrier_describe(struct emu_warp *warp, const struct emu_insn *insn,
                                  struct emu_text *text)
{
    if (insn->exec != exec_wait) {
        return false;
    }
    const struct emu_cluster *cluster = warp->cta->cluster;
    emu_text_add(text, "waits at the cluster's barrier, phase %" PRIu64 "; missing:",
                 emu_async_of_cluster(cluster)->phase);
    for (unsigned i = 0; i < cluster->cta_count; i++) {
        for (unsigned j = 0; j < cluster->ctas[i].warp_count; j++) {
            const struct emu_warp *other = &cluster->ctas[i].warps[j];
            uint32_t missing = other->live & ~emu_async_of_warp(other)->cluster_arrived;
            if (missing != 0) {
                emu_text_add(text, " CTA %u warp %u lanes %08x", i, j, missing);
            }
        }
    }
    return true;
}

bool emu_decode_cluster_arrive(struct emu_decoder *decoder)
{
    static const char *const sems[] = {"release", "relaxed"};
    decoder->insn->exec = exec_arrive;
    decoder->insn->mode = emu_take_one_of(decoder, sems, 2) == 1 ? RELAXED : 0;
    return emu_need_operands(decoder, 0, 0);
}

bool emu_decode_cluster_wait(struct emu_decoder *decoder)
{
    decoder->insn->exec = exec_wait;
    emu_take(decoder, "acquire");
    return emu_need_operands(decoder, 0, 0);
}

/* ----------------------------------------------------------------- other CTAs' addresses
 */

/* src[0]: address, src[1]: rank. The same bits hold the rank of a shared address and of a
 * generic one. */
static enum emu_step exec_mapa(struct emu_warp *warp, const struct emu_insn *insn,
                               uint32_t lanes)
{
    if (!emu_need_defined(warp, insn, lanes, insn->src[0], "address") ||
        !emu_need_defined(warp, insn, lanes, insn->src[1], "rank of the CTA")) {
        return EMU_FAILED;
    }
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        unsigned lane = emu_lowest_bit(rest);
        uint64_t rank = warp->r[insn->src[1]][lane];
        uint64_t address = warp->r[insn->src[0]][lane];
        if (emu_cluster_cta(warp->cta->cluster, (uint32_t)rank) == NULL) {
            return emu_report_error(warp, insn, lane, EMU_FINDING_OUT_OF_BOUNDS,
                                    "CTA %" PRIu64 " of a cluster of %u", rank,
                                    warp->cta->cluster->cta_count);
        }
        uint64_t kept = address & (EMU_WINDOW_MASK | EMU_SHARED_OFFSET_MASK);
        emu_set(warp, insn->dst, lane, kept | rank << EMU_SHARED_RANK_SHIFT);
    }
    return EMU_NEXT;
}

static enum emu_step exec_getctarank(struct emu_warp *warp, const struct emu_insn *insn,
                                     uint32_t lanes)
{
    if (!emu_need_defined(warp, insn, lanes, insn->src[0], "address")) {
        return EMU_FAILED;
    }
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        unsigned lane = emu_lowest_bit(rest);
        uint64_t address = warp->r[insn->src[0]][lane];
        emu_set(warp, insn->dst, lane, (uint32_t)address >> EMU_SHARED_RANK_SHIFT);
    }
    return EMU_NEXT;
}

static bool decode_address(struct emu_decoder *decoder, unsigned operands)
{
    static const char *const types[] = {"u32", "u64"};
    struct emu_insn *insn = decoder->insn;
    emu_take(decoder, "shared::cluster");
    int type = emu_take_one_of(decoder, types, 2);
    if (type < 0) {
        return emu_decode_fail(decoder, "one of .u32, .u64 is missing");
    }
    return emu_need_operands(decoder, operands, operands) &&
           emu_operand_dst(decoder, emu_operand(decoder, 0), &insn->dst) &&
           (insn->dst != EMU_NO_SLOT || emu_decode_fail(decoder, "it has no result")) &&
           emu_operand_value(decoder, 1, type == 0 ? 32 : 64, &insn->src[0]);
}

bool emu_decode_mapa(struct emu_decoder *decoder)
{
    decoder->insn->exec = exec_mapa;
    return decode_address(decoder, 3) &&
           emu_operand_value(decoder, 2, 32, &decoder->insn->src[1]);
}

bool emu_decode_getctarank(struct emu_decoder *decoder)
{
    decoder->insn->exec = exec_getctarank;
    return decode_address(decoder, 2);
}
