// SPDX-License-Identifier: MIT
// Time, and where a CTA runs; for debug builds and traces.
#pragma once
#include <jg/common/types.cuh>

namespace jg::ptx {

// Nanoseconds, the same on all multiprocessors.
JG_DEVICE u64 global_timer_ns()
{
    u64 time;
    // clang-format off
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time) :: "memory");
    // clang-format on
    return time;
}

JG_DEVICE u32 multiprocessor()
{
    u32 number;
    // clang-format off
    asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
    // clang-format on
    return number;
}

// At most a millisecond.
JG_DEVICE void sleep_ns(u32 time)
{
    // clang-format off
    asm volatile("nanosleep.u32 %0;" :: "r"(time) : "memory");
    // clang-format on
}

// Lanes of this warp that run together here.
JG_DEVICE u32 active_lanes()
{
    u32 mask;
    // clang-format off
    asm volatile("activemask.b32 %0;" : "=r"(mask));
    // clang-format on
    return mask;
}

// Makes this thread's writes visible to the host.
JG_DEVICE void fence_system()
{
    // clang-format off
    asm volatile("fence.acq_rel.sys;" ::: "memory");
    // clang-format on
}

// Ends the kernel with an error.
JG_DEVICE void trap()
{
    // clang-format off
    asm volatile("trap;");
    // clang-format on
}

} // namespace jg::ptx
