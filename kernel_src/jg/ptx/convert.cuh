// SPDX-License-Identifier: MIT
// Element types to f32 and back, one value or two at a time. Rounds to nearest even. What
// is too large for s32 becomes the largest value of its sign; a NaN becomes 0 in s32.
// Elements below 16 bits are those of convert_narrow.cuh.
#pragma once
#include <jg/common/types.cuh>

namespace jg {

JG_DEVICE f32 to_f32(bf16 value)
{
    return __uint_as_float(static_cast<u32>(value.bits) << 16);
}

JG_DEVICE f32 to_f32(f16 value)
{
    f32 result;
    // clang-format off
    asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
    // clang-format on
    return result;
}

JG_DEVICE f32 to_f32(f32 value)
{
    return value;
}

// As copies into shared memory round it.
JG_DEVICE f32 to_f32(tf32 element)
{
    u32 bits;
    // clang-format off
    asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(bits) : "f"(element.value));
    // clang-format on
    return __uint_as_float(bits);
}

JG_DEVICE f32 to_f32(s32 element)
{
    return static_cast<f32>(element.value);
}

template <class T>
struct Convert;

template <>
struct Convert<bf16> {
    static JG_DEVICE bf16 from(f32 value)
    {
        bf16 result;
        // clang-format off
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
        // clang-format on
        return result;
    }
    // `low` in the lower half, which has the lower address.
    static JG_DEVICE u32 pack(f32 low, f32 high)
    {
        u32 result;
        // clang-format off
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
        // clang-format on
        return result;
    }
    static JG_DEVICE f32 low(u32 pair)
    {
        return __uint_as_float(pair << 16);
    }
    static JG_DEVICE f32 high(u32 pair)
    {
        return __uint_as_float(pair & 0xffff0000u);
    }
};

template <>
struct Convert<f16> {
    static JG_DEVICE f16 from(f32 value)
    {
        f16 result;
        // clang-format off
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
        // clang-format on
        return result;
    }
    static JG_DEVICE u32 pack(f32 low, f32 high)
    {
        u32 result;
        // clang-format off
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
        // clang-format on
        return result;
    }
    static JG_DEVICE f32 low(u32 pair)
    {
        return to_f32(f16{static_cast<u16>(pair & 0xffffu)});
    }
    static JG_DEVICE f32 high(u32 pair)
    {
        return to_f32(f16{static_cast<u16>(pair >> 16)});
    }
};

template <>
struct Convert<f32> {
    static JG_DEVICE f32 from(f32 value)
    {
        return value;
    }
};

template <>
struct Convert<s32> {
    static JG_DEVICE s32 from(f32 value)
    {
        return s32{__float2int_rn(value)};
    }
};

} // namespace jg
