// SPDX-License-Identifier: MIT
// TileSwizzle: where the bytes of a tile's rows lie in shared memory.
//
// A row has kBytes. The hardware exchanges its atoms by the number of the 128 bytes that
// they lie in. An atom is 16 bytes; 32 where elements of 32 bits lie along M or N, which
// the tensor core takes in no other way, and only in rows of 128 bytes. The plan decides
// both (lib/plan/box.h).
#pragma once
#include <jg/common/types.cuh>

namespace jg {

template <u32 kRowBytes, u32 kAtomBytes>
struct TileSwizzle {
    enum : u32 {
        kBytes = kRowBytes,
        kAtom = kAtomBytes,
        kAtoms = kBytes / kAtom,
        kGroupRows = kAtom == 32 ? 4 : 8, // after which it repeats
    };
    static_assert(kBytes == 128 ? kAtom == 16 || kAtom == 32
                                : kAtom == 16 && (kBytes == 64 || kBytes == 32),
                  "what the hardware has");

    // Of the byte that would lie at `offset` of a tile without swizzle.
    static constexpr JG_DEVICE u32 swizzled_offset(u32 offset)
    {
        return offset ^ offset / 128 % kAtoms * kAtom;
    }
};

} // namespace jg
