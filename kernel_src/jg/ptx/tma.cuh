// SPDX-License-Identifier: MIT
// TMA, the bulk tensor copies, of three-dimensional maps: (inner, outer, batch) in
// elements. Loads of four-dimensional ones have another coordinate before the batch.
#pragma once
#include <jg/ptx/address.cuh>

namespace jg::ptx {

JG_DEVICE void prefetch_tensor_map(const TensorMap *map)
{
    // clang-format off
    asm volatile("prefetch.tensormap [%0];" :: "l"(map) : "memory");
    // clang-format on
}

// Global to this CTA's shared memory; the box's bytes count towards `barrier`.
JG_DEVICE void tma_load(void *target, const TensorMap *map, u64 *barrier, i32 inner,
                        i32 outer, i32 batch)
{
    // clang-format off
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%3, %4, %5}], [%2];"
                 :: "r"(shared_address(target)), "l"(map), "r"(shared_address(barrier)),
                    "r"(inner), "r"(outer), "r"(batch) : "memory");
    // clang-format on
}
JG_DEVICE void tma_load(void *target, const TensorMap *map, u64 *barrier, i32 inner,
                        i32 outer, i32 half, i32 batch)
{
    // clang-format off
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%3, %4, %5, %6}], [%2];"
                 :: "r"(shared_address(target)), "l"(map), "r"(shared_address(barrier)),
                    "r"(inner), "r"(outer), "r"(half), "r"(batch) : "memory");
    // clang-format on
}

// The same into every CTA of `mask`, at the same offset; each one's barrier gets the bytes.
JG_DEVICE void tma_load_multicast(void *target, const TensorMap *map, u64 *barrier,
                                  u16 mask, i32 inner, i32 outer, i32 batch)
{
    // clang-format off
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%4, %5, %6}], [%2], %3;"
                 :: "r"(shared_address(target)), "l"(map), "r"(shared_address(barrier)),
                    "h"(mask), "r"(inner), "r"(outer), "r"(batch) : "memory");
    // clang-format on
}
JG_DEVICE void tma_load_multicast(void *target, const TensorMap *map, u64 *barrier,
                                  u16 mask, i32 inner, i32 outer, i32 half, i32 batch)
{
    // clang-format off
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%4, %5, %6, %7}], [%2], %3;"
                 :: "r"(shared_address(target)), "l"(map), "r"(shared_address(barrier)),
                    "h"(mask), "r"(inner), "r"(outer), "r"(half), "r"(batch) : "memory");
    // clang-format on
}

// Of lines that nobody else will ask for: L2 gives them up before all others.
JG_DEVICE u64 evict_first_policy()
{
    u64 policy;
    // clang-format off
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    // clang-format on
    return policy;
}

// As tma_load and tma_load_multicast, of such lines.
JG_DEVICE void tma_load_evict_first(void *target, const TensorMap *map, u64 *barrier,
                                    i32 inner, i32 outer, i32 batch)
{
    // clang-format off
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 ".L2::cache_hint [%0], [%1, {%3, %4, %5}], [%2], %6;"
                 :: "r"(shared_address(target)), "l"(map), "r"(shared_address(barrier)),
                    "r"(inner), "r"(outer), "r"(batch), "l"(evict_first_policy()) : "memory");
    // clang-format on
}
JG_DEVICE void tma_load_multicast_evict_first(void *target, const TensorMap *map,
                                              u64 *barrier, u16 mask, i32 inner, i32 outer,
                                              i32 batch)
{
    // clang-format off
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 ".multicast::cluster.L2::cache_hint [%0], [%1, {%4, %5, %6}], [%2], %3, %7;"
                 :: "r"(shared_address(target)), "l"(map), "r"(shared_address(barrier)),
                    "h"(mask), "r"(inner), "r"(outer), "r"(batch), "l"(evict_first_policy())
                 : "memory");
    // clang-format on
}

// Global to L2 only.
JG_DEVICE void tma_prefetch(const TensorMap *map, i32 inner, i32 outer, i32 batch)
{
    // clang-format off
    asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global.tile [%0, {%1, %2, %3}];"
                 :: "l"(map), "r"(inner), "r"(outer), "r"(batch) : "memory");
    // clang-format on
}
JG_DEVICE void tma_prefetch(const TensorMap *map, i32 inner, i32 outer, i32 half, i32 batch)
{
    // clang-format off
    asm volatile("cp.async.bulk.prefetch.tensor.4d.L2.global.tile [%0, {%1, %2, %3, %4}];"
                 :: "l"(map), "r"(inner), "r"(outer), "r"(half), "r"(batch) : "memory");
    // clang-format on
}

// Bits of a shared-memory address that name the CTA of the cluster begin at 24; without the
// lowest of them it is the address in the leader CTA of the pair.
enum : u32 { kEvenCtaOfPair = 0xfeffffff };

// The same two for a CTA of a pair: the data come here (and to `mask`), the bytes count
// towards the barrier of the pair's leader CTA. sm_100a and newer.
JG_DEVICE void tma_load_pair(void *target, const TensorMap *map, u64 *barrier, i32 inner,
                             i32 outer, i32 batch)
{
    // clang-format off
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 ".cta_group::2 [%0], [%1, {%3, %4, %5}], [%2];"
                 :: "r"(shared_address(target)), "l"(map),
                    "r"(shared_address(barrier) & kEvenCtaOfPair),
                    "r"(inner), "r"(outer), "r"(batch) : "memory");
    // clang-format on
}
JG_DEVICE void tma_load_pair(void *target, const TensorMap *map, u64 *barrier, i32 inner,
                             i32 outer, i32 half, i32 batch)
{
    // clang-format off
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 ".cta_group::2 [%0], [%1, {%3, %4, %5, %6}], [%2];"
                 :: "r"(shared_address(target)), "l"(map),
                    "r"(shared_address(barrier) & kEvenCtaOfPair),
                    "r"(inner), "r"(outer), "r"(half), "r"(batch) : "memory");
    // clang-format on
}

JG_DEVICE void tma_load_pair_multicast(void *target, const TensorMap *map, u64 *barrier,
                                       u16 mask, i32 inner, i32 outer, i32 batch)
{
    // clang-format off
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 ".multicast::cluster.cta_group::2 [%0], [%1, {%4, %5, %6}], [%2], %3;"
                 :: "r"(shared_address(target)), "l"(map),
                    "r"(shared_address(barrier) & kEvenCtaOfPair),
                    "h"(mask), "r"(inner), "r"(outer), "r"(batch) : "memory");
    // clang-format on
}
JG_DEVICE void tma_load_pair_multicast(void *target, const TensorMap *map, u64 *barrier,
                                       u16 mask, i32 inner, i32 outer, i32 half, i32 batch)
{
    // clang-format off
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 ".multicast::cluster.cta_group::2 [%0], [%1, {%4, %5, %6, %7}], [%2], %3;"
                 :: "r"(shared_address(target)), "l"(map),
                    "r"(shared_address(barrier) & kEvenCtaOfPair),
                    "h"(mask), "r"(inner), "r"(outer), "r"(half), "r"(batch) : "memory");
    // clang-format on
}

// Shared memory to global; what lies outside the tensor is not written.
JG_DEVICE void tma_store(const void *source, const TensorMap *map, i32 inner, i32 outer,
                         i32 batch)
{
    // clang-format off
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group"
                 " [%1, {%2, %3, %4}], [%0];"
                 :: "r"(shared_address(source)), "l"(map), "r"(inner), "r"(outer), "r"(batch)
                 : "memory");
    // clang-format on
}

// `bytes` of them, a multiple of 16, as they lie; complete as tma_store is.
JG_DEVICE void bulk_store(u64 target, const void *source, u32 bytes)
{
    // clang-format off
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 :: "l"(target), "r"(shared_address(source)), "r"(bytes) : "memory");
    // clang-format on
}

JG_DEVICE void tma_store_commit()
{
    // clang-format off
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    // clang-format on
}

// Waits until at most kPending of this thread's groups still read their shared memory.
template <u32 kPending>
JG_DEVICE void tma_store_wait_read()
{
    // clang-format off
    asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(kPending) : "memory");
    // clang-format on
}

// Waits until all of this thread's groups are complete.
JG_DEVICE void tma_store_wait_all()
{
    // clang-format off
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    // clang-format on
}

// Orders this thread's shared-memory writes before later accesses of TMA.
JG_DEVICE void fence_proxy_async_shared()
{
    // clang-format off
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    // clang-format on
}

// The same of the shared memory of all CTAs of the cluster.
JG_DEVICE void fence_proxy_async_cluster()
{
    // clang-format off
    asm volatile("fence.proxy.async.shared::cluster;" ::: "memory");
    // clang-format on
}

} // namespace jg::ptx
