// SPDX-License-Identifier: MIT
// ShiftedLoader: stages of A and B from global to shared memory by the threads of four
// warps, for inputs whose elements may begin at any byte, or any two.
//
// A line of a tile is 128 bytes that lie side by side in memory, of which nobody knows
// where in a chunk of 16 they begin. A thread copies the whole chunks that hold them
// (cp.async, which takes no registers while it is under way) to where the line is to be,
// and the last one beside it (LineEnds). When they have landed, a warp reads its lines,
// shifts them, and stores them where the tensor core takes them. Half of the stages are
// under way at a time.
//
// Bytes beside the line in its first chunk are read, as long as they do not lie before the
// matrix: there elements are loaded. What lies behind the line's last element is 0 and is
// not read.
//
// Called by 128 threads, each with its own number, for an item; waits for stages to become
// empty, and hands them on. Shared memory is that of the caller's CTA alone.
#pragma once
#include <jg/ptx/address.cuh>
#include <jg/ptx/copy_async.cuh>
#include <jg/tile/line_ends.cuh>
#include <jg/tile/thread_loader.cuh>

namespace jg {

template <class Operand, bool kHalves>
struct ShiftedOperand {
    using T = typename Operand::Type;
    using Lines = OperandLines<Operand, kHalves>;
    using Swizzle = typename Operand::Swizzle;
    enum : u32 {
        kThreads = 128,
        kLineBytes = Operand::kSwizzleBytes,
        kChunks = kLineBytes / kChunkBytes, // of a line
        kStepLines = kThreads / kChunks,
        kStepBytes = kStepLines * kLineBytes,
        kSteps = kLinesOf<Operand> / kStepLines,
    };
    static_assert(kLinesOf<Operand> % kStepLines == 0, "threads share lines out");
    static_assert(32 % kChunks == 0, "a line is one warp's: it reads all before it stores");
    static_assert(kStepBytes % 1024 == 0, "after which the swizzle repeats");
    static_assert(kStepLines % kChunkBytes == 0, "so that a step on a line begins alike");

    // A thread's lines that lie at one distance in memory: of one panel or accumulator, and
    // no more than registers hold.
    static constexpr JG_DEVICE u32 steps_at_once()
    {
        u32 steps = 1;
        while (kSteps % (2 * steps) == 0 &&
               Lines::kTogether % (2 * steps * kStepLines) == 0 && 2 * steps <= 4) {
            steps *= 2;
        }
        return steps;
    }
    enum : u32 { kAtOnce = steps_at_once() };

    // Starts this thread's copies of a block's chunks.
    static JG_DEVICE void copy(u32 tile, u32 ends, const Lines &lines, u32 thread)
    {
        const u32 chunk = thread % kChunks;
        const u32 offset = chunk * kChunkBytes;
        const u64 line_step = lines.step() * kStepLines;
        const u32 outer_size = lines.outer_size(), inner_size = lines.inner_size();
#pragma unroll 1
        for (u32 first = 0; first < kSteps; first += kAtOnce) {
            const u32 line = first * kStepLines + thread / kChunks;
            const auto at = lines.place(line, 0);
            const u32 left = at.inner < inner_size ? inner_size - at.inner : 0;
            const u32 shift = static_cast<u32>(at.source) % kChunkBytes; // of all of them
            // Of a line that exists, from its first chunk on; and of what is copied.
            const u32 end = left > 0 ? shift + min_u32(kLineBytes, left * sizeof(T)) : 0;
            const u32 rest = end - min_u32(end, offset);
            const u32 bytes = min_u32(rest, kChunkBytes);
            const u64 address = at.source - shift + offset;
            const u32 target = tile + thread * kChunkBytes + first * kStepBytes;
            const u32 end_target = ends + line * kChunkBytes;
#pragma unroll
            for (u32 i = 0; i < kAtOnce; ++i) {
                const u64 source = address + i * line_step;
                const bool exists = at.outer + i * kStepLines < outer_size;
                const u32 own = exists ? bytes : 0;
                ptx::copy_async_if<kChunkBytes>(target + i * kStepBytes, source, own,
                                                own == 0 || source >= lines.matrix);
                ptx::copy_async_if<kChunkBytes>(
                    end_target + i * kStepLines * kChunkBytes, source + kChunkBytes,
                    exists ? rest - bytes : 0, chunk == kChunks - 1);
            }
        }
        if (lines.begins_before()) {
            load_first(tile, lines, thread);
        }
    }

    // When all copies of the warp have landed: each line to where it is to be.
    static JG_DEVICE void shift(u32 tile, u32 ends, const Lines &lines, u32 thread)
    {
        const u32 chunk = thread % kChunks;
        const u32 offset = thread * kChunkBytes;
        const u32 from = tile + offset;
        const u32 to = tile + Swizzle::swizzled_offset(offset);
        // The next chunk, and from one step to the next.
        const bool is_last = chunk == kChunks - 1;
        const u32 next =
            is_last ? ends + thread / kChunks * kChunkBytes : from + kChunkBytes;
        const u32 next_step = is_last ? kStepLines * kChunkBytes : kStepBytes;
#pragma unroll 1
        for (u32 first = 0; first < kSteps; first += kAtOnce) {
            u32 pairs[kAtOnce][2 * kChunkWords];
#pragma unroll
            for (u32 i = 0; i < kAtOnce; ++i) {
                ptx::load_shared_words(pairs[i], from + (first + i) * kStepBytes);
                ptx::load_shared_words(pairs[i] + kChunkWords,
                                       next + (first + i) * next_step);
            }
            const auto at = lines.place(first * kStepLines + thread / kChunks, 0);
            const u32 bytes = static_cast<u32>(at.source) % kChunkBytes;
            __syncwarp(); // the lines are read
#pragma unroll
            for (u32 i = 0; i < kAtOnce; ++i) {
                const ShiftedChunk shifted(pairs[i], bytes);
                ptx::store_shared_4(to + (first + i) * kStepBytes, shifted.words);
            }
        }
    }

  private:
    // Of lines whose first chunk begins before the matrix that chunk, by elements: of the
    // first line, and of more where 16 bytes hold several.
    static JG_DEVICE void load_first(u32 tile, const Lines &lines, u32 thread)
    {
        const u32 outer_size = lines.outer_size(), inner_size = lines.inner_size();
        if (thread % kChunks != 0) {
            return;
        }
#pragma unroll 1
        for (u32 line = thread / kChunks; line < kLinesOf<Operand>; line += kStepLines) {
            const auto at = lines.place(line, 0);
            const u32 shift = static_cast<u32>(at.source) % kChunkBytes;
            if (at.source - shift < lines.matrix && at.outer < outer_size &&
                at.inner < inner_size) {
                const u32 bytes = (inner_size - at.inner) * sizeof(T);
                load_elements(tile + line * kLineBytes, at.source - shift, shift,
                              shift + min_u32(bytes, kChunkBytes));
            }
        }
    }

    // Of a chunk the bytes from `begin` to `end`.
    static JG_DEVICE void load_elements(u32 target, u64 chunk, u32 begin, u32 end)
    {
#pragma unroll 1
        for (u32 at = 0; at < kChunkBytes; at += 4) {
            u32 word = 0;
#pragma unroll
            for (u32 i = 0; i < 4; i += sizeof(T)) {
                const bool exists = at + i >= begin && at + i < end;
                word |= ptx::load_global_if<sizeof(T)>(chunk + at + i, exists) << (i * 8);
            }
            ptx::store_shared(target + at, __uint_as_float(word));
        }
    }
};

template <class Config, class ShapeT>
class ShiftedLoader {
    using A = InputA<Config>;
    using B = InputB<Config>;
    using LoaderA = ShiftedOperand<A, Config::kGateHalves>;
    using LoaderB = ShiftedOperand<B, Config::kGateHalves>;
    // Stages that are under way. The others are full or read: who multiplies gives a stage
    // back when it has the next one, and with one or two of them it would be waited for.
    enum : u32 { kAhead = Config::kStages > 3 ? Config::kStages / 2 : 1 };
    static_assert(Config::kKGroup == 1 && Config::kClusterM * Config::kClusterN == 1,
                  "each CTA loads for itself");

  public:
    // `thread`: 0 to 127.
    template <class Params, class Tiles>
    JG_DEVICE ShiftedLoader(const Params &params, const ShapeT &shape, const Tiles &,
                            u32 thread)
        : places_(params, shape), thread_(thread)
    {
    }

    // Before the first block of an item.
    JG_DEVICE void begin(const WorkItem &work)
    {
        places_.begin(work);
    }

    // Fills a stage with each of an item's blocks of K; `then` is called beside each.
    template <class Producer, class Smem, class Then>
    JG_DEVICE void fill(Producer &tiles, Smem &smem, const WorkItem &item, Then then) const
    {
        u32 oldest = 0; // of the stages that are under way
        u32 blocks = item.k_blocks;
        ptx::hold(blocks); // of one block the loop was taken apart, and registers spilled
#pragma unroll 1
        for (u32 k = 0; k < blocks + kAhead; ++k) {
            if (k < blocks) {
                const u32 stage = tiles.acquire_empty().index;
                oldest = k == 0 ? stage : oldest;
                const u32 at = item.k_first + k * Config::kBlockK;
                LoaderA::copy(ptx::shared_address(smem.input[stage].a[0]),
                              ptx::shared_address(smem.line_ends.a[stage]),
                              places_.a(item, at), thread_);
                LoaderB::copy(ptx::shared_address(smem.input[stage].b[0]),
                              ptx::shared_address(smem.line_ends.b[stage]),
                              places_.b(item, at), thread_);
            }
            ptx::copy_async_commit();
            if (k >= kAhead) {
                ptx::copy_async_wait<kAhead>();
                __syncwarp();
                const u32 at = item.k_first + (k - kAhead) * Config::kBlockK;
                LoaderA::shift(ptx::shared_address(smem.input[oldest].a[0]),
                               ptx::shared_address(smem.line_ends.a[oldest]),
                               places_.a(item, at), thread_);
                LoaderB::shift(ptx::shared_address(smem.input[oldest].b[0]),
                               ptx::shared_address(smem.line_ends.b[oldest]),
                               places_.b(item, at), thread_);
                tiles.hand_on(oldest);
                oldest = oldest + 1 == Config::kStages ? 0 : oldest + 1;
                then();
            }
        }
    }

  private:
    ThreadPlaces<Config, ShapeT> places_;
    u32 thread_;
};

} // namespace jg
