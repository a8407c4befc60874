// SPDX-License-Identifier: MIT
// PartialSums: a tile's sum over K, made by kSplitK CTAs that each multiply one part of K.
//
// Each warpgroup's part of a tile has a workspace tile for its accumulators, of 32 bits
// each, and a lock: a word that counts the parts which the workspace tile holds. Part 0
// stores its accumulators there and counts 1. The parts between add theirs. Serial: in the
// order of K, each when the one before has counted, so that the sum is the same in every
// launch. Unordered: as they come after part 0. The last part waits for all others (fixup),
// clears the lock for the next launch, and goes through the ordinary epilogue with the sums
// of the workspace tile added to what it reads (SummedAccumulators), or to its registers
// where those are the accumulators (add_to). Why a wait ends: tile_order.cuh.
//
// A workspace tile is ordered by fragments: every thread finds the four values of its group
// of eight columns in one vector, and the vectors of a warp lie side by side. The thread of
// the same number in another CTA thus reads what this one wrote. What lies beyond the
// problem is neither written nor read, but for the other lanes and columns of a warp's
// chunk that has some of the problem.
//
// Called by all 128 threads of a warpgroup that holds accumulators. Waits: its first thread
// polls the lock, and a named barrier stands for the others. Signals: the lock, by a
// release.
#pragma once
#include <jg/common/work_tile.cuh>
#include <jg/debug/waits.cuh>
#include <jg/epilogue/accumulator.cuh>
#include <jg/epilogue/accumulator_extent.cuh>
#include <jg/epilogue/staging.cuh>
#include <jg/ptx/cluster.cuh>
#include <jg/ptx/global.cuh>

namespace jg {

template <class Config, class Partition>
class PartialSums {
    using A = typename Config::A;
    static constexpr u32 kThreads = 128;
    // Steps of lanes, and columns of the accumulator: of D they are rows if it lies
    // transposed.
    static constexpr u32 kPartSteps =
        Partition::kTransposed ? 1 : Partition::kRows / Partition::kStepRows;
    static constexpr u32 kColumns = Partition::kAccColumns;
    using Extent = AccumulatorExtent<Config, Partition>;
    static constexpr u32 kElementColumns = Extent::kElementColumns;
    static constexpr u32 kGroups = kColumns / 8;
    static constexpr u32 kGroupBytes = kThreads * 4 * sizeof(f32); // all threads' vectors
    static constexpr u32 kBytes =
        kPartSteps * Partition::kFragments * kGroups * kGroupBytes;
    static constexpr u32 kLocks = 2; // of a tile, for as many warpgroups; on every chip
    // What is read from tensor memory at a time, and lies in the problem or not.
    static constexpr u32 kChunk = kElementColumns % 32 == 0   ? 32
                                  : kElementColumns % 16 == 0 ? 16
                                                              : 8;
    static constexpr u32 kAcross = kColumns / kChunk;
    // Adds nothing to any accumulator, not even a sign to a zero.
    static constexpr f32 kNothing = sums_integers<A>() ? 0.0f : -0.0f;

  public:
    // `team`: this warp's team; `barrier_id`: of its warpgroup only.
    template <class Params, class ShapeT>
    JG_DEVICE PartialSums(const Params &params, const ShapeT &shape, const WorkTile &tile,
                          u32 team, u32 warpgroup, u32 barrier_id)
        : split_(tile.split), barrier_id_(barrier_id), extent_(shape, tile, team)
    {
        const u32 workspace_tile = tile.workspace_tile * Partition::kWarpgroups + warpgroup;
        lock_ = params.workspace +
                (tile.workspace_tile * kLocks + warpgroup) * static_cast<u64>(sizeof(u32));
        sums_ = params.workspace + Config::kPartialsOffset +
                workspace_tile * static_cast<u64>(kBytes) +
                threadIdx.x % kThreads * (4 * sizeof(f32));
    }

    // Any part but the last: its accumulators to the workspace tile, for the next part.
    template <class Accumulators>
    JG_DEVICE void store_partial(const Accumulators &acc) const
    {
        if (split_ > 0) {
            wait(Config::kSplitSerial ? split_ : 1, false);
        }
#pragma unroll(Accumulators::kIndexed ? 1 : kPartSteps *kAcross)
        for (u32 i = 0; i < kPartSteps * kAcross; ++i) {
            const u32 step = i / kAcross, col = i % kAcross * kChunk;
            f32 values[Partition::kFragments][kChunk / 2];
            if constexpr (Config::kSplitSerial) {
                read_added(acc, step, col, values, split_ > 0);
            } else {
                acc.read(step, col, values);
            }
            store(step, col, values);
        }
        ptx::named_barrier_sync(barrier_id_, kThreads);
        if (threadIdx.x % kThreads == 0) {
            ptx::add_release(lock_, 1);
        }
    }

    // The last part: waits until the workspace tile holds the sum of all others.
    JG_DEVICE void fixup() const
    {
        wait(Config::kSplitK - 1, true);
    }

    // ... and adds it to accumulators that are registers.
    template <class Accumulator, u32 kCount>
    JG_DEVICE void add_to(Accumulator (&acc)[kPartSteps][kCount]) const
    {
        static_assert(Partition::kFragments == 1, "a wgmma gives a warp 16 rows");
#pragma unroll
        for (u32 i = 0; i < kPartSteps * kAcross; ++i) {
            const u32 step = i / kAcross, col = i % kAcross * kChunk;
            f32 sums[1][kChunk / 2];
            load(step, col, sums, true);
#pragma unroll
            for (u32 j = 0; j < kChunk / 2; ++j) {
                add_accumulator(acc[step][col / 2 + j], sums[0][j]);
            }
        }
    }

    // Accumulators of step `step` of lanes, from column `col` on, with the sums
    // of the workspace tile added if there are any.
    template <class Accumulators, u32 kCount>
    JG_DEVICE void read_added(const Accumulators &acc, u32 step, u32 col,
                              f32 (&values)[Partition::kFragments][kCount], bool any) const
    {
        f32 sums[Partition::kFragments][kCount];
        load(step, col, sums, any); // on its way while tensor memory is read
        acc.read(step, col, values);
#pragma unroll
        for (u32 i = 0; i < Partition::kFragments; ++i) {
#pragma unroll
            for (u32 j = 0; j < kCount; ++j) {
                values[i][j] = add_accumulators<A>(values[i][j], sums[i][j]);
            }
        }
    }

  private:
    // Until `parts` have counted.
    JG_DEVICE void wait(u32 parts, bool clear) const
    {
        if (threadIdx.x % kThreads == 0) {
            debug::wait_for_parts(lock_, parts);
            if (clear) { // nobody else will look at it in this launch
                ptx::store_global_bits<4>(lock_, 0);
            }
        }
        ptx::named_barrier_sync(barrier_id_, kThreads);
    }

    // The workspace tile's sums of these fragments, or what adds nothing.
    template <u32 kCount>
    JG_DEVICE void load(u32 step, u32 col, f32 (&sums)[Partition::kFragments][kCount],
                        bool any) const
    {
#pragma unroll
        for (u32 j = 0; j < kCount; j += kChunk / 2) {
            const bool loads = any && extent_.is_inside(step, col + 2 * j);
#pragma unroll
            for (u32 i = 0; i < Partition::kFragments; ++i) {
#pragma unroll
                for (u32 at = j; at < j + kChunk / 2; at += 4) {
                    f32 *v = sums[i] + at;
                    if (loads) {
                        ptx::load_global_4(v, address_of(step, i, (col + 2 * at) / 8));
                    } else {
                        v[0] = v[1] = v[2] = v[3] = kNothing;
                    }
                }
            }
        }
    }

    JG_DEVICE void store(u32 step, u32 col,
                         const f32 (&values)[Partition::kFragments][kChunk / 2]) const
    {
        if (!extent_.is_inside(step, col)) {
            return;
        }
        const bool adds = !Config::kSplitSerial && split_ > 0;
#pragma unroll
        for (u32 i = 0; i < Partition::kFragments; ++i) {
#pragma unroll
            for (u32 at = 0; at < kChunk / 2; at += 4) {
                const f32 *v = values[i] + at;
                const u64 address = address_of(step, i, (col + 2 * at) / 8);
                if (sums_integers<A>() && adds) {
                    ptx::add_global_4_s32(address, v[0], v[1], v[2], v[3]);
                } else if (adds) {
                    ptx::add_global_4(address, v[0], v[1], v[2], v[3]);
                } else {
                    ptx::store_global_4(address, v[0], v[1], v[2], v[3]);
                }
            }
        }
    }

    JG_DEVICE u64 address_of(u32 step, u32 i, u32 group) const
    {
        return sums_ + ((step * Partition::kFragments + i) * kGroups + group) * kGroupBytes;
    }

    u32 split_, barrier_id_;
    Extent extent_;
    u64 lock_, sums_;
};

// Accumulators of the last part, read with the sums of the others added.
template <class Accumulators, class Partials, class Partition>
class SummedAccumulators {
  public:
    static constexpr bool kIndexed = Accumulators::kIndexed;

    JG_DEVICE SummedAccumulators(const Accumulators &acc, const Partials &partials)
        : acc_(acc), partials_(partials)
    {
    }

    template <u32 kCount>
    JG_DEVICE void read(u32 step, u32 col,
                        f32 (&values)[Partition::kFragments][kCount]) const
    {
        partials_.read_added(acc_, step, col, values, true);
    }

    template <class Buffer>
    JG_DEVICE void copy_step(const Buffer &buffer, u32 step) const
    {
        copy_indexed_step<Partition>(*this, buffer, step);
    }

  private:
    const Accumulators &acc_;
    const Partials &partials_;
};

} // namespace jg
