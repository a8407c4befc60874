// SPDX-License-Identifier: MIT
// ClusterShares: a tile's sum over K, made by the CTAs of a cluster that each multiply one
// part of K, where each of them writes its share of D (Config::kDividesOutput).
//
// Every CTA stores its accumulators as VectorEpilogue stages them, step by step. A line is
// a row of a step of a warp. Of units of a line, or of two where these are short, CTA r
// adds up number r, r + kParts, ... of all parts, always in the order of K, straight into
// the vectors of D that it then computes and stores. So the sum has the bits of ClusterSums
// (cluster_sums.cuh), but none travels to one CTA whose epilogue all others would wait for.
// Lines beyond the problem are not moved; as each CTA's lie among the others', all have as
// many of those that are.
//
// A line that is one warp's own was put where it is by the warp of the same number of each
// CTA. So a warp waits for the warps of its number only, by two mbarriers of its own, each
// of which completes once: all have stored; all have read, so that the CTA may end.
//
// Called by all warps that hold accumulators, add_up once in a CTA's life, because nothing
// is stored a second time, then by VectorEpilogue, which loads, and leave at the end.
// Before use: init_barriers by one thread, then a synchronisation of the cluster.
#pragma once
#include <jg/epilogue/accumulator.cuh>
#include <jg/epilogue/cluster_sums_storage.cuh>
#include <jg/epilogue/staging.cuh>
#include <jg/ptx/shared.cuh>

namespace jg {

template <class Config, class Partition, class Cluster>
class ClusterShares {
    using A = typename Config::A;
    using Staging = typename StagingBufferFor<Partition>::Type;
    enum : u32 {
        kParts = Cluster::kParts,
        kWarps = 4 * Partition::kWarpgroups,
        kStepsAcross = (Partition::kCols + Partition::kStepCols - 1) / Partition::kStepCols,
        kStepsDown = (Partition::kRows + Partition::kStepRows - 1) / Partition::kStepRows,
        kSteps = kStepsAcross * kStepsDown,
        kWarpBytes = kSteps * Staging::kBytes,
    };

  public:
    using Storage = ClusterSumsStorage<Config, kWarps>;
    // Rows that lie in 128 bytes, which one CTA has.
    enum : u32 {
        kUnitRows = Partition::kTransposed && Partition::kWarpCols < 32
                        ? 32 / Partition::kWarpCols
                        : 1,
        kLines = kSteps * Partition::kWarpRows, // of a warp
        // Of them, of a CTA at most.
        kShare = (kLines + kUnitRows * kParts - 1) / (kUnitRows * kParts) * kUnitRows,
    };

    static JG_DEVICE void init_barriers(Storage &storage)
    {
        static_assert(Storage::kSumsBytes == kWarps * kWarpBytes, "lines of a tile");
        for (u32 i = 0; i < kWarps; ++i) {
            ptx::mbarrier_init(&storage.stored[i], kParts);
            ptx::mbarrier_init(&storage.ended[i], kParts);
        }
    }

    // `ring`: the input tiles, which all warps of the CTA have used; `warp`: this one's
    // number among those that hold accumulators.
    template <class Ring, class ShapeT>
    JG_DEVICE ClusterShares(Storage &storage, Ring &ring, const Cluster &cluster,
                            const ShapeT &, const WorkTile &, u32, u32 warp)
        : storage_(storage), cluster_(cluster), warp_(warp),
          memory_(storage.sums.place(ring) + warp * kWarpBytes)
    {
        static_assert(kParts <= 32, "a lane arrives in each CTA");
    }

    // Stores this part's accumulators, and waits until all parts' are there. Has this CTA
    // sums to write? Each has its share.
    template <class Accumulators>
    JG_DEVICE bool add_up(const Accumulators &acc) const
    {
        static_assert(Config::kScheduler == SchedulerKind::kSingle, "a CTA adds up once");
#pragma unroll(Accumulators::kIndexed ? 1 : kSteps)
        for (u32 step = 0; step < kSteps; ++step) {
            acc.copy_step(Staging(memory_ + step * Staging::kBytes), step);
        }
        tell_all();
        Storage::wait(storage_.stored[warp_], 0);
        ptx::fence_acquire_shared();
        return true;
    }

    // Sums of a step's accumulators, as a staging buffer is read, by all lanes of a warp.
    class Step {
      public:
        // `exists`: the vector is stored, or nothing is moved.
        JG_DEVICE Step(const ClusterShares &shares, u32 step, bool exists)
            : shares_(shares), first_(step * Staging::kBytes), exists_(exists)
        {
        }

        // Requests of a warp have whole lines of 128 bytes: lanes that are 4 apart read
        // both chunks of the lower one's vector together, then of the upper one's, and
        // exchange the sums.
        JG_DEVICE void load(u32 row, u32 vector, f32 (&values)[8]) const
        {
            const bool is_upper = threadIdx.x % 8 >= 4;
            const u32 own =
                exists_ ? Staging(shares_.memory_ + first_).address_of(row, 2 * vector)
                        : kNowhere;
            const u32 other = __shfl_xor_sync(0xffffffff, own, 4);
            const u32 lower = is_upper ? other : own, upper = is_upper ? own : other;
            float4 sums[2];
            add_chunks(lower, upper, is_upper ? 16 : 0, sums);
            const float4 kept = is_upper ? sums[1] : sums[0];
            const float4 sent = is_upper ? sums[0] : sums[1];
            const float4 taken = {__shfl_xor_sync(0xffffffff, sent.x, 4),
                                  __shfl_xor_sync(0xffffffff, sent.y, 4),
                                  __shfl_xor_sync(0xffffffff, sent.z, 4),
                                  __shfl_xor_sync(0xffffffff, sent.w, 4)};
            put(is_upper ? taken : kept, values);
            put(is_upper ? kept : taken, values + 4);
        }

      private:
        enum : u32 { kNowhere = ~0u };

        static JG_DEVICE void put(const float4 &from, f32 *to)
        {
            to[0] = from.x, to[1] = from.y, to[2] = from.z, to[3] = from.w;
        }

        // Of a chunk of each of two vectors, in the order of K.
        static JG_DEVICE float4 load_part(u32 address, u32 chunk, u32 rank)
        {
            return address == kNowhere ? float4{0.0f, 0.0f, 0.0f, 0.0f}
                                       : ptx::load_cluster_4(ptx::address_in_cluster(
                                             address ^ chunk, rank));
        }
        JG_DEVICE void add_chunks(u32 lower, u32 upper, u32 chunk, float4 (&sums)[2]) const
        {
            float4 parts[kParts][2];
#pragma unroll
            for (u32 i = 0; i < kParts; ++i) {
                const u32 rank = shares_.cluster_.rank_of_part(i);
                parts[i][0] = load_part(lower, chunk, rank);
                parts[i][1] = load_part(upper, chunk, rank);
            }
            sums[0] = parts[0][0];
            sums[1] = parts[0][1];
#pragma unroll
            for (u32 i = 1; i < kParts; ++i) {
                sums[0] = add(sums[0], parts[i][0]);
                sums[1] = add(sums[1], parts[i][1]);
            }
        }

        friend ClusterShares;
        const ClusterShares &shares_;
        u32 first_; // byte of the warp's
        bool exists_;
    };

    // Before the CTA ends: its memory is not read any more.
    static JG_DEVICE void leave(Storage &storage, const Cluster &, u32 warp)
    {
        Storage::wait(storage.ended[warp], 2);
    }

    // The number of lane group `group`'s line, which has one of the warp's vectors each, of
    // those of this CTA.
    JG_DEVICE u32 line(u32 group) const
    {
        return (group / kUnitRows * kParts + cluster_.part) * kUnitRows + group % kUnitRows;
    }

    // Where a thread is in a line, as VectorEpilogue asks for it; lines of kAcross vectors.
    template <class CoordT, class D, u32 kAcross>
    struct Cursor {
        CoordT coord;
        D *target;
        Step staged;
        u32 in_step; // row
        bool is_last;

        JG_DEVICE u32 row() const
        {
            return in_step;
        }
        JG_DEVICE u32 vector() const
        {
            return threadIdx.x % kAcross;
        }
        JG_DEVICE void end_vector() const
        {
            if (is_last) {
                staged.shares_.let_go();
            }
        }
    };

  private:
    // This warp has read all that it reads, for it is stored. Not before: the arrival waits
    // for no load in flight, and the CTA that is read would end (a release of the cluster
    // does, and took 3 percent of a launch).
    JG_DEVICE void let_go() const
    {
        const u32 lane = threadIdx.x % 32;
        __syncwarp();
        if (lane < kParts) {
            ptx::mbarrier_arrive_relaxed(&storage_.ended[warp_],
                                         cluster_.rank_of_part(lane));
        }
    }

    static JG_DEVICE float4 add(const float4 &a, const float4 &b)
    {
        return {add_accumulators<A>(a.x, b.x), add_accumulators<A>(a.y, b.y),
                add_accumulators<A>(a.z, b.z), add_accumulators<A>(a.w, b.w)};
    }

    // What this warp has stored is there.
    JG_DEVICE void tell_all() const
    {
        const u32 lane = threadIdx.x % 32;
        __syncwarp();
        if (lane < kParts) {
            ptx::fence_release_shared();
            ptx::mbarrier_arrive_relaxed(&storage_.stored[warp_],
                                         cluster_.rank_of_part(lane));
        }
    }

    Storage &storage_;
    Cluster cluster_;
    u32 warp_;
    u8 *memory_; // this warp's first line
};

} // namespace jg
