// SPDX-License-Identifier: MIT
// Who does what: four warps write, or eight, one loads tiles, one multiplies; where C or
// matrix operands are to be brought, one more loads those; where tiles are asked for, one
// more does that; where sums are multiplied by scales of blocks, one more brings those;
// where tiles are loaded by threads, three more help the one that loads.
//
// The writing warps come first: a warp reaches the quarter of tensor memory that its number
// modulo 4 names.
#pragma once
#include <jg/ptx/address.cuh>

namespace jg::sm100a {

template <u32 kWritingWarps, bool kWithEpilogueLoads, bool kWithScheduler, bool kWithScales,
          bool kThreadLoads>
struct Roles {
    enum : u32 {
        kEpilogueWarps = kWritingWarps,
        kLoadWarp = kEpilogueWarps,
        kMmaWarp,
        kEpilogueLoadWarp,
        kSchedulerWarp = kEpilogueLoadWarp + kWithEpilogueLoads,
        kScaleWarp = kSchedulerWarp + kWithScheduler,
        kHelpingWarp = kScaleWarp + kWithScales,
        kLoadWarps = kThreadLoads ? 4 : 1,
        kThreads = 32 * (kHelpingWarp + kLoadWarps - 1),
    };

    u32 warp = ptx::warp_index();

    JG_DEVICE bool is_epilogue_warp() const
    {
        return warp < kEpilogueWarps;
    }
    JG_DEVICE bool is_load_warp() const
    {
        return warp == kLoadWarp;
    }
    JG_DEVICE bool helps_load() const
    {
        return kThreadLoads && warp >= kHelpingWarp;
    }
    JG_DEVICE bool loads() const
    {
        return is_load_warp() || helps_load();
    }
    // Of the threads that load, the helping ones too.
    JG_DEVICE u32 load_thread() const
    {
        return (helps_load() ? warp - kHelpingWarp + 1 : 0) * 32 + threadIdx.x % 32;
    }
    JG_DEVICE bool is_mma_warp() const
    {
        return warp == kMmaWarp;
    }
    JG_DEVICE bool is_epilogue_load_warp() const
    {
        return kWithEpilogueLoads && warp == kEpilogueLoadWarp;
    }
    JG_DEVICE bool is_scale_warp() const
    {
        return kWithScales && warp == kScaleWarp;
    }
    JG_DEVICE bool is_scheduler_warp() const
    {
        return kWithScheduler && warp == kSchedulerWarp;
    }
};

} // namespace jg::sm100a
