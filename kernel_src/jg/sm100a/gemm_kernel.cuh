// SPDX-License-Identifier: MIT
// The Blackwell GEMM kernel: its nouns, a loop for each role, and who runs which.
#pragma once
#include <jg/debug/track.cuh>
#include <jg/epilogue/epilogue_for.cuh>
#include <jg/epilogue/partial_sums.cuh>
#include <jg/pipeline/warpgroup_signals.cuh>
#include <jg/schedule/k_range.cuh>
#include <jg/schedule/scheduler_for.cuh>
#include <jg/sm100a/accum_reader.cuh>
#include <jg/sm100a/commit_signals.cuh>
#include <jg/sm100a/k_group.cuh>
#include <jg/sm100a/load_order.cuh>
#include <jg/sm100a/mma_op.cuh>
#include <jg/sm100a/output_frame.cuh>
#include <jg/sm100a/roles.cuh>
#include <jg/sm100a/smem.cuh>
#include <jg/sm100a/tmem.cuh>
#include <jg/tile/thread_loader.cuh>
#include <jg/tile/tile_loader.cuh>

namespace jg::sm100a {

template <class Config, class Epilogue, class Params>
class GemmKernel {
    using Cluster = ClusterShape<Config::kClusterM, Config::kClusterN, Config::kCtaGroup>;
    using Scheduler = typename SchedulerFor<Config, Cluster>::Type;
    using SmemT = Smem<Config, Scheduler>;
    using Partition = EpiloguePartition<Config>;
    using Output = OutputFrame<Config>;
    using Matrices = EpilogueLoad<Config, Epilogue, Partition>;
    using EpilogueT = typename EpilogueFor<Config, Epilogue, Partition>::Type;
    using Partials = PartialSums<Config, Partition>;
    using Mma = MmaOp<Config>;
    static constexpr bool kAlone = Cluster::kSize == 1;
    static constexpr bool kWithMatrices = Config::kEpilogueLoadStages > 0;
    using RolesT = Roles<kWithMatrices, Scheduler::kHasWarp, Config::kThreadLoads>;
    using Ring = InputRingBuffer<Config::kStages, SmemT::kStageBytes,
                                 CommitSignals<Cluster>, RolesT::kLoadWarps>;
    using OneCta = ClusterShape<1, 1>;
    using MatrixSignals =
        WarpgroupSignals<Partition::kTeams, OneCta, Partition::kTeamThreads>;
    using MatrixRing = InputRingBuffer<Config::kEpilogueLoadStages,
                                       SmemT::kEpilogueLoadBytes, MatrixSignals>;
    using Order =
        LoadOrder<kWithMatrices, Config::kStages * Config::kKGroup, RolesT::kLoadWarps>;
    using Accumulators =
        OutputRingBuffer<Config::kAccStages, RolesT::kEpilogueWarps, Cluster>;
    using Loader = TileLoader<Config, Cluster>;
    using TmemT = Tmem<Config::kCtaGroup, Config::kAccStages * Mma::kColumns>;
    using ShapeT = Shape<Config, Params>;
    using Range = KRange<Config>;
    // Walks over tiles: of the load thread, the epilogue's warps and the matrix thread in
    // every CTA, of the MMA thread in one of each group.
    static constexpr u32 kWalks =
        Cluster::kSize * (1 + RolesT::kEpilogueWarps + kWithMatrices) +
        Cluster::kSize / Cluster::kCtaGroup;
    static constexpr u32 kPartialsBarrier = 5; // 1 to 4 are those of teams and store tiles
    static_assert((sizeof(SmemT) > kLeastSmemBytes ? sizeof(SmemT) : kLeastSmemBytes) ==
                      Config::kSmemBytes,
                  "host and device disagree on shared memory");
    static_assert(sizeof(Params) == Config::kParamsBytes,
                  "host and device disagree on parameters");
    static_assert(Config::kThreads == RolesT::kThreads,
                  "host and device disagree on threads");
    static_assert(Epilogue::kOperandCount == Config::kOperandCount, "operand lists differ");

    // The load role: a walk over the tiles. `load(tile, k, blocks)` sends or fills the next
    // stage: so many blocks of the tile, from this element of K on. `finish()` hands on
    // what is still held after the last.
    template <class Producer, class Spans, class Load, class Finish>
    static JG_DEVICE void load_tiles(const Scheduler &scheduler, const Range &range,
                                     Producer &producer, Spans spans, bool records,
                                     Load load, Finish finish)
    {
        debug::Track track(debug::Role::kLoad, 0, records);
        auto work = scheduler.load_walk();
        while (work.has_work()) {
            const WorkTile tile = work.next();
            const KPart part = range.part(tile);
            track.next(tile);
            track.begin();
            u32 k = 0;
#pragma unroll 1
            for (u32 end = spans.span(part.blocks); k < part.blocks; end = part.blocks) {
#pragma unroll 1
                for (; k < end; k += Config::kKGroup) {
                    load(tile, part.first + k * Config::kBlockK,
                         KGroup<Config>::blocks(part.blocks - k));
                }
                spans.sent();
            }
            track.end();
        }
        finish();
        producer.drain();
        if constexpr (Config::kPdl) {
            ptx::launch_dependent_grids();
        }
    }

    // ... by TMA, which one thread starts.
    static JG_DEVICE void load_by_copies(const Scheduler &scheduler, const Range &range,
                                         const Ring &ring, const Order &order,
                                         const Loader &loader, SmemT &smem)
    {
        auto producer = ring.producer();
        const auto send = [&](const WorkTile &tile, u32 k, u32 blocks) {
            const ProducerStage stage = producer.acquire(blocks * SmemT::kBlockBytes);
#pragma unroll
            for (u32 i = 0; i < Config::kKGroup; ++i) {
                if (i < blocks) {
                    const u32 block = stage.index * Config::kKGroup + i;
                    loader.load(smem.a[block], smem.b[block], stage.full, tile,
                                k + i * Config::kBlockK);
                }
            }
        };
        load_tiles(scheduler, range, producer, order.spans(true), true, send, [] {});
    }

    // ... by four warps, for inputs that TMA does not take. `thread`: of them.
    static JG_DEVICE void load_by_threads(const Scheduler &scheduler, const Range &range,
                                          const Ring &ring, const Order &order,
                                          const Params &params, const ShapeT &shape,
                                          SmemT &smem, u32 thread)
    {
        const ThreadLoader<Config, ShapeT> loader(params, shape, thread);
        auto producer = ring.producer();
        FilledStages<decltype(loader), decltype(producer)> filled(producer);
        const auto fill = [&](const WorkTile &tile, u32 k, u32 blocks) {
            auto stage = producer.acquire_to_fill();
#pragma unroll 1
            for (u32 i = 0; i < blocks; ++i) {
                const u32 block = stage.index() * Config::kKGroup + i;
                loader.load(smem.a[block], smem.b[block], tile, k + i * Config::kBlockK);
            }
            filled.add(stage);
        };
        load_tiles(scheduler, range, producer, order.spans(thread % 32 == 0), thread == 0,
                   fill, [&] { filled.finish(); });
    }

    // The MMA role, for this CTA or the pair: one thread.
    static JG_DEVICE void multiply(const Scheduler &scheduler, const Range &range,
                                   const Ring &ring, const Accumulators &accumulators,
                                   u32 columns, SmemT &smem)
    {
        auto consumer = ring.consumer();
        auto producer = accumulators.producer();
        debug::Track track(debug::Role::kMma);
        auto work = scheduler.template thread_walk<Advance::kNow>();
        while (work.has_work()) {
            const WorkTile tile = work.next();
            const KPart part = range.part(tile);
            track.next(tile);
            const auto stage = producer.acquire();
            track.begin();
            Mma::run(smem, consumer, columns + stage.index() * Mma::kColumns, part.blocks);
            track.end();
        }
        if constexpr (kAlone) {
            producer.drain();
        }
    }

    // C and matrix operands: one thread.
    static JG_DEVICE void load_matrices(const Scheduler &scheduler,
                                        const MatrixRing &matrix_ring, const Order &order,
                                        const Params &params, SmemT &smem)
    {
        auto producer = matrix_ring.producer();
        auto work = scheduler.template thread_walk<Advance::kDelayed>();
        debug::Track track(debug::Role::kMatrices);
        const bool with_c = Config::kHasC && params.beta.load() != 0.0f;
        while (work.has_work()) {
            const WorkTile next = work.next();
            track.next(next);
            order.wait();
            track.begin();
            const WorkTile tile = Output::tile(next);
            if (tile.split + 1 == Config::kSplitK) {
                Matrices::load(params, smem, producer, tile, with_c);
            }
            track.end();
        }
    }

    // The epilogue: four warps.
    static JG_DEVICE void write(const Scheduler &scheduler,
                                const Accumulators &accumulators,
                                const MatrixRing &matrix_ring, const Params &params,
                                const ShapeT &shape, u32 columns, SmemT &smem)
    {
        auto consumer = accumulators.consumer();
        auto matrices = matrix_ring.consumer();
        const u32 team = Partition::warp() / Partition::kTeamWarps;
        const auto out_shape = Output::shape(shape);
        EpilogueT epilogue(params, out_shape, smem.out[0][0], team);
        auto work = scheduler.template warp_walk<Advance::kDelayed>();
        debug::Track track(debug::Role::kEpilogue, 0, threadIdx.x == 0);
        while (work.has_work()) {
            const WorkTile next = work.next();
            track.next(next);
            AccumReader<Partition, decltype(consumer)> acc(consumer, columns);
            track.begin();
            const WorkTile tile = Output::tile(next);
            if constexpr (Config::kSplitK == 1) {
                epilogue.run(params, out_shape, acc, smem, matrices, tile);
            } else {
                const Partials partials(params, out_shape, tile, team, 0, kPartialsBarrier);
                if (partials.is_last()) {
                    partials.fixup();
                    SummedAccumulators<decltype(acc), Partials, Partition> sum(acc,
                                                                               partials);
                    epilogue.run(params, out_shape, sum, smem, matrices, tile);
                } else {
                    partials.store_partial(acc);
                }
            }
            track.end();
        }
        epilogue.drain();
    }

  public:
    static JG_DEVICE void run(const Params &params)
    {
        extern __shared__ __align__(1024) u8 smem_bytes[];
        SmemT &smem = *reinterpret_cast<SmemT *>(smem_bytes);

        const RolesT roles;
        const Cluster cluster(Cluster::kSize > 1 ? ptx::cluster_cta_rank() : 0);
        const OneCta alone(0);
        const ShapeT shape(params);
        const TileScheduler<Config> tiles(shape, cluster);
        const Scheduler scheduler(tiles, cluster, smem.scheduler);
        const CommitSignals<Cluster> signals(cluster);
        const MatrixSignals matrix_signals(alone);
        const Ring ring(smem.ring, signals);
        const MatrixRing matrix_ring(smem.matrix_ring, matrix_signals);
        const Order order(smem.load_order);
        const Accumulators accumulators(smem.accumulators, cluster);
        const Loader loader(params, cluster);
        const TmemT tmem(&smem.tmem_address);
        const Range range(shape.k);

        if (roles.is_load_warp() && ptx::elect_one()) {
            if constexpr (!Config::kThreadLoads) {
                loader.prefetch_maps();
            }
            EpilogueT::prefetch_maps(params);
            Ring::init_barriers(smem.ring);
            if constexpr (kWithMatrices) {
                MatrixRing::init_barriers(smem.matrix_ring);
            }
            Order::init_barrier(smem.load_order);
            Accumulators::init_barriers(smem.accumulators);
            Scheduler::init_barriers(smem.scheduler, kWalks);
            ptx::fence_mbarrier_init();
        }
        if constexpr (Config::kCtaGroup == 2) {
            __syncwarp();
            ptx::cluster_sync(); // a pair allocates together: both must run
        }
        if (roles.is_mma_warp()) {
            tmem.allocate();
        }
        __syncwarp();
        ptx::synchronize<Cluster::kSize>();
        if constexpr (Config::kPdl) {
            if constexpr (Config::kPrefetch != Prefetch::kNone) {
                if (roles.is_load_warp() && ptx::elect_one()) {
                    const WorkTile tile = tiles.tile(blockIdx.x / Cluster::kSize);
                    const KPart part = range.part(tile);
                    loader.template prefetch<Config::kPrefetch>(
                        tile, part.first,
                        min_u32(part.blocks, Config::kStages * Config::kKGroup));
                }
                __syncwarp();
            }
            ptx::grid_dependency_wait();
        }

        if (roles.loads()) {
            if constexpr (Config::kThreadLoads) {
                load_by_threads(scheduler, range, ring, order, params, shape, smem,
                                roles.load_thread());
            } else if (ptx::elect_one()) {
                load_by_copies(scheduler, range, ring, order, loader, smem);
            }
        } else if (roles.is_mma_warp()) {
            if (cluster.pair_rank() == 0 && ptx::elect_one()) {
                multiply(scheduler, range, ring, accumulators, tmem.address(), smem);
            }
        } else if (roles.is_matrix_warp()) {
            if constexpr (kWithMatrices) {
                if (ptx::elect_one()) {
                    load_matrices(scheduler, matrix_ring, order, params, smem);
                }
            }
        } else if (roles.is_scheduler_warp()) {
            scheduler.run();
        } else {
            write(scheduler, accumulators, matrix_ring, params, shape, tmem.address(),
                  smem);
        }

        if constexpr (!kAlone) {
            // Nobody leaves, and no tensor memory is freed, while a neighbour may still
            // copy, multiply, read or arrive.
            __syncwarp();
            ptx::cluster_sync();
        }
        if (roles.is_mma_warp()) {
            __syncwarp();
            tmem.release(); // alone: the drain has waited for the epilogue's last load
        }
    }
};

template <class Config, class Epilogue, class Params>
JG_DEVICE void gemm_kernel(const Params &params)
{
    GemmKernel<Config, Epilogue, Params>::run(params);
}

} // namespace jg::sm100a
