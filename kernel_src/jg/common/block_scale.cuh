// SPDX-License-Identifier: MIT
// BlockScale, MxScale, NvScale, PowerScale: the scales of blocks of an input, and where
// they lie in memory (docs/scales.md). Config::ABlockScale and BBlockScale are those of the
// product's A and B, or NoBlockScale. Sums of f32-scaled blocks are promoted block by block
// (tile/block_scales.cuh), by the others the tensor core multiplies itself
// (sm100a/scale_tiles.cuh); the reference multiplies element by element.
#pragma once
#include <jg/common/choices.cuh>
#include <jg/common/kernel_params.cuh>

namespace jg {

// A matrix that has none.
struct NoBlockScale {
    enum : u32 { kBlockMn = 0 };
};

// One f32 for kMn rows of A or columns of B, and kBlockK elements along K.
template <u32 kMn, ScaleLayout kLayout>
struct BlockScale {
    enum : u32 {
        kBlockMn = kMn,
        kBlockK = 128,
    };
    enum : bool { kRowsAreNeighbours = kLayout == ScaleLayout::kColumn };
    static_assert(kLayout != ScaleLayout::k128x4, "a layout of scales of one byte");

    // In a batch's scales; `row` and `k_block` count blocks.
    static JG_DEVICE const f32 *address(const f32 *base, i64 ld, u32 row, u32 k_block)
    {
        return kLayout == ScaleLayout::kRow ? base + ld * row + k_block
                                            : base + ld * k_block + row;
    }
    // Of element (mn, k), for the reference.
    static JG_DEVICE f32 value(const MatrixParam &param, u32 mn, u32 k, u32 batch)
    {
        return *address(param.base<const f32>(batch), param.ld, mn / kMn, k / kBlockK);
    }
};

// What the layout 128x4 is made of: the scales of 128 rows and of 4 blocks along K.
struct ScalePiece {
    enum : u32 {
        kRows = 128,
        kBlocks = 4,
        kBytes = kRows * kBlocks,
    };
};

// A scale of one byte for a row of A or column of B and so many elements along K, in the
// layout 128x4.
template <class T, u32 kElements>
struct PieceScale {
    using Type = T;
    enum : u32 {
        kBlockMn = 1,
        kBlockK = kElements,
    };

    // `ld`: bytes of 128 rows.
    static JG_DEVICE f32 value(const MatrixParam &param, u32 mn, u32 k, u32 batch)
    {
        const u32 block = k / kBlockK;
        return to_f32(*(param.base<const T>(batch) + param.ld * (mn / ScalePiece::kRows) +
                        block / ScalePiece::kBlocks * ScalePiece::kBytes + mn % 32 * 16 +
                        mn % ScalePiece::kRows / 32 * 4 + block % ScalePiece::kBlocks));
    }
};
using MxScale = PieceScale<ue8m0, 32>;
using NvScale = PieceScale<ue4m3, 16>;
// A power of two for four of the blocks that the tensor core knows.
using PowerScale = PieceScale<ue8m0, 128>;

// Does the tensor core multiply by scales?
template <class Config>
constexpr JG_DEVICE bool is_block_scaled()
{
    return IsSame<typename Config::ABlockScale, MxScale>::value ||
           IsSame<typename Config::ABlockScale, NvScale>::value ||
           IsSame<typename Config::ABlockScale, PowerScale>::value;
}

// ... by some of rows of the problem's A that an index names?
template <class Config>
constexpr JG_DEVICE bool gathers_block_scales()
{
    if constexpr (is_block_scaled<Config>()) {
        return Config::kIndexedA || Config::kIndexedB;
    } else {
        return false;
    }
}

// With groups along K, which begin anywhere, each group's scales begin at a block of their
// own, in pieces at a piece: at an element of K that lies where the first of group `group`
// would without groups, which begins at element `begin`.
template <class Config>
struct GroupScales {
    static constexpr JG_DEVICE u32 elements_of_step()
    {
        if constexpr (is_block_scaled<Config>()) {
            return ScalePiece::kBlocks * Config::ABlockScale::kBlockK;
        } else {
            return 128;
        }
    }
    enum : u32 { kStep = elements_of_step() };

    static JG_DEVICE u32 begin(u32 begin, u32 group)
    {
        return (begin / kStep + group) * kStep;
    }
};

// Are sums multiplied by scales when they leave the tensor core?
template <class Config>
constexpr JG_DEVICE bool promotes_block_scales()
{
    return !is_block_scaled<Config>() &&
           (!IsSame<typename Config::ABlockScale, NoBlockScale>::value ||
            !IsSame<typename Config::BBlockScale, NoBlockScale>::value);
}

// Has each math warpgroup every other block of K of a tile (config `k_turns=1`)? Only where
// sums are promoted so.
template <class Config>
constexpr JG_DEVICE bool takes_k_turns()
{
    if constexpr (promotes_block_scales<Config>()) {
        return Config::kKTurns;
    } else {
        return false;
    }
}

} // namespace jg
