// SPDX-License-Identifier: MIT
// VectorEpilogue: accumulators to D for epilogues with matrices or C that FragmentEpilogue
// does not read, with reductions or random numbers, for a D of 8 bits, for scales of D's
// blocks, for a D whose rows may end inside a 16-byte chunk or lie where an index says, for
// one per group, and for one that TMA does not take.
//
// Each warp passes its part of a step through shared memory, so that a thread gets 8
// neighbouring columns of a row: matrix operands and D then move in whole lines of 128
// bytes, or, where D lies transposed in the accumulator, in pieces of 64. A staging buffer
// is one warp's own; the warps meet only to release the stages of matrices, once per step.
// Called by all 128 threads of a warpgroup that holds accumulators. Waits for accumulators,
// which `acc` gives back, and for the step's stages (EpilogueLoad::Reader), which it
// releases. Where the CTAs of a cluster divide a tile among them (Config::kDividesOutput),
// `acc` are its sums (cluster_shares.cuh), and nothing is staged.
#pragma once
#include <jg/common/group_matrix.cuh>
#include <jg/common/math.cuh>
#include <jg/epilogue/accumulator.cuh>
#include <jg/epilogue/element_store.cuh>
#include <jg/epilogue/epilogue_for.cuh>
#include <jg/epilogue/matrix_prefetch.cuh>
#include <jg/epilogue/output_blocks.cuh>
#include <jg/epilogue/scales.cuh>
#include <jg/epilogue/staging.cuh>
#include <jg/epilogue/user_epilogue.cuh>
#include <jg/epilogue/vector_cursor.cuh>
#include <jg/ptx/address.cuh>
#include <jg/ptx/cluster.cuh>

namespace jg {

template <class Config, class Epilogue, class Partition>
class VectorEpilogue : public NothingReadAhead {
    using D = typename Config::D;
    using C = typename Config::C;
    using Load = EpilogueLoad<Config, Epilogue, Partition>;
    using Blocks = typename BlocksFor<Config, Partition, Epilogue::kReduces>::Type;
    using Staging = typename StagingOf<Blocks, Partition>::Type;
    static_assert(Config::kDividesOutput ||
                      Config::kOutStages * Partition::kWarpBytes >= Staging::kBytes,
                  "VectorEpilogue needs out_stages=2");

    enum : u32 {
        kAcross = Partition::kWarpCols / 8,                           // vectors of a row
        kPassRows = 32 / kAcross,                                     // a vector per thread
        kPasses = (Partition::kWarpRows + kPassRows - 1) / kPassRows, // of a step
        // Every 8 rows the permutations of both buffers repeat: what a turn is. A long
        // snippet is worth more than what that saves, in time to compile.
        kTurnPasses = kPassRows < 8 && !Config::kLongSnippet ? 8 / kPassRows : 1,
    };
    enum : bool {
        kWholeTurns = kTurnPasses * kPassRows == 8,
        // Else steps reach beyond the tile, or passes beyond a step.
        kStepsEndAcross = Partition::kCols % Partition::kStepCols == 0,
        kStepsEndDown = Partition::kRows % Partition::kStepRows == 0 &&
                        Partition::kWarpRows % kPassRows == 0,
    };

    static_assert((!Blocks::kInStep && !Blocks::kSpread) || kStepsEndDown,
                  "lanes of a pass look for a block's amax together");

    using Team =
        typename Select<Epilogue::kReduces, ReducingTeam<Config, Load, Partition, Staging>,
                        NoReducingTeam>::Type;

    using Drawn =
        typename Select<Config::kDrawsAhead, DrawnNumbers<Epilogue, Load::kSteps * kPasses>,
                        NothingDrawn>::Type;

    using Row = typename Select<Config::kIndexedD, IndexedRow<Config>, NoIndexedRow>::Type;

    // With N a multiple of 8, a vector exists as a whole or not at all.
    using CoordT = VectorCoord<Config::kWholeVectors, Config::kOutputAlignment>;

    using Cursor = VectorCursor<CoordT, D, Staging, kAcross, kPassRows>;

    // What has D's rows and columns, of the tile's batch or group.
    struct Matrices {
        GroupMatrix<Config> c, d;
    };

    // What a thread reads beside accumulators, for one vector at a time.
    struct Inputs {
        typename MatrixInput<C>::Vector c;
        typename Epilogue::Vector operands;
        typename Scales<Config>::Vector scales;
    };

  public:
    template <class Params, class ShapeT>
    JG_DEVICE VectorEpilogue(const Params &params, const ShapeT &, u8 *smem, u32 team)
        : alpha_(params.alpha.load()), beta_(Config::kHasC ? params.beta.load() : 0.0f),
          team_(team), smem_(smem), staging_(smem + Partition::warp() * Staging::kBytes)
    {
    }

    // A tile, or this CTA's share. Matrices come through `ring` where the plan says so.
    template <class Params, class ShapeT, class Accumulators, class Smem, class Consumer>
    JG_DEVICE void run(const Params &params, const ShapeT &shape, Accumulators &acc,
                       const Smem &smem, Consumer &ring, const WorkTile &tile)
    {
        if constexpr (Config::kDividesOutput) {
            write_share(params, shape, acc, smem, ring, tile);
        } else {
            write_tile(params, shape, acc, smem, ring, tile);
        }
    }

    // Draws a tile's random numbers, which run uses next.
    template <class Params, class ShapeT>
    JG_DEVICE void draw_ahead(const Params &params, const ShapeT &shape,
                              const WorkTile &tile)
    {
        drawn_.draw(params, shape, tile.batch, [&](u32 i) {
            CoordT coord = first_coord(shape, tile, i / kPasses);
            coord.row += i % kPasses * kPassRows;
            return coord;
        });
    }

    JG_DEVICE void drain() {}

  private:
    template <class Params, class ShapeT, class Accumulators, class Smem, class Consumer>
    JG_DEVICE void write_tile(const Params &params, const ShapeT &shape, Accumulators &acc,
                              const Smem &smem, Consumer &ring, const WorkTile &tile) const
    {
        const Matrices matrices{group_matrix<Config>(params.c, tile.batch),
                                group_matrix<Config>(params.d, tile.batch)};
        Inputs inputs;
        Team team(params.workspace, shape, tile, smem_, team_);
        Blocks blocks(staging_, team_);
        prefetch_c(matrices.c, shape, tile, 0);
#pragma unroll(Drawn::kDraws ? Load::kSteps : 1)
        for (u32 step = 0; step < Load::kSteps; ++step) {
            prefetch_c(matrices.c, shape, tile, step + 1);
            // Load: what needs no ring lands while accumulators are staged.
            const CoordT first = first_coord(shape, tile, step);
            inputs.operands.load_columns(params.operands, first);
            inputs.scales.load_columns(params, first);

            // Stage: accumulators, from fragments to rows.
            __syncwarp();
            acc.copy_step(staged(step), step);
            __syncwarp();

            // Load the rest, compute, store: a vector at a time.
            typename Load::template Reader<Smem, Consumer> reader(
                smem, ring, team_, Partition::barrier(team_), beta_ != 0.0f);
            if constexpr (Epilogue::kReduces) {
                team.enter_step(step);
            }
            write_step(params, matrices, shape, inputs, reader, team, blocks, first, step);
            if constexpr (Blocks::kSpread) {
                if (Blocks::is_last(step)) {
                    blocks.finish(params.d_scale, matrices.d, shape,
                                  first_coord(shape, tile, step + 1 - Blocks::kSteps),
                                  PlacesOf<Config>(params));
                }
            }
            if constexpr (Epilogue::kReduces) {
                __syncwarp(); // what was staged is read
                inputs.operands.finish_step(params.operands, team);
            }
        }
        if constexpr (Epilogue::kReduces) {
            inputs.operands.finish_tile(params.operands, team);
            team.leave_tile();
        }
    }

    // This CTA's lines of a tile, whose sums the CTAs of the cluster have.
    template <class Params, class ShapeT, class Shares, class Smem, class Consumer>
    JG_DEVICE void write_share(const Params &params, const ShapeT &shape,
                               const Shares &shares, const Smem &smem, Consumer &ring,
                               const WorkTile &tile) const
    {
        static_assert(Load::kLoads == 0 && !Epilogue::kReduces && !Blocks::kSpread &&
                          !Blocks::kInStep,
                      "the plan divides what is each element's own");
        const Matrices matrices{group_matrix<Config>(params.c, tile.batch),
                                group_matrix<Config>(params.d, tile.batch)};
        typename Load::template Reader<Smem, Consumer> reader(
            smem, ring, team_, Partition::barrier(team_), beta_ != 0.0f);
        Blocks blocks(staging_, team_);
#pragma unroll 1
        for (u32 first = 0; first < Shares::kShare; first += kPassRows) {
            // Lanes without a line stay: two of them read together.
            const u32 line = shares.line(first + threadIdx.x % 32 / kAcross);
            const u32 step = min_u32(line / Partition::kWarpRows, Load::kSteps - 1);
            const u32 row = line % Partition::kWarpRows;
            CoordT coord = coord_of(shape, tile, step, row, this_thread());
            const bool exists = line < Shares::kLines &&
                                (Config::kWholeRows || coord.row < shape.m) &&
                                (kStepsEndDown || row < count_rows(step));
            coord.count = exists ? coord.count : 0;
            Inputs inputs;
            inputs.operands.load_columns(params.operands, coord);
            inputs.scales.load_columns(params, coord);
            const typename Shares::template Cursor<CoordT, D> at{
                coord, matrices.d.template element<D>(coord.row, coord.col, coord.batch),
                typename Shares::Step(shares, step, coord.count > 0), row,
                first + kPassRows >= Shares::kShare};
            write_vector(params, matrices, shape, inputs, reader, blocks, at);
        }
    }

    // Rows of this warp's part of the step that lie in the tile. Only where lanes are
    // columns may that be fewer than all.
    static JG_DEVICE u32 count_rows(u32 step)
    {
        return min_u32(Partition::kWarpRows,
                       Partition::kRows - step / Load::kStepsAcross * Partition::kStepRows);
    }

    // Where a step's accumulators are staged.
    JG_DEVICE Staging staged(u32 step) const
    {
        if constexpr (Blocks::kSpread) {
            return staging_.step(step % Blocks::kSteps);
        } else {
            return staging_;
        }
    }

    // This thread's first vector of a step.
    template <class ShapeT>
    JG_DEVICE CoordT first_coord(const ShapeT &shape, const WorkTile &tile, u32 step) const
    {
        const u32 thread = this_thread();
        return coord_of(shape, tile, step, thread % 32 / kAcross, thread);
    }

    // Where accumulators leave no registers the compiler does not see that what depends on
    // it is the same in each step.
    static JG_DEVICE u32 this_thread()
    {
        u32 thread = threadIdx.x;
        if constexpr (Partition::kFewRegisters) {
            ptx::hold(thread);
        }
        return thread;
    }

    // Its vector in a row of the warp's part of a step: its columns, and how many of those
    // exist.
    template <class ShapeT>
    JG_DEVICE CoordT coord_of(const ShapeT &shape, const WorkTile &tile, u32 step, u32 row,
                              u32 thread) const
    {
        CoordT coord;
        coord.row = Load::row(tile, team_, step) + Partition::warp_row(thread) + row;
        coord.col = Load::col(tile, team_, step) + Partition::warp_col(thread) +
                    thread % 32 % kAcross * 8;
        coord.batch = tile.batch;
        coord.count = Config::kWholeCols      ? 8
                      : coord.col >= shape.n  ? 0
                      : CoordT::kWholeVectors ? 8
                                              : min_u32(8, shape.n - coord.col);
        if constexpr (!kStepsEndAcross) {
            const u32 end = tile.col + Partition::first_col(team_) + Partition::kCols;
            coord.count = coord.col < end ? coord.count : 0;
        }
        return coord;
    }

    // All vectors of this thread in a step, a turn of passes at a time.
    template <class Params, class ShapeT, class Reader>
    JG_DEVICE void write_step(const Params &params, const Matrices &matrices,
                              const ShapeT &shape, Inputs &inputs, Reader &reader,
                              Team &team, Blocks &blocks, const CoordT &first,
                              u32 step) const
    {
        const u32 rows = count_rows(step);
        const bool is_beyond = !kStepsEndAcross && first.count == 0;
        if (!Epilogue::kReduces && is_beyond) {
            return; // what lies beyond the tile was not staged
        }
        Cursor at{threadIdx.x % 32,
                  0,
                  0,
                  first,
                  matrices.d.template element<D>(first.row, first.col, first.batch),
                  staged(step)};
#pragma unroll(Drawn::kDraws ? kPasses : 1)
        for (at.pass = 0; at.pass < kPasses; at.pass += kTurnPasses) {
#pragma unroll
            for (at.i = 0; at.i < kTurnPasses; ++at.i) {
                at.coord.count =
                    Config::kWholeRows || at.coord.row < shape.m ? first.count : 0;
                if ((kStepsEndDown || at.row() < rows) &&
                    !(Epilogue::kReduces && is_beyond)) {
                    drawn_.take(step * kPasses + at.pass + at.i, inputs.operands);
                    write_vector(params, matrices, shape, inputs, reader, blocks, at);
                } else {
                    at.coord.count = 0;
                }
                if constexpr (Epilogue::kReduces) {
                    team.enter_pass(at.pass + at.i);
                    inputs.operands.finish_row(params.operands, at.coord, team);
                }
                at.coord.row += kPassRows;
                at.target += storage_step<D>(kPassRows * matrices.d.ld);
            }
        }
    }

    template <class Params, class ShapeT, class Reader, class At>
    JG_DEVICE void write_vector(const Params &params, const Matrices &matrices,
                                const ShapeT &shape, Inputs &inputs, Reader &reader,
                                Blocks &blocks, const At &at) const
    {
        // Load: C, and what differs from row to row.
        Row row;
        if constexpr (Config::kIndexedD) {
            if (at.coord.count > 0) {
                row.load(params, at.coord.row, at.coord.batch);
            }
        }
        if constexpr (Load::kLoads > 0) {
            seek(reader, at);
        }
        load_c(inputs.c, matrices.c, at.coord, reader);
        inputs.operands.load_row(params.operands, at.coord, reader);
        inputs.scales.load_row(params, at.coord, reader);

        // Compute: accumulators as they were staged, to elements of D.
        f32 values[8];
        if constexpr (Config::kGated) {
            f32 gated[8];
            load_gated<Partition>(at.staged, at.row(), at.vector(), values, gated);
            if constexpr (Blocks::kSpread && Partition::kNeighbours) {
                __syncwarp(); // lanes put back what they keep where others read pairs
            }
            compute_gated(shape, inputs, at.coord, values, gated);
        } else {
            at.staged.load(at.row(), at.vector(), values);
            compute(shape, inputs, at.coord, values);
        }

        // Store: outputs and D, scaled, or kept until its scale is known.
        inputs.operands.store(params.operands, at.coord);
        if constexpr (Blocks::kSpread) {
            blocks.keep(at.staged, at.pass + at.i, at.coord, values);
        } else {
            if constexpr (Blocks::kInStep) {
                blocks.scale(params.d_scale, shape, row.place(params, at.coord), values);
            }
            Packed8<D> packed;
            packed.assign(values);
            if constexpr (stores_by_elements<Config, Epilogue, Blocks>(kStepsEndAcross &&
                                                                       kStepsEndDown)) {
                ElementStore<Config, kAcross, kPassRows>::run(at, packed, matrices.d.ld,
                                                              shape);
            } else if constexpr (Config::kIndexedD) {
                packed.template store<CoordT>(row.target(params, at.coord.col),
                                              row.exists(params) ? at.coord.count : 0);
            } else {
                packed.template store<CoordT>(at.target, at.coord.count);
            }
        }
        at.end_vector();
    }

    // To this thread's vector of the step in every box of matrices.
    template <class Reader>
    static JG_DEVICE void seek(Reader &reader, const Cursor &at)
    {
        const u32 vector = Partition::warp_col() / 8 + at.vector();
        if constexpr (kWholeTurns) {
            reader.seek(Partition::warp_row() + kPassRows * at.pass,
                        kPassRows * at.i + at.lane / kAcross, vector);
        } else {
            reader.seek(Partition::warp_row() + at.row() / 8 * 8, at.row() % 8, vector);
        }
    }

    // Of the warp's part of a step, if there is that step.
    template <class ShapeT>
    JG_DEVICE void prefetch_c(const MatrixParam &c, const ShapeT &shape,
                              const WorkTile &tile, u32 step) const
    {
        if constexpr (Config::kHasC && !Config::kIndexedD &&
                      Config::kOutputAlignment <= kBits<C> / 8) {
            if (beta_ != 0.0f && step < Load::kSteps) {
                prefetch_rows<C, Partition::kWarpRows, Partition::kWarpCols>(
                    c, shape, Load::row(tile, team_, step) + Partition::warp_row(),
                    Load::col(tile, team_, step) + Partition::warp_col(), tile.batch);
            }
        }
    }

    template <class Reader>
    JG_DEVICE void load_c(typename MatrixInput<C>::Vector &c, const MatrixParam &param,
                          const CoordT &coord, Reader &reader) const
    {
        if constexpr (Config::kHasC) {
            if (beta_ == 0.0f) {
                c.packed.clear();
            } else if constexpr (Reader::kHasC) {
                reader.read_c(c.packed);
            } else {
                c.load_row(param, coord, reader);
            }
        }
    }

    template <class ShapeT>
    JG_DEVICE void compute(const ShapeT &shape, Inputs &inputs, const CoordT &coord,
                           f32 (&values)[8]) const
    {
        const DElement<Config> element(alpha_);
#pragma unroll
        for (u32 i = 0; i < 8; ++i) {
            const f32 accumulator = values[i];
            f32 value = inputs.scales.factor(alpha_, i) *
                        accumulator_value<typename Config::A>(accumulator);
            if constexpr (Config::kHasC) {
                value += beta_ * inputs.c.value(i); // 0 where it was not loaded
            }
            values[i] =
                element.finish(inputs.operands.apply(value, shape, coord, i), accumulator);
        }
    }

    // The same of two accumulators each.
    template <class ShapeT>
    JG_DEVICE void compute_gated(const ShapeT &shape, Inputs &inputs, const CoordT &coord,
                                 f32 (&values)[8], const f32 (&gated)[8]) const
    {
        const DElement<Config> element(alpha_);
#pragma unroll
        for (u32 i = 0; i < 8; ++i) {
            const f32 acc0 = inputs.scales.factor(alpha_, i) *
                             accumulator_value<typename Config::A>(values[i]);
            const f32 acc1 = inputs.scales.gated_factor(alpha_, i) *
                             accumulator_value<typename Config::A>(gated[i]);
            values[i] =
                element.finish(inputs.operands.apply(acc0, acc1, shape, coord, i), 0.0f);
        }
    }

    f32 alpha_, beta_;
    u32 team_;
    const u8 *smem_; // of all warps
    Staging staging_;
    Drawn drawn_;
};

} // namespace jg
