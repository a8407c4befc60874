/* SPDX-License-Identifier: MIT */
#include "source/modules.h"

#include "plan/group_maps.h"
#include "plan/repack.h"
#include "plan/scale.h"
#include "plan/scale_pack.h"
#include "plan/split.h"

static void print_header(bool is_needed, const char *header, struct jg_str *out)
{
    if (is_needed) {
        jg_str_printf(out, "#include <%s>\n", header);
    }
}

static bool is_reduction(const struct jg_operand *operand)
{
    return operand->role != JIT_GEMM_OPERAND_INPUT &&
           operand->role != JIT_GEMM_OPERAND_OUTPUT;
}

static bool is_narrow_type(jit_gemm_dtype dtype)
{
    return dtype != JIT_GEMM_DTYPE_NONE && jg_dtype_bits(dtype) < 16;
}

static bool is_narrow(const struct jg_operand *operand)
{
    return is_narrow_type(operand->dtype);
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

/* The reference converts A and B, too. */
static bool converts_narrow_type(const struct jg_problem *problem, bool is_reference)
{
    return is_narrow_type(problem->c.dtype) || is_narrow_type(problem->d.dtype) ||
           (is_reference &&
            (is_narrow_type(problem->a.dtype) || is_narrow_type(problem->b.dtype)));
}

/* `gated_scales`: of B, a vector whose values are those of either accumulator. `narrow`: a
 * matrix whose elements the kernel converts has some below 16 bits. */
static void print_operand_modules(const struct jg_epilogue *epilogue, bool gated_scales,
                                  bool narrow, struct jg_str *out)
{
    print_header(narrow || has_operand(epilogue, is_narrow), "jg/ptx/convert_narrow.cuh",
                 out);
    print_header(gated_scales || has_operand(epilogue, is_pair),
                 "jg/epilogue/gate_operands.cuh", out);
    print_header(epilogue != NULL, "jg/epilogue/prelude.cuh", out);
    print_header(epilogue != NULL && epilogue->is_random, "jg/epilogue/random.cuh", out);
    print_header(has_operand(epilogue, is_reduction), "jg/epilogue/reductions.cuh", out);
}

void jg_print_modules(const struct jg_arch *arch, const struct jg_problem *problem,
                      const struct jg_choice *choice, struct jg_str *out)
{
    const bool is_reference = choice->config.kernel == JG_KERNEL_REFERENCE;
    print_operand_modules(problem->epilogue,
                          problem->is_gated &&
                              problem->b.scale.kind == JIT_GEMM_SCALE_VECTOR,
                          converts_narrow_type(problem, is_reference), out);
    print_header(jg_packs_scales(&choice->product), "jg/pack/pack_scales_kernel.cuh", out);
    print_header(problem->d_rows == JIT_GEMM_ROWS_INDEXED, "jg/epilogue/indexed_rows.cuh",
                 out);
    const bool reads_index = problem->a_rows == JIT_GEMM_ROWS_INDEXED;
    print_header(reads_index && problem->a.scale.kind == JIT_GEMM_SCALE_VECTOR,
                 "jg/epilogue/indexed_scales.cuh", out);
    if (is_reference) {
        return;
    }
    const bool has_vectors = choice->derived.output.epilogue == JG_EPILOGUE_VECTORS;
    print_header(!has_vectors, "jg/epilogue/fragment_epilogue.cuh", out);
    print_header(has_vectors, "jg/epilogue/vector_epilogue.cuh", out);
    print_header(choice->derived.draws_ahead, "jg/epilogue/drawn_numbers.cuh", out);
    print_header(problem->d.scale.kind != JIT_GEMM_SCALE_NONE,
                 jg_scale_is_square(&problem->d.scale) ? "jg/epilogue/square_blocks.cuh"
                                                       : "jg/epilogue/quantise.cuh",
                 out);
    print_header(jg_workspace_parts(&choice->config) > 1,
                 jg_shares_in_workspace(&choice->config)
                     ? "jg/epilogue/workspace_shares.cuh"
                     : "jg/epilogue/partial_sums.cuh",
                 out);
    print_header(jg_cluster_parts(&choice->config) > 1,
                 choice->derived.output.divided ? "jg/epilogue/cluster_shares.cuh"
                                                : "jg/epilogue/cluster_sums.cuh",
                 out);
    print_header(problem->group_by == JIT_GEMM_GROUP_BY_OFFSETS ||
                     problem->group_by == JIT_GEMM_GROUP_BY_COUNTS ||
                     problem->group_by == JIT_GEMM_GROUP_BY_POINTERS,
                 "jg/schedule/grouped_tile_order.cuh", out);
    print_header(problem->group_by == JIT_GEMM_GROUP_BY_ROWS,
                 "jg/schedule/row_block_tile_order.cuh", out);
    print_header(problem->group_rest == JIT_GEMM_GROUP_REST_ZERO,
                 "jg/epilogue/rest_rows.cuh", out);
    print_header(jg_loads_by_threads(&choice->product),
                 choice->derived.shifts_lines ? "jg/tile/shifted_loader.cuh"
                                              : "jg/tile/thread_loader.cuh",
                 out);
    const bool gathers = reads_index && jg_scale_is_multiplied(&problem->a.scale);
    print_header(reads_index && problem->a.scale.kind == JIT_GEMM_SCALE_BLOCK && !gathers,
                 "jg/tile/indexed_scales.cuh", out);
    print_header(reads_index,
                 choice->product.has_row_boxes ? "jg/tile/row_loader.cuh"
                                               : "jg/tile/indexed_loader.cuh",
                 out);
    print_header(jg_is_repacked(&choice->config), "jg/pack/repack_kernel.cuh", out);
    print_header(jg_has_group_maps(&choice->config), "jg/pack/group_maps_kernel.cuh", out);
    print_header(jg_product_promotes_scales(&choice->product), arch->promoted_scales_header,
                 out);
    print_header(choice->derived.row_warps.a + choice->derived.row_warps.b > 0,
                 "jg/tile/row_scales.cuh", out);
    print_header(jg_product_is_block_scaled(&choice->product),
                 arch->multiplied_scales_header, out);
    print_header(gathers, arch->gathered_scales_header, out);
    print_header(choice->config.layout.pingpong != 0, arch->pingpong_header, out);
}

void jg_print_snippet_modules(const struct jg_epilogue *epilogue, struct jg_str *out)
{
    print_operand_modules(epilogue, false, false, out);
}
