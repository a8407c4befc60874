/* SPDX-License-Identifier: MIT */
/* Arithmetic of f64, the approximate functions, and the names that only floats have. */
#include "exec/op_cvt.h"
#include "exec/op_float.h"

#define D(x)     emu_f64_of(x)
#define ROUNDING EMU_ROUNDING_OF(mode)
#define SIGN     UINT64_C(0x8000000000000000)

/* Where several operands are NaN, GPUs of compute capability 9.0 ask them in these orders.
 */
EMU_OP2(add_f64, uint64_t, uint64_t, uint64_t,
        emu_f64_finish(emu_add_f64(D(a), D(b), ROUNDING), b, a, a))
EMU_OP2(sub_f64, uint64_t, uint64_t, uint64_t,
        emu_f64_finish(emu_add_f64(D(a), -D(b), ROUNDING), b, a, a))
EMU_OP2(mul_f64, uint64_t, uint64_t, uint64_t,
        emu_f64_finish(emu_mul_f64(D(a), D(b), ROUNDING), b, a, a))
EMU_OP3(fma_f64, uint64_t, uint64_t, uint64_t, uint64_t,
        emu_f64_finish(emu_fma_f64(D(a), D(b), D(c), ROUNDING), b, c, a))
EMU_OP2(div_f64, uint64_t, uint64_t, uint64_t,
        emu_f64_finish(emu_div_f64(D(a), D(b), ROUNDING), a, b, b))
EMU_OP1(rcp_f64, uint64_t, uint64_t,
        emu_f64_finish(emu_div_f64(1, D(a), ROUNDING), a, a, a))
EMU_OP1(sqrt_f64, uint64_t, uint64_t, emu_f64_finish(emu_sqrt_f64(D(a), ROUNDING), a, a, a))
EMU_OP1(rsqrt_f64, uint64_t, uint64_t,
        emu_f64_finish(emu_div_f64(1, emu_sqrt_f64(D(a), EMU_RN), EMU_RN), a, a, a))

EMU_OP1(abs_f64, uint64_t, uint64_t, emu_f64_is_nan(a) ? a | EMU_QUIET_F64 : a & ~SIGN)
EMU_OP1(neg_f64, uint64_t, uint64_t, emu_f64_is_nan(a) ? a | EMU_QUIET_F64 : a ^ SIGN)
EMU_OP2(copysign_f64, uint64_t, uint64_t, uint64_t, (a & SIGN) | (b & ~SIGN))

EMU_OP2(min_f64, uint64_t, uint64_t, uint64_t,
        emu_f64_finish(emu_float_pick(D(a), D(b), false, 0), b, a, a))
EMU_OP2(max_f64, uint64_t, uint64_t, uint64_t,
        emu_f64_finish(emu_float_pick(D(a), D(b), true, 0), b, a, a))

/* .approx.ftz works on the upper words only: the lower one of the operand counts as zero,
 * even where it is all that makes a NaN of an infinity, and so is that of the result. */
static double upper_of(uint64_t bits)
{
    const uint64_t upper = bits >> 32 << 32;
    const bool subnormal = (upper & UINT64_C(0x7FF0000000000000)) == 0;
    return D(subnormal ? bits & SIGN : upper);
}

static uint64_t to_upper(double value)
{
    const uint64_t bits = emu_f64_bits(value);
    if (isnan(value)) {
        return UINT64_C(0x7FFFFFFF00000000);
    }
    return fabs(value) < 0x1p-1022 ? bits & SIGN : (bits + 0x80000000u) >> 32 << 32;
}

EMU_OP1(rcp_upper, uint64_t, uint64_t, to_upper(emu_div_f64(1, upper_of(a), EMU_RN)))
EMU_OP1(rsqrt_upper, uint64_t, uint64_t,
        to_upper(emu_div_f64(1, emu_sqrt_f64(upper_of(a), EMU_RN), EMU_RN)))

#define DIRECTED(name, shape, exec)                       \
    {name, EMU_T(F64), 0, EMU_W(RN), 0, shape, exec},     \
        {name, EMU_T(F64), 0, EMU_W(RZ), 0, shape, exec}, \
        {name, EMU_T(F64), 0, EMU_W(RM), 0, shape, exec}, \
    {                                                     \
        name, EMU_T(F64), 0, EMU_W(RP), 0, shape, exec    \
    }

const struct emu_form emu_f64_forms[] = {
    {"add", EMU_T(F64), 0, 0, EMU_ROUNDING, "nnn", add_f64},
    {"sub", EMU_T(F64), 0, 0, EMU_ROUNDING, "nnn", sub_f64},
    {"mul", EMU_T(F64), 0, 0, EMU_ROUNDING, "nnn", mul_f64},
    DIRECTED("fma", "nnnn", fma_f64),
    DIRECTED("mad", "nnnn", fma_f64),
    DIRECTED("div", "nnn", div_f64),
    DIRECTED("rcp", "nn", rcp_f64),
    DIRECTED("sqrt", "nn", sqrt_f64),
    {"rsqrt", EMU_T(F64), 0, EMU_W(APPROX), 0, "nn", rsqrt_f64},
    {"rsqrt", EMU_T(F64), 0, EMU_W(APPROX) | EMU_W(FTZ), 0, "nn", rsqrt_upper},
    {"rcp", EMU_T(F64), 0, EMU_W(APPROX) | EMU_W(FTZ), 0, "nn", rcp_upper},
    {"abs", EMU_T(F64), 0, 0, 0, "nn", abs_f64},
    {"neg", EMU_T(F64), 0, 0, 0, "nn", neg_f64},
    {"copysign", EMU_T(F64), 0, 0, 0, "nnn", copysign_f64},
    {"min", EMU_T(F64), 0, 0, 0, "nnn", min_f64},
    {"max", EMU_T(F64), 0, 0, 0, "nnn", max_f64},
    {0},
};

/* --------------------------------------------------------------- approximate functions */

#define APPROXIMATE(name, function)   \
    EMU_OP1(name, uint32_t, uint32_t, \
            emu_f32_finish(emu_approx_f32(function, emu_f32_read(a, mode)), mode))
APPROXIMATE(ex2, EMU_EX2)
APPROXIMATE(lg2, EMU_LG2)
APPROXIMATE(rcp, EMU_RCP)
APPROXIMATE(rsqrt, EMU_RSQRT)
APPROXIMATE(square_root, EMU_SQRT)
APPROXIMATE(sine, EMU_SIN)
APPROXIMATE(cosine, EMU_COS)
APPROXIMATE(hyperbolic_tangent, EMU_TANH)

#define APPROX EMU_W(APPROX)
#define FTZ    EMU_W(FTZ)

const struct emu_form emu_approx_forms[] = {
    {"ex2", EMU_T(F32), 0, APPROX, FTZ, "nn", ex2},
    {"lg2", EMU_T(F32), 0, APPROX, FTZ, "nn", lg2},
    {"rcp", EMU_T(F32), 0, APPROX, FTZ, "nn", rcp},
    {"rsqrt", EMU_T(F32), 0, APPROX, FTZ, "nn", rsqrt},
    {"sqrt", EMU_T(F32), 0, APPROX, FTZ, "nn", square_root},
    {"sin", EMU_T(F32), 0, APPROX, FTZ, "nn", sine},
    {"cos", EMU_T(F32), 0, APPROX, FTZ, "nn", cosine},
    {"tanh", EMU_T(F32), 0, APPROX, 0, "nn", hyperbolic_tangent},
    {0},
};

const struct emu_opcode emu_float_opcodes[] = {
    {"fma", emu_form_decode},          {"rcp", emu_form_decode},
    {"sqrt", emu_form_decode},         {"rsqrt", emu_form_decode},
    {"sin", emu_form_decode},          {"cos", emu_form_decode},
    {"lg2", emu_form_decode},          {"ex2", emu_form_decode},
    {"tanh", emu_form_decode},         {"copysign", emu_form_decode},
    {"testp", emu_form_decode},        {"cvt", emu_cvt_decode},
    {"cvt.pack", emu_cvt_pack_decode}, {0},
};
