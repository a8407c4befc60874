/* SPDX-License-Identifier: MIT */
#include "runtime/group_sizes.h"

#include "base/error.h"
#include "plan/groups.h"
#include "runtime/module.h"

/* A kernel lists blocks of rows in shared memory, for which it has so much room. */
static jit_gemm_status check_row_blocks(const struct jg_kernel *kernel, uint32_t m)
{
    const int64_t most = jg_groups_row_blocks(&kernel->problem) * JG_GROUP_BLOCK_ROWS;
    if (kernel->problem.group_by != JIT_GEMM_GROUP_BY_ROWS ||
        kernel->choice.config.kernel != JG_KERNEL_GEMM || m <= most) {
        return JIT_GEMM_OK;
    }
    return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, "args.m",
                   "create the kernel with a greater `m` in the problem, or split the rows",
                   "group_by=rows of this kernel takes up to %lld rows, %u are given",
                   (long long)most, m);
}

static jit_gemm_status check_alignment(const char *field, uint64_t address)
{
    if (address % sizeof(int32_t) != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field, "give the address of an int32_t",
                       "the address 0x%llx is misaligned: no multiple of 4",
                       (unsigned long long)address);
    }
    return JIT_GEMM_OK;
}

/* Of an N or a K of each group's own; 0: all have the launch's. */
static jit_gemm_status check_own_sizes(const struct jg_kernel *kernel, const char *field,
                                       uint64_t address,
                                       const struct jg_own_size_obstacle *obstacle)
{
    if (address != 0 && obstacle->fact != NULL) {
        const bool is_kernels = kernel->problem.group_by == JIT_GEMM_GROUP_BY_POINTERS;
        return jg_fail(is_kernels ? JIT_GEMM_ERR_UNSUPPORTED : JIT_GEMM_ERR_ARGUMENT, field,
                       obstacle->remedy, "an address is given, but %s", obstacle->fact);
    }
    return check_alignment(field, address);
}

static jit_gemm_status resolve_own_sizes(const struct jg_kernel *kernel,
                                         const jit_gemm_args *args,
                                         struct jg_kernel_params *params)
{
    const struct jg_own_size_obstacle of_n = jg_groups_obstacle_to_own_n(&kernel->problem);
    const struct jg_own_size_obstacle of_k = jg_groups_obstacle_to_own_k(&kernel->problem);
    params->group_ns = args->group_ns;
    params->group_ks = args->group_ks;
    JG_TRY(check_own_sizes(kernel, "args.group_ns", args->group_ns, &of_n));
    return check_own_sizes(kernel, "args.group_ks", args->group_ks, &of_k);
}

jit_gemm_status jg_group_sizes_resolve(const struct jg_kernel *kernel,
                                       const jit_gemm_args *args,
                                       struct jg_kernel_params *params)
{
    static const char field[] = "args.group_sizes";
    const jit_gemm_group_by group_by = kernel->problem.group_by;
    params->group_sizes = args->group_sizes;
    if (group_by == JIT_GEMM_GROUP_NONE && args->group_sizes != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                       "leave it zero, or say in problem.group_by what the numbers mean",
                       "an address is given, but this problem has no groups");
    }
    if (group_by == JIT_GEMM_GROUP_BY_ROWS && args->group_sizes == 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                       "give the device address of an int32_t per row",
                       "the address of the groups of the %u rows is NULL", params->m);
    }
    if (group_by != JIT_GEMM_GROUP_NONE && group_by != JIT_GEMM_GROUP_BY_POINTERS &&
        args->group_sizes == 0) {
        return jg_fail(
            JIT_GEMM_ERR_ARGUMENT, field, "give the device address of an int32_t per group",
            "the address of the %u %s of the groups is NULL",
            (unsigned int)kernel->problem.batch.size, jg_group_by_name(group_by));
    }
    JG_TRY(check_alignment(field, args->group_sizes));
    JG_TRY(resolve_own_sizes(kernel, args, params));
    return check_row_blocks(kernel, params->m);
}
