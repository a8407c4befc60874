// SPDX-License-Identifier: MIT
// Host meaning of the wrappers of this name: a product is written down, and each element of
// it is 1.
#pragma once
#include "tests/device/host/instructions.h"

#define Wgmma        wgmma_by_ptx
#define wgmma_fence  wgmma_fence_by_ptx
#define wgmma_commit wgmma_commit_by_ptx
#define wgmma_wait   wgmma_wait_by_ptx
#include "kernel_src/jg/ptx/wgmma.cuh"
#undef Wgmma
#undef wgmma_fence
#undef wgmma_commit
#undef wgmma_wait

namespace jg::ptx {

// A statement has four instructions, each 32 bytes of K further. Registers are those of the
// thread that runs; what was never declared aborts.
template <class A, class B, u32 kN, bool kAKMajor, bool kBKMajor>
struct Wgmma {
    using Steps = WgmmaSteps<A, B, kAKMajor, kBKMajor>;

    template <u32 kWhich>
    static void declare()
    {
        is_declared<kWhich> = true;
    }
    template <u32 kWhich>
    static void issue(u64 a, u64 b, u32 accumulate)
    {
        if (!is_declared<kWhich>) {
            abort();
        }
        sum<kWhich> = accumulate != 0 ? sum<kWhich> + 1 : 1;
        for (u32 i = 0; i < 4; ++i) {
            host::products.push_back({a + i * Steps::kAStep, b + i * Steps::kBStep, 0,
                                      i > 0 || accumulate != 0});
        }
    }
    template <u32 kWhich>
    static void clear()
    {
        sum<kWhich> = 0;
    }
    template <u32 kWhich, class Accumulator>
    static void take(Accumulator (&sums)[kN / 2])
    {
        std::fill_n(sums, kN / 2, static_cast<Accumulator>(sum<kWhich>));
    }

  private:
    template <u32 kWhich>
    static inline thread_local bool is_declared = false;
    template <u32 kWhich>
    static inline thread_local i32 sum = 0; // of each of its registers
};

inline void wgmma_fence() {}
inline void wgmma_commit() {}
template <u32 kPending>
void wgmma_wait()
{
}

} // namespace jg::ptx
