/* SPDX-License-Identifier: MIT */
/* The choice of parts of K: by which clusters and workspaces, and what a device holds. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan/cluster.h"
#include "plan/split.h"
#include "plan_fixture.h"

static struct jg_choice choose(const char *text)
{
    return plan_choose(plan_hopper(), text);
}

Test(choose_split, more_parts_than_a_cluster_takes_are_added_up_by_clusters_in_a_workspace)
{
    static const struct {
        const char *config;
        int of_cluster, clusters;
    } rows[] = {
        {"split_k=16 split_order=cluster", 16, 1},
        {"split_k=32 split_order=cluster", 16, 2},
        {"split_k=24 split_order=cluster", 12, 2},
        {"split_k=34 split_order=cluster", 2, 17},
        {"split_k=48 cluster_k=8", 8, 6},
        {"split_k=8 cluster_k=4", 4, 2},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[96];
        snprintf(text, sizeof(text), "64x128x65536 bf16 config=tile=64x64 %s",
                 rows[i].config);
        const struct jg_choice choice = choose(text);
        const int64_t places = 2 * (rows[i].clusters - 1); /* of two tiles */

        cr_expect_eq(jg_cluster_parts(&choice.config), rows[i].of_cluster, "%s", text);
        cr_expect_eq(jg_workspace_parts(&choice.config), rows[i].clusters, "%s", text);
        cr_expect_eq(choice.derived.grid_ctas, 2 * choice.config.launch.split_k);
        cr_expect_eq(choice.derived.workspace_bytes,
                     places > 0 ? 8 * 4096 + places * 64 * 64 * 4 : 0, "%s", text);
    }
}

Test(choose_split, a_part_has_no_stages_beyond_its_blocks)
{
    static const struct {
        const char *problem, *config;
        int stages;
    } rows[] = {
        {"16x576x4992 e4m3 d=bf16", "tile=64x32 swap_ab=1 split_k=5 split_order=cluster",
         8},
        {"16x576x4992 e4m3 d=bf16", "tile=64x32 swap_ab=1 split_k=2 split_order=cluster",
         16}, /* of 20 */
        {"16x576x4992 e4m3 d=bf16",
         "tile=64x32 swap_ab=1 split_k=5 split_order=cluster stages=13", 13},
        {"16x576x4992 e4m3 d=bf16 workspace=64m",
         "tile=64x32 swap_ab=1 split_k=8 split_order=parallel", 5},
        {"16x576x192 bf16", "tile=64x32 swap_ab=1 split_k=2 split_order=cluster", 2},
        {"512x2048x256 bf16 workspace=64m",
         "tile=128x128 cluster=1x1 split_k=2 split_order=serial", 2},
        {"512x8192x256 bf16 workspace=64m", /* four of a CTA */
         "tile=128x128 cluster=1x1 split_k=2 split_order=serial", 6},
        {"16x576x64 bf16", "tile=64x32 swap_ab=1 split_k=1", 2}, /* no fewer */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[160];
        snprintf(text, sizeof(text), "%s config=%s", rows[i].problem, rows[i].config);
        const struct jg_choice choice = choose(text);

        cr_expect_eq(choice.config.pipeline.stages, rows[i].stages, "%s: %d", text,
                     choice.config.pipeline.stages);
    }
}

/* One less than the driver counted on several, of 8 as many, or as it is said to count. */
Test(choose_split, clusters_of_parts_at_once_are_those_that_a_board_holds_mostly)
{
    static const int rows[][2] = {{2, 66}, {4, 29}, {6, 16}, {8, 15}, {12, 7}, {16, 6}};
    struct jg_device_facts facts = plan_hopper()->default_facts;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_config config = {
            .layout = {.cluster_m = 1, .cluster_n = 1},
            .launch = {.split_k = rows[i][0], .split_order = JG_SPLIT_CLUSTER}};
        cr_expect_eq(jg_resident_ctas(&config, &facts), rows[i][0] * rows[i][1], "%d: %d",
                     rows[i][0], jg_resident_ctas(&config, &facts) / rows[i][0]);
    }
    facts.clusters_at_once[2] = 7;
    const struct jg_config config = {
        .layout = {.cluster_m = 1, .cluster_n = 1},
        .launch = {.split_k = 15, .split_order = JG_SPLIT_CLUSTER}};
    cr_expect_eq(jg_resident_ctas(&config, &facts), 7 * 15);
}

/* What needs all of a tile is left to the CTA that has the sums. */
Test(choose_split, ctas_of_a_cluster_divide_d_unless_its_values_need_each_other)
{
    static const struct {
        const char *text;
        bool divided;
    } rows[] = {
        {"200x300x4096 bf16 config=split_k=4 split_order=cluster", true},
        {"200x304x4096 bf16 c=bf16 config=split_k=4 split_order=cluster", true},
        {"200x304x4096 bf16 d=e4m3 config=split_k=4 split_order=cluster", true},
        {"200x384x4096 bf16 d=e4m3 d_scale=1x128 config=split_k=4 split_order=cluster",
         false},
        {"200x300x4096 bf16 workspace=64m config=split_k=8 split_order=cluster cluster_k=4",
         false},
        {"200x300x4096 bf16 workspace=64m config=split_k=4 split_order=serial", false},
        {"200x300x4096 bf16 config=split_k=1", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_choice choice = choose(rows[i].text);

        cr_expect_eq(choice.derived.output.divided, rows[i].divided, "%s", rows[i].text);
        cr_expect(!rows[i].divided ||
                      (choice.derived.output.epilogue == JG_EPILOGUE_VECTORS &&
                       choice.derived.output.loads_per_step == 0),
                  "%s", rows[i].text);
    }
}

Test(choose_split, workspace_is_taken_for_parts_of_k_where_it_saves_three_percent)
{
    static const char *const sizes[] = {"64x64x65536",  "128x128x32768", "256x256x16384",
                                        "512x512x4096", "128x512x7168",  "100x300x20000"};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char text[64];
        snprintf(text, sizeof(text), "%s bf16", sizes[i]);
        const struct jg_choice without = choose(text);
        snprintf(text, sizeof(text), "%s bf16 workspace=64m", sizes[i]);
        const struct jg_choice with = choose(text);

        cr_expect(with.derived.workspace_bytes == 0 ||
                      with.derived.predicted_us <= 0.97 * without.derived.predicted_us,
                  "%s: %.2f and %.2f us", text, with.derived.predicted_us,
                  without.derived.predicted_us);
    }
}

/* Staged, columns of D are a multiple of 64, of a transposed product one of a warp's rows.
 */
Test(choose_split, parallel_parts_of_k_have_a_place_of_the_workspace_each)
{
    static const struct {
        const char *text;
        int64_t ctas, tile_bytes;
    } rows[] = {
        {"512x512x16384 bf16 config=tile=128x128 cluster=2x1 split_k=8", 128, 65536},
        {"400x400x40000 bf16 config=tile=128x208 cluster=2x2 split_k=15", 120, 131072},
        {"64x64x65536 bf16 config=tile=64x32 swap_ab=1 split_k=64", 128, 8192},
        {"300x300x40000 bf16 config=tile=128x128 cluster=2x2 split_k=4", 64, 65536},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[128];
        snprintf(text, sizeof(text), "%s split_order=parallel", rows[i].text);
        const struct jg_choice choice = choose(text);

        cr_expect_eq(choice.derived.grid_ctas, rows[i].ctas, "%s", text);
        cr_expect_eq(choice.derived.workspace_bytes,
                     8 * 4096 + rows[i].ctas * rows[i].tile_bytes, "%s: %lld", text,
                     (long long)choice.derived.workspace_bytes);
        cr_expect_eq(choice.config.launch.scheduler, JG_SCHEDULER_SINGLE);
        cr_expect(choice.derived.output.divided);
    }
}

/* As many as run at once of all tiles, however small the workspace may be. */
Test(choose_split, parallel_parts_are_chosen_where_all_run_at_once_and_have_room)
{
    static const struct {
        const char *text;
        bool is_parallel;
    } rows[] = {
        {"512x512x16384 bf16 workspace=64m", true},
        {"400x400x40000 bf16 workspace=64m", true},
        {"64x64x65536 bf16 workspace=64m", true},
        {"512x512x16384 bf16 workspace=64k", false},
        {"512x512x16384 bf16", false},
        {"512x512x16384 bf16 workspace=64m invariant=m", false},
        {"4096x4096x4096 bf16 workspace=64m", false},
        {"512x512x16384 bf16 workspace=64m config=split_order=serial", false},
        {"512x512x16384 bf16 workspace=64m config=cluster=2x2", true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_choice choice = choose(rows[i].text);

        cr_expect_eq(jg_shares_in_workspace(&choice.config), rows[i].is_parallel, "%s",
                     rows[i].text);
        cr_expect(!rows[i].is_parallel || choice.derived.waves <= 1.0, "%s", rows[i].text);
    }
}

Test(choose_split, parallel_parts_are_refused_for_outputs_of_a_whole_tile_and_in_a_loop)
{
    static const char whole[] =
        "split_order=parallel: each part writes a share of D, and reductions and scales of "
        "D's blocks need all of a tile: serial and cluster fit";
    static const struct {
        const char *arch, *text, *config, *message;
    } rows[] = {
        {"sm_90a", "200x384x4096 bf16 d=e4m3 d_scale=1x128", "", whole},
        {"sm_90a", "200x384x4096 bf16 d=mxfp8", "", whole},
        {"sm_100a", "200x384x4096 bf16 d=mxfp8", "", whole},
        {"sm_100a", "200x384x4096 bf16", " scheduler=clc",
         "split_order=parallel: a cluster has a part of one tile: scheduler=single"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_arch *arch = jg_arch_find(rows[i].arch);
        struct jg_problem problem = plan_problem(rows[i].text);
        snprintf(problem.config, sizeof(problem.config), "split_k=4 split_order=parallel%s",
                 rows[i].config);
        struct jg_choice choice;

        cr_expect_eq(jg_config_choose(arch, &problem, &arch->default_facts, &choice, NULL),
                     JIT_GEMM_ERR_ARGUMENT);
        cr_expect_not_null(strstr(jg_error_text(), rows[i].message), "%s", jg_error_text());
    }
}

Test(choose_split, parts_of_k_in_a_cluster_need_no_workspace_and_a_cluster_for_each_tile)
{
    const struct jg_choice serial =
        choose("16x8192x8192 bf16 config=tile=64x128 cluster=1x1 split_k=4");
    const struct jg_choice cluster =
        choose("16x8192x8192 bf16 config=tile=64x128 split_k=4 split_order=cluster");
    const struct jg_choice many =
        choose("4096x4096x4096 bf16 config=tile=64x128 split_k=8 split_order=cluster");

    cr_expect_gt(serial.derived.workspace_bytes, 0);
    cr_expect_eq(cluster.derived.workspace_bytes, 0);
    cr_expect_eq(cluster.config.launch.scheduler, JG_SCHEDULER_SINGLE);
    cr_expect_eq(cluster.config.layout.cluster_m * cluster.config.layout.cluster_n, 1);
    cr_expect_eq(cluster.derived.grid_ctas, 64 * 4);
    cr_expect_eq(cluster.derived.busy_ctas, 29 * 4);
    cr_expect_eq(many.derived.grid_ctas, 64 * 32 * 8);
    cr_expect_eq(many.derived.busy_ctas, 15 * 8);
    cr_expect_eq(many.derived.lead_stages, 0);
}

Test(choose_split, open_number_of_parts_is_chosen_for_a_cluster_without_a_workspace)
{
    const struct jg_choice choice = choose("64x2048x8192 bf16 config=split_order=cluster");

    cr_expect_gt(choice.config.launch.split_k, 1);
    cr_expect_leq(choice.config.launch.split_k, 16);
    cr_expect_eq(choice.config.launch.split_order, JG_SPLIT_CLUSTER);
    cr_expect_eq(choice.derived.workspace_bytes, 0);
}

Test(choose_split, ctas_that_have_parts_of_several_tiles_share_inputs_if_not_forbidden)
{
    static const struct {
        const char *problem;
        bool shares;
    } rows[] = {
        {"200x1280x8192 bf16", true},
        {"512x512x16384 bf16", true},
        {"256x512x16384 e4m3 d=bf16", true},
        {"512x512x16384 bf16 config=cluster=1x1", false},
        {"512x512x16384 bf16 config=split_order=cluster", false},
        {"200x1280x8192 bf16 input_align=2", false}, /* threads load for their own CTA */
        {"64x64x65536 bf16", false},                 /* has two tiles, a GPC each */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_choice choice = choose(rows[i].problem);
        const struct jg_config_layout *layout = &choice.config.layout;
        const int tiles = layout->cluster_m * layout->cluster_n;
        const int cluster = jg_cluster_ctas(&choice.config);
        cr_expect_eq(tiles > 1 && jg_cluster_parts(&choice.config) > 1, rows[i].shares,
                     "%s: %d tiles, %d parts", rows[i].problem, tiles,
                     jg_cluster_parts(&choice.config));
        cr_expect_leq(cluster, 16, "%s", rows[i].problem);
        cr_expect_eq(choice.derived.grid_ctas % cluster, 0, "%s", rows[i].problem);
        cr_expect_eq(choice.derived.workspace_bytes, 0, "%s", rows[i].problem);
    }
}

Test(choose_split, few_tiles_of_a_long_k_are_split_in_clusters_without_a_workspace)
{
    static const struct {
        const char *problem;
        bool is_split;
    } rows[] = {
        {"64x2048x7168 bf16", true},
        {"128x128x32768 bf16", true},
        {"512x512x16384 e4m3 d=bf16", true},
        {"2048x64x7168 bf16 d_layout=column", true},
        {"64x2048x7168 bf16 config=split_k=1", false},
        {"64x2048x7168 bf16 config=split_order=serial", false},
        {"64x2048x7168 bf16 config=cluster=2x1", false},
        {"16x4096x128 bf16", false},
        {"16x8192x8192 bf16", false},
        {"4096x4096x4096 bf16", false},
        {"256x256x256 bf16", false},
        {"8192x8192x65536 bf16", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_choice choice = choose(rows[i].problem);
        cr_expect_eq(choice.config.launch.split_order == JG_SPLIT_CLUSTER, rows[i].is_split,
                     "%s: split_k=%d", rows[i].problem, choice.config.launch.split_k);
        cr_expect_eq(choice.config.launch.split_k > 1, rows[i].is_split, "%s",
                     rows[i].problem);
        cr_expect_eq(choice.derived.workspace_bytes, 0, "%s", rows[i].problem);
        cr_expect_leq(choice.derived.grid_ctas, 132 * (rows[i].is_split ? 1 : 1000));
    }
}

Test(choose_split, cluster_of_parts_that_the_device_lacks_is_refused)
{
    struct jg_device_facts facts = plan_hopper()->default_facts;
    struct jg_problem problem = plan_problem("16x4096x8192 bf16");
    struct jg_choice choice;
    strcpy(problem.config, "split_k=8 split_order=cluster");

    facts.most_cluster_ctas = 4;
    cr_expect_eq(jg_config_choose(plan_hopper(), &problem, &facts, &choice, NULL),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_not_null(strstr(jg_error_text(), "split_k=8 split_order=cluster: the device "
                                               "holds no cluster of 8 CTAs"),
                       "%s", jg_error_text());
    facts.sm_count = 4;
    cr_expect_eq(jg_config_choose(plan_hopper(), &problem, &facts, &choice, NULL),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_not_null(strstr(jg_error_text(), "does not fit on 4 multiprocessors"), "%s",
                       jg_error_text());
}

Test(choose_split, no_more_clusters_are_chosen_than_the_device_holds_at_once)
{
    const struct jg_choice choice = choose("32x5120x5120 bf16 config=tile=128x32");

    cr_expect_eq(choice.derived.tiles,
                 40); /* an H200 does not hold as many clusters of 3 */
    cr_expect_eq(choice.config.launch.split_k, 2);
}

Test(choose_split,
     few_tiles_of_a_long_k_are_split_in_clusters_of_sm_100a_without_a_workspace)
{
    static const struct {
        const char *problem;
        bool is_split;
    } rows[] = {
        {"16x1024x8192 bf16", true},
        {"1024x256x16384 bf16", true},
        {"16x1024x8192 bf16 config=split_k=1", false},
        {"16x1024x8192 bf16 config=split_order=serial", false},
        {"16x8192x8192 bf16", false},
        {"4096x4096x4096 bf16", false},
        {"256x256x256 bf16", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_choice choice =
            plan_choose(jg_arch_find("sm_100a"), rows[i].problem);
        const struct jg_config *config = &choice.config;

        cr_expect_eq(config->launch.split_k > 1, rows[i].is_split, "%s", rows[i].problem);
        cr_expect_eq(config->launch.split_order == JG_SPLIT_CLUSTER, rows[i].is_split);
        cr_expect_eq(choice.derived.workspace_bytes, 0, "%s", rows[i].problem);
        cr_expect(!rows[i].is_split || (config->launch.scheduler == JG_SCHEDULER_SINGLE &&
                                        config->layout.cta_group == 1));
    }
}

static struct jg_choice choose_on_blackwell(const char *text)
{
    const struct jg_arch *arch = jg_arch_find("sm_100a");
    cr_assert_not_null(arch);
    return plan_choose(arch, text);
}

/* 34 of 256 pairs' tiles are beyond three waves of 74. */
Test(choose_split, tiles_beyond_whole_waves_alone_have_parts)
{
#define PAIRS "4096x4096x4096 bf16 config=mma=256x256 cluster=2x1 "
    const struct jg_choice choice = choose_on_blackwell(PAIRS "split_k=2 split_tail=74");
    const struct jg_choice even = choose_on_blackwell(PAIRS "split_k=2 split_tail=64");
    const struct jg_choice many = choose_on_blackwell(PAIRS "split_k=5 split_tail=74");
    const struct jg_choice one_each =
        choose_on_blackwell(PAIRS "scheduler=clc split_k=2 split_tail=74");
#undef PAIRS

    cr_expect_eq(choice.config.launch.scheduler, JG_SCHEDULER_STATIC);
    cr_expect_eq(choice.derived.grid_ctas, 148);
    cr_expect_eq(choice.derived.workspace_bytes, 8 * 4096 + 34 * 2 * 128 * 256 * 4);
    cr_expect_eq(even.derived.workspace_bytes, 8 * 4096, "no tile has parts");
    cr_expect_eq(many.derived.grid_ctas, 140, "170 parts for a multiple of 5 clusters");
    cr_expect_eq(one_each.derived.grid_ctas, 2 * (222 + 2 * 34));
}

Test(choose_split, tail_is_split_where_a_workspace_is_given_and_three_percent_are_saved)
{
    static const struct {
        const char *arch, *problem;
        bool is_split;
    } rows[] = {
        {"sm_100a", "8192x576x7168 bf16 workspace=64m", true},
        {"sm_100a", "1024x5120x8192 bf16 workspace=64m", true},
        {"sm_100a", "1024x5120x8192 bf16", false},
        {"sm_100a", "1024x5120x8192 bf16 workspace=64k", false},
        {"sm_100a", "1024x5120x8192 bf16 invariant=m workspace=64m", false},
        {"sm_100a", "1024x5120x8192 bf16 workspace=64m config=split_k=1", false},
        {"sm_100a", "8192x8192x8192 bf16 workspace=64m", false}, /* power is its limit */
        {"sm_90a", "16x51200x5120 bf16 workspace=64m", true},    /* four tiles of 400 */
        {"sm_90a", "16x51200x5120 bf16", false},
        {"sm_90a", "16x24576x4096 bf16 workspace=64m", false}, /* half of a wave */
        {"sm_90a", "4096x4096x4096 bf16 workspace=64m", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_choice choice =
            plan_choose(jg_arch_find(rows[i].arch), rows[i].problem);

        const struct jg_config_launch *launch = &choice.config.launch;
        cr_expect_eq(launch->split_tail > 0, rows[i].is_split, "%s: split_tail=%d",
                     rows[i].problem, launch->split_tail);
        cr_expect(launch->split_tail == 0 || launch->split_order == JG_SPLIT_SERIAL, "%s",
                  rows[i].problem);
    }
}

Test(choose_split, tail_without_parts_of_its_own_is_refused)
{
    static const struct {
        const char *config, *message;
    } rows[] = {
        {"split_tail=66",
         "split_tail=66: the tiles beyond whole waves have as many parts of K "
         "as split_k= says, 2 at least"},
        {"split_k=1 split_tail=66", "split_tail=66: the tiles beyond whole waves"},
        {"split_k=2 split_order=cluster split_tail=66",
         "split_tail=66: parts of some tiles are added up in a workspace: split_order=serial"},
        {"tile=128x128 pingpong=1 split_k=2 split_tail=66",
         "pingpong=1: there is no kernel"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_problem problem = plan_problem("4096x4096x4096 bf16");
        strcpy(problem.config, rows[i].config);
        struct jg_choice choice;

        cr_expect_eq(jg_config_choose(plan_hopper(), &problem,
                                      &plan_hopper()->default_facts, &choice, NULL),
                     JIT_GEMM_ERR_ARGUMENT, "%s", rows[i].config);
        cr_expect_not_null(strstr(jg_error_text(), rows[i].message), "%s: got '%s'",
                           rows[i].config, jg_error_text());
    }
}

/* A pair's CTAs have a tile of the workspace each, as every CTA of its own has. */
Test(choose_split, parallel_parts_on_sm_100a_are_of_pairs_too_and_chosen_with_a_workspace)
{
    static const struct {
        const char *text;
        int cta_group;
        int64_t ctas, tile_bytes;
    } rows[] = {
        {"512x512x16384 bf16 config=mma=256x128 cluster=2x1 split_k=8", 2, 128, 65536},
        {"64x64x65536 bf16 config=mma=128x32 swap_ab=1 split_k=64", 1, 128, 16384},
        {"512x512x16384 bf16 workspace=64m config=", 2, 128, 65536},
        {"128x128x32768 bf16 workspace=64m config=", 1, 128, 16384},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[128];
        const bool is_named = rows[i].text[strlen(rows[i].text) - 1] != '=';
        snprintf(text, sizeof(text), "%s%s", rows[i].text,
                 is_named ? " split_order=parallel" : "pdl=1");
        const struct jg_choice choice = choose_on_blackwell(text);

        cr_expect(jg_shares_in_workspace(&choice.config), "%s", text);
        cr_expect_eq(choice.config.layout.cta_group, rows[i].cta_group, "%s", text);
        cr_expect_eq(choice.derived.grid_ctas, rows[i].ctas, "%s", text);
        cr_expect_eq(choice.derived.workspace_bytes,
                     8 * 4096 + rows[i].ctas * rows[i].tile_bytes, "%s: %lld", text,
                     (long long)choice.derived.workspace_bytes);
        cr_expect_eq(choice.config.launch.scheduler, JG_SCHEDULER_SINGLE);
        cr_expect(choice.derived.output.divided);
    }
}

/* A CTA of a pair has half of B's columns in a stage: of 256x128 three stages hold the
 * sums.
 */
Test(choose_split, sums_of_a_pair_lie_in_a_ring_that_holds_them)
{
    static const struct {
        const char *config;
        bool in_ring;
    } rows[] = {{"mma=256x128 stages=2", false},
                {"mma=256x128 stages=3", true},
                {"mma=128x256 cta_group=2 stages=2", false},
                {"mma=256x64 stages=2", true},
                {"mma=128x64 cta_group=1 stages=2", true}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[160];
        snprintf(text, sizeof(text),
                 "512x512x512 bf16 config=split_k=4 split_order=parallel %s",
                 rows[i].config);
        const struct jg_choice choice = choose_on_blackwell(text);

        cr_expect_eq(choice.derived.sums_in_ring, rows[i].in_ring, "%s", text);
    }
    const struct jg_choice few =
        choose_on_blackwell("512x512x128 bf16 config=mma=256x128 split_k=2 "
                            "split_order=parallel");
    cr_expect_eq(few.config.pipeline.stages, 3);
}
