/* SPDX-License-Identifier: MIT */
/*
 * The approximate functions, by way of double: one rounding to f32 of a result whose own
 * error is about 2^-53. The special values that PTX documents are those of the C library.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "numbers/numbers.h"

static double evaluate(enum emu_approx function, double a)
{
    switch (function) {
    case EMU_EX2:
        return exp2(a);
    case EMU_LG2:
        return log2(a);
    case EMU_RCP:
        return 1.0 / a;
    case EMU_RSQRT:
        return 1.0 / sqrt(a);
    case EMU_SQRT:
        return sqrt(a);
    case EMU_SIN:
        return sin(a);
    case EMU_COS:
        return cos(a);
    case EMU_TANH:
        return tanh(a);
    }
    assert(false && "an unknown function");
    return NAN;
}

float emu_approx_f32(enum emu_approx function, float a)
{
    const uint64_t bits =
        emu_encode(EMU_F32, evaluate(function, a), (struct emu_encode){.rounding = EMU_RN});
    const uint32_t bits32 = (uint32_t)bits;
    float result;
    memcpy(&result, &bits32, sizeof(result));
    return result;
}

float emu_flush_f32(float a)
{
    uint32_t bits;
    memcpy(&bits, &a, sizeof(bits));
    if ((bits & 0x7F800000) == 0) {
        bits &= 0x80000000;
    }
    memcpy(&a, &bits, sizeof(a));
    return a;
}
