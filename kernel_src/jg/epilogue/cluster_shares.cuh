// SPDX-License-Identifier: MIT
// ClusterShares: a tile's sum over K, made by the CTAs of a cluster that each multiply one
// part of K, where each of them writes its share of D (Config::kDividesOutput).
//
// CTA r has share r of the lines (tile_shares.cuh), and adds them up straight into the
// vectors of D that it then computes and stores. So the sum has the bits of ClusterSums
// (cluster_sums.cuh), but none travels to one CTA whose epilogue all others would wait for.
//
// A line that is one warp's own was put where it is by the warp of the same number of each
// CTA. So a warp waits for the warps of its number only, by two mbarriers of its own, each
// of which completes once: all have stored; all have read, so that the CTA may end.
//
// Called by all warps that hold accumulators, add_up once in a CTA's life, because nothing
// is stored a second time, then by VectorEpilogue, which loads, and leave at the end.
// Before use: init_barriers by one thread, then a synchronisation of the cluster.
#pragma once
#include <jg/epilogue/cluster_sums_storage.cuh>
#include <jg/epilogue/tile_shares.cuh>
#include <jg/ptx/shared.cuh>

namespace jg {

template <class Config, class Partition, class Cluster>
class ClusterShares
    : public TileShares<Config, Partition, Cluster::kParts, Cluster::kParts> {
    using Shares = TileShares<Config, Partition, Cluster::kParts, Cluster::kParts>;
    enum : u32 { kParts = Cluster::kParts };
    enum : u32 { kWarps = 4 * Partition::kWarpgroups };

  public:
    using Storage = ClusterSumsStorage<Config, kWarps>;
    using Step = typename Shares::template Step<ClusterShares, 1>;
    template <class CoordT, class D>
    using Cursor = typename Shares::template Cursor<ClusterShares, 1, CoordT, D>;

    static JG_DEVICE void init_barriers(Storage &storage)
    {
        static_assert(Storage::kSumsBytes == kWarps * Shares::kWarpBytes,
                      "lines of a tile");
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
          memory_(storage.sums.place(ring) + warp * Shares::kWarpBytes)
    {
        static_assert(kParts <= 32, "a lane arrives in each CTA");
    }

    // Stores this part's accumulators, and waits until all parts' are there. Has this CTA
    // sums to write? Each has its share.
    template <class Accumulators>
    JG_DEVICE bool add_up(const Accumulators &acc) const
    {
        static_assert(Config::kScheduler == SchedulerKind::kSingle, "a CTA adds up once");
        Shares::stage(acc, memory_, [](u32) {});
        tell_all();
        Storage::wait(storage_.stored[warp_], 0);
        ptx::fence_acquire_shared();
        return true;
    }

    // What Step asks for.
    JG_DEVICE const u8 *memory() const
    {
        return memory_;
    }
    JG_DEVICE void load_part(u32 address, u32 part, f32 (&values)[4]) const
    {
        const float4 v = ptx::load_cluster_4(
            ptx::address_in_cluster(address, cluster_.rank_of_part(part)));
        values[0] = v.x, values[1] = v.y, values[2] = v.z, values[3] = v.w;
    }

    // Before the CTA ends: its memory is not read any more.
    static JG_DEVICE void leave(Storage &storage, const Cluster &, u32 warp)
    {
        Storage::wait(storage.ended[warp], 2);
    }

    // The number of lane group `group`'s line.
    JG_DEVICE u32 line(u32 group) const
    {
        return Shares::line(group, cluster_.part);
    }

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

  private:
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
