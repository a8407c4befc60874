// SPDX-License-Identifier: MIT
// Host meaning of the wrappers of this name.
#pragma once
#include "tests/device/host/instructions.h"

#define tcgen05_allocate   tcgen05_allocate_by_ptx
#define tcgen05_relinquish tcgen05_relinquish_by_ptx
#define tcgen05_free       tcgen05_free_by_ptx
#define tcgen05_load       tcgen05_load_by_ptx
#define tcgen05_wait_load  tcgen05_wait_load_by_ptx
#define tcgen05_mma        tcgen05_mma_by_ptx
#include "kernel_src/jg/ptx/tcgen05.cuh"
#undef tcgen05_allocate
#undef tcgen05_relinquish
#undef tcgen05_free
#undef tcgen05_load
#undef tcgen05_wait_load
#undef tcgen05_mma

namespace jg::ptx {

template <u32 kCtaGroup>
void tcgen05_allocate(u32 *target, u32 columns)
{
    host::tmem_allocations[host::tmem_free] = {columns, kCtaGroup};
    *target = host::tmem_free;
}
template <u32 kCtaGroup>
void tcgen05_relinquish()
{
}
template <u32 kCtaGroup>
void tcgen05_free(u32 address, u32 columns)
{
    const auto found = host::tmem_allocations.find(address);
    EXPECT(found != host::tmem_allocations.end() && found->second.columns == columns &&
               found->second.group == kCtaGroup,
           "%u columns at %u are freed, which were not allocated so", columns, address);
    host::tmem_allocations.erase(address);
}

// PTX ISA, tcgen05.ld and st of shape 16x256b: of each 8 columns a lane has two neighbours
// of row lane / 4, and the same of the row 8 below. A warp reaches the 32 lanes of its
// number.
template <u32 kCount>
f32 &tcgen05_place(u32 address, u32 i)
{
    const u32 lane = threadIdx.x % 32, first = address >> 16, col = address & 0xffffu;
    EXPECT(first / 32 == threadIdx.x / 32 % 4 && first % 16 == 0 &&
               col + 2 * kCount <= host::TMEM_COLUMNS,
           "tensor memory at %x of thread %u", address, threadIdx.x);
    return host::tensor_memory[first + lane / 4 + i / 2 % 2 * 8]
                              [col + i / 4 * 8 + lane % 4 * 2 + i % 2];
}
template <u32 kCount>
void tcgen05_load(f32 *v, u32 address)
{
    for (u32 i = 0; i < kCount; ++i) {
        v[i] = tcgen05_place<kCount>(address, i);
    }
}
template <u32 kFragments, u32 kCount>
void tcgen05_wait_load(f32 (&)[kFragments][kCount])
{
}

template <u32 kCtaGroup, Tcgen05Kind>
void tcgen05_mma(u32 d, u64 a, u64 b, u32 instruction, u32 accumulate)
{
    EXPECT(d == host::ACCUMULATOR, "sums at column %u", d);
    host::products.push_back({a, b, instruction, accumulate != 0});
}

} // namespace jg::ptx
