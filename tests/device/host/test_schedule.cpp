// SPDX-License-Identifier: MIT
// Clusters, the order of tiles, and parts of K.
#include "modules.h"

// ------------------------------------------------------------------------- clusters

// By what the modules promise: rank = m + n * M. CTAs of the same m hold the same rows of
// A. CTAs of the same n hold the same columns of B, and of a pair each has its half of
// them.
class ClusterCheck {
  public:
    explicit ClusterCheck(const ClusterFacts &facts) : facts_(facts) {}

    void run() const
    {
        for (u32 rank = 0; rank < count(); ++rank) {
            check_masks(rank);
            check_slices(rank);
            check_releases(rank);
            check_parts(rank);
        }
    }

  private:
    u32 count() const
    {
        return facts_.m * facts_.n * facts_.parts;
    }
    u32 part_of(u32 rank) const
    {
        return rank / (facts_.m * facts_.n);
    }
    bool is_same_row(u32 x, u32 y) const
    {
        return x % facts_.m == y % facts_.m && part_of(x) == part_of(y);
    }
    bool is_same_col(u32 x, u32 y) const
    {
        return x / facts_.m == y / facts_.m;
    }
    bool is_same_half(u32 x, u32 y) const
    {
        return x % facts_.m % facts_.group == y % facts_.m % facts_.group;
    }
    bool is_same_group(u32 x, u32 y) const
    {
        return is_same_col(x, y) &&
               x % facts_.m / facts_.group == y % facts_.m / facts_.group;
    }

    template <class Holds>
    u32 mask_of(Holds holds) const
    {
        u32 mask = 0;
        for (u32 other = 0; other < count(); ++other) {
            mask |= holds(other) ? 1u << other : 0;
        }
        return mask;
    }

    void expect(bool holds, const char *what, u32 rank) const
    {
        EXPECT(holds, "%s of CTA %u in %ux%u, groups of %u", what, rank, facts_.m, facts_.n,
               facts_.group);
    }

    void check_masks(u32 rank) const
    {
        const ClusterRank &cta = facts_.ranks[rank];
        const u32 a = mask_of([&](u32 other) { return is_same_row(rank, other); });
        const u32 b = mask_of([&](u32 other) {
            return is_same_col(rank, other) && is_same_half(rank, other);
        });
        const u32 group = mask_of([&](u32 other) { return is_same_group(rank, other); });
        expect(cta.a_mask == a, "receivers of A", rank);
        expect(cta.b_mask == b, "receivers of B", rank);
        expect(cta.group_mask == group, "group", rank);
        expect(cta.pair_rank == rank % facts_.m % facts_.group, "rank in the pair", rank);
        expect(group >> cta.leader & 1 && (group & ((1u << cta.leader) - 1)) == 0, "leader",
               rank);
    }

    static bool are_all(const std::vector<u32> &slices, u32 count)
    {
        const std::set<u32> found(slices.begin(), slices.end());
        return slices.size() == count && found.size() == count &&
               *found.rbegin() == count - 1;
    }
    // Every CTA gets each slice of its tiles from one of those that share them.
    void check_slices(u32 receiver) const
    {
        std::vector<u32> a, b;
        for (const ClusterRank &sender : facts_.ranks) {
            if (sender.a_mask >> receiver & 1) {
                a.push_back(sender.a_slice);
            }
            if (sender.b_mask >> receiver & 1) {
                b.push_back(sender.b_slice);
            }
        }
        expect(are_all(a, facts_.a_slices), "slices of A", receiver);
        expect(are_all(b, facts_.b_slices), "slices of B", receiver);
    }

    // A group frees a stage in all CTAs whose copies reach one of it, and in no others;
    // each CTA waits for as many releases as come.
    void check_releases(u32 rank) const
    {
        const ClusterRank &cta = facts_.ranks[rank];
        const u32 senders = mask_of([&](u32 other) {
            const ClusterRank &sender = facts_.ranks[other];
            return ((sender.a_mask | sender.b_mask) & cta.group_mask) != 0;
        });
        expect(cta.release_mask == senders, "those who wait for a release", rank);
        u32 releases = 0, sharers = 0;
        for (u32 other = 0; other < count(); ++other) {
            const ClusterRank &from = facts_.ranks[other];
            releases += from.leader == other && (from.release_mask >> rank & 1);
            sharers += from.shares_tiles_mask >> rank & 1;
        }
        expect(releases == facts_.releases, "number of releases", rank);
        expect(facts_.group > 1 || sharers == facts_.releases, "number of sharers", rank);
    }

    // The CTAs that have the parts of its tile, which lie as it does among those of theirs.
    void check_parts(u32 rank) const
    {
        const std::vector<u32> &parts = facts_.ranks[rank].of_parts;
        const u32 tiles = facts_.m * facts_.n;
        for (u32 part = 0; part < facts_.parts; ++part) {
            expect(parts[part] % tiles == rank % tiles && part_of(parts[part]) == part,
                   "CTAs with the parts", rank);
        }
    }

    ClusterFacts facts_;
};

template <u32 kM, u32 kN, u32 kParts = 1>
void check_cluster()
{
    if constexpr (kM * kN * kParts <= 16) {
        ClusterCheck(cluster_facts<kM, kN, 1, kParts>()).run();
        if constexpr (kM % 2 == 0) {
            ClusterCheck(cluster_facts<kM, kN, 2, kParts>()).run();
        }
    }
}
template <u32 kM, u32... kNs>
void check_clusters_of(std::integer_sequence<u32, kNs...>)
{
    (check_cluster<kM, kNs + 1>(), ...);
}
template <u32... kMs>
void check_clusters(std::integer_sequence<u32, kMs...>)
{
    (check_clusters_of<kMs + 1>(std::make_integer_sequence<u32, 16>()), ...);
}

TEST(cluster, each_cta_gets_every_slice_once_and_is_released_by_all_who_read)
{
    check_clusters(std::make_integer_sequence<u32, 16>());
}

TEST(cluster, ctas_share_tiles_with_those_of_their_part_of_k_only)
{
    check_cluster<1, 1, 16>();
    check_cluster<2, 1, 8>();
    check_cluster<1, 2, 3>();
    check_cluster<2, 2, 4>();
    check_cluster<4, 2, 2>();
}

// ------------------------------------------------------------------- order of tiles

using Place = std::vector<u32>;

// One order, on a problem of so many cluster tiles, the last of which hang over.
class OrderCheck {
  public:
    OrderCheck(const Order &order, u32 down, u32 across, u32 batches)
        : order_(order), down_(down), across_(across), batches_(batches),
          ctas_(order.cluster_m * order.cluster_n),
          entries_(down * across * batches * order.parts),
          size_{down * order.rows * order.cluster_m - order.rows / 2,
                across * order.cols * order.cluster_n - 1, 1, batches}
    {
    }

    void run() const
    {
        EXPECT(order_.total(size_, 0) == entries_, "%u entries", order_.total(size_, 0));
        check_all_once();
        check_raster();
        for (u32 clusters = 1; clusters <= entries_ + 1; clusters += 1 + clusters / 2) {
            check_walk(clusters, order_.walk_static);
            if (clusters % order_.parts == 0) {
                check_waits(clusters);
            }
        }
        check_walk(entries_, order_.walk_single);
    }

  private:
    void check_tile(const WorkItem &work, u32 rank) const
    {
        const u32 m = work.row / order_.rows, n = work.col / order_.cols;
        EXPECT(work.row % order_.rows == 0 && work.col % order_.cols == 0 &&
                   m < down_ * order_.cluster_m && n < across_ * order_.cluster_n &&
                   work.batch < batches_ && work.split < order_.parts,
               "tile at %u, %u of batch %u", work.row, work.col, work.batch);
        EXPECT(m % order_.cluster_m == rank % order_.cluster_m &&
                   n % order_.cluster_n == rank / order_.cluster_m,
               "tile at %u, %u of CTA %u", work.row, work.col, rank);
    }

    // Each tile of each CTA and each part of K is in the list once. A tile has a workspace
    // tile of its own, the same for all parts.
    void check_all_once() const
    {
        std::set<Place> seen;
        std::map<Place, u32> numbers;
        std::set<u32> used;
        for (u32 index = 0; index < entries_ * ctas_; ++index) {
            const WorkItem work = order_.entry(size_, index % ctas_, index / ctas_);
            const Place tile = {work.batch, work.row, work.col};
            check_tile(work, index % ctas_);
            EXPECT(seen.insert({work.batch, work.row, work.col, work.split}).second,
                   "tile at %u, %u twice", work.row, work.col);
            EXPECT(numbers.emplace(tile, work.workspace_tile).first->second ==
                       work.workspace_tile,
                   "tile at %u, %u has two of the workspace", work.row, work.col);
            used.insert(work.workspace_tile);
        }
        EXPECT(used.size() == numbers.size() && *used.rbegin() == numbers.size() - 1,
               "%zu workspace tiles for %zu tiles", used.size(), numbers.size());
    }

    // Where an entry stands: groups of the raster one after the other, steps along it,
    // across it, and a tile's parts.
    Place place(const WorkItem &work) const
    {
        const u32 m = work.row / order_.rows / order_.cluster_m;
        const u32 n = work.col / order_.cols / order_.cluster_n;
        const u32 along = order_.along_m ? m : n, across = order_.along_m ? n : m;
        return {work.batch, across / order_.raster_group, along, across, work.split};
    }
    void check_raster() const
    {
        WorkItem before = order_.entry(size_, 0, 0);
        for (u32 index = 1; index < entries_; ++index) {
            const WorkItem work = order_.entry(size_, 0, index);
            EXPECT(place(before) < place(work), "entry %u of %ux%u in groups of %u", index,
                   down_, across_, order_.raster_group);
            EXPECT(work.split == index % order_.parts, "entry %u has part %u", index,
                   work.split);
            EXPECT(work.split == 0 || work.workspace_tile == before.workspace_tile,
                   "entry %u is no neighbour", index);
            before = work;
        }
    }

    // All CTAs of a grid together work on each tile and part once.
    void check_walk(u32 clusters,
                    std::vector<WorkItem> (*walk)(const LaunchSize &, u32)) const
    {
        std::set<Place> seen;
        size_t found = 0;
        gridDim.x = clusters * ctas_;
        for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) {
            for (const WorkItem &work : walk(size_, blockIdx.x % ctas_)) {
                check_tile(work, blockIdx.x % ctas_);
                seen.insert({work.batch, work.row, work.col, work.split});
                found++;
            }
        }
        EXPECT(found == entries_ * ctas_ && seen.size() == found,
               "%u clusters work on %zu tiles, %zu of them different, of %u", clusters,
               found, seen.size(), entries_ * ctas_);
    }

    // A cluster of a grid with whole groups of parts has one part of K, and waits for the
    // cluster before it.
    void check_waits(u32 clusters) const
    {
        gridDim.x = clusters * ctas_;
        for (u32 cluster = 0; cluster < clusters; ++cluster) {
            blockIdx.x = cluster * ctas_;
            for (const WorkItem &work : order_.walk_static(size_, 0)) {
                EXPECT(work.split == cluster % order_.parts, "cluster %u of %u has part %u",
                       cluster, clusters, work.split);
            }
        }
    }

    Order order_;
    u32 down_, across_, batches_, ctas_, entries_;
    LaunchSize size_;
};

template <u32 kClusterM, u32 kClusterN, u32 kGroup, bool kAlongM, u32 kParts>
void check_order()
{
    const Order order =
        OrderOf<OrderConfig<64, 16, kClusterM, kClusterN, kGroup, kAlongM, kParts>>::get();
    for (u32 down = 1; down <= 5; ++down) {
        for (u32 across = 1; across <= 5; ++across) {
            for (u32 batches = 1; batches <= 2; ++batches) {
                OrderCheck(order, down, across, batches).run();
            }
        }
    }
}
template <u32 kGroup, bool kAlongM>
void check_orders()
{
    check_order<1, 1, kGroup, kAlongM, 1>();
    check_order<2, 1, kGroup, kAlongM, 1>();
    check_order<1, 2, kGroup, kAlongM, 3>();
    check_order<2, 2, kGroup, kAlongM, 2>();
}

TEST(tile_order, each_tile_and_part_is_worked_on_once_in_groups_of_the_raster)
{
    check_orders<1, true>();
    check_orders<1, false>();
    check_orders<2, true>();
    check_orders<2, false>();
    check_orders<3, true>();
    check_orders<3, false>();
    check_orders<8, true>();
    check_orders<8, false>();
}

// ----------------------------------------------------------------------- work items

// The items of one launch with this K, of one order.
class ItemCheck {
  public:
    ItemCheck(const Order &order, u32 k, u32 block_k)
        : order_(order), ctas_(order.ctas),
          block_k_(block_k), size_{3 * order.rows * order.cluster_m,
                                   2 * order.cols * order.cluster_n, k, 2}
    {
    }

    // `clusters`: of the grid, for clusters that take several items.
    void run(u32 clusters) const
    {
        check_cover(clusters, order_.walk_static);
        check_cover(order_.total(size_, 0), order_.walk_single);
    }

  private:
    struct Sum {
        std::vector<u32> times; // of each block of K
        u32 parts, last_parts;
        bool last_was_last; // of the parts by number
    };

    // An item has a block at least; one beyond the end of K adds zeros.
    void add(const WorkItem &item, Sum &sum) const
    {
        EXPECT(item.k_blocks >= 1 && item.k_first % block_k_ == 0, "%u blocks from %u on",
               item.k_blocks, item.k_first);
        const size_t begin = item.k_first / block_k_, end = begin + item.k_blocks;
        EXPECT(end <= sum.times.size() || begin >= sum.times.size(),
               "blocks %zu to %zu of %zu", begin, end, sum.times.size());
        for (size_t i = begin; i < end && i < sum.times.size(); ++i) {
            sum.times[i]++;
        }
        sum.parts++;
        sum.last_parts += item.is_last_split;
        sum.last_was_last |= item.is_last_split && item.split == order_.parts - 1;
    }

    // Together they add up each block of K once for each tile of the grid's clusters; one
    // of a tile's items, that of the last part, has the epilogue.
    void check_cover(u32 clusters,
                     std::vector<WorkItem> (*walk)(const LaunchSize &, u32)) const
    {
        const Sum none = {std::vector<u32>((size_.k + block_k_ - 1) / block_k_), 0, 0,
                          false};
        std::map<Place, Sum> tiles;
        gridDim.x = clusters * ctas_;
        for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) {
            const std::vector<WorkItem> items = walk(size_, blockIdx.x % ctas_);
            for (const WorkItem &item : items) {
                add(item, tiles.emplace(Place{item.row, item.col, item.batch}, none)
                              .first->second);
            }
            if (!items.empty()) {
                check_first(items[0]);
            }
        }
        EXPECT(tiles.size() * order_.parts == order_.total(size_, 0) * ctas_, "%zu tiles",
               tiles.size());
        for (const auto &[tile, sum] : tiles) {
            EXPECT(std::count(sum.times.begin(), sum.times.end(), 1u) ==
                       std::ptrdiff_t(sum.times.size()),
                   "tile at %u, %u: not all of %zu blocks once", tile[0], tile[1],
                   sum.times.size());
            EXPECT(sum.parts == order_.parts && sum.last_parts == 1 && sum.last_was_last,
                   "tile at %u, %u: %u items, %u of them the last", tile[0], tile[1],
                   sum.parts, sum.last_parts);
        }
    }

    void check_first(const WorkItem &item) const
    {
        const WorkItem first = order_.first(size_, blockIdx.x % ctas_);
        EXPECT(first.row == item.row && first.col == item.col &&
                   first.batch == item.batch && first.split == item.split &&
                   first.workspace_tile == item.workspace_tile &&
                   first.k_first == item.k_first && first.k_blocks == item.k_blocks &&
                   first.is_last_split == item.is_last_split,
               "CTA %u begins with another item", blockIdx.x);
    }

    Order order_;
    u32 ctas_, block_k_;
    LaunchSize size_;
};

template <u32 kClusterM, u32 kClusterN, u32 kParts>
void check_items()
{
    using Config = OrderConfig<64, 16, kClusterM, kClusterN, 2, false, kParts>;
    for (u32 k : {0u, 1u, 64u, 65u, 5 * 64u, 11 * 64u - 1}) {
        for (u32 clusters = kParts; clusters <= 4 * kParts; clusters += kParts) {
            ItemCheck(OrderOf<Config>::get(), k, Config::kBlockK).run(clusters);
        }
    }
}

/* Its CTAs have the parts of its tiles, the last of each tile the epilogue. */
template <u32 kParts, u32 kClusterM = 1, u32 kClusterN = 1>
void check_items_of_cluster()
{
    using Config =
        InClusterConfig<OrderConfig<64, 16, kClusterM, kClusterN, 2, false, kParts>>;
    for (u32 k : {0u, 1u, 64u, 65u, 5 * 64u, 11 * 64u - 1}) {
        for (u32 clusters = 1; clusters <= 4; ++clusters) {
            ItemCheck(OrderOf<Config>::get(), k, Config::kBlockK).run(clusters);
        }
    }
}

/* The same where clusters have as many of the parts each. */
template <u32 kParts, u32 kOfCluster>
void check_items_of_clusters()
{
    using Config = InClusterConfig<OrderConfig<64, 16, 1, 1, 2, false, kParts>, kOfCluster>;
    for (u32 k : {0u, 1u, 64u, 65u, 5 * 64u, 50 * 64u - 1}) {
        ItemCheck(OrderOf<Config>::get(), k, Config::kBlockK).run(kParts / kOfCluster);
    }
}

TEST(work_item, ctas_of_a_cluster_add_up_each_block_of_k_once)
{
    check_items_of_cluster<2>();
    check_items_of_cluster<3>();
    check_items_of_cluster<8>();
    check_items_of_cluster<16>();
    check_items_of_cluster<8, 2, 1>();
    check_items_of_cluster<3, 2, 2>();
    check_items_of_clusters<6, 3>();
    check_items_of_clusters<32, 16>();
}

TEST(work_item, items_add_up_each_block_of_k_once_and_one_of_a_tile_is_the_last)
{
    check_items<1, 1, 1>();
    check_items<2, 1, 1>();
    check_items<1, 1, 2>();
    check_items<2, 2, 3>();
    check_items<1, 2, 5>();
    check_items<1, 1, 16>();
}

// -------------------------------------------------------------------- launch control

// All work iterators of a cluster whose requests are granted some times, then refused.
// Waits end at once here; what is looked at is that all find the same items, and that as
// many arrive at each barrier as it was told.
template <class Config>
class ClcCheck {
    using Clc = ClcOf<Config>;
    static constexpr u32 kCtas = Config::kClusterM * Config::kClusterN;
    static constexpr u32 kOwn = 2; // the cluster's place in the grid

  public:
    explicit ClcCheck(u32 grants) : items_(grants + 1)
    {
        storage_ = reinterpret_cast<typename Clc::Storage *>(host::shared);
        host::barriers.clear();
        host::clc_requests.clear();
        host::clc_grants.clear();
        for (u32 i = 0; i < grants; ++i) {
            host::clc_grants.push_back((kOwn + 3 + 2 * i) * kCtas);
        }
        Clc::init_barriers(*storage_);
    }

    void run()
    {
        for (u32 rank = 0; rank < kCtas; ++rank) {
            host::cta_rank = rank;
            blockIdx.x = kOwn * kCtas + rank;
            run_cta(Clc(size(), rank, *storage_), rank);
        }
        check_requests();
        check_barriers();
    }

  private:
    static LaunchSize size()
    {
        return {Config::kBlockM * Config::kClusterM * 8,
                Config::kBlockN * Config::kClusterN * 8, 640, 2};
    }

    void run_cta(const Clc &clc, u32 rank)
    {
        threadIdx.x = 4 * 32;
        check_items(clc.load(), rank);
        if (rank % Config::kClusterM % Config::kCtaGroup == 0) {
            threadIdx.x = 5 * 32;
            check_items(clc.multiply(), rank);
        }
        if (Clc::kLoadsForEpilogue) {
            threadIdx.x = 6 * 32;
            check_items(clc.load_for_epilogue(), rank);
        }
        for (u32 warp = 0; warp < Clc::kEpilogueWarps; ++warp) {
            host::run_warp(warp, [&] { check_items(clc.write(), rank); });
        }
        host::run_warp(7, [&] {
            host::clc_reads.clear();
            clc.run();
        });
    }

    // Its own item, then those that were granted; each response is read once, in its stage.
    template <class Iterator>
    void check_items(Iterator work, u32 rank) const
    {
        u32 found = 0;
        for (host::clc_reads.clear(); work.has_work(); ++found) {
            const WorkItem item = work.next();
            const u32 entry = found == 0 ? kOwn : host::clc_grants[found - 1] / kCtas;
            const WorkItem wanted = OrderOf<Config>::entry(size(), rank, entry);
            EXPECT(item.row == wanted.row && item.col == wanted.col &&
                       item.batch == wanted.batch,
                   "item %u is at %u, %u", found, item.row, item.col);
        }
        EXPECT(found == items_ && host::clc_reads.size() == items_,
               "%u items, %zu responses of %u", found, host::clc_reads.size(), items_);
        for (u32 i = 0; i < host::clc_reads.size(); ++i) {
            EXPECT(host::clc_reads[i] == storage_->responses[i % Clc::kStages],
                   "response %u is read elsewhere", i);
        }
    }

    // One for each item, for all CTAs, where it is read.
    void check_requests() const
    {
        EXPECT(host::clc_requests.size() == items_, "%zu requests for %u items",
               host::clc_requests.size(), items_);
        for (u32 i = 0; i < host::clc_requests.size(); ++i) {
            const host::clc_request &request = host::clc_requests[i];
            EXPECT(request.response == storage_->responses[i % Clc::kStages] &&
                       request.barrier == &storage_->full[i % Clc::kStages] &&
                       request.to_all == (kCtas > 1),
                   "request %u goes elsewhere", i);
        }
    }

    // So many phases were completed, in these CTAs, and no more has arrived.
    static void check_barrier(const char *name, const u64 *at, u32 phases, u32 ctas,
                              u32 bytes)
    {
        host::barrier &barrier = host::barriers[at];
        for (u32 rank = 0; rank < kCtas; ++rank) {
            const u32 wanted = rank < ctas ? phases : 0;
            EXPECT(barrier.arrivals[rank] == wanted * barrier.wanted,
                   "%s: %u arrivals in CTA %u, of %u in each of %u phases", name,
                   barrier.arrivals[rank], rank, barrier.wanted, wanted);
            EXPECT(barrier.bytes[rank] == wanted * bytes, "%s: %u bytes in CTA %u", name,
                   barrier.bytes[rank], rank);
        }
    }
    void check_barriers() const
    {
        for (u32 i = 0; i < Clc::kStages; ++i) {
            const u32 phases = (items_ + Clc::kStages - 1 - i) / Clc::kStages;
            check_barrier("full", &storage_->full[i], phases, kCtas, 16);
            check_barrier("empty", &storage_->empty[i], phases, 1, 0);
        }
        check_barrier("throttle", &storage_->throttle, items_, 1, 0);
    }

    u32 items_;
    typename Clc::Storage *storage_;
};

template <u32 kClusterM, u32 kClusterN, u32 kGroup>
void check_launch_control()
{
    for (u32 grants = 0; grants <= 7; ++grants) {
        ClcCheck<ClcConfig<kClusterM, kClusterN, kGroup, 0>>(grants).run();
        ClcCheck<ClcConfig<kClusterM, kClusterN, kGroup, 2>>(grants).run();
    }
}

TEST(launch_control, all_of_a_cluster_find_the_same_items_and_arrive_as_often_as_told)
{
    check_launch_control<1, 1, 1>();
    check_launch_control<2, 1, 2>();
    check_launch_control<2, 2, 1>();
    check_launch_control<4, 2, 2>();
}

// ------------------------------------------------------------------------ parts of K

// Parts of K elements: they follow each other, differ by a block at most, and what has none
// lies beyond the end, where there are zeros. kSize: of K, where it is compiled in.
template <u32 kSize, u32 kParts>
void check_parts(u32 k)
{
    using Config = KConfig<kSize, kParts>;
    constexpr u32 kBlock = Config::kBlockK;
    const u32 blocks = (k + kBlock - 1) / kBlock;
    u32 next = 0, least = ~0u, most = 0;
    for (u32 split = 0; split < kParts; ++split) {
        const KSpan span = k_span<Config>(k, split);
        EXPECT(span.blocks >= 1, "part %u of K %u has no block", split, k);
        const bool is_empty = span.first >= blocks * kBlock;
        EXPECT(is_empty ? span.blocks == 1 : span.first == next,
               "part %u of %u of K %u: %u blocks from %u on, not from %u", split, kParts, k,
               span.blocks, span.first, next);
        const u32 own = is_empty ? 0 : span.blocks;
        next += own * kBlock;
        least = own < least ? own : least;
        most = own > most ? own : most;
    }
    EXPECT(next == blocks * kBlock, "%u parts of K %u end at %u", kParts, k, next);
    EXPECT(most - least <= 1, "%u parts of K %u have %u to %u blocks", kParts, k, least,
           most);
}

template <u32... kParts>
void check_all_parts()
{
    for (u32 k = 0; k <= 64 * 70;
         k += k % 64 == 1 ? 62 : 1) { // block ends, and beside them
        (check_parts<0, kParts>(k), ...);
    }
    (check_parts<64 * 64 - 1, kParts>(64 * 64 - 1), ...);
    (check_parts<64 * 65, kParts>(64 * 65), ...);
}

TEST(k_range, parts_cover_k_once_and_differ_by_one_block)
{
    check_all_parts<1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 32, 63, 64>();
}

// Both who load and who multiply count the blocks of stages so.
template <u32 kSize, u32 kParts, u32 kGroup>
void check_stages(u32 k)
{
    using Config = KConfig<kSize, kParts, kGroup>;
    for (u32 split = 0; split < kParts; ++split) {
        const u32 blocks = k_span<Config>(k, split).blocks;
        u32 sum = 0;
        for (u32 at = 0; at < blocks; at += kGroup) {
            const u32 here = blocks_of_stage<Config>(blocks - at);
            EXPECT(here >= 1 && here <= kGroup && (here == kGroup || at + here == blocks),
                   "%u blocks of a stage of %u, %u left", here, kGroup, blocks - at);
            sum += here;
        }
        EXPECT(sum == blocks, "stages of %u: %u of %u blocks of K %u", kGroup, sum, blocks,
               k);
    }
}

TEST(k_group, stages_of_several_blocks_hold_each_block_once)
{
    for (u32 k = 0; k <= 64 * 13; k += 32) {
        check_stages<0, 1, 1>(k);
        check_stages<0, 1, 2>(k);
        check_stages<0, 1, 4>(k);
        check_stages<0, 3, 2>(k);
        check_stages<0, 2, 4>(k);
    }
    check_stages<64 * 8, 1, 4>(64 * 8);
    check_stages<64 * 7, 1, 4>(64 * 7);
    check_stages<64 * 7 - 1, 1, 4>(64 * 7 - 1);
    check_stages<64 * 8, 3, 2>(64 * 8);
    check_stages<64 * 7, 1, 1>(64 * 7);
}
