/* SPDX-License-Identifier: MIT */
/*
 * clusterlaunchcontrol: a running cluster asks for the place of one that was not launched
 * yet, and does its work.
 */
#include <string.h>

#include "async/opcodes.h"
#include "async/operand.h"
#include "async/state.h"
#include "exec/async.h"
#include "exec/timing.h"

#define RESPONSE_BYTES 16u

/* The response: ctaid x, y, z of the cancelled cluster's first CTA, and what happened. */
#define RESPONSE_CANCELLED 0xC1C50001u
#define RESPONSE_REFUSED   0xC1C50000u

struct cancel_insn {
    struct emu_address response, barrier;
    bool multicast;
};

struct cancel_op {
    uint32_t offset, barrier_offset;
    uint32_t response[4];
};

/* ------------------------------------------------------------------------- cancelling */

/* Takes the next cluster out of the queue, if one is left and the request is not refused.
 */
static void decide(struct emu_cluster *cluster, uint32_t *ret_response)
{
    struct emu_grid *grid = cluster->grid;
    const struct emu_launch *launch = &grid->launch;
    bool refused = launch->settings.refuse != 0 &&
                   emu_random_below(&cluster->random, 100) < launch->settings.refuse;
    uint64_t index = 0;
    bool taken = !refused && emu_queue_take(grid, cluster->queue, &index);
    memset(ret_response, 0, RESPONSE_BYTES);
    ret_response[3] = taken ? RESPONSE_CANCELLED : RESPONSE_REFUSED;
    if (!taken) {
        return;
    }
    for (unsigned i = 0; i < 3; i++) {
        ret_response[i] = (uint32_t)(index % grid->cluster_grid[i]) * launch->cluster[i];
        index /= grid->cluster_grid[i];
    }
    emu_dependents_allowed(grid, cluster->cta_count);
}

static bool respond(const struct emu_async *async, const struct cancel_op *op,
                    struct emu_cta *cta)
{
    struct emu_actor actor = {.warp = async->warp,
                              .insn = async->insn,
                              .lane = EMU_LANES,
                              .proxy = EMU_PROXY_ASYNC,
                              .view = &async->view};
    return emu_mbarrier_stamp(async->warp, async->insn, cta, op->barrier_offset,
                              &actor.agent, &actor.epoch) &&
           emu_shared_write(&actor, cta, op->offset, RESPONSE_BYTES, RESPONSE_BYTES,
                            op->response, NULL) &&
           emu_mbarrier_complete_tx(async->warp, async->insn, cta, op->barrier_offset,
                                    RESPONSE_BYTES);
}

/* With multicast, the CTAs get the response one after the other. */
static enum emu_async_result run_cancel(struct emu_async *async)
{
    const struct cancel_insn *form = async->insn->extra;
    struct emu_cluster *cluster = async->warp->cta->cluster;
    struct cancel_op *op = (struct cancel_op *)(void *)async->payload;
    unsigned count = form->multicast ? cluster->cta_count : 1;
    if (async->part == 0) {
        decide(cluster, op->response);
    }
    struct emu_cta *cta =
        form->multicast ? emu_cluster_cta(cluster, async->part) : async->warp->cta;
    if (!respond(async, op, cta)) {
        return EMU_ASYNC_FAILED;
    }
    return async->part + 1 < count ? EMU_ASYNC_AGAIN : EMU_ASYNC_DONE;
}

static bool check_receivers(struct emu_warp *warp, const struct emu_insn *insn,
                            unsigned lane, const struct cancel_op *op)
{
    const struct cancel_insn *form = insn->extra;
    struct emu_cluster *cluster = warp->cta->cluster;
    for (unsigned i = 0; i < cluster->cta_count; i++) {
        struct emu_cta *cta = &cluster->ctas[i];
        if (!form->multicast && cta != warp->cta) {
            continue;
        }
        const struct emu_mbarrier_use use = {warp, insn, lane, cta, op->barrier_offset};
        if (emu_mbarrier_use(&use, &warp->sync.view) == NULL) {
            return false;
        }
    }
    return true;
}

static bool cancel_lane(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane)
{
    const struct cancel_insn *form = insn->extra;
    struct cancel_op op = {0};
    const struct emu_cta *cta =
        emu_address_shared(warp, insn, lane, &form->response, "response", &op.offset);
    const struct emu_cta *barrier_cta =
        cta == NULL ? NULL
                    : emu_address_shared(warp, insn, lane, &form->barrier, "mbarrier",
                                         &op.barrier_offset);
    if (barrier_cta == NULL) {
        return false;
    }
    if (cta != warp->cta || barrier_cta != warp->cta) {
        emu_report_error(warp, insn, lane, EMU_FINDING_ILLEGAL,
                         "response and mbarrier must be in the own CTA");
        return false;
    }
    if (op.offset % RESPONSE_BYTES != 0) {
        emu_report_error(warp, insn, lane, EMU_FINDING_MISALIGNED,
                         "the response's shared offset %u is not a multiple of 16",
                         op.offset);
        return false;
    }
    if (emu_async_of_cta(warp->cta)->saw_refusal) {
        emu_report_error(warp, insn, lane, EMU_FINDING_ILLEGAL,
                         "another request after this CTA has seen one refused");
        return false;
    }
    if (!check_receivers(warp, insn, lane, &op)) {
        return false;
    }
    struct emu_async *async = emu_async_new(warp, insn, lane, sizeof(op), run_cancel);
    memcpy(async->payload, &op, sizeof(op));
    emu_sync_publish(&warp->sync, 1u << lane, &async->view);
    if (emu_is_timed(warp->cta)) {
        async->at[0] = emu_time_now(warp->cta) + emu_time_chip(warp->cta)->cancel_latency;
    }
    return emu_async_submit(async, 0);
}

static enum emu_step exec_cancel(struct emu_warp *warp, const struct emu_insn *insn,
                                 uint32_t lanes)
{
    if (emu_count_bits(lanes) > 1) {
        emu_report(warp, insn, EMU_LANES, EMU_WARNING, EMU_FINDING_ILLEGAL,
                   "the request is issued by %u lanes, and made %u times",
                   emu_count_bits(lanes), emu_count_bits(lanes));
    }
    return emu_each_lane(warp, insn, lanes, cancel_lane);
}

bool emu_decode_launch_cancel(struct emu_decoder *decoder)
{
    struct cancel_insn *form = emu_decode_alloc(decoder, sizeof(*form));
    decoder->insn->exec = exec_cancel;
    decoder->insn->extra = form;
    if (!emu_take(decoder, "async") || !emu_take(decoder, "b128") ||
        !emu_take(decoder, "mbarrier::complete_tx::bytes")) {
        return emu_decode_fail(decoder,
                               "it must be .async.mbarrier::complete_tx::bytes.b128");
    }
    form->multicast = emu_take(decoder, "multicast::cluster::all");
    enum emu_space space =
        emu_take(decoder, "shared::cta") ? EMU_SPACE_SHARED : EMU_SPACE_GENERIC;
    return emu_need_operands(decoder, 2, 2) &&
           emu_take_address(decoder, 0, space, &form->response) &&
           emu_take_address(decoder, 1, space, &form->barrier);
}

/* ---------------------------------------------------------------------------- querying */

/* insn->mode: what is asked for. */
enum { IS_CANCELED, FIRST_CTAID, CTAID_X, CTAID_Y, CTAID_Z };

/* src[0], src[0] + 1: the response's slots, low half first. */
static bool get_response(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                         uint32_t *ret_response)
{
    for (unsigned i = 0; i < 2; i++) {
        uint64_t half = warp->r[insn->src[0] + i][lane];
        if (!emu_need_defined(warp, insn, 1u << lane, insn->src[0] + i, "response")) {
            return false;
        }
        memcpy(ret_response + (size_t)2 * i, &half, sizeof(half));
    }
    if (ret_response[3] != RESPONSE_CANCELLED && ret_response[3] != RESPONSE_REFUSED) {
        emu_report_error(warp, insn, lane, EMU_FINDING_ILLEGAL,
                         "these 16 bytes are no response of try_cancel");
        return false;
    }
    return true;
}

static bool query_lane(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane)
{
    uint32_t response[4];
    if (!get_response(warp, insn, lane, response)) {
        return false;
    }
    bool cancelled = response[3] == RESPONSE_CANCELLED;
    if (insn->mode == IS_CANCELED) {
        emu_set_predicate(warp, insn->dst, lane, cancelled);
        emu_async_of_cta(warp->cta)->saw_refusal |= !cancelled;
        return true;
    }
    /* Of a refused request there is no ctaid; the fourth element never is one. */
    for (uint32_t i = 0; i < insn->list_count; i++) {
        uint32_t slot = insn->list[i];
        uint32_t element = insn->mode == FIRST_CTAID ? i : insn->mode - (uint32_t)CTAID_X;
        if (slot == EMU_NO_SLOT) {
            continue;
        }
        emu_set(warp, slot, lane, element < 3 ? response[element] : 0);
        if (!cancelled || element == 3) {
            warp->undefined[slot] |= 1u << lane;
        }
    }
    return true;
}

static enum emu_step exec_query(struct emu_warp *warp, const struct emu_insn *insn,
                                uint32_t lanes)
{
    return emu_each_lane(warp, insn, lanes, query_lane);
}

bool emu_decode_launch_query(struct emu_decoder *decoder)
{
    static const char *const words[] = {"is_canceled", "get_first_ctaid",
                                        "get_first_ctaid::x", "get_first_ctaid::y",
                                        "get_first_ctaid::z"};
    struct emu_insn *insn = decoder->insn;
    int what = emu_take_one_of(decoder, words, 5);
    if (what < 0 || !emu_need_operands(decoder, 2, 2) || !emu_take(decoder, "b128")) {
        return emu_decode_fail(decoder, "this query is not supported");
    }
    const struct ptx_operand *response = emu_operand(decoder, 1);
    insn->exec = exec_query;
    insn->mode = (uint16_t)what;
    if (emu_operand_bits(decoder, response) != 128) {
        return emu_decode_fail(decoder, "the response must be a .b128 register");
    }
    if (!emu_operand_src(decoder, response, 64, &insn->src[0])) {
        return false;
    }
    if (what == IS_CANCELED) {
        return (emu_take(decoder, "pred") ||
                emu_decode_fail(decoder, ".pred is missing")) &&
               emu_operand_predicate(decoder, emu_operand(decoder, 0), &insn->dst, NULL);
    }
    bool vector = what == FIRST_CTAID && emu_take(decoder, "v4");
    if (vector != (what == FIRST_CTAID) || !emu_take(decoder, "b32")) {
        return emu_decode_fail(decoder, "its type is missing");
    }
    return emu_operand_vector(decoder, emu_operand(decoder, 0), true, 32, &insn->list,
                              &insn->list_count) &&
           (insn->list_count == (vector ? 4u : 1u) ||
            emu_decode_fail(decoder, "it has %u results", insn->list_count));
}
