// SPDX-License-Identifier: MIT
// ScaleColumn: copies the f32 scales of blocks of one matrix to a slot of block_scales.cuh,
// one by one: those of a tile's rows, or columns, and of one block of K. Called by whole
// warps.
#pragma once
#include <jg/common/block_scale.cuh>
#include <jg/common/kernel_params.cuh>
#include <jg/common/math.cuh>
#include <jg/ptx/copy_async.cuh>
#include <jg/ptx/shared.cuh>

namespace jg {

// Where in the problem's matrix of `rows` the scales of row `row` of the product are, the
// last ones of rows beyond. Of a gated product the matrix has the rows of acc0 and acc1
// side by side, or one half after the other.
template <class Operand, bool kGateHalves>
JG_DEVICE u32 row_of_scales(u32 row, u32 rows)
{
    if constexpr (Operand::kGateRows == 0) {
        return min_u32(row, rows - 1);
    } else {
        const u32 own = min_u32(Operand::row_of_half(row), rows / 2 - 1);
        const u32 half = Operand::half(row);
        return kGateHalves ? half * (rows / 2) + own : 2 * own + half;
    }
}

// In which order the scales of a tile stand in a slot: as they come; or, where each row or
// column has one, so that a thread reads all it needs of sixteen at once: a row and the
// eighth behind it, or two neighbours in each eight columns (block_scales.cuh).
enum class ScaleOrder : u32 { kPlain, kRows, kColumns };

// Where that of row or column `i` stands.
template <ScaleOrder kOrder>
JG_DEVICE u32 place_of_scale(u32 i)
{
    return kOrder == ScaleOrder::kRows ? (i & ~15u) | (i & 7) << 1 | (i >> 3 & 1)
           : kOrder == ScaleOrder::kColumns
               ? (i & ~15u) | (i & 6) << 1 | (i >> 2 & 2) | (i & 1)
               : i;
}

// Of one matrix: the places of a lane, every 32nd of the slot's. They lie at one distance
// in memory, so that one address serves all: addresses of each were spilled beside 256
// rows. Rows of both accumulators of a gated product have an address each.
// kUnrolls: few places, by a warp that has registers for it.
template <class Scale, class Operand, bool kGateHalves, u32 kRun, u32 kCount,
          ScaleOrder kOrder, bool kUnrolls>
class ScaleColumn {
    enum : u32 { kOwn = (kCount + 31) / 32 };
    enum : bool { kEvenly = Operand::kGateRows == 0 };
    // Multiples of a distance that is no constant would be kept, too.
    enum : u32 { kUnrolled = Scale::kRowsAreNeighbours || !kEvenly || kUnrolls ? kOwn : 1 };
    static_assert(32 * kRun % Scale::kBlockMn == 0 || kOwn == 1,
                  "a whole number of blocks");

  public:
    // `rows`: of all the product's matrix has; `row`, `k`: the first of an item.
    JG_DEVICE void begin(const MatrixParam &param, u32 rows, u32 row, u32 k, u32 batch)
    {
        const f32 *base = param.base<const f32>(batch);
        step_ = Scale::address(base, param.ld, 0, 1) - base;
        distance_ = Scale::address(base, param.ld, 32 * kRun / Scale::kBlockMn, 0) - base;
        const u32 first = row + place(0) * kRun;
        left_ = rows - min_u32(first, rows);
#pragma unroll
        for (u32 i = 0; i < (kEvenly ? 1 : kOwn); ++i) {
            const u32 own =
                row_of_scales<Operand, kGateHalves>(row + place(i) * kRun, rows);
            sources_[i] =
                Scale::address(base, param.ld, own / Scale::kBlockMn, k / Scale::kBlockK);
        }
    }
    // Goes on to the next block; of those that are at one distance.
    JG_DEVICE void skip()
    {
        static_assert(kEvenly, "for one address");
        sources_[0] += step_;
    }
    // Copies those of a block, zeros where K or the matrix has none, and goes on to the
    // next.
    JG_DEVICE void copy(f32 *target, bool exists)
    {
        const f32 *source = sources_[0];
#pragma unroll kUnrolled
        for (u32 i = 0; i < kOwn; ++i) {
            const bool has_row = !kEvenly || 32 * i * kRun < left_;
            if (kCount % 32 == 0 || place(i) < kCount) {
                const u32 own = place_of_scale<kOrder>(place(i));
                ptx::copy_async<4>(ptx::shared_address(target + own),
                                   reinterpret_cast<u64>(kEvenly ? source : sources_[i]),
                                   exists && has_row ? 4 : 0);
            }
            if (kEvenly) {
                source += distance_;
            } else {
                sources_[i] += step_;
            }
        }
        if (kEvenly) {
            sources_[0] += step_;
        }
    }

  private:
    static JG_DEVICE u32 place(u32 i)
    {
        return 32 * i + threadIdx.x % 32;
    }

    const f32 *sources_[kEvenly ? 1 : kOwn];
    i64 step_, distance_;
    u32 left_; // rows of the matrix from the lane's first on
};
template <class Operand, bool kGateHalves, u32 kRun, u32 kCount, ScaleOrder kOrder,
          bool kUnrolls>
class ScaleColumn<NoBlockScale, Operand, kGateHalves, kRun, kCount, kOrder, kUnrolls> {
  public:
    JG_DEVICE void begin(const MatrixParam &, u32, u32, u32, u32) {}
    JG_DEVICE void skip() {}
    JG_DEVICE void copy(f32 *, bool) {}
};

} // namespace jg
