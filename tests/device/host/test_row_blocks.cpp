// SPDX-License-Identifier: MIT
// The order of the tiles where rows name their groups: which block is whose, and who works
// on which tile. The list of blocks is filled in here; a warp makes it on the device.
#include <map>

#include "modules.h"

namespace {

using jg::BlockOrder;
using jg::GroupBy;
using jg::RowRange;

constexpr u32 kGroupCount = 5, kBlock = 128;

struct RowsSize {
    u32 m, n, k, batch;
    u64 group_sizes;
};

template <u32 kTileRows, bool kColumns, u32 kAlongRows, u32 kAcrossRows, bool kAlongM,
          u32 kTileCols = 16, bool kClears = false, BlockOrder kOrder = BlockOrder::kByRow>
struct RowsConfig
    : OrderConfig<kColumns ? kTileCols : kTileRows, kColumns ? kTileRows : kTileCols,
                  kColumns ? kAcrossRows : kAlongRows, kColumns ? kAlongRows : kAcrossRows,
                  2, kAlongM, 1> {
    static constexpr u32 kGroups = kGroupCount, kRowBlocks = 16, kRowsOfBlock = 128;
    static constexpr GroupBy kGroupBy = GroupBy::kRows;
    static constexpr bool kTransposed = kColumns, kClearRest = kClears;
    static constexpr BlockOrder kBlockOrder = kOrder;
    static constexpr bool kSortsBlocks = kOrder != BlockOrder::kByRow;
    // In rows and columns of D.
    static constexpr u32 kRowsOfTile = kTileRows, kColsOfTile = kTileCols;
};

template <class Config>
class Check {
    using Cluster = jg::ClusterShape<Config::kClusterM, Config::kClusterN>;
    using Scheduler = jg::StaticScheduler<Config, Cluster, jg::StaticIterator>;
    using Order = jg::RowBlockTileOrder<Config>;

  public:
    // `groups`: of each block, as the launch has it.
    Check(const std::vector<i32> &groups, u32 rows, u32 across)
        : groups_(groups), rows_(rows), across_(across), indices_(rows, 1)
    {
        constexpr u32 kClusterRows =
            Config::kRowsOfTile *
            (Config::kTransposed ? Config::kClusterN : Config::kClusterM);
        u32 count = 0, last = 0;
        for (u32 block = 0; block < groups.size(); ++block) {
            indices_[block * kBlock] = groups[block];
        }
        // Sorted, in as many rounds as there are groups, and one more.
        for (u32 round = 0; round < (Config::kSortsBlocks ? kGroupCount + 1 : 1); ++round) {
            for (u32 block = 0; block < groups.size(); ++block) {
                const u32 group = is_group(groups[block]) ? groups[block] : kGroupCount;
                if (!is_listed(groups[block]) || (Config::kSortsBlocks && group != round)) {
                    continue;
                }
                storage_.groups[block] = static_cast<jg::u16>(group);
                storage_.listed[count++] = static_cast<jg::u16>(block);
                // Those before the last one count as whole ones.
                last = jg::ceil_div(std::min(kBlock, rows - block * kBlock), kClusterRows);
            }
            if constexpr (Config::kSortsBlocks) {
                storage_.ends[round] = count;
            }
        }
        constexpr bool kWhole = Config::kBlockOrder == BlockOrder::kSorted;
        const u32 along = count == 0 ? 0
                          : kWhole   ? count * (kBlock / kClusterRows)
                                     : (count - 1) * (kBlock / kClusterRows) + last;
        storage_.along = Order(size(), Cluster(0), storage_).clusters_along(count);
        EXPECT(storage_.along == along, "%u cluster tiles, not %u", storage_.along, along);
    }

    // Every tile of every block of a group, or of every block, once, over the CTAs of so
    // many clusters, and no other.
    void run(u32 clusters)
    {
        const u32 ctas = Cluster::kSize;
        gridDim.x = clusters * ctas;
        for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) {
            const Scheduler scheduler(size(), Cluster(blockIdx.x % ctas), storage_);
            for (auto work = scheduler.load_iterator(); work.has_work();) {
                note(work.next());
            }
        }
        blockIdx.x = 0;
        u32 expected = 0;
        for (u32 row = 0; row < rows_; row += Config::kRowsOfTile) {
            for (u32 col = 0; col < across_; col += Config::kColsOfTile) {
                const i32 group = groups_[row / kBlock];
                const u32 wanted = is_listed(group) ? 1 : 0;
                const u32 count = found_[{row, col}];
                EXPECT(count == wanted, "row %u, column %u of group %d: %u", row, col,
                       group, count);
                expected += wanted;
            }
        }
        EXPECT(inside_ == expected, "%u tiles, not %u", inside_, expected);
    }

  private:
    static bool is_group(i32 group)
    {
        return group >= 0 && group < static_cast<i32>(kGroupCount);
    }
    static bool is_listed(i32 group)
    {
        return Config::kClearRest || is_group(group);
    }
    RowsSize size() const
    {
        return {Config::kTransposed ? across_ : rows_,
                Config::kTransposed ? rows_ : across_, 64, Config::kGroups,
                reinterpret_cast<u64>(indices_.data())};
    }
    void note(const WorkItem &item)
    {
        const u32 row = Config::kTransposed ? item.col : item.row;
        const u32 col = Config::kTransposed ? item.row : item.col;
        if (row >= rows_ || col >= across_) {
            return; // a CTA of a cluster that hangs over the edge
        }
        const u32 begin = row / kBlock * kBlock;
        const u32 end = std::min(begin + kBlock, rows_);
        EXPECT(item.group_end == end && item.scale_shift == 0 && item.is_last_split,
               "a tile at row %u ends at %u, not %u", row, item.group_end, end);
        const i32 group = groups_[row / kBlock];
        EXPECT(is_group(group) ? static_cast<i32>(item.batch) == group && item.k_blocks > 0
                               : item.k_blocks == 0,
               "row %u is of group %d, not %u", row, group, item.batch);
        ++found_[{row, col}];
        ++inside_;
        if constexpr (Config::kBlockOrder == BlockOrder::kSorted) {
            note_row_tile(item, row);
        }
    }

    // Tiles of a group along the rows have numbers of their own, one after the other in the
    // order of the rows, and every one of them knows how many there are.
    void note_row_tile(const WorkItem &item, u32 row)
    {
        u32 before = 0, all = 0;
        for (u32 at = 0; at < rows_; at += Config::kRowsOfTile) {
            const bool is_own = groups_[at / kBlock] == groups_[row / kBlock];
            before += is_own && at < row ? 1 : 0;
            all += is_own ? 1 : 0;
        }
        const auto known = row_tiles_.emplace(item.row_tile, row);
        const i32 group = groups_[row / kBlock];
        EXPECT(!is_group(group) || (known.first->second == row && item.row_tiles == all &&
                                    item.row_tile - item.first_row_tile == before),
               "row %u of group %d: tile %u from %u on, of %u, is number %u of %u", row,
               group, item.row_tile, item.first_row_tile, item.row_tiles, before, all);
    }

    const std::vector<i32> &groups_;
    u32 rows_, across_, inside_ = 0;
    std::vector<i32> indices_;
    typename Scheduler::Storage storage_;
    std::map<std::pair<u32, u32>, u32> found_;
    std::map<u32, u32> row_tiles_;
};

template <u32 kTileRows, bool kColumns, u32 kAlongRows, u32 kAcrossRows, bool kAlongM>
void check_all(const std::vector<i32> &groups, u32 rows)
{
    using Config = RowsConfig<kTileRows, kColumns, kAlongRows, kAcrossRows, kAlongM>;
    using Clearing =
        RowsConfig<kTileRows, kColumns, kAlongRows, kAcrossRows, kAlongM, 16, true>;
    using Gathering = RowsConfig<kTileRows, kColumns, kAlongRows, kAcrossRows, kAlongM, 16,
                                 true, BlockOrder::kGathered>;
    using Sorting = RowsConfig<kTileRows, kColumns, kAlongRows, kAcrossRows, kAlongM, 16,
                               false, BlockOrder::kSorted>;
    using Both = RowsConfig<kTileRows, kColumns, kAlongRows, kAcrossRows, kAlongM, 16, true,
                            BlockOrder::kSorted>;
    for (u32 clusters = 1; clusters <= 7; clusters += 3) {
        for (const u32 across : {1u, 16u, 50u}) {
            Check<Config>(groups, rows, across).run(clusters);
            Check<Clearing>(groups, rows, across).run(clusters);
            Check<Gathering>(groups, rows, across).run(clusters);
            Check<Sorting>(groups, rows, across).run(clusters);
            Check<Both>(groups, rows, across).run(clusters);
        }
    }
}

void check_shapes(const std::vector<i32> &groups, u32 rows)
{
    check_all<128, false, 1, 1, false>(groups, rows);
    check_all<128, true, 1, 1, true>(groups, rows);
    check_all<64, false, 2, 1, true>(groups, rows);
    check_all<64, false, 1, 2, false>(groups, rows);
    check_all<32, true, 4, 2, false>(groups, rows);
    check_all<32, true, 1, 4, true>(groups, rows);
    check_all<16, true, 2, 1, false>(groups, rows);
}

} // namespace

TEST(row_blocks, every_tile_of_every_block_of_a_group_is_worked_on_once)
{
    const i32 kinds[] = {-1, 0, 3};
    for (const i32 a : kinds) {
        for (const i32 b : kinds) {
            for (const i32 c : kinds) {
                for (const u32 rows : {257u, 300u, 384u}) {
                    check_shapes({a, b, c}, rows);
                }
            }
        }
    }
}

TEST(row_blocks, groups_come_in_any_order)
{
    check_shapes({4, 0, 4, -1, 2, 2, 0, 4}, 1000);
    check_shapes({0}, 1);
    check_shapes({-1}, 128);
    check_shapes({-1, -1, -1, -1, 1}, 513);
}

// Indices of no group: blocks that nobody works on.
TEST(row_blocks, wrong_indices_are_of_no_group)
{
    check_shapes({5, 4, INT32_MAX, INT32_MIN, 0, -2}, 768);
    check_shapes({INT32_MAX, INT32_MAX}, 129);
}

TEST(row_blocks, rows_of_a_block_have_the_group_of_its_first_row)
{
    const std::vector<i32> indices = [] {
        std::vector<i32> made(300, 2);
        made[0] = 1;
        made[128] = -1;
        made[256] = 4;
        return made;
    }();
    using Config = RowsConfig<64, false, 1, 1, false>;
    const RowsSize size = {300, 16, 64, 5, reinterpret_cast<u64>(indices.data())};
    const jg::RowBlocks<Config> blocks(size);
    const i32 wanted[] = {1, -1, 4};
    for (u32 row = 0; row < 300; ++row) {
        u32 group = 0;
        const bool found = blocks.find(row, group);
        const i32 own = wanted[row / kBlock];
        EXPECT(found == (own >= 0) && (!found || static_cast<i32>(group) == own),
               "row %u: %u", row, group);
    }
    EXPECT(blocks.count() == 3 && blocks.of(2).end == 300, "%u blocks", blocks.count());
}
