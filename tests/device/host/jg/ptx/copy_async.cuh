// SPDX-License-Identifier: MIT
// Host meaning of the wrappers of this name: a copy is there at once, and so is the arrival
// of a thread that waits for its copies.
#pragma once
#include "tests/device/host/instructions.h"

#define copy_async        copy_async_by_ptx
#define copy_async_arrive copy_async_arrive_by_ptx
#include "kernel_src/jg/ptx/copy_async.cuh"
#undef copy_async
#undef copy_async_arrive

namespace jg::ptx {

template <u32 kBytes>
void copy_async(u32 target, u64 source, u32 bytes)
{
    u8 word[kBytes] = {};
    const u8 *from = bytes > 0 ? host::find_global(source, kBytes, bytes) : nullptr;
    EXPECT(source % kBytes == 0 && bytes <= kBytes, "a copy of %u bytes", bytes);
    if (from != nullptr) {
        std::memcpy(word, from, bytes);
    }
    host::write_shared(target, word, kBytes);
}
inline void copy_async_arrive(u64 *barrier)
{
    host::barriers[barrier].arrivals[host::cta_rank]++;
}

} // namespace jg::ptx
