// SPDX-License-Identifier: MIT
// SingleScheduler: one tile a CTA, no loop. Called by: see scheduler_for.cuh. Nothing is
// waited for or signalled.
#pragma once
#include <jg/schedule/advance.cuh>
#include <jg/schedule/tile_scheduler.cuh>

namespace jg {

// Runs once.
template <class Tiles, u32 kClusterSize>
class SingleWorkIterator {
  public:
    JG_DEVICE explicit SingleWorkIterator(const Tiles &tiles) : tiles_(tiles) {}

    JG_DEVICE bool has_work() const
    {
        return !taken_;
    }
    JG_DEVICE WorkTile next()
    {
        taken_ = true;
        return tiles_.tile(blockIdx.x / kClusterSize);
    }

  private:
    const Tiles &tiles_;
    bool taken_ = false;
};

template <class Config, class Cluster>
class SingleScheduler {
    using Tiles = TileScheduler<Config>;
    using Walk = SingleWorkIterator<Tiles, Cluster::kSize>;

  public:
    struct Storage {};
    static constexpr bool kHasWarp = false;

    JG_DEVICE SingleScheduler(const Tiles &tiles, const Cluster &, Storage &)
        : tiles_(tiles)
    {
    }
    static JG_DEVICE void init_barriers(Storage &, u32) {}

    JG_DEVICE Walk load_walk() const
    {
        return Walk(tiles_);
    }
    template <Advance>
    JG_DEVICE Walk thread_walk() const
    {
        return Walk(tiles_);
    }
    template <Advance>
    JG_DEVICE Walk warp_walk() const
    {
        return Walk(tiles_);
    }
    JG_DEVICE void run() const {}

  private:
    const Tiles &tiles_;
};

} // namespace jg
