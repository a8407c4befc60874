/* SPDX-License-Identifier: MIT */
/* Sums that are multiplied by the scales of blocks of A and B, by the names that the tests
 * use, as modules.h has them of other modules. */
#ifndef JG_TESTS_SCALED_SUMS_H
#define JG_TESTS_SCALED_SUMS_H

#include "modules.h"

/* What has the pairs of a gated D: nobody, neighbouring columns of the product, halves of a
 * team's columns, or halves of the tile's rows. */
enum class Pairs { kNone, kNeighbours, kInColumns, kInRows };

template <u32 kMn, bool kByColumns>
using BlockScaleOf = std::conditional_t<
    kMn == 0, jg::NoBlockScale,
    jg::BlockScale<kMn, kByColumns ? jg::ScaleLayout::kColumn : jg::ScaleLayout::kRow>>;

/* Scales of kAMn rows of A and of kBMn columns of B; 0: it has none. kTeamCols: columns of
 * a team's lanes. kHalves: pairs are columns of two halves of the problem's B. */
template <u32 kRows, u32 kCols, u32 kGroup, u32 kTeamCols, Pairs kPairs, bool kHalves,
          u32 kAMn, u32 kBMn, bool kByColumns>
struct ScaledConfig : OutputConfig<f32, kRows, kCols, kGroup, false> {
    using A = e4m3;
    using B = e4m3;
    using ABlockScale = BlockScaleOf<kAMn, kByColumns>;
    using BBlockScale = BlockScaleOf<kBMn, !kByColumns>;
    static constexpr u32 kAScaleRows = kAMn, kBScaleRows = kBMn;
    static constexpr bool kAByColumns = kByColumns, kBByColumns = !kByColumns;
    static constexpr u32 kBlockK = 128, kAccStages = 2, kScaleSlots = 9, kLeadStages = 0;
    /* Warps with up to four rows of a lane, and one with more. */
    static constexpr bool kKTurns = false, kScalesInStages = false;
    static constexpr jg::ScaledBlocks kScaledBlocks = jg::ScaledBlocks::kWaited;
    static constexpr u32 kARowWarps = kAMn != 1 || kByColumns ? 0 : kRows == 256 ? 1 : 2;
    static constexpr u32 kBRowWarps =
        kBMn != 1 || !kByColumns || kGroup != 1 || kCols % 32 != 0 ? 0 : 2;
    static constexpr u32 kCopyWarps = 1;
    static constexpr u32 kALoadedRows = kRows;
    static constexpr u32 kBLoadedRows = kCols / kGroup;
    static constexpr bool kPromotesSums = true, kIndexedA = false, kIndexedB = false;
    static constexpr bool kGated = kPairs != Pairs::kNone;
    static constexpr bool kGateInA = kPairs == Pairs::kInRows, kGateHalves = kHalves;
    static constexpr u32 kGateColumns = kPairs == Pairs::kNone         ? 0
                                        : kPairs == Pairs::kNeighbours ? 1
                                        : kPairs == Pairs::kInColumns  ? kTeamCols / 2
                                                                       : kTeamCols;
};

/* The same, whose scales several warps copy. */
template <class Config>
struct SharedConfig : Config {
    static constexpr u32 kCopyWarps = 3, kARowWarps = 0, kBRowWarps = 0;
};

/* Sizes of a launch. */
struct LaunchShape {
    u32 m, n, k;
};

/* The slots of an item with as many blocks of K as there are slots, or fewer, which
 * kReaders warps read. The lanes of the warps that fill them run one after the other. */
template <class Config, u32 kReaders>
class FilledSlots {
    using Slots = jg::ScaleSlots<Config>;
    using Ring = jg::ScaleRing<Config, kReaders>;

  public:
    using Consumer = typename Ring::Consumer;

    FilledSlots(const LaunchParams &params, const LaunchShape &shape, const WorkItem &item)
        : used_(item.k_blocks)
    {
        host::clear_shared(0xff); /* NaN */
        host::barriers.clear();
        Ring::init_barriers(slots());
        for (u32 warp = 0; warp < jg::copying_warps<Config>(); ++warp) {
            fill(item, [&] {
                return jg::ScaleFiller<Config, Ring>(params, shape, slots(),
                                                     Ring::producer(slots()), warp);
            });
        }
        fill_rows<true, Config::kARowWarps>(params, shape, item);
        fill_rows<false, Config::kBRowWarps>(params, shape, item);
        expect_filled();
    }
    static const Slots &slots_to_read()
    {
        return slots();
    }
    Consumer consumer() const
    {
        return Ring::consumer(slots());
    }
    /* After all threads: each warp has given each slot back, once. */
    void expect_released() const
    {
        for (u32 i = 0; i < Config::kScaleSlots; ++i) {
            expect_arrivals(slots().ring.empty[i], kReaders, i);
        }
    }

  private:
    enum : u32 {
        FILLER = 2,
        PLACE = 128 * 1024, /* in shared memory, behind the tiles */
        AROUND = 4096       /* what is looked at beside it */
    };

    /* A warp's part of all slots. */
    template <class Make>
    static void fill(const WorkItem &item, Make make)
    {
        host::run_warp(FILLER, [&] {
            auto filler = make();
            filler.begin(item);
            for (u32 k = 0; k < item.k_blocks; ++k) {
                filler.fill();
            }
        });
    }
    template <bool kOfA, u32 kWarps>
    static void fill_rows(const LaunchParams &params, const LaunchShape &shape,
                          const WorkItem &item)
    {
        if constexpr (kWarps > 0) {
            for (u32 warp = 0; warp < kWarps; ++warp) {
                fill(item, [&] {
                    return jg::RowScaleFiller<Config, Ring, kOfA>(
                        params, shape, slots(), Ring::producer(slots()), warp);
                });
            }
        }
    }
    static Slots &slots()
    {
        return *reinterpret_cast<Slots *>(host::shared + PLACE);
    }
    void expect_arrivals(const u64 &barrier, u32 wanted, u32 slot) const
    {
        host::barrier &own = host::barriers[&barrier];
        const u32 come = own.arrivals[host::cta_rank];
        EXPECT(own.wanted == wanted && come == (slot < used_ ? wanted : 0),
               "slot %u: %u arrivals of %u, not %u", slot, come, own.wanted, wanted);
    }
    /* Every scale of a slot is written once, and nothing beside them. */
    void expect_filled() const
    {
        u32 others = 0;
        std::vector<u8> writes(host::shared_writes + PLACE - AROUND,
                               host::shared_writes + PLACE + sizeof(Slots) + AROUND);
        for (u32 i = 0; i < Config::kScaleSlots; ++i) {
            const auto &scales = slots().slot[i].scales;
            u8 *first = writes.data() + AROUND + host::shared_offset(scales) - PLACE;
            others += u32(sizeof(scales) -
                          std::count(first, first + sizeof(scales), u8(i < used_ ? 1 : 0)));
            std::fill_n(first, sizeof(scales), u8(0));
            expect_arrivals(slots().ring.full[i],
                            (jg::copies_scales<Config>() ? u32(host::LANES) : 0u) +
                                jg::row_scale_warps<Config>(),
                            i);
        }
        others += u32(writes.size() - std::count(writes.begin(), writes.end(), u8(0)));
        EXPECT(others == 0, "%u bytes are not written once", others);
    }

    u32 used_;
};

/* An accumulator of a tile, as the epilogue has it: row and column of D, or of its
 * transpose, and which of two. */
struct ScaledSum {
    u32 row, col, acc;
    f32 value;
};
/* Column `col` of those that a team's accumulators have. */
template <class Config, class Partition>
ScaledSum scaled_sum(u32 team, u32 row, u32 col, f32 value)
{
    constexpr u32 kGate = Config::kGateColumns;
    const u32 own = kGate == 0 ? col : kGate == 1 ? col / 2 : col % kGate;
    const u32 acc = kGate == 0 ? 0 : kGate == 1 ? col % 2 : col / kGate;
    return {row, Partition::first_col(team) + own, acc, value};
}

/* All accumulators of an item, each of whose products is 1. */
template <class Config>
struct ScaledSumsSm90a {
    using Partition = jg::sm90a::EpiloguePartition<Config>;
    using Mma = jg::sm90a::MmaOp<Config, NoStages>;
    static constexpr u32 kTileRows = Partition::kTileRows, kTileCols = Partition::kTileCols;

    static std::vector<ScaledSum> run(const LaunchParams &params, const LaunchShape &shape,
                                      const WorkItem &item)
    {
        const Scales scales(params, shape, item);
        std::vector<ScaledSum> sums;
        for (u32 thread = 0; thread < 128 * Partition::kTeams; ++thread) {
            threadIdx.x = thread;
            add_thread(scales, item, sums);
        }
        scales.expect_released();
        return sums;
    }

  private:
    using Scales = FilledSlots<Config, 4 * Partition::kTeams>;

    static void add_thread(const Scales &scales, const WorkItem &item,
                           std::vector<ScaledSum> &sums)
    {
        const u32 team = threadIdx.x / 128, lane = threadIdx.x % 32;
        typename Mma::Accumulators acc;
        NoStages stages;
        typename Scales::Consumer ring = scales.consumer();
        Mma::declare();
        {
            const u32 row = jg::sm90a::MmaPartition<Config>::first_row(team);
            Mma mma(team, row, tiles_at<Config>(host::shared), stages, acc);
            jg::sm90a::multiply_scaled<Config, Mma::kRowBlocks>(
                mma, stages, ring, Scales::slots_to_read(), team, row, item.k_blocks);
            EXPECT(stages.released == item.k_blocks, "%u stages of %u are given back",
                   stages.released, item.k_blocks);
        }
        host::products.clear();
        for (u32 block = 0; block < Partition::kRows / 64; ++block) {
            for (u32 j = 0; j < Partition::kAccColumns / 2; ++j) {
                const u32 row = Partition::first_row(team) + block * 64 +
                                threadIdx.x / 32 % 4 * 16 + hardware::fragment_row(lane, j);
                sums.push_back(scaled_sum<Config, Partition>(
                    team, row, hardware::fragment_col(lane, j), acc[block][j]));
            }
        }
    }
};

template <class Config>
struct ScaledSumsSm100a {
    using Partition = jg::sm100a::EpiloguePartition<Config>;
    using Layout = typename Partition::Layout;
    using Tmem = jg::sm100a::Tmem<Config>;
    static constexpr u32 kTileRows = Partition::kTileRows, kTileCols = Partition::kTileCols;
    static constexpr u32 kAccumulators = Config::kAccStages * Layout::kPitch;

    /* Each block of K comes in another accumulator. */
    struct Ring {
        u32 begun = 0, ended = 0;
        u32 wait()
        {
            return begun++ % Config::kAccStages;
        }
        void release(u32 stage)
        {
            EXPECT(stage == ended % Config::kAccStages, "accumulator %u", stage);
            ended++;
        }
    };

    static std::vector<ScaledSum> run(const LaunchParams &params, const LaunchShape &shape,
                                      const WorkItem &item)
    {
        for (auto &lane : host::tensor_memory) {
            std::fill(std::begin(lane), std::end(lane), -1.0f);
            std::fill_n(std::begin(lane), kAccumulators, 1.0f);
        }
        u32 published = 0;
        const Tmem tmem(published);
        const Scales scales(params, shape, item);
        for (u32 thread = 0; thread < 128; ++thread) {
            threadIdx.x = thread;
            Ring ring;
            typename Scales::Consumer slots = scales.consumer();
            const jg::sm100a::PromotedSums<Config, Partition> sums(
                item.k_blocks, ring, tmem.accumulators().base, slots,
                Scales::slots_to_read(), tmem.sums().base);
            EXPECT(ring.ended == item.k_blocks, "%u accumulators of %u are given back",
                   ring.ended, item.k_blocks);
        }
        scales.expect_released();
        expect_accumulators();
        return read(tmem.sums().base);
    }

  private:
    using Scales = FilledSlots<Config, 4>;

    static void expect_accumulators()
    {
        u32 written = 0;
        for (auto &lane : host::tensor_memory) {
            written += kAccumulators - u32(std::count(lane, lane + kAccumulators, 1.0f));
        }
        EXPECT(written == 0, "%u accumulators are written", written);
    }
    static std::vector<ScaledSum> read(u32 first)
    {
        std::vector<ScaledSum> sums;
        const u32 cols = Config::kBlockN, rows = Config::kBlockM;
        for (u32 i = 0; i < rows * cols; ++i) {
            const u32 mma = i / cols / Layout::kRows, row = i / cols % Layout::kRows;
            const auto [lane, column] = hardware::find_in_tensor_memory(
                Layout::kRows, cols, Config::kCtaGroup, row, i % cols);
            const u32 team = Layout::kSplit ? i % cols / (cols / 2) : 0;
            const u32 of_team = mma * Layout::kMmaColumns + column;
            sums.push_back(scaled_sum<Config, Partition>(
                team, row, of_team, host::tensor_memory[lane][first + of_team]));
        }
        return sums;
    }
};

#endif
