/* SPDX-License-Identifier: MIT */
#include "runtime/repack.h"

#include "base/math.h"

enum { WARP_THREADS = 32 };

static struct jg_repack_room place(const struct jg_kernel *kernel,
                                   const struct jg_kernel_params *params, int64_t used)
{
    const struct jg_product *product = &kernel->choice.product;
    const struct jg_product_size size = jg_product_size(product, params->m, params->n);
    return jg_repack_place(
        &kernel->choice.config, product,
        (struct jg_repack_size){size.m, size.n, params->k, params->batch}, used);
}

int64_t jg_repack_workspace_bytes(const struct jg_kernel *kernel,
                                  const struct jg_kernel_params *params, int64_t used)
{
    return place(kernel, params, used).end;
}

/* Does TMA take it where it lies? */
static bool is_aligned(const struct jg_map_key *key, jit_gemm_dtype dtype)
{
    const int64_t step = 8 * JG_TMA_ALIGNMENT / jg_dtype_bits(dtype); /* elements */
    return key->pointer % JG_TMA_ALIGNMENT == 0 && key->ld % step == 0 &&
           (key->batch <= 1 || key->batch_stride % step == 0);
}

static void fill_matrix(const struct jg_kernel *kernel, const struct jg_matrix *matrix,
                        const struct jg_repack_copy *copy, uint64_t workspace,
                        struct jg_map_key *key, struct jg_repack_matrix *ret_matrix)
{
    const jit_gemm_dtype dtype = matrix->dtype;
    *ret_matrix = (struct jg_repack_matrix){0};
    if (!jg_repack_copies(&kernel->choice.config, matrix->letter) || key->inner == 0 ||
        key->outer == 0 || is_aligned(key, dtype)) {
        return;
    }
    *ret_matrix =
        (struct jg_repack_matrix){.from = key->pointer,
                                  .to = workspace + (uint64_t)copy->offset,
                                  .from_pitch = jg_bytes_of(dtype, key->ld),
                                  .from_stride = jg_bytes_of(dtype, key->batch_stride),
                                  .to_pitch = copy->pitch,
                                  .to_stride = copy->stride,
                                  .row_bytes = jg_bytes_of(dtype, key->inner),
                                  .rows = key->outer,
                                  .batch = key->batch};
    key->pointer = ret_matrix->to;
    key->ld = copy->pitch / jg_bytes_of(dtype, 1);
    key->batch_stride = copy->stride / jg_bytes_of(dtype, 1);
}

void jg_repack_fill(const struct jg_kernel *kernel, const struct jg_kernel_params *params,
                    int64_t used, struct jg_map_key *keys,
                    struct jg_repack_params *ret_repack)
{
    const struct jg_product *product = &kernel->choice.product;
    const struct jg_repack_room room = place(kernel, params, used);
    fill_matrix(kernel, &product->a, &room.a, params->workspace, &keys[JG_MAP_A],
                &ret_repack->matrices[0]);
    fill_matrix(kernel, &product->b, &room.b, params->workspace, &keys[JG_MAP_B],
                &ret_repack->matrices[1]);
}

unsigned int jg_repack_grid(const struct jg_kernel *kernel,
                            const struct jg_repack_params *repack)
{
    const int64_t units =
        jg_repack_units(&repack->matrices[0]) + jg_repack_units(&repack->matrices[1]);
    return (unsigned int)jg_min(jg_ceil_div(units, JG_REPACK_THREADS / WARP_THREADS),
                                kernel->first.resident_ctas);
}
