/* SPDX-License-Identifier: MIT */
/* Results that the lanes of a warp compute together: votes, matches, reductions. */
#include "exec/op_float.h"
#include "exec/op_predicate.h"
#include "exec/op_warp.h"

/* ---------------------------------------------------------------------------- vote.sync */

enum { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };

EMU_EXEC(vote)
{
    uint32_t masks[EMU_LANES];
    const enum emu_step step = emu_warp_meet(warp, insn, lanes, insn->src[1], true, masks);
    if (step != EMU_NEXT) {
        return step;
    }
    const uint32_t votes = emu_predicate_read(warp, insn, 0);
    const uint32_t votes_undefined = emu_predicate_undefined(warp, insn, 0);
    uint32_t holds = 0;
    uint32_t undefined = 0;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const unsigned lane = emu_lowest_bit(rest);
        const uint32_t yes = votes & masks[lane];
        const bool all = yes == masks[lane];
        const bool any = yes != 0;
        const bool result = insn->mode == VOTE_ALL   ? all
                            : insn->mode == VOTE_ANY ? any
                                                     : all || !any;
        holds |= (uint32_t)result << lane;
        undefined |= (uint32_t)((votes_undefined & masks[lane]) != 0) << lane;
        if (insn->mode == VOTE_BALLOT) {
            warp->r[insn->dst][lane] = yes;
        }
    }
    if (insn->mode == VOTE_BALLOT) {
        emu_lanes_defined(warp, insn->dst, lanes, undefined);
    } else {
        emu_lanes_predicate(warp, insn->dst, lanes, holds, undefined);
    }
    return EMU_NEXT;
}

static bool decode_vote(struct emu_decoder *decoder)
{
    static const char *const modes[] = {"all", "any", "uni", "ballot"};
    struct emu_insn *insn = decoder->insn;
    const int mode = emu_take_one_of(decoder, modes, 4);
    if (!emu_warp_need_sync(decoder) || !emu_need_operands(decoder, 3, 3)) {
        return false;
    }
    if (mode < 0 || !emu_take(decoder, mode == VOTE_BALLOT ? "b32" : "pred")) {
        return emu_decode_fail(
            decoder, "it needs .all, .any or .uni with .pred, or .ballot with .b32");
    }
    insn->exec = vote;
    insn->mode = (uint16_t)mode;
    const struct ptx_operand *to = emu_operand(decoder, 0);
    return (mode == VOTE_BALLOT ? emu_form_dst(decoder, to, 32, &insn->dst)
                                : emu_form_predicate(decoder, to, false, &insn->dst)) &&
           emu_form_predicate_source(decoder, emu_operand(decoder, 1), 0) &&
           emu_warp_mask(decoder, 2, &insn->src[1]);
}

/* --------------------------------------------------------------------------- match.sync */

enum { MATCH_ANY, MATCH_ALL };

EMU_EXEC(match)
{
    uint32_t masks[EMU_LANES];
    const enum emu_step step = emu_warp_meet(warp, insn, lanes, insn->src[1], true, masks);
    if (step != EMU_NEXT) {
        return step;
    }
    uint64_t values[EMU_LANES];
    memcpy(values, warp->r[insn->src[0]], sizeof(values));
    const uint32_t values_undefined = warp->undefined[insn->src[0]];
    uint32_t holds = 0;
    uint32_t undefined = 0;
    uint32_t results[EMU_LANES] = {0};
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const unsigned lane = emu_lowest_bit(rest);
        for (uint32_t others = masks[lane]; others != 0; others &= others - 1) {
            const unsigned other = emu_lowest_bit(others);
            results[lane] |= (uint32_t)(values[other] == values[lane]) << other;
        }
        holds |= (uint32_t)(results[lane] == masks[lane]) << lane;
        undefined |= (uint32_t)((values_undefined & masks[lane]) != 0) << lane;
    }
    if (insn->dst != EMU_NO_SLOT) {
        uint64_t *d = warp->r[insn->dst];
        const bool all = insn->mode == MATCH_ALL;
        EMU_FOR_LANES(lanes, lane,
                      { d[lane] = all && (holds >> lane & 1) == 0 ? 0 : results[lane]; });
        emu_lanes_defined(warp, insn->dst, lanes, undefined);
    }
    if (insn->dst2 != EMU_NO_PREDICATE) {
        emu_lanes_predicate(warp, insn->dst2, lanes, holds, undefined);
    }
    return EMU_NEXT;
}

static bool decode_match(struct emu_decoder *decoder)
{
    static const char *const modes[] = {"any", "all"};
    struct emu_insn *insn = decoder->insn;
    const int mode = emu_take_one_of(decoder, modes, 2);
    enum ptx_type type;
    if (!emu_warp_need_sync(decoder) || !emu_need_type(decoder, &type) ||
        !emu_need_operands(decoder, 3, 3)) {
        return false;
    }
    if (mode < 0 || (type != PTX_B32 && type != PTX_B64)) {
        return emu_decode_fail(decoder, "it needs .any or .all, and .b32 or .b64");
    }
    if (mode == MATCH_ANY && emu_operand(decoder, 0)->kind == PTX_PAIR) {
        return emu_decode_fail(decoder, "only .all has a second result");
    }
    insn->exec = match;
    insn->mode = (uint16_t)mode;
    return emu_form_src(decoder, emu_operand(decoder, 1), emu_form_bits(type), false,
                        &insn->src[0]) &&
           emu_warp_mask(decoder, 2, &insn->src[1]) && emu_warp_result(decoder, false);
}

/* --------------------------------------------------------------------------- redux.sync */

enum { REDUX_ADD, REDUX_MIN, REDUX_MAX, REDUX_AND, REDUX_OR, REDUX_XOR };

static uint32_t reduce_two(const struct emu_insn *insn, uint32_t a, uint32_t b,
                           unsigned operation)
{
    switch (operation) {
    case REDUX_ADD:
        return a + b;
    case REDUX_MIN:
        return insn->type == PTX_S32 ? (uint32_t)((int32_t)a < (int32_t)b ? a : b)
                                     : (a < b ? a : b);
    case REDUX_MAX:
        return insn->type == PTX_S32 ? (uint32_t)((int32_t)a > (int32_t)b ? a : b)
                                     : (a > b ? a : b);
    case REDUX_AND:
        return a & b;
    case REDUX_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

/* insn->mode2: the operation; insn->mode: .abs and .NaN of f32. */
static uint32_t reduce(const struct emu_insn *insn, const uint64_t *values,
                       uint32_t members)
{
    uint32_t result = (uint32_t)values[emu_lowest_bit(members)];
    if (insn->type == PTX_F32) {
        double picked = (double)emu_f32_of(result);
        for (uint32_t rest = members; rest != 0; rest &= rest - 1) {
            picked =
                emu_float_pick(picked, (double)emu_f32_of(values[emu_lowest_bit(rest)]),
                               insn->mode2 == REDUX_MAX, insn->mode);
        }
        return emu_f32_result((float)picked);
    }
    for (uint32_t rest = members & (members - 1); rest != 0; rest &= rest - 1) {
        result =
            reduce_two(insn, result, (uint32_t)values[emu_lowest_bit(rest)], insn->mode2);
    }
    return result;
}

EMU_EXEC(redux)
{
    uint32_t masks[EMU_LANES];
    const enum emu_step step = emu_warp_meet(warp, insn, lanes, insn->src[1], true, masks);
    if (step != EMU_NEXT) {
        return step;
    }
    uint64_t values[EMU_LANES];
    memcpy(values, warp->r[insn->src[0]], sizeof(values));
    const uint32_t values_undefined = warp->undefined[insn->src[0]];
    uint32_t undefined = 0;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const unsigned lane = emu_lowest_bit(rest);
        warp->r[insn->dst][lane] = reduce(insn, values, masks[lane]);
        undefined |= (uint32_t)((values_undefined & masks[lane]) != 0) << lane;
    }
    emu_lanes_defined(warp, insn->dst, lanes, undefined);
    return EMU_NEXT;
}

static bool decode_redux(struct emu_decoder *decoder)
{
    static const char *const operations[] = {"add", "min", "max", "and", "or", "xor"};
    struct emu_insn *insn = decoder->insn;
    const int operation = emu_take_one_of(decoder, operations, 6);
    enum ptx_type type;
    if (!emu_warp_need_sync(decoder) || !emu_need_type(decoder, &type) ||
        !emu_need_operands(decoder, 3, 3)) {
        return false;
    }
    const bool logic = operation >= REDUX_AND;
    const bool extreme = operation == REDUX_MIN || operation == REDUX_MAX;
    if (operation < 0 || (type == PTX_B32) != logic ||
        (type != PTX_B32 && type != PTX_U32 && type != PTX_S32 &&
         !(type == PTX_F32 && extreme))) {
        return emu_decode_fail(decoder, "not supported for this operation and type");
    }
    insn->exec = redux;
    insn->type = (uint8_t)type;
    insn->mode2 = (uint16_t)operation;
    if (type == PTX_F32) {
        insn->mode = (uint16_t)((emu_take(decoder, "abs") ? EMU_MODE_ABS : 0) |
                                (emu_take(decoder, "NaN") ? EMU_MODE_NAN : 0));
    }
    return emu_form_dst(decoder, emu_operand(decoder, 0), 32, &insn->dst) &&
           emu_form_src(decoder, emu_operand(decoder, 1), 32, type == PTX_F32,
                        &insn->src[0]) &&
           emu_warp_mask(decoder, 2, &insn->src[1]);
}

const struct emu_opcode emu_reduce_opcodes[] = {
    {"vote", decode_vote},
    {"match", decode_match},
    {"redux", decode_redux},
    {0},
};
