// SPDX-License-Identifier: MIT
// Host meaning of the wrappers of this name.
#pragma once
#include "tests/device/host/instructions.h"

#define elect_one      elect_one_by_ptx
#define hold           hold_by_ptx
#define read_cta_index read_cta_index_by_ptx
#include "kernel_src/jg/ptx/address.cuh"
#undef elect_one
#undef hold
#undef read_cta_index

namespace jg::ptx {

inline void hold(u32 &) {}
inline void hold(u64 &) {}
inline void hold(f32 &) {}

// Which thread it is is open; it is not the first here.
inline bool elect_one()
{
    return threadIdx.x % 32 == 7;
}

inline u32 read_cta_index()
{
    return blockIdx.x;
}

} // namespace jg::ptx
