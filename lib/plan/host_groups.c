/* SPDX-License-Identifier: MIT */
#include "plan/host_groups.h"

#include "base/math.h"
#include "plan/group_maps.h"
#include "plan/kernel_params.h"

uint32_t jg_host_groups_room(uint32_t operand_count, uint32_t tail_maps)
{
    const size_t begin = jg_kernel_params_numbers_offset(operand_count, tail_maps);
    return (uint32_t)((sizeof(struct jg_kernel_params) - begin) / sizeof(int32_t));
}

uint32_t jg_host_groups_count(const struct jg_problem *problem,
                              const struct jg_config *config, uint32_t tail_maps)
{
    const uint32_t operands =
        problem->epilogue != NULL ? problem->epilogue->operand_count : 0;
    if (problem->group_by == JIT_GEMM_GROUP_NONE ||
        problem->group_by == JIT_GEMM_GROUP_BY_ROWS || jg_has_group_maps(config) ||
        jg_groups_pack_scales(problem) ||
        problem->batch.size > (int64_t)jg_host_groups_room(operands, tail_maps)) {
        return 0;
    }
    return (uint32_t)problem->batch.size;
}

/* Of rows that lie together, with so many cluster tiles across them. */
static int64_t count_clusters(const struct jg_group_frame *frame, bool turns_last,
                              int64_t rows)
{
    const int64_t rest = rows % frame->step;
    const bool is_turned = turns_last && rest > 0 && rest <= frame->step / 2;
    return jg_ceil_div(rows, frame->step) * frame->across -
           (is_turned ? frame->across / 2 : 0);
}

int64_t jg_host_groups_tiles(const struct jg_config *config,
                             const struct jg_product *product, bool turns_last,
                             const int32_t *numbers, int64_t m, int64_t n, int64_t groups)
{
    const struct jg_group_frame frame = jg_groups_frame(config, product, m, n);
    const bool is_stacked = product->group_by == JIT_GEMM_GROUP_BY_OFFSETS;
    const bool clears_rest = product->group_rest == JIT_GEMM_GROUP_REST_ZERO;
    int64_t clusters = 0;
    int64_t begin = 0;
    if (product->group_by == JIT_GEMM_GROUP_BY_K_OFFSETS) {
        const struct jg_cluster_tiles all =
            jg_cluster_tiles_of(config, product, m, n, groups);
        return all.tiles * all.batch;
    }
    for (int64_t i = 0; i < groups; i++) {
        clusters += count_clusters(&frame, turns_last, numbers[i] - begin);
        if (is_stacked) {
            begin = numbers[i];
        } else if (clears_rest) {
            clusters += count_clusters(&frame, turns_last, frame.rows - numbers[i]);
        }
    }
    return is_stacked && clears_rest
               ? clusters + count_clusters(&frame, turns_last, frame.rows - begin)
               : clusters;
}
