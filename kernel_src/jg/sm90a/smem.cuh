// SPDX-License-Identifier: MIT
// Shared memory of the Hopper kernel. The host computes what it takes
// (lib/plan/sm90a/limits.c); the kernel asserts that it is as much, and less than 1024
// more.
#pragma once
#include <jg/epilogue/cluster_sums_storage.cuh>
#include <jg/epilogue/epilogue_load_boxes.cuh>
#include <jg/pipeline/input_ring_buffer.cuh>
#include <jg/sm90a/epilogue_partition.cuh>
#include <jg/sm90a/item_slots.cuh>
#include <jg/sm90a/k_turns.cuh>
#include <jg/sm90a/roles.cuh>
#include <jg/tile/input_tiles.cuh>
#include <jg/tile/line_ends.cuh>
#include <jg/tile/row_indices.cuh>
#include <jg/tile/scale_slots.cuh>

namespace jg::sm90a {

template <class Config, class Scheduler>
struct alignas(1024) Smem {
    using Partition = EpiloguePartition<Config>;
    using Tiles = InputTiles<Config>;
    // C and matrix operands have a ring of their own, or take stages of the input tiles':
    // of a stage the tile that lies along their rows, or the other one where that is too
    // small.
    enum : bool { kHasLoadRing = Config::kEpilogueLoadStages > 0 };
    enum : u32 { kTeamsBytes = Partition::kTeams * Partition::kStepRows * 128 };
    enum : bool {
        kLoadsInA = (Config::kTransposed || Tiles::B::kBlockBytes < kTeamsBytes) &&
                    kTeamsBytes <= Tiles::A::kBlockBytes
    };
    enum : u32 {
        kEpilogueLoadBytes = kHasLoadRing ? kTeamsBytes
                             : kLoadsInA  ? Tiles::A::kBlockBytes
                                          : Tiles::B::kBlockBytes
    };

    Tiles input[Config::kStages];
    u8 out[Roles::kConsumers][Config::kOutStages][Config::kOutBytes];
    EpilogueLoadBoxes<Config::kEpilogueLoadStages, kEpilogueLoadBytes> epilogue_loads;
    RingBarriers<Config::kStages> ring;
    RingBarriers<Config::kEpilogueLoadStages> epilogue_load_ring;
    ScaleSlots<Config> scales;
    typename Scheduler::Storage scheduler;
    typename KTurns<Config>::Storage turns;
    typename PartsStorage<Config, Roles::kMathWarps>::Type sums;
    RowIndices<Config> rows;
    LineEnds<Config> line_ends;
    MathItems<Config> items;
    LoadItems<Config> load_items;

    // Of a stage: a box for each team.
    JG_DEVICE u8 *epilogue_load_boxes(u32 stage)
    {
        return boxes_in(*this, stage);
    }
    JG_DEVICE const u8 *epilogue_load_boxes(u32 stage) const
    {
        return boxes_in(*this, stage);
    }

  private:
    template <class Self>
    static JG_DEVICE auto *boxes_in(Self &smem, u32 stage)
    {
        if constexpr (kHasLoadRing) {
            return smem.epilogue_loads.boxes[stage];
        } else if constexpr (kLoadsInA) {
            return smem.input[stage].a[0];
        } else {
            return smem.input[stage].b[0];
        }
    }
};

} // namespace jg::sm90a
