// SPDX-License-Identifier: MIT
// BlockScales: the f32 scales of blocks of A and of B, by which sums of a block of K are
// multiplied when they leave the tensor core.
//
// For each block of K an accumulator becomes
//
//   sum = fma(part, a_scale * b_scale, sum)
//
// both rounded to f32, in the order of K. Scales of rows that M or N lacks are 0 or those
// of the last; a block beyond the end of K has the scale 0. None reaches an element of D.
//
// A warp of its own copies a block's scales to shared memory, some blocks ahead, into a
// ring beside that of the input tiles: whatever their layout and address, and without a
// register of those who use them. Where one cannot keep up there are several, each with
// slots of its own: a slot is always filled by the same warp, which so is never more than
// a round ahead of those who read it.
//
// A unit includes this where sums are promoted so; all others have what scale_slots.cuh
// has.
//
//   ScaleSlot     what a block of a tile has, the payload of a stage (scale_ring.cuh)
//   ScaleFiller   copies them; called by one whole warp
//   BlockScales   those of a thread's accumulators; called by whole warps that hold a slot
#pragma once
#include <jg/common/block_scale.cuh>
#include <jg/common/math.cuh>
#include <jg/ptx/arithmetic.cuh>
#include <jg/ptx/copy_async.cuh>
#include <jg/schedule/work_item.cuh>
#include <jg/tile/input_operand.cuh>
#include <jg/tile/scale_columns.cuh>
#include <jg/tile/scale_ring.cuh>

namespace jg {

// All of a role that brings scales and does nothing else.
template <class Filler, class Work>
JG_DEVICE void fill_slots(Filler &&role, Work &work)
{
    while (work.has_work()) {
        const auto item = work.next();
        role.begin(item);
#pragma unroll 1
        for (u32 k = 0; k < item.k_blocks; ++k) {
            role.fill();
        }
    }
}

// Along K: where the scales of an item begin, and the element behind its last, of a matrix
// that has `k`.
template <class Config>
JG_DEVICE u32 first_scaled(const WorkItem &item)
{
    return Config::kGroupBy == GroupBy::kKOffsets
               ? GroupScales<Config>::begin(item.k_first, item.batch)
               : item.k_first;
}
template <class Config>
JG_DEVICE u32 end_of_scaled(const WorkItem &item, u32 k)
{
    return Config::kGroupBy == GroupBy::kKOffsets ? item.k_end : k;
}

// Of rows that an index names: indexed_scales.cuh.
template <class Scale, u32 kCount, ScaleOrder kOrder, bool kKeeps>
class IndexedScaleColumn;

template <class Config, class Ring, bool>
class ScaleFiller {
    using Slot = ScaleSlot<Config>;
    enum : u32 { kWarps = copying_warps<Config>() };
    static_assert(kWarps <= 1 || Config::kScaleSlots % kWarps == 0,
                  "each slot is one warp's");
    enum : bool {
        kHalves = Config::kGateHalves,
        kUnrolls = kWarps > 1 && Slot::kACount + Slot::kBCount <= 128,
        kIndexedA = Config::kIndexedA && Slot::kACount > 0,
        kIndexedB = Config::kIndexedB && Slot::kBCount > 0,
    };
    template <bool kIndexed, class Scale, class Operand, u32 kRun, u32 kCount,
              ScaleOrder kOrder>
    using Column = typename Select<
        kIndexed, IndexedScaleColumn<Scale, kCount, kOrder, Config::kThreadLoads>,
        ScaleColumn<Scale, Operand, kHalves, kRun, kCount, kOrder, kUnrolls>>::Type;
    // Those that other warps bring (row_scales.cuh) are not copied.
    using CopiedA =
        typename Select<(Config::kARowWarps > 0), NoBlockScale, typename Slot::A>::Type;
    using CopiedB =
        typename Select<(Config::kBRowWarps > 0), NoBlockScale, typename Slot::B>::Type;

  public:
    // `warp`: among those that copy.
    template <class Params, class ShapeT>
    JG_DEVICE ScaleFiller(const Params &params, const ShapeT &shape,
                          ScaleSlots<Config> &slots, const typename Ring::Producer &ring,
                          u32 warp = 0)
        : a_param_(params.a_scale), b_param_(params.b_scale), index_(params.a_rows),
          index_count_(params.a_row_count), m_(shape.m), n_(shape.n), k_(shape.k),
          warp_(warp), ring_(ring), slots_(slots)
    {
    }

    // Before an item's first block.
    JG_DEVICE void begin(const WorkItem &item)
    {
        const u32 k = first_scaled<Config>(item);
        at_ = item.k_first;
        end_ = end_of_scaled<Config>(item, k_);
        begin_column<kIndexedA>(a_, a_param_, m_, item.row, k, item);
        begin_column<kIndexedB>(b_, b_param_, n_, item.col, k, item);
    }

    // Blocks until a slot is empty, and copies those of the item's next block to it.
    // Readers have it when they are there. Passes a slot that is another warp's.
    JG_DEVICE void fill()
    {
        if constexpr (kWarps > 1) {
            if (ring_.next() % kWarps != warp_) {
                ring_.pass();
                a_.skip();
                b_.skip();
                at_ += Config::kBlockK;
                return;
            }
        }
        const ProducerStage stage = ring_.acquire_empty();
        Slot &slot = slots_.slot[stage.index];
        a_.copy(slot.a(), at_ < end_);
        b_.copy(slot.b(), at_ < end_);
        at_ += Config::kBlockK;
        ptx::copy_async_arrive(stage.full);
    }

  private:
    template <bool kIndexed, class ColumnT>
    JG_DEVICE void begin_column(ColumnT &column, const MatrixParam &param, u32 rows,
                                u32 row, u32 k, const WorkItem &item) const
    {
        if constexpr (kIndexed) {
            if (item.k_blocks > 0) {
                column.begin(param, index_.base<const i32>(item.batch), index_count_, row,
                             Config::kGroups > 0 ? item.group_end : rows, k);
            }
        } else {
            column.begin(param, rows, row, k, item.batch);
        }
    }

    const MatrixParam &a_param_;
    const MatrixParam &b_param_;
    const MatrixParam &index_;
    const u32 &index_count_; // rows of A that it may name
    u32 m_, n_, k_;
    u32 warp_;
    u32 at_ = 0, end_ = 0; // elements of K
    Column<kIndexedA, CopiedA, InputA<Config>, Slot::kARun, Slot::kACount, Slot::kAOrder>
        a_;
    Column<kIndexedB, CopiedB, InputB<Config>, Slot::kBRun, Slot::kBCount, Slot::kBOrder>
        b_;
    typename Ring::Producer ring_;
    ScaleSlots<Config> &slots_;
};
// Of a thread that holds kRowCount rows of kColumns columns (of all its lanes): in groups
// of eight columns it has two of each, 2 * (lane % 4) and the next. kHolds: scales that
// columns have of their own are read at once, one for each four of kColumns.
template <class Config, u32 kRowCount, u32 kColumns, bool kHolds>
class BlockScales {
    using Slot = ScaleSlot<Config>;
    enum : bool {
        kHasA = Slot::kACount > 0,
        kHasB = Slot::kBCount > 0,
        kByColumns = Slot::kByColumns,
        kReadsSixteens = Slot::kBOrder == ScaleOrder::kColumns,
    };
    static_assert(!kReadsSixteens || kColumns % 16 == 0, "whole reads");
    // Columns that have one scale: of the thread's, they begin at multiples of it.
    static constexpr JG_DEVICE u32 count_run()
    {
        const u32 bits = kColumns | (Config::kGated ? 64 : 128) | InputB<Config>::kGateRows;
        return bits & (~bits + 1);
    }
    enum : u32 {
        kRun = count_run(),
        kRuns = kByColumns || !kHasB ? 1 : kColumns / kRun,
    };
    enum : bool {
        kIsProduct = kHasA && kHasB && !kByColumns && kRuns == 1,
        kHeld = kByColumns && kHolds,
    };
    enum : u32 { kHeldCount = kHeld ? kColumns / 4 : 1 };
    // Products of the columns' scales and the one that all rows have.
    enum : bool { kHeldAreProducts = kHeld && kHasA && Slot::kARun > 1 };

  public:
    // Are they all in registers, so that the slot can go back?
    enum : bool {
        kOwned = !kByColumns || kHeld,
        // And few enough for those of two blocks?
        kFew = !kByColumns,
    };

    JG_DEVICE BlockScales() {} // none yet

    // `rows`: of the tile, those of the thread, the first and, by a multiple of 8 each, how
    // much further row `i` is; `column`: of the tile, the first of its lanes' columns.
    template <class Rows>
    JG_DEVICE BlockScales(const Slot &slot, Rows rows, u32 column)
        : columns_(slot.b() + column + threadIdx.x % 4 * (kReadsSixteens ? 4 : 2))
    {
        const f32 *a = slot.a() + place_of_scale<Slot::kAOrder>(rows.first()) / Slot::kARun;
#pragma unroll
        for (u32 i = 0; kHasA && i < kRowCount; ++i) {
            a_[i] = a[place_of_scale<Slot::kAOrder>(Rows::step(i)) / Slot::kARun];
        }
#pragma unroll
        for (u32 i = 0; kHasB && !kByColumns && i < kRuns; ++i) {
            b_[i] = slot.b()[(column + i * kRun) / Slot::kBRun];
        }
#pragma unroll
        for (u32 i = 0; kHeld && i < kHeldCount; ++i) {
            held_[i] = columns_[place(i / 2, i % 2)];
        }
    }

    // Where in a slot those of such a thread begin, in bytes, where columns have scales of
    // their own. It is one for all slots, and held, because the compiler would compute it
    // anew for each of them, between the wait and the reads.
    struct Place {
        u32 rows, columns;
    };
    template <class Rows>
    static JG_DEVICE Place place_of(Rows rows, u32 column)
    {
        static_assert(kHeld && Slot::kACount % (kReadsSixteens ? 4 : 2) == 0,
                      "whole words");
        const u32 own = column + threadIdx.x % 4 * (kReadsSixteens ? 4 : 2);
        Place begin = {place_of_scale<Slot::kAOrder>(rows.first()) / Slot::kARun *
                           u32(sizeof(f32)),
                       (Slot::kACount + own) * u32(sizeof(f32))};
        ptx::hold(begin.rows);
        ptx::hold(begin.columns);
        return begin;
    }
    template <class Rows>
    JG_DEVICE BlockScales(const Slot &slot, Rows, const Place &place) : columns_(nullptr)
    {
        const u8 *bytes = reinterpret_cast<const u8 *>(slot.scales);
        const f32 *a = reinterpret_cast<const f32 *>(bytes + place.rows);
        const f32 *b = reinterpret_cast<const f32 *>(bytes + place.columns);
#pragma unroll
        for (u32 i = 0; kHasA && i < kRowCount; ++i) {
            a_[i] = a[place_of_scale<Slot::kAOrder>(Rows::step(i)) / Slot::kARun];
        }
        // Whole words, which the compiler does not know to be aligned.
        enum : u32 { kWords = kReadsSixteens ? 2 : 1 };
#pragma unroll
        for (u32 i = 0; i < kHeldCount / 2; i += kWords) {
            if constexpr (kReadsSixteens) {
                const float4 four =
                    *reinterpret_cast<const float4 *>(b + BlockScales::place(i, 0));
                held_[2 * i] = four.x;
                held_[2 * i + 1] = four.y;
                held_[2 * i + 2] = four.z;
                held_[2 * i + 3] = four.w;
            } else {
                const float2 pair =
                    *reinterpret_cast<const float2 *>(b + BlockScales::place(i, 0));
                held_[2 * i] = pair.x;
                held_[2 * i + 1] = pair.y;
            }
        }
    }

    // The same, as add_group takes them: products, where all columns or all rows have one
    // scale, which take fewer registers. Not done when they are read, because it waits for
    // them.
    JG_DEVICE BlockScales multiplied() const
    {
        BlockScales products = *this;
        if constexpr (kHeldAreProducts) {
#pragma unroll
            for (u32 i = 0; i < kHeldCount; ++i) {
                products.held_[i] = a_[0] * held_[i];
            }
        } else if constexpr (kIsProduct) {
#pragma unroll
            for (u32 i = 0; i < kRowCount; ++i) {
                products.a_[i] = a_[i] * b_[0];
            }
        }
        return products;
    }

    // The same, and all products of rows and columns where both have scales of their own.
    struct Factors {
        ptx::Pair of[kRowCount][kHeldCount / 2];

        template <u32 kRows>
        JG_DEVICE void add_group(const f32 *(&parts)[kRows], f32 *(&sums)[kRows], u32 row,
                                 u32 group) const
        {
#pragma unroll
            for (u32 i = 0; i < 2 * kRows; ++i) {
                add_pair(parts[i / 2] + i % 2 * 2, of[row + i][group],
                         sums[i / 2] + i % 2 * 2);
            }
        }
    };
    JG_DEVICE auto factors() const
    {
        if constexpr (kHeld && kHasA && !kHeldAreProducts) {
            Factors factors;
#pragma unroll
            for (u32 group = 0; group < kHeldCount / 2; ++group) {
#pragma unroll
                for (u32 row = 0; row < kRowCount; ++row) {
                    factors.of[row][group] =
                        factor_of(a_[row], held_[2 * group], held_[2 * group + 1]);
                    if constexpr (kColumns == 128) { // or reads come first, and moves
                        ptx::hold(factors.of[row][group].left);
                        ptx::hold(factors.of[row][group].right);
                    }
                }
            }
            return factors;
        } else {
            return multiplied();
        }
    }

    // Adds a group of 8 columns of rows `row` on of the thread, two for each of `parts`, to
    // `sums`: two columns of each row.
    template <u32 kRows>
    JG_DEVICE void add_group(const f32 *(&parts)[kRows], f32 *(&sums)[kRows], u32 row,
                             u32 group) const
    {
        const f32 left = column_scale(group, 0), right = column_scale(group, 1);
#pragma unroll
        for (u32 i = 0; i < kRows; ++i) {
#pragma unroll
            for (u32 half = 0; half < 2; ++half) {
                const ptx::Pair factor =
                    factor_of(a_[kHasA ? row + 2 * i + half : 0], left, right);
                add_pair(parts[i] + 2 * half, factor, sums[i] + 2 * half);
            }
        }
    }

  private:
    static JG_DEVICE void add_pair(const f32 *part, ptx::Pair factor, f32 *sum)
    {
        const ptx::Pair added =
            ptx::fma_pairs({part[0], part[1]}, factor, {sum[0], sum[1]});
        sum[0] = added.left;
        sum[1] = added.right;
    }
    // Of a row whose scale is `a`, and two columns.
    static JG_DEVICE ptx::Pair factor_of(f32 a, f32 left, f32 right)
    {
        if constexpr (kHeldAreProducts) {
            return {left, right};
        } else if constexpr (kHasA && kByColumns) {
            return ptx::multiply_pairs({a, a}, {left, right});
        } else if constexpr (kHasA) { // the columns have one scale: a product for both
            const f32 both = kHasB && !kIsProduct ? a * left : a;
            return {both, both};
        } else {
            return {left, right};
        }
    }
    // Behind the thread's first, where that of its column `i` of a group is.
    static constexpr JG_DEVICE u32 place(u32 group, u32 i)
    {
        return kReadsSixteens ? group / 2 * 16 + group % 2 * 2 + i : group * 8 + i;
    }
    JG_DEVICE f32 column_scale(u32 group, u32 i) const
    {
        if constexpr (kHeld) {
            return held_[2 * group + i];
        } else if constexpr (kByColumns) {
            return columns_[place(group, i)];
        } else {
            return b_[kHasB ? group * 8 / kRun : 0];
        }
    }

    const f32 *columns_;
    f32 held_[kHeldCount];
    f32 a_[kHasA ? kRowCount : 1], b_[kRuns];
};

} // namespace jg
