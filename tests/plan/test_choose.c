/* SPDX-License-Identifier: MIT */
/* The choice: winners, limits, overrides, sizes that the device must agree on. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/math.h"
#include "plan_fixture.h"

static struct jg_choice choose(const char *text)
{
    return plan_choose(plan_hopper(), text);
}

static void expect_config(const char *text, const char *expected)
{
    plan_expect_config(plan_hopper(), text, expected);
}

Test(arch, registry_knows_chips_by_name_and_by_device)
{
    const struct jg_arch *blackwell = jg_arch_find("sm_100a");
    cr_assert_not_null(blackwell);
    static const struct {
        int cc_major, cc_minor, index; /* index -1: no kernels */
    } rows[] = {{9, 0, 0},  {10, 0, 1},  {9, 1, -1}, {8, 9, -1},
                {10, 3, 2}, {10, 1, -1}, {12, 0, -1}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_device_facts facts = {.cc_major = rows[i].cc_major,
                                              .cc_minor = rows[i].cc_minor};
        cr_expect_eq(jg_arch_for_device(&facts), jg_arch_at(rows[i].index), "%d.%d",
                     rows[i].cc_major, rows[i].cc_minor);
    }

    cr_expect_null(jg_arch_find("sm_90"));
    cr_expect_null(jg_arch_find("sm_100"));
    cr_expect_null(jg_arch_find(""));
    cr_expect_null(jg_arch_find(NULL));
    cr_expect_eq(jg_arch_at(0), plan_hopper());
    cr_expect_eq(jg_arch_at(1), blackwell);
    cr_expect_eq(jg_arch_at(2), jg_arch_find("sm_103a"));
    cr_expect_eq(jg_arch_at(3), jg_arch_find("sm_100f"));
    cr_expect_null(jg_arch_at(4));
    cr_expect_null(jg_arch_at(-1));
}

Test(arch, default_facts_are_those_of_an_h200)
{
    const struct jg_device_facts *facts = &plan_hopper()->default_facts;

    cr_expect_str_eq(facts->name, "NVIDIA H200");
    cr_expect_eq(facts->sm_count, 132);
    cr_expect_eq(facts->l2_bytes, 62914560);
    cr_expect_eq(facts->smem_optin_bytes, 232448);
    cr_expect(jg_arch_runs_on(plan_hopper(), facts));
}

Test(choose, large_problems_take_the_large_tile_with_a_pair_along_m)
{
    expect_config("4096x4096x4096 bf16", "tile=128x256x64 cluster=2x1 stages=4");
    expect_config("4096x4096x8192 f16 layout=tn", "tile=128x256x64 cluster=2x1 stages=4");
}

Test(choose, small_problems_take_small_tiles_to_fill_the_chip)
{
    expect_config("1024x1024x1024 bf16", "tile=64x128x64");
    expect_config("192x3072x4096 bf16", "tile=64x96x64");
}

/* Weights lie on the tensor core's side of 64 rows, tokens on the other, where a tile has
 * as few as they are. */
Test(choose, few_rows_of_d_are_columns_of_the_multiplication)
{
    expect_config("1x4096x4096 bf16", "tile=64x32x64");
    expect_config("1x4096x4096 bf16", "swap_ab=1");
    expect_config("1x14336x4096 bf16", "tile=128x16x64");
    expect_config("16x8192x8192 e4m3 d=bf16", "swap_ab=1");
    expect_config("48x5120x5120 bf16", "tile=64x64x64");
    expect_config("64x4096x7168 bf16", "swap_ab=1");
    expect_config("4096x1x4096 bf16 d_layout=column", "tile=64x32x64");
    expect_config("160x2560x9728 bf16", "x160x64");
    expect_config("160x2560x9728 bf16", "swap_ab=1");
    expect_config("96x4096x4096 bf16", "tile=64x96x64");
    expect_config("104x6144x5120 bf16", "tile=64x128x64");
    expect_config("104x6144x5120 bf16", "swap_ab=1");
    /* A tile that both have is the product's as it is; a printed config reads alike. */
    cr_expect_eq(choose("104x5120x5120 bf16 config=tile=64x128").config.layout.swap_ab, 0);
    cr_expect_eq(choose("5120x104x5120 bf16 d_layout=column config=tile=64x128")
                     .config.layout.swap_ab,
                 0);
    /* There the product as it is has D's rows as columns. */
    cr_expect_eq(choose("4096x1x4096 bf16 d_layout=column").config.layout.swap_ab, 0);
    cr_expect_eq(choose("4096x4096x4096 bf16").config.layout.swap_ab, 0);
    cr_expect_eq(choose("4096x4096x4096 bf16 d_layout=column").config.layout.swap_ab, 1);
}

Test(choose, tile_of_few_columns_says_by_itself_that_the_product_is_transposed)
{
    expect_config("16x4096x4096 bf16 config=tile=128x16", "swap_ab=1");
    expect_config("16x4096x4096 bf16 config=swap_ab=1", "swap_ab=1");
    expect_config("4096x16x4096 bf16 d_layout=column config=swap_ab=0", "x64 cluster=1x1");
    cr_expect_eq(choose("16x4096x4096 bf16 config=swap_ab=0").config.layout.swap_ab, 0);
    cr_expect_eq(choose("16x4096x4096 bf16 config=tile=64x128").config.layout.swap_ab, 0);
}

Test(choose, stages_bring_no_more_rows_of_b_than_a_problem_is_known_to_have)
{
    static const struct {
        const char *text;
        int rows;
    } rows[] = {
        {"1x4096x4096 bf16 config=tile=64x32", 1},
        {"17x4096x4096 bf16 config=tile=128x32", 17},
        {"40x4096x4096 bf16 config=tile=128x32", 32},
        {"4096x24x4096 bf16 config=tile=128x128", 24},
        {"1x4096x4096 bf16 dynamic=m config=tile=64x32", 32},
        {"1x4096x4096 bf16 batch=7 config=tile=64x32", 1},
        {"40x4096x4096 bf16 groups=8 config=tile=128x64", 64},     /* rows of neighbours */
        {"4096x24x4096 bf16 layout=nn config=tile=128x128", 128},  /* in panels */
        {"4096x24x4096 bf16 config=tile=128x128 cluster=2x1", 32}, /* in two slices of 16 */
        {"4096x70x4096 bf16 config=tile=128x128 cluster=2x1", 80},
        {"4096x120x4096 bf16 config=tile=128x128 cluster=2x1", 128},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_choice choice = choose(rows[i].text);
        cr_expect_eq(choice.derived.b_rows, rows[i].rows, "%s: %d", rows[i].text,
                     choice.derived.b_rows);
    }
}

Test(choose, stages_bring_no_more_rows_of_a_than_a_problem_is_known_to_have)
{
    static const struct {
        const char *text;
        int rows;
    } rows[] = {
        {"17x4096x4096 bf16 config=tile=64x256 cluster=1x1", 17},
        {"4096x64x4096 bf16 config=tile=128x16", 64}, /* which are the product's rows */
        {"300x4096x4096 bf16 config=tile=128x256", 128},
        {"17x4096x4096 bf16 dynamic=m config=tile=64x256 cluster=1x1", 64},
        {"40x4096x4096 bf16 groups=8 config=tile=64x256 cluster=1x1",
         64},                                                      /* rows of neighbours */
        {"24x4096x4096 bf16 layout=tn config=tile=128x128", 128},  /* in panels */
        {"24x4096x4096 bf16 config=tile=128x128 cluster=1x2", 32}, /* in two slices of 16 */
        {"24x4096x4096 bf16 input_align=2 config=tile=64x256", 64}, /* by threads */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_choice choice = choose(rows[i].text);
        cr_expect_eq(choice.derived.a_rows, rows[i].rows, "%s: %d", rows[i].text,
                     choice.derived.a_rows);
        cr_expect(choice.derived.a_rows == choice.config.layout.tile_m ||
                  choice.derived.a_box.rows * choice.config.layout.cluster_n ==
                      choice.derived.a_rows);
    }
}

Test(choose, warpgroups_end_in_turn_where_the_ring_is_theirs_alone)
{
    static const struct {
        const char *problem;
        bool leads;
    } rows[] = {
        {"4096x4096x4096 bf16", true},
        {"4096x4096x4096 s8 config=tile=128x256", true},
        {"4096x4096x4096 bf16 c=bf16", false}, /* comes through the ring */
        {"4096x4096x4096 bf16 c=bf16 output_align=2 config=tile=128x256 pingpong=0", true},
        {"4096x4096x4096 e4m3 d=bf16", false}, /* sums are promoted */
        {"4096x4096x4096 bf16 input_align=8", false},
        {"4096x4096x64 bf16", false},  /* a tile does not fill the ring */
        {"128x4096x4096 bf16", false}, /* one tile for each CTA */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_choice choice = choose(rows[i].problem);
        cr_expect_eq(choice.derived.lead_stages,
                     rows[i].leads ? choice.config.pipeline.stages - 1 : 0, "%s",
                     rows[i].problem);
    }
}

/* Which input L2 gives up first: weights that one or two tiles of few rows read. */
Test(choose, streamed_weights_are_given_up_first)
{
    static const struct {
        const char *problem;
        enum jg_evict_first evict_first;
    } rows[] = {
        {"16x4096x4096 bf16", JG_EVICT_FIRST_A}, /* weights are the product's A */
        {"64x4096x4096 bf16 config=tile=64x32 swap_ab=1", JG_EVICT_FIRST_A}, /* two tiles */
        {"96x4096x4096 bf16 config=tile=64x32 swap_ab=1", JG_EVICT_FIRST_NONE},
        {"64x28672x4096 bf16 config=tile=64x256", JG_EVICT_FIRST_B},
        {"4096x4096x4096 bf16", JG_EVICT_FIRST_NONE},
        {"256x256x16384 bf16", JG_EVICT_FIRST_NONE},
        {"16x4096x4096 bf16 input_align=2", JG_EVICT_FIRST_NONE}, /* threads load */
        {"16x4096x4096 bf16 groups=4 group_by=offsets", JG_EVICT_FIRST_A},
        {"2048x4096x4096 bf16 groups=4 group_by=offsets", JG_EVICT_FIRST_NONE},
        {"16x4096x4096 bf16 groups=4 group_by=pointers", JG_EVICT_FIRST_NONE},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cr_expect_eq(choose(rows[i].problem).derived.evict_first, rows[i].evict_first, "%s",
                     rows[i].problem);
    }
}

/* Tiles of 128 rows leave fewer of a group's last one empty, and multiply slower. */
Test(choose, scales_of_groups_of_few_hundred_rows_take_tiles_of_128)
{
#define BLOCKS " e4m3 d=bf16 a_scale=1x128 b_scale=128x128 groups=128"
    expect_config("49152x1536x4096" BLOCKS, "tile=128x192x128");
    expect_config("65536x1536x4096" BLOCKS, "tile=256x128x128");
#undef BLOCKS
}

/* A short K and much to read or write, at sizes that fill whole waves. */
Test(choose, warpgroups_take_tiles_in_turn_where_the_epilogue_is_long)
{
    expect_config("4096x24576x1536 bf16 c=bf16", "tile=128x176x64 pingpong=1");
    expect_config("4096x24576x1536 bf16 c=f32", "tile=128x128x64 pingpong=1");
    expect_config("4096x24576x1536 bf16", "tile=128x192x64 pingpong=1");
    expect_config("4096x4096x4096 bf16 c=bf16", "tile=128x256x64 cluster");
    expect_config("4096x24576x1536 e4m3 d=bf16 c=bf16", "tile=128x192x128 cluster");
    /* The transposed kernel, which has this tile too, takes none in turn. */
    expect_config("130x776x320 f16 d_layout=column config=tile=128x192 pingpong=1",
                  "tile=128x192x64 pingpong=1");
}

Test(choose, tiles_in_turn_have_a_ring_for_matrices)
{
    const struct jg_choice with_c =
        choose("4096x4096x512 bf16 c=bf16 config=tile=128x128 pingpong=1");
    cr_expect_eq(with_c.derived.output.load_stages, 4);
    cr_expect_eq(with_c.derived.output.loads_per_step, 1);
    cr_expect_eq(with_c.config.pipeline.stages, 5); /* 6 without it */
    const struct jg_choice without =
        choose("4096x4096x512 bf16 config=tile=128x128 pingpong=1");
    cr_expect_eq(without.derived.output.load_stages, 0);
    cr_expect_eq(without.config.pipeline.stages, 6);
    cr_expect_eq(without.derived.lead_stages, 0);
}

Test(choose, what_a_problem_keeps_a_config_from_is_said)
{
    static const struct {
        const char *text, *config, *message;
    } rows[] = {
        {"512x512x512 bf16", "tile=128x256 pingpong=1",
         "problem.config: tile=128x256 pingpong=1 is none of the tiles of sm_90a: 128x192 "
         "128x128 64x256"},
        {"512x512x512 e4m3 d=bf16", "pingpong=1",
         "problem.config: pingpong=1: there is no kernel for sums of 8-bit floats"},
        {"512x512x512 e4m3 d=bf16", "tile=64x128 k_turns=1",
         "problem.config: k_turns=1: there is no kernel for A and B without f32 scales"},
        {"512x512x512 e4m3 d=bf16 a_scale=1x128", "tile=128x128 k_turns=1",
         "problem.config: k_turns=1: there is no kernel for other tiles than 64x32 to 64x160"},
        {"512x512x512 e4m3 d=bf16 a_scale=1x128", "tile=64x192 k_turns=1",
         "problem.config: k_turns=1: there is no kernel for other tiles than 64x32 to 64x160"},
        {"512x512x512 e4m3 d=bf16 dynamic=m,n,k a_scale=1x128", "tile=64x160 k_turns=1",
         "problem.config: k_turns=1: there is no kernel for tiles of more than 128 columns"},
        {"512x512x512 e4m3 d=bf16 a_scale=1x128", "tile=64x128 k_turns=1 stages=3",
         "problem.config: k_turns=1: there is no kernel for an odd number of stages"},
        {"512x512x512 e4m3 d=bf16 a_scale=1x128 groups=2", "tile=64x128 k_turns=1",
         "problem.config: k_turns=1: there is no kernel for groups and rows by an index"},
        {"512x512x512 e4m3 d=bf16 a_scale=1x128 invariant=m", "tile=64x128 k_turns=1",
         "problem.config: k_turns=1: every other block of K is added up by itself"},
        {"512x512x512 bf16 input_align=2", "pingpong=1 repack=none",
         "problem.config: pingpong=1: there is no kernel for A and B that threads load"},
        {"512x512x512 bf16 input_align=2", "tile=128x128 cluster=1x1 stages=2 repack=none",
         "problem.config: stages=2 is out of range: sm_90a, whose threads shift such "
         "inputs, takes 3 to 16"},
        {"512x512x512 bf16 workspace=64m", "pingpong=1 split_k=2",
         "problem.config: pingpong=1: there is no kernel for split_k of more than 1"},
        {"512x512x512 bf16 c=f32", "tile=128x192 pingpong=1",
         "problem.config: tile=128x192 pingpong=1: beside its accumulators sm_90a has "
         "registers for one matrix of 16 bits, no outputs, no scale=vector and no `uniform`"},
        {"512x512x512 bf16", "pingpong=2",
         "config: '2' at column 10 is no value of 'pingpong'"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_problem problem = plan_problem(rows[i].text);
        strcpy(problem.config, rows[i].config);
        struct jg_choice choice;
        cr_expect_eq(jg_config_choose(plan_hopper(), &problem,
                                      &plan_hopper()->default_facts, &choice, NULL),
                     JIT_GEMM_ERR_ARGUMENT, "%s", rows[i].config);
        cr_expect_eq(strncmp(jg_error_text(), rows[i].message, strlen(rows[i].message)), 0,
                     "expected '%s...'\n     got '%s'", rows[i].message, jg_error_text());
    }
}

Test(choose, raster_makes_the_first_wave_compact)
{
    /* 66 clusters of 256 x 256 at once: 8 x 9 is the squarest. */
    expect_config("8192x8192x8192 bf16 config=tile=128x256 cluster=2x1", "raster_group=8");
    /* One column of tiles: nothing to group. */
    expect_config("65536x256x4096 bf16 config=tile=128x256 cluster=2x1",
                  "raster=m raster_group=1");
}

Test(choose, override_keeps_what_it_names_and_the_rest_is_chosen)
{
    expect_config("4096x4096x4096 bf16 config=tile=64x256", "tile=64x256x64");
    expect_config("4096x4096x4096 bf16 config=cluster=1x1", "cluster=1x1");
    expect_config("4096x4096x4096 bf16 config=stages=3", "stages=3");
    expect_config("4096x4096x4096 bf16 config=raster=n", "raster=n");
    expect_config("4096x4096x4096 bf16 config=raster_group=2", "raster_group=2");
    expect_config("4096x4096x4096 bf16 config=out_stages=1", "out_stages=1");
    expect_config("4096x4096x4096 e4m3 d=bf16 a_scale=tensor config=out_stages=1",
                  "out_stages=1");
    expect_config("4096x4096x4096 bf16 config=pdl=0", "pdl=0");
    expect_config("4096x4096x4096 bf16 config=stages=6 pingpong=0",
                  "tile=128x128x64 cluster=2x1 stages=6");
    expect_config(
        "64x64x64 bf16 config=kernel=gemm tile=128x192x64 cluster=1x2 stages=3 "
        "raster=n raster_group=16 out_stages=1 pdl=0",
        "kernel=gemm tile=128x192x64 cluster=1x2 stages=3 raster=n raster_group=16 "
        "out_stages=1 pdl=0");
}

Test(choose, impossible_override_says_which_limit_is_broken)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"tile=128x256 stages=6",
         "problem.config: stages=6 needs 328704 bytes of shared memory, sm_90a has 232448; "
         "at most stages=4 with tile=128x256 out_stages=2; change the config"},
        {"tile=96x96",
         "problem.config: tile=96x96 is none of the tiles of sm_90a: 128x256 "
         "256x128 128x192 128x128 64x256 64x128 128x224 128x160 128x96 128x112 128x144 "
         "128x176 128x208 64x224 64x192 64x160; of a transposed product: 128x16 128x32 128x64 64x32 64x64 64x96 64x128 256x16 256x32 256x64 "
         "64x160 64x192 128x160 128x192; change the config"},
        {"tile=256x256", "problem.config: tile=256x256 is none of the tiles"},
        {"tile=128x256x32", "problem.config: tile=128x256x32: the K of a tile of bf16 on "
                            "sm_90a is 64"},
        {"cluster=2x2",
         "problem.config: cluster=2x2 is none of the clusters of sm_90a: 2x1 "
         "1x2 1x1"},
        {"cluster=16x16", "problem.config: cluster=16x16 is none of the clusters"},
        {"stages=1", "problem.config: stages=1 is out of range: sm_90a takes 2 to 16"},
        {"tile=64x128 out_stages=1 stages=9",
         "problem.config: stages=9 needs 238592 bytes of shared memory, sm_90a has 232448; "
         "at most stages=8 with tile=64x128 out_stages=1"},
        {"stages=64", "problem.config: stages=64 needs"},
        {"mma=128x256",
         "problem.config: 'mma' is a key of another architecture than "
         "sm_90a; keys of sm_90a: kernel tile pingpong k_turns cluster stages raster raster_group "
         "out_stages pdl"},
        {"cta_group=2", "problem.config: 'cta_group' is a key of another"},
        {"stages=4 acc_stages=2", "problem.config: 'acc_stages' is a key of another"},
        {"split_k=17 split_order=cluster",
         "problem.config: split_k=17 split_order=cluster: a cluster has 2 to 16 parts of "
         "K, and of more parts all clusters have as many"},
        {"split_k=12 split_order=cluster cluster_k=5",
         "problem.config: split_k=12 split_order=cluster cluster_k=5: a cluster has 2 to 16 "
         "parts of K, and of more parts all clusters have as many"},
        {"split_k=4 split_order=serial cluster_k=2",
         "problem.config: cluster_k=2: clusters have parts of K with split_k= and "
         "split_order=cluster"},
        {"cluster=2x1 split_k=11 split_order=cluster",
         "problem.config: cluster=2x1 split_k=11 split_order=cluster: a cluster has 2 to 8 "
         "parts of K, and of more parts all clusters have as many"},
        {"cluster=1x2 split_k=24 split_order=cluster cluster_k=12",
         "problem.config: cluster=1x2 split_k=24 split_order=cluster cluster_k=12: a "
         "cluster has 2 to 8 parts of K"},
        {"cluster=4x2 split_k=3 split_order=cluster",
         "problem.config: cluster=4x2 split_k=3 split_order=cluster: a cluster has 2 to 2 "
         "parts of K"},
        {"cluster=4x2 split_k=2",
         "problem.config: cluster=4x2 is none of the clusters of sm_90a: 2x1 1x2 1x1; with "
         "parts of K: 2x2 4x1 4x2"},
        {"cluster=16x16 split_k=2 split_order=cluster",
         "problem.config: cluster=16x16 is none of the clusters of sm_90a"},
        {"tile=128x256 split_k=2 split_order=cluster stages=2",
         "problem.config: stages=2 needs 263168 bytes of shared memory, sm_90a has 232448; "
         "at most stages=1 with tile=128x256"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_problem problem = plan_problem("4096x4096x4096 bf16");
        strcpy(problem.config, rows[i].text);
        struct jg_choice choice;
        memset(&choice, 0x5a, sizeof(choice));
        const struct jg_choice before = choice;

        cr_expect_eq(jg_config_choose(plan_hopper(), &problem,
                                      &plan_hopper()->default_facts, &choice, NULL),
                     JIT_GEMM_ERR_ARGUMENT, "%s", rows[i].text);
        cr_expect_eq(strncmp(jg_error_text(), rows[i].message, strlen(rows[i].message)), 0,
                     "expected '%s...'\n     got '%s'", rows[i].message, jg_error_text());
        cr_expect_eq(memcmp(&choice, &before, sizeof(before)), 0);
    }
}

Test(choose, a_block_of_k_is_128_bytes)
{
    expect_config("512x512x512 tf32 config=tile=128x128", "tile=128x128x32 ");
    expect_config("512x512x512 f16 config=tile=128x128", "tile=128x128x64 ");
    expect_config("512x512x512 e5m2 b=e4m3 config=tile=128x128", "tile=128x128x128 ");
    expect_config("512x512x512 s8 config=tile=128x128x128", "tile=128x128x128 ");
    expect_config("512x512x300 e4m3 config=tile=128x128", "stages=3 ");
}

Test(choose, types_and_layouts_that_no_config_takes_are_unsupported)
{
    static const struct {
        const char *arch, *text, *message;
    } rows[] = {
        {"sm_90a", "512x512x512 tf32 layout=tt",
         "problem.a.layout: sm_90a multiplies tf32 from K-major layouts only, A is "
         "MN-major; give layout=nt, both K-major: transpose the matrix first"},
        {"sm_90a", "512x512x512 e4m3 b=e5m2 layout=nn config=tile=128x128",
         "problem.b.layout: sm_90a multiplies e5m2 from K-major layouts only, B is "
         "MN-major"},
        {"sm_90a", "512x512x512 s8 layout=tn", "problem.a.layout: sm_90a multiplies s8"},
        {"sm_90a", "512x512x512 tf32 layout=nn input_align=4",
         "problem.b.layout: sm_90a multiplies tf32 from K-major layouts only, B is "
         "MN-major"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_arch *arch = jg_arch_find(rows[i].arch);
        const struct jg_problem problem = plan_problem(rows[i].text);
        struct jg_choice choice;

        cr_expect_eq(jg_config_choose(arch, &problem, &arch->default_facts, &choice, NULL),
                     JIT_GEMM_ERR_UNSUPPORTED, "%s", rows[i].text);
        cr_expect_eq(strncmp(jg_error_text(), rows[i].message, strlen(rows[i].message)), 0,
                     "expected '%s...'\n     got '%s'", rows[i].message, jg_error_text());
    }
}

Test(choose, sums_of_8_bit_floats_need_a_second_set_of_registers)
{
    struct jg_problem problem = plan_problem("4096x4096x4096 e4m3 config=tile=128x256");
    struct jg_choice choice;

    cr_expect_eq(jg_config_choose(plan_hopper(), &problem, &plan_hopper()->default_facts,
                                  &choice, NULL),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_not_null(strstr(jg_error_text(),
                              "tile=128x256: sums of e4m3 are added up in a second set of "
                              "registers, for which sm_90a has room up to 192 columns"),
                       "%s", jg_error_text());
    expect_config("4096x4096x4096 e4m3 config=tile=256x128", "tile=256x128x128");
    expect_config("4096x4096x4096 s8 config=tile=128x256", "tile=128x256x128");
}

/* The transposed product: M and N of tile and cluster change places. */
Test(choose, column_major_d_is_planned_as_its_transpose)
{
    static const struct {
        const char *problem, *transpose;
    } rows[] = {
        {"4096x512x1024 bf16 d_layout=column", "512x4096x1024 bf16"},
        {"4096x8x1024 bf16 d_layout=column", "8x4096x1024 bf16"},
        {"333x8192x512 bf16 layout=tt d_layout=column", "8192x333x512 bf16 layout=nn"},
        {"m=64 n=4096 k=64 a=f16 c=f16 batch=3 d_layout=column",
         "m=4096 n=64 k=64 a=f16 c=f16 batch=3"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_choice column = plan_choose(plan_hopper(), rows[i].problem);
        const struct jg_choice row = plan_choose(plan_hopper(), rows[i].transpose);

        cr_expect_neq(column.config.layout.swap_ab, row.config.layout.swap_ab);
        cr_expect_eq(column.product.d_is_transpose, row.product.d_is_transpose);
        column.config.layout.swap_ab = row.config.layout.swap_ab;
        cr_expect_eq(memcmp(&column.config, &row.config, sizeof(row.config)), 0, "%s",
                     rows[i].problem);
        cr_expect_eq(column.derived.tiles, row.derived.tiles);
        cr_expect_eq(column.derived.a_box.rows, row.derived.a_box.rows);
        cr_expect_eq(column.derived.b_box.rows, row.derived.b_box.rows);
    }
    const struct jg_problem ragged =
        plan_problem("511x512x512 bf16 d_layout=column config=out_stages=1");
    struct jg_choice choice;
    cr_expect_eq(jg_config_choose(plan_hopper(), &ragged, &plan_hopper()->default_facts,
                                  &choice, NULL),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_not_null(
        strstr(jg_error_text(), "or a column of D that is no multiple of 16"), "%s",
        jg_error_text());
}

Test(choose, outputs_cost_more_the_less_is_promised_of_their_alignment)
{
    static const char *const texts[] = {"4096x4096x256 bf16 c=bf16",
                                        "4096x4096x256 bf16 c=bf16 output_align=4",
                                        "4096x4096x256 bf16 c=bf16 output_align=2"};
    double before = 0.0;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const double us = plan_choose(plan_hopper(), texts[i]).derived.predicted_us;
        cr_expect_gt(us, before, "%s: %f", texts[i], us);
        before = us;
    }
}

Test(choose, matrices_and_ragged_rows_need_both_output_stages)
{
    static const char *const texts[] = {
        "512x512x512 bf16 c=bf16 config=out_stages=1",
        "512x511x512 bf16 config=out_stages=1",
        "512x512x512 bf16 dynamic=n config=out_stages=1",
        "512x512x512 bf16 d=e4m3 config=out_stages=1",
        "512x512x512 bf16 output_align=8 config=out_stages=1",
        "512x512x512 bf16 d_rows=indexed config=out_stages=1",
        "m=512 n=512 k=512 a=bf16 groups=2 group_by=pointers config=cluster=1x1 out_stages=1",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const struct jg_problem problem = plan_problem(texts[i]);
        struct jg_choice choice;

        cr_expect_eq(jg_config_choose(plan_hopper(), &problem,
                                      &plan_hopper()->default_facts, &choice, NULL),
                     JIT_GEMM_ERR_ARGUMENT);
        cr_expect_not_null(
            strstr(
                jg_error_text(),
                "out_stages=1 is too few for C, matrix operands, reductions, `uniform`, a "
                "dynamic N, a D of 8 bits, d_rows=indexed, group_by=pointers, output_align, "
                "pairs of neighbours in an MN-major B, or a row of D that is no multiple of "
                "16 bytes: they need out_stages=2"),
            "%s: %s", texts[i], jg_error_text());
    }
}

Test(choose, problem_without_a_usable_candidate_is_unsupported)
{
    const struct jg_problem problem =
        plan_problem("k=64 a=bf16 m=1000000000 n=1000000000 dynamic=m,n");
    struct jg_choice choice;
    struct jg_str trace = {0};

    cr_expect_eq(jg_config_choose(plan_hopper(), &problem, &plan_hopper()->default_facts,
                                  &choice, &trace),
                 JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect_not_null(strstr(jg_error_text(), "more than 2147483646 tiles of 128x256"));
    cr_expect_null(strstr(jg_str_text(&trace), "chosen: "));
    cr_expect_not_null(strstr(jg_str_text(&trace), "rejected: "));
    jg_str_free(&trace);
}

/* A grid has 2147483647 CTAs, and here two for each tile. */
Test(choose, tiles_of_more_ctas_than_a_grid_has_are_refused)
{
    const struct jg_problem problem =
        plan_problem("m=524288 n=524288 k=4096 batch=100 a=bf16 "
                     "config=tile=128x192 split_k=2 split_order=cluster");
    struct jg_choice choice;

    cr_expect_eq(jg_config_choose(plan_hopper(), &problem, &plan_hopper()->default_facts,
                                  &choice, NULL),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_not_null(
        strstr(jg_error_text(), "more than 1073741823 tiles of 128x192; split it"), "%s",
        jg_error_text());
}

/* ... whatever a batch of them is multiplied by. A multiprocessor of the first would have
 * more than 2^63 blocks of K, which a number that wraps around takes for few: its trace
 * says how many stages they need. */
Test(choose, tiles_that_no_number_counts_are_refused)
{
    for (int i = 0; i < 2; i++) {
        const struct jg_problem problem = plan_problem(
            i == 0 ? "m=2147483646 n=16 k=2147483646 a=bf16 batch=1048576 dynamic=k"
                   : "m=524288 n=524288 k=64 a=bf16 batch=2147483647 workspace=64m");
        struct jg_choice choice;
        struct jg_str trace = {0};

        cr_expect_eq(jg_config_choose(plan_hopper(), &problem,
                                      &plan_hopper()->default_facts, &choice, &trace),
                     JIT_GEMM_ERR_UNSUPPORTED);

        cr_expect_not_null(
            strstr(jg_str_text(&trace), "tile=128x16x64 cluster=1x1 stages=12 "), "%s",
            jg_str_text(&trace));
        jg_str_free(&trace);
    }
}

Test(choose, small_device_gets_what_fits)
{
    struct jg_device_facts facts = plan_hopper()->default_facts;
    facts.smem_optin_bytes = 101376;
    facts.sm_count = 1;
    const struct jg_problem problem = plan_problem("4096x4096x4096 bf16");
    struct jg_choice choice;

    cr_assert_eq(jg_config_choose(plan_hopper(), &problem, &facts, &choice, NULL),
                 JIT_GEMM_OK, "%s", jg_error_text());

    cr_expect_leq(choice.derived.smem_bytes, 101376);
    cr_expect_eq(choice.config.layout.cluster_m * choice.config.layout.cluster_n, 1);
    cr_expect_eq(choice.derived.grid_ctas, 1);
}

Test(choose, one_math_warpgroup_multiplies_small_tiles_that_it_need_not_share)
{
    static const struct {
        const char *problem;
        bool one;
    } rows[] = {
        {"256x2048x7168 bf16", true},
        {"256x2048x7168 bf16 invariant=m", true}, /* bits are the same */
        {"64x1536x7168 bf16 config=tile=64x64 swap_ab=1 split_k=4 split_order=cluster",
         true},
        {"256x2048x16384 e4m3 d=bf16 accumulate=fast config=tile=64x64 swap_ab=1", true},
        {"256x2048x16384 e4m3 d=bf16 config=tile=64x64 swap_ab=1", false}, /* promoted */
        {"256x2048x7168 bf16 config=tile=64x96 swap_ab=1", false},
        {"256x2048x7168 bf16 config=tile=128x64 swap_ab=1", false},
        {"512x2048x7168 bf16 config=tile=64x64 swap_ab=1", false}, /* several tiles */
        {"512x1024x4096 bf16 config=tile=64x64 swap_ab=1", false}, /* a short K */
        {"512x512x4096 bf16 config=tile=64x64 swap_ab=1 split_k=2 split_order=cluster",
         true},
        {"64x4096x4096 bf16 config=tile=64x32 swap_ab=1", true},
        {"256x2048x7168 bf16 c=bf16 config=tile=64x64 swap_ab=1", false},
        {"256x2048x7168 bf16 c=bf16 output_align=2 config=tile=64x64 swap_ab=1", true},
        {"256x2048x7168 bf16 input_align=8 config=tile=64x64 swap_ab=1", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_choice choice = choose(rows[i].problem);
        cr_expect_eq(choice.derived.one_multiplies, rows[i].one, "%s", rows[i].problem);
    }
    expect_config(rows[0].problem, "tile=64x64x64 cluster=1x1 stages=13 ");
}

/* So that a config that is printed is the same one when it is read. */
Test(choose, blocks_of_k_in_turn_are_named_where_they_may_be)
{
#define SCALED "m=300 n=4096 k=7168 a=e4m3 d=bf16 a_scale=1x128 b_scale=1x128 "
    expect_config(SCALED, "tile=64x160x128 k_turns=1 ");
    expect_config(SCALED "config=tile=64x128 k_turns=0", "tile=64x128x128 k_turns=0 ");
    expect_config(SCALED "config=tile=64x128 stages=5", "tile=64x128x128 k_turns=0 ");
    expect_config(SCALED "config=tile=64x128 stages=4", "tile=64x128x128 k_turns=1 ");
    expect_config(SCALED "config=tile=128x128 k_turns=0", "tile=128x128x128 cluster=");
#undef SCALED
}

Test(choose, reference_kernel_has_no_other_field)
{
    const struct jg_choice choice =
        choose("1000x1000x8 bf16 batch=2 config=kernel=reference");
    struct jg_config expected;
    memset(&expected, 0, sizeof(expected));
    expected.kernel = JG_KERNEL_REFERENCE;

    cr_expect_eq(memcmp(&choice.config, &expected, sizeof(expected)), 0);
    cr_expect_eq(choice.derived.threads, 256);
    cr_expect_eq(choice.derived.smem_bytes, 0);
    cr_expect_eq(choice.derived.grid_ctas, 3907 * 2);
    cr_expect_eq(choose("m=262144 n=262144 k=8 batch=2147483647 a=bf16 "
                        "config=kernel=reference")
                     .derived.grid_ctas,
                 65535 * 8);
}

Test(choose, what_streams_past_few_rows_of_d_is_8_mib_at_a_time)
{
    static const struct {
        const char *problem;
        int stages;
    } rows[] = {
        {"8x6144x4096 bf16 config=tile=64x32 split_k=1", 11},
        {"8x6144x4096 bf16 config=tile=128x16 split_k=2 split_order=cluster", 9},
        {"16x8192x8192 e4m3 d=bf16 config=tile=128x16 split_k=1", 8},
        {"16x14336x4096 bf16 config=tile=128x16 split_k=1", 6}, /* no fewer */
        {"64x2048x4096 bf16 config=tile=64x64 split_k=1", 13},  /* no more fit */
        {"16x4096x256 bf16 config=tile=64x32 split_k=1", 4},    /* K has no more */
        {"4096x16x4096 bf16 d_layout=column config=tile=128x16 split_k=1", 12},
        {"1x4096x4096 bf16 config=tile=64x32 split_k=1 stages=3", 3},
        {"64x4096x4096 bf16 config=tile=64x128 swap_ab=0 split_k=1", 8}, /* all that fit */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cr_expect_eq(choose(rows[i].problem).config.pipeline.stages, rows[i].stages,
                     "%s: stages=%d", rows[i].problem,
                     choose(rows[i].problem).config.pipeline.stages);
    }
}

Test(choose, derived_sizes_follow_the_kernels_formulas)
{
    static const int64_t sizes[] = {1, 17, 64, 129, 333, 1000, 4096};
    for (size_t i = 0; i < 7; i++) {
        for (size_t j = 0; j < 7; j++) {
            char text[64];
            snprintf(text, sizeof(text), "%lldx%lldx%lld bf16 batch=%zu",
                     (long long)sizes[i], (long long)sizes[j],
                     (long long)sizes[(i + j) % 7], 1 + j);
            const struct jg_choice choice = choose(text);
            const struct jg_config *config = &choice.config;
            const struct jg_derived *derived = &choice.derived;
            const int64_t stage =
                (int64_t)(config->layout.tile_m + config->layout.tile_n) * 64 * 2;
            const bool adds_up = config->launch.split_order == JG_SPLIT_CLUSTER;
            const int64_t tile_bytes = config->layout.tile_m * config->layout.tile_n * 4;
            const bool in_ring = tile_bytes <= 2 * stage;
            const int64_t sums = adds_up ? (in_ring ? 0 : tile_bytes) + 8 * 3 * 8 : 0;
            /* Of both warpgroups: a staging buffer each, or of D what a tile has. */
            const int64_t out =
                config->storage.out_stages == 1 ? tile_bytes / 2 : 2 * 2 * 8192;
            const int64_t smem =
                jg_align_up(sums + config->pipeline.stages * stage + out +
                                16 * config->pipeline.stages + 24, /* empty parts */
                            1024);

            cr_expect_eq(derived->threads, 384);
            cr_expect_eq(derived->smem_bytes, smem, "%s", text);
            cr_expect_leq(derived->smem_bytes, 232448);
            const int64_t m_step = config->layout.tile_m * config->layout.cluster_m;
            const int64_t n_step = config->layout.tile_n * config->layout.cluster_n;
            const bool swap = config->layout.swap_ab != 0;
            const int64_t m = sizes[swap ? j : i], n = sizes[swap ? i : j];
            cr_expect_eq(derived->tiles,
                         (int64_t)(1 + j) * ((m + m_step - 1) / m_step) *
                             config->layout.cluster_m * ((n + n_step - 1) / n_step) *
                             config->layout.cluster_n,
                         "%s", text);
            cr_expect_leq(derived->grid_ctas, 132);
            cr_expect_eq(derived->grid_ctas %
                             (config->layout.cluster_m * config->layout.cluster_n),
                         0);
            cr_expect_gt(derived->predicted_us, 0.0);
        }
    }
}

Test(choose, trace_says_what_an_index_makes_of_rows)
{
    const struct jg_problem problem = plan_problem("m=512 n=512 k=512 a=bf16 groups=4 "
                                                   "a_rows=indexed d_rows=indexed");
    struct jg_choice choice;
    struct jg_str trace = {0};
    cr_assert_eq(jg_config_choose(plan_hopper(), &problem, &plan_hopper()->default_facts,
                                  &choice, &trace),
                 JIT_GEMM_OK);
    cr_expect_not_null(strstr(jg_str_text(&trace),
                              "A's rows loaded by threads where an index says, rows of D "
                              "stored by threads where an index says"));
    cr_expect_eq(choice.derived.output.epilogue, JG_EPILOGUE_VECTORS);
    jg_str_free(&trace);
}

Test(choose, trace_has_one_line_a_candidate_and_one_winner)
{
    static const char *const texts[] = {"4096x4096x4096 bf16", "17x333x1 f16",
                                        "512x512x512 bf16 config=stages=8",
                                        "512x512x512 bf16 config=tile=64x128 cluster=1x1"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const struct jg_problem problem = plan_problem(texts[i]);
        struct jg_choice choice;
        struct jg_str trace = {0};
        cr_assert_eq(jg_config_choose(plan_hopper(), &problem,
                                      &plan_hopper()->default_facts, &choice, &trace),
                     JIT_GEMM_OK);
        int lines = 0;
        int chosen = 0;
        for (const char *line = jg_str_text(&trace); *line != '\0';
             line = strchr(line, '\n') + 1) {
            lines++;
            chosen += strncmp(line, "chosen: kernel=gemm tile=", 25) == 0;
            cr_expect(strncmp(line, "chosen: ", 8) == 0 ||
                      strncmp(line, "rejected: kernel=gemm tile=", 27) == 0);
        }
        cr_expect_eq(lines, 77);
        cr_expect_eq(chosen, 1);
        jg_str_free(&trace);
    }
}

Test(choose, same_input_gives_the_same_output)
{
    const struct jg_problem problem = plan_problem("3000x3000x3000 bf16");
    struct jg_choice first;
    struct jg_choice second;
    memset(&first, 0, sizeof(first));
    memset(&second, 0, sizeof(second));
    struct jg_str first_trace = {0};
    struct jg_str second_trace = {0};

    jg_config_choose(plan_hopper(), &problem, &plan_hopper()->default_facts, &first,
                     &first_trace);
    jg_config_choose(plan_hopper(), &problem, &plan_hopper()->default_facts, &second,
                     &second_trace);

    cr_expect_eq(memcmp(&first.config, &second.config, sizeof(first.config)), 0);
    cr_expect_str_eq(jg_str_text(&first_trace), jg_str_text(&second_trace));
    jg_str_free(&first_trace);
    jg_str_free(&second_trace);
}
