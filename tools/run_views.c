/* SPDX-License-Identifier: MIT */
#include "run_views.h"

#include <inttypes.h>
#include <string.h>

enum { COPY_ALIGNMENT = 16 };

int64_t run_row_batch(const struct run_inputs *inputs)
{
    return run_groups_are_stacked(&inputs->groups) ? 1 : inputs->batch;
}

/* `size`, or one `unit` more where it is an even number of units: what lies an odd
 * number of units apart is aligned to one unit and no better. */
static int64_t make_odd(int64_t size, int64_t unit)
{
    return size % unit == 0 && size / unit % 2 == 0 ? size + unit : size;
}

int run_view_make(const char *name, jit_gemm_dtype dtype, int64_t batch, int64_t rows,
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

int64_t run_rows_of_d(const jit_gemm_problem *p, const struct run_inputs *inputs)
{
    return p->d.layout == JIT_GEMM_LAYOUT_COLUMN_MAJOR ? inputs->d_columns : inputs->m;
}

int64_t run_columns_of_d(const jit_gemm_problem *p, const struct run_inputs *inputs)
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

int run_view_operand(const jit_gemm_problem *p, const jit_gemm_operand *operand,
                     const struct run_inputs *inputs, struct element_view *ret_view)
{
    int64_t rows = 1, columns = 1, batch = run_row_batch(inputs);

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
        rows = run_rows_of_d(p, inputs);
        columns = run_columns_of_d(p, inputs);
        break;
    }
    return run_view_make(operand->name, operand->dtype, batch, rows, columns, 0,
                         p->d.alignment, ret_view);
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

bool run_is_by_pointers(const jit_gemm_problem *p)
{
    return p->group_by == JIT_GEMM_GROUP_BY_POINTERS;
}
