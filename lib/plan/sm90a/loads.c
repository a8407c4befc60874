/* SPDX-License-Identifier: MIT */
#include "base/math.h"
#include "plan/sm90a/sm90a.h"

int jg_sm90a_loaded_rows(const struct jg_product *product, const struct jg_matrix *matrix,
                         const jit_gemm_dim *size, int tile, bool is_one_box)
{
    const bool is_known =
        size->mode == JIT_GEMM_DIM_EXACT && product->group_by == JIT_GEMM_GROUP_NONE;
    return is_known && is_one_box && !matrix->is_mn_major && !jg_loads_by_threads(product)
               ? (int)jg_max(1, jg_min(size->size, tile))
               : tile;
}

int jg_sm90a_turned_slices(const struct jg_trial *trial)
{
    const struct jg_product *product = &trial->product;
    if (!trial->derived.turns_last) {
        return 0;
    }
    return product->a.is_mn_major || jg_loads_by_threads(product) || product->has_row_boxes
               ? 1
               : 2;
}
