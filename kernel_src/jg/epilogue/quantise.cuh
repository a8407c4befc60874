// SPDX-License-Identifier: MIT
// StepBlocks, SpreadBlocks, SharedBlocks: how the epilogue by vectors scales blocks of D
// (output_scale.cuh), of a row each. Blocks of 16 or 32 columns lie in a step: a few lanes
// have one. Blocks of 128 are spread over steps: elements go back to where accumulators
// were staged, as f32, until the block's greatest magnitude is known; where two teams have
// half of a block each, they exchange that of each row. Where lanes are columns of D, a
// step has whole blocks, and warps that lie side by side share one. Every element is
// computed once.
//
// The plan chooses tiles whose blocks are whole (lib/plan/output.c). Called by all lanes of
// a warp together. Waits: SpreadBlocks, where two teams share blocks, at a named barrier of
// both, twice a block; SharedBlocks at one of its warps, twice a step.
#pragma once
#include <jg/epilogue/output_blocks.cuh>
#include <jg/epilogue/output_scale.cuh>
#include <jg/epilogue/partition.cuh>
#include <jg/epilogue/staging.cuh>
#include <jg/epilogue/thread_values.cuh>
#include <jg/ptx/address.cuh>
#include <jg/ptx/arithmetic.cuh>
#include <jg/ptx/cluster.cuh>

namespace jg {

// Of a vector's elements that exist, which may be all or none; NaN if one of them is.
template <class CoordT>
JG_DEVICE f32 find_amax(const CoordT &coord, const f32 (&values)[8])
{
    f32 x[8];
#pragma unroll
    for (u32 i = 0; i < 8; ++i) {
        const bool exists = CoordT::kWholeVectors || i < coord.count;
        x[i] = exists ? ::fabsf(values[i]) : 0.0f;
    }
#pragma unroll
    for (u32 step = 1; step < 8; step *= 2) {
#pragma unroll
        for (u32 i = 0; i < 8; i += 2 * step) {
            x[i] = ptx::max_nan(x[i], x[i + step]);
        }
    }
    return CoordT::kWholeVectors && coord.count == 0 ? 0.0f : x[0];
}

// Of kLanes neighbouring lanes; all of them get it.
template <u32 kLanes>
JG_DEVICE f32 share_amax(f32 amax)
{
#pragma unroll
    for (u32 bit = 1; bit < kLanes; bit *= 2) {
        amax = ptx::max_nan(amax, ptx::exchange_lanes(amax, bit));
    }
    return amax;
}

JG_DEVICE void multiply_all(f32 (&values)[8], f32 factor)
{
#pragma unroll
    for (u32 i = 0; i < 8; i += 2) {
        const ptx::Pair scaled =
            ptx::multiply_pairs({values[i], values[i + 1]}, {factor, factor});
        values[i] = scaled.left;
        values[i + 1] = scaled.right;
    }
}

// A vector of D, `count` elements of which exist, scaled.
template <class D, class CoordT>
JG_DEVICE void store_scaled(const MatrixParam &d, const CoordT &coord, u32 count,
                            f32 (&values)[8], f32 reciprocal)
{
    multiply_all(values, reciprocal);
    Packed8<D> packed;
    packed.assign(values);
    packed.template store<CoordT>(d.template element<D>(coord.row, coord.col, coord.batch),
                                  count);
}

// Of a vector that begins at column `col` of D.
template <class ShapeT>
JG_DEVICE u32 count_columns(const ShapeT &shape, u32 col)
{
    return col >= shape.n ? 0 : shape.n - col < 8 ? shape.n - col : 8;
}

template <class Config, class Partition>
struct StepBlocks {
    enum : bool {
        kInStep = true,
        kSpread = false,
    };
    using Scale = typename Config::DScale;
    enum : u32 { kLanes = Scale::kBlock / 8 };
    static_assert(Partition::kWarpCols % Scale::kBlock == 0 &&
                      Partition::kCols % Partition::kStepCols == 0,
                  "a step has whole blocks");

    template <class Staging>
    JG_DEVICE StepBlocks(const Staging &, u32)
    {
    }

    // Scales this lane's vector, and stores its block's scale.
    template <class ShapeT, class CoordT>
    static JG_DEVICE void scale(const MatrixParam &param, const ShapeT &shape,
                                const CoordT &coord, f32 (&values)[8])
    {
        const ScaleValue<typename Scale::Type, typename Config::D> scale(
            share_amax<kLanes>(find_amax(coord, values)));
        multiply_all(values, scale.reciprocal);
        Scale::store_if(param, shape, coord.row, coord.col, coord.batch, scale.stored,
                        threadIdx.x % kLanes == 0 && coord.count > 0);
    }
};

template <class Config, class Partition, bool kReduces>
class SpreadBlocks {
    using D = typename Config::D;
    using Scale = typename Config::DScale;
    enum : u32 {
        kRows = Partition::kWarpRows,
        kAcross = Partition::kWarpCols / 8, // vectors of a row of a step
        kPassRows = 32 / kAcross,
        kPasses = kRows / kPassRows,
    };
    // Does a team have half of a block, and its neighbour the other one?
    enum : bool { kShared = Partition::kCols < Scale::kBlock };
    enum : u32 {
        kCols = kShared ? Partition::kCols : Scale::kBlock,
        // A gated step's second accumulators lie beyond its elements; what teams exchange,
        // and the scratch of reductions, lies beyond all of theirs.
        kPanels = kCols / 32 + (Partition::kGateColumns > 0 || kShared || kReduces ? 1 : 0),
        kBarrier = 6, // 1 to 5 are those of teams
    };

  public:
    enum : bool {
        kInStep = false,
        kSpread = true,
    };
    enum : u32 { kSteps = kCols / Partition::kStepCols };
    using Staging = PanelStagingBuffer<kRows, Partition::kStepCols / 32, kPanels>;
    static_assert(Config::kOutStages == kPanels, "host and device disagree on staging");
    static_assert(!Partition::kTransposed && kPasses <= kAcross,
                  "a lane keeps one row's amax");
    static_assert(Partition::kCols % kCols == 0 &&
                      (!kShared || (2 * kCols == Scale::kBlock && Partition::kTeams == 2)),
                  "tiles have whole blocks");

    // `staging`: of this warp.
    JG_DEVICE SpreadBlocks(const Staging &staging, u32 team)
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
        const f32 amax = share_amax<kAcross>(find_amax(coord, values));
        amax_ = lane() % kAcross == pass ? ptx::max_nan(amax_, amax) : amax_;
        staged.put(kPassRows * pass + lane() / kAcross, lane() % kAcross, values);
    }

    // Scales and stores all that was kept of a block, whose first vector of this lane is
    // `first`.
    template <class ShapeT, class CoordT, class Places>
    JG_DEVICE void finish(const MatrixParam &scales, const MatrixParam &d,
                          const ShapeT &shape, const CoordT &first, const Places &places)
    {
        if constexpr (kShared) {
            exchange_amax();
        }
        const ScaleValue<typename Scale::Type, D> scale(amax_);
        store_scale(scales, shape, first, scale.stored, places);
        amax_ = 0.0f;
#pragma unroll 1
        for (u32 pass = 0; pass < kPasses; ++pass) {
            const u32 row = kPassRows * pass + lane() / kAcross;
            const u32 source = lane() / kAcross * kAcross + pass;
            const f32 reciprocal = ptx::read_lane(scale.reciprocal, source);
            CoordT coord = first;
            coord.row += kPassRows * pass;
            const RowPlace place = places.of(coord.row, coord.batch, coord.row < shape.m);
            coord.row = place.row;
#pragma unroll
            for (u32 step = 0; step < kSteps; ++step) {
                f32 values[8];
                staging_.step(step).load(row, lane() % kAcross, values);
                store_scaled<D>(d, coord,
                                place.exists ? count_columns(shape, coord.col) : 0, values,
                                reciprocal);
                coord.col += Partition::kStepCols;
            }
        }
    }

  private:
    static JG_DEVICE u32 lane()
    {
        return threadIdx.x % 32;
    }

    // The row of this lane's amax, in the warp's part of a step; beyond it there is none.
    static JG_DEVICE u32 kept_row()
    {
        return kPassRows * (lane() % kAcross) + lane() / kAcross;
    }

    // The greater one of this team's and its neighbour's.
    JG_DEVICE void exchange_amax()
    {
        const u32 own = staging_.scratch();
        const u32 other = team_ == 0 ? own + Partition::kTeamWarps * Staging::kBytes
                                     : own - Partition::kTeamWarps * Staging::kBytes;
        const u32 row = kept_row();
        __syncwarp(); // what was staged there is read
        if (row < kRows) {
            ptx::store_shared(own + row * sizeof(f32), amax_);
        }
        ptx::named_barrier_sync(kBarrier, 2 * Partition::kTeamThreads);
        if (row < kRows) {
            amax_ = ptx::max_nan(amax_, ptx::load_shared(other + row * sizeof(f32)));
        }
        ptx::named_barrier_sync(kBarrier, 2 * Partition::kTeamThreads);
    }

    template <class ShapeT, class CoordT, class Places>
    JG_DEVICE void store_scale(const MatrixParam &param, const ShapeT &shape,
                               const CoordT &first, typename Scale::Type value,
                               const Places &places) const
    {
        const u32 row = first.row - lane() / kAcross + kept_row();
        const u32 col = first.col - lane() % kAcross * 8;
        const bool is_own = !kShared || team_ == 0;
        const RowPlace place =
            places.of(row, first.batch,
                      is_own && kept_row() < kRows && row < shape.m && col < shape.n);
        Scale::store_if(param, shape, place.row, col, first.batch, value, place.exists);
    }

    Staging staging_;
    u32 team_;
    f32 amax_; // of row kept_row() of the block so far
};

template <class Config, class Partition>
class SharedBlocks {
    using D = typename Config::D;
    using Scale = typename Config::DScale;
    using Buffer = typename StagingBufferFor<Partition>::Type;
    enum : u32 {
        kAcross = Partition::kWarpCols / 8, // vectors of a row of a step
        kPassRows = 32 / kAcross,
        kPasses = Partition::kWarpRows / kPassRows,
        kWarps = Scale::kBlock / Partition::kWarpCols, // that share one
    };
    enum : bool { kInTeam = kWarps <= Partition::kTeamWarps };
    enum : u32 {
        kAllWarps = 4 * Partition::kWarpgroups,
        kBarrier = 6, // 1 to 5 are those of teams
    };
    static_assert(Partition::kTransposed && Partition::kWarpRows % kPassRows == 0,
                  "a pass has whole rows of a step");
    static_assert(kInTeam ? Partition::kTeamWarps % kWarps == 0 : kWarps == kAllWarps,
                  "tiles have whole blocks");

  public:
    enum : bool {
        kInStep = false,
        kSpread = true,
    };
    enum : u32 { kSteps = 1 };

    // A warp's staging buffer, and behind it the amax of each row of its part of a block.
    struct Staging : Buffer {
        enum : u32 { kBytes = Config::kOutStages * Partition::kWarpBytes };
        static_assert(kBytes >= Buffer::kBytes + Partition::kWarpRows * sizeof(f32),
                      "host and device disagree on staging");

        JG_DEVICE explicit Staging(const u8 *memory) : Buffer(memory) {}

        JG_DEVICE Staging step(u32) const
        {
            return *this;
        }
        JG_DEVICE u32 amax_address(u32 row) const
        {
            return Buffer::end() + row * sizeof(f32);
        }
    };

    // `staging`: of this warp.
    JG_DEVICE SharedBlocks(const Staging &staging, u32 team)
        : staging_(staging), team_(team)
    {
    }

    static JG_DEVICE bool is_last(u32)
    {
        return true;
    }

    // Puts back a vector of a step: that of pass `pass` of this lane.
    template <class CoordT>
    JG_DEVICE void keep(const Staging &staged, u32 pass, const CoordT &coord,
                        const f32 (&values)[8])
    {
        const f32 amax = share_amax<kAcross>(find_amax(coord, values));
        staged.put(row_of(pass), lane() % kAcross, values);
        if (lane() % kAcross == 0) {
            ptx::store_shared(staged.amax_address(row_of(pass)), amax);
        }
    }

    // Scales and stores all that was kept of a step, whose first vector of this lane is
    // `first`.
    template <class ShapeT, class CoordT, class Places>
    JG_DEVICE void finish(const MatrixParam &scales, const MatrixParam &d,
                          const ShapeT &shape, const CoordT &first, const Places &places)
    {
        meet(); // all parts of this warp's block are there
#pragma unroll 1
        for (u32 pass = 0; pass < kPasses; ++pass) {
            const ScaleValue<typename Scale::Type, D> scale(amax_of_block(row_of(pass)));
            CoordT coord = first;
            coord.row += kPassRows * pass;
            const RowPlace place = places.of(coord.row, coord.batch, coord.row < shape.m);
            coord.row = place.row;
            coord.count = place.exists ? first.count : 0;
            Scale::store_if(scales, shape, coord.row, coord.col, coord.batch, scale.stored,
                            warp_of_block() == 0 && lane() % kAcross == 0 &&
                                coord.count > 0);
            f32 values[8];
            staging_.load(row_of(pass), lane() % kAcross, values);
            store_scaled<D>(d, coord, coord.count, values, scale.reciprocal);
        }
        meet(); // they are read
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

    // Warps lie side by side in D as in shared memory.
    JG_DEVICE u32 warp_of_block() const
    {
        return (4 * warpgroup_of<Partition>(team_) + Partition::warp()) % kWarps;
    }

    JG_DEVICE f32 amax_of_block(u32 row) const
    {
        const u32 first = staging_.amax_address(row) - warp_of_block() * Staging::kBytes;
        f32 amax = 0.0f;
#pragma unroll
        for (u32 i = 0; i < kWarps; ++i) {
            amax = ptx::max_nan(amax, ptx::load_shared(first + i * Staging::kBytes));
        }
        return amax;
    }

    JG_DEVICE void meet() const
    {
        if constexpr (kInTeam) {
            ptx::named_barrier_sync(Partition::barrier(team_), Partition::kTeamThreads);
        } else {
            ptx::named_barrier_sync(kBarrier, 32 * kAllWarps);
        }
    }

    Staging staging_;
    u32 team_;
};

} // namespace jg
