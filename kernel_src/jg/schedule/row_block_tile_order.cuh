// SPDX-License-Identifier: MIT
// RowBlockTileOrder: the list of all work of a launch whose rows come in blocks, each of
// the group that its first row's number names (group_rows.cuh). The list is that of a
// matrix of those blocks only that are a group's, one below the other; a batch index is the
// group. So blocks of no group cost nothing, and no role has to leave anything out. Which
// blocks these are is known on the device only: a warp lists them before any role asks.
// Where rows of no group are made 0, their blocks are listed too, as of group kGroups.
//
// By Config::kBlockOrder the list has each group's blocks one after the other, in the order
// of their rows, and those of none last: kSorted, where results are reduced over a group
// (tiles along the rows are numbered as listed, and each block counts as a whole one), and
// kGathered, so that a group's B is read while it is in L2, however the caller's blocks
// lie. There a list that is in this order already stays, and so does one of which all
// clusters work at once, whose B nobody has to keep.
//
// A cluster tile has rows of one block, so that CTAs which share a B share the right one.
// Where D is the product's transpose, the rows are the product's columns.
//
// Called by: prepare by one whole warp, then a synchronisation of the CTA; the rest as
// TileOrder.
#pragma once
#include <jg/common/kernel_params.cuh>
#include <jg/ptx/shared.cuh>
#include <jg/schedule/group_rows.cuh>
#include <jg/schedule/k_range.cuh>
#include <jg/schedule/raster.cuh>
#include <jg/schedule/work_item.cuh>

namespace jg {

// Of sorted blocks, where each group's end in the list, and those of none.
template <u32 kCount>
struct BlockEnds {
    u32 ends[kCount];
};
template <>
struct BlockEnds<0> {
};

template <class Config>
class RowBlockTileOrder {
    using Rows = RowBlocks<Config>;
    enum : u32 {
        kGroups = Config::kGroups,
        kStepM = Config::kBlockM * Config::kClusterM,
        kStepN = Config::kBlockN * Config::kClusterN,
        kClusterRows = Config::kTransposed ? kStepN : kStepM,
        kClusterColumns = Config::kTransposed ? kStepM : kStepN,
        kTilesOfBlock = Rows::kRows / kClusterRows,
        kTileRows = Config::kTransposed ? Config::kBlockN : Config::kBlockM, // of a CTA
    };
    enum : bool {
        kSorts = Config::kBlockOrder == BlockOrder::kSorted,
        kGathers = Config::kBlockOrder == BlockOrder::kGathered,
        kGridIsList = Config::kScheduler == SchedulerKind::kClc,
    };
    enum : u32 {
        kNone = kGroups,
        kNothing = kGroups + 1,                              // of no group; no block
        kLast = clears_rest<Config>() ? kNone : kGroups - 1, // that is listed
        // Numbers that a lane asks for at once: each takes as long as the way to L2.
        kAhead = 8,
        kSumsAhead = 4, // ... and adds up
    };
    static_assert(Config::kSplitK == 1, "an entry has all of K");
    static_assert(Rows::kRows % kClusterRows == 0, "the plan lets no tile straddle blocks");
    static_assert(Config::kGroups < (1u << 16) - 1 && Config::kRowBlocks <= 1u << 16,
                  "blocks and groups fit 16 bits");

  public:
    struct alignas(16) Storage : BlockEnds<kSorts || kGathers ? kGroups + 1 : 0> {
        u32 along; // cluster tiles of all listed blocks, along the rows
        u16 groups[Config::kRowBlocks]; // of each block, kNone of all that are no group's
        u16 listed[Config::kRowBlocks]; // blocks that are a group's, or to be made 0
    };
    enum : bool { kPrepares = true };

    template <class ShapeT, class Cluster>
    JG_DEVICE RowBlockTileOrder(const ShapeT &shape, const Cluster &cluster,
                                Storage &storage)
        : rows_(shape), storage_(storage),
          across_(ceil_div(Config::kTransposed ? shape.m : shape.n, kClusterColumns)),
          cluster_m_(cluster.m), cluster_n_(cluster.n), range_(shape)
    {
    }

    // Lists.
    JG_DEVICE void prepare() const
    {
        bool is_sorted = true;
        u32 count = kSorts ? read() : list(is_sorted);
        __syncwarp();
        if constexpr (kSorts || kGathers) {
            if (kSorts || (!is_sorted && has_rounds(count))) {
                count = sort();
                __syncwarp();
            }
        }
        if (threadIdx.x % 32 == 0) {
            storage_.along = clusters_along(count);
        }
    }

    // Where blocks are sorted.
    JG_DEVICE bool has_rows(u32 group) const
    {
        return first_of(group) < storage_.ends[group];
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
        const u32 block = storage_.listed[step / kTilesOfBlock];
        const u32 group = storage_.groups[block];
        const RowRange rows = rows_.of(block);
        const u32 row = rows.begin + step % kTilesOfBlock * kClusterRows;
        const u32 first_m = Config::kTransposed ? at.m * kStepM : row;
        const u32 first_n = Config::kTransposed ? row : at.n * kStepN;
        const KPart part = range_.part(0, group);
        const bool is_rest = clears_rest<Config>() && group == kGroups;
        WorkItem item{{first_m + cluster_m_ * Config::kBlockM,
                       first_n + cluster_n_ * Config::kBlockN, group, 0, entry, rows.end},
                      part.first,
                      is_rest ? 0 : part.blocks,
                      true};
        number_rows(item, row, step);
        return item;
    }

    // Of the first `count` listed blocks: the last block of all may be short, which one of
    // many that are sorted need not be the last.
    JG_DEVICE u32 clusters_along(u32 count) const
    {
        if (count == 0 || kSorts) {
            return count * kTilesOfBlock;
        }
        const RowRange last = rows_.of(storage_.listed[count - 1]);
        return (count - 1) * kTilesOfBlock + ceil_div(last.count(), kClusterRows);
    }

  private:
    // Tiles along the rows are counted with blocks of none where a group's lie apart, so
    // that nothing is reduced over them. `step`: cluster tile of the list.
    JG_DEVICE void number_rows(WorkItem &item, u32 row, u32 step) const
    {
        constexpr u32 kOfBlock = Rows::kRows / kTileRows;
        const u32 own = Config::kTransposed ? cluster_n_ : cluster_m_;
        if constexpr (kSorts) {
            const u32 first = first_of(item.batch), end = storage_.ends[item.batch];
            const RowRange last = rows_.of(storage_.listed[end - 1]);
            item.row_tile = step * (kClusterRows / kTileRows) + own;
            item.first_row_tile = first * kOfBlock;
            item.row_tiles =
                (end - first - 1) * kOfBlock + ceil_div(last.count(), kTileRows);
        } else {
            item.row_tile = row / kTileRows + own;
        }
    }

    JG_DEVICE u32 first_of(u32 group) const
    {
        return group > 0 ? storage_.ends[group - 1] : 0;
    }

    // Calls `use` with each block and its group, a block per lane at a time, all lanes
    // together, in the order of the rows; kNothing beyond the last one.
    template <class Use>
    JG_DEVICE void for_each_block(Use use) const
    {
        const u32 lane = threadIdx.x % 32, blocks = rows_.count();
#pragma unroll 1
        for (u32 first = lane; first < blocks + lane; first += 32 * kAhead) {
            u32 groups[kAhead];
#pragma unroll
            for (u32 i = 0; i < kAhead; ++i) {
                const u32 block = first + 32 * i;
                groups[i] = block < blocks ? min_u32(rows_.group(block), kNone) : kNothing;
            }
#pragma unroll
            for (u32 i = 0; i < kAhead; ++i) {
                use(first + 32 * i, groups[i]);
            }
        }
    }

    JG_DEVICE u32 read() const
    {
        for_each_block([&](u32 block, u32 group) {
            if (group <= kNone) {
                storage_.groups[block] = static_cast<u16>(group);
            }
        });
        return rows_.count();
    }

    // In the order of the rows; returns how many. Are they by groups, and those of none
    // last?
    JG_DEVICE u32 list(bool &is_sorted) const
    {
        const u32 lower = (1u << threadIdx.x % 32) - 1;
        u32 count = 0, last = 0;
        bool falls = false;
        for_each_block([&](u32 block, u32 group) {
            const bool is_listed = group <= kLast;
            const u32 lanes = __ballot_sync(~0u, is_listed);
            if (group <= kNone) {
                storage_.groups[block] = static_cast<u16>(group);
            }
            if (is_listed) {
                storage_.listed[count + __popc(lanes & lower)] = static_cast<u16>(block);
            }
            count += __popc(lanes);
            if constexpr (kGathers) {
                const u32 before = __shfl_up_sync(~0u, group, 1);
                falls |= (lower != 0 ? before : last) > group;
                last = __shfl_sync(~0u, group, 31);
            }
        });
        is_sorted = __ballot_sync(~0u, falls) == 0;
        return count;
    }

    // Has a cluster more than one tile of so many blocks?
    JG_DEVICE bool has_rounds(u32 count) const
    {
        constexpr u32 kCtas = Config::kClusterM * Config::kClusterN;
        return kGridIsList || clusters_along(count) * across_ > gridDim.x / kCtas;
    }

    // By groups: counts them, adds up where each one's begin, then places the blocks.
    // Returns how many are listed.
    JG_DEVICE u32 sort() const
    {
        const u32 lane = threadIdx.x % 32, blocks = rows_.count();
        u32 *ends = storage_.ends; // in the end
#pragma unroll 1
        for (u32 group = lane; group <= kNone; group += 32) {
            ends[group] = 0;
        }
        __syncwarp();
#pragma unroll 4
        for (u32 block = lane; block < blocks; block += 32) {
            ptx::count_shared(&ends[storage_.groups[block]]);
        }
        __syncwarp();
        add_up();
        __syncwarp();
#pragma unroll 1
        for (u32 block = lane; block < blocks + lane; block += 32) {
            const u32 group = block < blocks ? storage_.groups[block] : kNothing;
            const u32 place = take(group);
            if (group <= kLast) {
                storage_.listed[place] = static_cast<u16>(block);
            }
        }
        return ends[kLast];
    }

    // Counts become begins.
    JG_DEVICE void add_up() const
    {
        const u32 lane = threadIdx.x % 32;
        u32 before = 0;
#pragma unroll 1
        for (u32 first = lane; first <= kNone + lane; first += 32 * kSumsAhead) {
            u32 own[kSumsAhead], sums[kSumsAhead];
#pragma unroll
            for (u32 i = 0; i < kSumsAhead; ++i) {
                const u32 group = first + 32 * i;
                sums[i] = own[i] = group <= kNone ? storage_.ends[group] : 0;
            }
#pragma unroll
            for (u32 step = 1; step < 32; step *= 2) {
#pragma unroll
                for (u32 i = 0; i < kSumsAhead; ++i) {
                    const u32 before_it = __shfl_up_sync(~0u, sums[i], step);
                    sums[i] += lane >= step ? before_it : 0;
                }
            }
#pragma unroll
            for (u32 i = 0; i < kSumsAhead; ++i) {
                const u32 group = first + 32 * i;
                if (group <= kNone) {
                    storage_.ends[group] = before + sums[i] - own[i];
                }
                before += __shfl_sync(~0u, sums[i], 31);
            }
        }
    }

    // Raises a group's number by the lanes that have it, and returns this lane's: lanes
    // have theirs in their order. Who is alike is found by the bits of a group.
    JG_DEVICE u32 take(u32 group) const
    {
        const u32 lower = (1u << threadIdx.x % 32) - 1;
        u32 alike = ~0u;
#pragma unroll
        for (u32 bit = 1; bit <= kNothing; bit *= 2) {
            const u32 lanes = __ballot_sync(~0u, (group & bit) != 0);
            alike &= (group & bit) != 0 ? lanes : ~lanes;
        }
        const u32 number = group <= kNone ? storage_.ends[group] : 0;
        __syncwarp();
        if (group <= kNone && (alike & lower) == 0) {
            storage_.ends[group] = number + __popc(alike);
        }
        __syncwarp();
        return number + __popc(alike & lower);
    }

    Rows rows_;
    Storage &storage_;
    u32 across_; // cluster tiles across the rows
    u32 cluster_m_, cluster_n_;
    KRange<Config> range_;
};

} // namespace jg
