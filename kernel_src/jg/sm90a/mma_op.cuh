// SPDX-License-Identifier: MIT
// MmaOp: a math warpgroup's part of a tile, added up in registers by wgmma, a stage of the
// input ring at a time. Called by all threads of the warpgroup.
#pragma once
#include <jg/common/cluster_shape.cuh>
#include <jg/epilogue/accumulator.cuh>
#include <jg/pipeline/held_stages.cuh>
#include <jg/ptx/address.cuh>
#include <jg/ptx/wgmma.cuh>
#include <jg/sm90a/accumulators.cuh>
#include <jg/sm90a/epilogue_partition.cuh>
#include <jg/sm90a/k_turns.cuh>
#include <jg/sm90a/scale_reader.cuh>
#include <jg/sm90a/stage_descriptors.cuh>

namespace jg::sm90a {

// `Consumer`: of the input ring, whose stages it releases.
template <class Config, class Consumer>
class MmaOp {
    using Partition = MmaPartition<Config>;
    using Turns = KTurns<Config>;

  public:
    enum : u32 { kRowBlocks = Partition::kRows / 64 };

  private:
    enum : u32 { kMmas = Partition::kMmas }; // for each of those
    using A = typename Config::A;
    using B = typename Config::B;
    using Tiles = InputTiles<Config>;
    using Stage = HeldStages<Consumer>;
    static_assert(Config::kBlockK * kBits<A> == 8 * 128, "a stage is 128 bytes of K");
    using Instruction =
        ptx::Wgmma<A, B, Partition::kMmaColumns, Config::kAKMajor, Config::kBKMajor>;
    using Sums = Accumulator<A>[Partition::kMmaColumns / 2]; // of one multiplication
    // Accumulators of 8-bit floats keep 13 fraction bits: each stage's is added up in f32
    // registers, unless the problem is content with what they keep.
    enum : bool { kPromotes = Config::kPromotesSums };
    static_assert(!kPromotes || (kBits<A> == 8 && !sums_integers<A>()), "of 8-bit floats");
    static_assert(kPromotes || !promotes_block_scales<Config>(),
                  "scales are those of promoted sums");
    // With one multiplication for a block nothing hides what lies between its sums and the
    // next: descriptors are made a block ahead. On an H200 one wave of 128x128 took 0.95 to
    // 0.98 of the time so; with two multiplications 1.00 to 1.03, without scales 1.02.
    enum : bool {
        kDescribesAhead = promotes_block_scales<Config>() && kRowBlocks * kMmas == 1
    };

    // Sums that others are added to, in a workspace, are changed where they are. They begin
    // with 0, though the first stage sets them: without that the assembler keeps the tensor
    // core's registers from item to item beside the changed ones, and spills.
    enum : bool { kClears = kPromotes || 1 < kWorkspaceParts<Config> };

  public:
    using Accumulators = Accumulator<A>[kRowBlocks][Partition::kSumColumns / 2];
    // Has the tensor core a block's products while those of the block before are added up?
    enum : bool {
        kOverlaps = overlaps_blocks<Config>(),
        kInRuns = kOverlaps && overlaps_in_runs<Config>(),
        kScalesInStages = has_scales_in_stages<Config>(),
        // With more multiplications for a block the reads of scales stood behind all of the
        // first one's instructions so: on an H200 256x128 took 1.025, 256x48 1.02.
        kAwaitsAtEnd = kScalesInStages && kDescribesAhead,
    };
    static_assert(!kOverlaps || kDescribesAhead, "descriptors of the next stage");

    // The registers that the tensor core adds to: once, at the kernel's beginning.
    template <u32 kMma = 0>
    static JG_DEVICE void declare()
    {
        Instruction::template declare<kMma>();
        if constexpr (kMma + 1 < (kOverlaps ? 2 : kPromotes ? 1 : kRowBlocks * kMmas)) {
            declare<kMma + 1>();
        }
    }

    // `first_row`: of a tile, where the warpgroup's begin; `tiles`: of all stages of the
    // ring.
    JG_DEVICE MmaOp(u32 consumer, u32 first_row, const Tiles *tiles, Consumer &stages,
                    Accumulators &acc)
        : acc_(acc), descriptors_(consumer, first_row, tiles), stages_(stages),
          in_flight_(stages, HoldNothing())
    {
        if constexpr (kClears) {
            clear(acc_);
        }
        if constexpr (kDescribesAhead) {
            describe_next();
        }
    }

    // The sums of an item of which nothing is issued.
    template <u32 kMma = 0>
    static JG_DEVICE void clear(Accumulators &acc)
    {
        if constexpr (!kPromotes) {
            Instruction::template clear<kMma>();
        } else {
#pragma unroll
            for (u32 i = 0; i < Partition::kMmaColumns / 2; ++i) {
                sums(acc, kMma)[i] = 0;
            }
        }
        if constexpr (kMma + 1 < kRowBlocks * kMmas) {
            clear<kMma + 1>(acc);
        }
    }

    // What was added up, or cleared, behind the end of the object that did it.
    template <u32 kMma = 0>
    static JG_DEVICE void take(Accumulators &acc)
    {
        if constexpr (!kPromotes) {
            Instruction::template take<kMma>(sums(acc, kMma));
            if constexpr (kMma + 1 < kRowBlocks * kMmas) {
                take<kMma + 1>(acc);
            }
        }
    }

    // Adds the products of a stage's tiles, and releases the stage when they are read;
    // `is_first` starts the accumulator. `kBlocks`: of 64 rows, if sums are promoted.
    template <u32 kBlocks = kRowBlocks>
    JG_DEVICE void issue(Stage &stage, bool is_first)
    {
        if constexpr (kPromotes) {
            add_promoted<kBlocks>(
                stage, [] { return PlainSums(); }, [] {});
        } else {
            add_in_flight(descriptors_.of(stage.index()), stage, is_first);
        }
    }

    // The same, times the scales of the tiles' blocks, of which `reader` has the first of
    // an item when it begins; `has_next`: the item has another block.
    template <u32 kBlocks = kRowBlocks, class Reader>
    JG_DEVICE void issue_scaled(Stage &stage, Reader &reader, bool has_next)
    {
        if constexpr (Reader::kAhead) {
            typename Reader::Scales next;
            add_promoted<kBlocks>(
                stage,
                [&] {
                    if (has_next) {
                        next = reader.take();
                    }
                    return reader.scales;
                },
                [&] { reader.give_back(); });
            reader.scales = next.multiplied();
        } else if constexpr (Reader::kRefills) {
            add_promoted<kBlocks>(
                stage, [&] { return reader.scales.multiplied(); },
                [&] { reader.give_back(); });
            if (has_next) {
                reader.scales = reader.take();
            }
        } else if constexpr (Reader::kBefore) {
            const auto scales = reader.take(stage.index()).multiplied();
            reader.give_back();
            add_promoted<kBlocks>(
                stage, [&] { return scales; }, [] {});
        } else {
            add_promoted<kBlocks>(
                stage,
                [&] {
                    const auto scales = reader.take(stage.index());
                    if constexpr (Reader::Scales::kOwned) {
                        reader.give_back();
                    }
                    return scales.multiplied();
                },
                [] {});
            reader.give_back(); // if that was not done yet
        }
    }

    // The same for all of an item's blocks, `left`: whether the next stage is full is known
    // at a block's end, and needs no register from there on.
    template <u32 kBlocks, class Reader, class Settle>
    JG_DEVICE void issue_stages(Reader &reader, const Settle &settle, u32 left)
    {
        hold_next(settle);
#pragma unroll 1
        for (;; --left) {
            issue_scaled<kBlocks>(in_flight_, reader, false);
            if (left == 1) {
                return;
            }
            hold_next(settle);
        }
    }

    // The same for `kCount` of an item's blocks, where kOverlaps; two of them are with the
    // tensor core, and none behind the last. `settle` is called behind each stage that is
    // full. What is read while others are under way has to be told from these within one
    // round of a loop, or the assembler lets no product begin before the last one is done.
    template <u32 kCount, class Reader, class Settle>
    JG_DEVICE void issue_run(Reader &reader, const Settle &settle, bool has_next)
    {
        hold_next(settle);
        start_next<0>();
        add_run<0, kCount>(reader, settle, has_next);
    }
    // The same for all of an item's blocks, `left`, of which one is with the tensor core.
    template <class Reader, class Settle>
    JG_DEVICE void issue_all(Reader &reader, const Settle &settle, u32 left)
    {
        hold_next(settle);
        start_next<0>();
#pragma unroll 1
        for (; left > 2; left -= 2) {
            add_before<0>(reader, settle);
            add_before<1>(reader, settle);
        }
        if (left == 2) {
            add_before<0>(reader, settle);
            add_last<1>(reader);
        } else {
            add_last<0>(reader);
        }
    }

    // All of an item's blocks where Reader::kBehind. What the assembler can, it moves
    // between a block's products, which wait for it: so a round of the loop ends there.
    template <class Reader, class Settle>
    JG_DEVICE void issue_behind_scales(Reader &reader, const Settle &settle, u32 left)
    {
        reader.await_next(stages_);
        auto scales = reader.take_awaited(stages_);
        const auto start = [&] {
            if constexpr (kScalesInStages) {
                start_seen(settle);
            } else {
                hold_next(settle);
                start_next<0>();
                reader.give_back();
            }
        };
        start();
#pragma unroll 1
        for (; left > 1; --left) {
            const auto factors = scales.factors();
            reader.await_next(stages_);
            scales = reader.take_awaited(stages_);
            add_waited(factors);
            start();
        }
        add_waited(scales.factors());
    }

    // Waits until the tensor core has added up all that was issued.
    JG_DEVICE ~MmaOp()
    {
        if constexpr (!kPromotes) {
            ptx::wgmma_wait<0>();
        }
    }

  private:
    enum : u64 {
        kRowBlockStep = 8192 >> 4,
        kGateStep = Partition::kMmaRows * 128 >> 4, // to rows of acc1
    };

    // Which block of rows a multiplication has, and the rows of which accumulator.
    static constexpr JG_DEVICE u64 a_step(u32 mma)
    {
        return mma / kMmas * kRowBlockStep + mma % kMmas * kGateStep;
    }
    static JG_DEVICE Sums &sums(Accumulators &acc, u32 mma)
    {
        return reinterpret_cast<Sums &>(
            acc[mma / kMmas][mma % kMmas * (Partition::kMmaColumns / 2)]);
    }

    // Those of the stage that is acquired next, here and not where they are used.
    JG_DEVICE void describe_next()
    {
        next_ = descriptors_.of(stages_.next());
        ptx::hold(next_.a);
        ptx::hold(next_.b);
    }

    // A stage's multiplications from number kMma on.
    template <u32 kMma>
    JG_DEVICE void issue_from(u64 a, u64 b, bool is_first) const
    {
        Instruction::template issue<kMma>(a + a_step(kMma), b, !is_first);
        if constexpr (kMma + 1 < kRowBlocks * kMmas) {
            issue_from<kMma + 1>(a, b, is_first);
        }
    }

    // Accumulators stay where the tensor core adds to them. One group of products stays in
    // flight while the next stage is awaited.
    JG_DEVICE void add_in_flight(const Descriptors &tiles, Stage &stage, bool is_first)
    {
        ptx::wgmma_fence();
        issue_from<0>(tiles.a, tiles.b, is_first);
        ptx::wgmma_commit();
        ptx::wgmma_wait<1>();
        in_flight_.replace_by(stage);
    }

    // The tensor core sums up one stage of 64 rows at a time, which is then added to f32
    // registers, times scales where there are some: `how` gives what adds, while the tensor
    // core works for the first rows; `then` is called when those are added. Meanwhile it
    // works for the other warpgroup.
    template <u32 kBlocks, class How, class Then>
    JG_DEVICE void add_promoted(Stage &stage, How how, Then then)
    {
        const Descriptors tiles = kDescribesAhead ? next_ : descriptors_.of(stage.index());
        start_part(tiles.a + a_step(0), tiles.b);
        const auto adder = how();
#pragma unroll
        for (u32 i = 0; i < kBlocks * kMmas; ++i) {
            if (i > 0) {
                start_part(tiles.a + a_step(i), tiles.b);
            }
            const bool is_last = i + 1 == kBlocks * kMmas;
            if (is_last) {
                stages_.look_ahead();
                if constexpr (kDescribesAhead) {
                    describe_next();
                }
            }
            ptx::wgmma_wait<0>();
            Sums part;
            Instruction::template take<0>(part);
            if (is_last) {
                stage.release();
            }
            add(part, adder, i);
            if (i == 0) {
                then();
            }
        }
    }
    template <u32 kWhich = 0>
    static JG_DEVICE void start_part(u64 a, u64 b)
    {
        ptx::wgmma_fence();
        Instruction::template issue<kWhich>(a, b, 0);
        ptx::wgmma_commit();
    }
    // To the sums of multiplication `mma`.
    template <class Adder>
    JG_DEVICE void add(const Sums &part, const Adder &adder, u32 mma)
    {
#pragma unroll
        for (u32 group = 0; group < Partition::kMmaColumns / 8; ++group) {
            const f32 *parts[1] = {part + 4 * group};
            f32 *wholes[1] = {sums(acc_, mma) + 4 * group};
            adder.template add_group<1>(parts, wholes, 2 * mma, group);
        }
    }

    // The stage that is next; the one before is given back.
    template <class Settle>
    JG_DEVICE void hold_next(const Settle &settle)
    {
        Stage stage(stages_);
        settle();
        in_flight_.replace_by(stage);
    }
    // The same of one that was seen to be full, whose products begin.
    template <class Settle>
    JG_DEVICE void start_seen(const Settle &settle)
    {
        Stage stage(stages_, HoldSeen());
        settle();
        in_flight_.replace_by(stage);
        start_part<0>(next_.a, next_.b);
        describe_next();
    }
    // Of the stage that was acquired last.
    template <u32 kWhich>
    JG_DEVICE void start_next()
    {
        start_part<kWhich>(next_.a, next_.b);
        stages_.look_ahead();
        describe_next();
    }
    // The products of a block, which are done.
    template <u32 kWhich, class Reader>
    JG_DEVICE void add_done(Reader &reader)
    {
        Sums part;
        Instruction::template take<kWhich>(part);
        add(part, reader.scales.multiplied(), 0);
        reader.give_back();
    }
    // Blocks kBlock to kCount - 1 of a run, of which the first is under way.
    template <u32 kBlock, u32 kCount, class Reader, class Settle>
    JG_DEVICE void add_run(Reader &reader, const Settle &settle, bool has_next)
    {
        if constexpr (kBlock + 1 < kCount) {
            Stage stage(stages_);
            settle();
            start_next<(kBlock + 1) % 2>();
            ptx::wgmma_wait<1>();
            in_flight_.replace_by(stage);
            add_done<kBlock % 2>(reader);
            reader.scales = reader.take();
            add_run<kBlock + 1, kCount>(reader, settle, has_next);
        } else {
            add_last<kBlock % 2>(reader);
            if (has_next) {
                reader.scales = reader.take();
            }
        }
    }
    // A block that is under way, while the next one is.
    template <u32 kWhich, class Reader, class Settle>
    JG_DEVICE void add_before(Reader &reader, const Settle &settle)
    {
        ptx::wgmma_wait<0>();
        in_flight_.release();
        hold_next(settle);
        start_next<1 - kWhich>();
        add_done<kWhich>(reader);
        reader.scales = reader.take();
    }
    template <u32 kWhich, class Reader>
    JG_DEVICE void add_last(Reader &reader)
    {
        ptx::wgmma_wait<0>();
        in_flight_.release();
        add_done<kWhich>(reader);
    }
    template <class Factors>
    JG_DEVICE void add_waited(const Factors &factors)
    {
        Sums part;
        ptx::wgmma_wait<0>();
        in_flight_.release();
        Instruction::template take<0>(part);
        add(part, factors, 0);
    }

    Accumulators &acc_;
    const StageDescriptors<Config> descriptors_;
    Consumer &stages_;
    Stage in_flight_;
    Descriptors next_ = {}; // where they are made ahead
};

} // namespace jg::sm90a
