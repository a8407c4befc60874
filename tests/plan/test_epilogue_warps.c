/* SPDX-License-Identifier: MIT */
/* epilogue_warps: how many warps write a tile of the Blackwell kernel. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan_fixture.h"

static struct jg_choice choose(const char *text)
{
    return plan_choose(jg_arch_find("sm_100a"), text);
}

Test(epilogue_warps, eight_are_chosen_where_the_tensor_core_would_wait_for_four)
{
    static const struct {
        const char *text;
        int warps;
    } rows[] = {
        /* Scales of D are computed, and K is short. */
        {"4096x4096x1024 nvfp4 d=nvfp4", 8},
        {"4096x4096x4096 mxfp8 d=mxfp8", 0},
        /* An end of a CTA that nothing hides; rows of D that TMA does not take. */
        {"300x300x512 bf16 config=mma=256x256", 8},
        {"304x304x512 bf16 config=mma=256x256", 0},
        /* The main loop hides all. */
        {"8192x8192x8192 bf16", 0},
        {"4096x4096x4096 bf16", 0},
        /* There is no kernel. */
        {"64x4096x4096 bf16 config=mma=64x64", 0},
        {"2048x2048x2048 e4m3 d=e4m3 a_scale=1x128 b_scale=128x128", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_choice choice = choose(rows[i].text);
        cr_expect_eq(choice.config.layout.epilogue_warps, rows[i].warps, "%s: %d",
                     rows[i].text, choice.config.layout.epilogue_warps);
    }
}

Test(epilogue_warps, eight_have_half_of_the_columns_each_and_their_own_store_tiles)
{
    const struct jg_choice four =
        choose("4096x4096x4096 bf16 config=mma=256x256 stages=4 epilogue_warps=4");
    const struct jg_choice eight =
        choose("4096x4096x4096 bf16 config=mma=256x256 stages=4 epilogue_warps=8");

    cr_expect_eq(four.derived.epilogue_warpgroups, 1);
    cr_expect_eq(eight.derived.epilogue_warpgroups, 2);
    cr_expect_eq(eight.derived.threads, four.derived.threads + 128);
    cr_expect_eq(eight.derived.smem_bytes, four.derived.smem_bytes + 2 * 128 * 128);
    cr_expect_eq(four.derived.max_registers, 255);
    cr_expect_eq(eight.derived.max_registers, 65536 / eight.derived.threads / 8 * 8);
}

/* One buffer each is as much as two of four warps. */
Test(epilogue_warps, eight_have_one_store_tile_each_where_that_is_enough)
{
    const struct jg_choice chosen = choose(
        "1024x4096x1024 bf16 a_scale=vector b_scale=vector config=mma=256x256 cluster=2x1");
    cr_expect_eq(chosen.config.layout.epilogue_warps, 8);
    cr_expect_eq(chosen.config.storage.out_stages, 1);
    cr_expect_eq(choose("1024x4096x1024 bf16 a_scale=vector b_scale=vector "
                        "config=mma=256x256 cluster=2x1 out_stages=2")
                     .config.storage.out_stages,
                 2);
}

Test(epilogue_warps, what_has_no_kernel_is_refused_with_the_reason)
{
    static const struct {
        const char *problem, *config, *reason;
    } rows[] = {
        {"512x512x512 bf16", "mma=64x64", "four warps read all lanes of a CTA of 64 rows"},
        {"512x512x512 bf16", "mma=128x64 cta_group=2",
         "four warps read all lanes of a CTA of 64 rows"},
        {"512x512x512 e4m3 a_scale=1x128 b_scale=1x128", "mma=128x128 cta_group=1",
         "four warps multiply sums by scales of blocks"},
        {"512x512x4096 bf16 workspace=64m", "mma=256x128 split_k=2",
         "four warps add up parts of K"},
        {"4096x4096x4096 mxfp8 d=bf16", "mma=256x256 acc_stages=2",
         "four warps read accumulators that share columns: acc_stages=1"},
        {"512x512x512 e4m3 d_scale=128x128", "mma=256x256",
         "a block of D's scales that all warps of a tile share is one of four warps"},
        {"512x512x512 e4m3 d_scale=1x128", "mma=128x128 cta_group=1 swap_ab=1",
         "a block of D's scales that all warps of a tile share is one of four warps"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_arch *arch = jg_arch_find("sm_100a");
        struct jg_problem problem = plan_problem(rows[i].problem);
        struct jg_choice choice;
        snprintf(problem.config, sizeof(problem.config), "%s epilogue_warps=8",
                 rows[i].config);

        cr_expect_eq(jg_config_choose(arch, &problem, &arch->default_facts, &choice, NULL),
                     JIT_GEMM_ERR_ARGUMENT, "%s", rows[i].config);
        cr_expect_not_null(strstr(jg_error_text(), rows[i].reason), "%s: %s",
                           rows[i].config, jg_error_text());
    }
}
