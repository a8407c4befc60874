// SPDX-License-Identifier: MIT
// EpilogueFor: which of the two ways out a kernel takes. The plan decides
// (lib/plan/output.c), and Config says it. The unit includes that one's file, that of the
// sums of parts of K where it has those, and that of rows of no group where it clears them.
#pragma once
#include <jg/common/work_tile.cuh>
#include <jg/epilogue/epilogue_load.cuh>
#include <jg/epilogue/partition.cuh>

namespace jg {

template <class Config, class Epilogue, class Partition>
class FragmentEpilogue; // fragment_epilogue.cuh
template <class Config, class Epilogue, class Partition>
class VectorEpilogue; // vector_epilogue.cuh
template <class Config, class Load, class Partition, class Staging>
class ReducingTeam; // reducing_team.cuh
template <class Epilogue, u32 kVectors>
class DrawnNumbers; // drawn_numbers.cuh
template <class Config, class Partition>
class PartialSums; // partial_sums.cuh
template <class Accumulators, class Partials, class Partition>
class SummedAccumulators; // partial_sums.cuh
template <class Config, class Partition, class Cluster>
class ClusterSums; // cluster_sums.cuh
template <class Config, class Partition, class Cluster>
class ClusterShares; // cluster_shares.cuh
template <class Config, class Partition>
class WorkspaceShares; // workspace_shares.cuh
template <class Config, class Partition, u32 kThreads>
class RestRows; // rest_rows.cuh

enum class EpilogueKind { kFragments, kVectors };

// Where nothing is reduced.
struct NoReducingTeam {
    template <class ShapeT>
    JG_DEVICE NoReducingTeam(u64, const ShapeT &, const WorkTile &, const u8 *, u32)
    {
    }
};

// Where no random number is drawn before accumulators are there.
struct NothingDrawn {
    enum : bool { kDraws = false };
    template <class... Place>
    JG_DEVICE void draw(const Place &...) const
    {
    }
    template <class Operands>
    JG_DEVICE void take(u32, Operands &) const
    {
    }
};
struct NothingDrawnAhead {
    template <class... Place>
    JG_DEVICE void draw_ahead(const Place &...) const
    {
    }
};

// Of a way out that reads no vectors before accumulators are there, nor maps: its threads
// store D themselves.
struct NothingReadAhead {
    template <class Params>
    static JG_DEVICE void prefetch_maps(const Params &)
    {
    }
    template <class... Place>
    JG_DEVICE void read_first(const Place &...) const
    {
    }
    template <class... Place>
    JG_DEVICE void read_ahead(const Place &...) const
    {
    }
};

template <class Config, class Epilogue, class Partition>
struct EpilogueFor {
    static_assert(check_partition<Partition>(), "see check_partition");
    using Type = typename Select<Config::kEpilogue == EpilogueKind::kFragments,
                                 FragmentEpilogue<Config, Epilogue, Partition>,
                                 VectorEpilogue<Config, Epilogue, Partition>>::Type;
};

// Where the CTAs of a cluster have parts of K: what adds them up.
template <class Config, class Partition, class Cluster>
struct ClusterSumsFor {
    using Type =
        typename Select<Config::kDividesOutput, ClusterShares<Config, Partition, Cluster>,
                        ClusterSums<Config, Partition, Cluster>>::Type;
};

} // namespace jg
