/* SPDX-License-Identifier: MIT */
/* cvt: how it is decoded; conversions between floats, one at a time. */
#include "exec/op_cvt.h"

#include "exec/op_half.h"

static const struct emu_cvt_type types[] = {
    {"u8", EMU_CVT_UNSIGNED, 8, EMU_U8, false},
    {"u16", EMU_CVT_UNSIGNED, 16, EMU_U8, false},
    {"u32", EMU_CVT_UNSIGNED, 32, EMU_U8, false},
    {"u64", EMU_CVT_UNSIGNED, 64, EMU_U8, false},
    {"s8", EMU_CVT_SIGNED, 8, EMU_S8, false},
    {"s16", EMU_CVT_SIGNED, 16, EMU_S8, false},
    {"s32", EMU_CVT_SIGNED, 32, EMU_S8, false},
    {"s64", EMU_CVT_SIGNED, 64, EMU_S8, false},
    {"f16", EMU_CVT_FLOAT, 16, EMU_F16, false},
    {"bf16", EMU_CVT_FLOAT, 16, EMU_BF16, true},
    {"f32", EMU_CVT_FLOAT, 32, EMU_F32, false},
    {"f64", EMU_CVT_FLOAT, 64, EMU_F64, false},
    {"tf32", EMU_CVT_FLOAT, 32, EMU_TF32, true},
    {"f16x2", EMU_CVT_PAIR, 32, EMU_F16, false},
    {"bf16x2", EMU_CVT_PAIR, 32, EMU_BF16, true},
    {"e4m3x2", EMU_CVT_PAIR, 16, EMU_E4M3, false},
    {"e5m2x2", EMU_CVT_PAIR, 16, EMU_E5M2, false},
    {"e2m3x2", EMU_CVT_PAIR, 16, EMU_E2M3, false},
    {"e3m2x2", EMU_CVT_PAIR, 16, EMU_E3M2, false},
    {"e2m1x2", EMU_CVT_PAIR, 8, EMU_E2M1, false},
    {"ue8m0x2", EMU_CVT_PAIR, 16, EMU_UE8M0, false},
    {"e4m3x4", EMU_CVT_FOUR, 32, EMU_E4M3, false},
    {"e5m2x4", EMU_CVT_FOUR, 32, EMU_E5M2, false},
    {"e2m3x4", EMU_CVT_FOUR, 32, EMU_E2M3, false},
    {"e3m2x4", EMU_CVT_FOUR, 32, EMU_E3M2, false},
    {"e2m1x4", EMU_CVT_FOUR, 16, EMU_E2M1, false},
};
enum { TYPE_COUNT = sizeof(types) / sizeof(types[0]) };

/* ------------------------------------------------------------------- float, float */

/* A NaN to or from f64: sign and payload stay, as far as there is room. */
static uint64_t carry_nan(const struct emu_cvt *cvt, uint64_t bits)
{
    static const uint8_t mantissa_bits[EMU_FORMAT_COUNT] = {
        [EMU_F64] = 52, [EMU_F32] = 23, [EMU_F16] = 10, [EMU_BF16] = 7};
    const unsigned from = mantissa_bits[cvt->from->format];
    const unsigned to = mantissa_bits[cvt->to->format];
    if (cvt->ftz && cvt->from->format == EMU_F32) {
        bits = EMU_NAN_F32; /* an operation of f32 comes first */
    }
    const uint64_t sign = bits >> (cvt->from->bits - 1) & 1;
    const uint64_t payload = bits << (64 - from) | UINT64_C(1) << 63;
    const uint64_t infinity = (UINT64_C(1) << (cvt->to->bits - 1)) - (UINT64_C(1) << to);
    return sign << (cvt->to->bits - 1) | infinity | payload >> (64 - to);
}

static uint64_t convert_float(const struct emu_cvt *cvt, uint64_t bits)
{
    double value = emu_cvt_read(cvt, bits);
    if (isnan(value) && !cvt->sat &&
        (cvt->from->format == EMU_F64 || cvt->to->format == EMU_F64)) {
        return carry_nan(cvt, bits);
    }
    if (cvt->has_integral) {
        value = emu_cvt_whole(value, cvt->how.rounding);
    }
    if (cvt->sat) {
        value = emu_cvt_clamp(value);
    }
    const uint64_t result = emu_encode(cvt->to->format, value, cvt->how);
    /* .ftz asks whether the result would be tiny if exponents had no end; where rounding
     * reached the least normal number, rounding a multiple decides. */
    if (cvt->how.flush && (result & 0x7FFFFFFF) == 0x00800000) {
        const uint64_t lifted = emu_encode(EMU_F32, value * 0x1p24, cvt->how);
        return (lifted & 0x7FFFFFFF) < 0x0C800000 ? result & 0x80000000 : result;
    }
    return result;
}

/* cvt.rna.tf32 rounds the pattern, so a NaN loses what lies below tf32's mantissa, and
 * may become infinity; .satfinite takes one unit of the last place off whatever is not
 * finite. */
static uint64_t round_tf32_away(const struct emu_cvt *cvt, uint64_t bits)
{
    if ((bits & 0x7F800000) != 0x7F800000) {
        return convert_float(cvt, bits);
    }
    return (bits & 0xFFFFE000) - (cvt->satfinite ? 0x2000 : 0);
}

static uint64_t widen_f16(const struct emu_cvt *cvt, uint64_t bits)
{
    (void)cvt;
    return emu_half_widen(EMU_F16, (uint16_t)bits);
}

static uint64_t widen_bf16(const struct emu_cvt *cvt, uint64_t bits)
{
    (void)cvt;
    return (uint32_t)(uint16_t)bits << 16; /* the payload of a NaN stays */
}

static uint64_t narrow_f16(const struct emu_cvt *cvt, uint64_t bits)
{
    (void)cvt;
    return emu_half_narrow(EMU_F16, (uint32_t)bits);
}

static uint64_t narrow_bf16(const struct emu_cvt *cvt, uint64_t bits)
{
    (void)cvt;
    return emu_half_narrow(EMU_BF16, (uint32_t)bits);
}

static uint64_t keep_float(const struct emu_cvt *cvt, uint64_t bits)
{
    return emu_cvt_cut(bits, cvt->to->bits);
}

EMU_CVT_EXEC(float_to_float, convert_float)
EMU_CVT_EXEC(f32_to_tf32_away, round_tf32_away)
EMU_CVT_EXEC(copy_float, keep_float)
EMU_CVT_EXEC(f16_to_f32, widen_f16)
EMU_CVT_EXEC(bf16_to_f32, widen_bf16)
EMU_CVT_EXEC(f32_to_f16, narrow_f16)
EMU_CVT_EXEC(f32_to_bf16, narrow_bf16)

/* Whether every value of `from` is one of `to`. */
static bool holds_all(enum emu_format to, enum emu_format from)
{
    return to == from || to == EMU_F64 ||
           (to == EMU_F32 && (from == EMU_F16 || from == EMU_BF16));
}

static bool check_floats(struct emu_decoder *decoder, const struct emu_cvt *cvt)
{
    const enum emu_format to = cvt->to->format;
    const enum emu_format from = cvt->from->format;
    const bool narrows = !holds_all(to, from);
    const bool nearest_or_zero = cvt->how.rounding == EMU_RN || cvt->how.rounding == EMU_RZ;
    if (narrows != cvt->has_rounding || (cvt->has_integral && to != from)) {
        return emu_decode_fail(decoder, narrows ? "it needs a rounding"
                                                : "a rounding that is not allowed here");
    }
    if (from == EMU_TF32 || (to == EMU_TF32 && from != EMU_F32)) {
        return emu_decode_fail(decoder, "only f32 converts to tf32, and nothing from it");
    }
    if (cvt->how.rounding == EMU_RNA && to != EMU_TF32) {
        return emu_decode_fail(decoder, "qualifier .rna is not supported here");
    }
    if (to == EMU_TF32 &&
        (cvt->ftz || cvt->sat || (cvt->relu && cvt->how.rounding == EMU_RNA) ||
         (!nearest_or_zero && cvt->how.rounding != EMU_RNA))) {
        return emu_decode_fail(decoder, "these qualifiers do not go together");
    }
    const bool extras = cvt->relu || cvt->satfinite;
    if (extras && (from != EMU_F32 || to == EMU_F64 || to == EMU_F32 || cvt->sat ||
                   (!nearest_or_zero && to != EMU_TF32))) {
        return emu_decode_fail(decoder,
                               "qualifier .relu or .satfinite is not supported here");
    }
    if (cvt->ftz && to != EMU_F32 && from != EMU_F32) {
        return emu_decode_fail(decoder, "qualifier .ftz is not supported here");
    }
    return !(cvt->sat && (to == EMU_BF16 || from == EMU_BF16)) ||
           emu_decode_fail(decoder, "qualifier .sat is not supported here");
}

static bool decode_floats(struct emu_decoder *decoder, const struct emu_cvt *cvt)
{
    const enum emu_format to = cvt->to->format;
    const enum emu_format from = cvt->from->format;
    const bool plain = !cvt->ftz && !cvt->sat && !cvt->satfinite && !cvt->relu;
    const bool nearest = cvt->how.rounding == EMU_RN;
    decoder->insn->exec =
        plain && to == from && !cvt->has_integral ? copy_float : float_to_float;
    if (plain && to == EMU_F32 && from == EMU_F16) {
        decoder->insn->exec = f16_to_f32;
    } else if (plain && to == EMU_F32 && from == EMU_BF16) {
        decoder->insn->exec = bf16_to_f32;
    } else if (plain && nearest && to == EMU_F16 && from == EMU_F32) {
        decoder->insn->exec = f32_to_f16;
    } else if (plain && nearest && to == EMU_BF16 && from == EMU_F32) {
        decoder->insn->exec = f32_to_bf16;
    } else if (to == EMU_TF32 && cvt->how.rounding == EMU_RNA) {
        decoder->insn->exec = f32_to_tf32_away;
    }
    return check_floats(decoder, cvt);
}

/* ---------------------------------------------------------------------------- decoding */

bool emu_cvt_register(struct emu_decoder *decoder, const struct ptx_operand *operand,
                      const struct emu_cvt_type *type)
{
    const unsigned bits = emu_operand_bits(decoder, operand);
    return operand->kind != PTX_REGISTER || bits == type->bits ||
           (bits > type->bits && !type->exact_register && bits <= 64) ||
           emu_decode_fail(decoder, "a %u-bit register for .%s", bits, type->name);
}

/* The operands; the destination may be a wider register, and so may the sources. */
static bool take_operands(struct emu_decoder *decoder, struct emu_cvt *cvt,
                          unsigned sources)
{
    const struct ptx_operand *to = emu_operand(decoder, 0);
    if (!emu_need_operands(decoder, sources + 1, sources + 1) ||
        !emu_cvt_register(decoder, to, cvt->to)) {
        return false;
    }
    cvt->to_bits = emu_operand_bits(decoder, to);
    if (!emu_form_dst(decoder, to, cvt->to_bits, &decoder->insn->dst)) {
        return false;
    }
    for (unsigned k = 0; k < sources; k++) {
        const struct ptx_operand *from = emu_operand(decoder, k + 1);
        const unsigned bits =
            from->kind == PTX_REGISTER ? emu_operand_bits(decoder, from) : cvt->from->bits;
        if (!emu_cvt_register(decoder, from, cvt->from) ||
            !emu_form_src(decoder, from, bits, cvt->from->kind >= EMU_CVT_FLOAT,
                          &decoder->insn->src[k])) {
            return false;
        }
    }
    return true;
}

static const struct emu_cvt_type *take_type(struct emu_decoder *decoder)
{
    const char *names[TYPE_COUNT];
    for (unsigned i = 0; i < TYPE_COUNT; i++) {
        names[i] = types[i].name;
    }
    const int index = emu_take_one_of(decoder, names, TYPE_COUNT);
    return index < 0 ? NULL : &types[index];
}

static void take_rounding(struct emu_decoder *decoder, struct emu_cvt *cvt)
{
    static const char *const roundings[] = {"rn",  "rz",  "rm",  "rp", "rna",
                                            "rni", "rzi", "rmi", "rpi"};
    static const enum emu_rounding meanings[] = {EMU_RN, EMU_RZ, EMU_RM, EMU_RP, EMU_RNA,
                                                 EMU_RN, EMU_RZ, EMU_RM, EMU_RP};
    enum { FIRST_INTEGRAL = 5 };
    cvt->is_random = emu_take(decoder, "rs");
    if (cvt->is_random) {
        cvt->how.rounding = EMU_RS;
        return;
    }
    const int index = emu_take_one_of(decoder, roundings, 9);
    cvt->has_rounding = index >= 0 && index < FIRST_INTEGRAL;
    cvt->has_integral = index >= FIRST_INTEGRAL;
    cvt->how.rounding = index < 0 ? EMU_RN : meanings[index];
}

bool emu_cvt_decode(struct emu_decoder *decoder)
{
    struct emu_cvt *cvt = emu_decode_alloc(decoder, sizeof(*cvt));
    decoder->insn->extra = cvt;
    take_rounding(decoder, cvt);
    cvt->ftz = emu_take(decoder, "ftz");
    cvt->sat = emu_take(decoder, "sat");
    cvt->satfinite = emu_take(decoder, "satfinite");
    cvt->relu = emu_take(decoder, "relu");
    cvt->to = take_type(decoder);
    cvt->from = take_type(decoder);
    if (cvt->to == NULL || cvt->from == NULL) {
        return emu_decode_fail(decoder, "its types are not supported");
    }
    cvt->how.saturate_finite = cvt->satfinite;
    cvt->how.relu = cvt->relu;
    cvt->how.flush = cvt->ftz && cvt->to->format == EMU_F32;
    if (cvt->is_random) {
        return emu_cvt_random(decoder, cvt);
    }
    if (cvt->to->kind >= EMU_CVT_PAIR || cvt->from->kind >= EMU_CVT_PAIR) {
        unsigned sources = 0;
        return emu_cvt_pairs(decoder, cvt, &sources) &&
               take_operands(decoder, cvt, sources);
    }
    if (!take_operands(decoder, cvt, 1)) {
        return false;
    }
    const bool to_float = cvt->to->kind == EMU_CVT_FLOAT;
    const bool from_float = cvt->from->kind == EMU_CVT_FLOAT;
    if (!to_float && !from_float) {
        return !(cvt->relu || cvt->satfinite)
                   ? emu_cvt_integers(decoder, cvt)
                   : emu_decode_fail(decoder, ".relu or .satfinite between integers");
    }
    return !to_float     ? emu_cvt_to_integer(decoder, cvt)
           : !from_float ? emu_cvt_from_integer(decoder, cvt)
                         : decode_floats(decoder, cvt);
}
