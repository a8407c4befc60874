/* SPDX-License-Identifier: MIT */
#include "runtime/argument_row.h"

#include "base/math.h"
#include "plan/groups.h"

const struct jg_argument_row *jg_row_in_product(const struct jg_launch_arguments *launch,
                                                const struct jg_argument_row *row)
{
    const bool is_input = row->declared == offsetof(struct jg_problem, a) ||
                          row->declared == offsetof(struct jg_problem, b);
    if (!is_input || launch->kernel->choice.product.a.letter == 'a') {
        return row;
    }
    return row->declared == offsetof(struct jg_problem, a) ? row + 1 : row - 1;
}

jit_gemm_status jg_argument_row_check_reserved(const jit_gemm_args *args,
                                               const struct jg_argument_row *row)
{
    const jit_gemm_arg *arg = (const void *)((const char *)args + row->given);
    if (arg->reserved == 0) {
        return JIT_GEMM_OK;
    }
    const struct jg_array array = {.field = row->field, .description = row->description};
    return jg_array_refuse_reserved(&array, arg);
}

bool jg_is_stacked_size(const struct jg_launch_arguments *launch, enum jg_launch_size count)
{
    return count == JG_SIZE_M && jg_is_stacked(launch->kernel->problem.group_by);
}

void jg_array_set_alignment(const struct jg_kernel *kernel, int64_t bytes,
                            struct jg_array *array)
{
    const bool is_gemm = kernel->choice.config.kernel == JG_KERNEL_GEMM;
    const int64_t element_bytes = jg_bytes_of(array->dtype, 1);
    array->alignment = is_gemm ? jg_max(bytes, element_bytes) : element_bytes;
    array->has_map = is_gemm && array->has_ld && bytes == JG_TMA_ALIGNMENT;
}

/* Is a vector of so many elements read as D's rows lie in memory? */
static bool lies_along_rows(const struct jg_problem *problem, enum jg_launch_size count)
{
    if (problem->d.is_mn_major) {
        return count == JG_SIZE_M;
    }
    return count == JG_SIZE_D_COLUMNS || (count == JG_SIZE_N && !problem->is_gated);
}

void jg_array_set_vector(const struct jg_launch_arguments *launch,
                         enum jg_launch_size count, struct jg_array *array)
{
    const struct jg_problem *problem = &launch->kernel->problem;
    const int64_t wanted =
        jg_bytes_of(array->dtype, lies_along_rows(problem, count) ? 2 : 1);
    array->rows = 1;
    array->columns = launch->sizes[count];
    array->is_stacked = jg_is_stacked_size(launch, count);
    jg_array_set_alignment(launch->kernel, jg_min(wanted, problem->d.alignment), array);
}

jit_gemm_status jg_array_resolve_mapped(const struct jg_array *array,
                                        const jit_gemm_arg *arg,
                                        struct jg_matrix_param *ret_param,
                                        struct jg_map_key *ret_key)
{
    JG_TRY(jg_array_resolve(array, arg, ret_param));
    if (!array->has_map) {
        *ret_key = (struct jg_map_key){0};
        return JIT_GEMM_OK;
    }
    const bool is_one =
        array->is_stacked || (array->may_broadcast && ret_param->batch_stride == 0);
    *ret_key = (struct jg_map_key){.pointer = ret_param->pointer,
                                   .ld = ret_param->ld,
                                   .batch_stride = ret_param->batch_stride,
                                   .inner = (uint32_t)array->columns,
                                   .outer = (uint32_t)array->rows,
                                   .batch = is_one ? 1 : (uint32_t)array->batch};
    return JIT_GEMM_OK;
}

void jg_param_set_gate_steps(const struct jg_launch_arguments *launch,
                             struct jg_matrix_param *param)
{
    const bool halves = launch->kernel->problem.pair == JIT_GEMM_PAIR_HALVES;
    param->ld = halves ? 1 : 2;
    param->batch_step = halves ? (uint32_t)launch->sizes[JG_SIZE_D_COLUMNS] : 1;
}
