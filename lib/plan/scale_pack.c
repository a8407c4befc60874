/* SPDX-License-Identifier: MIT */
#include "plan/scale_pack.h"

#include "base/math.h"
#include "plan/scale.h"
#include "plan/workspace.h"

bool jg_packs_scales(const struct jg_product *product)
{
    return jg_scale_is_packed_first(&product->a.scale) ||
           jg_scale_is_packed_first(&product->b.scale);
}

/* Bytes of a batch, in the layout of this scale, which is of a byte. */
static int64_t batch_bytes(const jit_gemm_scale *scale, int64_t mn, int64_t k)
{
    const struct jg_scale_extent extent = jg_scale_extent(scale, mn, k);
    return extent.rows * extent.columns; /* of sizes up to 2^31 */
}

/* Moves *end on; it stays at its limit. */
static struct jg_scale_pack_place place_pieces(const jit_gemm_scale *scale, int64_t mn,
                                               const struct jg_repack_size *size,
                                               int64_t *end)
{
    struct jg_scale_pack_place place = {0};
    if (!jg_scale_is_packed_first(scale)) {
        return place;
    }
    const jit_gemm_scale pieces = jg_scale_pieces(scale);
    int64_t bytes = 0;
    place.stride = batch_bytes(&pieces, mn, size->k);
    if (!jg_mul_checked(place.stride, size->batch, &bytes) ||
        *end > INT64_MAX - JG_WORKSPACE_ALIGNMENT - bytes) {
        *end = INT64_MAX;
        return place;
    }
    place.offset = jg_align_up(*end, JG_WORKSPACE_ALIGNMENT);
    *end = place.offset + bytes;
    return place;
}

struct jg_scale_pack_room jg_scale_pack_place(const struct jg_product *product,
                                              struct jg_repack_size size, int64_t used)
{
    struct jg_scale_pack_room room = {.end = used};
    if (!jg_packs_scales(product)) {
        return room;
    }
    /* The words at the begin are zero between launches, whoever uses them. */
    room.end = jg_max(used, JG_WORKSPACE_SUMS_OFFSET);
    room.a = place_pieces(&product->a.scale, size.m, &size, &room.end);
    room.b = place_pieces(&product->b.scale, size.n, &size, &room.end);
    return room;
}

/* Read as they lie, and written as pieces. */
static int64_t moved_bytes(const jit_gemm_scale *scale, int64_t mn, int64_t k)
{
    if (!jg_scale_is_packed_first(scale)) {
        return 0;
    }
    const jit_gemm_scale pieces = jg_scale_pieces(scale);
    return batch_bytes(scale, mn, k) + batch_bytes(&pieces, mn, k);
}

int64_t jg_scale_pack_bytes(const struct jg_product *product)
{
    const struct jg_repack_size size = jg_repack_planned_size(product);
    return (moved_bytes(&product->a.scale, size.m, size.k) +
            moved_bytes(&product->b.scale, size.n, size.k)) *
           size.batch; /* fits, or the trial was refused */
}
