// SPDX-License-Identifier: MIT
// FragmentCoord, FragmentIndex, FragmentVector: where in D a thread's elements of a store
// tile lie, and what it holds of a vector for them. FragmentWords, PackedFragments:
// elements as they are stored. Used by operands, FragmentStore and FragmentEpilogue; waits
// for nothing.
//
// Of every group of 8 columns of the accumulator a thread has two neighbouring ones, in two
// lanes of each fragment, 8 apart. Lanes are rows of D, or its columns where D lies
// transposed in the accumulator.
#pragma once
#include <jg/ptx/convert.cuh>
#include <jg/ptx/global.cuh>

namespace jg {

// A thread's first element of a store tile, and the size of D. kAllRows: all rows of the
// store tile exist; kAllCols: all of its columns.
template <bool kTransposedD, u32 kFragmentCount, u32 kGroupCount, bool kAllRows,
          bool kAllCols>
struct FragmentCoord {
    enum : bool { kTransposed = kTransposedD };
    enum : u32 { kFragments = kFragmentCount, kGroups = kGroupCount };
    enum : bool {
        kWholeRows = kAllRows,
        kWholeCols = kAllCols,
        // Columns of the accumulator come in pairs that exist both or not at all, and
        // vectors of them begin at a multiple of two: those of a row of D in memory. Of
        // rows there may be any number, and their vectors begin anywhere.
        kPairs = !kTransposedD,
    };
    u32 row, col, batch;
    u32 row_end, col_end;
};

// One of a thread's elements: in which fragment, at which of its two lanes; in which group
// of columns, which of the two.
struct FragmentIndex {
    u32 fragment, half, group, element;

    JG_DEVICE u32 lane() const
    {
        return 16 * fragment + 8 * half;
    }
    JG_DEVICE u32 column() const
    {
        return 8 * group + element;
    }
};

// What a thread needs of a vector of T with a value for each lane, or for each column of
// the accumulator. Pairs of less than 32 bits stay as they are in memory until they are
// used, so that nothing waits for their loads before.
template <class CoordT, bool kByLane, class T = f32>
struct FragmentVector {
    enum : bool { kPacked = !kByLane && bool(CoordT::kPairs) && sizeof(T) < 4 };
    enum : u32 { kCount = 2 * (kByLane ? CoordT::kFragments : CoordT::kGroups) };
    f32 values[kPacked ? 1 : kCount];
    u32 pairs[kPacked ? kCount / 2 : 1];

    // From the thread's first element on.
    static JG_DEVICE u32 offset(u32 i)
    {
        return kByLane ? 8 * i : i / 2 * 8 + i % 2;
    }
    // Elements from `first` on; those from `end` on do not exist, and are 0. Pairs of
    // columns are read at once.
    template <bool kWhole>
    JG_DEVICE void load_from(const T *vector, u32 first, u32 end)
    {
        constexpr bool kSingly = kByLane || !CoordT::kPairs;
        // One address, of which the others are constants away.
        const T *const values_of_thread = vector + first;
#pragma unroll
        for (u32 i = 0; i < kCount; i += kSingly ? 1 : 2) {
            const bool exists = kWhole || first + offset(i) < end;
            const T *const source = values_of_thread + offset(i);
            if constexpr (kSingly) {
                values[i] = exists ? to_f32(*source) : 0.0f;
            } else if constexpr (kPacked) {
                pairs[i / 2] = ptx::load_packed_pair_if(source, exists);
            } else {
                ptx::load_pair_if(values[i], values[i + 1], source, exists);
            }
        }
    }
    JG_DEVICE f32 value(const FragmentIndex &at) const
    {
        if constexpr (kPacked) {
            const u32 pair = pairs[at.group];
            return at.element ? Convert<T>::high(pair) : Convert<T>::low(pair);
        } else {
            return values[kByLane ? 2 * at.fragment + at.half : 2 * at.group + at.element];
        }
    }
};

// values[group][half][element] of two groups as four words of two 16-bit elements: each
// converted where it is stored,
template <class T>
struct FragmentWords {
    const f32 (&values)[2][2][2];

    JG_DEVICE u32 word(u32 i) const
    {
        return Convert<T>::pack(values[i / 2][i % 2][0], values[i / 2][i % 2][1]);
    }
};

// or all before.
struct PackedFragments {
    u32 words[4];

    PackedFragments() = default;
    template <class T>
    JG_DEVICE explicit PackedFragments(const FragmentWords<T> &from)
        : words{from.word(0), from.word(1), from.word(2), from.word(3)}
    {
    }
    JG_DEVICE u32 word(u32 i) const
    {
        return words[i];
    }
};

} // namespace jg
