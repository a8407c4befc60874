// SPDX-License-Identifier: MIT
// TileShare: what a math warpgroup multiplies and writes of a tile of groups.
//
// A warpgroup has two blocks of 64 rows of a tile of 256 (Config::kSharesShort), and
// multiplies one where its group has no rows of the other. Where a group has no more than
// half of a tile's rows (a short tile), both warpgroups have one block of these: sums that
// are added up in registers take a warpgroup as long for two blocks however many the other
// one has. The first one's begins where it always does, the second one's behind it. All
// that writes D finds its rows from the tile's, so the second one has a tile that begins
// earlier; its first row may be below 0, that is, wrap around, and no row that is read or
// written does.
//
// Called by the math warpgroups; nothing waits.
#pragma once
#include <jg/common/math.cuh>
#include <jg/schedule/work_item.cuh>
#include <jg/sm90a/epilogue_partition.cuh>

namespace jg::sm90a {

template <class Config>
constexpr JG_DEVICE bool shares_short()
{
    if constexpr (Config::kGroups > 0 && Config::kGroupBy != GroupBy::kRows) {
        return Config::kSharesShort;
    } else {
        return false;
    }
}

template <class Config, bool = shares_short<Config>()>
struct TileShare {
    const WorkItem &item;
    u32 first_row; // of the tile, that the warpgroup multiplies

    JG_DEVICE TileShare(const WorkItem &whole, u32 consumer)
        : item(whole), first_row(MmaPartition<Config>::first_row(consumer))
    {
    }
    // Has the group no rows of the warpgroup's second block?
    JG_DEVICE bool has_one_block() const
    {
        return false;
    }
};

template <class Config>
struct TileShare<Config, true> {
    enum : u32 { kRows = 64, kHalf = 2 * kRows };
    static_assert(Config::kPromotesSums && MmaPartition<Config>::kSplitRows &&
                      Config::kBlockM == 2 * kHalf && !Config::kGateInA,
                  "two blocks of rows for each of two warpgroups");

    WorkItem item;
    u32 first_row;

    JG_DEVICE TileShare(const WorkItem &whole, u32 consumer)
        : item(whole), first_row(MmaPartition<Config>::first_row(consumer))
    {
        if (whole.group_end - whole.row <= kHalf) {
            const u32 before = consumer * kRows;
            item.row -= before;
            item.group_end = min_u32(whole.group_end, whole.row + before + kRows);
            first_row -= before;
        }
        has_one_block_ =
            item.group_end - item.row <= MmaPartition<Config>::first_row(consumer) + kRows;
    }
    JG_DEVICE bool has_one_block() const
    {
        return has_one_block_;
    }

  private:
    bool has_one_block_;
};

} // namespace jg::sm90a
