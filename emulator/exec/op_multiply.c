/* SPDX-License-Identifier: MIT */
/* Integer products: mul, mad, their 24-bit forms, dp4a, dp2a, and carries between words. */
#include "exec/op_form.h"
#include "exec/op_lanes.h"

__extension__ typedef unsigned __int128 uint128;
__extension__ typedef __int128 int128;

/* ----------------------------------------------------------------------------- mul, mad */

static uint32_t high_u32(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)a * b >> 32);
}

static uint32_t high_s32(int32_t a, int32_t b)
{
    return (uint32_t)((uint64_t)((int64_t)a * b) >> 32);
}

static uint64_t high_u64(uint64_t a, uint64_t b)
{
    return (uint64_t)((uint128)a * b >> 64);
}

static uint64_t high_s64(int64_t a, int64_t b)
{
    return (uint64_t)((uint128)((int128)a * b) >> 64);
}

EMU_OP2(mul_lo_16, uint32_t, uint32_t, uint16_t, (a * b))
EMU_OP2(mul_lo_32, uint32_t, uint32_t, uint32_t, (a * b))
EMU_OP2(mul_lo_64, uint64_t, uint64_t, uint64_t, (a * b))
EMU_OP2(mul_hi_u16, uint32_t, uint32_t, uint16_t, (a * b) >> 16)
EMU_OP2(mul_hi_s16, int16_t, int16_t, uint16_t, ((uint32_t)(a * b)) >> 16)
EMU_OP2(mul_hi_u32, uint32_t, uint32_t, uint32_t, high_u32(a, b))
EMU_OP2(mul_hi_s32, int32_t, int32_t, uint32_t, high_s32(a, b))
EMU_OP2(mul_hi_u64, uint64_t, uint64_t, uint64_t, high_u64(a, b))
EMU_OP2(mul_hi_s64, int64_t, int64_t, uint64_t, high_s64(a, b))
EMU_OP2(mul_wide_u16, uint32_t, uint32_t, uint32_t, (a * b))
EMU_OP2(mul_wide_s16, int16_t, int16_t, uint32_t, (a * b))
EMU_OP2(mul_wide_u32, uint32_t, uint32_t, uint64_t, ((uint64_t)a * b))
EMU_OP2(mul_wide_s32, int32_t, int32_t, uint64_t, ((int64_t)a * b))

EMU_OP3(mad_lo_16, uint32_t, uint32_t, uint32_t, uint16_t, (a * b) + c)
EMU_OP3(mad_lo_32, uint32_t, uint32_t, uint32_t, uint32_t, (a * b) + c)
EMU_OP3(mad_lo_64, uint64_t, uint64_t, uint64_t, uint64_t, (a * b) + c)
EMU_OP3(mad_hi_u16, uint32_t, uint32_t, uint32_t, uint16_t, (a * b >> 16) + c)
EMU_OP3(mad_hi_s16, int16_t, int16_t, uint32_t, uint16_t, ((uint32_t)(a * b) >> 16) + c)
EMU_OP3(mad_hi_u32, uint32_t, uint32_t, uint32_t, uint32_t, high_u32(a, b) + c)
EMU_OP3(mad_hi_s32, int32_t, int32_t, uint32_t, uint32_t, high_s32(a, b) + c)
EMU_OP3(mad_hi_u64, uint64_t, uint64_t, uint64_t, uint64_t, high_u64(a, b) + c)
EMU_OP3(mad_hi_s64, int64_t, int64_t, uint64_t, uint64_t, high_s64(a, b) + c)
EMU_OP3(mad_wide_u16, uint32_t, uint32_t, uint32_t, uint32_t, (a * b) + c)
EMU_OP3(mad_wide_s16, int16_t, int16_t, uint32_t, uint32_t, ((uint32_t)(a * b)) + c)
EMU_OP3(mad_wide_u32, uint32_t, uint32_t, uint64_t, uint64_t, ((uint64_t)a * b) + c)
EMU_OP3(mad_wide_s32, int32_t, int32_t, uint64_t, uint64_t,
        (uint64_t)(((int64_t)a * b)) + c)

static uint32_t add_saturated(uint32_t a, uint32_t b)
{
    const int64_t sum = (int64_t)(int32_t)a + (int32_t)b;
    return (uint32_t)(sum < INT32_MIN ? INT32_MIN : sum > INT32_MAX ? INT32_MAX : sum);
}

EMU_OP3(mad_hi_sat, int32_t, int32_t, uint32_t, uint32_t, add_saturated(high_s32(a, b), c))

/* ----------------------------------------------------------------------------- 24 bits */

/* The 48-bit product of the low 24 bits of both. */
static uint64_t product_u24(uint32_t a, uint32_t b)
{
    return (uint64_t)(a & 0xFFFFFF) * (b & 0xFFFFFF);
}

static uint64_t product_s24(uint32_t a, uint32_t b)
{
    return (uint64_t)((int64_t)((int32_t)(a << 8) >> 8) * ((int32_t)(b << 8) >> 8));
}

EMU_OP2(mul24_lo_u, uint32_t, uint32_t, uint32_t, product_u24(a, b))
EMU_OP2(mul24_lo_s, uint32_t, uint32_t, uint32_t, product_s24(a, b))
EMU_OP2(mul24_hi_u, uint32_t, uint32_t, uint32_t, product_u24(a, b) >> 16)
EMU_OP2(mul24_hi_s, uint32_t, uint32_t, uint32_t, product_s24(a, b) >> 16)
EMU_OP3(mad24_lo_u, uint32_t, uint32_t, uint32_t, uint32_t, product_u24(a, b) + c)
EMU_OP3(mad24_lo_s, uint32_t, uint32_t, uint32_t, uint32_t, product_s24(a, b) + c)
EMU_OP3(mad24_hi_u, uint32_t, uint32_t, uint32_t, uint32_t, (product_u24(a, b) >> 16) + c)
EMU_OP3(mad24_hi_s, uint32_t, uint32_t, uint32_t, uint32_t, (product_s24(a, b) >> 16) + c)
EMU_OP3(mad24_hi_sat, uint32_t, uint32_t, uint32_t, uint32_t,
        add_saturated((uint32_t)(product_s24(a, b) >> 16), c))

/* ------------------------------------------------------------------------ dot products */

/* An element of a packed register, as a number; unsigned so that sums may wrap. */
static uint32_t element(uint32_t packed, unsigned index, unsigned bits, bool is_signed)
{
    const uint32_t top = packed << (32 - bits * (index + 1));
    return is_signed ? (uint32_t)((int32_t)top >> (32 - bits)) : top >> (32 - bits);
}

static uint32_t dot_4(uint32_t a, uint32_t b, uint32_t sum, const struct emu_insn *insn)
{
    for (unsigned i = 0; i < 4; i++) {
        sum += element(a, i, 8, insn->type == PTX_S32) *
               element(b, i, 8, insn->type2 == PTX_S32);
    }
    return sum;
}

static uint32_t dot_2(uint32_t a, uint32_t b, uint32_t sum, const struct emu_insn *insn)
{
    for (unsigned i = 0; i < 2; i++) {
        sum += element(a, i, 16, insn->type == PTX_S32) *
               element(b, i, 8, insn->type2 == PTX_S32);
    }
    return sum;
}

EMU_OP3(dp4a, uint32_t, uint32_t, uint32_t, uint32_t, dot_4(a, b, c, insn))
EMU_OP3(dp2a_lo, uint32_t, uint32_t, uint32_t, uint32_t, dot_2(a, b, c, insn))
EMU_OP3(dp2a_hi, uint32_t, uint32_t, uint32_t, uint32_t, dot_2(a, b >> 16, c, insn))

/* ------------------------------------------------------------------------------ carries */

/*
 * The condition code is a hidden predicate of the program, insn->target here. A sum of a, b
 * and a carry of width bits carries when it does not fit; a difference borrows when it is
 * negative: both are the bit above the result in 128-bit arithmetic.
 */
static enum emu_step carry_exact(struct emu_warp *warp, const struct emu_insn *insn,
                                 uint32_t lanes, const uint64_t *a, uint32_t a_undefined,
                                 uint32_t slot_b, bool subtract, bool carry_in)
{
    const unsigned bits = 8 * ptx_type_bytes((enum ptx_type)insn->type);
    const uint32_t code = insn->target;
    const uint64_t *b = warp->r[slot_b];
    uint64_t *d = warp->r[insn->dst];
    uint32_t carries = 0;
    EMU_FOR_LANES(lanes, lane, {
        const unsigned carry = carry_in ? warp->p[code] >> lane & 1 : 0;
        const uint128 sum = subtract ? (uint128)a[lane] - b[lane] - carry
                                     : (uint128)a[lane] + b[lane] + carry;
        carries |= (uint32_t)(sum >> bits & 1) << lane;
        d[lane] = bits == 64 ? (uint64_t)sum : (uint32_t)sum;
    });
    const uint32_t undefined =
        a_undefined | warp->undefined[slot_b] | (carry_in ? warp->p_undefined[code] : 0);
    emu_lanes_defined(warp, insn->dst, lanes, undefined);
    if ((insn->mode & EMU_MODE_CC) != 0) {
        emu_lanes_predicate(warp, code, lanes, carries, undefined);
    }
    return EMU_NEXT;
}

#define CARRY_SUM(name, subtract, carry_in)                                       \
    EMU_EXEC(name)                                                                \
    {                                                                             \
        return carry_exact(warp, insn, lanes, warp->r[insn->src[0]],              \
                           warp->undefined[insn->src[0]], insn->src[1], subtract, \
                           carry_in);                                             \
    }
CARRY_SUM(add_cc, false, false)
CARRY_SUM(addc, false, true)
CARRY_SUM(sub_cc, true, false)
CARRY_SUM(subc, true, true)

static enum emu_step carry_product(struct emu_warp *warp, const struct emu_insn *insn,
                                   uint32_t lanes, bool high, bool carry_in)
{
    uint64_t product[EMU_LANES] = {0};
    const uint64_t *x = warp->r[insn->src[0]];
    const uint64_t *y = warp->r[insn->src[1]];
    EMU_FOR_LANES(lanes, lane, {
        switch (insn->type) {
        case PTX_U32:
            product[lane] = high ? high_u32((uint32_t)x[lane], (uint32_t)y[lane])
                                 : (uint32_t)(x[lane] * y[lane]);
            break;
        case PTX_S32:
            product[lane] = high ? high_s32((int32_t)x[lane], (int32_t)y[lane])
                                 : (uint32_t)(x[lane] * y[lane]);
            break;
        case PTX_U64:
            product[lane] = high ? high_u64(x[lane], y[lane]) : x[lane] * y[lane];
            break;
        default:
            product[lane] =
                high ? high_s64((int64_t)x[lane], (int64_t)y[lane]) : x[lane] * y[lane];
            break;
        }
    });
    return carry_exact(warp, insn, lanes, product,
                       warp->undefined[insn->src[0]] | warp->undefined[insn->src[1]],
                       insn->src[2], false, carry_in);
}

#define CARRY_MAD(name, high, carry_in)                          \
    EMU_EXEC(name)                                               \
    {                                                            \
        return carry_product(warp, insn, lanes, high, carry_in); \
    }
CARRY_MAD(mad_lo_cc, false, false)
CARRY_MAD(mad_hi_cc, true, false)
CARRY_MAD(madc_lo, false, true)
CARRY_MAD(madc_hi, true, true)

/* ------------------------------------------------------------------------------- forms */

#define PRODUCTS(name, shape, wide_shape, stem)                             \
    {name, EMU_T_I32, 0, EMU_W(LO), 0, shape, stem##_lo_32},                \
        {name, EMU_T_I64, 0, EMU_W(LO), 0, shape, stem##_lo_64},            \
        {name, EMU_T_I16, 0, EMU_W(LO), 0, shape, stem##_lo_16},            \
        {name, EMU_T(U16), 0, EMU_W(HI), 0, shape, stem##_hi_u16},          \
        {name, EMU_T(S16), 0, EMU_W(HI), 0, shape, stem##_hi_s16},          \
        {name, EMU_T(U32), 0, EMU_W(HI), 0, shape, stem##_hi_u32},          \
        {name, EMU_T(S32), 0, EMU_W(HI), 0, shape, stem##_hi_s32},          \
        {name, EMU_T(U64), 0, EMU_W(HI), 0, shape, stem##_hi_u64},          \
        {name, EMU_T(S64), 0, EMU_W(HI), 0, shape, stem##_hi_s64},          \
        {name, EMU_T(U16), 0, EMU_W(WIDE), 0, wide_shape, stem##_wide_u16}, \
        {name, EMU_T(S16), 0, EMU_W(WIDE), 0, wide_shape, stem##_wide_s16}, \
        {name, EMU_T(U32), 0, EMU_W(WIDE), 0, wide_shape, stem##_wide_u32}, \
    {                                                                       \
        name, EMU_T(S32), 0, EMU_W(WIDE), 0, wide_shape, stem##_wide_s32    \
    }

const struct emu_form emu_multiply_forms[] = {
    PRODUCTS("mul", "nnn", "wnn", mul),
    PRODUCTS("mad", "nnnn", "wnnw", mad),
    {"mad", EMU_T(S32), 0, EMU_W(HI) | EMU_W(SAT), 0, "nnnn", mad_hi_sat},
    {"mul24", EMU_T(U32), 0, EMU_W(LO), 0, "nnn", mul24_lo_u},
    {"mul24", EMU_T(S32), 0, EMU_W(LO), 0, "nnn", mul24_lo_s},
    {"mul24", EMU_T(U32), 0, EMU_W(HI), 0, "nnn", mul24_hi_u},
    {"mul24", EMU_T(S32), 0, EMU_W(HI), 0, "nnn", mul24_hi_s},
    {"mad24", EMU_T(U32), 0, EMU_W(LO), 0, "nnnn", mad24_lo_u},
    {"mad24", EMU_T(S32), 0, EMU_W(LO), 0, "nnnn", mad24_lo_s},
    {"mad24", EMU_T(U32), 0, EMU_W(HI), 0, "nnnn", mad24_hi_u},
    {"mad24", EMU_T(S32), 0, EMU_W(HI), 0, "nnnn", mad24_hi_s},
    {"mad24", EMU_T(S32), 0, EMU_W(HI) | EMU_W(SAT), 0, "nnnn", mad24_hi_sat},
    {"dp4a", EMU_T_I32, EMU_T_I32, 0, 0, "iiii", dp4a},
    {"dp2a", EMU_T_I32, EMU_T_I32, EMU_W(LO), 0, "iiii", dp2a_lo},
    {"dp2a", EMU_T_I32, EMU_T_I32, EMU_W(HI), 0, "iiii", dp2a_hi},
    {0},
};

#define I32_64 (EMU_T_I32 | EMU_T_I64)

const struct emu_form emu_carry_forms[] = {
    {"add", I32_64, 0, EMU_W(CC), 0, "nnnc", add_cc},
    {"addc", I32_64, 0, 0, EMU_W(CC), "nnnc", addc},
    {"sub", I32_64, 0, EMU_W(CC), 0, "nnnc", sub_cc},
    {"subc", I32_64, 0, 0, EMU_W(CC), "nnnc", subc},
    {"mad", I32_64, 0, EMU_W(LO) | EMU_W(CC), 0, "nnnnc", mad_lo_cc},
    {"mad", I32_64, 0, EMU_W(HI) | EMU_W(CC), 0, "nnnnc", mad_hi_cc},
    {"madc", I32_64, 0, EMU_W(LO), EMU_W(CC), "nnnnc", madc_lo},
    {"madc", I32_64, 0, EMU_W(HI), EMU_W(CC), "nnnnc", madc_hi},
    {0},
};
