// SPDX-License-Identifier: MIT
// Global memory: predicated loads of two neighbouring elements; loads and stores of any
// width; vectors and locks that the CTAs of a grid share.
#pragma once
#include <jg/ptx/address.cuh>
#include <jg/ptx/convert.cuh>

namespace jg::ptx {

// Brings what lies there to the multiprocessor's own cache.
JG_DEVICE void prefetch_global(const void *source)
{
    // clang-format off
    asm volatile("prefetch.global.L1 [%0];" :: "l"(source) : "memory");
    // clang-format on
}

// Two neighbouring elements (the pair is aligned to its own size), only the first, or
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
    } else if constexpr (sizeof(T) == 1) {
        u16 bits;
        // clang-format off
        asm volatile("{\n"
                     ".reg .pred two, one;\n"
                     "setp.eq.u32 two, %2, 2;\n"
                     "setp.eq.u32 one, %2, 1;\n"
                     "mov.b16 %0, 0;\n"
                     "@two ld.global.b16 %0, [%1];\n"
                     "@one ld.global.u8 %0, [%1];\n"
                     "}\n" : "=h"(bits) : "l"(source), "r"(count) : "memory");
        // clang-format on
        x = Convert<T>::low(bits);
        y = Convert<T>::high(bits);
    } else {
        u32 bits;
        // clang-format off
        asm volatile("{\n"
                     ".reg .pred two, one;\n"
                     ".reg .b16 half;\n"
                     "setp.eq.u32 two, %2, 2;\n"
                     "setp.eq.u32 one, %2, 1;\n"
                     "mov.b32 %0, 0;\n"
                     "mov.b16 half, 0;\n" // or its old value is kept where nothing is read
                     "@two ld.global.b32 %0, [%1];\n"
                     "@one ld.global.b16 half, [%1];\n"
                     "@one cvt.u32.u16 %0, half;\n"
                     "}\n" : "=r"(bits) : "l"(source), "r"(count) : "memory");
        // clang-format on
        x = Convert<T>::low(bits);
        y = Convert<T>::high(bits);
    }
}

// Both of them or none, as they are in memory: at most 16 bits each.
template <class T>
JG_DEVICE u32 load_packed_pair_if(const T *source, bool exists)
{
    u32 bits;
    if constexpr (sizeof(T) == 1) {
        u16 both;
        // clang-format off
        asm volatile("{\n"
                     ".reg .pred both;\n"
                     "setp.ne.u32 both, %2, 0;\n"
                     "mov.b16 %0, 0;\n"
                     "@both ld.global.b16 %0, [%1];\n"
                     "}\n" : "=h"(both) : "l"(source), "r"(u32(exists)) : "memory");
        // clang-format on
        bits = both;
    } else {
        // clang-format off
        asm volatile("{\n"
                     ".reg .pred both;\n"
                     "setp.ne.u32 both, %2, 0;\n"
                     "mov.b32 %0, 0;\n"
                     "@both ld.global.b32 %0, [%1];\n"
                     "}\n" : "=r"(bits) : "l"(source), "r"(u32(exists)) : "memory");
        // clang-format on
    }
    return bits;
}

// Both of them or none.
template <class T>
JG_DEVICE void load_pair_if(f32 &x, f32 &y, const T *source, bool exists)
{
    if constexpr (sizeof(T) == 4) {
        // clang-format off
        asm volatile("{\n"
                     ".reg .pred both;\n"
                     "setp.ne.u32 both, %3, 0;\n"
                     "mov.b32 %0, 0;\n"
                     "mov.b32 %1, 0;\n"
                     "@both ld.global.v2.f32 {%0, %1}, [%2];\n"
                     "}\n" : "=f"(x), "=f"(y) : "l"(source), "r"(u32(exists)) : "memory");
        // clang-format on
    } else {
        const u32 bits = load_packed_pair_if(source, exists);
        x = Convert<T>::low(bits);
        y = Convert<T>::high(bits);
    }
}

// kBytes bytes of a device address that is a multiple of kBytes: 1, 2, 4 or 8.
template <u32 kBytes>
JG_DEVICE u64 load_global_bits(u64 address)
{
    u64 bits;
    // clang-format off
    if constexpr (kBytes == 1) {
        asm volatile("ld.global.u8 %0, [%1];" : "=l"(bits) : "l"(address) : "memory");
    } else if constexpr (kBytes == 2) {
        asm volatile("ld.global.u16 %0, [%1];" : "=l"(bits) : "l"(address) : "memory");
    } else if constexpr (kBytes == 4) {
        asm volatile("ld.global.u32 %0, [%1];" : "=l"(bits) : "l"(address) : "memory");
    } else {
        static_assert(kBytes == 8, "no such load");
        asm volatile("ld.global.u64 %0, [%1];" : "=l"(bits) : "l"(address) : "memory");
    }
    // clang-format on
    return bits;
}

// 16 bytes of a device address that is a multiple of 16, or what the values were.
JG_DEVICE void load_vector_if(f32 (&values)[4], u64 address, bool exists)
{
    // clang-format off
    asm volatile("{\n"
                 ".reg .pred all;\n"
                 "setp.ne.u32 all, %5, 0;\n"
                 "@all ld.global.v4.f32 {%0, %1, %2, %3}, [%4];\n"
                 "}\n" : "+f"(values[0]), "+f"(values[1]), "+f"(values[2]), "+f"(values[3])
                 : "l"(address), "r"(u32(exists)) : "memory");
    // clang-format on
}

// Keeps an address in one register: the compiler would else rewrite what is added to it,
// and carry a sum for each of several loads behind it.
JG_DEVICE void hold_address(u64 &address)
{
    // clang-format off
    asm volatile("" : "+l"(address));
    // clang-format on
}

// kBytes bytes of a device address that is a multiple of kBytes, 1, 2 or 4; 0 where they
// are not wanted, and then nothing is read. Predicated, not branched around.
template <u32 kBytes>
JG_DEVICE u32 load_global_if(u64 address, bool wanted)
{
    u32 bits;
    // clang-format off
    if constexpr (kBytes == 1) {
        asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\nmov.b32 %0, 0;\n"
                     "@p ld.global.u8 %0, [%1];\n}\n"
                     : "=r"(bits) : "l"(address), "r"(static_cast<u32>(wanted)) : "memory");
    } else if constexpr (kBytes == 2) {
        asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\nmov.b32 %0, 0;\n"
                     "@p ld.global.u16 %0, [%1];\n}\n"
                     : "=r"(bits) : "l"(address), "r"(static_cast<u32>(wanted)) : "memory");
    } else {
        static_assert(kBytes == 4, "no such load");
        asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\nmov.b32 %0, 0;\n"
                     "@p ld.global.u32 %0, [%1];\n}\n"
                     : "=r"(bits) : "l"(address), "r"(static_cast<u32>(wanted)) : "memory");
    }
    // clang-format on
    return bits;
}

// Four f32 at a device address that is a multiple of 16.
JG_DEVICE void load_global_4(f32 *v, u64 address)
{
    // clang-format off
    asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3]) : "l"(address) : "memory");
    // clang-format on
}

// One, two or four, of an address that is a multiple of as many bytes.
template <u32 kCount>
JG_DEVICE void load_global_some(f32 (&v)[kCount], u64 address)
{
    // clang-format off
    if constexpr (kCount == 1) {
        asm volatile("ld.global.f32 %0, [%1];" : "=f"(v[0]) : "l"(address) : "memory");
    } else if constexpr (kCount == 2) {
        asm volatile("ld.global.v2.f32 {%0, %1}, [%2];"
                     : "=f"(v[0]), "=f"(v[1]) : "l"(address) : "memory");
    } else {
        static_assert(kCount == 4, "no such load");
        load_global_4(v, address);
    }
    // clang-format on
}

JG_DEVICE void store_global_4(u64 address, f32 x, f32 y, f32 z, f32 w)
{
    // clang-format off
    asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};"
                 :: "l"(address), "f"(x), "f"(y), "f"(z), "f"(w) : "memory");
    // clang-format on
}

// Each of the four by itself; the order among several who add is open.
JG_DEVICE void add_global_4(u64 address, f32 x, f32 y, f32 z, f32 w)
{
    // clang-format off
    asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};"
                 :: "l"(address), "f"(x), "f"(y), "f"(z), "f"(w) : "memory");
    // clang-format on
}

// The same for sums of s32, whose bits come in registers of f32: there is no vector of
// them.
JG_DEVICE void add_global_4_s32(u64 address, f32 x, f32 y, f32 z, f32 w)
{
    // clang-format off
    asm volatile("red.relaxed.gpu.global.add.s32 [%0], %1;\n"
                 "red.relaxed.gpu.global.add.s32 [%0+4], %2;\n"
                 "red.relaxed.gpu.global.add.s32 [%0+8], %3;\n"
                 "red.relaxed.gpu.global.add.s32 [%0+12], %4;\n"
                 :: "l"(address), "r"(__float_as_int(x)), "r"(__float_as_int(y)),
                    "r"(__float_as_int(z)), "r"(__float_as_int(w)) : "memory");
    // clang-format on
}

// The lowest kBytes bytes of `bits`, likewise.
template <u32 kBytes>
JG_DEVICE void store_global_bits(u64 address, u64 bits)
{
    const u32 low = static_cast<u32>(bits);
    // clang-format off
    if constexpr (kBytes == 1) {
        asm volatile("st.global.u8 [%0], %1;" :: "l"(address), "r"(low) : "memory");
    } else if constexpr (kBytes == 2) {
        asm volatile("st.global.u16 [%0], %1;" :: "l"(address), "r"(low) : "memory");
    } else if constexpr (kBytes == 4) {
        asm volatile("st.global.u32 [%0], %1;" :: "l"(address), "r"(low) : "memory");
    } else {
        static_assert(kBytes == 8, "no such store");
        asm volatile("st.global.u64 [%0], %1;" :: "l"(address), "l"(bits) : "memory");
    }
    // clang-format on
}

// The lowest kBytes bytes, 1 or 4, of `bits`, if they are wanted. Predicated, not branched
// around.
template <u32 kBytes>
JG_DEVICE void store_global_if(u64 address, u32 bits, bool wanted)
{
    // clang-format off
    if constexpr (kBytes == 1) {
        asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\n@p st.global.u8 [%0], %1;\n}\n"
                     :: "l"(address), "r"(bits), "r"(static_cast<u32>(wanted)) : "memory");
    } else {
        static_assert(kBytes == 4, "no such store");
        asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\n@p st.global.u32 [%0], %1;\n}\n"
                     :: "l"(address), "r"(bits), "r"(static_cast<u32>(wanted)) : "memory");
    }
    // clang-format on
}

// Neighbouring bytes into words that were cleared, kBytes at a time (1, 2, 4, 8 or 16), of
// which the address is a multiple: the first `bytes`, at most kMost.
template <u32 kBytes, u32 kMost, u32 kWords>
JG_DEVICE void load_global_words(u32 (&words)[kWords], u64 address, u32 bytes)
{
    static_assert(kMost <= 4 * kWords, "no room");
#pragma unroll
    for (u32 at = 0; at < kMost; at += kBytes) {
        if (at < bytes) {
            if constexpr (kBytes == 16) {
                f32 v[4];
                load_global_4(v, address + at);
#pragma unroll
                for (u32 i = 0; i < 4; ++i) {
                    words[at / 4 + i] = __float_as_uint(v[i]);
                }
            } else {
                const u64 bits = load_global_bits<kBytes>(address + at);
                words[at / 4] |= static_cast<u32>(bits) << (at % 4 * 8);
                if constexpr (kBytes == 8) {
                    words[at / 4 + 1] = static_cast<u32>(bits >> 32);
                }
            }
        }
    }
}

// The other way.
template <u32 kBytes, u32 kMost, u32 kWords>
JG_DEVICE void store_global_words(const u32 (&words)[kWords], u64 address, u32 bytes)
{
    static_assert(kMost <= 4 * kWords, "no more words");
#pragma unroll
    for (u32 at = 0; at < kMost; at += kBytes) {
        if (at < bytes) {
            const u32 first = at / 4;
            if constexpr (kBytes == 16) {
                store_global_4(address + at, __uint_as_float(words[first]),
                               __uint_as_float(words[first + 1]),
                               __uint_as_float(words[first + 2]),
                               __uint_as_float(words[first + 3]));
            } else if constexpr (kBytes == 8) {
                store_global_bits<8>(
                    address + at, static_cast<u64>(words[first + 1]) << 32 | words[first]);
            } else {
                store_global_bits<kBytes>(address + at, words[first] >> (at % 4 * 8));
            }
        }
    }
}

// A counter that CTAs of the grid hand memory on with: what precedes add_release, of this
// thread and of those that met it at a barrier, is seen after a load_acquire of the sum.
JG_DEVICE u32 load_acquire(u64 address)
{
    u32 value;
    // clang-format off
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
    // clang-format on
    return value;
}

JG_DEVICE void add_release(u64 address, u32 value)
{
    // clang-format off
    asm volatile("red.release.gpu.global.add.u32 [%0], %1;" :: "l"(address), "r"(value) : "memory");
    // clang-format on
}

// Both at once: what the others who added had before they did is seen after it. What was
// there before.
JG_DEVICE u32 add_acquire_release(u64 address, u32 value)
{
    u32 before;
    // clang-format off
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"
                 : "=r"(before) : "l"(address), "r"(value) : "memory");
    // clang-format on
    return before;
}

// The same of counters of 64 bits.
JG_DEVICE u64 load_acquire_wide(u64 address)
{
    u64 value;
    // clang-format off
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
    // clang-format on
    return value;
}

JG_DEVICE u64 add_acquire_release_wide(u64 address, u64 value)
{
    u64 before;
    // clang-format off
    asm volatile("atom.acq_rel.gpu.global.add.u64 %0, [%1], %2;"
                 : "=l"(before) : "l"(address), "l"(value) : "memory");
    // clang-format on
    return before;
}

} // namespace jg::ptx
