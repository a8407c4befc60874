/* SPDX-License-Identifier: MIT */
#include "run_inputs.h"

#include <stdlib.h>

#include "jit_gemm/device.h"
#include "run_views.h"
#include "verify/quantise.h"

/* Beyond the seeds of the operands. */
enum {
    A_SCALE_SEED = 3 + JIT_GEMM_MAX_OPERANDS,
    INDEX_SEED = A_SCALE_SEED + 2, /* beyond those of A and B */
    A_INDEX_SEED
};

int run_sizes_resolve(const jit_gemm_problem *problem, const struct run_sizes *asked,
                      struct run_inputs *inputs)
{
    const struct {
        const char *name;
        jit_gemm_dim dim;
        int64_t asked;
        int64_t *target;
    } rows[] = {
        {"m", problem->m, asked->m, &inputs->m},
        {"n", problem->n, asked->n, &inputs->n},
        {"k", problem->k, asked->k, &inputs->k},
        {"batch", problem->batch, asked->batch, &inputs->batch},
    };

    int64_t *divided = run_groups_divide_k(problem->group_by) ? &inputs->k : &inputs->m;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const bool is_dynamic = rows[i].dim.mode == JIT_GEMM_DIM_DYNAMIC;

        if (rows[i].asked && !is_dynamic && rows[i].asked != rows[i].dim.size) {
            return cli_usage_error("--%s: this size is compiled in; make it dynamic with "
                                   "dynamic=%s in the problem",
                                   rows[i].name, rows[i].name);
        }
        const bool is_divided = rows[i].target == divided;
        const bool is_counted =
            is_divided && is_dynamic && run_groups_is_list(asked->groups.list);
        *rows[i].target = rows[i].asked ? rows[i].asked : is_counted ? 0 : rows[i].dim.size;
        if (is_counted) {
            continue; /* so many as the groups need */
        }
        if (*rows[i].target == 0) {
            return cli_usage_error("`%s` is dynamic and has no size to launch with; write "
                                   "such as %s=64 in the problem",
                                   rows[i].name, rows[i].name);
        }
    }
    const int code = run_groups_read(problem, &asked->groups, divided, &inputs->groups);
    return code == CLI_OK ? run_groups_read_own(problem, asked->group_ns, asked->group_ks,
                                                inputs->n, inputs->k, &inputs->groups)
                          : code;
}

/* What a matrix has for each row of D, or for each element of K: rows, or columns. */
enum of_rows { OF_NO_ROWS, OF_ROWS, OF_ROWS_BY_COLUMNS, OF_K, OF_K_BY_COLUMNS };

static int create_random(jit_gemm_context *context, const struct run_inputs *inputs,
                         const struct element_view *view, enum of_rows of_rows,
                         uint64_t seed, uint64_t promised, struct run_matrix *ret_matrix)
{
    void *data = cli_alloc(element_view_bytes(view));

    element_fill_poison(view, data);
    element_fill_random(view, data, seed);
    if (of_rows != OF_NO_ROWS) {
        const bool is_k = of_rows == OF_K || of_rows == OF_K_BY_COLUMNS;
        run_groups_fill_rest(&inputs->groups, view, is_k,
                             of_rows == OF_ROWS_BY_COLUMNS || of_rows == OF_K_BY_COLUMNS,
                             element_poison_byte(view->dtype), data);
    }
    int code = run_matrix_create(context, view, data, promised, ret_matrix);
    free(data);
    return code;
}

static int create_operand(jit_gemm_context *context, const jit_gemm_problem *p,
                          const jit_gemm_operand *operand, uint64_t seed, size_t index,
                          struct run_inputs *inputs)
{
    struct element_view view = {0};

    if (operand->kind == JIT_GEMM_OPERAND_SCALAR && operand->dtype == JIT_GEMM_DTYPE_F32) {
        struct element_view one = {JIT_GEMM_DTYPE_F32, 1, 1, 1, 1, 1};

        element_fill_random(&one, &inputs->values[index], seed);
        return CLI_OK;
    }
    const enum of_rows of_rows = operand->kind == JIT_GEMM_OPERAND_MATRIX ? OF_ROWS
                                 : operand->kind == JIT_GEMM_OPERAND_COLUMN_VECTOR
                                     ? OF_ROWS_BY_COLUMNS
                                     : OF_NO_ROWS;
    int code = run_view_operand(p, operand, inputs, &view);
    return code == CLI_OK ? create_random(context, inputs, &view, of_rows, seed,
                                          p->d.alignment, &inputs->operands[index])
                          : code;
}

/* One matrix that a launch reads, as the problem declares it. */
struct input_row {
    const char *name;
    const jit_gemm_matrix *matrix;
    int64_t outer, inner; /* rows and columns as stored, unless it is MN-major */
    int64_t ld;           /* as asked */
    int64_t batch;
    bool is_b, has_k;
    struct run_matrix *target;
};

/* A and B have K, where groups divide that; else A and C have rows of D. */
static enum of_rows of_rows_of(const struct run_inputs *inputs, const struct input_row *row,
                               bool is_mn_major)
{
    if (row->has_k && run_groups_divide_k(inputs->groups.by)) {
        return is_mn_major ? OF_K : OF_K_BY_COLUMNS;
    }
    return row->is_b ? OF_NO_ROWS : is_mn_major ? OF_ROWS_BY_COLUMNS : OF_ROWS;
}

static int create_input(jit_gemm_context *context, const struct run_inputs *inputs,
                        const struct input_row *row, uint64_t seed)
{
    const jit_gemm_matrix *matrix = row->matrix;
    const bool is_mn_major = matrix->layout == JIT_GEMM_LAYOUT_MN_MAJOR;
    struct element_view view = {0};
    if (matrix->dtype == JIT_GEMM_DTYPE_NONE) {
        return CLI_OK;
    }
    const int code = run_view_make(
        row->name, matrix->dtype, row->batch, is_mn_major ? row->inner : row->outer,
        is_mn_major ? row->outer : row->inner, row->ld, matrix->alignment, &view);
    return code == CLI_OK
               ? create_random(context, inputs, &view, of_rows_of(inputs, row, is_mn_major),
                               seed, matrix->alignment, row->target)
               : code;
}

static int create_scale(jit_gemm_context *context, const struct run_inputs *inputs,
                        const struct run_scale_row *row, uint64_t seed, uint64_t promised)
{
    const int64_t batch = row->batch;
    struct element_view view = {JIT_GEMM_DTYPE_F32, batch, 1, 1, 1, 1};
    const jit_gemm_scale_kind kind = row->scale->kind;
    if (kind == JIT_GEMM_SCALE_NONE) {
        return CLI_OK;
    }
    if (kind == JIT_GEMM_SCALE_BLOCK) {
        return run_block_scales_create(context, &inputs->groups, row, seed);
    }
    if (kind == JIT_GEMM_SCALE_VECTOR) {
        const int code = run_view_make(row->name, JIT_GEMM_DTYPE_F32, batch, 1, row->count,
                                       0, promised, &view);
        if (code != CLI_OK) {
            return code;
        }
    }
    const enum of_rows of_rows = row->is_b                       ? OF_NO_ROWS
                                 : kind == JIT_GEMM_SCALE_VECTOR ? OF_ROWS_BY_COLUMNS
                                                                 : OF_NO_ROWS;
    return create_random(context, inputs, &view, of_rows, seed, promised, row->target);
}

/* Do scales lie one after the other along K, those of all groups? */
static bool has_blocks_along_k(const jit_gemm_problem *p, const jit_gemm_matrix *matrix)
{
    return run_groups_divide_k(p->group_by) && matrix->scale.kind == JIT_GEMM_SCALE_BLOCK;
}

/* An N or a K of each group; none where there are no numbers. */
static int create_own_sizes(jit_gemm_context *context, const struct run_inputs *inputs,
                            const int32_t *numbers, struct run_matrix *ret_matrix)
{
    const int64_t count = inputs->groups.count;
    const struct element_view view = {JIT_GEMM_DTYPE_S32, 1, 1, count, count, count};

    return numbers != NULL ? run_matrix_create(context, &view, numbers, 0, ret_matrix)
                           : CLI_OK;
}

static int create_inputs(jit_gemm_context *context, const jit_gemm_problem *p,
                         const struct run_strides *strides, uint64_t seed,
                         struct run_inputs *inputs)
{
    const bool divides_k = run_groups_divide_k(p->group_by);
    const struct input_row rows[] = {
        {"A", &p->a, inputs->m, inputs->k, strides->lda,
         divides_k ? 1 : run_row_batch(inputs), false, true, &inputs->a},
        {"B", &p->b, inputs->n, inputs->k, strides->ldb, divides_k ? 1 : inputs->batch,
         true, true, &inputs->b},
        {"C", &p->c, inputs->m, inputs->n, strides->ldc, run_row_batch(inputs), false,
         false, &inputs->c},
    };
    const struct run_scale_row scales[] = {
        {"a_scale", &p->a.scale, inputs->m, inputs->k,
         has_blocks_along_k(p, &p->a)               ? 1
         : p->a.scale.kind == JIT_GEMM_SCALE_TENSOR ? inputs->batch
                                                    : run_row_batch(inputs),
         false, &inputs->a_scale},
        {"b_scale", &p->b.scale, inputs->n, inputs->k,
         has_blocks_along_k(p, &p->b) ? 1 : inputs->batch, true, &inputs->b_scale},
    };
    int code = CLI_OK;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && code == CLI_OK; i++) {
        code = create_input(context, inputs, &rows[i], seed + i);
    }
    for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]) && code == CLI_OK; i++) {
        code = create_scale(context, inputs, &scales[i], seed + A_SCALE_SEED + i,
                            p->d.alignment);
    }
    if (code == CLI_OK && inputs->groups.count > 0) {
        const int64_t count = inputs->groups.number_count;
        const struct element_view view = {JIT_GEMM_DTYPE_S32, 1, 1, count, count, count};
        code = run_matrix_create(context, &view, inputs->groups.numbers, 0,
                                 &inputs->group_sizes);
    }
    if (code == CLI_OK) {
        code = create_own_sizes(context, inputs, inputs->groups.ns, &inputs->group_ns);
    }
    return code == CLI_OK
               ? create_own_sizes(context, inputs, inputs->groups.ks, &inputs->group_ks)
               : code;
}

/* What the kernel reads of an index. */
static int create_rows(jit_gemm_context *context, const struct run_inputs *inputs,
                       const struct run_index *index, struct run_matrix *ret_rows)
{
    const int64_t m = inputs->m;
    const struct element_view view = {
        JIT_GEMM_DTYPE_S32, run_row_batch(inputs), 1, m, m, m};

    return run_matrix_create(context, &view, index->rows, 0, ret_rows);
}

/* The scales that rows of A have, where A's index says; A has been spread. */
static int spread_a_scale(jit_gemm_context *context, const jit_gemm_problem *p,
                          struct run_inputs *inputs)
{
    const jit_gemm_scale_kind kind = p->a.scale.kind;
    const struct run_matrix *scales = &inputs->a_scale;
    const bool by_columns =
        kind == JIT_GEMM_SCALE_VECTOR || p->a.scale.layout == JIT_GEMM_SCALE_LAYOUT_COLUMN;
    if (kind != JIT_GEMM_SCALE_VECTOR && kind != JIT_GEMM_SCALE_BLOCK) {
        return CLI_OK;
    }
    const bool is_packed =
        kind == JIT_GEMM_SCALE_BLOCK && quantise_has_byte_scales(&p->a.scale);
    void *ordered = run_matrix_download(context, scales);
    if (ordered == NULL) {
        return CLI_FAILED;
    }
    bool *belongs = run_groups_list_rows(&inputs->groups, scales->view.batch, inputs->m);
    struct element_view own = {0};
    void *spread = is_packed ? run_block_scales_spread(&inputs->a_index, &p->a.scale,
                                                       scales, belongs, ordered, &own)
                             : run_index_spread_scales(&inputs->a_index, &scales->view,
                                                       by_columns, belongs, ordered, &own);
    int code =
        run_matrix_create(context, &own, spread, p->d.alignment, &inputs->spread_a_scale);
    if (code == CLI_OK) {
        const jit_gemm_status status = jit_gemm_device_upload(
            context, scales->address, ordered, element_view_bytes(&scales->view));
        code = status == JIT_GEMM_OK ? CLI_OK : cli_report(status, NULL, false);
    }
    free(ordered);
    free(belongs);
    free(spread);
    return code;
}

/* The rows of A where its index says; what they are in order changes with it. */
static int spread_a(jit_gemm_context *context, const jit_gemm_problem *p,
                    struct run_inputs *inputs)
{
    const struct element_view *view = &inputs->a.view;
    const int64_t rows = inputs->a_index.own_rows;
    const struct element_view own = {view->dtype,   1,        rows,
                                     view->columns, view->ld, rows * view->ld};
    void *ordered = run_matrix_download(context, &inputs->a);
    if (ordered == NULL) {
        return CLI_FAILED;
    }
    bool *belongs = run_groups_list_rows(&inputs->groups, view->batch, view->rows);
    void *spread = run_index_spread(&inputs->a_index, view, belongs, ordered);
    int code = run_matrix_create(context, &own, spread, p->a.alignment, &inputs->spread_a);
    if (code == CLI_OK) {
        const jit_gemm_status status = jit_gemm_device_upload(
            context, inputs->a.address, ordered, element_view_bytes(view));
        code = status == JIT_GEMM_OK ? CLI_OK : cli_report(status, NULL, false);
    }
    free(ordered);
    free(belongs);
    free(spread);
    return code;
}

/* The indices of D's rows and of A's. */
static int create_indices(jit_gemm_context *context, const jit_gemm_problem *p,
                          uint64_t seed, struct run_inputs *inputs)
{
    const int64_t count = run_row_batch(inputs) * inputs->m;
    int code = CLI_OK;

    if (p->d_rows == JIT_GEMM_ROWS_INDEXED) {
        run_index_draw(count, seed + INDEX_SEED, &inputs->index);
        code = create_rows(context, inputs, &inputs->index, &inputs->d_rows);
    }
    if (p->a_rows == JIT_GEMM_ROWS_INDEXED && code == CLI_OK) {
        run_index_draw(count, seed + A_INDEX_SEED, &inputs->a_index);
        code = spread_a(context, p, inputs);
        if (code == CLI_OK) {
            code = spread_a_scale(context, p, inputs);
        }
        if (code == CLI_OK) {
            code = create_rows(context, inputs, &inputs->a_index, &inputs->a_rows);
        }
    }
    return code;
}

/* Of A or B as it lies with counts: what a group's own K leaves out becomes 0. The
 * reference adds up the launch's K. */
static int clear_depth(jit_gemm_context *context, const struct run_groups *groups,
                       const struct run_matrix *matrix, struct run_part part, void *data)
{
    const struct element_view *view = &matrix->view;

    if (groups->ks == NULL || (part.rows != RUN_SIZE_K && part.columns != RUN_SIZE_K)) {
        return CLI_OK;
    }
    for (int64_t at = 0; at < view->batch * view->rows * view->columns; at++) {
        const int64_t group = at / (view->rows * view->columns);
        const int64_t row = at / view->columns % view->rows, column = at % view->columns;
        if ((part.rows == RUN_SIZE_K ? row : column) >= groups->ks[group]) {
            element_store(view->dtype, data,
                          (size_t)(group * view->batch_stride + row * view->ld + column),
                          0);
        }
    }
    const jit_gemm_status status =
        jit_gemm_device_upload(context, matrix->address, data, element_view_bytes(view));
    return status == JIT_GEMM_OK ? CLI_OK : cli_report(status, NULL, false);
}

/* Of a matrix that lies as with counts, those that a launch by pointers gets. */
static int create_own(jit_gemm_context *context, const struct run_inputs *inputs,
                      const struct run_matrix *matrix, struct run_part part, bool one_ld,
                      uint64_t promised, struct run_pointers *ret_own)
{
    if (matrix->base == 0) {
        return CLI_OK;
    }
    void *data = run_matrix_download(context, matrix);
    if (data == NULL) {
        return CLI_FAILED;
    }
    int code = clear_depth(context, &inputs->groups, matrix, part, data);
    if (code == CLI_OK) {
        code = run_pointers_create(context, &inputs->groups, &matrix->view, part, one_ld,
                                   data, promised, ret_own);
    }
    free(data);
    return code;
}

/* A or B, of `mn` and K. */
static struct run_part stored_part(const jit_gemm_matrix *matrix, enum run_size mn)
{
    return matrix->layout == JIT_GEMM_LAYOUT_MN_MAJOR ? (struct run_part){RUN_SIZE_K, mn}
                                                      : (struct run_part){mn, RUN_SIZE_K};
}

static int create_own_inputs(jit_gemm_context *context, const jit_gemm_problem *p,
                             struct run_inputs *inputs)
{
    const struct run_part of_a = stored_part(&p->a, RUN_SIZE_M);
    const struct run_part of_b = stored_part(&p->b, RUN_SIZE_N);
    const struct run_part of_c = {RUN_SIZE_M, RUN_SIZE_N};
    const bool b_is_alike = inputs->groups.ns == NULL && inputs->groups.ks == NULL;
    int code = create_own(context, inputs, &inputs->a, of_a, false, p->a.alignment,
                          &inputs->own_a);
    if (code == CLI_OK) {
        code = create_own(context, inputs, &inputs->b, of_b, b_is_alike, p->b.alignment,
                          &inputs->own_b);
    }
    return code == CLI_OK ? create_own(context, inputs, &inputs->c, of_c, false,
                                       p->d.alignment, &inputs->own_c)
                          : code;
}

int run_inputs_create(jit_gemm_context *context, const struct cli_problem *problem,
                      const struct run_strides *strides, uint64_t seed,
                      struct run_inputs *inputs)
{
    const jit_gemm_problem *p = &problem->problem;
    int code = create_inputs(context, p, strides, seed, inputs);
    if (code == CLI_OK) {
        code = create_indices(context, p, seed, inputs);
    }
    if (code == CLI_OK && run_is_by_pointers(p)) {
        code = create_own_inputs(context, p, inputs);
    }
    for (size_t i = 0; i < problem->operand_count && code == CLI_OK; i++) {
        if (problem->operands[i].role == JIT_GEMM_OPERAND_INPUT) {
            code =
                create_operand(context, p, &problem->operands[i], seed + 3 + i, i, inputs);
        }
    }
    return code;
}

void run_inputs_free(jit_gemm_context *context, struct run_inputs *inputs)
{
    run_matrix_free(context, &inputs->a);
    run_matrix_free(context, &inputs->b);
    run_matrix_free(context, &inputs->c);
    run_pointers_free(context, &inputs->own_a);
    run_pointers_free(context, &inputs->own_b);
    run_pointers_free(context, &inputs->own_c);
    run_matrix_free(context, &inputs->a_scale);
    run_matrix_free(context, &inputs->b_scale);
    run_matrix_free(context, &inputs->group_sizes);
    run_matrix_free(context, &inputs->group_ns);
    run_matrix_free(context, &inputs->group_ks);
    run_groups_free(&inputs->groups);
    run_matrix_free(context, &inputs->d_rows);
    run_matrix_free(context, &inputs->a_rows);
    run_matrix_free(context, &inputs->spread_a);
    run_matrix_free(context, &inputs->spread_a_scale);
    run_index_free(&inputs->index);
    run_index_free(&inputs->a_index);
    for (size_t i = 0; i < JIT_GEMM_MAX_OPERANDS; i++) {
        run_matrix_free(context, &inputs->operands[i]);
    }
}
