// SPDX-License-Identifier: MIT
// IndexedLoader: one stage of A and B where an index names the rows of one of them, the
// problem's A: an int32 for each row of the product, which only the device has. Threads of
// four warps copy those rows, a word each; the other operand comes by TMA beside them, for
// all CTAs of a cluster that share it, or, where TMA does not take it, by the same threads.
//
// Called by 128 threads, each with its own number; send by the one that is_sender names,
// for a stage whose barrier expects the bytes. Tiles lie as TileLoader leaves them. Of rows
// beyond the matrix, or beyond the group's, the index is not read; they are zeros, and so
// are rows whose index is none of A's rows. All rows of batches and groups lie in one A.
// The caller waits for the stage before, and hands it on after.
#pragma once
#include <jg/common/cluster_shape.cuh>
#include <jg/tile/thread_loader.cuh>
#include <jg/tile/tile_loader.cuh>

namespace jg {

// Rows of a matrix that an index names.
struct IndexedRows {
    u64 matrix;
    i64 ld;
    u64 index; // of the product's first row
    u32 count; // rows of the matrix
};

template <class Operand, u32 kAlignment>
class IndexedOperandLoader {
    using T = typename Operand::Type;
    using Swizzle = typename Operand::Swizzle;
    static_assert(Operand::kKMajor && Operand::kGateRows == 0, "rows of the problem's A");
    enum : u32 { kThreads = 128, kRowBytes = 128 };

  public:
    enum : bool { kAsync = kAlignment >= 4 && !IsSame<T, tf32>::value };

    // Before the first block of an item, whose tile has the product's rows from `row` on,
    // of which there are `end`.
    JG_DEVICE void begin(const IndexedRows &rows, u32 row, u32 end, u32 thread)
    {
        rows_ = rows;
        row_ = row;
        end_ = end;
        if constexpr (kKeeps) {
            find(0, thread);
        }
    }

    // The tile from K on.
    JG_DEVICE void load(u32 tile, u32 k, u32 k_size, u32 thread)
    {
        const u32 inner = k + thread * kWordBytes % kRowBytes / sizeof(T);
        const u32 count =
            inner < k_size ? min_u32(kWordBytes / sizeof(T), k_size - inner) : 0;
#pragma unroll 1
        for (u32 first = 0; first < kWords; first += kAtOnce) {
            if constexpr (!kKeeps) {
                find(first, thread);
            }
            bring(tile, inner, count, first, thread);
        }
    }

  private:
    // The threads' words lie side by side; a thread's next one is kStep bytes on.
    enum : u32 {
        kWordBytes = kAsync ? kAlignment : 4,
        kStep = kWordBytes * kThreads,
        kWords = Operand::kBlockBytes / kStep, // of a thread
    };
    // Which rows they are of is the same for all of K: where there are registers for it, it
    // is found once for an item.
    enum : bool { kKeeps = kAsync && kWords <= 16 };
    enum : u32 {
        kAtOnce = kKeeps            ? kWords
                  : kWords % 8 == 0 ? 8
                  : kWords % 4 == 0 ? 4
                                    : 1
    };

    // The rows of kAtOnce words; none, where the product has no such row.
    JG_DEVICE void find(u32 first, u32 thread)
    {
#pragma unroll
        for (u32 i = 0; i < kAtOnce; ++i) { // all are asked for before one is needed
            const u32 own = row_ + ((first + i) * kStep + thread * kWordBytes) / kRowBytes;
            const u32 index =
                ptx::load_global_if<4>(rows_.index + u64(own) * sizeof(i32), own < end_);
            found_[i] = own < end_ ? index : ~0u;
        }
    }

    static JG_DEVICE u32 target(u32 tile, u32 word, u32 thread)
    {
        return tile + Swizzle::swizzled_offset(word * kStep + thread * kWordBytes);
    }
    JG_DEVICE u64 source(u32 row, u32 inner) const
    {
        return rows_.matrix + (rows_.ld * static_cast<i64>(row) + inner) * sizeof(T);
    }

    // kAtOnce words, of the rows that were found.
    JG_DEVICE void bring(u32 tile, u32 inner, u32 count, u32 first, u32 thread) const
    {
        if constexpr (kAsync) {
#pragma unroll
            for (u32 i = 0; i < kAtOnce; ++i) {
                const bool exists = found_[i] < rows_.count;
                ptx::copy_async<kWordBytes>(target(tile, first + i, thread),
                                            source(exists ? found_[i] : 0, inner),
                                            exists ? count * sizeof(T) : 0);
            }
        } else {
            ThreadWord<T, kAlignment> words[kAtOnce];
#pragma unroll
            for (u32 i = 0; i < kAtOnce; ++i) {
                words[i].load(source(found_[i], inner), count, found_[i] < rows_.count);
            }
#pragma unroll
            for (u32 i = 0; i < kAtOnce; ++i) {
                ptx::store_shared(target(tile, first + i, thread),
                                  __uint_as_float(words[i].value()));
            }
        }
    }

    IndexedRows rows_;
    u32 row_, end_;
    u32 found_[kAtOnce];
};

template <class Config, class Cluster, class ShapeT>
class IndexedLoader {
    enum : bool { kOfA = Config::kIndexedA };
    using A = InputA<Config>;
    using B = InputB<Config>;
    using Indexed = typename Select<kOfA, A, B>::Type;
    using Other = typename Select<kOfA, B, A>::Type;
    using IndexedRowsLoader = IndexedOperandLoader<Indexed, Config::kInputAlignment>;
    using Tiles = TileLoader<Config, Cluster>;
    static_assert(IndexedRowsLoader::kAsync == loads_by_copies<Config>(),
                  "as the barriers count");

  public:
    enum : bool { kSends = Config::kInputAlignment == 16 }; // the other operand
    enum : u32 { kSentBytes = Other::kLoadedBytes };        // of a block
    static_assert((kOfA ? Config::kClusterN : Config::kClusterM) == 1 &&
                      Config::kCtaGroup == 1 && (kSends || !Cluster::kShares),
                  "each CTA copies rows for itself");

    // `thread`: 0 to 127.
    template <class Params>
    JG_DEVICE IndexedLoader(const Params &params, const ShapeT &shape, const Tiles &tiles,
                            u32 thread)
        : shape_(shape), index_(params.a_rows), rows_{(kOfA ? params.a : params.b).pointer,
                                                      (kOfA ? params.a : params.b).ld, 0,
                                                      params.a_row_count},
          other_(kOfA ? params.b : params.a), tiles_(tiles), thread_(thread)
    {
    }

    JG_DEVICE void begin(const WorkItem &work)
    {
        IndexedRows rows = rows_;
        rows.index = reinterpret_cast<u64>(index_.base<const i32>(work.batch));
        const u32 size = kOfA ? shape_.m : shape_.n;
        loader_.begin(rows, kOfA ? work.row : work.col,
                      Config::kGroups > 0 ? work.group_end : size, thread_);
    }

    JG_DEVICE void load(const u8 *a_tile, const u8 *b_tile, const WorkItem &work, u32 k)
    {
        loader_.load(ptx::shared_address(kOfA ? a_tile : b_tile), k, shape_.k, thread_);
        if constexpr (!kSends) {
            using T = typename Other::Type;
            ThreadOperandLoader<Other, Config::kInputAlignment, Config::kGateHalves>::load(
                ptx::shared_address(kOfA ? b_tile : a_tile),
                {reinterpret_cast<u64>(other_.base<T>(work.batch)), other_.ld,
                 kOfA ? work.col : work.row, k, kOfA ? shape_.n : shape_.m, shape_.k},
                thread_);
        }
    }

    // Starts the copies of this CTA's slice of the other operand's block.
    JG_DEVICE void send(u8 *a_tile, u8 *b_tile, u64 *barrier, const WorkItem &work,
                        u32 k) const
    {
        if constexpr (kOfA) {
            tiles_.load_b(b_tile, barrier, work, k);
        } else {
            tiles_.load_a(a_tile, barrier, work, k);
        }
    }
    JG_DEVICE bool is_sender() const
    {
        return thread_ == 0;
    }

  private:
    const ShapeT &shape_;
    const MatrixParam &index_;
    const IndexedRows rows_;
    const MatrixParam &other_;
    const Tiles &tiles_;
    u32 thread_;
    IndexedRowsLoader loader_;
};

} // namespace jg
