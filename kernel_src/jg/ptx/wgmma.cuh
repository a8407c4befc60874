// SPDX-License-Identifier: MIT
// wgmma: one warpgroup multiplies 64 rows of 128 bytes of K by N columns from shared memory
// into registers, as four instructions of 32 bytes of K in one statement: that compiles
// much faster than four.
//
// The accumulators are registers of PTX, declared by name, and no variables of C++ before
// they are taken: 128 variables that a loop carries made the compiler take a sixth longer
// for the whole kernel. So nothing can read them before the wait that the taking is behind.
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

// The same of its lower half, which has the address and the leading offset: those of tiles
// at one distance are at that distance, in 16 bytes.
template <u64 kStrideBytes>
JG_DEVICE u64 wgmma_descriptor_of(u32 lower_half)
{
    constexpr u64 kSwizzle128 = 1;
    return static_cast<u64>(lower_half) | (kStrideBytes >> 4) << 32 | kSwizzle128 << 62;
}

// What to add to a descriptor for the next 32 bytes of K; MN-major: 16 elements of 16 bits.
template <bool kKMajor>
JG_DEVICE constexpr u64 wgmma_descriptor_k_step()
{
    return (kKMajor ? 32 : 16 * 128) >> 4;
}

// clang-format off
// The numbers of a multiplication's registers from 1 on.
#define JG_EACH_8(X, w) X(1, w) X(2, w) X(3, w) X(4, w) X(5, w) X(6, w) X(7, w)
#define JG_EACH_16(X, w) JG_EACH_8(X, w) \
    X(8, w) X(9, w) X(10, w) X(11, w) X(12, w) X(13, w) X(14, w) X(15, w)
#define JG_EACH_24(X, w) JG_EACH_16(X, w) \
    X(16, w) X(17, w) X(18, w) X(19, w) X(20, w) X(21, w) X(22, w) X(23, w)
#define JG_EACH_32(X, w) JG_EACH_24(X, w) \
    X(24, w) X(25, w) X(26, w) X(27, w) X(28, w) X(29, w) X(30, w) X(31, w)
#define JG_EACH_40(X, w) JG_EACH_32(X, w) \
    X(32, w) X(33, w) X(34, w) X(35, w) X(36, w) X(37, w) X(38, w) X(39, w)
#define JG_EACH_48(X, w) JG_EACH_40(X, w) \
    X(40, w) X(41, w) X(42, w) X(43, w) X(44, w) X(45, w) X(46, w) X(47, w)
#define JG_EACH_56(X, w) JG_EACH_48(X, w) \
    X(48, w) X(49, w) X(50, w) X(51, w) X(52, w) X(53, w) X(54, w) X(55, w)
#define JG_EACH_64(X, w) JG_EACH_56(X, w) \
    X(56, w) X(57, w) X(58, w) X(59, w) X(60, w) X(61, w) X(62, w) X(63, w)
#define JG_EACH_72(X, w) JG_EACH_64(X, w) \
    X(64, w) X(65, w) X(66, w) X(67, w) X(68, w) X(69, w) X(70, w) X(71, w)
#define JG_EACH_80(X, w) JG_EACH_72(X, w) \
    X(72, w) X(73, w) X(74, w) X(75, w) X(76, w) X(77, w) X(78, w) X(79, w)
#define JG_EACH_88(X, w) JG_EACH_80(X, w) \
    X(80, w) X(81, w) X(82, w) X(83, w) X(84, w) X(85, w) X(86, w) X(87, w)
#define JG_EACH_96(X, w) JG_EACH_88(X, w) \
    X(88, w) X(89, w) X(90, w) X(91, w) X(92, w) X(93, w) X(94, w) X(95, w)
#define JG_EACH_104(X, w) JG_EACH_96(X, w) \
    X(96, w) X(97, w) X(98, w) X(99, w) X(100, w) X(101, w) X(102, w) X(103, w)
#define JG_EACH_112(X, w) JG_EACH_104(X, w) \
    X(104, w) X(105, w) X(106, w) X(107, w) X(108, w) X(109, w) X(110, w) X(111, w)
#define JG_EACH_128(X, w) JG_EACH_112(X, w) \
    X(112, w) X(113, w) X(114, w) X(115, w) X(116, w) X(117, w) X(118, w) X(119, w) \
    X(120, w) X(121, w) X(122, w) X(123, w) X(124, w) X(125, w) X(126, w) X(127, w)
#define JG_NAME(i, w) ", jg_acc%3_" #i
#define JG_MOVE(i, w) "mov.b32 %" #i ", jg_acc" w "_" #i ";\n"
#define JG_ZERO(i, w) "mov.b32 jg_acc%0_" #i ", 0;\n"
#define JG_FLOAT(i, w) , "=f"(d[i])
#define JG_INTEGER(i, w) , "=r"(d[i])
#define JG_ONE(N, NAMES, P)                                                                   \
    "wgmma.mma_async.sync.aligned.m64n" N "%4 {" NAMES "}, a, b, " P "%5;\n"
#define JG_NEXT "add.u64 a, a, %6;\nadd.u64 b, b, %7;\n"
#define JG_FOUR(N, NAMES)                                                                     \
    asm volatile("{\n"                                                                        \
                 ".reg .pred p, one;\n"                                                       \
                 ".reg .b64 a, b;\n"                                                          \
                 "setp.ne.b32 p, %2, 0;\n"                                                    \
                 "setp.eq.b32 one, 0, 0;\n"                                                   \
                 "mov.b64 a, %0;\n"                                                           \
                 "mov.b64 b, %1;\n"                                                           \
                 JG_ONE(N, NAMES, "p") JG_NEXT JG_ONE(N, NAMES, "one") JG_NEXT                \
                 JG_ONE(N, NAMES, "one") JG_NEXT JG_ONE(N, NAMES, "one")                      \
                 "}\n" :: "l"(a), "l"(b), "r"(accumulate), "n"(kWhich),                       \
                 "C"(Steps::Kind::kText), "C"(Steps::Tail::kText), "n"(u64{Steps::kAStep}),   \
                 "n"(u64{Steps::kBStep}))
#define JG_TAKE(EACH, W)                                                                      \
    if constexpr (IsSame<Accumulator, i32>::value) {                                          \
        asm volatile(JG_MOVE(0, W) EACH(JG_MOVE, W) : "=r"(d[0]) EACH(JG_INTEGER, W) : "n"(kWhich)); \
    } else {                                                                                  \
        asm volatile(JG_MOVE(0, W) EACH(JG_MOVE, W) : "=f"(d[0]) EACH(JG_FLOAT, W) : "n"(kWhich));   \
    }
// clang-format on

// What the tensor core takes together, and its name in the instruction, behind N. A text
// has to be a variable of the kernel: as a template's member only the one that is named is.
template <class TypeA, class TypeB, bool kAny = true>
struct WgmmaKind {
    enum : bool { kTaken = false };
};
template <bool kAny>
struct WgmmaKind<bf16, bf16, kAny> {
    enum : bool { kTaken = true };
    static constexpr char kText[] = "k16.f32.bf16.bf16";
};
template <bool kAny>
struct WgmmaKind<f16, f16, kAny> {
    enum : bool { kTaken = true };
    static constexpr char kText[] = "k16.f32.f16.f16";
};
template <bool kAny>
struct WgmmaKind<tf32, tf32, kAny> {
    enum : bool { kTaken = true };
    static constexpr char kText[] = "k8.f32.tf32.tf32";
};
template <bool kAny>
struct WgmmaKind<s8, s8, kAny> {
    enum : bool { kTaken = true };
    static constexpr char kText[] = "k32.s32.s8.s8";
};
template <bool kAny>
struct WgmmaKind<e4m3, e4m3, kAny> {
    enum : bool { kTaken = true };
    static constexpr char kText[] = "k32.f32.e4m3.e4m3";
};
template <bool kAny>
struct WgmmaKind<e4m3, e5m2, kAny> {
    enum : bool { kTaken = true };
    static constexpr char kText[] = "k32.f32.e4m3.e5m2";
};
template <bool kAny>
struct WgmmaKind<e5m2, e4m3, kAny> {
    enum : bool { kTaken = true };
    static constexpr char kText[] = "k32.f32.e5m2.e4m3";
};
template <bool kAny>
struct WgmmaKind<e5m2, e5m2, kAny> {
    enum : bool { kTaken = true };
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
    enum : u64 {
        kAStep = wgmma_descriptor_k_step<kAKMajor>(),
        kBStep = wgmma_descriptor_k_step<kBKMajor>(),
    };
};

// Multiplication number kWhich of the kernel, with registers of its own:
//   declare  makes them: once, at the kernel's beginning
//   issue    adds A * B over one stage to them, or sets them where `accumulate` is 0
//   clear    sets them to 0
//   take     gives what they hold, behind the wait for it. Accumulator: f32, or i32 for s8
template <class TypeA, class TypeB, u32 kN, bool kAKMajor, bool kBKMajor>
struct Wgmma;

// Of a tile's columns a warpgroup multiplies all or a half: the compiler takes a
// millisecond to read a specialisation. A unit that does not say how many they are has all.
#ifdef JG_TILE_COLUMNS
#    define JG_HAS_COLUMNS(n) (JG_TILE_COLUMNS == (n) || JG_TILE_COLUMNS == 2 * (n))
#else
#    define JG_HAS_COLUMNS(n) 1
#endif

// clang-format off
#define JG_WGMMA(COLUMNS, COUNT, W)                                                           \
    template <class TypeA, class TypeB, bool kAKMajor, bool kBKMajor>                         \
    struct Wgmma<TypeA, TypeB, COLUMNS, kAKMajor, kBKMajor> {                                 \
        using Steps = WgmmaSteps<TypeA, TypeB, kAKMajor, kBKMajor>;                           \
                                                                                              \
        template <u32 kWhich>                                                                 \
        static JG_DEVICE void declare()                                                       \
        {                                                                                     \
            asm volatile(".reg .b32 jg_acc%0_<" #COUNT ">;" :: "n"(kWhich)); \
        }                                                                                     \
        template <u32 kWhich>                                                                 \
        static JG_DEVICE void issue(u64 a, u64 b, u32 accumulate)                             \
        {                                                                                     \
            JG_FOUR(#COLUMNS, "jg_acc%3_0" JG_EACH_##COUNT(JG_NAME, ""));                     \
        }                                                                                     \
        template <u32 kWhich>                                                                 \
        static JG_DEVICE void clear()                                                         \
        {                                                                                     \
            asm volatile(JG_ZERO(0, "") JG_EACH_##COUNT(JG_ZERO, "") :: "n"(kWhich));         \
        }                                                                                     \
        template <u32 kWhich, class Accumulator>                                              \
        static JG_DEVICE void take(Accumulator (&d)[COUNT])                                   \
        {                                                                                     \
            JG_TAKE(JG_EACH_##COUNT, W)                                                       \
        }                                                                                     \
    };
#if JG_HAS_COLUMNS(16)
JG_WGMMA(16, 8, "%8")
#endif
#if JG_HAS_COLUMNS(32)
JG_WGMMA(32, 16, "%16")
#endif
#if JG_HAS_COLUMNS(48)
JG_WGMMA(48, 24, "%24")
#endif
#if JG_HAS_COLUMNS(64)
JG_WGMMA(64, 32, "%32")
#endif
#if JG_HAS_COLUMNS(80)
JG_WGMMA(80, 40, "%40")
#endif
#if JG_HAS_COLUMNS(96)
JG_WGMMA(96, 48, "%48")
#endif
#if JG_HAS_COLUMNS(112)
JG_WGMMA(112, 56, "%56")
#endif
#if JG_HAS_COLUMNS(128)
JG_WGMMA(128, 64, "%64")
#endif
#if JG_HAS_COLUMNS(144)
JG_WGMMA(144, 72, "%72")
#endif
#if JG_HAS_COLUMNS(160)
JG_WGMMA(160, 80, "%80")
#endif
#if JG_HAS_COLUMNS(176)
JG_WGMMA(176, 88, "%88")
#endif
#if JG_HAS_COLUMNS(192)
JG_WGMMA(192, 96, "%96")
#endif
#if JG_HAS_COLUMNS(208)
JG_WGMMA(208, 104, "%104")
#endif
#if JG_HAS_COLUMNS(224)
JG_WGMMA(224, 112, "%112")
#endif
#if JG_HAS_COLUMNS(256)
JG_WGMMA(256, 128, "%128")
#endif
// clang-format on

#undef JG_WGMMA
#undef JG_HAS_COLUMNS
#undef JG_TAKE
#undef JG_FOUR
#undef JG_NEXT
#undef JG_ONE
#undef JG_INTEGER
#undef JG_FLOAT
#undef JG_ZERO
#undef JG_MOVE
#undef JG_NAME
#undef JG_EACH_128
#undef JG_EACH_112
#undef JG_EACH_104
#undef JG_EACH_96
#undef JG_EACH_88
#undef JG_EACH_80
#undef JG_EACH_72
#undef JG_EACH_64
#undef JG_EACH_56
#undef JG_EACH_48
#undef JG_EACH_40
#undef JG_EACH_32
#undef JG_EACH_24
#undef JG_EACH_16
#undef JG_EACH_8

} // namespace jg::ptx
