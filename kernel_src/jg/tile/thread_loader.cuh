// SPDX-License-Identifier: MIT
// ThreadLoader: one stage of A and B from global to shared memory by the threads of four
// warps, for inputs whose addresses or rows the copy engine does not take.
//
// Called by 128 threads, each with its own number. Tiles lie as TileLoader leaves them. A
// thread brings chunks of 16 bytes, with loads as wide as Config::kInputAlignment promises;
// what lies beyond the matrix is 0 and is not read. tf32 is rounded on the way, as the
// copies do: aligned or not, the tensor core reads the same bits. The caller waits for the
// stage before, and hands it on after.
#pragma once
#include <jg/common/math.cuh>
#include <jg/common/work_tile.cuh>
#include <jg/ptx/convert.cuh>
#include <jg/ptx/global.cuh>
#include <jg/ptx/shared.cuh>
#include <jg/tile/tile_swizzle.cuh>

namespace jg {

// 16 bytes of neighbouring elements, of which the first `count` are read.
template <class T, u32 kAlignment>
struct ThreadChunk {
    static constexpr u32 kElementBytes = sizeof(T);
    static constexpr u32 kElements = 16 / kElementBytes;

    u32 words[4];

    JG_DEVICE void load(u64 address, u32 count)
    {
        words[0] = words[1] = words[2] = words[3] = 0;
        if (count == kElements) {
            ptx::load_global_words<kAlignment, 16>(words, address, 16);
        } else {
            ptx::load_global_words<kElementBytes, 16 - kElementBytes>(
                words, address, count * kElementBytes);
        }
    }

    // To what the tensor core is to read. Apart from load, so that no load waits for one
    // before it.
    JG_DEVICE void round()
    {
        if constexpr (IsSame<T, tf32>::value) {
#pragma unroll
            for (u32 i = 0; i < kElements; ++i) {
                words[i] = __float_as_uint(to_f32(tf32{__uint_as_float(words[i])}));
            }
        }
    }
};

// kSpan: bytes of a row in shared memory (tile_loader.cuh).
template <class T, bool kKMajor, u32 kRows, u32 kAlignment, u32 kSpan = 128>
struct ThreadOperandLoader {
    using Chunk = ThreadChunk<T, kAlignment>;
    using Swizzle = TileSwizzle<T, kKMajor, kSpan>;
    static constexpr u32 kThreads = 128;
    static constexpr u32 kBlockK = 128 / sizeof(T);
    static constexpr u32 kPanelRows = kSpan / sizeof(T); // of M or N, where MN-major
    static constexpr u32 kRowChunks = kSpan / 16;
    static constexpr u32 kChunks = kRows * 8; // of the tile
    static constexpr u32 kAtOnce = kChunks % (4 * kThreads) == 0   ? 4
                                   : kChunks % (2 * kThreads) == 0 ? 2
                                                                   : 1;

    // The tile whose first row (of M or N) and K are given, of a matrix with `rows` rows
    // and `k_size` of K.
    static JG_DEVICE void load(u32 tile, u64 matrix, i64 ld, u32 row, u32 k, u32 rows,
                               u32 k_size, u32 thread)
    {
#pragma unroll 1
        for (u32 first = thread; first < kChunks; first += kThreads * kAtOnce) {
            Chunk chunks[kAtOnce];
#pragma unroll
            for (u32 i = 0; i < kAtOnce; ++i) {
                load_chunk(chunks[i], matrix, ld, row, k, rows, k_size,
                           first + i * kThreads);
            }
#pragma unroll
            for (u32 i = 0; i < kAtOnce; ++i) {
                const u32 offset = (first + i * kThreads) * 16;
                chunks[i].round();
                ptx::store_shared_4(tile + Swizzle::place(offset), chunks[i].words);
            }
        }
    }

  private:
    static JG_DEVICE void load_chunk(Chunk &chunk, u64 matrix, i64 ld, u32 row, u32 k,
                                     u32 rows, u32 k_size, u32 index)
    {
        const u32 line = index / kRowChunks;
        const u32 column = index % kRowChunks * Chunk::kElements;
        const u32 outer = kKMajor ? row + line : k + line % kBlockK;
        const u32 inner = kKMajor ? k + column : row + line / kBlockK * kPanelRows + column;
        const u32 outer_size = kKMajor ? rows : k_size;
        const u32 inner_size = kKMajor ? k_size : rows;
        const bool exists = outer < outer_size && inner < inner_size;
        const u32 count = exists ? min_u32(Chunk::kElements, inner_size - inner) : 0;
        chunk.load(matrix + (ld * static_cast<i64>(outer) + inner) * sizeof(T), count);
    }
};

// kASpan, kBSpan: of A's and B's rows.
template <class Config, class ShapeT, u32 kASpan = 128, u32 kBSpan = 128>
class ThreadLoader {
    using A = typename Config::A;
    using B = typename Config::B;
    using LoaderA = ThreadOperandLoader<A, Config::kAKMajor, Config::kBlockM,
                                        Config::kInputAlignment, kASpan>;
    using LoaderB = ThreadOperandLoader<B, Config::kBKMajor, Config::kBlockN,
                                        Config::kInputAlignment, kBSpan>;
    static_assert(Config::kClusterM * Config::kClusterN == 1, "each CTA loads for itself");

  public:
    // `thread`: 0 to 127.
    template <class Params>
    JG_DEVICE ThreadLoader(const Params &params, const ShapeT &shape, u32 thread)
        : shape_(shape), a_(params.a), b_(params.b), lda_(params.lda), ldb_(params.ldb),
          a_batch_stride_(params.a_batch_stride), b_batch_stride_(params.b_batch_stride),
          thread_(thread)
    {
    }

    JG_DEVICE void load(const u8 *a_tile, const u8 *b_tile, const WorkTile &work,
                        u32 k) const
    {
        const i64 batch = work.batch;
        LoaderA::load(ptx::shared_address(a_tile), a_ + batch * a_batch_stride_ * sizeof(A),
                      lda_, work.row, k, shape_.m, shape_.k, thread_);
        LoaderB::load(ptx::shared_address(b_tile), b_ + batch * b_batch_stride_ * sizeof(B),
                      ldb_, work.col, k, shape_.n, shape_.k, thread_);
    }

  private:
    const ShapeT &shape_;
    u64 a_, b_;
    i64 lda_, ldb_, a_batch_stride_, b_batch_stride_;
    u32 thread_;
};

} // namespace jg
