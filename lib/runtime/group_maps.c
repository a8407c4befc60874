/* SPDX-License-Identifier: MIT */
#include "runtime/group_maps.h"

#include <string.h>

#include "base/math.h"

static struct jg_group_maps_room place(const struct jg_kernel *kernel,
                                       const struct jg_kernel_params *params, int64_t used)
{
    return jg_group_maps_place(&kernel->choice.config, params->batch, used);
}

int64_t jg_group_maps_workspace_bytes(const struct jg_kernel *kernel,
                                      const struct jg_kernel_params *params, int64_t used)
{
    return place(kernel, params, used).end;
}

/* Of the product's A or B, with `mn` rows or columns and K, or of D, with its columns as
 * such a K. */
struct side {
    enum jg_map_index map;
    const struct jg_matrix *matrix;
    uint32_t mn, k;
    int64_t offset; /* of its maps in the workspace */
    struct jg_matrix_param *param;
};

/* A matrix as the largest group has it, packed; its address is any. */
static struct jg_map_key describe(const struct side *side, uint64_t address)
{
    const bool is_mn_major = side->matrix->is_mn_major;
    const uint32_t inner = is_mn_major ? side->mn : side->k;
    const int64_t unit = 8 * JG_TMA_ALIGNMENT / jg_dtype_bits(side->matrix->dtype);
    return (struct jg_map_key){.pointer = address,
                               .ld = jg_align_up(jg_max(inner, 1), unit),
                               .inner = inner,
                               .outer = is_mn_major ? side->k : side->mn,
                               .batch = 1};
}

/* Strides are linear in the leading dimension: two of them say how. */
static void fill_strides(const struct jg_kernel *kernel, const struct side *side,
                         const struct jg_map_key *key, struct jg_group_maps_matrix *maps)
{
    struct jg_map_key wide = *key;
    uint64_t one[JG_GROUP_MAP_STRIDES], two[JG_GROUP_MAP_STRIDES];
    wide.ld = 2 * key->ld;
    jg_map_strides(kernel, side->map, key, one);
    jg_map_strides(kernel, side->map, &wide, two);
    const uint64_t row_bytes = (uint64_t)jg_bytes_of(side->matrix->dtype, key->ld);
    for (int i = 0; i < JG_GROUP_MAP_STRIDES; i++) {
        maps->stride_rows[i] = (uint32_t)((two[i] - one[i]) / row_bytes);
        maps->stride_bytes[i] = (int64_t)(2 * one[i] - two[i]);
    }
}

static void fill_side(const struct jg_kernel *kernel, const struct side *side,
                      const struct jg_kernel_params *params, struct jg_map_key *key,
                      struct jg_group_maps_matrix *ret_maps)
{
    *key = describe(side, params->workspace);
    /* Without K a kernel asks for what lies beyond it and gets zeros: any address will do.
     */
    const bool is_empty = side->k == 0;
    *ret_maps = (struct jg_group_maps_matrix){
        .pointers = is_empty ? 0 : side->param->pointer,
        .lds = is_empty ? 0 : (uint64_t)side->param->batch_stride,
        .to = params->workspace + (uint64_t)side->offset,
        .ld = is_empty ? key->ld : side->param->ld,
        .element_bits = (uint32_t)jg_dtype_bits(side->matrix->dtype)};
    fill_strides(kernel, side, key, ret_maps);
    side->param->pointer = ret_maps->to;
}

/* Else threads store D, where pointers say. */
static bool stores_by_maps(const struct jg_kernel *kernel)
{
    return kernel->choice.derived.output.epilogue == JG_EPILOGUE_FRAGMENTS;
}

void jg_group_maps_fill(const struct jg_kernel *kernel, struct jg_kernel_params *params,
                        int64_t used, struct jg_map_key *keys,
                        struct jg_group_maps_params *ret_maps)
{
    const struct jg_product *product = &kernel->choice.product;
    const struct jg_product_size size = jg_product_size(product, params->m, params->n);
    const struct jg_group_maps_room room = place(kernel, params, used);
    const struct side a = {JG_MAP_A, &product->a, size.m, params->k, room.a, &params->a};
    const struct side b = {JG_MAP_B, &product->b, size.n, params->k, room.b, &params->b};
    fill_side(kernel, &a, params, &keys[JG_MAP_A], &ret_maps->matrices[0]);
    fill_side(kernel, &b, params, &keys[JG_MAP_B], &ret_maps->matrices[1]);
    ret_maps->matrices[2] = (struct jg_group_maps_matrix){0};
    if (stores_by_maps(kernel)) {
        const uint32_t columns = kernel->problem.is_gated ? params->n / 2 : params->n;
        const struct side d = {JG_MAP_D, &product->d, params->m,
                               columns,  room.d,      &params->d};
        fill_side(kernel, &d, params, &keys[JG_MAP_D], &ret_maps->matrices[2]);
    }
    ret_maps->group_sizes = params->group_sizes;
    ret_maps->group_ns = params->group_ns;
    ret_maps->group_ks = params->group_ks;
    ret_maps->m = params->m;
    ret_maps->n = params->n;
    ret_maps->k = params->k;
    ret_maps->groups = params->batch;
}

void jg_group_maps_take(const struct jg_kernel_params *params,
                        struct jg_group_maps_params *maps)
{
    memcpy(maps->matrices[0].map, params->maps[JG_MAP_A].bytes,
           sizeof(maps->matrices[0].map));
    memcpy(maps->matrices[1].map, params->maps[JG_MAP_B].bytes,
           sizeof(maps->matrices[1].map));
    memcpy(maps->matrices[2].map, params->maps[JG_MAP_D].bytes,
           sizeof(maps->matrices[2].map));
}

unsigned int jg_group_maps_grid(const struct jg_kernel *kernel,
                                const struct jg_kernel_params *params)
{
    return (unsigned int)jg_min(
        jg_ceil_div(3 * (int64_t)params->batch, JG_GROUP_MAPS_WARPS),
        kernel->first.resident_ctas);
}
