// SPDX-License-Identifier: MIT
// StaticScheduler: clusters know their items from the start. StaticIterator: a cluster
// takes every `clusters of the grid`-th entry of the list; SingleIterator: only the entry
// of its own index, without a loop.
//
// Called by: see scheduler_for.cuh. Nothing is waited for or signalled.
#pragma once
#include <jg/ptx/address.cuh>
#include <jg/schedule/order_for.cuh>

namespace jg {

template <class Order, u32 kClusterSize>
class StaticIterator {
  public:
    JG_DEVICE explicit StaticIterator(const Order &order)
        : order_(order), entry_(ptx::read_cta_index() / kClusterSize)
    {
    }

    JG_DEVICE bool has_work() const
    {
        return entry_ < order_.total();
    }
    JG_DEVICE WorkItem next()
    {
        const WorkItem item = order_.item(entry_);
        skip();
        return item;
    }
    // Goes past an item that the role gets from elsewhere, or leaves to others.
    JG_DEVICE void skip()
    {
        entry_ += gridDim.x / kClusterSize;
    }

  private:
    const Order &order_;
    u32 entry_;
};

template <class Order, u32 kClusterSize>
class SingleIterator {
  public:
    JG_DEVICE explicit SingleIterator(const Order &order) : order_(order) {}

    JG_DEVICE bool has_work() const
    {
        return !taken_;
    }
    JG_DEVICE WorkItem next()
    {
        taken_ = true;
        return order_.item(blockIdx.x / kClusterSize);
    }

  private:
    const Order &order_;
    bool taken_ = false;
};

template <class Config, class Cluster, template <class, u32> class IteratorOf>
class StaticScheduler {
    using Order = typename OrderFor<Config>::Type;
    using Iterator = IteratorOf<Order, Cluster::kSize>;

  public:
    using Storage = typename Order::Storage;
    enum : bool {
        kHasWarp = false,
        kPrepares = Order::kPrepares,
    };

    template <class ShapeT>
    JG_DEVICE StaticScheduler(const ShapeT &shape, const Cluster &cluster, Storage &storage)
        : order_(shape, cluster, storage)
    {
    }
    static JG_DEVICE void init_barriers(Storage &, u32) {}
    JG_DEVICE void prepare() const
    {
        order_.prepare();
    }

    JG_DEVICE const Order &order() const
    {
        return order_;
    }

    JG_DEVICE WorkItem first_item() const
    {
        return load_iterator().next();
    }
    JG_DEVICE Iterator load_iterator() const
    {
        return Iterator(order_);
    }
    JG_DEVICE Iterator thread_iterator() const
    {
        return Iterator(order_);
    }
    JG_DEVICE Iterator warp_iterator() const
    {
        return Iterator(order_);
    }
    JG_DEVICE void run() const {}

  private:
    Order order_;
};

} // namespace jg
