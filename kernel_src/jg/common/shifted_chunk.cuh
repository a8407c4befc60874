// SPDX-License-Identifier: MIT
// ShiftedChunk: 16 bytes that begin anywhere in two neighbouring chunks of 16.
#pragma once
#include <jg/common/types.cuh>

namespace jg {

enum : u32 {
    kChunkBytes = 16,
    kChunkWords = kChunkBytes / 4,
};

struct ShiftedChunk {
    u32 words[kChunkWords];

    // What begins `bytes` bytes, fewer than 16, into the two.
    JG_DEVICE ShiftedChunk(const u32 (&pair)[2 * kChunkWords], u32 bytes)
    {
        u32 by_8[6], by_4[5];
#pragma unroll
        for (u32 i = 0; i < 6; ++i) {
            by_8[i] = bytes & 8 ? pair[i + 2] : pair[i];
        }
#pragma unroll
        for (u32 i = 0; i < 5; ++i) {
            by_4[i] = bytes & 4 ? by_8[i + 1] : by_8[i];
        }
#pragma unroll
        for (u32 i = 0; i < kChunkWords; ++i) {
            words[i] = __funnelshift_r(by_4[i], by_4[i + 1], bytes % 4 * 8);
        }
    }
};

} // namespace jg
