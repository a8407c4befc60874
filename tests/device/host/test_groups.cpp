// SPDX-License-Identifier: MIT
// The order of the tiles of groups: which rows are a group's, and who works on which tile;
// and which part of K is one's.
#include <map>

#include "modules.h"

namespace {

using jg::GroupBy;
using jg::RowRange;
constexpr u32 kTile = 16;
constexpr u32 kDepth = 64; // the launch's K

// Does each group have matrices of its own rows?
constexpr bool is_apart(GroupBy by)
{
    return by == GroupBy::kCounts || by == GroupBy::kPointers;
}

struct GroupSize {
    u32 m, n, k, batch;
    u64 group_sizes, group_ns, group_ks;
};

template <u32 kCount, GroupBy kBy, bool kColumns, u32 kClusterRows, u32 kClusterCols,
          bool kClears>
struct GroupConfig : OrderConfig<kTile, kTile, kClusterRows, kClusterCols, 2, false, 1> {
    static constexpr u32 kGroups = kCount;
    static constexpr GroupBy kGroupBy = kBy;
    static constexpr bool kTransposed = kColumns, kClearRest = kClears, kPadsScales = false;
    static constexpr bool kOwnN = false, kOwnK = false, kTurnsLast = false;
    static constexpr bool kHalvesLast = false;
    static constexpr u32 kRests = !kClears ? 0 : is_apart(kBy) ? kCount : 1;
    static constexpr u32 kPieces = kCount + kRests; // groups, then rows of none
};

// Of groups by pointers, each with an N and a K of its own.
template <u32 kCount, bool kColumns, u32 kClusterRows, u32 kClusterCols>
struct OwnConfig
    : GroupConfig<kCount, GroupBy::kPointers, kColumns, kClusterRows, kClusterCols, false> {
    static constexpr bool kOwnN = true, kOwnK = true;
    static constexpr u32 kBlockK = kTile, kK = 0;
};

// Of groups whose last clusters lie across their rows where the second CTA has none.
template <u32 kCount, GroupBy kBy, bool kClears>
struct TurningConfig : GroupConfig<kCount, kBy, false, 2, 1, kClears> {
    static constexpr bool kTurnsLast = true;
};

// What the library promises of a number, by its own words.
RowRange rows_by_rule(GroupBy by, const std::vector<i32> &numbers, u32 group, i32 rows,
                      i32 step = 1)
{
    const auto clipped = [&](u32 i) {
        const i32 number = std::max(numbers[i], 0);
        return static_cast<u32>(number < rows ? number / step * step : rows);
    };
    const u32 end = clipped(group);
    const u32 begin = !is_apart(by) && group > 0 ? clipped(group - 1) : 0;
    return RowRange{std::min(begin, end), end};
}

template <class Config>
class Check {
    using Cluster = jg::ClusterShape<Config::kClusterM, Config::kClusterN>;
    using Scheduler = jg::StaticScheduler<Config, Cluster, jg::StaticIterator>;
    static constexpr u32 kAlong =
        Config::kTransposed ? Config::kClusterN : Config::kClusterM;
    static constexpr u32 kAcross =
        Config::kTransposed ? Config::kClusterM : Config::kClusterN;

  public:
    // `own`: an N and a K of each group, or none.
    Check(const std::vector<i32> &numbers, u32 rows, u32 across,
          const std::vector<i32> &own = {})
        : numbers_(numbers), own_(own), rows_(rows), across_(across)
    {
        u32 first = 0;
        for (u32 piece = 0; piece < Config::kPieces; ++piece) {
            const RowRange range = range_of(piece);
            storage_.first[piece] = first;
            first += clusters_of(range.count(), across_of(piece));
        }
        storage_.first[Config::kPieces] = first;
    }

    // Every tile of every group once, over the CTAs of so many clusters.
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
        for (u32 piece = 0; piece < Config::kPieces; ++piece) {
            const RowRange range = range_of(piece);
            for (u32 row = range.begin; row < range.end; row += kTile) {
                for (u32 col = 0; col < across_of(piece); col += kTile) {
                    const u32 count = found_[std::make_tuple(piece, row, col)];
                    EXPECT(count == 1, "piece %u, row %u, column %u: %u", piece, row, col,
                           count);
                }
            }
        }
    }

  private:
    // Whole clusters of rows, and what is left: of no more than a CTA's rows each cluster
    // has two tiles of columns.
    static u32 clusters_of(u32 rows, u32 columns)
    {
        const u32 across = jg::ceil_div(columns, kTile * kAcross);
        const u32 rest = rows % (kTile * kAlong);
        const u32 of_rest = rest == 0 ? 0
                            : Config::kTurnsLast && rest <= kTile
                                ? jg::ceil_div(columns, 2 * kTile)
                                : across;
        return rows / (kTile * kAlong) * across + of_rest;
    }
    // The rows of a group, or those behind the last one's or behind those of each.
    RowRange range_of(u32 piece) const
    {
        const i32 rows = static_cast<i32>(rows_);
        if (piece < Config::kGroups) {
            return rows_by_rule(Config::kGroupBy, numbers_, piece, rows);
        }
        const u32 group =
            is_apart(Config::kGroupBy) ? piece - Config::kGroups : Config::kGroups - 1;
        return {rows_by_rule(Config::kGroupBy, numbers_, group, rows).end, rows_};
    }
    // Columns of a group, of as much as all have at most.
    u32 across_of(u32 piece) const
    {
        return own_.empty() ? across_ : own_size(piece, across_);
    }
    u32 own_size(u32 group, u32 most) const
    {
        return static_cast<u32>(std::min(std::max(own_[group], 0), static_cast<i32>(most)));
    }
    GroupSize size() const
    {
        const u64 own = own_.empty() ? 0 : reinterpret_cast<u64>(own_.data());
        return {Config::kTransposed ? across_ : rows_,
                Config::kTransposed ? rows_ : across_,
                kDepth,
                Config::kGroups,
                reinterpret_cast<u64>(numbers_.data()),
                own,
                own};
    }
    void note(const WorkItem &item)
    {
        const u32 row = Config::kTransposed ? item.col : item.row;
        const u32 col = Config::kTransposed ? item.row : item.col;
        const u32 piece = item.batch + (item.k_blocks == 0 ? Config::kGroups : 0);
        const RowRange range = range_of(piece);
        EXPECT(item.group_end == range.end && row >= range.begin &&
                   (row - range.begin) % kTile == 0 && item.is_last_split,
               "piece %u ends at %u, a tile of it begins at %u", piece, item.group_end,
               row);
        const u32 rest = range.count() % (kTile * kAlong);
        EXPECT(item.is_turned == (Config::kTurnsLast && rest > 0 && rest <= kTile &&
                                  row - range.begin >= range.count() - rest),
               "piece %u, row %u: turned %d", piece, row, item.is_turned);
        ++found_[{piece, row, col}];
        if (own_.empty() && !Config::kTurnsLast) {
            note_row_tile(item, piece, row - range.begin);
        } else if (!own_.empty()) {
            note_own(item);
        }
    }

    // Where columns and K end; without any K a block beyond the end of it.
    void note_own(const WorkItem &item) const
    {
        const u32 k = own_size(item.batch, kDepth);
        EXPECT(item.column_end == across_of(item.batch) && item.k_end == k &&
                   item.k_first == (k == 0 ? kTile : 0) &&
                   item.k_blocks == std::max(jg::ceil_div(k, kTile), 1u),
               "group %u: columns end at %u, K from %u to %u in %u blocks", item.batch,
               item.column_end, item.k_first, item.k_end, item.k_blocks);
    }

    // Tiles along the rows have numbers: no two have one, and a piece's follow each other.
    void note_row_tile(const WorkItem &item, u32 piece, u32 row)
    {
        const u32 most = storage_.first[Config::kPieces] /
                         jg::ceil_div(across_, kTile * kAcross) * kAlong;
        const auto known = row_tiles_.emplace(item.row_tile, std::make_pair(piece, row));
        EXPECT(item.row_tile < most && item.row_tile - item.first_row_tile == row / kTile &&
                   known.first->second == std::make_pair(piece, row),
               "piece %u, row %u of it: number %u, from %u on, of %u", piece, row,
               item.row_tile, item.first_row_tile, most);
    }

    const std::vector<i32> numbers_, own_;
    u32 rows_, across_;
    typename Scheduler::Storage storage_;
    std::map<std::tuple<u32, u32, u32>, u32> found_;
    std::map<u32, std::pair<u32, u32>> row_tiles_;
};

template <u32 kGroups, GroupBy kBy, bool kColumns, u32 kClusterRows, u32 kClusterCols>
void check_all(const std::vector<i32> &numbers, u32 rows)
{
    using Config = GroupConfig<kGroups, kBy, kColumns, kClusterRows, kClusterCols, false>;
    using Clearing = GroupConfig<kGroups, kBy, kColumns, kClusterRows, kClusterCols, true>;
    for (u32 clusters = 1; clusters <= 7; clusters += 3) {
        for (const u32 across : {1u, 16u, 50u}) {
            Check<Config>(numbers, rows, across).run(clusters);
            Check<Clearing>(numbers, rows, across).run(clusters);
        }
    }
}

template <u32 kGroups, GroupBy kBy>
void check_shapes(const std::vector<i32> &numbers, u32 rows)
{
    check_all<kGroups, kBy, false, 1, 1>(numbers, rows);
    check_all<kGroups, kBy, true, 1, 1>(numbers, rows);
    check_all<kGroups, kBy, false, 2, 1>(numbers, rows);
    check_all<kGroups, kBy, true, 2, 2>(numbers, rows);
    check_all<kGroups, kBy, true, 1, 2>(numbers, rows);
}

template <u32 kGroups>
void check_own(const std::vector<i32> &numbers, u32 rows, const std::vector<i32> &own)
{
    for (u32 clusters = 1; clusters <= 7; clusters += 3) {
        Check<OwnConfig<kGroups, false, 1, 1>>(numbers, rows, 40, own).run(clusters);
        Check<OwnConfig<kGroups, false, 2, 1>>(numbers, rows, 40, own).run(clusters);
        Check<OwnConfig<kGroups, true, 1, 1>>(numbers, rows, 40, own).run(clusters);
        Check<OwnConfig<kGroups, true, 2, 2>>(numbers, rows, 40, own).run(clusters);
    }
}

template <u32 kGroups, GroupBy kBy>
void check_turning(const std::vector<i32> &numbers, u32 rows)
{
    for (u32 clusters = 1; clusters <= 7; clusters += 3) {
        for (const u32 across : {1u, 17u, 50u, 272u, 600u}) {
            Check<TurningConfig<kGroups, kBy, false>>(numbers, rows, across).run(clusters);
            Check<TurningConfig<kGroups, kBy, true>>(numbers, rows, across).run(clusters);
        }
    }
}

// Sizes about the borders of tiles, in every place of a list.
const i32 kSizes[] = {0, 1, 15, 16, 17, 32, 40};

} // namespace

TEST(groups, every_tile_of_every_group_is_worked_on_once)
{
    for (const i32 a : kSizes) {
        for (const i32 b : kSizes) {
            for (const i32 c : kSizes) {
                check_shapes<3, GroupBy::kOffsets>({a, a + b, a + b + c},
                                                   static_cast<u32>(a + b + c));
                check_shapes<3, GroupBy::kCounts>({a, b, c}, 40);
                check_shapes<3, GroupBy::kPointers>({c, a, b}, 40);
            }
        }
    }
}

TEST(groups, one_group_and_many_empty_ones)
{
    check_shapes<1, GroupBy::kOffsets>({33}, 100);
    check_shapes<1, GroupBy::kCounts>({0}, 40);
    check_shapes<9, GroupBy::kOffsets>({0, 0, 0, 0, 5, 5, 5, 5, 5}, 5);
    check_shapes<9, GroupBy::kOffsets>({0, 0, 0, 0, 0, 0, 0, 0, 0}, 5);
    check_shapes<9, GroupBy::kCounts>({0, 0, 0, 0, 0, 0, 0, 0, 5}, 5);
}

// Numbers that are none: nothing outside the matrices is ever a group's.
TEST(groups, wrong_numbers_stay_inside_the_matrices)
{
    check_shapes<4, GroupBy::kOffsets>({-5, 20, 2000000000, 3}, 40);
    check_shapes<4, GroupBy::kOffsets>({INT32_MAX, INT32_MIN, 7, 50}, 40);
    check_shapes<4, GroupBy::kCounts>({-1, INT32_MAX, 41, 40}, 40);
}

// A cluster whose second CTA would have no rows has two tiles of columns.
TEST(groups, last_clusters_of_a_group_may_lie_across_its_rows)
{
    for (const i32 a : kSizes) {
        for (const i32 b : kSizes) {
            check_turning<2, GroupBy::kOffsets>({a, a + b}, 80);
            check_turning<2, GroupBy::kCounts>({a, b}, 40);
            check_turning<2, GroupBy::kPointers>({b, a}, 40);
        }
    }
}

// In bands of 16 tiles of columns, so that L2 still has their B.
TEST(groups, clusters_across_the_rows_follow_those_of_their_columns)
{
    using Config = TurningConfig<1, GroupBy::kCounts, false>;
    using Cluster = jg::ClusterShape<2, 1>;
    using Scheduler = jg::StaticScheduler<Config, Cluster, jg::StaticIterator>;
    constexpr u32 kBand = 16 * kTile, kColumns = 600;
    const i32 rows = 2 * kTile + 1;
    typename Scheduler::Storage storage;
    storage.first[0] = 0;
    storage.first[1] = 38 + 19;
    const GroupSize size{64, kColumns, kDepth, 1, reinterpret_cast<u64>(&rows), 0, 0};
    gridDim.x = 2;
    const Scheduler scheduler(size, Cluster(0), storage);
    auto work = scheduler.load_iterator();
    for (u32 band = 0; band < 3; ++band) {
        const u32 tiles = std::min(kBand, kColumns - band * kBand + kTile - 1) / kTile;
        for (u32 i = 0; i < tiles + tiles / 2; ++i) {
            EXPECT(work.has_work(), "band %u ends at %u", band, i);
            const WorkItem item = work.next();
            EXPECT(item.col / kBand == band && item.is_turned == (i >= tiles),
                   "entry %u of band %u: column %u, turned %d", i, band, item.col,
                   item.is_turned);
        }
    }
    EXPECT(!work.has_work(), "%s", "there are more");
}

// As many tiles across as a group's own N takes, and none without columns; an N and a K
// that are none count as 0 or as the launch's.
TEST(groups, each_group_may_have_an_n_and_a_k_of_its_own)
{
    for (const i32 a : kSizes) {
        for (const i32 b : kSizes) {
            for (const i32 c : kSizes) {
                check_own<3>({17, 40, 1}, 40, {a, b, c});
            }
        }
    }
    check_own<4>({40, 0, 16, 33}, 40, {-5, 20, 2000000000, 3});
    check_own<4>({0, INT32_MAX, 16, -1}, 40, {INT32_MAX, INT32_MIN, 7, 50});
    check_own<4>({16, 16, 16, 16}, 40, {});
}

// Groups along K: all tiles of each group's D, as a batch has them, with its part of K.
namespace {

template <u32 kCount, u32 kStep>
struct DepthConfig : OrderConfig<kTile, kTile, 2, 1, 2, false, 1> {
    static constexpr GroupBy kGroupBy = GroupBy::kKOffsets;
    static constexpr u32 kBatch = kCount, kBlockK = kTile, kGroupKStep = kStep;
};

template <u32 kCount, u32 kStep = 1>
void check_depths(const std::vector<i32> &numbers, u32 k)
{
    using Config = DepthConfig<kCount, kStep>;
    const GroupSize size{40, 20, k, kCount, reinterpret_cast<u64>(numbers.data()), 0, 0};
    std::map<std::tuple<u32, u32, u32>, u32> found;
    for (u32 rank = 0; rank < 2; ++rank) {
        typename jg::TileOrder<Config>::Storage storage;
        const jg::TileOrder<Config> order(size, jg::ClusterShape<2, 1>(rank), storage);
        for (u32 entry = 0; entry < order.total(); ++entry) {
            const WorkItem item = order.item(entry);
            const RowRange own = rows_by_rule(GroupBy::kKOffsets, numbers, item.batch,
                                              static_cast<i32>(k), kStep);
            const u32 blocks = (own.count() + kTile - 1) / kTile;
            EXPECT(item.k_first == own.begin && item.k_end == own.end &&
                       item.k_blocks == std::max(blocks, 1u) && item.is_last_split,
                   "group %u: K from %u to %u in %u blocks", item.batch, item.k_first,
                   item.k_end, item.k_blocks);
            ++found[{item.batch, item.row, item.col}];
        }
    }
    for (u32 group = 0; group < kCount; ++group) {
        for (u32 row = 0; row < size.m; row += kTile) {
            for (u32 col = 0; col < size.n; col += kTile) {
                const u32 count = found[std::make_tuple(group, row, col)];
                EXPECT(count == 1, "group %u, row %u, column %u: %u", group, row, col,
                       count);
            }
        }
    }
}

} // namespace

TEST(groups, each_group_has_its_part_of_k)
{
    for (const i32 a : kSizes) {
        for (const i32 b : kSizes) {
            for (const i32 c : kSizes) {
                check_depths<3>({a, a + b, a + b + c}, static_cast<u32>(a + b + c));
                check_depths<3, 32>({a, a + b, a + b + c}, static_cast<u32>(a + b + c));
            }
        }
    }
    check_depths<1>({33}, 40);
    check_depths<4>({-5, 20, 2000000000, 3}, 40);
    check_depths<4>({INT32_MAX, INT32_MIN, 7, 50}, 40);
    check_depths<2>({0, 0}, 0);
}
