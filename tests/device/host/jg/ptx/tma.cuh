// SPDX-License-Identifier: MIT
// Host meaning of the wrappers of this name: a copy is written down.
#pragma once
#include "tests/device/host/instructions.h"

#define tma_load                 tma_load_by_ptx
#define tma_load_multicast       tma_load_multicast_by_ptx
#define tma_store                tma_store_by_ptx
#define tma_store_commit         tma_store_commit_by_ptx
#define tma_store_wait_read      tma_store_wait_read_by_ptx
#define fence_proxy_async_shared fence_proxy_async_shared_by_ptx
#include "kernel_src/jg/ptx/tma.cuh"
#undef tma_load
#undef tma_load_multicast
#undef tma_store
#undef tma_store_commit
#undef tma_store_wait_read
#undef fence_proxy_async_shared

namespace jg::ptx {

inline void tma_load(void *target, const TensorMap *map, u64 *, i32 inner, i32 outer,
                     i32 batch)
{
    host::box_loads.push_back({map, shared_address(target), inner, outer, batch, 0});
}
inline void tma_load(void *target, const TensorMap *map, u64 *, i32 inner, i32 outer,
                     i32 half, i32 batch)
{
    host::box_loads.push_back({map, shared_address(target), inner, outer, batch, half});
}
inline void tma_load_multicast(void *target, const TensorMap *map, u64 *barrier, u16,
                               i32 inner, i32 outer, i32 half, i32 batch)
{
    tma_load(target, map, barrier, inner, outer, half, batch);
}
inline void tma_load_multicast(void *target, const TensorMap *map, u64 *barrier, u16,
                               i32 inner, i32 outer, i32 batch)
{
    tma_load(target, map, barrier, inner, outer, batch);
}
inline void tma_store(const void *source, const TensorMap *map, i32 inner, i32 outer,
                      i32 batch)
{
    host::box_stores.push_back({map, shared_address(source), inner, outer, batch, 0});
}
inline void tma_store_commit() {}
template <u32 kPending>
void tma_store_wait_read()
{
}
inline void fence_proxy_async_shared() {}

} // namespace jg::ptx
