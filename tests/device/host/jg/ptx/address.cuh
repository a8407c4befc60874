// SPDX-License-Identifier: MIT
// Host meaning of the wrappers of this name.
#pragma once
#include "tests/device/host/instructions.h"

#define elect_one elect_one_by_ptx
#include "kernel_src/jg/ptx/address.cuh"
#undef elect_one

namespace jg::ptx {

// Which thread it is is open; it is not the first here.
inline bool elect_one()
{
    return threadIdx.x % 32 == 7;
}

} // namespace jg::ptx
