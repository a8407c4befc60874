// SPDX-License-Identifier: MIT
// A snippet's random numbers: Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel
// random numbers: as easy as 1, 2, 3", SC 2011. It counts instead of keeping a state, so
// that a number depends on its seed and its place alone, and every kernel makes the same
// one again.
#pragma once
#include <jg/common/math.cuh>
#include <jg/ptx/arithmetic.cuh>

namespace jg {

struct PhiloxWords {
    u32 w0, w1, w2, w3;
};

// Ten rounds on a counter. The steps of the key are those of the paper's section 3: the
// golden ratio, and the square root of 3 less 1, times 2^32.
JG_DEVICE PhiloxWords philox4x32_10(PhiloxWords counter, u32 key0, u32 key1)
{
    constexpr u32 kKeyStep0 = 0x9e3779b9;
    constexpr u32 kKeyStep1 = 0xbb67ae85;
    u32 words[4] = {counter.w0, counter.w1, counter.w2, counter.w3};
    u32 keys0[10], keys1[10];
#pragma unroll
    for (u32 round = 0; round < 10; ++round) {
        keys0[round] = key0 + round * kKeyStep0;
        keys1[round] = key1 + round * kKeyStep1;
    }
    ptx::philox_rounds(words, keys0, keys1);
    return {words[0], words[1], words[2], words[3]};
}

// A multiple of 2^-24 in [0, 1): as many as the upper 24 bits of a word say. Beside a float
// it is compared as an integer, which takes one instruction of a thread for each number
// where they have one limit, instead of four.
struct UniformNumber {
    u32 word;

    JG_DEVICE operator f32() const
    {
        return static_cast<f32>(word >> 8) * 0x1p-24f;
    }
    JG_DEVICE bool operator<(f32 limit) const
    {
        // Of the 2^24 numbers so many are less: none where the limit is NaN.
        const u32 less = min_u32(__float2uint_ru(limit * 0x1p24f), 1u << 24);
        return less != 0 && word <= (less << 8) - 1;
    }
    JG_DEVICE bool operator>=(f32 limit) const
    {
        return limit == limit && !(*this < limit);
    }
    // Limits of other types that a float is compared with.
    template <class T, class = decltype(f32() < T())>
    JG_DEVICE bool operator<(T limit) const
    {
        return static_cast<f32>(*this) < limit;
    }
    template <class T, class = decltype(f32() >= T())>
    JG_DEVICE bool operator>=(T limit) const
    {
        return static_cast<f32>(*this) >= limit;
    }
};

// What a snippet gets. The unit defines it as UniformNumber where all of a snippet's
// numbers are the left sides of `<` or `>=`: elsewhere nothing but a float is as good as
// one.
#ifndef JG_UNIFORM_RESULT
#    define JG_UNIFORM_RESULT f32
#endif

// Column of element `i` of a vector, whose first is a multiple of 8. So written, the
// compiler sees that neighbours share a counter.
template <class CoordT>
JG_DEVICE u32 vector_column(const CoordT &coord, u32 i)
{
    return (coord.col & ~7u) | i;
}

// The word of the element at a place of D. Four columns that begin at a multiple of 4 share
// a counter, so that a thread which has them makes their words at once. All 32 bits of the
// seed count.
JG_DEVICE u32 draw_word(int row, int col, int batch, f32 seed)
{
    const u32 column = static_cast<u32>(col);
    const PhiloxWords words =
        philox4x32_10({column / 4, static_cast<u32>(row), static_cast<u32>(batch), 0},
                      __float_as_uint(seed), 0);
    const u32 low = column % 2 != 0 ? words.w1 : words.w0;
    const u32 high = column % 2 != 0 ? words.w3 : words.w2;
    return column % 4 < 2 ? low : high;
}

// `uniform` of an element: in [0, 1), a multiple of 2^-24.
struct Uniform {
    int row, col, batch;

    JG_DEVICE JG_UNIFORM_RESULT operator()(f32 seed) const
    {
        return UniformNumber{draw_word(row, col, batch, seed)};
    }
};

// The same where the word was drawn before, with the one seed that the snippet names.
struct DrawnUniform {
    u32 word;

    JG_DEVICE JG_UNIFORM_RESULT operator()(f32) const
    {
        return UniformNumber{word};
    }
};

} // namespace jg

// What user_epilogue.cuh puts in scope, with the element's row, col and batch.
#ifdef JG_SEED
#    define JG_UNIFORM [[maybe_unused]] const jg::DrawnUniform uniform = {jg_drawn};
#else
#    define JG_UNIFORM [[maybe_unused]] const jg::Uniform uniform = {row, col, batch};
#endif
