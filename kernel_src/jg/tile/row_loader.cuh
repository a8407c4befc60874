// SPDX-License-Identifier: MIT
// RowLoader: one stage of A and B where an index names the rows of one of them, the
// problem's A, and TMA takes both: a copy brings Config::kCopiedRows of those rows, from
// wherever they lie, and the other operand comes in boxes. IndexedLoader does the same
// where TMA does not take them, or threads are faster.
//
// Called by the load warp: begin with each item by all lanes, which reads the index once,
// then load by the one that is elected, always the same. Its coordinates come from shared
// memory: of those in other lanes' registers the compiler makes a loop that takes one lane
// after the other. Tiles lie as TileLoader leaves them, whose clusters, pairs and turned
// items these are. Rows whose index is none of A's rows are zeros. Rows beyond the
// matrix's end, or beyond the group's, come as its last one, whose index is read again: no
// index beyond is read. All rows of batches and groups lie in one A.
#pragma once
#include <jg/ptx/global.cuh>
#include <jg/ptx/shared.cuh>
#include <jg/ptx/tma_rows.cuh>
#include <jg/tile/row_indices.cuh>
#include <jg/tile/tile_loader.cuh>

namespace jg {

template <class Config, class Cluster, class ShapeT>
class RowLoader {
    enum : bool { kOfA = Config::kIndexedA };
    enum : u32 { kCopied = Config::kCopiedRows };
    enum : bool { kPair = Cluster::kCtaGroup == 2 };
    enum : u32 { kSlices = kOfA ? Cluster::kASlices : Cluster::kBSlices };
    using Indexed = typename Select<kOfA, InputA<Config>, InputB<Config>>::Type;
    using Indices = RowIndices<Config>;
    using Tiles = TileLoader<Config, Cluster>;
    enum : u32 {
        kRows = Indices::kRows,
        // Rows whose copies start together; rounds of them that are written one behind the
        // other, of which more fill the instruction cache.
        kAtOnce = kRows % 8 == 0   ? 8
                  : kRows % 4 == 0 ? 4
                                   : 1,
        kUnrolled = 4,
    };
    struct alignas(4 * (kAtOnce < 4 ? kAtOnce : 4)) Found {
        u32 rows[kAtOnce];
    };
    static_assert(Indexed::kKMajor && Indexed::kGateRows == 0, "rows of the problem's A");
    static_assert(kRows * kSlices == Indexed::kLoadedRows && kRows % kCopied == 0,
                  "whole copies");

  public:
    template <class Params>
    JG_DEVICE RowLoader(const Params &params, const ShapeT &shape, const Cluster &cluster,
                        const Tiles &tiles, Indices &indices)
        : index_(params.a_rows), map_(&params.maps[kOfA ? kMapA : kMapB]), shape_(shape),
          cluster_(cluster), tiles_(tiles), indices_(indices)
    {
    }

    // Before the first block of an item: finds its rows.
    JG_DEVICE void begin(const WorkItem &work) const
    {
        __syncwarp(); // those of the item before have been read
        if (work.k_blocks > 0) {
            const u32 end = Config::kGroups > 0 ? work.group_end
                            : kOfA              ? shape_.m
                                                : shape_.n;
            const u32 first = (kOfA ? work.row : work.col + cluster_.pair_rank() * kBRows) +
                              slice() * kRows;
            const i32 *index = index_.base<const i32>(work.batch);
            for (u32 i = threadIdx.x % 32; i < kRows; i += 32) {
                indices_.rows[i] = static_cast<u32>(index[min_u32(first + i, end - 1)]);
            }
        }
        __syncwarp();
    }

    JG_DEVICE void load(u8 *a_tile, u8 *b_tile, u64 *barrier, const WorkItem &work,
                        u32 k) const
    {
        u8 *const tile = (kOfA ? a_tile : b_tile) + slice() * (kRows * 128);
        const u16 mask = kOfA ? cluster_.a_mask() : cluster_.b_mask();
        // The other operand first: its copies are few.
        if constexpr (kOfA) {
            tiles_.load_b(b_tile, barrier, work, k);
        } else {
            tiles_.load_a(a_tile, barrier, work, k);
        }
        // Which rows the next copies bring is read before these are started: the compiler
        // moves no load past a copy.
        Found next = find(0);
#pragma unroll kUnrolled
        for (u32 first = 0; first < kRows; first += kAtOnce) {
            const Found found = next;
            next = find((first + kAtOnce) % kRows);
#pragma unroll
            for (u32 i = 0; i < kAtOnce; i += kCopied) {
                i32 rows[kCopied];
#pragma unroll
                for (u32 j = 0; j < kCopied; ++j) {
                    rows[j] = static_cast<i32>(found.rows[i + j]);
                }
                copy(tile + (first + i) * 128, barrier, mask, static_cast<i32>(k), rows);
            }
        }
    }

  private:
    JG_DEVICE Found find(u32 first) const
    {
        return *reinterpret_cast<const Found *>(indices_.rows + first);
    }
    enum : u32 { kBRows = InputB<Config>::kRows };

    JG_DEVICE u32 slice() const
    {
        return kOfA ? cluster_.a_slice() : cluster_.b_slice();
    }
    JG_DEVICE void copy(u8 *target, u64 *barrier, u16 mask, i32 k,
                        const i32 (&rows)[kCopied]) const
    {
        constexpr bool kMulticast = kSlices > 1;
        if constexpr (kPair && kMulticast) {
            ptx::tma_load_rows_pair_multicast(target, map_, barrier, mask, k, rows);
        } else if constexpr (kPair) {
            ptx::tma_load_rows_pair(target, map_, barrier, k, rows);
        } else if constexpr (kMulticast) {
            ptx::tma_load_rows_multicast(target, map_, barrier, mask, k, rows);
        } else {
            ptx::tma_load_rows(target, map_, barrier, k, rows);
        }
    }

    const MatrixParam &index_;
    const TensorMap *map_;
    const ShapeT &shape_;
    const Cluster &cluster_;
    const Tiles &tiles_;
    Indices &indices_;
};

} // namespace jg
