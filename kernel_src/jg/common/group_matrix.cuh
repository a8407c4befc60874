// SPDX-License-Identifier: MIT
// group_matrix: where A, B, C or D of a batch or group lies. With groups by pointers each
// group has matrices of its own: of such a parameter `pointer` is the address of an array
// of addresses, one per group, and `batch_stride` that of an array of leading dimensions,
// int64, or 0 where all have `ld`. Both are in device memory.
//
// Called by whoever reads or writes elements of them himself, when the grid before this one
// has written the arrays; once for a tile.
#pragma once
#include <jg/common/choices.cuh>
#include <jg/common/kernel_params.cuh>

namespace jg {

template <class Config>
constexpr bool kHasPointers = Config::kGroupBy == GroupBy::kPointers;

// Are there maps of each group, which the kernel before has written? Then the address of a
// matrix that TMA moves is that of its maps.
template <class Config>
constexpr JG_DEVICE bool has_group_maps()
{
    return kHasPointers<Config> && !Config::kThreadLoads;
}

// A parameter as it is, or one made of a group's pointer.
template <class Config>
using GroupMatrix =
    typename Select<kHasPointers<Config>, MatrixParam, const MatrixParam &>::Type;

// That of `group`; an array of no address has none, and nothing is read of it.
template <class Config>
JG_DEVICE GroupMatrix<Config> group_matrix(const MatrixParam &param, u32 group)
{
    if constexpr (kHasPointers<Config>) {
        MatrixParam own{};
        if (param.pointer != 0) {
            const u64 *pointers = reinterpret_cast<const u64 *>(param.pointer);
            const i64 *lds = reinterpret_cast<const i64 *>(param.batch_stride);
            own.pointer = pointers[group];
            own.ld = lds != nullptr ? lds[group] : param.ld;
        }
        return own;
    } else {
        return param;
    }
}

} // namespace jg
