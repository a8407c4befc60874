/* SPDX-License-Identifier: MIT */
/* cvt.rs: two or four f32 to short floats, rounded by random bits that the program brings.
 */
#include "exec/op_cvt.h"
#include "exec/op_form.h"
#include "exec/op_lanes.h"

static uint16_t reverse(uint16_t bits)
{
    uint16_t reversed = 0;
    for (unsigned i = 0; i < 16; i++) {
        reversed = (uint16_t)(reversed << 1 | (bits >> i & 1));
    }
    return reversed;
}

/*
 * The 16 bits for element `i` of `count`, of which the last lies lowest. Two elements have
 * a half of the word each, f16 only the 13 low bits of it, which are moved to the top. Of
 * four the lower two share the low 16 bits, or with 4-bit elements the low bytes of both
 * halves, and the upper two the rest; the first of such two takes them reversed. The PTX
 * ISA has the order in figures only. Others measured it on a B200, for bf16, e4m3 and e2m1.
 */
static uint16_t pick_bits(const struct emu_cvt *cvt, uint32_t word, unsigned i,
                          unsigned count)
{
    const bool upper = i < count / 2;
    if (count == 2) {
        const uint32_t half = upper ? word >> 16 : word;
        return (uint16_t)(cvt->to->format == EMU_F16 ? half << 3 : half);
    }
    const uint32_t shifted = word >> (upper ? 8 : 0);
    const uint32_t shared = cvt->to->format == EMU_E2M1
                                ? (shifted >> 8 & 0xFF00) | (shifted & 0xFF)
                                : word >> (upper ? 16 : 0);
    return i % 2 == 0 ? reverse((uint16_t)shared) : (uint16_t)shared;
}

/* insn->list: the values, first to last; insn->src[0]: the random bits. */
EMU_EXEC(convert_randomly)
{
    const struct emu_cvt *cvt = insn->extra;
    const unsigned count = insn->list_count;
    const unsigned bits = cvt->to->bits / count;
    uint32_t undefined = warp->undefined[insn->src[0]];
    uint64_t results[EMU_LANES] = {0};
    for (unsigned i = 0; i < count; i++) {
        const uint64_t *values = warp->r[insn->list[i]];
        undefined |= warp->undefined[insn->list[i]];
        for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
            const unsigned lane = emu_lowest_bit(rest);
            struct emu_encode how = cvt->how;
            how.random = pick_bits(cvt, (uint32_t)warp->r[insn->src[0]][lane], i, count);
            const double value = emu_decode(EMU_F32, (uint32_t)values[lane]);
            results[lane] = results[lane] << bits | emu_encode(cvt->to->format, value, how);
        }
    }
    uint64_t *d = warp->r[insn->dst];
    EMU_FOR_LANES(lanes, lane, { d[lane] = results[lane]; });
    emu_lanes_defined(warp, insn->dst, lanes, undefined);
    return EMU_NEXT;
}

/* Two values are operands of their own, four stand in braces. */
static bool take_values(struct emu_decoder *decoder, unsigned count)
{
    struct emu_insn *insn = decoder->insn;
    if (count == 4) {
        return emu_operand_vector(decoder, emu_operand(decoder, 1), false, 32, &insn->list,
                                  &insn->list_count) &&
               (insn->list_count == 4 ||
                emu_decode_fail(decoder, "%u values, not 4", insn->list_count));
    }
    insn->list_count = count;
    insn->list = emu_decode_alloc(decoder, count * sizeof(*insn->list));
    for (unsigned i = 0; i < count; i++) {
        if (!emu_form_src(decoder, emu_operand(decoder, 1 + i), 32, true, &insn->list[i])) {
            return false;
        }
    }
    return true;
}

bool emu_cvt_random(struct emu_decoder *decoder, struct emu_cvt *cvt)
{
    const bool four = cvt->to->kind == EMU_CVT_FOUR;
    const unsigned operands = four ? 3 : 4;
    const struct ptx_operand *to = emu_operand(decoder, 0);
    const bool is_half = cvt->to->format == EMU_F16 || cvt->to->format == EMU_BF16;
    if (cvt->from->format != EMU_F32 ||
        (!four && (cvt->to->kind != EMU_CVT_PAIR || !is_half))) {
        return emu_decode_fail(decoder, "qualifier .rs is not supported here");
    }
    if (cvt->ftz || cvt->sat) {
        return emu_decode_fail(decoder, "qualifier .%s is not supported here",
                               cvt->ftz ? "ftz" : "sat");
    }
    if (four && !cvt->satfinite) {
        return emu_decode_fail(decoder, "it needs .satfinite");
    }
    cvt->to_bits = emu_operand_bits(decoder, to);
    decoder->insn->exec = convert_randomly;
    return emu_need_operands(decoder, operands, operands) &&
           emu_cvt_register(decoder, to, cvt->to) &&
           emu_form_dst(decoder, to, cvt->to_bits, &decoder->insn->dst) &&
           take_values(decoder, four ? 4 : 2) &&
           emu_form_src(decoder, emu_operand(decoder, operands - 1), 32, false,
                        &decoder->insn->src[0]);
}
