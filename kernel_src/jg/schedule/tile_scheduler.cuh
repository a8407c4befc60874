// SPDX-License-Identifier: MIT
// TileScheduler: the order of the cluster tiles, and which tile of one is this CTA's.
// WorkIterator: one role's walk through them, static and persistent: a cluster takes every
// `clusters of the grid`-th cluster tile. SingleWorkIterator: a walk of one tile, without a
// loop. (Other walks: scheduler_for.cuh.)
//
// Where K is split, the list has kSplitK entries a cluster tile, one after the other in the
// order of K, and an entry may wait for the one before it, which has the same tile
// (epilogue/partial_sums.cuh). No wait lasts for ever:
// - The grid has a multiple of kSplitK clusters (lib/runtime/launch.c). So a cluster has
//   the same part of K in each of its tiles, and waits for its neighbour of the next lower
//   index alone, never for itself or a higher one.
// - The hardware starts clusters in the order of their indices. So when a cluster runs, all
//   that it waits for, directly or through others, run or have ended, however few clusters
//   the device holds at a time and whatever else it executes.
// - The lowest cluster that has not ended waits for nobody.
// The other walks have a cluster an entry. Launch control hands entries out to clusters
// that run, in the order in which clusters would have started. So the lowest entry that is
// not done belongs to a cluster that runs and has nothing before it to do, and waits for
// nobody.
//
// Every role of every CTA of a cluster makes the same walk, so nothing is communicated. A
// cluster may hang over the edge of the problem; its outer CTAs then work on tiles that do
// not exist, load zeros, and store nothing, because their neighbours need their copies and
// arrivals.
#pragma once
#include <jg/common/kernel_params.cuh>
#include <jg/common/math.cuh>
#include <jg/common/work_tile.cuh>

namespace jg {

template <class Config>
class TileScheduler {
  public:
    template <class ShapeT, class Cluster>
    JG_DEVICE TileScheduler(const ShapeT &shape, const Cluster &cluster)
        : clusters_m_(ceil_div(shape.m, Config::kBlockM * Config::kClusterM)),
          clusters_n_(ceil_div(shape.n, Config::kBlockN * Config::kClusterN)),
          total_(clusters_m_ * clusters_n_ * shape.batch * Config::kSplitK),
          cluster_m_(cluster.m), cluster_n_(cluster.n)
    {
    }

    // The entry of the list with this index, as this CTA sees it. Groups of kRasterGroup
    // cluster tiles wide are walked one after the other, so that what runs at the same time
    // is nearly square and its inputs stay in L2.
    JG_DEVICE WorkTile tile(u32 entry) const
    {
        const u32 index = entry / Config::kSplitK;
        const u32 per_batch = clusters_m_ * clusters_n_;
        const u32 batch = index / per_batch;
        const u32 in_batch = index - batch * per_batch;
        const u32 across = Config::kRasterAlongM ? clusters_n_ : clusters_m_;
        const u32 along = Config::kRasterAlongM ? clusters_m_ : clusters_n_;
        const u32 group = in_batch / (along * Config::kRasterGroup);
        const u32 in_group = in_batch - group * along * Config::kRasterGroup;
        const u32 width =
            min_u32(Config::kRasterGroup, across - group * Config::kRasterGroup);
        const u32 step = in_group / width;
        const u32 lane = group * Config::kRasterGroup + in_group - step * width;
        const u32 m =
            (Config::kRasterAlongM ? step : lane) * Config::kClusterM + cluster_m_;
        const u32 n =
            (Config::kRasterAlongM ? lane : step) * Config::kClusterN + cluster_n_;
        return WorkTile{m * Config::kBlockM, n * Config::kBlockN, batch,
                        entry - index * Config::kSplitK,
                        (index * Config::kClusterN + cluster_n_) * Config::kClusterM +
                            cluster_m_};
    }

    JG_DEVICE u32 total() const
    {
        return total_;
    }

  private:
    u32 clusters_m_, clusters_n_, total_;
    u32 cluster_m_, cluster_n_;
};

template <class Scheduler, u32 kClusterSize>
class WorkIterator {
  public:
    JG_DEVICE explicit WorkIterator(const Scheduler &scheduler)
        : scheduler_(scheduler), index_(blockIdx.x / kClusterSize)
    {
    }

    JG_DEVICE bool has_work() const
    {
        return index_ < scheduler_.total();
    }

    // The current tile; the walk advances.
    JG_DEVICE WorkTile next()
    {
        const WorkTile tile = scheduler_.tile(index_);
        index_ += gridDim.x / kClusterSize;
        return tile;
    }

  private:
    const Scheduler &scheduler_;
    u32 index_;
};

// Where the grid has a cluster a tile.
template <class Scheduler, u32 kClusterSize>
class SingleWorkIterator {
  public:
    JG_DEVICE explicit SingleWorkIterator(const Scheduler &scheduler)
        : scheduler_(scheduler)
    {
    }

    JG_DEVICE bool has_work() const
    {
        return !taken_;
    }
    JG_DEVICE WorkTile next()
    {
        taken_ = true;
        return scheduler_.tile(blockIdx.x / kClusterSize);
    }

  private:
    const Scheduler &scheduler_;
    bool taken_ = false;
};

} // namespace jg
