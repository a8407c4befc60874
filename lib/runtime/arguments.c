/* SPDX-License-Identifier: MIT */
#include "runtime/arguments.h"

#include "base/error.h"
#include "base/math.h"
#include "plan/groups.h"
#include "plan/scale.h"
#include "runtime/argument_row.h"
#include "runtime/group_sizes.h"
#include "runtime/launch_sizes.h"
#include "runtime/operand_list.h"
#include "runtime/row_index.h"
#include "runtime/scale_arguments.h"
#include "runtime/workspace.h"

/* ---------------------------------------------------------------------- alpha and beta */

static jit_gemm_status resolve_factor(uint64_t address, const float *value,
                                      const char *field, struct jg_scalar_param *ret_param)
{
    if (address % sizeof(float) != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field, "give the address of a float",
                       "the address 0x%llx is misaligned: no multiple of 4",
                       (unsigned long long)address);
    }
    *ret_param = (struct jg_scalar_param){.pointer = address,
                                          .value = value != NULL ? *value : 1.0F};
    return JIT_GEMM_OK;
}

static jit_gemm_status resolve_beta(const struct jg_kernel *kernel,
                                    const jit_gemm_args *args,
                                    struct jg_scalar_param *ret_beta)
{
    if (kernel->problem.c.dtype != JIT_GEMM_DTYPE_NONE) {
        return resolve_factor(args->beta_device, args->beta, "args.beta_device", ret_beta);
    }
    if (args->beta_device != 0 || (args->beta != NULL && *args->beta != 0.0F)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT,
                       args->beta_device != 0 ? "args.beta_device" : "args.beta",
                       "leave it zero, or name a type of C in problem.c.dtype",
                       "a beta is given, but this problem has no C to multiply");
    }
    *ret_beta = (struct jg_scalar_param){0};
    return JIT_GEMM_OK;
}

/* ---------------------------------------------------------------------------- matrices */

#define LDS(name) .lds = offsetof(jit_gemm_args, name##_lds)

static const struct jg_argument_row matrix_rows[] = {
    {JG_ARGUMENT_ROW(a, a), LDS(a), .description = "A", .outer = JG_SIZE_M,
     .inner = JG_SIZE_K, .map = JG_MAP_A, .alignment_key = JG_INPUT_KEY},
    {JG_ARGUMENT_ROW(b, b), LDS(b), .description = "B", .outer = JG_SIZE_N,
     .inner = JG_SIZE_K, .map = JG_MAP_B, .alignment_key = JG_INPUT_KEY},
    {JG_ARGUMENT_ROW(d, d), LDS(d), .description = "D", .outer = JG_SIZE_M,
     .inner = JG_SIZE_D_COLUMNS, .map = JG_MAP_D, .alignment_key = JG_OUTPUT_KEY},
    {JG_ARGUMENT_ROW(c, c), LDS(c), .description = "C", .outer = JG_SIZE_M,
     .inner = JG_SIZE_N, .map = JG_MAP_C, .alignment_key = JG_OUTPUT_KEY,
     .absent = "this problem has no C",
     .remedy = "leave it zero, or name a type of C in problem.c.dtype"},
};

#undef LDS

enum { MATRIX_ROWS = sizeof(matrix_rows) / sizeof(matrix_rows[0]) };

static void set_matrix(const struct jg_launch_arguments *launch,
                       const struct jg_matrix *lies_as, enum jg_launch_size outer,
                       enum jg_launch_size inner, struct jg_array *array)
{
    const jit_gemm_group_by group_by = launch->kernel->problem.group_by;
    const bool is_mn_major = lies_as->is_mn_major;
    array->rows = launch->sizes[is_mn_major ? inner : outer];
    array->columns = launch->sizes[is_mn_major ? outer : inner];
    array->has_ld = true;
    array->is_stacked =
        jg_is_stacked_size(launch, outer) || (group_by == JIT_GEMM_GROUP_BY_K_OFFSETS &&
                                              (outer == JG_SIZE_K || inner == JG_SIZE_K));
    jg_array_set_alignment(launch->kernel, lies_as->alignment, array);
}

/* Of A or B, where the tensor core multiplies by its scales: no kernel takes less than TMA
 * does, and it takes more where it spreads elements. */
static void set_scaled_input(const struct jg_launch_arguments *launch,
                             const struct jg_matrix *matrix, struct jg_array *array)
{
    const struct jg_problem *problem = &launch->kernel->problem;
    const struct jg_matrix *other = matrix == &problem->a ? &problem->b : &problem->a;
    if (jg_scale_is_multiplied(&matrix->scale)) {
        array->alignment_key = NULL;
    }
    if (array->has_map && jg_is_spread(matrix, other)) {
        array->alignment = JG_TMA_SPREAD_ALIGNMENT;
    }
}

/* Of A or B of a kernel that copies one of them or both: what TMA reads is aligned. */
static void set_repacked_input(const struct jg_launch_arguments *launch,
                               const struct jg_matrix *matrix, struct jg_array *array)
{
    const struct jg_config *config = &launch->kernel->choice.config;
    if (!jg_is_repacked(config)) {
        return;
    }
    array->has_map = true;
    if (!jg_repack_copies(config, matrix->letter)) {
        array->alignment = JG_TMA_ALIGNMENT;
        array->alignment_key =
            NULL; /* the config asks for more than the problem promises */
    }
}

/* For what the kernel does not take. */
static jit_gemm_status resolve_absent(const struct jg_launch_arguments *launch,
                                      const struct jg_argument_row *row)
{
    *jg_param_at(launch, row) = (struct jg_matrix_param){0};
    return jg_array_check_absent(row->field, jg_given_at(launch, row), row->absent,
                                 row->remedy);
}

/* C is never read where a beta on the host says so. */
static bool is_unread(const struct jg_launch_arguments *launch,
                      const struct jg_argument_row *row)
{
    const struct jg_scalar_param *beta = &launch->params->beta;
    return row->map == JG_MAP_C && jg_given_at(launch, row)->pointer == 0 &&
           beta->pointer == 0 && beta->value == 0.0F;
}

/* Of a matrix whose rows an index names, of all batches and groups: threads move them, or
 * copies of single rows of A. */
static void set_indexed(const struct jg_launch_arguments *launch, enum jg_map_index map,
                        struct jg_array *array)
{
    const struct jg_problem *problem = &launch->kernel->problem;
    const bool is_a = map == JG_MAP_A && problem->a_rows == JIT_GEMM_ROWS_INDEXED;
    if (is_a || (map == JG_MAP_D && problem->d_rows == JIT_GEMM_ROWS_INDEXED)) {
        array->rows = is_a ? launch->params->a_row_count : launch->params->d_row_count;
        array->is_stacked = true;
        array->has_map = is_a && launch->kernel->choice.product.has_row_boxes;
    }
}

static jit_gemm_status resolve_matrix(const struct jg_launch_arguments *launch,
                                      const struct jg_argument_row *row)
{
    const struct jg_matrix *matrix = jg_declared_at(launch, row);
    const struct jg_argument_row *target = jg_row_in_product(launch, row);
    struct jg_map_key *key = &launch->keys[target->map];
    const bool by_pointers = launch->kernel->problem.group_by == JIT_GEMM_GROUP_BY_POINTERS;
    if ((!by_pointers || matrix->dtype == JIT_GEMM_DTYPE_NONE) &&
        jg_lds_at(launch, row) != 0) {
        return jg_array_refuse_lds(row->field);
    }
    if (matrix->dtype == JIT_GEMM_DTYPE_NONE) {
        *key = (struct jg_map_key){0};
        return resolve_absent(launch, row);
    }
    struct jg_array array = {.field = row->field,
                             .description = row->description,
                             .kind = "matrix",
                             .batch = launch->params->batch,
                             .dtype = matrix->dtype,
                             .extents = launch->extents,
                             .alignment_key = row->alignment_key,
                             .may_broadcast = row->map != JG_MAP_D};
    set_matrix(launch, matrix, row->outer, row->inner, &array);
    if (row->map == JG_MAP_A || row->map == JG_MAP_B) {
        set_scaled_input(launch, matrix, &array);
        set_repacked_input(launch, matrix, &array);
    }
    if (row->map == JG_MAP_D && jg_dtype_is_scaled(matrix->dtype)) {
        array.has_map = false; /* threads store it */
    }
    set_indexed(launch, row->map, &array);
    if (is_unread(launch, row)) {
        *key = (struct jg_map_key){0};
        *jg_param_at(launch, row) = (struct jg_matrix_param){0};
        return jg_array_check_parts(&array, jg_given_at(launch, row));
    }
    if (by_pointers) {
        *key = (struct jg_map_key){0};
        return jg_array_resolve_pointers(&array, jg_given_at(launch, row),
                                         jg_lds_at(launch, row),
                                         jg_param_at(launch, target));
    }
    return jg_array_resolve_mapped(&array, jg_given_at(launch, row),
                                   jg_param_at(launch, target), key);
}

/* ---------------------------------------------------------------------------- operands */

/* Is it a reduction of the reference kernel, which gets what each element contributes? */
static bool holds_elements(const struct jg_kernel *kernel, const struct jg_operand *operand)
{
    return jg_operand_reduces(operand) &&
           kernel->choice.config.kernel == JG_KERNEL_REFERENCE;
}

static void set_operand(const struct jg_launch_arguments *launch,
                        const struct jg_operand *operand, struct jg_array *array)
{
    if (holds_elements(launch->kernel, operand)) {
        set_matrix(launch, &launch->kernel->problem.d, JG_SIZE_M, JG_SIZE_D_COLUMNS, array);
        return;
    }
    switch (operand->kind) {
    case JIT_GEMM_OPERAND_SCALAR:
        jg_array_set_vector(launch, JG_SIZE_ONE, array);
        break;
    case JIT_GEMM_OPERAND_ROW_VECTOR:
        jg_array_set_vector(launch, JG_SIZE_D_COLUMNS, array);
        break;
    case JIT_GEMM_OPERAND_PAIR_VECTOR:
        jg_array_set_vector(launch, JG_SIZE_N, array);
        break;
    case JIT_GEMM_OPERAND_COLUMN_VECTOR:
        jg_array_set_vector(launch, JG_SIZE_M, array);
        break;
    case JIT_GEMM_OPERAND_BLOCK_1X128:
    case JIT_GEMM_OPERAND_BLOCK_1X32:
    case JIT_GEMM_OPERAND_BLOCK_1X16:
        array->rows = launch->sizes[JG_SIZE_M];
        array->columns = jg_ceil_div(launch->sizes[JG_SIZE_D_COLUMNS],
                                     jg_operand_kind_block(operand->kind));
        array->is_stacked = jg_is_stacked_size(launch, JG_SIZE_M);
        array->has_ld = true;
        break;
    case JIT_GEMM_OPERAND_MATRIX:
        set_matrix(launch, &launch->kernel->problem.d, JG_SIZE_M, JG_SIZE_D_COLUMNS, array);
        array->has_map = array->has_map && jg_maps_operand(launch->kernel, operand);
        break;
    }
}

static jit_gemm_status resolve_operand(const struct jg_launch_arguments *launch,
                                       size_t index)
{
    const struct jg_operand *operand = &launch->kernel->operands[index];
    const bool is_input = operand->role == JIT_GEMM_OPERAND_INPUT;
    const bool is_matrix = holds_elements(launch->kernel, operand);
    const jit_gemm_dtype dtype = is_matrix ? JIT_GEMM_DTYPE_F32 : operand->dtype;
    struct jg_array array = {
        .operand_index = index,
        .description = operand->name,
        .kind = jg_operand_kind_name(is_matrix ? JIT_GEMM_OPERAND_MATRIX : operand->kind),
        .batch = launch->params->batch,
        .dtype = dtype,
        .extents = launch->extents,
        .alignment_key = JG_OUTPUT_KEY,
        .may_broadcast = is_input,
        .has_value = is_input && operand->kind == JIT_GEMM_OPERAND_SCALAR};
    set_operand(launch, operand, &array);
    if (!is_input && operand->kind != JIT_GEMM_OPERAND_MATRIX) {
        array.alignment = jg_bytes_of(dtype, 1); /* written by elements */
    }
    struct jg_matrix_param *param = &launch->params->operands[index];
    JG_TRY(jg_array_resolve_mapped(&array, &launch->args->operands[index], param,
                                   &launch->keys[JG_MAP_OPERANDS + index]));
    if (operand->kind == JIT_GEMM_OPERAND_PAIR_VECTOR) {
        jg_param_set_gate_steps(launch, param);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status resolve_operands(const struct jg_launch_arguments *launch)
{
    JG_TRY(jg_operand_list_check(launch->kernel, launch->args));
    for (size_t i = 0; i < launch->kernel->operand_count; i++) {
        JG_TRY(resolve_operand(launch, i));
    }
    return JIT_GEMM_OK;
}

/* --------------------------------------------------------------------- all of a launch */

static jit_gemm_status resolve_all(const struct jg_launch_arguments *launch)
{
    for (int i = 0; i < MATRIX_ROWS; i++) {
        JG_TRY(resolve_matrix(launch, &matrix_rows[i]));
    }
    JG_TRY(jg_scale_arguments_resolve(launch));
    return resolve_operands(launch);
}

static jit_gemm_status check_operand_reserved(const struct jg_kernel *kernel,
                                              const jit_gemm_args *args, size_t index)
{
    const jit_gemm_arg *arg = &args->operands[index];
    if (arg->reserved == 0) {
        return JIT_GEMM_OK;
    }
    const struct jg_array array = {.operand_index = index,
                                   .description = kernel->operands[index].name};
    return jg_array_refuse_reserved(&array, arg);
}

/* What is reserved must be zero in every launch, also of what that launch does not read.
 * A list of operands of another length is not looked at: if they are needed, it is refused.
 */
static jit_gemm_status check_reserved(const struct jg_kernel *kernel,
                                      const jit_gemm_args *args)
{
    for (int i = 0; i < MATRIX_ROWS; i++) {
        JG_TRY(jg_argument_row_check_reserved(args, &matrix_rows[i]));
    }
    JG_TRY(jg_scale_arguments_check_reserved(args));
    JG_TRY(jg_row_index_check_reserved(args));
    const bool has_list =
        args->operands != NULL && args->operand_count == kernel->operand_count;
    for (size_t i = 0; has_list && i < args->operand_count; i++) {
        JG_TRY(check_operand_reserved(kernel, args, i));
    }
    return JIT_GEMM_OK;
}

/* A and B, and scales of MX, without elements (K is 0) need no memory, but a map needs an
 * address: the kernel asks for what lies beyond K and gets zeros. Keys of what goes through
 * no map are zeroed. */
static void point_empty_inputs(struct jg_map_key *keys, uint64_t address)
{
    static const enum jg_map_index inputs[] = {JG_MAP_A, JG_MAP_B, JG_MAP_A_SCALE,
                                               JG_MAP_B_SCALE};
    const uint64_t aligned = address / JG_TMA_SPREAD_ALIGNMENT * JG_TMA_SPREAD_ALIGNMENT;
    for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++) {
        struct jg_map_key *key = &keys[inputs[i]];
        if (key->inner != 0 || key->outer != 0) {
            key->pointer = aligned;
        }
    }
}

static jit_gemm_status fill(const struct jg_kernel *kernel, const jit_gemm_args *args,
                            struct jg_kernel_params *ret_params,
                            struct jg_map_key ret_keys[JG_MAP_COUNT],
                            struct jg_first_params *ret_first, struct jg_extents *extents)
{
    JG_TRY(jg_launch_sizes_resolve(kernel, args, ret_params));
    JG_TRY(check_reserved(kernel, args));
    if (jg_params_are_empty(ret_params)) {
        return JIT_GEMM_OK;
    }
    JG_TRY(jg_group_sizes_resolve(kernel, args, ret_params));
    JG_TRY(jg_row_index_resolve(&kernel->problem, args, ret_params, extents));
    JG_TRY(jg_workspace_resolve(kernel, args, ret_params));
    JG_TRY(resolve_factor(args->alpha_device, args->alpha, "args.alpha_device",
                          &ret_params->alpha));
    JG_TRY(resolve_beta(kernel, args, &ret_params->beta));
    const struct jg_launch_arguments launch = {
        .kernel = kernel,
        .args = args,
        .params = ret_params,
        .keys = ret_keys,
        .extents = extents,
        .sizes = {[JG_SIZE_ONE] = 1,
                  [JG_SIZE_M] = ret_params->m,
                  [JG_SIZE_N] = ret_params->n,
                  [JG_SIZE_D_COLUMNS] =
                      jg_problem_d_columns(&kernel->problem, ret_params->n),
                  [JG_SIZE_K] = ret_params->k}};
    JG_TRY(resolve_all(&launch));
    jg_workspace_place_reductions(kernel, ret_params);
    jg_workspace_place_copies(kernel, ret_params, ret_keys, ret_first);
    if (ret_params->k == 0) {
        point_empty_inputs(ret_keys, ret_params->d.pointer);
    }
    /* All that speaks of the problem is resolved: the kernel takes the product's sizes. */
    const struct jg_product_size size =
        jg_product_size(&kernel->choice.product, ret_params->m, ret_params->n);
    ret_params->m = size.m;
    ret_params->n = size.n;
    return JIT_GEMM_OK;
}

jit_gemm_status jg_arguments_fill(const struct jg_kernel *kernel, const jit_gemm_args *args,
                                  struct jg_kernel_params *ret_params,
                                  struct jg_map_key ret_keys[JG_MAP_COUNT],
                                  struct jg_first_params *ret_first)
{
    return fill(kernel, args, ret_params, ret_keys, ret_first, NULL);
}

jit_gemm_status jg_arguments_measure(const struct jg_kernel *kernel,
                                     const jit_gemm_args *args,
                                     struct jg_extents *ret_extents)
{
    struct jg_kernel_params params = {.m = 0};
    struct jg_first_params first;
    struct jg_map_key keys[JG_MAP_COUNT];
    *ret_extents = (struct jg_extents){.count = 0};
    return fill(kernel, args, &params, keys, &first, ret_extents);
}
