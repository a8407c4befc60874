// SPDX-License-Identifier: MIT
// KernelContext: what a CTA of the Hopper kernel works with, and its roles. Owners are
// members that do not point to each other, so that all can be registers. Called by
// gemm_kernel.cuh: init by one thread, then, when the CTA or cluster is synchronised, each
// role by its own threads. It returns when the scheduler has no more work.
#pragma once
#include <jg/epilogue/epilogue_for.cuh>
#include <jg/epilogue/output_frame.cuh>
#include <jg/schedule/scheduler_for.cuh>
#include <jg/sm90a/accumulators.cuh>
#include <jg/sm90a/consumer_order.cuh>
#include <jg/sm90a/empty_groups.cuh>
#include <jg/sm90a/hand_over.cuh>
#include <jg/sm90a/k_turns.cuh>
#include <jg/sm90a/mma_op.cuh>
#include <jg/sm90a/roles.cuh>
#include <jg/sm90a/scaled_blocks.cuh>
#include <jg/sm90a/short_tile.cuh>
#include <jg/sm90a/smem.cuh>
#include <jg/sm90a/stage_ring.cuh>
#include <jg/tile/tile_loader.cuh>

namespace jg::sm90a {

template <class Config, class Epilogue, class Params>
struct KernelContext {
    using ConfigT = Config;
    using Snippet = Epilogue;
    enum : u32 { kClusterParts = ClusterParts<Config>::kCount };
    using Cluster = ClusterShape<Config::kClusterM, Config::kClusterN, 1, kClusterParts>;
    // Do its CTAs need nothing of each other until their parts of K are added up?
    enum : bool { kMeetsLater = kClusterParts > 1 && !Cluster::kShares };
    using Scheduler = typename SchedulerFor<Config, Cluster>::Type;
    using SmemT = Smem<Config, Scheduler>;
    using Partition = EpiloguePartition<Config>;
    using Turns = KTurns<Config>;
    // Who releases a stage: both math warpgroups, or the one that reads it.
    enum : u32 { kReaders = Config::kOneMultiplies ? 1 : Partition::kTeams / Turns::kWays };
    using Stages = StageRing<Config, Cluster, kReaders>;
    using Ring = typename Stages::Type;
    using ShapeT = Shape<Config, Params>;
    using Mma = MmaOp<Config, typename Ring::Consumer>;
    // Each of two, but the second; those before are other modules'.
    enum : u32 { kPassBarrier = 8, kSumsBarrier = 10, kSharesBarrier = 11 };
    enum : bool {
        kSharesParts = shares_in_workspace<Config>,
        kScales = promotes_block_scales<Config>(),
        kFindsScales = kScales && Config::kCopiedRows > 0, // of rows by an index
        kClearsRest = clears_rest<Config>(),
        kHasHalf = (Config::kResident > 1),                     // of the multiprocessor
        kLoadsFirst = Config::kFirstLoads != FirstLoads::kNone, // of the first item
        // Whose results have a part for each group, which may lack rows.
        kReducesGroups = Epilogue::kReduces && lists_groups_together<Config>(),
    };
    using ScaleRingT = ScaleRing<Config, Roles::kMathWarps / Turns::kWays>;
    enum : bool { kHasLoadRing = SmemT::kHasLoadRing };
    using OneCta = ClusterShape<1, 1>;
    using LoadRing = InputRingBuffer<Config::kEpilogueLoadStages, SmemT::kEpilogueLoadBytes,
                                     WarpgroupSignals<Partition::kTeams, OneCta>>;
    using Output = OutputFrame<Config>;
    using EpilogueLoadT = EpilogueLoad<Config, Epilogue, Partition>;
    enum : bool {
        kClearsFirst =
            InputTiles<Config>::kHasRest && EpilogueLoadT::kLoads > 0 && !kHasLoadRing
    };
    using EpilogueT = typename EpilogueFor<Config, Epilogue, Partition>::Type;
    using Partials = PartialSums<Config, Partition>;
    using ClusterSumsT = typename ClusterSumsFor<Config, Partition, Cluster>::Type;
    using Accumulators = RegisterAccumulators<Partition, typename Config::A>;
    // What a warpgroup writes of a tile; without turns all that it multiplies.
    using Sums = typename Accumulators::Registers;
    static_assert(sizeof(SmemT) <= Config::kSmemBytes &&
                      Config::kSmemBytes - sizeof(SmemT) <= alignof(SmemT),
                  "host and device disagree on shared memory");
    static_assert(sizeof(Params) == Config::kParamsBytes,
                  "host and device disagree on parameters");
    static_assert(Config::kThreads == Roles::kThreads,
                  "host and device disagree on threads");
    static_assert(Epilogue::kOperandCount == Config::kOperandCount, "operand lists differ");

    static JG_DEVICE SmemT &shared_memory()
    {
        extern __shared__ __align__(1024) u8 smem_bytes[];
        return *reinterpret_cast<SmemT *>(smem_bytes);
    }

    const Roles roles;
    const Params &params;
    SmemT &smem;
    const Cluster cluster;
    const ShapeT shape;
    const Scheduler scheduler;
    const Ring input;
    const TileLoader<Config, Cluster> loader;

    JG_DEVICE explicit KernelContext(const Params &launch)
        : params(launch), smem(shared_memory()),
          cluster(Cluster::kSize > 1 ? ptx::cluster_cta_rank() : 0), shape(launch),
          scheduler(shape, cluster, smem.scheduler), input(smem.ring, cluster),
          loader(launch, cluster)
    {
    }

    // Before the synchronisation.
    JG_DEVICE void init() const
    {
        if constexpr (!Config::kThreadLoads) {
            loader.prefetch_maps();
        }
        EpilogueT::prefetch_maps(params);
        Ring::init_barriers(smem.ring);
        if constexpr (kHasLoadRing) {
            LoadRing::init_barriers(smem.epilogue_load_ring);
        }
        if constexpr (kScales && !Stages::kScales) {
            ScaleRingT::init_barriers(smem.scales);
        }
        smem.items.init_barriers();
        smem.load_items.init_barriers();
        if constexpr (kClusterParts > 1) {
            ClusterSumsT::init_barriers(smem.sums);
        }
        ptx::fence_mbarrier_init();
    }

    // What of the stages is never loaded. By all threads, before the synchronisation: where
    // C and matrices come through the ring, maybe to a stage that is still being cleared.
    JG_DEVICE void clear_rest_first() const
    {
        if constexpr (kClearsFirst) {
            InputTiles<Config>::template clear_rest<Config::kStages>(
                smem.input, threadIdx.x, Config::kThreads);
            ptx::fence_proxy_async_shared(); // the tensor core reads it
        }
    }
    // Elsewhere by all math warps, while the first copies are on their way: before the
    // synchronisation it took 100 clocks a stage of each launch.
    JG_DEVICE void clear_rest_meanwhile() const
    {
        if constexpr (InputTiles<Config>::kHasRest && !kClearsFirst) {
            enum : u32 { kMathThreads = 32 * Roles::kMathWarps };
            InputTiles<Config>::template clear_rest<Config::kStages>(
                smem.input, threadIdx.x - (Roles::kThreads - kMathThreads), kMathThreads);
            ptx::fence_proxy_async_shared();
            ptx::named_barrier_sync(kSumsBarrier, kMathThreads);
        }
    }

    // Brings rows of A and B that an index names, and what comes behind them: one warp, of
    // which a lane starts copies.
    JG_DEVICE void load_rows() const
    {
        auto tiles = input.producer();
        const RowLoader<Config, Cluster, ShapeT> rows(params, shape, cluster, loader,
                                                      smem.rows);
        RoleWork work(scheduler.load_iterator(), debug::Role::kLoad, 0,
                      threadIdx.x % 32 == 0);
        while (work.has_work()) {
            const auto item = work.next();
            rows.begin(item);
            if (ptx::elect_one()) {
                work.settle_at_stage(tiles, item.k_blocks > 0);
#pragma unroll 1
                for (u32 k = 0; k < item.k_blocks; ++k) {
                    const ProducerStage stage = tiles.acquire();
                    smem.input[stage.index].send(rows, stage.full, item, k, 1);
                }
            }
        }
        if (ptx::elect_one()) {
            finish_loading(*this, tiles);
        }
    }

    // Brings scales of blocks of A and B: whole warps.
    JG_DEVICE void load_scales() const
    {
        RoleWork work(scheduler.load_iterator(), debug::Role::kLoad, 1, false);
        Stages::template load_scales<ScaleRingT>(*this, roles.scale_warp(), work);
    }

    // The same for inputs that TMA does not take: four warps.
    JG_DEVICE void load_by_threads() const
    {
        auto tiles = input.producer();
        ThreadLoaderOf<Config, Cluster, ShapeT> filler(params, shape, loader, threadIdx.x);
        ScaleFiller<Config, ScaleRingT> scales(params, shape, smem.scales,
                                               ScaleRingT::producer(smem.scales));
        RoleWork work(scheduler.load_iterator(), debug::Role::kLoad, 0, threadIdx.x == 0);
        while (work.has_work()) {
            const auto item = work.next();
            filler.begin(item);
            work.settle_at_stage(tiles, item.k_blocks > 0);
            // Fill stages with A and B.
            fill(tiles, filler, scales, item);
        }
        finish_loading(*this, tiles);
    }

    // Half of every tile, from its accumulators to D: a math warpgroup.
    JG_DEVICE void multiply_and_write() const
    {
        const u32 consumer = roles.consumer();
        auto tiles = input.consumer();
        auto scales = ScaleRingT::consumer(smem.scales);
        EpilogueT epilogue(params, Output::shape(shape), smem.out[consumer][0], consumer);
        RoleWork work(scheduler.warp_iterator(), debug::Role::kMma, consumer,
                      threadIdx.x % 128 == 0);
        MathItemReader<Config> items(smem.items);
        while (work.has_work()) {
            const auto item = items.next(work);
            if constexpr (kClearsRest) {
                if (item.k_blocks == 0) {
                    work.enter(debug::Role::kEpilogue);
                    clear(item);
                    continue;
                }
            }
            const TileShare<Config> own(item, consumer);
            prefetch_vectors(*this, own.item, consumer);
            if constexpr (kScales) {
                Turns::begin(tiles, consumer);
                Turns::begin(scales, consumer);
            }
            const bool multiplies = !Config::kOneMultiplies || consumer == 0;
            work.settle_at_stage(tiles,
                                 multiplies && item.k_blocks > Turns::first(consumer));
            // Add up the item's K.
            Sums sums;
            if constexpr (Partition::Mma::kWhole) {
                typename Mma::Accumulators all;
                multiply(tiles, scales, own, all, epilogue, [] {});
                divide_sums(*this, epilogue, all, sums);
            } else {
                multiply(tiles, scales, own, sums, epilogue, [] {});
            }
            // Write D, if all parts of K are there.
            work.enter(debug::Role::kEpilogue);
            write_item(epilogue, sums, tiles, own.item);
        }
        epilogue.drain();
        clear_empty_groups(*this);
        if constexpr (kClusterParts > 1) {
            ClusterSumsT::leave(smem.sums, cluster, roles.math_warp());
        }
    }

    // Makes half of a tile's stores of rows of no group.
    JG_DEVICE void clear(const WorkItem &item) const
    {
        RestRows<Config, Partition, 128 * Roles::kConsumers>::clear(
            params, Output::shape(shape, item), Output::tile(item),
            roles.consumer() * 128 + threadIdx.x % 128);
    }

    // Fills a stage with each of an item's blocks of K, and a slot with its scales.
    template <class Filler, class Scales>
    JG_DEVICE void fill(typename Ring::Producer &tiles, Filler &filler, Scales &scales,
                        const WorkItem &item) const
    {
        scales.begin(item);
        const auto fill_scales = [&] {
            if (kScales && roles.is_load_warp()) {
                scales.fill();
            }
        };
        if constexpr (shifts_lines<Config>()) {
            filler.fill(tiles, smem, item, fill_scales);
        } else {
#pragma unroll 1
            for (u32 k = 0; k < item.k_blocks; ++k) {
                const auto stage = FilledStage<Config>::acquire(tiles);
                smem.input[stage.index()].fill(filler, &smem.ring.full[stage.index()], item,
                                               k, 1);
                fill_scales();
            }
        }
    }

    // Adds up all of an item's K; the accumulators have it when it returns. While the
    // tensor core has the last products, `seen` is called: all stages have been full. And
    // the epilogue loads what it reads first, unless it did before the first products.
    template <class Seen>
    JG_DEVICE void multiply(typename Ring::Consumer &tiles,
                            typename ScaleRingT::Consumer &scales,
                            const TileShare<Config> &own, typename Mma::Accumulators &sums,
                            EpilogueT &epilogue, const Seen &seen) const
    {
        const WorkItem &item = own.item;
        epilogue.draw_ahead(params, Output::shape(shape, item), Output::tile(item));
        epilogue.read_first(params, Output::shape(shape, item), Output::tile(item));
        const auto read_ahead = [&] {
            seen();
            epilogue.read_ahead(params, Output::shape(shape, item), Output::tile(item));
        };
        if constexpr (Config::kGroups > 0 && !Config::kTransposed) {
            if (item.row + Partition::first_row(roles.consumer()) >= item.group_end) {
                pass_over(tiles, scales, item, sums); // and nothing will be written
                seen();
            } else if (own.has_one_block()) {
                add_up<1>(tiles, scales, own, sums, read_ahead);
            } else {
                add_up<Mma::kRowBlocks>(tiles, scales, own, sums, read_ahead);
            }
        } else {
            add_up<Mma::kRowBlocks>(tiles, scales, own, sums, read_ahead);
        }
        Mma::take(sums);
    }

    // An item's products of so many blocks of rows: the tensor core has them at its return.
    template <u32 kBlocks, class BeforeEnd>
    JG_DEVICE void add_up(typename Ring::Consumer &tiles,
                          typename ScaleRingT::Consumer &scales,
                          const TileShare<Config> &own, typename Mma::Accumulators &sums,
                          const BeforeEnd &before_end) const
    {
        const u32 k_blocks = own.item.k_blocks;
        if (Config::kOneMultiplies && roles.consumer() != 0) {
            before_end();
            return;
        }
        Mma mma(roles.consumer(), own.first_row, smem.input, tiles, sums);
        if constexpr (kScales) {
            multiply_scaled<Config, kBlocks>(mma, tiles, scales, smem.scales,
                                             roles.consumer(), own.first_row, k_blocks);
            before_end();
            return;
        }
        static_assert(!Config::kOneMultiplies || Config::kLeadStages == 0,
                      "there is nobody to wait for");
        const ConsumerOrder<Config> order(roles.consumer(), k_blocks);
        u32 left = k_blocks;
#pragma unroll 1
        do { // there is one at least
            order.hold(left);
            auto stage = tiles.acquire();
            settle_copies<Config>();
            mma.template issue<kBlocks>(stage, left == k_blocks);
        } while (--left > 0);
        order.pass_on();
        before_end();
    }

    // The same where none of this warpgroup's rows is the group's: nothing is multiplied,
    // and the tensor core is the other's. A multiplication keeps the four warps together;
    // here one of them would release stages that another has not seen full, and which are
    // full again when it looks.
    JG_DEVICE void pass_over(typename Ring::Consumer &tiles,
                             typename ScaleRingT::Consumer &scales, const WorkItem &item,
                             typename Mma::Accumulators &sums) const
    {
        const ConsumerOrder<Config> order(roles.consumer(), item.k_blocks);
        Mma::clear(sums);
#pragma unroll 1
        for (u32 left = item.k_blocks; left > 0; --left) {
            order.hold(left);
            auto stage = tiles.acquire();
            ptx::named_barrier_sync(kPassBarrier + roles.consumer(), 128);
            if constexpr (kScales && !Stages::kScales) {
                auto slot = scales.acquire();
            }
        }
        order.pass_on();
    }

    // Of an item's accumulators: to D, where all of K is in them or comes to them.
    template <class Boxes>
    JG_DEVICE void write_item(EpilogueT &epilogue, Sums &sums, Boxes &boxes,
                              const WorkItem &item) const
    {
        const auto of_d = Output::shape(shape, item);
        const WorkTile tile = Output::tile(item);
        if constexpr (kSharesParts) {
            WorkspaceShares<Config, Partition> parts(params, smem.sums, smem.input, of_d,
                                                     tile, roles.consumer(),
                                                     roles.math_warp(), kSharesBarrier);
            settle_parts(sums);
            parts.store(Accumulators(sums));
            while (parts.next()) {
                epilogue.run(params, of_d, parts, smem, boxes, tile);
            }
        } else if constexpr (Config::kDividesOutput) {
            const ClusterSumsT parts = parts_of_cluster(item);
            settle_parts(sums);
            parts.add_up(Accumulators(sums));
            epilogue.run(params, of_d, parts, smem, boxes, tile);
        } else if (add_parts(sums, item)) {
            const Accumulators acc(sums);
            epilogue.run(params, of_d, acc, smem, boxes, tile);
        }
    }

    // Where K is split, adds up this part's accumulators and those of all others: of the
    // cluster, then of other clusters. Are they whole?
    JG_DEVICE bool add_parts(Sums &sums, const WorkItem &item) const
    {
        if constexpr (kClusterParts > 1) {
            if (!add_parts_of_cluster(sums, item)) {
                return false;
            }
        }
        if constexpr (1 < kWorkspaceParts<Config>) {
            if (item.is_whole) {
                return true;
            }
            const Partials partials(params, Output::shape(shape), Output::tile(item),
                                    roles.consumer(), roles.consumer(),
                                    Partition::barrier(roles.consumer()));
            if (!item.is_last_split) {
                partials.store_partial(Accumulators(sums));
                return false;
            }
            partials.fixup();
            partials.add_to(sums);
        }
        return true;
    }

    // Has this CTA the cluster's sums?
    JG_DEVICE bool add_parts_of_cluster(Sums &sums, const WorkItem &item) const
    {
        const ClusterSumsT parts = parts_of_cluster(item);
        settle_parts(sums);
        if (!parts.add_up(Accumulators(sums))) {
            return false;
        }
        parts.take(sums);
        return true;
    }

    JG_DEVICE ClusterSumsT parts_of_cluster(const WorkItem &item) const
    {
        return ClusterSumsT(smem.sums, smem.input, cluster, Output::shape(shape),
                            Output::tile(item), roles.consumer(), roles.math_warp());
    }

    // Before parts of K meet in shared memory.
    static JG_DEVICE void settle_parts(Sums &sums)
    {
        if constexpr (kMeetsLater) {
            ptx::cluster_wait(); // the others' barriers are ready too
        }
        if constexpr (Config::kSumsInRing) { // the other warpgroup has read it too
            ptx::named_barrier_sync(kSumsBarrier, 32 * Roles::kMathWarps);
        }
    }
};

} // namespace jg::sm90a
