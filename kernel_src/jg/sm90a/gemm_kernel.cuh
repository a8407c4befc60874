// SPDX-License-Identifier: MIT
// The Hopper GEMM kernel: the role loops, nothing else.
#pragma once
#include <jg/common/choices.cuh>
#include <jg/debug/track.cuh>
#include <jg/epilogue/epilogue_for.cuh>
#include <jg/epilogue/partial_sums.cuh>
#include <jg/pipeline/warpgroup_signals.cuh>
#include <jg/schedule/k_range.cuh>
#include <jg/schedule/tile_scheduler.cuh>
#include <jg/sm90a/accumulators.cuh>
#include <jg/sm90a/mma_op.cuh>
#include <jg/sm90a/roles.cuh>
#include <jg/sm90a/smem.cuh>
#include <jg/tile/thread_loader.cuh>
#include <jg/tile/tile_loader.cuh>

namespace jg::sm90a {

template <class Config, class Epilogue, class Params>
JG_DEVICE void gemm_kernel(const Params &params)
{
    using SmemT = Smem<Config>;
    using Cluster = ClusterShape<Config::kClusterM, Config::kClusterN>;
    using Signals = WarpgroupSignals<Roles::kConsumers, Cluster>;
    using Ring = InputRingBuffer<Config::kStages, SmemT::kStageBytes, Signals,
                                 Config::kThreadLoads ? Roles::kLoadWarps : 1>;
    using Scheduler = TileScheduler<Config>;
    using Mma = MmaOp<Config>;
    using Partition = EpiloguePartition<Config>;
    using Matrices = EpilogueLoad<Config, Epilogue, Partition>;
    using EpilogueT = typename EpilogueFor<Config, Epilogue, Partition>::Type;
    static_assert(sizeof(SmemT) == Config::kSmemBytes,
                  "host and device disagree on shared memory");
    static_assert(sizeof(Params) == Config::kParamsBytes,
                  "host and device disagree on parameters");
    static_assert(Config::kThreads == Roles::kThreads,
                  "host and device disagree on threads");
    static_assert(Epilogue::kOperandCount == Config::kOperandCount, "operand lists differ");

    extern __shared__ __align__(1024) u8 smem_bytes[];
    SmemT &smem = *reinterpret_cast<SmemT *>(smem_bytes);

    const Roles roles;
    const Cluster cluster(Cluster::kSize > 1 ? ptx::cluster_cta_rank() : 0);
    const Shape<Config, Params> shape(params);
    const Scheduler scheduler(shape, cluster);
    const Signals signals(cluster);
    const Ring ring(smem.ring, signals);
    const TileLoader<Config, Cluster> loader(params, cluster);
    const KRange<Config> range(shape.k);
    WorkIterator<Scheduler, Cluster::kSize> work(scheduler);

    if (roles.is_load_warp() && ptx::elect_one()) {
        if constexpr (!Config::kThreadLoads) {
            loader.prefetch_maps();
        }
        EpilogueT::prefetch_maps(params);
        Ring::init_barriers(smem.ring);
        ptx::fence_mbarrier_init();
    }
    ptx::synchronize<Cluster::kSize>();
    if constexpr (Config::kPdl) {
        ptx::grid_dependency_wait();
    }

    if (Config::kThreadLoads && roles.is_load_warpgroup()) {
        if constexpr (Config::kThreadLoads) {
            ptx::give_registers_back<Roles::kThreadLoadRegisters>();
            const ThreadLoader<Config, decltype(shape)> by_threads(params, shape,
                                                                   threadIdx.x);
            auto producer = ring.producer();
            FilledStages<decltype(by_threads), decltype(producer)> filled(producer);
            debug::Track track(debug::Role::kLoad, 0, threadIdx.x == 0);
            while (work.has_work()) {
                const WorkTile tile = work.next();
                const KPart part = range.part(tile);
                track.next(tile);
                track.begin();
#pragma unroll 1
                for (u32 k = 0; k < part.blocks; ++k) {
                    auto stage = producer.acquire_to_fill();
                    by_threads.load(smem.a[stage.index()], smem.b[stage.index()], tile,
                                    part.first + k * Config::kBlockK);
                    filled.add(stage);
                }
                track.end();
            }
            filled.finish();
            producer.drain(); // as below
            if constexpr (Config::kPdl) {
                ptx::launch_dependent_grids();
            }
        }
    } else if (roles.is_load_warpgroup()) {
        ptx::give_registers_back<Roles::kLoadRegisters>();
        if (roles.is_load_warp() && ptx::elect_one()) {
            auto producer = ring.producer();
            const bool with_c = Config::kHasC && params.beta.load() != 0.0f;
            debug::Track track(debug::Role::kLoad);
            while (work.has_work()) {
                const WorkTile tile = work.next();
                const KPart part = range.part(tile);
                track.next(tile);
                track.begin();
#pragma unroll 1
                for (u32 k = 0; k < part.blocks; ++k) {
                    const ProducerStage stage = producer.acquire();
                    loader.load(smem.a[stage.index], smem.b[stage.index], stage.full, tile,
                                part.first + k * Config::kBlockK);
                }
                if (tile.split + 1 == Config::kSplitK) {
                    Matrices::load(params, smem, producer, tile, with_c);
                }
                track.end();
            }
            // The neighbours' arrivals have come: the CTA may end. Alone it only delays the
            // next grid's start until the inputs are used up (measured: 6 % of 256^3).
            producer.drain();
            if constexpr (Config::kPdl) {
                ptx::launch_dependent_grids();
            }
        }
    } else {
        ptx::take_registers<Config::kThreadLoads ? Roles::kMathRegistersBeside
                                                 : Roles::kMathRegisters>();
        auto consumer = ring.consumer();
        EpilogueT epilogue(params, shape, smem.out[roles.consumer()][0], roles.consumer());
        const bool records = threadIdx.x % 128 == 0;
        debug::Track products(debug::Role::kMma, roles.consumer(), records);
        debug::Track output(debug::Role::kEpilogue, roles.consumer(), records);
        while (work.has_work()) {
            const WorkTile tile = work.next();
            products.next(tile);
            output.next(tile);
            Mma mma(roles.consumer());
            products.begin();
            mma.run(smem, consumer, range.part(tile).blocks);
            products.end();
            const RegisterAccumulators<Partition, typename Config::A> acc(mma.acc);
            if constexpr (Config::kSplitK > 1) {
                const PartialSums<Config, Partition> partials(
                    params, shape, tile, roles.consumer(), roles.consumer(),
                    1 + roles.consumer());
                if (!partials.is_last()) {
                    partials.store_partial(acc);
                    continue;
                }
                partials.fixup();
                partials.add_to(mma.acc);
            }
            output.begin();
            epilogue.run(params, shape, acc, smem, consumer, tile);
            output.end();
        }
        epilogue.drain();
    }
}

} // namespace jg::sm90a
