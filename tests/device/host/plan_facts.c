/* SPDX-License-Identifier: MIT */
/* What the tests of device modules hold these against, of the plan. */
#include <stdbool.h>

#include "plan/box.h"
#include "plan/cluster.h"
#include "plan/split.h"

int64_t plan_workspace_bytes(int tile_m, int tile_n, int split_k, bool is_serial,
                             int64_t tiles);
int64_t plan_sums_offset(void);
int64_t plan_tail_clusters(int split_k, int wave, int64_t tiles, int64_t resident);
int plan_input_atom(bool is_k_major, int element_bytes);

int64_t plan_workspace_bytes(int tile_m, int tile_n, int split_k, bool is_serial,
                             int64_t tiles)
{
    const struct jg_config config = {
        .layout = {.tile_m = tile_m, .tile_n = tile_n},
        .launch = {.split_k = split_k,
                   .split_order = is_serial ? JG_SPLIT_SERIAL : JG_SPLIT_UNORDERED}};
    return jg_split_use(&config, tiles, 0).bytes;
}

int64_t plan_tail_clusters(int split_k, int wave, int64_t tiles, int64_t resident)
{
    const struct jg_config config = {.layout = {.cluster_m = 1, .cluster_n = 1},
                                     .launch = {.scheduler = JG_SCHEDULER_STATIC,
                                                .split_k = split_k,
                                                .split_order = JG_SPLIT_SERIAL,
                                                .split_tail = wave}};
    return jg_grid_clusters(&config, tiles, 1, resident);
}

int64_t plan_sums_offset(void)
{
    return JG_WORKSPACE_SUMS_OFFSET;
}

int plan_input_atom(bool is_k_major, int element_bytes)
{
    const struct jg_matrix matrix = {.letter = 'a',
                                     .dtype = element_bytes == 4   ? JIT_GEMM_DTYPE_TF32
                                              : element_bytes == 2 ? JIT_GEMM_DTYPE_BF16
                                                                   : JIT_GEMM_DTYPE_S8,
                                     .is_mn_major = !is_k_major};
    return jg_input_atom(&matrix);
}
