/* SPDX-License-Identifier: MIT */
/* cvt to and from pairs of short floats, and cvt.pack. */
#include "exec/op_cvt.h"
#include "exec/op_form.h"
#include "exec/op_half.h"
#include "exec/op_lanes.h"

/* ------------------------------------------------------------------------------- pairs */

/* What is allowed for a pair of types. */
enum presence { NEVER, MAYBE, ALWAYS };

static const struct {
    const char *to, *from;
    bool zero, up, nearest; /* .rz, .rp, .rn */
    enum presence satfinite;
    bool relu;
} rules[] = {
    {"f16x2", "f32", true, false, true, MAYBE, true},
    {"bf16x2", "f32", true, false, true, MAYBE, true},
    {"e4m3x2", "f32", false, false, true, ALWAYS, true},
    {"e5m2x2", "f32", false, false, true, ALWAYS, true},
    {"e4m3x2", "f16x2", false, false, true, ALWAYS, true},
    {"e5m2x2", "f16x2", false, false, true, ALWAYS, true},
    {"f16x2", "e4m3x2", false, false, true, NEVER, true},
    {"f16x2", "e5m2x2", false, false, true, NEVER, true},
    {"e2m1x2", "f32", false, false, true, ALWAYS, true},
    {"e2m3x2", "f32", false, false, true, ALWAYS, true},
    {"e3m2x2", "f32", false, false, true, ALWAYS, true},
    {"e2m1x2", "f16x2", false, false, true, ALWAYS, true},
    {"f16x2", "e2m1x2", false, false, true, NEVER, true},
    {"f16x2", "e2m3x2", false, false, true, NEVER, true},
    {"f16x2", "e3m2x2", false, false, true, NEVER, true},
    {"ue8m0x2", "f32", true, true, false, MAYBE, false},
    {"ue8m0x2", "bf16x2", true, true, false, MAYBE, false},
    {"bf16x2", "ue8m0x2", false, false, true, NEVER, false},
};

/* Two f32 sources: the first goes into the upper half. */
EMU_EXEC(join_pair)
{
    const struct emu_cvt *cvt = insn->extra;
    const unsigned bits = cvt->to->bits / 2u;
    const uint64_t *upper = warp->r[insn->src[0]];
    const uint64_t *lower = warp->r[insn->src[1]];
    uint64_t *d = warp->r[insn->dst];
    EMU_FOR_LANES(lanes, lane, {
        const double high = emu_decode(EMU_F32, (uint32_t)upper[lane]);
        const double low = emu_decode(EMU_F32, (uint32_t)lower[lane]);
        d[lane] = emu_encode(cvt->to->format, high, cvt->how) << bits |
                  emu_encode(cvt->to->format, low, cvt->how);
    });
    emu_lanes_defined(warp, insn->dst, lanes,
                      warp->undefined[insn->src[0]] | warp->undefined[insn->src[1]]);
    return EMU_NEXT;
}

#define JOIN_HALVES(name, format)               \
    EMU_OP2(name, uint32_t, uint32_t, uint32_t, \
            (uint32_t)emu_half_narrow(format, a) << 16 | emu_half_narrow(format, b))
JOIN_HALVES(join_f16, EMU_F16)
JOIN_HALVES(join_bf16, EMU_BF16)

EMU_EXEC(convert_pair)
{
    const struct emu_cvt *cvt = insn->extra;
    const unsigned from_bits = cvt->from->bits / 2u;
    const unsigned to_bits = cvt->to->bits / 2u;
    const uint64_t mask = (UINT64_C(1) << from_bits) - 1;
    const uint64_t *x = warp->r[insn->src[0]];
    uint64_t *d = warp->r[insn->dst];
    EMU_FOR_LANES(lanes, lane, {
        const double high = emu_decode(cvt->from->format, x[lane] >> from_bits & mask);
        const double low = emu_decode(cvt->from->format, x[lane] & mask);
        d[lane] = emu_encode(cvt->to->format, high, cvt->how) << to_bits |
                  emu_encode(cvt->to->format, low, cvt->how);
    });
    emu_lanes_defined(warp, insn->dst, lanes, warp->undefined[insn->src[0]]);
    return EMU_NEXT;
}

static bool is_allowed(bool zero, bool up, bool nearest, enum emu_rounding rounding)
{
    return (rounding == EMU_RZ && zero) || (rounding == EMU_RP && up) ||
           (rounding == EMU_RN && nearest);
}

bool emu_cvt_pairs(struct emu_decoder *decoder, const struct emu_cvt *cvt,
                   unsigned *ret_sources)
{
    struct emu_insn *insn = decoder->insn;
    for (unsigned i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (strcmp(rules[i].to, cvt->to->name) != 0 ||
            strcmp(rules[i].from, cvt->from->name) != 0) {
            continue;
        }
        if (!cvt->has_rounding ||
            !is_allowed(rules[i].zero, rules[i].up, rules[i].nearest, cvt->how.rounding)) {
            return emu_decode_fail(decoder, "a rounding that is not allowed here");
        }
        if (cvt->ftz || cvt->sat || (cvt->relu && !rules[i].relu) ||
            (cvt->satfinite && rules[i].satfinite == NEVER)) {
            return emu_decode_fail(decoder, "a qualifier .%s that is not supported here",
                                   cvt->ftz    ? "ftz"
                                   : cvt->sat  ? "sat"
                                   : cvt->relu ? "relu"
                                               : "satfinite");
        }
        if (!cvt->satfinite && rules[i].satfinite == ALWAYS) {
            return emu_decode_fail(decoder, "it needs .satfinite");
        }
        const bool joins = cvt->from->kind == EMU_CVT_FLOAT;
        const bool quick = joins && cvt->how.rounding == EMU_RN && !cvt->satfinite &&
                           !cvt->relu && cvt->to->bits == 32;
        insn->exec = !joins                       ? convert_pair
                     : !quick                     ? join_pair
                     : cvt->to->format == EMU_F16 ? join_f16
                                                  : join_bf16;
        *ret_sources = joins ? 2 : 1;
        return true;
    }
    return emu_decode_fail(decoder, "not supported from .%s to .%s", cvt->from->name,
                           cvt->to->name);
}

/* ---------------------------------------------------------------------------- cvt.pack */

static uint32_t saturate(int32_t value, unsigned bits, bool is_signed)
{
    const int32_t most = (int32_t)(is_signed ? (1u << (bits - 1)) - 1 : (1u << bits) - 1);
    const int32_t least = is_signed ? -most - 1 : 0;
    const int32_t kept = value < least ? least : value > most ? most : value;
    return (uint32_t)kept & ((1u << bits) - 1);
}

/* insn->bytes: bits of an element; insn->mode: signed. */
static uint32_t join(const struct emu_insn *insn, int32_t a, int32_t b)
{
    const unsigned bits = insn->bytes;
    return saturate(a, bits, insn->mode != 0) << bits | saturate(b, bits, insn->mode != 0);
}

EMU_OP2(pack_two, int32_t, int32_t, uint32_t, join(insn, a, b))
EMU_OP3(pack_onto, int32_t, int32_t, uint32_t, uint32_t,
        join(insn, a, b) | c << 2 * insn->bytes)

bool emu_cvt_pack_decode(struct emu_decoder *decoder)
{
    static const char *const types[] = {"u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"};
    struct emu_insn *insn = decoder->insn;
    const int type = emu_take_one_of(decoder, types, 8);
    if (type < 0 || !emu_take(decoder, "sat") || !emu_take(decoder, "s32")) {
        return emu_decode_fail(decoder, "it needs .sat, a type to convert to, and .s32");
    }
    const unsigned sources = type < 2 ? 2 : 3;
    if (sources == 3 && !emu_take(decoder, "b32")) {
        return emu_decode_fail(decoder, "it needs .b32 for what it is packed onto");
    }
    insn->bytes = (uint8_t)(16 >> type / 2);
    insn->mode = (uint16_t)(type % 2);
    insn->exec = sources == 2 ? pack_two : pack_onto;
    if (!emu_need_operands(decoder, sources + 1, sources + 1) ||
        !emu_form_dst(decoder, emu_operand(decoder, 0), 32, &insn->dst)) {
        return false;
    }
    for (unsigned k = 0; k < sources; k++) {
        if (!emu_form_src(decoder, emu_operand(decoder, k + 1), 32, false, &insn->src[k])) {
            return false;
        }
    }
    return true;
}
