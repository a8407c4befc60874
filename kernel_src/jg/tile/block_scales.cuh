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
//   ScaleSlot     what a block of a tile has, the payload of a stage
//   ScaleFiller   copies them; called by one whole warp
//   BlockScales   those of a thread's accumulators; called by whole warps that hold a slot
#pragma once
#include <jg/common/block_scale.cuh>
#include <jg/common/cluster_shape.cuh>
#include <jg/common/math.cuh>
#include <jg/pipeline/input_ring_buffer.cuh>
#include <jg/ptx/arithmetic.cuh>
#include <jg/ptx/copy_async.cuh>
#include <jg/schedule/work_item.cuh>
#include <jg/tile/input_operand.cuh>
#include <jg/tile/scale_columns.cuh>
#include <jg/tile/scale_slots.cuh>

namespace jg {

// Scales of a tile's rows and columns, and of one block of K: of each, or of eight that
// have one. The host's size of it (lib/plan/smem.c) is part of Config::kSmemBytes, which
// the kernel asserts.
template <class Config>
struct ScaleSlot {
    using A = typename Config::ABlockScale;
    using B = typename Config::BBlockScale;
    enum : u32 {
        kARun = A::kBlockMn > 1 ? 8 : 1,
        kBRun = B::kBlockMn > 1 ? 8 : 1,
        kACount = A::kBlockMn > 0 ? Config::kBlockM / kARun : 0,
        kBCount = B::kBlockMn > 0 ? Config::kBlockN / kBRun : 0,
    };

    // Are they in the order in which threads read them? On an H200 256x48 took 0.94 of the
    // time so, 128x96 by rows 0.98, 64x64 to 64x160 0.98 to 1.00, but 64x32 1.02, 128x128
    // and 256x128 1.01 to 1.05, 128x160 1.10. Of 64 rows of a multiplication two teams may
    // have half of the columns each, which are sixteens then, too.
    enum : bool {
        kByColumns = kBCount > 0 && kBRun == 1,
        kHasSixteens =
            kBCount % 32 == 0 ||
            (kBCount % 16 == 0 && Config::kBlockM > (Config::kGateInA ? 128 : 64)),
        kInOrder = kByColumns && kHasSixteens && 48 <= kBCount && kBCount <= 112,
    };
    static constexpr ScaleOrder kAOrder =
        kInOrder && kARun == 1 ? ScaleOrder::kRows : ScaleOrder::kPlain;
    static constexpr ScaleOrder kBOrder =
        kInOrder ? ScaleOrder::kColumns : ScaleOrder::kPlain;
    static_assert(!kInOrder || kACount % 8 == 0, "whole reads");

    alignas(kInOrder ? 16 : 4) f32 scales[kACount + kBCount]; // A's first

    JG_DEVICE f32 *a()
    {
        return scales;
    }
    JG_DEVICE f32 *b()
    {
        return scales + kACount;
    }
    JG_DEVICE const f32 *a() const
    {
        return scales;
    }
    JG_DEVICE const f32 *b() const
    {
        return scales + kACount;
    }
};

// The ring: as many slots as have room, two at least. `kReaders`: warps that read them.
template <u32 kReaders>
struct ScaleSignals {
    using Cluster = ClusterShape<1, 1>;
    static constexpr debug::Ring kRing = debug::Ring::kScales;
    enum : u32 { kReleases = kReaders };

    JG_DEVICE explicit ScaleSignals(const Cluster &) {}

    // By whole warps, whose reads are over.
    JG_DEVICE void release(u64 *empty) const
    {
        __syncwarp();
        if (threadIdx.x % 32 == 0) {
            ptx::mbarrier_arrive(empty);
        }
    }
};

template <class Config, bool>
struct ScaleSlots {
    enum : u32 { kCount = Config::kScaleSlots };
    RingBarriers<kCount> ring;
    ScaleSlot<Config> slot[kCount];
};
template <class Config, u32 kReaders, bool>
class ScaleRing {
    enum : u32 { // of a slot: lanes of the warp that copies, and warps of rows
        kFillers = (copies_scales<Config>() ? 32 : 0) + row_scale_warps<Config>()
    };
    using Ring = InputRingBuffer<Config::kScaleSlots, sizeof(ScaleSlot<Config>),
                                 ScaleSignals<kReaders>, kFillers>;

  public:
    using Producer = typename Ring::Producer;
    using Consumer = typename Ring::Consumer;

    static JG_DEVICE void init_barriers(ScaleSlots<Config> &slots)
    {
        Ring::init_barriers(slots.ring);
    }
    static JG_DEVICE Producer producer(ScaleSlots<Config> &slots)
    {
        return Ring(slots.ring, ClusterShape<1, 1>(0)).producer();
    }
    static JG_DEVICE Consumer consumer(ScaleSlots<Config> &slots)
    {
        return Ring(slots.ring, ClusterShape<1, 1>(0)).consumer();
    }
};

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
                          ScaleSlots<Config> &slots, u32 warp = 0)
        : a_param_(params.a_scale), b_param_(params.b_scale), index_(params.a_rows),
          index_count_(params.a_row_count), m_(shape.m), n_(shape.n), k_(shape.k),
          warp_(warp), ring_(Ring::producer(slots)), slots_(slots)
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
                f32 *sum = sums[i] + 2 * half;
                const f32 *part = parts[i] + 2 * half;
                const ptx::Pair added =
                    ptx::fma_pairs({part[0], part[1]}, factor, {sum[0], sum[1]});
                sum[0] = added.left;
                sum[1] = added.right;
            }
        }
    }

  private:
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
