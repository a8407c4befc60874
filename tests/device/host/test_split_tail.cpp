// SPDX-License-Identifier: MIT
// Parts of K of the tiles beyond whole waves: the list of work, and that its waits end.
#include "modules.h"

// One list, on a problem of so many cluster tiles.
class TailCheck {
  public:
    TailCheck(const Order &order, u32 wave, u32 across, u32 batches, u32 blocks)
        : order_(order), tiles_(3 * across * batches), split_(tiles_ % wave), wave_(wave),
          blocks_(blocks), size_{3 * order.rows * order.cluster_m - 1,
                                 across * order.cols * order.cluster_n - 1,
                                 blocks * kBlockK - (blocks > 0), batches}
    {
    }

    void run() const
    {
        const u32 entries = tiles_ + split_ * (order_.parts - 1);
        EXPECT(order_.total(size_, 0) == entries, "%u entries, not %u",
               order_.total(size_, 0), entries);
        check_list();
        check_walk(entries, order_.walk_single);
        for (u32 resident = 1; resident <= entries + 1; resident += 1 + resident / 2) {
            const u32 clusters = static_cast<u32>(plan_tail_clusters(
                static_cast<int>(order_.parts), static_cast<int>(wave_), tiles_, resident));
            check_walk(clusters, order_.walk_static);
            for (u32 places = 1; places <= clusters; places += 1 + places / 2) {
                check_waits(clusters, places);
            }
        }
    }

  private:
    static constexpr u32 kBlockK = 64;
    using Tile = std::vector<u32>;

    static Tile tile_of(const WorkItem &item)
    {
        return {item.batch, item.row, item.col};
    }

    // Parts first, a tile's as neighbours in the order of K; then tiles with all of K. The
    // workspace has as many tiles as have parts.
    void check_list() const
    {
        std::map<Tile, u32> blocks;
        std::set<u32> places;
        for (u32 i = 0; i < order_.total(size_, 0) * order_.ctas; ++i) {
            const u32 entry = i / order_.ctas;
            const WorkItem item = order_.entry(size_, i % order_.ctas, entry);
            const bool has_parts = entry < split_ * order_.parts;
            const u32 part = has_parts ? entry % order_.parts : 0;
            EXPECT(item.is_whole == !has_parts && item.split == part &&
                       item.is_last_split == (!has_parts || part + 1 == order_.parts),
                   "entry %u of %u with parts is part %u", entry, split_, item.split);
            const u32 begin = item.k_first / kBlockK;
            const u32 inside = begin < blocks_ ? item.k_blocks : 0;
            EXPECT(item.k_blocks >= 1 && (inside == 0 || begin + inside <= blocks_),
                   "entry %u has %u blocks from %u on", entry, item.k_blocks, begin);
            EXPECT(has_parts || inside == blocks_, "whole tile with %u blocks", inside);
            blocks[tile_of(item)] += inside;
            if (has_parts) {
                places.insert(item.workspace_tile);
                EXPECT(item.workspace_tile / order_.ctas == entry / order_.parts,
                       "entry %u is at %u of the workspace", entry, item.workspace_tile);
            }
        }
        EXPECT(places.size() == split_ * order_.ctas, "%zu places of %u", places.size(),
               split_ * order_.ctas);
        EXPECT(blocks.size() == tiles_ * order_.ctas, "%zu tiles", blocks.size());
        for (const auto &[tile, count] : blocks) {
            EXPECT(count == blocks_, "tile at %u, %u has %u blocks", tile[1], tile[2],
                   count);
        }
    }

    void check_walk(u32 clusters,
                    std::vector<WorkItem> (*walk)(const LaunchSize &, u32)) const
    {
        std::set<std::vector<u32>> seen;
        size_t found = 0;
        gridDim.x = clusters * order_.ctas;
        for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) {
            for (const WorkItem &item : walk(size_, blockIdx.x % order_.ctas)) {
                seen.insert({item.batch, item.row, item.col, item.split});
                found++;
            }
        }
        EXPECT(seen.size() == found && found == order_.total(size_, 0) * order_.ctas,
               "%u clusters: %zu items, %zu different", clusters, found, seen.size());
    }

    // As the hardware starts clusters: in order, so many at a time. A last part is done
    // when all others of its tile are.
    void check_waits(u32 clusters, u32 places) const
    {
        std::vector<std::vector<WorkItem>> left(clusters);
        gridDim.x = clusters * order_.ctas;
        for (u32 i = 0; i < clusters; ++i) {
            blockIdx.x = i * order_.ctas;
            left[i] = order_.walk_static(size_, 0);
            std::reverse(left[i].begin(), left[i].end());
        }
        std::map<Tile, u32> stored;
        std::vector<u32> running;
        u32 next = 0;
        bool moves = true;
        while (moves) {
            moves = false;
            for (; running.size() < places && next < clusters; ++next) {
                running.push_back(next);
            }
            for (u32 i = 0; i < running.size(); ++i) {
                std::vector<WorkItem> &items = left[running[i]];
                if (items.empty()) {
                    running.erase(running.begin() + i--);
                    moves = true;
                    continue;
                }
                const WorkItem &item = items.back();
                u32 &count = stored[tile_of(item)];
                if (item.is_last_split && !item.is_whole && count + 1 < order_.parts) {
                    continue; // it waits
                }
                count++;
                items.pop_back();
                moves = true;
            }
        }
        EXPECT(running.empty() && next == clusters,
               "%u of %u clusters at a time wait for ever", places, clusters);
    }

    Order order_;
    u32 tiles_, split_, wave_, blocks_;
    LaunchSize size_;
};

template <u32 kClusterM, u32 kClusterN, u32 kParts, u32 kWave>
void check_tail()
{
    using Config =
        TailConfig<OrderConfig<64, 16, kClusterM, kClusterN, 2, false, kParts>, kWave>;
    for (u32 across = 1; across <= 5; ++across) {
        for (u32 blocks : {0u, 1u, 7u}) {
            TailCheck(OrderOf<Config>::get(), kWave, across, 1, blocks).run();
            TailCheck(OrderOf<Config>::get(), kWave, across, 2, blocks).run();
        }
    }
}

TEST(split_tail, tiles_beyond_whole_waves_have_parts_and_no_wait_lasts_for_ever)
{
    check_tail<1, 1, 2, 4>();
    check_tail<1, 1, 3, 5>();
    check_tail<2, 1, 2, 7>();
    check_tail<1, 2, 4, 11>();
    check_tail<2, 2, 5, 8>();
    check_tail<1, 1, 16, 1000>();
}
