// SPDX-License-Identifier: MIT
// ScaleReader: scales of an item's blocks of K, from the slots of a ring to the threads of
// a math warpgroup. Few are in a thread's registers a block ahead of their products,
// because reads of shared memory wait behind multiplications that were begun before them.
// Called by MmaOp, by all threads of the warpgroup.
#pragma once
#include <jg/pipeline/held_stages.cuh>
#include <jg/sm90a/epilogue_partition.cuh>
#include <jg/sm90a/k_turns.cuh>
#include <jg/tile/scale_slots.cuh>

namespace jg::sm90a {

// Does a math warpgroup go from block to block so (lib/plan/sm90a/scaled_form.c)?
template <class Config>
constexpr JG_DEVICE bool goes_on(ScaledBlocks how)
{
    if constexpr (promotes_block_scales<Config>()) {
        return Config::kScaledBlocks == how;
    } else {
        return false;
    }
}
template <class Config>
constexpr JG_DEVICE bool overlaps_blocks()
{
    return goes_on<Config>(ScaledBlocks::kOverlapped);
}

// Are two blocks with the tensor core then, in runs behind which all is drained, or one, so
// that nothing has to be? On an H200 512x4096x7168 took 24.3 us in 128x128 with one
// (1x128 and 128x128), 26.1 with two and 27.3 without overlap; 128x112 took 1.04 of the
// time with one, as narrower tiles did, and 64x64 in turn 1.13.
template <class Config>
constexpr JG_DEVICE bool overlaps_in_runs()
{
    using Partition = MmaPartition<Config>;
    return Partition::kTurns || Partition::kMmaColumns < 128;
}

// What a thread has of a slot, and when.
template <class Config>
struct ScalesOfThread {
    using Partition = MmaPartition<Config>;
    enum : u32 {
        kMmas = Partition::kMmas,
        kCount = Partition::kRows / 64 * kMmas, // multiplications of a block
        kColumns = Partition::kMmaColumns,
    };
    enum : bool { kOverlaps = overlaps_blocks<Config>() };
    // Columns of a warpgroup whose own scales a thread has registers for.
    enum : u32 { kMostHeld = kOverlaps ? 112 : Partition::kTurns ? 160 : 128 };
    enum : bool { kHolds = kMmas == 1 && kColumns <= kMostHeld };
    using Scales = BlockScales<Config, 2 * kCount, kColumns, kHolds>;
    enum : bool {
        kAhead = Scales::kFew && !kOverlaps,
        kOfColumns = !kAhead && Scales::kOwned && kCount == 1,
        // Those of all columns wait for products that were begun before them. Where a
        // warpgroup has one product for a block, they are read where this one's were used
        // last, or before it; with more the second one hides the wait. On an H200 128x128
        // took 0.86 to 0.89 of the time before it and 1.16 behind the last use, and in two
        // parts of K 1.10 before it.
        kBehind = goes_on<Config>(ScaledBlocks::kBehind),
        kRefills = kOverlaps ||
                   (kOfColumns && !kBehind &&
                    (Partition::kTurns || (kColumns <= 96 && Config::kBlockM >= 128))),
        kBefore = kOfColumns && !kRefills && !kBehind && kColumns == 128 &&
                  (Config::kSplitK == 1 || Config::kBlockM == 64),
        // Where in a slot a thread's scales are is known from block to block.
        kPlaced = kBehind || goes_on<Config>(ScaledBlocks::kPlaced),
    };
    static_assert(!goes_on<Config>(ScaledBlocks::kPlaced) || kBefore, "of 128 columns");

    // Rows of the tile that a thread has of each multiplication: two.
    struct RowsOfThread {
        u32 first_row; // of the warpgroup

        JG_DEVICE u32 first() const
        {
            return first_row + threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4;
        }
        static constexpr JG_DEVICE u32 step(u32 i)
        {
            const u32 mma = i / 2;
            return mma / kMmas * 64 + mma % kMmas * Partition::kMmaRows + i % 2 * 8;
        }
    };

    JG_DEVICE ScalesOfThread(u32 consumer, u32 first_row)
        : consumer(consumer), first_row(first_row)
    {
        if constexpr (kPlaced) {
            place = Scales::place_of(RowsOfThread{first_row},
                                     Partition::first_column(consumer));
        }
    }
    template <class Slot>
    JG_DEVICE Scales of(const Slot &slot) const
    {
        if constexpr (kPlaced) {
            return Scales(slot, RowsOfThread{first_row}, place);
        } else {
            return Scales(slot, RowsOfThread{first_row}, Partition::first_column(consumer));
        }
    }

    u32 consumer, first_row;
    typename Scales::Place place; // of the thread's, where kPlaced
};

// From a ring of their own.
template <class Config, class Slots, class Ring, bool = has_scales_in_stages<Config>()>
class ScaleReader : public ScalesOfThread<Config> {
    using Own = ScalesOfThread<Config>;
    using Turns = KTurns<Config>;

  public:
    using Scales = typename Own::Scales;

    Scales scales; // of the block that is next, where they are read ahead

    JG_DEVICE ScaleReader(u32 consumer, u32 first_row, const Slots &slots, Ring &ring,
                          u32 k_blocks)
        : Own(consumer, first_row), slots_(slots), ring_(ring), slot_(ring, HoldNothing()),
          k_(Turns::first(consumer)), k_blocks_(k_blocks)
    {
        const bool has_blocks = k_ < k_blocks;
        if (Own::kAhead && has_blocks) {
            scales = take().multiplied();
            give_back();
        } else if (Own::kRefills && has_blocks) {
            scales = take();
        }
    }
    // Blocks until the next slot is full, and takes it later: where kBehind.
    template <class Stages>
    JG_DEVICE void await_next(const Stages &)
    {
        ring_.peek();
    }
    template <class Stages>
    JG_DEVICE Scales take_awaited(const Stages &)
    {
        auto taken = ring_.acquire_seen();
        return read(taken);
    }
    // Those of the next slot, which stays with this reader: of a stage of tiles that is
    // full.
    JG_DEVICE Scales take(u32 = 0)
    {
        auto taken = ring_.acquire();
        return read(taken);
    }
    JG_DEVICE void give_back()
    {
        slot_.release();
    }

  private:
    JG_DEVICE Scales read(HeldStages<Ring> &taken)
    {
        slot_.replace_by(taken);
        Turns::next(ring_, k_, k_blocks_);
        k_ += Turns::kWays;
        return this->of(slots_.slot[slot_.index()]);
    }

    const Slots &slots_;
    Ring &ring_;
    HeldStages<Ring> slot_;
    u32 k_, k_blocks_; // the next block, of all
};

// From stages of tiles, which go back by themselves.
template <class Config, class Slots, class Ring>
class ScaleReader<Config, Slots, Ring, true> : public ScalesOfThread<Config> {
    using Own = ScalesOfThread<Config>;
    static_assert(!Own::kAhead && !Own::kRefills, "read when the tiles are there");

  public:
    using Scales = typename Own::Scales;

    JG_DEVICE ScaleReader(u32 consumer, u32 first_row, const Slots &slots, Ring &, u32)
        : Own(consumer, first_row), slots_(slots)
    {
    }
    template <class Stages>
    JG_DEVICE void await_next(const Stages &stages)
    {
        stages.peek();
    }
    template <class Stages>
    JG_DEVICE Scales take_awaited(const Stages &stages)
    {
        return take(stages.next());
    }
    JG_DEVICE Scales take(u32 stage)
    {
        return this->of(slots_.slot[stage]);
    }
    JG_DEVICE void give_back() {}

  private:
    const Slots &slots_;
};

} // namespace jg::sm90a
