/* SPDX-License-Identifier: MIT */
/* The choice for groups on sm_90a: tiles that they waste, orders, rows that differ. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan_fixture.h"

static struct jg_choice choose(const char *text)
{
    return plan_choose(plan_hopper(), text);
}

/* Groups end within a tile: their last one is half empty on average. Clusters that take two
 * tiles of a group's rows waste no more than those that take two of its columns, because
 * they lie across the rows where one tile suffices; tiles of twice the rows waste twice as
 * much. */
Test(choose, groups_count_what_their_last_tiles_waste)
{
    const struct jg_choice one =
        choose("m=4096 n=28672 k=4096 a=bf16 groups=8 config=tile=128x256 cluster=1x1");
    const struct jg_choice down =
        choose("m=4096 n=28672 k=4096 a=bf16 groups=8 config=tile=128x256 cluster=2x1");
    const struct jg_choice across =
        choose("m=4096 n=28672 k=4096 a=bf16 groups=8 config=tile=128x256 cluster=1x2");
    cr_expect_eq(one.derived.tiles, (512 / 128 * 8 + 8 / 2) * 112);
    cr_expect_eq(down.derived.tiles, one.derived.tiles);
    cr_expect_eq(across.derived.tiles, one.derived.tiles);
    const struct jg_choice tall =
        choose("m=4096 n=28672 k=4096 a=bf16 groups=8 config=tile=256x128 cluster=1x1");
    cr_expect_eq(tall.derived.tiles, (512 / 256 * 8 + 8 / 2) * 224);
    /* Fewer rows than half a tile: each group has one. */
    const struct jg_choice few =
        choose("m=64 n=28672 k=4096 a=bf16 groups=8 config=tile=64x256 cluster=1x1");
    cr_expect_eq(few.derived.tiles, 8 * 112);
}

/* A large group has several tiles along its rows, which read its B once: a choice that the
 * config leaves. */
Test(choose, orders_of_groups_suit_large_ones_too)
{
    plan_expect_config(
        plan_hopper(),
        "m=4096 n=28672 k=4096 a=bf16 groups=8 config=tile=128x256 cluster=2x1",
        "raster=m raster_group=8 ");
    plan_expect_config(
        plan_hopper(),
        "m=4096 n=28672 k=4096 a=bf16 groups=8 config=tile=128x256 cluster=2x1 "
        "raster=n",
        "raster=n raster_group=2 ");
    plan_expect_config(plan_hopper(),
                       "m=64 n=28672 k=4096 a=bf16 groups=8 config=tile=128x32 swap_ab=1",
                       "raster=m raster_group=4 ");
    plan_expect_config(
        plan_hopper(),
        "m=8 n=28672 k=4096 a=bf16 groups=8 group_by=counts config=tile=128x32 "
        "swap_ab=1",
        "raster=m raster_group=1 ");
}

/* Of many groups of few rows some have more than a tile of as many: their weights are read
 * again. So the choice takes larger ones, which cost next to nothing. */
Test(choose, groups_of_few_rows_may_be_skewed)
{
    const struct jg_choice sixteen =
        choose("m=2048 n=4096 k=7168 a=bf16 groups=256 config=swap_ab=1 tile=128x16");
    const struct jg_choice stacked = choose("m=2048 n=4096 k=7168 a=bf16 groups=256");
    cr_expect_eq(sixteen.derived.tiles, 296 * 32);
    cr_expect_gt(stacked.config.layout.swap_ab ? stacked.config.layout.tile_n
                                               : stacked.config.layout.tile_m,
                 16);
}

/* Each group's B passes through L2 once: a cluster reads it for two tiles of rows. */
Test(choose, groups_of_many_rows_share_b)
{
    static const char *const texts[] = {"m=131072 n=4096 k=7168 a=bf16 groups=256",
                                        "m=4096 n=28672 k=4096 a=bf16 groups=8",
                                        "m=65536 n=1536 k=4096 a=bf16 groups=128"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const struct jg_config config = choose(texts[i]).config;
        cr_expect_eq(config.layout.tile_m * config.layout.cluster_m, 256, "%s", texts[i]);
        cr_expect_eq(config.layout.cluster_n, 1, "%s", texts[i]);
    }
}

/* Of stacked groups rows of the next ones come with a wide tile's, of a batch none. */
Test(choose, wide_tiles_bring_rows_of_other_groups)
{
    static const char stacked[] = "m=192 n=4096 k=14336 a=bf16 groups=8 ",
                      apart[] = "m=24 n=4096 k=14336 a=bf16 groups=8 group_by=counts ",
                      wide[] = "config=tile=128x160 swap_ab=1 cluster=1x1";
    char text[2][160];
    snprintf(text[0], sizeof(text[0]), "%s%s", stacked, wide);
    snprintf(text[1], sizeof(text[1]), "%s%s", apart, wide);
    cr_expect_gt(choose(text[0]).derived.predicted_us,
                 1.1 * choose(text[1]).derived.predicted_us);
    cr_expect_neq(choose(stacked).config.layout.tile_n, 160);
}

/* Groups of less than 256 rows draw as much from L2 as others: 256x128 took 1.3 to 1.4 of
 * this one's time. */
Test(choose, groups_of_some_rows_take_tiles_in_turn)
{
    const struct jg_config config =
        choose("m=704 n=6144 k=10752 a=bf16 groups=4 typical_sizes=4x132..220").config;
    cr_expect_eq(config.layout.tile_m, 128);
    cr_expect_eq(config.layout.tile_n, 192);
    cr_expect_eq(config.layout.pingpong, 1);
}

/* Rows of a group that L2 does not keep are drawn from memory again by clusters that fall
 * out of step: 4096 rows of 7168 bytes took 48 to 66 ms in 128x128 in turn, and 47 in
 * 128x256; 4096 rows of 2048 bytes 24.2 and 25.6. */
Test(choose, bytes_of_groups_that_l2_does_not_keep_take_wide_tiles)
{
    static const struct {
        const char *sizes;
        int tile_n;
    } rows[] = {{"m=1048576 n=4096 k=7168 groups=256", 256},
                {"m=131072 n=4096 k=7168 groups=256", 128},
                {"m=1048576 n=7168 k=2048 groups=256", 128}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[160];
        snprintf(text, sizeof(text),
                 "%s a=e4m3 d=bf16 accumulate=fast a_scale=vector b_scale=vector",
                 rows[i].sizes);
        cr_expect_eq(choose(text).config.layout.tile_n, rows[i].tile_n, "%s", text);
    }
}

/* That all groups fit into a wide tile is not relied on where nobody says so. */
Test(choose, assumed_sizes_fit_no_wide_tile)
{
    static const char problem[] = "m=4096 n=5760 k=2880 a=e4m3 d=bf16 accumulate=fast "
                                  "groups=32 config=tile=128x160 swap_ab=1 cluster=1x1",
                      given[] = "m=4096 n=5760 k=2880 a=e4m3 d=bf16 accumulate=fast "
                                "groups=32 typical_sizes=32x96..160 "
                                "config=tile=128x160 swap_ab=1 cluster=1x1";
    cr_expect_gt(choose(problem).derived.predicted_us,
                 1.1 * choose(given).derived.predicted_us);
}

/* A tile that holds a group's rows is there for groups, and others have no use for it. */
Test(choose, a_transposed_tile_of_224_rows_is_that_of_groups)
{
    static const struct {
        const char *text, *message; /* NULL: there is one */
    } rows[] = {
        {"m=28672 n=1536 k=4096 a=bf16 groups=128 "
         "config=tile=128x224 swap_ab=1 cluster=2x1",
         NULL},
        {"m=224 n=1536 k=4096 a=bf16 groups=128 group_by=counts "
         "config=tile=128x224 swap_ab=1",
         NULL},
        {"m=28672 n=1536 k=4096 a=bf16 groups=128 config=tile=128x208 swap_ab=1",
         "64x192 128x160 128x192; of groups: 128x224"},
        {"m=224 n=1536 k=4096 a=bf16 config=tile=128x224 swap_ab=1",
         "64x192 128x160 128x192"},
        {"m=28672 n=1536 k=4096 a=e4m3 d=bf16 groups=128 config=tile=128x224 swap_ab=1",
         "64x192 128x160 128x192"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_problem problem = plan_problem(rows[i].text);
        struct jg_choice choice;
        const jit_gemm_status status = jg_config_choose(
            plan_hopper(), &problem, &plan_hopper()->default_facts, &choice, NULL);
        cr_expect_eq(status == JIT_GEMM_OK, rows[i].message == NULL, "%s", rows[i].text);
        if (rows[i].message != NULL) {
            const char *found = strstr(jg_error_text(), rows[i].message);
            cr_expect(found != NULL, "%s", jg_error_text());
            cr_expect_eq(strstr(jg_error_text(), "of groups") != NULL,
                         strstr(rows[i].message, "of groups") != NULL, "%s",
                         jg_error_text());
        }
    }
}
