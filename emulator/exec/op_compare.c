/* SPDX-License-Identifier: MIT */
/* Comparisons: setp and set; isspacep. */
#include "exec/memory.h"
#include "exec/op_form.h"
#include "exec/op_half.h"
#include "exec/op_lanes.h"
#include "exec/op_predicate.h"

/* -------------------------------------------------------------------------- relations */

/* Each gives the lanes, of all 32, where it holds. Values of lanes that do not execute
 * are of no interest, but harmless to read. */
typedef uint32_t (*relation)(const uint64_t *x, const uint64_t *y);

#define RELATION(name, type, read, expression)                 \
    static uint32_t name(const uint64_t *x, const uint64_t *y) \
    {                                                          \
        uint32_t mask = 0;                                     \
        for (unsigned lane = 0; lane < EMU_LANES; lane++) {    \
            const type a = read(x[lane]);                      \
            const type b = read(y[lane]);                      \
            mask |= (uint32_t)(expression) << lane;            \
        }                                                      \
        return mask;                                           \
    }
#define ORDERED(suffix, type, read)           \
    RELATION(eq_##suffix, type, read, a == b) \
    RELATION(ne_##suffix, type, read, a != b) \
    RELATION(lt_##suffix, type, read, a < b)  \
    RELATION(le_##suffix, type, read, a <= b) \
    RELATION(gt_##suffix, type, read, a > b)  \
    RELATION(ge_##suffix, type, read, a >= b)
/* `ne` is ordered in PTX: false when one of them is NaN. */
#define FLOATING(suffix, type, read)                               \
    RELATION(eq_##suffix, type, read, a == b)                      \
    RELATION(ne_##suffix, type, read, a != b && a == a && b == b)  \
    RELATION(lt_##suffix, type, read, a < b)                       \
    RELATION(le_##suffix, type, read, a <= b)                      \
    RELATION(gt_##suffix, type, read, a > b)                       \
    RELATION(ge_##suffix, type, read, a >= b)                      \
    RELATION(equ_##suffix, type, read, a == b || a != a || b != b) \
    RELATION(neu_##suffix, type, read, a != b)                     \
    RELATION(ltu_##suffix, type, read, !(a >= b))                  \
    RELATION(leu_##suffix, type, read, !(a > b))                   \
    RELATION(gtu_##suffix, type, read, !(a <= b))                  \
    RELATION(geu_##suffix, type, read, !(a < b))                   \
    RELATION(num_##suffix, type, read, a == a && b == b)           \
    RELATION(nan_##suffix, type, read, a != a || b != b)

#define AS_S16(bits) (int16_t)(bits)
#define AS_S32(bits) (int32_t)(bits)
#define AS_S64(bits) (int64_t)(bits)
#define AS_U64(bits) (bits) /* narrower registers have zeroes above */
ORDERED(u64, uint64_t, AS_U64)
ORDERED(s16, int16_t, AS_S16)
ORDERED(s32, int32_t, AS_S32)
ORDERED(s64, int64_t, AS_S64)
FLOATING(f32, float, emu_f32_of)
FLOATING(f64, double, emu_f64_of)

enum { KIND_U64, KIND_S16, KIND_S32, KIND_S64, KIND_F32, KIND_F64, KIND_COUNT };
enum { OPERATORS = 14, INTEGER_OPERATORS = 6, UNSIGNED_ONLY = 14 };

static const char *const operators[] = {
    "eq",  "ne",  "lt",  "le",  "gt",  "ge", "equ", "neu", "ltu",
    "leu", "gtu", "geu", "num", "nan", "lo", "ls",  "hi",  "hs",
};
enum { OPERATOR_LT = 2 }; /* lo, ls, hi, hs are lt, le, gt, ge */

#define ROW_6(suffix) \
    eq_##suffix, ne_##suffix, lt_##suffix, le_##suffix, gt_##suffix, ge_##suffix
#define ROW_14(suffix)                                                                   \
    ROW_6(suffix), equ_##suffix, neu_##suffix, ltu_##suffix, leu_##suffix, gtu_##suffix, \
        geu_##suffix, num_##suffix, nan_##suffix
static const relation relations[KIND_COUNT][OPERATORS] = {
    [KIND_U64] = {ROW_6(u64)}, [KIND_S16] = {ROW_6(s16)},  [KIND_S32] = {ROW_6(s32)},
    [KIND_S64] = {ROW_6(s64)}, [KIND_F32] = {ROW_14(f32)}, [KIND_F64] = {ROW_14(f64)},
};

/* -------------------------------------------------------------------------- one compare */

enum combine { COMBINE_NONE, COMBINE_AND, COMBINE_OR, COMBINE_XOR };

/* insn->extra of setp and set. */
struct compare {
    relation holds;
    enum combine combine; /* with the predicate in source 2 */
    bool flush;
    bool is_half, is_pair;   /* the operands have to be widened to f32; are two each */
    enum emu_format format;  /* of halves */
    uint64_t yes, yes_upper; /* what set writes, of a pair's lower and upper part */
};

static const struct compare *compare_of(const struct emu_insn *insn)
{
    return insn->extra;
}

static void prepare(const struct compare *compare, const uint64_t *from, unsigned shift,
                    uint64_t *to)
{
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
        uint32_t bits = (uint32_t)from[lane];
        if (compare->is_half) {
            const uint16_t half = (uint16_t)(bits >> shift);
            bits = emu_half_widen(compare->format,
                                  compare->flush ? emu_half_flush(compare->format, half)
                                                 : half);
        } else if (compare->flush && (bits & 0x7F800000) == 0) {
            bits &= 0x80000000;
        }
        to[lane] = bits;
    }
}

/* Lanes where the lower or only elements, or the upper elements, compare. */
static uint32_t run_relation(const struct emu_warp *warp, const struct emu_insn *insn,
                             bool upper)
{
    const struct compare *compare = compare_of(insn);
    const uint64_t *x = warp->r[insn->src[0]];
    const uint64_t *y = warp->r[insn->src[1]];
    if (!compare->is_half && !compare->flush) {
        return compare->holds(x, y);
    }
    uint64_t a[EMU_LANES];
    uint64_t b[EMU_LANES];
    prepare(compare, x, upper ? 16 : 0, a);
    prepare(compare, y, upper ? 16 : 0, b);
    return compare->holds(a, b);
}

static uint32_t combine(const struct emu_warp *warp, const struct emu_insn *insn,
                        uint32_t holds)
{
    switch (compare_of(insn)->combine) {
    case COMBINE_AND:
        return holds & emu_predicate_read(warp, insn, 2);
    case COMBINE_OR:
        return holds | emu_predicate_read(warp, insn, 2);
    case COMBINE_XOR:
        return holds ^ emu_predicate_read(warp, insn, 2);
    default:
        return holds;
    }
}

static uint32_t find_undefined(const struct emu_warp *warp, const struct emu_insn *insn)
{
    return warp->undefined[insn->src[0]] | warp->undefined[insn->src[1]] |
           emu_predicate_undefined(warp, insn, 2);
}

EMU_EXEC(setp)
{
    const uint32_t holds = run_relation(warp, insn, false);
    const uint32_t undefined = find_undefined(warp, insn);
    const uint32_t first = combine(warp, insn, holds);
    if (insn->dst2 != EMU_NO_PREDICATE) {
        const uint32_t other =
            compare_of(insn)->is_pair ? run_relation(warp, insn, true) : ~holds;
        emu_lanes_predicate(warp, insn->dst2, lanes, combine(warp, insn, other), undefined);
    }
    if (insn->dst != EMU_NO_PREDICATE) {
        emu_lanes_predicate(warp, insn->dst, lanes, first, undefined);
    }
    return EMU_NEXT;
}

EMU_EXEC(set)
{
    const struct compare *compare = compare_of(insn);
    const uint32_t lower = combine(warp, insn, run_relation(warp, insn, false));
    const uint32_t upper =
        compare->is_pair ? combine(warp, insn, run_relation(warp, insn, true)) : 0;
    const uint32_t undefined = find_undefined(warp, insn);
    uint64_t *d = warp->r[insn->dst];
    EMU_FOR_LANES(lanes, lane, {
        d[lane] = ((lower >> lane & 1) != 0 ? compare->yes : 0) |
                  ((upper >> lane & 1) != 0 ? compare->yes_upper : 0);
    });
    emu_lanes_defined(warp, insn->dst, lanes, undefined);
    return EMU_NEXT;
}

/* ---------------------------------------------------------------------------- decoding */

static int get_kind(enum ptx_type type)
{
    switch (type) {
    case PTX_B16:
    case PTX_B32:
    case PTX_B64:
    case PTX_U16:
    case PTX_U32:
    case PTX_U64:
        return KIND_U64;
    case PTX_S16:
        return KIND_S16;
    case PTX_S32:
        return KIND_S32;
    case PTX_S64:
        return KIND_S64;
    case PTX_F64:
        return KIND_F64;
    case PTX_F32:
    case PTX_F16:
    case PTX_BF16:
    case PTX_F16X2:
    case PTX_BF16X2:
        return KIND_F32;
    default:
        return -1;
    }
}

static bool decode_relation(struct emu_decoder *decoder, enum ptx_type type,
                            struct compare *compare)
{
    const int kind = get_kind(type);
    const int which =
        emu_take_one_of(decoder, operators, sizeof(operators) / sizeof(operators[0]));
    if (kind < 0) {
        return emu_decode_fail(decoder, "not supported for this type");
    }
    if (which < 0) {
        return emu_decode_fail(decoder, "it has no comparison");
    }
    const bool is_unsigned = type == PTX_U16 || type == PTX_U32 || type == PTX_U64;
    const bool is_bits = kind == KIND_U64 && !is_unsigned;
    if ((which >= UNSIGNED_ONLY && !is_unsigned) || (is_bits && which >= OPERATOR_LT)) {
        return emu_decode_fail(decoder, "comparison .%s is not supported for this type",
                               operators[which]);
    }
    compare->holds =
        relations[kind]
                 [which >= UNSIGNED_ONLY ? which - UNSIGNED_ONLY + OPERATOR_LT : which];
    return compare->holds != NULL ||
           emu_decode_fail(decoder, "comparison .%s is not supported for this type",
                           operators[which]);
}

/* Everything but the destination; the sources begin at operand 1. */
static bool decode_compare(struct emu_decoder *decoder, enum ptx_type type,
                           struct compare **ret_compare)
{
    static const char *const combines[] = {"and", "or", "xor"};
    struct emu_insn *insn = decoder->insn;
    struct compare *compare = emu_decode_alloc(decoder, sizeof(*compare));
    compare->is_pair = type == PTX_F16X2 || type == PTX_BF16X2;
    compare->is_half = compare->is_pair || type == PTX_F16 || type == PTX_BF16;
    compare->format = type == PTX_F16 || type == PTX_F16X2 ? EMU_F16 : EMU_BF16;
    compare->combine = (enum combine)(emu_take_one_of(decoder, combines, 3) + 1);
    compare->flush = emu_take(decoder, "ftz");
    insn->extra = compare;
    insn->src[2] = EMU_NO_PREDICATE;
    *ret_compare = compare;
    const unsigned count = compare->combine == COMBINE_NONE ? 3 : 4;
    if (!decode_relation(decoder, type, compare) ||
        !emu_need_operands(decoder, count, count)) {
        return false;
    }
    if (compare->flush && type != PTX_F32 && type != PTX_F16 && type != PTX_F16X2) {
        return emu_decode_fail(decoder, "qualifier .ftz is not supported for this type");
    }
    const bool is_float = emu_form_is_float(type);
    for (unsigned k = 0; k < 2; k++) {
        if (!emu_form_src(decoder, emu_operand(decoder, k + 1), emu_form_bits(type),
                          is_float, &insn->src[k])) {
            return false;
        }
    }
    return compare->combine == COMBINE_NONE ||
           emu_form_predicate_source(decoder, emu_operand(decoder, 3), 2);
}

static bool decode_setp(struct emu_decoder *decoder)
{
    struct emu_insn *insn = decoder->insn;
    struct compare *compare;
    enum ptx_type type;
    if (!emu_need_type(decoder, &type) || !decode_compare(decoder, type, &compare)) {
        return false;
    }
    const struct ptx_operand *to = emu_operand(decoder, 0);
    insn->exec = setp;
    insn->dst2 = EMU_NO_PREDICATE;
    if (compare->is_half && !compare->is_pair && to->kind == PTX_PAIR) {
        return emu_decode_fail(decoder, "a comparison of single halves has one result");
    }
    if (to->kind == PTX_PAIR) {
        return emu_form_predicate(decoder, &to->elements[0], true, &insn->dst) &&
               emu_form_predicate(decoder, &to->elements[1], true, &insn->dst2);
    }
    if (compare->is_pair) {
        return emu_decode_fail(decoder, "a comparison of pairs needs two results p|q");
    }
    return emu_form_predicate(decoder, to, false, &insn->dst);
}

static bool fits_result(enum ptx_type result, enum ptx_type type)
{
    const bool is_half = type == PTX_F16 || type == PTX_BF16;
    const bool is_pair = type == PTX_F16X2 || type == PTX_BF16X2;
    switch (result) {
    case PTX_U32:
    case PTX_S32:
        return true;
    case PTX_U16:
    case PTX_S16:
        return is_half;
    case PTX_F32:
        return !is_half && !is_pair;
    case PTX_F16:
        return type != PTX_BF16 && !is_pair;
    case PTX_BF16:
        return !is_pair;
    default:
        return is_pair && result == type;
    }
}

/* What stands for true in a result, or in each half of one. */
static uint64_t get_yes(enum ptx_type result, bool is_pair)
{
    switch (result) {
    case PTX_U32:
    case PTX_S32:
        return is_pair ? 0xFFFF : 0xFFFFFFFF;
    case PTX_U16:
    case PTX_S16:
        return 0xFFFF;
    case PTX_F32:
        return 0x3F800000;
    case PTX_F16:
    case PTX_F16X2:
        return 0x3C00;
    default: /* bf16, bf16x2 */
        return 0x3F80;
    }
}

static bool decode_set(struct emu_decoder *decoder)
{
    struct emu_insn *insn = decoder->insn;
    struct compare *compare;
    enum ptx_type result;
    enum ptx_type type;
    if (!emu_need_type(decoder, &result) || !emu_need_type(decoder, &type) ||
        !decode_compare(decoder, type, &compare)) {
        return false;
    }
    insn->exec = set;
    if (!fits_result(result, type)) {
        return emu_decode_fail(decoder, "not supported with this type of result");
    }
    compare->yes = get_yes(result, compare->is_pair);
    compare->yes_upper = compare->yes << 16;
    return emu_form_dst(decoder, emu_operand(decoder, 0), emu_form_bits(result),
                        &insn->dst);
}

/* ---------------------------------------------------------------------------- isspacep */

enum { SPACE_GLOBAL, SPACE_LOCAL, SPACE_PARAM, SPACE_CTA, SPACE_CLUSTER };

EMU_EXEC(isspacep)
{
    const uint64_t *x = warp->r[insn->src[0]];
    uint32_t inside = 0;
    EMU_FOR_LANES(lanes, lane, {
        enum emu_space space;
        uint64_t address;
        emu_classify(x[lane], &space, &address);
        bool is_inside = false;
        switch (insn->mode) {
        case SPACE_GLOBAL:
            is_inside = space == EMU_SPACE_GLOBAL;
            break;
        case SPACE_LOCAL:
            is_inside = space == EMU_SPACE_LOCAL;
            break;
        case SPACE_PARAM:
            is_inside = space == EMU_SPACE_PARAM;
            break;
        default:
            is_inside = space == EMU_SPACE_SHARED_CLUSTER &&
                        (insn->mode == SPACE_CLUSTER ||
                         address >> EMU_SHARED_RANK_SHIFT == warp->cta->rank);
            break;
        }
        inside |= (uint32_t)is_inside << lane;
    });
    emu_lanes_predicate(warp, insn->dst, lanes, inside, warp->undefined[insn->src[0]]);
    return EMU_NEXT;
}

static bool decode_isspacep(struct emu_decoder *decoder)
{
    static const char *const spaces[] = {"global",      "local",           "param",
                                         "shared::cta", "shared::cluster", "shared"};
    struct emu_insn *insn = decoder->insn;
    const int space = emu_take_one_of(decoder, spaces, 6);
    if (space < 0) {
        return emu_decode_fail(decoder, "a space that is not supported");
    }
    insn->exec = isspacep;
    insn->mode = (uint16_t)(space == 5 ? SPACE_CTA : space);
    return emu_need_operands(decoder, 2, 2) &&
           emu_form_predicate(decoder, emu_operand(decoder, 0), false, &insn->dst) &&
           emu_form_src(decoder, emu_operand(decoder, 1), 64, false, &insn->src[0]);
}

const struct emu_opcode emu_compare_opcodes[] = {
    {"setp", decode_setp},
    {"set", decode_set},
    {"isspacep", decode_isspacep},
    {0},
};
