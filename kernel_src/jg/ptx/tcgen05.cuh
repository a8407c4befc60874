// SPDX-License-Identifier: MIT
// tcgen05: the tensor core and tensor memory of sm_100a.
//
// Tensor memory has 128 lanes of 512 columns of 32 bits; an address is lane << 16 | column.
// kCtaGroup is 1, or 2 for a pair of CTAs that multiplies as one; a kernel uses one of them
// throughout.
#pragma once
#include <jg/ptx/address.cuh>

// Of a family target, sm_100f, and of each "a" target of the family. Older compilers know
// only sm_100a.
#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM100_ALL) && \
    !(defined(__CUDA_ARCH_FAMILY_SPECIFIC__) && __CUDA_ARCH_FAMILY_SPECIFIC__ / 100 == 10)
#    error "jg/ptx/tcgen05.cuh needs sm_100a, sm_103a or sm_100f"
#endif

namespace jg::ptx {

// --------------------------------------------------------------------- tensor memory

// Allocates columns, a power of two from 32 on, and writes their address to shared memory.
// Blocks until they are free. Called by one whole warp; in a pair by one in each CTA, both
// of which must be running.
template <u32 kCtaGroup>
JG_DEVICE void tcgen05_allocate(u32 *target, u32 columns)
{
    // clang-format off
    asm volatile("tcgen05.alloc.cta_group::%2.sync.aligned.shared::cta.b32 [%0], %1;"
                 :: "r"(shared_address(target)), "r"(columns), "n"(kCtaGroup) : "memory");
    // clang-format on
}

// This CTA allocates no more, so that another on this multiprocessor may.
template <u32 kCtaGroup>
JG_DEVICE void tcgen05_relinquish()
{
    // clang-format off
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::%0.sync.aligned;" :: "n"(kCtaGroup));
    // clang-format on
}

// The same warps as for the allocation.
template <u32 kCtaGroup>
JG_DEVICE void tcgen05_free(u32 address, u32 columns)
{
    // clang-format off
    asm volatile("tcgen05.dealloc.cta_group::%2.sync.aligned.b32 %0, %1;"
                 :: "r"(address), "r"(columns), "n"(kCtaGroup) : "memory");
    // clang-format on
}

// Orders this thread's earlier tcgen05 instructions before the synchronisation that
// follows, and what follows a synchronisation after it.
JG_DEVICE void tcgen05_fence_before_sync()
{
    // clang-format off
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    // clang-format on
}
JG_DEVICE void tcgen05_fence_after_sync()
{
    // clang-format off
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    // clang-format on
}

// Loads 16 lanes by kCount / 4 groups of 8 columns in the layout of a wgmma's accumulators:
// lane l of the warp gets row l / 4, columns 2 (l % 4) and the next, then both 8 rows
// below. Warp w of a warpgroup reaches lanes 32 w to 32 w + 31. The values may not be used
// before tcgen05_wait_load.
template <u32 kCount>
JG_DEVICE void tcgen05_load(f32 *v, u32 address)
{
    static_assert(kCount > 0 && kCount % 4 == 0, "whole groups");
    // clang-format off
    if constexpr (kCount == 4) {
        asm volatile("tcgen05.ld.sync.aligned.16x256b.x1.b32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3]) : "r"(address) : "memory");
    } else if constexpr (kCount == 8) {
        asm volatile("tcgen05.ld.sync.aligned.16x256b.x2.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
                     : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3]),
                       "=f"(v[4]), "=f"(v[5]), "=f"(v[6]), "=f"(v[7]) : "r"(address) : "memory");
    } else if constexpr (kCount == 16) {
        asm volatile("tcgen05.ld.sync.aligned.16x256b.x4.b32 "
                     "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, [%16];"
                     : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3]),
                       "=f"(v[4]), "=f"(v[5]), "=f"(v[6]), "=f"(v[7]),
                       "=f"(v[8]), "=f"(v[9]), "=f"(v[10]), "=f"(v[11]),
                       "=f"(v[12]), "=f"(v[13]), "=f"(v[14]), "=f"(v[15]) : "r"(address) : "memory");
    } else if constexpr (kCount == 32) {
        asm volatile("tcgen05.ld.sync.aligned.16x256b.x8.b32 "
                     "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                     "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, [%32];"
                     : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3]),
                       "=f"(v[4]), "=f"(v[5]), "=f"(v[6]), "=f"(v[7]),
                       "=f"(v[8]), "=f"(v[9]), "=f"(v[10]), "=f"(v[11]),
                       "=f"(v[12]), "=f"(v[13]), "=f"(v[14]), "=f"(v[15]),
                       "=f"(v[16]), "=f"(v[17]), "=f"(v[18]), "=f"(v[19]),
                       "=f"(v[20]), "=f"(v[21]), "=f"(v[22]), "=f"(v[23]),
                       "=f"(v[24]), "=f"(v[25]), "=f"(v[26]), "=f"(v[27]),
                       "=f"(v[28]), "=f"(v[29]), "=f"(v[30]), "=f"(v[31]) : "r"(address) : "memory");
    } else {
        // The widest of the above, then the rest; 4 values are 8 columns.
        constexpr u32 kFirst = kCount > 32 ? 32 : kCount > 16 ? 16 : 8;
        tcgen05_load<kFirst>(v, address);
        tcgen05_load<kCount - kFirst>(v + kFirst, address + 2 * kFirst);
    }
    // clang-format on
}

// Waits until this warp's loads are complete. The values pass through, so that the compiler
// moves no use of them before the wait.
template <u32 kFragments, u32 kCount>
JG_DEVICE void tcgen05_wait_load(f32 (&v)[kFragments][kCount])
{
    // clang-format off
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
#pragma unroll
    for (u32 i = 0; i < kFragments; ++i) {
#pragma unroll
        for (u32 j = 0; j < kCount; ++j) {
            asm volatile("" : "+f"(v[i][j]));
        }
    }
    // clang-format on
}

// ------------------------------------------------------------------------ descriptors

// What is constant in a shared-memory matrix descriptor (PTX ISA, "matrix descriptor",
// sm_100 form): bits 16-29 leading offset >> 4, 32-45 stride offset >> 4, 46 one, 61-63
// swizzle. Bits 0-13 are the address >> 4. k128Of32 exchanges units of 32 bytes where the
// others do of 16.
enum class Tcgen05Swizzle : u32 { kNone = 0, k128Of32 = 1, k128 = 2, k64 = 4, k32 = 6 };

constexpr JG_DEVICE u64 tcgen05_descriptor(u32 leading_bytes, u32 stride_bytes,
                                           Tcgen05Swizzle swizzle)
{
    return static_cast<u64>(leading_bytes >> 4) << 16 |
           static_cast<u64>(stride_bytes >> 4) << 32 | u64(1) << 46 |
           static_cast<u64>(swizzle) << 61;
}

JG_DEVICE u64 tcgen05_descriptor_address(const void *tile)
{
    return (shared_address(tile) & 0x3ffff) >> 4;
}

// What tcgen05.mma calls an input type: its kind, and its number within the kind.
enum class Tcgen05Kind : u32 { kF16, kTf32, kF8f6f4, kI8, kMxf4 };

template <Tcgen05Kind kOfKind, u32 kNumber>
struct Tcgen05Input {
    static constexpr Tcgen05Kind kKind = kOfKind;
    enum : u32 { kType = kNumber };
};
template <class T>
struct Tcgen05Type;
template <>
struct Tcgen05Type<f16> : Tcgen05Input<Tcgen05Kind::kF16, 0> {
};
template <>
struct Tcgen05Type<bf16> : Tcgen05Input<Tcgen05Kind::kF16, 1> {
};
template <>
struct Tcgen05Type<tf32> : Tcgen05Input<Tcgen05Kind::kTf32, 2> {
};
template <>
struct Tcgen05Type<e4m3> : Tcgen05Input<Tcgen05Kind::kF8f6f4, 0> {
};
template <>
struct Tcgen05Type<e5m2> : Tcgen05Input<Tcgen05Kind::kF8f6f4, 1> {
};
template <>
struct Tcgen05Type<e2m1> : Tcgen05Input<Tcgen05Kind::kMxf4, 1> { // with scales only
};
template <>
struct Tcgen05Type<s8> : Tcgen05Input<Tcgen05Kind::kI8, 1> {
};

// The instruction descriptor: bits 4-5 type of the accumulators (f32 1, s32 2), 7-9 and
// 10-12 types of A and B, 15 and 16 one where A and B are MN-major, 17-22 N >> 3, 24-28 M
// >> 4. M is that of the whole group.
template <class A, class B>
constexpr JG_DEVICE u32 tcgen05_instruction(bool a_k_major, bool b_k_major, u32 m, u32 n)
{
    static_assert(Tcgen05Type<A>::kKind == Tcgen05Type<B>::kKind,
                  "tcgen05.mma does not take A and B together");
    const u32 accumulator = Tcgen05Type<A>::kKind == Tcgen05Kind::kI8 ? 2 : 1;
    return accumulator << 4 | Tcgen05Type<A>::kType << 7 | Tcgen05Type<B>::kType << 10 |
           (a_k_major ? 0u : 1u) << 15 | (b_k_major ? 0u : 1u) << 16 | (n >> 3) << 17 |
           (m >> 4) << 24;
}

// --------------------------------------------------------------------- multiplication

// D in tensor memory = A * B over 32 bytes of K, plus D where `accumulate` is not 0. Issued
// by one thread, of the pair's leader CTA; it returns before the product is done.
// clang-format off
#define JG_TCGEN05_MMA(KIND)                                                                  \
    asm volatile("{\n"                                                                        \
                 ".reg .pred p;\n"                                                            \
                 "setp.ne.b32 p, %4, 0;\n"                                                    \
                 "tcgen05.mma.cta_group::%5.kind::" KIND " [%0], %1, %2, %3, p;\n"            \
                 "}\n" :: "r"(d), "l"(a), "l"(b), "r"(instruction), "r"(accumulate), "n"(kCtaGroup) \
                 : "memory")
// clang-format on
template <u32 kCtaGroup, Tcgen05Kind kKind>
JG_DEVICE void tcgen05_mma(u32 d, u64 a, u64 b, u32 instruction, u32 accumulate)
{
    if constexpr (kKind == Tcgen05Kind::kF16) {
        JG_TCGEN05_MMA("f16");
    } else if constexpr (kKind == Tcgen05Kind::kTf32) {
        JG_TCGEN05_MMA("tf32");
    } else if constexpr (kKind == Tcgen05Kind::kF8f6f4) {
        JG_TCGEN05_MMA("f8f6f4");
    } else {
        JG_TCGEN05_MMA("i8");
    }
}
#undef JG_TCGEN05_MMA

// One arrival on the barrier when all multiplications that this thread issued are done, and
// with them their reads of shared memory.
template <u32 kCtaGroup>
JG_DEVICE void tcgen05_commit(u64 *barrier)
{
    // clang-format off
    asm volatile("tcgen05.commit.cta_group::%1.mbarrier::arrive::one.shared::cluster.b64 [%0];"
                 :: "r"(shared_address(barrier)), "n"(kCtaGroup) : "memory");
    // clang-format on
}

// The same on the barriers at this offset in every CTA of `mask`.
template <u32 kCtaGroup>
JG_DEVICE void tcgen05_commit_multicast(u64 *barrier, u16 mask)
{
    // clang-format off
    asm volatile("tcgen05.commit.cta_group::%2.mbarrier::arrive::one.shared::cluster"
                 ".multicast::cluster.b64 [%0], %1;"
                 :: "r"(shared_address(barrier)), "h"(mask), "n"(kCtaGroup) : "memory");
    // clang-format on
}

} // namespace jg::ptx
