// SPDX-License-Identifier: MIT
// mbarrier: arrivals and transferred bytes complete a phase; waits name the phase by its
// parity.
#pragma once
#include <jg/ptx/address.cuh>

namespace jg::ptx {

// Call from one thread, then fence_mbarrier_init, then synchronise whoever uses the
// barrier.
JG_DEVICE void mbarrier_init(u64 *barrier, u32 arrivals)
{
    // clang-format off
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                 :: "r"(shared_address(barrier)), "r"(arrivals) : "memory");
    // clang-format on
}

// Makes initialised barriers visible to the cluster and to the async proxy.
JG_DEVICE void fence_mbarrier_init()
{
    // clang-format off
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    // clang-format on
}

// Announces `bytes` of bulk copies to come in this phase, which other arrivals complete.
JG_DEVICE void mbarrier_expect_bytes(u64 *barrier, u32 bytes)
{
    // clang-format off
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
                 :: "r"(shared_address(barrier)), "r"(bytes) : "memory");
    // clang-format on
}

// One arrival that also announces `bytes` of bulk copies to come in this phase.
JG_DEVICE void mbarrier_arrive_expect_bytes(u64 *barrier, u32 bytes)
{
    // clang-format off
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(shared_address(barrier)), "r"(bytes) : "memory");
    // clang-format on
}

// One arrival on this CTA's barrier, releasing this thread's earlier accesses.
JG_DEVICE void mbarrier_arrive(u64 *barrier)
{
    // clang-format off
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
                 :: "r"(shared_address(barrier)) : "memory");
    // clang-format on
}

// One arrival on the barrier at the same offset in the CTA of this rank of the cluster.
// Orders no ordinary memory beyond the CTA: it says that reads are over: of the tensor
// core, waited for, or of all threads, before a named barrier. (A release at cluster scope
// would flush to L2 at every step of the main loop.)
JG_DEVICE void mbarrier_arrive_remote(u64 *barrier, u32 cta_rank)
{
    // clang-format off
    asm volatile("{\n"
                 ".reg .b32 remote;\n"
                 "mapa.shared::cluster.u32 remote, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
                 "}\n" :: "r"(shared_address(barrier)), "r"(cta_rank) : "memory");
    // clang-format on
}

// The same, releasing this thread's earlier accesses to the cluster, reads of the others'
// shared memory too.
JG_DEVICE void mbarrier_arrive_release(u64 *barrier, u32 cta_rank)
{
    // clang-format off
    asm volatile("{\n"
                 ".reg .b32 remote;\n"
                 "mapa.shared::cluster.u32 remote, %0, %1;\n"
                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n"
                 "}\n" :: "r"(shared_address(barrier)), "r"(cta_rank) : "memory");
    // clang-format on
}

// The same; orders no memory at all: see fence_release_shared.
JG_DEVICE void mbarrier_arrive_relaxed(u64 *barrier, u32 cta_rank)
{
    // clang-format off
    asm volatile("{\n"
                 ".reg .b32 remote;\n"
                 "mapa.shared::cluster.u32 remote, %0, %1;\n"
                 "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [remote];\n"
                 "}\n" :: "r"(shared_address(barrier)), "r"(cta_rank) : "memory");
    // clang-format on
}

// The same, announcing `bytes` that come in this phase.
JG_DEVICE void mbarrier_arrive_expect_bytes_relaxed(u64 *barrier, u32 bytes, u32 cta_rank)
{
    // clang-format off
    asm volatile("{\n"
                 ".reg .b32 remote;\n"
                 "mapa.shared::cluster.u32 remote, %0, %2;\n"
                 "mbarrier.arrive.expect_tx.relaxed.cluster.shared::cluster.b64 _, [remote], %1;\n"
                 "}\n" :: "r"(shared_address(barrier)), "r"(bytes), "r"(cta_rank) : "memory");
    // clang-format on
}

// Blocks until the phase of this parity is complete; acquires at CTA scope.
JG_DEVICE void mbarrier_wait(u64 *barrier, u32 parity)
{
    // clang-format off
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "wait:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra finished;\n"
                 "bra wait;\n"
                 "finished:\n"
                 "}\n" :: "r"(shared_address(barrier)), "r"(parity) : "memory");
    // clang-format on
}

// The same, for arrivals from the cluster; orders no memory at all: see
// fence_acquire_shared.
JG_DEVICE void mbarrier_wait_relaxed(u64 *barrier, u32 parity)
{
    // clang-format off
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "wait:\n"
                 "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra finished;\n"
                 "bra wait;\n"
                 "finished:\n"
                 "}\n" :: "r"(shared_address(barrier)), "r"(parity) : "memory");
    // clang-format on
}

// Asks, and may wait a little, whether the phase of this parity is complete; acquires at
// CTA scope if it is.
JG_DEVICE bool mbarrier_try_wait(u64 *barrier, u32 parity)
{
    u32 done;
    // clang-format off
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, done;\n"
                 "}\n" : "=r"(done) : "r"(shared_address(barrier)), "r"(parity) : "memory");
    // clang-format on
    return done != 0;
}

// The same, and never waits.
JG_DEVICE bool mbarrier_test_wait(u64 *barrier, u32 parity)
{
    u32 done;
    // clang-format off
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "mbarrier.test_wait.parity.shared::cta.b64 done, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, done;\n"
                 "}\n" : "=r"(done) : "r"(shared_address(barrier)), "r"(parity) : "memory");
    // clang-format on
    return done != 0;
}

// As mbarrier_try_wait, for arrivals from the cluster; orders no memory at all.
JG_DEVICE bool mbarrier_try_wait_relaxed(u64 *barrier, u32 parity)
{
    u32 done;
    // clang-format off
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 done, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, done;\n"
                 "}\n" : "=r"(done) : "r"(shared_address(barrier)), "r"(parity) : "memory");
    // clang-format on
    return done != 0;
}

// Around relaxed arrivals and waits between the CTAs of a cluster: releases what this
// thread did in its shared memory, and acquires what others did in theirs. Unlike a release
// to the cluster it does not flush stores to L2.
JG_DEVICE void fence_release_shared()
{
    // clang-format off
    asm volatile("fence.release.sync_restrict::shared::cta.cluster;" ::: "memory");
    // clang-format on
}
JG_DEVICE void fence_acquire_shared()
{
    // clang-format off
    asm volatile("fence.acquire.sync_restrict::shared::cluster.cluster;" ::: "memory");
    // clang-format on
}

} // namespace jg::ptx
