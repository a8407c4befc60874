/* SPDX-License-Identifier: MIT */
/* What sm_90a's model says of clusters, of tiles in turn and of a single block of K. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "plan_fixture.h"

static double predict_us(const char *problem, const char *config)
{
    char text[160];
    snprintf(text, sizeof(text), "%s config=%s", problem, config);
    return plan_choose(plan_hopper(), text).derived.predicted_us;
}

static void expect_config(const char *text, const char *expected)
{
    plan_expect_config(plan_hopper(), text, expected);
}

/* The third tile has 40 of its 128 rows. 384 rows are whole tiles. */
Test(choose, clusters_that_share_few_rows_lose_where_the_last_tile_is_short)
{
    static const char *const pair = "tile=128x128 cluster=1x2";
    static const char *const single = "tile=128x128 cluster=1x1";
    const double uneven =
        predict_us("296x10240x4096 bf16", pair) / predict_us("296x10240x4096 bf16", single);
    const double even =
        predict_us("384x10240x4096 bf16", pair) / predict_us("384x10240x4096 bf16", single);

    cr_expect_gt(uneven, 1.05 * even);
    expect_config("296x10240x4096 bf16", "cluster=1x1");
    expect_config("264x12288x3072 bf16", "cluster=1x1");
}

/* Of 72 columns a second CTA's half of 96 would have none: they come in halves of 40. */
Test(choose, clusters_share_no_rows_of_zeros)
{
    static const char *const problem = "72x240x30528 bf16 workspace=64m";
    static const char *const parts =
        "cluster=2x1 swap_ab=1 split_k=32 split_order=parallel";
    char wide[96], less[96];
    snprintf(wide, sizeof(wide), "tile=64x192 %s", parts);
    snprintf(less, sizeof(less), "tile=64x128 %s", parts);

    cr_expect_lt(predict_us(problem, wide), 1.15 * predict_us(problem, less));
}

Test(choose, a_single_block_of_many_tiles_waits_for_no_turn_of_the_ring)
{
    expect_config("224x416x128 e4m3 d=bf16 batch=8", "tile=64x128");
    expect_config("64x64x64 bf16", "tile=128x16"); /* of few */
}
