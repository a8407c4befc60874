// SPDX-License-Identifier: MIT
// StaticScheduler: clusters know their items from the start. StaticIterator: a cluster
// takes every `clusters of the grid`-th entry of the list; SingleIterator: that of its own
// place and no other, without a loop.
//
// Called by: see scheduler_for.cuh. Nothing is waited for or signalled.
#pragma once
#include <jg/schedule/advance.cuh>
#include <jg/schedule/tile_order.cuh>

namespace jg {

template <class Order, u32 kClusterSize>
class StaticIterator {
  public:
    JG_DEVICE StaticIterator(const Order &order, u32 first) : order_(order), entry_(first)
    {
    }

    JG_DEVICE bool has_work() const
    {
        return entry_ < order_.total();
    }
    JG_DEVICE WorkItem next()
    {
        const WorkItem item = order_.item(entry_);
        entry_ += gridDim.x / kClusterSize;
        return item;
    }

  private:
    const Order &order_;
    u32 entry_;
};

template <class Order, u32 kClusterSize>
class SingleIterator {
  public:
    JG_DEVICE SingleIterator(const Order &order, u32 first) : order_(order), entry_(first)
    {
    }

    JG_DEVICE bool has_work() const
    {
        return !taken_;
    }
    JG_DEVICE WorkItem next()
    {
        taken_ = true;
        return order_.item(entry_);
    }

  private:
    const Order &order_;
    u32 entry_;
    bool taken_ = false;
};

template <class Config, class Cluster, template <class, u32> class IteratorOf>
class StaticScheduler {
    using Order = TileOrder<Config>;
    using Iterator = IteratorOf<Order, Cluster::kSize>;

  public:
    struct Storage {};
    static constexpr bool kHasWarp = false;

    template <class ShapeT>
    JG_DEVICE StaticScheduler(const ShapeT &shape, const Cluster &cluster)
        : order_(shape, cluster), first_(blockIdx.x / Cluster::kSize)
    {
    }
    template <class ShapeT>
    JG_DEVICE StaticScheduler(const ShapeT &shape, const Cluster &cluster, Storage &)
        : order_(shape, cluster), first_(blockIdx.x / Cluster::kSize)
    {
    }
    static JG_DEVICE void init_barriers(Storage &, u32) {}

    JG_DEVICE WorkItem first_item() const
    {
        return order_.item(first_);
    }
    JG_DEVICE Iterator load_iterator() const
    {
        return Iterator(order_, first_);
    }
    template <Advance>
    JG_DEVICE Iterator thread_iterator() const
    {
        return Iterator(order_, first_);
    }
    template <Advance>
    JG_DEVICE Iterator warp_iterator() const
    {
        return Iterator(order_, first_);
    }
    JG_DEVICE void run() const {}

  private:
    Order order_;
    u32 first_; // entry of the list, of the cluster's own place
};

} // namespace jg
