/* SPDX-License-Identifier: MIT */
#include "run_verify.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "host_sums.h"
#include "run_reduce.h"
#include "run_views.h"
#include "verify/compare.h"
#include "verify/quantise.h"
#include "verify/reduce.h"

#define REFERENCE_EPILOGUE_NAME "reference_epilogue"

/* The same problem and epilogue for the reference kernel, with everything it writes in f32
 * or s32, so that only one of the two results is rounded to a short type. */
static void make_reference_problem(const struct cli_problem *problem,
                                   struct cli_problem *ret_reference)
{
    *ret_reference = *problem;
    /* It takes any address, and may need what it likes. */
    ret_reference->problem.c.alignment = ret_reference->problem.d.alignment = 0;
    ret_reference->problem.register_limit = 0;
    ret_reference->problem.no_local_memory = 0;
    ret_reference->problem.accumulate = JIT_GEMM_ACCUMULATE_EXACT;
    ret_reference->problem.weights = JIT_GEMM_WEIGHTS_NONE;
    memset(ret_reference->problem.typical_sizes, 0,
           sizeof(ret_reference->problem.typical_sizes));
    ret_reference->problem.invariant = JIT_GEMM_INVARIANT_NONE; /* it sums in f64 */
    ret_reference->problem.d.scale = (jit_gemm_scale){0};       /* the host scales */
    if (problem->problem.a.scale.layout != JIT_GEMM_SCALE_LAYOUT_128X4) {
        ret_reference->problem.scale_rows = JIT_GEMM_SCALE_ROWS_STACKED; /* no bands */
    }
    ret_reference->problem.d_rows = JIT_GEMM_ROWS_IN_ORDER; /* ... and undoes an index */
    ret_reference->problem.a_rows = JIT_GEMM_ROWS_IN_ORDER;
    if (problem->problem.group_by == JIT_GEMM_GROUP_BY_POINTERS) { /* ... and pointers */
        ret_reference->problem.group_by = JIT_GEMM_GROUP_BY_COUNTS;
    }
    if (element_d_type(&problem->problem) !=
        JIT_GEMM_DTYPE_S32) { /* which need not round */
        ret_reference->problem.d.dtype = JIT_GEMM_DTYPE_F32;
    }
    strcpy(ret_reference->problem.config, "kernel=reference");
    if (cli_problem_has_epilogue(ret_reference)) { /* operands keep their types */
        ret_reference->is_named = false;
        strcpy(ret_reference->problem.epilogue, REFERENCE_EPILOGUE_NAME);
    }
    for (size_t i = 0; i < ret_reference->operand_count; i++) {
        if (ret_reference->operands[i].role == JIT_GEMM_OPERAND_OUTPUT) {
            ret_reference->operands[i].dtype = JIT_GEMM_DTYPE_F32;
        }
    }
}

/* What the epilogue itself may make of sums, which is looked for when it is first asked. */
struct epilogue_errors {
    const struct run_launch *launch;
    const struct cli_problem *problem;
    struct run_launch sums; /* their launch, or only their matrix */
    struct run_range *range;
    bool was_asked;
};

/* What is compared, and how. */
struct pair {
    const char *name;
    struct epilogue_errors *errors; /* NULL: there is no snippet */
    size_t result;                  /* its number among these errors' */
    const struct run_matrix *out, *ref;
    enum compare_sums sums;
    const struct reduction *reduction; /* that `ref` has the contributions of, or NULL */
};

/* As a D lies in memory whose columns may be its rows. */
static struct reduction find_reduction(const jit_gemm_problem *p,
                                       const jit_gemm_operand *operand)
{
    const bool by_columns = p->d.layout == JIT_GEMM_LAYOUT_COLUMN_MAJOR;
    const bool is_of_rows = (operand->kind == JIT_GEMM_OPERAND_COLUMN_VECTOR) != by_columns;

    return (struct reduction){.operation =
                                  operand->role == JIT_GEMM_OPERAND_MAX   ? REDUCE_MAX
                                  : operand->role == JIT_GEMM_OPERAND_MIN ? REDUCE_MIN
                                                                          : REDUCE_SUM,
                              .block = run_block_columns(operand->kind),
                              .of = run_block_columns(operand->kind) > 0 ? REDUCE_BLOCKS
                                    : operand->kind == JIT_GEMM_OPERAND_SCALAR ? REDUCE_ALL
                                    : is_of_rows                               ? REDUCE_ROWS
                                                 : REDUCE_COLUMNS};
}

/* compare_range.find; the context is the pair. */
static bool find_range(const void *context, int64_t batch, int64_t row, int64_t column,
                       double *ret_low, double *ret_high);

/* `out_data` with `ref_data`, which a reduction folds first. */
static void compare_pair(const struct pair *pair, int64_t k, const void *out_data,
                         const void *ref_data, struct compare_report *ret_report)
{
    const struct element_view *out = &pair->out->view, *ref = &pair->ref->view;

    if (pair->reduction == NULL) {
        const struct compare_range range = {find_range, pair};
        struct compare_bounds bounds = compare_bounds_for(out->dtype, pair->sums, k);

        bounds.range = pair->errors != NULL ? &range : NULL;
        compare_matrices(out, out_data, ref, ref_data, &bounds, ret_report);
        return;
    }
    const struct element_view view = reduce_view(ref, pair->reduction);
    float *folded = cli_alloc(element_view_bytes(&view));
    const double magnitude = reduce_elements(ref, ref_data, pair->reduction, folded);
    const struct compare_bounds bounds =
        reduce_bounds_for(out->dtype, pair->sums, k, magnitude);

    compare_matrices(out, out_data, &view, folded, &bounds, ret_report);
    free(folded);
}

static void tell(const char *name, const struct compare_report *report, bool is_quiet,
                 struct run_verdict *verdict)
{
    char text[512];

    compare_describe(report, text, sizeof(text));
    if (!report->pass) {
        verdict->is_wrong = true;
        cli_error("%s: %s", name, text);
    } else if (!is_quiet) {
        const int column = printf("%-8s ", name);

        cli_print_line(stdout, text, strlen(text), (size_t)column, 9);
    }
    if (!isnan(report->rel_error) &&
        !(verdict->rel_error >= report->rel_error)) { /* also while it is NAN */
        verdict->rel_error = report->rel_error;
    }
}

/* Makes rows of no group comparable; false if they are not what they should be. */
static bool clear_rest(const struct run_launch *launch, const struct pair *pair,
                       void *out_data, void *ref_data)
{
    const struct run_groups *groups = &launch->inputs.groups;
    const bool is_d = pair->out == &launch->results.d;

    return groups->count == 0 || (run_groups_clear_rest(groups, is_d, false, pair->name,
                                                        &pair->out->view, out_data) &&
                                  run_groups_clear_rest(groups, is_d, true, "the reference",
                                                        &pair->ref->view, ref_data));
}

/* Of a D whose rows lie where an index says: it is put in order, and compared as such. */
static int compare_indexed(const struct run_launch *launch, const struct pair *pair,
                           bool is_quiet, struct run_verdict *verdict)
{
    const struct element_view *ref = &pair->ref->view;
    const int64_t ld = pair->out->view.ld;
    struct run_matrix ordered = {.view = {pair->out->view.dtype, ref->batch, ref->rows,
                                          ref->columns, ld, ref->rows * ld}};
    struct pair own = *pair;
    struct compare_report report;
    void *data = run_matrix_download(launch->context, pair->out);
    void *ref_data = run_matrix_download(launch->context, pair->ref);
    const bool is_there = data != NULL && ref_data != NULL;
    void *out_data = is_there ? run_index_gather(&launch->inputs.index, &pair->out->view,
                                                 data, &ordered.view, ref, ref_data)
                              : NULL;

    own.out = &ordered;
    if (is_there && (out_data == NULL || !clear_rest(launch, &own, out_data, ref_data))) {
        verdict->is_wrong = true;
    } else if (is_there) {
        compare_pair(&own, launch->inputs.k, out_data, ref_data, &report);
        tell(pair->name, &report, is_quiet, verdict);
    }
    free(data);
    free(ref_data);
    free(out_data);
    return is_there ? CLI_OK : CLI_FAILED;
}

/* What is reduced of groups of rows: false if a result that is no group's was written. */
static bool compare_reduced_groups(const struct run_launch *launch, const struct pair *pair,
                                   void *out_data, const void *ref_data,
                                   struct compare_report *ret_report)
{
    const struct element_view *out = &pair->out->view;
    const struct element_view folded_view = {JIT_GEMM_DTYPE_F32, out->batch,
                                             out->rows,          out->columns,
                                             out->columns,       out->rows * out->columns};
    float *folded = cli_alloc(element_view_bytes(&folded_view));
    double magnitude = 0;
    const bool is_right =
        run_reduce_groups(&launch->inputs.groups, pair->name, pair->reduction,
                          &pair->ref->view, ref_data, out, out_data, folded, &magnitude);
    const struct compare_bounds bounds =
        reduce_bounds_for(out->dtype, pair->sums, launch->inputs.k, magnitude);

    if (is_right) {
        compare_matrices(out, out_data, &folded_view, folded, &bounds, ret_report);
    }
    free(folded);
    return is_right;
}

static int compare_result(const struct run_launch *launch, const struct pair *pair,
                          bool is_quiet, struct run_verdict *verdict)
{
    const bool is_reduced =
        pair->reduction != NULL && run_groups_divide_rows(&launch->inputs.groups);
    struct compare_report report;
    void *out_data = run_matrix_download(launch->context, pair->out);
    void *ref_data =
        out_data != NULL ? run_matrix_download(launch->context, pair->ref) : NULL;

    if (ref_data == NULL) {
        free(out_data);
        return CLI_FAILED;
    }
    const bool is_comparable =
        is_reduced ? compare_reduced_groups(launch, pair, out_data, ref_data, &report)
                   : clear_rest(launch, pair, out_data, ref_data);
    if (is_comparable && !is_reduced) {
        compare_pair(pair, launch->inputs.k, out_data, ref_data, &report);
    }
    if (is_comparable) {
        tell(pair->name, &report, is_quiet, verdict);
    }
    verdict->is_wrong |= !is_comparable;
    free(out_data);
    free(ref_data);
    return CLI_OK;
}

/* Are the values of the epilogue the sums of integers themselves? */
static bool has_plain_sums(const struct run_launch *launch, const jit_gemm_problem *p)
{
    return element_is_integer(p->a.dtype) && p->c.dtype == JIT_GEMM_DTYPE_NONE &&
           p->a.scale.kind == JIT_GEMM_SCALE_NONE &&
           p->b.scale.kind == JIT_GEMM_SCALE_NONE && p->epilogue[0] == '\0' &&
           launch->alpha >= 1 && launch->alpha <= 1;
}

/* Of each row of the product the row of its scales, -1 where no launch writes it. Owned by
 * the caller. */
static int64_t *map_scales(const struct run_launch *launch, const jit_gemm_scale *scale,
                           const struct element_view *view)
{
    const struct run_index *index = &launch->inputs.index;
    const struct run_groups *groups = &launch->inputs.groups;
    const bool has_bands = groups->by == JIT_GEMM_GROUP_BY_OFFSETS &&
                           scale->layout == JIT_GEMM_SCALE_LAYOUT_128X4;
    int64_t *rows = run_groups_map_scales(groups, view);

    /* Rows of zeros have the scales of zeros. */
    for (int64_t i = 0; i < view->batch * view->rows; i++) {
        const bool is_cleared = groups->rest == JIT_GEMM_GROUP_REST_ZERO && !has_bands;
        rows[i] = rows[i] < 0 && is_cleared ? i % view->rows : rows[i];
    }

    for (int64_t i = 0; i < index->count; i++) {
        if (rows[i] >= 0) {
            rows[i] = run_index_has(index, index->rows[i]) ? i % view->rows : -1;
        }
    }
    return rows;
}

/* What the launch wrote, with rows that an index has spread in order. */
struct quantised_data {
    struct element_view view, scale_view;
    void *data, *scales;
};

/* False if what no index names was written. */
static bool put_in_order(const struct run_launch *launch, const jit_gemm_scale *scale,
                         const struct element_view *ref, const void *ref_data,
                         struct quantised_data *all)
{
    const struct run_index *index = &launch->inputs.index;
    const struct element_view view = {all->view.dtype, ref->batch,
                                      ref->rows,       ref->columns,
                                      all->view.ld,    ref->rows * all->view.ld};
    struct quantised_data own = {.view = view};
    if (index->count == 0) {
        return true;
    }
    own.data = run_index_gather(index, &all->view, all->data, &view, ref, ref_data);
    own.scales = run_block_scales_gather(index, scale, &all->scale_view, all->scales, &view,
                                         &own.scale_view);
    free(all->data);
    free(all->scales);
    *all = own;
    return own.data != NULL && own.scales != NULL;
}

/* D and the scales that the kernel computed for it. */
static int compare_quantised(const struct run_launch *launch, const struct pair *pair,
                             const jit_gemm_problem *p, bool is_quiet,
                             struct run_verdict *verdict)
{
    const struct run_matrix *scales = &launch->results.d_scale;
    const struct compare_range range = {find_range, pair};
    struct compare_bounds bounds =
        compare_bounds_for(JIT_GEMM_DTYPE_F32, pair->sums, launch->inputs.k);
    struct compare_report elements, of_scales;
    struct quantised_data out = {.view = pair->out->view,
                                 .scale_view = scales->view,
                                 .data = run_matrix_download(launch->context, pair->out),
                                 .scales = run_matrix_download(launch->context, scales)};
    void *ref_data = run_matrix_download(launch->context, pair->ref);
    const bool is_there = out.data != NULL && out.scales != NULL && ref_data != NULL;

    if (has_plain_sums(launch, p)) {
        bounds = (struct compare_bounds){0};
    }
    bounds.range = pair->errors != NULL ? &range : NULL;
    const bool is_ordered =
        is_there && put_in_order(launch, &p->d.scale, &pair->ref->view, ref_data, &out);
    const struct run_matrix ordered = {.view = out.view};
    struct pair own = *pair;
    own.out = launch->inputs.index.count > 0 ? &ordered : pair->out;
    if (is_there && (!is_ordered || !clear_rest(launch, &own, out.data, ref_data))) {
        verdict->is_wrong = true;
    } else if (is_there) {
        int64_t *scale_rows = map_scales(launch, &p->d.scale, &out.view);
        const struct quantised all = {.scale = &p->d.scale,
                                      .view = &out.view,
                                      .scale_view = &out.scale_view,
                                      .ref_view = &pair->ref->view,
                                      .data = out.data,
                                      .scales = out.scales,
                                      .ref = ref_data,
                                      .scale_rows = scale_rows};
        quantise_compare(&all, &bounds, &elements, &of_scales);
        if (!is_quiet) {
            char recipe[128];
            quantise_describe(all.scale, all.view->dtype, recipe, sizeof(recipe));
            printf("recipe   %s\n", recipe);
        }
        tell(pair->name, &elements, is_quiet, verdict);
        tell("d_scale", &of_scales, is_quiet, verdict);
        free(scale_rows);
    }
    free(out.data);
    free(out.scales);
    free(ref_data);
    return is_there ? CLI_OK : CLI_FAILED;
}

/* Is D, of s32, the sums themselves? The library's rule, docs/types.md. */
static bool keeps_sums(const struct run_launch *launch, const jit_gemm_problem *p)
{
    return element_d_type(p) == JIT_GEMM_DTYPE_S32 && has_plain_sums(launch, p);
}

/* What the library says of the kernel's sums, in the words of the comparison. */
static int find_sums(const struct run_launch *launch, const jit_gemm_problem *p,
                     enum compare_sums *ret_sums)
{
    const uint32_t bits = launch->info.sum_fraction_bits;
    if (element_is_integer(p->a.dtype)) {
        *ret_sums = keeps_sums(launch, p) ? COMPARE_SUMS_KEPT : COMPARE_SUMS_INTEGER;
    } else if (bits >= 23) {
        *ret_sums = COMPARE_SUMS_F32;
    } else if (bits == 13) {
        *ret_sums = launch->info.accumulate == JIT_GEMM_ACCUMULATE_FAST
                        ? COMPARE_SUMS_13_BITS_OF_K
                        : COMPARE_SUMS_13_BITS;
    } else {
        return cli_error("--verify knows no bound for sums of %u fraction bits", bits);
    }
    return CLI_OK;
}

/* Are the host's sums all that the reference makes of its inputs? */
static bool sums_are_results(const struct cli_problem *reference, enum compare_sums sums)
{
    return sums == COMPARE_SUMS_KEPT ||
           (!cli_problem_has_epilogue(reference) &&
            element_d_type(&reference->problem) == JIT_GEMM_DTYPE_F32);
}

/* Sets inputs and factors of the reference's launch. The naive sums would take an emulated
 * device M * N * K steps of some instructions each, so the host makes them: they stand in
 * C's place, with factors that leave the reference nothing but the epilogue. Where there is
 * none, they are the result, and the reference is not launched. */
static int prepare_reference(const struct run_launch *launch, enum compare_sums sums,
                             struct cli_problem *reference, struct run_launch *other)
{
    const bool are_results = sums_are_results(reference, sums);
    const jit_gemm_dtype type =
        sums == COMPARE_SUMS_KEPT ? JIT_GEMM_DTYPE_S32 : JIT_GEMM_DTYPE_F32;
    struct run_matrix made = {0};

    other->inputs = launch->inputs;
    other->alpha = launch->alpha;
    other->beta = launch->beta;
    if (!launch->device.is_emulated) {
        return CLI_OK;
    }
    const int code = host_sums_create(launch->context, &reference->problem, &launch->inputs,
                                      launch->alpha, launch->beta, type, &made);
    if (are_results) {
        other->results.d = made;
        return code;
    }
    reference->problem.c.dtype = JIT_GEMM_DTYPE_F32;
    if (reference->problem.a.dtype != JIT_GEMM_DTYPE_E2M1 && /* which has none without */
        reference->problem.b.dtype != JIT_GEMM_DTYPE_E2M1 &&
        !run_groups_divide_k(reference->problem.group_by)) { /* K-major only with them */
        reference->problem.a.scale = reference->problem.b.scale = (jit_gemm_scale){0};
        other->inputs.a_scale = other->inputs.b_scale = (struct run_matrix){0};
    }
    other->inputs.c = made;
    other->alpha = 0;
    other->beta = 1;
    return code;
}

/* Fills `other->results` by the reference kernel. */
static int run_reference(const struct cli_problem *reference, bool verbose,
                         struct run_launch *other)
{
    cli_log_mute(!verbose); /* the snippet's warnings were printed once */
    int code = run_launch_create(reference, verbose, other);
    cli_log_mute(false);
    if (code == CLI_OK) {
        code = run_results_create(other->context, reference, &other->inputs, 0, true,
                                  &other->results);
    }
    if (code == CLI_OK) {
        code = run_launch_make_workspace(reference, other);
    }
    if (code == CLI_OK) {
        run_launch_set_arguments(reference, other);
        code = run_launch_once(other);
    }
    return code;
}

/* `acc` of each element, of a pair each column of B: the same problem without its epilogue.
 */
static int make_sums(const struct epilogue_errors *errors, struct run_launch *sums)
{
    struct cli_problem plain;
    enum compare_sums kind = COMPARE_SUMS_F32;

    make_reference_problem(errors->problem, &plain);
    plain.problem.epilogue[0] = '\0';
    plain.problem.pair = JIT_GEMM_PAIR_INTERLEAVED; /* which only pairs have otherwise */
    plain.problem.d.dtype = JIT_GEMM_DTYPE_F32;
    plain.snippet = plain.code = NULL;
    plain.operand_count = 0;
    if (find_sums(errors->launch, &plain.problem, &kind) != CLI_OK) {
        return CLI_FAILED;
    }
    int code = prepare_reference(errors->launch, kind, &plain, sums);
    sums->inputs.d_columns = sums->inputs.n;
    if (code == CLI_OK && sums->results.d.base == 0) {
        code = run_reference(&plain, false, sums);
    }
    return code;
}

/* Of sums of 8-bit floats, of their root mean square; others are as good as exact. */
static double error_of_sums(enum compare_sums sums, int64_t k)
{
    return sums == COMPARE_SUMS_13_BITS || sums == COMPARE_SUMS_13_BITS_OF_K
               ? compare_bounds_for(JIT_GEMM_DTYPE_F32, sums, k).relative
               : 0;
}

static bool find_range(const void *context, int64_t batch, int64_t row, int64_t column,
                       double *ret_low, double *ret_high)
{
    const struct pair *pair = context;
    struct epilogue_errors *errors = pair->errors;

    if (!errors->was_asked) {
        errors->was_asked = true;
        errors->sums = (struct run_launch){.context = errors->launch->context};
        if (make_sums(errors, &errors->sums) != CLI_OK ||
            run_range_create(errors->launch, errors->problem, &errors->sums.results.d,
                             error_of_sums(pair->sums, errors->launch->inputs.k),
                             &errors->range) != CLI_OK) {
            run_range_free(&errors->range);
        }
    }
    return errors->range != NULL && run_range_find(errors->range, pair->result, batch, row,
                                                   column, ret_low, ret_high);
}

static void free_errors(struct epilogue_errors *errors)
{
    run_range_free(&errors->range);
    if (errors->was_asked) {
        run_results_free(errors->launch->context, &errors->sums.results);
        jit_gemm_destroy(&errors->sums.gemm);
    }
}

int run_verify(const struct run_launch *launch, const struct cli_problem *problem,
               bool is_quiet, bool verbose, struct run_verdict *verdict)
{
    enum compare_sums sums = COMPARE_SUMS_F32;
    struct cli_problem reference;
    struct run_launch other = {.context = launch->context}; /* borrows context and inputs */
    struct epilogue_errors errors = {.launch = launch, .problem = problem};
    struct epilogue_errors *known = problem->snippet != NULL ? &errors : NULL;

    if (find_sums(launch, &problem->problem, &sums) != CLI_OK) {
        return CLI_FAILED;
    }
    make_reference_problem(problem, &reference);
    int code = prepare_reference(launch, sums, &reference, &other);
    if (code == CLI_OK && !other.results.d.base) {
        code = run_reference(&reference, verbose, &other);
    }
    if (code == CLI_OK) {
        const struct pair pair = {.name = "D",
                                  .errors = known,
                                  .result = problem->operand_count,
                                  .out = &launch->results.d,
                                  .ref = &other.results.d,
                                  .sums = sums};
        code = problem->problem.d.scale.kind != JIT_GEMM_SCALE_NONE
                   ? compare_quantised(launch, &pair, &problem->problem, is_quiet, verdict)
               : problem->problem.d_rows == JIT_GEMM_ROWS_INDEXED
                   ? compare_indexed(launch, &pair, is_quiet, verdict)
                   : compare_result(launch, &pair, is_quiet, verdict);
    }
    for (size_t i = 0; i < problem->operand_count && code == CLI_OK; i++) {
        const jit_gemm_operand *operand = &problem->operands[i];
        const bool is_folded =
            run_reduces(operand) && !run_holds_elements(&problem->problem, operand);
        const struct reduction reduction = find_reduction(&problem->problem, operand);
        const struct pair pair = {.name = operand->name,
                                  .errors = known,
                                  .result = i,
                                  .out = &launch->results.operands[i],
                                  .ref = &other.results.operands[i],
                                  .sums = sums,
                                  .reduction = is_folded ? &reduction : NULL};
        if (operand->role != JIT_GEMM_OPERAND_INPUT) {
            code = compare_result(launch, &pair, is_quiet, verdict);
        }
    }
    if (code == CLI_OK && problem->snippet != NULL) {
        code = run_interpret(launch, problem, &other.results, &verdict->interpretation);
        verdict->is_wrong |= verdict->interpretation.wrong > 0;
    }
    if (launch->device.is_emulated && other.inputs.c.base != launch->inputs.c.base) {
        run_matrix_free(launch->context, &other.inputs.c);
    }
    run_results_free(launch->context, &other.results);
    jit_gemm_destroy(&other.gemm);
    free_errors(&errors);
    return code;
}
