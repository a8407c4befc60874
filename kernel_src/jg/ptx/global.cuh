// SPDX-License-Identifier: MIT
// Global memory: predicated loads of two neighbouring elements.
#pragma once
#include <jg/ptx/address.cuh>
#include <jg/ptx/convert.cuh>

namespace jg::ptx {

// Two neighbouring elements (the pair is aligned to its own size), the first alone, or
// nothing, by `count`. Predicated, not branched around, so that an unrolled epilogue stays
// one straight block. What is not read is 0.
template <class T>
JG_DEVICE void load_pair(f32 &x, f32 &y, const T *source, u32 count)
{
    if constexpr (sizeof(T) == 4) {
        // clang-format off
        asm volatile("{\n"
                     ".reg .pred two, one;\n"
                     "setp.eq.u32 two, %3, 2;\n"
                     "setp.eq.u32 one, %3, 1;\n"
                     "mov.b32 %0, 0;\n"
                     "mov.b32 %1, 0;\n"
                     "@two ld.global.v2.f32 {%0, %1}, [%2];\n"
                     "@one ld.global.f32 %0, [%2];\n"
                     "}\n" : "=f"(x), "=f"(y) : "l"(source), "r"(count) : "memory");
        // clang-format on
    } else {
        u32 bits;
        // clang-format off
        asm volatile("{\n"
                     ".reg .pred two, one;\n"
                     ".reg .b16 half;\n"
                     "setp.eq.u32 two, %2, 2;\n"
                     "setp.eq.u32 one, %2, 1;\n"
                     "mov.b32 %0, 0;\n"
                     "@two ld.global.b32 %0, [%1];\n"
                     "@one ld.global.b16 half, [%1];\n"
                     "@one cvt.u32.u16 %0, half;\n"
                     "}\n" : "=r"(bits) : "l"(source), "r"(count) : "memory");
        // clang-format on
        x = Convert<T>::low(bits);
        y = Convert<T>::high(bits);
    }
}

} // namespace jg::ptx
