// SPDX-License-Identifier: MIT
// SchedulerFor: how the clusters of a grid share the entries of TileOrder's or
// GroupedTileOrder's list. Config::kScheduler names one:
//   kSingle   a cluster has the entry of its own index; the grid has one cluster per entry
//   kStatic   that one, and every `clusters of the grid`-th after it
//   kClc      that one, and those of clusters that the hardware did not launch yet and
//             gives up for it; the grid has one cluster per entry
//             (sm100a/clc_scheduler.cuh)
//
// Each is a class that is made of shape, cluster and its Storage. It has
//   Storage                   what it keeps in shared memory
//   kHasWarp                  a warp of the cluster's first CTA has to call run()
//   init_barriers(storage, consumers)
//                             by one thread, then a synchronisation of the cluster;
//                             `consumers` iterators of the whole cluster, without run()'s
//   kPrepares, prepare()      a whole warp of every CTA has to call it when what the grid
//                             before this one wrote is there, then a synchronisation of the
//                             CTA
//   first_item()              the item of the cluster's own index, if the list has so many
//   load_iterator()           of those who load the input tiles
//   thread_iterator()         of another single thread
//   warp_iterator()           of a whole warp
//   run()                     by that warp
// A work iterator has has_work(), then next() for the item. All of a cluster find the same
// items. Where one has to wait for its next item, it does so in has_work(), when the role
// is done with the item at hand. An item is requested when the load of the one before it
// begins, which is what next() of the load iterator says.
#pragma once
#include <jg/common/choices.cuh>
#include <jg/schedule/role_work.cuh>
#include <jg/schedule/static_scheduler.cuh>

namespace jg {

// A chip that has launch control adds its own for kClc.
template <class Config, class Cluster, SchedulerKind kKind = Config::kScheduler>
struct SchedulerFor;

template <class Config, class Cluster>
struct SchedulerFor<Config, Cluster, SchedulerKind::kStatic> {
    using Type = StaticScheduler<Config, Cluster, StaticIterator>;
};
template <class Config, class Cluster>
struct SchedulerFor<Config, Cluster, SchedulerKind::kSingle> {
    using Type = StaticScheduler<Config, Cluster, SingleIterator>;
};

} // namespace jg
