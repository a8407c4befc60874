// SPDX-License-Identifier: MIT
// Scales of one byte of A and B, in any layout and one for a row or for 128 of them, to
// what the tensor core takes: one for each row, in pieces of 128x4 (docs/scales.md). A
// second entry of the unit of lib/source/assemble.c; the kernel of the product waits for
// this grid. The host has checked addresses and sizes, and gives rows of 0 where there is
// nothing to do.
#pragma once
#include <jg/pack/pack_kernel.cuh>
#include <jg/ptx/cluster.cuh>

namespace jg::pack {

// The kernel's parameter; the host fills the same struct (lib/plan/scale_pack.h).
struct PackScalesParams {
    PackParams a, b; // of the product's
};

// Of a matrix whose scales lie as they should, or that has none.
struct NoPacking {};
// One scale lies there for so many rows.
template <ScaleLayout kLayout, u32 kRows>
struct ToPieces {
    enum : u32 {
        kElementBytes = 1,
        kScaleRows = kRows,
    };
    static constexpr ScaleLayout kFrom = kLayout;
    static constexpr ScaleLayout kTo = ScaleLayout::k128x4;
};

template <class Packing>
JG_DEVICE void pack_side(const PackParams &params)
{
    if constexpr (!IsSame<Packing, NoPacking>::value) {
        pack_all<Packing>(params);
    }
}

template <class APacking, class BPacking, bool kPdl>
JG_DEVICE void pack_scales_kernel(const PackScalesParams &params)
{
    // What the grid before has written is there, and nobody reads the pieces before these.
    // The product's grid may begin when all of this one runs.
    if constexpr (kPdl) {
        ptx::grid_dependency_wait();
        ptx::launch_dependent_grids();
    }
    pack_side<APacking>(params.a);
    pack_side<BPacking>(params.b);
}

} // namespace jg::pack
