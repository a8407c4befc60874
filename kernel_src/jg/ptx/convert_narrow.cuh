// SPDX-License-Identifier: MIT
// Elements below 16 bits, and scales of blocks, to f32 and back (convert.cuh). Rounds to
// nearest even. What is too large becomes the largest value of its sign. Units that have
// such a C, D or operand include this.
#pragma once
#include <jg/ptx/convert.cuh>

namespace jg {

JG_DEVICE f32 to_f32(s8 element)
{
    return static_cast<f32>(element.value);
}

// To nearest even, saturating; NaN becomes 0. Two of them are 16 bits.
template <>
struct Convert<s8> {
    static JG_DEVICE s8 from(f32 value)
    {
        const i32 rounded = __float2int_rn(value);
        const i32 low = rounded < -128 ? -128 : rounded;
        return s8{static_cast<signed char>(low > 127 ? 127 : low)};
    }
    static JG_DEVICE u32 pack(f32 low, f32 high)
    {
        return static_cast<u8>(from(low).value) |
               static_cast<u32>(static_cast<u8>(from(high).value)) << 8;
    }
    static JG_DEVICE f32 low(u32 pair)
    {
        return to_f32(s8{static_cast<signed char>(pair)});
    }
    static JG_DEVICE f32 high(u32 pair)
    {
        return to_f32(s8{static_cast<signed char>(pair >> 8)});
    }
};

// 8-bit floats: two of them are 16 bits, and pass through f16, which holds them all.
template <>
struct Convert<e4m3> {
    static JG_DEVICE u32 pack(f32 low, f32 high)
    {
        u16 result;
        // clang-format off
        asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(result) : "f"(high), "f"(low));
        // clang-format on
        return result;
    }
    static JG_DEVICE e4m3 from(f32 value)
    {
        return e4m3{static_cast<u8>(pack(value, 0.0f))};
    }
    static JG_DEVICE u32 halves(u32 pair)
    {
        u32 result;
        // clang-format off
        asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(result) : "h"(static_cast<u16>(pair)));
        // clang-format on
        return result;
    }
    static JG_DEVICE f32 low(u32 pair)
    {
        return Convert<f16>::low(halves(pair));
    }
    static JG_DEVICE f32 high(u32 pair)
    {
        return Convert<f16>::high(halves(pair));
    }
};

template <>
struct Convert<e5m2> {
    static JG_DEVICE u32 pack(f32 low, f32 high)
    {
        u16 result;
        // clang-format off
        asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(result) : "f"(high), "f"(low));
        // clang-format on
        return result;
    }
    static JG_DEVICE e5m2 from(f32 value)
    {
        return e5m2{static_cast<u8>(pack(value, 0.0f))};
    }
    static JG_DEVICE u32 halves(u32 pair)
    {
        u32 result;
        // clang-format off
        asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(result) : "h"(static_cast<u16>(pair)));
        // clang-format on
        return result;
    }
    static JG_DEVICE f32 low(u32 pair)
    {
        return Convert<f16>::low(halves(pair));
    }
    static JG_DEVICE f32 high(u32 pair)
    {
        return Convert<f16>::high(halves(pair));
    }
};

#if defined(__CUDA_ARCH_FEAT_SM100_ALL) || \
    (defined(__CUDA_ARCH_FAMILY_SPECIFIC__) && __CUDA_ARCH_FAMILY_SPECIFIC__ / 100 == 10)
enum : bool { kHasE2m1 = true };
#else
enum : bool { kHasE2m1 = false };
#endif

// A 4-bit float; NaN becomes 6. Beside the middle of two values the comparisons take the
// nearer one, in the middle that with the even code; they are so written that a NaN is
// beyond all of them.
JG_DEVICE u32 e2m1_code(f32 value)
{
    const f32 x = ::fabsf(value);
    const u32 code = !(x <= 0.25f) + !(x < 0.75f) + !(x <= 1.25f) + !(x < 1.75f) +
                     !(x <= 2.5f) + !(x < 3.5f) + !(x <= 5.0f);
    return x <= __uint_as_float(0x7f800000u) ? code | __float_as_uint(value) >> 31 << 3
                                             : code;
}

// Two of them are 8 bits.
template <>
struct Convert<e2m1> {
    static JG_DEVICE u32 pack(f32 low, f32 high)
    {
        if constexpr (kHasE2m1) {
            u32 result;
            // clang-format off
            asm("{\n"
                ".reg .b8 pair;\n"
                "cvt.rn.satfinite.e2m1x2.f32 pair, %1, %2;\n"
                "cvt.u32.u8 %0, pair;\n"
                "}" : "=r"(result) : "f"(high), "f"(low));
            // clang-format on
            return result;
        } else {
            return e2m1_code(low) | e2m1_code(high) << 4;
        }
    }
};

JG_DEVICE f32 to_f32(e4m3 element)
{
    return Convert<e4m3>::low(element.bits);
}

JG_DEVICE f32 to_f32(e5m2 element)
{
    return Convert<e5m2>::low(element.bits);
}

JG_DEVICE f32 to_f32(ue8m0 scale)
{
    return __uint_as_float(scale.bits == 0     ? 0x00400000u
                           : scale.bits == 255 ? 0x7fffffffu
                                               : u32(scale.bits) << 23);
}

JG_DEVICE f32 to_f32(ue4m3 scale)
{
    return Convert<e4m3>::low(scale.bits & 127);
}

// One of a pair.
JG_DEVICE f32 to_f32(e2m1 pair, u32 index)
{
    const u32 code = pair.bits >> 4 * index & 15;
    const u32 exponent = code >> 1 & 3;
    const u32 normal = (exponent + 126) << 23 | (code & 1) << 22;
    const u32 subnormal = code & 1 ? 0x3f000000u : 0u; // 0.5
    return __uint_as_float((exponent > 0 ? normal : subnormal) | code >> 3 << 31);
}

} // namespace jg
