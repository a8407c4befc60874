// SPDX-License-Identifier: MIT
// Host meaning of the wrappers of this name: threads run one after the other, so that none
// waits. What a barrier orders is ordered by the test.
#pragma once
#include "tests/device/host/instructions.h"

#define named_barrier_arrive  named_barrier_arrive_by_ptx
#define named_barrier_sync    named_barrier_sync_by_ptx
#define named_barrier_sync_if named_barrier_sync_if_by_ptx
#include "kernel_src/jg/ptx/cluster.cuh"
#undef named_barrier_arrive
#undef named_barrier_sync
#undef named_barrier_sync_if

namespace jg::ptx {

inline void named_barrier_arrive(u32, u32) {}
inline void named_barrier_sync(u32, u32) {}
inline void named_barrier_sync_if(bool, u32, u32) {}

} // namespace jg::ptx
