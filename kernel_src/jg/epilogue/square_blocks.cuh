// SPDX-License-Identifier: MIT
// SquareBlocks: how the epilogue by vectors scales blocks of D that have as many rows as
// columns (output_scale.cuh). All warps that hold accumulators have a part of each block,
// whose elements go back to where accumulators were staged, as f32, until the block's
// greatest magnitude is known: that of each warp in turn takes the place of the first
// element that the warp staged, which a lane keeps meanwhile.
//
// The plan chooses tiles whose blocks are whole (lib/plan/output.c): with the rows of a
// block, where lanes are rows of D; where they are columns, with the columns of one, and
// all rows of D or those of whole blocks. Called by all lanes of all these warps, for each
// tile alike. Waits: at a named barrier of all of them, twice a block.
#pragma once
#include <jg/epilogue/quantise.cuh>

namespace jg {

// Where lanes are columns of D: a warp's steps one behind the other, then the second
// accumulators of the last one, or what reductions have between two of them.
template <class Partition, u32 kSteps, u32 kAllBytes>
class SteppedStagingBuffer : public StagingBufferFor<Partition>::Type {
    using Buffer = typename StagingBufferFor<Partition>::Type;
    enum : u32 { kStepBytes = Partition::kWarpRows * Partition::kWarpCols * sizeof(f32) };
    static_assert(kAllBytes >= (kSteps - 1) * kStepBytes + Buffer::kBytes,
                  "host and device disagree on staging");

  public:
    enum : u32 {
        kBytes = kAllBytes,
        kScratch = kSteps * kStepBytes,
    };

    JG_DEVICE explicit SteppedStagingBuffer(const u8 *memory)
        : Buffer(memory), memory_(memory)
    {
    }

    // The same memory from a step on.
    JG_DEVICE SteppedStagingBuffer step(u32 index) const
    {
        return SteppedStagingBuffer(memory_ + index * kStepBytes);
    }

  private:
    const u8 *memory_;
};

// Else steps are panels, and there is one more for the same two.
template <class Partition, u32 kSteps, u32 kOutStages, bool kReduces,
          bool kTransposed = Partition::kTransposed>
struct SquareStaging {
    enum : u32 { kStepPanels = Partition::kStepCols / 32 };
    using Type = PanelStagingBuffer<Partition::kWarpRows, kStepPanels, kOutStages>;
    static_assert(kOutStages == kSteps * kStepPanels +
                                    (Partition::kGateColumns > 0 || kReduces ? 1 : 0),
                  "host and device disagree on staging");
};
template <class Partition, u32 kSteps, u32 kOutStages, bool kReduces>
struct SquareStaging<Partition, kSteps, kOutStages, kReduces, true> {
    using Type =
        SteppedStagingBuffer<Partition, kSteps, kOutStages * Partition::kWarpBytes>;
};

template <class Config, class Partition, bool kReduces>
class SquareBlocks {
    using D = typename Config::D;
    using Scale = typename Config::DScale;
    enum : bool { kTransposed = Partition::kTransposed };
    enum : u32 {
        kAcross = Partition::kWarpCols / 8, // vectors of a row of a step
        kPassRows = 32 / kAcross,
        kPasses = Partition::kWarpRows / kPassRows,
        kWarps = 4 * Partition::kWarpgroups,
        kBarrier = 6, // 1 to 5 are those of teams
        // Of a block, in a tile: where lanes are columns, D may have fewer rows.
        kRows = Partition::kRows < Scale::kBlockRows ? Partition::kRows : Scale::kBlockRows,
    };
    static_assert(Scale::kBlock == Scale::kBlockRows &&
                      Partition::kWarpRows % kPassRows == 0,
                  "a pass has whole rows of a step");
    static_assert(kTransposed ? Partition::kTileCols == Scale::kBlock &&
                                    Partition::kRows % kRows == 0 &&
                                    kRows % Partition::kStepRows == 0
                              : Partition::kTileRows == Scale::kBlockRows &&
                                    Partition::kRows == Partition::kStepRows &&
                                    Partition::kTileCols == Partition::kCols &&
                                    Partition::kCols % Scale::kBlock == 0,
                  "tiles have whole blocks");

  public:
    enum : bool {
        kInStep = false,
        kSpread = true,
    };
    enum : u32 {
        kSteps = kTransposed ? kRows / Partition::kStepRows
                             : Scale::kBlock / Partition::kStepCols
    };
    using Staging =
        typename SquareStaging<Partition, kSteps, Config::kOutStages, kReduces>::Type;

    // `staging`: of this warp.
    JG_DEVICE SquareBlocks(const Staging &staging, u32 team)
        : staging_(staging), team_(team), amax_(0.0f)
    {
    }

    // Is this the last step of a block?
    static JG_DEVICE bool is_last(u32 step)
    {
        return step % kSteps + 1 == kSteps;
    }

    // Puts back a vector of a step: that of pass `pass` of this lane.
    template <class CoordT>
    JG_DEVICE void keep(const Staging &staged, u32 pass, const CoordT &coord,
                        const f32 (&values)[8])
    {
        amax_ = ptx::max_nan(amax_, find_amax(coord, values));
        staged.put(row_of(pass), lane() % kAcross, values);
    }

    // Scales and stores all that was kept of a block, whose first vector of this lane is
    // `first`.
    template <class ShapeT, class CoordT>
    JG_DEVICE void finish(const MatrixParam &scales, const MatrixParam &d,
                          const ShapeT &shape, const CoordT &first, const RowsInOrder &)
    {
        const f32 amax = share_with_warps(share_amax<32>(amax_));
        const ScaleValue<typename Scale::Type, D> scale(amax);
        amax_ = 0.0f;
        Scale::store_if(scales, shape, first.row, first.col, first.batch, scale.stored,
                        warp_of_tile() == 0 && lane() == 0 && first.row < shape.m &&
                            first.col < shape.n);
#pragma unroll 1
        for (u32 pass = 0; pass < kPasses; ++pass) {
#pragma unroll
            for (u32 step = 0; step < kSteps; ++step) {
                CoordT coord = first;
                coord.row +=
                    kPassRows * pass + (kTransposed ? Partition::kStepRows * step : 0);
                coord.col += kTransposed ? 0 : Partition::kStepCols * step;
                f32 values[8];
                staging_.step(step).load(row_of(pass), lane() % kAcross, values);
                store_scaled<D>(d, coord,
                                coord.row < shape.m ? count_columns(shape, coord.col) : 0,
                                values, scale.reciprocal);
            }
        }
    }

  private:
    static JG_DEVICE u32 lane()
    {
        return threadIdx.x % 32;
    }

    static JG_DEVICE u32 row_of(u32 pass)
    {
        return kPassRows * pass + lane() / kAcross;
    }

    // Warps lie side by side in shared memory.
    JG_DEVICE u32 warp_of_tile() const
    {
        return 4 * warpgroup_of<Partition>(team_) + Partition::warp();
    }

    // The greatest one of all warps.
    JG_DEVICE f32 share_with_warps(f32 amax) const
    {
        const u32 own = staging_.address_of(0, 0);
        const u32 first = own - warp_of_tile() * Staging::kBytes;
        f32 element = 0.0f;
        __syncwarp(); // all elements were put there
        if (lane() == 0) {
            element = ptx::load_shared(own);
            ptx::store_shared(own, amax);
        }
        ptx::named_barrier_sync(kBarrier, 32 * kWarps);
#pragma unroll
        for (u32 i = 0; i < kWarps; ++i) {
            amax = ptx::max_nan(amax, ptx::load_shared(first + i * Staging::kBytes));
        }
        ptx::named_barrier_sync(kBarrier, 32 * kWarps);
        if (lane() == 0) {
            ptx::store_shared(own, element);
        }
        __syncwarp();
        return amax;
    }

    Staging staging_;
    u32 team_;
    f32 amax_; // of this lane's vectors of the block so far
};

} // namespace jg
