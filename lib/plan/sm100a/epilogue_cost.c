/* SPDX-License-Identifier: MIT */
/* What the epilogue of Blackwell's kernel takes: instructions as they were counted in
 * machine code (docs/sm100a-model.md), and what is assumed of their time. */
#include "base/math.h"
#include "plan/cost.h"
#include "plan/sm100a/sm100a.h"

/*
 * Of a warp, for 64 columns of D in its 32 lanes. Fragments: what 16 bits of an element
 * more take, for D in their own layout; a snippet, which multiplies by alpha one element at
 * a time; a vector that it reads, a matrix, a C; and scales of rows and of columns.
 * Vectors: all of that but matrices, each of which is loaded or stored in another layout.
 */
#define FRAGMENTS         78.0
#define FRAGMENTS_16_BITS 38.0
#define SNIPPET           32.0
#define VECTOR_OPERAND    50.0
#define VECTOR_SCALE      105.0
#define LONG_CALL         512.0 /* 320 of silu, 500 of gelu and exp, 960 of tanh */
#define VECTORS           320.0
#define MATRIX            110.0
#define FRAGMENTS_C       280.0 /* beta is 0 or not, for each element */
#define QUANTISED         480.0 /* scales of D, and elements times their reciprocals */

/* Of a warp that has its scheduler to itself, four writing; and of a step, until tensor
 * memory has been read and a store has left its buffer. Assumed: together they are the 390
 * clocks of a plain step that others have estimated. */
#define INSTRUCTION_CLK 1.25
#define STEP_CLK        245.0
#define BYTES_CLK       40.0
#define DRAIN_CLK       450.0

enum { STEP_COLUMNS = 64 };

static double count_operands(const struct jg_epilogue *epilogue)
{
    double sum = 0.0;
    for (uint32_t i = 0; epilogue != NULL && i < epilogue->operand_count; i++) {
        const jit_gemm_operand_kind kind = epilogue->operands[i].kind;
        sum += kind == JIT_GEMM_OPERAND_MATRIX   ? MATRIX
               : kind == JIT_GEMM_OPERAND_SCALAR ? 0.0
                                                 : VECTOR_OPERAND;
    }
    return sum;
}

static double count_vector_scales(const struct jg_problem *problem)
{
    return ((problem->a.scale.kind == JIT_GEMM_SCALE_VECTOR) +
            (problem->b.scale.kind == JIT_GEMM_SCALE_VECTOR)) *
           VECTOR_SCALE;
}

double jg_sm100a_step_instructions(const struct jg_trial *trial)
{
    const struct jg_problem *problem = trial->problem;
    const struct jg_epilogue *epilogue = problem->epilogue;
    const double common = count_operands(epilogue) + count_vector_scales(problem) +
                          (epilogue != NULL ? LONG_CALL * epilogue->long_calls : 0.0);
    if (trial->derived.output.epilogue == JG_EPILOGUE_FRAGMENTS) {
        return FRAGMENTS + FRAGMENTS_16_BITS * jg_dtype_bits(problem->d.dtype) / 16.0 +
               (epilogue != NULL ? SNIPPET : 0.0) +
               (problem->c.dtype != JIT_GEMM_DTYPE_NONE ? FRAGMENTS_C : 0.0) + common;
    }
    return VECTORS + (problem->c.dtype != JIT_GEMM_DTYPE_NONE ? MATRIX : 0.0) +
           (problem->d.scale.kind != JIT_GEMM_SCALE_NONE ? QUANTISED : 0.0) + common;
}

/* Columns of D, or of its transpose, that a warp has of a tile, in steps. */
static double count_steps(const struct jg_trial *trial)
{
    const struct jg_sm100a_lanes lanes = jg_sm100a_lanes(&trial->config);
    const double columns = lanes.columns;
    return columns / lanes.warpgroups / jg_product_gate_columns(&trial->product) /
           STEP_COLUMNS;
}

/* A scheduler starts an instruction in a clock: of two warps one while the other waits. */
static double count_steps_clk(const struct jg_trial *trial)
{
    const double warps = jg_sm100a_lanes(&trial->config).warpgroups;
    const double instructions = jg_sm100a_step_instructions(trial);
    const double step =
        jg_larger(INSTRUCTION_CLK * instructions + STEP_CLK, warps * instructions);
    return count_steps(trial) * step;
}

struct jg_sm100a_epilogue_clk jg_sm100a_epilogue_clk(const struct jg_trial *trial)
{
    const double tile_m = trial->config.layout.tile_m;
    const double tile_n = trial->config.layout.tile_n;
    const double moved = tile_m * tile_n * jg_output_clk(trial->problem, BYTES_CLK);
    return (struct jg_sm100a_epilogue_clk){.kept = jg_larger(count_steps_clk(trial), moved),
                                           .drain = DRAIN_CLK};
}
