// SPDX-License-Identifier: MIT
// ScaleTiles: the scales that belong to a stage of the input ring, where the tensor core
// multiplies by them. ScaleLoader: how they come.
//
// Scales lie in pieces of 128 rows by 4 blocks of K, 512 bytes that are a row of a tensor
// map (docs/scales.md, layout 128x4). A stage's K has the blocks of one piece of MXFP8, two
// of MXFP4 and four of NVFP4. Of a pair each CTA has those of its own rows of A and of all
// columns of B, because the tensor core of each multiplies all of these. A tile's first
// column may lie inside of a piece, at a multiple of 32. Pieces that the matrix lacks are
// zeros.
//
// Called by: the load thread, for a stage that it has acquired; their bytes count at the
// stage's barrier, as its tiles' do.
#pragma once
#include <jg/common/block_scale.cuh>
#include <jg/common/cluster_shape.cuh>
#include <jg/ptx/tma.cuh>
#include <jg/schedule/work_item.cuh>

namespace jg::sm100a {

// Pieces that a tile of so many columns touches at most; it begins at a multiple of them.
constexpr JG_DEVICE u32 count_pieces(u32 columns)
{
    const u32 step = columns & (~columns + 1); // of where tiles begin in a piece
    const u32 last = step < ScalePiece::kRows ? ScalePiece::kRows - step : 0;
    return (last + columns + ScalePiece::kRows - 1) / ScalePiece::kRows;
}

template <class Config, bool = is_block_scaled<Config>()>
struct alignas(128) ScaleTiles {
    static constexpr u32 kKPieces =
        Config::kBlockK / Config::ABlockScale::kBlockK / ScalePiece::kBlocks;
    static constexpr u32 kBPieces = count_pieces(Config::kBlockN);
    static constexpr u32 kBytes = kKPieces * (1 + kBPieces) * ScalePiece::kBytes;
    static_assert(Config::kBlockM == ScalePiece::kRows, "rows of a CTA are a piece");
    static_assert(Config::kBlockN % 32 == 0 ||
                      (Config::kN != 0 && Config::kN <= Config::kBlockN),
                  "a column of tensor memory has 32 scales, with which a tile begins");

    u8 a[kKPieces][ScalePiece::kBytes];
    u8 b[kKPieces][kBPieces][ScalePiece::kBytes];
};
template <class Config>
struct ScaleTiles<Config, false> {
    static constexpr u32 kBytes = 0;
};

// Those of all stages.
template <class Config, bool = is_block_scaled<Config>()>
struct ScaleStages {
    ScaleTiles<Config> stage[Config::kStages];
};
template <class Config>
struct ScaleStages<Config, false> {
};

template <class Config, class Cluster>
class ScaleLoader {
    using Tiles = ScaleTiles<Config>;

  public:
    template <class Params>
    JG_DEVICE explicit ScaleLoader(const Params &params)
        : a_map_(&params.maps[kMapAScale]), b_map_(&params.maps[kMapBScale]),
          a_batch_step_(params.a_scale.batch_step), b_batch_step_(params.b_scale.batch_step)
    {
    }

    JG_DEVICE void prefetch_maps() const
    {
        ptx::prefetch_tensor_map(a_map_);
        ptx::prefetch_tensor_map(b_map_);
    }

    // Those of the block of K that begins at element `k`.
    JG_DEVICE void load(Tiles &tiles, u64 *full, const WorkItem &item, u32 k) const
    {
        const u32 first = k / Config::kBlockK * Tiles::kKPieces;
#pragma unroll
        for (u32 j = 0; j < Tiles::kKPieces; ++j) {
            copy(tiles.a[j], a_map_, full, item.row, first + j,
                 map_batch<Config>(item, a_batch_step_));
#pragma unroll
            for (u32 i = 0; i < Tiles::kBPieces; ++i) {
                copy(tiles.b[j][i], b_map_, full, item.col + i * ScalePiece::kRows,
                     first + j, map_batch<Config>(item, b_batch_step_));
            }
        }
    }

  private:
    // Elements of the map are words of four scales.
    static constexpr u32 kPieceWords = ScalePiece::kBytes / 4;

    static JG_DEVICE void copy(u8 *piece, const TensorMap *map, u64 *full, u32 row,
                               u32 k_piece, u32 batch)
    {
        const i32 x = static_cast<i32>(k_piece * kPieceWords);
        const i32 y = static_cast<i32>(row / ScalePiece::kRows);
        const i32 z = static_cast<i32>(batch);
        if constexpr (Cluster::kCtaGroup == 2) {
            ptx::tma_load_pair(piece, map, full, x, y, z);
        } else {
            ptx::tma_load(piece, map, full, x, y, z);
        }
    }

    const TensorMap *a_map_;
    const TensorMap *b_map_;
    u32 a_batch_step_, b_batch_step_;
};

} // namespace jg::sm100a
