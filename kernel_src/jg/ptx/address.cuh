// SPDX-License-Identifier: MIT
// Shared-memory addresses as PTX wants them, who this thread is, and what its neighbours
// have.
#pragma once
#include <jg/common/types.cuh>

namespace jg::ptx {

JG_DEVICE u32 shared_address(const void *pointer)
{
    return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

// Makes a value unknown to the compiler, which would else compute what depends on it long
// before, and keep each of several results in a register of its own.
JG_DEVICE void hold(u32 &value)
{
    // clang-format off
    asm volatile("" : "+r"(value));
    // clang-format on
}
JG_DEVICE void hold(u64 &value)
{
    // clang-format off
    asm volatile("" : "+l"(value));
    // clang-format on
}
JG_DEVICE void hold(f32 &value)
{
    // clang-format off
    asm volatile("" : "+f"(value));
    // clang-format on
}

// The CTA's number, read anew by each caller: a variable that the roles share lives as long
// as all of them, and one was spilled beside 128 sums of a thread.
JG_DEVICE u32 read_cta_index()
{
    u32 index;
    asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(index));
    return index;
}

// The warp's index in the CTA, as a value that the compiler knows to be uniform.
JG_DEVICE u32 warp_index()
{
    return __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);
}

// True in one lane of a converged warp. Call it inside the branch that uses it.
JG_DEVICE bool elect_one()
{
    u32 elected;
    // clang-format off
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "elect.sync _|p, 0xffffffff;\n"
                 "selp.u32 %0, 1, 0, p;\n"
                 "}\n" : "=r"(elected));
    // clang-format on
    return elected != 0;
}

// What the lane has whose number differs in `bits`. All lanes of the warp.
JG_DEVICE f32 exchange_lanes(f32 value, u32 bits)
{
    f32 other;
    // clang-format off
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;"
                 : "=f"(other) : "f"(value), "r"(bits));
    // clang-format on
    return other;
}

// What lane `lane` has. All lanes of the warp.
JG_DEVICE f32 read_lane(f32 value, u32 lane)
{
    f32 other;
    // clang-format off
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;"
                 : "=f"(other) : "f"(value), "r"(lane));
    // clang-format on
    return other;
}

} // namespace jg::ptx
