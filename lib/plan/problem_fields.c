/* SPDX-License-Identifier: MIT */
/* The fields of the caller's problem, each by itself, and their defaults. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"
#include "base/struct.h"
#include "plan/groups.h"
#include "plan/invariance.h"
#include "plan/problem.h"
#include "plan/problem_text.h"
#include "plan/rows.h"
#include "plan/scale.h"
#include "plan/text.h"
#include "plan/typical_sizes.h"

static const struct {
    const char *where;
    const char *hint;
} dim_rows[JG_DIM_COUNT] = {
    [JG_DIM_M] = {"problem.m", "give the number of rows of A and D"},
    [JG_DIM_N] = {"problem.n", "give the number of columns of B and D"},
    [JG_DIM_K] = {"problem.k", "give the number of columns of A and rows of B"},
    [JG_DIM_BATCH] = {"problem.batch", "give the number of products"},
};

const char *jg_dim_hint(enum jg_dim_index index)
{
    return dim_rows[index].hint;
}

jit_gemm_dim *jg_problem_dim(jit_gemm_problem *problem, enum jg_dim_index index)
{
    jit_gemm_dim *const dims[JG_DIM_COUNT] = {&problem->m, &problem->n, &problem->k,
                                              &problem->batch};
    return dims[index];
}

static jit_gemm_status check_dim(const jit_gemm_dim *dim, enum jg_dim_index index)
{
    const char *where = dim_rows[index].where;
    char field[40];
    if (dim->mode != JIT_GEMM_DIM_EXACT && dim->mode != JIT_GEMM_DIM_DYNAMIC) {
        snprintf(field, sizeof(field), "%s.mode", where);
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                       "give JIT_GEMM_DIM_EXACT or JIT_GEMM_DIM_DYNAMIC",
                       "must be 0 or 1, is %d", dim->mode);
    }
    if (dim->reserved != 0) {
        snprintf(field, sizeof(field), "%s.reserved", where);
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field, "zero the struct before filling it",
                       "must be 0, is %d", dim->reserved);
    }
    const bool is_exact = dim->mode == JIT_GEMM_DIM_EXACT;
    if (dim->size < (is_exact ? 1 : 0) || dim->size > JG_MAX_SIZE) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, where,
                       is_exact ? dim_rows[index].hint
                                : "give the size to plan for, or 0 if unknown",
                       "must be %d to %lld, is %lld", is_exact, (long long)JG_MAX_SIZE,
                       (long long)dim->size);
    }
    return JIT_GEMM_OK;
}

/* What a matrix may be. */
static const struct matrix_row {
    char letter;
    const char *types;
    const char *layouts;
} matrix_rows[JG_MATRIX_COUNT] = {
#define INPUT_LAYOUTS  "give JIT_GEMM_LAYOUT_K_MAJOR or JIT_GEMM_LAYOUT_MN_MAJOR"
#define OUTPUT_LAYOUTS "give JIT_GEMM_LAYOUT_ROW_MAJOR or JIT_GEMM_LAYOUT_COLUMN_MAJOR"
    [JG_MATRIX_A] = {'a', JG_INPUT_TYPES, INPUT_LAYOUTS},
    [JG_MATRIX_B] = {'b', JG_INPUT_TYPES, INPUT_LAYOUTS},
    [JG_MATRIX_C] = {'c', JG_OUTPUT_TYPES, OUTPUT_LAYOUTS},
    [JG_MATRIX_D] = {'d', JG_OUTPUT_TYPES, OUTPUT_LAYOUTS},
#undef INPUT_LAYOUTS
#undef OUTPUT_LAYOUTS
};

jit_gemm_matrix *jg_problem_matrix(jit_gemm_problem *problem, enum jg_matrix_index index)
{
    jit_gemm_matrix *const matrices[JG_MATRIX_COUNT] = {&problem->a, &problem->b,
                                                        &problem->c, &problem->d};
    return matrices[index];
}

/* Name of a field of a matrix, for messages: "problem.a.dtype". */
struct field_name {
    char text[40];
};

static struct field_name field_of(const struct matrix_row *row, const char *member)
{
    struct field_name name;
    snprintf(name.text, sizeof(name.text), "problem.%c.%s", row->letter, member);
    return name;
}

static jit_gemm_status check_reserved(const struct matrix_row *row, uint32_t value)
{
    if (value != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field_of(row, "reserved").text,
                       "zero the struct before filling it", "must be 0, is %u", value);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status check_alignment(const struct matrix_row *row,
                                       const jit_gemm_matrix *matrix)
{
    const uint32_t bytes = matrix->alignment;
    if (bytes > JG_TMA_ALIGNMENT || (bytes & (bytes - 1)) != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field_of(row, "alignment").text,
                       "give 1, 2, 4 or 8 bytes; 0 means 16",
                       "must be 0, 1, 2, 4, 8 or 16, is %u", bytes);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status check_matrix(const struct matrix_row *row,
                                    const jit_gemm_matrix *matrix)
{
    if (!jg_dtype_exists(matrix->dtype)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field_of(row, "dtype").text, row->types,
                       "%d is no element type", (int)matrix->dtype);
    }
    if (jg_dtype_is_of_scales(matrix->dtype)) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, field_of(row, "dtype").text, row->types,
                       "%s is a type of scales, and of no matrix",
                       jg_dtype_name(matrix->dtype));
    }
    if (matrix->layout != JIT_GEMM_LAYOUT_K_MAJOR &&
        matrix->layout != JIT_GEMM_LAYOUT_MN_MAJOR) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field_of(row, "layout").text, row->layouts,
                       "must be 0 or 1, is %d", (int)matrix->layout);
    }
    JG_TRY(jg_scale_check(row->letter, &matrix->scale));
    JG_TRY(check_alignment(row, matrix));
    return check_reserved(row, matrix->reserved);
}

/* Beside D, which is checked already. */
static jit_gemm_status check_c(const jit_gemm_problem *problem)
{
    const jit_gemm_matrix *c = &problem->c;
    if (c->layout != JIT_GEMM_LAYOUT_ROW_MAJOR && c->layout != problem->d.layout) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, "problem.c.layout",
                       "give D's layout, or zero, which means D's",
                       "there is no kernel for a column-major C beside a row-major D");
    }
    if (c->dtype == JIT_GEMM_DTYPE_NONE && c->alignment != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.c.alignment",
                       "leave it zero, or name a type of C in problem.c.dtype",
                       "%u is given, but this problem has no C", c->alignment);
    }
    return jg_scale_check_kernel('c', &c->scale);
}

static jit_gemm_status check_accumulate(const jit_gemm_problem *problem)
{
    if (problem->accumulate != JIT_GEMM_ACCUMULATE_EXACT &&
        problem->accumulate != JIT_GEMM_ACCUMULATE_FAST) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.accumulate",
                       "give JIT_GEMM_ACCUMULATE_EXACT or JIT_GEMM_ACCUMULATE_FAST",
                       "must be 0 or 1, is %d", (int)problem->accumulate);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status check_weights(const jit_gemm_problem *problem)
{
    const int weights = (int)problem->weights;
    if (weights < JIT_GEMM_WEIGHTS_NONE || weights > JIT_GEMM_WEIGHTS_B) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.weights",
                       "give JIT_GEMM_WEIGHTS_NONE, JIT_GEMM_WEIGHTS_A or "
                       "JIT_GEMM_WEIGHTS_B",
                       "must be 0 to 2, is %d", weights);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status check_pair(const jit_gemm_problem *problem)
{
    if (problem->pair != JIT_GEMM_PAIR_INTERLEAVED &&
        problem->pair != JIT_GEMM_PAIR_HALVES) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.pair",
                       "give JIT_GEMM_PAIR_INTERLEAVED or JIT_GEMM_PAIR_HALVES",
                       "must be 0 or 1, is %d", (int)problem->pair);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status check_budget(const jit_gemm_problem *problem)
{
    if (problem->register_limit > JG_MAX_THREAD_REGISTERS) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.register_limit",
                       "give the most registers of a thread, or 0 for any number",
                       "must be 0 to %d, is %u", JG_MAX_THREAD_REGISTERS,
                       problem->register_limit);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status check_terminated(const char *where, const char *text, size_t size)
{
    if (memchr(text, '\0', size) == NULL) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, where, "use a shorter text",
                       "has no ending zero within its %zu bytes", size);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status check_names(const jit_gemm_problem *problem)
{
    JG_TRY(check_terminated("problem.epilogue", problem->epilogue, JIT_GEMM_NAME_SIZE));
    JG_TRY(check_terminated("problem.config", problem->config, JIT_GEMM_CONFIG_SIZE));
    if (problem->epilogue[0] != '\0' &&
        !jg_is_identifier(problem->epilogue, strlen(problem->epilogue))) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.epilogue",
                       "give the name of a registered epilogue", "%s is no C identifier",
                       jg_quote(problem->epilogue, strlen(problem->epilogue)).text);
    }
    return JIT_GEMM_OK;
}

static uint32_t lesser_alignment(const jit_gemm_matrix *x, const jit_gemm_matrix *y)
{
    return jg_alignment_of(x) < jg_alignment_of(y) ? jg_alignment_of(x)
                                                   : jg_alignment_of(y);
}

static jit_gemm_status check_input_alignment(const jit_gemm_problem *problem)
{
    const bool is_of_b = jg_alignment_of(&problem->b) < jg_alignment_of(&problem->a);
    const uint32_t bytes = lesser_alignment(&problem->a, &problem->b);
    if (bytes < (uint32_t)jg_bytes_of(problem->a.dtype, 1) ||
        bytes < (uint32_t)jg_bytes_of(problem->b.dtype, 1)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT,
                       is_of_b ? "problem.b.alignment" : "problem.a.alignment",
                       "give at least the bytes of an element of A and of B",
                       "%u bytes are less than an element", bytes);
    }
    return JIT_GEMM_OK;
}

/* The lesser alignment of two matrices holds for both; 16 bytes are written as 0. */
static void share_alignment(jit_gemm_matrix *x, jit_gemm_matrix *y)
{
    const uint32_t bytes = lesser_alignment(x, y);
    x->alignment = y->alignment = bytes == JG_TMA_ALIGNMENT ? 0 : bytes;
}

/* Every default but those of types, and of a C that is absent. */
static void fill_defaults(jit_gemm_problem *problem)
{
    for (int i = 0; i < JG_MATRIX_COUNT; i++) {
        jg_scale_complete(&jg_problem_matrix(problem, (enum jg_matrix_index)i)->scale);
    }
    share_alignment(&problem->a, &problem->b);
    share_alignment(&problem->c, &problem->d);
    problem->c.layout = problem->d.layout;
    if (problem->c.dtype == JIT_GEMM_DTYPE_NONE) {
        memset(&problem->c, 0, sizeof(problem->c));
    }
}

jit_gemm_status jg_problem_check_fields(jit_gemm_problem *problem)
{
    if (problem->batch.size == 0 && problem->batch.mode == JIT_GEMM_DIM_EXACT) {
        if (problem->group_by != JIT_GEMM_GROUP_NONE) {
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.batch",
                           "give the number of groups, such as 8",
                           "group_by is given, and how many groups there are is not");
        }
        problem->batch.size = 1;
    }
    for (int i = 0; i < JG_DIM_COUNT; i++) {
        JG_TRY(
            check_dim(jg_problem_dim(problem, (enum jg_dim_index)i), (enum jg_dim_index)i));
    }
    for (int i = 0; i < JG_MATRIX_COUNT; i++) {
        JG_TRY(check_matrix(&matrix_rows[i],
                            jg_problem_matrix(problem, (enum jg_matrix_index)i)));
    }
    if (problem->a.dtype == JIT_GEMM_DTYPE_NONE) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.a.dtype", JG_INPUT_TYPES,
                       "the element type of A is not set");
    }
    if (problem->b.dtype == JIT_GEMM_DTYPE_NONE) {
        problem->b.dtype = problem->a.dtype;
    }
    if (problem->d.dtype == JIT_GEMM_DTYPE_NONE) {
        problem->d.dtype = jg_dtype_default_d(problem->a.dtype);
    }
    JG_TRY(check_c(problem));
    JG_TRY(check_pair(problem));
    JG_TRY(check_accumulate(problem));
    JG_TRY(check_weights(problem));
    JG_TRY(jg_groups_check_fields(problem));
    JG_TRY(jg_typical_sizes_check(problem));
    JG_TRY(jg_rows_check_fields(problem));
    JG_TRY(jg_invariance_check_fields(problem));
    JG_TRY(check_budget(problem));
    JG_TRY(check_names(problem));
    JG_TRY(check_input_alignment(problem));
    fill_defaults(problem);
    return JIT_GEMM_OK;
}
