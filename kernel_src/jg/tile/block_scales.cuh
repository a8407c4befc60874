// SPDX-License-Identifier: MIT
// BlockScales: the f32 scales of blocks of A and of B, by which sums of a block of K are
// multiplied when they leave the tensor core.
//
// Config::ABlockScale and BBlockScale are those of the product's A and B, or NoBlockScale.
// A thread holds accumulators of kRowCount rows, in groups of eight columns, two of each
// group: the layout of wgmma's accumulators. For each block of K an accumulator becomes
//
//   sum = fma(part, a_scale * b_scale, sum)
//
// both rounded to f32, in the order of K. Scales of rows that M or N lacks are those of
// the last; a block beyond the end of K has the scale 0. Both are multiplied by zeros only
// where they are finite, and reach no element of D.
//
// Scales are read from global memory by the threads that use them, before they wait for a
// block's products: one block of K ahead, unless each column has its own, for which there
// are no registers. Called by: the threads that hold the accumulators; waits for nothing.
#pragma once
#include <jg/common/block_scale.cuh>
#include <jg/common/math.cuh>
#include <jg/schedule/work_item.cuh>
#include <jg/tile/input_operand.cuh>

namespace jg {

// Scales of one matrix at kCount places of a thread: rows of the product's A or B.
// `kAhead`: they are asked for one block of K before they are taken.
template <class Scale, class Operand, bool kGateHalves, u32 kCount, bool kAhead>
class ScalesAt {
  public:
    // `rows`: what all of the product's matrix has.
    JG_DEVICE ScalesAt(const MatrixParam &param, u32 batch, u32 rows)
        : base_(param.base<const f32>(batch)), ld_(param.ld), rows_(rows)
    {
    }

    // Place `i` is row `row` of the product.
    JG_DEVICE void locate(u32 i, u32 row)
    {
        places_[i] = row_in_matrix(row) / Scale::kBlockMn;
    }
    // Before the first block of K is taken.
    JG_DEVICE void begin(u32 k_block, u32 k_blocks)
    {
        if constexpr (kAhead) {
            load(next_, k_block, k_blocks);
        }
    }
    // Those of a block are the values from now on.
    JG_DEVICE void take(u32 k_block, u32 k_blocks)
    {
        if constexpr (kAhead) {
#pragma unroll
            for (u32 i = 0; i < kCount; ++i) {
                values_[i] = next_[i];
            }
            load(next_, k_block + 1, k_blocks);
        } else {
            load(values_, k_block, k_blocks);
        }
    }
    JG_DEVICE f32 value(u32 i) const
    {
        return values_[i];
    }

  private:
    // Beyond the end of K there are none in memory.
    JG_DEVICE void load(f32 (&values)[kCount], u32 k_block, u32 k_blocks) const
    {
        const bool exists = k_block < k_blocks;
#pragma unroll
        for (u32 i = 0; i < kCount; ++i) {
            values[i] = exists ? *Scale::address(base_, ld_, places_[i], k_block) : 0.0f;
        }
    }

    // Of a gated product the problem's matrix has the rows of acc0 and acc1 side by side,
    // or one half after the other.
    JG_DEVICE u32 row_in_matrix(u32 row) const
    {
        if constexpr (Operand::kGateRows == 0) {
            return min_u32(row, rows_ - 1);
        } else {
            const u32 own = min_u32(Operand::row_of_half(row), rows_ / 2 - 1);
            const u32 half = Operand::half(row);
            return kGateHalves ? half * (rows_ / 2) + own : 2 * own + half;
        }
    }

    const f32 *base_;
    i64 ld_;
    u32 rows_;
    u32 places_[kCount];
    f32 next_[kAhead ? kCount : 1], values_[kCount];
};

// A matrix without: a factor of 1, which nobody multiplies by.
template <class Operand, bool kGateHalves, u32 kCount, bool kAhead>
class ScalesAt<NoBlockScale, Operand, kGateHalves, kCount, kAhead> {
  public:
    JG_DEVICE ScalesAt(const MatrixParam &, u32, u32) {}
    JG_DEVICE void locate(u32, u32) {}
    JG_DEVICE void begin(u32, u32) {}
    JG_DEVICE void take(u32, u32) {}
    JG_DEVICE f32 value(u32) const
    {
        return 1.0f;
    }
};

// Of a thread that holds kRowCount rows of kColumns columns (of all its lanes).
template <class Config, u32 kRowCount, u32 kColumns, bool = promotes_block_scales<Config>()>
class BlockScales {
    using A = typename Config::ABlockScale;
    using B = typename Config::BBlockScale;
    static constexpr bool kHasA = A::kBlockMn > 0;
    static constexpr bool kHasB = B::kBlockMn > 0;

    // Columns that have one scale of B: they begin at multiples of it.
    static constexpr JG_DEVICE u32 count_run()
    {
        if (B::kBlockMn == 1) {
            return 1;
        }
        const u32 gate = InputB<Config>::kGateRows;
        const u32 most = Config::kGated ? 64 : 128;
        const u32 bits = kColumns | most | gate;
        return bits & (~bits + 1);
    }
    static constexpr u32 kRun = count_run();
    static constexpr u32 kBCount = kRun == 1 ? kColumns / 4 : kColumns / kRun;

  public:
    // `rows(i)`: of the tile, those of the thread; `column`: the first of its lanes'
    // columns in the tile; `lane_column`: this lane's first, counted from that.
    template <class Params, class ShapeT, class Rows>
    JG_DEVICE BlockScales(const Params &params, const ShapeT &shape, const WorkItem &item,
                          Rows rows, u32 column, u32 lane_column)
        : a_(params.a_scale, item.batch, shape.m), b_(params.b_scale, item.batch, shape.n),
          k_block_(item.k_first / Config::kBlockK),
          k_blocks_(ceil_div(shape.k, Config::kBlockK))
    {
#pragma unroll
        for (u32 i = 0; i < kRowCount; ++i) {
            a_.locate(i, item.row + rows(i));
        }
#pragma unroll
        for (u32 i = 0; i < kBCount; ++i) {
            const u32 own = kRun == 1 ? i / 2 * 8 + lane_column + i % 2 : i * kRun;
            b_.locate(i, item.col + column + own);
        }
        a_.begin(k_block_, k_blocks_);
        b_.begin(k_block_, k_blocks_);
    }

    // Goes on to the next block of K, at first to the item's first. While its products are
    // added up, scales are on their way.
    JG_DEVICE void advance()
    {
        a_.take(k_block_, k_blocks_);
        b_.take(k_block_, k_blocks_);
        ++k_block_;
    }

    // Adds part `part` of a row to `sum`; `row`: which of the thread's. `j`: which of the
    // thread's values of that row, two of each group of eight columns.
    JG_DEVICE f32 add(f32 part, f32 sum, u32 row, u32 j) const
    {
        const u32 at = kRun == 1 ? j : j / 2 * 8 / kRun;
        if constexpr (kHasA && kHasB) {
            return __fmaf_rn(part, __fmul_rn(a_.value(row), b_.value(at)), sum);
        } else {
            return __fmaf_rn(part, kHasA ? a_.value(row) : b_.value(at), sum);
        }
    }

  private:
    ScalesAt<A, InputA<Config>, Config::kGateHalves, kRowCount, true> a_;
    ScalesAt<B, InputB<Config>, Config::kGateHalves, kBCount, (kRun > 1)> b_;
    u32 k_block_, k_blocks_;
};

// Of a kernel without.
template <class Config, u32 kRowCount, u32 kColumns>
class BlockScales<Config, kRowCount, kColumns, false> {
  public:
    template <class Params, class ShapeT, class Rows>
    JG_DEVICE BlockScales(const Params &, const ShapeT &, const WorkItem &, Rows, u32, u32)
    {
    }
};

} // namespace jg
