/* SPDX-License-Identifier: MIT */
#include "runtime/arguments.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/math.h"
#include "runtime/array.h"
#include "runtime/workspace.h"

/* Tiles of one launch, which the device counts in 32 bits. */
#define JG_TILES_LIMIT INT32_MAX

/* ----------------------------------------------------------------------------- sizes */

static jit_gemm_status settle_size(const jit_gemm_dim *dim, int64_t given,
                                   const char *field, uint32_t *ret_size)
{
    if (dim->mode == JIT_GEMM_DIM_EXACT) {
        if (given != 0 && given != dim->size) {
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                           "give 0 or the compiled size, or make the dimension dynamic",
                           "%lld differs from %lld, the size that this kernel was compiled "
                           "for",
                           (long long)given, (long long)dim->size);
        }
        *ret_size = (uint32_t)dim->size;
        return JIT_GEMM_OK;
    }
    if (given < 0 || given > INT32_MAX) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field, "give 0 to 2147483647",
                       "the size %lld is out of range", (long long)given);
    }
    *ret_size = (uint32_t)given;
    return JIT_GEMM_OK;
}

static jit_gemm_status check_tile_count(const struct jg_kernel *kernel,
                                        const struct jg_kernel_params *params)
{
    if (kernel->choice.config.kernel != JG_KERNEL_GEMM || jg_params_are_empty(params)) {
        return JIT_GEMM_OK;
    }
    const struct jg_product_size size =
        jg_product_size(&kernel->choice.product, params->m, params->n);
    int64_t clusters = jg_kernel_cluster_tiles(kernel, size.m, size.n);
    if (!jg_mul_checked(clusters, params->batch, &clusters) ||
        clusters > JG_TILES_LIMIT / jg_kernel_cluster_ctas(kernel)) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, "args.batch",
                       "split the batch or the matrix over several launches",
                       "%u x %u with batch %u makes 2^31 tiles or more", params->m,
                       params->n, params->batch);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status settle_sizes(const struct jg_kernel *kernel,
                                    const jit_gemm_args *args,
                                    struct jg_kernel_params *params)
{
    const struct jg_problem *problem = &kernel->problem;
    JG_TRY(settle_size(&problem->m, args->m, "args.m", &params->m));
    JG_TRY(settle_size(&problem->n, args->n, "args.n", &params->n));
    JG_TRY(settle_size(&problem->k, args->k, "args.k", &params->k));
    JG_TRY(settle_size(&problem->batch, args->batch, "args.batch", &params->batch));
    return check_tile_count(kernel, params);
}

/* -------------------------------------------------------------------------- matrices */

/* `bytes` are promised by the problem's `key`, an element's where that has more. Matrices
 * that are promised what the copy engine needs go through maps. The reference kernel needs
 * elements. */
static void set_alignment(const struct jg_kernel *kernel, int bytes, const char *key,
                          struct jg_array *array)
{
    const int is_gemm = kernel->choice.config.kernel == JG_KERNEL_GEMM;
    array->alignment = is_gemm ? jg_max(bytes, array->element_bytes) : array->element_bytes;
    array->alignment_key = key;
    array->has_map = is_gemm && bytes == JG_TMA_ALIGNMENT;
}

static void set_input_alignment(const struct jg_kernel *kernel, struct jg_array *array)
{
    set_alignment(kernel, kernel->problem.a.alignment, "input_align", array);
}

static void set_output_alignment(const struct jg_kernel *kernel, struct jg_array *array)
{
    set_alignment(kernel, kernel->problem.d.alignment, "output_align", array);
}

/* A vector along the rows of D in memory is read in pairs, unless less is promised. */
static void set_vector_alignment(const struct jg_kernel *kernel, int is_along_rows,
                                 struct jg_array *array)
{
    const int64_t wanted = is_along_rows ? 2 * array->element_bytes : array->element_bytes;
    set_alignment(kernel, (int)jg_min(wanted, kernel->problem.d.alignment), "output_align",
                  array);
    array->has_map = 0;
}

/* Zeroed for an array that goes through no map. */
static struct jg_map_key key_of_array(const struct jg_array *array)
{
    if (!array->has_map) {
        return (struct jg_map_key){0};
    }
    const struct jg_map_key key = {
        .pointer = array->pointer,
        .ld = array->ld,
        .batch_stride = array->batch_stride,
        .inner = (uint32_t)array->columns,
        .outer = (uint32_t)array->rows,
        .batch =
            array->may_broadcast && array->batch_stride == 0 ? 1 : (uint32_t)array->batch,
    };
    return key;
}

static jit_gemm_status settle_a(const struct jg_kernel *kernel, const jit_gemm_args *args,
                                const struct jg_kernel_params *params,
                                struct jg_matrix_param *param, struct jg_map_key *key)
{
    const int k_major = !kernel->problem.a.is_mn_major;
    struct jg_array a = {.letter = "a",
                         .description = "A",
                         .pointer = args->a,
                         .ld = args->lda,
                         .batch_stride = args->a_batch_stride,
                         .rows = k_major ? params->m : params->k,
                         .columns = k_major ? params->k : params->m,
                         .batch = params->batch,
                         .element_bytes = (int)jg_bytes_of(kernel->problem.a.dtype, 1),
                         .may_broadcast = 1,
                         .has_ld = 1};
    set_input_alignment(kernel, &a);
    JG_TRY(jg_array_settle(&a));
    param->pointer = a.pointer;
    param->ld = a.ld;
    param->batch_stride = a.batch_stride;
    param->batch_step = a.batch_stride != 0;
    *key = key_of_array(&a);
    return JIT_GEMM_OK;
}

static jit_gemm_status settle_b(const struct jg_kernel *kernel, const jit_gemm_args *args,
                                const struct jg_kernel_params *params,
                                struct jg_matrix_param *param, struct jg_map_key *key)
{
    const int k_major = !kernel->problem.b.is_mn_major;
    struct jg_array b = {.letter = "b",
                         .description = "B",
                         .pointer = args->b,
                         .ld = args->ldb,
                         .batch_stride = args->b_batch_stride,
                         .rows = k_major ? params->n : params->k,
                         .columns = k_major ? params->k : params->n,
                         .batch = params->batch,
                         .element_bytes = (int)jg_bytes_of(kernel->problem.b.dtype, 1),
                         .may_broadcast = 1,
                         .has_ld = 1};
    set_input_alignment(kernel, &b);
    JG_TRY(jg_array_settle(&b));
    param->pointer = b.pointer;
    param->ld = b.ld;
    param->batch_stride = b.batch_stride;
    param->batch_step = b.batch_stride != 0;
    *key = key_of_array(&b);
    return JIT_GEMM_OK;
}

/* As D lies in memory, and C and matrix operands with it. */
static int64_t rows_of_d(const struct jg_kernel *kernel,
                         const struct jg_kernel_params *params)
{
    return jg_problem_is_column_major(&kernel->problem) ? params->n : params->m;
}

static int64_t columns_of_d(const struct jg_kernel *kernel,
                            const struct jg_kernel_params *params)
{
    return jg_problem_is_column_major(&kernel->problem) ? params->m : params->n;
}

static jit_gemm_status settle_d(const struct jg_kernel *kernel, const jit_gemm_args *args,
                                struct jg_kernel_params *params, struct jg_map_key *key)
{
    struct jg_array d = {.letter = "d",
                         .description = "D",
                         .pointer = args->d,
                         .ld = args->ldd,
                         .batch_stride = args->d_batch_stride,
                         .rows = rows_of_d(kernel, params),
                         .columns = columns_of_d(kernel, params),
                         .batch = params->batch,
                         .element_bytes = (int)jg_bytes_of(kernel->problem.d.dtype, 1),
                         .has_ld = 1};
    set_output_alignment(kernel, &d);
    JG_TRY(jg_array_settle(&d));
    params->d.pointer = d.pointer;
    params->d.ld = d.ld;
    params->d.batch_stride = d.batch_stride;
    *key = key_of_array(&d);
    return JIT_GEMM_OK;
}

/* ------------------------------------------------------------ C and the two scalars */

static jit_gemm_status settle_factor(uint64_t address, const float *value,
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

static jit_gemm_status refuse_c(const jit_gemm_args *args)
{
    static const char hint[] = "leave it zero, or name a type of C in problem.c";
    if (args->c != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "args.c", hint,
                       "an address is given, but this problem has no C");
    }
    if (args->ldc != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "args.ldc", hint,
                       "%lld is given, but this problem has no C", (long long)args->ldc);
    }
    if (args->c_batch_stride != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "args.c_batch_stride", hint,
                       "%lld is given, but this problem has no C",
                       (long long)args->c_batch_stride);
    }
    if (args->beta_device != 0 || (args->beta != NULL && *args->beta != 0.0F)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT,
                       args->beta_device != 0 ? "args.beta_device" : "args.beta", hint,
                       "a beta is given, but this problem has no C to multiply");
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status settle_c(const struct jg_kernel *kernel, const jit_gemm_args *args,
                                struct jg_kernel_params *params, struct jg_map_key *key)
{
    *key = (struct jg_map_key){0};
    params->c = (struct jg_matrix_param){0};
    params->beta = (struct jg_scalar_param){0};
    if (kernel->problem.c.dtype == JIT_GEMM_DTYPE_NONE) {
        return refuse_c(args);
    }
    JG_TRY(settle_factor(args->beta_device, args->beta, "args.beta_device", &params->beta));
    if (args->c == 0 && params->beta.pointer == 0 && params->beta.value == 0.0F) {
        return JIT_GEMM_OK; /* never read */
    }
    struct jg_array c = {.letter = "c",
                         .description = "C",
                         .pointer = args->c,
                         .ld = args->ldc,
                         .batch_stride = args->c_batch_stride,
                         .rows = rows_of_d(kernel, params),
                         .columns = columns_of_d(kernel, params),
                         .batch = params->batch,
                         .element_bytes = (int)jg_bytes_of(kernel->problem.c.dtype, 1),
                         .may_broadcast = 1,
                         .has_ld = 1};
    set_output_alignment(kernel, &c);
    JG_TRY(jg_array_settle(&c));
    params->c.pointer = c.pointer;
    params->c.ld = c.ld;
    params->c.batch_stride = c.batch_stride;
    params->c.batch_step = c.batch_stride != 0;
    *key = key_of_array(&c);
    return JIT_GEMM_OK;
}

/* ---------------------------------------------------------------------------- scales */

/* Of A or B, whose field is `letter`; `param` is settled in place. */
static jit_gemm_status settle_scale(const struct jg_kernel *kernel, jit_gemm_scale scale,
                                    const char *letter, int64_t count, int is_along_rows,
                                    const struct jg_kernel_params *params,
                                    struct jg_matrix_param *param)
{
    const int is_vector = scale == JIT_GEMM_SCALE_VECTOR;
    struct jg_array array = {.letter = letter,
                             .description = "the scales",
                             .pointer = param->pointer,
                             .batch_stride = param->batch_stride,
                             .rows = 1,
                             .columns = is_vector ? count : 1,
                             .batch = params->batch,
                             .element_bytes = sizeof(float),
                             .may_broadcast = 1};
    set_vector_alignment(kernel, is_vector && is_along_rows, &array);
    if (scale == JIT_GEMM_SCALE_NONE) {
        if (param->pointer != 0 || param->batch_stride != 0) {
            const struct jg_field_name name = jg_array_field(
                &array, param->pointer != 0 ? JG_PART_POINTER : JG_PART_BATCH_STRIDE);
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, name.text,
                           "leave it zero, or name a scale in the problem",
                           "scales are given, but this problem has none");
        }
        return JIT_GEMM_OK;
    }
    JG_TRY(jg_array_settle(&array));
    param->batch_stride = array.batch_stride;
    return JIT_GEMM_OK;
}

static jit_gemm_status settle_scales(const struct jg_kernel *kernel,
                                     const jit_gemm_args *args,
                                     struct jg_kernel_params *params)
{
    params->a_scale = (struct jg_matrix_param){.pointer = args->a_scale,
                                               .batch_stride = args->a_scale_batch_stride};
    params->b_scale = (struct jg_matrix_param){.pointer = args->b_scale,
                                               .batch_stride = args->b_scale_batch_stride};
    const int by_columns = jg_problem_is_column_major(&kernel->problem);
    JG_TRY(settle_scale(kernel, kernel->problem.a.scale.kind, "a_scale", params->m,
                        by_columns, params, &params->a_scale));
    return settle_scale(kernel, kernel->problem.b.scale.kind, "b_scale", params->n,
                        !by_columns, params, &params->b_scale);
}

/* -------------------------------------------------------------------------- operands */

static jit_gemm_status check_operand_list(const struct jg_kernel *kernel,
                                          const jit_gemm_args *args)
{
    if (args->operand_count != kernel->operand_count) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "args.operand_count",
                       "give one entry an operand, in declared order",
                       "%zu operands are given, but %s%s%s declares %u",
                       args->operand_count,
                       kernel->epilogue_name[0] != '\0' ? "epilogue '" : "no epilogue",
                       kernel->epilogue_name, kernel->epilogue_name[0] != '\0' ? "'" : "",
                       kernel->operand_count);
    }
    if (args->operand_count > 0 && args->operands == NULL) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "args.operands",
                       "give an array of args.operand_count entries",
                       "the array is NULL, but %zu operands are declared",
                       args->operand_count);
    }
    return JIT_GEMM_OK;
}

/* How an operand of this kind lies in memory. */
static void shape_operand(const struct jg_kernel *kernel, const struct jg_operand *operand,
                          const struct jg_kernel_params *params, struct jg_array *array)
{
    array->rows = 1;
    array->columns = 1;
    const int by_columns = jg_problem_is_column_major(&kernel->problem);
    switch (operand->kind) {
    case JIT_GEMM_OPERAND_SCALAR:
        set_vector_alignment(kernel, 0, array);
        break;
    case JIT_GEMM_OPERAND_ROW_VECTOR:
        array->columns = params->n;
        set_vector_alignment(kernel, !by_columns, array);
        break;
    case JIT_GEMM_OPERAND_COLUMN_VECTOR:
        array->columns = params->m;
        set_vector_alignment(kernel, by_columns, array);
        break;
    case JIT_GEMM_OPERAND_MATRIX:
        array->rows = rows_of_d(kernel, params);
        array->columns = columns_of_d(kernel, params);
        array->has_ld = 1;
        set_output_alignment(kernel, array);
        array->has_map = array->has_map && operand->role == JIT_GEMM_OPERAND_INPUT;
        break;
    }
}

static jit_gemm_status refuse_reserved(const struct jg_operand *operand, size_t index,
                                       uint32_t value)
{
    char name[64];
    snprintf(name, sizeof(name), "args.operands[%zu].reserved", index);
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, name, "set the whole entry to zero first",
                   "must be zero, is %u (operand %s)", value, operand->name);
}

static jit_gemm_status settle_operand(const struct jg_kernel *kernel, size_t index,
                                      const jit_gemm_operand_arg *arg,
                                      const struct jg_kernel_params *params,
                                      struct jg_matrix_param *param, struct jg_map_key *key)
{
    *key = (struct jg_map_key){0};
    const struct jg_operand *operand = &kernel->operands[index];
    if (arg->reserved != 0) {
        return refuse_reserved(operand, index, arg->reserved);
    }
    struct jg_array array = {.operand_index = index,
                             .description = operand->name,
                             .pointer = arg->pointer,
                             .ld = arg->ld,
                             .batch_stride = arg->batch_stride,
                             .batch = params->batch,
                             .element_bytes = (int)jg_bytes_of(operand->dtype, 1),
                             .may_broadcast = operand->role == JIT_GEMM_OPERAND_INPUT};
    shape_operand(kernel, operand, params, &array);
    if (!array.has_ld && arg->ld != 0) {
        const struct jg_field_name name = jg_array_field(&array, JG_PART_LD);
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, name.text, "leave it zero",
                       "%s is a %s and has no leading dimension (%lld)", operand->name,
                       jg_operand_kind_name(operand->kind), (long long)arg->ld);
    }
    param->value = arg->value;
    param->batch_step = 0;
    const int by_value = operand->kind == JIT_GEMM_OPERAND_SCALAR && arg->pointer == 0;
    if (by_value) {
        param->pointer = 0;
        param->ld = 0;
        param->batch_stride = 0;
        return JIT_GEMM_OK;
    }
    JG_TRY(jg_array_settle(&array));
    param->pointer = array.pointer;
    param->ld = array.ld;
    param->batch_stride = array.batch_stride;
    param->batch_step = array.has_map && array.batch_stride != 0;
    *key = key_of_array(&array);
    return JIT_GEMM_OK;
}

static jit_gemm_status settle_operands(const struct jg_kernel *kernel,
                                       const jit_gemm_args *args,
                                       struct jg_kernel_params *params,
                                       struct jg_map_key *keys)
{
    JG_TRY(check_operand_list(kernel, args));
    for (size_t i = 0; i < kernel->operand_count; i++) {
        JG_TRY(settle_operand(kernel, i, &args->operands[i], params, &params->operands[i],
                              &keys[i]));
    }
    return JIT_GEMM_OK;
}

/* The problem's A and B, to where the product has them. */
static jit_gemm_status settle_inputs(const struct jg_kernel *kernel,
                                     const jit_gemm_args *args,
                                     struct jg_kernel_params *params,
                                     struct jg_map_key *keys)
{
    const bool a_first = kernel->choice.product.a.letter == 'a';
    JG_TRY(settle_a(kernel, args, params, a_first ? &params->a : &params->b,
                    &keys[a_first ? JG_MAP_A : JG_MAP_B]));
    return settle_b(kernel, args, params, a_first ? &params->b : &params->a,
                    &keys[a_first ? JG_MAP_B : JG_MAP_A]);
}

jit_gemm_status jg_arguments_fill(const struct jg_kernel *kernel, const jit_gemm_args *args,
                                  struct jg_kernel_params *ret_params,
                                  struct jg_map_key ret_keys[JG_MAP_COUNT])
{
    JG_TRY(settle_sizes(kernel, args, ret_params));
    if (jg_params_are_empty(ret_params)) {
        return JIT_GEMM_OK;
    }
    JG_TRY(jg_workspace_settle(kernel, args, ret_params));
    JG_TRY(settle_inputs(kernel, args, ret_params, ret_keys));
    JG_TRY(settle_d(kernel, args, ret_params, &ret_keys[JG_MAP_D]));
    JG_TRY(settle_factor(args->alpha_device, args->alpha, "args.alpha_device",
                         &ret_params->alpha));
    JG_TRY(settle_c(kernel, args, ret_params, &ret_keys[JG_MAP_C]));
    JG_TRY(settle_scales(kernel, args, ret_params));
    JG_TRY(settle_operands(kernel, args, ret_params, &ret_keys[JG_MAP_OPERANDS]));
    if (ret_params->k == 0 && !jg_loads_by_threads(&kernel->problem)) {
        /* A and B have no elements and need no memory, but a map needs an address: the
         * kernel asks for what lies beyond K and gets zeros. */
        const uint64_t place = ret_params->d.pointer / JG_TMA_ALIGNMENT * JG_TMA_ALIGNMENT;
        ret_keys[JG_MAP_A].pointer = place;
        ret_keys[JG_MAP_B].pointer = place;
    }
    /* All that speaks of the problem is settled: the kernel takes the product's sizes. */
    const struct jg_product_size size =
        jg_product_size(&kernel->choice.product, ret_params->m, ret_params->n);
    ret_params->m = size.m;
    ret_params->n = size.n;
    return JIT_GEMM_OK;
}
