// SPDX-License-Identifier: MIT
// ClusterSums: a tile's sum over K, made by the CTAs of a cluster that each multiply one
// part of K, in their shared memory.
//
// Every CTA stores its accumulators, of 32 bits each, in vectors of four. CTA r then adds
// up the vectors r, r + kParts, ... of all parts, always in the order of K, and puts the
// sums where its own part of them was, which nobody else reads. The last part's CTA, the
// leader, takes the sums from all of them and goes through the ordinary epilogue. So the
// sum has the same bits in every launch, those of parts that are added up in serial order
// in a workspace (partial_sums.cuh), and each CTA reads two tiles at most, however many
// parts there are. What lies beyond the problem is not moved.
//
// A thread finds what is its own of an accumulator where the thread of the same number of
// another CTA has put it. So a warp waits for the warps of its number only, by three
// mbarriers of its own, each of which completes once: all have stored, at each CTA; all
// have added up, at the leader; the leader has read, at the others, which may end then.
//
// Called by all warps that hold accumulators, add_up once in a CTA's life, because nothing
// is stored a second time, and leave at its end. Before use: init_barriers by one thread,
// then a synchronisation of the cluster.
#pragma once
#include <jg/debug/waits.cuh>
#include <jg/epilogue/accumulator.cuh>
#include <jg/epilogue/accumulator_extent.cuh>
#include <jg/epilogue/cluster_sums_storage.cuh>
#include <jg/ptx/shared.cuh>

namespace jg {

template <class Config, class Partition>
class ClusterSums {
    using A = typename Config::A;
    static constexpr u32 kParts = ClusterParts<Config>::kCount;
    static constexpr u32 kLeader = kParts - 1;
    static constexpr u32 kWarps = 4 * Partition::kWarpgroups;
    static constexpr u32 kSteps =
        Partition::kTransposed ? 1 : Partition::kRows / Partition::kStepRows;
    static constexpr u32 kGroups = Partition::kAccColumns / 8;
    static constexpr u32 kVectors = kSteps * kGroups;                  // of a thread
    static constexpr u32 kVectorBytes = kWarps * 32 * 4 * sizeof(f32); // all threads'
    // Loads that are on their way at a time.
    static constexpr u32 kLoads = 8;
    static constexpr u32 kBatch = kParts < kLoads ? kLoads / kParts : 1;
    static constexpr u32 kShare = (kVectors + kParts - 1) / kParts; // of a CTA, at most
    static_assert(Partition::kFragments == 1, "a wgmma gives a warp 16 rows");

  public:
    using Storage = ClusterSumsStorage<Config, kWarps>;

    static JG_DEVICE void init_barriers(Storage &storage)
    {
        static_assert(Storage::kSumsBytes == kVectors * kVectorBytes,
                      "accumulators of a tile");
        for (u32 i = 0; i < kWarps; ++i) {
            ptx::mbarrier_init(&storage.stored[i], kParts);
            ptx::mbarrier_init(&storage.added[i], kParts);
            ptx::mbarrier_init(&storage.read[i], 1);
        }
    }

    // `ring`: the input tiles, which all warps of the CTA have used; `team`: this warp's;
    // `warp`: its number among those that hold accumulators.
    template <class Ring, class ShapeT>
    JG_DEVICE ClusterSums(Storage &storage, Ring &ring, const ShapeT &shape,
                          const WorkTile &tile, u32 team, u32 warp)
        : storage_(storage), part_(tile.split), warp_(warp), extent_(shape, tile, team),
          own_(ptx::shared_address(storage.sums.place(ring)) +
               (warp * 32 + threadIdx.x % 32) * (4 * sizeof(f32)))
    {
        static_assert(kParts <= 32, "a lane arrives in each CTA");
    }

    // Adds up all parts. Are `acc` the sums now? Those of the leader.
    template <class Accumulator, u32 kCount>
    JG_DEVICE bool add_up(Accumulator (&acc)[kSteps][kCount]) const
    {
        const bool is_leader = part_ == kLeader;
        if (!extent_.is_inside(0, 0)) { // nothing of the warp is: so it is in all CTAs
            return is_leader;
        }
        store(acc);
        tell_all();
        wait(storage_.stored[warp_], 0);
        ptx::fence_acquire_shared();
        add_share();
        tell_leader();
        if (is_leader) {
            wait(storage_.added[warp_], 1);
            ptx::fence_acquire_shared();
            take(acc);
        }
        return is_leader;
    }

    // Before the CTA ends: its memory is not read any more, and it reads none of the
    // others'. Late, because the leader's release waits for its stores to global memory.
    static JG_DEVICE void leave(Storage &storage, u32 part, u32 warp)
    {
        __syncwarp();
        if (part != kLeader) {
            wait(storage.read[warp], 2);
        } else if (threadIdx.x % 32 < kLeader) {
            ptx::mbarrier_arrive_release(&storage.read[warp], threadIdx.x % 32);
        }
    }

  private:
    template <class Accumulator, u32 kCount>
    JG_DEVICE void store(const Accumulator (&acc)[kSteps][kCount]) const
    {
#pragma unroll
        for (u32 i = 0; i < kVectors; ++i) {
            if (is_inside(i)) {
                const Accumulator *v = acc[i / kGroups] + i % kGroups * 4;
                const u32 words[4] = {__float_as_uint(accumulator_bits(v[0])),
                                      __float_as_uint(accumulator_bits(v[1])),
                                      __float_as_uint(accumulator_bits(v[2])),
                                      __float_as_uint(accumulator_bits(v[3]))};
                ptx::store_shared_4(own_ + i * kVectorBytes, words);
            }
        }
    }

    // This CTA's vectors of all parts, in the order of K: a batch of loads, then their
    // sums.
    JG_DEVICE void add_share() const
    {
        u32 parts[kParts];
        map(parts);
#pragma unroll 1
        for (u32 first = 0; first < kShare; first += kBatch) {
            float4 values[kBatch][kParts];
#pragma unroll
            for (u32 i = 0; i < kBatch; ++i) {
                const u32 vector = part_ + (first + i) * kParts;
                if (is_own(vector)) {
#pragma unroll
                    for (u32 part = 0; part < kParts; ++part) {
                        values[i][part] =
                            ptx::load_cluster_4(parts[part] + vector * kVectorBytes);
                    }
                }
            }
#pragma unroll
            for (u32 i = 0; i < kBatch; ++i) {
                const u32 vector = part_ + (first + i) * kParts;
                if (is_own(vector)) {
                    store_sum(vector, values[i]);
                }
            }
        }
    }

    // Is there such a vector of this CTA's share, with something of D?
    JG_DEVICE bool is_own(u32 vector) const
    {
        constexpr bool kWhole = kVectors % (kBatch * kParts) == 0;
        return (kWhole || vector < kVectors) && is_inside(vector);
    }

    JG_DEVICE void store_sum(u32 vector, const float4 (&values)[kParts]) const
    {
        float4 sum = values[0];
#pragma unroll
        for (u32 part = 1; part < kParts; ++part) {
            sum.x = add_accumulators<A>(sum.x, values[part].x);
            sum.y = add_accumulators<A>(sum.y, values[part].y);
            sum.z = add_accumulators<A>(sum.z, values[part].z);
            sum.w = add_accumulators<A>(sum.w, values[part].w);
        }
        const u32 words[4] = {__float_as_uint(sum.x), __float_as_uint(sum.y),
                              __float_as_uint(sum.z), __float_as_uint(sum.w)};
        ptx::store_shared_4(own_ + vector * kVectorBytes, words);
    }

    template <class Accumulator, u32 kCount>
    JG_DEVICE void take(Accumulator (&acc)[kSteps][kCount]) const
    {
        u32 parts[kParts];
        map(parts);
#pragma unroll
        for (u32 i = 0; i < kVectors; ++i) {
            if (is_inside(i)) {
                const float4 sum =
                    ptx::load_cluster_4(parts[i % kParts] + i * kVectorBytes);
                Accumulator *v = acc[i / kGroups] + i % kGroups * 4;
                set_accumulator(v[0], sum.x);
                set_accumulator(v[1], sum.y);
                set_accumulator(v[2], sum.z);
                set_accumulator(v[3], sum.w);
            }
        }
    }

    // Where this thread's accumulators lie in each CTA.
    JG_DEVICE void map(u32 (&parts)[kParts]) const
    {
#pragma unroll
        for (u32 part = 0; part < kParts; ++part) {
            parts[part] = ptx::address_in_cluster(own_, part);
        }
    }

    JG_DEVICE bool is_inside(u32 vector) const
    {
        return extent_.is_inside(vector / kGroups, vector % kGroups * 8);
    }

    // What this warp has stored is there.
    JG_DEVICE void tell_all() const
    {
        __syncwarp();
        if (threadIdx.x % 32 < kParts) {
            ptx::fence_release_shared();
            ptx::mbarrier_arrive_relaxed(&storage_.stored[warp_], threadIdx.x % 32);
        }
    }
    JG_DEVICE void tell_leader() const
    {
        __syncwarp();
        if (threadIdx.x % 32 == 0) {
            ptx::fence_release_shared();
            ptx::mbarrier_arrive_relaxed(&storage_.added[warp_], kLeader);
        }
    }

    static JG_DEVICE void wait(u64 &barrier, u32 step)
    {
        debug::wait_relaxed(
            &barrier, 0,
            debug::BarrierId{debug::Ring::kClusterSums, debug::Side::kFull, step});
    }

    Storage &storage_;
    u32 part_, warp_;
    AccumulatorExtent<Config, Partition> extent_;
    u32 own_; // address of this thread's first vector
};

} // namespace jg
