// SPDX-License-Identifier: MIT
// Host meaning of the wrappers of this name.
#pragma once
#include <jg/ptx/tcgen05.cuh>

#define tcgen05_store      tcgen05_store_by_ptx
#define tcgen05_wait_store tcgen05_wait_store_by_ptx
#include "kernel_src/jg/ptx/tcgen05_store.cuh"
#undef tcgen05_store
#undef tcgen05_wait_store

namespace jg::ptx {

template <u32 kCount>
void tcgen05_store(u32 address, const f32 *v)
{
    for (u32 i = 0; i < kCount; ++i) {
        tcgen05_place<kCount>(address, i) = v[i];
    }
}
inline void tcgen05_wait_store() {}

} // namespace jg::ptx
