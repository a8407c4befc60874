/* SPDX-License-Identifier: MIT */
/* Bit fields, counts, and permutations of bytes. */
#include "exec/op_form.h"
#include "exec/op_lanes.h"

/* ------------------------------------------------------------------------------ counts */

EMU_OP1(popc_32, uint32_t, uint32_t, __builtin_popcount(a))
EMU_OP1(popc_64, uint64_t, uint32_t, __builtin_popcountll(a))
EMU_OP1(clz_32, uint32_t, uint32_t, a == 0 ? 32 : __builtin_clz(a))
EMU_OP1(clz_64, uint64_t, uint32_t, a == 0 ? 64 : __builtin_clzll(a))

/* The position of the highest one, or its distance from the top; all ones for no one. */
static uint32_t find_top(uint64_t value, uint32_t top, uint16_t mode)
{
    if (value == 0) {
        return UINT32_MAX;
    }
    const uint32_t position = 63 - (uint32_t)__builtin_clzll(value);
    return (mode & EMU_MODE_SHIFTAMT) != 0 ? top - position : position;
}

EMU_OP1(bfind_u32, uint32_t, uint32_t, find_top(a, 31, mode))
EMU_OP1(bfind_s32, int32_t, uint32_t, find_top((uint32_t)(a < 0 ? ~a : a), 31, mode))
EMU_OP1(bfind_u64, uint64_t, uint32_t, find_top(a, 63, mode))
EMU_OP1(bfind_s64, int64_t, uint32_t, find_top((uint64_t)(a < 0 ? ~a : a), 63, mode))

/* The position of the n-th one, upwards from `base` or, where n is negative, downwards;
 * with n = 0 of a one at `base`. All ones if there is none. */
static uint32_t find_nth(uint32_t mask, uint32_t base, int32_t n)
{
    const int step = n < 0 ? -1 : 1;
    int64_t left = n < 0 ? -(int64_t)n : n;
    if (n == 0) {
        return base < 32 && (mask >> base & 1) != 0 ? base : UINT32_MAX;
    }
    for (int64_t position = base; position >= 0 && position < 32; position += step) {
        left -= mask >> position & 1;
        if (left == 0) {
            return (uint32_t)position;
        }
    }
    return UINT32_MAX;
}

EMU_OP3(find_ones, uint32_t, uint32_t, int32_t, uint32_t, find_nth(a, b, c))

/* What follows from a base above 31 is not specified. */
EMU_EXEC(fns)
{
    uint32_t outside = 0;
    const uint64_t *base = warp->r[insn->src[1]];
    EMU_FOR_LANES(lanes, lane,
                  { outside |= (uint32_t)((uint32_t)base[lane] > 31) << lane; });
    (void)find_ones(warp, insn, lanes);
    warp->undefined[insn->dst] |= outside;
    return EMU_NEXT;
}

static uint64_t reverse(uint64_t value)
{
    value = (value >> 1 & 0x5555555555555555u) | (value & 0x5555555555555555u) << 1;
    value = (value >> 2 & 0x3333333333333333u) | (value & 0x3333333333333333u) << 2;
    value = (value >> 4 & 0x0F0F0F0F0F0F0F0Fu) | (value & 0x0F0F0F0F0F0F0F0Fu) << 4;
    return __builtin_bswap64(value);
}

EMU_OP1(brev_32, uint32_t, uint32_t, reverse(a) >> 32)
EMU_OP1(brev_64, uint64_t, uint64_t, reverse(a))

/* ------------------------------------------------------------------------------ fields */

/* `count` ones at the bottom. */
static uint64_t low_ones(unsigned count)
{
    return count >= 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1;
}

/* A position or length. Only 0 to 255 are specified; beyond, the hardware takes the low
 * byte where it has an instruction, and the whole where 64 bits take several. */
static uint32_t get_place(uint64_t operand, unsigned bits)
{
    return (uint32_t)(bits == 32 ? operand & 0xFF : operand < 0xFF ? operand : 0xFF);
}

/* A field that reaches beyond the top is filled with the sign, as the source would be if it
 * were extended. */
static uint64_t extract(uint64_t value, uint32_t position, uint32_t length, unsigned bits,
                        bool is_signed)
{
    position = get_place(position, bits);
    length = get_place(length, bits);
    if (length == 0) {
        return 0;
    }
    const uint32_t last = position + length - 1;
    const uint32_t sign_at = last < bits - 1 ? last : bits - 1;
    const bool negative = is_signed && (value >> sign_at & 1) != 0;
    uint64_t field = position < bits ? value >> position : 0;
    const unsigned there = position >= bits           ? 0
                           : length < bits - position ? length
                                                      : bits - position;
    field &= low_ones(there);
    return negative ? field | ~low_ones(there) : field;
}

EMU_OP3(bfe_u32, uint32_t, uint32_t, uint32_t, uint32_t, extract(a, b, c, 32, false))
EMU_OP3(bfe_s32, uint32_t, uint32_t, uint32_t, uint32_t, extract(a, b, c, 32, true))
EMU_OP3(bfe_u64, uint64_t, uint32_t, uint32_t, uint64_t, extract(a, b, c, 64, false))
EMU_OP3(bfe_s64, uint64_t, uint32_t, uint32_t, uint64_t, extract(a, b, c, 64, true))

/* What sticks out above the width is cut by the caller. */
static uint64_t insert(uint64_t field, uint64_t base, uint64_t position, uint64_t length,
                       unsigned bits)
{
    position = get_place(position, bits);
    length = get_place(length, bits);
    const uint64_t mask = position < 64 ? low_ones((unsigned)length) << position : 0;
    return position < 64 ? (base & ~mask) | (field << position & mask) : base;
}

#define INSERT_EXEC(name, to)                                                             \
    EMU_EXEC(name)                                                                        \
    {                                                                                     \
        const uint64_t *field = warp->r[insn->src[0]];                                    \
        const uint64_t *base = warp->r[insn->src[1]];                                     \
        const uint64_t *position = warp->r[insn->src[2]];                                 \
        const uint64_t *length = warp->r[insn->src[3]];                                   \
        uint64_t *d = warp->r[insn->dst];                                                 \
        EMU_FOR_LANES(lanes, lane, {                                                      \
            d[lane] = (to)insert(field[lane], base[lane], position[lane], length[lane],   \
                                 8 * sizeof(to));                                         \
        });                                                                               \
        emu_lanes_defined(warp, insn->dst, lanes,                                         \
                          warp->undefined[insn->src[0]] | warp->undefined[insn->src[1]] | \
                              warp->undefined[insn->src[2]] |                             \
                              warp->undefined[insn->src[3]]);                             \
        return EMU_NEXT;                                                                  \
    }
INSERT_EXEC(bfi_32, uint32_t)
INSERT_EXEC(bfi_64, uint64_t)

static uint32_t get_count(uint32_t count, uint16_t mode)
{
    return (mode & EMU_MODE_WRAP) != 0 ? count & 31 : count < 32 ? count : 32;
}

/* The low bits, and the highest of them repeated above when signed. */
static uint32_t extend(uint32_t value, uint32_t bits, bool is_signed)
{
    if (bits == 0) {
        return 0;
    }
    const uint32_t top = value << (32 - bits);
    return is_signed ? (uint32_t)((int32_t)top >> (32 - bits)) : top >> (32 - bits);
}

EMU_OP2(szext_u32, uint32_t, uint32_t, uint32_t, extend(a, get_count(b, mode), false))
EMU_OP2(szext_s32, uint32_t, uint32_t, uint32_t, extend(a, get_count(b, mode), true))
EMU_OP2(bmsk, uint32_t, uint32_t, uint32_t,
        low_ones(get_count(b, mode)) << get_count(a, mode))

/* -------------------------------------------------------------------------------- prmt */

/* `selectors`: four nibbles, one per byte of the result: three bits choose one of the eight
 * bytes of b:a, the highest asks for its sign instead. */
static uint32_t permute(uint32_t a, uint32_t b, uint32_t selectors)
{
    const uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t result = 0;
    for (unsigned i = 0; i < 4; i++) {
        const uint32_t selector = selectors >> 4 * i & 0xF;
        const uint32_t byte = (uint32_t)(bytes >> 8 * (selector & 7)) & 0xFF;
        const uint32_t sign = (byte & 0x80) != 0 ? 0xFF : 0;
        result |= ((selector & 8) != 0 ? sign : byte) << 8 * i;
    }
    return result;
}

/* The selectors that each mode's two control bits stand for. */
static const uint16_t f4e_selectors[4] = {0x3210, 0x4321, 0x5432, 0x6543};
static const uint16_t b4e_selectors[4] = {0x5670, 0x6701, 0x7012, 0x0123};
static const uint16_t rc8_selectors[4] = {0x0000, 0x1111, 0x2222, 0x3333};
static const uint16_t ecl_selectors[4] = {0x3210, 0x3211, 0x3222, 0x3333};
static const uint16_t ecr_selectors[4] = {0x0000, 0x1110, 0x2210, 0x3210};
static const uint16_t rc16_selectors[4] = {0x1010, 0x3232, 0x1010, 0x3232};

EMU_OP3(prmt, uint32_t, uint32_t, uint32_t, uint32_t, permute(a, b, c))
EMU_OP3(prmt_f4e, uint32_t, uint32_t, uint32_t, uint32_t,
        permute(a, b, f4e_selectors[c & 3]))
EMU_OP3(prmt_b4e, uint32_t, uint32_t, uint32_t, uint32_t,
        permute(a, b, b4e_selectors[c & 3]))
EMU_OP3(prmt_rc8, uint32_t, uint32_t, uint32_t, uint32_t,
        permute(a, b, rc8_selectors[c & 3]))
EMU_OP3(prmt_ecl, uint32_t, uint32_t, uint32_t, uint32_t,
        permute(a, b, ecl_selectors[c & 3]))
EMU_OP3(prmt_ecr, uint32_t, uint32_t, uint32_t, uint32_t,
        permute(a, b, ecr_selectors[c & 3]))
EMU_OP3(prmt_rc16, uint32_t, uint32_t, uint32_t, uint32_t,
        permute(a, b, rc16_selectors[c & 3]))

/* ------------------------------------------------------------------------------- forms */

const struct emu_form emu_bits_forms[] = {
    {"popc", EMU_T(B32), 0, 0, 0, "in", popc_32},
    {"popc", EMU_T(B64), 0, 0, 0, "in", popc_64},
    {"clz", EMU_T(B32), 0, 0, 0, "in", clz_32},
    {"clz", EMU_T(B64), 0, 0, 0, "in", clz_64},
    {"bfind", EMU_T(U32), 0, 0, EMU_W(SHIFTAMT), "in", bfind_u32},
    {"bfind", EMU_T(S32), 0, 0, EMU_W(SHIFTAMT), "in", bfind_s32},
    {"bfind", EMU_T(U64), 0, 0, EMU_W(SHIFTAMT), "in", bfind_u64},
    {"bfind", EMU_T(S64), 0, 0, EMU_W(SHIFTAMT), "in", bfind_s64},
    {"fns", EMU_T(B32), 0, 0, 0, "niii", fns},
    {"brev", EMU_T(B32), 0, 0, 0, "nn", brev_32},
    {"brev", EMU_T(B64), 0, 0, 0, "nn", brev_64},
    {"bfe", EMU_T(U32), 0, 0, 0, "nnii", bfe_u32},
    {"bfe", EMU_T(S32), 0, 0, 0, "nnii", bfe_s32},
    {"bfe", EMU_T(U64), 0, 0, 0, "nnii", bfe_u64},
    {"bfe", EMU_T(S64), 0, 0, 0, "nnii", bfe_s64},
    {"bfi", EMU_T(B32), 0, 0, 0, "nnnii", bfi_32},
    {"bfi", EMU_T(B64), 0, 0, 0, "nnnii", bfi_64},
    {"szext", EMU_T(U32), 0, EMU_W(CLAMP), 0, "nni", szext_u32},
    {"szext", EMU_T(U32), 0, EMU_W(WRAP), 0, "nni", szext_u32},
    {"szext", EMU_T(S32), 0, EMU_W(CLAMP), 0, "nni", szext_s32},
    {"szext", EMU_T(S32), 0, EMU_W(WRAP), 0, "nni", szext_s32},
    {"bmsk", EMU_T(B32), 0, EMU_W(CLAMP), 0, "nii", bmsk},
    {"bmsk", EMU_T(B32), 0, EMU_W(WRAP), 0, "nii", bmsk},
    {"prmt", EMU_T(B32), 0, 0, 0, "nnni", prmt},
    {"prmt", EMU_T(B32), 0, EMU_W(F4E), 0, "nnni", prmt_f4e},
    {"prmt", EMU_T(B32), 0, EMU_W(B4E), 0, "nnni", prmt_b4e},
    {"prmt", EMU_T(B32), 0, EMU_W(RC8), 0, "nnni", prmt_rc8},
    {"prmt", EMU_T(B32), 0, EMU_W(ECL), 0, "nnni", prmt_ecl},
    {"prmt", EMU_T(B32), 0, EMU_W(ECR), 0, "nnni", prmt_ecr},
    {"prmt", EMU_T(B32), 0, EMU_W(RC16), 0, "nnni", prmt_rc16},
    {0},
};
