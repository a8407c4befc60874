/* SPDX-License-Identifier: MIT */
/* Integer arithmetic: sums, differences, extremes, division. */
#include "exec/op_form.h"
#include "exec/op_lanes.h"

/* ------------------------------------------------------------------ sums, differences */

EMU_OP2(add_16, uint32_t, uint32_t, uint16_t, a + b)
EMU_OP2(add_32, uint32_t, uint32_t, uint32_t, a + b)
EMU_OP2(add_64, uint64_t, uint64_t, uint64_t, a + b)
EMU_OP2(sub_16, uint32_t, uint32_t, uint16_t, a - b)
EMU_OP2(sub_32, uint32_t, uint32_t, uint32_t, a - b)
EMU_OP2(sub_64, uint64_t, uint64_t, uint64_t, a - b)

static int32_t saturate_32(int64_t value)
{
    return (int32_t)(value < INT32_MIN ? INT32_MIN : value > INT32_MAX ? INT32_MAX : value);
}

EMU_OP2(add_sat, int32_t, int32_t, uint32_t, saturate_32((int64_t)a + b))
EMU_OP2(sub_sat, int32_t, int32_t, uint32_t, saturate_32((int64_t)a - b))

/* Two 16-bit numbers in 32 bits. */
#define PACK(low, high) ((uint32_t)(uint16_t)(low) | (uint32_t)(uint16_t)(high) << 16)
#define LOW(x)          ((x)&0xFFFFu)
#define HIGH(x)         ((x) >> 16)

EMU_OP2(add_16x2, uint32_t, uint32_t, uint32_t, PACK(LOW(a) + LOW(b), HIGH(a) + HIGH(b)))

/* The unsigned type keeps the negation of the least number defined: it is itself. */
EMU_OP1(neg_16, uint32_t, uint16_t, 0 - a)
EMU_OP1(neg_32, uint32_t, uint32_t, 0 - a)
EMU_OP1(neg_64, uint64_t, uint64_t, 0 - a)
EMU_OP1(abs_16, int16_t, uint16_t, a < 0 ? 0 - (uint32_t)a : (uint32_t)a)
EMU_OP1(abs_32, int32_t, uint32_t, a < 0 ? 0 - (uint32_t)a : (uint32_t)a)
EMU_OP1(abs_64, int64_t, uint64_t, a < 0 ? 0 - (uint64_t)a : (uint64_t)a)

EMU_OP3(sad_u16, uint16_t, uint16_t, uint32_t, uint16_t,
        c + (uint32_t)(a < b ? b - a : a - b))
EMU_OP3(sad_s16, int16_t, int16_t, uint32_t, uint16_t,
        c + (uint32_t)(a < b ? b - a : a - b))
EMU_OP3(sad_u32, uint32_t, uint32_t, uint32_t, uint32_t, c + (a < b ? b - a : a - b))
EMU_OP3(sad_s32, int32_t, int32_t, uint32_t, uint32_t,
        c + (a < b ? (uint32_t)b - (uint32_t)a : (uint32_t)a - (uint32_t)b))
EMU_OP3(sad_u64, uint64_t, uint64_t, uint64_t, uint64_t, c + (a < b ? b - a : a - b))
EMU_OP3(sad_s64, int64_t, int64_t, uint64_t, uint64_t,
        c + (a < b ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b))

/* ---------------------------------------------------------------------------- extremes */

EMU_OP2(min_u16, uint16_t, uint16_t, uint16_t, a < b ? a : b)
EMU_OP2(min_s16, int16_t, int16_t, uint16_t, a < b ? a : b)
EMU_OP2(min_u32, uint32_t, uint32_t, uint32_t, a < b ? a : b)
EMU_OP2(min_s32, int32_t, int32_t, uint32_t, a < b ? a : b)
EMU_OP2(min_u64, uint64_t, uint64_t, uint64_t, a < b ? a : b)
EMU_OP2(min_s64, int64_t, int64_t, uint64_t, a < b ? a : b)
EMU_OP2(max_u16, uint16_t, uint16_t, uint16_t, a > b ? a : b)
EMU_OP2(max_s16, int16_t, int16_t, uint16_t, a > b ? a : b)
EMU_OP2(max_u32, uint32_t, uint32_t, uint32_t, a > b ? a : b)
EMU_OP2(max_s32, int32_t, int32_t, uint32_t, a > b ? a : b)
EMU_OP2(max_u64, uint64_t, uint64_t, uint64_t, a > b ? a : b)
EMU_OP2(max_s64, int64_t, int64_t, uint64_t, a > b ? a : b)

static int32_t relu(int32_t value)
{
    return value < 0 ? 0 : value;
}

EMU_OP2(min_relu, int32_t, int32_t, uint32_t, relu(a < b ? a : b))
EMU_OP2(max_relu, int32_t, int32_t, uint32_t, relu(a > b ? a : b))

static uint32_t min_unsigned(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t max_unsigned(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

EMU_OP2(min_u16x2, uint32_t, uint32_t, uint32_t,
        PACK(min_unsigned(LOW(a), LOW(b)), min_unsigned(HIGH(a), HIGH(b))))
EMU_OP2(max_u16x2, uint32_t, uint32_t, uint32_t,
        PACK(max_unsigned(LOW(a), LOW(b)), max_unsigned(HIGH(a), HIGH(b))))

static int32_t pick_signed(uint32_t a, uint32_t b, bool greater, uint16_t mode)
{
    const int32_t x = (int16_t)a;
    const int32_t y = (int16_t)b;
    const int32_t picked = (x > y) == greater ? x : y;
    return (mode & EMU_MODE_RELU) != 0 ? relu(picked) : picked;
}

EMU_OP2(min_s16x2, uint32_t, uint32_t, uint32_t,
        PACK(pick_signed(LOW(a), LOW(b), false, mode),
             pick_signed(HIGH(a), HIGH(b), false, mode)))
EMU_OP2(max_s16x2, uint32_t, uint32_t, uint32_t,
        PACK(pick_signed(LOW(a), LOW(b), true, mode),
             pick_signed(HIGH(a), HIGH(b), true, mode)))

/* ---------------------------------------------------------------------------- division */

/* Division by zero gives all ones as quotient and remainder, as the instruction
 * sequences that divide on the hardware do. The quotient of the least number and -1 wraps
 * to itself. */
#define DIVIDE_UNSIGNED(bits)                                            \
    EMU_OP2(div_u##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, \
            b == 0 ? (uint##bits##_t) - 1 : (uint##bits##_t)(a / b))     \
    EMU_OP2(rem_u##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, \
            b == 0 ? (uint##bits##_t) - 1 : (uint##bits##_t)(a % b))
#define DIVIDE_SIGNED(bits)                                            \
    EMU_OP2(div_s##bits, int##bits##_t, int##bits##_t, uint##bits##_t, \
            b == 0    ? (uint##bits##_t) - 1                           \
            : b == -1 ? (uint##bits##_t)(0 - (uint64_t)a)              \
                      : (uint##bits##_t)(a / b))                       \
    EMU_OP2(rem_s##bits, int##bits##_t, int##bits##_t, uint##bits##_t, \
            b == 0    ? (uint##bits##_t) - 1                           \
            : b == -1 ? 0                                              \
                      : (uint##bits##_t)(a % b))
DIVIDE_UNSIGNED(16)
DIVIDE_UNSIGNED(32)
DIVIDE_UNSIGNED(64)
DIVIDE_SIGNED(16)
DIVIDE_SIGNED(32)
DIVIDE_SIGNED(64)

/* ------------------------------------------------------------------------------- forms */

/* One row for each of the six integer types. */
#define BY_TYPE(name, shape, stem)                      \
    {name, EMU_T(U16), 0, 0, 0, shape, stem##_u16},     \
        {name, EMU_T(S16), 0, 0, 0, shape, stem##_s16}, \
        {name, EMU_T(U32), 0, 0, 0, shape, stem##_u32}, \
        {name, EMU_T(S32), 0, 0, 0, shape, stem##_s32}, \
        {name, EMU_T(U64), 0, 0, 0, shape, stem##_u64}, \
    {                                                   \
        name, EMU_T(S64), 0, 0, 0, shape, stem##_s64    \
    }

const struct emu_form emu_integer_forms[] = {
    {"add", EMU_T_I32, 0, 0, 0, "nnn", add_32},
    {"add", EMU_T_I64, 0, 0, 0, "nnn", add_64},
    {"add", EMU_T_I16, 0, 0, 0, "nnn", add_16},
    {"add", EMU_T(S32), 0, EMU_W(SAT), 0, "nnn", add_sat},
    {"add", 0, 0, EMU_W(U16X2), 0, "iii", add_16x2},
    {"add", 0, 0, EMU_W(S16X2), 0, "iii", add_16x2},
    {"sub", EMU_T_I32, 0, 0, 0, "nnn", sub_32},
    {"sub", EMU_T_I64, 0, 0, 0, "nnn", sub_64},
    {"sub", EMU_T_I16, 0, 0, 0, "nnn", sub_16},
    {"sub", EMU_T(S32), 0, EMU_W(SAT), 0, "nnn", sub_sat},
    {"neg", EMU_T(S16), 0, 0, 0, "nn", neg_16},
    {"neg", EMU_T(S32), 0, 0, 0, "nn", neg_32},
    {"neg", EMU_T(S64), 0, 0, 0, "nn", neg_64},
    {"abs", EMU_T(S16), 0, 0, 0, "nn", abs_16},
    {"abs", EMU_T(S32), 0, 0, 0, "nn", abs_32},
    {"abs", EMU_T(S64), 0, 0, 0, "nn", abs_64},
    BY_TYPE("min", "nnn", min),
    BY_TYPE("max", "nnn", max),
    {"min", EMU_T(S32), 0, EMU_W(RELU), 0, "nnn", min_relu},
    {"max", EMU_T(S32), 0, EMU_W(RELU), 0, "nnn", max_relu},
    {"min", 0, 0, EMU_W(U16X2), 0, "iii", min_u16x2},
    {"max", 0, 0, EMU_W(U16X2), 0, "iii", max_u16x2},
    {"min", 0, 0, EMU_W(S16X2), EMU_W(RELU), "iii", min_s16x2},
    {"max", 0, 0, EMU_W(S16X2), EMU_W(RELU), "iii", max_s16x2},
    BY_TYPE("sad", "nnnn", sad),
    BY_TYPE("div", "nnn", div),
    BY_TYPE("rem", "nnn", rem),
    {0},
};
