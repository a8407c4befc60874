/* SPDX-License-Identifier: MIT */
/* Parts of K: how many, and what they cost. */
#include <stdio.h>

#include "base/math.h"
#include "plan/arch_common.h"

/* Numbers of parts that are tried. */
static const int splits[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32};
/* Blocks of K that a part which nobody asked for has at least. */
#define MIN_BLOCKS 4
/* Part of the time that more parts must save: their traffic is not all in the models. */
#define LEAST_GAIN 0.02

enum { SPLIT_COUNT = sizeof(splits) / sizeof(splits[0]) };

static int64_t count_blocks(const struct jg_problem *problem)
{
    return jg_ceil_div(problem->k.size, jg_tile_k(problem));
}

int64_t jg_split_blocks(const struct jg_problem *problem, const struct jg_config *config)
{
    return jg_ceil_div(count_blocks(problem), jg_max(config->launch.split_k, 1));
}

void jg_split_set(const struct jg_config_override *override, int split_k,
                  struct jg_config *config)
{
    config->launch.split_k = split_k;
    config->launch.split_order = split_k > 1 && override->has_split_order
                                     ? override->values.launch.split_order
                                     : JG_SPLIT_SERIAL;
}

int jg_split_check(const struct jg_problem *problem, const struct jg_config *config,
                   char *reason, size_t size)
{
    if (problem->k.mode == JIT_GEMM_DIM_EXACT &&
        config->launch.split_k > count_blocks(problem)) {
        snprintf(reason, size,
                 "split_k=%d: K of %lld has %lld blocks of %d, and each part needs one",
                 config->launch.split_k, (long long)problem->k.size,
                 (long long)count_blocks(problem), jg_tile_k(problem));
        return 0;
    }
    return 1;
}

/* In serial order each part waits for the one before, else only the first and the last
 * are alone. Rows and columns beyond the problem are not moved. */
struct jg_split_cost jg_split_cost_of(const struct jg_problem *problem,
                                      const struct jg_config *config)
{
    const int waits = (int)jg_max(config->launch.split_k, 1) - 1;
    return (struct jg_split_cost){
        .sums_bytes = (double)jg_min(config->layout.tile_m, problem->m.size) *
                      (double)jg_min(config->layout.tile_n, problem->n.size) *
                      sizeof(float),
        .steps =
            config->launch.split_order == JG_SPLIT_SERIAL ? waits : (int)jg_min(waits, 2)};
}

void jg_split_choose(const struct jg_problem *problem, const struct jg_device_facts *facts,
                     const struct jg_config_override *override,
                     jg_split_complete_fn complete, jg_split_derive_fn derive,
                     struct jg_config *config)
{
    int best = override->has_split_k ? override->values.launch.split_k : 1;
    double best_us = 0.0;
    const int is_open = !override->has_split_k && problem->workspace_limit > 0;
    for (int i = 0; is_open && i < SPLIT_COUNT; i++) {
        struct jg_config trial = *config;
        struct jg_derived derived;
        char reason[256];
        if (splits[i] > 1 && count_blocks(problem) < (int64_t)splits[i] * MIN_BLOCKS) {
            break;
        }
        complete(problem, facts, override, splits[i], &trial);
        if (!derive(problem, facts, &trial, &derived, reason, sizeof(reason)) ||
            (uint64_t)derived.workspace_bytes > problem->workspace_limit) {
            continue;
        }
        if (best_us <= 0.0 || derived.predicted_us < best_us * (1.0 - LEAST_GAIN)) {
            best = splits[i];
            best_us = derived.predicted_us;
        }
    }
    complete(problem, facts, override, best, config);
}
