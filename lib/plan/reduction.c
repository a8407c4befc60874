/* SPDX-License-Identifier: MIT */
#include "plan/reduction.h"

#include "base/math.h"
#include "plan/groups.h"
#include "plan/split.h"

struct jg_reduction_frame jg_reduction_frame_make(const struct jg_config *config,
                                                  const struct jg_product *product,
                                                  const struct jg_output *output,
                                                  struct jg_product_size size,
                                                  int64_t batch)
{
    const bool is_transpose = product->d_is_transpose;
    const int tile_m = config->layout.tile_m;
    const int tile_n = config->layout.tile_n;
    const int rows = tile_m / jg_product_gate_rows(product); /* of D or its transpose */
    const int columns = tile_n / jg_product_gate_columns(product);
    const int64_t tiles_m = jg_ceil_div(size.m, tile_m);
    const int64_t tiles_n = jg_ceil_div(size.n, tile_n);
    const int64_t down = is_transpose ? tiles_n : tiles_m;
    return (struct jg_reduction_frame){
        .parts = output->parts,
        .tiles_down = jg_has_row_groups(product->group_by)
                          ? jg_groups_row_tiles(config, product, size.m, size.n, batch)
                          : down * batch,
        .tiles_across = is_transpose ? tiles_m : tiles_n,
        .batch = batch,
        .tile_rows = is_transpose ? columns : rows,
        .tile_columns = is_transpose ? rows : columns,
        .is_column_major = product->d.is_mn_major};
}

/* Counters, and partial results of all of them (kernel_src/jg/epilogue/reducing_team.cuh).
 */
struct blocks {
    int64_t count, results;
};

static struct blocks find_blocks(const struct jg_reduction_frame *frame,
                                 const struct jg_operand *operand)
{
    const int64_t tiles = frame->tiles_down * frame->tiles_across;
    if (operand->kind == JIT_GEMM_OPERAND_SCALAR) {
        return (struct blocks){frame->batch, tiles * frame->parts.tensor};
    }
    /* In memory the rows of a column-major D are its columns. */
    const bool is_of_rows =
        (operand->kind == JIT_GEMM_OPERAND_COLUMN_VECTOR) != frame->is_column_major;
    if (is_of_rows) {
        return (struct blocks){frame->tiles_down,
                               tiles * frame->parts.row * frame->tile_rows};
    }
    return (struct blocks){frame->tiles_across * frame->batch,
                           tiles * frame->parts.column * frame->tile_columns};
}

struct jg_reduction_place jg_reduction_reserve(const struct jg_reduction_frame *frame,
                                               const struct jg_operand *operand,
                                               struct jg_workspace_use *use)
{
    const struct blocks blocks = find_blocks(frame, operand);
    const struct jg_reduction_place place = {.counter = use->words,
                                             .offset_bytes = use->bytes};
    use->words += blocks.count;
    if (use->words <= JG_WORKSPACE_WORDS) { /* else the bytes may overflow */
        use->bytes +=
            jg_align_up(blocks.results * (int64_t)sizeof(float), JG_WORKSPACE_ALIGNMENT);
    }
    return place;
}

struct jg_workspace_use jg_workspace_measure(const struct jg_config *config, int64_t tiles,
                                             int64_t staged_bytes,
                                             const struct jg_reduction_frame *frame,
                                             const struct jg_operand *operands,
                                             uint32_t operand_count)
{
    struct jg_workspace_use use = jg_split_use(config, tiles, staged_bytes);
    for (uint32_t i = 0; i < operand_count; i++) {
        if (jg_operand_needs_workspace(&operands[i])) {
            use.bytes = jg_max(use.bytes, JG_WORKSPACE_SUMS_OFFSET);
            (void)jg_reduction_reserve(frame, &operands[i], &use);
        }
    }
    return use;
}
