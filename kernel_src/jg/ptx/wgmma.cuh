// SPDX-License-Identifier: MIT
// wgmma: one warpgroup multiplies 64 rows of 128 bytes of K by N columns from shared memory
// into registers, as four instructions of 32 bytes of K in one statement: that compiles
// much faster than four.
//
// Inputs of 16 bits may be MN-major, all others are K-major. Accumulators are f32, of s8
// s32; those of e4m3 and e5m2 keep 13 fraction bits (measured on an H200).
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

// Keeps ordinary code that reads or writes these registers on its side of this line: the
// compiler knows no order between it and the waits above.
template <u32 kCount>
JG_DEVICE void wgmma_hold_registers(f32 (&d)[kCount])
{
#pragma unroll
    for (u32 i = 0; i < kCount; ++i) {
        // clang-format off
        asm volatile("" : "+f"(d[i]) :: "memory");
        // clang-format on
    }
}
template <u32 kCount>
JG_DEVICE void wgmma_hold_registers(i32 (&d)[kCount])
{
#pragma unroll
    for (u32 i = 0; i < kCount; ++i) {
        // clang-format off
        asm volatile("" : "+r"(d[i]) :: "memory");
        // clang-format on
    }
}

// Shared-memory matrix descriptor, 128-byte swizzle (PTX ISA, "matrix descriptor", sm_90
// form): bits 0-13 address >> 4, 16-29 leading offset >> 4, 32-45 stride offset >> 4, 62-63
// swizzle 1.
//
// K-major: rows of 128 bytes; stride offset = 8 rows. The leading offset is not used.
// MN-major: panels of 64 elements by 64 K, one K per row of 128 bytes; stride offset = 8 K,
// leading offset = the next panel.
template <u64 kLeadingBytes, u64 kStrideBytes>
JG_DEVICE u64 wgmma_descriptor(const void *tile)
{
    constexpr u64 kSwizzle128 = 1;
    return static_cast<u64>((shared_address(tile) & 0x3ffff) >> 4) |
           (kLeadingBytes >> 4) << 16 | (kStrideBytes >> 4) << 32 | kSwizzle128 << 62;
}

// What to add to a descriptor for the next 32 bytes of K; MN-major: 16 elements of 16 bits.
template <bool kKMajor>
JG_DEVICE constexpr u64 wgmma_descriptor_k_step()
{
    return (kKMajor ? 32 : 16 * 128) >> 4;
}

// clang-format off
#define JG_REGS_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define JG_REGS_16 JG_REGS_8 ", " "%8, %9, %10, %11, %12, %13, %14, %15"
#define JG_REGS_24 JG_REGS_16 ", " "%16, %17, %18, %19, %20, %21, %22, %23"
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
#define JG_OUT_8(c, o) c(d[o]), c(d[o + 1]), c(d[o + 2]), c(d[o + 3]), \
    c(d[o + 4]), c(d[o + 5]), c(d[o + 6]), c(d[o + 7])
#define JG_OUT_32(c, o) JG_OUT_8(c, o), JG_OUT_8(c, o + 8), JG_OUT_8(c, o + 16), JG_OUT_8(c, o + 24)
#define JG_WGMMA_ONE(N, REGS, KIND, TAIL, P)                                                  \
    "wgmma.mma_async.sync.aligned.m64n" N KIND " {" REGS "}, a, b, " P TAIL ";\n"
#define JG_WGMMA_NEXT(AS, BS) "add.u64 a, a, " AS ";\nadd.u64 b, b, " BS ";\n"
#define JG_WGMMA_FOUR(N, REGS, A, B, P, KIND, TAIL, AS, BS, ...)                              \
    asm volatile("{\n"                                                                        \
                 ".reg .pred p, one;\n"                                                       \
                 ".reg .b64 a, b;\n"                                                          \
                 "setp.ne.b32 p, " P ", 0;\n"                                                 \
                 "setp.eq.b32 one, 0, 0;\n"                                                   \
                 "mov.b64 a, " A ";\n"                                                        \
                 "mov.b64 b, " B ";\n"                                                        \
                 JG_WGMMA_ONE(N, REGS, KIND, TAIL, "p")                                       \
                 JG_WGMMA_NEXT(AS, BS)                                                        \
                 JG_WGMMA_ONE(N, REGS, KIND, TAIL, "one")                                     \
                 JG_WGMMA_NEXT(AS, BS)                                                        \
                 JG_WGMMA_ONE(N, REGS, KIND, TAIL, "one")                                     \
                 JG_WGMMA_NEXT(AS, BS)                                                        \
                 JG_WGMMA_ONE(N, REGS, KIND, TAIL, "one")                                     \
                 "}\n" : __VA_ARGS__ : "l"(a), "l"(b), "r"(accumulate),                        \
                 "C"(Steps::Kind::kText), "C"(Steps::Tail::kText), "n"(kAStep), "n"(kBStep))
#define JG_F(x) "+f"(x)
#define JG_R(x) "+r"(x)
// OUT(c): the registers, each as constraint c.
#define JG_WGMMA(OUT, ...)                                                                    \
    if constexpr (IsSame<TypeA, s8>::value) {                                                 \
        JG_WGMMA_FOUR(__VA_ARGS__, OUT(JG_R));                                                \
    } else {                                                                                  \
        JG_WGMMA_FOUR(__VA_ARGS__, OUT(JG_F));                                                \
    }
#define JG_OUT_16N(c) JG_OUT_8(c, 0)
#define JG_OUT_32N(c) JG_OUT_8(c, 0), JG_OUT_8(c, 8)
#define JG_OUT_48N(c) JG_OUT_8(c, 0), JG_OUT_8(c, 8), JG_OUT_8(c, 16)
#define JG_OUT_64N(c) JG_OUT_32(c, 0)
#define JG_OUT_128N(c) JG_OUT_32(c, 0), JG_OUT_32(c, 32)
#define JG_OUT_192N(c) JG_OUT_32(c, 0), JG_OUT_32(c, 32), JG_OUT_32(c, 64)
#define JG_OUT_256N(c) JG_OUT_32(c, 0), JG_OUT_32(c, 32), JG_OUT_32(c, 64), JG_OUT_32(c, 96)
// clang-format on

// What the tensor core takes together, and its name in the instruction, behind N.
template <class TypeA, class TypeB>
struct WgmmaKind {
    static constexpr bool kTaken = false;
};
template <>
struct WgmmaKind<bf16, bf16> {
    static constexpr bool kTaken = true;
    static constexpr char kText[] = "k16.f32.bf16.bf16";
};
template <>
struct WgmmaKind<f16, f16> {
    static constexpr bool kTaken = true;
    static constexpr char kText[] = "k16.f32.f16.f16";
};
template <>
struct WgmmaKind<tf32, tf32> {
    static constexpr bool kTaken = true;
    static constexpr char kText[] = "k8.f32.tf32.tf32";
};
template <>
struct WgmmaKind<s8, s8> {
    static constexpr bool kTaken = true;
    static constexpr char kText[] = "k32.s32.s8.s8";
};
template <>
struct WgmmaKind<e4m3, e4m3> {
    static constexpr bool kTaken = true;
    static constexpr char kText[] = "k32.f32.e4m3.e4m3";
};
template <>
struct WgmmaKind<e4m3, e5m2> {
    static constexpr bool kTaken = true;
    static constexpr char kText[] = "k32.f32.e4m3.e5m2";
};
template <>
struct WgmmaKind<e5m2, e4m3> {
    static constexpr bool kTaken = true;
    static constexpr char kText[] = "k32.f32.e5m2.e4m3";
};
template <>
struct WgmmaKind<e5m2, e5m2> {
    static constexpr bool kTaken = true;
    static constexpr char kText[] = "k32.f32.e5m2.e5m2";
};

// Its last operands: negations of A and B (none), and which of them are MN-major. s8 has
// neither.
template <u32 kBits, bool kIntegers, bool kAKMajor, bool kBKMajor>
struct WgmmaTail {
    static constexpr char kText[] = ", 1, 1";
};
template <>
struct WgmmaTail<8, true, true, true> {
    static constexpr char kText[] = "";
};
template <bool kAKMajor, bool kBKMajor>
struct WgmmaTail<16, false, kAKMajor, kBKMajor> {
    static constexpr char kText[] = {',', ' ', '1',
                                     ',', ' ', '1',
                                     ',', ' ', kAKMajor ? '0' : '1',
                                     ',', ' ', kBKMajor ? '0' : '1',
                                     '\0'};
};

template <class TypeA, class TypeB, bool kAKMajor, bool kBKMajor>
struct WgmmaSteps {
    using Kind = WgmmaKind<TypeA, TypeB>;
    using Tail = WgmmaTail<8 * sizeof(TypeA), IsSame<TypeA, s8>::value, kAKMajor, kBKMajor>;
    static_assert(Kind::kTaken, "wgmma does not take A and B together");
    static_assert(sizeof(TypeA) == 2 || (kAKMajor && kBKMajor),
                  "wgmma takes inputs of other than 16 bits K-major only");
    static constexpr u64 kAStep = wgmma_descriptor_k_step<kAKMajor>();
    static constexpr u64 kBStep = wgmma_descriptor_k_step<kBKMajor>();
};

// d += A * B over one stage, or = where `accumulate` is 0. Accumulator: f32, or i32 for s8.
template <class TypeA, class TypeB, u32 kN, bool kAKMajor, bool kBKMajor>
struct Wgmma;

// clang-format off
// REGS registers of a thread, named by TEXT; then the names of what comes behind them.
#define JG_WGMMA_OF(COLUMNS, REGS, TEXT, ...)                                                 \
    template <class TypeA, class TypeB, bool kAKMajor, bool kBKMajor>                         \
    struct Wgmma<TypeA, TypeB, COLUMNS, kAKMajor, kBKMajor>                                   \
        : WgmmaSteps<TypeA, TypeB, kAKMajor, kBKMajor> {                                      \
        using Steps = WgmmaSteps<TypeA, TypeB, kAKMajor, kBKMajor>;                           \
        using Steps::kAStep, Steps::kBStep;                                                   \
                                                                                              \
        template <class Accumulator>                                                          \
        static JG_DEVICE void issue(Accumulator (&d)[REGS], u64 a, u64 b, u32 accumulate)     \
        {                                                                                     \
            JG_WGMMA(JG_OUT_##COLUMNS##N, #COLUMNS, TEXT, __VA_ARGS__)                        \
        }                                                                                     \
    };
JG_WGMMA_OF(16, 8, JG_REGS_8, "%8", "%9", "%10", "%11", "%12", "%13", "%14")
JG_WGMMA_OF(32, 16, JG_REGS_16, "%16", "%17", "%18", "%19", "%20", "%21", "%22")
JG_WGMMA_OF(48, 24, JG_REGS_24, "%24", "%25", "%26", "%27", "%28", "%29", "%30")
JG_WGMMA_OF(64, 32, JG_REGS_0, "%32", "%33", "%34", "%35", "%36", "%37", "%38")
JG_WGMMA_OF(128, 64, JG_REGS_0 ", " JG_REGS_1, "%64", "%65", "%66", "%67", "%68", "%69", "%70")
JG_WGMMA_OF(192, 96, JG_REGS_0 ", " JG_REGS_1 ", " JG_REGS_2, "%96", "%97", "%98", "%99", "%100", "%101", "%102")
JG_WGMMA_OF(256, 128, JG_REGS_0 ", " JG_REGS_1 ", " JG_REGS_2 ", " JG_REGS_3, "%128", "%129", "%130", "%131", "%132", "%133", "%134")
// clang-format on

#undef JG_WGMMA_OF
#undef JG_OUT_256N
#undef JG_OUT_192N
#undef JG_OUT_128N
#undef JG_OUT_64N
#undef JG_OUT_48N
#undef JG_OUT_32N
#undef JG_OUT_16N
#undef JG_WGMMA
#undef JG_R
#undef JG_F
#undef JG_WGMMA_FOUR
#undef JG_WGMMA_NEXT
#undef JG_WGMMA_ONE
#undef JG_OUT_32
#undef JG_OUT_8
#undef JG_REGS_3
#undef JG_REGS_2
#undef JG_REGS_1
#undef JG_REGS_0
#undef JG_REGS_24
#undef JG_REGS_16
#undef JG_REGS_8

} // namespace jg::ptx
