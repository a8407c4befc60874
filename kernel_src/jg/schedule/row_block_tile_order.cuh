// SPDX-License-Identifier: MIT
// RowBlockTileOrder: the list of all work of a launch whose rows come in blocks, each of
// the group that its first row's number names (group_rows.cuh). The list is that of a
// matrix of those blocks only that are a group's, one below the other; a batch index is the
// group. So blocks of no group cost nothing, and no role has to leave anything out. Which
// blocks these are is known on the device only: a warp lists them before any role asks.
// Where rows of no group are made 0, their blocks are listed too, as of group kGroups.
//
// A cluster tile has rows of one block, so that CTAs which share a B share the right one.
// Where D is the product's transpose, the rows are the product's columns.
//
// Called by: prepare by one whole warp, then a synchronisation of the CTA; the rest as
// TileOrder.
#pragma once
#include <jg/common/kernel_params.cuh>
#include <jg/schedule/group_rows.cuh>
#include <jg/schedule/k_range.cuh>
#include <jg/schedule/raster.cuh>
#include <jg/schedule/work_item.cuh>

namespace jg {

template <class Config>
class RowBlockTileOrder {
    using Rows = RowBlocks<Config>;
    static constexpr u32 kGroups = Config::kGroups;
    static constexpr u32 kStepM = Config::kBlockM * Config::kClusterM;
    static constexpr u32 kStepN = Config::kBlockN * Config::kClusterN;
    static constexpr u32 kClusterRows = Config::kTransposed ? kStepN : kStepM;
    static constexpr u32 kClusterColumns = Config::kTransposed ? kStepM : kStepN;
    static constexpr u32 kTilesOfBlock = Rows::kRows / kClusterRows;
    // Numbers that a lane asks for at once: each takes as long as the way to L2.
    static constexpr u32 kAhead = 8;
    static constexpr u32 kGroupBits = 13; // of a word, which also has a block
    static_assert(Config::kSplitK == 1, "an entry has all of K");
    static_assert(Rows::kRows % kClusterRows == 0, "the plan lets no tile straddle blocks");
    static_assert(Config::kGroups < 1u << kGroupBits &&
                      Config::kRowBlocks <= 1u << (32 - kGroupBits),
                  "a block and its group fit a word");

    // A block that is a group's, or one to be made 0.
    struct ListedBlock {
        u32 word;

        JG_DEVICE u32 block() const
        {
            return word >> kGroupBits;
        }
        JG_DEVICE u32 group() const
        {
            return word & ((1u << kGroupBits) - 1);
        }
    };

  public:
    struct alignas(16) Storage {
        u32 along; // cluster tiles of all listed blocks, along the rows
        ListedBlock listed[Config::kRowBlocks];
    };
    static constexpr bool kPrepares = true;

    template <class ShapeT, class Cluster>
    JG_DEVICE RowBlockTileOrder(const ShapeT &shape, const Cluster &cluster,
                                Storage &storage)
        : rows_(shape), storage_(storage),
          across_(ceil_div(Config::kTransposed ? shape.m : shape.n, kClusterColumns)),
          cluster_m_(cluster.m), cluster_n_(cluster.n), range_(shape)
    {
    }

    // Lists: a block per lane at a time, in the order of the rows.
    JG_DEVICE void prepare() const
    {
        const u32 lane = threadIdx.x % 32, blocks = rows_.count();
        u32 count = 0;
#pragma unroll 1
        for (u32 first = lane; first < blocks + lane; first += 32 * kAhead) {
            u32 groups[kAhead];
#pragma unroll
            for (u32 i = 0; i < kAhead; ++i) {
                const u32 block = first + 32 * i;
                groups[i] = block < blocks ? group_of(block) : kGroups;
            }
#pragma unroll
            for (u32 i = 0; i < kAhead; ++i) {
                const bool is_listed =
                    clears_rest<Config>() ? first + 32 * i < blocks : groups[i] < kGroups;
                const u32 lanes = __ballot_sync(~0u, is_listed);
                if (is_listed) {
                    storage_.listed[count + __popc(lanes & ((1u << lane) - 1))] =
                        ListedBlock{(first + 32 * i) << kGroupBits | groups[i]};
                }
                count += __popc(lanes);
            }
        }
        __syncwarp();
        if (lane == 0) {
            storage_.along = clusters_along(count);
        }
    }

    JG_DEVICE u32 total() const
    {
        return storage_.along * across_;
    }

    // An entry of the list, as this CTA sees it.
    JG_DEVICE WorkItem item(u32 entry) const
    {
        const u32 along = storage_.along;
        const ClusterTile at =
            cluster_tile<Config>(entry, Config::kTransposed ? across_ : along,
                                 Config::kTransposed ? along : across_);
        const u32 step = Config::kTransposed ? at.n : at.m;
        const ListedBlock listed = storage_.listed[step / kTilesOfBlock];
        const RowRange rows = rows_.of(listed.block());
        const u32 row = rows.begin + step % kTilesOfBlock * kClusterRows;
        const u32 first_m = Config::kTransposed ? at.m * kStepM : row;
        const u32 first_n = Config::kTransposed ? row : at.n * kStepN;
        const KPart part = range_.part(0, listed.group());
        const bool is_rest = clears_rest<Config>() && listed.group() == kGroups;
        // Tiles along the rows are counted with blocks of none; a group's lie apart, so
        // that nothing is reduced over them.
        const u32 row_tile = (row + (Config::kTransposed ? cluster_n_ * Config::kBlockN
                                                         : cluster_m_ * Config::kBlockM)) /
                             (Config::kTransposed ? Config::kBlockN : Config::kBlockM);
        return WorkItem{{first_m + cluster_m_ * Config::kBlockM,
                         first_n + cluster_n_ * Config::kBlockN, listed.group(), 0, entry,
                         rows.end, 0, row_tile},
                        part.first,
                        is_rest ? 0 : part.blocks,
                        true};
    }

    // Of the first `count` listed blocks: the last block of all may be short.
    JG_DEVICE u32 clusters_along(u32 count) const
    {
        if (count == 0) {
            return 0;
        }
        const RowRange last = rows_.of(storage_.listed[count - 1].block());
        return (count - 1) * kTilesOfBlock + ceil_div(last.count(), kClusterRows);
    }

  private:
    // kGroups, or more where it is not listed, of a block of none.
    JG_DEVICE u32 group_of(u32 block) const
    {
        const u32 group = rows_.group(block);
        return clears_rest<Config>() ? min_u32(group, kGroups) : group;
    }

    Rows rows_;
    Storage &storage_;
    u32 across_; // cluster tiles across the rows
    u32 cluster_m_, cluster_n_;
    KRange<Config> range_;
};

} // namespace jg
