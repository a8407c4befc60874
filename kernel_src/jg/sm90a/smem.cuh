// SPDX-License-Identifier: MIT
// Shared memory of the Hopper kernel. The host computes the same size
// (lib/plan/sm90a/limits.c); the kernel asserts that they agree.
#pragma once
#include <jg/pipeline/input_ring_buffer.cuh>

namespace jg::sm90a {

template <class Config>
struct alignas(1024) Smem {
    static constexpr u32 kRowBytes = 128; // of K, the span of the swizzle

    u8 a[Config::kStages][Config::kBlockM * kRowBytes];
    u8 b[Config::kStages][Config::kBlockN * kRowBytes];
    u8 out[2][Config::kOutStages][8192];
    RingBarriers<Config::kStages> ring;

    static constexpr u32 kStageBytes = (Config::kBlockM + Config::kBlockN) * kRowBytes;

    // Where a stage holds matrices of the epilogue instead: a box a warpgroup.
    static constexpr u32 kEpilogueLoadBytes = Config::kBlockN * kRowBytes;
    JG_DEVICE u8 *epilogue_load_boxes(u32 stage)
    {
        return b[stage];
    }
    JG_DEVICE const u8 *epilogue_load_boxes(u32 stage) const
    {
        return b[stage];
    }
};

} // namespace jg::sm90a
