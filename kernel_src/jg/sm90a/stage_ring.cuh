// SPDX-License-Identifier: MIT
// StageRing: the ring of input tiles, and of their blocks' scales where these are part of a
// stage. Then whoever brings the scales arrives at the stage's barrier, too, and each warp
// that has read them releases it: the tensor core's reads are over for all warps at once,
// theirs are not.
#pragma once
#include <jg/pipeline/input_ring_buffer.cuh>
#include <jg/pipeline/warpgroup_signals.cuh>
#include <jg/sm90a/roles.cuh>
#include <jg/tile/filled_stage.cuh>
#include <jg/tile/input_tiles.cuh>
#include <jg/tile/scale_slots.cuh>

namespace jg::sm90a {

// `kReaders`: warpgroups that read a stage.
template <class Config, class Cluster, u32 kReaders>
struct StageRing {
    enum : bool { kScales = has_scales_in_stages<Config>() };
    using Signals = typename Select<kScales, WarpSignals<4 * kReaders, Cluster>,
                                    WarpgroupSignals<kReaders, Cluster>>::Type;
    enum : u32 {
        kFillers = stage_fillers<Config>(Roles::kLoadWarps) +
                   (kScales ? scale_fillers<Config>() : 0)
    };
    using Type = InputRingBuffer<Config::kStages, InputTiles<Config>::kLoadedBytes, Signals,
                                 kFillers>;

    // All of the role of warp `warp` of those that bring scales. `own`: where they have a
    // ring of their own.
    template <class Own, class Kernel, class Work>
    static JG_DEVICE void load_scales(const Kernel &kernel, u32 warp, Work &work)
    {
        auto &slots = kernel.smem.scales;
        if constexpr (kScales) {
            ScaleWarps<Config, Type>::run(kernel.params, kernel.shape, slots,
                                          kernel.input.producer(), warp, work);
        } else {
            ScaleWarps<Config, Own>::run(kernel.params, kernel.shape, slots,
                                         Own::producer(slots), warp, work);
        }
    }
};

} // namespace jg::sm90a
