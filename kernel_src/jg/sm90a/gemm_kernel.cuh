// SPDX-License-Identifier: MIT
// The Hopper GEMM kernel: its prologue, and who has which role (kernel_context.cuh).
#pragma once
#include <jg/sm90a/kernel_context.cuh>
#include <jg/sm90a/load_role.cuh>

namespace jg::sm90a {

template <class Kernel>
class PingpongRoles; // pingpong_roles.cuh

template <class Config, class Epilogue, class Params>
JG_DEVICE void gemm_kernel(const Params &params)
{
    using Kernel = KernelContext<Config, Epilogue, Params>;
    Kernel::Mma::declare();
    const Kernel kernel(params);
    const Roles &roles = kernel.roles;

    // Prologue: barriers are ready in the whole cluster, or in the CTA where the others are
    // met later, and what the grid before this one wrote is there.
    if (roles.is_load_warp() && ptx::elect_one()) {
        kernel.init();
    }
    kernel.clear_rest_first();
    if constexpr (Kernel::kMeetsLater) {
        __syncthreads();
        ptx::cluster_arrive_relaxed();
    } else {
        ptx::synchronize<Kernel::Cluster::kSize>();
    }
    if (!roles.is_load_warpgroup()) {
        kernel.clear_rest_meanwhile();
    }
    if constexpr (Config::kPdl) {
        // The thread that loads waits behind its first loads of weights, if there are some.
        if (!Kernel::kLoadsFirst || !roles.is_load_warp()) {
            ptx::grid_dependency_wait();
            if constexpr (Kernel::kHasHalf && !Kernel::kLoadsFirst) {
                ptx::launch_dependent_grids();
            }
        }
    }
    if constexpr (Kernel::Scheduler::kPrepares) {
        if (roles.is_load_warp()) {
            kernel.scheduler.prepare();
        }
        __syncthreads();
    }

    if (roles.is_load_warpgroup()) {
        if constexpr (Config::kThreadLoads) {
            ptx::give_registers_back<Roles::kThreadLoadRegisters>();
            kernel.load_by_threads();
        } else {
            ptx::give_registers_back<Config::kPingpong      ? Roles::kPingpongLoadRegisters
                                     : Kernel::kHasHalf     ? Roles::kHalfLoadRegisters
                                     : Kernel::kFindsScales ? Roles::kRowLoadRegisters
                                                            : Roles::kLoadRegisters>();
            if constexpr (Config::kCopiedRows > 0) {
                if (roles.is_load_warp()) {
                    kernel.load_rows();
                }
            } else if (roles.is_load_warp() && ptx::elect_one()) {
                LoadRole<Kernel>(kernel).run();
            }
            if constexpr (Kernel::kScales) {
                if (roles.scale_warp() < count_scale_warps<Config>()) {
                    kernel.load_scales();
                }
            }
            if constexpr (passes_items<Config>() || passes_loads<Config>()) {
                if (roles.is_item_warp() && ptx::elect_one()) {
                    pass_items(kernel.scheduler.thread_iterator(), kernel.smem.load_items,
                               kernel.smem.items);
                }
            }
            if constexpr (Kernel::kHasLoadRing) {
                if (roles.is_epilogue_load_warp() && ptx::elect_one()) {
                    PingpongRoles<Kernel>(kernel).load_for_epilogue();
                }
            }
        }
        if constexpr (Kernel::kSharesParts) {
            if (roles.is_load_warp()) {
                __syncwarp();
                WorkspaceShares<Config, typename Kernel::Partition>::meet(
                    params, kernel.smem.sums,
                    Kernel::Output::tile(kernel.scheduler.first_item()),
                    Kernel::kSharesBarrier);
            }
        }
    } else {
        ptx::take_registers<Config::kPingpong      ? Roles::kPingpongMathRegisters
                            : Kernel::kHasHalf     ? Roles::kHalfMathRegisters
                            : Config::kThreadLoads ? Roles::kMathRegistersBeside
                            : Kernel::kFindsScales ? Roles::kMathRegistersBesideRows
                                                   : Roles::kMathRegisters>();
        if constexpr (Config::kPingpong) {
            PingpongRoles<Kernel>(kernel).multiply_and_write();
        } else {
            kernel.multiply_and_write();
        }
    }
}

} // namespace jg::sm90a
