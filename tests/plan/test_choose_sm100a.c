/* SPDX-License-Identifier: MIT */
/* The choice on sm_100a: winners, limits, overrides, sizes that the device must agree on.
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/math.h"
#include "plan_fixture.h"

static const struct jg_arch *blackwell(void)
{
    const struct jg_arch *arch = jg_arch_find("sm_100a");
    cr_assert_not_null(arch);
    return arch;
}

static struct jg_choice choose(const char *text)
{
    return plan_choose(blackwell(), text);
}

static void expect_config(const char *text, const char *expected)
{
    plan_expect_config(blackwell(), text, expected);
}

Test(choose_sm100a, default_facts_are_those_of_a_b200)
{
    const struct jg_device_facts *facts = &blackwell()->default_facts;

    cr_expect_str_eq(facts->name, "NVIDIA B200");
    cr_expect_eq(facts->sm_count, 148);
    cr_expect_eq(facts->l2_bytes, 132644864);
    cr_expect_eq(facts->smem_optin_bytes, 232448);
    cr_expect(jg_arch_runs_on(blackwell(), facts));
}

Test(choose_sm100a, large_problems_take_pairs_of_ctas)
{
    expect_config("8192x8192x8192 bf16", "mma=256x256 cta_group=2");
    expect_config("16384x16384x4096 f16 layout=tn", "mma=256x256 cta_group=2");
    expect_config("4096x4096x4096 bf16", "cta_group=2");
}

Test(choose_sm100a, small_problems_take_small_tiles_to_fill_the_chip)
{
    expect_config("1024x1024x1024 bf16", "mma=128x128 cta_group=2 cluster=2x1");
    expect_config("256x4096x4096 bf16", "mma=128x128 cta_group=2 cluster=2x1");
}

/* The problem's M then lies along the N of the multiplication, which is small. */
Test(choose_sm100a, few_rows_of_a_are_multiplied_as_columns)
{
    static const int sizes[] = {1, 2, 8, 15, 16, 17, 24, 31, 32};
    static const char *const rests[] = {"4096x4096 bf16", "16384x2048 f16",
                                        "1024x8192 bf16 d=f32",
                                        "7168x4096 bf16 c=bf16 layout=nn"};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (size_t j = 0; j < sizeof(rests) / sizeof(rests[0]); j++) {
            char text[96];
            snprintf(text, sizeof(text), "%dx%s", sizes[i], rests[j]);
            const struct jg_choice choice = choose(text);
            cr_expect_eq(choice.config.layout.swap_ab, 1, "%s", text);
            cr_expect_leq(choice.config.layout.mma_n, 64, "%s: N of %d", text,
                          choice.config.layout.mma_n);
        }
    }
    cr_expect_eq(choose("4096x16x4096 bf16").config.layout.swap_ab, 0);
    cr_expect_eq(choose("8192x8192x8192 bf16").config.layout.swap_ab, 0);
    cr_expect_eq(choose("16x4096x4096 bf16 config=swap_ab=0").config.layout.swap_ab, 0);
    cr_expect_eq(choose("4096x4096x4096 bf16 config=swap_ab=1").config.layout.swap_ab, 1);
}

/* Of 256 rows of D a tile by pairs would leave some empty. As columns they are divided. */
Test(choose_sm100a, pairs_beside_scales_have_a_hundred_rows_as_columns)
{
    expect_config("96x8192x8192 mxfp8 d=bf16", "mma=256x64 cta_group=2");
    expect_config("96x8192x8192 mxfp8 d=bf16", "swap_ab=1");
    expect_config("384x28672x4096 nvfp4 d=bf16", "mma=256x192 cta_group=2");
    expect_config("384x28672x4096 nvfp4 d=bf16", "swap_ab=1");
    cr_expect_eq(
        choose("28672x384x4096 nvfp4 d=bf16 d_layout=column").config.layout.swap_ab, 0);
    cr_expect_eq(choose("4096x4096x4096 mxfp8 d=bf16").config.layout.swap_ab, 0);
    cr_expect_eq(choose("384x28672x4096 mxfp8 config=mma=256x192").config.layout.swap_ab,
                 0);
}

/* A column-major D is written without turning it by the transposed product. */
Test(choose_sm100a, column_major_d_takes_the_transposed_product)
{
    expect_config("8192x8192x8192 bf16 d_layout=column", "swap_ab=1");
    expect_config("8192x8192x8192 bf16 d_layout=column", "mma=256x256 cta_group=2");
    cr_expect_eq(choose("4096x16x4096 bf16 d_layout=column").config.layout.swap_ab, 0);
    cr_expect_eq(choose("16x4096x4096 bf16 d_layout=column").config.layout.swap_ab, 1);
    const struct jg_choice plain = choose("512x256x512 bf16 config=mma=128x64");
    const struct jg_choice turned =
        choose("256x512x512 bf16 d_layout=column config=mma=128x64 swap_ab=1");
    cr_expect_eq(turned.derived.d_box.rows, plain.derived.d_box.rows);
    cr_expect_eq(turned.derived.tiles, plain.derived.tiles);
    cr_expect_eq(turned.derived.smem_bytes, plain.derived.smem_bytes);
}

/* A multiplication of 64 rows by one CTA takes as long as one of 128. */
Test(choose_sm100a, half_of_a_tensor_core_is_never_chosen)
{
    const struct jg_problem problem = plan_problem("4096x4096x4096 bf16");
    struct jg_config candidate;
    for (int i = 0; blackwell()->candidate(&problem, i, &candidate); i++) {
        cr_expect_neq(candidate.layout.mma_m, 64);
    }
    expect_config("4096x4096x4096 bf16 config=mma=64x256", "mma=64x256 cta_group=1");
}

Test(choose_sm100a, every_shape_that_the_tensor_core_has_can_be_named)
{
    static const struct {
        int m, cta_group, step;
    } rows[] = {{64, 1, 8}, {128, 1, 16}, {128, 2, 16}, {256, 2, 16}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (int n = rows[i].step; n <= 256; n += rows[i].step) {
            for (int swap_ab = 0; swap_ab <= 1; swap_ab++) {
                char text[128];
                char expected[64];
                snprintf(expected, sizeof(expected), "mma=%dx%d cta_group=%d", rows[i].m, n,
                         rows[i].cta_group);
                snprintf(text, sizeof(text),
                         "4096x4096x4096 bf16 config=%s cluster=%dx1 swap_ab=%d", expected,
                         rows[i].cta_group, swap_ab);
                expect_config(text, expected);
                const struct jg_choice choice = choose(text);
                cr_expect_eq(choice.config.layout.swap_ab, swap_ab, "%s", text);
                cr_expect_eq(choice.derived.b_box.rows, n / rows[i].cta_group, "%s", text);
            }
        }
    }
}

/* An override that names an mma means the plain product, and pairs for 256 rows only. */
Test(choose_sm100a, mma_alone_means_one_cta_and_no_swap)
{
    expect_config("16x4096x4096 bf16 config=mma=128x64", "mma=128x64 cta_group=1");
    cr_expect_eq(choose("16x4096x4096 bf16 config=mma=128x32").config.layout.swap_ab, 0);
    expect_config("16x4096x4096 bf16 config=mma=256x64", "mma=256x64 cta_group=2");
    expect_config("16x4096x4096 bf16 config=mma=64x8 swap_ab=1", "swap_ab=1");
}

/* Store tiles of D fill the tile: their rows, and the bytes of their swizzle. */
Test(choose_sm100a, store_tiles_of_d_divide_the_tile)
{
    static const struct {
        const char *text;
        int rows, row_bytes, matrix_rows;
    } rows[] = {
        {"512x512x512 bf16 config=mma=128x64", 32, 128, 128},
        {"512x512x512 bf16 config=mma=128x96", 32, 64, 128},
        {"512x512x512 bf16 config=mma=128x48", 32, 32, 128},
        {"512x512x512 bf16 d=f32 config=mma=128x48", 32, 64, 128},
        {"512x512x512 bf16 config=mma=64x32", 16, 64, 64},
        {"512x512x512 bf16 config=mma=64x24", 16, 128, 64}, /* by vectors */
        {"512x512x512 bf16 config=mma=128x64 cta_group=2", 32, 64, 64},
        {"512x512x512 bf16 config=mma=256x64", 32, 128, 128},
        {"512x512x512 bf16 config=mma=128x64 swap_ab=1", 64, 128, 64},
        {"512x512x512 bf16 d=f32 config=mma=128x64 swap_ab=1", 32, 128, 64},
        {"512x512x512 bf16 config=mma=128x48 swap_ab=1", 16, 128, 48},
        {"512x512x512 bf16 config=mma=64x96 swap_ab=1", 32, 128, 64},
        {"512x512x512 bf16 config=mma=128x64 cta_group=2 swap_ab=1", 32, 128, 32},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_choice choice = choose(rows[i].text);
        cr_expect_eq(choice.derived.d_box.rows, rows[i].rows, "%s: %d", rows[i].text,
                     choice.derived.d_box.rows);
        cr_expect_eq(choice.derived.d_box.row_bytes, rows[i].row_bytes, "%s: %d",
                     rows[i].text, choice.derived.d_box.row_bytes);
        cr_expect_eq(choice.derived.matrix_box.rows, rows[i].matrix_rows, "%s: %d",
                     rows[i].text, choice.derived.matrix_box.rows);
    }
}

/* Two accumulators, each at a multiple of 32 columns; half of N in each CTA of 64 rows of a
 * pair. */
Test(choose_sm100a, tensor_memory_is_a_power_of_two_of_columns)
{
    static const struct {
        const char *config;
        int columns;
    } rows[] = {
        {"mma=64x8 acc_stages=1", 32},
        {"mma=64x8 acc_stages=2", 64},
        {"mma=128x80 acc_stages=2", 256},
        {"mma=128x176 acc_stages=1", 256},
        {"mma=256x256 acc_stages=2", 512},
        {"mma=128x256 cta_group=2 acc_stages=2", 256},
        {"mma=128x16 cta_group=2 acc_stages=1", 32},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[96];
        snprintf(text, sizeof(text), "512x512x512 bf16 config=%s", rows[i].config);
        cr_expect_eq(choose(text).derived.tmem_columns, rows[i].columns, "%s", text);
    }
}

Test(choose_sm100a, second_accumulator_is_for_a_second_tile)
{
    expect_config("8192x8192x512 bf16", "acc_stages=2");
    expect_config("128x64x512 bf16", "acc_stages=1");
    expect_config("128x64x512 bf16 dynamic=m", "acc_stages=2");
    expect_config("8192x8192x512 bf16 config=acc_stages=1", "acc_stages=1");
}

/* Cells of all stages lie beside the accumulators, or stages take turns with four. */
Test(choose_sm100a, scales_leave_room_for_a_second_accumulator_in_narrower_tiles)
{
    static const struct {
        const char *text;
        int acc_stages, stages;
    } rows[] = {
        {"8192x8192x8192 mxfp8 d=bf16 config=mma=256x256", 2, 5},
        {"1024x1024x8192 mxfp8 d=bf16 config=mma=256x256", 1, 5},
        {"8192x8192x8192 mxfp8 d=bf16 config=mma=256x224", 2, 6},
        {"8192x8192x8192 mxfp8 d=bf16 config=mma=256x224 stages=5", 2, 5},
        {"8192x8192x8192 mxfp8 d=bf16 config=mma=256x192", 2, 6},
        {"8192x8192x8192 mxfp4 d=bf16 config=mma=256x192", 2, 5},
        {"8192x8192x8192 nvfp4 d=bf16 config=mma=256x256", 2, 5},
        /* Beside two accumulators five stages take turns with two cells. */
        {"8192x8192x8192 nvfp4 d=bf16 config=mma=256x192", 2, 5},
        {"8192x8192x8192 nvfp4 d=bf16 config=mma=256x160", 2, 6},
        {"8192x8192x8192 nvfp4 d=bf16 config=mma=256x128", 2, 6},
        {"1024x1024x8192 nvfp4 d=bf16 config=mma=256x128", 1, 6},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_choice choice = choose(rows[i].text);
        cr_expect_eq(choice.config.storage.acc_stages, rows[i].acc_stages, "%s: %d",
                     rows[i].text, choice.config.storage.acc_stages);
        cr_expect_eq(choice.config.pipeline.stages, rows[i].stages, "%s: %d", rows[i].text,
                     choice.config.pipeline.stages);
        cr_expect_leq(choice.derived.tmem_columns, 512, "%s", rows[i].text);
        cr_expect_gt(choice.derived.scale_columns, 0, "%s", rows[i].text);
    }
}

/* Large tiles where one accumulator is no more than they save, else two. */
Test(choose_sm100a, scaled_tiles_are_chosen_by_what_their_accumulators_cost)
{
    expect_config("4096x7168x2048 mxfp8 d=bf16", "mma=256x224 cta_group=2");
    expect_config("4096x7168x2048 mxfp8 d=bf16", "acc_stages=2");
    /* Power is the limit: nobody waits for the multiplications that wait. */
    expect_config("8192x8192x8192 mxfp8 d=bf16", "mma=256x256 cta_group=2");
    expect_config("16384x16384x16384 nvfp4 d=bf16", "mma=256x256 cta_group=2");
    expect_config("16384x16384x16384 nvfp4 d=bf16", "acc_stages=2");
    expect_config("8192x8192x1024 nvfp4 d=bf16", "acc_stages=2");
}

Test(choose_sm100a, model_counts_bytes_of_scales_and_epilogues_that_are_not_hidden)
{
    static const char config[] = "8192x8192x1024 %s d=bf16 config=mma=256x128 cluster=2x1 "
                                 "stages=5 acc_stages=%d";
    static const char *const types[] = {"e4m3", "mxfp8", "mxfp4", "nvfp4"};
    double us[4][2], waiting_us[4][2];
    for (int i = 0; i < 8; i++) {
        char text[128];
        snprintf(text, sizeof(text), config, types[i / 2], i % 2 + 1);
        const struct jg_choice choice = choose(text);
        us[i / 2][i % 2] = choice.derived.predicted_us;
        waiting_us[i / 2][i % 2] = choice.derived.waiting_us;
    }
    for (int i = 0; i < 4; i++) {
        cr_expect_gt(us[i][0] - us[i][1], 2.0, "%s: one accumulator", types[i]);
        cr_expect_gt(waiting_us[i][0], 4 * waiting_us[i][1], "%s", types[i]);
    }
    cr_expect_gt(us[1][1], us[0][1], "MXFP8 loads scales, too");
    cr_expect_gt(us[3][1], us[2][1], "NVFP4 has twice as many as MXFP4");
    cr_expect_lt(us[3][1], 0.65 * us[1][1], "twice as many elements in the same clocks");
    cr_expect_gt(us[2][1], 0.5 * us[1][1]);
}

Test(choose_sm100a, one_wave_of_known_sizes_needs_no_loop_and_the_rest_asks_for_tiles)
{
    expect_config("1024x1024x1024 bf16", "scheduler=single");
    expect_config("8192x8192x512 bf16", "scheduler=clc");
    expect_config("1024x1024x1024 bf16 dynamic=m", "scheduler=clc");
    expect_config("1024x1024x1024 bf16 dynamic=batch", "scheduler=clc");
    expect_config("1024x1024x1024 bf16 dynamic=k", "scheduler=single");
    expect_config("1024x1024x1024 bf16 config=scheduler=static", "scheduler=static");
    expect_config("8192x8192x512 bf16 config=scheduler=single",
                  "scheduler=single k_group=1 stages=6 acc_stages=1");
    expect_config("128x64x4096 bf16 config=split_k=4", "scheduler=single");
    expect_config("8192x512x4096 bf16 config=split_k=4", "scheduler=static");
}

Test(choose_sm100a, stages_count_groups_of_blocks_of_k)
{
    expect_config("4096x4096x4096 bf16 config=mma=128x64 k_group=1", "k_group=1 stages=8");
    expect_config("4096x4096x4096 bf16 config=mma=128x64 k_group=2", "k_group=2 stages=4");
    expect_config("4096x4096x4096 bf16 config=mma=128x64 k_group=4", "k_group=4 stages=2");
    expect_config("4096x4096x320 bf16 config=mma=128x64 k_group=2", "k_group=2 stages=3");
    expect_config("4096x4096x4096 bf16", "k_group=1");
}

Test(choose_sm100a, small_tiles_take_several_blocks_of_k_a_stage)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        {"512x512x4096 bf16 config=mma=64x16 cta_group=1", "k_group=4"},
        {"512x512x4096 bf16 config=mma=64x32 cta_group=1", "k_group=2"},
        {"512x512x4096 bf16 config=mma=64x96 cta_group=1", "k_group=2"},
        {"512x512x4096 bf16 config=mma=64x128 cta_group=1", "k_group=1"},
        {"512x512x4096 bf16 config=mma=128x96 cta_group=2", "k_group=2"},
        {"512x512x4096 bf16 config=mma=256x128 cta_group=2", "k_group=1"},
        /* Two stages at least are to be filled. */
        {"512x512x512 bf16 config=mma=64x16 cta_group=1", "k_group=4 stages=2"},
        {"512x512x448 bf16 config=mma=64x16 cta_group=1", "k_group=2 stages=4"},
        {"512x512x192 bf16 config=mma=64x16 cta_group=1", "k_group=1 stages=3"},
        {"512x512x4096 bf16 config=mma=64x16 cta_group=1 split_k=16", "k_group=2"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        expect_config(rows[i].text, rows[i].expected);
    }
}

Test(choose_sm100a, grid_has_all_tiles_unless_it_is_static)
{
    static const struct {
        const char *text;
        int grid, busy, threads;
    } rows[] = {
        {"4096x4096x512 bf16 config=mma=256x256 cluster=2x1 scheduler=clc", 512, 148, 224},
        {"4096x4096x512 bf16 config=mma=256x256 cluster=2x1 scheduler=single", 512, 148,
         192},
        {"4096x4096x512 bf16 config=mma=256x256 cluster=2x1 scheduler=static", 148, 148,
         192},
        {"304x304x512 bf16 config=mma=256x256 cluster=4x1 scheduler=static", 8, 8, 192},
        {"304x304x512 bf16 batch=3 config=mma=256x256 cluster=4x1 scheduler=clc", 24, 24,
         224},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_choice choice = choose(rows[i].text);
        cr_expect_eq(choice.derived.grid_ctas, rows[i].grid, "%s: %d", rows[i].text,
                     choice.derived.grid_ctas);
        cr_expect_eq(choice.derived.busy_ctas, rows[i].busy, "%s", rows[i].text);
        cr_expect_eq(choice.derived.threads, rows[i].threads, "%s", rows[i].text);
    }
}

Test(choose_sm100a, matrices_of_the_epilogue_cost_stages_of_the_ring)
{
    static const struct {
        const char *text;
        int stages, matrix_stages, threads;
    } rows[] = {
        {"8192x8192x8192 bf16 config=mma=256x256 cluster=2x1", 6, 0, 224},
        {"8192x8192x8192 bf16 c=bf16 config=mma=256x256 cluster=2x1", 5, 2, 256},
        {"8192x8192x8192 bf16 c=f32 config=mma=256x256 cluster=2x1", 4, 4, 256},
        {"8192x8192x8192 bf16 config=mma=128x64 cluster=1x1", 8, 0, 224},
        {"8192x8192x8192 bf16 c=f32 output_align=4 config=mma=256x256 cluster=2x1", 6, 0,
         224},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_choice choice = choose(rows[i].text);
        cr_expect_eq(choice.config.pipeline.stages, rows[i].stages, "%s: stages=%d",
                     rows[i].text, choice.config.pipeline.stages);
        cr_expect_eq(choice.derived.output.load_stages, rows[i].matrix_stages, "%s",
                     rows[i].text);
        cr_expect_eq(choice.derived.threads, rows[i].threads, "%s", rows[i].text);
    }
}

Test(choose_sm100a, override_keeps_what_it_names_and_the_rest_is_chosen)
{
    expect_config("4096x4096x4096 bf16 config=mma=256x128", "mma=256x128 cta_group=2");
    expect_config("4096x4096x4096 bf16 config=mma=128x128", "mma=128x128 cta_group=1");
    expect_config("4096x4096x4096 bf16 config=cta_group=1", "cta_group=1");
    expect_config("4096x4096x4096 bf16 config=cluster=1x2", "cta_group=1 cluster=1x2");
    expect_config("4096x4096x4096 bf16 config=stages=3", "stages=3");
    expect_config("4096x4096x4096 bf16 config=prefetch=b", "pdl=1 split_k=1 prefetch=b");
    expect_config(
        "64x64x64 bf16 config=kernel=gemm mma=256x192 cta_group=2 cluster=2x2 "
        "scheduler=static k_group=2 stages=3 acc_stages=2 raster=n raster_group=16 out_stages=1 "
        "pdl=0",
        "kernel=gemm mma=256x192 cta_group=2 cluster=2x2 scheduler=static "
        "k_group=2 stages=3 acc_stages=2 raster=n raster_group=16 out_stages=1 pdl=0");
}

Test(choose_sm100a, k_is_split_where_tiles_are_few_and_a_workspace_is_allowed)
{
    static const struct {
        const char *problem;
        bool is_split;
    } rows[] = {
        {"1024x256x16384 bf16 config=split_order=serial", false},
        {"1024x256x16384 bf16 workspace=64m config=split_order=serial", true},
        {"1024x256x16384 bf16 workspace=32k config=split_order=serial",
         false}, /* no locks */
        {"16x1024x16384 bf16 workspace=64m config=split_order=serial", true},
        {"16x4096x4096 bf16 workspace=64m config=split_k=1", false},
        {"n=256 k=16384 a=bf16 dynamic=m,k m=64 workspace=64m config=split_order=serial",
         true},
        {"256x256x256 bf16 workspace=64m", false},
        {"1024x1024x1024 bf16 workspace=64m", false},
        {"8192x8192x8192 bf16 workspace=8g", false},
        {"128x64x4096 bf16 batch=148 workspace=8g", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_problem problem = plan_problem(rows[i].problem);
        const struct jg_choice choice = choose(rows[i].problem);

        cr_expect_eq(choice.config.launch.split_k > 1, rows[i].is_split, "%s: split_k=%d",
                     rows[i].problem, choice.config.launch.split_k);
        cr_expect_eq(choice.derived.workspace_bytes > 0, rows[i].is_split, "%s",
                     rows[i].problem);
        cr_expect_leq((uint64_t)choice.derived.workspace_bytes, problem.workspace_limit);
        cr_expect_leq(choice.derived.busy_ctas, 148);
        cr_expect_eq(choice.derived.grid_ctas % choice.config.launch.split_k, 0);
    }
}

Test(choose_sm100a, workspace_has_locks_and_a_tile_for_each_other_part_of_a_cta)
{
    const struct jg_choice choice =
        choose("1000x520x4096 bf16 batch=3 config=mma=256x128 cluster=4x2 split_k=3");

    /* 8 x 6 tiles of 128 x 128, of whole clusters, 3 times; two locks for each of 4096. */
    cr_expect_eq(choice.derived.tiles, 144);
    cr_expect_eq(choice.derived.workspace_bytes, 8 * 4096 + 144 * 2 * 128 * 128 * 4);
    /* 18 clusters at once. */
    cr_expect_eq(choice.derived.grid_ctas, 18 * 8);
    cr_expect_eq(
        choose("1000x520x4096 bf16 batch=3 config=mma=256x128 cluster=4x2 split_k=3 "
               "split_order=unordered")
            .derived.workspace_bytes,
        8 * 4096 + 144 * 128 * 128 * 4, "parts between add to one place");
    cr_expect_eq(choose("1000x520x4096 bf16 config=mma=256x128 cluster=4x2 split_k=4 "
                        "scheduler=clc")
                     .derived.grid_ctas,
                 6 * 4 * 8, "each part of each tile");
    cr_expect_eq(choose("1000x520x4096 bf16 config=mma=256x128 cluster=4x2 split_k=4")
                     .derived.grid_ctas,
                 16 * 8, "a multiple of 4 clusters");
    cr_expect_eq(choose("256x256x4096 bf16 config=mma=256x256 cluster=16x1 split_k=64")
                     .derived.grid_ctas,
                 64 * 16, "more than fit, where fewer are no multiple");
}

Test(choose_sm100a, inputs_that_tma_does_not_take_are_loaded_by_three_warps_more)
{
    const struct jg_choice slow = choose("8192x8192x8192 bf16 input_align=2");
    const struct jg_choice fast = choose("8192x8192x8192 bf16 config=mma=128x256 "
                                         "cluster=1x1 scheduler=static");

    cr_expect_eq(slow.config.layout.cta_group, 1);
    cr_expect_eq(slow.config.layout.cluster_m * slow.config.layout.cluster_n, 1);
    cr_expect_eq(slow.config.launch.scheduler, JG_SCHEDULER_STATIC);
    cr_expect_eq(slow.derived.threads, fast.derived.threads + 96);
    cr_expect_gt(slow.derived.predicted_us, 2 * fast.derived.predicted_us);
    cr_expect_gt(slow.derived.predicted_us,
                 choose("8192x8192x8192 bf16 input_align=8").derived.predicted_us);
}

/* The tensor core takes tf32 along M and N too, in rows of 128 bytes. */
Test(choose_sm100a, tf32_has_all_layouts)
{
    static const char *const layouts[] = {"nt", "nn", "tn", "tt"};
    for (int i = 0; i < 4; i++) {
        char text[64];
        snprintf(text, sizeof(text), "8192x8192x8192 tf32 layout=%s", layouts[i]);
        expect_config(text, "mma=256x256 cta_group=2");
        /* A CTA's 16 columns of an A that is not K-major are too few. */
        snprintf(text, sizeof(text), "16x4096x4096 tf32 layout=%s", layouts[i]);
        const struct jg_choice few = choose(text);
        cr_expect_eq(few.config.layout.swap_ab, 1, "%s", text);
        cr_expect_eq(few.config.layout.mma_n / few.config.layout.cta_group % 32 == 0,
                     i >= 2, "%s: %dx%d", text, few.config.layout.mma_m,
                     few.config.layout.mma_n);
    }
}

Test(choose_sm100a, outputs_that_tma_does_not_take_are_moved_by_the_epilogue)
{
    const char *const aligned = "8192x8192x256 bf16 c=bf16";
    const struct jg_choice fast = choose(aligned);
    const struct jg_choice slow = choose("8192x8192x256 bf16 c=bf16 output_align=2");

    cr_expect_eq(fast.derived.output.load_stages, 2);
    cr_expect_eq(slow.derived.output.load_stages, 0);
    cr_expect_gt(slow.derived.predicted_us, 1.1 * fast.derived.predicted_us);
    cr_expect_gt(slow.derived.predicted_us,
                 choose("8192x8192x256 bf16 c=bf16 output_align=8").derived.predicted_us);
}

/* What is never chosen by itself, but works. */
Test(choose_sm100a, override_may_name_a_cluster_that_is_no_candidate)
{
    expect_config("4096x4096x4096 bf16 config=cluster=4x2", "cta_group=2 cluster=4x2");
    expect_config("4096x4096x4096 bf16 config=mma=256x128 cluster=2x4",
                  "mma=256x128 cta_group=2 cluster=2x4");
    expect_config("4096x4096x4096 bf16 config=mma=128x64 cluster=1x8",
                  "mma=128x64 cta_group=1 cluster=1x8");
    expect_config("512x512x512 bf16 config=mma=128x64 cta_group=1 cluster=4x4",
                  "mma=128x64 cta_group=1 cluster=4x4");
    expect_config("512x512x512 bf16 config=mma=256x128 cluster=4x4",
                  "mma=256x128 cta_group=2 cluster=4x4");
    expect_config("512x512x512 bf16 config=mma=128x64 cluster=16x1",
                  "mma=128x64 cta_group=1 cluster=16x1");
}

Test(choose_sm100a, impossible_override_says_which_limit_is_broken)
{
    static const struct {
        const char *problem, *config, *message;
    } rows[] = {
        {"4096x4096x4096 bf16", "mma=64x64 cta_group=2",
         "mma=64x64: M is 128 or 256 with cta_group=2 on sm_100a"},
        {"4096x4096x4096 bf16", "mma=256x256 cta_group=1",
         "mma=256x256: M is 64 or 128 with cta_group=1 on sm_100a"},
        {"4096x4096x4096 bf16", "mma=1x256", "mma=1x256: M is 64 or 128"},
        {"4096x4096x4096 bf16", "mma=1x256 cta_group=2", "mma=1x256: M is 128 or 256"},
        {"4096x4096x4096 bf16", "mma=64x12",
         "mma=64x12: N must be a multiple of 8, at most 256, with M of 64 and cta_group=1"},
        {"4096x4096x4096 bf16", "mma=128x24",
         "mma=128x24: N must be a multiple of 16, at most 256, with M of 128 and cta_group=1"},
        {"4096x4096x4096 bf16", "mma=128x24 cta_group=2",
         "mma=128x24: N must be a multiple of 16, at most 256, with M of 128 and cta_group=2"},
        {"4096x4096x4096 bf16", "mma=256x272", "mma=256x272: N must be a multiple of 16"},
        {"4096x4096x4096 bf16", "mma=64x8 cluster=16x1",
         "cluster=16x1: 16 CTAs cannot share the load of 8 columns of B"},
        {"4096x4096x4096 bf16", "mma=64x8 cluster=16x1 swap_ab=1",
         "cluster=16x1: 16 CTAs cannot share the load of 8 columns of A"},
        {"4096x4096x4096 bf16", "mma=128x128 cluster=16x2",
         "cluster=16x2: clusters of sm_100a are powers of two of at most 16 CTAs"},
        {"4096x4096x4096 bf16", "cluster=16x16 split_k=2 split_order=cluster",
         "cluster=16x16: clusters of sm_100a are powers of two of at most 16 CTAs"},
        {"4096x4096x4096 bf16", "cluster=16x1 split_k=2 split_order=cluster",
         "cluster=16x1 split_k=2 split_order=cluster: a cluster of parts of K has at most "
         "16 CTAs, two for each tile at least"},
        {"4096x4096x4096 bf16", "cluster=3x1", "cluster=3x1: clusters of sm_100a are"},
        {"4096x4096x4096 bf16", "cta_group=2 cluster=1x2",
         "cluster=1x2 has no whole pairs along M, as cta_group=2 needs"},
        {"4096x4096x4096 bf16", "mma=256x256 stages=7",
         "stages=7 needs 263168 bytes of shared memory, sm_100a has 232448; at most "
         "stages=6 with mma=256x256 cta_group=2 out_stages=2"},
        {"4096x4096x4096 bf16", "mma=256x128 k_group=2 stages=5",
         "stages=5 needs 279552 bytes of shared memory, sm_100a has 232448; at most "
         "stages=4 with mma=256x128 cta_group=2 k_group=2 out_stages=2"},
        {"4096x4096x4096 bf16", "prefetch=b pdl=0",
         "prefetch=b needs pdl=1: it works while the previous grid still runs"},
        {"4096x4096x4096 bf16 c=f32", "mma=256x256 stages=5",
         "stages=5 needs 263168 bytes of shared memory, sm_100a has 232448; at most "
         "stages=4 with mma=256x256 cta_group=2, 4 stages of C and matrix operands and "
         "out_stages=2"},
        {"4096x4096x4096 bf16", "stages=1",
         "stages=1 is out of range: sm_100a takes 2 to "},
        {"4096x4096x4096 bf16 layout=nn", "mma=64x24",
         "mma=64x24 cta_group=1 gives a CTA 24 columns of the product's N; B, which is not "
         "K-major here, needs a multiple of 16"},
        {"4096x4096x4096 bf16 layout=tt", "mma=256x48 swap_ab=1",
         "mma=256x48 cta_group=2 gives a CTA 24 columns of the product's N; A, which is not "
         "K-major here, needs a multiple of 16"},
        {"4096x4096x4096 e4m3 layout=tt", "mma=64x16 swap_ab=1",
         "mma=64x16 cta_group=1 gives a CTA 16 columns of the product's N; A, which is not "
         "K-major here, needs a multiple of 32"},
        {"4096x4096x4096 tf32 layout=nn", "mma=64x48",
         "mma=64x48 cta_group=1 gives a CTA 48 columns of the product's N; B, which is not "
         "K-major here, needs a multiple of 32"},
        {"4096x4096x4096 tf32 layout=tt", "mma=256x32 swap_ab=1",
         "mma=256x32 cta_group=2 gives a CTA 16 columns of the product's N; A, which is not "
         "K-major here, needs a multiple of 32"},
        {"4096x4096x4096 s8", "mma=128x48 cta_group=2",
         "mma=128x48: N must be a multiple of 32, at most 256"},
        {"4096x4096x4096 s8", "mma=64x40",
         "mma=64x40: N must be a multiple of 16, at most 256"},
        {"4096x4096x4096 e5m2 layout=nn", "mma=64x24",
         "mma=64x24: N must be a multiple of 16, at most 256"},
        {"4096x4096x4096 bf16", "mma=64x24 out_stages=1",
         "out_stages=1 is too few for mma=64x24 cta_group=1: the 24 columns of a team of warps are no "
         "multiple of 16, as store tiles of D are; out_stages=2"},
        {"4096x4096x4096 bf16 c=bf16", "out_stages=1", "out_stages=1 is too few for C"},
        {"4096x4096x4096 bf16 input_align=2", "mma=128x128 cluster=2x1",
         "cluster=2x1: with input_align=2 threads load A and B, each CTA's for itself: "
         "cluster=1x1"},
        {"4096x4096x4096 bf16 input_align=2", "mma=128x128 cluster=1x1 prefetch=b",
         "prefetch=b asks TMA, which does not take input_align=2"},
        {"4096x4096x4096 bf16 input_align=2", "mma=128x128 cluster=1x1 scheduler=clc",
         "scheduler=clc serves one load thread, and input_align=2 has more: give "
         "scheduler=static"},
        {"4096x4096x4096 bf16 a_rows=indexed", "mma=128x128 cluster=1x1 prefetch=b",
         "prefetch=b: the grid before may write the index of A's rows, and a warp loads both: "
         "prefetch=none"},
        {"4096x4096x4096 bf16 a_rows=indexed",
         "mma=128x128 cluster=1x1 row_boxes=0 prefetch=b",
         "prefetch=b asks TMA, which does not take a_rows=indexed"},
        {"4096x4096x4096 bf16 a_rows=indexed",
         "mma=128x128 cluster=1x1 row_boxes=0 scheduler=clc",
         "scheduler=clc serves one load thread, and a_rows=indexed has more: give "
         "scheduler=static"},
        {"m=64 n=4096 k=4096 a=bf16 a_rows=indexed",
         "mma=256x16 cta_group=2 cluster=8x1 swap_ab=1 row_boxes=1",
         "row_boxes=1: a copy brings 4 rows, and a CTA of this cluster loads 2 of A"},
        {"256x256x200 bf16", "split_k=5",
         "split_k=5: K of 200 has 4 blocks of 64, and each part needs one"},
        {"16384x16384x4096 bf16", "mma=128x64 split_k=2",
         "split_k=2: a workspace has locks for 4096 tiles, the problem has 32768"},
        {"4096x4096x4096 bf16", "split_k=2 split_order=cluster scheduler=static",
         "split_order=cluster: a cluster that has parts of K has one tile: scheduler=single"},
        {"4096x4096x4096 bf16", "split_k=2 split_order=cluster cta_group=2",
         "cluster=1x1 has no whole pairs along M, as cta_group=2 needs"},
        {"4096x4096x4096 bf16", "tile=128x128",
         "'tile' is a key of another architecture than sm_100a; keys of sm_100a: kernel mma "
         "cta_group cluster scheduler k_group stages acc_stages epilogue_warps raster raster_group "
         "out_stages pdl split_k split_order split_tail cluster_k prefetch repack group_maps row_boxes swap_ab debug trace"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_problem problem = plan_problem(rows[i].problem);
        strcpy(problem.config, rows[i].config);
        struct jg_choice choice;

        cr_expect_eq(jg_config_choose(blackwell(), &problem, &blackwell()->default_facts,
                                      &choice, NULL),
                     JIT_GEMM_ERR_ARGUMENT, "%s", rows[i].config);
        cr_expect_not_null(strstr(jg_error_text(), rows[i].message),
                           "expected '...%s...'\n     got '%s'", rows[i].message,
                           jg_error_text());
    }
}

Test(choose_sm100a, cluster_larger_than_the_device_is_refused_and_never_chosen)
{
    struct jg_device_facts facts = blackwell()->default_facts;
    facts.sm_count = 14;
    struct jg_problem problem = plan_problem("4096x4096x4096 bf16");
    struct jg_choice choice;

    cr_expect_eq(jg_config_choose(blackwell(), &problem, &facts, &choice, NULL),
                 JIT_GEMM_OK);
    cr_expect_leq(choice.config.layout.cluster_m * choice.config.layout.cluster_n, 8);
    strcpy(problem.config, "mma=128x64 cluster=4x4");
    cr_expect_eq(jg_config_choose(blackwell(), &problem, &facts, &choice, NULL),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_not_null(
        strstr(jg_error_text(), "cluster=4x4 does not fit on 14 multiprocessors"), "%s",
        jg_error_text());
}

Test(choose_sm100a, device_without_room_for_a_cta_of_its_own_is_unsupported)
{
    struct jg_device_facts facts = blackwell()->default_facts;
    facts.smem_optin_bytes = 101376;
    const struct jg_problem problem = plan_problem("512x512x512 bf16");
    struct jg_choice choice;

    cr_expect_eq(jg_config_choose(blackwell(), &problem, &facts, &choice, NULL),
                 JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect_not_null(strstr(jg_error_text(), "bytes of shared memory"));
}

Test(choose_sm100a, derived_sizes_follow_the_kernels_formulas)
{
    static const int64_t sizes[] = {1, 17, 129, 1000, 4096};
    static const char *const extras[] = {"", " c=bf16", " c=f32 layout=tn"};
    static const int matrix_stages[] = {0, 2, 4};
    for (size_t i = 0; i < 5; i++) {
        for (size_t j = 0; j < 15; j++) {
            char text[96];
            snprintf(text, sizeof(text), "%lldx%lldx%lld bf16%s", (long long)sizes[i],
                     (long long)sizes[j % 5], (long long)sizes[(i + j) % 5], extras[j / 5]);
            const struct jg_choice choice = choose(text);
            const struct jg_config *config = &choice.config;
            const struct jg_derived *derived = &choice.derived;
            const int64_t stage =
                (int64_t)(config->layout.tile_m +
                          config->layout.tile_n / config->layout.cta_group) *
                128;
            /* Two teams of warps each have a box where a step has fewer rows. */
            const int boxes = derived->matrix_box.rows == 128 ? 1 : 2;
            const int64_t matrix = INT64_C(128) * derived->matrix_box.rows * boxes;
            const int load_stages = derived->output.divided ? 0 : matrix_stages[j / 5];
            const int64_t used =
                config->pipeline.stages * config->pipeline.k_group * stage +
                INT64_C(4) * config->storage.out_stages * 4096 + matrix * load_stages;
            const bool adds_up = config->launch.split_order == JG_SPLIT_CLUSTER;
            const int64_t barriers =
                (adds_up ? 4 * 3 * 8 : 0) +
                16 * (config->pipeline.stages + load_stages + config->storage.acc_stages) +
                8 + (config->launch.scheduler == JG_SCHEDULER_CLC ? 112 : 0);

            cr_expect_eq(config->layout.tile_m,
                         config->layout.mma_m / config->layout.cta_group, "%s", text);
            cr_expect_geq(config->layout.mma_m, 128, "%s", text);
            cr_expect_eq(config->layout.mma_n, config->layout.tile_n);
            cr_expect_eq(derived->smem_bytes,
                         jg_max(jg_align_up(used + barriers, 1024), 116 * 1024), "%s",
                         text);
            cr_expect_leq(derived->smem_bytes, 232448);
            cr_expect_gt(2 * (derived->smem_bytes + 1024), 228 * 1024, "one CTA each");
            cr_expect_leq(config->storage.acc_stages * config->layout.tile_n, 512);
            cr_expect_eq(config->layout.cluster_m % config->layout.cta_group, 0);
            cr_expect_eq(derived->grid_ctas %
                             (config->layout.cluster_m * config->layout.cluster_n),
                         0);
            cr_expect_leq(derived->busy_ctas, 148);
            cr_expect_eq(derived->grid_ctas, derived->tiles * config->launch.split_k,
                         "no static grid here");
            cr_expect_gt(derived->predicted_us, 0.0);
        }
    }
}

/* What one copy moves must be what the kernel asks for: its slice of a shared tile. */
Test(choose_sm100a, boxes_are_the_slices_that_a_cta_loads)
{
    static const struct {
        const char *text;
        int a, b;
    } rows[] = {
        {"512x512x512 bf16 config=mma=128x256 cluster=1x1", 128, 256},
        {"512x512x512 bf16 config=mma=128x64 cluster=2x1", 128, 32},
        {"512x512x512 bf16 config=mma=128x64 cluster=1x2", 64, 64},
        {"512x512x512 bf16 config=mma=256x256 cluster=2x1", 128, 128},
        {"512x512x512 bf16 config=mma=256x256 cluster=4x1", 128, 64},
        {"512x512x512 bf16 config=mma=256x192 cluster=2x2", 64, 96},
        {"512x512x512 bf16 config=mma=256x128 cluster=4x2", 64, 32},
        {"512x512x512 bf16 config=mma=128x64 cluster=4x4", 32, 16},
        {"512x512x512 bf16 config=mma=256x128 cluster=4x4", 32, 32},
        {"512x512x512 bf16 config=mma=128x64 cluster=16x1", 128, 4},
        {"512x512x512 bf16 config=mma=128x64 cluster=1x16", 8, 64},
        {"512x512x512 bf16 layout=tn config=mma=256x256 cluster=2x1", 64, 64},
        {"512x512x512 bf16 layout=tn config=mma=256x256 cluster=4x2", 32, 32},
        {"512x512x512 bf16 layout=tn config=mma=128x128 cluster=2x1", 64, 32},
        {"512x512x512 tf32 layout=tn config=mma=256x256 cluster=4x2", 16, 16},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_choice choice = choose(rows[i].text);
        cr_expect_eq(choice.derived.a_box.rows, rows[i].a, "%s: %d", rows[i].text,
                     choice.derived.a_box.rows);
        cr_expect_eq(choice.derived.b_box.rows, rows[i].b, "%s: %d", rows[i].text,
                     choice.derived.b_box.rows);
        cr_expect_eq(choice.derived.d_box.rows, 32);
        cr_expect_eq(choice.derived.matrix_box.rows, 128);
    }
}

/* Side by side in memory lie 128, 64 or 32 bytes of M or N: what divides a CTA's share. */
Test(choose_sm100a, rows_of_m_or_n_are_as_wide_as_a_swizzle_that_divides_them)
{
    static const struct {
        const char *text;
        int a, b;
    } rows[] = {
        {"512x512x512 e4m3 config=mma=64x32", 128, 128},
        {"512x512x512 e4m3 layout=tn config=mma=64x32", 64, 32},
        {"512x512x512 e4m3 layout=nn config=mma=64x64", 128, 64},
        {"512x512x512 s8 layout=tt config=mma=128x64 cta_group=2", 64, 128},
        {"512x512x512 s8 layout=tn config=mma=128x64 cta_group=2 swap_ab=1", 64, 32},
        {"512x512x512 s8 layout=nn config=mma=128x64 cta_group=2 swap_ab=1", 64, 128},
        {"512x512x512 e5m2 layout=tn config=mma=128x96", 128, 32},
        {"512x512x512 e5m2 layout=tn config=mma=256x192", 128, 32},
        {"512x512x512 bf16 layout=tn config=mma=64x48", 128, 32},
        {"512x512x512 bf16 layout=tn config=mma=128x192", 128, 128},
        {"512x512x512 tf32 layout=tn config=mma=64x32", 128, 128},
        {"512x512x512 tf32 layout=tn config=mma=128x192 cta_group=2", 128, 128},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_choice choice = choose(rows[i].text);
        cr_expect_eq(choice.derived.a_box.row_bytes, rows[i].a, "%s: %d", rows[i].text,
                     choice.derived.a_box.row_bytes);
        cr_expect_eq(choice.derived.b_box.row_bytes, rows[i].b, "%s: %d", rows[i].text,
                     choice.derived.b_box.row_bytes);
    }
}

Test(choose_sm100a, family_has_the_same_kernels_where_its_tensor_core_can)
{
    static const struct {
        const char *name;
        int b200, b300;
    } rows[] = {{"sm_100a", 1, 0}, {"sm_103a", 0, 1}, {"sm_100f", 1, 1}};
    const struct jg_device_facts b200 = {.cc_major = 10, .cc_minor = 0};
    const struct jg_device_facts b300 = {.cc_major = 10, .cc_minor = 3};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_arch *arch = jg_arch_find(rows[i].name);
        cr_assert_not_null(arch, "%s", rows[i].name);
        cr_expect_eq(jg_arch_runs_on(arch, &b200), rows[i].b200);
        cr_expect_eq(jg_arch_runs_on(arch, &b300), rows[i].b300);
        cr_expect_str_eq(arch->kernel_header, blackwell()->kernel_header);
        plan_expect_config(arch, "8192x8192x8192 bf16", "mma=256x256 cta_group=2");
        struct jg_problem problem;
        memset(&problem, 0, sizeof(problem));
        problem.a.dtype = problem.b.dtype = JIT_GEMM_DTYPE_S8;
        const jit_gemm_status status = jg_arch_check(arch, &problem);
        if (arch == blackwell()) {
            cr_expect_eq(status, JIT_GEMM_OK);
        } else {
            cr_expect_eq(status, JIT_GEMM_ERR_UNSUPPORTED);
            cr_expect_not_null(strstr(jg_error_text(), rows[i].name));
            cr_expect_not_null(strstr(jg_error_text(), "s8"));
        }
    }
}
