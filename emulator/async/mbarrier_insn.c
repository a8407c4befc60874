/* SPDX-License-Identifier: MIT */
/* The mbarrier.* instructions. */
#include <inttypes.h>

#include "async/opcodes.h"
#include "async/operand.h"
#include "async/reach.h"
#include "async/state.h"
#include "exec/timing.h"

/* insn->mode of all of them. */
enum {
    EXPECT_TX = 1,
    NO_COMPLETE = 2,
    DROP = 4,
    RELAXED = 8,
    CLUSTER_SCOPE = 16,
    PARITY = 32,
    REMOTE_ALLOWED = 64
};

/*
 * The token of an arrival: pending count before it, whether that may be asked for, the
 * address of the mbarrier, and the phase.
 */
#define TOKEN_COUNT_BITS  20u
#define TOKEN_HAS_COUNT   (UINT64_C(1) << 20)
#define TOKEN_PLACE_SHIFT 21u
#define TOKEN_PLACE_BITS  21u
#define TOKEN_PHASE_SHIFT (TOKEN_PLACE_SHIFT + TOKEN_PLACE_BITS)
#define TOKEN_PHASE_MASK  ((UINT64_C(1) << (64u - TOKEN_PHASE_SHIFT)) - 1)

static uint64_t make_token(const struct emu_mbarrier *barrier, bool has_count)
{
    return barrier->pending | (has_count ? TOKEN_HAS_COUNT : 0) |
           (uint64_t)(barrier->offset / EMU_MBARRIER_BYTES) << TOKEN_PLACE_SHIFT |
           barrier->phase << TOKEN_PHASE_SHIFT;
}

/* The mbarrier's address for one lane; local operations refuse another CTA's. */
static bool find_use(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                     struct emu_mbarrier_use *ret_use)
{
    struct emu_address operand = *(const struct emu_address *)insn->extra;
    bool local = (insn->mode & REMOTE_ALLOWED) == 0 || operand.space == EMU_SPACE_SHARED;
    if (operand.space == EMU_SPACE_SHARED) {
        operand.space = EMU_SPACE_SHARED_CLUSTER;
    }
    *ret_use = (struct emu_mbarrier_use){.warp = warp, .insn = insn, .lane = lane};
    ret_use->cta =
        emu_address_shared(warp, insn, lane, &operand, "mbarrier", &ret_use->offset);
    if (ret_use->cta == NULL) {
        return false;
    }
    if (local && ret_use->cta != warp->cta) {
        emu_report_error(
            warp, insn, lane, EMU_FINDING_BARRIER,
            "the mbarrier is in CTA %u, but this reaches the own CTA (%u) only",
            ret_use->cta->rank, warp->cta->rank);
        return false;
    }
    return true;
}

/* The value of operand `slot`, or `absent` when there is none. */
static bool get_count(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                      uint32_t slot, uint32_t absent, uint32_t *ret_count)
{
    *ret_count = absent;
    if (slot == EMU_NO_SLOT) {
        return true;
    }
    *ret_count = (uint32_t)warp->r[slot][lane];
    return emu_need_defined(warp, insn, 1u << lane, slot, "count");
}

/* ------------------------------------------------------------------------------- life */

/* Lanes that make the same mbarrier alike, as they may store the same value: whichever of
 * them comes last, the same is left. */
static enum emu_step exec_init(struct emu_warp *warp, const struct emu_insn *insn,
                               uint32_t lanes)
{
    uint32_t offsets[EMU_LANES];
    uint32_t counts[EMU_LANES];
    unsigned made = 0;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        unsigned lane = emu_lowest_bit(rest);
        struct emu_mbarrier_use use;
        uint32_t count = 0;
        if (!find_use(warp, insn, lane, &use) ||
            !get_count(warp, insn, lane, insn->src[0], 0, &count)) {
            return EMU_FAILED;
        }
        unsigned same = 0;
        while (same < made && (offsets[same] != use.offset || counts[same] != count)) {
            same++;
        }
        if (same < made) {
            emu_report(warp, insn, lane, EMU_ADVICE, EMU_FINDING_RACE,
                       "several lanes of this mbarrier.init make the mbarrier at shared "
                       "offset %u, all of them for %u arrivals",
                       use.offset, count);
            continue;
        }
        if (!emu_mbarrier_init(&use, count)) {
            return EMU_FAILED;
        }
        offsets[made] = use.offset;
        counts[made++] = count;
    }
    return EMU_NEXT;
}

static bool inval_lane(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane)
{
    struct emu_mbarrier_use use;
    return find_use(warp, insn, lane, &use) && emu_mbarrier_inval(&use);
}

static enum emu_step exec_inval(struct emu_warp *warp, const struct emu_insn *insn,
                                uint32_t lanes)
{
    return emu_each_lane(warp, insn, lanes, inval_lane);
}

/* -------------------------------------------------------------------------- arriving */

static bool tx_lane(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane)
{
    struct emu_mbarrier_use use;
    uint32_t bytes = 0;
    if (!find_use(warp, insn, lane, &use) ||
        !get_count(warp, insn, lane, insn->src[0], 0, &bytes)) {
        return false;
    }
    struct emu_mbarrier *barrier = emu_mbarrier_use(&use, &warp->sync.view);
    return barrier != NULL &&
           ((insn->mode & EXPECT_TX) != 0 ? emu_mbarrier_expect(&use, barrier, bytes)
                                          : emu_mbarrier_complete(&use, barrier, bytes));
}

static enum emu_step exec_tx(struct emu_warp *warp, const struct emu_insn *insn,
                             uint32_t lanes)
{
    return emu_each_lane(warp, insn, lanes, tx_lane);
}

/* The lanes that arrive at the same address as this one. */
static uint32_t lanes_beside(const struct emu_mbarrier_use *use, uint32_t lanes)
{
    const struct emu_address *operand = use->insn->extra;
    const uint64_t *address = use->warp->r[operand->slot];
    uint32_t same = 1u << use->lane;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        unsigned lane = emu_lowest_bit(rest);
        same |= address[lane] == address[use->lane] ? 1u << lane : 0;
    }
    return same;
}

/*
 * An arrival at another CTA's mbarrier has to be of cluster scope. The default scope is the
 * CTA; widespread kernels leave it out, others write .cta, and both work where the arrival
 * tells that memory may be overwritten. It hands over no data.
 */
static void publish(const struct emu_mbarrier_use *use, uint32_t lanes,
                    const struct emu_mbarrier *barrier, struct emu_view *gathered)
{
    unsigned mode = use->insn->mode;
    struct emu_sync *sync = &use->warp->sync;
    if (use->cta != use->warp->cta && (mode & CLUSTER_SCOPE) == 0) {
        emu_mbarrier_warn(
            use, barrier, EMU_ADVICE,
            "an arrival from another CTA of .cta scope, which is the default; "
            ".release.cluster is meant");
        emu_sync_release_narrow(sync, gathered);
    } else if ((mode & RELAXED) != 0) {
        emu_sync_release_relaxed(
            sync, use->cta == use->warp->cta ? EMU_SCOPE_CTA : EMU_SCOPE_CLUSTER, gathered);
    } else {
        emu_sync_release(sync, lanes_beside(use, lanes), gathered);
    }
}

/* How many arrivals the lane makes, and the bytes that it expects. */
static bool get_counts(const struct emu_mbarrier_use *use, uint32_t *ret_count,
                       uint32_t *ret_bytes)
{
    const struct emu_insn *insn = use->insn;
    *ret_count = 1;
    *ret_bytes = 0;
    return (insn->mode & EXPECT_TX) != 0
               ? get_count(use->warp, insn, use->lane, insn->src[0], 0, ret_bytes)
               : get_count(use->warp, insn, use->lane, insn->src[0], 1, ret_count);
}

static enum emu_mbarrier_op op_of(const struct emu_insn *insn)
{
    return (insn->mode & DROP) != 0 ? EMU_MBARRIER_ARRIVE_DROP : EMU_MBARRIER_ARRIVE;
}

static bool needs_no_state(const struct emu_mbarrier_use *use,
                           const struct emu_mbarrier *barrier)
{
    return use->cta == use->warp->cta || use->insn->dst == EMU_NO_SLOT ||
           emu_mbarrier_error(use, barrier,
                              "an arrival at another CTA gives no state: the destination "
                              "must be _");
}

static enum emu_step arrive(const struct emu_mbarrier_use *use,
                            struct emu_mbarrier *barrier)
{
    const struct emu_insn *insn = use->insn;
    unsigned mode = insn->mode;
    uint32_t count = 0;
    uint32_t bytes = 0;
    if (!get_counts(use, &count, &bytes)) {
        return EMU_FAILED;
    }
    if (insn->dst != EMU_NO_SLOT) {
        if (!needs_no_state(use, barrier)) {
            return EMU_FAILED;
        }
        emu_set(use->warp, insn->dst, use->lane,
                make_token(barrier, (mode & NO_COMPLETE) != 0));
    }
    if ((mode & EXPECT_TX) != 0 && !emu_mbarrier_expect(use, barrier, bytes)) {
        return EMU_FAILED;
    }
    return emu_mbarrier_arrive(use, barrier, op_of(insn), count, (mode & NO_COMPLETE) == 0)
               ? EMU_NEXT
               : EMU_FAILED;
}

/* Lanes that arrive at one mbarrier of another CTA: that is told of at once, and comes
 * there later. */
static bool arrive_there(const struct emu_mbarrier_use *use, uint32_t lanes,
                         const struct emu_mbarrier *barrier)
{
    const struct emu_insn *insn = use->insn;
    struct emu_warp *warp = use->warp;
    struct emu_reach reach = {
        .warp = warp, .insn = insn, .epoch = warp->sync.epoch, .lanes = lanes, .any = true};
    struct emu_remote_arrival arrival = {.cta = use->cta,
                                         .offset = use->offset,
                                         .op = op_of(insn),
                                         .may_complete = (insn->mode & NO_COMPLETE) == 0};
    if (!needs_no_state(use, barrier)) {
        return false;
    }
    struct emu_mbarrier_use one = *use;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        one.lane = emu_lowest_bit(rest);
        if (!get_counts(&one, &arrival.counts[arrival.count],
                        &arrival.expects[arrival.count])) {
            return false;
        }
        arrival.count++;
    }
    if (emu_checks_races(use->cta) && (insn->mode & RELAXED) == 0) {
        emu_shared_reached(use->cta, reach);
    }
    publish(use, lanes, barrier, &arrival.gathered);
    reach.epoch = warp->sync.epoch;
    arrival.behind = reach;
    return emu_remote_arrive(warp, insn, use->lane, &arrival);
}

static enum emu_step exec_arrive(struct emu_warp *warp, const struct emu_insn *insn,
                                 uint32_t lanes)
{
    const struct emu_mbarrier *published = NULL; /* in this instruction already */
    uint64_t phase = 0;
    uint32_t rest = lanes;
    while (rest != 0) {
        struct emu_mbarrier_use use;
        if (!find_use(warp, insn, emu_lowest_bit(rest), &use)) {
            return EMU_FAILED;
        }
        struct emu_mbarrier *barrier = emu_mbarrier_use(&use, &warp->sync.view);
        if (barrier == NULL) {
            return EMU_FAILED;
        }
        if (use.cta != warp->cta && !use.cta->exited) {
            const uint32_t same = lanes_beside(&use, rest);
            if (!arrive_there(&use, same, barrier)) {
                return EMU_FAILED;
            }
            rest &= ~same;
            continue;
        }
        if (barrier != published || barrier->phase != phase) {
            publish(&use, rest, barrier, &barrier->gathered);
            published = barrier;
            phase = barrier->phase;
        }
        if (arrive(&use, barrier) == EMU_FAILED) {
            return EMU_FAILED;
        }
        rest &= rest - 1;
    }
    return EMU_NEXT;
}

/* --------------------------------------------------------------------------- waiting */

static bool is_done_by_token(const struct emu_mbarrier_use *use,
                             struct emu_mbarrier *barrier, uint64_t token, bool *ret_done)
{
    uint32_t operand =
        (uint32_t)(token >> TOKEN_PLACE_SHIFT) & ((1u << TOKEN_PLACE_BITS) - 1);
    uint64_t distance = (barrier->phase - (token >> TOKEN_PHASE_SHIFT)) & TOKEN_PHASE_MASK;
    if (operand != barrier->offset / EMU_MBARRIER_BYTES) {
        return emu_mbarrier_error(use, barrier,
                                  "the state that is waited for is not of this mbarrier");
    }
    if (distance > 1) {
        emu_mbarrier_warn(use, barrier, EMU_WARNING,
                          "the state that is waited for is %" PRIu64
                          " phases old; only the current and the previous one may be "
                          "asked for",
                          distance);
    }
    *ret_done = distance > 0;
    return true;
}

/* Completed phases that the warp knows of: at its own last successful wait, or at that of
 * another with which it has synchronised since; 0: it has not waited yet. */
static uint64_t count_known(const struct emu_mbarrier_use *use,
                            const struct emu_mbarrier *barrier)
{
    const uint64_t seen = barrier->seen[use->warp->index];
    const uint32_t epoch = emu_clock_get(&use->warp->sync.view.happened, barrier->agent);
    const uint64_t told = epoch > barrier->base ? epoch - barrier->base : 0;
    return seen != 0 && told > seen ? told : seen;
}

/*
 * A warp that waits for every phase in turn asks for the phase that it knows of last, or
 * for the next one. If that phase and the one after it have completed, the parity means a
 * later phase than the warp expects, and its wait may never end. Warps that take turns skip
 * a phase on purpose: they ask for the parity that they saw last.
 */
static bool is_done_by_parity(const struct emu_mbarrier_use *use,
                              struct emu_mbarrier *barrier, uint64_t parity, bool *ret_done)
{
    const uint64_t seen = count_known(use, barrier);
    if (parity > 1) {
        return emu_mbarrier_error(use, barrier,
                                  "a parity of %" PRIu64 "; legal are 0 and 1", parity);
    }
    *ret_done = (barrier->phase & 1) != parity;
    const struct emu_async_warp *state = emu_async_of_warp(use->warp);
    bool told = state->waited_at == use->insn && state->waited_offset == barrier->offset;
    if (seen != 0 && !*ret_done && !told) {
        uint64_t asked = ((seen - 1) & 1) == parity ? seen - 1 : seen;
        if (barrier->phase >= asked + 2) {
            emu_mbarrier_warn(use, barrier, asked == seen ? EMU_WARNING : EMU_ADVICE,
                              "the parity that is waited for is ambiguous: this warp saw "
                              "phase %" PRIu64 " last, and %" PRIu64 " have completed",
                              seen - 1, barrier->phase);
        }
    }
    return true;
}

static bool test_lane(const struct emu_mbarrier_use *use, bool *ret_done)
{
    struct emu_warp *warp = use->warp;
    const struct emu_insn *insn = use->insn;
    struct emu_mbarrier *barrier = emu_mbarrier_use(use, &warp->sync.view);
    if (barrier == NULL ||
        !emu_need_defined(warp, insn, 1u << use->lane, insn->src[0],
                          (insn->mode & PARITY) != 0 ? "parity" : "state")) {
        return false;
    }
    uint64_t value = warp->r[insn->src[0]][use->lane];
    bool good = (insn->mode & PARITY) != 0
                    ? is_done_by_parity(use, barrier, value, ret_done)
                    : is_done_by_token(use, barrier, value, ret_done);
    if (!good) {
        return false;
    }
    struct emu_async_warp *state = emu_async_of_warp(warp);
    if (!*ret_done) {
        state->waited_at = insn;
        state->waited_offset = barrier->offset;
        emu_time_watch(warp, &barrier->phase);
        return true;
    }
    state->waited_at = NULL;
    emu_time_wake(warp, barrier->released_at);
    if (barrier->phase > 0) {
        barrier->observed = true;
        barrier->seen[warp->index] = barrier->phase;
    }
    if ((insn->mode & RELAXED) != 0) {
        emu_sync_acquire_relaxed(&warp->sync, EMU_SCOPE_CTA, &barrier->released);
    } else {
        emu_sync_acquire(&warp->sync, &barrier->released);
    }
    return true;
}

static enum emu_step exec_wait(struct emu_warp *warp, const struct emu_insn *insn,
                               uint32_t lanes)
{
    bool any = false;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        struct emu_mbarrier_use use;
        bool done = false;
        if (!find_use(warp, insn, emu_lowest_bit(rest), &use) || !test_lane(&use, &done)) {
            return EMU_FAILED;
        }
        emu_set_predicate(warp, insn->dst, use.lane, done);
        any |= done;
    }
    return any ? EMU_NEXT : EMU_SPUN;
}

static enum emu_step exec_pending_count(struct emu_warp *warp, const struct emu_insn *insn,
                                        uint32_t lanes)
{
    if (!emu_need_defined(warp, insn, lanes, insn->src[0], "state")) {
        return EMU_FAILED;
    }
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        unsigned lane = emu_lowest_bit(rest);
        uint64_t token = warp->r[insn->src[0]][lane];
        if ((token & TOKEN_HAS_COUNT) == 0) {
            return emu_report_error(warp, insn, lane, EMU_FINDING_BARRIER,
                                    "the state does not come from an arrival with "
                                    ".noComplete: it has no pending count");
        }
        if (insn->dst != EMU_NO_SLOT) {
            emu_set(warp, insn->dst, lane, token & ((1u << TOKEN_COUNT_BITS) - 1));
        }
    }
    return EMU_NEXT;
}

/* ---------------------------------------------------------------------------- decoding */

static bool decode_address(struct emu_decoder *decoder, unsigned operand)
{
    struct emu_address *address = emu_decode_alloc(decoder, sizeof(*address));
    enum emu_space space = emu_take_shared_space(decoder);
    decoder->insn->extra = address;
    if (space == EMU_SPACE_SHARED_CLUSTER && (decoder->insn->mode & REMOTE_ALLOWED) == 0) {
        return emu_decode_fail(decoder, "it works on mbarriers of the own CTA only");
    }
    return (emu_take(decoder, "b64") || emu_decode_fail(decoder, ".b64 is missing")) &&
           emu_take_address(decoder, operand, space, address);
}

static bool take_sem(struct emu_decoder *decoder, const char *const *sems)
{
    int sem = -1;
    bool cluster_scope = false;
    if (!emu_take_sem_scope(decoder, sems, &sem, &cluster_scope)) {
        return false;
    }
    decoder->insn->mode |= sem == 1 ? RELAXED : 0;
    decoder->insn->mode |= cluster_scope ? CLUSTER_SCOPE : 0;
    return true;
}

bool emu_decode_mbarrier_init(struct emu_decoder *decoder)
{
    decoder->insn->exec = exec_init;
    return emu_need_operands(decoder, 2, 2) && decode_address(decoder, 0) &&
           emu_operand_value(decoder, 1, 32, &decoder->insn->src[0]);
}

bool emu_decode_mbarrier_inval(struct emu_decoder *decoder)
{
    decoder->insn->exec = exec_inval;
    return emu_need_operands(decoder, 1, 1) && decode_address(decoder, 0);
}

static bool decode_tx(struct emu_decoder *decoder, unsigned mode)
{
    static const char *const sems[] = {"", "relaxed", NULL};
    decoder->insn->exec = exec_tx;
    decoder->insn->mode = (uint16_t)(mode | REMOTE_ALLOWED);
    return emu_need_operands(decoder, 2, 2) && take_sem(decoder, sems) &&
           decode_address(decoder, 0) &&
           emu_operand_value(decoder, 1, 32, &decoder->insn->src[0]);
}

bool emu_decode_mbarrier_expect_tx(struct emu_decoder *decoder)
{
    return decode_tx(decoder, EXPECT_TX);
}

bool emu_decode_mbarrier_complete_tx(struct emu_decoder *decoder)
{
    return decode_tx(decoder, 0);
}

static bool decode_arrive(struct emu_decoder *decoder, unsigned mode)
{
    static const char *const sems[] = {"release", "relaxed", NULL};
    struct emu_insn *insn = decoder->insn;
    bool expect = emu_take(decoder, "expect_tx");
    bool no_complete = emu_take(decoder, "noComplete");
    insn->exec = exec_arrive;
    insn->mode = (uint16_t)(mode | (expect ? EXPECT_TX : 0) |
                            (no_complete ? NO_COMPLETE : REMOTE_ALLOWED));
    if (expect && no_complete) {
        return emu_decode_fail(decoder, ".expect_tx and .noComplete together");
    }
    unsigned count = emu_operand_count(decoder);
    return emu_need_operands(decoder, expect || no_complete ? 3 : 2, 3) &&
           take_sem(decoder, sems) && decode_address(decoder, 1) &&
           emu_operand_dst(decoder, emu_operand(decoder, 0), &insn->dst) &&
           (count < 3 || emu_operand_value(decoder, 2, 32, &insn->src[0]));
}

bool emu_decode_mbarrier_arrive(struct emu_decoder *decoder)
{
    return decode_arrive(decoder, 0);
}

bool emu_decode_mbarrier_arrive_drop(struct emu_decoder *decoder)
{
    return decode_arrive(decoder, DROP);
}

static bool decode_wait(struct emu_decoder *decoder, unsigned most_operands)
{
    static const char *const sems[] = {"acquire", "relaxed", NULL};
    struct emu_insn *insn = decoder->insn;
    uint32_t hint = EMU_NO_SLOT;
    bool parity = emu_take(decoder, "parity");
    insn->exec = exec_wait;
    insn->mode = parity ? PARITY : 0;
    return emu_need_operands(decoder, 3, most_operands) && take_sem(decoder, sems) &&
           decode_address(decoder, 1) &&
           emu_operand_predicate(decoder, emu_operand(decoder, 0), &insn->dst, NULL) &&
           emu_operand_value(decoder, 2, parity ? 32 : 64, &insn->src[0]) &&
           (emu_operand_count(decoder) < 4 || emu_operand_value(decoder, 3, 32, &hint));
}

bool emu_decode_mbarrier_test_wait(struct emu_decoder *decoder)
{
    return decode_wait(decoder, 3);
}

bool emu_decode_mbarrier_try_wait(struct emu_decoder *decoder)
{
    return decode_wait(decoder, 4);
}

bool emu_decode_mbarrier_pending_count(struct emu_decoder *decoder)
{
    struct emu_insn *insn = decoder->insn;
    insn->exec = exec_pending_count;
    return emu_need_operands(decoder, 2, 2) &&
           (emu_take(decoder, "b64") || emu_decode_fail(decoder, ".b64 is missing")) &&
           emu_operand_dst(decoder, emu_operand(decoder, 0), &insn->dst) &&
           emu_operand_value(decoder, 1, 64, &insn->src[0]);
}
