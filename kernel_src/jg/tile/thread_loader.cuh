// SPDX-License-Identifier: MIT
// ThreadLoader: one stage of A and B from global to shared memory by the threads of four
// warps, for inputs whose addresses or rows TMA does not take.
//
// Called by 128 threads, each with its own number. Tiles lie as TileLoader leaves them.
// Where Config::kInputAlignment promises 4 bytes or more, a thread copies them by cp.async,
// which takes no registers while it is under way; else, and where elements are rounded, it
// loads and stores words of 4 bytes, with loads as wide as is promised. What lies beyond
// the matrix is 0 and is not read. tf32 is rounded on the way, as the copies do: aligned or
// not, the tensor core reads the same bits. Where the operand has the pairs of a gated D,
// its rows come from where those of each accumulator lie: kHalves says which form they
// have. With groups by pointers a tile ends where its group's rows do, and where they have
// an N or a K of their own these: there is no memory beyond. The caller waits for the stage
// before, and hands it on after.
#pragma once
#include <jg/common/group_matrix.cuh>
#include <jg/common/group_size.cuh>
#include <jg/common/math.cuh>
#include <jg/ptx/convert.cuh>
#include <jg/ptx/copy_async.cuh>
#include <jg/ptx/global.cuh>
#include <jg/ptx/shared.cuh>
#include <jg/schedule/work_item.cuh>
#include <jg/tile/filled_stage.cuh>
#include <jg/tile/input_operand.cuh>

namespace jg {

// 4 bytes of neighbouring elements, of which the first `count` are read, or none; the rest
// is 0. No load stands behind a branch, so that those of many words are under way at once.
template <class T, u32 kAlignment>
class ThreadWord {
    enum : u32 {
        kPiece = kAlignment < 4 ? kAlignment : 4, // bytes of a load
        kPieces = 4 / kPiece,
    };
    static_assert(kPiece == sizeof(T) || (kPiece == 2 && sizeof(T) == 1) ||
                      (kPiece == 4 && IsSame<T, tf32>::value),
                  "others are copied");
    enum : bool { kEndsInside = kPiece > sizeof(T) }; // may a row, of a piece?

  public:
    JG_DEVICE void load(u64 address, u32 count, bool exists)
    {
        ptx::hold_address(address);
#pragma unroll
        for (u32 i = 0; i < kPieces; ++i) {
            pieces_[i] = ptx::load_global_if<kPiece>(
                address + i * kPiece, exists && count * sizeof(T) >= (i + 1) * kPiece);
        }
        if constexpr (kEndsInside) {
            // An odd count is 1 or 3; of all others this is 0.
            last_ = ptx::load_global_if<1>(address + (count & 2), exists && count % 2 == 1);
            last_shift_ = (count & 2) * 8;
        }
    }

    // What the tensor core is to read. Apart from load, so that no load waits for one
    // before it.
    JG_DEVICE u32 value() const
    {
        u32 word = pieces_[0];
#pragma unroll
        for (u32 i = 1; i < kPieces; ++i) {
            word |= pieces_[i] << (i * kPiece * 8);
        }
        if constexpr (kEndsInside) {
            word |= last_ << last_shift_;
        }
        if constexpr (IsSame<T, tf32>::value) {
            word = __float_as_uint(to_f32(tf32{__uint_as_float(word)}));
        }
        return word;
    }

  private:
    u32 pieces_[kPieces];
    u32 last_, last_shift_;
};

// Where a block's lines lie in memory: those of a matrix with `rows` rows (of M or N) and
// `k_size` of K, from `row` and `k` on. A line is a row of the tile in shared memory.
template <class Operand, bool kHalves>
struct OperandLines {
    using T = typename Operand::Type;
    enum : bool {
        kKMajor = Operand::kKMajor,
        kGated = Operand::kGateRows > 0,
    };
    // From one row of an accumulator to the next.
    enum : u32 { kRowStep = kGated && !kHalves ? 2 : 1 };

    // Lines that lie at one distance: those of one panel, or of one accumulator's rows.
    enum : u32 {
        kTogether = !kKMajor ? Operand::kBlockK
                    : kGated ? Operand::kGateRows
                             : Operand::kRows
    };

    u64 matrix;
    i64 ld;
    u32 row, k, rows, k_size;

    // Bytes from one of them to the next.
    JG_DEVICE u64 step() const
    {
        return static_cast<u64>(ld) * ((kKMajor ? kRowStep : 1) * sizeof(T));
    }
    // Does the matrix begin inside of 16 bytes, and this block maybe in them? Groups begin
    // at any row, or along K at any element, of which 16 are as many bytes at least.
    JG_DEVICE bool begins_before() const
    {
        return row < 16 && k < 16 && matrix % 16 != 0;
    }

    // Of lines, and along them.
    JG_DEVICE u32 outer_size() const
    {
        return kKMajor ? own_rows() : k_size;
    }
    JG_DEVICE u32 inner_size() const
    {
        return kKMajor ? k_size : own_rows();
    }

    struct Place {
        u64 source; // address of an element
        u32 outer, inner;
    };
    // Element `column` of line `line`.
    JG_DEVICE Place place(u32 line, u32 column) const
    {
        const u32 first_row =
            row + (kKMajor ? line : line / Operand::kBlockK * Operand::kPanelRows);
        const u32 own_row = Operand::row_of_half(first_row);
        const u32 outer = kKMajor ? own_row : k + line % Operand::kBlockK;
        const u32 inner = (kKMajor ? k : own_row) + column;
        const u32 half_step = kHalves ? own_rows() : 1;          // to the same row of acc1
        const u32 beyond = Operand::half(first_row) * half_step; // rows of acc0
        return {matrix +
                    (ld * static_cast<i64>(kKMajor ? outer * kRowStep + beyond : outer) +
                     inner + (kKMajor ? 0 : beyond)) *
                        sizeof(T),
                outer, inner};
    }

  private:
    JG_DEVICE u32 own_rows() const // of each accumulator
    {
        return kGated ? rows / 2 : rows;
    }
};

template <class Operand, u32 kAlignment, bool kHalves = false>
struct ThreadOperandLoader {
    using Lines = OperandLines<Operand, kHalves>;
    using T = typename Operand::Type;
    using Swizzle = typename Operand::Swizzle;
    using Word = ThreadWord<T, kAlignment>;
    enum : bool { kAsync = kAlignment >= 4 && !IsSame<T, tf32>::value };
    enum : u32 { kThreads = 128 };
    enum : bool { kKMajor = Operand::kKMajor };
    enum : u32 {
        kBlockK = Operand::kBlockK,
        kRowBytes = Operand::kSwizzleBytes,
        kGateRows = Operand::kGateRows,
        kLines = Lines::kTogether,
    };
    // The threads' words lie side by side, so a warp reads whole rows. A thread's next one
    // is kStep bytes on, kStepLines lines. Words are as wide as is promised, where those of
    // all threads are a part of the lines.
    static constexpr JG_DEVICE u32 word_bytes()
    {
        u32 bytes = kAsync ? kAlignment : 4;
        while (kLines * kRowBytes / kThreads % bytes != 0) {
            bytes /= 2;
        }
        return bytes;
    }
    enum : u32 {
        kWordBytes = word_bytes(),
        kStep = kWordBytes * kThreads,
        kStepLines = kStep / kRowBytes,
        kWords = Operand::kBlockBytes / kStep, // of a thread
        // The swizzle repeats after 1024 bytes: words after which a target is kPeriodBytes
        // on.
        kPeriod = kStep < 1024 ? 1024 / kStep : 1,
        kPeriodBytes = kPeriod * kStep,
        // Words at once: of one panel or one accumulator's rows, and no more than registers
        // hold (72 per thread on sm_90a); of copies, which need none on their way, no more
        // than addresses fill them.
        kMostAtOnce = kAlignment == 1 || kAsync ? 8 : 16,
        kPanelWords = kLines / kStepLines,
    };

    static constexpr JG_DEVICE u32 words_at_once()
    {
        u32 words = 1;
        while (kWords % (2 * words) == 0 && kPanelWords % (2 * words) == 0 &&
               2 * words <= kMostAtOnce) {
            words *= 2;
        }
        return words;
    }
    enum : u32 { kAtOnce = words_at_once() };

    // A block, whose lines are given.
    static JG_DEVICE void load(u32 tile, const Lines &lines, u32 thread)
    {
        const u64 step = lines.step() * kStepLines;
#pragma unroll 1
        for (u32 first = 0; first < kWords; first += kAtOnce) {
            const u32 offset = first * kStep + thread * kWordBytes;
            const u32 line = offset / kRowBytes;
            const u32 column = offset % kRowBytes / sizeof(T);
            const auto at = lines.place(line, column);
            const u32 inner_size = lines.inner_size();
            const u32 count = at.inner < inner_size
                                  ? min_u32(kWordBytes / sizeof(T), inner_size - at.inner)
                                  : 0;
            u32 targets[kPeriod];
#pragma unroll
            for (u32 i = 0; i < kPeriod; ++i) {
                targets[i] = tile + Swizzle::swizzled_offset(offset + i * kStep);
            }
            bring(targets, at.source, step, count, at.outer, lines.outer_size());
        }
    }

  private:
    // kAtOnce words: `step` bytes from one to the next, `count` elements of each where its
    // row, from `outer` on, exists.
    static JG_DEVICE void bring(const u32 (&targets)[kPeriod], u64 source, u64 step,
                                u32 count, u32 outer, u32 outer_size)
    {
        if constexpr (kAsync) {
#pragma unroll
            for (u32 i = 0; i < kAtOnce; ++i) {
                const bool exists = outer + i * kStepLines < outer_size;
                ptx::copy_async<kWordBytes>(
                    targets[i % kPeriod] + i / kPeriod * kPeriodBytes, source + i * step,
                    exists ? count * sizeof(T) : 0);
            }
        } else {
            Word words[kAtOnce];
#pragma unroll
            for (u32 i = 0; i < kAtOnce; ++i) {
                const bool exists = outer + i * kStepLines < outer_size;
                words[i].load(source + i * step, count, exists);
            }
#pragma unroll
            for (u32 i = 0; i < kAtOnce; ++i) {
                ptx::store_shared(targets[i % kPeriod] + i / kPeriod * kPeriodBytes,
                                  __uint_as_float(words[i].value()));
            }
        }
    }
};

// Where A and B of an item lie.
template <class Config, class ShapeT>
class ThreadPlaces {
    using A = typename Config::A;
    using B = typename Config::B;
    enum : bool {
        kEndsA = kHasPointers<Config> && !Config::kTransposed,
        kEndsB = kHasPointers<Config> && Config::kTransposed,
        kEndsK = Config::kGroupBy == GroupBy::kKOffsets || has_own_k<Config>(),
        kOwnN = has_own_n<Config>(),
    };

  public:
    using LinesA = OperandLines<InputA<Config>, Config::kGateHalves>;
    using LinesB = OperandLines<InputB<Config>, Config::kGateHalves>;

    template <class Params>
    JG_DEVICE ThreadPlaces(const Params &params, const ShapeT &shape)
        : shape_(shape), params_a_(params.a), params_b_(params.b), a_(params.a),
          b_(params.b)
    {
    }

    // Before the first block of an item.
    JG_DEVICE void begin(const WorkItem &work)
    {
        if constexpr (kHasPointers<Config>) {
            a_ = group_matrix<Config>(params_a_, work.batch);
            b_ = group_matrix<Config>(params_b_, work.batch);
        }
    }

    // The block whose first element of K is `k`.
    JG_DEVICE LinesA a(const WorkItem &work, u32 k) const
    {
        const u32 end = kEndsA ? work.group_end : kOwnN ? work.column_end : shape_.m;
        return lines<LinesA, A>(a_, work, work.row, k, end);
    }
    JG_DEVICE LinesB b(const WorkItem &work, u32 k) const
    {
        const u32 end = kEndsB ? work.group_end : kOwnN ? work.column_end : shape_.n;
        return lines<LinesB, B>(b_, work, work.col, k, end);
    }

  private:
    template <class Lines, class T>
    JG_DEVICE Lines lines(const GroupMatrix<Config> &matrix, const WorkItem &work, u32 row,
                          u32 k, u32 end) const
    {
        return {reinterpret_cast<u64>(matrix.template base<T>(work.batch)),
                matrix.ld,
                row,
                k,
                end,
                kEndsK ? work.k_end : shape_.k};
    }

    const ShapeT &shape_;
    const MatrixParam &params_a_, &params_b_;
    GroupMatrix<Config> a_, b_; // of the item at hand
};

template <class Config, class ShapeT>
class ThreadLoader {
    using LoaderA =
        ThreadOperandLoader<InputA<Config>, Config::kInputAlignment, Config::kGateHalves>;
    using LoaderB =
        ThreadOperandLoader<InputB<Config>, Config::kInputAlignment, Config::kGateHalves>;
    static_assert(Config::kClusterM * Config::kClusterN == 1, "each CTA loads for itself");

  public:
    static_assert(LoaderA::kAsync == loads_by_copies<Config>(), "as the barriers count");
    enum : bool { kSends = false };

    // `thread`: 0 to 127.
    template <class Params, class Tiles>
    JG_DEVICE ThreadLoader(const Params &params, const ShapeT &shape, const Tiles &,
                           u32 thread)
        : places_(params, shape), thread_(thread)
    {
    }

    // Before the first block of an item.
    JG_DEVICE void begin(const WorkItem &work)
    {
        places_.begin(work);
    }

    JG_DEVICE void load(const u8 *a_tile, const u8 *b_tile, const WorkItem &work,
                        u32 k) const
    {
        LoaderA::load(ptx::shared_address(a_tile), places_.a(work, k), thread_);
        LoaderB::load(ptx::shared_address(b_tile), places_.b(work, k), thread_);
    }

  private:
    ThreadPlaces<Config, ShapeT> places_;
    u32 thread_;
};

} // namespace jg
