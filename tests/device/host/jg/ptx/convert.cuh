// SPDX-License-Identifier: MIT
// Host meaning of conversions: an element of 16 bits keeps a whole number below 65536, so
// that a test sees which value went where; tf32 is rounded as it is on the device.
#pragma once
#include "tests/device/host/instructions.h"

#define Convert ConvertByPtx
#define to_f32  to_f32_by_ptx
#include "kernel_src/jg/ptx/convert.cuh"
#undef Convert
#undef to_f32

namespace jg {

template <class T>
struct Convert {
    static u32 pack(f32 low, f32 high)
    {
        static_assert(sizeof(T) == 2, "no other type is packed here");
        return static_cast<u32>(low) | static_cast<u32>(high) << 16;
    }
    static T from(f32 value);
    static f32 low(u32 pair);
    static f32 high(u32 pair);
};

template <class T>
f32 to_f32(T element);

template <>
inline f32 to_f32(f32 element)
{
    return element;
}
// To nearest even, as copies into shared memory do.
template <>
inline f32 to_f32(tf32 element)
{
    const u32 bits = __float_as_uint(element.value);
    return __uint_as_float((bits + 0xfffu + (bits >> 13 & 1u)) & ~0x1fffu);
}

} // namespace jg
