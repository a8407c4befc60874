// SPDX-License-Identifier: MIT
// The Blackwell GEMM kernel: its prologue, who has which role (kernel_context.cuh), and how
// it ends.
#pragma once
#include <jg/sm100a/kernel_context.cuh>

namespace jg::sm100a {

// Barriers are ready in the whole cluster, tensor memory where it is addressed, and what
// the grid before this one wrote is there. Nobody who loads waits for tensor memory.
template <class Config, class Kernel>
JG_DEVICE void begin_kernel(const Kernel &kernel)
{
    if (kernel.roles.is_load_warp() && ptx::elect_one()) {
        kernel.init();
    }
    if constexpr (Kernel::kAlone) {
        __syncthreads();
    } else {
        __syncwarp();
        ptx::cluster_arrive_relaxed(); // behind the fence that init ends with
        ptx::cluster_wait();
    }
    if (kernel.roles.is_mma_warp()) {
        kernel.tmem.allocate();
    } else if (kernel.roles.is_epilogue_warp()) {
        kernel.tmem.await();
    }
    if constexpr (Config::kPdl) {
        if constexpr (Config::kPrefetch != Prefetch::kNone) {
            if (kernel.roles.is_load_warp() && ptx::elect_one()) {
                kernel.prefetch();
            }
            __syncwarp();
        }
        ptx::grid_dependency_wait();
    }
    if constexpr (Kernel::Scheduler::kPrepares) {
        if (kernel.roles.is_load_warp()) {
            kernel.scheduler.prepare();
        }
        __syncthreads();
    }
}

// Nobody leaves, and no tensor memory is freed, while a neighbour may still copy, multiply,
// read or arrive. Where CTAs share tiles each role has waited for what neighbours send to
// it (drain), so that leaving orders no memory, and the epilogue's warps leave before their
// last stores are complete. In a CTA of its own the MMA thread has waited for the
// epilogue's last load of an accumulator, unless two share columns; promoted sums are
// loaded later. Of a cluster that has parts of K the epilogue's warps have waited for the
// neighbours (ClusterSums::leave).
template <class Kernel>
JG_DEVICE void end_kernel(const Kernel &kernel)
{
    if constexpr (Kernel::Cluster::kShares) {
        if (!kernel.roles.is_epilogue_warp()) {
            ptx::cluster_leave<Kernel::Cluster::kTiles>();
        }
        __syncwarp();
        ptx::cluster_wait();
    } else if constexpr (!Kernel::kAlone || Kernel::kPromotes || Kernel::kSharesColumns) {
        __syncwarp();
        __syncthreads();
    }
    if (kernel.roles.is_mma_warp()) {
        __syncwarp();
        kernel.tmem.release();
    }
}

template <class Config, class Epilogue, class Params>
JG_DEVICE void gemm_kernel(const Params &params)
{
    using Kernel = KernelContext<Config, Epilogue, Params>;
    const Kernel kernel(params);
    const auto &roles = kernel.roles;
    begin_kernel<Config>(kernel);

    if (roles.loads()) {
        if constexpr (Config::kThreadLoads) {
            kernel.load_by_threads();
        } else if constexpr (Config::kCopiedRows > 0) {
            kernel.load_rows();
        } else if (ptx::elect_one()) {
            kernel.load();
        }
        if constexpr (shares_in_workspace<Config>) {
            if (roles.is_load_warp()) {
                __syncwarp();
                WorkspaceShares<Config, typename Kernel::Partition>::meet(
                    params, kernel.smem.sums,
                    Kernel::Output::tile(kernel.scheduler.first_item()),
                    Kernel::kSharesBarrier);
            }
        }
    } else if (roles.is_mma_warp()) {
        if (kernel.cluster.pair_rank() == 0 && ptx::elect_one()) {
            kernel.multiply();
        }
    } else if (roles.is_epilogue_load_warp()) {
        if constexpr (Kernel::kLoadsForEpilogue) {
            if (ptx::elect_one()) {
                kernel.load_for_epilogue();
            }
        }
    } else if (roles.is_scale_warp()) {
        if constexpr (Kernel::kHasScaleWarp) {
            kernel.load_scales();
        }
    } else if (roles.is_scheduler_warp()) {
        kernel.scheduler.run();
    } else {
        kernel.write();
    }
    end_kernel(kernel);
}

} // namespace jg::sm100a
