// SPDX-License-Identifier: MIT
// ScaleTiles: the scales that belong to a stage of the input ring, where the tensor core
// multiplies by them. ScaleLoader: how they come. Units include this with
// scaled_mma_op.cuh.
//
// Scales lie in pieces of 128 rows by 4 blocks of K, 512 bytes that are a row of a tensor
// map (docs/scales.md, layout 128x4); its next dimensions are the pieces along K and those
// along M or N. A stage's K has the blocks of one piece of MXFP8, two of MXFP4 and four of
// NVFP4, which come as one copy with those of all rows that a tile touches. Where a scale
// is of 128 elements, a stage has one block of a piece, which comes for each of its four.
// Of a pair each CTA has those of its own rows of A and of all columns of B, because the
// tensor core of each multiplies all of these. A tile's first column may lie inside of a
// piece, at a multiple of 32. Pieces that the matrix lacks are zeros. Where a tile has both
// accumulators of a gated D, from two halves of a matrix, it has the pieces of each: a half
// begins with a piece. Of rows that an index names a warp gathers the scales
// (scale_gatherer.cuh). With groups along K each group's begin with a piece of their own;
// the last stage of one may bring pieces of the next, which are not multiplied.
//
// Called by: the load thread, for a stage that it has acquired; their bytes count at the
// stage's barrier, as its tiles' do.
#pragma once
#include <jg/common/block_scale.cuh>
#include <jg/common/cluster_shape.cuh>
#include <jg/common/math.cuh>
#include <jg/ptx/tma.cuh>
#include <jg/schedule/work_item.cuh>
#include <jg/sm100a/scale_stages.cuh>
#include <jg/tile/input_operand.cuh>

namespace jg::sm100a {

// Pieces that a tile of so many columns touches at most; it begins at a multiple of them.
constexpr JG_DEVICE u32 count_pieces(u32 columns)
{
    const u32 step = columns & (~columns + 1); // of where tiles begin in a piece
    const u32 last = step < ScalePiece::kRows ? ScalePiece::kRows - step : 0;
    return (last + columns + ScalePiece::kRows - 1) / ScalePiece::kRows;
}

template <class Config, bool>
struct alignas(128) ScaleTiles {
    enum : u32 { kBlocks = Config::kBlockK / Config::ABlockScale::kBlockK };
    enum : bool { kSharesPiece = kBlocks < ScalePiece::kBlocks }; // with other stages
    enum : u32 {
        kKPieces = kSharesPiece ? 1 : kBlocks / ScalePiece::kBlocks,
        kPieceK = ScalePiece::kBlocks * Config::ABlockScale::kBlockK,
    };
    enum : bool { kAlongK = Config::kGroupBy == GroupBy::kKOffsets };
    static_assert(!kAlongK || Config::kK == 0, "only the device has the K of a group");
    // Of an item's stage that begins at element `k`: where its scales would lie without
    // groups,
    static JG_DEVICE u32 place(const WorkItem &item, u32 k)
    {
        return kAlongK
                   ? GroupScales<Config>::begin(item.k_first, item.batch) + k - item.k_first
                   : k;
    }
    // its first block's place in the piece,
    static JG_DEVICE u32 first_block(const WorkItem &item, u32 k)
    {
        return kSharesPiece
                   ? place(item, k) / Config::ABlockScale::kBlockK % ScalePiece::kBlocks
                   : 0;
    }
    // and elements from there on to the end of the item's K, or of all `k_end`.
    static JG_DEVICE u32 left(const WorkItem &item, u32 k, u32 k_end)
    {
        const u32 end = kAlongK ? item.k_end : k_end;
        return k < end ? end - k : 0;
    }
    // Halves of A and of B, each with an accumulator and a multiplication.
    enum : u32 {
        kAHalves = InputA<Config>::kGateRows > 0 ? 2 : 1,
        kBHalves = InputB<Config>::kGateRows > 0 ? 2 : 1,
        kMmaColumns = Config::kBlockN / kBHalves,
        kBPieces = count_pieces(kMmaColumns), // of a half
        // Of 128 rows of A, then of columns of B.
        kBands = kAHalves + kBHalves * kBPieces,
        // That a warp gathers, because an index names their rows; others come by copies.
        kGatheredBands = Config::kIndexedA   ? kAHalves
                         : Config::kIndexedB ? kBHalves * kBPieces
                                             : 0,
        kBytes = kBands * kKPieces * ScalePiece::kBytes,
        kSentBytes = (kBands - kGatheredBands) * kKPieces * ScalePiece::kBytes,
    };
    static_assert(!(Config::kIndexedA && kAHalves > 1) &&
                      !(Config::kIndexedB && kBHalves > 1),
                  "rows of the problem's A");
    static_assert(Config::kBlockM == kAHalves * ScalePiece::kRows,
                  "rows of a multiplication are a piece");
    static_assert(kMmaColumns % 32 == 0 ||
                      (Config::kN != 0 && Config::kN <= Config::kBlockN),
                  "a column of tensor memory has 32 scales, with which a tile begins");

    u8 pieces[kBands][kKPieces][ScalePiece::kBytes];

    static constexpr JG_DEVICE u32 band_of_a(u32 half)
    {
        return half;
    }
    static constexpr JG_DEVICE u32 band_of_b(u32 half)
    {
        return kAHalves + half * kBPieces;
    }
};
// Those of all stages.
template <class Config, bool>
struct ScaleStages {
    ScaleTiles<Config> stage[Config::kStages];
};
template <class Config, class Cluster, bool>
class ScaleLoader {
    using Tiles = ScaleTiles<Config>;

  public:
    template <class Params, class ShapeT>
    JG_DEVICE ScaleLoader(const Params &params, const ShapeT &shape)
        : a_map_(&params.maps[kMapAScale]), b_map_(&params.maps[kMapBScale]),
          a_batch_step_(params.a_scale.batch_step),
          b_batch_step_(params.b_scale.batch_step), a_half_rows_(shape.m / 2),
          b_half_rows_(shape.n / 2), k_(shape.k), groups_(shape.batch)
    {
    }

    JG_DEVICE void prefetch_maps() const
    {
        if constexpr (!Config::kIndexedA) {
            ptx::prefetch_tensor_map(a_map_);
        }
        if constexpr (!Config::kIndexedB) {
            ptx::prefetch_tensor_map(b_map_);
        }
    }

    // Those of the block of K that begins at element `k`.
    JG_DEVICE void load(Tiles &tiles, u64 *full, const WorkItem &item, u32 k) const
    {
        const u32 k_piece = find_piece(item, k);
        const u32 a_shift = Config::kTransposed ? 0 : item.scale_shift;
        const u32 b_shift = Config::kTransposed ? item.scale_shift : 0;
        const u32 a_row = InputA<Config>::row_of_half(item.row + a_shift);
        const u32 b_row = InputB<Config>::row_of_half(item.col + b_shift);
#pragma unroll
        for (u32 half = 0; !Config::kIndexedA && half < Tiles::kAHalves; ++half) {
            copy(tiles.pieces[Tiles::band_of_a(half)], a_map_, full, k_piece,
                 a_row + half * a_half_rows_, map_batch<Config>(item, a_batch_step_));
        }
#pragma unroll
        for (u32 half = 0; !Config::kIndexedB && half < Tiles::kBHalves; ++half) {
            copy(tiles.pieces[Tiles::band_of_b(half)], b_map_, full, k_piece,
                 b_row + half * b_half_rows_, map_batch<Config>(item, b_batch_step_));
        }
    }

  private:
    // Of a block beyond the end of K, of which nothing is multiplied but zeros
    // (schedule/k_range.cuh), a piece beyond the end: the last one may hold anything there,
    // and so may those of other groups, where one has no K.
    JG_DEVICE u32 find_piece(const WorkItem &item, u32 k) const
    {
        if constexpr (Tiles::kAlongK) {
            return k < item.k_end ? Tiles::place(item, k) / Tiles::kPieceK
                                  : k_ / Tiles::kPieceK + groups_;
        }
        const bool is_beyond = Tiles::kSharesPiece && Config::kK == 0 && k >= k_;
        return is_beyond ? ceil_div(k, Tiles::kPieceK) : k / Tiles::kPieceK;
    }
    static JG_DEVICE void copy(void *pieces, const TensorMap *map, u64 *full, u32 k_piece,
                               u32 row, u32 batch)
    {
        const i32 x = static_cast<i32>(k_piece);
        const i32 y = static_cast<i32>(row / ScalePiece::kRows);
        const i32 z = static_cast<i32>(batch);
        if constexpr (Cluster::kCtaGroup == 2) {
            ptx::tma_load_pair(pieces, map, full, 0, x, y, z);
        } else {
            ptx::tma_load(pieces, map, full, 0, x, y, z);
        }
    }

    const TensorMap *a_map_;
    const TensorMap *b_map_;
    u32 a_batch_step_, b_batch_step_;
    u32 a_half_rows_, b_half_rows_; // from acc0 to acc1, where they are halves
    u32 k_, groups_;
};

} // namespace jg::sm100a
