// SPDX-License-Identifier: MIT
// RestRows: makes rows of D that belong to no group 0, where a problem asks for it. The
// list of work has them in tiles of their own, which have no K (schedule/group_rows.cuh);
// no other role does anything for such an item, and the snippet is not applied. Where D's
// scales are computed, those of its rows' blocks become what a block of zeros has; in bands
// of groups (128x4) such rows have none.
//
// Called by all kThreads threads of a CTA that write D, each with its number. Waits for
// nothing and signals nobody: no two items have a row of D in common.
#pragma once
#include <jg/common/choices.cuh>
#include <jg/common/kernel_params.cuh>
#include <jg/common/math.cuh>
#include <jg/common/work_tile.cuh>
#include <jg/ptx/global.cuh>

namespace jg {

template <class T, class D>
struct ScaleValue; // output_scale.cuh

template <class Config, class Partition, u32 kThreads>
class RestRows {
    using D = typename Config::D;
    using Scale = typename Config::DScale;
    enum : u32 {
        kElementBytes = kBits<D> < 8 ? 1 : kBits<D> / 8, // the least that is stored
        kRowBytes = Partition::kTileCols * kBits<D> / 8, // of the tile
    };

    // Bytes of a store: so many as D is aligned to, and as divide a row of the tile.
    static constexpr JG_DEVICE u32 count_bytes()
    {
        u32 bytes = Config::kOutputAlignment > kElementBytes ? Config::kOutputAlignment
                                                             : kElementBytes;
        while (kRowBytes % bytes != 0) {
            bytes /= 2;
        }
        return bytes;
    }
    enum : u32 {
        kBytes = count_bytes(),
        kElements = kBytes * 8 / kBits<D>,
        kAcross = kRowBytes / kBytes, // stores of a row
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
        if constexpr (Scale::kBlock > 0) {
            if constexpr (Config::kGroupBy != GroupBy::kOffsets || !Scale::kInPieces) {
                clear_scales(params, shape, tile, rows, cols, thread);
            }
        }
    }

  private:
    template <class Params, class ShapeT>
    static JG_DEVICE void clear_scales(const Params &params, const ShapeT &shape,
                                       const WorkTile &tile, u32 rows, u32 cols, u32 thread)
    {
        static_assert(Scale::kBlockRows == 1 && Partition::kTileCols % Scale::kBlock == 0,
                      "tiles have whole blocks of a row each");
        constexpr u32 kBlocks = Partition::kTileCols / Scale::kBlock;
        const ScaleValue<typename Scale::Type, D> scale(0.0f);
#pragma unroll 1
        for (u32 i = thread; i < rows * kBlocks; i += kThreads) {
            const u32 col = i % kBlocks * Scale::kBlock;
            Scale::store_if(params.d_scale, shape, tile.row + i / kBlocks, tile.col + col,
                            tile.batch, scale.stored, col < cols);
        }
    }

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
        for (u32 i = 0; i < count * kBits<D> / 8; i += kElementBytes) {
            ptx::store_global_bits<kElementBytes>(address + i, 0);
        }
    }
};

} // namespace jg
