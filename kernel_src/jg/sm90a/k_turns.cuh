// SPDX-License-Identifier: MIT
// KTurns: math warpgroups that have every other block of K of a whole tile, the first one
// the first (takes_k_turns), instead of half of a tile's columns and all of K. A stage is
// read by one of them. What each has added up meets in shared memory, and each goes on with
// half of the columns, as those do that divide a tile.
//
//   sum = sum of blocks 0, 2, 4, ... + sum of blocks 1, 3, 5, ...
//
// Where a tile has 64 rows a warpgroup multiplies twice as many columns for what it waits,
// and A is read once. Called by: all threads of both math warpgroups.
#pragma once
#include <jg/common/block_scale.cuh>
#include <jg/ptx/cluster.cuh>
#include <jg/sm90a/roles.cuh>

namespace jg::sm90a {

// What goes from one to the other at once: half of it, which is half of the tile's sums.
template <u32 kFloats>
struct TurnSums {
    f32 sums[kFloats];
};
template <>
struct TurnSums<0> {
};

template <class Config>
struct KTurns {
    enum : bool { kTakes = takes_k_turns<Config>() };
    enum : u32 {
        kWays = kTakes ? Roles::kConsumers : 1,
        kThreads = 128 * Roles::kConsumers,
        kRounds = 2, // of what they exchange
        kFloats = kTakes ? Config::kBlockM * Config::kBlockN / kRounds : 0,
    };
    using Storage = TurnSums<kFloats>;

    // A warpgroup's first block of an item.
    static JG_DEVICE u32 first(u32 consumer)
    {
        return kTakes ? consumer : 0;
    }
    // Before an item's first: a stage of the ring that is the other's. Behind an odd number
    // of blocks a warpgroup goes on with a stage that was the other's, which need not have
    // been full yet when it was looked at ahead: what was seen then is forgotten.
    template <class Consumer>
    static JG_DEVICE void begin(Consumer &ring, u32 consumer)
    {
        if constexpr (kTakes) {
            ring.pass(consumer);
        }
    }
    // When it has that of block `k`: the next one is the other's, if there is one.
    template <class Consumer>
    static JG_DEVICE void next(Consumer &ring, u32 k, u32 k_blocks)
    {
        if constexpr (kTakes) {
            if (k + 1 < k_blocks) {
                ring.pass();
            }
        }
    }

    // `own`: the half of the columns that the warpgroup goes on with, of all K.
    template <class All, class Own>
    static JG_DEVICE void add_up(Storage &storage, u32 barrier, u32 consumer,
                                 const All &all, Own &own)
    {
        if (consumer == 0) {
            exchange<0>(storage, barrier, all, own);
        } else {
            exchange<1>(storage, barrier, all, own);
        }
    }

  private:
    template <u32 kHalf, class All, class Own>
    static JG_DEVICE void exchange(Storage &storage, u32 barrier, const All &all, Own &own)
    {
        constexpr u32 kOwn = sizeof(own[0]) / sizeof(own[0][0]);
        constexpr u32 kCount = kOwn / kRounds;
        static_assert(sizeof(All) == 2 * sizeof(Own) && sizeof(Own) == sizeof(own[0]),
                      "64 rows, and half of the columns");
        f32 *const sums = storage.sums + threadIdx.x % 128;
#pragma unroll
        for (u32 round = 0; round < kOwn; round += kCount) {
#pragma unroll
            for (u32 i = 0; i < kCount; ++i) {
                sums[(kHalf * kCount + i) * 128] = all[0][(1 - kHalf) * kOwn + round + i];
            }
            ptx::named_barrier_sync(barrier, kThreads);
#pragma unroll
            for (u32 i = 0; i < kCount; ++i) {
                own[0][round + i] = all[0][kHalf * kOwn + round + i] +
                                    sums[((1 - kHalf) * kCount + i) * 128];
            }
            ptx::named_barrier_sync(barrier, kThreads); // the next may be written
        }
    }
};

} // namespace jg::sm90a
