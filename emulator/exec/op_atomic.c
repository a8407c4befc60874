/* SPDX-License-Identifier: MIT */
/* atom and red: read, compute, write, with nothing of the same warp in between. */
#include <string.h>

#include "exec/events.h"
#include "exec/op_float.h"
#include "exec/op_form.h"
#include "exec/op_memory.h"
#include "exec/strong.h"
#include "numbers/numbers.h"

enum operation { ADD, MIN, MAX, AND, OR, XOR, EXCH, CAS, INC, DEC };
static const char *const operation_names[] = {"add", "min",  "max", "and", "or",
                                              "xor", "exch", "cas", "inc", "dec"};

/*
 * Additions of f32 and f64 are done by the L2 cache in global memory and by a loop of the
 * SM in shared memory. L2 takes subnormal numbers of f32 as zero, and returns a NaN of f64
 * as it is; in what order the two ask for it was seen on a GPU of compute capability 9.0.
 */
static uint64_t add_f32(bool global, uint64_t cell, uint64_t operand)
{
    const uint16_t mode = global ? EMU_MODE_FTZ : 0;
    return emu_f32_finish(
        emu_add_f32(emu_f32_read(cell, mode), emu_f32_read(operand, mode), EMU_RN), mode);
}

static uint64_t add_f64(bool global, uint64_t cell, uint64_t operand)
{
    const double result = emu_add_f64(emu_f64_of(cell), emu_f64_of(operand), EMU_RN);
    if (global && emu_f64_is_nan(operand)) {
        return operand;
    }
    if (global && emu_f64_is_nan(cell)) {
        return cell;
    }
    return emu_f64_finish(result, cell, operand, operand);
}

static uint64_t add_pair(enum emu_format format, uint64_t a, uint64_t b)
{
    uint32_t low = emu_add_half(format, (uint16_t)a, (uint16_t)b);
    uint32_t high = emu_add_half(format, (uint16_t)(a >> 16), (uint16_t)(b >> 16));
    return low | high << 16;
}

static uint64_t sum(enum ptx_type type, bool global, uint64_t a, uint64_t b)
{
    switch (type) {
    case PTX_F32:
        return add_f32(global, a, b);
    case PTX_F64:
        return add_f64(global, a, b);
    case PTX_F16:
        return emu_add_half(EMU_F16, (uint16_t)a, (uint16_t)b);
    case PTX_BF16:
        return emu_add_half(EMU_BF16, (uint16_t)a, (uint16_t)b);
    case PTX_F16X2:
        return add_pair(EMU_F16, a, b);
    case PTX_BF16X2:
        return add_pair(EMU_BF16, a, b);
    default:
        return a + b;
    }
}

static bool less(enum ptx_type type, uint64_t a, uint64_t b)
{
    switch (type) {
    case PTX_S32:
        return (int32_t)a < (int32_t)b;
    case PTX_S64:
        return (int64_t)a < (int64_t)b;
    default:
        return a < b;
    }
}

static uint64_t pick_half(enum emu_format format, bool greater, uint64_t a, uint64_t b)
{
    const double picked = emu_float_pick(emu_decode(format, (uint16_t)a),
                                         emu_decode(format, (uint16_t)b), greater, 0);
    return emu_encode(format, picked, (struct emu_encode){.rounding = EMU_RN});
}

static uint64_t pick(enum ptx_type type, bool greater, uint64_t old, uint64_t operand)
{
    switch (type) {
    case PTX_F16:
        return pick_half(EMU_F16, greater, old, operand);
    case PTX_BF16:
        return pick_half(EMU_BF16, greater, old, operand);
    case PTX_F16X2:
    case PTX_BF16X2: {
        const enum ptx_type half = type == PTX_F16X2 ? PTX_F16 : PTX_BF16;
        return pick(half, greater, old, operand) |
               pick(half, greater, old >> 16, operand >> 16) << 16;
    }
    default:
        return less(type, old, operand) == greater ? operand : old;
    }
}

/* What memory holds afterwards. */
static uint64_t combine(const struct emu_insn *insn, bool global, uint64_t old,
                        uint64_t operand, uint64_t second)
{
    const enum ptx_type type = (enum ptx_type)insn->type;
    switch ((enum operation)insn->mode2) {
    case ADD:
        return sum(type, global, old, operand);
    case MIN:
    case MAX:
        return pick(type, insn->mode2 == MAX, old, operand);
    case AND:
        return old & operand;
    case OR:
        return old | operand;
    case XOR:
        return old ^ operand;
    case EXCH:
        return operand;
    case CAS:
        return old == operand ? second : old;
    case INC:
        return old >= operand ? 0 : old + 1;
    case DEC:
        return old == 0 || old > operand ? operand : old - 1;
    }
    return old;
}

/* Whether a cas of 128 bits finds what it compares with: both halves, or nothing. */
static bool finds_both(const struct emu_warp *warp, const struct emu_insn *insn,
                       unsigned lane, const uint8_t *data)
{
    const uint32_t *operands = insn->list + insn->vector;
    const uint64_t wanted[2] = {warp->r[operands[0]][lane], warp->r[operands[1]][lane]};
    return memcmp(data, wanted, sizeof(wanted)) == 0;
}

static bool are_operands_defined(struct emu_warp *warp, const struct emu_insn *insn,
                                 uint32_t lanes)
{
    bool good = emu_need_defined(warp, insn, lanes, insn->src[0], "address");
    for (unsigned i = 0; good && i < insn->vector; i++) {
        good = emu_need_defined(warp, insn, lanes, insn->list[insn->vector + i],
                                "operand of the atomic");
        if (good && insn->src[2] != EMU_NO_SLOT) {
            good = emu_need_defined(warp, insn, lanes, insn->src[2] + i,
                                    "operand of the atomic");
        }
    }
    return good;
}

/* insn: mode space, mode2 operation, type, type2 order; src[0] address, src[2] second
 * operand of cas; list destinations (or none) and then operands, `vector` of each. What has
 * 128 bits is a vector of two halves, which lie in neighbouring slots. */
static enum emu_step execute(struct emu_warp *warp, const struct emu_insn *insn,
                             uint32_t lanes)
{
    enum emu_space space = (enum emu_space)insn->mode;
    const enum emu_scope scope = emu_order_scope(insn->type2);
    bool changed = false;
    bool any_global = false;
    uint64_t seen = 0;
    const uint32_t *results = insn->list;
    const uint32_t *operands = insn->list + insn->vector;
    if (!are_operands_defined(warp, insn, lanes)) {
        return EMU_FAILED;
    }
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        unsigned lane = emu_lowest_bit(rest);
        struct emu_actor actor = emu_actor_of_lane(warp, insn, lane);
        emu_actor_is_atomic(&actor, scope);
        uint64_t address = warp->r[insn->src[0]][lane] + (uint64_t)insn->offset;
        if (space == EMU_SPACE_SHARED || space == EMU_SPACE_SHARED_CLUSTER) {
            address &= UINT32_MAX;
        }
        uint8_t data[32];
        uint8_t before[sizeof(data)];
        unsigned bytes = insn->bytes;
        const unsigned total = bytes * insn->vector;
        const uint64_t strong = emu_strong_address(space, address);
        const bool global = !emu_strong_is_shared(strong);
        emu_strong_read(warp, strong, insn->type2);
        if (!emu_read(&actor, space, address, total, data, NULL)) {
            return EMU_FAILED;
        }
        any_global = any_global || global;
        memcpy(before, data, total);
        seen = emu_mix(emu_mix(seen, address), emu_hash(data, total));
        const bool keeps = insn->type == PTX_B128 && insn->mode2 == CAS &&
                           !finds_both(warp, insn, lane, data);
        for (unsigned i = 0; i < insn->vector; i++) {
            uint64_t old = 0;
            memcpy(&old, data + (size_t)i * bytes, bytes);
            uint64_t second =
                insn->src[2] == EMU_NO_SLOT ? 0 : warp->r[insn->src[2] + i][lane];
            uint64_t now =
                keeps ? old
                      : combine(insn, global, old, warp->r[operands[i]][lane], second);
            memcpy(data + (size_t)i * bytes, &now, bytes);
            if (results[i] != EMU_NO_SLOT) {
                emu_set(warp, results[i], lane, old);
            }
        }
        if (!emu_write(&actor, space, address, total, data, NULL)) {
            return EMU_FAILED;
        }
        emu_strong_write(warp, lane, strong, insn->type2, true);
        changed = changed || memcmp(before, data, total) != 0;
    }
    if (!changed) {
        return emu_strong_poll(warp, insn, seen, any_global);
    }
    emu_note_write(warp);
    return EMU_NEXT;
}

/* `vector`: only then there are extremes of halves, and only sums and extremes. */
static bool is_legal(enum operation operation, enum ptx_type type, bool vector)
{
    if (vector && operation > MAX) {
        return false;
    }
    bool integer =
        (type >= PTX_U32 && type <= PTX_U64) || type == PTX_S32 || type == PTX_S64;
    switch (operation) {
    case ADD:
        return integer || (type >= PTX_F16 && type <= PTX_F64);
    case MIN:
    case MAX:
        return integer || (vector && (type == PTX_F16 || type == PTX_BF16 ||
                                      type == PTX_F16X2 || type == PTX_BF16X2));
    case INC:
    case DEC:
        return type == PTX_U32;
    case AND:
    case OR:
    case XOR:
        return type == PTX_B32 || type == PTX_B64;
    default:
        return type == PTX_B16 || type == PTX_B32 || type == PTX_B64;
    }
}

/* Operands of 128 bits, each in two slots. */
static bool take_wide_operands(struct emu_decoder *decoder, bool is_cas)
{
    struct emu_insn *insn = decoder->insn;
    const struct ptx_operand *to = emu_operand(decoder, 0);
    uint32_t result = EMU_NO_SLOT;
    uint32_t operand = 0;
    if (!(to->kind == PTX_SINK || emu_form_dst(decoder, to, 128, &result)) ||
        !emu_operand_address(decoder, emu_operand(decoder, 1), &insn->src[0],
                             &insn->offset)) {
        return false;
    }
    for (unsigned i = 2; i < (is_cas ? 4 : 3); i++) {
        if (emu_operand(decoder, i)->kind != PTX_REGISTER) {
            return emu_decode_fail(decoder, "an operand of 128 bits is not a register");
        }
        if (!emu_form_src(decoder, emu_operand(decoder, i), 128, false,
                          i == 2 ? &operand : &insn->src[2])) {
            return false;
        }
    }
    insn->bytes = 8;
    insn->vector = 2;
    insn->list_count = 4;
    insn->list = emu_decode_alloc(decoder, insn->list_count * sizeof(*insn->list));
    for (unsigned i = 0; i < 2; i++) {
        insn->list[i] = result == EMU_NO_SLOT ? result : result + i;
        insn->list[2 + i] = operand + i;
    }
    return true;
}

static bool decode(struct emu_decoder *decoder, bool has_result)
{
    static const char *const vectors[] = {"v2", "v4", "v8"};
    struct emu_insn *insn = decoder->insn;
    enum emu_space space = EMU_SPACE_GENERIC;
    enum ptx_type type = PTX_B32;
    insn->type2 = emu_take_order(decoder, true);
    emu_take_space(decoder, &space);
    if (space == EMU_SPACE_GLOBAL || space == EMU_SPACE_GENERIC) {
        decoder->program->shares_grid = true;
    }
    int operation = emu_take_one_of(decoder, operation_names, 10);
    int vector = emu_take_one_of(decoder, vectors, 3);
    emu_take(decoder, "noftz");
    const bool good = operation >= 0 && emu_need_type(decoder, &type);
    const bool wide = type == PTX_B128 && has_result && vector < 0;
    if (!good || (wide ? operation != CAS && operation != EXCH
                       : !is_legal((enum operation)operation, type, vector >= 0))) {
        return emu_decode_fail(decoder, "this operation and type are not supported");
    }
    unsigned first = has_result ? 1 : 0;
    unsigned count = first + (operation == CAS ? 3 : 2);
    if (!emu_need_operands(decoder, count, count)) {
        return false;
    }
    insn->mode = (uint16_t)space;
    insn->mode2 = (uint16_t)operation;
    insn->type = (uint8_t)type;
    insn->bytes = (uint8_t)ptx_type_bytes(type);
    insn->vector = (uint8_t)(vector < 0 ? 1 : 2 << vector);
    insn->exec = execute;
    if (wide) {
        return take_wide_operands(decoder, operation == CAS);
    }
    uint32_t *operands = NULL;
    uint32_t *results = NULL;
    uint32_t operand_count = 0;
    uint32_t result_count = insn->vector;
    if (!emu_operand_address(decoder, emu_operand(decoder, first), &insn->src[0],
                             &insn->offset) ||
        !emu_operand_vector(decoder, emu_operand(decoder, first + 1), false,
                            insn->bytes * 8u, &operands, &operand_count)) {
        return false;
    }
    if (has_result && !emu_operand_vector(decoder, emu_operand(decoder, 0), true,
                                          insn->bytes * 8u, &results, &result_count)) {
        return false;
    }
    if (operation == CAS && !emu_operand_src(decoder, emu_operand(decoder, first + 2),
                                             insn->bytes * 8u, &insn->src[2])) {
        return false;
    }
    if (operand_count != insn->vector || result_count != insn->vector) {
        return emu_decode_fail(decoder, "the vectors have different lengths");
    }
    insn->list_count = 2u * insn->vector;
    insn->list = emu_decode_alloc(decoder, insn->list_count * sizeof(*insn->list));
    for (unsigned i = 0; i < insn->vector; i++) {
        insn->list[i] = has_result ? results[i] : EMU_NO_SLOT;
        insn->list[insn->vector + i] = operands[i];
    }
    return true;
}

static bool decode_atom(struct emu_decoder *decoder)
{
    return decode(decoder, true);
}

static bool decode_red(struct emu_decoder *decoder)
{
    return decode(decoder, false);
}

const struct emu_opcode emu_atomic_opcodes[] = {
    {"atom", decode_atom},
    {"red", decode_red},
    {0},
};
