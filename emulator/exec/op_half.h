/* SPDX-License-Identifier: MIT */
/* f16 and bf16 to and from f32, where it has to be quick. */
#ifndef EMU_EXEC_OP_HALF_H
#define EMU_EXEC_OP_HALF_H

#include "exec/op_lanes.h"
#include "numbers/numbers.h"

enum { EMU_HALF_SIGN = 0x8000, EMU_HALF_NAN = 0x7FFF };

/* A subnormal becomes zero of its sign. */
static inline uint16_t emu_half_flush(enum emu_format format, uint16_t half)
{
    const uint16_t least_normal = format == EMU_F16 ? 0x0400 : 0x0080;
    return (half & 0x7FFF) < least_normal ? half & EMU_HALF_SIGN : half;
}

/* f32 bits of the same value; every NaN becomes the canonical one. */
static inline uint32_t emu_half_widen(enum emu_format format, uint16_t half)
{
    const uint32_t magnitude = half & 0x7FFF;
    const uint32_t sign = (uint32_t)(half & EMU_HALF_SIGN) << 16;
    const uint32_t infinity = format == EMU_F16 ? 0x7C00 : 0x7F80;
    if (magnitude > infinity) {
        return EMU_NAN_F32;
    }
    if (format == EMU_BF16) {
        return (uint32_t)half << 16;
    }
    if (magnitude == infinity) {
        return sign | 0x7F800000;
    }
    /* Fields moved to f32's places stand for the value divided by a power of two, the
     * difference of the biases; multiplying by it is exact, for subnormals too. */
    return sign | emu_f32_bits(emu_f32_of(magnitude << 13) * 0x1p112f);
}

/* Rounded to nearest even. */
static inline uint16_t emu_half_narrow(enum emu_format format, uint32_t bits)
{
    const uint32_t magnitude = bits & 0x7FFFFFFF;
    const uint32_t sign = bits >> 16 & EMU_HALF_SIGN;
    if (magnitude > 0x7F800000) {
        return EMU_HALF_NAN;
    }
    if (format == EMU_BF16) {
        return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
    }
    if (magnitude >= 0x47800000) { /* 2^16 */
        return (uint16_t)(sign | 0x7C00);
    }
    if (magnitude < 0x38800000) { /* 2^-14: next to 0.5, f32's last place is f16's */
        const float placed = emu_f32_of(magnitude) + 0.5f;
        return (uint16_t)(sign | (emu_f32_bits(placed) - 0x3F000000));
    }
    const uint32_t rebiased = magnitude - 0x38000000;
    return (uint16_t)(sign | (rebiased + 0xFFF + (rebiased >> 13 & 1)) >> 13);
}

#endif
