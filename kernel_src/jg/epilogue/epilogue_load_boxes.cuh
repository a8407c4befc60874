// SPDX-License-Identifier: MIT
// EpilogueLoadBoxes: the shared memory of an epilogue-load ring (epilogue_load.cuh), a box
// of a whole step for each of its stages; nothing where there is no such ring.
#pragma once
#include <jg/common/types.cuh>

namespace jg {

template <u32 kStages, u32 kBytes>
struct EpilogueLoadBoxes {
    u8 boxes[kStages][kBytes];
};
template <u32 kBytes>
struct EpilogueLoadBoxes<0, kBytes> {
};

} // namespace jg
