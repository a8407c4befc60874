/* SPDX-License-Identifier: MIT */
#include "plan/product.h"

#include "base/math.h"
#include "plan/groups.h"
#include "plan/scale.h"

/* Where blocks of rows name their groups, the typical one has so many. */
static int64_t blocks_of_group(const struct jg_problem *problem)
{
    const int64_t blocks = jg_ceil_div(problem->m.size, JG_GROUP_BLOCK_ROWS);
    return jg_ceil_div(blocks, problem->batch.size);
}

/* Rows of A that one product has: of a group so many as the typical one of the problem's,
 * and no kernel knows them. */
static jit_gemm_dim rows_of(const struct jg_problem *problem)
{
    jit_gemm_dim rows = problem->m;
    if (problem->group_by == JIT_GEMM_GROUP_BY_ROWS) {
        rows.size =
            jg_min(rows.size, blocks_of_group(problem) * (int64_t)JG_GROUP_BLOCK_ROWS);
    }
    if (problem->group_by == JIT_GEMM_GROUP_BY_OFFSETS) {
        rows.size = jg_max(rows.size / problem->batch.size, 1);
    }
    if (jg_has_row_groups(problem->group_by)) {
        rows.mode = JIT_GEMM_DIM_DYNAMIC;
    }
    return rows;
}

/* K of one product: with groups along it that of a typical one, and no kernel knows it. */
static jit_gemm_dim depth_of(const struct jg_problem *problem)
{
    jit_gemm_dim k = problem->k;
    if (problem->group_by == JIT_GEMM_GROUP_BY_K_OFFSETS) {
        k.size = jg_max(k.size / problem->batch.size, 1);
        k.mode = JIT_GEMM_DIM_DYNAMIC;
    }
    return k;
}

/* Groups may be more than blocks of rows, of which each has one. */
static jit_gemm_dim batch_of(const struct jg_problem *problem)
{
    jit_gemm_dim batch = problem->batch;
    if (problem->group_by == JIT_GEMM_GROUP_BY_ROWS) {
        const int64_t blocks = jg_ceil_div(problem->m.size, JG_GROUP_BLOCK_ROWS);
        batch.size = jg_ceil_div(blocks, blocks_of_group(problem));
    }
    return batch;
}

struct jg_product jg_product_make(const struct jg_problem *problem, bool swap_ab)
{
    const jit_gemm_dim rows = rows_of(problem);
    return (struct jg_product){.m = swap_ab ? problem->n : rows,
                               .n = swap_ab ? rows : problem->n,
                               .k = depth_of(problem),
                               .batch = batch_of(problem),
                               .a = swap_ab ? problem->b : problem->a,
                               .b = swap_ab ? problem->a : problem->b,
                               .d = problem->d,
                               .d_is_transpose = swap_ab != problem->d.is_mn_major,
                               .is_gated = problem->is_gated,
                               .has_neighbours = jg_problem_has_neighbours(problem),
                               .group_by = problem->group_by,
                               .group_rest = problem->group_rest,
                               .accumulate = problem->accumulate,
                               .a_rows = problem->a_rows};
}

const char *jg_thread_loads_name(const struct jg_product *product)
{
    return product->group_by == JIT_GEMM_GROUP_BY_POINTERS ? "group_by=pointers"
           : product->a_rows == JIT_GEMM_ROWS_INDEXED      ? "a_rows=indexed"
           : product->a.alignment == 1                     ? "input_align=1"
           : product->a.alignment == 2                     ? "input_align=2"
           : product->a.alignment == 4                     ? "input_align=4"
                                                           : "input_align=8";
}

int jg_product_gate_rows(const struct jg_product *product)
{
    return product->is_gated && product->a.letter == 'b' ? 2 : 1;
}

int jg_product_gate_columns(const struct jg_product *product)
{
    return product->is_gated && product->b.letter == 'b' ? 2 : 1;
}

bool jg_product_promotes_scales(const struct jg_product *product)
{
    return !jg_product_is_block_scaled(product) &&
           (product->a.scale.kind == JIT_GEMM_SCALE_BLOCK ||
            product->b.scale.kind == JIT_GEMM_SCALE_BLOCK);
}

bool jg_product_is_block_scaled(const struct jg_product *product)
{
    return jg_scale_is_multiplied(&product->a.scale);
}

bool jg_product_scales_halves(const struct jg_product *product)
{
    return jg_product_is_block_scaled(product) && !product->has_neighbours &&
           jg_product_gate_columns(product) > 1;
}

struct jg_product_size jg_product_size(const struct jg_product *product, uint32_t m,
                                       uint32_t n)
{
    return product->a.letter == 'a' ? (struct jg_product_size){m, n}
                                    : (struct jg_product_size){n, m};
}
