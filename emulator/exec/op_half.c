/* SPDX-License-Identifier: MIT */
/* Arithmetic of f16 and bf16, alone and in pairs. */
#include "exec/op_half.h"

#include "exec/op_float.h"

/* One element; `a`, `b`, `c` as far as the operation has them. */
typedef uint16_t (*half_operation)(enum emu_format format, const uint16_t *operands,
                                   uint16_t mode);

static enum emu_step run(struct emu_warp *warp, const struct emu_insn *insn, uint32_t lanes,
                         unsigned sources, half_operation operation)
{
    const bool is_pair = insn->type == PTX_F16X2 || insn->type == PTX_BF16X2;
    const enum emu_format format =
        insn->type == PTX_F16 || insn->type == PTX_F16X2 ? EMU_F16 : EMU_BF16;
    const bool flush = (insn->mode & EMU_MODE_FTZ) != 0;
    uint64_t *d = warp->r[insn->dst];
    uint32_t undefined = 0;
    for (unsigned k = 0; k < sources; k++) {
        undefined |= warp->undefined[insn->src[k]];
    }
    EMU_FOR_LANES(lanes, lane, {
        uint64_t result = 0;
        for (unsigned element = 0; element < (is_pair ? 2u : 1u); element++) {
            uint16_t operands[3] = {0};
            for (unsigned k = 0; k < sources; k++) {
                operands[k] = (uint16_t)(warp->r[insn->src[k]][lane] >> 16 * element);
                operands[k] = flush ? emu_half_flush(format, operands[k]) : operands[k];
            }
            const uint16_t value = operation(format, operands, insn->mode);
            result |= (uint64_t)(flush ? emu_half_flush(format, value) : value)
                      << 16 * element;
        }
        d[lane] = result;
    });
    emu_lanes_defined(warp, insn->dst, lanes, undefined);
    return EMU_NEXT;
}

static bool is_nan(enum emu_format format, uint16_t value)
{
    return (value & 0x7FFF) > (format == EMU_F16 ? 0x7C00 : 0x7F80);
}

static uint16_t clamp(enum emu_format format, uint16_t value, uint16_t mode)
{
    const uint16_t one = format == EMU_F16 ? 0x3C00 : 0x3F80;
    const bool is_negative = (value & EMU_HALF_SIGN) != 0;
    if ((mode & EMU_MODE_SAT) != 0) {
        return is_nan(format, value) || is_negative ? 0 : value > one ? one : value;
    }
    return (mode & EMU_MODE_RELU) != 0 && is_negative && !is_nan(format, value) ? 0 : value;
}

static uint16_t add(enum emu_format format, const uint16_t *x, uint16_t mode)
{
    return clamp(format, emu_add_half(format, x[0], x[1]), mode);
}

static uint16_t subtract(enum emu_format format, const uint16_t *x, uint16_t mode)
{
    return clamp(format, emu_add_half(format, x[0], x[1] ^ EMU_HALF_SIGN), mode);
}

/* With .ftz a result is zero when it is tiny after rounding to 11 bits as if exponents had
 * no end: below 2^-14 by more than half a unit. `exact` need only be exact near 2^-14. */
static uint16_t drop_tiny(uint16_t value, double exact, uint16_t mode)
{
    const bool is_tiny = (mode & EMU_MODE_FTZ) != 0 && fabs(exact) < 0x1.ffep-15;
    return is_tiny ? value & EMU_HALF_SIGN : value;
}

static uint16_t multiply(enum emu_format format, const uint16_t *x, uint16_t mode)
{
    const double exact = emu_decode(format, x[0]) * emu_decode(format, x[1]);
    return clamp(format, drop_tiny(emu_mul_half(format, x[0], x[1]), exact, mode), mode);
}

static uint16_t multiply_add(enum emu_format format, const uint16_t *x, uint16_t mode)
{
    const double exact =
        emu_decode(format, x[0]) * emu_decode(format, x[1]) + emu_decode(format, x[2]);
    return clamp(format, drop_tiny(emu_fma_half(format, x[0], x[1], x[2]), exact, mode),
                 mode);
}

static uint16_t negate(enum emu_format format, const uint16_t *x, uint16_t mode)
{
    (void)mode;
    return is_nan(format, x[0]) ? EMU_HALF_NAN : x[0] ^ EMU_HALF_SIGN;
}

static uint16_t drop_sign(enum emu_format format, const uint16_t *x, uint16_t mode)
{
    (void)mode;
    return is_nan(format, x[0]) ? EMU_HALF_NAN : x[0] & 0x7FFF;
}

/* The sign of .xorsign is taken from the patterns, because those of NaN have one too. */
static uint16_t pick(enum emu_format format, const uint16_t *x, bool greater, uint16_t mode)
{
    const bool has_sign = (mode & EMU_MODE_XORSIGN) != 0;
    const double picked = emu_float_pick(emu_decode(format, x[0]), emu_decode(format, x[1]),
                                         greater, (uint16_t)(mode & ~EMU_MODE_XORSIGN));
    const uint16_t value =
        (uint16_t)emu_encode(format, picked, (struct emu_encode){.rounding = EMU_RN});
    return has_sign && !is_nan(format, value)
               ? (uint16_t)((value & 0x7FFF) | ((x[0] ^ x[1]) & EMU_HALF_SIGN))
               : value;
}

static uint16_t pick_lesser(enum emu_format format, const uint16_t *x, uint16_t mode)
{
    return pick(format, x, false, mode);
}

static uint16_t pick_greater(enum emu_format format, const uint16_t *x, uint16_t mode)
{
    return pick(format, x, true, mode);
}

static uint16_t approximate(enum emu_format format, uint16_t x, enum emu_approx function)
{
    const float value = emu_approx_f32(function, emu_f32_of(emu_half_widen(format, x)));
    return emu_half_narrow(format, emu_f32_bits(value));
}

static uint16_t raise_two(enum emu_format format, const uint16_t *x, uint16_t mode)
{
    (void)mode;
    return approximate(format, x[0], EMU_EX2);
}

static uint16_t take_tanh(enum emu_format format, const uint16_t *x, uint16_t mode)
{
    (void)mode;
    return approximate(format, x[0], EMU_TANH);
}

#define HALF_EXEC(name, sources, operation)                \
    EMU_EXEC(name)                                         \
    {                                                      \
        return run(warp, insn, lanes, sources, operation); \
    }
HALF_EXEC(add_half, 2, add)
HALF_EXEC(sub_half, 2, subtract)
HALF_EXEC(mul_half, 2, multiply)
HALF_EXEC(fma_half, 3, multiply_add)
HALF_EXEC(neg_half, 1, negate)
HALF_EXEC(abs_half, 1, drop_sign)
HALF_EXEC(min_half, 2, pick_lesser)
HALF_EXEC(max_half, 2, pick_greater)
HALF_EXEC(ex2_half, 1, raise_two)
HALF_EXEC(tanh_half, 1, take_tanh)

#define F16S  (EMU_T(F16) | EMU_T(F16X2))
#define BF16S (EMU_T(BF16) | EMU_T(BF16X2))
#define RN    EMU_W(RN)
#define FTZ   EMU_W(FTZ)

/* Rows of min and max: plain, and with both .xorsign and .abs. */
#define EXTREMES(name, exec)                                                         \
    {name, F16S, 0, 0, FTZ | EMU_W(NAN), "nnn", exec},                               \
        {name, F16S, 0, EMU_W(XORSIGN) | EMU_W(ABS), FTZ | EMU_W(NAN), "nnn", exec}, \
        {name, BF16S, 0, 0, EMU_W(NAN), "nnn", exec},                                \
    {                                                                                \
        name, BF16S, 0, EMU_W(XORSIGN) | EMU_W(ABS), EMU_W(NAN), "nnn", exec         \
    }

const struct emu_form emu_half_forms[] = {
    {"add", F16S, 0, 0, RN | FTZ | EMU_W(SAT), "nnn", add_half},
    {"add", BF16S, 0, 0, RN, "nnn", add_half},
    {"sub", F16S, 0, 0, RN | FTZ | EMU_W(SAT), "nnn", sub_half},
    {"sub", BF16S, 0, 0, RN, "nnn", sub_half},
    {"mul", F16S, 0, 0, RN | FTZ | EMU_W(SAT), "nnn", mul_half},
    {"mul", BF16S, 0, 0, RN, "nnn", mul_half},
    {"fma", F16S, 0, RN, FTZ | EMU_W(SAT), "nnnn", fma_half},
    {"fma", F16S, 0, RN | EMU_W(RELU), FTZ, "nnnn", fma_half},
    {"fma", BF16S, 0, RN, EMU_W(RELU), "nnnn", fma_half},
    {"neg", F16S, 0, 0, FTZ, "nn", neg_half},
    {"neg", BF16S, 0, 0, 0, "nn", neg_half},
    {"abs", F16S, 0, 0, FTZ, "nn", abs_half},
    {"abs", BF16S, 0, 0, 0, "nn", abs_half},
    EXTREMES("min", min_half),
    EXTREMES("max", max_half),
    {"ex2", F16S, 0, EMU_W(APPROX), 0, "nn", ex2_half},
    {"ex2", BF16S, 0, EMU_W(APPROX) | FTZ, 0, "nn", ex2_half},
    {"tanh", F16S, 0, EMU_W(APPROX), 0, "nn", tanh_half},
    {"tanh", BF16S, 0, EMU_W(APPROX), 0, "nn", tanh_half},
    {0},
};
