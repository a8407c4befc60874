/* SPDX-License-Identifier: MIT */
#include "runtime/arguments.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/math.h"
#include "plan/groups.h"
#include "plan/scale.h"
#include "runtime/array.h"
#include "runtime/grid.h"
#include "runtime/group_sizes.h"
#include "runtime/operand_list.h"
#include "runtime/row_index.h"
#include "runtime/workspace.h"

/* ----------------------------------------------------------------------------- sizes */

static jit_gemm_status resolve_size(const jit_gemm_dim *dim, int64_t given,
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
    if (given == JIT_GEMM_SIZE_EMPTY) {
        *ret_size = 0;
        return JIT_GEMM_OK;
    }
    if (given == 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                       "give the size of this launch, or JIT_GEMM_SIZE_EMPTY for none",
                       "the size is dynamic, and none is given");
    }
    if (given < 0 || given > INT32_MAX) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                       "give 1 to 2147483647, or JIT_GEMM_SIZE_EMPTY for none",
                       "the size %lld is out of range", (long long)given);
    }
    *ret_size = (uint32_t)given;
    return JIT_GEMM_OK;
}

static jit_gemm_status check_tile_count(const struct jg_kernel *kernel,
                                        const struct jg_kernel_params *params)
{
    const struct jg_product_size size =
        jg_product_size(&kernel->choice.product, params->m, params->n);
    if (jg_params_are_empty(params) ||
        jg_grid_has_countable_tiles(kernel, size.m, size.n, params->batch)) {
        return JIT_GEMM_OK;
    }
    return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, "args.batch",
                   "split the batch or the matrix over several launches",
                   "%u x %u with batch %u makes 2^31 tiles or more", params->m, params->n,
                   params->batch);
}

/* What create has looked at where sizes are compiled in. */
static jit_gemm_status check_sizes(const struct jg_kernel *kernel,
                                   const struct jg_kernel_params *params)
{
    const struct jg_problem *problem = &kernel->problem;
    if (problem->is_gated && params->n % 2 != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "args.n",
                       "give the number of columns of B, which has two for each of D",
                       "a gated epilogue needs an even N, %u is odd", params->n);
    }
    const struct jg_d_row row = {params->m, params->n, "args.m", "args.n"};
    JG_TRY(jg_problem_check_bytes(problem, &row));
    if (kernel->choice.config.kernel == JG_KERNEL_GEMM) {
        JG_TRY(jg_problem_check_halves(problem, "args.n", params->n));
    }
    JG_TRY(jg_problem_check_k(problem, "args.k", params->k));
    return check_tile_count(kernel, params);
}

static jit_gemm_status resolve_sizes(const struct jg_kernel *kernel,
                                     const jit_gemm_args *args,
                                     struct jg_kernel_params *params)
{
    const struct jg_problem *problem = &kernel->problem;
    JG_TRY(resolve_size(&problem->m, args->m, "args.m", &params->m));
    JG_TRY(resolve_size(&problem->n, args->n, "args.n", &params->n));
    JG_TRY(resolve_size(&problem->k, args->k, "args.k", &params->k));
    JG_TRY(resolve_size(&problem->batch, args->batch, "args.batch", &params->batch));
    return kernel->exact_grid > 0 ? JIT_GEMM_OK : check_sizes(kernel, params);
}

/* ------------------------------------------------------------------ alpha and beta */

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

/* ------------------------------------------------------ what the kernel has declared */

enum { SCALE_WORD = 4 }; /* scales of one byte that a tensor map counts as one */

/* A size of the launch, or 1. */
enum size { SIZE_ONE, SIZE_M, SIZE_N, SIZE_K, SIZE_D_COLUMNS, SIZE_COUNT };

/* What is resolved, and where to. */
struct launch {
    const struct jg_kernel *kernel;
    const jit_gemm_args *args;
    struct jg_kernel_params *params;
    struct jg_map_key *keys;
    struct jg_extents *extents; /* NULL: nobody asks */
    int64_t sizes[SIZE_COUNT];
};

/* A matrix or the scales of one. `declared` is its offset in the problem, `given` in the
 * arguments, `param` in the parameters. */
struct row {
    const char *field;
    const char *description;
    size_t declared, given, param;
    size_t lds;             /* of A, B, C and D, in the arguments */
    enum size outer, inner; /* a matrix: inner runs fastest unless it is MN-major */
    enum jg_map_index map;
    const char *alignment_key; /* of a problem's text, which promises the alignment */
    const char *absent;        /* why nothing may be given, where there is none */
    const char *remedy;
};

static const char input_key[] = "input_align";
static const char output_key[] = "output_align";

#define ROW(matrix, name)                                            \
    .field = #name, .declared = offsetof(struct jg_problem, matrix), \
    .given = offsetof(jit_gemm_args, name),                          \
    .param = offsetof(struct jg_kernel_params, name)

#define LDS(name) .lds = offsetof(jit_gemm_args, name##_lds)

/* In both tables A and B come first. */
static const struct row matrix_rows[] = {
    {ROW(a, a), LDS(a), .description = "A", .outer = SIZE_M, .inner = SIZE_K,
     .map = JG_MAP_A, .alignment_key = input_key},
    {ROW(b, b), LDS(b), .description = "B", .outer = SIZE_N, .inner = SIZE_K,
     .map = JG_MAP_B, .alignment_key = input_key},
    {ROW(d, d), LDS(d), .description = "D", .outer = SIZE_M, .inner = SIZE_D_COLUMNS,
     .map = JG_MAP_D, .alignment_key = output_key},
    {ROW(c, c), LDS(c), .description = "C", .outer = SIZE_M, .inner = SIZE_N,
     .map = JG_MAP_C, .alignment_key = output_key, .absent = "this problem has no C",
     .remedy = "leave it zero, or name a type of C in problem.c.dtype"},
};

static const struct row scale_rows[] = {
    {ROW(a, a_scale), .description = "the scales", .outer = SIZE_ONE, .inner = SIZE_M,
     .alignment_key = output_key, .absent = "this problem has no scales of A",
     .remedy = "leave it zero, or name a scale in problem.a.scale.kind"},
    {ROW(b, b_scale), .description = "the scales", .outer = SIZE_ONE, .inner = SIZE_N,
     .alignment_key = output_key, .absent = "this problem has no scales of B",
     .remedy = "leave it zero, or name a scale in problem.b.scale.kind"},
    {ROW(d, d_scale), .description = "the scales", .outer = SIZE_M, .inner = SIZE_D_COLUMNS,
     .alignment_key = output_key, .absent = "this problem has no scales of D",
     .remedy = "leave it zero, or name a scale in problem.d.scale.kind"},
};

#undef ROW
#undef LDS

static const struct jg_matrix *declared_at(const struct launch *launch,
                                           const struct row *row)
{
    return (const void *)((const char *)&launch->kernel->problem + row->declared);
}

static const jit_gemm_arg *given_at(const struct launch *launch, const struct row *row)
{
    return (const void *)((const char *)launch->args + row->given);
}

static uint64_t lds_at(const struct launch *launch, const struct row *row)
{
    uint64_t lds;
    memcpy(&lds, (const char *)launch->args + row->lds, sizeof(lds));
    return lds;
}

static struct jg_matrix_param *param_at(const struct launch *launch, const struct row *row)
{
    return (void *)((char *)launch->params + row->param);
}

/* The row whose parameter and map the product has for this matrix or the scales of its
 * blocks: A and B as the kernel takes them. */
static const struct row *row_in_product(const struct launch *launch, const struct row *row)
{
    const bool is_input = row->declared == offsetof(struct jg_problem, a) ||
                          row->declared == offsetof(struct jg_problem, b);
    if (!is_input || launch->kernel->choice.product.a.letter == 'a') {
        return row;
    }
    return row->declared == offsetof(struct jg_problem, a) ? row + 1 : row - 1;
}

/* `bytes` are promised, an element's where that has more. Matrices that are promised what
 * TMA needs go through maps. The reference kernel needs elements. */
static void set_alignment(const struct jg_kernel *kernel, int64_t bytes,
                          struct jg_array *array)
{
    const bool is_gemm = kernel->choice.config.kernel == JG_KERNEL_GEMM;
    const int64_t element_bytes = jg_bytes_of(array->dtype, 1);
    array->alignment = is_gemm ? jg_max(bytes, element_bytes) : element_bytes;
    array->has_map = is_gemm && array->has_ld && bytes == JG_TMA_ALIGNMENT;
}

/* What has a row or an element of each row of A and D has those of all groups, where these
 * are stacked. */
static bool is_stacked(const struct launch *launch, enum size count)
{
    return count == SIZE_M && jg_is_stacked(launch->kernel->problem.group_by);
}

static void set_matrix(const struct launch *launch, const struct jg_matrix *lies_as,
                       enum size outer, enum size inner, struct jg_array *array)
{
    const jit_gemm_group_by group_by = launch->kernel->problem.group_by;
    const bool is_mn_major = lies_as->is_mn_major;
    array->rows = launch->sizes[is_mn_major ? inner : outer];
    array->columns = launch->sizes[is_mn_major ? outer : inner];
    array->has_ld = true;
    array->is_stacked =
        is_stacked(launch, outer) ||
        (group_by == JIT_GEMM_GROUP_BY_K_OFFSETS && (outer == SIZE_K || inner == SIZE_K));
    set_alignment(launch->kernel, lies_as->alignment, array);
}

/* Of A or B, where the tensor core multiplies by its scales: no kernel takes less than TMA
 * does, and it takes more where it spreads elements. */
static void set_scaled_input(const struct launch *launch, const struct jg_matrix *matrix,
                             struct jg_array *array)
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
static void set_repacked_input(const struct launch *launch, const struct jg_matrix *matrix,
                               struct jg_array *array)
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

/* Is a vector of so many elements read as D's rows lie in memory? */
static bool lies_along_rows(const struct jg_problem *problem, enum size count)
{
    if (problem->d.is_mn_major) {
        return count == SIZE_M;
    }
    return count == SIZE_D_COLUMNS || (count == SIZE_N && !problem->is_gated);
}

/* A vector along the rows of D in memory is read in pairs, unless less is promised. */
static void set_vector(const struct launch *launch, enum size count, struct jg_array *array)
{
    const struct jg_problem *problem = &launch->kernel->problem;
    const int64_t wanted =
        jg_bytes_of(array->dtype, lies_along_rows(problem, count) ? 2 : 1);
    array->rows = 1;
    array->columns = launch->sizes[count];
    array->is_stacked = is_stacked(launch, count);
    set_alignment(launch->kernel, jg_min(wanted, problem->d.alignment), array);
}

/* --------------------------------------------------------------------- what is given */

/* `ret_key` is zeroed for what goes through no map. */
static jit_gemm_status resolve(const struct jg_array *array, const jit_gemm_arg *arg,
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

/* For what the kernel does not take. */
static jit_gemm_status resolve_absent(const struct launch *launch, const struct row *row)
{
    *param_at(launch, row) = (struct jg_matrix_param){0};
    return jg_array_check_absent(row->field, given_at(launch, row), row->absent,
                                 row->remedy);
}

/* C is never read where a beta on the host says so. */
static bool is_unread(const struct launch *launch, const struct row *row)
{
    const struct jg_scalar_param *beta = &launch->params->beta;
    return row->map == JG_MAP_C && given_at(launch, row)->pointer == 0 &&
           beta->pointer == 0 && beta->value == 0.0F;
}

/* Of a matrix whose rows an index names, of all batches and groups: threads move them, or
 * copies of single rows of A. */
static void set_indexed(const struct launch *launch, enum jg_map_index map,
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

static jit_gemm_status resolve_matrix(const struct launch *launch, const struct row *row)
{
    const struct jg_matrix *matrix = declared_at(launch, row);
    const struct row *target = row_in_product(launch, row);
    struct jg_map_key *key = &launch->keys[target->map];
    const bool by_pointers = launch->kernel->problem.group_by == JIT_GEMM_GROUP_BY_POINTERS;
    if ((!by_pointers || matrix->dtype == JIT_GEMM_DTYPE_NONE) &&
        lds_at(launch, row) != 0) {
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
        *param_at(launch, row) = (struct jg_matrix_param){0};
        return jg_array_check_parts(&array, given_at(launch, row));
    }
    if (by_pointers) {
        *key = (struct jg_map_key){0};
        return jg_array_resolve_pointers(&array, given_at(launch, row), lds_at(launch, row),
                                         param_at(launch, target));
    }
    return resolve(&array, given_at(launch, row), param_at(launch, target), key);
}

/* Of a vector with a value for each column of B, where two of them make one of D: elements
 * from one pair to the next, and in a pair (jg/epilogue/operands.cuh). */
static void set_gate_steps(const struct launch *launch, struct jg_matrix_param *param)
{
    const bool halves = launch->kernel->problem.pair == JIT_GEMM_PAIR_HALVES;
    param->ld = halves ? 1 : 2;
    param->batch_step = halves ? (uint32_t)launch->sizes[SIZE_D_COLUMNS] : 1;
}

/* Do these scales lie as rows of an A do that an index names? */
static bool is_indexed_scale(const struct launch *launch, const struct row *row)
{
    return row->declared == offsetof(struct jg_problem, a) &&
           jg_row_index_names_scales(&launch->kernel->problem);
}

/* Those of blocks of A and B: rows in memory, which may lie further apart than packed. */
static jit_gemm_status resolve_input_blocks(const struct launch *launch,
                                            const struct row *row,
                                            const jit_gemm_scale *scale)
{
    const bool is_indexed = is_indexed_scale(launch, row);
    const int64_t mn = is_indexed ? launch->params->a_row_count : launch->sizes[row->inner];
    const int64_t rows = jg_ceil_div(mn, scale->block_mn);
    const jit_gemm_group_by group_by = launch->kernel->problem.group_by;
    const int64_t k = jg_groups_scale_depth(group_by, launch->sizes[SIZE_K],
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
                                                 is_stacked(launch, row->inner) ||
                                                 group_by == JIT_GEMM_GROUP_BY_K_OFFSETS,
                                   .has_ld = true};
    jit_gemm_arg given = *given_at(launch, row);
    if (given.ld == 0) {
        given.ld = packed.columns;
    }
    return jg_array_resolve(&array, &given, param_at(launch, row_in_product(launch, row)));
}

/* Scales of blocks that have no ld. */
static struct jg_array packed_scales(const struct launch *launch, const struct row *row,
                                     const jit_gemm_scale *scale, enum size mn, enum size k)
{
    const bool has_bands = mn == SIZE_M && scale->layout == JIT_GEMM_SCALE_LAYOUT_128X4;
    const jit_gemm_group_by group_by = launch->kernel->problem.group_by;
    const int64_t groups = launch->params->batch;
    const bool is_along_k = k == SIZE_K && group_by == JIT_GEMM_GROUP_BY_K_OFFSETS;
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
                             .is_stacked = is_stacked(launch, mn) || is_along_k};
}

/* Those of MX: pieces of 512 bytes, which a tensor map has as rows of words of four. Others
 * are elements, until it is known where they are packed. */
static jit_gemm_status resolve_pieces(const struct launch *launch, const struct row *row,
                                      const jit_gemm_scale *scale)
{
    const struct row *target = row_in_product(launch, row);
    const bool is_gemm = launch->kernel->choice.config.kernel == JG_KERNEL_GEMM;
    const bool is_a = target->declared == offsetof(struct jg_problem, a);
    const bool is_indexed = is_indexed_scale(launch, row);
    struct jg_array array = packed_scales(launch, row, scale, row->inner, SIZE_K);
    array.may_broadcast = true;
    if (is_indexed) { /* as A's rows lie: of all batches and groups */
        array.rows = jg_scale_extent(scale, launch->params->a_row_count, 0).rows;
        array.is_stacked = true;
    }
    if (jg_scale_is_packed_first(scale)) {
        return jg_array_resolve(&array, given_at(launch, row), param_at(launch, target));
    }
    array.has_map = is_gemm && !is_indexed;
    if (is_gemm) {
        array.alignment = JG_TMA_ALIGNMENT; /* and nobody takes less */
        array.alignment_key = NULL;
    }
    struct jg_map_key *key = &launch->keys[is_a ? JG_MAP_A_SCALE : JG_MAP_B_SCALE];
    JG_TRY(resolve(&array, given_at(launch, row), param_at(launch, target), key));
    key->ld /= SCALE_WORD;
    key->batch_stride /= SCALE_WORD;
    key->inner /= SCALE_WORD;
    return JIT_GEMM_OK;
}

/* Those that the kernel computes. */
static jit_gemm_status resolve_block_scale(const struct launch *launch,
                                           const struct row *row,
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
    return jg_array_resolve(&array, given_at(launch, row), param_at(launch, row));
}

static jit_gemm_status resolve_scale(const struct launch *launch, const struct row *row)
{
    const jit_gemm_scale *scale = &declared_at(launch, row)->scale;
    if (scale->kind == JIT_GEMM_SCALE_NONE) {
        return jg_array_check_absent(row->field, given_at(launch, row), row->absent,
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
    set_vector(launch, is_vector ? row->inner : SIZE_ONE, &array);
    const bool is_indexed = is_indexed_scale(launch, row);
    if (is_indexed) {
        array.columns = launch->params->a_row_count;
        array.is_stacked = true;
    }
    JG_TRY(jg_array_resolve(&array, given_at(launch, row), param_at(launch, row)));
    if (is_indexed) {
        jg_row_index_join(launch->params, param_at(launch, row));
    }
    if (launch->kernel->problem.is_gated && is_vector && row->inner == SIZE_N) {
        set_gate_steps(launch, param_at(launch, row));
    }
    return JIT_GEMM_OK;
}

/* Is it a reduction of the reference kernel, which gets what each element contributes? */
static bool holds_elements(const struct jg_kernel *kernel, const struct jg_operand *operand)
{
    return jg_operand_reduces(operand) &&
           kernel->choice.config.kernel == JG_KERNEL_REFERENCE;
}

static void set_operand(const struct launch *launch, const struct jg_operand *operand,
                        struct jg_array *array)
{
    if (holds_elements(launch->kernel, operand)) {
        set_matrix(launch, &launch->kernel->problem.d, SIZE_M, SIZE_D_COLUMNS, array);
        return;
    }
    switch (operand->kind) {
    case JIT_GEMM_OPERAND_SCALAR:
        set_vector(launch, SIZE_ONE, array);
        break;
    case JIT_GEMM_OPERAND_ROW_VECTOR:
        set_vector(launch, SIZE_D_COLUMNS, array);
        break;
    case JIT_GEMM_OPERAND_PAIR_VECTOR:
        set_vector(launch, SIZE_N, array);
        break;
    case JIT_GEMM_OPERAND_COLUMN_VECTOR:
        set_vector(launch, SIZE_M, array);
        break;
    case JIT_GEMM_OPERAND_BLOCK_1X128:
    case JIT_GEMM_OPERAND_BLOCK_1X32:
    case JIT_GEMM_OPERAND_BLOCK_1X16:
        array->rows = launch->sizes[SIZE_M];
        array->columns = jg_ceil_div(launch->sizes[SIZE_D_COLUMNS],
                                     jg_operand_kind_block(operand->kind));
        array->is_stacked = is_stacked(launch, SIZE_M);
        array->has_ld = true;
        break;
    case JIT_GEMM_OPERAND_MATRIX:
        set_matrix(launch, &launch->kernel->problem.d, SIZE_M, SIZE_D_COLUMNS, array);
        array->has_map = array->has_map && operand->role == JIT_GEMM_OPERAND_INPUT;
        break;
    }
}

static jit_gemm_status resolve_operand(const struct launch *launch, size_t index)
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
        .alignment_key = output_key,
        .may_broadcast = is_input,
        .has_value = is_input && operand->kind == JIT_GEMM_OPERAND_SCALAR};
    set_operand(launch, operand, &array);
    if (!is_input && operand->kind != JIT_GEMM_OPERAND_MATRIX) {
        array.alignment = jg_bytes_of(dtype, 1); /* written by elements */
    }
    struct jg_matrix_param *param = &launch->params->operands[index];
    JG_TRY(resolve(&array, &launch->args->operands[index], param,
                   &launch->keys[JG_MAP_OPERANDS + index]));
    if (operand->kind == JIT_GEMM_OPERAND_PAIR_VECTOR) {
        set_gate_steps(launch, param);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status resolve_operands(const struct launch *launch)
{
    JG_TRY(jg_operand_list_check(launch->kernel, launch->args));
    for (size_t i = 0; i < launch->kernel->operand_count; i++) {
        JG_TRY(resolve_operand(launch, i));
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status resolve_all(const struct launch *launch)
{
    for (size_t i = 0; i < sizeof(matrix_rows) / sizeof(matrix_rows[0]); i++) {
        JG_TRY(resolve_matrix(launch, &matrix_rows[i]));
    }
    launch->keys[JG_MAP_A_SCALE] = launch->keys[JG_MAP_B_SCALE] = (struct jg_map_key){0};
    for (size_t i = 0; i < sizeof(scale_rows) / sizeof(scale_rows[0]); i++) {
        *param_at(launch, &scale_rows[i]) = (struct jg_matrix_param){0};
    }
    for (size_t i = 0; i < sizeof(scale_rows) / sizeof(scale_rows[0]); i++) {
        JG_TRY(resolve_scale(launch, &scale_rows[i]));
    }
    return resolve_operands(launch);
}

static jit_gemm_status check_row_reserved(const jit_gemm_args *args, const struct row *row)
{
    const jit_gemm_arg *arg = (const void *)((const char *)args + row->given);
    if (arg->reserved == 0) {
        return JIT_GEMM_OK;
    }
    const struct jg_array array = {.field = row->field, .description = row->description};
    return jg_array_refuse_reserved(&array, arg);
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
    for (size_t i = 0; i < sizeof(matrix_rows) / sizeof(matrix_rows[0]); i++) {
        JG_TRY(check_row_reserved(args, &matrix_rows[i]));
    }
    for (size_t i = 0; i < sizeof(scale_rows) / sizeof(scale_rows[0]); i++) {
        JG_TRY(check_row_reserved(args, &scale_rows[i]));
    }
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
    JG_TRY(resolve_sizes(kernel, args, ret_params));
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
    const struct launch launch = {
        .kernel = kernel,
        .args = args,
        .params = ret_params,
        .keys = ret_keys,
        .extents = extents,
        .sizes = {[SIZE_ONE] = 1,
                  [SIZE_M] = ret_params->m,
                  [SIZE_N] = ret_params->n,
                  [SIZE_D_COLUMNS] = jg_problem_d_columns(&kernel->problem, ret_params->n),
                  [SIZE_K] = ret_params->k}};
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
