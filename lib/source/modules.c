/* SPDX-License-Identifier: MIT */
#include "source/modules.h"

#include "plan/split.h"

static void print_module(bool is_needed, const char *name, struct jg_str *out)
{
    if (is_needed) {
        jg_str_printf(out, "#include <jg/%s.cuh>\n", name);
    }
}

static bool is_reduction(const struct jg_operand *operand)
{
    return operand->role != JIT_GEMM_OPERAND_INPUT &&
           operand->role != JIT_GEMM_OPERAND_OUTPUT;
}

static bool is_pair(const struct jg_operand *operand)
{
    return operand->kind == JIT_GEMM_OPERAND_PAIR_VECTOR;
}

static bool has_operand(const struct jg_epilogue *epilogue,
                        bool (*is_one)(const struct jg_operand *operand))
{
    for (uint32_t i = 0; epilogue != NULL && i < epilogue->operand_count; i++) {
        if (is_one(&epilogue->operands[i])) {
            return true;
        }
    }
    return false;
}

/* `gated_scales`: of B, a vector whose values are those of either accumulator. */
static void print_operand_modules(const struct jg_epilogue *epilogue, bool gated_scales,
                                  struct jg_str *out)
{
    print_module(gated_scales || has_operand(epilogue, is_pair), "epilogue/gate_operands",
                 out);
    print_module(epilogue != NULL, "epilogue/prelude", out);
    print_module(epilogue != NULL && epilogue->is_random, "epilogue/random", out);
    print_module(has_operand(epilogue, is_reduction), "epilogue/reductions", out);
}

void jg_print_modules(const struct jg_problem *problem, const struct jg_choice *choice,
                      struct jg_str *out)
{
    print_operand_modules(
        problem->epilogue,
        problem->is_gated && problem->b.scale.kind == JIT_GEMM_SCALE_VECTOR, out);
    if (choice->config.kernel == JG_KERNEL_REFERENCE) {
        return;
    }
    const bool has_vectors = choice->derived.output.epilogue == JG_EPILOGUE_VECTORS;
    print_module(!has_vectors, "epilogue/fragment_epilogue", out);
    print_module(has_vectors, "epilogue/vector_epilogue", out);
    print_module(problem->d.scale.kind != JIT_GEMM_SCALE_NONE, "epilogue/quantise", out);
    print_module(jg_workspace_parts(&choice->config) > 1, "epilogue/partial_sums", out);
    print_module(jg_cluster_parts(&choice->config) > 1, "epilogue/cluster_sums", out);
    print_module(problem->group_by == JIT_GEMM_GROUP_BY_OFFSETS ||
                     problem->group_by == JIT_GEMM_GROUP_BY_COUNTS,
                 "schedule/grouped_tile_order", out);
    print_module(problem->group_by == JIT_GEMM_GROUP_BY_ROWS,
                 "schedule/row_block_tile_order", out);
    print_module(jg_loads_by_threads(problem), "tile/thread_loader", out);
}

void jg_print_snippet_modules(const struct jg_epilogue *epilogue, struct jg_str *out)
{
    print_operand_modules(epilogue, false, out);
}
