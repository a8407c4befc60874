// SPDX-License-Identifier: MIT
// wgmma: one warpgroup multiplies 64 x 64 by 64 x N from shared memory into registers, as
// four instructions of 16 of K in one statement: that compiles much faster than four.
//
// Accumulator of thread t, warp w = t / 32 % 4, lane l: registers 4j .. 4j + 3 hold
// (16 w + l / 4, 8 j + 2 (l % 4)), the next column, and the same two columns 8 rows below.
#pragma once
#include <jg/ptx/address.cuh>

#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#    error "jg/ptx/wgmma.cuh needs sm_90a: compile with --gpu-architecture=sm_90a"
#endif

namespace jg::ptx {

// Before the first wgmma after ordinary code touched the accumulators.
JG_DEVICE void wgmma_fence()
{
    // clang-format off
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    // clang-format on
}

JG_DEVICE void wgmma_commit()
{
    // clang-format off
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    // clang-format on
}

// Waits until at most kPending committed groups are unfinished.
template <u32 kPending>
JG_DEVICE void wgmma_wait()
{
    // clang-format off
    asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(kPending) : "memory");
    // clang-format on
}

// Shared-memory matrix descriptor, 128-byte swizzle (PTX ISA, "matrix descriptor", sm_90
// form): bits 0-13 address >> 4, 16-29 leading offset >> 4, 32-45 stride offset >> 4, 62-63
// swizzle 1.
//
// K-major: rows of 128 bytes; stride offset = 8 rows. The leading offset is not used.
// MN-major: panels of 64 elements by 64 K, one K a row of 128 bytes; stride offset = 8 K,
// leading offset = the next panel.
template <bool kKMajor>
JG_DEVICE u64 wgmma_descriptor(const void *tile)
{
    constexpr u64 kLeadingBytes = kKMajor ? 16 : 64 * 128;
    constexpr u64 kStrideBytes = 8 * 128;
    constexpr u64 kSwizzle128 = 1;
    return static_cast<u64>((shared_address(tile) & 0x3ffff) >> 4) |
           (kLeadingBytes >> 4) << 16 | (kStrideBytes >> 4) << 32 | kSwizzle128 << 62;
}

// What to add to a descriptor for the next 16 elements of K.
template <bool kKMajor>
JG_DEVICE constexpr u64 wgmma_descriptor_k_step()
{
    return (kKMajor ? 32 : 16 * 128) >> 4;
}

// clang-format off
#define JG_REGS_0 \
    "%0, %1, %2, %3, %4, %5, %6, %7" ", " \
    "%8, %9, %10, %11, %12, %13, %14, %15" ", " \
    "%16, %17, %18, %19, %20, %21, %22, %23" ", " \
    "%24, %25, %26, %27, %28, %29, %30, %31"
#define JG_REGS_1 \
    "%32, %33, %34, %35, %36, %37, %38, %39" ", " \
    "%40, %41, %42, %43, %44, %45, %46, %47" ", " \
    "%48, %49, %50, %51, %52, %53, %54, %55" ", " \
    "%56, %57, %58, %59, %60, %61, %62, %63"
#define JG_REGS_2 \
    "%64, %65, %66, %67, %68, %69, %70, %71" ", " \
    "%72, %73, %74, %75, %76, %77, %78, %79" ", " \
    "%80, %81, %82, %83, %84, %85, %86, %87" ", " \
    "%88, %89, %90, %91, %92, %93, %94, %95"
#define JG_REGS_3 \
    "%96, %97, %98, %99, %100, %101, %102, %103" ", " \
    "%104, %105, %106, %107, %108, %109, %110, %111" ", " \
    "%112, %113, %114, %115, %116, %117, %118, %119" ", " \
    "%120, %121, %122, %123, %124, %125, %126, %127"
#define JG_OUT_8(o) "+f"(d[o]), "+f"(d[o + 1]), "+f"(d[o + 2]), "+f"(d[o + 3]), \
    "+f"(d[o + 4]), "+f"(d[o + 5]), "+f"(d[o + 6]), "+f"(d[o + 7])
#define JG_OUT_32(o) JG_OUT_8(o), JG_OUT_8(o + 8), JG_OUT_8(o + 16), JG_OUT_8(o + 24)
#define JG_WGMMA_K16(N, TYPE, REGS, A, B, P, TA, TB)                                           \
    "wgmma.mma_async.sync.aligned.m64n" N "k16.f32." TYPE "." TYPE                              \
    " {" REGS "}, " A ", " B ", " P ", 1, 1, " TA ", " TB ";\n"
#define JG_WGMMA_NEXT(AS, BS) "add.u64 a, a, " AS ";\nadd.u64 b, b, " BS ";\n"
#define JG_WGMMA(N, TYPE, REGS, A, B, P, TA, TB, AS, BS, ...)                                  \
    asm volatile("{\n"                                                                        \
                 ".reg .pred p, one;\n"                                                       \
                 ".reg .b64 a, b;\n"                                                          \
                 "setp.ne.b32 p, " P ", 0;\n"                                                 \
                 "setp.eq.b32 one, 0, 0;\n"                                                   \
                 "mov.b64 a, " A ";\n"                                                        \
                 "mov.b64 b, " B ";\n"                                                        \
                 JG_WGMMA_K16(N, TYPE, REGS, "a", "b", "p", TA, TB)                           \
                 JG_WGMMA_NEXT(AS, BS)                                                        \
                 JG_WGMMA_K16(N, TYPE, REGS, "a", "b", "one", TA, TB)                         \
                 JG_WGMMA_NEXT(AS, BS)                                                        \
                 JG_WGMMA_K16(N, TYPE, REGS, "a", "b", "one", TA, TB)                         \
                 JG_WGMMA_NEXT(AS, BS)                                                        \
                 JG_WGMMA_K16(N, TYPE, REGS, "a", "b", "one", TA, TB)                         \
                 "}\n" : __VA_ARGS__ : "l"(a), "l"(b), "r"(accumulate), "n"(kTransposeA),     \
                 "n"(kTransposeB), "n"(kAStep), "n"(kBStep))
// clang-format on

// d = a * b, plus d where `accumulate` is not 0. kTranspose: 1 where the operand is
// MN-major.
template <class T, u32 kN, int kTransposeA, int kTransposeB>
struct Wgmma;

template <class T, int kTransposeA, int kTransposeB>
struct Wgmma<T, 64, kTransposeA, kTransposeB> {
    static constexpr u64 kAStep = wgmma_descriptor_k_step<kTransposeA == 0>();
    static constexpr u64 kBStep = wgmma_descriptor_k_step<kTransposeB == 0>();

    static JG_DEVICE void issue(f32 (&d)[32], u64 a, u64 b, u32 accumulate)
    {
        // clang-format off
        if constexpr (IsSame<T, bf16>::value) {
            JG_WGMMA("64", "bf16", JG_REGS_0, "%32", "%33", "%34", "%35", "%36", "%37", "%38", JG_OUT_32(0));
        } else {
            static_assert(IsSame<T, f16>::value, "wgmma inputs are bf16 or f16");
            JG_WGMMA("64", "f16", JG_REGS_0, "%32", "%33", "%34", "%35", "%36", "%37", "%38", JG_OUT_32(0));
        }
        // clang-format on
    }
};

template <class T, int kTransposeA, int kTransposeB>
struct Wgmma<T, 128, kTransposeA, kTransposeB> {
    static constexpr u64 kAStep = wgmma_descriptor_k_step<kTransposeA == 0>();
    static constexpr u64 kBStep = wgmma_descriptor_k_step<kTransposeB == 0>();

    static JG_DEVICE void issue(f32 (&d)[64], u64 a, u64 b, u32 accumulate)
    {
        // clang-format off
        if constexpr (IsSame<T, bf16>::value) {
            JG_WGMMA("128", "bf16", JG_REGS_0 ", " JG_REGS_1, "%64", "%65", "%66", "%67", "%68", "%69", "%70", JG_OUT_32(0), JG_OUT_32(32));
        } else {
            static_assert(IsSame<T, f16>::value, "wgmma inputs are bf16 or f16");
            JG_WGMMA("128", "f16", JG_REGS_0 ", " JG_REGS_1, "%64", "%65", "%66", "%67", "%68", "%69", "%70", JG_OUT_32(0), JG_OUT_32(32));
        }
        // clang-format on
    }
};

template <class T, int kTransposeA, int kTransposeB>
struct Wgmma<T, 192, kTransposeA, kTransposeB> {
    static constexpr u64 kAStep = wgmma_descriptor_k_step<kTransposeA == 0>();
    static constexpr u64 kBStep = wgmma_descriptor_k_step<kTransposeB == 0>();

    static JG_DEVICE void issue(f32 (&d)[96], u64 a, u64 b, u32 accumulate)
    {
        // clang-format off
        if constexpr (IsSame<T, bf16>::value) {
            JG_WGMMA("192", "bf16", JG_REGS_0 ", " JG_REGS_1 ", " JG_REGS_2, "%96", "%97", "%98", "%99", "%100", "%101", "%102", JG_OUT_32(0), JG_OUT_32(32), JG_OUT_32(64));
        } else {
            static_assert(IsSame<T, f16>::value, "wgmma inputs are bf16 or f16");
            JG_WGMMA("192", "f16", JG_REGS_0 ", " JG_REGS_1 ", " JG_REGS_2, "%96", "%97", "%98", "%99", "%100", "%101", "%102", JG_OUT_32(0), JG_OUT_32(32), JG_OUT_32(64));
        }
        // clang-format on
    }
};

template <class T, int kTransposeA, int kTransposeB>
struct Wgmma<T, 256, kTransposeA, kTransposeB> {
    static constexpr u64 kAStep = wgmma_descriptor_k_step<kTransposeA == 0>();
    static constexpr u64 kBStep = wgmma_descriptor_k_step<kTransposeB == 0>();

    static JG_DEVICE void issue(f32 (&d)[128], u64 a, u64 b, u32 accumulate)
    {
        // clang-format off
        if constexpr (IsSame<T, bf16>::value) {
            JG_WGMMA("256", "bf16", JG_REGS_0 ", " JG_REGS_1 ", " JG_REGS_2 ", " JG_REGS_3, "%128", "%129", "%130", "%131", "%132", "%133", "%134", JG_OUT_32(0), JG_OUT_32(32), JG_OUT_32(64), JG_OUT_32(96));
        } else {
            static_assert(IsSame<T, f16>::value, "wgmma inputs are bf16 or f16");
            JG_WGMMA("256", "f16", JG_REGS_0 ", " JG_REGS_1 ", " JG_REGS_2 ", " JG_REGS_3, "%128", "%129", "%130", "%131", "%132", "%133", "%134", JG_OUT_32(0), JG_OUT_32(32), JG_OUT_32(64), JG_OUT_32(96));
        }
        // clang-format on
    }
};

#undef JG_WGMMA
#undef JG_WGMMA_NEXT
#undef JG_WGMMA_K16
#undef JG_OUT_32
#undef JG_OUT_8
#undef JG_REGS_3
#undef JG_REGS_2
#undef JG_REGS_1
#undef JG_REGS_0

} // namespace jg::ptx
