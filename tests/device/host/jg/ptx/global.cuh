// SPDX-License-Identifier: MIT
// Host meaning of the wrappers of this name.
#pragma once
#include "tests/device/host/instructions.h"

#define load_pair_if        load_pair_if_by_ptx
#define load_packed_pair_if load_packed_pair_if_by_ptx
#define load_pair           load_pair_by_ptx
#define load_vector_if      load_vector_if_by_ptx
#define hold_address        hold_address_by_ptx
#define load_global_if      load_global_if_by_ptx
#define load_global_4       load_global_4_by_ptx
#define store_global_4      store_global_4_by_ptx
#define add_global_4        add_global_4_by_ptx
#define add_global_4_s32    add_global_4_s32_by_ptx
#define store_global_bits   store_global_bits_by_ptx
#define store_global_if     store_global_if_by_ptx
#define load_acquire        load_acquire_by_ptx
#define add_release         add_release_by_ptx
#include "kernel_src/jg/ptx/global.cuh"
#undef load_pair_if
#undef load_packed_pair_if
#undef load_pair
#undef load_vector_if
#undef hold_address
#undef load_global_if
#undef load_global_4
#undef store_global_4
#undef add_global_4
#undef add_global_4_s32
#undef store_global_bits
#undef store_global_if
#undef load_acquire
#undef add_release

namespace jg::ptx {

template <class T>
void load_pair(f32 &x, f32 &y, const T *source, u32 count)
{
    x = count > 0 ? to_f32(source[0]) : 0.0f;
    y = count > 1 ? to_f32(source[1]) : 0.0f;
}
template <class T>
void load_pair_if(f32 &x, f32 &y, const T *source, bool exists)
{
    load_pair(x, y, source, exists ? 2 : 0);
}
template <class T>
u32 load_packed_pair_if(const T *source, bool exists)
{
    u32 bits = 0;
    if (exists) {
        memcpy(&bits, source, 2 * sizeof(T));
    }
    return bits;
}
inline void load_vector_if(f32 (&values)[4], u64 address, bool exists)
{
    if (exists) {
        EXPECT(address % sizeof(values) == 0, "a load of 16 bytes");
        host::read_global(address, values, sizeof(values));
    }
}
inline void hold_address(u64 &) {}
template <u32 kBytes>
u32 load_global_if(u64 address, bool wanted)
{
    u32 bits = 0;
    if (wanted) {
        host::read_global(address, &bits, kBytes);
    }
    return bits;
}

inline void load_global_4(f32 *v, u64 address)
{
    host::read_global(address, v, 4 * sizeof(f32));
}
inline void store_global_4(u64 address, f32 x, f32 y, f32 z, f32 w)
{
    const f32 v[4] = {x, y, z, w};
    host::write_global(address, v, sizeof(v));
}
inline void add_global_4(u64 address, f32 x, f32 y, f32 z, f32 w)
{
    f32 v[4];
    load_global_4(v, address);
    store_global_4(address, v[0] + x, v[1] + y, v[2] + z, v[3] + w);
}
inline void add_global_4_s32(u64 address, f32 x, f32 y, f32 z, f32 w)
{
    const f32 added[4] = {x, y, z, w};
    for (u32 i = 0; i < 4; ++i) {
        i32 sum;
        host::read_global(address + 4 * i, &sum, sizeof(sum));
        sum += __float_as_int(added[i]);
        host::write_global(address + 4 * i, &sum, sizeof(sum));
    }
}
template <u32 kBytes>
void store_global_bits(u64 address, u64 bits)
{
    host::write_global(address, &bits, kBytes);
}

template <u32 kBytes>
void store_global_if(u64 address, u32 bits, bool wanted)
{
    if (wanted) {
        store_global_bits<kBytes>(address, bits);
    }
}

// Those who count have run before those who wait: a second look finds nothing new.
inline u32 load_acquire(u64 address)
{
    u32 value;
    host::read_global(address, &value, sizeof(value));
    return value;
}
inline void add_release(u64 address, u32 value)
{
    const u32 sum = load_acquire(address) + value;
    host::write_global(address, &sum, sizeof(sum));
}

} // namespace jg::ptx
