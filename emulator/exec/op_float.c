/* SPDX-License-Identifier: MIT */
/* Arithmetic of f32, and of pairs of f32. */
#include "exec/op_float.h"
#include "exec/op_half.h"

#define F(x)  emu_f32_of(x)
#define IN(x) emu_f32_read(x, mode)

/* ---------------------------------------------------------- the usual forms, quickly */

EMU_OP2(add_plain, uint32_t, uint32_t, uint32_t, emu_f32_result(F(a) + F(b)))
EMU_OP2(sub_plain, uint32_t, uint32_t, uint32_t, emu_f32_result(F(a) - F(b)))
EMU_OP2(mul_plain, uint32_t, uint32_t, uint32_t, emu_f32_result(F(a) * F(b)))

/* Two results in a register. */
static inline uint64_t join(uint32_t low, uint32_t high)
{
    return (uint64_t)high << 32 | low;
}

#define LOW(x)  (uint32_t)(x)
#define HIGH(x) (uint32_t)((x) >> 32)
EMU_OP2(add_pair_plain, uint64_t, uint64_t, uint64_t,
        join(emu_f32_result(F(LOW(a)) + F(LOW(b))),
             emu_f32_result(F(HIGH(a)) + F(HIGH(b)))))
EMU_OP2(mul_pair_plain, uint64_t, uint64_t, uint64_t,
        join(emu_f32_result(F(LOW(a)) * F(LOW(b))),
             emu_f32_result(F(HIGH(a)) * F(HIGH(b)))))

#define FUSED(multiply_add) emu_f32_result(multiply_add(F(a), F(b), F(c)))
#define FUSED_PAIR(multiply_add)                                        \
    join(emu_f32_result(multiply_add(F(LOW(a)), F(LOW(b)), F(LOW(c)))), \
         emu_f32_result(multiply_add(F(HIGH(a)), F(HIGH(b)), F(HIGH(c)))))
EMU_OP3(fma_library, uint32_t, uint32_t, uint32_t, uint32_t, FUSED(fmaf))
EMU_OP3(fma_pair_library, uint64_t, uint64_t, uint64_t, uint64_t, FUSED_PAIR(fmaf))

#if defined(__x86_64__)
/* The baseline has no fused multiply-add, and a call for each lane is slow. */
#    define NATIVE_OP3(...) __attribute__((target("fma"))) EMU_OP3(__VA_ARGS__)
NATIVE_OP3(fma_native, uint32_t, uint32_t, uint32_t, uint32_t, FUSED(__builtin_fmaf))
NATIVE_OP3(fma_pair_native, uint64_t, uint64_t, uint64_t, uint64_t,
           FUSED_PAIR(__builtin_fmaf))

EMU_EXEC(fma_plain)
{
    return __builtin_cpu_supports("fma") ? fma_native(warp, insn, lanes)
                                         : fma_library(warp, insn, lanes);
}

EMU_EXEC(fma_pair_plain)
{
    return __builtin_cpu_supports("fma") ? fma_pair_native(warp, insn, lanes)
                                         : fma_pair_library(warp, insn, lanes);
}
#else
/* Here fmaf is an instruction. */
EMU_EXEC(fma_plain)
{
    return fma_library(warp, insn, lanes);
}

EMU_EXEC(fma_pair_plain)
{
    return fma_pair_library(warp, insn, lanes);
}
#endif

/* ------------------------------------------------------- with rounding, .ftz and .sat */

#define FINISH(...) emu_f32_finish(__VA_ARGS__, mode)
#define ROUNDING    EMU_ROUNDING_OF(mode)

/*
 * With .ftz a result is zero when it would be tiny after rounding if exponents had no end.
 * That differs from a subnormal result where rounding reached the least normal number;
 * there the operation is done again, 2^24 times as large, to see what its 24 bits would
 * have been.
 */
#define LEAST_NORMAL 0x1p-126f
#define LIFT         0x1p24f

static bool may_be_tiny(float result, uint16_t mode)
{
    return (mode & EMU_MODE_FTZ) != 0 && fabsf(result) == LEAST_NORMAL;
}

static float drop_tiny(float result, float lifted)
{
    return fabsf(lifted) < LEAST_NORMAL * LIFT ? copysignf(0, result) : result;
}

static float multiply(float a, float b, uint16_t mode)
{
    const float result = emu_mul_f32(a, b, ROUNDING);
    if (!may_be_tiny(result, mode)) {
        return result;
    }
    return drop_tiny(result, fabsf(a) < fabsf(b) ? emu_mul_f32(a * LIFT, b, ROUNDING)
                                                 : emu_mul_f32(a, b * LIFT, ROUNDING));
}

static float multiply_add(float a, float b, float c, uint16_t mode)
{
    const float result = emu_fma_f32(a, b, c, ROUNDING);
    if (!may_be_tiny(result, mode)) {
        return result;
    }
    return drop_tiny(result, fabsf(a) < fabsf(b)
                                 ? emu_fma_f32(a * LIFT, b, c * LIFT, ROUNDING)
                                 : emu_fma_f32(a, b * LIFT, c * LIFT, ROUNDING));
}

static float divide(float a, float b, uint16_t mode)
{
    const float result = emu_div_f32(a, b, ROUNDING);
    return may_be_tiny(result, mode) ? drop_tiny(result, emu_div_f32(a * LIFT, b, ROUNDING))
                                     : result;
}

EMU_OP2(add_any, uint32_t, uint32_t, uint32_t, FINISH(emu_add_f32(IN(a), IN(b), ROUNDING)))
EMU_OP2(sub_any, uint32_t, uint32_t, uint32_t, FINISH(emu_add_f32(IN(a), -IN(b), ROUNDING)))
EMU_OP2(mul_any, uint32_t, uint32_t, uint32_t, FINISH(multiply(IN(a), IN(b), mode)))
EMU_OP3(fma_any, uint32_t, uint32_t, uint32_t, uint32_t,
        FINISH(multiply_add(IN(a), IN(b), IN(c), mode)))
EMU_OP2(div_any, uint32_t, uint32_t, uint32_t, FINISH(divide(IN(a), IN(b), mode)))
EMU_OP1(rcp_any, uint32_t, uint32_t, FINISH(divide(1, IN(a), mode)))
EMU_OP1(sqrt_any, uint32_t, uint32_t, FINISH(emu_sqrt_f32(IN(a), ROUNDING)))

/* The product with an approximate reciprocal, which is zero for the largest divisors. */
static float divide_approximately(float a, float b)
{
    const float size = fabsf(b);
    if (size > 0x1p126f && size <= 0x1.fffffep127f) {
        return isinf(a)
                   ? NAN
                   : copysignf(0, (signbit(a) != 0) != (signbit(b) != 0) ? -1.0f : 1.0f);
    }
    return emu_div_f32(a, b, EMU_RN);
}

EMU_OP2(div_approx, uint32_t, uint32_t, uint32_t,
        FINISH(divide_approximately(IN(a), IN(b))))

/* ------------------------------------------------------------------- signs and extremes */

EMU_OP1(abs_f32, uint32_t, uint32_t, FINISH(fabsf(IN(a))))
EMU_OP1(neg_f32, uint32_t, uint32_t, FINISH(-IN(a)))
EMU_OP2(copysign_f32, uint32_t, uint32_t, uint32_t, (a & 0x80000000) | (b & 0x7FFFFFFF))

#define PICK(a, b, greater) emu_float_pick((double)(a), (double)(b), greater, mode)
EMU_OP2(min_f32, uint32_t, uint32_t, uint32_t, FINISH((float)PICK(IN(a), IN(b), false)))
EMU_OP2(max_f32, uint32_t, uint32_t, uint32_t, FINISH((float)PICK(IN(a), IN(b), true)))
EMU_OP3(min3_f32, uint32_t, uint32_t, uint32_t, uint32_t,
        FINISH((float)PICK(PICK(IN(a), IN(b), false), IN(c), false)))
EMU_OP3(max3_f32, uint32_t, uint32_t, uint32_t, uint32_t,
        FINISH((float)PICK(PICK(IN(a), IN(b), true), IN(c), true)))

/* ------------------------------------------------------------------------------- pairs */

EMU_OP2(add_pair, uint64_t, uint64_t, uint64_t,
        join(FINISH(emu_add_f32(IN(LOW(a)), IN(LOW(b)), ROUNDING)),
             FINISH(emu_add_f32(IN(HIGH(a)), IN(HIGH(b)), ROUNDING))))
EMU_OP2(sub_pair, uint64_t, uint64_t, uint64_t,
        join(FINISH(emu_add_f32(IN(LOW(a)), -IN(LOW(b)), ROUNDING)),
             FINISH(emu_add_f32(IN(HIGH(a)), -IN(HIGH(b)), ROUNDING))))
EMU_OP2(mul_pair, uint64_t, uint64_t, uint64_t,
        join(FINISH(multiply(IN(LOW(a)), IN(LOW(b)), mode)),
             FINISH(multiply(IN(HIGH(a)), IN(HIGH(b)), mode))))
EMU_OP3(fma_pair, uint64_t, uint64_t, uint64_t, uint64_t,
        join(FINISH(multiply_add(IN(LOW(a)), IN(LOW(b)), IN(LOW(c)), mode)),
             FINISH(multiply_add(IN(HIGH(a)), IN(HIGH(b)), IN(HIGH(c)), mode))))

/* ------------------------------------------------------------------------------- testp */

/* `a` is the magnitude's pattern. */
#define TESTP(name, sign, expression)                                                      \
    EMU_EXEC(name)                                                                         \
    {                                                                                      \
        uint32_t holds = 0;                                                                \
        EMU_FOR_LANES(lanes, lane, {                                                       \
            const uint64_t a = warp->r[insn->src[0]][lane] & ((sign)-1);                   \
            holds |= (uint32_t)(expression) << lane;                                       \
        });                                                                                \
        emu_lanes_predicate(warp, insn->dst, lanes, holds, warp->undefined[insn->src[0]]); \
        return EMU_NEXT;                                                                   \
    }
#define TESTP_ALL(suffix, sign, infinity, least_normal)                             \
    TESTP(finite_##suffix, sign, a < (infinity))                                    \
    TESTP(infinite_##suffix, sign, a == (infinity))                                 \
    TESTP(number_##suffix, sign, a <= (infinity))                                   \
    TESTP(notanumber_##suffix, sign, a > (infinity))                                \
    TESTP(normal_##suffix, sign, a == 0 || (a >= (least_normal) && a < (infinity))) \
    TESTP(subnormal_##suffix, sign, a != 0 && a < (least_normal))
TESTP_ALL(f32, UINT64_C(0x80000000), 0x7F800000, 0x00800000)
TESTP_ALL(f64, UINT64_C(0x8000000000000000), UINT64_C(0x7FF0000000000000),
          UINT64_C(0x0010000000000000))

/* --------------------------------------------------- of f32 with f16 or bf16 operands */

/* The source's value: every one of f16 and bf16 is one of f32. */
static float widen(const struct emu_insn *insn, uint16_t half)
{
    return F(emu_half_widen(insn->type2 == PTX_F16 ? EMU_F16 : EMU_BF16, half));
}

EMU_OP2(add_mixed, uint16_t, uint32_t, uint32_t,
        FINISH(emu_add_f32(widen(insn, a), F(b), ROUNDING)))
EMU_OP2(sub_mixed, uint16_t, uint32_t, uint32_t,
        FINISH(emu_add_f32(widen(insn, a), -F(b), ROUNDING)))
EMU_OP3(fma_mixed, uint16_t, uint16_t, uint32_t, uint32_t,
        FINISH(emu_fma_f32(widen(insn, a), widen(insn, b), F(c), ROUNDING)))

/* ------------------------------------------------------------------------------- forms */

#define MODES   (EMU_ROUNDING | EMU_W(FTZ) | EMU_W(SAT))
#define PICKING (EMU_W(FTZ) | EMU_W(NAN))
#define ONE_ROUNDING(name, type, need, may, shape, exec)       \
    {name, type, 0, EMU_W(RN) | (need), may, shape, exec},     \
        {name, type, 0, EMU_W(RZ) | (need), may, shape, exec}, \
        {name, type, 0, EMU_W(RM) | (need), may, shape, exec}, \
    {                                                          \
        name, type, 0, EMU_W(RP) | (need), may, shape, exec    \
    }
#define TESTP_FORMS(type, suffix)                                            \
    {"testp", type, 0, EMU_W(FINITE), 0, "pn", finite_##suffix},             \
        {"testp", type, 0, EMU_W(INFINITE), 0, "pn", infinite_##suffix},     \
        {"testp", type, 0, EMU_W(NUMBER), 0, "pn", number_##suffix},         \
        {"testp", type, 0, EMU_W(NOTANUMBER), 0, "pn", notanumber_##suffix}, \
        {"testp", type, 0, EMU_W(NORMAL), 0, "pn", normal_##suffix},         \
    {                                                                        \
        "testp", type, 0, EMU_W(SUBNORMAL), 0, "pn", subnormal_##suffix      \
    }

const struct emu_form emu_f32_forms[] = {
    {"add", EMU_T(F32), 0, 0, EMU_W(RN), "nnn", add_plain},
    {"sub", EMU_T(F32), 0, 0, EMU_W(RN), "nnn", sub_plain},
    {"mul", EMU_T(F32), 0, 0, EMU_W(RN), "nnn", mul_plain},
    {"fma", EMU_T(F32), 0, EMU_W(RN), 0, "nnnn", fma_plain},
    {"mad", EMU_T(F32), 0, EMU_W(RN), 0, "nnnn", fma_plain},
    {"add", EMU_T(F32), 0, 0, MODES, "nnn", add_any},
    {"sub", EMU_T(F32), 0, 0, MODES, "nnn", sub_any},
    {"mul", EMU_T(F32), 0, 0, MODES, "nnn", mul_any},
    ONE_ROUNDING("fma", EMU_T(F32), 0, EMU_W(FTZ) | EMU_W(SAT), "nnnn", fma_any),
    ONE_ROUNDING("mad", EMU_T(F32), 0, EMU_W(FTZ) | EMU_W(SAT), "nnnn", fma_any),
    ONE_ROUNDING("div", EMU_T(F32), 0, EMU_W(FTZ), "nnn", div_any),
    ONE_ROUNDING("rcp", EMU_T(F32), 0, EMU_W(FTZ), "nn", rcp_any),
    ONE_ROUNDING("sqrt", EMU_T(F32), 0, EMU_W(FTZ), "nn", sqrt_any),
    {"div", EMU_T(F32), 0, EMU_W(FULL), EMU_W(FTZ), "nnn", div_any},
    {"div", EMU_T(F32), 0, EMU_W(APPROX), EMU_W(FTZ), "nnn", div_approx},
    {"abs", EMU_T(F32), 0, 0, EMU_W(FTZ), "nn", abs_f32},
    {"neg", EMU_T(F32), 0, 0, EMU_W(FTZ), "nn", neg_f32},
    {"copysign", EMU_T(F32), 0, 0, 0, "nnn", copysign_f32},
    {"min", EMU_T(F32), 0, 0, PICKING, "nnn", min_f32},
    {"max", EMU_T(F32), 0, 0, PICKING, "nnn", max_f32},
    {"min", EMU_T(F32), 0, EMU_W(XORSIGN) | EMU_W(ABS), PICKING, "nnn", min_f32},
    {"max", EMU_T(F32), 0, EMU_W(XORSIGN) | EMU_W(ABS), PICKING, "nnn", max_f32},
    {"min", EMU_T(F32), 0, 0, PICKING | EMU_W(ABS), "nnnn", min3_f32},
    {"max", EMU_T(F32), 0, 0, PICKING | EMU_W(ABS), "nnnn", max3_f32},
    {"add", EMU_T(F32), EMU_T_HALF, 0, EMU_ROUNDING | EMU_W(SAT), "nbn", add_mixed},
    {"sub", EMU_T(F32), EMU_T_HALF, 0, EMU_ROUNDING | EMU_W(SAT), "nbn", sub_mixed},
    {"fma", EMU_T(F32), EMU_T_HALF, EMU_W(RN), EMU_W(SAT), "nbbn", fma_mixed},
    {"fma", EMU_T(F32), EMU_T_HALF, EMU_W(RZ), EMU_W(SAT), "nbbn", fma_mixed},
    {"fma", EMU_T(F32), EMU_T_HALF, EMU_W(RM), EMU_W(SAT), "nbbn", fma_mixed},
    {"fma", EMU_T(F32), EMU_T_HALF, EMU_W(RP), EMU_W(SAT), "nbbn", fma_mixed},
    {"add", 0, 0, EMU_W(F32X2), EMU_W(RN), "lll", add_pair_plain},
    {"mul", 0, 0, EMU_W(F32X2), EMU_W(RN), "lll", mul_pair_plain},
    {"fma", 0, 0, EMU_W(F32X2) | EMU_W(RN), 0, "llll", fma_pair_plain},
    {"add", 0, 0, EMU_W(F32X2), EMU_ROUNDING | EMU_W(FTZ), "lll", add_pair},
    {"sub", 0, 0, EMU_W(F32X2), EMU_ROUNDING | EMU_W(FTZ), "lll", sub_pair},
    {"mul", 0, 0, EMU_W(F32X2), EMU_ROUNDING | EMU_W(FTZ), "lll", mul_pair},
    ONE_ROUNDING("fma", 0, EMU_W(F32X2), EMU_W(FTZ), "llll", fma_pair),
    TESTP_FORMS(EMU_T(F32), f32),
    TESTP_FORMS(EMU_T(F64), f64),
    {0},
};
