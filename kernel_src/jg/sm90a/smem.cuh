// SPDX-License-Identifier: MIT
// Shared memory of the Hopper kernel. The host computes what it takes
// (lib/plan/sm90a/limits.c); the kernel asserts that it is as much, and less than 1024
// more.
#pragma once
#include <jg/epilogue/cluster_sums_storage.cuh>
#include <jg/pipeline/input_ring_buffer.cuh>
#include <jg/sm90a/roles.cuh>
#include <jg/tile/input_tiles.cuh>
#include <jg/tile/scale_slots.cuh>

namespace jg::sm90a {

template <class Config, class Scheduler>
struct alignas(1024) Smem {
    InputTiles<Config> input[Config::kStages];
    u8 out[2][Config::kOutStages][8192];
    RingBarriers<Config::kStages> ring;
    ScaleSlots<Config> scales;
    typename Scheduler::Storage scheduler;
    ClusterSumsStorage<Config, Roles::kMathWarps> sums;

    // Where a stage holds an epilogue load instead: one box per warpgroup.
    static constexpr u32 kEpilogueLoadBytes = InputTiles<Config>::B::kBlockBytes;
    JG_DEVICE u8 *epilogue_load_boxes(u32 stage)
    {
        return input[stage].b[0];
    }
    JG_DEVICE const u8 *epilogue_load_boxes(u32 stage) const
    {
        return input[stage].b[0];
    }
};

} // namespace jg::sm90a
