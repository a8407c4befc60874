/* SPDX-License-Identifier: MIT */
#include "plan/arch_common.h"

#include <stdio.h>

#include "base/math.h"

enum { BOTH_SLABS = 2 /* of output, of each team: what some epilogues need */ };

/* -------------------------------------------------------------------------- epilogue */

/* The sum of what `cost` says of D, C and each matrix operand. */
static double sum_matrices(const struct jg_problem *problem,
                           double (*cost)(const struct jg_problem *problem,
                                          jit_gemm_dtype dtype))
{
    double sum = cost(problem, problem->d.dtype);
    if (problem->c.dtype != JIT_GEMM_DTYPE_NONE) {
        sum += cost(problem, problem->c.dtype);
    }
    for (uint32_t i = 0; problem->epilogue != NULL && i < problem->epilogue->operand_count;
         i++) {
        const struct jg_operand *operand = &problem->epilogue->operands[i];
        if (operand->kind == JIT_GEMM_OPERAND_MATRIX) {
            sum += cost(problem, operand->dtype);
        }
    }
    return sum;
}

static double element_bytes(const struct jg_problem *problem, jit_gemm_dtype dtype)
{
    (void)problem;
    return jg_dtype_bits(dtype) / 8.0;
}

double jg_output_bytes(const struct jg_problem *problem)
{
    return sum_matrices(problem, element_bytes);
}

int jg_matrix_stages(const struct jg_problem *problem)
{
    enum { STAGE_ELEMENT_BITS = 16 };
    if (jg_outputs_by_threads(problem)) {
        return 0;
    }
    int stages = jg_dtype_bits(problem->c.dtype) / STAGE_ELEMENT_BITS;
    for (uint32_t i = 0; problem->epilogue != NULL && i < problem->epilogue->operand_count;
         i++) {
        const struct jg_operand *operand = &problem->epilogue->operands[i];
        if (operand->kind == JIT_GEMM_OPERAND_MATRIX &&
            operand->role == JIT_GEMM_OPERAND_INPUT) {
            stages += jg_dtype_bits(operand->dtype) / STAGE_ELEMENT_BITS;
        }
    }
    return stages;
}

static int needs_both_slabs(const struct jg_problem *problem)
{
    const jit_gemm_dim *row = jg_problem_d_row(problem);
    int found = jg_outputs_by_threads(problem) || problem->c.dtype != JIT_GEMM_DTYPE_NONE ||
                row->mode == JIT_GEMM_DIM_DYNAMIC || jg_dtype_bits(problem->d.dtype) == 8 ||
                problem->a.scale.kind == JIT_GEMM_SCALE_VECTOR ||
                problem->b.scale.kind == JIT_GEMM_SCALE_VECTOR ||
                jg_bytes_of(problem->d.dtype, row->size) % 16 != 0;
    for (uint32_t i = 0; problem->epilogue != NULL && i < problem->epilogue->operand_count;
         i++) {
        found |= problem->epilogue->operands[i].kind != JIT_GEMM_OPERAND_SCALAR;
    }
    return found;
}

int jg_out_stages_check(const struct jg_problem *problem, const struct jg_config *config,
                        char *reason, size_t size)
{
    if (config->storage.out_stages < BOTH_SLABS && needs_both_slabs(problem)) {
        snprintf(
            reason, size,
            "out_stages=%d is too few for C, vector scales, vector or matrix operands, a "
            "dynamic %s, a D of 8 bits, output_align, or a %s of D that is no multiple of "
            "16 bytes: they need out_stages=%d",
            config->storage.out_stages, jg_problem_is_column_major(problem) ? "M" : "N",
            jg_problem_is_column_major(problem) ? "column" : "row", BOTH_SLABS);
        return 0;
    }
    return 1;
}

/* ------------------------------------------------------------------------------ cost */

/* Where threads store themselves: what an instruction of a warp takes, assumed. */
enum { WARP_LANES = 32, WARP_ACCESS_CLK = 4, VECTOR_ELEMENTS = 8 };

/* A thread moves vectors of 8 elements, 16 bytes at once at most. */
static double element_accesses(const struct jg_problem *problem, jit_gemm_dtype dtype)
{
    const int64_t bytes = jg_bytes_of(dtype, 1);
    const int64_t promised = jg_max(problem->d.alignment, bytes);
    return (double)bytes / (double)jg_min(promised, VECTOR_ELEMENTS * bytes);
}

double jg_output_clk(const struct jg_problem *problem, double bytes_clk)
{
    const double wide_clk = jg_output_bytes(problem) / bytes_clk;
    const double narrow_clk =
        sum_matrices(problem, element_accesses) / WARP_LANES * WARP_ACCESS_CLK;
    return jg_outputs_by_threads(problem) && narrow_clk > wide_clk ? narrow_clk : wide_clk;
}
