// SPDX-License-Identifier: MIT
// Clusters, named barriers, register budgets, and dependent launch.
#pragma once
#include <jg/common/types.cuh>

namespace jg::ptx {

JG_DEVICE u32 cluster_cta_rank()
{
    u32 rank;
    // clang-format off
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    // clang-format on
    return rank;
}

// Every thread of every CTA of the cluster; orders their earlier accesses.
JG_DEVICE void cluster_sync()
{
    // clang-format off
    asm volatile("barrier.cluster.arrive.release.aligned;\n"
                 "barrier.cluster.wait.acquire.aligned;\n" ::: "memory");
    // clang-format on
}

// The same in two steps, the first of which orders nothing but initialised barriers, by
// fence_mbarrier_init.
JG_DEVICE void cluster_arrive_relaxed()
{
    // clang-format off
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    // clang-format on
}
JG_DEVICE void cluster_wait()
{
    // clang-format off
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    // clang-format on
}

// A warp that has nothing more to do with the other CTAs comes to the barrier, and waits
// there (cluster_wait) before it ends.
template <u32 kCtas>
JG_DEVICE void cluster_leave()
{
    if constexpr (kCtas > 1) {
        __syncwarp();
        cluster_arrive_relaxed();
    }
}

// Orders this thread's accesses for other threads of the cluster, by signals that follow.
JG_DEVICE void fence_cluster()
{
    // clang-format off
    asm volatile("fence.acq_rel.cluster;" ::: "memory");
    // clang-format on
}

// Everyone of the CTA, and of its cluster of kCtas where there is one. Whole warps.
template <u32 kCtas>
JG_DEVICE void synchronize()
{
    if constexpr (kCtas > 1) {
        cluster_sync();
    } else {
        __syncthreads();
    }
}

// `threads` threads of the CTA, whole warps. Id 0 is __syncthreads.
JG_DEVICE void named_barrier_sync(u32 id, u32 threads)
{
    // clang-format off
    asm volatile("bar.sync %0, %1;" :: "r"(id), "r"(threads) : "memory");
    // clang-format on
}

// The same where `joins` says so, which all threads of a warp agree on. Without a branch:
// in a loop with hundreds of live registers one costs the compiler 4 percent of its time.
JG_DEVICE void named_barrier_sync_if(bool joins, u32 id, u32 threads)
{
    // clang-format off
    asm volatile("{\n"
                 ".reg .pred joins;\n"
                 "setp.ne.b32 joins, %0, 0;\n"
                 "@joins bar.sync %1, %2;\n"
                 "}\n" :: "r"(static_cast<u32>(joins)), "r"(id), "r"(threads) : "memory");
    // clang-format on
}

// The same without waiting: these threads are counted, others wait.
JG_DEVICE void named_barrier_arrive(u32 id, u32 threads)
{
    // clang-format off
    asm volatile("bar.arrive %0, %1;" :: "r"(id), "r"(threads) : "memory");
    // clang-format on
}

// All warps of a warpgroup. Registers per thread, 24 to 240, a multiple of 8.
template <u32 kRegisters>
JG_DEVICE void give_registers_back()
{
    // clang-format off
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(kRegisters));
    // clang-format on
}

template <u32 kRegisters>
JG_DEVICE void take_registers()
{
    // clang-format off
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(kRegisters));
    // clang-format on
}

// Waits until the grids that this one depends on are complete and their writes visible.
JG_DEVICE void grid_dependency_wait()
{
    // clang-format off
    asm volatile("griddepcontrol.wait;" ::: "memory");
    // clang-format on
}

// Lets the next grid of the stream start; it still waits for this one's completion.
JG_DEVICE void launch_dependent_grids()
{
    // clang-format off
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    // clang-format on
}

} // namespace jg::ptx
