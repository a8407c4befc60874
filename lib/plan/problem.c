/* SPDX-License-Identifier: MIT */
#include "plan/problem.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"
#include "base/struct.h"
#include "plan/config.h"
#include "plan/groups.h"
#include "plan/invariance.h"
#include "plan/named_epilogue.h"
#include "plan/problem_text.h"
#include "plan/rows.h"
#include "plan/scale.h"
#include "plan/text.h"
#include "plan/typical_sizes.h"

/* Most elements of one matrix of one batch: keeps every byte offset and every stride of a
 * tensor map in range, and is more than any device holds. */
#define MAX_ELEMENTS        (INT64_C(1) << 38)
#define MAX_HINT            (INT64_C(1) << 30)
#define DEFAULT_MATRIX_HINT 4096
#define K_STEP_OF_E2M1      32 /* elements of 16 bytes, as TMA takes packed rows */

/* ------------------------------------------------------------------------ support */

static jit_gemm_status check_output(const jit_gemm_problem *problem, const char *where,
                                    const char *matrix, jit_gemm_dtype dtype)
{
    if (!jg_dtype_is_output(dtype)) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, where,
                       dtype == JIT_GEMM_DTYPE_TF32 ? "give f32" : JG_OUTPUT_TYPES,
                       "there is no kernel for %s of type %s", matrix,
                       jg_dtype_name(dtype));
    }
    if (dtype == JIT_GEMM_DTYPE_S32 && !jg_dtype_is_integer(problem->a.dtype)) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, where, "give f32, or A and B of type s8",
                       "there is no kernel for %s of type s32 with A of type %s", matrix,
                       jg_dtype_name(problem->a.dtype));
    }
    return JIT_GEMM_OK;
}

static int lesser(int a, int b)
{
    return a < b ? a : b;
}

/* Nobody can promise less than the smallest element. Larger elements are aligned to their
 * own size at least. `where` is the field that promised the least. */
static jit_gemm_status check_output_alignment(const jit_gemm_problem *problem,
                                              const struct jg_epilogue *epilogue,
                                              const char *where)
{
    int least = (int)jg_bytes_of(problem->d.dtype, 1);
    if (problem->c.dtype != JIT_GEMM_DTYPE_NONE) {
        least = lesser(least, (int)jg_bytes_of(problem->c.dtype, 1));
    }
    for (uint32_t i = 0; epilogue != NULL && i < epilogue->operand_count; i++) {
        if (epilogue->operands[i].kind != JIT_GEMM_OPERAND_SCALAR) {
            least = lesser(least, (int)jg_bytes_of(epilogue->operands[i].dtype, 1));
        }
    }
    if (jg_alignment_of(&problem->d) < (uint32_t)least) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, where,
                       "give at least the bytes of the smallest element of D, C and the "
                       "operands",
                       "%u bytes are less than an element, the smallest has %d",
                       problem->d.alignment, least);
    }
    return JIT_GEMM_OK;
}

/* A or B, and names of its fields. */
struct input {
    const jit_gemm_matrix *matrix;
    char letter;
    const char *dtype_field, *scale_field;
};

static struct input input_a(const jit_gemm_problem *problem)
{
    return (struct input){&problem->a, 'A', "problem.a.dtype", "problem.a.scale.kind"};
}

static struct input input_b(const jit_gemm_problem *problem)
{
    return (struct input){&problem->b, 'B', "problem.b.dtype", "problem.b.scale.kind"};
}

/* Of A or B, whose scales are alike: do the blocks have scales of this type? */
static jit_gemm_status check_scaled_type(const struct input *input)
{
    const jit_gemm_scale *scale = &input->matrix->scale;
    const bool is_e2m1 = input->matrix->dtype == JIT_GEMM_DTYPE_E2M1;
    if (jg_scale_takes(scale, input->matrix->dtype)) {
        return JIT_GEMM_OK;
    }
    return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, input->scale_field,
                   is_e2m1
                       ? "give the scale mx or nv in the layout 128x4 (a=mxfp4 or nvfp4)"
                       : "give e2m1 (a=nvfp4), or the scale mx",
                   "there is no kernel for scale %s of %c of type %s", jg_scale_name(scale),
                   input->letter, jg_dtype_name(input->matrix->dtype));
}

/* Scales of blocks of A or B: those of 8-bit and 4-bit floats, and not beside others. */
static jit_gemm_status check_block_scales(const jit_gemm_problem *problem)
{
    const jit_gemm_scale_kind a = problem->a.scale.kind;
    const jit_gemm_scale_kind b = problem->b.scale.kind;
    const bool is_a = a == JIT_GEMM_SCALE_BLOCK;
    const jit_gemm_scale_kind other = is_a ? b : a;
    if (!is_a && b != JIT_GEMM_SCALE_BLOCK) {
        return JIT_GEMM_OK;
    }
    if (!jg_dtype_is_fp8(problem->a.dtype) && !jg_dtype_is_scaled(problem->a.dtype)) {
        return jg_fail(
            JIT_GEMM_ERR_UNSUPPORTED,
            is_a ? "problem.a.scale.kind" : "problem.b.scale.kind",
            "give A and B e4m3, e5m2 or e2m1, or a scale of the tensor or a vector",
            "there is no kernel for scales of blocks of %s",
            jg_dtype_name(problem->a.dtype));
    }
    const bool is_multiplied = jg_scale_is_multiplied(&problem->a.scale);
    if (is_multiplied != jg_scale_is_multiplied(&problem->b.scale) ||
        (is_multiplied && (problem->a.scale.dtype != problem->b.scale.dtype ||
                           problem->a.scale.block_k != problem->b.scale.block_k))) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED,
                       is_multiplied ? "problem.b.scale.kind" : "problem.a.scale.kind",
                       "give A and B one of the scales mx, nv and ue8m0 of 128, or neither",
                       "there is no kernel for scale %s of A beside %s of B",
                       jg_scale_name(&problem->a.scale), jg_scale_name(&problem->b.scale));
    }
    if (other == JIT_GEMM_SCALE_TENSOR || other == JIT_GEMM_SCALE_VECTOR) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED,
                       is_a ? "problem.b.scale.kind" : "problem.a.scale.kind",
                       "give it scales of blocks too or none, and a scale of the tensor in "
                       "alpha or its vector in an epilogue",
                       "there is no kernel for scales of blocks of %c beside a %s of %c",
                       is_a ? 'A' : 'B',
                       other == JIT_GEMM_SCALE_TENSOR ? "scale of the tensor"
                                                      : "vector of scales",
                       is_a ? 'B' : 'A');
    }
    const struct input inputs[] = {input_a(problem), input_b(problem)};
    JG_TRY(check_scaled_type(&inputs[0]));
    return check_scaled_type(&inputs[1]);
}

/* One kernel goes before that of the product, and by pointers it writes maps. */
static jit_gemm_status check_packed_first(const jit_gemm_problem *problem,
                                          const char *field, const jit_gemm_scale *scale)
{
    if (problem->group_by != JIT_GEMM_GROUP_BY_POINTERS ||
        !jg_scale_is_packed_first(scale)) {
        return JIT_GEMM_OK;
    }
    return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, field,
                   "give one for each row in the layout 128x4, which jit_gemm_packer_run "
                   "makes of others on the device and jit_gemm_scales_convert on the host",
                   "there is no kernel for scale %s in layout %s with group_by=pointers",
                   jg_scale_name(scale), jg_scale_layout_name(scale->layout));
}

/* Does the tensor core multiply elements of this type, if they have the right scales? */
static jit_gemm_status check_input_type(const struct input *input)
{
    const jit_gemm_dtype dtype = input->matrix->dtype;
    const bool is_scaled = jg_dtype_is_scaled(dtype);
    if (is_scaled && input->matrix->scale.kind != JIT_GEMM_SCALE_BLOCK) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, input->dtype_field,
                       "give A and B scales of blocks, mx or nv (a=mxfp4 or nvfp4)",
                       "the tensor core multiplies %s with scales of its blocks only",
                       jg_dtype_name(dtype));
    }
    if (!is_scaled && !jg_dtype_is_input(dtype)) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, input->dtype_field,
                       dtype == JIT_GEMM_DTYPE_F32 ? "give tf32, which is f32 in memory"
                                                   : JG_INPUT_TYPES,
                       "there is no kernel for inputs of type %s", jg_dtype_name(dtype));
    }
    return JIT_GEMM_OK;
}

/* Of 8-bit floats, and 4-bit ones. */
static bool mixes(jit_gemm_dtype dtype)
{
    return jg_dtype_is_fp8(dtype) || jg_dtype_is_scaled(dtype);
}

/* What is legal but has no kernel in this version. */
static jit_gemm_status check_supported(const jit_gemm_problem *problem)
{
    const jit_gemm_dtype a = problem->a.dtype;
    const jit_gemm_dtype b = problem->b.dtype;
    const struct input inputs[] = {input_a(problem), input_b(problem)};
    JG_TRY(check_input_type(&inputs[0]));
    if (b != a && !(mixes(a) && mixes(b))) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, "problem.b.dtype",
                       "give A and B one type; only e4m3 and e5m2 mix, and with scale mx "
                       "also e2m1",
                       "there is no kernel for A of type %s and B of type %s",
                       jg_dtype_name(a), jg_dtype_name(b));
    }
    JG_TRY(check_input_type(&inputs[1]));
    if (problem->c.dtype != JIT_GEMM_DTYPE_NONE) {
        JG_TRY(check_output(problem, "problem.c.dtype", "C", problem->c.dtype));
    }
    if (!jg_dtype_is_scaled(problem->d.dtype)) {
        JG_TRY(check_output(problem, "problem.d.dtype", "D", problem->d.dtype));
    }
    JG_TRY(jg_scale_check_kernel('a', &problem->a.scale));
    JG_TRY(jg_scale_check_kernel('b', &problem->b.scale));
    JG_TRY(jg_scale_check_kernel('d', &problem->d.scale));
    JG_TRY(check_block_scales(problem));
    JG_TRY(check_packed_first(problem, "problem.a.scale.layout", &problem->a.scale));
    return check_packed_first(problem, "problem.b.scale.layout", &problem->b.scale);
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
                       "%s would have %lld x %lld = %lld elements per batch, at most %lld",
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
    return jg_str_deliver(&canonical, JIT_GEMM_OK, ret_text, JIT_GEMM_CONFIG_SIZE, NULL);
}

/* As `matrix` is once its defaults are filled in. C is laid out and aligned as D, also
 * where it is absent. */
static struct jg_matrix canonical_matrix(char letter, const jit_gemm_matrix *matrix,
                                         const jit_gemm_matrix *lies_as)
{
    return (struct jg_matrix){.letter = letter,
                              .dtype = matrix->dtype,
                              .is_mn_major = lies_as->layout == JIT_GEMM_LAYOUT_MN_MAJOR,
                              .alignment = (int)jg_alignment_of(lies_as),
                              .scale = matrix->scale};
}

static jit_gemm_status find_epilogue(const jit_gemm_problem *problem,
                                     jg_epilogue_find_fn find, void *find_user,
                                     const struct jg_epilogue **ret_epilogue)
{
    const char *name = problem->epilogue;
    if (name[0] == '\0') {
        return JIT_GEMM_OK;
    }
    const struct jg_epilogue *epilogue = NULL;
    if (find != NULL) {
        JG_TRY(find(find_user, name, problem->d.dtype, &epilogue));
    }
    if (epilogue == NULL) {
        struct jg_nearest nearest = jg_nearest_begin(name, strlen(name));
        jg_named_epilogue_nearest(&nearest);
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.epilogue",
                       jg_near_hint(&nearest,
                                    "register it first with jit_gemm_epilogue_register, or "
                                    "take one that `jit-gemm epilogue list` names")
                           .text,
                       "no epilogue is registered as '%s'", name);
    }
    *ret_epilogue = epilogue;
    return JIT_GEMM_OK;
}

/* Of a problem with its epilogue: what a pair of columns needs, or that there is one. */
static jit_gemm_status check_gated(const jit_gemm_problem *problem,
                                   const struct jg_epilogue *epilogue)
{
    if (epilogue == NULL || !epilogue->is_gated) {
        return problem->pair == JIT_GEMM_PAIR_INTERLEAVED
                   ? JIT_GEMM_OK
                   : jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.pair",
                             "leave it zero, or name acc0 and acc1 in the snippet",
                             "halves of B are given, but the epilogue is not gated");
    }
    if (problem->n.mode == JIT_GEMM_DIM_EXACT && problem->n.size % 2 != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.n",
                       "give the number of columns of B, which has two for each of D",
                       "a gated epilogue needs an even N, %lld is odd",
                       (long long)problem->n.size);
    }
    return JIT_GEMM_OK;
}

/* What scales need that the kernel computes for D. */
static jit_gemm_status check_computed_scale(const jit_gemm_problem *problem)
{
    const char *name = jg_scale_name(&problem->d.scale);
    if (problem->d.scale.kind == JIT_GEMM_SCALE_NONE &&
        !jg_dtype_is_scaled(problem->d.dtype)) {
        return JIT_GEMM_OK;
    }
    if (!jg_scale_takes(&problem->d.scale, problem->d.dtype)) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, "problem.d.dtype",
                       "give e4m3 or e5m2 with scale 1x128, 1x128ue8m0 or mx, or e2m1 with "
                       "scale mx or nv",
                       "there is no kernel for scale %s of a D of type %s", name,
                       jg_dtype_name(problem->d.dtype));
    }
    return JIT_GEMM_OK;
}

/* Of a problem with its epilogue: are the blocks that it reduces those of rows in memory?
 */
static jit_gemm_status check_reduced_blocks(const jit_gemm_problem *problem,
                                            const struct jg_epilogue *epilogue)
{
    const struct jg_operand *operand = jg_epilogue_find_blocks(epilogue);
    if (operand != NULL && problem->d.layout == JIT_GEMM_LAYOUT_COLUMN_MAJOR) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, "problem.d.layout",
                       "give JIT_GEMM_LAYOUT_ROW_MAJOR",
                       "there is no kernel for the %s '%s' of a column-major D",
                       jg_operand_kind_name(operand->kind), operand->name);
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_problem_check_bytes(const struct jg_problem *problem,
                                       const struct jg_d_row *row)
{
    const bool by_columns = jg_problem_is_column_major(problem);
    const int64_t elements = by_columns ? row->m : jg_problem_d_columns(problem, row->n);
    if (elements * jg_dtype_bits(problem->d.dtype) % 8 == 0) {
        return JIT_GEMM_OK;
    }
    return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, by_columns ? row->field_m : row->field_n,
                   by_columns ? "pad A to an even number of rows of D"
                              : "pad B to an even number of columns of D",
                   "a %s of D has %lld elements of type %s, which end inside a byte",
                   by_columns ? "column" : "row", (long long)elements,
                   jg_dtype_name(problem->d.dtype));
}

/* Other types have accumulators of 32 bits; scales of blocks multiply sums of one block. */
static jit_gemm_status check_accumulate(const jit_gemm_problem *problem)
{
    if (problem->accumulate == JIT_GEMM_ACCUMULATE_EXACT) {
        return JIT_GEMM_OK;
    }
    if (!jg_dtype_is_fp8(problem->a.dtype)) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, "problem.accumulate",
                       "leave accumulate=fast out: there is nothing to save",
                       "only sums of e4m3 and e5m2 can be made faster, A is %s",
                       jg_dtype_name(problem->a.dtype));
    }
    if (problem->a.scale.kind == JIT_GEMM_SCALE_BLOCK ||
        problem->b.scale.kind == JIT_GEMM_SCALE_BLOCK) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, "problem.accumulate",
                       "leave accumulate=fast out, or the scales of blocks",
                       "sums of blocks with scales are added up one by one");
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_problem_normalize(const jit_gemm_problem *user, jg_epilogue_find_fn find,
                                     void *find_user, struct jg_problem *ret_problem)
{
    jit_gemm_problem checked = {0};
    JG_TRY(jg_struct_import(user, &checked, sizeof(checked), "problem"));
    const char *output_alignment = jg_alignment_of(&checked.c) < jg_alignment_of(&checked.d)
                                       ? "problem.c.alignment"
                                       : "problem.d.alignment";
    JG_TRY(jg_problem_check_fields(&checked));
    JG_TRY(check_supported(&checked));
    JG_TRY(check_elements("A", &checked.m, &checked.k, "problem.m"));
    JG_TRY(check_elements("B", &checked.n, &checked.k, "problem.n"));
    JG_TRY(check_elements("D", &checked.m, &checked.n, "problem.m"));
    struct jg_problem problem;
    memset(&problem, 0, sizeof(problem));
    JG_TRY(canonical_config(checked.config, problem.config));
    JG_TRY(find_epilogue(&checked, find, find_user, &problem.epilogue));
    JG_TRY(check_gated(&checked, problem.epilogue));
    JG_TRY(check_computed_scale(&checked));
    JG_TRY(check_reduced_blocks(&checked, problem.epilogue));
    JG_TRY(jg_groups_check_kernel(&checked, problem.epilogue));
    JG_TRY(jg_rows_check_kernel(&checked));
    JG_TRY(check_accumulate(&checked));
    JG_TRY(jg_invariance_check_kernel(&checked, problem.epilogue));
    JG_TRY(check_output_alignment(&checked, problem.epilogue, output_alignment));
    problem.is_gated = problem.epilogue != NULL && problem.epilogue->is_gated;
    problem.reduces = jg_epilogue_reduces(problem.epilogue);
    problem.m = round_hint(checked.m, DEFAULT_MATRIX_HINT);
    problem.n = round_hint(checked.n, DEFAULT_MATRIX_HINT);
    if (problem.is_gated && problem.n.size == 1) {
        problem.n.size = 2; /* the hint of a dynamic N */
    }
    problem.k = round_hint(checked.k, DEFAULT_MATRIX_HINT);
    problem.batch = round_hint(checked.batch, 1);
    problem.workspace_limit = checked.workspace_limit < JG_WORKSPACE_MOST
                                  ? checked.workspace_limit
                                  : JG_WORKSPACE_MOST; /* and any more means the same */
    problem.pair = checked.pair;
    problem.group_by = checked.group_by;
    problem.group_rest = checked.group_rest;
    problem.scale_rows = checked.scale_rows;
    problem.d_rows = checked.d_rows;
    problem.a_rows = checked.a_rows;
    problem.invariant = checked.invariant;
    problem.accumulate = checked.accumulate;
    problem.weights = checked.weights;
    memcpy(problem.typical_sizes, checked.typical_sizes, sizeof(problem.typical_sizes));
    jg_typical_sizes_sort(problem.typical_sizes);
    problem.budget =
        (struct jg_budget){checked.register_limit, checked.no_local_memory != 0};
    problem.a = canonical_matrix('a', &checked.a, &checked.a);
    problem.b = canonical_matrix('b', &checked.b, &checked.b);
    problem.c = canonical_matrix('c', &checked.c, &checked.d);
    problem.d = canonical_matrix('d', &checked.d, &checked.d);
    if (jg_problem_d_row(&problem).mode == JIT_GEMM_DIM_EXACT) {
        const struct jg_d_row row = {problem.m.size, problem.n.size, "problem.m",
                                     "problem.n"};
        JG_TRY(jg_problem_check_bytes(&problem, &row));
    }
    if (problem.k.mode == JIT_GEMM_DIM_EXACT) {
        JG_TRY(jg_problem_check_k(&problem, "problem.k", problem.k.size));
    }
    *ret_problem = problem;
    return JIT_GEMM_OK;
}

jit_gemm_status jg_problem_check_k(const struct jg_problem *problem, const char *field,
                                   int64_t k)
{
    const bool is_spread =
        jg_is_spread(&problem->a, &problem->b) || jg_is_spread(&problem->b, &problem->a);
    if (is_spread && k % JG_TMA_SPREAD_ELEMENTS != 0) {
        return jg_fail(
            JIT_GEMM_ERR_UNSUPPORTED, field,
            "pad A and B with zeros along K, and their scales with those of zeros",
            "TMA takes rows of a multiple of %d elements of e2m1 beside 8-bit ones, and "
            "%lld is none",
            JG_TMA_SPREAD_ELEMENTS, (long long)k);
    }
    if (is_spread || problem->a.dtype != JIT_GEMM_DTYPE_E2M1 || k % K_STEP_OF_E2M1 == 0) {
        return JIT_GEMM_OK;
    }
    return jg_fail(
        JIT_GEMM_ERR_UNSUPPORTED, field,
        "pad A and B with zeros along K, and their scales with those of zeros",
        "TMA takes packed rows of a multiple of %d elements of e2m1, and %lld is "
        "none",
        K_STEP_OF_E2M1, (long long)k);
}

/* Do the halves of B begin at blocks of their own, or at pieces that such are copied in? */
static jit_gemm_status check_blocks_of_halves(const struct jg_problem *problem,
                                              const char *field, int64_t n)
{
    const jit_gemm_scale *scale = &problem->b.scale;
    const int64_t half = n / 2;
    if (jg_scale_is_multiplied(scale) && half % JG_SCALE_PIECE_ROWS != 0) {
        return jg_fail(
            JIT_GEMM_ERR_UNSUPPORTED, field,
            "give halves of a multiple of 128 columns, or pair=interleaved",
            "half of B has %lld columns, which are no whole pieces of %d: one of "
            "scale %s in layout 128x4 would belong to both",
            (long long)half, JG_SCALE_PIECE_ROWS, jg_scale_name(scale));
    }
    if (scale->kind != JIT_GEMM_SCALE_BLOCK || half % scale->block_mn == 0) {
        return JIT_GEMM_OK;
    }
    return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, field,
                   "give halves of a multiple of the block's columns, or blocks of 1x128",
                   "half of B has %lld columns, which are no whole blocks of %u: one of "
                   "scale %s would belong to both",
                   (long long)half, scale->block_mn, jg_scale_name(scale));
}

jit_gemm_status jg_problem_check_halves(const struct jg_problem *problem, const char *field,
                                        int64_t n)
{
    const int64_t half_bytes = jg_bytes_of(problem->b.dtype, n / 2);
    if (!problem->is_gated || problem->pair != JIT_GEMM_PAIR_HALVES) {
        return JIT_GEMM_OK;
    }
    JG_TRY(check_blocks_of_halves(problem, field, n));
    if (!problem->b.is_mn_major || half_bytes % problem->b.alignment == 0) {
        return JIT_GEMM_OK;
    }
    char hint[96];
    snprintf(hint, sizeof(hint),
             "give a K-major B, halves of a multiple of %d bytes, or a lesser input_align",
             problem->b.alignment);
    return jg_fail(
        JIT_GEMM_ERR_UNSUPPORTED, field, hint,
        "half of a row of the MN-major B has %lld bytes, and what loads it needs "
        "a multiple of %d",
        (long long)half_bytes, problem->b.alignment);
}

bool jg_problem_has_neighbours(const struct jg_problem *problem)
{
    return problem->is_gated && problem->pair == JIT_GEMM_PAIR_INTERLEAVED &&
           (problem->b.is_mn_major || jg_scale_is_multiplied(&problem->b.scale));
}

const char *jg_problem_neighbours_name(const struct jg_problem *problem)
{
    return problem->b.is_mn_major ? "an MN-major B" : "a B with scales in pieces of 128x4";
}

bool jg_problem_is_column_major(const struct jg_problem *problem)
{
    return problem->d.is_mn_major;
}

jit_gemm_dim jg_problem_d_row(const struct jg_problem *problem)
{
    if (jg_problem_is_column_major(problem)) {
        return problem->m;
    }
    jit_gemm_dim row = problem->n;
    row.size = jg_problem_d_columns(problem, row.size);
    return row;
}

/* ---------------------------------------------------------------- canonical bytes */

enum {
    TAG_DIM = 1,
    TAG_MATRIX,
    TAG_EPILOGUE,
    TAG_CONFIG,
    TAG_WORKSPACE,
    TAG_PAIR,
    TAG_GROUPS,
    TAG_ROWS,
    TAG_INVARIANT,
    TAG_ACCUMULATE,
    TAG_WEIGHTS,
    TAG_TYPICAL_SIZES
};

static void add_dim_bytes(const jit_gemm_dim *dim, struct jg_str *out)
{
    jg_bytes_u32(out, TAG_DIM);
    jg_bytes_u32(out, (uint32_t)dim->mode);
    jg_bytes_u64(out, (uint64_t)dim->size);
}

static void add_matrix_bytes(const struct jg_matrix *matrix, struct jg_str *out)
{
    jg_bytes_u32(out, TAG_MATRIX);
    jg_bytes_u32(out, (uint32_t)matrix->dtype);
    jg_bytes_u32(out, (uint32_t)matrix->is_mn_major);
    jg_bytes_u32(out, (uint32_t)matrix->alignment);
    jg_bytes_u32(out, (uint32_t)matrix->scale.kind);
    jg_bytes_u32(out, (uint32_t)matrix->scale.dtype);
    jg_bytes_u32(out, matrix->scale.block_mn);
    jg_bytes_u32(out, matrix->scale.block_k);
    jg_bytes_u32(out, matrix->scale.layout);
}

void jg_problem_bytes(const struct jg_problem *problem, struct jg_str *out)
{
    add_dim_bytes(&problem->m, out);
    add_dim_bytes(&problem->n, out);
    add_dim_bytes(&problem->k, out);
    add_dim_bytes(&problem->batch, out);
    add_matrix_bytes(&problem->a, out);
    add_matrix_bytes(&problem->b, out);
    add_matrix_bytes(&problem->c, out);
    add_matrix_bytes(&problem->d, out);
    jg_bytes_u32(out, TAG_EPILOGUE);
    jg_bytes_u32(out, problem->epilogue != NULL);
    if (problem->epilogue != NULL) {
        jg_epilogue_bytes(problem->epilogue, out);
    }
    jg_bytes_field(out, TAG_CONFIG, problem->config, strlen(problem->config));
    jg_bytes_u32(out, TAG_WORKSPACE);
    jg_bytes_u64(out, problem->workspace_limit);
    jg_bytes_u32(out, TAG_PAIR);
    jg_bytes_u32(out, (uint32_t)problem->pair);
    jg_bytes_u32(out, TAG_GROUPS);
    jg_bytes_u32(out, (uint32_t)problem->group_by);
    jg_bytes_u32(out, (uint32_t)problem->group_rest);
    jg_bytes_u32(out, (uint32_t)problem->scale_rows);
    jg_bytes_u32(out, TAG_ROWS);
    jg_bytes_u32(out, (uint32_t)problem->d_rows);
    jg_bytes_u32(out, (uint32_t)problem->a_rows);
    jg_bytes_u32(out, TAG_INVARIANT);
    jg_bytes_u32(out, (uint32_t)problem->invariant);
    jg_bytes_u32(out, TAG_ACCUMULATE);
    jg_bytes_u32(out, (uint32_t)problem->accumulate);
    jg_bytes_u32(out, TAG_WEIGHTS);
    jg_bytes_u32(out, (uint32_t)problem->weights);
    jg_bytes_u32(out, TAG_TYPICAL_SIZES);
    for (int i = 0; i < JIT_GEMM_SIZE_RUNS; i++) {
        jg_bytes_u64(out, (uint64_t)problem->typical_sizes[i].groups);
        jg_bytes_u32(out, problem->typical_sizes[i].least);
        jg_bytes_u32(out, problem->typical_sizes[i].most);
    }
}
