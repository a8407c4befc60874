/* SPDX-License-Identifier: MIT */
/* The device modules under test, by the names that the tests use. What a module, a member
 * or a constant of Config is called on the device stands here, of scales of blocks in
 * scaled_sums.h, and nowhere else in this folder. */
#ifndef JG_TESTS_MODULES_H
#define JG_TESTS_MODULES_H

#include "check.h"

/* Inline PTX is parsed away, so that what it sets looks unset and what it takes unused.
 * Constants of classes are enumerators, each of a type of its own. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-parameter"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wenum-compare"
#pragma GCC diagnostic ignored "-Wextra"
#ifdef __clang__
#    pragma GCC diagnostic ignored "-Wunused-private-field"
#else
#    pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <jg/epilogue/random.cuh> /* before the frame of snippets, as in a unit */

#include <jg/common/cluster_shape.cuh>
#include <jg/common/kernel_params.cuh>
#include <jg/epilogue/epilogue_for.cuh>
#include <jg/epilogue/fragment_epilogue.cuh>
#include <jg/epilogue/gate_operands.cuh>
#include <jg/epilogue/partial_sums.cuh>
#include <jg/epilogue/quantise.cuh>
#include <jg/epilogue/reductions.cuh>
#include <jg/epilogue/staging.cuh>
#include <jg/epilogue/vector_epilogue.cuh>
#include <jg/schedule/grouped_tile_order.cuh>
#include <jg/schedule/k_group.cuh>
#include <jg/schedule/k_range.cuh>
#include <jg/schedule/row_block_tile_order.cuh>
#include <jg/schedule/scheduler_for.cuh>
#include <jg/sm100a/accum_reader.cuh>
#include <jg/sm100a/kernel_context.cuh>
#include <jg/sm100a/mma_op.cuh>
#include <jg/sm100a/promotion.cuh>
#include <jg/sm100a/tmem.cuh>
#include <jg/sm90a/accumulators.cuh>
#include <jg/sm90a/mma_op.cuh>
#include <jg/sm90a/scaled_blocks.cuh>
#include <jg/sm90a/short_tile.cuh>
#include <jg/tile/block_scales.cuh>
#include <jg/tile/input_tiles.cuh>
#include <jg/tile/row_scales.cuh>
#include <jg/tile/thread_loader.cuh>
#include <jg/tile/tile_loader.cuh>
#include <jg/tile/tile_swizzle.cuh>
#pragma GCC diagnostic pop

#include "hardware.h"
#include "instructions.h"

using jg::bf16, jg::e4m3, jg::e5m2, jg::f16, jg::f32, jg::s32, jg::s8, jg::tf32;
using jg::i32, jg::u16, jg::u32, jg::u64, jg::u8;
using jg::WorkItem, jg::WorkTile;

/* ------------------------------------------------------------------------- configs */

/* Everything that some module asks for; a test's config replaces what it is about. */
struct AnyConfig {
    using A = bf16;
    using B = bf16;
    using C = bf16;
    using D = f32;
    using AScale = jg::NoScale;
    using BScale = jg::NoScale;
    using BGateScale = jg::NoScale;
    using ABlockScale = jg::NoBlockScale;
    using BBlockScale = jg::NoBlockScale;
    using DScale = jg::NoOutputScale;
    static constexpr u32 kM = 0, kN = 0, kK = 0, kBatch = 0, kGroups = 0, kTailMaps = 0;
    static constexpr jg::GroupBy kGroupBy = jg::GroupBy::kNone;
    static constexpr jg::EvictFirst kEvictFirst = jg::EvictFirst::kNone;
    static constexpr u32 kBlockM = 128, kBlockN = 128, kBlockK = 64;
    static constexpr u32 kCtaGroup = 1, kClusterM = 1, kClusterN = 1;
    static constexpr u32 kStages = 2, kKGroup = 1, kAccStages = 2, kSharedColumns = 0;
    static constexpr u32 kEpilogueWarpgroups = 1;
    static constexpr u32 kOutStages = 2, kSplitK = 1, kSplitTail = 0, kPartialsOffset = 0;
    static constexpr u32 kRasterGroup = 1;
    static constexpr u32 kASwizzleBytes = 128, kASwizzleAtom = 16;
    static constexpr u32 kBSwizzleBytes = 128, kBSwizzleAtom = 16;
    static constexpr u32 kALoadedRows = 128;
    static constexpr u32 kBLoadedRows = 128;
    static constexpr jg::EpilogueKind kEpilogue = jg::EpilogueKind::kFragments;
    static constexpr u32 kEpilogueLoadsPerStep = 0, kEpilogueLoadStages = 0;
    static constexpr bool kWholeRows = false, kWholeCols = false, kWholeVectors = false;
    static constexpr bool kDividesOutput = false;
    static constexpr u32 kStoreTileRows = 0, kStoreTileSwizzleBytes = 128;
    static constexpr u32 kInputAlignment = 16, kOutputAlignment = 16;
    static constexpr bool kAKMajor = true, kBKMajor = true, kColumnMajor = false;
    static constexpr bool kTransposed = false, kHasC = false, kPlain = false;
    static constexpr bool kReadsFirst = false, kStoresByWarps = false;
    static constexpr bool kGated = false, kGateInA = false, kGateHalves = false;
    static constexpr u32 kGateColumns = 0;
    static constexpr bool kRasterAlongM = true, kSplitSerial = true, kThreadLoads = false;
    static constexpr bool kPingpong = false, kOneMultiplies = false;
    static constexpr u32 kClusterParts = 1, kCopiedRows = 0;
    static constexpr jg::SchedulerKind kScheduler = jg::SchedulerKind::kStatic;
};

/* Tiles, clusters and their order. */
template <u32 kRows, u32 kCols, u32 kClusterRows, u32 kClusterCols, u32 kGroup,
          bool kAlongM, u32 kParts>
struct OrderConfig : AnyConfig {
    static constexpr u32 kBlockM = kRows, kBlockN = kCols;
    static constexpr u32 kClusterM = kClusterRows, kClusterN = kClusterCols;
    static constexpr u32 kRasterGroup = kGroup, kSplitK = kParts;
    static constexpr bool kRasterAlongM = kAlongM;
};

/* The same with parts for the cluster tiles beyond whole waves of so many only. */
template <class Config, u32 kWave>
struct TailConfig : Config {
    static constexpr u32 kSplitTail = kWave;
};

/* The same with so many of the parts in the CTAs of a cluster. */
template <class Config, u32 kParts = Config::kSplitK>
struct InClusterConfig : Config {
    static constexpr u32 kClusterParts = kParts;
};

/* K, 0 where the launch says it, and how it is shared out. */
template <u32 kSize, u32 kParts, u32 kGroup = 1>
struct KConfig : AnyConfig {
    static constexpr u32 kK = kSize, kSplitK = kParts, kKGroup = kGroup;
};

/* Tiles of one input type: of A kRows by a block of K, of B kCols, or of a pair's CTA half
 * of them; rows of MN-major ones have kABytes and kBBytes. kGroup: CTAs that multiply as
 * one. kBlocks: of K, in a stage. */
template <class T, bool kAIsKMajor, bool kBIsKMajor, u32 kRows, u32 kCols, u32 kGroup,
          u32 kABytes, u32 kBBytes, u32 kBlocks = 1, class OtherT = T>
struct InputConfig : AnyConfig {
    using A = T;
    using B = OtherT;
    static constexpr u32 kBlockM = kRows, kBlockN = kCols, kBlockK = 128 / sizeof(T);
    static constexpr u32 kCtaGroup = kGroup, kClusterM = kGroup, kKGroup = kBlocks;
    static constexpr bool kAKMajor = kAIsKMajor, kBKMajor = kBIsKMajor;
    static constexpr u32 kASwizzleBytes = kABytes, kBSwizzleBytes = kBBytes;
    static constexpr u32 kASwizzleAtom = !kAKMajor && sizeof(T) == 4 ? 32 : 16;
    static constexpr u32 kBSwizzleAtom = !kBKMajor && sizeof(T) == 4 ? 32 : 16;
    static constexpr u32 kALoadedRows = kRows;
    static constexpr u32 kBLoadedRows = kCols / kGroup;
    static constexpr bool kPromotesSums = jg::kBits<T> == 8 && !jg::sums_integers<T>();
};

/* A tile of D of kRows by kCols as the multiplication sees it; with kIsTransposed these are
 * D's columns and rows. kStoreRows, kStoreBytes: of a store tile. */
template <class Type, u32 kRows, u32 kCols, u32 kGroup, bool kIsTransposed,
          u32 kStoreRows = 0, u32 kStoreBytes = 128>
struct OutputConfig : AnyConfig {
    using D = Type;
    static constexpr u32 kBlockM = kRows, kBlockN = kCols;
    static constexpr u32 kCtaGroup = kGroup, kClusterM = kGroup;
    static constexpr bool kTransposed = kIsTransposed;
    static constexpr u32 kStoreTileRows = kStoreRows;
    static constexpr u32 kStoreTileSwizzleBytes = kStoreBytes;
};

/* The same where each warpgroup of sm_90a has all of its tiles. */
template <class Config>
struct PingpongConfig : Config {
    static constexpr bool kPingpong = true;
};

/* The same with shared memory for so many store tiles of each team that fills them. */
template <class Config, u32 kCount>
struct StoreTilesConfig : Config {
    static constexpr u32 kOutStages = kCount;
};

/* The same with K in parts. */
template <class Config, u32 kParts, bool kIsSerial, u32 kOffset, class Input = bf16>
struct SplitConfig : Config {
    using A = Input;
    using B = Input;
    static constexpr u32 kSplitK = kParts, kPartialsOffset = kOffset;
    static constexpr bool kSplitSerial = kIsSerial;
};

/* ------------------------------------------------------------------------- cluster */

/* What a CTA of a cluster knows of the others. Masks have a bit for each rank. */
struct ClusterRank {
    u32 pair_rank, leader;
    u32 a_slice, b_slice; /* that it loads of tiles that it shares ... */
    u32 a_mask, b_mask;   /* ... with these */
    u32 group_mask, release_mask, shares_tiles_mask;
    std::vector<u32> of_parts; /* who has each part of its tile */
};
struct ClusterFacts {
    u32 m, n, group, parts;
    u32 a_slices, b_slices;
    u32 releases; /* that free a stage */
    std::vector<ClusterRank> ranks;
};
template <u32 kM, u32 kN, u32 kGroup, u32 kParts>
ClusterFacts cluster_facts()
{
    using Cluster = jg::ClusterShape<kM, kN, kGroup, kParts>;
    ClusterFacts facts = {kM,
                          kN,
                          kGroup,
                          kParts,
                          Cluster::kASlices,
                          Cluster::kBSlices,
                          Cluster::kMulticastPeers,
                          {}};
    for (u32 rank = 0; rank < Cluster::kSize; ++rank) {
        const Cluster cluster(rank);
        u32 shares = 0;
        for (u32 other = 0; other < Cluster::kSize; ++other) {
            shares |= u32(cluster.is_multicast_peer(other)) << other;
        }
        facts.ranks.push_back({cluster.pair_rank(),
                               cluster.leader_rank(),
                               cluster.a_slice(),
                               cluster.b_slice(),
                               cluster.a_mask(),
                               cluster.b_mask(),
                               cluster.group_mask(),
                               cluster.release_mask(),
                               shares,
                               {}});
        for (u32 part = 0; part < kParts; ++part) {
            facts.ranks.back().of_parts.push_back(cluster.rank_of_part(part));
        }
    }
    return facts;
}

/* ------------------------------------------------------------------------ schedule */

struct LaunchSize {
    u32 m, n, k, batch;
};

/* The order of one config's tiles, as the CTA of this rank sees it. */
struct Order {
    u32 rows, cols, cluster_m, cluster_n, raster_group, parts;
    u32 ctas; /* of a cluster */
    bool along_m;
    u32 (*total)(const LaunchSize &, u32 rank);
    WorkItem (*entry)(const LaunchSize &, u32 rank, u32 index);
    /* What CTA blockIdx.x of gridDim.x works on. */
    std::vector<WorkItem> (*walk_static)(const LaunchSize &, u32 rank);
    std::vector<WorkItem> (*walk_single)(const LaunchSize &, u32 rank);
    /* What it begins with, known before it works. */
    WorkItem (*first)(const LaunchSize &, u32 rank);
};
template <class Config>
struct OrderOf {
    using Cluster = jg::ClusterShape<Config::kClusterM, Config::kClusterN, 1,
                                     jg::ClusterParts<Config>::kCount>;
    using Tiles = jg::TileOrder<Config>;

    static u32 total(const LaunchSize &size, u32 rank)
    {
        typename Tiles::Storage storage;
        return Tiles(size, Cluster(rank), storage).total();
    }
    static WorkItem entry(const LaunchSize &size, u32 rank, u32 index)
    {
        typename Tiles::Storage storage;
        return Tiles(size, Cluster(rank), storage).item(index);
    }
    template <jg::SchedulerKind kKind>
    static std::vector<WorkItem> walk(const LaunchSize &size, u32 rank)
    {
        using Scheduler = typename jg::SchedulerFor<Config, Cluster, kKind>::Type;
        typename Scheduler::Storage storage;
        const Scheduler scheduler(size, Cluster(rank), storage);
        std::vector<WorkItem> found;
        for (auto work = scheduler.load_iterator(); work.has_work();) {
            found.push_back(work.next());
        }
        return found;
    }
    static WorkItem first(const LaunchSize &size, u32 rank)
    {
        using Scheduler =
            typename jg::SchedulerFor<Config, Cluster, jg::SchedulerKind::kStatic>::Type;
        typename Scheduler::Storage storage;
        return Scheduler(size, Cluster(rank), storage).first_item();
    }
    static Order get()
    {
        return {Config::kBlockM,
                Config::kBlockN,
                Config::kClusterM,
                Config::kClusterN,
                Config::kRasterGroup,
                Config::kSplitK,
                Cluster::kSize,
                Config::kRasterAlongM,
                total,
                entry,
                walk<jg::SchedulerKind::kStatic>,
                walk<jg::SchedulerKind::kSingle>,
                first};
    }
};

/* A kernel whose clusters take over the items of others by launch control. */
template <u32 kClusterRows, u32 kClusterCols, u32 kGroup, u32 kLoadStages>
struct ClcConfig : AnyConfig {
    static constexpr u32 kClusterM = kClusterRows, kClusterN = kClusterCols;
    static constexpr u32 kCtaGroup = kGroup, kEpilogueLoadStages = kLoadStages;
    static constexpr u32 kALoadedRows = kBlockM;
    static constexpr u32 kBLoadedRows = kBlockN / kGroup;
    static constexpr u32 kEpilogueLoadsPerStep = kLoadStages > 0 ? 1 : 0;
    static constexpr bool kHasC = kLoadStages > 0;
    static constexpr u32 kOutStages = 2, kStoreTileRows = 32;
    static constexpr jg::EpilogueKind kEpilogue = jg::EpilogueKind::kVectors;
    static constexpr jg::SchedulerKind kScheduler = jg::SchedulerKind::kClc;
};
/* What the host says of the kernel's sizes. */
template <class Config>
struct KernelConfig : Config {
    using Cluster =
        jg::ClusterShape<Config::kClusterM, Config::kClusterN, Config::kCtaGroup>;
    using Scheduler = typename jg::SchedulerFor<Config, Cluster>::Type;
    using Roles = jg::sm100a::Roles<4 * Config::kEpilogueWarpgroups,
                                    (Config::kEpilogueLoadStages > 0), Scheduler::kHasWarp,
                                    false, Config::kThreadLoads>;
    static constexpr u32 kThreads = Roles::kThreads, kOperandCount = 0;
    static constexpr u32 kParamsBytes = sizeof(jg::KernelParams<0, 0>);
    static constexpr u32 kSmemBytes = std::max<u32>(
        sizeof(jg::sm100a::Smem<Config, Scheduler>), jg::sm100a::kLeastSmemBytes);
};
struct NoSnippet {
    static constexpr u32 kOperandCount = 0, kLoads = 0;
    static constexpr bool kReduces = false;
};
/* Scheduler of the CTA of this rank; the cluster's work iterators by who has them. */
template <class Config>
struct ClcOf {
    using Context =
        jg::sm100a::KernelContext<KernelConfig<Config>, NoSnippet, jg::KernelParams<0, 0>>;
    using Storage = typename Context::Scheduler::Storage;
    static constexpr u32 kStages = jg::sm100a::kClcStages;
    static constexpr u32 kEpilogueWarps = Context::RolesT::kEpilogueWarps;
    static constexpr bool kLoadsForEpilogue = Context::kLoadsForEpilogue;
    typename Context::Cluster cluster;
    typename Context::Scheduler scheduler;

    ClcOf(const LaunchSize &size, u32 rank, Storage &storage)
        : cluster(rank), scheduler(size, cluster, storage)
    {
    }
    static void init_barriers(Storage &storage)
    {
        Context::Scheduler::init_barriers(storage, Context::kClcConsumers);
    }

    auto load() const
    {
        return scheduler.load_iterator();
    }
    auto multiply() const
    {
        return scheduler.thread_iterator();
    }
    auto load_for_epilogue() const
    {
        return scheduler.thread_iterator();
    }
    auto write() const
    {
        return scheduler.warp_iterator();
    }
    void run() const
    {
        scheduler.run();
    }
};

/* Part `split` of K. */
struct KSpan {
    u32 first, blocks;
};
template <class Config>
KSpan k_span(u32 k, u32 split)
{
    struct {
        u32 k;
    } const shape{k};
    const jg::KRange<Config> range(shape);
    const jg::KPart part = range.part(split, 0);
    return KSpan{part.first, part.blocks};
}
/* Blocks of the next stage of the ring where so many are left. */
template <class Config>
u32 blocks_of_stage(u32 left)
{
    return jg::KGroup<Config>::blocks(left);
}

/* --------------------------------------------------------------------- input tiles */

/* An operand's rows of kRowBytes. The plan says how many bytes the swizzle exchanges. */
template <class T, bool kKMajor>
constexpr u32 kAtomOf = !kKMajor && sizeof(T) == 4 ? 32 : 16;
template <class T, bool kKMajor, u32 kRows, u32 kRowBytes>
using Operand = jg::InputOperand<T, kKMajor, kRows, kRowBytes, kAtomOf<T, kKMajor>>;

/* Where the byte lies that would lie at `offset` of a tile without swizzle. */
template <class T, bool kKMajor, u32 kRowBytes>
u32 swizzled(u32 offset)
{
    return jg::TileSwizzle<kRowBytes, kAtomOf<T, kKMajor>>::swizzled_offset(offset);
}

/* Asks for slice `slice` of the tile at element (mn, k) by tensor copies (host::box_loads).
 */
template <class T, bool kKMajor, u32 kRows, u32 kSlices, u32 kRowBytes>
void copy_tile(u8 *tile, u32 slice, u32 mn, u32 k)
{
    jg::OperandLoader<Operand<T, kKMajor, kRows, kRowBytes>, kSlices, false>::load(
        tile, nullptr, nullptr, 0, slice, mn, k, 0);
}

/* The same of a B whose columns come in pairs: kGate columns of one accumulator, then as
 * many of the other. */
template <class T, bool kKMajor, u32 kRows, u32 kGate, u32 kSlices>
void copy_gated_tile(u8 *tile, u32 slice, u32 column)
{
    using B = jg::InputOperand<T, kKMajor, kRows, 128, 16, kGate>;
    jg::OperandLoader<B, kSlices, false>::load(tile, nullptr, nullptr, 0, slice, column, 0,
                                               0);
}

/* One of 128 threads' part of the tile at element (mn, k) of a matrix of mn_size by k_size.
 */
template <class T, bool kKMajor, u32 kRows, u32 kAlignment, u32 kRowBytes>
void fill_tile(const u8 *tile, const void *matrix, u32 ld, u32 mn, u32 k, u32 mn_size,
               u32 k_size, u32 thread)
{
    jg::ThreadOperandLoader<Operand<T, kKMajor, kRows, kRowBytes>, kAlignment>::load(
        jg::ptx::shared_address(tile),
        {host::global_address(matrix), ld, mn, k, mn_size, k_size}, thread);
}

/* The same of a B whose columns come in pairs, neighbours or halves. */
template <class T, bool kKMajor, u32 kRows, u32 kGate, bool kHalves, u32 kAlignment>
void fill_gated_tile(const u8 *tile, const void *matrix, u32 ld, u32 mn, u32 mn_size,
                     u32 k_size, u32 thread)
{
    using B = jg::InputOperand<T, kKMajor, kRows, 128, kAtomOf<T, kKMajor>, kGate>;
    jg::ThreadOperandLoader<B, kAlignment, kHalves>::load(
        jg::ptx::shared_address(tile),
        {host::global_address(matrix), ld, mn, 0, mn_size, k_size}, thread);
}

/* A stage of the input ring, and what a CTA sends to it or fills in it. */
template <class Config>
using TilesOf = jg::InputTiles<Config>;
template <class Config>
TilesOf<Config> *tiles_at(u8 *memory)
{
    return reinterpret_cast<TilesOf<Config> *>(memory);
}
template <class Config, class Loader>
void send_stage(TilesOf<Config> &tiles, const Loader &loader, const WorkItem &item,
                u32 first, u32 blocks)
{
    tiles.send(loader, nullptr, item, first, blocks);
}
template <class Config, class Loader>
void fill_stage(TilesOf<Config> &tiles, const Loader &loader, const WorkItem &item,
                u32 first, u32 blocks)
{
    tiles.fill(loader, nullptr, item, first, blocks);
}

/* --------------------------------------------------------------------- descriptors */

struct LaunchParams {
    jg::TensorMap maps[jg::kMapCount]{};
    jg::MatrixParam a_scale{}, b_scale{}, a_rows{};
    u32 a_row_count = 0;
    jg::ScalarParam alpha{0, 1.0f, 0}, beta{};
    const jg::MatrixParam *operands = nullptr;
    u64 workspace = 0;

    const void *map_of_d() const
    {
        return &maps[jg::kMapD];
    }
};

/* Products of the tiles of a stage, as MmaOp issues them (host::products). */
/* Of sm_90a: by warpgroup `team`. */
struct NoStages {
    u32 released = 0;

    u32 wait() const
    {
        return 0;
    }
    void release(u32)
    {
        released++;
    }
    jg::HeldStages<NoStages> acquire()
    {
        return jg::HeldStages<NoStages>(*this);
    }
    void look_ahead() {}
    u32 next() const
    {
        return 0;
    }
};
template <class Config>
void multiply_sm90a(const TilesOf<Config> &tiles, u32 team)
{
    NoStages stages;
    {
        typename jg::sm90a::MmaOp<Config, NoStages>::Accumulators sums;
        jg::sm90a::MmaOp<Config, NoStages>::declare();
        jg::sm90a::MmaOp<Config, NoStages> mma(
            team, jg::sm90a::MmaPartition<Config>::first_row(team), &tiles, stages, sums);
        jg::HeldStages<NoStages> stage(stages);
        mma.issue(stage, true);
    }
    EXPECT(stages.released == 1, "a stage is released %u times", stages.released);
}

/* Of sm_100a: `blocks` blocks of the stage. */
template <class Config>
void multiply_sm100a(const TilesOf<Config> &tiles, u32 blocks = 1, bool is_first = true)
{
    jg::sm100a::MmaOp<Config>::issue(tiles, blocks, host::ACCUMULATOR, is_first);
}
template <class A, class B>
u32 instruction_sm100a(bool a_k_major, bool b_k_major, u32 m, u32 n)
{
    return jg::ptx::tcgen05_instruction<A, B>(a_k_major, b_k_major, m, n);
}
inline u32 allocated_columns(u32 columns)
{
    return jg::sm100a::round_up_columns(columns);
}

/* Tensor memory of a CTA: what it asks for and frees (host::tmem_allocations), and where
 * its accumulators are. `published`: a word of shared memory. */
template <class Config>
struct TmemOf {
    const jg::sm100a::Tmem<Config> tmem;

    explicit TmemOf(u32 &published) : tmem(published) {}

    void allocate() const
    {
        tmem.allocate();
    }
    void release() const
    {
        tmem.release();
    }
    u32 accumulator(u32 stage) const
    {
        return tmem.accumulators().block(stage);
    }
    /* Where the epilogue looks for that stage. */
    u32 accumulator_of_reader(u32 stage) const
    {
        return tmem.accumulators().base + stage * jg::sm100a::LaneLayout<Config>::kStep;
    }
};
template <u32 kRows, u32 kCols, u32 kGroup, u32 kCount>
struct TmemConfig : OutputConfig<f32, kRows, kCols, kGroup, false> {
    static constexpr u32 kAccStages = kCount;
};

/* ------------------------------------------------------------------------ epilogue */

/* What an epilogue is told of the accumulator of the element at this row and column of a
 * tile of D. */
using ValueOf = std::function<f32(u32 row, u32 col)>;

/* A partition: which elements of a tile of D the teams, warps and lanes of the epilogue
 * have. */
template <class Partition>
struct PartOf {
    static constexpr bool kTransposed = Partition::kTransposed; /* lanes are columns of D */
    static constexpr u32 kTeams = Partition::kTeams, kTeamWarps = Partition::kTeamWarps;
    static constexpr u32 kRows = Partition::kRows, kCols = Partition::kCols; /* of a team */
    static constexpr u32 kFragments = Partition::kFragments;
    /* A step of the walk through them. */
    static constexpr u32 kStepRows = Partition::kStepRows, kStepCols = Partition::kStepCols;
    /* Of the accumulator, which may lie transposed. */
    static constexpr u32 kColumns = kTransposed ? kRows : kCols;
    static constexpr u32 kLaneSteps = kTransposed ? 1 : kRows / kStepRows;

    static u32 first_row(u32 team)
    {
        return Partition::first_row(team);
    }
    static u32 first_col(u32 team)
    {
        return Partition::first_col(team);
    }
    /* Of this thread's warp in each step. */
    static u32 warp_row()
    {
        return Partition::warp_row();
    }
    static u32 warp_col()
    {
        return Partition::warp_col();
    }
};

/* Tiles that are stored by tensor copies, where the plan has it so. */
template <class Config, class Partition>
struct StoreTileOf {
    static constexpr u32 kRows = Config::kStoreTileRows;
    static constexpr u32 kRowBytes = Config::kStoreTileSwizzleBytes;
    static constexpr u32 kWarps = Partition::kStoreTileWarps; /* that fill one */
    static constexpr bool kFillsTile =
        PartOf<Partition>::kColumns % 16 == 0; /* JG_STORE_TILE_COLUMNS */
};

/* A chip's epilogue: its partition, and what a thread reads accumulators with. */
template <class ConfigT>
struct OutputSm90a {
    using Config = ConfigT;
    using Partition = jg::sm90a::EpiloguePartition<Config>;
    using Part = PartOf<Partition>;
    static_assert(jg::check_partition<Partition>(), "see there");
    static constexpr u32 kTileRows = Partition::kTileRows;
    static constexpr u32 kTileCols = Partition::kTileCols;
    static constexpr u32 kWarps = 4 * Part::kTeams, kWarpgroups = Partition::kWarpgroups;
    static constexpr bool kInRegisters = true;

    static u32 team(u32 warp)
    {
        return warp / 4;
    }
    static u32 warpgroup(u32 warp)
    {
        return warp / 4;
    }

    static inline ValueOf value;
    static void set(const ValueOf &of_element)
    {
        value = of_element;
    }
    /* Registers of this thread, as wgmma leaves them. */
    struct Accumulators {
        using Reader = jg::sm90a::RegisterAccumulators<Partition, bf16>;
        static constexpr u32 kCount = Partition::kAccColumns / 2;
        typename Reader::Registers registers;
        Reader reader{registers};

        Accumulators()
        {
            const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
            const u32 row = Part::first_row(team(warp)), col = Part::first_col(team(warp));
            for (u32 i = 0; i < Reader::kDown * kCount; ++i) {
                const u32 block = i / kCount, index = i % kCount;
                const u32 along_lanes =
                    block * 64 + warp % 4 * 16 + hardware::fragment_row(lane, index);
                const u32 along_columns = hardware::fragment_col(lane, index);
                registers[block][index] =
                    value(row + (Part::kTransposed ? along_columns : along_lanes),
                          col + (Part::kTransposed ? along_lanes : along_columns));
            }
        }
        bool is_given_back(bool) const
        {
            return true;
        }
    };
};

template <class ConfigT>
struct OutputSm100a {
    using Config = ConfigT;
    using Partition = jg::sm100a::EpiloguePartition<Config>;
    using Part = PartOf<Partition>;
    static_assert(jg::check_partition<Partition>(), "see there");
    static constexpr u32 kTileRows = Partition::kTileRows;
    static constexpr u32 kTileCols = Partition::kTileCols;
    static constexpr u32 kWarps = 4, kWarpgroups = Partition::kWarpgroups;
    static constexpr bool kInRegisters = false;
    static constexpr u32 kStage = 1; /* of two, the one that is read */

    static u32 team(u32 warp)
    {
        return warp / Partition::kTeamWarps;
    }
    static u32 warpgroup(u32)
    {
        return 0;
    }

    /* Tensor memory, as tcgen05.mma leaves it. */
    static void set(const ValueOf &of_element)
    {
        for (auto &lane : host::tensor_memory) {
            std::fill(std::begin(lane), std::end(lane), -1.0f);
        }
        for (u32 i = 0; i < ConfigT::kBlockM * ConfigT::kBlockN; ++i) {
            const u32 m = i / ConfigT::kBlockN, n = i % ConfigT::kBlockN;
            const auto [lane, column] = hardware::find_in_tensor_memory(
                ConfigT::kBlockM, ConfigT::kBlockN, ConfigT::kCtaGroup, m, n);
            host::tensor_memory[lane][kStage * Partition::Layout::kStep + column] =
                ConfigT::kTransposed ? of_element(n, m) : of_element(m, n);
        }
    }
    struct Ring {
        u32 given_back = 0;
        u32 wait() const
        {
            return kStage;
        }
        void release(u32 stage)
        {
            given_back += stage == kStage ? 1 : 100;
        }
    };
    struct Accumulators {
        using Reader = jg::sm100a::AccumReader<Partition, Ring>;
        Ring ring;
        Reader reader{ring, 0};

        bool is_given_back(bool wanted) const
        {
            return ring.given_back == (wanted ? 1 : 0);
        }
    };
};

/* A warp's buffer in shared memory, in which accumulators become vectors of 8 columns. */
template <class Partition>
using StagingOf = typename jg::StagingBufferFor<Partition>::Type;

/* The same for all steps of a row side by side; a vector may be put back. */
template <class Partition>
using PanelStagingOf =
    jg::PanelStagingBuffer<Partition::kWarpRows, Partition::kStepCols / 32,
                           Partition::kCols / 32>;

/* The way of accumulators to D by tensor copies. */
template <class Output, class Snippet, u32 kStoreTiles>
using FragmentsOf =
    typename jg::EpilogueFor<StoreTilesConfig<typename Output::Config, kStoreTiles>,
                             Snippet, typename Output::Partition>::Type;

/* -------------------------------------------------------------------- partial sums */

template <class Output>
using PartialsOf = jg::PartialSums<typename Output::Config, typename Output::Partition>;

/* Of the plan: bytes of a workspace, and of what lies before its sums; bytes that the
 * swizzle of an input exchanges (plan_facts.c). */
extern "C" {
int64_t plan_workspace_bytes(int tile_m, int tile_n, int split_k, bool is_serial,
                             int64_t tiles);
int64_t plan_sums_offset(void);
int64_t plan_tail_clusters(int split_k, int wave, int64_t tiles, int64_t resident);
int plan_input_atom(bool is_k_major, int element_bytes);
}

#endif
