/* SPDX-License-Identifier: MIT */
#include "run_results.h"

#include "jit_gemm/device.h"
#include "run_views.h"
#include "verify/quantise.h"

/* Of an operand that a launch writes. */
static int view_result(const jit_gemm_problem *p, const jit_gemm_operand *operand,
                       const struct run_inputs *inputs, bool is_reference,
                       struct element_view *ret_view)
{
    const int64_t rows = run_rows_of_d(p, inputs), columns = run_columns_of_d(p, inputs);

    if (!run_holds_elements(p, operand)) {
        return run_view_operand(p, operand, inputs, ret_view);
    }
    return run_view_make(operand->name,
                         run_reduces(operand) ? JIT_GEMM_DTYPE_F32 : operand->dtype,
                         run_row_batch(inputs), rows, columns, is_reference ? columns : 0,
                         is_reference ? 0 : p->d.alignment, ret_view);
}

int run_results_create(jit_gemm_context *context, const struct cli_problem *problem,
                       const struct run_inputs *inputs, int64_t ldd, bool is_reference,
                       struct run_results *results)
{
    const jit_gemm_problem *p = &problem->problem;
    const int64_t rows = run_rows_of_d(p, inputs), columns = run_columns_of_d(p, inputs);
    const bool has_index = p->d_rows == JIT_GEMM_ROWS_INDEXED;
    const uint64_t promised = is_reference ? 0 : p->d.alignment;
    struct element_view view = {0};
    int code = run_view_make("D", element_d_type(p), has_index ? 1 : run_row_batch(inputs),
                             has_index ? inputs->index.own_rows : rows, columns,
                             is_reference ? columns : ldd, promised, &view);
    if (code == CLI_OK) {
        code = run_matrix_create(context, &view, NULL, promised, &results->d);
    }
    if (code == CLI_OK && run_is_by_pointers(p)) {
        code = run_pointers_create(context, &inputs->groups, &view,
                                   (struct run_part){RUN_SIZE_M, RUN_SIZE_N}, false, NULL,
                                   promised, &results->own_d);
    }
    if (code == CLI_OK && p->d.scale.kind != JIT_GEMM_SCALE_NONE) {
        const bool has_bands = p->d.scale.layout == JIT_GEMM_SCALE_LAYOUT_128X4;
        const int64_t all_rows = has_index   ? inputs->index.own_rows
                                 : has_bands ? run_groups_scale_rows(&inputs->groups, rows)
                                             : rows;
        view = quantise_scale_view(&p->d.scale, has_index ? 1 : run_row_batch(inputs),
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
