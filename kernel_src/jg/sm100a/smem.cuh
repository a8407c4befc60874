// SPDX-License-Identifier: MIT
// Shared memory of the Blackwell kernel. The host computes what it takes
// (lib/plan/sm100a/sizes.c); the kernel asserts that it is as much, and less than 1024
// more. Both CTAs of a pair have the same layout: the tensor core reads both at the same
// offsets.
#pragma once
#include <jg/epilogue/cluster_sums_storage.cuh>
#include <jg/epilogue/epilogue_load_boxes.cuh>
#include <jg/pipeline/input_ring_buffer.cuh>
#include <jg/sm100a/epilogue_partition.cuh>
#include <jg/sm100a/load_order.cuh>
#include <jg/sm100a/output_ring_buffer.cuh>
#include <jg/sm100a/scale_stages.cuh>
#include <jg/sm100a/tmem.cuh>
#include <jg/tile/input_tiles.cuh>
#include <jg/tile/row_indices.cuh>
#include <jg/tile/scale_slots.cuh>

namespace jg::sm100a {

// More than half of what a multiprocessor has, asked for even where less is used: so no two
// CTAs share one. Tensor memory is invisible to the choice of where CTAs run, and two
// clusters that each hold a part of what the other waits for would never end.
enum : u32 { kLeastSmemBytes = 116 * 1024 };

template <class Config, class Scheduler>
struct alignas(1024) Smem {
    using Partition = EpiloguePartition<Config>;
    enum : u32 { kWarps = 4 * Partition::kWarpgroups }; // of the epilogue
    enum : u32 { kEpilogueLoadBytes = Partition::kTeams * Partition::kStepRows * 128 };

    InputTiles<Config> input[Config::kStages];
    u8 out[kWarps][Config::kOutStages][Partition::kWarpBytes];
    EpilogueLoadBoxes<Config::kEpilogueLoadStages, kEpilogueLoadBytes> epilogue_loads;
    ScaleStages<Config> scales;
    ScaleSlots<Config> scale_slots; // of sums that are promoted
    RingBarriers<Config::kStages> ring;
    RingBarriers<Config::kEpilogueLoadStages> epilogue_load_ring;
    OutputBarriers<LaneLayout<Config>::kRingStages> accumulators;
    ScaleCellBarriers<Tmem<Config>::kSharedScaleCells> scale_cells;
    typename Scheduler::Storage scheduler;
    LoadOrderBarrier<(Config::kEpilogueLoadStages > 0)> load_order;
    typename PartsStorage<Config, kWarps>::Type sums;
    RowIndices<Config> rows;
    u32 tmem_address;

    JG_DEVICE u8 *epilogue_load_boxes(u32 stage)
    {
        return epilogue_loads.boxes[stage];
    }
    JG_DEVICE const u8 *epilogue_load_boxes(u32 stage) const
    {
        return epilogue_loads.boxes[stage];
    }
};

} // namespace jg::sm100a
