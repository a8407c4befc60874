/* SPDX-License-Identifier: MIT */
#include "runtime/scale_arguments.h"

#include "base/math.h"
#include "plan/groups.h"
#include "plan/scale.h"
#include "runtime/row_index.h"

enum { SCALE_WORD = 4 }; /* scales of one byte that a tensor map counts as one */

static const struct jg_argument_row scale_rows[] = {
    {JG_ARGUMENT_ROW(a, a_scale), .description = "the scales", .outer = JG_SIZE_ONE,
     .inner = JG_SIZE_M, .alignment_key = JG_OUTPUT_KEY,
     .absent = "this problem has no scales of A",
     .remedy = "leave it zero, or name a scale in problem.a.scale.kind"},
    {JG_ARGUMENT_ROW(b, b_scale), .description = "the scales", .outer = JG_SIZE_ONE,
     .inner = JG_SIZE_N, .alignment_key = JG_OUTPUT_KEY,
     .absent = "this problem has no scales of B",
     .remedy = "leave it zero, or name a scale in problem.b.scale.kind"},
    {JG_ARGUMENT_ROW(d, d_scale), .description = "the scales", .outer = JG_SIZE_M,
     .inner = JG_SIZE_D_COLUMNS, .alignment_key = JG_OUTPUT_KEY,
     .absent = "this problem has no scales of D",
     .remedy = "leave it zero, or name a scale in problem.d.scale.kind"},
};

enum { SCALE_ROWS = sizeof(scale_rows) / sizeof(scale_rows[0]) };

/* Do these scales lie as rows of an A do that an index names? */
static bool is_indexed_scale(const struct jg_launch_arguments *launch,
                             const struct jg_argument_row *row)
{
    return row->declared == offsetof(struct jg_problem, a) &&
           jg_row_index_names_scales(&launch->kernel->problem);
}

/* Those of blocks of A and B: rows in memory, which may lie further apart than packed. */
static jit_gemm_status resolve_input_blocks(const struct jg_launch_arguments *launch,
                                            const struct jg_argument_row *row,
                                            const jit_gemm_scale *scale)
{
    const bool is_indexed = is_indexed_scale(launch, row);
    const int64_t mn = is_indexed ? launch->params->a_row_count : launch->sizes[row->inner];
    const int64_t rows = jg_ceil_div(mn, scale->block_mn);
    const jit_gemm_group_by group_by = launch->kernel->problem.group_by;
    const int64_t k = jg_groups_scale_depth(group_by, launch->sizes[JG_SIZE_K],
                                            launch->params->batch, scale);
    const int64_t blocks = jg_ceil_div(k, scale->block_k);
    const struct jg_scale_extent packed = jg_scale_extent(scale, mn, k);
    const bool by_columns = scale->layout == JIT_GEMM_SCALE_LAYOUT_COLUMN;
    const struct jg_array array = {.field = row->field,
                                   .description = row->description,
                                   .is_plural = true,
                                   .kind = "matrix",
                                   .rows = packed.rows,
                                   .columns = by_columns ? rows : blocks,
                                   .batch = launch->params->batch,
                                   .dtype = scale->dtype,
                                   .extents = launch->extents,
                                   .alignment = jg_bytes_of(scale->dtype, 1),
                                   .alignment_key = row->alignment_key,
                                   .may_broadcast = true,
                                   .is_stacked = is_indexed ||
                                                 jg_is_stacked_size(launch, row->inner) ||
                                                 group_by == JIT_GEMM_GROUP_BY_K_OFFSETS,
                                   .has_ld = true};
    jit_gemm_arg given = *jg_given_at(launch, row);
    if (given.ld == 0) {
        given.ld = packed.columns;
    }
    return jg_array_resolve(&array, &given,
                            jg_param_at(launch, jg_row_in_product(launch, row)));
}

/* Scales of blocks that have no ld. */
static struct jg_array packed_scales(const struct jg_launch_arguments *launch,
                                     const struct jg_argument_row *row,
                                     const jit_gemm_scale *scale, enum jg_launch_size mn,
                                     enum jg_launch_size k)
{
    const bool has_bands = mn == JG_SIZE_M && scale->layout == JIT_GEMM_SCALE_LAYOUT_128X4;
    const jit_gemm_group_by group_by = launch->kernel->problem.group_by;
    const int64_t groups = launch->params->batch;
    const bool is_along_k = k == JG_SIZE_K && group_by == JIT_GEMM_GROUP_BY_K_OFFSETS;
    const int64_t rows = has_bands
                             ? jg_groups_scale_rows(group_by, launch->sizes[mn], groups)
                             : launch->sizes[mn];
    const int64_t depth =
        is_along_k ? jg_groups_scale_depth(group_by, launch->sizes[k], groups, scale)
                   : launch->sizes[k];
    const struct jg_scale_extent extent = jg_scale_extent(scale, rows, depth);
    return (struct jg_array){.field = row->field,
                             .description = row->description,
                             .is_plural = true,
                             .kind = "packed tensor",
                             .rows = extent.rows,
                             .columns = extent.columns,
                             .batch = launch->params->batch,
                             .dtype = scale->dtype,
                             .extents = launch->extents,
                             .alignment = jg_bytes_of(scale->dtype, 1),
                             .alignment_key = row->alignment_key,
                             .is_stacked = jg_is_stacked_size(launch, mn) || is_along_k};
}

/* Those of MX: pieces of 512 bytes, which a tensor map has as rows of words of four. Others
 * are elements, until it is known where they are packed. */
static jit_gemm_status resolve_pieces(const struct jg_launch_arguments *launch,
                                      const struct jg_argument_row *row,
                                      const jit_gemm_scale *scale)
{
    const struct jg_argument_row *target = jg_row_in_product(launch, row);
    const bool is_gemm = launch->kernel->choice.config.kernel == JG_KERNEL_GEMM;
    const bool is_a = target->declared == offsetof(struct jg_problem, a);
    const bool is_indexed = is_indexed_scale(launch, row);
    struct jg_array array = packed_scales(launch, row, scale, row->inner, JG_SIZE_K);
    array.may_broadcast = true;
    if (is_indexed) { /* as A's rows lie: of all batches and groups */
        array.rows = jg_scale_extent(scale, launch->params->a_row_count, 0).rows;
        array.is_stacked = true;
    }
    if (jg_scale_is_packed_first(scale)) {
        return jg_array_resolve(&array, jg_given_at(launch, row),
                                jg_param_at(launch, target));
    }
    array.has_map = is_gemm && !is_indexed;
    if (is_gemm) {
        array.alignment = JG_TMA_ALIGNMENT; /* and nobody takes less */
        array.alignment_key = NULL;
    }
    struct jg_map_key *key = &launch->keys[is_a ? JG_MAP_A_SCALE : JG_MAP_B_SCALE];
    JG_TRY(jg_array_resolve_mapped(&array, jg_given_at(launch, row),
                                   jg_param_at(launch, target), key));
    key->ld /= SCALE_WORD;
    key->batch_stride /= SCALE_WORD;
    key->inner /= SCALE_WORD;
    return JIT_GEMM_OK;
}

/* Those that the kernel computes. */
static jit_gemm_status resolve_block_scale(const struct jg_launch_arguments *launch,
                                           const struct jg_argument_row *row,
                                           const jit_gemm_scale *scale)
{
    if (row->declared != offsetof(struct jg_problem, d)) {
        return jg_scale_is_multiplied(scale) ? resolve_pieces(launch, row, scale)
                                             : resolve_input_blocks(launch, row, scale);
    }
    const bool by_columns = jg_problem_is_column_major(&launch->kernel->problem);
    struct jg_array array =
        packed_scales(launch, row, scale, by_columns ? row->inner : row->outer,
                      by_columns ? row->outer : row->inner);
    if (launch->kernel->problem.d_rows == JIT_GEMM_ROWS_INDEXED) { /* as D's rows lie */
        const struct jg_scale_extent extent =
            jg_scale_extent(scale, launch->params->d_row_count, launch->sizes[row->inner]);
        array.rows = extent.rows;
        array.columns = extent.columns;
        array.is_stacked = true;
    }
    return jg_array_resolve(&array, jg_given_at(launch, row), jg_param_at(launch, row));
}

static jit_gemm_status resolve_scale(const struct jg_launch_arguments *launch,
                                     const struct jg_argument_row *row)
{
    const jit_gemm_scale *scale = &jg_declared_at(launch, row)->scale;
    if (scale->kind == JIT_GEMM_SCALE_NONE) {
        return jg_array_check_absent(row->field, jg_given_at(launch, row), row->absent,
                                     row->remedy);
    }
    if (scale->kind == JIT_GEMM_SCALE_BLOCK) {
        return resolve_block_scale(launch, row, scale);
    }
    const bool is_vector = scale->kind == JIT_GEMM_SCALE_VECTOR;
    struct jg_array array = {.field = row->field,
                             .description = row->description,
                             .is_plural = true,
                             .kind = is_vector ? "vector" : "scalar",
                             .batch = launch->params->batch,
                             .dtype = scale->dtype,
                             .extents = launch->extents,
                             .alignment_key = row->alignment_key,
                             .may_broadcast = true};
    jg_array_set_vector(launch, is_vector ? row->inner : JG_SIZE_ONE, &array);
    const bool is_indexed = is_indexed_scale(launch, row);
    if (is_indexed) {
        array.columns = launch->params->a_row_count;
        array.is_stacked = true;
    }
    JG_TRY(jg_array_resolve(&array, jg_given_at(launch, row), jg_param_at(launch, row)));
    if (is_indexed) {
        jg_row_index_join(launch->params, jg_param_at(launch, row));
    }
    if (launch->kernel->problem.is_gated && is_vector && row->inner == JG_SIZE_N) {
        jg_param_set_gate_steps(launch, jg_param_at(launch, row));
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_scale_arguments_resolve(const struct jg_launch_arguments *launch)
{
    launch->keys[JG_MAP_A_SCALE] = launch->keys[JG_MAP_B_SCALE] = (struct jg_map_key){0};
    for (int i = 0; i < SCALE_ROWS; i++) {
        *jg_param_at(launch, &scale_rows[i]) = (struct jg_matrix_param){0};
    }
    for (int i = 0; i < SCALE_ROWS; i++) {
        JG_TRY(resolve_scale(launch, &scale_rows[i]));
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_scale_arguments_check_reserved(const jit_gemm_args *args)
{
    for (int i = 0; i < SCALE_ROWS; i++) {
        JG_TRY(jg_argument_row_check_reserved(args, &scale_rows[i]));
    }
    return JIT_GEMM_OK;
}
