/* SPDX-License-Identifier: MIT */
#include "runtime/row_index.h"

#include <stdio.h>

#include "base/error.h"
#include "plan/groups.h"
#include "runtime/array.h"

/* The index of a matrix's rows, as it is given and where it goes. */
struct row_index {
    const char *field, *count_field, *description, *matrix;
    jit_gemm_rows rows;
    const jit_gemm_arg *given;
    int64_t given_count;
    struct jg_matrix_param *param;
    uint32_t *count;
};

enum { INDICES = 2 };

static const char d_description[] = "the index of D's rows";
static const char a_description[] = "the index of A's rows";

static void list_indices(const struct jg_problem *problem, const jit_gemm_args *args,
                         struct jg_kernel_params *params,
                         struct row_index ret_indices[INDICES])
{
    ret_indices[0] = (struct row_index){"d_rows",
                                        "args.d_row_count",
                                        d_description,
                                        "D",
                                        problem->d_rows,
                                        &args->d_rows,
                                        args->d_row_count,
                                        &params->d_rows,
                                        &params->d_row_count};
    ret_indices[1] = (struct row_index){"a_rows",
                                        "args.a_row_count",
                                        a_description,
                                        "A",
                                        problem->a_rows,
                                        &args->a_rows,
                                        args->a_row_count,
                                        &params->a_rows,
                                        &params->a_row_count};
}

static jit_gemm_status refuse_reserved(const char *field, const char *description,
                                       const jit_gemm_arg *given)
{
    const struct jg_array array = {.field = field, .description = description};
    return jg_array_refuse_reserved(&array, given);
}

jit_gemm_status jg_row_index_check_reserved(const jit_gemm_args *args)
{
    if (args->d_rows.reserved != 0) {
        return refuse_reserved("d_rows", d_description, &args->d_rows);
    }
    if (args->a_rows.reserved != 0) {
        return refuse_reserved("a_rows", a_description, &args->a_rows);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status check_absent(const struct row_index *index)
{
    if (index->given_count == 0 && jg_array_is_absent(index->given)) {
        return JIT_GEMM_OK; /* beside an index of the other matrix */
    }
    char hint[80], fact[80];
    snprintf(hint, sizeof(hint), "leave it zero, or give %s=indexed in the problem",
             index->field);
    snprintf(fact, sizeof(fact), "the rows of this problem's %s lie in order",
             index->matrix);
    if (index->given_count != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, index->count_field, hint,
                       "%lld is given, but %s", (long long)index->given_count, fact);
    }
    return jg_array_check_absent(index->field, index->given, fact, hint);
}

/* An int32_t for each row of the product. */
static jit_gemm_status resolve(const struct jg_problem *problem,
                               const struct jg_kernel_params *params,
                               const struct row_index *index, struct jg_extents *extents)
{
    *index->param = (struct jg_matrix_param){0};
    *index->count = 0;
    if (index->rows == JIT_GEMM_ROWS_IN_ORDER) {
        return check_absent(index);
    }
    const struct jg_array array = {.field = index->field,
                                   .description = index->description,
                                   .kind = "vector",
                                   .rows = 1,
                                   .columns = params->m,
                                   .batch = params->batch,
                                   .dtype = JIT_GEMM_DTYPE_S32,
                                   .alignment = (int64_t)sizeof(int32_t),
                                   .may_broadcast = true,
                                   .is_stacked = jg_is_stacked(problem->group_by),
                                   .extents = extents};
    JG_TRY(jg_array_resolve(&array, index->given, index->param));
    const int64_t entries = array.columns * (array.is_stacked ? 1 : array.batch);
    const int64_t count = index->given_count != 0 ? index->given_count : entries;
    if (count < 0 || count > INT32_MAX) {
        char hint[128];
        snprintf(hint, sizeof(hint),
                 "give the rows of %s, 1 to 2147483647; or 0 for as many as the index has "
                 "entries, if these are fewer",
                 index->matrix);
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, index->count_field, hint,
                       "an index of 32 bits names no %lld rows", (long long)count);
    }
    *index->count = (uint32_t)count;
    return JIT_GEMM_OK;
}

static bool nobody_names_rows(const struct jg_problem *problem, const jit_gemm_args *args)
{
    return problem->d_rows == JIT_GEMM_ROWS_IN_ORDER &&
           problem->a_rows == JIT_GEMM_ROWS_IN_ORDER && args->d_row_count == 0 &&
           args->a_row_count == 0 && jg_array_is_absent(&args->d_rows) &&
           jg_array_is_absent(&args->a_rows);
}

jit_gemm_status jg_row_index_resolve(const struct jg_problem *problem,
                                     const jit_gemm_args *args,
                                     struct jg_kernel_params *params,
                                     struct jg_extents *extents)
{
    if (nobody_names_rows(problem, args)) { /* most launches */
        params->d_rows = params->a_rows = (struct jg_matrix_param){0};
        params->d_row_count = params->a_row_count = 0;
        return JIT_GEMM_OK;
    }
    struct row_index indices[INDICES];
    list_indices(problem, args, params, indices);
    for (int i = 0; i < INDICES; i++) {
        JG_TRY(resolve(problem, params, &indices[i], extents));
    }
    return JIT_GEMM_OK;
}

bool jg_row_index_names_scales(const struct jg_problem *problem)
{
    return problem->a_rows == JIT_GEMM_ROWS_INDEXED &&
           (problem->a.scale.kind == JIT_GEMM_SCALE_VECTOR ||
            problem->a.scale.kind == JIT_GEMM_SCALE_BLOCK);
}

void jg_row_index_join(const struct jg_kernel_params *params, struct jg_matrix_param *scale)
{
    scale->ld = (int64_t)params->a_rows.pointer;
    scale->batch_stride = params->a_rows.batch_stride;
    scale->batch_step = params->a_row_count;
}
