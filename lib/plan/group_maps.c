/* SPDX-License-Identifier: MIT */
#include "plan/group_maps.h"

#include "base/math.h"
#include "plan/groups.h"
#include "plan/scale.h"
#include "plan/workspace.h"

struct jg_group_maps_room jg_group_maps_place(const struct jg_config *config,
                                              int64_t groups, int64_t used)
{
    struct jg_group_maps_room room = {.end = used};
    if (!jg_has_group_maps(config)) {
        return room;
    }
    const int64_t bytes = groups * (int64_t)sizeof(struct jg_tensor_map);
    /* The words at the begin are zero between launches, whoever uses them. */
    room.a = jg_align_up(jg_max(used, JG_WORKSPACE_SUMS_OFFSET), JG_WORKSPACE_ALIGNMENT);
    room.b = room.a + bytes;
    room.d = room.b + bytes;
    room.end = room.d + bytes;
    return room;
}

int64_t jg_group_maps_bytes(int64_t groups)
{
    const struct jg_config config = {.pipeline.group_maps = JG_GROUP_MAPS_WRITTEN};
    return jg_group_maps_place(&config, groups, 0).end;
}

bool jg_group_maps_are_needed(const struct jg_problem *problem)
{
    return problem->group_by == JIT_GEMM_GROUP_BY_POINTERS &&
           jg_scale_is_multiplied(&problem->a.scale);
}

bool jg_group_maps_check(struct jg_trial *trial)
{
    if (!jg_has_group_maps(&trial->config)) {
        return !jg_group_maps_are_needed(trial->problem) ||
               jg_trial_reject(trial,
                               "group_maps=0: threads load A and B, and no kernel whose "
                               "threads do multiplies by scale %s: group_maps=1",
                               jg_scale_name(&trial->problem->a.scale));
    }
    if (trial->product.group_by != JIT_GEMM_GROUP_BY_POINTERS) {
        return jg_trial_reject(trial, "group_maps=1: one map has the matrices of all "
                                      "groups, but with group_by=pointers: group_maps=0");
    }
    if (jg_inputs_are_unaligned(trial->problem)) {
        return jg_trial_reject(trial,
                               "group_maps=1: TMA takes addresses and rows of 16 bytes, "
                               "and input_align=%d promises less: group_maps=0",
                               trial->problem->a.alignment);
    }
    return true;
}

bool jg_group_maps_have_room(const struct jg_trial *trial, int64_t used)
{
    const int64_t bytes =
        jg_group_maps_place(&trial->config, trial->problem->batch.size, used).end;
    return (uint64_t)bytes <= trial->problem->workspace_limit;
}

static bool has_pairs(const struct jg_product *product, const struct jg_matrix *matrix)
{
    return product->is_gated && matrix->letter == 'b' &&
           (matrix == &product->a || !product->has_neighbours);
}

struct jg_group_map_dims jg_group_map_dims(const struct jg_problem *problem,
                                           const struct jg_product *product,
                                           const struct jg_matrix *matrix)
{
    const int mn = matrix->is_mn_major ? 0 : 1, k = 1 - mn;
    const bool is_a = matrix->letter == 'a';
    return (struct jg_group_map_dims){.count = has_pairs(product, matrix) ? 4 : 3,
                                      .m = is_a ? mn : -1,
                                      .n = !is_a && jg_groups_own_n(problem) ? mn : -1,
                                      .k = jg_groups_own_k(problem) ? k : -1};
}
