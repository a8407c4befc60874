// SPDX-License-Identifier: MIT
// TileSwizzle: where the bytes of a tile's rows lie in shared memory.
//
// The hardware exchanges units of a row's kSpan bytes by the number of the 128 bytes that
// they lie in. A unit is 16 bytes; 32 where elements of 32 bits lie along M or N, which the
// tensor core takes in no other way, and only in rows of 128 bytes.
#pragma once
#include <jg/common/types.cuh>

namespace jg {

template <class T, bool kKMajor, u32 kSpan>
struct TileSwizzle {
    static constexpr u32 kUnit = !kKMajor && sizeof(T) == 4 ? 32 : 16;
    static constexpr u32 kUnits = kSpan / kUnit;
    static constexpr u32 kGroupRows = kUnit == 32 ? 4 : 8; // after which it repeats
    static_assert(kSpan == 128 || (kUnit == 16 && (kSpan == 64 || kSpan == 32)),
                  "what the hardware has");

    // Of the byte that would lie at `offset` of a tile without swizzle.
    static constexpr JG_DEVICE u32 place(u32 offset)
    {
        return offset ^ offset / 128 % kUnits * kUnit;
    }
};

} // namespace jg
