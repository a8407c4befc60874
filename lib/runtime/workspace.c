/* SPDX-License-Identifier: MIT */
#include "runtime/workspace.h"

#include "base/error.h"
#include "base/math.h"
#include "plan/split.h"

static jit_gemm_status check_address(uint64_t address, int64_t needed)
{
    if (address == 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "args.workspace",
                       "give the address of so much device memory, filled with zeros once",
                       "this kernel splits K and needs a workspace of %lld bytes",
                       (long long)needed);
    }
    if (address % JG_WORKSPACE_ALIGNMENT != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "args.workspace",
                       "give an address as the driver allocates it",
                       "the address 0x%llx is misaligned: no multiple of %d",
                       (unsigned long long)address, JG_WORKSPACE_ALIGNMENT);
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_workspace_resolve(const struct jg_kernel *kernel,
                                     const jit_gemm_args *args,
                                     struct jg_kernel_params *params)
{
    const struct jg_config *config = &kernel->choice.config;
    params->workspace = 0;
    if (config->launch.split_k <= 1) {
        return JIT_GEMM_OK;
    }
    const int64_t planned = kernel->choice.derived.workspace_bytes;
    const struct jg_product_size size =
        jg_product_size(&kernel->choice.product, params->m, params->n);
    const int64_t tiles = jg_kernel_cluster_tiles(kernel, size.m, size.n) *
                          (int64_t)params->batch * jg_kernel_cluster_ctas(kernel);
    if (tiles > JG_WORKSPACE_TILES) {
        return jg_fail(
            JIT_GEMM_ERR_UNSUPPORTED, "args.workspace",
            "split the matrix over several launches, or create the kernel "
            "without split_k",
            "a workspace has locks for %d tiles, but %u x %u with batch %u makes "
            "%lld",
            JG_WORKSPACE_TILES, params->m, params->n, params->batch, (long long)tiles);
    }
    const int64_t needed = jg_workspace_bytes(config, tiles);
    JG_TRY(check_address(args->workspace, jg_max(needed, planned)));
    const bool is_given = args->workspace_bytes != 0;
    const uint64_t bytes = is_given ? args->workspace_bytes : (uint64_t)planned;
    if (bytes < (uint64_t)needed) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "args.workspace_bytes",
                       is_given ? "give a larger workspace"
                                : "give a workspace of that size and its bytes here, or "
                                  "create the kernel with the largest sizes",
                       "%u x %u with batch %u needs a workspace of %lld bytes, %llu are %s",
                       params->m, params->n, params->batch, (long long)needed,
                       (unsigned long long)bytes, is_given ? "given" : "planned");
    }
    params->workspace = args->workspace;
    return JIT_GEMM_OK;
}
