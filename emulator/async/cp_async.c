/* SPDX-License-Identifier: MIT */
/*
 * cp.async: each lane copies 4, 8 or 16 bytes from global to shared memory, later, in the
 * generic proxy. The lanes of one instruction make one operation.
 */
#include <string.h>

#include "async/opcodes.h"
#include "async/operand.h"
#include "async/state.h"
#include "exec/async.h"
#include "exec/timing.h"

struct copy_insn {
    struct emu_address dst, src;
    uint32_t bytes;
    uint32_t src_bytes; /* slot, or EMU_NO_SLOT */
    uint32_t ignore;    /* predicate, or EMU_NO_PREDICATE */
};

struct lane_copy {
    struct emu_cta *cta;
    uint32_t offset;
    uint64_t address;
    uint32_t src_bytes;
    struct emu_group_op group;
};

struct copy_op {
    uint32_t lanes;
    uint64_t index; /* of the warp's copies */
    struct lane_copy copies[EMU_LANES];
};

/* An arrival that waits for the copies that its lane issued before it. */
struct emu_copy_arrival {
    struct emu_copy_arrival *next;
    const struct emu_insn *insn;
    unsigned lane;
    uint64_t index;   /* copies of the warp before it */
    uint32_t waiting; /* copies that are not done */
    uint32_t ops;     /* of the lane, before it */
    uint32_t offset;  /* of the mbarrier in the own CTA */
};

/* -------------------------------------------------------------------------- arriving */

/* Publishes the lane's copies, and nothing else of what the thread did. */
static bool arrive(struct emu_warp *warp, const struct emu_copy_arrival *arrival)
{
    const struct emu_mbarrier_use use = {warp, arrival->insn, EMU_LANES, warp->cta,
                                         arrival->offset};
    const struct emu_lane_groups *lane = emu_async_of_warp(warp)->copies[arrival->lane];
    struct emu_mbarrier *barrier = emu_mbarrier_use(&use, NULL);
    if (barrier == NULL) {
        return false;
    }
    if (emu_checks_races(warp->cta) && lane != NULL) {
        emu_clock_raise(&barrier->gathered.happened, lane->reads, arrival->ops);
        emu_clock_raise(&barrier->gathered.happened, lane->writes, arrival->ops);
    }
    return emu_mbarrier_arrive(&use, barrier, EMU_MBARRIER_ASYNC_ARRIVE, 1, true);
}

/* One copy of these lanes is done: arrivals that waited for it last take place. */
static bool tell_arrivals(struct emu_warp *warp, uint32_t lanes, uint64_t index)
{
    struct emu_copy_arrival **link = &emu_async_of_warp(warp)->copy_arrivals;
    while (*link != NULL) {
        struct emu_copy_arrival *arrival = *link;
        bool concerned = (lanes >> arrival->lane & 1) != 0 && index <= arrival->index;
        if (!concerned || --arrival->waiting > 0) {
            link = &arrival->next;
            continue;
        }
        *link = arrival->next;
        bool good = arrive(warp, arrival);
        emu_free(arrival);
        if (!good) {
            return false;
        }
    }
    return true;
}

void emu_copy_arrivals_free(struct emu_copy_arrival *arrivals)
{
    while (arrivals != NULL) {
        struct emu_copy_arrival *next = arrivals->next;
        emu_free(arrivals);
        arrivals = next;
    }
}

static enum emu_async_result run_arrival(struct emu_async *async)
{
    const struct emu_copy_arrival *arrival =
        (const struct emu_copy_arrival *)(const void *)async->payload;
    return arrive(async->warp, arrival) ? EMU_ASYNC_DONE : EMU_ASYNC_FAILED;
}

static uint32_t count_unfinished(const struct emu_lane_groups *lane)
{
    uint32_t count = 0;
    for (uint32_t i = 0; lane != NULL && i < lane->count; i++) {
        count += lane->groups[i].unfinished;
    }
    return count;
}

static bool issue_arrival(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane)
{
    struct emu_async_warp *state = emu_async_of_warp(warp);
    const struct emu_lane_groups *groups = state->copies[lane];
    struct emu_mbarrier_use use = {.warp = warp, .insn = insn, .lane = lane};
    use.cta = emu_address_shared(warp, insn, lane, insn->extra, "mbarrier", &use.offset);
    if (use.cta == NULL) {
        return false;
    }
    if (use.cta != warp->cta) {
        emu_report_error(
            warp, insn, lane, EMU_FINDING_BARRIER,
            "the mbarrier is in CTA %u, but this reaches the own CTA (%u) only",
            use.cta->rank, warp->cta->rank);
        return false;
    }
    struct emu_mbarrier *barrier = emu_mbarrier_use(&use, &warp->sync.view);
    if (barrier == NULL || (insn->mode == 0 && !emu_mbarrier_add_pending(&use, barrier))) {
        return false;
    }
    const struct emu_copy_arrival arrival = {.insn = insn,
                                             .lane = lane,
                                             .index = state->copy_count,
                                             .waiting = count_unfinished(groups),
                                             .ops = groups == NULL ? 0 : groups->ops,
                                             .offset = use.offset};
    if (arrival.waiting == 0) {
        struct emu_async *async =
            emu_async_new(warp, insn, lane, sizeof(arrival), run_arrival);
        memcpy(async->payload, &arrival, sizeof(arrival));
        return emu_async_submit(async, 0);
    }
    struct emu_copy_arrival *kept = emu_alloc(sizeof(*kept));
    *kept = arrival;
    kept->next = state->copy_arrivals;
    state->copy_arrivals = kept;
    return true;
}

static enum emu_step exec_arrival(struct emu_warp *warp, const struct emu_insn *insn,
                                  uint32_t lanes)
{
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        if (!issue_arrival(warp, insn, emu_lowest_bit(rest))) {
            return EMU_FAILED;
        }
    }
    return EMU_NEXT;
}

bool emu_decode_copy_arrive(struct emu_decoder *decoder)
{
    struct emu_address *operand = emu_decode_alloc(decoder, sizeof(*operand));
    decoder->insn->exec = exec_arrival;
    decoder->insn->extra = operand;
    decoder->insn->mode = emu_take(decoder, "noinc") ? 1 : 0;
    enum emu_space space = emu_take_shared_space(decoder);
    return (emu_take(decoder, "b64") || emu_decode_fail(decoder, ".b64 is missing")) &&
           emu_need_operands(decoder, 1, 1) && emu_take_address(decoder, 0, space, operand);
}

/* --------------------------------------------------------------------------- copying */

static bool copy_lane(const struct emu_async *async, const struct lane_copy *copy)
{
    const struct copy_insn *insn = async->insn->extra;
    uint8_t data[16] = {0};
    uint8_t defined[16];
    struct emu_actor actor = {.warp = async->warp,
                              .insn = async->insn,
                              .lane = EMU_LANES,
                              .proxy = EMU_PROXY_GENERIC,
                              .agent = copy->group.lane->reads,
                              .epoch = copy->group.op,
                              .view = &async->view};
    memset(defined, EMU_DEFINED, sizeof(defined));
    if (copy->cta->exited) {
        emu_report_error(async->warp, async->insn, EMU_LANES, EMU_FINDING_IN_FLIGHT,
                         "the copy reaches shared memory after the CTA has exited");
        return false;
    }
    if (copy->src_bytes > 0 &&
        !emu_global_read(&actor, copy->address, copy->src_bytes, 1, data, defined)) {
        return false;
    }
    actor.agent = copy->group.lane->writes;
    return emu_shared_write(&actor, copy->cta, copy->offset, insn->bytes, insn->bytes, data,
                            defined);
}

static enum emu_async_result run_copy(struct emu_async *async)
{
    const struct copy_op *op = (const struct copy_op *)(const void *)async->payload;
    for (uint32_t rest = op->lanes; rest != 0; rest &= rest - 1) {
        const struct lane_copy *copy = &op->copies[emu_lowest_bit(rest)];
        if (!copy_lane(async, copy)) {
            return EMU_ASYNC_FAILED;
        }
        emu_groups_read_done(&copy->group);
        emu_groups_done(&copy->group);
    }
    return tell_arrivals(async->warp, op->lanes, op->index) ? EMU_ASYNC_DONE
                                                            : EMU_ASYNC_FAILED;
}

/* When the copies of a timed launch have come. */
static uint64_t copy_time(struct emu_warp *warp, const struct copy_op *op)
{
    struct emu_request request = emu_time_request(warp->cta);
    for (uint32_t rest = op->lanes; rest != 0; rest &= rest - 1) {
        const struct lane_copy *copy = &op->copies[emu_lowest_bit(rest)];
        emu_levels_read(emu_time_levels(warp->cta), &request,
                        emu_time_place(warp->cta, copy->address), copy->src_bytes);
    }
    return emu_time_loaded(warp->cta, &request);
}

static bool prepare_lane(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                         struct lane_copy *copy)
{
    const struct copy_insn *form = insn->extra;
    copy->cta =
        emu_address_shared(warp, insn, lane, &form->dst, "destination", &copy->offset);
    if (copy->cta == NULL ||
        !emu_address_global(warp, insn, lane, &form->src, "source", &copy->address)) {
        return false;
    }
    copy->src_bytes = form->bytes;
    if (form->src_bytes != EMU_NO_SLOT) {
        copy->src_bytes = (uint32_t)warp->r[form->src_bytes][lane];
        if (!emu_need_defined(warp, insn, 1u << lane, form->src_bytes, "source size")) {
            return false;
        }
    }
    if (form->ignore != EMU_NO_PREDICATE && (warp->p[form->ignore] >> lane & 1) != 0) {
        copy->src_bytes = 0;
    }
    if (copy->src_bytes > form->bytes) {
        emu_report_error(warp, insn, lane, EMU_FINDING_ILLEGAL,
                         "a source of %u bytes for a copy of %u", copy->src_bytes,
                         form->bytes);
        return false;
    }
    if (copy->src_bytes > 0 && copy->address % form->bytes != 0) {
        emu_report_error(warp, insn, lane, EMU_FINDING_MISALIGNED,
                         "the source is not aligned to %u bytes", form->bytes);
        return false;
    }
    return true;
}

static enum emu_step exec_copy(struct emu_warp *warp, const struct emu_insn *insn,
                               uint32_t lanes)
{
    struct emu_async_warp *state = emu_async_of_warp(warp);
    struct emu_async *async =
        emu_async_new(warp, insn, EMU_LANES, sizeof(struct copy_op), run_copy);
    struct copy_op *op = (struct copy_op *)(void *)async->payload;
    const struct copy_insn *form = insn->extra;
    bool good = form->ignore == EMU_NO_PREDICATE ||
                (warp->p_undefined[form->ignore] & lanes) == 0 ||
                !emu_launch_of(warp->cta)->settings.definedness;
    if (!good) {
        emu_report_error(warp, insn, EMU_LANES, EMU_FINDING_UNDEFINED,
                         "the predicate that ignores the source is undefined");
    }
    op->lanes = lanes;
    for (uint32_t rest = lanes; good && rest != 0; rest &= rest - 1) {
        unsigned lane = emu_lowest_bit(rest);
        good = prepare_lane(warp, insn, lane, &op->copies[lane]);
    }
    for (uint32_t rest = lanes; good && rest != 0; rest &= rest - 1) {
        unsigned lane = emu_lowest_bit(rest);
        op->copies[lane].group =
            emu_groups_add(emu_groups_get(state->copies, warp, lane), insn);
    }
    if (!good) {
        emu_view_free(&async->view);
        emu_free(async);
        return EMU_FAILED;
    }
    op->index = ++state->copy_count;
    emu_sync_publish(&warp->sync, lanes, &async->view);
    if (emu_is_timed(warp->cta)) {
        async->at[0] = copy_time(warp, op);
    }
    return emu_async_submit(async, 0) ? EMU_NEXT : EMU_FAILED;
}

/* Operands: dst, src, size{, source size or predicate}{, policy}. */
bool emu_decode_copy(struct emu_decoder *decoder)
{
    static const char *const caches[] = {"ca", "cg"};
    static const char *const prefetches[] = {"L2::64B", "L2::128B", "L2::256B"};
    struct copy_insn *form = emu_decode_alloc(decoder, sizeof(*form));
    unsigned count = emu_operand_count(decoder);
    int64_t bytes = 0;
    decoder->insn->exec = exec_copy;
    decoder->insn->extra = form;
    form->src_bytes = EMU_NO_SLOT;
    form->ignore = EMU_NO_PREDICATE;
    int cache = emu_take_one_of(decoder, caches, 2);
    if (cache < 0 || emu_take_shared_space(decoder) != EMU_SPACE_SHARED ||
        !emu_take(decoder, "global")) {
        return emu_decode_fail(decoder, "it must be .ca or .cg, .shared.global");
    }
    emu_take_one_of(decoder, prefetches, 3);
    if (!emu_take_cache_hint(decoder, &count)) {
        return false;
    }
    if (count < 3 || count > 4) {
        return emu_decode_fail(decoder, "it has %u operands besides the cache policy",
                               count);
    }
    if (!emu_take_address(decoder, 0, EMU_SPACE_SHARED, &form->dst) ||
        !emu_take_address(decoder, 1, EMU_SPACE_GLOBAL, &form->src) ||
        !emu_operand_integer(decoder, emu_operand(decoder, 2), &bytes)) {
        return false;
    }
    form->bytes = (uint32_t)bytes;
    if (bytes != 16 && (cache == 1 || (bytes != 4 && bytes != 8))) {
        return emu_decode_fail(decoder, "a copy of %lld bytes", (long long)bytes);
    }
    if (count == 3) {
        return true;
    }
    return emu_operand_is_predicate(decoder, 3)
               ? emu_operand_predicate(decoder, emu_operand(decoder, 3), &form->ignore,
                                       NULL)
               : emu_operand_value(decoder, 3, 32, &form->src_bytes);
}
