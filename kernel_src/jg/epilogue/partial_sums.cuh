// SPDX-License-Identifier: MIT
// PartialSums: a tile's sum over K, made by kWorkspaceParts CTAs that each have a part of
// it, multiplied by themselves or by their cluster (cluster_sums.cuh).
//
// Each warpgroup's part of a tile has workspace tiles for accumulators, of 32 bits each,
// and a lock: a word that counts the parts which these hold (waits.cuh). Serial: all parts
// but the last store theirs in a workspace tile of their own, and count 1, whichever comes
// first. The last part waits for all of them (fixup) and adds them up in the order of K, so
// that the sum is the same in every launch. Unordered: part 0 stores its accumulators in
// the only workspace tile, and the parts between add theirs as they come after it. The last
// part clears the lock for the next launch, and goes through the ordinary epilogue with the
// sums added to what it reads (SummedAccumulators), or to its registers where those are the
// accumulators (add_to). Why a wait ends: tile_order.cuh.
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
#include <jg/common/cluster_shape.cuh>
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
    enum : u32 {
        kThreads = 128,
        // Steps of lanes, and columns of the accumulator: of D they are rows if it lies
        // transposed.
        kPartSteps = Partition::kTransposed ? 1 : Partition::kRows / Partition::kStepRows,
        kColumns = Partition::kAccColumns,
    };
    using Extent = AccumulatorExtent<Config, Partition>;
    enum : u32 {
        kElementColumns = Extent::kElementColumns,
        kGroups = kColumns / 8,
        kGroupBytes = kThreads * 4 * sizeof(f32), // all threads' vectors
        kBytes = kPartSteps * Partition::kFragments * kGroups * kGroupBytes,
        kLocks = 2, // of a tile, for as many warpgroups; on every chip
        kOthers = kWorkspaceParts<Config> - 1,       // parts but the last
        kTiles = Config::kSplitSerial ? kOthers : 1, // in the workspace
        // What is read from tensor memory at a time, and lies in the problem or not.
        kChunk = kElementColumns % 32 == 0   ? 32
                 : kElementColumns % 16 == 0 ? 16
                                             : 8,
        kAcross = kColumns / kChunk,
    };
    // Adds nothing to any accumulator, not even a sign to a zero.
    static constexpr f32 kNothing = sums_integers<A>() ? 0.0f : -0.0f;

  public:
    // `team`: this warp's team; `barrier_id`: of its warpgroup only.
    template <class Params, class ShapeT>
    JG_DEVICE PartialSums(const Params &params, const ShapeT &shape, const WorkTile &tile,
                          u32 team, u32 warpgroup, u32 barrier_id)
        : part_(tile.split / ClusterParts<Config>::kCount), barrier_id_(barrier_id),
          extent_(shape, tile, team)
    {
        const u32 workspace_tile =
            tile.workspace_tile * kTiles * Partition::kWarpgroups + warpgroup;
        lock_ = params.workspace +
                (tile.workspace_tile * kLocks + warpgroup) * static_cast<u64>(sizeof(u32));
        sums_ = params.workspace + Config::kPartialsOffset +
                workspace_tile * static_cast<u64>(kBytes) +
                threadIdx.x % kThreads * (4 * sizeof(f32));
    }

    // Any part but the last: its accumulators to a workspace tile.
    template <class Accumulators>
    JG_DEVICE void store_partial(const Accumulators &acc) const
    {
        if (!Config::kSplitSerial && part_ > 0) {
            wait(1, false);
        }
#pragma unroll(Accumulators::kIndexed ? 1 : kPartSteps *kAcross)
        for (u32 i = 0; i < kPartSteps * kAcross; ++i) {
            const u32 step = i / kAcross, col = i % kAcross * kChunk;
            f32 values[Partition::kFragments][kChunk / 2];
            acc.read(step, col, values);
            store(step, col, values);
        }
        ptx::named_barrier_sync(barrier_id_, kThreads);
        if (threadIdx.x % kThreads == 0) {
            ptx::add_release(lock_, debug::kCountStep);
        }
    }

    // The last part: waits until the workspace holds all others.
    JG_DEVICE void fixup() const
    {
        wait(kOthers, true);
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
            load(step, col, sums);
#pragma unroll
            for (u32 j = 0; j < kChunk / 2; ++j) {
                add_accumulator(acc[step][col / 2 + j], sums[0][j]);
            }
        }
    }

    // Accumulators of step `step` of lanes, from column `col` on, with the sums of all
    // others added.
    template <class Accumulators, u32 kCount>
    JG_DEVICE void read_added(const Accumulators &acc, u32 step, u32 col,
                              f32 (&values)[Partition::kFragments][kCount]) const
    {
        f32 sums[Partition::kFragments][kCount];
        load(step, col, sums); // on its way while tensor memory is read
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
            debug::wait_for_parts(lock_, parts, kOthers);
            if (clear) { // nobody else will look at it in this launch
                ptx::store_global_bits<4>(lock_, 0);
            }
        }
        ptx::named_barrier_sync(barrier_id_, kThreads);
    }

    // Sums of these fragments over all other parts, or what adds nothing: a batch of loads,
    // then their sums.
    template <u32 kCount>
    JG_DEVICE void load(u32 step, u32 col, f32 (&sums)[Partition::kFragments][kCount]) const
    {
        constexpr u32 kRegisters = Partition::kThreadAccumulators > 64 ? 32 : 64;
        constexpr u32 kMost = kRegisters / (Partition::kFragments * kCount);
        constexpr u32 kBatch = kMost > 1 ? kMost : 1;
        load_tile(step, col, 0, sums);
#pragma unroll 1
        for (u32 first = 1; first < kTiles; first += kBatch) {
            f32 more[kBatch][Partition::kFragments][kCount];
#pragma unroll
            for (u32 i = 0; i < kBatch; ++i) {
                if (first + i < kTiles) {
                    load_tile(step, col, first + i, more[i]);
                }
            }
#pragma unroll
            for (u32 i = 0; i < kBatch; ++i) {
                if (first + i < kTiles) {
                    add(sums, more[i]);
                }
            }
        }
    }

    template <u32 kCount>
    static JG_DEVICE void add(f32 (&sums)[Partition::kFragments][kCount],
                              const f32 (&more)[Partition::kFragments][kCount])
    {
#pragma unroll
        for (u32 i = 0; i < Partition::kFragments; ++i) {
#pragma unroll
            for (u32 j = 0; j < kCount; ++j) {
                sums[i][j] = add_accumulators<A>(sums[i][j], more[i][j]);
            }
        }
    }

    // What a workspace tile has of them.
    template <u32 kCount>
    JG_DEVICE void load_tile(u32 step, u32 col, u32 tile,
                             f32 (&values)[Partition::kFragments][kCount]) const
    {
#pragma unroll
        for (u32 j = 0; j < kCount; j += kChunk / 2) {
            const bool loads = extent_.is_inside(step, col + 2 * j);
#pragma unroll
            for (u32 i = 0; i < Partition::kFragments; ++i) {
#pragma unroll
                for (u32 at = j; at < j + kChunk / 2; at += 4) {
                    f32 *v = values[i] + at;
                    if (loads) {
                        ptx::load_global_4(v,
                                           address_of(tile, step, i, (col + 2 * at) / 8));
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
        const bool adds = !Config::kSplitSerial && part_ > 0;
#pragma unroll
        for (u32 i = 0; i < Partition::kFragments; ++i) {
#pragma unroll
            for (u32 at = 0; at < kChunk / 2; at += 4) {
                const f32 *v = values[i] + at;
                const u64 address = address_of(Config::kSplitSerial ? part_ : 0, step, i,
                                               (col + 2 * at) / 8);
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

    JG_DEVICE u64 address_of(u32 tile, u32 step, u32 i, u32 group) const
    {
        return sums_ + tile * Partition::kWarpgroups * static_cast<u64>(kBytes) +
               ((step * Partition::kFragments + i) * kGroups + group) * kGroupBytes;
    }

    u32 part_, barrier_id_;
    Extent extent_;
    u64 lock_, sums_;
};

// Accumulators of the last part, read with the sums of the others added.
template <class Accumulators, class Partials, class Partition>
class SummedAccumulators {
  public:
    enum : bool { kIndexed = Accumulators::kIndexed };

    // `is_whole`: there are no others.
    JG_DEVICE SummedAccumulators(const Accumulators &acc, const Partials &partials,
                                 bool is_whole)
        : acc_(acc), partials_(partials), is_whole_(is_whole)
    {
    }

    template <u32 kCount>
    JG_DEVICE void read(u32 step, u32 col,
                        f32 (&values)[Partition::kFragments][kCount]) const
    {
        if (is_whole_) {
            acc_.read(step, col, values);
        } else {
            partials_.read_added(acc_, step, col, values);
        }
    }

    template <class Buffer>
    JG_DEVICE void copy_step(const Buffer &buffer, u32 step) const
    {
        copy_indexed_step<Partition>(*this, buffer, step);
    }

  private:
    const Accumulators &acc_;
    const Partials &partials_;
    const bool is_whole_;
};

} // namespace jg
