// SPDX-License-Identifier: MIT
// HandOver: where one math warpgroup multiplies all of a tile (Config::kOneMultiplies), the
// half of its sums that the other one writes.
//
// Two warpgroups that divide the columns of a tile of 64 rows read A from shared memory
// twice, and a product of 32 columns waits for its rows of A: 24 clocks, not 16. One that
// multiplies all 64 has them once, 32 clocks for both. Bits are the same. The sums pass
// through the buffers that both epilogues stage D in, which are idle then, in as many
// rounds as these hold.
//
// Called by: all threads of both math warpgroups, once a tile, when the first has its sums
// and before either writes.
#pragma once
#include <jg/common/types.cuh>
#include <jg/ptx/cluster.cuh>
#include <jg/sm90a/k_turns.cuh>
#include <jg/sm90a/roles.cuh>

namespace jg::sm90a {

// `kBarrier`: of both warpgroups.
template <u32 kBarrier>
struct HandOver {
    enum : u32 { kThreads = 128 * Roles::kConsumers };

    // `all`: the first warpgroup's sums, of all columns; `own`: receives those of half of
    // them, the first ones for the first. No store reads `buffers` any more that this
    // warpgroup has made.
    template <class Buffers, class All, class Own>
    static JG_DEVICE void divide(Buffers &buffers, u32 consumer, const All &all, Own &own)
    {
        constexpr u32 kOwn = sizeof(own[0]) / sizeof(own[0][0]);
        constexpr u32 kFits = sizeof(buffers) / (128 * sizeof(own[0][0]));
        constexpr u32 kCount = kFits < kOwn ? kFits : kOwn; // at once
        static_assert(sizeof(All) == 2 * sizeof(Own) && sizeof(Own) == sizeof(own[0]),
                      "64 rows, and half of the columns");
        static_assert(kCount > 0 && kOwn % kCount == 0, "whole rounds");
        auto *const passed =
            reinterpret_cast<decltype(&own[0][0])>(&buffers) + threadIdx.x % 128;
        ptx::named_barrier_sync(kBarrier, kThreads); // both are done with the buffers
#pragma unroll
        for (u32 round = 0; round < kOwn; round += kCount) {
            if (consumer == 0) {
#pragma unroll
                for (u32 i = 0; i < kCount; ++i) {
                    passed[i * 128] = all[0][kOwn + round + i];
                    own[0][round + i] = all[0][round + i];
                }
            }
            ptx::named_barrier_sync(kBarrier, kThreads);
            if (consumer == 1) {
#pragma unroll
                for (u32 i = 0; i < kCount; ++i) {
                    own[0][round + i] = passed[i * 128];
                }
            }
            ptx::named_barrier_sync(kBarrier, kThreads); // they may be written again
        }
    }
};

// Of sums of all columns, those that this math warpgroup writes, of all K. `epilogue`: its
// stores read the buffers no more when this returns.
template <class Kernel, class Epilogue, class All, class Own>
JG_DEVICE void divide_sums(const Kernel &kernel, Epilogue &epilogue, const All &all,
                           Own &own)
{
    const u32 consumer = kernel.roles.consumer();
    if constexpr (Kernel::Turns::kTakes) {
        Kernel::Turns::add_up(kernel.smem.turns, Kernel::kSumsBarrier, consumer, all, own);
    } else {
        epilogue.drain();
        HandOver<Kernel::kSumsBarrier>::divide(kernel.smem.out, consumer, all, own);
    }
}

} // namespace jg::sm90a
