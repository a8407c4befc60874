// SPDX-License-Identifier: MIT
// TileOrder: the list of all work of a launch: the order of the cluster tiles, which tile
// of one is this CTA's, and which part of K. Who works on which entry, and when, is the
// scheduler's (scheduler_for.cuh).
//
// Where K is split, the list has kWorkspaceParts entries per cluster tile, one after the
// other in the order of K, and an entry may wait for those before it of the same tile
// (epilogue/partial_sums.cuh). No wait lasts for ever:
// - The grid has a multiple of as many clusters (lib/runtime/launch.c). So a cluster has
//   the same part of K in each of its tiles, and waits for neighbours of lower indices
//   only, never for itself or a higher one.
// - The hardware starts clusters in the order of their indices. So when a cluster runs, all
//   that it waits for, directly or through others, run or have ended, however few clusters
//   the device holds at a time and whatever else it executes.
// - The lowest cluster that has not ended waits for nobody.
// The other schedulers have one cluster per entry. Launch control hands entries out to
// clusters that run, in the order in which clusters would have started. So the lowest entry
// that is not done belongs to a cluster that runs and has nothing before it to do, and
// waits for nobody.
//
// With Config::kSplitTail only the tiles beyond whole waves of so many are split: as many
// as the number of all leaves over. Their parts are the first entries of the list, in the
// order of K as above, and the whole tiles come behind them: what is added up has been
// stored when a cluster begins with its next tile, and nothing of it shows at the end. A
// grid that strides has a multiple of the parts of a tile here, too, or clusters for all
// parts at once: then each has at most one, its first entry, and waits for lower clusters.
//
// Where the CTAs of a cluster have parts (Config::kClusterParts), an entry has as many of
// them, and its CTAs, which run at the same time, wait for each other
// (epilogue/cluster_sums.cuh).
//
// Every role of every CTA of a cluster finds the same items, so nothing else is
// communicated. A cluster may hang over the edge of the problem; its outer CTAs then work
// on tiles that do not exist, load zeros, and store nothing, because their neighbours need
// their copies and arrivals.
#pragma once
#include <jg/common/cluster_shape.cuh>
#include <jg/common/kernel_params.cuh>
#include <jg/common/math.cuh>
#include <jg/schedule/k_range.cuh>
#include <jg/schedule/raster.cuh>
#include <jg/schedule/work_item.cuh>

namespace jg {

template <class Config>
class TileOrder {
    enum : u32 {
        kEntries = kWorkspaceParts<Config>, // of a cluster tile
        kWave = SplitTail<Config>::kWave,
    };
    static_assert(kWave == 0 || ClusterParts<Config>::kCount == 1,
                  "a cluster of parts has no whole tiles");

  public:
    struct Storage {};
    enum : bool { kPrepares = false };

    template <class ShapeT, class Cluster>
    JG_DEVICE TileOrder(const ShapeT &shape, const Cluster &cluster, Storage &)
        : clusters_m_(ceil_div(shape.m, Config::kBlockM * Config::kClusterM)),
          clusters_n_(ceil_div(shape.n, Config::kBlockN * Config::kClusterN)),
          split_(count_split(clusters_m_ * clusters_n_ * shape.batch)),
          total_(clusters_m_ * clusters_n_ * shape.batch + split_ * (kEntries - 1)),
          cluster_m_(cluster.m), cluster_n_(cluster.n), cluster_part_(cluster.part),
          range_(shape)
    {
    }

    // An entry of the list, as this CTA sees it.
    JG_DEVICE WorkItem item(u32 entry) const
    {
        if constexpr (kWave > 0) {
            if (entry >= split_ * kEntries) {
                return whole_item(entry - split_ * (kEntries - 1));
            }
        }
        const WorkTile tile = tile_of(entry / kEntries, entry % kEntries);
        const KPart part = range_.part(tile.split, tile.batch);
        return WorkItem{tile, part.first, part.blocks, tile.split + 1 == Config::kSplitK,
                        part.end};
    }

    JG_DEVICE u32 total() const
    {
        return total_;
    }
    JG_DEVICE void prepare() const {}

  private:
    // Of so many cluster tiles.
    static JG_DEVICE u32 count_split(u32 tiles)
    {
        if constexpr (kWave > 0) {
            return tiles % kWave;
        }
        return tiles;
    }

    // A cluster tile that has no parts, though others have.
    JG_DEVICE WorkItem whole_item(u32 index) const
    {
        const KPart all = range_.whole();
        WorkItem item{tile_of(index, 0), all.first, all.blocks, true};
        item.is_whole = true;
        return item;
    }

    JG_DEVICE WorkTile tile_of(u32 index, u32 part) const
    {
        const u32 per_batch = clusters_m_ * clusters_n_;
        const u32 batch = index / per_batch;
        const ClusterTile at =
            cluster_tile<Config>(index - batch * per_batch, clusters_m_, clusters_n_);
        const u32 m = at.m * Config::kClusterM + cluster_m_;
        const u32 n = at.n * Config::kClusterN + cluster_n_;
        return WorkTile{m * Config::kBlockM, n * Config::kBlockN, batch,
                        part * ClusterParts<Config>::kCount + cluster_part_,
                        (index * Config::kClusterN + cluster_n_) * Config::kClusterM +
                            cluster_m_};
    }

    u32 clusters_m_, clusters_n_;
    u32 split_; // cluster tiles that have parts
    u32 total_;
    u32 cluster_m_, cluster_n_, cluster_part_;
    KRange<Config> range_;
};

} // namespace jg
