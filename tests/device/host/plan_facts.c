/* SPDX-License-Identifier: MIT */
/* What the tests of device modules hold these against, of the plan. */
#include "plan/arch_common.h"

int64_t plan_workspace_bytes(int tile_m, int tile_n, int split_k, int64_t tiles);
int64_t plan_sums_offset(void);

int64_t plan_workspace_bytes(int tile_m, int tile_n, int split_k, int64_t tiles)
{
    const struct jg_config config = {
        .tile_m = tile_m, .tile_n = tile_n, .split_k = split_k};
    return jg_workspace_bytes(&config, tiles);
}

int64_t plan_sums_offset(void)
{
    return JG_WORKSPACE_SUMS_OFFSET;
}
