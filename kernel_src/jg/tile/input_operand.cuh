// SPDX-License-Identifier: MIT
// InputA, InputB: what a CTA has of a block of K of A and of B, and how it lies in shared
// memory: in swizzled rows (tile_swizzle.cuh). K-major, a row is one M or N and the block
// of K, 128 bytes. MN-major, a row is one K and kSwizzleBytes of M or N: 128, or 64 or 32
// where a tile has no multiple of that; a panel is such rows for all of the block, and the
// next elements of M or N are a panel further.
//
// Where two columns of the problem's B make one of a gated D, a tile has kGateRows columns
// of acc0, then as many of acc1, and so on. In the tensor map these columns are a
// dimension, and which accumulator one. In the product's B the two of an element lie that
// far apart in the accumulator. With Config::kGateInA the product's A has them, all of
// acc0 before those of acc1: the tensor core multiplies each by itself. So it does where it
// multiplies by scales, and each CTA of a pair has half of the columns of acc0 and half of
// those of acc1. Neighbours of an MN-major matrix, or whose scales lie in pieces, which no
// copy takes apart, come as they are (kGateColumns is 1).
//
// Beside elements of 8 bits those of 4 have a byte each of shared memory, as the tensor
// core takes them: copies bring 16 of them in 8 bytes and leave a gap of 8. Bytes that
// count at a barrier are those that come, without gaps.
//
// A tile whose last rows no problem of the kernel has may be loaded without them: a copy
// takes longer to fill rows with zeros than to bring them. What lies there is multiplied,
// each row to rows or columns of the accumulator that are no elements of D.
//
// Whoever loads or multiplies a tile obeys these constants.
#pragma once
#include <jg/common/block_scale.cuh>
#include <jg/tile/tile_swizzle.cuh>

namespace jg {

// Bits that an element of A and of B has in shared memory.
template <class Config>
constexpr u32 kTileBits = (kBits<typename Config::A> < kBits<typename Config::B>)
                              ? kBits<typename Config::B>
                              : kBits<typename Config::A>;

template <class Element, bool kIsKMajor, u32 kRowsOfCta, u32 kRowBytes, u32 kAtomBytes,
          u32 kGate = 0, u32 kElementBits = kBits<Element>, u32 kRowsLoaded = kRowsOfCta>
struct InputOperand {
    using Type = Element;
    using Swizzle = TileSwizzle<kRowBytes, kAtomBytes>;
    enum : bool { kKMajor = kIsKMajor };
    enum : u32 {
        kRows = kRowsOfCta, // of M or N
        kLoadedRows = kRowsLoaded,
        kGateRows = kGate, // 0: one accumulator, or the other operand's
        kBlockK = 8 * 128 / kElementBits,
        kBlockBytes = kRows * 128,
        kLoadedBytes = kLoadedRows * 128 / kElementBits * kBits<Type>,
        kSwizzleBytes = kRowBytes,
        kPanelRows = 8 * kSwizzleBytes / kBits<Type>, // of M or N
        kPanelBytes = kBlockK * kSwizzleBytes,
    };
    static_assert(kKMajor || kRows % kPanelRows == 0, "whole panels");
    static_assert(!kKMajor || kSwizzleBytes == 128, "a block of K");
    static_assert(kLoadedRows == kRows || (kKMajor && kGate == 0), "rows of one box");
    static_assert(kKMajor || kElementBits == kBits<Type>, "elements with gaps lie along K");
    static_assert(kGateRows % (kKMajor ? 8 : kPanelRows) == 0, "whole boxes of each half");

    // Row `row` of the product: which of those of acc0 or acc1, and which of both.
    static JG_DEVICE u32 row_of_half(u32 row)
    {
        return kGateRows > 0 ? row / (2 * kGateRows) * kGateRows + row % kGateRows : row;
    }
    static JG_DEVICE u32 half(u32 row)
    {
        return kGateRows > 0 ? row / kGateRows % 2 : 0;
    }
};

template <class Config>
using InputA = InputOperand<typename Config::A, Config::kAKMajor, Config::kBlockM,
                            Config::kASwizzleBytes, Config::kASwizzleAtom,
                            Config::kGateInA ? Config::kBlockM / 2 : 0, kTileBits<Config>,
                            Config::kALoadedRows>;

template <class Config>
constexpr JG_DEVICE u32 gate_rows_of_b()
{
    if (Config::kGateInA || Config::kGateColumns <= 1) {
        return 0;
    }
    return is_block_scaled<Config>() ? Config::kBlockN / 2 / Config::kCtaGroup
                                     : Config::kGateColumns;
}

// Of a pair of CTAs each has half of the columns.
template <class Config>
using InputB =
    InputOperand<typename Config::B, Config::kBKMajor, Config::kBlockN / Config::kCtaGroup,
                 Config::kBSwizzleBytes, Config::kBSwizzleAtom, gate_rows_of_b<Config>(),
                 kTileBits<Config>, Config::kBLoadedRows>;

} // namespace jg
