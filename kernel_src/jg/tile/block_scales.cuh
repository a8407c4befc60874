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
// Scales are read from global memory by the threads that use them, one block of K ahead, so
// that the tensor core hides their way. Called by: whole warps, of the threads that hold
// the accumulators; waits for nothing.
#pragma once
#include <jg/common/block_scale.cuh>
#include <jg/common/math.cuh>
#include <jg/schedule/work_item.cuh>
#include <jg/tile/input_operand.cuh>

namespace jg {

// Scales of one matrix at kCount places of a thread: rows of the product's A or B. They are
// asked for one block of K before they are taken.
template <class Scale, class Operand, bool kGateHalves, u32 kCount>
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
    // Asks for a block's, if it is one of K's: beyond the end there are none in memory.
    JG_DEVICE void ask(u32 k_block, u32 k_blocks)
    {
        const bool exists = k_block < k_blocks;
#pragma unroll
        for (u32 i = 0; i < kCount; ++i) {
            next_[i] = exists ? *Scale::address(base_, ld_, places_[i], k_block) : 0.0f;
        }
    }
    // What was asked for are the values from now on.
    JG_DEVICE void take()
    {
#pragma unroll
        for (u32 i = 0; i < kCount; ++i) {
            values_[i] = next_[i];
        }
    }
    JG_DEVICE f32 value(u32 i) const
    {
        return values_[i];
    }

  private:
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
    f32 next_[kCount], values_[kCount];
};

// A matrix without: a factor of 1, which nobody multiplies by.
template <class Operand, bool kGateHalves, u32 kCount>
class ScalesAt<NoBlockScale, Operand, kGateHalves, kCount> {
  public:
    JG_DEVICE ScalesAt(const MatrixParam &, u32, u32) {}
    JG_DEVICE void locate(u32, u32) {}
    JG_DEVICE void ask(u32, u32) {}
    JG_DEVICE void take() {}
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
    // Where each column has its own, a lane asks for every 32nd, and its warp shares them.
    static constexpr bool kShared = kRun == 1;
    static constexpr u32 kBCount = kShared ? (kColumns + 31) / 32 : kColumns / kRun;

  public:
    // `rows(i)`: of the tile, those of the thread; `column`: of the tile, the first of its
    // lanes' columns. A lane has columns 2 * (lane % 4) and the next of each group of 8.
    template <class Params, class ShapeT, class Rows>
    JG_DEVICE BlockScales(const Params &params, const ShapeT &shape, const WorkItem &item,
                          Rows rows, u32 column)
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
            b_.locate(i,
                      item.col + column + (kShared ? 32 * i + threadIdx.x % 32 : kRun * i));
        }
        ask();
    }

    // Goes on to the next block of K, at first to the item's first. While its products are
    // added up, the next scales are on their way.
    JG_DEVICE void advance()
    {
        a_.take();
        b_.take();
        ++k_block_;
        ask();
    }

    // Adds a group of 8 columns of two rows, `row` and the next of the thread's: `part` to
    // `sums`, two columns of each. Whole warps.
    template <u32 kRows>
    JG_DEVICE void add_group(const f32 *(&parts)[kRows], f32 *(&sums)[kRows], u32 row,
                             u32 group) const
    {
        const f32 left = column_scale(group, 0), right = column_scale(group, 1);
#pragma unroll
        for (u32 i = 0; i < kRows; ++i) {
#pragma unroll
            for (u32 half = 0; half < 2; ++half) {
                const f32 a = a_.value(row + 2 * i + half);
                f32 *sum = sums[i] + 2 * half;
                const f32 *part = parts[i] + 2 * half;
                sum[0] = add(part[0], sum[0], a, left);
                sum[1] = add(part[1], sum[1], a, right);
            }
        }
    }

  private:
    JG_DEVICE void ask()
    {
        a_.ask(k_block_, k_blocks_);
        b_.ask(k_block_, k_blocks_);
    }
    static JG_DEVICE f32 add(f32 part, f32 sum, f32 a, f32 b)
    {
        return ::fmaf(part, kHasA && kHasB ? a * b : kHasA ? a : b, sum);
    }
    // Of column `i` of this lane's two of a group.
    JG_DEVICE f32 column_scale(u32 group, u32 i) const
    {
        if constexpr (kShared) {
            return __shfl_sync(0xffffffffu, b_.value(group / 4),
                               static_cast<int>(group % 4 * 8 + threadIdx.x % 4 * 2 + i));
        } else {
            return b_.value(group * 8 / kRun);
        }
    }

    ScalesAt<A, InputA<Config>, Config::kGateHalves, kRowCount> a_;
    ScalesAt<B, InputB<Config>, Config::kGateHalves, kBCount> b_;
    u32 k_block_, k_blocks_;
};

// Of a kernel without.
template <class Config, u32 kRowCount, u32 kColumns>
class BlockScales<Config, kRowCount, kColumns, false> {
  public:
    template <class Params, class ShapeT, class Rows>
    JG_DEVICE BlockScales(const Params &, const ShapeT &, const WorkItem &, Rows, u32)
    {
    }
};

} // namespace jg
