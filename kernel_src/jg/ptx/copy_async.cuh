// SPDX-License-Identifier: MIT
// cp.async: a thread's copies from global to shared memory. An mbarrier counts them when
// they have landed, or the thread waits for groups of them.
#pragma once
#include <jg/ptx/address.cuh>

namespace jg::ptx {

// kBytes, 4, 8 or 16, of which the first `bytes` are read and the rest is 0. Both addresses
// are multiples of kBytes. Words of 16 bytes pass by the first cache, as TMA's copies do.
template <u32 kBytes>
JG_DEVICE void copy_async(u32 target, u64 source, u32 bytes)
{
    static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "no such copy");
    // clang-format off
    if constexpr (kBytes == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     :: "r"(target), "l"(source), "r"(bytes) : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                     :: "r"(target), "l"(source), "n"(kBytes), "r"(bytes) : "memory");
    }
    // clang-format on
}

// The same if it is wanted; else nothing is copied or cleared. Predicated, not branched
// around.
template <u32 kBytes>
JG_DEVICE void copy_async_if(u32 target, u64 source, u32 bytes, bool wanted)
{
    static_assert(kBytes == 16, "what is needed");
    // clang-format off
    asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %3, 0;\n"
                 "@p cp.async.cg.shared.global [%0], [%1], 16, %2;\n}\n"
                 :: "r"(target), "l"(source), "r"(bytes), "r"(static_cast<u32>(wanted)) : "memory");
    // clang-format on
}

// Makes a group of the copies that this thread has started since the last one.
JG_DEVICE void copy_async_commit()
{
    // clang-format off
    asm volatile("cp.async.commit_group;" ::: "memory");
    // clang-format on
}

// Waits until at most kPending of this thread's groups are under way.
template <u32 kPending>
JG_DEVICE void copy_async_wait()
{
    // clang-format off
    asm volatile("cp.async.wait_group %0;" :: "n"(kPending) : "memory");
    // clang-format on
}

// One arrival of this thread on the barrier, among those that it was initialised for, when
// all copies that it has started are complete.
JG_DEVICE void copy_async_arrive(u64 *barrier)
{
    // clang-format off
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];"
                 :: "r"(shared_address(barrier)) : "memory");
    // clang-format on
}

} // namespace jg::ptx
