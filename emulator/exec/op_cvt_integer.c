/* SPDX-License-Identifier: MIT */
/* cvt between integers, and between integers and floats. */
#include "exec/op_cvt.h"

/* A result of the type, as the wider register holds it. */
static uint64_t widen_result(const struct emu_cvt *cvt, uint64_t value)
{
    return cvt->to->kind == EMU_CVT_SIGNED
               ? emu_cvt_cut((uint64_t)emu_cvt_extend(value, cvt->to->bits), cvt->to_bits)
               : emu_cvt_cut(value, cvt->to->bits);
}

/* -------------------------------------------------------------------- integer, integer */

/* The two shifts cut and extend; they are in insn->bytes and insn->vector, and the mask of
 * the destination's register in insn->offset. */
#define EXTEND(name, from, to)                                                    \
    EMU_EXEC(name)                                                                \
    {                                                                             \
        const uint64_t *x = warp->r[insn->src[0]];                                \
        uint64_t *d = warp->r[insn->dst];                                         \
        const unsigned in = insn->bytes;                                          \
        const unsigned out = insn->vector;                                        \
        const uint64_t mask = (uint64_t)insn->offset;                             \
        EMU_FOR_LANES(lanes, lane, {                                              \
            const uint64_t value = (uint64_t)((from)(x[lane] << in) >> in);       \
            d[lane] = (uint64_t)((to)(value << out) >> out) & mask;               \
        });                                                                       \
        emu_lanes_defined(warp, insn->dst, lanes, warp->undefined[insn->src[0]]); \
        return EMU_NEXT;                                                          \
    }
EXTEND(extend_u_u, uint64_t, uint64_t)
EXTEND(extend_u_s, uint64_t, int64_t)
EXTEND(extend_s_u, int64_t, uint64_t)
EXTEND(extend_s_s, int64_t, int64_t)

EMU_EXEC(keep_low_bits)
{
    const uint64_t *x = warp->r[insn->src[0]];
    uint64_t *d = warp->r[insn->dst];
    const uint64_t mask = (uint64_t)insn->offset;
    EMU_FOR_LANES(lanes, lane, { d[lane] = x[lane] & mask; });
    emu_lanes_defined(warp, insn->dst, lanes, warp->undefined[insn->src[0]]);
    return EMU_NEXT;
}

static uint64_t greatest(const struct emu_cvt_type *type)
{
    return UINT64_MAX >> (64 - type->bits + (type->kind == EMU_CVT_SIGNED));
}

static int64_t least(const struct emu_cvt_type *type)
{
    return type->kind == EMU_CVT_SIGNED ? INT64_MIN >> (64 - type->bits) : 0;
}

static uint64_t saturate(const struct emu_cvt *cvt, uint64_t bits)
{
    const bool is_signed = cvt->from->kind == EMU_CVT_SIGNED;
    uint64_t value = is_signed ? (uint64_t)emu_cvt_extend(bits, cvt->from->bits)
                               : emu_cvt_cut(bits, cvt->from->bits);
    if (is_signed && (int64_t)value < 0) {
        const int64_t bound = least(cvt->to);
        value = (int64_t)value < bound ? (uint64_t)bound : value;
    } else if (value > greatest(cvt->to)) {
        value = greatest(cvt->to);
    }
    return widen_result(cvt, value);
}

EMU_CVT_EXEC(saturate_integer, saturate)

static bool holds_all(const struct emu_cvt_type *to, const struct emu_cvt_type *from)
{
    return from->kind == EMU_CVT_SIGNED
               ? to->kind == EMU_CVT_SIGNED && from->bits <= to->bits
           : to->kind == EMU_CVT_SIGNED ? from->bits < to->bits
                                        : from->bits <= to->bits;
}

bool emu_cvt_integers(struct emu_decoder *decoder, const struct emu_cvt *cvt)
{
    struct emu_insn *insn = decoder->insn;
    const bool from_signed = cvt->from->kind == EMU_CVT_SIGNED;
    const bool to_signed = cvt->to->kind == EMU_CVT_SIGNED;
    const unsigned kept = cvt->from->bits < cvt->to->bits ? cvt->from->bits : cvt->to->bits;
    if (cvt->has_rounding || cvt->has_integral || cvt->ftz) {
        return emu_decode_fail(decoder, "rounding or .ftz between integers");
    }
    if (cvt->sat) {
        insn->exec = saturate_integer;
        return !holds_all(cvt->to, cvt->from) ||
               emu_decode_fail(decoder, "qualifier .sat where nothing can be saturated");
    }
    const bool extends_source = from_signed && cvt->from->bits < cvt->to->bits;
    const bool extends_result = to_signed && cvt->to->bits < cvt->to_bits;
    if (!extends_source && !extends_result) {
        insn->offset = (int64_t)emu_cvt_cut(UINT64_MAX, kept);
        insn->exec = keep_low_bits;
        return true;
    }
    insn->bytes = (uint8_t)(64 - cvt->from->bits);
    insn->vector = (uint8_t)(64 - cvt->to->bits);
    insn->offset = (int64_t)emu_cvt_cut(UINT64_MAX, cvt->to_bits);
    insn->exec = from_signed ? (to_signed ? extend_s_s : extend_s_u)
                             : (to_signed ? extend_u_s : extend_u_u);
    return true;
}

/* -------------------------------------------------------------------- float to integer */

/* Saturates. NaN gives 0, but only the top bit where f64 or 64 bits are involved. */
static uint64_t convert_to_integer(const struct emu_cvt *cvt, uint64_t bits)
{
    const struct emu_cvt_type *to = cvt->to;
    const double value = emu_cvt_whole(emu_cvt_read(cvt, bits), cvt->how.rounding);
    if (isnan(value)) {
        const bool top = cvt->from->format == EMU_F64 || to->bits == 64;
        return top ? widen_result(cvt, UINT64_C(1) << (to->bits - 1)) : 0;
    }
    const unsigned size = to->bits - (to->kind == EMU_CVT_SIGNED ? 1u : 0u);
    const double limit = ldexp(1, (int)size); /* the first that does not fit */
    uint64_t result;
    if (value >= limit) {
        result = greatest(to);
    } else if (value < 0) {
        result =
            (uint64_t)(value <= -limit || to->kind == EMU_CVT_UNSIGNED ? least(to)
                                                                       : (int64_t)value);
    } else {
        result = (uint64_t)value;
    }
    return widen_result(cvt, result);
}

EMU_CVT_EXEC(float_to_integer, convert_to_integer)

/* The common one: rounding to zero is what C does. */
static uint64_t truncate_f32(const struct emu_cvt *cvt, uint64_t bits)
{
    (void)cvt;
    const float value = emu_f32_of(bits);
    if (value >= 0x1p31f) {
        return INT32_MAX;
    }
    return value >= -0x1p31f ? (uint32_t)(int32_t)value : value < 0 ? 0x80000000 : 0;
}

EMU_CVT_EXEC(f32_to_s32, truncate_f32)

bool emu_cvt_to_integer(struct emu_decoder *decoder, const struct emu_cvt *cvt)
{
    if (!cvt->has_integral || cvt->relu || cvt->satfinite) {
        return emu_decode_fail(decoder, "a conversion to an integer needs .rni, .rzi, .rmi "
                                        "or .rpi, and has no .relu or .satfinite");
    }
    if ((cvt->ftz && cvt->from->format != EMU_F32) ||
        (cvt->sat && cvt->from->format == EMU_BF16)) {
        return emu_decode_fail(decoder, "qualifier .%s is not supported here",
                               cvt->ftz ? "ftz" : "sat");
    }
    const bool common = cvt->from->format == EMU_F32 && cvt->to->kind == EMU_CVT_SIGNED &&
                        cvt->to->bits == 32 && cvt->to_bits == 32 &&
                        cvt->how.rounding == EMU_RZ;
    decoder->insn->exec = common ? f32_to_s32 : float_to_integer;
    return cvt->from->format != EMU_TF32 ||
           emu_decode_fail(decoder, "nothing converts from tf32");
}

/* -------------------------------------------------------------------- integer to float */

/* A double that rounds to any shorter format as the integer itself would: an odd last
 * bit stands for all places that a double does not have, unless they are zero. */
static double make_sticky(uint64_t magnitude)
{
    if (magnitude >> 53 == 0) {
        return (double)magnitude;
    }
    const unsigned excess = 11 - (unsigned)__builtin_clzll(magnitude);
    const uint64_t lost = magnitude & ((UINT64_C(1) << excess) - 1);
    const uint64_t kept = magnitude >> excess | (lost != 0);
    return ldexp((double)kept, (int)excess);
}

/* Rounded to a double in the given direction. */
static double round_to_double(uint64_t magnitude, bool negative, enum emu_rounding rounding)
{
    if (rounding == EMU_RN || magnitude >> 53 == 0) {
        const double value = (double)magnitude;
        return negative ? -value : value;
    }
    const unsigned excess = 11 - (unsigned)__builtin_clzll(magnitude);
    const uint64_t lost = magnitude & ((UINT64_C(1) << excess) - 1);
    const bool away = lost != 0 && rounding == (negative ? EMU_RM : EMU_RP);
    const double value = ldexp((double)((magnitude >> excess) + away), (int)excess);
    return negative ? -value : value;
}

static uint64_t convert_integer(const struct emu_cvt *cvt, uint64_t bits)
{
    const bool is_signed = cvt->from->kind == EMU_CVT_SIGNED;
    const uint64_t value = is_signed ? (uint64_t)emu_cvt_extend(bits, cvt->from->bits)
                                     : emu_cvt_cut(bits, cvt->from->bits);
    const bool negative = is_signed && (int64_t)value < 0;
    const uint64_t magnitude = negative ? 0 - value : value;
    double real;
    if (cvt->to->format == EMU_F64) {
        real = round_to_double(magnitude, negative, cvt->how.rounding);
    } else {
        real = negative ? -make_sticky(magnitude) : make_sticky(magnitude);
    }
    if (cvt->sat) {
        real = emu_cvt_clamp(real);
    }
    return emu_encode(cvt->to->format, real, cvt->how);
}

static uint64_t convert_s32(const struct emu_cvt *cvt, uint64_t bits)
{
    (void)cvt;
    return emu_f32_bits((float)(int32_t)bits);
}

static uint64_t convert_u32(const struct emu_cvt *cvt, uint64_t bits)
{
    (void)cvt;
    return emu_f32_bits((float)(uint32_t)bits);
}

EMU_CVT_EXEC(integer_to_float, convert_integer)
EMU_CVT_EXEC(s32_to_f32, convert_s32)
EMU_CVT_EXEC(u32_to_f32, convert_u32)

bool emu_cvt_from_integer(struct emu_decoder *decoder, const struct emu_cvt *cvt)
{
    if (!cvt->has_rounding || cvt->how.rounding == EMU_RNA || cvt->relu || cvt->satfinite) {
        return emu_decode_fail(decoder,
                               "a conversion from an integer needs .rn, .rz, .rm or "
                               ".rp, and has no .relu or .satfinite");
    }
    if (cvt->to->format == EMU_TF32 || (cvt->ftz && cvt->to->format != EMU_F32) ||
        (cvt->sat && cvt->to->format == EMU_BF16)) {
        return emu_decode_fail(decoder, "this type or qualifier is not supported here");
    }
    const bool common = cvt->to->format == EMU_F32 && cvt->from->bits == 32 &&
                        cvt->how.rounding == EMU_RN && !cvt->sat;
    decoder->insn->exec = !common                             ? integer_to_float
                          : cvt->from->kind == EMU_CVT_SIGNED ? s32_to_f32
                                                              : u32_to_f32;
    return true;
}
