// SPDX-License-Identifier: MIT
// ClusterSumsStorage: the shared memory of ClusterSums (cluster_sums.cuh); nothing where
// the CTAs of a cluster do not share a tile's K.
#pragma once
#include <jg/common/cluster_shape.cuh>

namespace jg {

// Of a CTA with kWarps warps that hold accumulators.
template <class Config, u32 kWarps, u32 kParts = ClusterParts<Config>::kCount>
struct ClusterSumsStorage {
    alignas(16) u8 sums[Config::kBlockM * Config::kBlockN * sizeof(f32)];
    u64 stored[kWarps], added[kWarps], read[kWarps];
};
template <class Config, u32 kWarps>
struct ClusterSumsStorage<Config, kWarps, 1> {
};

} // namespace jg
