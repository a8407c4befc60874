// SPDX-License-Identifier: MIT
// tcgen05 where blocks of K have scales, by which the tensor core multiplies (tcgen05.cuh).
#pragma once
#include <jg/ptx/tcgen05.cuh>

namespace jg::ptx {

// The same of a type beside another: the kind of 8-bit floats takes e2m1, too, in a byte
// each.
template <class T, class Other>
using Tcgen05Beside =
    typename Select<(kBits<T> < kBits<Other>), Tcgen05Input<Tcgen05Kind::kF8f6f4, 5>,
                    Tcgen05Type<T>>::Type;

// The instruction descriptor where blocks of K have scales of type Scale: bits 7-9 and
// 10-12 types of A and B, 15 and 16 one where A and B are MN-major, 17-22 N >> 3, 23 one
// for ue8m0, 27-28 M >> 7. Bits 4-5 and 29-30 say at which byte of a cell of tensor memory
// the scales of B and of A begin.
template <class A, class B, class Scale>
constexpr JG_DEVICE u32 tcgen05_scaled_instruction(bool a_k_major, bool b_k_major, u32 m,
                                                   u32 n)
{
    using InputA = Tcgen05Beside<A, B>;
    using InputB = Tcgen05Beside<B, A>;
    static_assert(InputA::kKind == InputB::kKind && (InputA::kKind == Tcgen05Kind::kMxf4 ||
                                                     InputA::kKind == Tcgen05Kind::kF8f6f4),
                  "8-bit floats, or 4-bit ones, which are K-major");
    return InputA::kType << 7 | InputB::kType << 10 | (a_k_major ? 0u : 1u) << 15 |
           (b_k_major ? 0u : 1u) << 16 | (n >> 3) << 17 |
           (IsSame<Scale, ue8m0>::value ? 1u : 0u) << 23 | (m >> 7) << 27;
}
constexpr JG_DEVICE u32 tcgen05_scale_id(u32 byte)
{
    return byte << 29 | byte << 4;
}

// Copies 512 bytes of shared memory to four columns of tensor memory: row r of 32 rows of
// 16 bytes to lane r, and to the same lane of each other quarter. In a pair both CTAs copy
// from their own memory to their own. What this thread multiplies later finds it there.
template <u32 kCtaGroup>
JG_DEVICE void tcgen05_copy_scales(u32 address, u64 descriptor)
{
    // clang-format off
    asm volatile("tcgen05.cp.cta_group::%2.32x128b.warpx4 [%0], %1;"
                 :: "r"(address), "l"(descriptor), "n"(kCtaGroup) : "memory");
    // clang-format on
}

// As tcgen05_mma, each product times the scale of its block of A and of B, whose cells
// begin at `a_scales` and `b_scales`. A block is 16 elements with scales of ue4m3, which
// e2m1 by itself may have, and 32 with those of ue8m0.
#define JG_TCGEN05_MMA_SCALED(kind)                                              \
    asm volatile("{\n"                                                           \
                 ".reg .pred p;\n"                                               \
                 "setp.ne.b32 p, %6, 0;\n"                                       \
                 "tcgen05.mma.cta_group::%7.kind::" kind                         \
                 " [%0], %1, %2, %3, [%4], [%5], p;\n"                           \
                 "}\n" ::"r"(d),                                                 \
                 "l"(a), "l"(b), "r"(instruction), "r"(a_scales), "r"(b_scales), \
                 "r"(accumulate), "n"(kCtaGroup)                                 \
                 : "memory")
template <u32 kCtaGroup, class A, class B, class Scale>
JG_DEVICE void tcgen05_mma_scaled(u32 d, u64 a, u64 b, u32 instruction, u32 a_scales,
                                  u32 b_scales, u32 accumulate)
{
    if constexpr (Tcgen05Beside<A, B>::kKind == Tcgen05Kind::kF8f6f4) {
        JG_TCGEN05_MMA_SCALED("mxf8f6f4.block_scale");
    } else if constexpr (IsSame<Scale, ue8m0>::value) {
        JG_TCGEN05_MMA_SCALED("mxf4.block_scale.block32");
    } else {
        JG_TCGEN05_MMA_SCALED("mxf4nvf4.block_scale.block16");
    }
}
#undef JG_TCGEN05_MMA_SCALED

} // namespace jg::ptx
