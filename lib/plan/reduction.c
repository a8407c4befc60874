/* SPDX-License-Identifier: MIT */
#include "plan/reduction.h"

#include "base/math.h"
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
    return (struct jg_reduction_frame){.parts = output->parts,
                                       .tiles_down = is_transpose ? tiles_n : tiles_m,
                                       .tiles_across = is_transpose ? tiles_m : tiles_n,
                                       .batch = batch,
                                       .tile_rows = is_transpose ? columns : rows,
                                       .tile_columns = is_transpose ? rows : columns,
                                       .is_column_major = product->d.is_mn_major};
}

/* Results of a block, the blocks, and partial results of each result. */
struct blocks {
    int64_t width, count, parts;
};

static struct blocks find_blocks(const struct jg_reduction_frame *frame,
                                 const struct jg_operand *operand)
{
    if (operand->kind == JIT_GEMM_OPERAND_SCALAR) {
        return (struct blocks){
            1, frame->batch, frame->tiles_down * frame->tiles_across * frame->parts.tensor};
    }
    /* In memory the rows of a column-major D are its columns. */
    const bool is_of_rows =
        (operand->kind == JIT_GEMM_OPERAND_COLUMN_VECTOR) != frame->is_column_major;
    if (is_of_rows) {
        return (struct blocks){frame->tile_rows, frame->tiles_down * frame->batch,
                               frame->tiles_across * frame->parts.row};
    }
    return (struct blocks){frame->tile_columns, frame->tiles_across * frame->batch,
                           frame->tiles_down * frame->parts.column};
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
        const int64_t results = blocks.count * blocks.width * blocks.parts;
        use->bytes += jg_align_up(results * (int64_t)sizeof(float), JG_WORKSPACE_ALIGNMENT);
    }
    return place;
}

struct jg_workspace_use jg_workspace_measure(const struct jg_config *config, int64_t tiles,
                                             const struct jg_reduction_frame *frame,
                                             const struct jg_operand *operands,
                                             uint32_t operand_count)
{
    struct jg_workspace_use use = jg_split_use(config, tiles);
    for (uint32_t i = 0; i < operand_count; i++) {
        if (jg_operand_needs_workspace(&operands[i])) {
            use.bytes = jg_max(use.bytes, JG_WORKSPACE_SUMS_OFFSET);
            (void)jg_reduction_reserve(frame, &operands[i], &use);
        }
    }
    return use;
}
