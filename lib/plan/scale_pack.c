/* SPDX-License-Identifier: MIT */
#include "plan/scale_pack.h"

#include "base/math.h"
#include "plan/groups.h"
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

struct jg_scale_pack_size jg_scale_pack_planned_size(const struct jg_problem *problem,
                                                     const struct jg_product *product)
{
    const struct jg_product_size size =
        jg_product_size(product, (uint32_t)problem->m.size, (uint32_t)problem->n.size);
    const int64_t parts = jg_is_stacked(problem->group_by) ? 1 : problem->batch.size;
    return (struct jg_scale_pack_size){
        size.m, size.n, problem->k.size, problem->batch.size,
        jg_min(problem->m.size * parts, INT32_MAX) /* sizes are up to 2^31 */};
}

struct jg_scale_pack_side jg_scale_pack_side_of(const struct jg_product *product,
                                                const struct jg_matrix *matrix,
                                                const struct jg_scale_pack_size *size)
{
    const bool is_a = matrix->letter == 'a';
    struct jg_scale_pack_side side = {
        .rows = matrix == &product->a ? size->m : size->n,
        .k = jg_groups_scale_depth(product->group_by, size->k, size->batch, &matrix->scale),
        .batch = product->group_by == JIT_GEMM_GROUP_BY_K_OFFSETS ? 1 : size->batch};
    if (is_a && product->a_rows == JIT_GEMM_ROWS_INDEXED) {
        side.rows = size->index_rows;
        side.batch = 1;
    } else if (is_a && jg_is_stacked(product->group_by)) {
        side.rows = jg_groups_scale_rows(product->group_by, side.rows, size->batch);
        side.batch = 1;
        side.by_groups = product->group_by == JIT_GEMM_GROUP_BY_OFFSETS;
    }
    return side;
}

/* Moves *end on; it stays at its limit. */
static struct jg_scale_pack_place place_pieces(const struct jg_product *product,
                                               const struct jg_matrix *matrix,
                                               const struct jg_scale_pack_size *size,
                                               int64_t *end)
{
    struct jg_scale_pack_place place = {0};
    if (!jg_scale_is_packed_first(&matrix->scale)) {
        return place;
    }
    const jit_gemm_scale pieces = jg_scale_pieces(&matrix->scale);
    const struct jg_scale_pack_side side = jg_scale_pack_side_of(product, matrix, size);
    int64_t bytes = 0;
    place.stride = batch_bytes(&pieces, side.rows, side.k);
    if (!jg_mul_checked(place.stride, side.batch, &bytes) ||
        *end > INT64_MAX - JG_WORKSPACE_ALIGNMENT - bytes) {
        *end = INT64_MAX;
        return place;
    }
    place.offset = jg_align_up(*end, JG_WORKSPACE_ALIGNMENT);
    *end = place.offset + bytes;
    return place;
}

struct jg_scale_pack_room jg_scale_pack_place(const struct jg_product *product,
                                              const struct jg_scale_pack_size *size,
                                              int64_t used)
{
    struct jg_scale_pack_room room = {.end = used};
    if (!jg_packs_scales(product)) {
        return room;
    }
    /* The words at the begin are zero between launches, whoever uses them. */
    room.end = jg_max(used, JG_WORKSPACE_SUMS_OFFSET);
    room.a = place_pieces(product, &product->a, size, &room.end);
    room.b = place_pieces(product, &product->b, size, &room.end);
    return room;
}

/* Read as they lie, and written as pieces. */
static int64_t moved_bytes(const struct jg_product *product, const struct jg_matrix *matrix,
                           const struct jg_scale_pack_size *size)
{
    if (!jg_scale_is_packed_first(&matrix->scale)) {
        return 0;
    }
    const jit_gemm_scale pieces = jg_scale_pieces(&matrix->scale);
    const struct jg_scale_pack_side side = jg_scale_pack_side_of(product, matrix, size);
    return (batch_bytes(&matrix->scale, side.rows, side.k) +
            batch_bytes(&pieces, side.rows, side.k)) *
           side.batch; /* fits, or the trial was refused */
}

int64_t jg_scale_pack_bytes(const struct jg_problem *problem,
                            const struct jg_product *product)
{
    const struct jg_scale_pack_size size = jg_scale_pack_planned_size(problem, product);
    return moved_bytes(product, &product->a, &size) +
           moved_bytes(product, &product->b, &size);
}
