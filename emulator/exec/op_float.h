/* SPDX-License-Identifier: MIT */
/* What instructions on floats of all widths share. */
#ifndef EMU_EXEC_OP_FLOAT_H
#define EMU_EXEC_OP_FLOAT_H

#include <math.h>

#include "exec/op_form.h"
#include "exec/op_lanes.h"
#include "numbers/numbers.h"

#define EMU_ROUNDING_OF(mode) ((enum emu_rounding)((mode)&EMU_MODE_ROUNDING))

static inline uint32_t emu_f32_flush(uint32_t bits)
{
    return (bits & 0x7F800000) == 0 ? bits & 0x80000000 : bits;
}

/* An operand, and a result, of an f32 instruction with these modes. */
static inline float emu_f32_read(uint64_t bits, uint16_t mode)
{
    return emu_f32_of((mode & EMU_MODE_FTZ) != 0 ? emu_f32_flush((uint32_t)bits) : bits);
}

static inline uint32_t emu_f32_finish(float value, uint16_t mode)
{
    if ((mode & EMU_MODE_SAT) != 0) {
        value = value > 0 ? (value < 1 ? value : 1) : 0; /* NaN gives +0 */
    }
    const uint32_t bits = emu_f32_result(value);
    return (mode & EMU_MODE_FTZ) != 0 ? emu_f32_flush(bits) : bits;
}

static inline bool emu_f64_is_nan(uint64_t bits)
{
    return bits << 1 > UINT64_C(0xFFE0000000000000);
}

/* A result of f64 arithmetic. A NaN is the first operand that is one, made quiet: unlike
 * in f32 it keeps sign and payload, even where sub would change the sign. */
static inline uint64_t emu_f64_finish(double result, uint64_t first, uint64_t second,
                                      uint64_t third)
{
    if (!isnan(result)) {
        return emu_f64_bits(result);
    }
    return emu_f64_is_nan(first)    ? first | EMU_QUIET_F64
           : emu_f64_is_nan(second) ? second | EMU_QUIET_F64
           : emu_f64_is_nan(third)  ? third | EMU_QUIET_F64
                                    : EMU_NAN_F64;
}

/* The lesser or the greater; -0 is less than +0. NaN only when both are, or with .NaN. */
static inline double emu_float_pick(double a, double b, bool greater, uint16_t mode)
{
    const double sign = (signbit(a) != 0) != (signbit(b) != 0) ? -1 : 1;
    if ((mode & EMU_MODE_ABS) != 0) {
        a = fabs(a);
        b = fabs(b);
    }
    double picked;
    if (isnan(a) || isnan(b)) {
        picked = (mode & EMU_MODE_NAN) != 0 ? (double)NAN : isnan(a) ? b : a;
    } else if (a == b) {
        picked = (signbit(a) != 0) == greater ? b : a;
    } else {
        picked = (a > b) == greater ? a : b;
    }
    return (mode & EMU_MODE_XORSIGN) != 0 ? copysign(picked, sign) : picked;
}

#endif
