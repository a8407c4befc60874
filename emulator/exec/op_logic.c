/* SPDX-License-Identifier: MIT */
/* Logic and shifts, on registers and on predicates. */
#include "exec/op_form.h"
#include "exec/op_lanes.h"
#include "exec/op_predicate.h"

/* ------------------------------------------------------------------------------- logic */

/* Narrow registers have zeroes above, so one width does for all where no zero turns into a
 * one. */
EMU_OP2(and_bits, uint64_t, uint64_t, uint64_t, (a & b))
EMU_OP2(or_bits, uint64_t, uint64_t, uint64_t, a | b)
EMU_OP2(xor_bits, uint64_t, uint64_t, uint64_t, a ^ b)
EMU_OP1(not_16, uint16_t, uint16_t, ~a)
EMU_OP1(not_32, uint32_t, uint32_t, ~a)
EMU_OP1(not_64, uint64_t, uint64_t, ~a)
EMU_OP1(cnot, uint64_t, uint64_t, a == 0 ? 1 : 0)

/* Bit k of the table is the result where the bits of a, b and c are those of k. */
static uint32_t look_up(uint32_t a, uint32_t b, uint32_t c, int64_t table)
{
    uint32_t result = 0;
    for (unsigned k = 0; k < 8; k++) {
        if ((table >> k & 1) != 0) {
            result |=
                ((k & 4) != 0 ? a : ~a) & ((k & 2) != 0 ? b : ~b) & ((k & 1) != 0 ? c : ~c);
        }
    }
    return result;
}

EMU_OP3(lop3, uint32_t, uint32_t, uint32_t, uint32_t, look_up(a, b, c, insn->offset))

/* ------------------------------------------------------------------------------ shifts */

EMU_OP2(shl_16, uint32_t, uint32_t, uint16_t, b < 16 ? a << b : 0)
EMU_OP2(shl_32, uint32_t, uint32_t, uint32_t, b < 32 ? a << b : 0)
EMU_OP2(shl_64, uint64_t, uint32_t, uint64_t, b < 64 ? a << b : 0)
EMU_OP2(shr_u16, uint32_t, uint32_t, uint16_t, b < 16 ? a >> b : 0)
EMU_OP2(shr_u32, uint32_t, uint32_t, uint32_t, b < 32 ? a >> b : 0)
EMU_OP2(shr_u64, uint64_t, uint32_t, uint64_t, b < 64 ? a >> b : 0)
EMU_OP2(shr_s16, int16_t, uint32_t, uint16_t, a >> (b < 16 ? b : 15))
EMU_OP2(shr_s32, int32_t, uint32_t, uint32_t, a >> (b < 32 ? b : 31))
EMU_OP2(shr_s64, int64_t, uint32_t, uint64_t, a >> (b < 64 ? b : 63))

static uint32_t get_distance(uint32_t distance, uint16_t mode)
{
    return (mode & EMU_MODE_WRAP) != 0 ? distance & 31 : distance < 32 ? distance : 32;
}

/* The low source is a, the high one b. */
EMU_OP3(shf_l, uint64_t, uint64_t, uint32_t, uint32_t,
        (b << 32 | a) << get_distance(c, mode) >> 32)
EMU_OP3(shf_r, uint64_t, uint64_t, uint32_t, uint32_t,
        (b << 32 | a) >> get_distance(c, mode))

/* -------------------------------------------------------------------------- predicates */

#define PREDICATE_EXEC(name, expression)                                 \
    EMU_EXEC(name)                                                       \
    {                                                                    \
        const uint32_t a = emu_predicate_read(warp, insn, 0);            \
        const uint32_t b = emu_predicate_read(warp, insn, 1);            \
        (void)b;                                                         \
        emu_lanes_predicate(warp, insn->dst, lanes, expression,          \
                            emu_predicate_undefined(warp, insn, 0) |     \
                                emu_predicate_undefined(warp, insn, 1)); \
        return EMU_NEXT;                                                 \
    }
PREDICATE_EXEC(and_pred, (a & b))
PREDICATE_EXEC(or_pred, a | b)
PREDICATE_EXEC(xor_pred, a ^ b)
PREDICATE_EXEC(not_pred, ~a)
PREDICATE_EXEC(mov_pred, a)

bool emu_predicate_decode(struct emu_decoder *decoder)
{
    static const struct {
        const char *name;
        emu_exec exec;
        unsigned sources;
    } operations[] = {
        {"and", and_pred, 2}, {"or", or_pred, 2},   {"xor", xor_pred, 2},
        {"not", not_pred, 1}, {"mov", mov_pred, 1},
    };
    for (unsigned i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
        if (strcmp(decoder->source->words[0], operations[i].name) != 0) {
            continue;
        }
        decoder->insn->exec = operations[i].exec;
        decoder->insn->src[1] = EMU_NO_PREDICATE;
        bool good = emu_need_operands(decoder, operations[i].sources + 1,
                                      operations[i].sources + 1) &&
                    emu_form_predicate(decoder, emu_operand(decoder, 0), false,
                                       &decoder->insn->dst);
        for (unsigned k = 0; good && k < operations[i].sources; k++) {
            good = emu_form_predicate_source(decoder, emu_operand(decoder, k + 1), k);
        }
        return good;
    }
    return emu_decode_fail(decoder, "no form for predicates");
}

/* ------------------------------------------------------------------------------- forms */

#define B16_32_64 (EMU_T(B16) | EMU_T(B32) | EMU_T(B64))

const struct emu_form emu_logic_forms[] = {
    {"and", B16_32_64, 0, 0, 0, "nnn", and_bits},
    {"or", B16_32_64, 0, 0, 0, "nnn", or_bits},
    {"xor", B16_32_64, 0, 0, 0, "nnn", xor_bits},
    {"not", EMU_T(B16), 0, 0, 0, "nn", not_16},
    {"not", EMU_T(B32), 0, 0, 0, "nn", not_32},
    {"not", EMU_T(B64), 0, 0, 0, "nn", not_64},
    {"cnot", B16_32_64, 0, 0, 0, "nn", cnot},
    {"lop3", EMU_T(B32), 0, 0, 0, "iiii#", lop3},
    {"shl", EMU_T(B16), 0, 0, 0, "nni", shl_16},
    {"shl", EMU_T(B32), 0, 0, 0, "nni", shl_32},
    {"shl", EMU_T(B64), 0, 0, 0, "nni", shl_64},
    {"shr", EMU_T(B16) | EMU_T(U16), 0, 0, 0, "nni", shr_u16},
    {"shr", EMU_T(B32) | EMU_T(U32), 0, 0, 0, "nni", shr_u32},
    {"shr", EMU_T(B64) | EMU_T(U64), 0, 0, 0, "nni", shr_u64},
    {"shr", EMU_T(S16), 0, 0, 0, "nni", shr_s16},
    {"shr", EMU_T(S32), 0, 0, 0, "nni", shr_s32},
    {"shr", EMU_T(S64), 0, 0, 0, "nni", shr_s64},
    {"shf", EMU_T(B32), 0, EMU_W(L) | EMU_W(CLAMP), 0, "iiii", shf_l},
    {"shf", EMU_T(B32), 0, EMU_W(L) | EMU_W(WRAP), 0, "iiii", shf_l},
    {"shf", EMU_T(B32), 0, EMU_W(R) | EMU_W(CLAMP), 0, "iiii", shf_r},
    {"shf", EMU_T(B32), 0, EMU_W(R) | EMU_W(WRAP), 0, "iiii", shf_r},
    {0},
};
