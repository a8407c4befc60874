// SPDX-License-Identifier: MIT
// VectorEpilogue: accumulators to D for epilogues with vectors or matrices, for C, for a D
// of 8 bits, for a D whose rows may end inside a 16-byte chunk, and for one that the copy
// engine does not take.
//
// Each warp passes its part of a step through shared memory, so that a thread gets 8
// neighbouring columns of a row: matrix operands and D then move in whole lines of 128
// bytes, or, where D lies transposed in the accumulator, in pieces of 64. A staging area is
// one warp's own; the warps meet only to give back the stages of matrices, once a step.
// Called by all 128 threads of a warpgroup that holds accumulators.
#pragma once
#include <jg/common/math.cuh>
#include <jg/epilogue/accumulator.cuh>
#include <jg/epilogue/epilogue_load.cuh>
#include <jg/epilogue/scales.cuh>
#include <jg/epilogue/staging.cuh>
#include <jg/epilogue/user_epilogue.cuh>
#include <jg/ptx/cluster.cuh>

namespace jg {

template <class Config, class Epilogue, class Partition>
class VectorEpilogue {
    using D = typename Config::D;
    using C = typename Config::C;
    using Load = EpilogueLoad<Config, Epilogue, Partition>;
    using Staging = typename StagingBufferFor<Partition>::Type;
    static_assert(Config::kOutStages * Partition::kWarpBytes >= Staging::kBytes,
                  "VectorEpilogue needs out_stages=2");

    static constexpr u32 kAcross = Staging::kCols / 8; // vectors of a row
    static constexpr u32 kPassRows = 32 / kAcross;     // a vector a thread
    static constexpr u32 kPasses =
        (Staging::kRows + kPassRows - 1) / kPassRows; // of a step
    // Every 8 rows the permutations of both staging areas repeat: what a turn is. A long
    // snippet is worth more than what that saves, in time to compile.
    static constexpr u32 kTurnPasses =
        kPassRows < 8 && !Config::kLongSnippet ? 8 / kPassRows : 1;
    static constexpr bool kWholeTurns = kTurnPasses * kPassRows == 8;
    // Else steps reach beyond the tile, or passes beyond a step.
    static constexpr bool kWholeCols = Partition::kCols % Partition::kStepCols == 0;
    static constexpr bool kWholeRows =
        Partition::kRows % Partition::kStepRows == 0 && Staging::kRows % kPassRows == 0;

    // With N a multiple of 8, a vector exists as a whole or not at all.
    using CoordT = VectorCoord<Config::kWholeVectors, Config::kOutputAlignment>;

  public:
    template <class Params, class ShapeT>
    JG_DEVICE VectorEpilogue(const Params &params, const ShapeT &, u8 *smem, u32 team)
        : alpha_(params.alpha.load()), beta_(Config::kHasC ? params.beta.load() : 0.0f),
          team_(team), staging_(smem + Partition::warp() * Staging::kBytes)
    {
    }

    // Threads store D themselves.
    template <class Params>
    static JG_DEVICE void prefetch_maps(const Params &)
    {
    }

    // Matrices come through `ring` where a step's fit into it.
    template <class Params, class ShapeT, class Accumulators, class Smem, class Consumer>
    JG_DEVICE void run(const Params &params, const ShapeT &shape, Accumulators &acc,
                       const Smem &smem, Consumer &ring, const WorkTile &tile)
    {
#pragma unroll 1
        for (u32 step = 0; step < Load::kSteps; ++step) {
            // Loads that need no ring first: they land while accumulators are staged.
            CoordT coord = first_place(shape, tile, step);
            typename Epilogue::Vector user;
            user.load_columns(params.operands, coord);
            typename Scales<Config>::Vector scales;
            scales.load_columns(params, coord);
            __syncwarp();
            acc.copy_step(staging_, step);
            __syncwarp();
            typename Load::template Reader<Smem, Consumer> reader(smem, ring, team_,
                                                                  1 + team_, beta_ != 0.0f);
            write_step(params, shape, user, scales, reader, coord, count_rows(step));
        }
    }

    JG_DEVICE void drain() {}

  private:
    // Rows of this warp's part of the step that lie in the tile. Only where lanes are
    // columns may that be fewer than all.
    static JG_DEVICE u32 count_rows(u32 step)
    {
        return min_u32(Staging::kRows,
                       Partition::kRows - step / Load::kStepsAcross * Partition::kStepRows);
    }

    // This thread's first vector of a step: its row, its columns, and how many of those
    // exist.
    template <class ShapeT>
    JG_DEVICE CoordT first_place(const ShapeT &shape, const WorkTile &tile, u32 step) const
    {
        const u32 lane = threadIdx.x % 32;
        CoordT coord;
        coord.row = Load::row(tile, team_, step) + Partition::warp_row() + lane / kAcross;
        coord.col =
            Load::col(tile, team_, step) + Partition::warp_col() + lane % kAcross * 8;
        coord.batch = tile.batch;
        coord.count = Config::kWholeCols      ? 8
                      : coord.col >= shape.n  ? 0
                      : CoordT::kWholeVectors ? 8
                                              : min_u32(8, shape.n - coord.col);
        if constexpr (!kWholeCols) {
            const u32 end = tile.col + Partition::first_col(team_) + Partition::kCols;
            coord.count = coord.col < end ? coord.count : 0;
        }
        return coord;
    }

    template <class Params, class ShapeT, class Reader>
    JG_DEVICE void write_step(const Params &params, const ShapeT &shape,
                              typename Epilogue::Vector &user,
                              typename Scales<Config>::Vector &scales, Reader &reader,
                              const CoordT &first, u32 rows) const
    {
        const u32 lane = threadIdx.x % 32;
        typename MatrixInput<C>::Vector c;
        D *target = params.d.template element<D>(first.row, first.col, first.batch);
        CoordT coord = first;
        const DElement<Config> element(alpha_);
        if (!kWholeCols && first.count == 0) {
            return; // what lies beyond the tile was not staged
        }
#pragma unroll 1
        for (u32 v = 0; v < kPasses; v += kTurnPasses) {
#pragma unroll
            for (u32 u = 0; u < kTurnPasses; ++u) {
                const u32 step_row = kPassRows * v + (kPassRows * u + lane / kAcross);
                coord.count = Config::kWholeRows || coord.row < shape.m ? first.count : 0;
                if (kWholeRows || step_row < rows) {
                    if constexpr (kWholeTurns) {
                        reader.seek(Partition::warp_row() + kPassRows * v,
                                    kPassRows * u + lane / kAcross,
                                    Partition::warp_col() / 8 + lane % kAcross);
                    } else {
                        reader.seek(Partition::warp_row() + step_row / 8 * 8, step_row % 8,
                                    Partition::warp_col() / 8 + lane % kAcross);
                    }
                    if constexpr (Config::kHasC) {
                        load_c(c, params, coord, reader);
                    }
                    user.load_row(params.operands, coord, reader);
                    scales.load_row(params, coord, reader);
                    f32 values[8];
                    staging_.load(step_row, lane % kAcross, values);
#pragma unroll
                    for (u32 i = 0; i < 8; ++i) {
                        const f32 accumulator = values[i];
                        f32 value = scales.factor(alpha_, i) *
                                    accumulator_value<typename Config::A>(accumulator);
                        if constexpr (Config::kHasC) {
                            value += beta_ * c.value(i); // 0 where it was not loaded
                        }
                        values[i] =
                            element.finish(user.apply(value, shape, coord, i), accumulator);
                    }
                    user.store(params.operands, coord);
                    Packed8<D> packed;
                    packed.assign(values);
                    packed.template store<CoordT>(target, coord.count);
                }
                coord.row += kPassRows;
                target += kPassRows * params.d.ld;
            }
        }
    }

    template <class Params, class Reader>
    JG_DEVICE void load_c(typename MatrixInput<C>::Vector &c, const Params &params,
                          const CoordT &coord, Reader &reader) const
    {
        if (beta_ == 0.0f) {
            c.packed.clear();
        } else if constexpr (Reader::kHasC) {
            reader.read_c(c.packed);
        } else {
            c.load_row(params.c, coord, reader);
        }
    }

    f32 alpha_, beta_;
    u32 team_;
    Staging staging_;
};

} // namespace jg
