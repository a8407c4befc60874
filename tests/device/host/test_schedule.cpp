// SPDX-License-Identifier: MIT
// Clusters, the order of tiles, and parts of K.
#include "modules.h"

// ------------------------------------------------------------------------- clusters

// Rank = m + n * kM. By what the modules promise: CTAs of the same m hold the same rows of
// A. CTAs of the same n hold the same columns of B, and of a pair each has its half of
// them.
template <u32 kM, u32 kN, u32 kGroup>
struct ClusterCheck {
    using Cluster = ClusterOf<kM, kN, kGroup>;
    static constexpr u32 kCtas = kM * kN;

    static u32 m(u32 rank)
    {
        return rank % kM;
    }
    static u32 n(u32 rank)
    {
        return rank / kM;
    }
    static bool same_a(u32 x, u32 y)
    {
        return m(x) == m(y);
    }
    static bool same_b(u32 x, u32 y)
    {
        return n(x) == n(y) && m(x) % kGroup == m(y) % kGroup;
    }
    static bool same_group(u32 x, u32 y)
    {
        return n(x) == n(y) && m(x) / kGroup == m(y) / kGroup;
    }

    template <class Same>
    static u32 mask_of(Same same)
    {
        u32 mask = 0;
        for (u32 other = 0; other < kCtas; ++other) {
            mask |= same(other) ? 1u << other : 0;
        }
        return mask;
    }

    static void check_masks(u32 rank)
    {
        const Cluster cluster(rank);
        const auto is = [&](auto same) {
            return mask_of([&](u32 other) { return same(rank, other); });
        };
        EXPECT(cluster.a_mask() == is(same_a), "A of %u in %ux%u", rank, kM, kN);
        EXPECT(cluster.b_mask() == is(same_b), "B of %u in %ux%u by %u", rank, kM, kN,
               kGroup);
        EXPECT(cluster.group_mask() == is(same_group), "group of %u in %ux%u", rank, kM,
               kN);
        EXPECT(cluster.pair_rank() == m(rank) % kGroup, "pair of %u in %ux%u", rank, kM,
               kN);
        EXPECT(cluster.group_mask() >> cluster.leader() & 1 &&
                   (cluster.group_mask() & ((1u << cluster.leader()) - 1)) == 0,
               "leader of %u in %ux%u is the lowest of its group", rank, kM, kN);
    }

    // Every CTA gets each slice of its tiles from one of those that share them.
    static void check_slices(u32 receiver)
    {
        std::multiset<u32> a, b;
        for (u32 sender = 0; sender < kCtas; ++sender) {
            const Cluster cluster(sender);
            if (cluster.a_mask() >> receiver & 1) {
                a.insert(cluster.a_slice());
            }
            if (cluster.b_mask() >> receiver & 1) {
                b.insert(cluster.b_slice());
            }
        }
        EXPECT(a.size() == Cluster::kASlices &&
                   std::set<u32>(a.begin(), a.end()).size() == Cluster::kASlices &&
                   *a.rbegin() + 1 == Cluster::kASlices,
               "slices of A for %u in %ux%u by %u", receiver, kM, kN, kGroup);
        EXPECT(b.size() == Cluster::kBSlices &&
                   std::set<u32>(b.begin(), b.end()).size() == Cluster::kBSlices &&
                   *b.rbegin() + 1 == Cluster::kBSlices,
               "slices of B for %u in %ux%u by %u", receiver, kM, kN, kGroup);
    }

    // A group frees a stage in all CTAs whose copies reach one of it, and in no others;
    // each CTA waits for as many releases as come.
    static void check_releases(u32 rank)
    {
        const Cluster cluster(rank);
        const u32 group = cluster.group_mask();
        const u32 senders = mask_of([&](u32 sender) {
            return ((Cluster(sender).a_mask() | Cluster(sender).b_mask()) & group) != 0;
        });
        EXPECT(cluster.release_mask() == senders, "releases of %u in %ux%u by %u", rank, kM,
               kN, kGroup);
        u32 releases = 0, sharers = 0;
        for (u32 other = 0; other < kCtas; ++other) {
            const Cluster from(other);
            releases += from.leader() == other && (from.release_mask() >> rank & 1);
            sharers += from.shares_tiles_with(rank);
        }
        EXPECT(releases == Cluster::kReleases, "%u releases for %u in %ux%u by %u",
               releases, rank, kM, kN, kGroup);
        EXPECT(kGroup > 1 || sharers == Cluster::kReleases, "%u share with %u in %ux%u",
               sharers, rank, kM, kN);
    }

    static void run()
    {
        for (u32 rank = 0; rank < kCtas; ++rank) {
            check_masks(rank);
            check_slices(rank);
            check_releases(rank);
        }
    }
};

template <u32 kM, u32 kN>
void check_cluster()
{
    if constexpr (kM * kN <= 16) {
        ClusterCheck<kM, kN, 1>::run();
        if constexpr (kM % 2 == 0) {
            ClusterCheck<kM, kN, 2>::run();
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

// ------------------------------------------------------------------- order of tiles

// One shape of tiles, on problems of so many cluster tiles, the last of which hang over.
template <class Config, u32 kRasterGroup, bool kAlongM>
struct OrderCheck {
    using Order = OrderOf<Config>;
    static constexpr u32 kParts = Config::kSplitK;
    static constexpr u32 kCtas = Order::kCtas;
    static constexpr u32 kRows = Config::kBlockM, kCols = Config::kBlockN;
    static constexpr u32 kClusterM = Config::kClusterM, kClusterN = Config::kClusterN;

    u32 down, across, batches;
    LaunchSize size;
    std::vector<Order> orders; // as each CTA of a cluster has it

    OrderCheck(u32 clusters_m, u32 clusters_n, u32 count)
        : down(clusters_m), across(clusters_n),
          batches(count), size{down * kRows * kClusterM - kRows / 2,
                               across * kCols * kClusterN - 1, 1, count}
    {
        for (u32 rank = 0; rank < kCtas; ++rank) {
            orders.emplace_back(size, rank);
        }
    }

    u32 entries() const
    {
        return down * across * batches * kParts;
    }

    // Each tile of each CTA and each part of K is in the list once. A tile has one slot.
    void check_all_once() const
    {
        std::set<std::vector<u32>> seen;
        std::map<std::vector<u32>, u32> slots;
        std::set<u32> slots_used;
        for (u32 index = 0; index < entries(); ++index) {
            for (u32 rank = 0; rank < kCtas; ++rank) {
                const Work work = orders[rank].entry(index);
                const std::vector<u32> tile = {work.batch, work.row, work.col};
                const bool is_whole = work.row % kRows == 0 && work.col % kCols == 0 &&
                                      work.row / kRows < down * kClusterM &&
                                      work.col / kCols < across * kClusterN &&
                                      work.batch < batches && work.split < kParts;
                EXPECT(is_whole, "tile %u, %u of batch %u", work.row, work.col, work.batch);
                EXPECT(work.row / kRows % kClusterM == rank % kClusterM &&
                           work.col / kCols % kClusterN == rank / kClusterM,
                       "tile %u, %u of CTA %u", work.row, work.col, rank);
                EXPECT(seen.insert({work.batch, work.row, work.col, work.split}).second,
                       "tile %u, %u twice", work.row, work.col);
                EXPECT(slots.emplace(tile, work.slot).first->second == work.slot,
                       "tile %u, %u has two slots", work.row, work.col);
                slots_used.insert(work.slot);
            }
        }
        EXPECT(seen.size() == entries() * kCtas, "%zu tiles", seen.size());
        EXPECT(slots_used.size() == slots.size() &&
                   *slots_used.rbegin() + 1 == slots.size(),
               "%zu slots for %zu tiles", slots_used.size(), slots.size());
    }

    // Where an entry stands: its parts last, before them the walk through a group, across
    // it first.
    std::vector<u32> place(u32 index) const
    {
        const Work work = orders[0].entry(index);
        const u32 m = work.row / kRows / kClusterM, n = work.col / kCols / kClusterN;
        const u32 along = kAlongM ? m : n, lane = kAlongM ? n : m;
        return {work.batch, lane / kRasterGroup, along, lane, work.split};
    }
    void check_raster() const
    {
        for (u32 index = 1; index < entries(); ++index) {
            EXPECT(place(index - 1) < place(index), "entry %u of %ux%u in groups of %u",
                   index, down, across, kRasterGroup);
            const Work work = orders[0].entry(index), before = orders[0].entry(index - 1);
            EXPECT(work.split == index % kParts, "entry %u has part %u", index, work.split);
            EXPECT(work.split == 0 || work.slot == before.slot, "entry %u is no neighbour",
                   index);
        }
    }

    std::multiset<std::vector<u32>> walk_all(bool single) const
    {
        std::multiset<std::vector<u32>> found;
        for (u32 cta = 0; cta < gridDim.x; ++cta) {
            blockIdx.x = cta;
            const Order &order = orders[cta % kCtas];
            for (const Work &work : single ? order.walk_single() : order.walk_static()) {
                found.insert({work.batch, work.row, work.col, work.split});
            }
        }
        return found;
    }
    void check_walk(u32 clusters, bool single) const
    {
        gridDim.x = clusters * kCtas;
        const auto found = walk_all(single);
        const std::set<std::vector<u32>> once(found.begin(), found.end());
        EXPECT(found.size() == entries() * kCtas && once.size() == found.size(),
               "%u clusters work on %zu tiles, %zu of them different, of %u", clusters,
               found.size(), once.size(), entries() * kCtas);
    }

    // A cluster of a grid with whole groups of parts has one part of K, and waits for the
    // cluster before it.
    void check_waits(u32 clusters) const
    {
        gridDim.x = clusters * kCtas;
        for (u32 cluster = 0; cluster < clusters; ++cluster) {
            blockIdx.x = cluster * kCtas;
            for (const Work &work : orders[0].walk_static()) {
                EXPECT(work.split == cluster % kParts, "cluster %u of %u has part %u",
                       cluster, clusters, work.split);
            }
        }
    }

    void run() const
    {
        EXPECT(orders[0].total() == entries(), "%u entries", orders[0].total());
        check_all_once();
        check_raster();
        for (u32 clusters = 1; clusters <= entries() + 1; clusters += 1 + clusters / 4) {
            check_walk(clusters, false);
            if (clusters % kParts == 0) {
                check_waits(clusters);
            }
        }
        check_walk(entries(), true);
    }
};

template <u32 kClusterM, u32 kClusterN, u32 kGroup, bool kAlongM, u32 kParts>
void check_order()
{
    using Config = OrderConfig<64, 16, kClusterM, kClusterN, kGroup, kAlongM, kParts>;
    for (u32 down = 1; down <= 5; ++down) {
        for (u32 across = 1; across <= 5; ++across) {
            for (u32 batches = 1; batches <= 2; ++batches) {
                OrderCheck<Config, kGroup, kAlongM>(down, across, batches).run();
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
