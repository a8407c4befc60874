// SPDX-License-Identifier: MIT
// BlockScale: the f32 scales of blocks of an input, and where they lie in memory
// (docs/scales.md). Config::ABlockScale and BBlockScale are those of the product's A and B,
// or NoBlockScale. Both chips multiply by them block by block (tile/block_scales.cuh), the
// reference element by element.
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

// Does the kernel have any?
template <class Config>
constexpr JG_DEVICE bool has_block_scales()
{
    return !IsSame<typename Config::ABlockScale, NoBlockScale>::value ||
           !IsSame<typename Config::BBlockScale, NoBlockScale>::value;
}

} // namespace jg
