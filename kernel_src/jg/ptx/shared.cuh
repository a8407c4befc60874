// SPDX-License-Identifier: MIT
// Matrix fragments and vectors of f32 to and from shared memory.
#pragma once
#include <jg/ptx/address.cuh>

namespace jg::ptx {

// Four 8x8 matrices of 16-bit elements; lane i gives the address of row i % 8 of matrix i
// / 8.
JG_DEVICE void stmatrix_x4(u32 address, u32 r0, u32 r1, u32 r2, u32 r3)
{
    // clang-format off
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 :: "r"(address), "r"(r0), "r"(r1), "r"(r2), "r"(r3) : "memory");
    // clang-format on
}

// The same, each matrix transposed: a register's two elements go to neighbouring rows.
JG_DEVICE void stmatrix_x4_transposed(u32 address, u32 r0, u32 r1, u32 r2, u32 r3)
{
    // clang-format off
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
                 :: "r"(address), "r"(r0), "r"(r1), "r"(r2), "r"(r3) : "memory");
    // clang-format on
}

// Four such matrices from shared memory: words[i] is this lane's pair of matrix i.
JG_DEVICE void ldmatrix_x4(u32 (&words)[4], u32 address)
{
    // clang-format off
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address) : "memory");
    // clang-format on
}

JG_DEVICE void store_shared(u32 address, f32 x)
{
    // clang-format off
    asm volatile("st.shared.f32 [%0], %1;" :: "r"(address), "f"(x) : "memory");
    // clang-format on
}

JG_DEVICE f32 load_shared(u32 address)
{
    f32 x;
    // clang-format off
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(address) : "memory");
    // clang-format on
    return x;
}

// kBytes bytes, 1, 2 or 4, above them zeros.
template <u32 kBytes>
JG_DEVICE u32 load_shared_bits(u32 address)
{
    u32 bits;
    // clang-format off
    if constexpr (kBytes == 1) {
        asm volatile("ld.shared.u8 %0, [%1];" : "=r"(bits) : "r"(address) : "memory");
    } else if constexpr (kBytes == 2) {
        asm volatile("ld.shared.u16 %0, [%1];" : "=r"(bits) : "r"(address) : "memory");
    } else {
        static_assert(kBytes == 4, "no such load");
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(bits) : "r"(address) : "memory");
    }
    // clang-format on
    return bits;
}

JG_DEVICE void store_shared_pair(u32 address, f32 x, f32 y)
{
    // clang-format off
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" :: "r"(address), "f"(x), "f"(y) : "memory");
    // clang-format on
}

// Two pairs, the second kOffset bytes behind the first.
template <u32 kOffset>
JG_DEVICE void store_shared_two_pairs(u32 address, f32 x, f32 y, f32 z, f32 w)
{
    // clang-format off
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};\n"
                 "st.shared.v2.f32 [%0+%5], {%3, %4};\n"
                 :: "r"(address), "f"(x), "f"(y), "f"(z), "f"(w), "n"(kOffset) : "memory");
    // clang-format on
}

JG_DEVICE void store_shared_4(u32 address, const u32 (&words)[4])
{
    // clang-format off
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};"
                 :: "r"(address), "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
                 : "memory");
    // clang-format on
}

// Raises a word by one, whatever other threads of the CTA do to it.
JG_DEVICE void count_shared(u32 *word)
{
    // clang-format off
    asm volatile("red.shared.add.u32 [%0], 1;" :: "r"(shared_address(word)) : "memory");
    // clang-format on
}

// Where CTA `rank` of the cluster has what this one has at `address`.
JG_DEVICE u32 address_in_cluster(u32 address, u32 rank)
{
    u32 mapped;
    // clang-format off
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
    // clang-format on
    return mapped;
}

// From an address of the cluster.
JG_DEVICE float4 load_cluster_4(u32 address)
{
    float4 v;
    // clang-format off
    asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(address) : "memory");
    // clang-format on
    return v;
}

// To an address of the cluster; counts 16 bytes there, at a barrier of the same CTA, when
// they are visible to who waits for them.
JG_DEVICE void store_async_4(u32 address, const float4 &v, u32 barrier)
{
    // clang-format off
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 "
                 "[%0], {%1, %2, %3, %4}, [%5];"
                 :: "r"(address), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w), "r"(barrier)
                 : "memory");
    // clang-format on
}

// Makes kBytes zero, 1 or 2, of a CTA's own memory, or of one of its cluster.
template <u32 kBytes, bool kInCluster>
JG_DEVICE void clear_shared(u32 address)
{
    static_assert(kBytes == 1 || kBytes == 2, "what is needed");
    // clang-format off
    if constexpr (kBytes == 1 && kInCluster) {
        asm volatile("st.shared::cluster.u8 [%0], %1;" :: "r"(address), "r"(0) : "memory");
    } else if constexpr (kBytes == 1) {
        asm volatile("st.shared.u8 [%0], %1;" :: "r"(address), "r"(0) : "memory");
    } else if constexpr (kInCluster) {
        asm volatile("st.shared::cluster.u16 [%0], %1;" :: "r"(address), "h"(u16(0)) : "memory");
    } else {
        asm volatile("st.shared.u16 [%0], %1;" :: "r"(address), "h"(u16(0)) : "memory");
    }
    // clang-format on
}

JG_DEVICE void load_shared_words(u32 *words, u32 address) // four
{
    // clang-format off
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address) : "memory");
    // clang-format on
}

JG_DEVICE float4 load_shared_4(u32 address)
{
    float4 v;
    // clang-format off
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(address) : "memory");
    // clang-format on
    return v;
}

} // namespace jg::ptx
