// SPDX-License-Identifier: MIT
// RowIndices: where a CTA keeps which rows of A an item has, while TMA copies them: those
// of its slice of the tile (row_loader.cuh).
#pragma once
#include <jg/common/cluster_shape.cuh>
#include <jg/tile/input_operand.cuh>

namespace jg {

// Rows of the tile that each CTA of the cluster loads of the operand whose rows an index
// names.
template <class Config>
constexpr JG_DEVICE u32 indexed_slice_rows()
{
    return Config::kIndexedA
               ? InputA<Config>::kLoadedRows / Config::kClusterN
               : InputB<Config>::kLoadedRows / (Config::kClusterM / Config::kCtaGroup);
}

template <class Config, bool kCopies = (Config::kCopiedRows > 0)>
struct RowIndices {
};
template <class Config>
struct alignas(16) RowIndices<Config, true> { // four are read at once
    enum : u32 { kRows = indexed_slice_rows<Config>() };
    u32 rows[kRows];
};

} // namespace jg
