// SPDX-License-Identifier: MIT
// KernelContext: what a CTA of the Blackwell kernel works with, and its roles. Owners are
// members; none of them points to another, so that all of them can be registers.
//
// Called by gemm_kernel.cuh: init by one thread, then, when the CTA or cluster is
// synchronised, each role by its own threads. A role returns when the scheduler has no more
// work for its cluster.
#pragma once
#include <jg/epilogue/epilogue_for.cuh>
#include <jg/epilogue/output_frame.cuh>
#include <jg/pipeline/warpgroup_signals.cuh>
#include <jg/sm100a/accum_reader.cuh>
#include <jg/sm100a/clc_scheduler.cuh>
#include <jg/sm100a/commit_signals.cuh>
#include <jg/sm100a/load_order.cuh>
#include <jg/sm100a/mma_op.cuh>
#include <jg/sm100a/roles.cuh>
#include <jg/sm100a/scale_stages.cuh>
#include <jg/sm100a/smem.cuh>
#include <jg/sm100a/tmem.cuh>
#include <jg/tile/tile_loader.cuh>

namespace jg::sm100a {

template <class Config, class Epilogue, class Params>
struct KernelContext {
    enum : u32 { kClusterParts = ClusterParts<Config>::kCount };
    using Cluster = ClusterShape<Config::kClusterM, Config::kClusterN, Config::kCtaGroup,
                                 kClusterParts>;
    using OneCta = ClusterShape<1, 1>;
    using Scheduler = typename SchedulerFor<Config, Cluster>::Type;
    using SmemT = Smem<Config, Scheduler>;
    using ShapeT = Shape<Config, Params>;
    using Group = KGroup<Config>;
    using Tiles = InputTiles<Config>;
    using Mma = MmaOp<Config>;
    using ScaleLoaderT = ScaleLoader<Config, Cluster>;
    using ScaleCellsT = ScaleCells<Tmem<Config>::kSharedScaleCells, Config::kCtaGroup>;
    enum : u32 { kScaleBytes = ScaleTiles<Config>::kSentBytes }; // of a stage
    using Output = OutputFrame<Config>;
    using Partition = EpiloguePartition<Config>;
    using EpilogueLoadT = EpilogueLoad<Config, Epilogue, Partition>;
    using EpilogueT = typename EpilogueFor<Config, Epilogue, Partition>::Type;
    using Partials = PartialSums<Config, Partition>;
    using ClusterSumsT = typename ClusterSumsFor<Config, Partition, Cluster>::Type;
    using Promoted = PromotedSums<Config, Partition>;
    enum : bool {
        kPromotes = promotes_block_scales<Config>(), // after each block of K
        kSharesColumns = Config::kSharedColumns > 0, // of tensor memory, accumulators do
        kHasScaleWarp = kPromotes || scale_fillers<Config>() > 0,
        kClearsRest = clears_rest<Config>(),
        // Whose results have a part for each group, which may lack rows.
        kReducesGroups = Epilogue::kReduces && lists_groups_together<Config>(),
        kLoadsForEpilogue = Config::kEpilogueLoadStages > 0,
        kAlone = Cluster::kSize == 1,
    };
    using RolesT = Roles<4 * Partition::kWarpgroups, kLoadsForEpilogue, Scheduler::kHasWarp,
                         kHasScaleWarp, Config::kThreadLoads>;
    using ScaleRingT = ScaleRing<Config, RolesT::kEpilogueWarps>;
    using Ring = InputRingBuffer<
        Config::kStages, Config::kKGroup * Tiles::kLoadedBytes + kScaleBytes,
        CommitSignals<Cluster, Mma::kClearsScales>,
        stage_fillers<Config>(RolesT::kLoadWarps) + scale_fillers<Config>()>;
    using EpilogueSignals =
        WarpgroupSignals<Partition::kTeams, OneCta, Partition::kTeamThreads>;
    using EpilogueRing = InputRingBuffer<Config::kEpilogueLoadStages,
                                         SmemT::kEpilogueLoadBytes, EpilogueSignals>;
    using LoadOrderT =
        LoadOrder<kLoadsForEpilogue, Config::kStages * Config::kKGroup, RolesT::kLoadWarps>;
    using Accumulators =
        OutputRingBuffer<LaneLayout<Config>::kRingStages, RolesT::kEpilogueWarps, Cluster>;
    // Work iterators of a cluster: of the load thread, the epilogue's warps, their load
    // thread and the warp that brings scales in every CTA, of the MMA thread in each group.
    enum : u32 {
        kClcConsumers = Cluster::kSize * (1 + RolesT::kEpilogueWarps + kLoadsForEpilogue +
                                          kHasScaleWarp) +
                        Cluster::kSize / Cluster::kCtaGroup,
        kPartialsBarrier = 5, // 1 to 4 are those of teams and store tiles
        kSharesBarrier = 6,   // and 7
        kUsedSmemBytes = sizeof(SmemT) > kLeastSmemBytes ? sizeof(SmemT) : kLeastSmemBytes,
    };
    static_assert((kScaleBytes == 0 && !kPromotes) || Config::kKGroup == 1,
                  "a stage has one block's scales");
    static_assert(kUsedSmemBytes <= Config::kSmemBytes &&
                      Config::kSmemBytes - kUsedSmemBytes <= alignof(SmemT),
                  "host and device disagree on shared memory");
    static_assert(sizeof(Params) == Config::kParamsBytes,
                  "host and device disagree on parameters");
    static_assert(Config::kThreads == RolesT::kThreads,
                  "host and device disagree on threads");
    static_assert(Epilogue::kOperandCount == Config::kOperandCount, "operand lists differ");

    static JG_DEVICE SmemT &shared_memory()
    {
        extern __shared__ __align__(1024) u8 smem_bytes[];
        return *reinterpret_cast<SmemT *>(smem_bytes);
    }

    const RolesT roles;
    const Params &params;
    SmemT &smem;
    const Cluster cluster;
    const ShapeT shape;
    const Scheduler scheduler;
    const Ring input;
    const EpilogueRing epilogue_input;
    const LoadOrderT load_order;
    const Accumulators accumulators;
    const Tmem<Config> tmem;
    const TileLoader<Config, Cluster> loader;
    const ScaleLoaderT scale_loader;

    JG_DEVICE explicit KernelContext(const Params &launch)
        : params(launch), smem(shared_memory()),
          cluster(kAlone ? 0 : ptx::cluster_cta_rank()), shape(launch),
          scheduler(shape, cluster, smem.scheduler), input(smem.ring, cluster),
          epilogue_input(smem.epilogue_load_ring, OneCta(0)), load_order(smem.load_order),
          accumulators(smem.accumulators, cluster), tmem(smem.tmem_address),
          loader(launch, cluster), scale_loader(launch, shape)
    {
    }

    // Before the synchronisation.
    JG_DEVICE void init() const
    {
        if constexpr (!Config::kThreadLoads) {
            loader.prefetch_maps();
        }
        if constexpr (kScaleBytes > 0) {
            scale_loader.prefetch_maps();
        }
        EpilogueT::prefetch_maps(params);
        Ring::init_barriers(smem.ring);
        if constexpr (kPromotes) {
            ScaleRingT::init_barriers(smem.scale_slots);
        }
        if constexpr (kLoadsForEpilogue) {
            EpilogueRing::init_barriers(smem.epilogue_load_ring);
        }
        LoadOrderT::init_barrier(smem.load_order);
        Accumulators::init_barriers(smem.accumulators);
        ScaleCellsT::init_barriers(smem.scale_cells);
        if constexpr (kClusterParts > 1) {
            ClusterSumsT::init_barriers(smem.sums);
        }
        Scheduler::init_barriers(smem.scheduler, kClcConsumers);
        ptx::fence_mbarrier_init();
    }

    // Brings an operand's first blocks to L2, beside the grid before this one: one thread.
    JG_DEVICE void prefetch() const
    {
        const WorkItem item = scheduler.first_item();
        loader.template prefetch<Config::kPrefetch>(
            item, item.k_first, min_u32(item.k_blocks, Config::kStages * Config::kKGroup));
    }

    // Brings A and B: one thread.
    JG_DEVICE void load() const
    {
        auto tiles = input.producer();
        auto order = load_order.producer(true);
        AcquiredMaps maps(loader);
        RoleWork work(scheduler.load_iterator(), debug::Role::kLoad);
        while (work.has_work()) {
            const auto item = work.next();
            maps.settle(item);
            work.settle_at_stage(tiles, item.k_blocks > 0);
            order.run(item.k_blocks,
                      [&](u32 k, u32 end) { return send(loader, tiles, item, k, end); });
        }
        finish_loading(tiles);
    }

    // The same where an index names rows of A or B: one warp, a lane starts copies.
    JG_DEVICE void load_rows() const
    {
        auto tiles = input.producer();
        auto order = load_order.producer(true);
        const RowLoader<Config, Cluster, ShapeT> rows(params, shape, cluster, loader,
                                                      smem.rows);
        RoleWork work(scheduler.load_iterator(), debug::Role::kLoad, 0,
                      threadIdx.x % 32 == 0);
        while (work.has_work()) {
            const auto item = work.next();
            rows.begin(item);
            if (ptx::elect_one()) {
                work.settle_at_stage(tiles, item.k_blocks > 0);
                order.run(item.k_blocks,
                          [&](u32 k, u32 end) { return send(rows, tiles, item, k, end); });
            }
        }
        if (ptx::elect_one()) {
            finish_loading(tiles);
        }
    }

    // The same for inputs that TMA does not take: four warps.
    JG_DEVICE void load_by_threads() const
    {
        const u32 thread = roles.load_thread();
        ThreadLoaderOf<Config, Cluster, ShapeT> filler(params, shape, loader, thread);
        auto tiles = input.producer();
        auto order = load_order.producer(thread % 32 == 0);
        RoleWork work(scheduler.load_iterator(), debug::Role::kLoad, 0, thread == 0);
        while (work.has_work()) {
            const auto item = work.next();
            filler.begin(item);
            work.settle_at_stage(tiles, item.k_blocks > 0);
            order.run(item.k_blocks, [&](u32 k, u32 end) {
#pragma unroll 1
                for (; k < end; k += Config::kKGroup) {
                    const auto stage = FilledStage<Config>::acquire(tiles);
                    const u32 i = stage.index();
                    smem.input[i].fill(filler, &smem.ring.full[i], item, k,
                                       Group::blocks(item.k_blocks - k));
                }
                return k;
            });
        }
        finish_loading(tiles);
    }

    // Multiplies, for this CTA or the pair: one thread of the leader CTA.
    JG_DEVICE void multiply() const
    {
        RoleWork work(scheduler.thread_iterator(), debug::Role::kMma);
        auto tiles = input.consumer();
        auto ring = accumulators.producer(work.track());
        ScaleCellsT cells(smem.scale_cells);
        const auto columns = tmem.accumulators();
        const auto scales = tmem.scales(); // not read anew for each block
        while (work.has_work()) {
            const auto item = work.next();
            if (kClearsRest && item.k_blocks == 0) {
                continue;
            }
            const u32 part = kPromotes ? 1 : item.k_blocks;
            u32 k = 0;
            do {
                // Acquire an accumulator: it is committed when the scope ends.
                const auto accumulator = ring.acquire();
                work.settle_at_stage(tiles, k < item.k_blocks);
                k = add_up(tiles, cells, scales, item, columns.block(accumulator.index()),
                           k, k + part);
            } while (kPromotes && k < item.k_blocks);
        }
        ring.drain();
        cells.drain();
    }

    // Adds blocks `k` to `end` of K to an accumulator, in whole groups; which one is next.
    JG_DEVICE u32 add_up(typename Ring::Consumer &tiles, ScaleCellsT &cells,
                         const typename Tmem<Config>::Scales &scales, const WorkItem &item,
                         u32 accumulator, u32 k, u32 end) const
    {
        const u32 first = k;
#pragma unroll 1
        for (; k < end; k += Config::kKGroup) {
            const auto stage = tiles.acquire();
            const u32 i = stage.index();
            settle_copies<Config>();
            if constexpr (kScaleBytes > 0) {
                const auto cell = cells.acquire(i);
                const u32 begin = item.k_first + k * Config::kBlockK;
                ScaledMmaOp<Config>::issue(
                    smem.input[i], smem.scales.stage[i], scales.block(cell.index()),
                    accumulator, item.col + (Config::kTransposed ? item.scale_shift : 0),
                    ScaleTiles<Config>::first_block(item, begin),
                    ScaleTiles<Config>::left(item, begin, shape.k), k == first);
            } else {
                Mma::issue(smem.input[i], Group::blocks(end - k), accumulator, k == first);
            }
        }
        return k;
    }

    // Brings C and matrix operands: one thread.
    JG_DEVICE void load_for_epilogue() const
    {
        RoleWork work(scheduler.thread_iterator(), debug::Role::kEpilogueLoad);
        auto boxes = epilogue_input.producer();
        const bool with_c = Config::kHasC && params.beta.load() != 0.0f;
        while (work.has_work()) {
            const auto item = work.next();
            if (kClearsRest && item.k_blocks == 0) {
                continue;
            }
            // The first inputs of the multiplication go first.
            load_order.wait(work.track());
            if (item.is_last_split) {
                work.settle_at_stage(boxes, true);
                EpilogueLoadT::load(params, smem, boxes, Output::tile(item), with_c);
            }
        }
    }

    // Brings scales of blocks of promoted sums, or of rows that an index names: one warp.
    JG_DEVICE void load_scales() const
    {
        RoleWork work(scheduler.warp_iterator(), debug::Role::kLoad, 1, false);
        ScaleWarp<Config>::run(*this, work);
    }

    // Makes D of accumulators: four warps, or eight.
    JG_DEVICE void write() const
    {
        RoleWork work(scheduler.warp_iterator(), debug::Role::kEpilogue, 0,
                      threadIdx.x == 0);
        auto ring = accumulators.consumer(work.track());
        auto boxes = epilogue_input.consumer();
        auto scales = ScaleRingT::consumer(smem.scale_slots);
        const u32 columns = tmem.accumulators().base;
        u8 *const out = smem.out[Partition::Layout::first_warp()][0];
        EpilogueT epilogue(params, Output::shape(shape), out, team());
        while (work.has_work()) {
            const auto item = work.next();
            if constexpr (kClearsRest) {
                if (item.k_blocks == 0) { // rows of no group
                    RestRows<Config, Partition, 32 * RolesT::kEpilogueWarps>::clear(
                        params, Output::shape(shape, item), Output::tile(item),
                        threadIdx.x);
                    continue;
                }
            }
            // Wait for the accumulator, the MMA thread's again when all is in registers.
            if constexpr (kPromotes) {
                write_promoted(epilogue, ring, columns, scales, boxes, item);
            } else {
                AccumReader<Partition, decltype(ring)> acc(ring, columns);
                write_item(epilogue, acc, boxes, item);
            }
        }
        ptx::cluster_leave<Cluster::kTiles>();
        epilogue.drain();
        clear_empty_groups();
        if constexpr (kClusterParts > 1) {
            ClusterSumsT::leave(smem.sums, cluster, Partition::warp());
        }
    }

    // Writes reductions of groups without rows, which have no tile: a team that writes D.
    JG_DEVICE void clear_empty_groups() const
    {
        if constexpr (kReducesGroups) {
            if (team() == 0) {
                for_each_empty_group<Config>(scheduler.order(), [&](u32 group) {
                    Epilogue::clear_group(params.operands, group, Output::shape(shape).n,
                                          Partition::team_warp() * 32 + threadIdx.x % 32,
                                          Partition::kTeamThreads);
                });
            }
        }
    }

    // Of parts that are multiplied by scales and added up first.
    template <class AccRing, class Scales, class Boxes>
    JG_DEVICE void write_promoted(EpilogueT &epilogue, AccRing &ring, u32 columns,
                                  Scales &scales, Boxes &boxes, const WorkItem &item) const
    {
        const u32 sums = tmem.sums().base;
        const Promoted all(item.k_blocks, ring, columns, scales, smem.scale_slots, sums);
        typename Promoted::Region region;
        AccumReader<Partition, typename Promoted::Region> acc(region, sums);
        write_item(epilogue, acc, boxes, item);
    }

    // Of an item's accumulators, all of K or a part of it: adds up those of the cluster.
    template <class Acc, class Boxes>
    JG_DEVICE void write_item(EpilogueT &epilogue, Acc &acc, Boxes &boxes,
                              const WorkItem &item) const
    {
        if constexpr (kClusterParts > 1) {
            const ClusterSumsT parts(smem.sums, smem.input, cluster, Output::shape(shape),
                                     Output::tile(item), team(), Partition::warp());
            if (parts.add_up(acc)) {
                write_sum(epilogue, parts, boxes, item);
            }
        } else {
            write_sum(epilogue, acc, boxes, item);
        }
    }

    // ... then those of other clusters: to the workspace, or the last part's CTA to D.
    template <class Acc, class Boxes>
    JG_DEVICE void write_sum(EpilogueT &epilogue, const Acc &acc, Boxes &boxes,
                             const WorkItem &item) const
    {
        const auto of_d = Output::shape(shape, item);
        const WorkTile tile = Output::tile(item);
        if constexpr (shares_in_workspace<Config>) {
            WorkspaceShares<Config, Partition> parts(params, smem.sums, smem.input, of_d,
                                                     tile, team(), Partition::warp(),
                                                     kSharesBarrier);
            parts.store(acc);
            while (parts.next()) {
                epilogue.run(params, of_d, parts, smem, boxes, tile);
            }
        } else if constexpr (kWorkspaceParts<Config> == 1) {
            epilogue.run(params, of_d, acc, smem, boxes, tile);
        } else {
            const Partials partials(params, of_d, tile, team(), 0, kPartialsBarrier);
            if (item.is_last_split) {
                if (!item.is_whole) {
                    partials.fixup();
                }
                SummedAccumulators<Acc, Partials, Partition> whole(acc, partials,
                                                                   item.is_whole);
                epilogue.run(params, of_d, whole, smem, boxes, tile);
            } else {
                partials.store_partial(acc);
            }
        }
    }

    // Sends an item's blocks of K from `k` to `end`, in whole groups; which one is next.
    template <class Loader>
    JG_DEVICE u32 send(const Loader &from, typename Ring::Producer &tiles,
                       const WorkItem &item, u32 k, u32 end) const
    {
#pragma unroll 1
        for (; k < end; k += Config::kKGroup) {
            const u32 blocks = Group::blocks(item.k_blocks - k);
            const ProducerStage stage =
                tiles.acquire(blocks * Tiles::kLoadedBytes + kScaleBytes);
            smem.input[stage.index].send(from, stage.full, item, k, blocks);
            if constexpr (kScaleBytes > 0) {
                scale_loader.load(smem.scales.stage[stage.index], stage.full, item,
                                  item.k_first + k * Config::kBlockK);
            }
        }
        return k;
    }

    static JG_DEVICE u32 team() // of the epilogue's warps, which come first
    {
        return (Partition::Layout::first_warp() + Partition::warp()) /
               Partition::kTeamWarps;
    }

    static JG_DEVICE void finish_loading(typename Ring::Producer &tiles)
    {
        tiles.drain();
        if constexpr (Config::kPdl) {
            ptx::launch_dependent_grids();
        }
    }
};

} // namespace jg::sm100a
