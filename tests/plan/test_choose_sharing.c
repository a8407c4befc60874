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

/* 15 clusters of 2x2 with two parts each, of which those of the last 320 columns lack none,
 * half or nearly all of them; ten such clusters; and 15 of 2x1 along one row, of which one
 * lacks any. */
Test(choose, rows_of_zeros_hold_up_clusters_of_parts_that_have_a_gpc_in_pairs)
{
    static const char *const shared =
        "tile=64x160 cluster=2x2 split_k=2 split_order=cluster";
    static const char *const row = "tile=128x144 cluster=2x1 split_k=4 split_order=cluster";
    const double whole = predict_us("384x1600x8192 bf16", shared);
    const double half = predict_us("384x1440x8192 bf16", shared);
    const double few = predict_us("384x1312x8192 bf16", shared);

    cr_expect_gt(half, 1.1 * whole, "%.2f %.2f", half, whole);
    cr_expect_gt(few, 1.05 * half, "%.2f %.2f", few, half);
    cr_expect_lt(predict_us("256x1440x8192 bf16", shared),
                 1.02 * predict_us("256x1600x8192 bf16", shared));
    cr_expect_lt(predict_us("256x2048x7168 bf16", row),
                 1.02 * predict_us("256x2160x7168 bf16", row));
    expect_config("1440x384x8192 bf16", "tile=128x96x64 cluster=2x2");
    expect_config("320x1024x8192 bf16", "tile=128x64x64 cluster=4x2");
}

/* Parts of K in CTAs by themselves: sums that are not promoted leave no time to share in,
 * 71 MB are more than L2 keeps, and a last tile of 32 columns runs ahead. */
Test(choose, parts_of_promoted_sums_share_with_neighbours_in_step)
{
    static const char *const parts = "tile=128x144 split_k=2 split_order=cluster";
    const double exact = predict_us("1024x1152x8192 e4m3 d=bf16", parts);

    cr_expect_lt(exact,
                 1.05 * predict_us("1024x1152x8192 e4m3 d=bf16 accumulate=fast", parts));
    cr_expect_gt(predict_us("1024x1152x32768 e4m3 d=bf16", parts), 3.6 * exact);
    cr_expect_gt(predict_us("1024x1040x8192 e4m3 d=bf16", parts), 1.05 * exact);
    expect_config("1024x1152x8192 e4m3 d=bf16", "tile=128x144x128 cluster=1x1 ");
}

/* A board may have one less of them than is counted on, and no word says that this has. */
Test(choose, taking_the_last_cluster_of_eight_has_a_price)
{
    const struct jg_problem problem =
        plan_problem("640x768x8192 bf16 config=tile=128x128 cluster=1x2 split_k=4 "
                     "split_order=cluster");
    struct jg_device_facts facts = plan_hopper()->default_facts;
    double us[2];
    for (int i = 0; i < 2; i++) {
        struct jg_choice choice;
        facts.clusters_at_once[1] = i == 0 ? 0 : 15;
        cr_assert_eq(jg_config_choose(plan_hopper(), &problem, &facts, &choice, NULL),
                     JIT_GEMM_OK);
        cr_expect_eq(choice.derived.busy_ctas, 15 * 8);
        us[i] = choice.derived.predicted_us;
    }

    cr_expect_gt(us[0], 1.02 * us[1], "%.2f %.2f", us[0], us[1]);
}

Test(choose, a_single_block_of_many_tiles_waits_for_no_turn_of_the_ring)
{
    expect_config("224x416x128 e4m3 d=bf16 batch=8", "tile=64x128");
    expect_config("64x64x64 bf16", "tile=128x16"); /* of few */
}
