// SPDX-License-Identifier: MIT
// Tmem: the tensor memory of a CTA, allocated once and freed at the end, and the regions in
// it, one after the other.
//
// Called by one whole warp (allocate, release; in a pair one in each CTA) and by all who
// address a region. Before allocate: a cluster synchronisation, where CTAs are pairs,
// because the other CTA must run. Before the first address: await, by the epilogue's warps;
// the warp that allocates knows it, and of a pair the other CTA's too, because an
// allocation of a pair is complete in both CTAs or in none. Signals: a named barrier.
// Before release: a synchronisation after all reads and all multiplications.
#pragma once
#include <jg/common/block_scale.cuh>
#include <jg/ptx/cluster.cuh>
#include <jg/ptx/tcgen05.cuh>
#include <jg/sm100a/epilogue_partition.cuh>
#include <jg/sm100a/scale_stages.cuh>

namespace jg::sm100a {

enum : u32 { kTmemColumns = 512 }; // of a multiprocessor

// What can be allocated: a power of two, at least 32.
constexpr JG_DEVICE u32 round_up_columns(u32 columns)
{
    u32 power = 32;
    while (power < columns) {
        power *= 2;
    }
    return power;
}

// kCount blocks of kColumns each, from column kFirst on, each kStep behind the one before.
template <u32 kFirst, u32 kColumns, u32 kCount, u32 kStep = kColumns>
struct TmemRegion {
    enum : u32 {
        kBegin = kFirst,
        kEnd = kFirst + (kCount > 0 ? kStep * (kCount - 1) + kColumns : 0),
    };

    u32 base; // address of lane 0 and the region's first column

    JG_DEVICE explicit TmemRegion(u32 allocation) : base(allocation + kBegin) {}

    JG_DEVICE u32 block(u32 index) const
    {
        return base + index * kStep;
    }
};

template <class Config>
class Tmem {
  public:
    enum : u32 { kPitch = LaneLayout<Config>::kPitch };
    using Accumulators =
        TmemRegion<0, kPitch, Config::kAccStages, LaneLayout<Config>::kStep>;
    static_assert(Config::kSharedColumns == 0 ||
                      (Config::kAccStages == 2 && Config::kSharedColumns <= kPitch / 2),
                  "two accumulators, each in part of its own");
    // Sums of parts that were multiplied by scales (promotion.cuh).
    using Sums =
        TmemRegion<Accumulators::kEnd, kPitch, promotes_block_scales<Config>() ? 1 : 0>;
    // Scales of stages of the input ring, of each or of as many as there is room for: a
    // column has those of 32 rows.
    enum : u32 {
        kScaleColumns = ScaleTiles<Config>::kBytes / 128,
        kScaleRoom = kScaleColumns > 0 ? (kTmemColumns - Sums::kEnd) / kScaleColumns : 0,
        kScaleCells = kScaleColumns == 0             ? 0
                      : kScaleRoom < Config::kStages ? kScaleRoom
                                                     : Config::kStages,
        kSharedScaleCells =
            kScaleColumns > 0 && kScaleCells < Config::kStages ? kScaleCells : 0,
    };
    static_assert(kScaleColumns == 0 || kScaleCells > 1,
                  "scales are copied while those before are read");
    using Scales = TmemRegion<Sums::kEnd, kScaleColumns, kScaleCells>;

    // `published`: a word of shared memory that takes the address.
    JG_DEVICE explicit Tmem(u32 &published) : published_(published) {}

    JG_DEVICE void allocate() const
    {
        ptx::tcgen05_allocate<Config::kCtaGroup>(&published_, kAllocated);
        ptx::tcgen05_relinquish<Config::kCtaGroup>();
        __syncwarp();
        ptx::named_barrier_arrive(kBarrier, kBarrierThreads);
    }
    // Blocks until there is tensor memory: all epilogue warps.
    JG_DEVICE void await() const
    {
        ptx::named_barrier_sync(kBarrier, kBarrierThreads);
    }
    JG_DEVICE void release() const
    {
        ptx::tcgen05_free<Config::kCtaGroup>(published_, kAllocated);
    }

    JG_DEVICE Accumulators accumulators() const
    {
        return Accumulators(published_);
    }
    JG_DEVICE Scales scales() const
    {
        return Scales(published_);
    }
    JG_DEVICE Sums sums() const
    {
        return Sums(published_);
    }

  private:
    enum : u32 {
        kBarrier = 7, // 1 to 6 are the epilogue's
        kBarrierThreads = 32 * (4 * Config::kEpilogueWarpgroups + 1),
        kAllocated = round_up_columns(Scales::kEnd),
    };
    static_assert(kAllocated <= kTmemColumns, "a multiprocessor has 512 columns");
    static_assert(LaneLayout<Config>::kRows == 128 || LaneLayout<Config>::kRows == 64,
                  "rows of a CTA");

    u32 &published_;
};

} // namespace jg::sm100a
