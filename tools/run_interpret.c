/* SPDX-License-Identifier: MIT */
#include "run_interpret.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "verify/compare.h"

/* The corners and some between. */
enum { SAMPLES = 256 };

/* What the reference's f64 may have lost of a sum's terms. */
#define SUM_ERROR 1e-12

enum {
    INPUT_A = JIT_GEMM_MAX_OPERANDS,
    INPUT_B,
    INPUT_C,
    INPUT_A_SCALE,
    INPUT_B_SCALE,
    INPUT_COUNT
};

struct interpreter {
    const struct run_launch *launch;
    const struct cli_problem *problem;
    const struct run_results *reference;
    struct snippet *snippet;
    int result_bits;               /* of the kernel that is judged; 0: as f32 */
    const struct run_matrix *sums; /* acc of each element; zeroed: they are computed */
    void *sums_data;
    double sum_error;          /* of each of them */
    void *inputs[INPUT_COUNT]; /* as on the device; NULL where there is none */
    void *outputs[JIT_GEMM_MAX_OPERANDS + 1]; /* of the reference; D is the last */
    struct run_interpretation result;
};

struct place {
    int64_t row, column, batch;
};

static const struct run_matrix *input_at(const struct interpreter *all, int index)
{
    const struct run_inputs *inputs = &all->launch->inputs;

    switch (index) {
    case INPUT_A:
        return &inputs->a;
    case INPUT_B:
        return &inputs->b;
    case INPUT_C:
        return &inputs->c;
    case INPUT_A_SCALE:
        return &inputs->a_scale;
    case INPUT_B_SCALE:
        return &inputs->b_scale;
    default:
        return &inputs->operands[index];
    }
}

/* Of the reference, where there is one. */
static const struct run_matrix *output_at(const struct interpreter *all, size_t index)
{
    return index == all->problem->operand_count ? &all->reference->d
                                                : &all->reference->operands[index];
}

/* All that is read; with `sums` operands only. */
static int download_inputs(struct interpreter *all)
{
    const int count = all->sums != NULL ? (int)INPUT_A : (int)INPUT_COUNT;

    for (int i = 0; i < count; i++) {
        const struct run_matrix *matrix = input_at(all, i);

        if (matrix->base != 0) {
            all->inputs[i] = run_matrix_download(all->launch->context, matrix);
            if (all->inputs[i] == NULL) {
                return CLI_FAILED;
            }
        }
    }
    if (all->sums != NULL) {
        all->sums_data = run_matrix_download(all->launch->context, all->sums);
    }
    return all->sums != NULL && all->sums_data == NULL ? CLI_FAILED : CLI_OK;
}

static int download_outputs(struct interpreter *all)
{
    for (size_t i = 0; i <= all->problem->operand_count; i++) {
        const struct run_matrix *matrix = output_at(all, i);

        if (matrix->base != 0) {
            all->outputs[i] = run_matrix_download(all->launch->context, matrix);
            if (all->outputs[i] == NULL) {
                return CLI_FAILED;
            }
        }
    }
    return CLI_OK;
}

/* --------------------------------------------------------------------------- elements */

static double load(const struct run_matrix *matrix, const void *data, int64_t batch,
                   int64_t row, int64_t column)
{
    const struct element_view *view = &matrix->view;

    return element_load(view->dtype, data,
                        (size_t)(run_matrix_batch(matrix, batch) * view->batch_stride +
                                 row * view->ld + column));
}

/* Of a matrix that lies as D. */
static double load_as_d(const struct interpreter *all, const struct run_matrix *matrix,
                        const void *data, const struct place *place)
{
    const bool by_columns = all->problem->problem.d.layout == JIT_GEMM_LAYOUT_COLUMN_MAJOR;

    return load(matrix, data, place->batch, by_columns ? place->column : place->row,
                by_columns ? place->row : place->column);
}

static const jit_gemm_scale *kind_at(const struct interpreter *all, int index)
{
    const jit_gemm_problem *problem = &all->problem->problem;

    return index == INPUT_A_SCALE ? &problem->a.scale : &problem->b.scale;
}

/* The column of B of one of the accumulators that make an element of D. */
static int64_t b_column(const struct interpreter *all, int64_t column, int accumulator)
{
    const bool is_halved = all->problem->problem.pair == JIT_GEMM_PAIR_HALVES;

    if (!snippet_is_pair(all->snippet)) {
        return column;
    }
    return is_halved ? column + accumulator * all->launch->inputs.d_columns
                     : 2 * column + accumulator;
}

/* Of a row of A or a column of B; 1 where there is none, or one of blocks. */
static double scale_at(const struct interpreter *all, int index, int64_t batch, int64_t at)
{
    const struct run_matrix *scale = input_at(all, index);

    return all->inputs[index] != NULL && kind_at(all, index)->kind != JIT_GEMM_SCALE_BLOCK
               ? load(scale, all->inputs[index], batch, 0, scale->view.columns > 1 ? at : 0)
               : 1;
}

/* Of element `k` of a row of A or a column of B; 1 where blocks have none. */
static double block_scale_at(const struct interpreter *all, int index, int64_t batch,
                             int64_t mn, int64_t k)
{
    return run_block_scale(kind_at(all, index), input_at(all, index), all->inputs[index],
                           batch, mn, k);
}

/* `place` has the column of B here. */
static double dot(const struct interpreter *all, const struct place *place)
{
    const jit_gemm_problem *problem = &all->problem->problem;
    const bool is_a_turned = problem->a.layout == JIT_GEMM_LAYOUT_MN_MAJOR;
    const bool is_b_turned = problem->b.layout == JIT_GEMM_LAYOUT_MN_MAJOR;
    const struct run_matrix *a = &all->launch->inputs.a;
    const struct run_matrix *b = &all->launch->inputs.b;
    const struct run_rows depth =
        run_groups_depth(&all->launch->inputs.groups, place->batch, all->launch->inputs.k);
    double sum = 0;

    for (int64_t k = depth.begin; k < depth.end; k++) {
        sum += load(a, all->inputs[INPUT_A], place->batch, is_a_turned ? k : place->row,
                    is_a_turned ? place->row : k) *
               load(b, all->inputs[INPUT_B], place->batch, is_b_turned ? k : place->column,
                    is_b_turned ? place->column : k) *
               block_scale_at(all, INPUT_A_SCALE, place->batch, place->row, k) *
               block_scale_at(all, INPUT_B_SCALE, place->batch, place->column, k);
    }
    return sum;
}

/* What the reference's `acc` may be, or one of a pair: its sum rounded to f32. */
static struct interval acc_at(const struct interpreter *all, const struct place *of_d,
                              int accumulator)
{
    const struct run_launch *launch = all->launch;
    const struct place own = {.row = of_d->row,
                              .column = b_column(all, of_d->column, accumulator),
                              .batch = of_d->batch};
    const struct place *place = &own;
    if (all->sums != NULL) {
        const double sum = load_as_d(all, all->sums, all->sums_data, place);
        return interval_to_float(
            (struct interval){sum - all->sum_error, sum + all->sum_error});
    }
    double sum = (double)launch->alpha * dot(all, place) *
                 scale_at(all, INPUT_A_SCALE, place->batch, place->row) *
                 scale_at(all, INPUT_B_SCALE, place->batch, place->column);
    double error = fabs(sum) * SUM_ERROR;

    if (all->inputs[INPUT_C] != NULL && (launch->beta < 0 || launch->beta > 0)) {
        const double c = (double)launch->beta *
                         load_as_d(all, &launch->inputs.c, all->inputs[INPUT_C], place);
        sum += c;
        error += fabs(c) * SUM_ERROR;
    }
    return interval_to_float((struct interval){sum - error, sum + error});
}

static double operand_at(const struct interpreter *all, size_t index,
                         const struct place *place)
{
    const struct run_matrix *matrix = &all->launch->inputs.operands[index];
    const void *data = all->inputs[index];

    if (data == NULL) { /* a scalar by value */
        return (double)all->launch->inputs.values[index];
    }
    switch (all->problem->operands[index].kind) {
    case JIT_GEMM_OPERAND_ROW_VECTOR:
        return load(matrix, data, place->batch, 0, place->column);
    case JIT_GEMM_OPERAND_COLUMN_VECTOR:
        return load(matrix, data, place->batch, 0, place->row);
    case JIT_GEMM_OPERAND_MATRIX:
        return load_as_d(all, matrix, data, place);
    default:
        return load(matrix, data, place->batch, 0, 0);
    }
}

static struct snippet_element element_at(const struct interpreter *all,
                                         const struct place *place)
{
    const struct run_inputs *inputs = &all->launch->inputs;
    struct snippet_element element = {.acc = acc_at(all, place, 0),
                                      .row = (int32_t)place->row,
                                      .col = (int32_t)place->column,
                                      .batch = (int32_t)place->batch,
                                      .m = (int32_t)inputs->m,
                                      .n = (int32_t)inputs->d_columns,
                                      .k = (int32_t)inputs->k,
                                      .result_bits = all->result_bits};

    if (snippet_is_pair(all->snippet)) {
        element.pair[0] = element.acc;
        element.pair[1] = acc_at(all, place, 1);
    }
    for (size_t i = 0; i < all->problem->operand_count; i++) {
        if (all->problem->operands[i].role == JIT_GEMM_OPERAND_INPUT) {
            element.operands[i] = interval_of(operand_at(all, i, place));
        }
    }
    return element;
}

/* ------------------------------------------------------------------------- comparison */

static bool is_allowed(jit_gemm_dtype dtype, struct interval want, double got)
{
    if (interval_is_nan(want)) {
        const double nan = element_round(dtype, (double)NAN);

        return isnan(nan) ? isnan(got) : got <= nan && got >= nan;
    }
    return got >= element_round(dtype, want.low) && got <= element_round(dtype, want.high);
}

static void compare_result(struct interpreter *all, size_t index, struct interval want,
                           const struct place *place)
{
    const struct run_matrix *matrix = output_at(all, index);
    const bool is_d = index == all->problem->operand_count;

    if (all->outputs[index] == NULL || interval_is_unknown(want)) {
        return;
    }
    const double got = load_as_d(all, matrix, all->outputs[index], place);
    all->result.elements++;
    if (is_allowed(matrix->view.dtype, want, got)) {
        return;
    }
    if (all->result.wrong++ == 0) {
        cli_error("%s: the reference is wrong: it has %.9g at batch %" PRId64
                  ", row %" PRId64 ", column %" PRId64
                  "; interpreted, the snippet gives %.9g to %.9g",
                  is_d ? "D" : all->problem->operands[index].name, got, place->batch,
                  place->row, place->column, want.low, want.high);
    }
}

static void compare_place(struct interpreter *all, const struct place *place)
{
    const struct snippet_element element = element_at(all, place);
    char reason[SNIPPET_REASON_SIZE] = "";
    struct snippet_results results;
    const enum snippet_outcome outcome =
        snippet_run(all->snippet, &element, &results, reason);

    if (outcome == SNIPPET_CANNOT) {
        memcpy(all->result.reason, reason, sizeof(reason));
    }
    if (outcome != SNIPPET_DONE) {
        return;
    }
    for (size_t i = 0; i < all->problem->operand_count; i++) {
        compare_result(all, i, results.operands[i], place);
    }
    compare_result(all, all->problem->operand_count, results.d, place);
}

/* The first and the last element, and others at steps that meet all rows and columns. */
static void compare_samples(struct interpreter *all)
{
    const struct run_inputs *inputs = &all->launch->inputs;
    const int64_t per_batch = inputs->m * inputs->d_columns;
    const bool is_stacked = run_groups_are_stacked(&inputs->groups);
    const int64_t last = per_batch * (is_stacked ? 1 : inputs->batch) - 1;
    const int64_t count = last + 1 < SAMPLES ? last + 1 : SAMPLES;

    for (int64_t i = 0; i < count && all->result.reason[0] == '\0'; i++) {
        const int64_t at =
            count > 1 ? (int64_t)((double)last * (double)i / (double)(count - 1)) : 0;
        struct place place = {.row = at % per_batch / inputs->d_columns,
                              .column = at % inputs->d_columns};
        place.batch = run_groups_of_row(&inputs->groups, at / per_batch, place.row);
        if (place.batch >= 0) {
            compare_place(all, &place);
        }
    }
}

static void read_snippet(struct interpreter *all)
{
    struct snippet_operand operands[JIT_GEMM_MAX_OPERANDS];
    const char *text = all->problem->snippet;

    for (size_t i = 0; i < all->problem->operand_count; i++) {
        operands[i] = (struct snippet_operand){all->problem->operands[i].name,
                                               all->problem->operands[i].role !=
                                                   JIT_GEMM_OPERAND_INPUT};
    }
    all->snippet = snippet_read(text, strlen(text), operands, all->problem->operand_count,
                                all->result.reason);
}

static void free_all(struct interpreter *all)
{
    snippet_free(all->snippet);
    for (int i = 0; i < INPUT_COUNT; i++) {
        free(all->inputs[i]);
    }
    for (size_t i = 0; i <= JIT_GEMM_MAX_OPERANDS; i++) {
        free(all->outputs[i]);
    }
    free(all->sums_data);
}

int run_interpret(const struct run_launch *launch, const struct cli_problem *problem,
                  const struct run_results *reference,
                  struct run_interpretation *ret_interpretation)
{
    struct interpreter all = {.launch = launch, .problem = problem, .reference = reference};
    int code = CLI_OK;

    read_snippet(&all);
    if (all.snippet != NULL) {
        code = download_inputs(&all);
        code = code == CLI_OK ? download_outputs(&all) : code;
        if (code == CLI_OK) {
            compare_samples(&all);
            if (all.result.elements == 0 && all.result.reason[0] == '\0') {
                strcpy(all.result.reason,
                       "1:1: no result of the sampled elements is decided");
            }
        }
    }
    free_all(&all);
    *ret_interpretation = all.result;
    return code;
}

/* --------------------------------------------------------------------- ranges */

struct run_range {
    struct interpreter all;
};

/* Of the finest type that the kernel's results are rounded to. */
static int count_result_bits(const struct cli_problem *problem)
{
    int bits = element_significand_bits(element_d_type(&problem->problem));

    for (size_t i = 0; i < problem->operand_count; i++) {
        const jit_gemm_operand *operand = &problem->operands[i];
        const int own = element_significand_bits(operand->dtype);
        if (operand->role != JIT_GEMM_OPERAND_INPUT && own > bits) {
            bits = own;
        }
    }
    return bits;
}

int run_range_create(const struct run_launch *launch, const struct cli_problem *problem,
                     const struct run_matrix *sums, double sum_error,
                     struct run_range **ret_range)
{
    struct run_range *range = cli_alloc(sizeof(*range));
    int code = CLI_OK;

    range->all = (struct interpreter){.launch = launch,
                                      .problem = problem,
                                      .sums = sums,
                                      .result_bits = count_result_bits(problem)};
    read_snippet(&range->all);
    if (range->all.snippet != NULL) {
        code = download_inputs(&range->all);
    }
    if (range->all.sums_data != NULL && sum_error > 0) {
        range->all.sum_error =
            sum_error * compare_root_mean_square(&sums->view, range->all.sums_data);
    }
    if (range->all.snippet == NULL || code != CLI_OK) {
        run_range_free(&range);
    }
    *ret_range = range;
    return code;
}

void run_range_free(struct run_range **range)
{
    if (*range != NULL) {
        free_all(&(*range)->all);
        free(*range);
        *range = NULL;
    }
}

bool run_range_find(const struct run_range *range, size_t result, int64_t batch,
                    int64_t row, int64_t column, double *ret_low, double *ret_high)
{
    const struct interpreter *all = &range->all;
    const bool by_columns = all->problem->problem.d.layout == JIT_GEMM_LAYOUT_COLUMN_MAJOR;
    struct place place = {.row = by_columns ? column : row,
                          .column = by_columns ? row : column};
    char reason[SNIPPET_REASON_SIZE];
    struct snippet_results results;

    place.batch = run_groups_of_row(&all->launch->inputs.groups, batch, place.row);
    if (place.batch < 0) {
        return false;
    }
    const struct snippet_element element = element_at(all, &place);
    if (snippet_run(all->snippet, &element, &results, reason) != SNIPPET_DONE) {
        return false;
    }
    const struct interval found =
        result == all->problem->operand_count ? results.d : results.operands[result];
    *ret_low = found.low;
    *ret_high = found.high;
    return isfinite(found.low) && isfinite(found.high);
}
