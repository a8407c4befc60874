// SPDX-License-Identifier: MIT
// GroupedTileOrder: the list of all work of a launch with groups, each of which has rows of
// its own, and what a batch index stands for in all else. How many rows is known on the
// device only. So a warp counts tiles before any role asks: entry `first[g]` of the list is
// group g's first cluster tile, and the list ends at `first[kPieces]`. Every cluster tile
// lies in one group; a group without rows has none. Where rows of no group are made 0, they
// are pieces of the list like the groups, behind these.
//
// Where D is the product's transpose, the rows are the product's columns.
//
// With an N of its own a group has as many cluster tiles across its rows as that takes, and
// without columns none.
//
// A CTA's tile may reach beyond its group's rows. What it reads there is another group's or
// nothing, and is multiplied: a row of the product depends on no other. It writes rows up
// to group_end only.
//
// With Config::kTurnsLast a cluster has two tiles along the rows, and of a group's last
// ones the second may have no rows at all. Such clusters are turned: their CTAs have the
// same rows and neighbouring columns, and so there are half as many. They share A then, in
// place of B (tile/tile_loader.cuh). A group with such clusters is walked in bands of kBand
// columns, those of a band behind its others: L2 has just had the columns of B that they
// read once more.
//
// With Config::kHalvesLast those entries that fill no more than half of the clusters of a
// last round are two each: their CTAs' first rows, which the first math warpgroup
// multiplies, and the others.
//
// Called by: prepare by one whole warp, then a synchronisation of the CTA; the rest as
// TileOrder.
#pragma once
#include <jg/common/group_size.cuh>
#include <jg/common/kernel_params.cuh>
#include <jg/schedule/group_rows.cuh>
#include <jg/schedule/k_range.cuh>
#include <jg/schedule/raster.cuh>
#include <jg/schedule/work_item.cuh>

namespace jg {

template <class Config>
class GroupedTileOrder {
    using Rows = GroupRows<Config>;
    enum : u32 {
        kGroups = Config::kGroups,
        kPieces = kGroups + (clears_rest<Config>() ? Rows::kRests : 0),
        kClusterRows = Config::kBlockM * Config::kClusterM,
        kClusterColumns = Config::kBlockN * Config::kClusterN,
        // Tiles of a cluster along the rows.
        kTilesAlong = Config::kTransposed ? Config::kClusterN : Config::kClusterM,
    };
    enum : bool { kTurnsLast = Config::kTurnsLast };
    enum : u32 { kBand = 16 }; // in cluster tiles, an even number
    enum : bool {
        kHalvesLast = Config::kHalvesLast,
        kPadsScales = pads_scales<Config>(),
    };
    enum : u32 {
        kHalfRows = Config::kBlockM / 2,
        // Behind where the list ends: which entry is the first of two, and where rows of
        // scales begin that groups pad, one for each.
        kWhole = kPieces + 1,
        kScaleRows = kWhole + (kHalvesLast ? 1 : 0),
    };
    static_assert(Config::kSplitK == 1, "an entry has all of K");
    static_assert(!kTurnsLast || (Config::kClusterM == 2 && Config::kClusterN == 1 &&
                                  !Config::kTransposed),
                  "two tiles along the rows");
    static_assert(!kHalvesLast || (Config::kScheduler == SchedulerKind::kStatic &&
                                   !Config::kTransposed),
                  "rounds of a fixed grid, and rows that warpgroups share out");

  public:
    struct alignas(16) Storage {
        u32 first[kScaleRows + (kPadsScales ? kGroups : 0)];
    };
    enum : bool { kPrepares = true };

    template <class ShapeT, class Cluster>
    JG_DEVICE GroupedTileOrder(const ShapeT &shape, const Cluster &cluster,
                               Storage &storage)
        : rows_(shape), first_(storage.first), columns_(group_columns<Config>(shape)),
          across_(clusters_across(Config::kTransposed ? shape.m : shape.n)),
          cluster_m_(cluster.m), cluster_n_(cluster.n), range_(shape)
    {
    }

    // Counts.
    JG_DEVICE void prepare() const
    {
        const u32 total = add_up<kPieces>(first_, [&](u32 piece, const RowRange &rows) {
            return clusters_of(rows, across(piece));
        });
        if (threadIdx.x % 32 == 0) {
            first_[kPieces] = total;
            if constexpr (kHalvesLast) {
                first_[kWhole] = total - count_halved(total);
            }
        }
        if constexpr (kPadsScales) {
            add_up<kGroups>(first_ + kScaleRows, [](u32, const RowRange &rows) {
                return Rows::padded_rows(rows);
            });
        }
    }

    JG_DEVICE u32 total() const
    {
        if constexpr (kHalvesLast) {
            return 2 * first_[kPieces] - first_[kWhole];
        } else {
            return first_[kPieces];
        }
    }

    // Groups with an N of their own, which may be 0, are not asked for.
    JG_DEVICE bool has_rows(u32 group) const
    {
        return first_[group + 1] > first_[group];
    }

    // An entry of the list, as this CTA sees it.
    JG_DEVICE WorkItem item(u32 entry) const
    {
        if constexpr (kHalvesLast) {
            const u32 whole = first_[kWhole];
            const u32 beyond = entry < whole ? 0 : entry - whole;
            WorkItem item = whole_item(entry < whole ? entry : whole + beyond / 2);
            if (entry >= whole) {
                item.row += beyond % 2 * kHalfRows;
                item.group_end = min_u32(item.group_end, item.row + kHalfRows);
            }
            return item;
        } else {
            return whole_item(entry);
        }
    }

  private:
    JG_DEVICE WorkItem whole_item(u32 entry) const
    {
        const u32 piece = piece_of(entry);
        const RowRange rows = rows_of(piece);
        const bool is_rest = clears_rest<Config>() && piece >= kGroups;
        const u32 group = is_rest ? piece - kGroups : piece;
        const Place place = place_of(entry - first_[piece], rows, across(group));
        const ClusterTile at = place.at;
        const bool is_turned = place.is_turned;
        const u32 m =
            (at.m * Config::kClusterM + (is_turned ? 0 : cluster_m_)) * Config::kBlockM;
        const u32 n = (at.n * Config::kClusterN + cluster_n_) * Config::kBlockN;
        const KPart part = range_.part(0, group);
        // Of reductions, which groups with an N of their own have none of.
        const u32 first_row_tile = first_[piece] / across_ * kTilesAlong;
        const u32 own_row_tile = Config::kTransposed
                                     ? at.n * Config::kClusterN + cluster_n_
                                     : at.m * Config::kClusterM + cluster_m_;
        const u32 row_tiles =
            ceil_div(rows.count(), Config::kTransposed ? Config::kBlockN : Config::kBlockM);
        return WorkItem{{m + (Config::kTransposed ? 0 : rows.begin),
                         n + (Config::kTransposed ? rows.begin : 0), group, 0, entry,
                         rows.end, scale_shift(group, rows), first_row_tile + own_row_tile,
                         first_row_tile, row_tiles,
                         has_own_n<Config>() ? columns_.of(group) : 0},
                        part.first,
                        is_rest ? 0 : part.blocks,
                        true,
                        part.end,
                        is_turned};
    }

    // Of so many entries, those that are two each.
    static JG_DEVICE u32 count_halved(u32 entries)
    {
        const u32 clusters = gridDim.x / (Config::kClusterM * Config::kClusterN);
        const u32 left = entries % clusters;
        return entries > clusters && 2 * left <= clusters ? left : 0;
    }

    // Sums of what `count_of` says of the rows of each piece: of those before, and of all.
    // A lane has up to kMostEach neighbours at a time, whose numbers are on their way
    // together: one by one each round waits for L2.
    enum : u32 { kMostEach = 8 };
    template <u32 kCount, class CountOf>
    JG_DEVICE u32 add_up(u32 *sums, CountOf count_of) const
    {
        constexpr u32 kRounds = ceil_div(kCount, 32);
        constexpr u32 kEach = kRounds < kMostEach ? kRounds : kMostEach;
        const u32 lane = threadIdx.x % 32;
        typename Rows::Rising rising;
        u32 before = 0;
#pragma unroll 1
        for (u32 first = 0; first < kCount; first += 32 * kEach) {
            const u32 at = first + lane * kEach;
            RowRange rows[kEach];
#pragma unroll
            for (u32 i = 0; i < kEach; ++i) {
                rows[i] = rows_of(min_u32(at + i, kCount - 1));
                rows[i].begin = at + i < kCount ? rows[i].begin : rows[i].end;
            }
            rising.next_of_warp(rows);
            u32 own[kEach];
            u32 sum = 0;
#pragma unroll
            for (u32 i = 0; i < kEach; ++i) {
                own[i] = count_of(min_u32(at + i, kCount - 1), rows[i]);
                sum += own[i];
            }
            u32 end = sum; // of the lanes up to this one
#pragma unroll
            for (u32 step = 1; step < 32; step *= 2) {
                const u32 lower = __shfl_up_sync(~0u, end, step);
                end += lane >= step ? lower : 0;
            }
            u32 begin = before + end - sum;
#pragma unroll
            for (u32 i = 0; i < kEach; ++i) {
                if (at + i < kCount) {
                    sums[at + i] = begin;
                }
                begin += own[i];
            }
            before += __shfl_sync(~0u, end, 31);
        }
        return before;
    }

    JG_DEVICE u32 scale_shift(u32 group, const RowRange &rows) const
    {
        if constexpr (kPadsScales) {
            return first_[kScaleRows + group] - rows.begin;
        } else {
            return rows_.scale_shift(group, rows);
        }
    }

    // Of a cluster, in a group's; of a turned one, whose CTAs have a place each along N,
    // this CTA's.
    struct Place {
        ClusterTile at;
        bool is_turned;
    };

    // Of a group's entry `index`, with so many cluster tiles across its rows.
    JG_DEVICE Place place_of(u32 index, const RowRange &rows, u32 across_rows) const
    {
        const u32 along = clusters_along(rows);
        if constexpr (!kTurnsLast) {
            return Place{cluster_tile<Config>(index,
                                              Config::kTransposed ? across_rows : along,
                                              Config::kTransposed ? along : across_rows),
                         false};
        } else if (!turns_last(rows)) {
            return Place{cluster_tile<Config>(index, along, across_rows), false};
        } else {
            const u32 of_band = (along - 1) * kBand + kBand / 2;
            const u32 first = index / of_band * kBand;
            const u32 in_band = index - index / of_band * of_band;
            const u32 width = min_u32(kBand, across_rows - first);
            const bool is_turned = in_band >= (along - 1) * width;
            // Turned ones are a row of single tiles behind the band's others.
            const u32 beyond = in_band - (along - 1) * width;
            ClusterTile at =
                is_turned ? ClusterTile{along - 1, beyond * Config::kClusterM + cluster_m_}
                          : cluster_tile<Config>(in_band, along - 1, width);
            at.n += first;
            return Place{at, is_turned};
        }
    }

    JG_DEVICE RowRange rows_of(u32 piece) const
    {
        if constexpr (clears_rest<Config>()) {
            if (piece >= kGroups) {
                return rows_.rest(piece - kGroups);
            }
        }
        return rows_.of(piece);
    }
    static JG_DEVICE u32 clusters_along(const RowRange &rows)
    {
        return ceil_div(rows.count(), Config::kTransposed ? kClusterColumns : kClusterRows);
    }
    // Has the second CTA of the last clusters along these rows none of them?
    static JG_DEVICE bool turns_last(const RowRange &rows)
    {
        const u32 rest = rows.count() % kClusterRows;
        return kTurnsLast && rest > 0 && rest <= Config::kBlockM;
    }
    // Of these rows, with so many across them.
    static JG_DEVICE u32 clusters_of(const RowRange &rows, u32 across)
    {
        return clusters_along(rows) * across - (turns_last(rows) ? across / 2 : 0);
    }
    static JG_DEVICE u32 clusters_across(u32 columns)
    {
        return ceil_div(columns, Config::kTransposed ? kClusterRows : kClusterColumns);
    }
    // Of a group, or of rows of none.
    JG_DEVICE u32 across(u32 group) const
    {
        if constexpr (has_own_n<Config>()) {
            return clusters_across(columns_.of(group));
        } else {
            return across_;
        }
    }

    // The last piece whose first entry is not beyond this one. It has entries: those that
    // have none begin where the next one begins.
    JG_DEVICE u32 piece_of(u32 entry) const
    {
        u32 low = 0;
        u32 high = kPieces;
#pragma unroll 1
        while (low + 1 < high) {
            const u32 middle = (low + high) / 2;
            const bool is_beyond = first_[middle] > entry;
            high = is_beyond ? middle : high;
            low = is_beyond ? low : middle;
        }
        return low;
    }

    Rows rows_;
    u32 *first_;
    GroupSize<has_own_n<Config>()> columns_;
    u32 across_; // cluster tiles across the rows of a group that has the launch's N
    u32 cluster_m_, cluster_n_;
    KRange<Config> range_;
};

} // namespace jg
