// SPDX-License-Identifier: MIT
// BlockScale, MxScale: the scales of blocks of an input, and where they lie in memory
// (docs/scales.md). Config::ABlockScale and BBlockScale are those of the product's A and B,
// or NoBlockScale. Sums of f32-scaled blocks are promoted block by block
// (tile/block_scales.cuh), those of MX the tensor core multiplies itself
// (sm100a/scale_tiles.cuh); the reference multiplies element by element.
#pragma once
#include <jg/common/choices.cuh>
#include <jg/common/kernel_params.cuh>

namespace jg {

// A matrix that has none.
struct NoBlockScale {
    static constexpr u32 kBlockMn = 0;
};

// One f32 for kMn rows of A or columns of B, and kBlockK elements along K.
template <u32 kMn, ScaleLayout kLayout>
struct BlockScale {
    static constexpr u32 kBlockMn = kMn;
    static constexpr u32 kBlockK = 128;
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

// One ue8m0 for a row of A or column of B and 32 elements along K, in the layout 128x4.
struct MxScale {
    static constexpr u32 kBlockMn = 1;
    static constexpr u32 kBlockK = 32;
    static constexpr u32 kPieceRows = 128;
    static constexpr u32 kPieceBlocks = 4;
    static constexpr u32 kPieceBytes = kPieceRows * kPieceBlocks;

    // `ld`: bytes of 128 rows.
    static JG_DEVICE f32 value(const MatrixParam &param, u32 mn, u32 k, u32 batch)
    {
        const u32 block = k / kBlockK;
        const u8 byte = *(param.base<const u8>(batch) + param.ld * (mn / kPieceRows) +
                          block / kPieceBlocks * kPieceBytes + mn % 32 * 16 +
                          mn % kPieceRows / 32 * 4 + block % kPieceBlocks);
        const u32 bits = byte == 0 ? 0x00400000u : byte == 255 ? 0x7fffffffu : byte << 23;
        return __uint_as_float(bits);
    }
};

// Does the tensor core multiply by scales?
template <class Config>
constexpr JG_DEVICE bool is_block_scaled()
{
    return IsSame<typename Config::ABlockScale, MxScale>::value;
}

// Are sums multiplied by scales when they leave the tensor core?
template <class Config>
constexpr JG_DEVICE bool promotes_block_scales()
{
    return !is_block_scaled<Config>() &&
           (!IsSame<typename Config::ABlockScale, NoBlockScale>::value ||
            !IsSame<typename Config::BBlockScale, NoBlockScale>::value);
}

} // namespace jg
