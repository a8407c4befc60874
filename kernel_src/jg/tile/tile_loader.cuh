// SPDX-License-Identifier: MIT
// TileLoader: one stage of A and B from global to shared memory by TMA.
//
// Called by one thread of the load warp; where an index names rows of an operand, which
// RowLoader brings (row_loader.cuh), it brings the other. Each CTA loads its slice of a
// shared tile and multicasts it to the CTAs that share it. A CTA of a pair holds its own
// rows of A and its half of the columns of B; its bytes count in the pair's leader CTA. How
// a tile lies in shared memory is its operand's (input_operand.cuh).
//
// prefetch brings an operand's slices to L2 and no further. That is right at any time, also
// before the grids that write the operand have ended: all reads and writes of the device
// meet in L2, so what is written later is what a copy finds there. Only memory traffic is
// lost when the prefetched lines change.
//
// Groups along K end within a block, and what follows is the next group's, of A and of B. A
// NaN there times a zero of the other would be NaN. So such a block comes in boxes of a few
// rows of K: the group's own, and for the rest ones beyond the matrix, which are zeros.
// They fill the same bytes in the same order: the swizzle follows addresses. Where the
// tensor core multiplies by scales and a matrix is K-major, groups end where an instruction
// of the tensor core does, and those behind are not issued: blocks come whole.
//
// With groups by pointers each group has maps of its own in the workspace, which the kernel
// before this one has written (pack/group_maps_kernel.cuh): they end where its rows do, its
// columns and its K, and what lies beyond comes as zeros. The thread that loads acquires
// them when it comes to the group's first tile; nobody changes them while this grid runs.
#pragma once
#include <jg/common/choices.cuh>
#include <jg/common/cluster_shape.cuh>
#include <jg/common/group_matrix.cuh>
#include <jg/common/kernel_params.cuh>
#include <jg/ptx/tensor_map.cuh>
#include <jg/ptx/tma.cuh>
#include <jg/schedule/work_item.cuh>
#include <jg/tile/filled_stage.cuh>
#include <jg/tile/input_operand.cuh>
#include <jg/tile/line_ends.cuh>

namespace jg {

// Where TMA does not take the inputs, and the unit includes thread_loader.cuh.
template <class Config, class ShapeT>
class ThreadLoader;
template <class Config, class ShapeT>
class ShiftedLoader; // shifted_loader.cuh
template <class Config, class Cluster, class ShapeT>
class IndexedLoader; // indexed_loader.cuh
template <class Config, class Cluster, class ShapeT>
class RowLoader; // row_loader.cuh
template <class Config, class Cluster, class ShapeT>
using ThreadLoaderOf =
    typename Select<Config::kIndexedA || Config::kIndexedB,
                    IndexedLoader<Config, Cluster, ShapeT>,
                    typename Select<shifts_lines<Config>(), ShiftedLoader<Config, ShapeT>,
                                    ThreadLoader<Config, ShapeT>>::Type>::Type;

template <class Operand, u32 kSlices, bool kPair, bool kEvictFirst = false>
struct OperandLoader {
    // Loads slice `slice` of the tile whose first row (of M or N) and K are given.
    static JG_DEVICE void load(u8 *tile, const TensorMap *map, u64 *barrier, u16 mask,
                               u32 slice, u32 row, u32 k, u32 batch)
    {
        for_each_box(slice, row, k, [&](u32 offset, auto... at) {
            copy(tile + offset, map, barrier, mask, at..., static_cast<i32>(batch));
        });
    }

    // The same, to this CTA only, without a multicast.
    static JG_DEVICE void load_own(u8 *tile, const TensorMap *map, u64 *barrier, u32 slice,
                                   u32 row, u32 k, u32 batch)
    {
        static_assert(!kPair, "a pair's bytes count in its leader");
        for_each_box(slice, row, k, [&](u32 offset, auto... at) {
            ptx::tma_load(tile + offset, map, barrier, at..., static_cast<i32>(batch));
        });
    }

    // A block of K of which only the first `own` are the group's; the rest is zero. `maps`:
    // of boxes of kRows of K and of one; `beyond`: K where the matrix has ended.
    template <u32 kRows>
    static JG_DEVICE void load_end(u8 *tile, const TensorMap *maps, u64 *barrier, u16 mask,
                                   u32 slice, u32 row, u32 k, u32 batch, u32 own,
                                   u32 beyond)
    {
        static_assert(!Operand::kKMajor && Operand::kSwizzleBytes == 128, "rows of K");
        constexpr u32 kSliceK = Operand::kBlockK / kSlices;
        static_assert(kSliceK % kRows == 0, "rows of a slice");
        const u32 before = min_u32(own, slice * kSliceK);
        const u32 end = min_u32(own - before, kSliceK);
        // A step has the same rows of all boxes.
#pragma unroll 1
        for (u32 at = 0; at < kSliceK;) {
            const bool exists = at < end;
            const bool is_whole = at % kRows == 0 && (!exists || end - at >= kRows);
            const TensorMap *map = is_whole ? &maps[0] : &maps[1];
            for_each_box(
                slice, row, k, [&](u32 offset, i32 inner, i32 outer, auto... half) {
                    copy(tile + offset + at * Operand::kSwizzleBytes, map, barrier, mask,
                         inner,
                         exists ? outer + static_cast<i32>(at) : static_cast<i32>(beyond),
                         half..., static_cast<i32>(batch));
                });
            at += is_whole ? kRows : 1;
        }
    }

    // The same boxes, to L2.
    static JG_DEVICE void prefetch(const TensorMap *map, u32 slice, u32 row, u32 k,
                                   u32 batch)
    {
        for_each_box(slice, row, k, [&](u32, auto... at) {
            ptx::tma_prefetch(map, at..., static_cast<i32>(batch));
        });
    }

  private:
    enum : u32 { kGateRows = Operand::kGateRows };

    // Calls `use` with each box's offset in the tile, in bytes, and its coordinates but the
    // batch. Rows of K-major tiles are the second; where they are of either half of a gated
    // D, the half is the third.
    template <class Use>
    static JG_DEVICE void for_each_box(u32 slice, u32 row, u32 k, Use use)
    {
        if constexpr (Operand::kKMajor) {
            constexpr u32 kSliceRows = Operand::kLoadedRows / kSlices;
            constexpr u32 kBoxRows =
                kGateRows > 0 && kGateRows < kSliceRows ? kGateRows : kSliceRows;
#pragma unroll
            for (u32 box = 0; box < kSliceRows / kBoxRows; ++box) {
                const u32 first = slice * kSliceRows + box * kBoxRows;
                if constexpr (kGateRows > 0) {
                    use(first * 128, static_cast<i32>(k), row_of_half(row + first),
                        half(row + first));
                } else {
                    use(first * 128, static_cast<i32>(k), static_cast<i32>(row + first));
                }
            }
        } else {
            constexpr u32 kSliceK = Operand::kBlockK / kSlices;
#pragma unroll
            for (u32 panel = 0; panel < Operand::kRows / Operand::kPanelRows; ++panel) {
                const u32 first = row + panel * Operand::kPanelRows;
                const u32 offset =
                    panel * Operand::kPanelBytes + slice * kSliceK * Operand::kSwizzleBytes;
                const i32 outer = static_cast<i32>(k + slice * kSliceK);
                if constexpr (kGateRows > 0) {
                    use(offset, row_of_half(first), outer, half(first));
                } else {
                    use(offset, static_cast<i32>(first), outer);
                }
            }
        }
    }

    static JG_DEVICE i32 row_of_half(u32 row)
    {
        return static_cast<i32>(Operand::row_of_half(row));
    }
    static JG_DEVICE i32 half(u32 row)
    {
        return static_cast<i32>(Operand::half(row));
    }

    template <class... Coordinates>
    static JG_DEVICE void copy(u8 *target, const TensorMap *map, u64 *barrier, u16 mask,
                               Coordinates... at)
    {
        constexpr bool kMulticast = kSlices > 1;
        if constexpr (kPair && kMulticast) {
            ptx::tma_load_pair_multicast(target, map, barrier, mask, at...);
        } else if constexpr (kPair) {
            ptx::tma_load_pair(target, map, barrier, at...);
        } else if constexpr (kMulticast && kEvictFirst) {
            ptx::tma_load_multicast_evict_first(target, map, barrier, mask, at...);
        } else if constexpr (kMulticast) {
            ptx::tma_load_multicast(target, map, barrier, mask, at...);
        } else if constexpr (kEvictFirst) {
            ptx::tma_load_evict_first(target, map, barrier, at...);
        } else {
            ptx::tma_load(target, map, barrier, at...);
        }
    }
};

// May the CTAs of a cluster have the same rows in place of columns?
template <class Config>
constexpr JG_DEVICE bool turns_last()
{
    if constexpr (Config::kGroupBy == GroupBy::kOffsets ||
                  Config::kGroupBy == GroupBy::kCounts ||
                  Config::kGroupBy == GroupBy::kPointers) {
        return Config::kTurnsLast;
    } else {
        return false;
    }
}

// Are boxes of a tile of A left out of which a group has no rows?
template <class Config>
constexpr JG_DEVICE bool leaves_slices()
{
    if constexpr (Config::kGroups > 0 && Config::kGroupBy != GroupBy::kRows) {
        return Config::kLeavesSlices;
    } else {
        return false;
    }
}

// Boxes of a tile of A, of which the CTAs of a cluster that lies across a group's rows load
// one each for both.
template <class Config>
constexpr JG_DEVICE u32 turned_slices()
{
    if constexpr (turns_last<Config>()) {
        return Config::kTurnedSlices;
    } else {
        return 1;
    }
}

template <class Config, class Cluster>
class TileLoader {
    enum : bool { kPair = Cluster::kCtaGroup == 2 };
    enum : u32 {
        kBRows = InputB<Config>::kRows,
        // Boxes of a tile's rows of A.
        kRowSlices = turned_slices<Config>() > 1 ? turned_slices<Config>()
                                                 : static_cast<u32>(Cluster::kASlices)
    };
    using LoaderA = OperandLoader<InputA<Config>, Cluster::kASlices, kPair,
                                  Config::kEvictFirst == EvictFirst::kA>;
    using TurnedLoaderA = OperandLoader<InputA<Config>, turned_slices<Config>(), kPair>;
    using LoaderB = OperandLoader<InputB<Config>, Cluster::kBSlices, kPair,
                                  Config::kEvictFirst == EvictFirst::kB>;

  public:
    using ConfigT = Config;

    template <class Params>
    JG_DEVICE TileLoader(const Params &params, const Cluster &cluster)
        : a_map_(maps_of(params.maps[kMapA], params.a)),
          b_map_(maps_of(params.maps[kMapB], params.b)), tail_maps_(params.tail_maps),
          a_batch_step_(params.a.batch_step), b_batch_step_(params.b.batch_step),
          k_(params.k), cluster_(cluster)
    {
    }

    JG_DEVICE void prefetch_maps() const
    {
        if constexpr (!has_group_maps<Config>()) { // those of groups are not there yet
            ptx::prefetch_tensor_map(a_map_);
            ptx::prefetch_tensor_map(b_map_);
        }
    }

    // Before the first load of a group's.
    JG_DEVICE void acquire_maps(u32 group) const
    {
        ptx::acquire_map(a_map_ + group);
        ptx::acquire_map(b_map_ + group);
    }

    // Bytes that come of each of an item's blocks.
    JG_DEVICE u32 bytes_of(const WorkItem &work) const
    {
        constexpr u32 kSlices = kRowSlices;
        u32 bytes = InputA<Config>::kLoadedBytes + InputB<Config>::kLoadedBytes;
        if constexpr (leaves_slices<Config>()) {
#pragma unroll
            for (u32 slice = 1; slice < kSlices; ++slice) {
                bytes -=
                    has_slice(work, slice) ? 0 : InputA<Config>::kLoadedBytes / kSlices;
            }
        }
        return bytes;
    }

    JG_DEVICE void load(u8 *a_tile, u8 *b_tile, u64 *barrier, const WorkItem &work,
                        u32 k) const
    {
        if constexpr (Config::kTailMaps > 0) {
            if (work.k_end - k < Config::kBlockK) {
                load_end(a_tile, b_tile, barrier, work, k);
                return;
            }
        } else if constexpr (Config::kGroupBy == GroupBy::kKOffsets) {
            if (k == work.k_end) { // a group without K: zeros, from beyond the matrices
                k = (k_ + Config::kBlockK) & -Config::kBlockK;
            }
        }
        load_a(a_tile, barrier, work, k);
        load_b(b_tile, barrier, work, k);
    }

    // One of them, of a whole block.
    JG_DEVICE void load_a(u8 *tile, u64 *barrier, const WorkItem &work, u32 k) const
    {
        if constexpr (turned_slices<Config>() > 1) {
            load_slices_of_a(tile, barrier, work, k);
            return;
        }
        if constexpr (leaves_slices<Config>()) {
            if (!has_slice(work, cluster_.a_slice())) {
                return;
            }
        }
        LoaderA::load(tile, a_map_ + group_of(work), barrier, cluster_.a_mask(),
                      cluster_.a_slice(), work.row, k,
                      map_batch<Config>(work, a_batch_step_));
    }
    JG_DEVICE void load_b(u8 *tile, u64 *barrier, const WorkItem &work, u32 k) const
    {
        const u32 group = group_of(work);
        if constexpr (turns_last<Config>()) {
            if (work.is_turned) { // every slice is this CTA's only
#pragma unroll
                for (u32 slice = 0; slice < Cluster::kBSlices; ++slice) {
                    LoaderB::load_own(tile, b_map_ + group, barrier, slice, work.col, k,
                                      map_batch<Config>(work, b_batch_step_));
                }
                return;
            }
        }
        LoaderB::load(tile, b_map_ + group, barrier, cluster_.b_mask(), cluster_.b_slice(),
                      work.col + cluster_.pair_rank() * kBRows, k,
                      map_batch<Config>(work, b_batch_step_));
    }

    // This CTA's slices of `blocks` blocks of one operand, from K on.
    template <Prefetch kOperand>
    JG_DEVICE void prefetch(const WorkTile &work, u32 k, u32 blocks) const
    {
#pragma unroll 1
        for (u32 i = 0; i < blocks; ++i, k += Config::kBlockK) {
            if constexpr (kOperand == Prefetch::kA) {
                LoaderA::prefetch(a_map_, cluster_.a_slice(), work.row, k,
                                  map_batch<Config>(work, a_batch_step_));
            } else {
                LoaderB::prefetch(b_map_, cluster_.b_slice(),
                                  work.col + cluster_.pair_rank() * kBRows, k,
                                  map_batch<Config>(work, b_batch_step_));
            }
        }
    }

  private:
    // Does a slice of a tile's rows come? The first one does in any case, and all where
    // each warpgroup multiplies all of a tile's rows.
    static JG_DEVICE bool has_slice(const WorkItem &work, u32 slice)
    {
        constexpr u32 kSliceRows = Config::kBlockM / kRowSlices;
        return !leaves_slices<Config>() || slice == 0 ||
               work.row + slice * kSliceRows < work.group_end;
    }

    // Boxes have a slice of a tile's rows. CTAs of a turned cluster have the same rows and
    // load a slice each, others all of their own.
    JG_DEVICE void load_slices_of_a(u8 *tile, u64 *barrier, const WorkItem &work,
                                    u32 k) const
    {
        static_assert(Cluster::kASlices == 1 && !kPair, "only turned clusters share A");
        const TensorMap *map = a_map_ + group_of(work);
        const u32 batch = map_batch<Config>(work, a_batch_step_);
        if (work.is_turned) {
            if (has_slice(work, cluster_.m)) {
                TurnedLoaderA::load(tile, map, barrier, cluster_.all_mask(), cluster_.m,
                                    work.row, k, batch);
            }
            return;
        }
#pragma unroll
        for (u32 slice = 0; slice < turned_slices<Config>(); ++slice) {
            if (has_slice(work, slice)) {
                TurnedLoaderA::load_own(tile, map, barrier, slice, work.row, k, batch);
            }
        }
    }

    // Which of the maps.
    static JG_DEVICE u32 group_of(const WorkItem &work)
    {
        if constexpr (has_group_maps<Config>()) {
            return work.batch;
        } else {
            return 0;
        }
    }
    static JG_DEVICE const TensorMap *maps_of(const TensorMap &map, const MatrixParam &own)
    {
        if constexpr (has_group_maps<Config>()) {
            return reinterpret_cast<const TensorMap *>(own.pointer);
        } else {
            return &map;
        }
    }

    JG_DEVICE void load_end(u8 *a_tile, u8 *b_tile, u64 *barrier, const WorkItem &work,
                            u32 k) const
    {
        const u32 own = work.k_end - k;
        const u32 beyond = max_u32(k_, 1); // a map has one element of K at least
        LoaderA::template load_end<Config::kTailRows>(
            a_tile, tail_maps_, barrier, cluster_.a_mask(), cluster_.a_slice(), work.row, k,
            map_batch<Config>(work, a_batch_step_), own, beyond);
        LoaderB::template load_end<Config::kTailRows>(
            b_tile, tail_maps_ + kTailBoxes, barrier, cluster_.b_mask(), cluster_.b_slice(),
            work.col + cluster_.pair_rank() * kBRows, k,
            map_batch<Config>(work, b_batch_step_), own, beyond);
    }

    const TensorMap *a_map_;
    const TensorMap *b_map_;
    const TensorMap *tail_maps_;
    u32 a_batch_step_, b_batch_step_;
    u32 k_;
    Cluster cluster_;
};

// Which group's maps the thread that loads has acquired.
template <class Loader>
class AcquiredMaps {
  public:
    JG_DEVICE explicit AcquiredMaps(const Loader &loader) : loader_(loader) {}

    // Before the loads of an item.
    JG_DEVICE void settle(const WorkItem &item)
    {
        if constexpr (has_group_maps<typename Loader::ConfigT>()) {
            if (item.k_blocks > 0 && item.batch != group_) {
                loader_.acquire_maps(item.batch);
                group_ = item.batch;
            }
        }
    }

  private:
    const Loader &loader_;
    u32 group_ = ~0u;
};

} // namespace jg
