/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/str.h"
#include "base/struct.h"
#include "plan/config.h"
#include "plan/groups.h"
#include "plan/invariance.h"
#include "plan/problem_text.h"
#include "plan/problem_words.h"
#include "plan/rows.h"
#include "plan/scale.h"
#include "plan/typical_sizes.h"

const char *const jg_dim_names[JG_DIM_COUNT] = {
    [JG_DIM_M] = "m", [JG_DIM_N] = "n", [JG_DIM_K] = "k", [JG_DIM_BATCH] = "batch"};
const char jg_k_major_letters[] = {[JG_MATRIX_A] = 'n', [JG_MATRIX_B] = 't'};
const char jg_mn_major_letters[] = {[JG_MATRIX_A] = 't', [JG_MATRIX_B] = 'n'};
const char jg_size_units[] = "kmg";
const char *const jg_pair_names[] = {
    [JIT_GEMM_PAIR_INTERLEAVED] = "interleaved", [JIT_GEMM_PAIR_HALVES] = "halves"};
const char *const jg_accumulate_names[] = {
    [JIT_GEMM_ACCUMULATE_EXACT] = "exact", [JIT_GEMM_ACCUMULATE_FAST] = "fast"};
const char *const jg_weights_names[] = {[JIT_GEMM_WEIGHTS_NONE] = "none",
                                        [JIT_GEMM_WEIGHTS_A] = "a",
                                        [JIT_GEMM_WEIGHTS_B] = "b"};

size_t jg_trim_end(const char *text, size_t size)
{
    while (size > 0 && strchr(" \t\r\n", text[size - 1]) != NULL) {
        size--;
    }
    return size;
}

size_t jg_trim_begin(const char *text)
{
    return strspn(text, " \t\r\n");
}

/* With the greatest unit that loses nothing. */
static void print_workspace(uint64_t bytes, struct jg_str *out)
{
    bytes = bytes < JG_WORKSPACE_MOST ? bytes : JG_WORKSPACE_MOST;
    if (bytes == 0) {
        return;
    }
    int unit = 0;
    while (jg_size_units[unit] != '\0' && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    jg_str_printf(out, " workspace=%llu", (unsigned long long)bytes);
    if (unit > 0) {
        jg_str_printf(out, "%c", jg_size_units[unit - 1]);
    }
}

static void print_sizes(jit_gemm_problem *problem, struct jg_str *out)
{
    for (int i = 0; i < JG_DIM_COUNT; i++) {
        const jit_gemm_dim *dim = jg_problem_dim(problem, (enum jg_dim_index)i);
        const bool is_default_batch =
            i == JG_DIM_BATCH && dim->mode == JIT_GEMM_DIM_EXACT && dim->size == 1;
        if (i == JG_DIM_BATCH && problem->group_by != JIT_GEMM_GROUP_NONE) {
            jg_str_printf(out, "groups=%lld group_by=%s ", (long long)dim->size,
                          jg_group_by_name(problem->group_by));
            if (problem->group_rest != JIT_GEMM_GROUP_REST_UNTOUCHED) {
                jg_str_printf(out, "group_rest=%s ",
                              jg_group_rest_name(problem->group_rest));
            }
            if (problem->scale_rows != JIT_GEMM_SCALE_ROWS_STACKED) {
                jg_str_printf(out, "scale_rows=%s ",
                              jg_scale_rows_name(problem->scale_rows));
            }
            if (problem->typical_sizes[0].groups > 0) {
                jg_str_puts(out, "typical_sizes=");
                jg_typical_sizes_print(problem->typical_sizes, out);
                jg_str_puts(out, " ");
            }
        } else if (dim->size > 0 && !is_default_batch) {
            jg_str_printf(out, "%s=%lld ", jg_dim_names[i], (long long)dim->size);
        }
    }
}

static void print_dynamic(jit_gemm_problem *problem, struct jg_str *out)
{
    const char *separator = " dynamic=";
    for (int i = 0; i < JG_DIM_COUNT; i++) {
        if (jg_problem_dim(problem, (enum jg_dim_index)i)->mode == JIT_GEMM_DIM_DYNAMIC) {
            jg_str_printf(out, "%s%s", separator, jg_dim_names[i]);
            separator = ",";
        }
    }
}

/* A word for each matrix whose type is not what it would be without it. */
static void print_types(jit_gemm_problem *problem, struct jg_str *out)
{
    const jit_gemm_dtype defaults[JG_MATRIX_COUNT] = {
        [JG_MATRIX_A] = JIT_GEMM_DTYPE_NONE,
        [JG_MATRIX_B] = problem->a.dtype,
        [JG_MATRIX_C] = JIT_GEMM_DTYPE_NONE,
        [JG_MATRIX_D] = jg_dtype_default_d(problem->a.dtype)};
    const char *separator = "";
    for (int i = 0; i < JG_MATRIX_COUNT; i++) {
        const jit_gemm_dtype dtype =
            jg_problem_matrix(problem, (enum jg_matrix_index)i)->dtype;
        if (dtype != defaults[i]) {
            jg_str_printf(out, "%s%c=%s", separator, "abcd"[i], jg_dtype_name(dtype));
        }
        separator = " ";
    }
}

static char layout_letter(jit_gemm_problem *problem, enum jg_matrix_index index)
{
    const jit_gemm_layout layout = jg_problem_matrix(problem, index)->layout;
    const char *letters =
        layout == JIT_GEMM_LAYOUT_K_MAJOR ? jg_k_major_letters : jg_mn_major_letters;
    return letters[index];
}

static void print_layouts(jit_gemm_problem *problem, struct jg_str *out)
{
    if (problem->a.layout != JIT_GEMM_LAYOUT_K_MAJOR ||
        problem->b.layout != JIT_GEMM_LAYOUT_K_MAJOR) {
        jg_str_printf(out, " layout=%c%c", layout_letter(problem, JG_MATRIX_A),
                      layout_letter(problem, JG_MATRIX_B));
    }
    if (problem->d.layout == JIT_GEMM_LAYOUT_COLUMN_MAJOR) {
        jg_str_puts(out, " d_layout=column");
    }
    if (problem->a_rows != JIT_GEMM_ROWS_IN_ORDER) {
        jg_str_printf(out, " a_rows=%s", jg_rows_name(problem->a_rows));
    }
    if (problem->d_rows != JIT_GEMM_ROWS_IN_ORDER) {
        jg_str_printf(out, " d_rows=%s", jg_rows_name(problem->d_rows));
    }
}

static void print_scale(char letter, const jit_gemm_scale *scale, struct jg_str *out)
{
    if (scale->kind != JIT_GEMM_SCALE_NONE) {
        jg_str_printf(out, " %c_scale=%s", letter, jg_scale_name(scale));
    }
    if (scale->layout != JIT_GEMM_SCALE_LAYOUT_ROW) {
        jg_str_printf(out, " %c_scale_layout=%s", letter,
                      jg_scale_layout_name(scale->layout));
    }
}

static void print_alignment(const char *name, uint32_t bytes, struct jg_str *out)
{
    if (bytes != 0) {
        jg_str_printf(out, " %s=%u", name, bytes);
    }
}

static void print_config(const char *text, struct jg_str *out)
{
    const char *config = text + jg_trim_begin(text);
    const size_t size = jg_trim_end(config, strlen(config));
    if (size == 0) {
        return;
    }
    jg_str_puts(out, " config=");
    for (size_t i = 0; i < size; i++) {
        jg_str_add(out, strchr("\t\r\n", config[i]) != NULL ? " " : config + i, 1);
    }
}

/* `problem` has its defaults filled in and is not changed. */
static void print_problem(jit_gemm_problem *problem, struct jg_str *out)
{
    print_sizes(problem, out);
    print_types(problem, out);
    print_layouts(problem, out);
    print_scale('a', &problem->a.scale, out);
    print_scale('b', &problem->b.scale, out);
    print_scale('d', &problem->d.scale, out);
    print_dynamic(problem, out);
    print_workspace(problem->workspace_limit, out);
    print_alignment("input_align", problem->a.alignment, out);
    print_alignment("output_align", problem->d.alignment, out);
    if (problem->pair != JIT_GEMM_PAIR_INTERLEAVED) {
        jg_str_printf(out, " pair=%s", jg_pair_names[problem->pair]);
    }
    if (problem->invariant != JIT_GEMM_INVARIANT_NONE) {
        jg_str_printf(out, " invariant=%s", jg_invariance_name(problem->invariant));
    }
    if (problem->accumulate != JIT_GEMM_ACCUMULATE_EXACT) {
        jg_str_printf(out, " accumulate=%s", jg_accumulate_names[problem->accumulate]);
    }
    if (problem->weights != JIT_GEMM_WEIGHTS_NONE) {
        jg_str_printf(out, " weights=%s", jg_weights_names[problem->weights]);
    }
    if (problem->register_limit > 0) {
        jg_str_printf(out, " max_registers=%u", problem->register_limit);
    }
    if (problem->no_local_memory != 0) {
        jg_str_puts(out, " local_memory=none");
    }
    if (problem->epilogue[0] != '\0') {
        jg_str_printf(out, " epilogue=%s", problem->epilogue);
    }
    print_config(problem->config, out);
}

jit_gemm_status jg_problem_print(const jit_gemm_problem *problem, struct jg_str *out)
{
    jit_gemm_problem checked = {0};
    JG_TRY(jg_struct_import(problem, &checked, sizeof(checked), "problem"));
    JG_TRY(jg_problem_check_fields(&checked));
    struct jg_config_override override;
    JG_TRY(jg_config_parse(checked.config, &override));
    print_problem(&checked, out);
    return jg_str_status(out);
}

/* As the caller would have given it, defaults filled in. */
static jit_gemm_matrix public_matrix(const struct jg_matrix *matrix)
{
    const bool is_narrow = matrix->alignment < JG_TMA_ALIGNMENT;
    return (jit_gemm_matrix){.dtype = matrix->dtype,
                             .layout = matrix->is_mn_major ? JIT_GEMM_LAYOUT_MN_MAJOR
                                                           : JIT_GEMM_LAYOUT_K_MAJOR,
                             .alignment = is_narrow ? (uint32_t)matrix->alignment : 0,
                             .scale = matrix->scale};
}

void jg_problem_text(const struct jg_problem *problem, struct jg_str *out)
{
    jit_gemm_problem plain;
    memset(&plain, 0, sizeof(plain));
    plain.m = problem->m;
    plain.n = problem->n;
    plain.k = problem->k;
    plain.batch = problem->batch;
    plain.a = public_matrix(&problem->a);
    plain.b = public_matrix(&problem->b);
    plain.c = public_matrix(&problem->c);
    plain.d = public_matrix(&problem->d);
    plain.workspace_limit = problem->workspace_limit;
    plain.pair = problem->pair;
    plain.group_by = problem->group_by;
    plain.group_rest = problem->group_rest;
    plain.scale_rows = problem->scale_rows;
    plain.d_rows = problem->d_rows;
    plain.a_rows = problem->a_rows;
    plain.invariant = problem->invariant;
    plain.accumulate = problem->accumulate;
    plain.weights = problem->weights;
    memcpy(plain.typical_sizes, problem->typical_sizes, sizeof(plain.typical_sizes));
    memcpy(plain.config, problem->config, sizeof(plain.config));
    if (problem->epilogue != NULL) {
        memcpy(plain.epilogue, problem->epilogue->name, sizeof(plain.epilogue));
    }
    print_problem(&plain, out);
}
