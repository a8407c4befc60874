/* SPDX-License-Identifier: MIT */
/* How many stages sm_90a's rings get, and what stores of a transposed D cost the choice. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "plan_fixture.h"

static struct jg_choice choose(const char *text)
{
    return plan_choose(plan_hopper(), text);
}

static void expect_config(const char *text, const char *expected)
{
    plan_expect_config(plan_hopper(), text, expected);
}

Test(choose, stages_are_never_more_than_k_needs)
{
    expect_config("512x512x1 bf16", "stages=2");
    expect_config("512x512x128 bf16", "stages=2");
    expect_config("512x512x192 bf16", "stages=3");
    expect_config("512x512x128 bf16 input_align=4", "stages=2");
    expect_config("512x512x128 bf16 input_align=2", "stages=3"); /* those of a longer K */
    expect_config("512x512x128 bf16 a_rows=indexed", "stages=2");
    expect_config("512x512x64 tf32 a_rows=indexed", "stages=2");
    expect_config("512x512x64 tf32 input_align=4", "stages=2");
    expect_config("512x512x512 bf16", "stages=8");
}

/* Four blocks of K: a fifth stage changes nothing, and a third one is waited for. */
Test(choose, a_ring_with_a_stage_for_each_block_is_not_waited_for)
{
    static const char *const text =
        "448x128x224 bf16 batch=9 config=tile=64x64 cluster=1x1 swap_ab=1 stages=";
    double predicted_us[3];
    for (int i = 0; i < 3; i++) {
        char problem[96];
        snprintf(problem, sizeof(problem), "%s%d", text, 3 + i);
        predicted_us[i] = choose(problem).derived.predicted_us;
    }

    cr_expect_gt(predicted_us[0], predicted_us[1]);
    cr_expect_eq(predicted_us[1], predicted_us[2]);
    expect_config("448x128x224 bf16 batch=9", "tile=64x64");
    expect_config("64x64x64 bf16", "tile=128x16"); /* one block */
}

Test(choose, stages_hold_blocks_of_the_next_tiles_too)
{
    expect_config("1024x1024x128 bf16 batch=4 config=tile=128x256 cluster=1x1", "stages=2");
    expect_config("1024x1024x128 bf16 batch=64 config=tile=128x256 cluster=1x1",
                  "stages=4");
    expect_config("1024x1024x64 bf16 batch=8 config=tile=128x128 cluster=1x1", "stages=4");
}

Test(choose, tiles_that_read_the_same_weights_have_them_on_their_way_together)
{
    expect_config("32x4096x4096 bf16 config=tile=64x32 swap_ab=1 split_k=1", "stages=16");
    expect_config("32x8192x4096 bf16 config=tile=64x32 swap_ab=1 split_k=1", "stages=8");
    expect_config("64x4096x4096 bf16 config=tile=64x32 swap_ab=1 split_k=1", "stages=16");
}

/* Tiles of 64x64, whose last one has 16 of its columns, 32 or all: the first draws less
 * than its neighbours and would run ahead, where most multiprocessors have one. */
Test(choose, tiles_that_lack_most_columns_have_less_under_way)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        {"144x2048x2304 f16 config=tile=64x64 cluster=1x1 swap_ab=1 split_k=1",
         "stages=11"},
        {"80x2752x2304 f16 config=tile=64x64 cluster=1x1 swap_ab=1 split_k=1", "stages=11"},
        {"80x2048x2304 f16 config=tile=64x64 cluster=1x1 swap_ab=1 split_k=1", "stages=13"},
        {"160x2048x2304 f16 config=tile=64x64 cluster=1x1 swap_ab=1 split_k=1",
         "stages=13"},
        {"192x2048x2304 f16 config=tile=64x64 cluster=1x1 swap_ab=1 split_k=1",
         "stages=13"},
        {"144x2048x4608 f16 config=tile=64x64 cluster=1x1 swap_ab=1 split_k=2 "
         "split_order=cluster",
         "stages=13"}, /* of two rounds of parts */
        {"144x8192x2304 f16 config=tile=64x64 cluster=1x1 swap_ab=1 split_k=1",
         "stages=13"},
        {"144x2048x2304 f16 config=tile=64x32 cluster=1x1 swap_ab=1 split_k=1",
         "stages=16"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        expect_config(rows[i].text, rows[i].expected);
    }
    expect_config("144x2048x2304 f16", "tile=64x64x64 cluster=1x1 stages=11");
}

static double predict(const char *tile, const char *beside)
{
    char text[128];
    snprintf(text, sizeof(text), "3608x4352x256 e4m3 d=bf16%s config=tile=%s swap_ab=1",
             beside, tile);
    return choose(text).derived.predicted_us;
}

/* Five of 16 rows for a warpgroup of 64x160, three of 32 for one of 64x192. */
Test(choose, store_tiles_of_few_rows_of_a_transposed_d_take_time)
{
    const double of_160 = predict("64x160", ""), of_192 = predict("64x192", "");
    const double parts_of_160 = predict("64x160 split_k=2 split_order=cluster", "");
    const double parts_of_192 = predict("64x192 split_k=2 split_order=cluster", "");

    cr_expect_gt(of_160, 1.15 * of_192, "%g and %g", of_160, of_192);
    cr_expect_lt(parts_of_160, 1.15 * parts_of_192, "%g and %g", parts_of_160,
                 parts_of_192);
    expect_config("1120x320x224 e4m3 d=bf16 batch=76", "tile=64x192");
}
