// SPDX-License-Identifier: MIT
// Tensor maps that a kernel makes: fields of one in shared memory, its way to global
// memory, and the fence before it is used. PTX ISA: tensormap.replace,
// tensormap.cp_fenceproxy, membar.
#pragma once
#include <jg/ptx/address.cuh>

namespace jg::ptx {

// Of the map in shared memory at `map`, by one thread.
JG_DEVICE void replace_map_address(u32 map, u64 address)
{
    // clang-format off
    asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;"
                 :: "r"(map), "l"(address) : "memory");
    // clang-format on
}

// Elements of a dimension.
template <int kDim>
JG_DEVICE void replace_map_size(u32 map, u32 elements)
{
    // clang-format off
    asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], %1, %2;"
                 :: "r"(map), "n"(kDim), "r"(elements) : "memory");
    // clang-format on
}

// Bytes from one element to the next of dimension kDim + 1.
template <int kDim>
JG_DEVICE void replace_map_stride(u32 map, u64 bytes)
{
    // clang-format off
    asm volatile("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], %1, %2;"
                 :: "r"(map), "n"(kDim), "l"(bytes) : "memory");
    // clang-format on
}

// From shared to global memory, by a whole warp, and a release: who acquires it afterwards
// loads by what was copied.
JG_DEVICE void publish_map(u64 target, u32 source)
{
    // clang-format off
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu"
                 ".sync.aligned [%0], [%1], 128;"
                 :: "l"(target), "r"(source) : "memory");
    // clang-format on
}

// Before this thread's first use of a map that another kernel has published.
JG_DEVICE void acquire_map(const TensorMap *map)
{
    // clang-format off
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;"
                 :: "l"(map) : "memory");
    // clang-format on
}

} // namespace jg::ptx
