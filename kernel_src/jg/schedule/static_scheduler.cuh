// SPDX-License-Identifier: MIT
// StaticScheduler: clusters know their tiles from the start, those of one of the walks of
// tile_scheduler.cuh. Called by: see scheduler_for.cuh. Nothing is waited for or signalled.
#pragma once
#include <jg/schedule/advance.cuh>
#include <jg/schedule/tile_scheduler.cuh>

namespace jg {

template <class Config, class Cluster, template <class, u32> class WalkOf>
class StaticScheduler {
    using Tiles = TileScheduler<Config>;
    using Walk = WalkOf<Tiles, Cluster::kSize>;

  public:
    struct Storage {};
    static constexpr bool kHasWarp = false;

    JG_DEVICE StaticScheduler(const Tiles &tiles, const Cluster &, Storage &)
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
