/* SPDX-License-Identifier: MIT */
/* cvt: what its files share. */
#ifndef EMU_EXEC_OP_CVT_H
#define EMU_EXEC_OP_CVT_H

#include <math.h>

#include "exec/op_float.h"

enum emu_cvt_kind {
    EMU_CVT_UNSIGNED,
    EMU_CVT_SIGNED,
    EMU_CVT_FLOAT,
    EMU_CVT_PAIR, /* of floats, the first in the upper half */
    EMU_CVT_FOUR  /* the same of four */
};

struct emu_cvt_type {
    const char *name;
    enum emu_cvt_kind kind;
    uint8_t bits;
    enum emu_format format;
    bool exact_register; /* a wider register cannot be used */
};

/* insn->extra: a conversion as it was written. */
struct emu_cvt {
    const struct emu_cvt_type *to, *from;
    bool has_rounding; /* how.rounding was written as .rn, .rz, … */
    bool has_integral; /* or as .rni, .rzi, …: to a whole number */
    bool is_random;    /* or as .rs */
    bool ftz, sat, satfinite, relu;
    struct emu_encode how;
    unsigned to_bits; /* of the destination's register */
};

bool emu_cvt_decode(struct emu_decoder *decoder);
bool emu_cvt_pack_decode(struct emu_decoder *decoder);

/* Executor and restrictions of a conversion with an integer on one side or both. */
bool emu_cvt_integers(struct emu_decoder *decoder, const struct emu_cvt *cvt);
bool emu_cvt_to_integer(struct emu_decoder *decoder, const struct emu_cvt *cvt);
bool emu_cvt_from_integer(struct emu_decoder *decoder, const struct emu_cvt *cvt);
/* The same of a conversion to or from a pair, and how many source operands it has. */
bool emu_cvt_pairs(struct emu_decoder *decoder, const struct emu_cvt *cvt,
                   unsigned *ret_sources);

/* The same of .rs, with its operands. */
bool emu_cvt_random(struct emu_decoder *decoder, struct emu_cvt *cvt);
/* Whether the register, if it is one, can hold the type. */
bool emu_cvt_register(struct emu_decoder *decoder, const struct ptx_operand *operand,
                      const struct emu_cvt_type *type);

/* ------------------------------------------------------------------ for one value */

static inline uint64_t emu_cvt_cut(uint64_t value, unsigned bits)
{
    return bits >= 64 ? value : value & ((UINT64_C(1) << bits) - 1);
}

static inline int64_t emu_cvt_extend(uint64_t value, unsigned bits)
{
    return (int64_t)(value << (64 - bits)) >> (64 - bits);
}

static inline double emu_cvt_clamp(double value)
{
    return value > 0 ? (value < 1 ? value : 1) : 0; /* NaN gives +0 */
}

static inline double emu_cvt_whole(double value, enum emu_rounding rounding)
{
    switch (rounding) {
    case EMU_RZ:
        return trunc(value);
    case EMU_RM:
        return floor(value);
    case EMU_RP:
        return ceil(value);
    default:
        return rint(value);
    }
}

static inline double emu_cvt_read(const struct emu_cvt *cvt, uint64_t bits)
{
    if (cvt->from->format == EMU_F32 && cvt->ftz) {
        bits = emu_f32_flush((uint32_t)bits);
    }
    return emu_decode(cvt->from->format, emu_cvt_cut(bits, cvt->from->bits));
}

/* One conversion a lane by a function of its own. */
#define EMU_CVT_EXEC(name, function)                                              \
    EMU_EXEC(name)                                                                \
    {                                                                             \
        const struct emu_cvt *cvt = insn->extra;                                  \
        const uint64_t *x = warp->r[insn->src[0]];                                \
        uint64_t *d = warp->r[insn->dst];                                         \
        EMU_FOR_LANES(lanes, lane, { d[lane] = function(cvt, x[lane]); });        \
        emu_lanes_defined(warp, insn->dst, lanes, warp->undefined[insn->src[0]]); \
        return EMU_NEXT;                                                          \
    }

#endif
