// SPDX-License-Identifier: MIT
// VectorCursor: where a thread of VectorEpilogue is in a step, at a row of its warp's part
// and at a vector of D. Waits for nothing.
#pragma once
#include <jg/common/types.cuh>

namespace jg {

// Of passes of kPassRows rows of kAcross vectors.
template <class CoordT, class D, class Staging, u32 kAcross, u32 kPassRows>
struct VectorCursor {
    u32 lane;
    u32 pass, i; // of the turn that begins with that pass
    CoordT coord;
    D *target;
    Staging staged;

    JG_DEVICE u32 row() const
    {
        return kPassRows * pass + (kPassRows * i + lane / kAcross);
    }
    JG_DEVICE u32 vector() const
    {
        return lane % kAcross;
    }
    JG_DEVICE void end_vector() const {} // its vector is stored
};

} // namespace jg
