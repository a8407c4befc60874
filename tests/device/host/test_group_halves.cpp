// SPDX-License-Identifier: MIT
// Groups whose last round of tiles has few: its entries are two each, of half of the rows.
#include <map>

#include "modules.h"

namespace {

using jg::GroupBy;

constexpr u32 kTile = 16, kHalf = 8, kColumns = 50;

struct GroupSize {
    u32 m, n, k, batch;
    u64 group_sizes, group_ns, group_ks;
};

template <u32 kCount, u32 kClusterRows, u32 kClusterCols, bool kTurns>
struct HalvingConfig : OrderConfig<kTile, kTile, kClusterRows, kClusterCols, 2, false, 1> {
    static constexpr u32 kGroups = kCount;
    static constexpr GroupBy kGroupBy = GroupBy::kOffsets;
    static constexpr bool kTransposed = false, kClearRest = false, kPadsScales = false;
    static constexpr bool kOwnN = false, kOwnK = false, kTurnsLast = kTurns;
    static constexpr bool kHalvesLast = true;
    static constexpr jg::SchedulerKind kScheduler = jg::SchedulerKind::kStatic;
};

// Clusters of so many rows.
template <class Config>
u32 count_clusters(u32 rows)
{
    const u32 step = kTile * Config::kClusterM;
    const u32 across =
        (kColumns + kTile * Config::kClusterN - 1) / (kTile * Config::kClusterN);
    const u32 rest = rows % step;
    const bool is_turned = Config::kTurnsLast && rest > 0 && rest <= kTile;
    return (rows + step - 1) / step * across - (is_turned ? across / 2 : 0);
}

// Every row of every tile of columns once, over so many clusters, in entries of which no
// cluster has more than the others by two halves.
template <class Config>
void check(const std::vector<i32> &sizes, u32 clusters)
{
    using Cluster = jg::ClusterShape<Config::kClusterM, Config::kClusterN>;
    using Scheduler = jg::StaticScheduler<Config, Cluster, jg::StaticIterator>;
    typename Scheduler::Storage storage;
    std::vector<i32> ends;
    u32 rows = 0, entries = 0;
    for (u32 group = 0; group < Config::kGroups; ++group) {
        storage.first[group] = entries;
        entries += count_clusters<Config>(static_cast<u32>(sizes[group]));
        rows += static_cast<u32>(sizes[group]);
        ends.push_back(static_cast<i32>(rows));
    }
    const u32 left = entries % clusters;
    const u32 halved = entries > clusters && 2 * left <= clusters ? left : 0;
    storage.first[Config::kGroups] = entries;
    storage.first[Config::kGroups + 1] = entries - halved;
    const GroupSize size{
        rows, kColumns, 64, Config::kGroups, reinterpret_cast<u64>(ends.data()), 0, 0};
    std::map<std::pair<u32, u32>, u32> found;
    u32 halves = 0;
    gridDim.x = clusters * Cluster::kSize;
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) {
        const Scheduler scheduler(size, Cluster(blockIdx.x % Cluster::kSize), storage);
        u32 turn = 0;
        for (auto work = scheduler.load_iterator(); work.has_work(); ++turn) {
            const WorkItem item = work.next();
            const bool is_half = turn == entries / clusters && halved > 0;
            EXPECT(item.k_blocks > 0 && item.batch < Config::kGroups &&
                       item.group_end <= static_cast<u32>(ends[item.batch]) &&
                       (!is_half || item.group_end <= item.row + kHalf),
                   "group %u, row %u: ends at %u", item.batch, item.row, item.group_end);
            halves += is_half;
            for (u32 row = item.row; row < std::min(item.row + kTile, item.group_end);
                 ++row) {
                ++found[{row, item.col}];
            }
        }
    }
    blockIdx.x = 0;
    EXPECT(halves == 2 * halved * Cluster::kSize, "%u of %u", halves, halved);
    for (u32 row = 0; row < rows; ++row) {
        for (u32 col = 0; col < kColumns; col += kTile) {
            const u32 count = found[std::make_pair(row, col)];
            EXPECT(count == 1, "row %u, column %u: %u", row, col, count);
        }
    }
}

const i32 kSizes[] = {0, 1, 7, 8, 9, 16, 17, 24, 33, 40};

template <u32 kClusterRows, u32 kClusterCols, bool kTurns>
void check_all()
{
    using Config = HalvingConfig<2, kClusterRows, kClusterCols, kTurns>;
    for (const i32 a : kSizes) {
        for (const i32 b : kSizes) {
            for (u32 clusters = 1; clusters <= 9; ++clusters) {
                check<Config>({a, b}, clusters);
            }
        }
    }
}

struct ShortTileConfig : OrderConfig<256, 128, 1, 1, 1, false, 1> {
    static constexpr u32 kGroups = 2;
    static constexpr GroupBy kGroupBy = GroupBy::kOffsets;
    static constexpr bool kSharesShort = true, kPromotesSums = true;
    static constexpr bool kPingpong = false, kGateInA = false, kGated = false;
};

} // namespace

TEST(group_halves, warpgroups_share_the_rows_of_a_short_tile)
{
    using Share = jg::sm90a::TileShare<ShortTileConfig>;
    using Partition = jg::sm90a::MmaPartition<ShortTileConfig>;
    for (const u32 begin : {0u, 1u, 300u}) {
        for (u32 rows = 1; rows <= 300; ++rows) {
            WorkItem whole{};
            whole.row = begin;
            whole.group_end = begin + rows;
            std::map<u32, u32> found;
            u32 most = 0;
            for (u32 team = 0; team < 2; ++team) {
                const Share own(whole, team);
                const u32 first = own.item.row + Partition::first_row(team);
                EXPECT(first == begin + own.first_row, "row %u of team %u", first, team);
                if (first >= own.item.group_end) {
                    continue; /* passed over */
                }
                const u32 blocks = own.has_one_block() ? 1 : 2;
                for (u32 i = 0; i < 64 * blocks && first + i < own.item.group_end; ++i) {
                    ++found[first + i];
                }
                EXPECT(own.item.group_end <= whole.group_end, "ends at %u",
                       own.item.group_end);
                most = std::max(most, blocks);
            }
            EXPECT(most == (rows <= 128 ? 1 : 2), "%u rows: %u blocks", rows, most);
            EXPECT(found.size() == std::min(rows, 256u), "%u of %u rows",
                   static_cast<u32>(found.size()), rows);
            for (const auto &[row, count] : found) {
                EXPECT(count == 1 && row >= begin && row < begin + rows, "row %u: %u", row,
                       count);
            }
        }
    }
}

TEST(group_halves, every_row_is_worked_on_once)
{
    check_all<1, 1, false>();
    check_all<1, 2, false>();
    check_all<2, 1, false>();
    check_all<2, 1, true>();
}
