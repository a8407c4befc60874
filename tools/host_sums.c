/* SPDX-License-Identifier: MIT */
#include "host_sums.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A block of D is summed in registers: some rows by the columns of a panel of B. */
enum { ROWS = 4, PANEL = 4 };
typedef double panel_row __attribute__((vector_size(PANEL * sizeof(double)),
                                        aligned(16))); /* as malloc aligns */

/* One batch or group on the host, types and layouts undone. */
struct operands {
    int64_t m, n, k;
    double *a;    /* M x K, of a group its rows, times the scales of blocks */
    panel_row *b; /* panels of K x PANEL columns, the same; zeros beyond N */
};

/* Element (row, column) of a matrix that is stored by rows, or by columns. */
static double load_element(const struct run_matrix *matrix, const void *data, int64_t batch,
                           int64_t row, int64_t column, bool by_columns)
{
    const struct element_view *view = &matrix->view;
    int64_t at = by_columns ? column * view->ld + row : row * view->ld + column;

    return element_load(
        view->dtype, data,
        (size_t)(run_matrix_batch(matrix, batch) * view->batch_stride + at));
}

/* Of a row of A or a column of B; 1 where there is none, or one of blocks. */
static double load_scale(const jit_gemm_scale *kind, const struct run_matrix *scale,
                         const void *data, int64_t batch, int64_t index)
{
    return data != NULL && kind->kind != JIT_GEMM_SCALE_BLOCK
               ? load_element(scale, data, batch, 0, scale->view.columns > 1 ? index : 0, 0)
               : 1;
}

/* A or B with its scales, as they lie on the device. */
struct input {
    const jit_gemm_scale *kind;
    const struct run_matrix *matrix, *scales;
    const void *data, *scale_data;
};

static double load_scaled(const struct input *input, int64_t batch, int64_t row,
                          int64_t column, bool by_columns, int64_t index, int64_t k)
{
    return load_element(input->matrix, input->data, batch, row, column, by_columns) *
           run_block_scale(input->kind, input->scales, input->scale_data, batch, index, k);
}

/* Only the rows from `begin` on. */
static void unpack_a(const struct input *input, int64_t batch, int64_t begin, int64_t end,
                     int64_t columns, bool by_columns, double *target)
{
    for (int64_t row = begin; row < end; row++) {
        for (int64_t k = 0; k < columns; k++) {
            target[row * columns + k] =
                load_scaled(input, batch, row, k, by_columns, row, k);
        }
    }
}

static void unpack_b(const struct input *input, int64_t batch, int64_t rows,
                     int64_t columns, bool by_columns, panel_row *target)
{
    for (int64_t k = 0; k < rows; k++) {
        for (int64_t column = 0; column < columns; column++) {
            target[column / PANEL * rows + k][column % PANEL] =
                load_scaled(input, batch, k, column, by_columns, column, k);
        }
    }
}

/* Sums over `range` of K of `count` rows of D, from `row` on, into rows of N doubles. The
 * product of two floats is exact in f64; scales of blocks make it one of 2^-53 at most. */
static void sum_rows(const struct operands *operands, const struct run_rows *range,
                     int64_t row, int64_t count, double *sums)
{
    const int64_t n = operands->n, depth = operands->k;
    const double *a[ROWS];

    for (int64_t i = 0; i < ROWS; i++) { /* beyond `count`: one that is not stored */
        a[i] = operands->a + (row + (i < count ? i : 0)) * depth;
    }
    for (int64_t column = 0; column < n; column += PANEL) {
        const panel_row *b = operands->b + column / PANEL * depth;
        panel_row sum[ROWS] = {0};

        for (int64_t k = range->begin; k < range->end; k++) {
            sum[0] += a[0][k] * b[k];
            sum[1] += a[1][k] * b[k];
            sum[2] += a[2][k] * b[k];
            sum[3] += a[3][k] * b[k];
        }
        for (int64_t i = 0; i < count; i++) {
            for (int64_t j = 0; j < PANEL && column + j < n; j++) {
                sums[i * n + column + j] = sum[i][j];
            }
        }
    }
}

/* Everything that one computation holds; zeroed: nothing to free. */
struct work {
    void *a, *b, *c; /* as they lie on the device */
    void *a_scale, *b_scale;
    struct operands operands;
    double *sums;    /* ROWS x N */
    bool is_stacked; /* the result has the rows of all groups */
    jit_gemm_dtype type;
    void *result; /* of that type */
};

/* Rows of D that lie together, where the operands are the batch's. */
static void sum_together(struct work *work, const jit_gemm_problem *problem,
                         const struct run_inputs *inputs, int64_t batch,
                         const struct run_rows *rows, double alpha, double beta)
{
    const int64_t m = inputs->m, n = inputs->n;
    const bool by_columns = problem->d.layout == JIT_GEMM_LAYOUT_COLUMN_MAJOR;
    const jit_gemm_scale *a_kind = &problem->a.scale, *b_kind = &problem->b.scale;
    const struct run_rows depth = run_groups_depth(&inputs->groups, batch, inputs->k);

    for (int64_t row = rows->begin; row < rows->end; row += ROWS) {
        int64_t count = rows->end - row < ROWS ? rows->end - row : ROWS;

        sum_rows(&work->operands, &depth, row, count, work->sums);
        for (int64_t i = 0; i < count * n; i++) {
            const int64_t r = row + i / n, column = i % n;
            const int64_t place = by_columns ? column * m + r : r * n + column;
            double value =
                work->sums[i] * alpha *
                load_scale(a_kind, &inputs->a_scale, work->a_scale, batch, r) *
                load_scale(b_kind, &inputs->b_scale, work->b_scale, batch, column);

            if (work->c && beta != 0) { /* as in the kernels: 0 reads nothing */
                value +=
                    beta * load_element(&inputs->c, work->c, batch, r, column, by_columns);
            }
            element_store(work->type, work->result,
                          (size_t)(work->is_stacked ? place : batch * m * n + place),
                          value);
        }
    }
}

static void sum_batch(struct work *work, const jit_gemm_problem *problem,
                      const struct run_inputs *inputs, int64_t batch, double alpha,
                      double beta)
{
    const jit_gemm_scale *a_kind = &problem->a.scale, *b_kind = &problem->b.scale;
    const struct input a = {a_kind, &inputs->a, &inputs->a_scale, work->a, work->a_scale};
    const struct input b = {b_kind, &inputs->b, &inputs->b_scale, work->b, work->b_scale};
    struct run_rows rows = run_groups_next(&inputs->groups, batch, 0, inputs->m);

    unpack_b(&b, batch, inputs->k, inputs->n, problem->b.layout == JIT_GEMM_LAYOUT_K_MAJOR,
             work->operands.b);
    while (rows.begin < rows.end) {
        unpack_a(&a, batch, rows.begin, rows.end, inputs->k,
                 problem->a.layout != JIT_GEMM_LAYOUT_K_MAJOR, work->operands.a);
        sum_together(work, problem, inputs, batch, &rows, alpha, beta);
        rows = run_groups_next(&inputs->groups, batch, rows.end, inputs->m);
    }
}

static int download_inputs(jit_gemm_context *context, const struct run_inputs *inputs,
                           struct work *work)
{
    const struct {
        const struct run_matrix *matrix;
        void **target;
    } rows[] = {{&inputs->c, &work->c},
                {&inputs->a_scale, &work->a_scale},
                {&inputs->b_scale, &work->b_scale}};

    work->a = run_matrix_download(context, &inputs->a);
    work->b = work->a ? run_matrix_download(context, &inputs->b) : NULL;
    if (!work->b) {
        return CLI_FAILED;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].matrix->base) {
            *rows[i].target = run_matrix_download(context, rows[i].matrix);
            if (!*rows[i].target) {
                return CLI_FAILED;
            }
        }
    }
    return CLI_OK;
}

int host_sums_create(jit_gemm_context *context, const jit_gemm_problem *problem,
                     const struct run_inputs *inputs, float alpha, float beta,
                     jit_gemm_dtype type, struct run_matrix *ret_sums)
{
    const size_t m = (size_t)inputs->m, n = (size_t)inputs->n, k = (size_t)inputs->k;
    const size_t b_bytes = (n + PANEL - 1) / PANEL * k * sizeof(panel_row);
    const bool by_columns = problem->d.layout == JIT_GEMM_LAYOUT_COLUMN_MAJOR;
    const bool is_stacked = run_groups_are_stacked(&inputs->groups);
    const struct element_view view = {.dtype = type,
                                      .batch = is_stacked ? 1 : inputs->batch,
                                      .rows = by_columns ? inputs->n : inputs->m,
                                      .columns = by_columns ? inputs->m : inputs->n,
                                      .ld = by_columns ? inputs->m : inputs->n,
                                      .batch_stride = inputs->m * inputs->n};
    struct work work = {.type = type,
                        .is_stacked = is_stacked,
                        .operands = {.m = inputs->m, .n = inputs->n, .k = inputs->k}};
    int code = download_inputs(context, inputs, &work);

    if (code == CLI_OK) {
        work.operands.a = cli_alloc(m * k * sizeof(double));
        work.operands.b = cli_alloc(b_bytes);
        memset(work.operands.b, 0, b_bytes);
        work.sums = cli_alloc(ROWS * n * sizeof(double));
        work.result = cli_alloc(element_view_bytes(&view));
        element_fill_poison(&view, work.result);
        for (int64_t batch = 0; batch < inputs->batch; batch++) {
            sum_batch(&work, problem, inputs, batch, (double)alpha, (double)beta);
        }
        if (inputs->groups.rest == JIT_GEMM_GROUP_REST_ZERO) {
            run_groups_fill_rest(&inputs->groups, &view, false, by_columns, 0, work.result);
        }
        code = run_matrix_create(context, &view, work.result, 0, ret_sums);
    }
    free(work.a);
    free(work.b);
    free(work.c);
    free(work.a_scale);
    free(work.b_scale);
    free(work.operands.a);
    free(work.operands.b);
    free(work.sums);
    free(work.result);
    return code;
}
