// SPDX-License-Identifier: MIT
// Host meaning of the wrappers of this name: a product is written down, and each element of
// it is 1.
#pragma once
#include "tests/device/host/instructions.h"

#define Wgmma                wgmma_by_ptx
#define wgmma_fence          wgmma_fence_by_ptx
#define wgmma_commit         wgmma_commit_by_ptx
#define wgmma_wait           wgmma_wait_by_ptx
#define wgmma_hold_registers wgmma_hold_registers_by_ptx
#include "kernel_src/jg/ptx/wgmma.cuh"
#undef Wgmma
#undef wgmma_fence
#undef wgmma_commit
#undef wgmma_wait
#undef wgmma_hold_registers

namespace jg::ptx {

// A statement has four instructions, each 32 bytes of K further.
template <class A, class B, u32 kN, bool kAKMajor, bool kBKMajor>
struct Wgmma {
    using Steps = WgmmaSteps<A, B, kAKMajor, kBKMajor>;

    template <class Sum>
    static void issue(Sum (&sums)[kN / 2], u64 a, u64 b, u32 accumulate)
    {
        for (Sum &sum : sums) {
            sum = accumulate != 0 ? sum + 1 : 1;
        }
        for (u32 i = 0; i < 4; ++i) {
            host::products.push_back({a + i * Steps::kAStep, b + i * Steps::kBStep, 0,
                                      i > 0 || accumulate != 0});
        }
    }
};

inline void wgmma_fence() {}
inline void wgmma_commit() {}
template <u32 kPending>
void wgmma_wait()
{
}
template <u32 kCount>
void wgmma_hold_registers(f32 (&)[kCount])
{
}

} // namespace jg::ptx
