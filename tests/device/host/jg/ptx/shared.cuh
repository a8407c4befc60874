// SPDX-License-Identifier: MIT
// Host meaning of the wrappers of this name.
#pragma once
#include "tests/device/host/instructions.h"

#define stmatrix_x4            stmatrix_x4_by_ptx
#define stmatrix_x4_transposed stmatrix_x4_transposed_by_ptx
#define store_shared           store_shared_by_ptx
#define store_shared_pair      store_shared_pair_by_ptx
#define store_shared_two_pairs store_shared_two_pairs_by_ptx
#define store_shared_4         store_shared_4_by_ptx
#define load_shared_4          load_shared_4_by_ptx
#include "kernel_src/jg/ptx/shared.cuh"
#undef stmatrix_x4
#undef stmatrix_x4_transposed
#undef store_shared
#undef store_shared_pair
#undef store_shared_two_pairs
#undef store_shared_4
#undef load_shared_4

namespace jg::ptx {

inline void stmatrix_x4(u32 address, u32 r0, u32 r1, u32 r2, u32 r3)
{
    host::add_matrix_store(address, {r0, r1, r2, r3}, false);
}
inline void stmatrix_x4_transposed(u32 address, u32 r0, u32 r1, u32 r2, u32 r3)
{
    host::add_matrix_store(address, {r0, r1, r2, r3}, true);
}

template <u32 kCount>
void store_shared_words(u32 address, const f32 (&values)[kCount])
{
    host::note_access(address, sizeof(values));
    host::write_shared(address, values, sizeof(values));
}
inline void store_shared(u32 address, f32 x)
{
    store_shared_words<1>(address, {x});
}
inline void store_shared_pair(u32 address, f32 x, f32 y)
{
    store_shared_words<2>(address, {x, y});
}
template <u32 kOffset>
void store_shared_two_pairs(u32 address, f32 x, f32 y, f32 z, f32 w)
{
    store_shared_pair(address, x, y);
    store_shared_pair(address + kOffset, z, w);
}

inline void store_shared_4(u32 address, const u32 (&words)[4])
{
    host::note_access(address, sizeof(words));
    host::write_shared(address, words, sizeof(words));
}

inline float4 load_shared_4(u32 address)
{
    float4 v;
    host::note_access(address, sizeof(v));
    host::read_shared(address, &v, sizeof(v));
    return v;
}

} // namespace jg::ptx
