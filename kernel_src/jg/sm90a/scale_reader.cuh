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

// Are all sizes constants, and are there no groups? Where they are read the assembler takes
// other registers for 128 columns that have scales of their own.
template <class Config>
constexpr JG_DEVICE bool has_constant_sizes()
{
    return Config::kGroups == 0 && Config::kM > 0 && Config::kN > 0 && Config::kK > 0;
}

// Where a warpgroup has one multiplication for a block of K, and many columns with scales
// of their own: are those of the next block read while the tensor core has this one, behind
// this one's factors? On an H200 384x4096x7168 took 0.93 of the time in 128x96 beside an
// overlap (0.97 by rows), 448x4096x7168 0.98 in 128x112, groups 0.67 and 0.80 in these,
// dynamic sizes 0.77; 256x1024x7168 in four parts of K 0.88 in 128x128, 512x2048x7168 0.95
// in 64x128 in turn, but 1.07 where several warps bring scales that lie by rows; 128x128
// without parts 0.98 to 1.03 of reads before the products, narrower tiles in turn 1.00 to
// 1.03.
template <class Config>
constexpr JG_DEVICE bool reads_behind()
{
    using Partition = MmaPartition<Config>;
    if constexpr (promotes_block_scales<Config>()) {
        enum : u32 { kColumns = Partition::kMmaColumns };
        const bool is_wide = kColumns == 128 && has_constant_sizes<Config>();
        const bool is_copied = count_scale_warps<Config>() == 1;
        return Config::BBlockScale::kBlockMn == 1 && Partition::kRows == 64 &&
               Partition::kMmas == 1 &&
               (Partition::kTurns
                    ? is_wide && is_copied
                    : Config::kBlockM >= 128 && ((96 <= kColumns && kColumns <= 112) ||
                                                 (is_wide && Config::kSplitK > 1)));
    } else {
        return false;
    }
}

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
        return !reads_behind<Config>() && Partition::kRows == 64 && Partition::kMmas == 1 &&
               has_room && (Partition::kMmaColumns <= 112 || is_wide) &&
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
        kBehind = reads_behind<Config>(),
        kRefills = kOverlaps ||
                   (kOfColumns && !kBehind &&
                    (Partition::kTurns || (kColumns <= 96 && Config::kBlockM >= 128))),
        kBefore = kOfColumns && !kRefills && !kBehind && kColumns == 128 &&
                  (Config::kSplitK == 1 || Config::kBlockM == 64),
        // Where in a slot a thread's scales are is known from block to block. With that
        // 128x128 took 0.95 to 0.97 of the time on an H200, of groups 1.12, and of dynamic
        // sizes 1.10 to 1.13.
        kPlaced = kBehind || (kBefore && has_constant_sizes<Config>()),
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
        if constexpr (kPlaced) {
            place_ = Scales::place_of(RowsOfThread{first_row},
                                      Partition::first_column(consumer));
        }
    }
    // Blocks until the next slot is full, and takes it later: where kBehind.
    JG_DEVICE void await_next()
    {
        ring_.peek();
    }
    JG_DEVICE Scales take_awaited()
    {
        auto taken = ring_.acquire_seen();
        return read(taken);
    }
    // Those of the next slot, which stays with this reader.
    JG_DEVICE Scales take()
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
        const auto &slot = slots_.slot[slot_.index()];
        if constexpr (kPlaced) {
            return Scales(slot, RowsOfThread{first_row_}, place_);
        } else {
            return Scales(slot, RowsOfThread{first_row_},
                          Partition::first_column(consumer_));
        }
    }

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
    u32 k_, k_blocks_;             // the next block, of all
    typename Scales::Place place_; // of the thread's, where kPlaced
};

} // namespace jg::sm90a
