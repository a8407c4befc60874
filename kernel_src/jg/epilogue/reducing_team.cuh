// SPDX-License-Identifier: MIT
// ReducingTeam: what a reduction of an epilogue (reductions.cuh) needs of the team of warps
// whose part of a tile it is: where the thread is, the team's scratch, the workspace.
//
// A team reduces its part of a tile to partial results and stores them in the workspace: of
// each row, of each column, of the whole. A block of results is a tile's rows, or of a
// batch or group the columns of its tiles one below the other, or all. Partial results lie
// in the order of tiles, and those of all batches or groups one after the other, from byte
// param.ld of the workspace on:
//
//   of rows      [tile along the rows][tile across, part of it][row]
//   of columns   [tile along the rows, part of it][tile across][column]
//   of all       [tile along the rows][tile across][warp]
//
// A block has a counter, a word, from number param.batch_step on. The rows of a group are a
// part of D's, or of its own matrices; their tiles are numbered by the list of work
// (schedule/grouped_tile_order.cuh, row_block_tile_order.cuh). A group without rows has no
// tile: what its columns and all of it come to is written by clear_group.
//
// A team that has stored its partial results counts; the one that finds itself last of its
// block folds all of them in the order of parts, writes the results, and clears the counter
// for the next launch. So nobody waits for another CTA, outputs need no initial value, and
// the bits do not depend on who is last. The host lays both out (lib/plan/reduction.c); the
// words are those of the locks of PartialSums, which come first where K is split.
//
// A block of a row that lies in a tile is no block of results: its value is stored at once.
//
// Called by all threads of a team, together. Waits: for the other warps of the team, at its
// named barrier, and for the team beside it where both have half of such a block, at
// another one. Signals: the counter, by an addition that releases and acquires. Tiles
// beyond the problem have no part in this.
#pragma once
#include <jg/common/kernel_params.cuh>
#include <jg/common/math.cuh>
#include <jg/common/work_tile.cuh>
#include <jg/debug/waits.cuh>
#include <jg/epilogue/fold_results.cuh>
#include <jg/epilogue/reduced_block.cuh>
#include <jg/epilogue/thread_values.cuh>
#include <jg/ptx/cluster.cuh>
#include <jg/ptx/global.cuh>
#include <jg/ptx/shared.cuh>

namespace jg {

template <class Config, class Load, class Partition, class Staging>
class ReducingTeam {
    enum : u32 {
        kTileRows = Partition::kTileRows,
        kTileCols = Partition::kTileCols,
        kThreads = Partition::kTeamThreads,
        // Parts of a tile: of its rows, of its columns, of all.
        kRowParts = kTileCols / Partition::kCols,
        kColumnPartRows = Partition::kTransposed ? Partition::kRows : Partition::kStepRows,
        kColumnParts = kTileRows / kColumnPartRows,
        kTensorParts = Partition::kTeams * Partition::kTeamWarps,
        // From the scratch of a team to that of the one beside it, and the barrier of both:
        // 1 to 5 are those of teams.
        kTeamBytes = Partition::kTeamWarps * Staging::kBytes,
        kNeighbours = 6,
    };
    static_assert(kRowParts == Config::kRowParts && kColumnParts == Config::kColumnParts &&
                      kTensorParts == Config::kTensorParts,
                  "host and device disagree on partial results");
    enum : u32 { kScratchBytes = Staging::kBytes - Staging::kScratch };
    static_assert(kScratchBytes >= 64 * sizeof(f32) ||
                      kScratchBytes >= Partition::kStepRows * sizeof(f32),
                  "a warp's scratch holds the rows or the columns of a step");
    static_assert(kScratchBytes >= 32 * 4 * sizeof(f32),
                  "it holds four values of each of its threads");

  public:
    enum : bool { kTransposed = Partition::kTransposed };
    // Of the staging buffer: vectors of a row, and rows that a warp has a pass for.
    enum : u32 {
        kAcross = Partition::kWarpCols / 8,
        kPassRows = 32 / kAcross,
        kPasses = (Partition::kWarpRows + kPassRows - 1) / kPassRows,
        kWarpRows = Partition::kWarpRows, // of a step
        kCols = Partition::kCols,
        kStepCols = Partition::kStepCols,
        // Of these each lane keeps at most so many.
        kLaneRows = (kPasses + kAcross - 1) / kAcross,
    };

    // `smem`: the staging buffers of the warpgroup.
    template <class ShapeT>
    JG_DEVICE ReducingTeam(u64 workspace, const ShapeT &shape, const WorkTile &tile,
                           const u8 *smem, u32 team)
        : workspace_(workspace), rows_(shape.m), cols_(shape.n), tile_(tile), team_(team),
          step_(0), pass_(0),
          scratch_(ptx::shared_address(smem + (Partition::warp() - Partition::team_warp()) *
                                                  Staging::kBytes) +
                   Staging::kScratch)
    {
    }

    // ------------------------------------------------------------------ where a thread is

    JG_DEVICE void enter_step(u32 step)
    {
        step_ = step;
    }
    JG_DEVICE void enter_pass(u32 pass)
    {
        pass_ = pass;
    }
    // Is the step the last one of these rows? Of all?
    JG_DEVICE bool is_last_across() const
    {
        return step_ % Load::kStepsAcross + 1 == Load::kStepsAcross;
    }
    JG_DEVICE bool is_last_step() const
    {
        return step_ + 1 == Load::kSteps;
    }
    // Is the step the last one of `steps` side by side?
    JG_DEVICE bool is_last_of(u32 steps) const
    {
        return step_ % Load::kStepsAcross % steps + 1 == steps;
    }
    static JG_DEVICE u32 warp_row()
    {
        return Partition::warp_row();
    }
    static JG_DEVICE u32 warp_col()
    {
        return Partition::warp_col();
    }
    static JG_DEVICE u32 lane()
    {
        return threadIdx.x % 32;
    }
    static JG_DEVICE u32 thread()
    {
        return Partition::team_warp() * 32 + lane();
    }

    // Which of the pass's rows lies with which lane once all lanes of a row know its sum:
    // that of pass p with the lane of vector p % kAcross, as its row number p / kAcross.
    JG_DEVICE bool keeps_pass(u32 i) const
    {
        return pass_ == i * kAcross + lane() % kAcross;
    }
    // Row `i` of this lane, of the warp's part of a step; may lie beyond it.
    static JG_DEVICE u32 kept_row(u32 i)
    {
        return kPassRows * (i * kAcross + lane() % kAcross) + lane() / kAcross;
    }

    // First row and column of the step in the tile, and how many there are.
    JG_DEVICE u32 step_row() const
    {
        return Partition::first_row(team_) +
               step_ / Load::kStepsAcross * Partition::kStepRows;
    }
    JG_DEVICE u32 step_col() const
    {
        return Partition::first_col(team_) + step_ % Load::kStepsAcross * Load::kCols;
    }
    JG_DEVICE u32 step_rows() const
    {
        return min_u32(Partition::kStepRows,
                       Partition::first_row(team_) + Partition::kRows - step_row());
    }
    JG_DEVICE u32 step_cols() const
    {
        return min_u32(Load::kCols,
                       Partition::first_col(team_) + Partition::kCols - step_col());
    }

    // ---------------------------------------------------------- partial results of a part

    JG_DEVICE void store_row(const MatrixParam &param, u32 row, f32 value) const
    {
        const u32 part = tile_.col / kTileCols * kRowParts +
                         Partition::first_col(team_) / Partition::kCols;
        store<kTileRows>(param, row_block(), part, row, value);
    }
    // Of the rows of this step, or, where D lies transposed, of all of the team's.
    JG_DEVICE void store_column(const MatrixParam &param, u32 col, f32 value) const
    {
        const u32 row = kTransposed ? Partition::first_row(team_) : step_row();
        const RowTiles tiles = row_tiles();
        const u32 part = (tiles.own - tiles.first) * kColumnParts + row / kColumnPartRows;
        store<kTileCols>(param, column_block(), part, col, value);
    }
    // Of this warp.
    JG_DEVICE void store_tensor(const MatrixParam &param, f32 value) const
    {
        const RowTiles tiles = row_tiles();
        const u32 tile = (tiles.own - tiles.first) * tiles_across() + tile_.col / kTileCols;
        store<1>(param, tensor_block(),
                 tile * kTensorParts + thread() / 32 + team_ * Partition::kTeamWarps, 0,
                 value);
    }

    // The value of row `row` of the tile, of the block of a row that this step ends.
    template <u32 kBlock, class T>
    JG_DEVICE void store_block(const MatrixParam &param, u32 row, f32 value) const
    {
        const u32 block = (tile_.col + step_col()) / kBlock;
        const bool is_own = kCols >= kBlock || team_ == 0;
        if (is_own && tile_.row + row < rows_ && block * kBlock < cols_) {
            *param.element<T>(tile_.row + row, block, tile_.batch) =
                Convert<T>::from(value);
        }
    }
    // Of row `row` of this warp, if it `exists`: the first team's value with that of the
    // one beside it. Only the first team gets it.
    template <class Op>
    JG_DEVICE f32 fold_neighbour(u32 row, bool exists, f32 value) const
    {
        static_assert(Partition::kTeams == 2, "two teams have half of a block each");
        const u32 own = scratch(Partition::team_warp(), row);
        if (exists) {
            ptx::store_shared(own, value);
        }
        ptx::named_barrier_sync(kNeighbours, 2 * kThreads);
        if (exists && team_ == 0) {
            value = Op::fold(value, ptx::load_shared(own + kTeamBytes));
        }
        ptx::named_barrier_sync(kNeighbours, 2 * kThreads);
        return value;
    }

    // One value of each warp for each of `count` elements, from this warp's scratch on;
    // when sync has met all, the fold of all warps', in their order. The scratch is the
    // staging buffer: of a warp whose lanes have met behind their last load, until the next
    // step.
    JG_DEVICE void put(u32 i, f32 value) const
    {
        ptx::store_shared(scratch(Partition::team_warp(), i), value);
    }
    template <class Op>
    JG_DEVICE f32 fold_warps(u32 i) const
    {
        f32 value = ptx::load_shared(scratch(0, i));
#pragma unroll
        for (u32 warp = 1; warp < Partition::kTeamWarps; ++warp) {
            value = Op::fold(value, ptx::load_shared(scratch(warp, i)));
        }
        return value;
    }
    JG_DEVICE void sync() const
    {
        ptx::named_barrier_sync(Partition::barrier(team_), kThreads);
    }

    // ------------------------------------------------------------------------ the results

    template <class Op, class T>
    JG_DEVICE void finish_rows(const MatrixParam &param) const
    {
        finish<Op, T, kTileRows, 8>(param, row_block()); // of few tiles across
    }
    template <class Op, class T>
    JG_DEVICE void finish_columns(const MatrixParam &param) const
    {
        finish<Op, T, kTileCols, 16>(param, column_block());
    }
    template <class Op, class T>
    JG_DEVICE void finish_tensor(const MatrixParam &param) const
    {
        finish_one<Op, T>(param, tensor_block());
    }

    // Before staging buffers are filled again: what is_last and finish have left is read.
    // Not under a condition: ptxas then takes the lanes of a warp for apart in the main
    // loop, too, and keeps its descriptors in registers of each (31 instructions more per
    // block of K).
    JG_DEVICE void leave_tile() const
    {
        sync();
    }

    // Has the tile an element of D? Others come of clusters beyond its edge.
    JG_DEVICE bool exists() const
    {
        return tile_.row < rows_ && tile_.col < cols_;
    }

  private:
    // A group's rows need not begin at a tile of D's, nor lie together: the list of work
    // counts them.
    JG_DEVICE RowTiles row_tiles() const
    {
        if constexpr (Config::kGroups > 0) {
            return {tile_.row_tile, tile_.first_row_tile, tile_.row_tiles};
        } else {
            const u32 count = ceil_div(rows_, kTileRows);
            const u32 first = tile_.batch * count;
            return {first + tile_.row / kTileRows, first, count};
        }
    }
    JG_DEVICE u32 tiles_across() const
    {
        return ceil_div(cols_, kTileCols);
    }
    JG_DEVICE ReducedBlock row_block() const
    {
        const u32 own = row_tiles().own, parts = tiles_across() * kRowParts;
        return {own,  static_cast<u64>(own) * parts, 1, parts, tiles_across(), tile_.row,
                rows_};
    }
    JG_DEVICE ReducedBlock column_block() const
    {
        const RowTiles tiles = row_tiles();
        const u32 across = tiles_across(), own = tile_.col / kTileCols;
        return {tile_.batch * across + own,
                static_cast<u64>(tiles.first * kColumnParts) * across + own,
                across,
                tiles.count * kColumnParts,
                tiles.count,
                tile_.col,
                cols_};
    }
    JG_DEVICE ReducedBlock tensor_block() const
    {
        const RowTiles tiles = row_tiles();
        const u32 across = tiles_across(), count = tiles.count * across;
        return {tile_.batch,
                static_cast<u64>(tiles.first) * across * kTensorParts,
                1,
                count * kTensorParts,
                count,
                0,
                1};
    }

    JG_DEVICE u32 scratch(u32 warp, u32 i) const
    {
        return scratch_ + warp * Staging::kBytes + i * static_cast<u32>(sizeof(f32));
    }

    // Of result `i` of the block, which has kWidth.
    template <u32 kWidth>
    JG_DEVICE u64 address(const MatrixParam &param, const ReducedBlock &block, u32 part,
                          u32 i) const
    {
        const u64 index =
            (block.first_part + static_cast<u64>(part) * block.part_step) * kWidth + i;
        return workspace_ + static_cast<u64>(param.ld) + index * sizeof(f32);
    }
    template <u32 kWidth>
    JG_DEVICE void store(const MatrixParam &param, const ReducedBlock &block, u32 part,
                         u32 i, f32 value) const
    {
        if (exists()) {
            ptx::store_global_bits<4>(address<kWidth>(param, block, part, i),
                                      __float_as_uint(value));
        }
    }

    // Counts this team's part of the tile. Was it the last of the block?
    JG_DEVICE bool is_last(const MatrixParam &param, const ReducedBlock &block) const
    {
        sync(); // all warps' partial results are stored
        if (thread() == 0) {
            const u64 counter =
                workspace_ +
                (static_cast<u64>(param.batch_step) + block.counter) * sizeof(u32);
            const u32 others = block.tiles * Partition::kTeams - 1;
            const bool last =
                debug::count_steps(ptx::add_acquire_release(counter, debug::kCountStep),
                                   others) == others;
            if (last) { // nobody else will look at it in this launch
                ptx::store_global_bits<4>(counter, 0);
            }
            ptx::store_shared(scratch(0, 0), last ? 1.0f : 0.0f);
        }
        sync();
        return ptx::load_shared(scratch(0, 0)) != 0.0f;
    }

    // Threads have four neighbouring results, and share their parts where there are enough.
    template <class Op, class T, u32 kWidth, u32 kAtOnce>
    JG_DEVICE void finish(const MatrixParam &param, const ReducedBlock &block) const
    {
        constexpr u32 kVectors = kWidth / 4, kMostShares = 8;
        constexpr u32 kShares =
            kThreads / kVectors < kMostShares ? kThreads / kVectors : kMostShares;
        static_assert(kWidth % 4 == 0 && kShares > 0, "a thread has a vector of results");
        if (!exists() || !is_last(param, block)) {
            return;
        }
        const u32 own = thread(), share = own / kVectors;
        f32 values[4];
        fold_vectors<Op, kShares, kAtOnce>(
            address<kWidth>(param, block, 0, own % kVectors * 4),
            share < kShares ? share : block.parts, block.parts,
            static_cast<u64>(kWidth * sizeof(f32)) * block.part_step, values);
        sync(); // all know that they are last
#pragma unroll
        for (u32 j = 0; j < 4; ++j) {
            ptx::store_shared(vector_of(own) + j * sizeof(f32), values[j]);
        }
        sync();
        T *results = param.base<T>(tile_.batch) + block.first;
        const u32 count = min_u32(kWidth, block.end - block.first);
#pragma unroll 1
        for (u32 i = own; i < count; i += kThreads) {
            f32 value = Op::nothing();
#pragma unroll
            for (u32 n = 0; n < kShares; ++n) {
                value = Op::fold(value, ptx::load_shared(vector_of(n * kVectors + i / 4) +
                                                         i % 4 * sizeof(f32)));
            }
            results[i] = Convert<T>::from(value);
        }
    }

    // One result, whose parts lie one behind the other.
    template <class Op, class T>
    JG_DEVICE void finish_one(const MatrixParam &param, const ReducedBlock &block) const
    {
        static_assert(kTensorParts % 4 == 0, "vectors of partial results");
        if (!exists() || !is_last(param, block)) {
            return;
        }
        f32 values[4];
        fold_vectors<Op, kThreads, 8>(address<1>(param, block, 0, 0), thread(),
                                      block.parts / 4, 4 * sizeof(f32), values);
        const f32 value = fold_lanes<Op, 1, 32>(
            Op::fold(Op::fold(values[0], values[1]), Op::fold(values[2], values[3])));
        sync(); // all know that they are last
        if (lane() == 0) {
            put(0, value);
        }
        sync();
        if (thread() == 0) {
            *param.base<T>(tile_.batch) = Convert<T>::from(fold_warps<Op>(0));
        }
    }

    // Where thread `i` of the team puts four values.
    JG_DEVICE u32 vector_of(u32 i) const
    {
        return scratch(i / 32, i % 32 * 4);
    }

    u64 workspace_;
    u32 rows_, cols_; // of D in memory
    WorkTile tile_;
    u32 team_, step_, pass_;
    u32 scratch_;
};

} // namespace jg
