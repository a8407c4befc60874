/* SPDX-License-Identifier: MIT */
#include "runtime/scale_pack.h"

#include "base/math.h"
#include "plan/scale.h"

enum { WORD_BYTES = 4 /* that a thread makes at once, and elements of maps of pieces */ };

static struct jg_scale_pack_size size_of(const struct jg_kernel *kernel,
                                         const struct jg_kernel_params *params)
{
    const struct jg_product_size size =
        jg_product_size(&kernel->choice.product, params->m, params->n);
    return (struct jg_scale_pack_size){size.m, size.n, params->k, params->batch,
                                       params->a_row_count};
}

int64_t jg_scale_pack_workspace_bytes(const struct jg_kernel *kernel,
                                      const struct jg_kernel_params *params, int64_t used)
{
    const struct jg_scale_pack_size size = size_of(kernel, params);
    return jg_scale_pack_place(&kernel->choice.product, &size, used).end;
}

/* Of the product's A or B; `given`: where its scales lie. */
struct side {
    const jit_gemm_scale *scale;
    const struct jg_scale_pack_place *place;
    struct jg_scale_pack_side pieces;
    struct jg_matrix_param *given;
    struct jg_map_key *key;
    bool has_map; /* else a warp gathers them */
};

static void fill_side(const struct side *side, uint64_t workspace,
                      struct jg_pack_params *ret_pack)
{
    *ret_pack = (struct jg_pack_params){0};
    if (!jg_scale_is_packed_first(side->scale)) {
        return;
    }
    const bool is_shared = side->given->batch_stride == 0;
    const jit_gemm_scale pieces = jg_scale_pieces(side->scale);
    const int64_t k = side->pieces.k;
    const struct jg_scale_extent extent = jg_scale_extent(&pieces, side->pieces.rows, k);
    const uint64_t to = workspace + (uint64_t)side->place->offset;
    const uint32_t batch = is_shared ? 1 : (uint32_t)side->pieces.batch;
    if (k > 0) {
        *ret_pack =
            (struct jg_pack_params){.from = side->given->pointer,
                                    .to = to,
                                    .from_stride = side->given->batch_stride,
                                    .to_stride = side->place->stride,
                                    .rows = (uint32_t)side->pieces.rows,
                                    .blocks = (uint32_t)jg_ceil_div(k, pieces.block_k),
                                    .batch = batch};
    }
    side->given->pointer = to;
    side->given->ld = extent.columns;
    side->given->batch_stride = is_shared ? 0 : side->place->stride;
    side->given->batch_step = !is_shared;
    if (!side->has_map) {
        return;
    }
    *side->key = (struct jg_map_key){.pointer = to,
                                     .ld = extent.columns / WORD_BYTES,
                                     .batch_stride = side->place->stride / WORD_BYTES,
                                     .inner = (uint32_t)(extent.columns / WORD_BYTES),
                                     .outer = (uint32_t)extent.rows,
                                     .batch = batch};
}

static struct side find_side(const struct jg_product *product,
                             const struct jg_matrix *matrix,
                             const struct jg_scale_pack_size *size)
{
    return (struct side){.scale = &matrix->scale,
                         .pieces = jg_scale_pack_side_of(product, matrix, size),
                         .has_map = matrix->letter != 'a' || !jg_gathers_scales(product)};
}

void jg_scale_pack_fill(const struct jg_kernel *kernel, struct jg_kernel_params *params,
                        int64_t used, struct jg_map_key *keys,
                        struct jg_scale_pack_params *ret_pack)
{
    const struct jg_product *product = &kernel->choice.product;
    const struct jg_scale_pack_size size = size_of(kernel, params);
    const struct jg_scale_pack_room room = jg_scale_pack_place(product, &size, used);
    struct side a = find_side(product, &product->a, &size);
    struct side b = find_side(product, &product->b, &size);
    a.place = &room.a;
    a.given = &params->a_scale;
    a.key = &keys[JG_MAP_A_SCALE];
    b.place = &room.b;
    b.given = &params->b_scale;
    b.key = &keys[JG_MAP_B_SCALE];
    fill_side(&a, params->workspace, &ret_pack->a);
    fill_side(&b, params->workspace, &ret_pack->b);
    /* The problem's M, whichever product is made. */
    ret_pack->group_sizes =
        a.pieces.by_groups || b.pieces.by_groups ? params->group_sizes : 0;
    ret_pack->group_rows = params->m;
    ret_pack->reserved = 0;
}

/* Words that the kernel makes. */
static int64_t count_words(const struct jg_pack_params *pack)
{
    static const jit_gemm_scale of_bytes = {.block_mn = 1, .block_k = 1};
    const jit_gemm_scale pieces = jg_scale_pieces(&of_bytes);
    const struct jg_scale_extent extent =
        jg_scale_extent(&pieces, pack->rows, pack->blocks);
    return extent.rows * extent.columns / WORD_BYTES * pack->batch;
}

unsigned int jg_scale_pack_grid(const struct jg_kernel *kernel,
                                const struct jg_scale_pack_params *pack)
{
    const int64_t words = jg_max(count_words(&pack->a), count_words(&pack->b));
    return (unsigned int)jg_min(jg_ceil_div(words, JG_PACK_THREADS),
                                kernel->first.resident_ctas);
}
