// SPDX-License-Identifier: MIT
// Rows of a store tile from shared to global memory by threads, for what TMA does not clip:
// it ends where a matrix does, and a group's rows end inside of it.
#pragma once
#include <jg/epilogue/fragment_store.cuh>
#include <jg/ptx/global.cuh>

namespace jg {

// The first `rows` rows of the store tile at shared address `tile` and `cols` columns of
// them, which end on 16 bytes, to `target` and the rows behind it. By `threads` threads,
// each with its number.
template <u32 kRowBytes, class T>
JG_DEVICE void store_rows(u32 tile, u32 thread, u32 threads, T *target, i64 ld, u32 rows,
                          u32 cols)
{
    constexpr u32 kChunks = kRowBytes / 16;
#pragma unroll 1
    for (u32 i = thread; i < rows * kChunks; i += threads) {
        const u32 row = i / kChunks, chunk = i % kChunks;
        const u32 col = chunk * (16 / sizeof(T));
        if (col < cols) {
            const u32 swizzled = chunk ^ store_tile_swizzle<kRowBytes>(row);
            const float4 v = ptx::load_shared_4(tile + row * kRowBytes + swizzled * 16);
            ptx::store_global_4(reinterpret_cast<u64>(target + row * ld + col), v.x, v.y,
                                v.z, v.w);
        }
    }
}

} // namespace jg
