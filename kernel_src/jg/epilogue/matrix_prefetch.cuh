// SPDX-License-Identifier: MIT
// prefetch_rows: a matrix whose rows begin at any element, to the multiprocessor's own
// cache. Threads load it by elements, pass by pass: each would else wait for L2 in every
// one of them.
//
// Called by all lanes of a warp (VectorEpilogue); waits for nothing.
#pragma once
#include <jg/common/kernel_params.cuh>
#include <jg/common/math.cuh>
#include <jg/ptx/global.cuh>

namespace jg {

// kRows rows of kCols elements from `row` and `col` on, of which shape.m and shape.n exist:
// every line of 128 bytes that they lie in.
template <class T, u32 kRows, u32 kCols, class ShapeT>
JG_DEVICE void prefetch_rows(const MatrixParam &param, const ShapeT &shape, u32 row,
                             u32 col, u32 batch)
{
    constexpr u32 kLine = 128 / sizeof(T);
    constexpr u32 kLines = (kCols + kLine - 1) / kLine + 1; // that a row may lie in
#pragma unroll
    for (u32 i = 0; i < kRows * kLines; i += 32) {
        const u32 n = i + threadIdx.x % 32;
        const u32 ahead = min_u32(n % kLines * kLine, kCols - 1);
        const u32 own_row = row + n / kLines;
        if (n < kRows * kLines && own_row < shape.m && col < shape.n) {
            ptx::prefetch_global(
                param.element<const T>(own_row, min_u32(col + ahead, shape.n - 1), batch));
        }
    }
}

} // namespace jg
