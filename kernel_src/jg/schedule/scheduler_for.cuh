// SPDX-License-Identifier: MIT
// SchedulerFor: how the clusters of a grid share the cluster tiles of TileScheduler's
// order. Config::kScheduler names one:
//   kSingle   a cluster has the tile of its own place; the grid has a cluster a tile
//   kStatic   that one, and every `clusters of the grid`-th after it
//   kClc      that one, and those of clusters that the hardware did not launch yet and
//             gives up for it; the grid has a cluster a tile
//
// Each is a class with
//   Storage                   what it keeps in shared memory
//   kHasWarp                  a warp of the cluster's first CTA has to call run()
//   init_barriers(storage, readers)
//                             by one thread, then a synchronisation of the cluster;
//                             `readers` walks of the whole cluster, without run()'s own
//   load_walk()               the walk of the load thread
//   thread_walk<Advance>()    of another single thread
//   warp_walk<Advance>()      of a whole warp
//   run()                     by that warp
// A walk is a WorkIterator: has_work(), then next() for the tile. All walks of a cluster
// find the same tiles. Where a walk has to wait for its next tile, Advance says when:
//   kNow       in next(), before the role works on the tile at hand, so that the one after
//              it is known when that is done
//   kDelayed   in has_work(), after the role has worked on the tile at hand
// The load thread's walk is delayed: a tile is asked for when the load of the one before it
// begins, which is what next() of this walk says.
#pragma once
#include <jg/common/choices.cuh>
#include <jg/schedule/clc_scheduler.cuh>
#include <jg/schedule/static_scheduler.cuh>

namespace jg {

template <class Config, class Cluster, SchedulerKind kKind = Config::kScheduler>
struct SchedulerFor {
    using Type = StaticScheduler<Config, Cluster, WorkIterator>;
};
template <class Config, class Cluster>
struct SchedulerFor<Config, Cluster, SchedulerKind::kSingle> {
    using Type = StaticScheduler<Config, Cluster, SingleWorkIterator>;
};
template <class Config, class Cluster>
struct SchedulerFor<Config, Cluster, SchedulerKind::kClc> {
    using Type = ClcScheduler<Config, Cluster>;
};

} // namespace jg
