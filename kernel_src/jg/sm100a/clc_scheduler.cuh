// SPDX-License-Identifier: MIT
// ClcScheduler: cluster launch control. The grid has one cluster per entry of the list; a
// cluster that runs takes over the entries of clusters that were not launched yet, one
// after the other, and ends when it is refused one. It draws no conclusion from a refusal:
// what nobody took over is launched. Where the length of the list is known on the device
// only (grouped_tile_order.cuh), the grid has as many clusters as it can have entries: one
// whose entry is beyond the end asks for no other. Clusters are given up in the order of
// their indices; that is what others have seen, no document promises it, and only a split K
// depends on it (tile_order.cuh).
//
// A ring of responses in every CTA. The scheduler's warp, in the cluster's first CTA, waits
// at the throttle until the load thread there has begun with an item (so that no cluster
// holds items that others could begin with) and until every consumer of the cluster has
// read what the stage had before. Then it announces the response's bytes at the barrier of
// each CTA, and makes one request for all. Every consumer loads the response, then fences,
// then arrives in the first CTA. Who is refused ends; the scheduler's warp reads the
// responses too, so no request is open when it ends; in a cluster it waits for the arrivals
// of all others as well.
//
// Called by: see scheduler_for.cuh. Before use: init_barriers by one thread, then a
// synchronisation of the cluster. After use: no CTA ends before all consumers of the
// cluster.
#pragma once
#include <jg/common/cluster_shape.cuh>
#include <jg/common/pipeline_state.cuh>
#include <jg/ptx/launch_control.cuh>
#include <jg/ptx/mbarrier.cuh>
#include <jg/schedule/scheduler_for.cuh>

namespace jg::sm100a {

// Requests are an item ahead of the load, and the epilogue may be two items behind it.
enum : u32 { kClcStages = 3 };

// The empty barriers and the throttle are used in the first CTA only.
struct alignas(16) ClcStorage {
    u8 responses[kClcStages][ptx::kClcResponseBytes];
    u64 full[kClcStages];
    u64 empty[kClcStages];
    u64 throttle; // the load thread has begun; no consumer gets ahead of it twice
};

// Who iterates.
enum class ClcConsumer { kLoadThread, kLoadWarp, kThread, kWarp };

template <class Order, class Cluster, ClcConsumer kConsumer>
class ClcIterator {
    enum : bool {
        kIsWarp = kConsumer == ClcConsumer::kWarp || kConsumer == ClcConsumer::kLoadWarp,
        kLoads =
            kConsumer == ClcConsumer::kLoadThread || kConsumer == ClcConsumer::kLoadWarp,
    };

  public:
    JG_DEVICE ClcIterator(const Order &order, ClcStorage &storage, bool is_first_cta)
        : order_(order), storage_(storage), entry_(blockIdx.x / Cluster::kSize),
          is_first_cta_(is_first_cta)
    {
    }

    JG_DEVICE bool has_work()
    {
        if (taken_) {
            fetch();
        }
        return granted_ && (!Order::kPrepares || entry_ < order_.total());
    }

    JG_DEVICE WorkItem next()
    {
        const WorkItem item = order_.item(entry_);
        if constexpr (kLoads) {
            if (is_first_cta_ && (!kIsWarp || threadIdx.x % 32 == 0)) {
                ptx::mbarrier_arrive(&storage_.throttle);
            }
        }
        taken_ = true;
        return item;
    }

  private:
    // Blocks until the response for the next item is there.
    JG_DEVICE void fetch()
    {
        const u32 stage = state_.stage;
        debug::wait(&storage_.full[stage], state_.phase,
                    debug::BarrierId{debug::Ring::kWork, debug::Side::kFull, stage});
        const ptx::ClcResponse response = ptx::load_clc_response(storage_.responses[stage]);
        if constexpr (kIsWarp) {
            __syncwarp();
        }
        if (!kIsWarp || threadIdx.x % 32 == 0) {
            ptx::fence_proxy_release_shared();
            ptx::mbarrier_arrive_relaxed(&storage_.empty[stage], 0);
        }
        state_.advance();
        granted_ = response.granted;
        entry_ = response.first_cta / Cluster::kSize;
    }

    const Order &order_;
    ClcStorage &storage_;
    PipelineState<kClcStages> state_;
    u32 entry_; // of the list: one cluster of the grid for each
    bool is_first_cta_;
    bool granted_ = true;
    bool taken_ = false;
};

template <class Config, class Cluster>
class ClcScheduler {
    using Order = typename OrderFor<Config>::Type;
    template <ClcConsumer kConsumer>
    using Iterator = ClcIterator<Order, Cluster, kConsumer>;

  public:
    struct Storage : ClcStorage, Order::Storage {};
    enum : bool {
        kHasWarp = true,
        kPrepares = Order::kPrepares,
    };

    template <class ShapeT>
    JG_DEVICE ClcScheduler(const ShapeT &shape, const Cluster &cluster, Storage &storage)
        : order_(shape, cluster, storage), storage_(storage),
          is_first_cta_(cluster.m + cluster.n == 0)
    {
    }

    JG_DEVICE void prepare() const
    {
        order_.prepare();
    }
    static JG_DEVICE void init_barriers(Storage &storage, u32 consumers)
    {
        for (u32 i = 0; i < kClcStages; ++i) {
            ptx::mbarrier_init(&storage.full[i], 1);
            ptx::mbarrier_init(&storage.empty[i], consumers + 1);
        }
        ptx::mbarrier_init(&storage.throttle, 1);
    }

    JG_DEVICE const Order &order() const
    {
        return order_;
    }

    JG_DEVICE WorkItem first_item() const
    {
        return order_.item(blockIdx.x / Cluster::kSize);
    }
    JG_DEVICE auto load_iterator() const
    {
        constexpr auto kLoader =
            Config::kCopiedRows > 0 ? ClcConsumer::kLoadWarp : ClcConsumer::kLoadThread;
        return Iterator<kLoader>(order_, storage_, is_first_cta_);
    }
    JG_DEVICE auto thread_iterator() const
    {
        return Iterator<ClcConsumer::kThread>(order_, storage_, is_first_cta_);
    }
    JG_DEVICE auto warp_iterator() const
    {
        return Iterator<ClcConsumer::kWarp>(order_, storage_, is_first_cta_);
    }

    JG_DEVICE void run() const
    {
        if (!is_first_cta_) {
            return;
        }
        RoleWork work(warp_iterator(), debug::Role::kScheduler, 0, threadIdx.x % 32 == 0);
        PipelineState<kClcStages> state;
        u32 throttle_phase = 0;
        while (work.has_work()) {
            [[maybe_unused]] const auto item = work.next(); // its scope is traced
            debug::wait(&storage_.throttle, throttle_phase,
                        debug::BarrierId{debug::Ring::kThrottle, debug::Side::kFull, 0});
            throttle_phase ^= 1;
            work.track().begin();
            request(state);
            state.advance();
        }
        if constexpr (Cluster::kSize > 1) {
            drain(state);
        }
    }

  private:
    // Until every consumer has read every response: nobody arrives any more.
    JG_DEVICE void drain(PipelineState<kClcStages> state) const
    {
#pragma unroll 1
        for (u32 i = 0; i < kClcStages; ++i) {
            wait_empty(state);
            state.advance();
        }
    }
    JG_DEVICE void wait_empty(const PipelineState<kClcStages> &state) const
    {
        debug::wait_relaxed(
            &storage_.empty[state.stage], state.phase ^ 1,
            debug::BarrierId{debug::Ring::kWork, debug::Side::kEmpty, state.stage});
    }

    // All lanes: each announces the response in one CTA, then one makes the request.
    JG_DEVICE void request(const PipelineState<kClcStages> &state) const
    {
        u64 *full = &storage_.full[state.stage];
        wait_empty(state);
        ptx::fence_proxy_acquire_shared();
        const u32 lane = threadIdx.x % 32;
        if (lane < Cluster::kSize) {
            ptx::mbarrier_arrive_expect_bytes_relaxed(full, ptx::kClcResponseBytes, lane);
        }
        __syncwarp();
        if (ptx::elect_one()) {
            if constexpr (Cluster::kSize == 1) {
                ptx::clc_request(storage_.responses[state.stage], full);
            } else {
                ptx::clc_request_multicast(storage_.responses[state.stage], full);
            }
        }
    }

    Order order_;
    Storage &storage_;
    bool is_first_cta_;
};

} // namespace jg::sm100a

namespace jg {

template <class Config, class Cluster>
struct SchedulerFor<Config, Cluster, SchedulerKind::kClc> {
    using Type = sm100a::ClcScheduler<Config, Cluster>;
};

} // namespace jg
