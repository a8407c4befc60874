// SPDX-License-Identifier: MIT
// The order in which the cluster tiles of a matrix are walked.
#pragma once
#include <jg/common/math.cuh>

namespace jg {

// In cluster tiles.
struct ClusterTile {
    u32 m, n;
};

// Groups of kRasterGroup cluster tiles wide are walked one after the other, so that what
// runs at the same time is nearly square and its inputs stay in L2.
template <class Config>
JG_DEVICE ClusterTile cluster_tile(u32 index, u32 clusters_m, u32 clusters_n)
{
    const u32 across = Config::kRasterAlongM ? clusters_n : clusters_m;
    const u32 along = Config::kRasterAlongM ? clusters_m : clusters_n;
    const u32 group = index / (along * Config::kRasterGroup);
    const u32 in_group = index - group * along * Config::kRasterGroup;
    const u32 width = min_u32(Config::kRasterGroup, across - group * Config::kRasterGroup);
    const u32 step = in_group / width;
    const u32 lane = group * Config::kRasterGroup + in_group - step * width;
    return Config::kRasterAlongM ? ClusterTile{step, lane} : ClusterTile{lane, step};
}

} // namespace jg
