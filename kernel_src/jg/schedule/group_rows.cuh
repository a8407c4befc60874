// SPDX-License-Identifier: MIT
// GroupRows: which rows of A, C and D are a group's, from the launch's numbers, which only
// the device has: int32, one per group. RowBlocks: of which group rows are.
//   kOffsets   the rows of all groups lie one after the other; a number is where the
//              group's end
//   kCounts    each group has shape.m rows, as the matrices of a batch; a number is how
//              many of them, the first ones, it uses
//   kKOffsets  groups lie one after the other along K, in A and B: what is called a row
//              here is an element of K; D is that of a batch. Where K-major matrices come
//              by copies, a number counts as the multiple of Config::kGroupKStep below it,
//              unless all of K ends there
//   kPointers  as kCounts, but that each group has an A, B, C and D of its own
//              (common/group_matrix.cuh); without numbers each has shape.m rows
// No number leads outside the matrices: what is below 0 or above their rows counts as that,
// and a group that ends before it begins is empty. So is one of kOffsets that begins where
// an earlier one has not ended yet (RisingRows): no row is two groups', and all have no
// more tiles, scales and partial results than that many rows can have.
//   kRows      a number per row, which is its group's index. Rows come in blocks, and only
//              the number of a block's first row is read. One that is no group's index
//              makes the block of none: its rows are neither read nor written.
//
// Where Config::kClearRest says so, rows of no group are made 0 in D: lists of work have
// them too, as items without K (epilogue/rest_rows.cuh).
//
// Called by: anybody, when the grid before this one has written the numbers.
#pragma once
#include <jg/common/block_scale.cuh>
#include <jg/common/choices.cuh>
#include <jg/common/math.cuh>

namespace jg {

// Does the list of work have rows of no group?
template <class Config>
constexpr JG_DEVICE bool clears_rest()
{
    if constexpr (Config::kGroups > 0) {
        return Config::kClearRest;
    } else {
        return false;
    }
}

// Are the tiles of a group always neighbours in the list of work? Of blocks of rows they
// are where the plan asks for it: each group's one after the other, in the order of their
// rows.
template <class Config>
constexpr JG_DEVICE bool lists_groups_together()
{
    if constexpr (Config::kGroups == 0) {
        return false;
    } else if constexpr (Config::kGroupBy == GroupBy::kRows) {
        return Config::kBlockOrder == BlockOrder::kSorted;
    } else {
        return true;
    }
}

// Do scales of a group's rows in 128x4 begin where those of the group before end, rounded
// up to whole pieces? Else they do at a piece of their own that follows from the group's
// begin.
template <class Config>
constexpr JG_DEVICE bool pads_scales()
{
    if constexpr (Config::kGroups > 0 && Config::kGroupBy == GroupBy::kOffsets) {
        return Config::kPadsScales;
    } else {
        return false;
    }
}

// What the ends of groups along K are multiples of.
template <class Config>
constexpr JG_DEVICE i32 group_k_step()
{
    if constexpr (Config::kGroupBy == GroupBy::kKOffsets) {
        return Config::kGroupKStep;
    } else {
        return 1;
    }
}

struct RowRange {
    u32 begin, end;

    JG_DEVICE u32 count() const
    {
        return end - begin;
    }
};

// Goes over groups in their order. Where `kRises`, one that begins where an earlier one has
// not ended yet has no rows.
template <bool kRises>
struct RisingRows {
    u32 reached = 0; // where those before end

    JG_DEVICE RowRange next(const RowRange &rows)
    {
        const bool is_early = kRises && rows.begin < reached;
        reached = max_u32(reached, rows.end);
        return RowRange{rows.begin, is_early ? rows.begin : rows.end};
    }

    // The same for the next groups of a warp, of which each lane has so many neighbours, in
    // the order of the lanes. Ranges behind the last group begin where it ends.
    template <u32 kEach>
    JG_DEVICE void next_of_warp(RowRange (&rows)[kEach])
    {
        if constexpr (kRises) {
            const u32 lower = __shfl_up_sync(~0u, rows[kEach - 1].end, 1);
            u32 before = threadIdx.x % 32 > 0 ? lower : reached;
            bool falls = false;
#pragma unroll
            for (u32 i = 0; i < kEach; ++i) {
                falls |= rows[i].begin < before;
                before = rows[i].end;
            }
            u32 end = before; // of all groups up to this lane's
            if (__any_sync(~0u, falls)) {
                end = drop_early(rows);
            }
            reached = __shfl_sync(~0u, end, 31);
        }
    }

  private:
    // Returns where all groups up to this lane's end.
    template <u32 kEach>
    JG_DEVICE u32 drop_early(RowRange (&rows)[kEach]) const
    {
        u32 end = reached;
#pragma unroll
        for (u32 i = 0; i < kEach; ++i) {
            end = max_u32(end, rows[i].end);
        }
#pragma unroll
        for (u32 step = 1; step < 32; step *= 2) {
            end = max_u32(end, __shfl_up_sync(~0u, end, step)); // the lowest have their own
        }
        const u32 before = __shfl_up_sync(~0u, end, 1);
        RisingRows rising{threadIdx.x % 32 > 0 ? before : reached};
#pragma unroll
        for (u32 i = 0; i < kEach; ++i) {
            rows[i] = rising.next(rows[i]);
        }
        return end;
    }
};

template <class Config>
class GroupRows {
    enum : bool {
        kAlongK = Config::kGroupBy == GroupBy::kKOffsets,
        kStacked = kAlongK || Config::kGroupBy == GroupBy::kOffsets,
    };

  public:
    enum : bool { kRises = Config::kGroupBy == GroupBy::kOffsets };
    using Rising = RisingRows<kRises>;

    template <class ShapeT>
    JG_DEVICE explicit GroupRows(const ShapeT &shape)
        : sizes_(reinterpret_cast<const i32 *>(shape.group_sizes)),
          rows_(static_cast<i32>(kAlongK               ? shape.k
                                 : Config::kTransposed ? shape.n
                                                       : shape.m))
    {
    }

    JG_DEVICE RowRange of(u32 group) const
    {
        const u32 end = row(group);
        if (!kStacked || group == 0) {
            return RowRange{0, end};
        }
        return RowRange{min_u32(row(group - 1), end), end};
    }

    // Rows of no group: those below the last one of all where groups are stacked, else
    // those of each group's matrices.
    enum : u32 { kRests = kStacked ? 1 : Config::kGroups };
    JG_DEVICE RowRange rest(u32 i) const
    {
        return RowRange{row(kStacked ? Config::kGroups - 1 : i), static_cast<u32>(rows_)};
    }

    // What added to a row of such a group gives the row of its scales in 128x4: stacked
    // groups have bands of 128 rows of their own. Slow where these are padded.
    JG_DEVICE u32 scale_shift(u32 group, const RowRange &rows) const
    {
        constexpr u32 kBand = ScalePiece::kRows;
        if constexpr (pads_scales<Config>()) {
            Rising rising;
            u32 before = 0;
#pragma unroll 1
            for (u32 i = 0; i < group; ++i) {
                before += padded_rows(rising.next(of(i)));
            }
            return before - rows.begin;
        } else {
            return kStacked ? (rows.begin / kBand + group) * kBand - rows.begin : 0;
        }
    }
    // Rows of scales of a group's rows, in whole pieces.
    static JG_DEVICE u32 padded_rows(const RowRange &rows)
    {
        return ceil_div(rows.count(), ScalePiece::kRows) * ScalePiece::kRows;
    }

    // Is row `at` of matrices of D's rows a group's? That of `batch`, unless groups are
    // stacked; `batch` becomes the group. Slow: one after the other.
    JG_DEVICE bool find(u32 at, u32 &batch) const
    {
        Rising rising;
        for (u32 group = kStacked ? 0 : batch; group < Config::kGroups; ++group) {
            const RowRange rows = rising.next(of(group));
            if (at >= rows.begin && at < rows.end) {
                batch = group;
                return true;
            }
            if (!kStacked) {
                break;
            }
        }
        return false;
    }

  private:
    JG_DEVICE u32 row(u32 group) const
    {
        if constexpr (Config::kGroupBy == GroupBy::kPointers) {
            if (sizes_ == nullptr) {
                return static_cast<u32>(rows_);
            }
        }
        const i32 size = sizes_[group];
        return static_cast<u32>(size < 0        ? 0
                                : size >= rows_ ? rows_
                                                : size & -group_k_step<Config>());
    }

    const i32 *sizes_;
    i32 rows_;
};

// Calls `use` with each group without rows: each of the grid's CTAs with some of them, or
// where launch control gives clusters up before they run, those of the first one, which
// does.
template <class Config, class Order, class Use>
JG_DEVICE void for_each_empty_group(const Order &order, Use use)
{
    constexpr bool kAllRun = Config::kScheduler != SchedulerKind::kClc;
    const u32 ctas = kAllRun ? gridDim.x : Config::kClusterM * Config::kClusterN;
#pragma unroll 1
    for (u32 group = blockIdx.x; group < Config::kGroups && blockIdx.x < ctas;
         group += ctas) {
        if (!order.has_rows(group)) {
            use(group);
        }
    }
}

template <class Config>
class RowBlocks {
  public:
    enum : u32 { kRows = Config::kRowsOfBlock }; // the last one may have fewer

    template <class ShapeT>
    JG_DEVICE explicit RowBlocks(const ShapeT &shape)
        : indices_(reinterpret_cast<const i32 *>(shape.group_sizes)),
          rows_(Config::kTransposed ? shape.n : shape.m)
    {
    }

    JG_DEVICE u32 count() const
    {
        return ceil_div(rows_, kRows);
    }
    JG_DEVICE RowRange of(u32 block) const
    {
        return RowRange{block * kRows, min_u32(block * kRows + kRows, rows_)};
    }
    // The group of a block; kGroups or more: none.
    JG_DEVICE u32 group(u32 block) const
    {
        return static_cast<u32>(indices_[block * kRows]);
    }

    // Is row `at` a group's? `batch` becomes the group.
    JG_DEVICE bool find(u32 at, u32 &batch) const
    {
        batch = group(at / kRows);
        return batch < Config::kGroups;
    }

  private:
    const i32 *indices_;
    u32 rows_;
};

} // namespace jg
