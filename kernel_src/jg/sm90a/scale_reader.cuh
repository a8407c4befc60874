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

// Where a warpgroup has one multiplication for a block of K: has the tensor core the next
// block's while this one's products are added up? They are in registers of their own, and
// the warpgroup holds two stages. For the scales of 128 columns there is no room beside
// them, so that they are read where they are used: on an H200 that took 1.05 of the time in
// 128x128, and 0.92 in 64x128 in turn. With few scales 64x128 in turn took 1.06 of the time
// with an overlap (256x4096x7168), and 128x128 0.89. Beside groups and where all sizes are
// read those of more than 64 columns were seen to spill.
template <class Config>
constexpr JG_DEVICE bool overlaps_blocks()
{
    using Partition = MmaPartition<Config>;
    if constexpr (promotes_block_scales<Config>()) {
        const bool has_few = Config::BBlockScale::kBlockMn != 1;
        const bool is_wide = Partition::kMmaColumns == 128 && has_few != Partition::kTurns;
        const bool has_room =
            has_few || Partition::kMmaColumns <= 64 ||
            (Config::kGroups == 0 && (Config::kM > 0 || Config::kN > 0 || Config::kK > 0));
        return Partition::kRows == 64 && Partition::kMmas == 1 && has_room &&
               (Partition::kMmaColumns <= 112 || is_wide) &&
               Config::kStages >= 2 * KTurns<Config>::kWays;
    } else {
        return false;
    }
}

// ... and are two blocks with the tensor core, in runs behind which all is drained, or one,
// so that nothing has to be? On an H200 512x4096x7168 took 24.3 us in 128x128 with one
// (1x128 and 128x128), 26.1 with two and 27.3 without overlap; 128x112 took 1.04 of the
// time with one, as narrower tiles did, and 64x64 in turn 1.13.
template <class Config>
constexpr JG_DEVICE bool overlaps_in_runs()
{
    using Partition = MmaPartition<Config>;
    return Partition::kTurns || Partition::kMmaColumns < 128;
}

template <class Config, class Slots, class Ring>
class ScaleReader {
    using Partition = MmaPartition<Config>;
    using Turns = KTurns<Config>;
    enum : u32 {
        kMmas = Partition::kMmas,
        kCount = Partition::kRows / 64 * kMmas, // multiplications of a block
        kColumns = Partition::kMmaColumns,
    };
    enum : bool { kOverlaps = overlaps_blocks<Config>() };
    // Columns of a warpgroup whose own scales a thread has registers for.
    enum : u32 { kMostHeld = kOverlaps ? 112 : Partition::kTurns ? 160 : 128 };

  public:
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
        kRefills = kOverlaps ||
                   (kOfColumns &&
                    (Partition::kTurns || (kColumns <= 96 && Config::kBlockM >= 128))),
        kBefore = kOfColumns && !kRefills && kColumns == 128 &&
                  (Config::kSplitK == 1 || Config::kBlockM == 64),
    };

    Scales scales; // of the block that is next, where they are read ahead

    JG_DEVICE ScaleReader(u32 consumer, u32 first_row, const Slots &slots, Ring &ring,
                          u32 k_blocks)
        : slots_(slots), ring_(ring), slot_(ring, HoldNothing()), consumer_(consumer),
          first_row_(first_row), k_(Turns::first(consumer)), k_blocks_(k_blocks)
    {
        const bool has_blocks = k_ < k_blocks;
        if (kAhead && has_blocks) {
            scales = take().multiplied();
            give_back();
        } else if (kRefills && has_blocks) {
            scales = take();
        }
    }
    // Those of the next slot, which stays with this reader.
    JG_DEVICE Scales take()
    {
        auto taken = ring_.acquire();
        slot_.replace_by(taken);
        Turns::next(ring_, k_, k_blocks_);
        k_ += Turns::kWays;
        return Scales(slots_.slot[slot_.index()], RowsOfThread{first_row_},
                      Partition::first_column(consumer_));
    }
    JG_DEVICE void give_back()
    {
        slot_.release();
    }

  private:
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

    const Slots &slots_;
    Ring &ring_;
    HeldStages<Ring> slot_;
    u32 consumer_, first_row_;
    u32 k_, k_blocks_; // the next block, of all
};

} // namespace jg::sm90a
