/* SPDX-License-Identifier: MIT */
#include "plan/problem.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"
#include "base/struct.h"
#include "plan/config.h"
#include "plan/problem_text.h"
#include "plan/text.h"

/* Most elements of one matrix of one batch: keeps every byte offset and every stride of a
 * tensor map in range, and is more than any device holds. */
#define MAX_ELEMENTS        (INT64_C(1) << 38)
#define MAX_HINT            (INT64_C(1) << 30)
#define DEFAULT_MATRIX_HINT 4096

/* -------------------------------------------------------------------------- checks */

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
    const int exact = dim->mode == JIT_GEMM_DIM_EXACT;
    if (dim->size < (exact ? 1 : 0) || dim->size > JG_MAX_SIZE) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, where,
                       exact ? dim_rows[index].hint
                             : "give the size to plan for, or 0 if unknown",
                       "must be %d to %lld, is %lld", exact, (long long)JG_MAX_SIZE,
                       (long long)dim->size);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status check_dtype(const char *where, jit_gemm_dtype dtype,
                                   const char *types)
{
    if (!jg_dtype_exists(dtype)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, where, types, "%d is no element type",
                       (int)dtype);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status check_layout(const char *where, jit_gemm_layout layout)
{
    if (layout != JIT_GEMM_LAYOUT_K_MAJOR && layout != JIT_GEMM_LAYOUT_MN_MAJOR) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, where,
                       "give JIT_GEMM_LAYOUT_K_MAJOR or JIT_GEMM_LAYOUT_MN_MAJOR",
                       "must be 0 or 1, is %d", (int)layout);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status check_scale(const char *where, jit_gemm_scale scale)
{
    if ((unsigned)scale > JIT_GEMM_SCALE_VECTOR) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, where,
                       "give JIT_GEMM_SCALE_NONE, _TENSOR or _VECTOR",
                       "must be 0, 1 or 2, is %d", (int)scale);
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

static jit_gemm_status check_d_layout(jit_gemm_d_layout layout)
{
    if (layout != JIT_GEMM_D_ROW_MAJOR && layout != JIT_GEMM_D_COLUMN_MAJOR) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.d_layout",
                       "give JIT_GEMM_D_ROW_MAJOR or JIT_GEMM_D_COLUMN_MAJOR",
                       "must be 0 or 1, is %d", (int)layout);
    }
    return JIT_GEMM_OK;
}

/* `alignment` becomes 0 where it says what that means. */
static jit_gemm_status check_alignment(const char *where, uint64_t *alignment)
{
    if (*alignment > JG_TMA_ALIGNMENT || (*alignment & (*alignment - 1)) != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, where, "give 1, 2, 4 or 8 bytes; 0 means 16",
                       "must be 0, 1, 2, 4, 8 or 16, is %llu",
                       (unsigned long long)*alignment);
    }
    if (*alignment == JG_TMA_ALIGNMENT) {
        *alignment = 0;
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_problem_check_fields(jit_gemm_problem *problem)
{
    if (problem->batch.size == 0 && problem->batch.mode == JIT_GEMM_DIM_EXACT) {
        problem->batch.size = 1;
    }
    for (int i = 0; i < JG_DIM_COUNT; i++) {
        JG_TRY(
            check_dim(jg_problem_dim(problem, (enum jg_dim_index)i), (enum jg_dim_index)i));
    }
    JG_TRY(check_dtype("problem.a", problem->a, JG_INPUT_TYPES));
    JG_TRY(check_dtype("problem.b", problem->b, JG_INPUT_TYPES));
    JG_TRY(check_dtype("problem.c", problem->c, JG_OUTPUT_TYPES));
    JG_TRY(check_dtype("problem.d", problem->d, JG_OUTPUT_TYPES));
    if (problem->a == JIT_GEMM_DTYPE_NONE) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.a", JG_INPUT_TYPES,
                       "the element type of A is not set");
    }
    if (problem->b == JIT_GEMM_DTYPE_NONE) {
        problem->b = problem->a;
    }
    if (problem->d == JIT_GEMM_DTYPE_NONE) {
        problem->d = jg_dtype_default_d(problem->a);
    }
    JG_TRY(check_layout("problem.a_layout", problem->a_layout));
    JG_TRY(check_layout("problem.b_layout", problem->b_layout));
    JG_TRY(check_scale("problem.a_scale", problem->a_scale));
    JG_TRY(check_scale("problem.b_scale", problem->b_scale));
    JG_TRY(check_d_layout(problem->d_layout));
    JG_TRY(check_terminated("problem.epilogue", problem->epilogue, JIT_GEMM_NAME_SIZE));
    JG_TRY(check_terminated("problem.config", problem->config, JIT_GEMM_CONFIG_SIZE));
    JG_TRY(check_alignment("problem.input_alignment", &problem->input_alignment));
    JG_TRY(check_alignment("problem.output_alignment", &problem->output_alignment));
    const uint64_t alignment = problem->input_alignment;
    if (alignment != 0 && (alignment < (uint64_t)jg_bytes_of(problem->a, 1) ||
                           alignment < (uint64_t)jg_bytes_of(problem->b, 1))) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.input_alignment",
                       "give at least the bytes of an element of A and of B",
                       "%llu bytes are less than an element",
                       (unsigned long long)alignment);
    }
    if (problem->epilogue[0] != '\0' &&
        !jg_is_identifier(problem->epilogue, strlen(problem->epilogue))) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.epilogue",
                       "give the name of a registered epilogue", "%s is no C identifier",
                       jg_quote(problem->epilogue, strlen(problem->epilogue)).text);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status check_output(const jit_gemm_problem *problem, const char *where,
                                    const char *matrix, jit_gemm_dtype dtype)
{
    if (!jg_dtype_is_output(dtype)) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, where,
                       dtype == JIT_GEMM_DTYPE_TF32 ? "give f32" : JG_OUTPUT_TYPES,
                       "there is no kernel for %s of type %s", matrix,
                       jg_dtype_name(dtype));
    }
    if (dtype == JIT_GEMM_DTYPE_S32 && problem->a != JIT_GEMM_DTYPE_S8) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, where, "give f32, or A and B of type s8",
                       "there is no kernel for %s of type s32 with A of type %s", matrix,
                       jg_dtype_name(problem->a));
    }
    return JIT_GEMM_OK;
}

static int lesser(int a, int b)
{
    return a < b ? a : b;
}

/* The smallest element is the least that can be promised; where an element has more, that
 * much is meant. */
static jit_gemm_status check_output_alignment(const jit_gemm_problem *problem,
                                              const struct jg_epilogue *epilogue)
{
    int least = (int)jg_bytes_of(problem->d, 1);
    if (problem->c != JIT_GEMM_DTYPE_NONE) {
        least = lesser(least, (int)jg_bytes_of(problem->c, 1));
    }
    for (uint32_t i = 0; epilogue != NULL && i < epilogue->operand_count; i++) {
        if (epilogue->operands[i].kind != JIT_GEMM_OPERAND_SCALAR) {
            least = lesser(least, (int)jg_bytes_of(epilogue->operands[i].dtype, 1));
        }
    }
    if (problem->output_alignment != 0 && problem->output_alignment < (uint64_t)least) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.output_alignment",
                       "give at least the bytes of the smallest element of D, C and the "
                       "operands",
                       "%llu bytes are less than an element, the smallest has %d",
                       (unsigned long long)problem->output_alignment, least);
    }
    return JIT_GEMM_OK;
}

/* What is legal but has no kernel in this version. */
static jit_gemm_status check_supported(const jit_gemm_problem *problem)
{
    if (!jg_dtype_is_input(problem->a)) {
        return jg_fail(
            JIT_GEMM_ERR_UNSUPPORTED, "problem.a",
            problem->a == JIT_GEMM_DTYPE_F32 ? "give tf32, which is f32 in memory"
                                             : JG_INPUT_TYPES,
            "there is no kernel for inputs of type %s", jg_dtype_name(problem->a));
    }
    if (problem->b != problem->a &&
        !(jg_dtype_is_fp8(problem->a) && jg_dtype_is_fp8(problem->b))) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, "problem.b",
                       "give A and B one type; only e4m3 and e5m2 mix",
                       "there is no kernel for A of type %s and B of type %s",
                       jg_dtype_name(problem->a), jg_dtype_name(problem->b));
    }
    if (problem->c != JIT_GEMM_DTYPE_NONE) {
        JG_TRY(check_output(problem, "problem.c", "C", problem->c));
    }
    return check_output(problem, "problem.d", "D", problem->d);
}

static jit_gemm_status check_elements(const char *matrix, const jit_gemm_dim *rows,
                                      const jit_gemm_dim *columns, const char *where)
{
    if (rows->mode != JIT_GEMM_DIM_EXACT || columns->mode != JIT_GEMM_DIM_EXACT) {
        return JIT_GEMM_OK;
    }
    const int64_t elements = rows->size * columns->size;
    if (elements > MAX_ELEMENTS) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, where, "split the problem",
                       "%s would have %lld x %lld = %lld elements a batch, at most %lld",
                       matrix, (long long)rows->size, (long long)columns->size,
                       (long long)elements, (long long)MAX_ELEMENTS);
    }
    return JIT_GEMM_OK;
}

/* Near hints share one kernel: a hint counts as the next power of two. */
static jit_gemm_dim round_hint(jit_gemm_dim dim, int64_t default_size)
{
    if (dim.mode == JIT_GEMM_DIM_DYNAMIC) {
        const int64_t wanted = dim.size > 0 ? dim.size : default_size;
        dim.size = 1;
        while (dim.size < wanted && dim.size < MAX_HINT) {
            dim.size *= 2;
        }
    }
    return dim;
}

static jit_gemm_status canonical_config(const char *text, char ret_text[])
{
    struct jg_config_override override;
    JG_TRY(jg_config_parse(text, &override));
    struct jg_str canonical = {0};
    jg_config_print_override(&override, &canonical);
    const jit_gemm_status status = jg_str_status(&canonical);
    if (status == JIT_GEMM_OK) {
        jg_str_export(jg_str_text(&canonical), canonical.size, ret_text,
                      JIT_GEMM_CONFIG_SIZE, NULL);
    }
    jg_str_free(&canonical);
    return status;
}

static const struct jg_scale no_scale = {JIT_GEMM_SCALE_NONE, JIT_GEMM_DTYPE_NONE};

static struct jg_scale scale_of(jit_gemm_scale kind)
{
    return (struct jg_scale){kind, kind == JIT_GEMM_SCALE_NONE ? JIT_GEMM_DTYPE_NONE
                                                               : JIT_GEMM_DTYPE_F32};
}

jit_gemm_status jg_problem_normalize(const jit_gemm_problem *user, jg_epilogue_find_fn find,
                                     void *find_user, struct jg_problem *ret_problem)
{
    jit_gemm_problem checked = {0};
    JG_TRY(jg_struct_import(user, &checked, sizeof(checked), "problem"));
    JG_TRY(jg_problem_check_fields(&checked));
    JG_TRY(check_supported(&checked));
    JG_TRY(check_elements("A", &checked.m, &checked.k, "problem.m"));
    JG_TRY(check_elements("B", &checked.n, &checked.k, "problem.n"));
    JG_TRY(check_elements("D", &checked.m, &checked.n, "problem.m"));
    struct jg_problem problem;
    memset(&problem, 0, sizeof(problem));
    JG_TRY(canonical_config(checked.config, problem.config));
    if (checked.epilogue[0] != '\0') {
        problem.epilogue = find != NULL ? find(find_user, checked.epilogue) : NULL;
        if (problem.epilogue == NULL) {
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.epilogue",
                           "register it first with jit_gemm_epilogue_register",
                           "no epilogue is registered as '%s'", checked.epilogue);
        }
    }
    JG_TRY(check_output_alignment(&checked, problem.epilogue));
    problem.m = round_hint(checked.m, DEFAULT_MATRIX_HINT);
    problem.n = round_hint(checked.n, DEFAULT_MATRIX_HINT);
    problem.k = round_hint(checked.k, DEFAULT_MATRIX_HINT);
    problem.batch = round_hint(checked.batch, 1);
    problem.workspace_limit = checked.workspace_limit;
    const int input_alignment =
        checked.input_alignment > 0 ? (int)checked.input_alignment : JG_TMA_ALIGNMENT;
    const int output_alignment =
        checked.output_alignment > 0 ? (int)checked.output_alignment : JG_TMA_ALIGNMENT;
    const bool by_columns = checked.d_layout == JIT_GEMM_D_COLUMN_MAJOR;
    problem.a =
        (struct jg_matrix){'a', checked.a, checked.a_layout == JIT_GEMM_LAYOUT_MN_MAJOR,
                           input_alignment, scale_of(checked.a_scale)};
    problem.b =
        (struct jg_matrix){'b', checked.b, checked.b_layout == JIT_GEMM_LAYOUT_MN_MAJOR,
                           input_alignment, scale_of(checked.b_scale)};
    problem.c = (struct jg_matrix){'c', checked.c, by_columns, output_alignment, no_scale};
    problem.d = (struct jg_matrix){'d', checked.d, by_columns, output_alignment, no_scale};
    *ret_problem = problem;
    return JIT_GEMM_OK;
}

int jg_problem_is_column_major(const struct jg_problem *problem)
{
    return problem->d.is_mn_major;
}

const jit_gemm_dim *jg_problem_d_row(const struct jg_problem *problem)
{
    return jg_problem_is_column_major(problem) ? &problem->m : &problem->n;
}

/* ---------------------------------------------------------------- canonical bytes */

void jg_problem_bytes(const struct jg_problem *problem, struct jg_str *out)
{
    enum {
        TAG_DIM = 1,
        TAG_TYPES,
        TAG_LAYOUTS,
        TAG_EPILOGUE,
        TAG_CONFIG,
        TAG_WORKSPACE,
        TAG_SCALES,
        TAG_ALIGNMENT
    };
    const jit_gemm_dim *const dims[] = {&problem->m, &problem->n, &problem->k,
                                        &problem->batch};
    for (size_t i = 0; i < sizeof(dims) / sizeof(dims[0]); i++) {
        jg_bytes_u32(out, TAG_DIM);
        jg_bytes_u32(out, (uint32_t)dims[i]->mode);
        jg_bytes_u64(out, (uint64_t)dims[i]->size);
    }
    jg_bytes_u32(out, TAG_TYPES);
    jg_bytes_u32(out, (uint32_t)problem->a.dtype);
    jg_bytes_u32(out, (uint32_t)problem->b.dtype);
    jg_bytes_u32(out, (uint32_t)problem->c.dtype);
    jg_bytes_u32(out, (uint32_t)problem->d.dtype);
    jg_bytes_u32(out, TAG_LAYOUTS);
    jg_bytes_u32(out, (uint32_t)problem->a.is_mn_major);
    jg_bytes_u32(out, (uint32_t)problem->b.is_mn_major);
    jg_bytes_u32(out, TAG_EPILOGUE);
    jg_bytes_u32(out, problem->epilogue != NULL);
    if (problem->epilogue != NULL) {
        jg_epilogue_bytes(problem->epilogue, out);
    }
    jg_bytes_field(out, TAG_CONFIG, problem->config, strlen(problem->config));
    jg_bytes_u32(out, TAG_WORKSPACE);
    jg_bytes_u64(out, problem->workspace_limit);
    jg_bytes_u32(out, TAG_SCALES);
    jg_bytes_u32(out, (uint32_t)problem->a.scale.kind);
    jg_bytes_u32(out, (uint32_t)problem->b.scale.kind);
    jg_bytes_u32(out, TAG_ALIGNMENT);
    jg_bytes_u32(out, (uint32_t)problem->a.alignment);
    jg_bytes_u32(out, (uint32_t)problem->d.is_mn_major);
    jg_bytes_u32(out, (uint32_t)problem->d.alignment);
}
