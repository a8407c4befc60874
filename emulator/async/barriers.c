/* SPDX-License-Identifier: MIT */
/*
 * bar and barrier.cta: the 16 barriers of a CTA. A warp counts once, with 32 threads, when
 * all of its lanes that have not exited are there.
 */
#include <inttypes.h>
#include <string.h>

#include "async/opcodes.h"
#include "async/operand.h"
#include "async/state.h"
#include "exec/events.h"

enum operation { SYNC, ARRIVE, RED_POPC, RED_AND, RED_OR };

static const char *const operation_names[] = {"sync", "arrive", "red.popc", "red.and",
                                              "red.or"};

/* Operands: src[0] barrier, src[1] thread count or EMU_NO_SLOT, src[2] predicate of red. */
enum { NEGATED = 1 }; /* insn->mode2 */

static bool is_red(unsigned operation)
{
    return operation >= RED_POPC;
}

static uint32_t live_warps(const struct emu_cta *cta)
{
    uint32_t mask = 0;
    for (unsigned i = 0; i < cta->warp_count; i++) {
        mask |= cta->warps[i].live != 0 ? 1u << i : 0;
    }
    return mask;
}

/* Releases everybody when enough have arrived. */
static void test_barrier(struct emu_cta *cta, struct emu_named_barrier *barrier,
                         unsigned index)
{
    bool complete =
        barrier->whole_cta
            ? (live_warps(cta) & ~barrier->counted_warps) == 0
            : EMU_LANES * emu_count_bits(barrier->counted_warps) >= barrier->threads;
    if (!complete) {
        return;
    }
    for (unsigned i = 0; i < cta->warp_count; i++) {
        struct emu_warp *warp = &cta->warps[i];
        struct emu_named_wait *wait = &emu_async_of_warp(warp)->named[index];
        if (wait->waiting == 0 || barrier->lanes[i] == 0) {
            continue;
        }
        wait->done = wait->waiting;
        wait->trues = barrier->trues;
        wait->falses = barrier->falses;
        emu_sync_acquire(&warp->sync, &barrier->gathered);
    }
    barrier->open = false;
    barrier->counted_warps = 0;
    barrier->trues = barrier->falses = 0;
    memset(barrier->lanes, 0, sizeof(barrier->lanes));
    cta->cluster->events++;
    emu_end_lull(cta);
}

static void count_warp(struct emu_warp *warp, struct emu_named_barrier *barrier)
{
    if ((warp->live & ~barrier->lanes[warp->index]) == 0 &&
        barrier->lanes[warp->index] != 0) {
        barrier->counted_warps |= 1u << warp->index;
    }
}

/* ---------------------------------------------------------------------------- arriving */

static bool get_threads(struct emu_warp *warp, const struct emu_insn *insn, uint32_t lanes,
                        uint32_t *ret_threads, bool *ret_whole_cta)
{
    uint32_t all = warp->cta->warp_count * EMU_LANES;
    uint64_t threads = all;
    *ret_whole_cta = insn->src[1] == EMU_NO_SLOT;
    if (!*ret_whole_cta &&
        !emu_uniform_value(warp, insn, lanes, insn->src[1], "thread count", &threads)) {
        return false;
    }
    if (threads == 0 || threads % EMU_LANES != 0 || threads > all) {
        emu_report_error(warp, insn, EMU_LANES, EMU_FINDING_BARRIER,
                         "a barrier for %" PRIu64 " threads; legal are multiples of 32 up "
                         "to the CTA's %u",
                         threads, all);
        return false;
    }
    *ret_threads = (uint32_t)threads;
    return true;
}

static bool check_match(struct emu_warp *warp, const struct emu_insn *insn,
                        const struct emu_named_barrier *barrier, uint64_t index,
                        uint32_t lanes, uint32_t threads)
{
    if (barrier->threads != threads) {
        emu_report_error(warp, insn, EMU_LANES, EMU_FINDING_BARRIER,
                         "barrier %" PRIu64 " is used with %u threads, but others wait at "
                         "it with %u",
                         index, threads, barrier->threads);
        return false;
    }
    if (barrier->operation != insn->mode &&
        (is_red(barrier->operation) || is_red(insn->mode))) {
        emu_report_error(warp, insn, EMU_LANES, EMU_FINDING_BARRIER,
                         "barrier %" PRIu64 " is used by %s, but others wait at it by %s",
                         index, operation_names[insn->mode],
                         operation_names[barrier->operation]);
        return false;
    }
    if ((barrier->lanes[warp->index] & lanes) != 0) {
        emu_report_error(warp, insn, EMU_LANES, EMU_FINDING_BARRIER,
                         "the warp arrives at barrier %" PRIu64 " a second time before the "
                         "barrier completed",
                         index);
        return false;
    }
    return true;
}

/* Counts the predicates of bar.red. */
static bool add_predicates(struct emu_warp *warp, const struct emu_insn *insn,
                           uint32_t lanes, struct emu_named_barrier *barrier)
{
    if (!is_red(insn->mode)) {
        return true;
    }
    uint32_t undefined = warp->p_undefined[insn->src[2]] & lanes;
    if (undefined != 0 && emu_launch_of(warp->cta)->settings.definedness) {
        emu_report_error(warp, insn, emu_lowest_bit(undefined), EMU_FINDING_UNDEFINED,
                         "the predicate that is reduced is undefined");
        return false;
    }
    uint32_t values = warp->p[insn->src[2]];
    uint32_t trues = lanes & ((insn->mode2 & NEGATED) != 0 ? ~values : values);
    barrier->trues += emu_count_bits(trues);
    barrier->falses += emu_count_bits(lanes & ~trues);
    return true;
}

static bool arrive(struct emu_warp *warp, const struct emu_insn *insn, uint32_t lanes,
                   uint64_t index)
{
    struct emu_cta *cta = warp->cta;
    struct emu_named_barrier *barrier = &emu_async_of_cta(cta)->named[index];
    uint32_t threads = 0;
    bool whole_cta = false;
    if (!get_threads(warp, insn, lanes, &threads, &whole_cta)) {
        return false;
    }
    if (!barrier->open) {
        barrier->open = true;
        barrier->threads = threads;
        barrier->whole_cta = whole_cta;
        barrier->operation = (uint8_t)insn->mode;
    } else if (!check_match(warp, insn, barrier, index, lanes, threads)) {
        return false;
    }
    if (!add_predicates(warp, insn, lanes, barrier)) {
        return false;
    }
    if (insn->mode != ARRIVE) {
        emu_async_of_warp(warp)->named[index].waiting |= lanes;
    }
    emu_sync_release(&warp->sync, lanes, &barrier->gathered);
    barrier->lanes[warp->index] |= lanes;
    emu_note_write(warp);
    count_warp(warp, barrier);
    test_barrier(cta, barrier, (unsigned)index);
    return true;
}

static bool get_index(struct emu_warp *warp, const struct emu_insn *insn, uint32_t lanes,
                      uint64_t *ret_index)
{
    if (!emu_uniform_value(warp, insn, lanes, insn->src[0], "barrier's number",
                           ret_index)) {
        return false;
    }
    if (*ret_index >= EMU_NAMED_BARRIERS) {
        emu_report_error(warp, insn, EMU_LANES, EMU_FINDING_BARRIER,
                         "barrier %" PRIu64 "; legal are 0 to 15", *ret_index);
        return false;
    }
    return true;
}

static enum emu_step exec_arrive(struct emu_warp *warp, const struct emu_insn *insn,
                                 uint32_t lanes)
{
    uint64_t index = 0;
    return get_index(warp, insn, lanes, &index) && arrive(warp, insn, lanes, index)
               ? EMU_NEXT
               : EMU_FAILED;
}

/* -------------------------------------------------------------------------- waiting */

static void write_result(struct emu_warp *warp, const struct emu_insn *insn, uint32_t lanes,
                         const struct emu_named_wait *wait)
{
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        unsigned lane = emu_lowest_bit(rest);
        if (insn->mode == RED_POPC && insn->dst != EMU_NO_SLOT) {
            emu_set(warp, insn->dst, lane, wait->trues);
        } else if (insn->mode == RED_AND) {
            emu_set_predicate(warp, insn->dst, lane, wait->falses == 0);
        } else if (insn->mode == RED_OR) {
            emu_set_predicate(warp, insn->dst, lane, wait->trues != 0);
        }
    }
}

/* Comes here again and again until the barrier has completed. */
static enum emu_step exec_sync(struct emu_warp *warp, const struct emu_insn *insn,
                               uint32_t lanes)
{
    uint64_t index = 0;
    if (!get_index(warp, insn, lanes, &index)) {
        return EMU_FAILED;
    }
    struct emu_named_wait *wait = &emu_async_of_warp(warp)->named[index];
    uint32_t fresh = lanes & ~wait->waiting;
    if (fresh != 0 && !arrive(warp, insn, fresh, index)) {
        return EMU_FAILED;
    }
    if ((lanes & ~wait->done) != 0) {
        return EMU_BLOCKED;
    }
    write_result(warp, insn, lanes, wait);
    wait->waiting &= ~lanes;
    wait->done &= ~lanes;
    if (lanes == warp->live) {
        emu_sync_lanes(&warp->sync);
    }
    return EMU_NEXT;
}

void emu_named_barriers_exited(struct emu_warp *warp)
{
    for (unsigned i = 0; i < EMU_NAMED_BARRIERS; i++) {
        struct emu_named_barrier *barrier = &emu_async_of_cta(warp->cta)->named[i];
        if (barrier->open) {
            count_warp(warp, barrier);
            test_barrier(warp->cta, barrier, i);
        }
    }
}

bool emu_named_barriers_describe(struct emu_warp *warp, const struct emu_insn *insn,
                                 struct emu_text *text)
{
    if (insn->exec != exec_sync) {
        return false;
    }
    const struct emu_cta *cta = warp->cta;
    for (unsigned i = 0; i < EMU_NAMED_BARRIERS; i++) {
        const struct emu_named_barrier *barrier = &emu_async_of_cta(cta)->named[i];
        if (!barrier->open || emu_async_of_warp(warp)->named[i].waiting == 0) {
            continue;
        }
        emu_text_add(text, "waits at barrier %u of CTA %u: %u of %u threads%s; warps", i,
                     cta->rank, EMU_LANES * emu_count_bits(barrier->counted_warps),
                     barrier->threads,
                     barrier->whole_cta ? " (all that have not exited)" : "");
        for (unsigned j = 0; j < cta->warp_count; j++) {
            if ((barrier->counted_warps >> j & 1) != 0) {
                emu_text_add(text, " %u", j);
            }
        }
        emu_text_add(text, " are there");
        for (unsigned j = 0; j < cta->warp_count; j++) {
            if (cta->warps[j].live == 0) {
                emu_text_add(text, ", warp %u has exited", j);
            }
        }
    }
    return true;
}

/* -------------------------------------------------------------------------- decoding */

static bool decode_red(struct emu_decoder *decoder)
{
    static const char *const names[] = {"popc", "and", "or"};
    struct emu_insn *insn = decoder->insn;
    int operation = emu_take_one_of(decoder, names, 3);
    if (operation < 0) {
        return emu_decode_fail(decoder, "one of .popc, .and, .or is missing");
    }
    insn->mode = (uint16_t)(RED_POPC + operation);
    bool typed = emu_take(decoder, insn->mode == RED_POPC ? "u32" : "pred");
    if (!typed) {
        return emu_decode_fail(decoder, "its type is missing");
    }
    unsigned count = emu_operand_count(decoder);
    bool negated = false;
    const struct ptx_operand *dst = emu_operand(decoder, 0);
    bool good =
        emu_need_operands(decoder, 3, 4) &&
        (insn->mode == RED_POPC ? emu_operand_dst(decoder, dst, &insn->dst)
                                : emu_operand_predicate(decoder, dst, &insn->dst, NULL)) &&
        emu_operand_value(decoder, 1, 32, &insn->src[0]) &&
        (count == 3 || emu_operand_value(decoder, 2, 32, &insn->src[1])) &&
        emu_operand_predicate(decoder, emu_operand(decoder, count - 1), &insn->src[2],
                              &negated);
    if (good && insn->src[2] == EMU_NO_PREDICATE) {
        return emu_decode_fail(decoder, "its source is not a predicate");
    }
    insn->mode2 = negated ? NEGATED : 0;
    return good;
}

/* `bar` is aligned by definition; `barrier` where it says so. */
bool emu_decode_barrier(struct emu_decoder *decoder)
{
    static const char *const names[] = {"sync", "arrive", "red"};
    struct emu_insn *insn = decoder->insn;
    emu_take(decoder, "cta");
    insn->aligned |= strcmp(decoder->source->words[0], "bar") == 0;
    int operation = emu_take_one_of(decoder, names, 3);
    if (operation < 0) {
        return emu_decode_fail(decoder, "this barrier operation is not supported");
    }
    insn->mode = (uint16_t)operation;
    insn->exec = operation == ARRIVE ? exec_arrive : exec_sync;
    if (operation == RED_POPC) {
        return decode_red(decoder);
    }
    return emu_need_operands(decoder, operation == ARRIVE ? 2 : 1, 2) &&
           emu_operand_value(decoder, 0, 32, &insn->src[0]) &&
           (emu_operand_count(decoder) < 2 ||
            emu_operand_value(decoder, 1, 32, &insn->src[1]));
}
