/* SPDX-License-Identifier: MIT */
#include "runtime/row_index.h"

#include "base/error.h"
#include "plan/groups.h"
#include "runtime/array.h"

/* An int32_t for each row of the product. */
static struct jg_array array_of(const struct jg_problem *problem,
                                const struct jg_kernel_params *params)
{
    return (struct jg_array){.field = "d_rows",
                             .description = "the index of D's rows",
                             .kind = "vector",
                             .rows = 1,
                             .columns = params->m,
                             .batch = params->batch,
                             .dtype = JIT_GEMM_DTYPE_S32,
                             .alignment = (int64_t)sizeof(int32_t),
                             .may_broadcast = true,
                             .is_stacked = jg_is_stacked(problem->group_by)};
}

jit_gemm_status jg_row_index_check_reserved(const jit_gemm_args *args)
{
    const struct jg_problem none = {0};
    const struct jg_kernel_params empty = {0};
    const struct jg_array array = array_of(&none, &empty);
    return args->d_rows.reserved == 0 ? JIT_GEMM_OK
                                      : jg_array_refuse_reserved(&array, &args->d_rows);
}

static jit_gemm_status check_absent(const jit_gemm_args *args)
{
    static const char hint[] = "leave it zero, or give d_rows=indexed in the problem";
    static const char fact[] = "the rows of this problem's D lie in order";
    if (args->d_row_count != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "args.d_row_count", hint,
                       "%lld is given, but %s", (long long)args->d_row_count, fact);
    }
    return jg_array_check_absent("d_rows", &args->d_rows, fact, hint);
}

jit_gemm_status jg_row_index_resolve(const struct jg_problem *problem,
                                     const jit_gemm_args *args,
                                     struct jg_kernel_params *params)
{
    const struct jg_array array = array_of(problem, params);
    params->d_rows = (struct jg_matrix_param){0};
    params->d_row_count = 0;
    if (problem->d_rows == JIT_GEMM_ROWS_IN_ORDER) {
        return check_absent(args);
    }
    JG_TRY(jg_array_resolve(&array, &args->d_rows, &params->d_rows));
    const int64_t entries = array.columns * (array.is_stacked ? 1 : array.batch);
    const int64_t count = args->d_row_count != 0 ? args->d_row_count : entries;
    if (count < 0 || count > INT32_MAX) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "args.d_row_count",
                       "give the rows of D, 1 to 2147483647; or 0 for as many as the index "
                       "has entries, if these are fewer",
                       "an index of 32 bits names no %lld rows", (long long)count);
    }
    params->d_row_count = (uint32_t)count;
    return JIT_GEMM_OK;
}
