// SPDX-License-Identifier: MIT
// Who does what: four warps write, one loads tiles, one multiplies; where C or matrix
// operands are to be brought, one more loads those; where tiles are asked for, one more
// does that.
//
// The writing warps come first: a warp reaches the quarter of tensor memory that its number
// modulo 4 names.
#pragma once
#include <jg/ptx/address.cuh>

namespace jg::sm100a {

template <bool kWithMatrices, bool kWithScheduler>
struct Roles {
    static constexpr u32 kEpilogueWarps = 4;
    static constexpr u32 kLoadWarp = 4;
    static constexpr u32 kMmaWarp = 5;
    static constexpr u32 kMatrixWarp = 6;
    static constexpr u32 kSchedulerWarp = kMatrixWarp + kWithMatrices;
    static constexpr u32 kThreads = 32 * (kSchedulerWarp + kWithScheduler);

    u32 warp = ptx::warp_index();

    JG_DEVICE bool is_load_warp() const
    {
        return warp == kLoadWarp;
    }
    JG_DEVICE bool is_mma_warp() const
    {
        return warp == kMmaWarp;
    }
    JG_DEVICE bool is_matrix_warp() const
    {
        return kWithMatrices && warp == kMatrixWarp;
    }
    JG_DEVICE bool is_scheduler_warp() const
    {
        return kWithScheduler && warp == kSchedulerWarp;
    }
};

} // namespace jg::sm100a
