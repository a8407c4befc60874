// SPDX-License-Identifier: MIT
// RestRows: makes rows of D that belong to no group 0, where a problem asks for it. The
// list of work has them in tiles of their own, which have no K (schedule/group_rows.cuh);
// no other role does anything for such an item, and the snippet is not applied.
//
// Called by all kThreads threads of a CTA that write D, each with its number. Waits for
// nothing and signals nobody: no two items have a row of D in common.
#pragma once
#include <jg/common/kernel_params.cuh>
#include <jg/common/math.cuh>
#include <jg/common/work_tile.cuh>
#include <jg/ptx/global.cuh>

namespace jg {

template <class Config, class Partition, u32 kThreads>
class RestRows {
    using D = typename Config::D;
    static_assert(kBits<D> >= 8, "a D of less has scales, and the plan refuses it");

    // Bytes of a store: so many as D is aligned to, and as divide a row of the tile.
    static constexpr JG_DEVICE u32 count_bytes()
    {
        u32 bytes =
            Config::kOutputAlignment > sizeof(D) ? Config::kOutputAlignment : sizeof(D);
        while (Partition::kTileCols * sizeof(D) % bytes != 0) {
            bytes /= 2;
        }
        return bytes;
    }
    enum : u32 {
        kBytes = count_bytes(),
        kElements = kBytes / sizeof(D),
        kAcross = Partition::kTileCols / kElements, // stores of a row
    };

  public:
    // The tile, of a D whose rows end where those of no group do.
    template <class Params, class ShapeT>
    static JG_DEVICE void clear(const Params &params, const ShapeT &shape,
                                const WorkTile &tile, u32 thread)
    {
        const u32 rows = min_u32(Partition::kTileRows, left(tile.row, shape.m));
        const u32 cols = min_u32(Partition::kTileCols, left(tile.col, shape.n));
#pragma unroll 1
        for (u32 i = thread; i < rows * kAcross; i += kThreads) {
            const u32 col = i % kAcross * kElements;
            store(reinterpret_cast<u64>(params.d.template element<D>(
                      tile.row + i / kAcross, tile.col + col, tile.batch)),
                  left(col, cols));
        }
    }

  private:
    static JG_DEVICE u32 left(u32 at, u32 end)
    {
        return at < end ? end - at : 0;
    }

    // Zeros, of which `count` elements exist.
    static JG_DEVICE void store(u64 address, u32 count)
    {
        if (count >= kElements) {
            constexpr u32 kWords = kBytes > 4 ? kBytes / 4 : 1;
            const u32 zeros[kWords] = {};
            ptx::store_global_words<kBytes, kBytes>(zeros, address, kBytes);
            return;
        }
#pragma unroll 1
        for (u32 i = 0; i < count; ++i) {
            ptx::store_global_bits<sizeof(D)>(address + i * sizeof(D), 0);
        }
    }
};

} // namespace jg
