/* SPDX-License-Identifier: MIT */
/* Lanes of a warp that meet: shuffles, election, bar.warp.sync. */
#include "exec/op_warp.h"

#include "exec/op_form.h"
#include "exec/op_lanes.h"

/* --------------------------------------------------------------------------- membership */

/* Lanes that the warp had at its start. */
static uint32_t get_first_lanes(const struct emu_warp *warp)
{
    const uint32_t *block = emu_launch_of(warp->cta)->block;
    const uint32_t threads = block[0] * block[1] * block[2] - warp->index * EMU_LANES;
    return threads >= EMU_LANES ? EMU_ALL_LANES : (1u << threads) - 1;
}

enum emu_step emu_warp_meet(struct emu_warp *warp, const struct emu_insn *insn,
                            uint32_t lanes, uint32_t slot, bool leavers,
                            uint32_t masks[EMU_LANES])
{
    if (!emu_need_defined(warp, insn, lanes, slot, "membermask")) {
        return EMU_FAILED;
    }
    const uint32_t first_lanes = get_first_lanes(warp);
    const uint32_t first_mask = (uint32_t)warp->r[slot][emu_lowest_bit(lanes)] & warp->live;
    bool waits = false;
    bool uniform = true;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const unsigned lane = emu_lowest_bit(rest);
        const uint32_t mask = (uint32_t)warp->r[slot][lane];
        const uint32_t exited = mask & first_lanes & ~warp->live;
        if ((mask >> lane & 1) == 0) {
            return emu_report_error(warp, insn, lane, EMU_FINDING_ILLEGAL,
                                    "the lane is not in its own membermask %08x", mask);
        }
        if (exited != 0 && !leavers) {
            return emu_report_error(warp, insn, lane, EMU_FINDING_ILLEGAL,
                                    "membermask %08x names lanes %08x, which have exited",
                                    mask, exited);
        }
        masks[lane] = mask & warp->live;
        waits = waits || (masks[lane] & ~lanes) != 0;
        uniform = uniform && masks[lane] == first_mask;
    }
    if (waits || uniform) {
        return waits ? EMU_BLOCKED : EMU_NEXT;
    }
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const unsigned lane = emu_lowest_bit(rest);
        for (uint32_t others = masks[lane]; others != 0; others &= others - 1) {
            const unsigned other = emu_lowest_bit(others);
            if (masks[other] != masks[lane]) {
                return emu_report_error(
                    warp, insn, lane, EMU_FINDING_ILLEGAL,
                    "membermask %08x differs from that of lane %u, %08x", masks[lane],
                    other, masks[other]);
            }
        }
    }
    return EMU_NEXT;
}

bool emu_warp_mask(struct emu_decoder *decoder, unsigned operand, uint32_t *ret_slot)
{
    return emu_form_src(decoder, emu_operand(decoder, operand), 32, false, ret_slot);
}

bool emu_warp_result(struct emu_decoder *decoder, bool pair_only)
{
    struct emu_insn *insn = decoder->insn;
    const struct ptx_operand *to = emu_operand(decoder, 0);
    insn->dst2 = EMU_NO_PREDICATE;
    if (to->kind != PTX_PAIR) {
        return pair_only ? emu_decode_fail(decoder, "it needs two results d|p")
                         : emu_form_dst(decoder, to, 32, &insn->dst);
    }
    if (!emu_form_predicate(decoder, &to->elements[1], true, &insn->dst2)) {
        return false;
    }
    if (to->elements[0].kind == PTX_SINK) {
        insn->dst = EMU_NO_SLOT;
        return true;
    }
    return emu_form_dst(decoder, &to->elements[0], 32, &insn->dst);
}

bool emu_warp_need_sync(struct emu_decoder *decoder)
{
    return emu_take(decoder, "sync") || emu_decode_fail(decoder, "it needs .sync");
}

/* ---------------------------------------------------------------------------- shfl.sync */

enum { SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_BUTTERFLY, SHUFFLE_INDEX };

/* The lane to read from; false when it is out of range, then it is the own lane. */
static bool find_source(unsigned mode, unsigned lane, uint32_t b, uint32_t c,
                        unsigned *ret_source)
{
    const unsigned by = b & 31;
    const unsigned segment = c >> 8 & 31;
    const unsigned first = lane & segment;
    const unsigned last = first | (c & 31 & ~segment);
    unsigned source = 0;
    bool in_range = false;
    switch (mode) {
    case SHUFFLE_UP:
        in_range = (int)(lane - by) >= (int)last; /* c is the lower bound here */
        source = lane - by;
        break;
    case SHUFFLE_DOWN:
        source = lane + by;
        in_range = source <= last;
        break;
    case SHUFFLE_BUTTERFLY:
        source = lane ^ by;
        in_range = source <= last;
        break;
    default:
        source = first | (by & ~segment);
        in_range = source <= last;
        break;
    }
    *ret_source = in_range ? source : lane;
    return in_range;
}

EMU_EXEC(shfl)
{
    uint32_t masks[EMU_LANES];
    const enum emu_step step = emu_warp_meet(warp, insn, lanes, insn->src[3], true, masks);
    if (step != EMU_NEXT) {
        return step;
    }
    uint64_t values[EMU_LANES];
    memcpy(values, warp->r[insn->src[0]], sizeof(values));
    const uint32_t value_undefined = warp->undefined[insn->src[0]];
    const uint32_t choice_undefined =
        warp->undefined[insn->src[1]] | warp->undefined[insn->src[2]];
    uint32_t undefined = choice_undefined;
    uint32_t in_range = 0;
    uint64_t results[EMU_LANES] = {0};
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const unsigned lane = emu_lowest_bit(rest);
        unsigned source;
        if (find_source(insn->mode, lane, (uint32_t)warp->r[insn->src[1]][lane],
                        (uint32_t)warp->r[insn->src[2]][lane], &source)) {
            in_range |= 1u << lane;
        }
        /* What comes from a lane that is inactive or no member is undefined, not an error
         * (PTX ISA 9.7.9.6). */
        const bool takes_part = (masks[lane] >> source & 1) != 0;
        results[lane] = values[source];
        undefined |= (uint32_t)(!takes_part || (value_undefined >> source & 1) != 0)
                     << lane;
    }
    if (insn->dst != EMU_NO_SLOT) {
        uint64_t *d = warp->r[insn->dst];
        EMU_FOR_LANES(lanes, lane, { d[lane] = results[lane]; });
        emu_lanes_defined(warp, insn->dst, lanes, undefined);
    }
    if (insn->dst2 != EMU_NO_PREDICATE) {
        emu_lanes_predicate(warp, insn->dst2, lanes, in_range, choice_undefined);
    }
    return EMU_NEXT;
}

static bool decode_shfl(struct emu_decoder *decoder)
{
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    struct emu_insn *insn = decoder->insn;
    const int mode = emu_take_one_of(decoder, modes, 4);
    if (!emu_warp_need_sync(decoder) || !emu_need_operands(decoder, 5, 5)) {
        return false;
    }
    if (mode < 0 || !emu_take(decoder, "b32")) {
        return emu_decode_fail(decoder, "it needs .up, .down, .bfly or .idx, and .b32");
    }
    insn->exec = shfl;
    insn->mode = (uint16_t)mode;
    for (unsigned k = 0; k < 4; k++) {
        if (!emu_form_src(decoder, emu_operand(decoder, k + 1), 32, false, &insn->src[k])) {
            return false;
        }
    }
    return emu_warp_result(decoder, false);
}

/* --------------------------------------------------- election, active lanes, barriers */

EMU_EXEC(elect)
{
    uint32_t masks[EMU_LANES];
    const enum emu_step step = emu_warp_meet(warp, insn, lanes, insn->src[0], false, masks);
    if (step != EMU_NEXT) {
        return step;
    }
    const bool highest = emu_launch_of(warp->cta)->settings.elect_highest;
    uint32_t leaders = 0;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const unsigned lane = emu_lowest_bit(rest);
        const unsigned leader = highest ? 31 - (unsigned)__builtin_clz(masks[lane])
                                        : emu_lowest_bit(masks[lane]);
        leaders |= (uint32_t)(leader == lane) << lane;
        if (insn->dst != EMU_NO_SLOT) {
            emu_set(warp, insn->dst, lane, leader);
        }
    }
    if (insn->dst2 != EMU_NO_PREDICATE) {
        emu_lanes_predicate(warp, insn->dst2, lanes, leaders, 0);
    }
    return EMU_NEXT;
}

static bool decode_elect(struct emu_decoder *decoder)
{
    decoder->insn->exec = elect;
    return emu_warp_need_sync(decoder) && emu_need_operands(decoder, 2, 2) &&
           emu_warp_result(decoder, true) &&
           emu_warp_mask(decoder, 1, &decoder->insn->src[0]);
}

EMU_EXEC(activemask)
{
    uint64_t *d = warp->r[insn->dst];
    EMU_FOR_LANES(lanes, lane, { d[lane] = lanes; });
    emu_lanes_defined(warp, insn->dst, lanes, 0);
    return EMU_NEXT;
}

static bool decode_activemask(struct emu_decoder *decoder)
{
    decoder->insn->exec = activemask;
    return (emu_take(decoder, "b32") || emu_decode_fail(decoder, "it needs .b32")) &&
           emu_need_operands(decoder, 1, 1) &&
           emu_form_dst(decoder, emu_operand(decoder, 0), 32, &decoder->insn->dst);
}

EMU_EXEC(bar_warp)
{
    uint32_t masks[EMU_LANES];
    const enum emu_step step = emu_warp_meet(warp, insn, lanes, insn->src[0], true, masks);
    /* Those of one mask meet; all of the warp are taken to. */
    if (step == EMU_NEXT && emu_count_bits(masks[emu_lowest_bit(lanes)]) > 1) {
        emu_sync_lanes(&warp->sync);
    }
    return step;
}

static bool decode_bar_warp(struct emu_decoder *decoder)
{
    decoder->insn->exec = bar_warp;
    return emu_warp_need_sync(decoder) && emu_need_operands(decoder, 1, 1) &&
           emu_warp_mask(decoder, 0, &decoder->insn->src[0]);
}

EMU_EXEC(sleep_a_while)
{
    return emu_need_defined(warp, insn, lanes, insn->src[0], "time to sleep") ? EMU_YIELDED
                                                                              : EMU_FAILED;
}

static bool decode_nanosleep(struct emu_decoder *decoder)
{
    decoder->insn->exec = sleep_a_while;
    return (emu_take(decoder, "u32") || emu_decode_fail(decoder, "it needs .u32")) &&
           emu_need_operands(decoder, 1, 1) &&
           emu_form_src(decoder, emu_operand(decoder, 0), 32, false,
                        &decoder->insn->src[0]);
}

const struct emu_opcode emu_warp_opcodes[] = {
    {"shfl", decode_shfl},
    {"elect", decode_elect},
    {"activemask", decode_activemask},
    {"bar.warp", decode_bar_warp},
    {"nanosleep", decode_nanosleep},
    {0},
};
