/* SPDX-License-Identifier: MIT */
#include "run_data.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "jit_gemm/device.h"
#include "verify/quantise.h"

enum { COPY_ALIGNMENT = 16 };

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

/* Of a matrix with rows of D: those of all groups, if they are stacked, make one. */
static int64_t row_batch(const struct run_inputs *inputs)
{
    return run_groups_are_stacked(&inputs->groups) ? 1 : inputs->batch;
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

/* `size`, or one `unit` more where it is an even number of units: what lies an odd
 * number of units apart is aligned to one unit and no better. */
static int64_t make_odd(int64_t size, int64_t unit)
{
    return size % unit == 0 && size / unit % 2 == 0 ? size + unit : size;
}

/* A view of `rows` x `columns`; `ld` 0 means padded to the promised alignment and no
 * better. */
static int make_view(const char *name, jit_gemm_dtype dtype, int64_t batch, int64_t rows,
                     int64_t columns, int64_t ld, uint64_t promised,
                     struct element_view *ret_view)
{
    uint64_t narrow = run_matrix_alignment(dtype, promised);
    uint64_t alignment = narrow ? narrow : COPY_ALIGNMENT;
    int64_t unit = element_count(dtype, alignment);
    int64_t padded = element_padded_ld(dtype, columns, alignment);

    if (narrow) {
        padded = make_odd(padded, unit);
    }
    if (ld == 0) {
        ld = padded;
        if (padded != columns && rows > 1) {
            cli_note("%s: rows of %" PRId64 " %s elements are padded to %" PRId64
                     ", %s multiple of %" PRIu64 " bytes",
                     name, columns, element_dtype_name(dtype), padded,
                     narrow ? "an odd" : "a", alignment);
        }
    } else if (ld < columns) {
        cli_usage_error("the leading dimension of %s is %" PRId64 ", less than its %" PRId64
                        " columns",
                        name, ld, columns);
        return CLI_USAGE;
    }
    int64_t batch_stride = rows * ld;
    *ret_view = (struct element_view){
        .dtype = dtype,
        .batch = batch,
        .rows = rows,
        .columns = columns,
        .ld = ld,
        .batch_stride = narrow && batch > 1 ? make_odd(batch_stride, unit) : batch_stride};
    return CLI_OK;
}

/* As D lies in memory, and C and matrix operands with it. */
static int64_t rows_of_d(const jit_gemm_problem *p, const struct run_inputs *inputs)
{
    return p->d.layout == JIT_GEMM_LAYOUT_COLUMN_MAJOR ? inputs->d_columns : inputs->m;
}

static int64_t columns_of_d(const jit_gemm_problem *p, const struct run_inputs *inputs)
{
    return p->d.layout == JIT_GEMM_LAYOUT_COLUMN_MAJOR ? inputs->m : inputs->d_columns;
}

int64_t run_block_columns(jit_gemm_operand_kind kind)
{
    return kind == JIT_GEMM_OPERAND_BLOCK_1X128  ? 128
           : kind == JIT_GEMM_OPERAND_BLOCK_1X32 ? 32
           : kind == JIT_GEMM_OPERAND_BLOCK_1X16 ? 16
                                                 : 0;
}

static int view_operand(const jit_gemm_problem *p, const jit_gemm_operand *operand,
                        const struct run_inputs *inputs, struct element_view *ret_view)
{
    int64_t rows = 1, columns = 1, batch = row_batch(inputs);

    switch (operand->kind) {
    case JIT_GEMM_OPERAND_SCALAR:
        *ret_view = (struct element_view){operand->dtype, inputs->batch, 1, 1, 1, 1};
        return CLI_OK;
    case JIT_GEMM_OPERAND_ROW_VECTOR:
        columns = inputs->d_columns;
        batch = inputs->batch;
        break;
    case JIT_GEMM_OPERAND_PAIR_VECTOR:
        columns = inputs->n;
        batch = inputs->batch;
        break;
    case JIT_GEMM_OPERAND_COLUMN_VECTOR:
        columns = inputs->m;
        break;
    case JIT_GEMM_OPERAND_BLOCK_1X128:
    case JIT_GEMM_OPERAND_BLOCK_1X32:
    case JIT_GEMM_OPERAND_BLOCK_1X16:
        rows = inputs->m;
        columns = (inputs->d_columns + run_block_columns(operand->kind) - 1) /
                  run_block_columns(operand->kind);
        break;
    case JIT_GEMM_OPERAND_MATRIX:
        rows = rows_of_d(p, inputs);
        columns = columns_of_d(p, inputs);
        break;
    }
    return make_view(operand->name, operand->dtype, batch, rows, columns, 0, p->d.alignment,
                     ret_view);
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
    int code = view_operand(p, operand, inputs, &view);
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
    const int code = make_view(
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
        const int code = make_view(row->name, JIT_GEMM_DTYPE_F32, batch, 1, row->count, 0,
                                   promised, &view);
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
        {"A", &p->a, inputs->m, inputs->k, strides->lda, divides_k ? 1 : row_batch(inputs),
         false, true, &inputs->a},
        {"B", &p->b, inputs->n, inputs->k, strides->ldb, divides_k ? 1 : inputs->batch,
         true, true, &inputs->b},
        {"C", &p->c, inputs->m, inputs->n, strides->ldc, row_batch(inputs), false, false,
         &inputs->c},
    };
    const struct run_scale_row scales[] = {
        {"a_scale", &p->a.scale, inputs->m, inputs->k,
         has_blocks_along_k(p, &p->a)               ? 1
         : p->a.scale.kind == JIT_GEMM_SCALE_TENSOR ? inputs->batch
                                                    : row_batch(inputs),
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
    const struct element_view view = {JIT_GEMM_DTYPE_S32, row_batch(inputs), 1, m, m, m};

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
    const int64_t count = row_batch(inputs) * inputs->m;
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

static bool is_by_pointers(const jit_gemm_problem *p)
{
    return p->group_by == JIT_GEMM_GROUP_BY_POINTERS;
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
    if (code == CLI_OK && is_by_pointers(p)) {
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

bool run_reduces(const jit_gemm_operand *operand)
{
    return operand->role != JIT_GEMM_OPERAND_INPUT &&
           operand->role != JIT_GEMM_OPERAND_OUTPUT;
}

bool run_holds_elements(const jit_gemm_problem *p, const jit_gemm_operand *operand)
{
    return operand->kind == JIT_GEMM_OPERAND_MATRIX ||
           (run_reduces(operand) && strstr(p->config, "kernel=reference") != NULL);
}

/* Of an operand that a launch writes. */
static int view_result(const jit_gemm_problem *p, const jit_gemm_operand *operand,
                       const struct run_inputs *inputs, bool is_reference,
                       struct element_view *ret_view)
{
    const int64_t rows = rows_of_d(p, inputs), columns = columns_of_d(p, inputs);

    if (!run_holds_elements(p, operand)) {
        return view_operand(p, operand, inputs, ret_view);
    }
    return make_view(operand->name,
                     run_reduces(operand) ? JIT_GEMM_DTYPE_F32 : operand->dtype,
                     row_batch(inputs), rows, columns, is_reference ? columns : 0,
                     is_reference ? 0 : p->d.alignment, ret_view);
}

int run_results_create(jit_gemm_context *context, const struct cli_problem *problem,
                       const struct run_inputs *inputs, int64_t ldd, bool is_reference,
                       struct run_results *results)
{
    const jit_gemm_problem *p = &problem->problem;
    const int64_t rows = rows_of_d(p, inputs), columns = columns_of_d(p, inputs);
    const bool has_index = p->d_rows == JIT_GEMM_ROWS_INDEXED;
    const uint64_t promised = is_reference ? 0 : p->d.alignment;
    struct element_view view = {0};
    int code = make_view("D", element_d_type(p), has_index ? 1 : row_batch(inputs),
                         has_index ? inputs->index.own_rows : rows, columns,
                         is_reference ? columns : ldd, promised, &view);
    if (code == CLI_OK) {
        code = run_matrix_create(context, &view, NULL, promised, &results->d);
    }
    if (code == CLI_OK && is_by_pointers(p)) {
        code = run_pointers_create(context, &inputs->groups, &view,
                                   (struct run_part){RUN_SIZE_M, RUN_SIZE_N}, false, NULL,
                                   promised, &results->own_d);
    }
    if (code == CLI_OK && p->d.scale.kind != JIT_GEMM_SCALE_NONE) {
        const bool has_bands = p->d.scale.layout == JIT_GEMM_SCALE_LAYOUT_128X4;
        const int64_t all_rows = has_index   ? inputs->index.own_rows
                                 : has_bands ? run_groups_scale_rows(&inputs->groups, rows)
                                             : rows;
        view = quantise_scale_view(&p->d.scale, has_index ? 1 : row_batch(inputs),
                                   quantise_scale_rows(&p->d.scale, all_rows), columns);
        code = run_matrix_create(context, &view, NULL, element_size(view.dtype),
                                 &results->d_scale);
    }
    for (size_t i = 0; i < problem->operand_count && code == CLI_OK; i++) {
        const jit_gemm_operand *operand = &problem->operands[i];

        if (operand->role == JIT_GEMM_OPERAND_INPUT) {
            continue;
        }
        code = view_result(p, operand, inputs, is_reference, &view);
        if (code == CLI_OK) {
            code = run_matrix_create(context, &view, NULL, promised, &results->operands[i]);
        }
    }
    return code;
}

int run_results_poison(jit_gemm_context *context, const struct run_results *results)
{
    jit_gemm_status status = run_matrix_poison(context, &results->d);

    if (status == JIT_GEMM_OK) {
        status = run_matrix_poison(context, &results->own_d.room);
    }
    if (status == JIT_GEMM_OK) {
        status = run_matrix_poison(context, &results->d_scale);
    }
    for (size_t i = 0; i < JIT_GEMM_MAX_OPERANDS && status == JIT_GEMM_OK; i++) {
        status = run_matrix_poison(context, &results->operands[i]);
    }
    return status == JIT_GEMM_OK ? CLI_OK : cli_report(status, NULL, false);
}

int run_results_collect(jit_gemm_context *context, const struct run_inputs *inputs,
                        const struct run_results *results, bool *is_wrong)
{
    if (results->own_d.room.base == 0) {
        return CLI_OK;
    }
    return run_pointers_collect(context, &inputs->groups, "D", &results->own_d, &results->d,
                                is_wrong);
}

int run_workspace_create(jit_gemm_context *context, uint64_t bytes,
                         struct run_results *results)
{
    const int64_t floats = (int64_t)(bytes / sizeof(float));
    const struct element_view view = {JIT_GEMM_DTYPE_F32, 1, 1, floats, floats, floats};
    int code = run_matrix_create(context, &view, NULL, 0, &results->workspace);

    if (code != CLI_OK) {
        return code;
    }
    jit_gemm_status status =
        jit_gemm_device_fill(context, results->workspace.address, 0, (size_t)bytes);
    return status == JIT_GEMM_OK ? CLI_OK : cli_report(status, NULL, false);
}

void run_results_free(jit_gemm_context *context, struct run_results *results)
{
    run_matrix_free(context, &results->d);
    run_pointers_free(context, &results->own_d);
    run_matrix_free(context, &results->d_scale);
    run_matrix_free(context, &results->workspace);
    for (size_t i = 0; i < JIT_GEMM_MAX_OPERANDS; i++) {
        run_matrix_free(context, &results->operands[i]);
    }
}

static jit_gemm_arg argument_of(const struct run_matrix *matrix, bool has_ld)
{
    return (jit_gemm_arg){.pointer = matrix->address,
                          .ld = has_ld ? matrix->view.ld : 0,
                          .batch_stride =
                              matrix->view.batch > 1 ? matrix->view.batch_stride : 0};
}

jit_gemm_args run_arguments(const struct cli_problem *problem,
                            const struct run_inputs *inputs,
                            const struct run_results *results,
                            jit_gemm_arg operands[JIT_GEMM_MAX_OPERANDS])
{
    for (size_t i = 0; i < problem->operand_count; i++) {
        const jit_gemm_operand *operand = &problem->operands[i];
        const bool is_input = operand->role == JIT_GEMM_OPERAND_INPUT;
        operands[i] = argument_of(is_input ? &inputs->operands[i] : &results->operands[i],
                                  run_holds_elements(&problem->problem, operand) ||
                                      run_block_columns(operand->kind) > 0);
        operands[i].value = inputs->values[i];
    }
    const bool has_own = is_by_pointers(&problem->problem);
    const bool has_index = problem->problem.d_rows == JIT_GEMM_ROWS_INDEXED;
    const bool reads_index = problem->problem.a_rows == JIT_GEMM_ROWS_INDEXED;
    const struct run_matrix *const a_scale =
        reads_index && inputs->spread_a_scale.address != 0 ? &inputs->spread_a_scale
                                                           : &inputs->a_scale;
    return (jit_gemm_args){
        .struct_size = sizeof(jit_gemm_args),
        .a = has_own ? run_pointers_argument(&inputs->own_a)
                     : argument_of(reads_index ? &inputs->spread_a : &inputs->a, true),
        .b =
            has_own ? run_pointers_argument(&inputs->own_b) : argument_of(&inputs->b, true),
        .c =
            has_own ? run_pointers_argument(&inputs->own_c) : argument_of(&inputs->c, true),
        .d = has_own ? run_pointers_argument(&results->own_d)
                     : argument_of(&results->d, true),
        .a_lds = has_own ? inputs->own_a.lds.address : 0,
        .b_lds = has_own ? inputs->own_b.lds.address : 0,
        .c_lds = has_own ? inputs->own_c.lds.address : 0,
        .d_lds = has_own ? results->own_d.lds.address : 0,
        .a_scale = argument_of(a_scale, a_scale->view.rows > 1),
        .b_scale = argument_of(&inputs->b_scale, inputs->b_scale.view.rows > 1),
        .d_scale = argument_of(&results->d_scale, false),
        .operands = operands,
        .operand_count = problem->operand_count,
        .m = inputs->m,
        .n = inputs->n,
        .k = inputs->k,
        .batch = inputs->batch,
        /* Pointers without sizes mean all rows; the reference has counts in their place. */
        .group_sizes = has_own && inputs->groups.has_all ? 0 : inputs->group_sizes.address,
        .group_ns = has_own ? inputs->group_ns.address : 0,
        .group_ks = has_own ? inputs->group_ks.address : 0,
        .d_rows = has_index ? argument_of(&inputs->d_rows, false) : (jit_gemm_arg){0},
        .d_row_count = has_index ? inputs->index.own_rows : 0,
        .a_rows = reads_index ? argument_of(&inputs->a_rows, false) : (jit_gemm_arg){0},
        .a_row_count = reads_index ? inputs->a_index.own_rows : 0,
        .workspace = results->workspace.address,
        .workspace_bytes = element_view_bytes(&results->workspace.view),
    };
}

int run_check_guards(jit_gemm_context *context, const struct run_inputs *inputs,
                     const struct run_results *results)
{
    int code = CLI_OK;
    const struct {
        const char *name;
        const struct run_matrix *matrix;
    } rows[] = {{"A", &inputs->a},
                {"B", &inputs->b},
                {"C", &inputs->c},
                {"D", &results->d},
                {"the scales of A", &inputs->a_scale},
                {"the scales of B", &inputs->b_scale},
                {"the sizes of the groups", &inputs->group_sizes},
                {"N of the groups", &inputs->group_ns},
                {"K of the groups", &inputs->group_ks},
                {"the index of D's rows", &inputs->d_rows},
                {"the index of A's rows", &inputs->a_rows},
                {"A where its index says", &inputs->spread_a},
                {"the scales of A where its index says", &inputs->spread_a_scale},
                {"the scales of D", &results->d_scale}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        code |= run_matrix_check_guards(context, rows[i].name, rows[i].matrix);
    }
    code |= run_matrix_check_guards(context, "the workspace", &results->workspace);
    code |= run_pointers_check_guards(context, "A by pointers", &inputs->own_a);
    code |= run_pointers_check_guards(context, "B by pointers", &inputs->own_b);
    code |= run_pointers_check_guards(context, "C by pointers", &inputs->own_c);
    code |= run_pointers_check_guards(context, "D by pointers", &results->own_d);
    for (size_t i = 0; i < JIT_GEMM_MAX_OPERANDS; i++) {
        code |= run_matrix_check_guards(context, "an input operand", &inputs->operands[i]);
        code |=
            run_matrix_check_guards(context, "an output operand", &results->operands[i]);
    }
    return code;
}
