/* SPDX-License-Identifier: MIT */
#include "runtime/group_sizes.h"

#include <string.h>

#include "base/error.h"
#include "plan/group_maps.h"
#include "plan/host_groups.h"
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

/* ------------------------------------------------------------ numbers of the host's */

static const char host_field[] = "args.host_group_sizes";

/* Why a kernel takes no numbers from the host, though its problem has groups. */
static jit_gemm_status fail_host(const struct jg_kernel *kernel)
{
    static const char remedy[] = "leave it NULL and give `group_sizes`, on the device";
    if (kernel->problem.group_by == JIT_GEMM_GROUP_BY_ROWS) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, host_field, remedy,
                       "with group_by=rows the kernel reads the groups of rows on the "
                       "device");
    }
    if (jg_has_group_maps(&kernel->choice.config)) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, host_field,
                       "leave it NULL and give `group_sizes`, or create the kernel with "
                       "config=group_maps=0",
                       "a kernel before the product's reads the numbers on the device, to "
                       "write maps of each group");
    }
    if (jg_groups_pack_scales(&kernel->problem)) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, host_field,
                       "leave it NULL and give `group_sizes`, or A's scales in the layout "
                       "128x4",
                       "a kernel before the product's reads the numbers on the device, to "
                       "bring scales of A to the layout 128x4");
    }
    return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, host_field, remedy,
                   "a launch has room for %u numbers beside %u operands, and there are "
                   "%lld groups",
                   jg_host_groups_room(kernel->operand_count,
                                       (uint32_t)kernel->choice.derived.tail_maps),
                   kernel->operand_count, (long long)kernel->problem.batch.size);
}

static jit_gemm_status check_host_numbers(const struct jg_kernel *kernel,
                                          const int32_t *numbers, int64_t most)
{
    const jit_gemm_group_by group_by = kernel->problem.group_by;
    const bool is_along_k = group_by == JIT_GEMM_GROUP_BY_K_OFFSETS;
    const bool falls_never = is_along_k || group_by == JIT_GEMM_GROUP_BY_OFFSETS;
    const int64_t step = jg_groups_k_step(&kernel->problem);
    const char *is_what = falls_never ? "where a group ends" : "how many rows a group has";
    int32_t before = 0;
    for (uint32_t i = 0; i < kernel->choice.derived.host_groups; i++) {
        const int32_t number = numbers[i];
        if (number < 0 || number > most) {
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, host_field,
                           is_along_k ? "give 0 to K" : "give 0 to M",
                           "entry %u, %s, is %d, and %c is %lld", i, is_what, number,
                           is_along_k ? 'K' : 'M', (long long)most);
        }
        if (falls_never && number < before) {
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, host_field,
                           "give where each group ends, not how many rows it has",
                           "entry %u is %d, and the one before is %d: groups lie one after "
                           "the other",
                           i, number, before);
        }
        if (number % step != 0 && number != most) {
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, host_field, "give multiples of it, or K",
                           "entry %u is %d, and groups of these types and layouts end at "
                           "multiples of %lld",
                           i, number, (long long)step);
        }
        before = number;
    }
    return JIT_GEMM_OK;
}

/* Puts the numbers among the parameters. */
static jit_gemm_status resolve_host(const struct jg_kernel *kernel,
                                    const jit_gemm_args *args,
                                    struct jg_kernel_params *params)
{
    const struct jg_derived *derived = &kernel->choice.derived;
    const jit_gemm_group_by group_by = kernel->problem.group_by;
    if (args->host_group_sizes == NULL) {
        return args->host_group_count == 0
                   ? JIT_GEMM_OK
                   : jg_fail(JIT_GEMM_ERR_ARGUMENT, host_field,
                             "give their address, or 0 as host_group_count",
                             "is NULL, and %zu numbers are counted",
                             args->host_group_count);
    }
    if (group_by == JIT_GEMM_GROUP_NONE) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, host_field,
                       "leave it NULL, or say in problem.group_by what the numbers mean",
                       "numbers are given, but this problem has no groups");
    }
    if (derived->host_groups == 0) {
        return fail_host(kernel);
    }
    if (args->host_group_count != derived->host_groups) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "args.host_group_count",
                       "give as many numbers as there are groups",
                       "%zu numbers are given, and there are %u groups",
                       args->host_group_count, derived->host_groups);
    }
    JG_TRY(check_host_numbers(kernel, args->host_group_sizes,
                              group_by == JIT_GEMM_GROUP_BY_K_OFFSETS ? params->k
                                                                      : params->m));
    memcpy(jg_kernel_params_numbers(params, kernel->operand_count,
                                    (uint32_t)derived->tail_maps),
           args->host_group_sizes, derived->host_groups * sizeof(int32_t));
    params->group_sizes = JG_NUMBERS_IN_PARAMS;
    return JIT_GEMM_OK;
}

/* --------------------------------------------------------- numbers of the device's */

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
    params->group_ns = args->group_ns;
    params->group_ks = args->group_ks;
    if (args->group_ns == 0 && args->group_ks == 0) {
        return JIT_GEMM_OK;
    }
    const struct jg_own_size_obstacle of_n = jg_groups_obstacle_to_own_n(&kernel->problem);
    const struct jg_own_size_obstacle of_k = jg_groups_obstacle_to_own_k(&kernel->problem);
    JG_TRY(check_own_sizes(kernel, "args.group_ns", args->group_ns, &of_n));
    return check_own_sizes(kernel, "args.group_ks", args->group_ks, &of_k);
}

jit_gemm_status jg_group_sizes_resolve(const struct jg_kernel *kernel,
                                       const jit_gemm_args *args,
                                       struct jg_kernel_params *params)
{
    static const char field[] = "args.group_sizes";
    const jit_gemm_group_by group_by = kernel->problem.group_by;
    const bool has_host = args->host_group_sizes != NULL;
    params->group_sizes = args->group_sizes;
    JG_TRY(resolve_host(kernel, args, params));
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
        args->group_sizes == 0 && !has_host) {
        return jg_fail(
            JIT_GEMM_ERR_ARGUMENT, field, "give the device address of an int32_t per group",
            "the address of the %u %s of the groups is NULL",
            (unsigned int)kernel->problem.batch.size, jg_group_by_name(group_by));
    }
    JG_TRY(check_alignment(field, args->group_sizes));
    JG_TRY(resolve_own_sizes(kernel, args, params));
    return check_row_blocks(kernel, params->m);
}
