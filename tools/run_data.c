/* SPDX-License-Identifier: MIT */
#include "run_data.h"

#include "run_views.h"

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
    const bool has_own = run_is_by_pointers(&problem->problem);
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
