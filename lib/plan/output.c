/* SPDX-License-Identifier: MIT */
#include "plan/output.h"

#include <stdio.h>

#include "base/math.h"
#include "plan/arch_common.h"

enum {
    VECTOR_OUT_STAGES = 2,  /* output stages whose memory holds a staging buffer */
    LOAD_ELEMENT_BYTES = 2, /* of a matrix whose part of a step is one stage */
    VECTOR_ELEMENTS = 8
};

/* ----------------------------------------------------------------------- the epilogue */

static bool has_scalars_only(const struct jg_epilogue *epilogue)
{
    for (uint32_t i = 0; epilogue != NULL && i < epilogue->operand_count; i++) {
        if (epilogue->operands[i].kind != JIT_GEMM_OPERAND_SCALAR) {
            return false;
        }
    }
    return true;
}

/* Do rows of D end on 16 bytes at every launch? */
static bool has_even_rows(const struct jg_problem *problem)
{
    const jit_gemm_dim *row = jg_problem_d_row(problem);
    return row->mode != JIT_GEMM_DIM_DYNAMIC &&
           row->size * jg_dtype_bytes(problem->d.dtype) % JG_TMA_ALIGNMENT == 0;
}

/* May the problem take fragments, whatever the config? */
static bool takes_fragments(const struct jg_problem *problem)
{
    return !jg_outputs_by_threads(problem) && problem->c.dtype == JIT_GEMM_DTYPE_NONE &&
           jg_dtype_bytes(problem->d.dtype) > 1 && has_even_rows(problem) &&
           problem->a.scale.kind != JIT_GEMM_SCALE_VECTOR &&
           problem->b.scale.kind != JIT_GEMM_SCALE_VECTOR &&
           has_scalars_only(problem->epilogue);
}

int jg_out_stages_check(const struct jg_problem *problem, const struct jg_config *config,
                        char *reason, size_t size)
{
    if (config->out_stages < VECTOR_OUT_STAGES && !takes_fragments(problem)) {
        snprintf(
            reason, size,
            "out_stages=%d is too few for C, vector scales, vector or matrix operands, a "
            "dynamic %s, a D of 8 bits, output_align, or a %s of D that is no multiple of "
            "16 bytes: they need out_stages=%d",
            config->out_stages, jg_problem_is_column_major(problem) ? "M" : "N",
            jg_problem_is_column_major(problem) ? "column" : "row", VECTOR_OUT_STAGES);
        return 0;
    }
    return 1;
}

/* --------------------------------------------------------------------- what it loads */

int jg_output_loads(const struct jg_problem *problem)
{
    if (jg_outputs_by_threads(problem)) {
        return 0;
    }
    int loads = jg_dtype_bytes(problem->c.dtype) / LOAD_ELEMENT_BYTES;
    for (uint32_t i = 0; problem->epilogue != NULL && i < problem->epilogue->operand_count;
         i++) {
        const struct jg_operand *operand = &problem->epilogue->operands[i];
        if (operand->kind == JIT_GEMM_OPERAND_MATRIX &&
            operand->role == JIT_GEMM_OPERAND_INPUT) {
            loads += jg_dtype_bytes(operand->dtype) / LOAD_ELEMENT_BYTES;
        }
    }
    return loads;
}

/* All of a step at once, or nothing: a step waits for all of its stages. */
static int count_loads_per_step(const struct jg_problem *problem, int ring_stages)
{
    const int loads = jg_output_loads(problem);
    return loads <= ring_stages ? loads : 0;
}

/* ----------------------------------------------------------------------- where D ends */

static bool is_multiple(const jit_gemm_dim *dim, int64_t step)
{
    return dim->mode != JIT_GEMM_DIM_DYNAMIC && dim->size % step == 0;
}

struct jg_output jg_output_choose(const struct jg_problem *problem,
                                  const struct jg_config *config,
                                  const struct jg_output_facts *facts)
{
    const struct jg_problem product = jg_product(problem, config);
    const bool whole_m =
        is_multiple(&product.m, (int64_t)config->tile_m * config->cluster_m);
    const bool whole_n =
        is_multiple(&product.n, (int64_t)config->tile_n * config->cluster_n);
    /* D lies in memory as the product, or as its transpose. */
    const bool transposed = config->swap_ab != jg_problem_is_column_major(problem);
    const bool fragments =
        takes_fragments(problem) && facts->columns % JG_STORE_TILE_COLUMNS == 0;
    return (struct jg_output){
        .epilogue = fragments ? JG_EPILOGUE_FRAGMENTS : JG_EPILOGUE_VECTORS,
        .loads_per_step = count_loads_per_step(problem, facts->ring_stages),
        .load_stages = facts->own_ring ? facts->ring_stages : 0,
        .whole_rows = transposed ? whole_n : whole_m,
        .whole_cols = transposed ? whole_m : whole_n,
        .whole_vectors = is_multiple(jg_problem_d_row(problem), VECTOR_ELEMENTS)};
}

/* ------------------------------------------------------------------------------- cost */

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
    return jg_dtype_bytes(dtype);
}

double jg_output_bytes(const struct jg_problem *problem)
{
    return sum_matrices(problem, element_bytes);
}

/* Where threads store themselves: what an instruction of a warp takes, assumed. */
enum { WARP_LANES = 32, WARP_ACCESS_CLK = 4 };

/* A thread moves vectors of 8 elements, 16 bytes at once at most. */
static double element_accesses(const struct jg_problem *problem, jit_gemm_dtype dtype)
{
    const int bytes = jg_dtype_bytes(dtype);
    const int64_t promised = jg_max(problem->d.alignment, bytes);
    return (double)bytes / (double)jg_min(promised, VECTOR_ELEMENTS * (int64_t)bytes);
}

double jg_output_clk(const struct jg_problem *problem, double bytes_clk)
{
    const double wide_clk = jg_output_bytes(problem) / bytes_clk;
    const double narrow_clk =
        sum_matrices(problem, element_accesses) / WARP_LANES * WARP_ACCESS_CLK;
    return jg_outputs_by_threads(problem) && narrow_clk > wide_clk ? narrow_clk : wide_clk;
}
