// SPDX-License-Identifier: MIT
// Rows of a store tile from shared to global memory by threads, for what TMA does not clip:
// it ends where a matrix does, and a group's rows end inside of it; or, of a CTA's only
// tile, by each warp what it has written.
#pragma once
#include <jg/common/kernel_params.cuh>
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

// The kRows rows of a store tile of 16-bit elements that a warp has written, from row
// `first` of it on, to matrix `to`, where the tile begins at `row` and `col`. By all lanes
// of the warp, in lines of 128 bytes where rows have as many.
template <class Config, u32 kRows, class ShapeT>
JG_DEVICE void store_rows_of_warp(u32 tile, u32 first, const MatrixParam &to,
                                  const ShapeT &shape, u32 row, u32 col, u32 batch)
{
    using D = typename Config::D;
    constexpr u32 kRowBytes = Config::kStoreTileSwizzleBytes, kChunks = kRowBytes / 16;
    constexpr u32 kPassRows = 32 / kChunks, kPasses = kRows / kPassRows;
    static_assert(sizeof(D) == 2, "a chunk has 8 elements");
    const u32 lane = threadIdx.x % 32, chunk = lane % kChunks;
    const u32 own = first + lane / kChunks;
    const bool has_columns = Config::kWholeCols || col + chunk * 8 < shape.n;
    D *const target = to.template element<D>(row + own, col + chunk * 8, batch);
    float4 chunks[kPasses];
    __syncwarp();
#pragma unroll
    for (u32 i = 0; i < kPasses; ++i) { // all of them before one is waited for
        const u32 at = own + i * kPassRows;
        const u32 swizzled = chunk ^ store_tile_swizzle<kRowBytes>(at);
        chunks[i] = ptx::load_shared_4(tile + at * kRowBytes + swizzled * 16);
    }
#pragma unroll
    for (u32 i = 0; i < kPasses; ++i) {
        const u32 below = i * kPassRows;
        if (has_columns && (Config::kWholeRows || row + own + below < shape.m)) {
            ptx::store_global_4(reinterpret_cast<u64>(target + below * to.ld), chunks[i].x,
                                chunks[i].y, chunks[i].z, chunks[i].w);
        }
    }
}

} // namespace jg
