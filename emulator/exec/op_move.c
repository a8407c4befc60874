/* SPDX-License-Identifier: MIT */
/* mov: copies, packing and unpacking of vectors, special registers; selp and slct. */
#include "exec/op_predicate.h"

#include "exec/op_form.h"
#include "exec/op_lanes.h"
#include "exec/special.h"

/* --------------------------------------------------------------------------------- mov */

EMU_OP1(copy, uint64_t, uint64_t, a)

static void copy_slot(struct emu_warp *warp, uint32_t to, uint32_t from, uint32_t lanes)
{
    const uint64_t *x = warp->r[from];
    uint64_t *d = warp->r[to];
    EMU_FOR_LANES(lanes, lane, { d[lane] = x[lane]; });
    emu_lanes_defined(warp, to, lanes, warp->undefined[from]);
}

EMU_EXEC(copy_128)
{
    copy_slot(warp, insn->dst, insn->src[0], lanes);
    copy_slot(warp, insn->dst + 1, insn->src[1], lanes);
    return EMU_NEXT;
}

/* Elements of insn->bytes each lie in `list`, lowest first. A 128-bit register is two
 * slots. */
EMU_EXEC(pack)
{
    const unsigned bits = insn->bytes * 8u;
    const unsigned per_slot = 64 / bits < insn->list_count ? 64 / bits : insn->list_count;
    for (unsigned first = 0; first < insn->list_count; first += per_slot) {
        const uint32_t slot = insn->dst + first / per_slot;
        const uint32_t *elements = insn->list + first;
        uint64_t *d = warp->r[slot];
        uint32_t undefined = 0;
        for (unsigned k = 0; k < per_slot; k++) {
            undefined |= warp->undefined[elements[k]];
        }
        EMU_FOR_LANES(lanes, lane, {
            uint64_t value = 0;
            for (unsigned k = 0; k < per_slot; k++) {
                value |= warp->r[elements[k]][lane] << k * bits;
            }
            d[lane] = value;
        });
        emu_lanes_defined(warp, slot, lanes, undefined);
    }
    return EMU_NEXT;
}

EMU_EXEC(unpack)
{
    const unsigned bits = insn->bytes * 8u;
    const uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    for (unsigned k = 0; k < insn->list_count; k++) {
        if (insn->list[k] == EMU_NO_SLOT) {
            continue;
        }
        const uint32_t from = insn->src[k * bits / 64];
        const unsigned shift = k * bits % 64;
        const uint64_t *x = warp->r[from];
        uint64_t *d = warp->r[insn->list[k]];
        EMU_FOR_LANES(lanes, lane, { d[lane] = x[lane] >> shift & mask; });
        emu_lanes_defined(warp, insn->list[k], lanes, warp->undefined[from]);
    }
    return EMU_NEXT;
}

/* A register of 128 bits is two slots; 128-bit constants do not exist. */
static bool decode_scalar(struct emu_decoder *decoder, const struct ptx_operand *operand,
                          unsigned bits, bool is_float, uint32_t ret_slots[2])
{
    if (bits == 128 && operand->kind != PTX_REGISTER) {
        return emu_decode_fail(decoder, "a 128-bit operand that is not a register");
    }
    if (!emu_form_src(decoder, operand, bits, is_float, &ret_slots[0])) {
        return false;
    }
    ret_slots[1] = ret_slots[0] + 1;
    return true;
}

static bool decode_elements(struct emu_decoder *decoder, const struct ptx_operand *vector,
                            unsigned bits, bool is_destination)
{
    struct emu_insn *insn = decoder->insn;
    if ((vector->count != 2 && vector->count != 4) || bits / vector->count < 8) {
        return emu_decode_fail(decoder, "a vector of %u elements", vector->count);
    }
    const unsigned element_bits = bits / vector->count;
    insn->bytes = (uint8_t)(element_bits / 8);
    insn->list_count = vector->count;
    insn->list = emu_decode_alloc(decoder, vector->count * sizeof(*insn->list));
    for (unsigned k = 0; k < vector->count; k++) {
        const struct ptx_operand *element = &vector->elements[k];
        if (is_destination && element->kind == PTX_SINK) {
            insn->list[k] = EMU_NO_SLOT;
        } else if (!(is_destination
                         ? emu_form_dst(decoder, element, element_bits, &insn->list[k])
                         : emu_form_src(decoder, element, element_bits, false,
                                        &insn->list[k]))) {
            return false;
        }
    }
    return true;
}

static bool decode_predicate(struct emu_decoder *decoder)
{
    const struct ptx_operand *source = emu_operand(decoder, 1);
    if (source->kind != PTX_SPECIAL) {
        return emu_predicate_decode(decoder);
    }
    return emu_form_predicate(decoder, emu_operand(decoder, 0), false,
                              &decoder->insn->dst) &&
           emu_special_decode(decoder, source->text, 1);
}

static bool is_movable(enum ptx_type type)
{
    return ptx_type_bytes(type) > 1 &&
           (!emu_form_is_float(type) || type == PTX_F32 || type == PTX_F64);
}

static bool decode_move(struct emu_decoder *decoder)
{
    struct emu_insn *insn = decoder->insn;
    enum ptx_type type;
    if (!emu_need_operands(decoder, 2, 2) || !emu_need_type(decoder, &type)) {
        return false;
    }
    if (type == PTX_PRED) {
        return decode_predicate(decoder);
    }
    if (!is_movable(type)) {
        return emu_decode_fail(decoder, "not supported for this type");
    }
    const unsigned bits = emu_form_bits(type);
    const struct ptx_operand *to = emu_operand(decoder, 0);
    const struct ptx_operand *from = emu_operand(decoder, 1);
    insn->type = (uint8_t)type;
    if (to->kind == PTX_VECTOR) {
        insn->exec = unpack;
        return decode_scalar(decoder, from, bits, false, insn->src) &&
               decode_elements(decoder, to, bits, true);
    }
    if (!emu_form_dst(decoder, to, bits, &insn->dst)) {
        return false;
    }
    if (from->kind == PTX_VECTOR) {
        insn->exec = pack;
        return decode_elements(decoder, from, bits, false);
    }
    if (from->kind == PTX_SPECIAL) {
        return emu_special_decode(decoder, from->text, bits);
    }
    insn->exec = bits == 128 ? copy_128 : copy;
    return decode_scalar(decoder, from, bits, emu_form_is_float(type), insn->src);
}

/* -------------------------------------------------------------------------- selp, slct */

/* Only the chosen source has to be defined. */
static enum emu_step choose(struct emu_warp *warp, const struct emu_insn *insn,
                            uint32_t lanes, uint32_t first, uint32_t undefined)
{
    const uint64_t *x = warp->r[insn->src[0]];
    const uint64_t *y = warp->r[insn->src[1]];
    uint64_t *d = warp->r[insn->dst];
    undefined |=
        (first & warp->undefined[insn->src[0]]) | (~first & warp->undefined[insn->src[1]]);
    EMU_FOR_LANES(lanes, lane, { d[lane] = (first >> lane & 1) != 0 ? x[lane] : y[lane]; });
    emu_lanes_defined(warp, insn->dst, lanes, undefined);
    return EMU_NEXT;
}

EMU_EXEC(selp)
{
    return choose(warp, insn, lanes, emu_predicate_read(warp, insn, 2),
                  emu_predicate_undefined(warp, insn, 2));
}

EMU_EXEC(slct_s32)
{
    uint32_t first = 0;
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
        first |= (uint32_t)((int32_t)warp->r[insn->src[2]][lane] >= 0) << lane;
    }
    return choose(warp, insn, lanes, first, warp->undefined[insn->src[2]]);
}

/* -0 is not less than 0, nor is a subnormal that is flushed. */
EMU_EXEC(slct_f32)
{
    uint32_t first = 0;
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
        const uint32_t bits = (uint32_t)warp->r[insn->src[2]][lane];
        const bool flushed = (insn->mode & EMU_MODE_FTZ) != 0 && (bits & 0x7F800000) == 0;
        first |= (uint32_t)(flushed || emu_f32_of(bits) >= 0) << lane;
    }
    return choose(warp, insn, lanes, first, warp->undefined[insn->src[2]]);
}

#define SELECTABLE                                                              \
    (EMU_T(B16) | EMU_T(B32) | EMU_T(B64) | EMU_T_I16 | EMU_T_I32 | EMU_T_I64 | \
     EMU_T(F32) | EMU_T(F64))

const struct emu_form emu_select_forms[] = {
    {"selp", SELECTABLE, 0, 0, 0, "nnnp", selp},
    {"slct", SELECTABLE, EMU_T(S32), 0, 0, "nnni", slct_s32},
    {"slct", SELECTABLE, EMU_T(F32), 0, EMU_W(FTZ), "nnni", slct_f32},
    {0},
};

const struct emu_opcode emu_move_opcodes[] = {
    {"mov", decode_move},
    {0},
};
