// SPDX-License-Identifier: MIT
// FragmentStore: a warp's accumulator fragments to its part of a store tile of D in shared
// memory.
//
// A store tile has rows of kSwizzleBytes whose 16-byte chunks are permuted as TMA
// unpacks them: by the bits of the address above the lowest 7. Called by whole warps, for
// FragmentEpilogue. Waits for nothing and signals nobody: that is TmaStore's. An s32 comes
// and goes as an f32, which has its bits (DElement).
#pragma once
#include <jg/epilogue/fragment_values.cuh>
#include <jg/ptx/shared.cuh>

namespace jg {

// What the permutation adds to a chunk's number in this row.
template <u32 kSwizzleBytes>
JG_DEVICE u32 store_tile_swizzle(u32 row)
{
    return row / (128 / kSwizzleBytes) % (kSwizzleBytes / 16);
}

// Lanes are rows of D. 16-bit types by one stmatrix for two groups (16 columns).
template <class T, u32 kSwizzleBytes, bool kTransposed>
class FragmentStore {
    u32 address_; // of this lane's row, for stmatrix
    u32 chunk_;   // 0 or 1: second group of the pair
    u32 swizzle_;

  public:
    // `first`: the warp's first row in its store tile.
    JG_DEVICE explicit FragmentStore(u32 first)
    {
        const u32 lane = threadIdx.x % 32;
        const u32 row = first + lane % 16;
        address_ = row * kSwizzleBytes;
        chunk_ = lane / 16;
        swizzle_ = store_tile_swizzle<kSwizzleBytes>(row);
    }
    // values[group][half][element] of groups 2 * pair and 2 * pair + 1.
    JG_DEVICE void store(u32 tile, u32 fragment, u32 pair, const f32 (&v)[2][2][2]) const
    {
        store(tile, fragment, pair, FragmentWords<T>{v});
    }
    template <class Words>
    JG_DEVICE void store(u32 tile, u32 fragment, u32 pair, const Words &words) const
    {
        // 16 rows on, the permutation is the same.
        const u32 chunk = (2 * pair + chunk_) ^ swizzle_;
        ptx::stmatrix_x4(tile + fragment * (16 * kSwizzleBytes) + address_ + chunk * 16,
                         words.word(0), words.word(1), words.word(2), words.word(3));
    }
};

template <u32 kSwizzleBytes>
class FragmentStore<f32, kSwizzleBytes, false> {
    u32 row_, column_bytes_;

  public:
    JG_DEVICE explicit FragmentStore(u32 first)
    {
        const u32 lane = threadIdx.x % 32;
        row_ = first + lane / 4;
        column_bytes_ = lane % 4 * 8;
    }
    JG_DEVICE void store(u32 tile, u32 fragment, u32 pair, const f32 (&v)[2][2][2]) const
    {
#pragma unroll
        for (u32 group = 0; group < 2; ++group) {
            const u32 bytes = (2 * pair + group) * 32 + column_bytes_;
            const u32 swizzled = bytes ^ (store_tile_swizzle<kSwizzleBytes>(row_) * 16);
#pragma unroll
            for (u32 half = 0; half < 2; ++half) { // 8 rows on, the swizzle is the same
                ptx::store_shared_pair(tile + fragment * (16 * kSwizzleBytes) +
                                           (row_ + 8 * half) * kSwizzleBytes + swizzled,
                                       v[group][half][0], v[group][half][1]);
            }
        }
    }
};

// Lanes are columns of D, rows have 128 bytes. One stmatrix transposes four 8x8 matrices:
// two groups (16 rows) of 16 columns.
template <class T, u32 kSwizzleBytes>
class FragmentStore<T, kSwizzleBytes, true> {
    static_assert(kSwizzleBytes == 128, "rows of 128 bytes");

    u32 row_; // of this lane, for stmatrix, in the 16 rows of a pair
    u32 chunk_;

  public:
    // `first`: the warp's first column in its store tile.
    JG_DEVICE explicit FragmentStore(u32 first)
    {
        const u32 lane = threadIdx.x % 32;
        row_ = lane / 16 * 8 + lane % 8;
        chunk_ = first / 8 + lane / 8 % 2;
    }
    JG_DEVICE void store(u32 tile, u32 fragment, u32 pair, const f32 (&v)[2][2][2]) const
    {
        store(tile, fragment, pair, FragmentWords<T>{v});
    }
    template <class Words>
    JG_DEVICE void store(u32 tile, u32 fragment, u32 pair, const Words &words) const
    {
        const u32 chunk = (2 * fragment + chunk_) ^ store_tile_swizzle<128>(row_);
        ptx::stmatrix_x4_transposed(tile + (16 * pair + row_) * 128 + chunk * 16,
                                    words.word(0), words.word(1), words.word(2),
                                    words.word(3));
    }
};

template <u32 kSwizzleBytes>
class FragmentStore<f32, kSwizzleBytes, true> {
    static_assert(kSwizzleBytes == 128, "rows of 128 bytes");

    u32 row_, column_bytes_;

  public:
    JG_DEVICE explicit FragmentStore(u32 first)
    {
        const u32 lane = threadIdx.x % 32;
        row_ = lane % 4 * 2;
        column_bytes_ = (first + lane / 4) * 4;
    }
    JG_DEVICE void store(u32 tile, u32 fragment, u32 pair, const f32 (&v)[2][2][2]) const
    {
#pragma unroll
        for (u32 i = 0; i < 8; ++i) {
            const u32 group = i / 4, half = i / 2 % 2, element = i % 2;
            const u32 bytes = column_bytes_ + (16 * fragment + 8 * half) * 4;
            const u32 row = row_ + element; // 8 rows on, the swizzle is the same
            ptx::store_shared(tile + ((2 * pair + group) * 8 + row) * 128 +
                                  (bytes ^ (store_tile_swizzle<128>(row) * 16)),
                              v[group][half][element]);
        }
    }
};

} // namespace jg
