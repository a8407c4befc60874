// SPDX-License-Identifier: MIT
// Folding what a reduction has of several lanes, and of several tiles: partial results in
// the workspace, which other CTAs stored.
//
// Called by all lanes of a warp that have or share results, together; of the workspace by
// the team that knows itself to be the last (reducing_team.cuh). Waits for nothing.
#pragma once
#include <jg/ptx/address.cuh>
#include <jg/ptx/global.cuh>

namespace jg {

// Of the lanes whose numbers differ in the bits from kFirst up to, not with, kEnd; all of
// them get it.
template <class Op, u32 kFirst, u32 kEnd>
JG_DEVICE f32 fold_lanes(f32 value)
{
#pragma unroll
    for (u32 bit = kFirst; bit < kEnd; bit *= 2) {
        value = Op::fold(value, ptx::exchange_lanes(value, bit));
    }
    return value;
}

// The folds of vectors of four partial results: of every kStep-th of `count`, from `i` on,
// `stride` bytes apart. kAtOnce loads are on their way at once: behind the last tile the
// launch waits for nothing else. They are predicated: branches around them made ptxas take
// the lanes of a warp for apart elsewhere, too, and spill.
template <class Op, u32 kStep, u32 kAtOnce>
JG_DEVICE void fold_vectors(u64 at, u32 i, u32 count, u64 stride, f32 (&values)[4])
{
#pragma unroll
    for (u32 j = 0; j < 4; ++j) {
        values[j] = Op::nothing();
    }
    at += i * stride;
#pragma unroll 1
    for (; i < count; i += kAtOnce * kStep) {
        f32 x[kAtOnce][4];
#pragma unroll
        for (u32 n = 0; n < kAtOnce; ++n) {
#pragma unroll
            for (u32 j = 0; j < 4; ++j) {
                x[n][j] = Op::nothing();
            }
            ptx::load_vector_if(x[n], at, i + n * kStep < count);
            at += kStep * stride;
        }
#pragma unroll
        for (u32 n = 0; n < kAtOnce; ++n) {
#pragma unroll
            for (u32 j = 0; j < 4; ++j) {
                values[j] = Op::fold(values[j], x[n][j]);
            }
        }
    }
}

} // namespace jg
