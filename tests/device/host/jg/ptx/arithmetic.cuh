// SPDX-License-Identifier: MIT
// Host meaning of the wrappers of this name. `exp2_error` is what the device's power of 2
// may be off by, relative; a test goes to both ends of it.
#pragma once
#include "tests/device/host/check.h"

#define min_nan           min_nan_by_ptx
#define max_nan           max_nan_by_ptx
#define exp2_approx       exp2_approx_by_ptx
#define reciprocal_approx reciprocal_approx_by_ptx
#define philox_rounds     philox_rounds_by_ptx
#include "kernel_src/jg/ptx/arithmetic.cuh"
#undef min_nan
#undef max_nan
#undef exp2_approx
#undef reciprocal_approx
#undef philox_rounds

namespace jg::ptx {

inline double exp2_error = 0;

inline f32 min_nan(f32 x, f32 y)
{
    return std::isnan(x) || x < y ? x : y;
}
inline f32 max_nan(f32 x, f32 y)
{
    return std::isnan(x) || x > y ? x : y;
}
inline void philox_rounds(u32 (&words)[4], const u32 (&keys0)[10], const u32 (&keys1)[10])
{
    for (u32 round = 0; round < 10; ++round) {
        const u64 product0 = u64{words[0]} * 0xd2511f53;
        const u64 product1 = u64{words[2]} * 0xcd9e8d57;
        words[0] = static_cast<u32>(product1 >> 32) ^ words[1] ^ keys0[round];
        words[1] = static_cast<u32>(product1);
        words[2] = static_cast<u32>(product0 >> 32) ^ words[3] ^ keys1[round];
        words[3] = static_cast<u32>(product0);
    }
}
inline f32 exp2_approx(f32 x)
{
    const f32 power = static_cast<f32>(std::exp2(double{x}) * (1 + exp2_error));
    return power < 0x1p-126f ? 0 : power;
}

// The nearest. What the device's is off by, the steps that follow make up for, which are
// those of the compiler's own 1 / x.
inline f32 reciprocal_approx(f32 x)
{
    return 1 / x;
}

} // namespace jg::ptx
