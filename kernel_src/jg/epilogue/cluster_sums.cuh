// SPDX-License-Identifier: MIT
// ClusterSums: a tile's sum over K, made by the CTAs of a cluster that each multiply one
// part of K, in their shared memory.
//
// Every CTA stores its accumulators, of 32 bits each, in vectors of four. What kLanes
// neighbouring lanes of a warp have of a vector is a piece. CTA r adds up the pieces r, r +
// kParts, ... of all parts, always in the order of K, and sends the sums to the CTA of the
// last part, the leader, where that one's own part of them was, which nobody else reads.
// The leader then goes through the ordinary epilogue with the sums. So the sum has the same
// bits in every launch, those of parts that are added up in serial order in a workspace
// (partial_sums.cuh), and each CTA reads one tile at most, however many parts there are.
// What lies beyond the problem is not moved.
//
// A thread finds what is its own of an accumulator where the thread of the same number of
// another CTA has put it. So a warp waits for the warps of its number only, by three
// mbarriers of its own, each of which completes once: all have stored, at each CTA; all
// sums have come, at the leader, which counts their bytes; they have, so nobody reads any
// more, at the others, which may end then.
//
// Called by all warps that hold accumulators, add_up once in a CTA's life, because nothing
// is stored a second time, and leave at its end. Before use: init_barriers by one thread,
// then a synchronisation of the cluster.
#pragma once
#include <jg/common/choices.cuh>
#include <jg/epilogue/accumulator.cuh>
#include <jg/epilogue/accumulator_extent.cuh>
#include <jg/epilogue/cluster_sums_storage.cuh>
#include <jg/epilogue/staging.cuh>
#include <jg/ptx/shared.cuh>

namespace jg {

template <class Config, class Partition, class Cluster>
class ClusterSums {
    using A = typename Config::A;
    enum : u32 {
        kParts = Cluster::kParts,
        kLeader = kParts - 1,
        kWarps = 4 * Partition::kWarpgroups,
        kSteps = Partition::kTransposed ? 1 : Partition::kRows / Partition::kStepRows,
        kFragments = Partition::kFragments,
        kGroups = Partition::kAccColumns / 8,
        kVectors = kSteps * kFragments * kGroups,     // of a thread
        kVectorBytes = kWarps * 32 * 4 * sizeof(f32), // all threads'
        // What is read of the accumulators at a time.
        kChunk = kGroups % 4 == 0   ? 32
                 : kGroups % 2 == 0 ? 16
                                    : 8,
        kAcross = Partition::kAccColumns / kChunk,
        // Lanes of a piece: as many as leave every CTA one.
        kLanes = kVectors >= kParts       ? 32
                 : 2 * kVectors >= kParts ? 16
                 : 4 * kVectors >= kParts ? 8
                 : 8 * kVectors >= kParts ? 4
                                          : 2,
        kPieces = 32 / kLanes,                               // of a vector
        kShare = (kVectors * kPieces + kParts - 1) / kParts, // of a CTA
        kRounds = (kShare + kPieces - 1) / kPieces,
        // Loads that are on their way at a time.
        kLoads = 8,
        kMost = kParts < kLoads ? kLoads / kParts : 1, // rounds
        kBatch = kMost < kRounds ? kMost : kRounds,
    };

  public:
    using Storage = ClusterSumsStorage<Config, kWarps>;
    enum : bool { kIndexed = true }; // the leader's sums are accumulators

    static JG_DEVICE void init_barriers(Storage &storage)
    {
        static_assert(Storage::kSumsBytes == kVectors * kVectorBytes,
                      "accumulators of a tile");
        for (u32 i = 0; i < kWarps; ++i) {
            ptx::mbarrier_init(&storage.stored[i], kParts);
            ptx::mbarrier_init(&storage.summed[i], 1);
            ptx::mbarrier_init(&storage.ended[i], 1);
        }
    }

    // `ring`: the input tiles, which all warps of the CTA have used; `team`: this warp's;
    // `warp`: its number among those that hold accumulators.
    template <class Ring, class ShapeT>
    JG_DEVICE ClusterSums(Storage &storage, Ring &ring, const Cluster &cluster,
                          const ShapeT &shape, const WorkTile &tile, u32 team, u32 warp)
        : storage_(storage), cluster_(cluster), warp_(warp), extent_(shape, tile, team),
          own_(ptx::shared_address(storage.sums.place(ring)) + warp * (32 * kThreadBytes))
    {
        static_assert(kParts <= 32, "a lane arrives in each CTA");
    }

    // Adds up all parts. Has this CTA the sums now, which read, copy_step and take have?
    // Only the leader.
    template <class Accumulators>
    JG_DEVICE bool add_up(const Accumulators &acc) const
    {
        static_assert(Config::kScheduler == SchedulerKind::kSingle, "a CTA adds up once");
        const bool is_leader = cluster_.part == kLeader;
        store(acc);
        if (extent_.is_inside(0, 0)) { // or nothing of the warp is: so it is in all CTAs
            tell_all();
            Storage::wait(storage_.stored[warp_], 0);
            ptx::fence_acquire_shared();
            add_share();
            if (is_leader) {
                await_sums();
            }
        }
        if (is_leader) {
            let_go();
        }
        return is_leader;
    }

    // The sums of this thread's accumulators, as accumulators are read.
    template <u32 kCount>
    JG_DEVICE void read(u32 step, u32 col, f32 (&values)[kFragments][kCount]) const
    {
#pragma unroll
        for (u32 i = 0; i < kFragments; ++i) {
#pragma unroll
            for (u32 j = 0; j < kCount; j += 4) {
                const u32 column = col + 2 * j;
                f32 *const v = values[i] + j;
                if (extent_.is_inside(step, column)) {
                    const float4 sum = ptx::load_shared_4(address_of(step, i, column / 8));
                    v[0] = sum.x, v[1] = sum.y, v[2] = sum.z, v[3] = sum.w;
                } else {
                    v[0] = v[1] = v[2] = v[3] = 0.0f;
                }
            }
        }
    }

    template <class Buffer>
    JG_DEVICE void copy_step(const Buffer &buffer, u32 step) const
    {
        copy_indexed_step<Partition>(*this, buffer, step);
    }

    // The same to registers.
    template <class Accumulator, u32 kCount>
    JG_DEVICE void take(Accumulator (&acc)[kSteps][kCount]) const
    {
        static_assert(kFragments == 1, "a wgmma gives a warp 16 rows");
#pragma unroll
        for (u32 i = 0; i < kSteps * kAcross; ++i) {
            const u32 step = i / kAcross, col = i % kAcross * kChunk;
            f32 values[1][kChunk / 2];
            read(step, col, values);
#pragma unroll
            for (u32 j = 0; j < kChunk / 2; ++j) {
                set_accumulator(acc[step][col / 2 + j], values[0][j]);
            }
        }
    }

    // Before the CTA ends: its memory is not read any more.
    static JG_DEVICE void leave(Storage &storage, const Cluster &cluster, u32 warp)
    {
        if (cluster.part != kLeader) {
            Storage::wait(storage.ended[warp], 2);
        }
    }

  private:
    enum : u32 { kThreadBytes = 4 * sizeof(f32) };

    static JG_DEVICE u32 lane()
    {
        return threadIdx.x % 32;
    }

    template <class Accumulators>
    JG_DEVICE void store(const Accumulators &acc) const
    {
#pragma unroll(Accumulators::kIndexed ? 1 : kSteps *kAcross)
        for (u32 i = 0; i < kSteps * kAcross; ++i) {
            const u32 step = i / kAcross, col = i % kAcross * kChunk;
            f32 values[kFragments][kChunk / 2];
            acc.read(step, col, values);
#pragma unroll
            for (u32 j = 0; j < kFragments * kChunk / 8; ++j) {
                const u32 fragment = j / (kChunk / 8), at = j % (kChunk / 8);
                if (extent_.is_inside(step, col + 8 * at)) {
                    const f32 *const v = values[fragment] + 4 * at;
                    const u32 words[4] = {__float_as_uint(v[0]), __float_as_uint(v[1]),
                                          __float_as_uint(v[2]), __float_as_uint(v[3])};
                    ptx::store_shared_4(address_of(step, fragment, col / 8 + at), words);
                }
            }
        }
    }

    // This CTA's pieces of all parts, in the order of K: a batch of loads, then their sums.
    JG_DEVICE void add_share() const
    {
        u32 parts[kParts];
#pragma unroll
        for (u32 part = 0; part < kParts; ++part) {
            parts[part] = ptx::address_in_cluster(own_, cluster_.rank_of_part(part));
        }
        const u32 summed = ptx::address_in_cluster(
            ptx::shared_address(&storage_.summed[warp_]), cluster_.rank_of_part(kLeader));
#pragma unroll 1
        for (u32 first = 0; first < kRounds; first += kBatch) {
            float4 values[kBatch][kParts];
#pragma unroll
            for (u32 i = 0; i < kBatch; ++i) {
                const u32 piece = piece_of(first + i);
                if (is_own(piece)) {
#pragma unroll
                    for (u32 part = 0; part < kParts; ++part) {
                        values[i][part] =
                            ptx::load_cluster_4(parts[part] + offset_of(piece));
                    }
                }
            }
#pragma unroll
            for (u32 i = 0; i < kBatch; ++i) {
                const u32 piece = piece_of(first + i);
                if (is_own(piece)) {
                    const float4 sum = add(values[i]);
                    ptx::store_async_4(parts[kLeader] + offset_of(piece), sum, summed);
                }
            }
        }
    }

    // This lane's piece of a round.
    JG_DEVICE u32 piece_of(u32 round) const
    {
        return cluster_.part + (round * kPieces + lane() / kLanes) * kParts;
    }
    // Is there one, with something of D?
    JG_DEVICE bool is_own(u32 piece) const
    {
        constexpr bool kWhole = kVectors * kPieces % (kBatch * kPieces * kParts) == 0;
        return (kWhole || piece < kVectors * kPieces) && is_inside(piece / kPieces);
    }
    // Where its accumulators of this lane lie, behind the warp's first.
    static JG_DEVICE u32 offset_of(u32 piece)
    {
        return piece / kPieces * kVectorBytes +
               (piece % kPieces * kLanes + lane() % kLanes) * kThreadBytes;
    }

    static JG_DEVICE float4 add(const float4 (&values)[kParts])
    {
        float4 sum = values[0];
#pragma unroll
        for (u32 part = 1; part < kParts; ++part) {
            sum.x = add_accumulators<A>(sum.x, values[part].x);
            sum.y = add_accumulators<A>(sum.y, values[part].y);
            sum.z = add_accumulators<A>(sum.z, values[part].z);
            sum.w = add_accumulators<A>(sum.w, values[part].w);
        }
        return sum;
    }

    // Vectors are numbered as they lie: step, fragment, group.
    JG_DEVICE bool is_inside(u32 vector) const
    {
        return extent_.is_inside(vector / (kFragments * kGroups), vector % kGroups * 8);
    }
    // Of this thread's.
    JG_DEVICE u32 address_of(u32 step, u32 fragment, u32 group) const
    {
        return own_ + lane() * kThreadBytes +
               ((step * kFragments + fragment) * kGroups + group) * kVectorBytes;
    }

    // What this warp has stored is there.
    JG_DEVICE void tell_all() const
    {
        __syncwarp();
        if (lane() < kParts) {
            ptx::fence_release_shared();
            ptx::mbarrier_arrive_relaxed(&storage_.stored[warp_],
                                         cluster_.rank_of_part(lane()));
        }
    }

    // All CTAs' sums.
    JG_DEVICE void await_sums() const
    {
        if (lane() == 0) {
            u32 vectors = 0;
#pragma unroll 1
            for (u32 i = 0; i < kVectors; ++i) {
                vectors += is_inside(i);
            }
            ptx::mbarrier_arrive_expect_bytes(&storage_.summed[warp_],
                                              vectors * (32 * kThreadBytes));
        }
        Storage::wait(storage_.summed[warp_], 1);
        ptx::fence_acquire_shared();
    }

    // The others may end: their sums have come, for which they had read everything.
    JG_DEVICE void let_go() const
    {
        if (lane() < kLeader) {
            ptx::mbarrier_arrive_relaxed(&storage_.ended[warp_],
                                         cluster_.rank_of_part(lane()));
        }
    }

    Storage &storage_;
    Cluster cluster_;
    u32 warp_;
    AccumulatorExtent<Config, Partition> extent_;
    u32 own_; // address of this warp's first vector
};

} // namespace jg
