// SPDX-License-Identifier: MIT
// ClcScheduler: cluster launch control. The grid has a cluster a tile; a cluster that runs
// takes over the tiles of clusters that were not launched yet, one after the other, and
// ends when it is refused one. It draws no conclusion from a refusal: what nobody took over
// is launched. Clusters are given up in the order of their indices; that is what others
// have seen, no document promises it, and only a split K depends on it
// (tile_scheduler.cuh).
//
// A ring of responses in every CTA. The scheduler's warp, in the cluster's first CTA, waits
// until the load thread there has begun with a tile (so that no cluster holds tiles that
// others could begin with) and until every walk of the cluster has read what the stage had
// before. Then it announces the response's bytes at the barrier of each CTA, and requests
// once for all. Every walk loads the response, then fences, then arrives in the first CTA.
// Who is refused ends; the scheduler's warp reads the responses too, so no request is open
// when it ends.
//
// Called by: see scheduler_for.cuh. Before use: init_barriers by one thread, then a
// synchronisation of the cluster. After use: no CTA ends before all walks of the cluster.
#pragma once
#include <jg/common/cluster_shape.cuh>
#include <jg/common/pipeline_state.cuh>
#include <jg/debug/track.cuh>
#include <jg/ptx/launch_control.cuh>
#include <jg/ptx/mbarrier.cuh>
#include <jg/schedule/advance.cuh>
#include <jg/schedule/tile_scheduler.cuh>

namespace jg {

// Requests are a tile ahead of the load, and the epilogue may be two tiles behind it.
constexpr u32 kClcStages = 3;

// The empty barriers and `throttle` are used in the first CTA only.
struct alignas(16) ClcStorage {
    u8 responses[kClcStages][ptx::kClcResponseBytes];
    u64 full[kClcStages];
    u64 empty[kClcStages];
    u64 throttle; // the load thread has begun with a tile; no walk can get ahead of it
                  // twice
};

// Who walks.
enum class ClcReader { kLoadThread, kThread, kWarp };

template <class Tiles, class Cluster, ClcReader kReader, Advance kAdvance>
class ClcWorkIterator {
    static_assert(kReader != ClcReader::kLoadThread || kAdvance == Advance::kDelayed,
                  "the load has to begin before the next tile is requested");

  public:
    JG_DEVICE ClcWorkIterator(const Tiles &tiles, ClcStorage &storage, bool is_first_cta)
        : tiles_(tiles), storage_(storage), index_(blockIdx.x / Cluster::kSize),
          is_first_cta_(is_first_cta)
    {
    }

    JG_DEVICE bool has_work()
    {
        if constexpr (kAdvance == Advance::kDelayed) {
            if (taken_) {
                fetch();
            }
        }
        return granted_;
    }

    // The current tile.
    JG_DEVICE WorkTile next()
    {
        const WorkTile tile = tiles_.tile(index_);
        if constexpr (kReader == ClcReader::kLoadThread) {
            if (is_first_cta_) {
                ptx::mbarrier_arrive(&storage_.throttle);
            }
        }
        if constexpr (kAdvance == Advance::kDelayed) {
            taken_ = true;
        } else {
            fetch();
        }
        return tile;
    }

  private:
    // Blocks until the response for the next tile is there.
    JG_DEVICE void fetch()
    {
        const u32 stage = state_.stage;
        debug::wait(&storage_.full[stage], state_.phase,
                    debug::BarrierId{debug::Ring::kWork, debug::Side::kFull, stage});
        const ptx::ClcResponse response = ptx::load_clc_response(storage_.responses[stage]);
        if constexpr (kReader == ClcReader::kWarp) {
            __syncwarp();
        }
        if (kReader != ClcReader::kWarp || threadIdx.x % 32 == 0) {
            ptx::fence_proxy_release_shared();
            ptx::mbarrier_arrive_relaxed(&storage_.empty[stage], 0);
        }
        state_.advance();
        granted_ = response.granted;
        index_ = response.first_cta / Cluster::kSize;
    }

    const Tiles &tiles_;
    ClcStorage &storage_;
    PipelineState<kClcStages> state_;
    u32 index_; // of the cluster tile: a cluster of the grid for each
    bool is_first_cta_;
    bool granted_ = true;
    bool taken_ = false;
};

template <class Config, class Cluster>
class ClcScheduler {
    using Tiles = TileScheduler<Config>;
    template <ClcReader kReader, Advance kAdvance>
    using Walk = ClcWorkIterator<Tiles, Cluster, kReader, kAdvance>;

  public:
    using Storage = ClcStorage;
    static constexpr bool kHasWarp = true;

    JG_DEVICE ClcScheduler(const Tiles &tiles, const Cluster &cluster, Storage &storage)
        : tiles_(tiles), storage_(storage), is_first_cta_(cluster.m + cluster.n == 0)
    {
    }

    static JG_DEVICE void init_barriers(Storage &storage, u32 readers)
    {
        for (u32 i = 0; i < kClcStages; ++i) {
            ptx::mbarrier_init(&storage.full[i], 1);
            ptx::mbarrier_init(&storage.empty[i], readers + 1);
        }
        ptx::mbarrier_init(&storage.throttle, 1);
    }

    JG_DEVICE Walk<ClcReader::kLoadThread, Advance::kDelayed> load_walk() const
    {
        return Walk<ClcReader::kLoadThread, Advance::kDelayed>(tiles_, storage_,
                                                               is_first_cta_);
    }
    template <Advance kAdvance>
    JG_DEVICE Walk<ClcReader::kThread, kAdvance> thread_walk() const
    {
        return Walk<ClcReader::kThread, kAdvance>(tiles_, storage_, is_first_cta_);
    }
    template <Advance kAdvance>
    JG_DEVICE Walk<ClcReader::kWarp, kAdvance> warp_walk() const
    {
        return Walk<ClcReader::kWarp, kAdvance>(tiles_, storage_, is_first_cta_);
    }

    JG_DEVICE void run() const
    {
        if (!is_first_cta_) {
            return;
        }
        auto work = warp_walk<Advance::kDelayed>();
        debug::Track track(debug::Role::kScheduler, 0, threadIdx.x % 32 == 0);
        PipelineState<kClcStages> state;
        u32 phase = 0; // of `throttle`
        while (work.has_work()) {
            track.next(work.next());
            debug::wait(&storage_.throttle, phase,
                        debug::BarrierId{debug::Ring::kThrottle, debug::Side::kFull, 0});
            phase ^= 1;
            track.begin();
            request(state);
            track.end();
            state.advance();
        }
    }

  private:
    // All lanes: each announces the response in one CTA, then one requests.
    JG_DEVICE void request(const PipelineState<kClcStages> &state) const
    {
        u64 *full = &storage_.full[state.stage];
        debug::wait_relaxed(
            &storage_.empty[state.stage], state.phase ^ 1,
            debug::BarrierId{debug::Ring::kWork, debug::Side::kEmpty, state.stage});
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

    const Tiles &tiles_;
    Storage &storage_;
    bool is_first_cta_;
};

} // namespace jg
