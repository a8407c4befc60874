/* SPDX-License-Identifier: MIT */
/* Rows of A that an index names: by copies of TMA, or by threads. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"
#include "plan_fixture.h"

#define SMALL_TILE "config=mma=128x64 swap_ab=0"

static struct jg_choice choose(const char *chip, const char *text)
{
    return plan_choose(jg_arch_find(chip), text);
}

/* By a warp that has all that a loader has: pairs, clusters, launch control. */
Test(row_boxes, sm100a_copies_four_rows_at_a_time)
{
    const struct jg_choice rows = choose("sm_100a", "8192x8192x8192 bf16 a_rows=indexed");
    const struct jg_choice plain = choose("sm_100a", "8192x8192x8192 bf16");
    const struct jg_choice few =
        choose("sm_100a", "m=16 n=8192 k=8192 a=bf16 a_rows=indexed");
    const struct jg_choice threads =
        choose("sm_100a", "8192x8192x8192 bf16 a_rows=indexed config=row_boxes=0");

    cr_expect_eq(rows.config.pipeline.row_boxes, JG_ROW_BOXES_USED);
    cr_expect_eq(rows.derived.copied_rows, 4);
    cr_expect_eq(rows.derived.a_box.rows, 1);
    cr_expect_eq(rows.derived.b_box.rows, plain.derived.b_box.rows);
    cr_expect_eq(rows.config.layout.cta_group, 2);
    cr_expect_eq(rows.config.launch.scheduler, JG_SCHEDULER_CLC);
    cr_expect_eq(rows.derived.threads, plain.derived.threads);
    cr_expect_lt(rows.derived.predicted_us, threads.derived.predicted_us);
    cr_expect_eq(few.config.layout.swap_ab, 1);
    cr_expect_eq(few.derived.b_box.rows, 1);
    cr_expect_eq(plain.derived.copied_rows, 0);
    cr_expect_eq(plain.config.pipeline.row_boxes, JG_ROW_BOXES_NONE);
}

/* Scales that the tensor core multiplies by come by a warp more, which has time for it
 * beside the products of large tiles; beside those of small ones it has not. */
Test(row_boxes, sm100a_gathers_scales_by_a_warp_more)
{
    const struct jg_choice plain = choose("sm_100a", "8192x8192x8192 mxfp8 d=bf16");
    const struct jg_choice rows =
        choose("sm_100a", "8192x8192x8192 mxfp8 d=bf16 a_rows=indexed");
    const struct jg_choice narrow =
        choose("sm_100a", "8192x8192x8192 nvfp4 d=bf16 " SMALL_TILE);
    const struct jg_choice narrow_rows =
        choose("sm_100a", "8192x8192x8192 nvfp4 d=bf16 a_rows=indexed " SMALL_TILE);

    cr_expect_eq(rows.config.pipeline.row_boxes, JG_ROW_BOXES_USED);
    cr_expect_eq(rows.config.layout.cta_group, 2);
    cr_expect_eq(rows.derived.threads, plain.derived.threads + 32);
    cr_expect_eq(rows.derived.workspace_bytes, 0);
    cr_expect_lt(rows.derived.predicted_us, 1.01 * plain.derived.predicted_us);
    cr_expect_gt(narrow_rows.derived.predicted_us, narrow.derived.predicted_us);
}

Test(row_boxes, threads_load_no_rows_beside_scales_that_are_gathered)
{
    const struct jg_arch *arch = jg_arch_find("sm_100a");
    const struct jg_problem problem =
        plan_problem("512x512x512 mxfp8 d=bf16 a_rows=indexed config=row_boxes=0");
    struct jg_choice choice;

    cr_expect_eq(jg_config_choose(arch, &problem, &arch->default_facts, &choice, NULL),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_not_null(strstr(jg_error_text(), "row_boxes=0: beside scale mx of rows that "
                                               "an index names nobody loads rows of A but "
                                               "TMA: row_boxes=1"),
                       "%s", jg_error_text());
}

Test(row_boxes, sm90a_copies_a_row_at_a_time)
{
    const struct jg_choice rows = choose(
        "sm_90a",
        "4096x4096x4096 bf16 a_rows=indexed config=tile=128x256 cluster=2x1 row_boxes=1");
    const struct jg_choice unaligned =
        choose("sm_90a", "4096x4096x4096 bf16 a_rows=indexed input_align=8");

    cr_expect_eq(rows.derived.copied_rows, 1);
    cr_expect_eq(rows.derived.a_box.rows, 1);
    cr_expect_eq(rows.derived.b_box.rows, 128);
    cr_expect_eq(unaligned.derived.copied_rows, 0);
    cr_expect_eq(unaligned.config.pipeline.row_boxes, JG_ROW_BOXES_NONE);
}

/* Beside threads that copy rows of A, TMA brings B for a whole cluster. */
Test(row_boxes, sm90a_takes_threads_and_shares_b)
{
    const struct jg_choice rows = choose("sm_90a", "4096x4096x4096 bf16 a_rows=indexed");

    cr_expect_eq(rows.config.pipeline.row_boxes, JG_ROW_BOXES_UNUSED);
    cr_expect_eq(rows.config.layout.cluster_m, 2);
    cr_expect_eq(rows.config.layout.cluster_n, 1);
    cr_expect_eq(rows.derived.b_box.rows, rows.config.layout.tile_n / 2);
}

/* Of A only, while B comes by TMA: less than of both, and more the more of a tile A has. */
Test(row_boxes, threads_take_the_time_of_their_part_of_a_stage)
{
    const struct jg_choice one =
        choose("sm_100a", "8192x8192x8192 bf16 a_rows=indexed config=row_boxes=0");
    const struct jg_choice both = choose("sm_100a", "8192x8192x8192 bf16 input_align=8");
    const struct jg_choice wide =
        choose("sm_100a", "8192x8192x8192 bf16 a_rows=indexed "
                          "config=mma=64x256 swap_ab=0 row_boxes=0");
    const struct jg_choice narrow =
        choose("sm_100a", "8192x8192x8192 bf16 a_rows=indexed "
                          "config=mma=64x256 swap_ab=1 row_boxes=0");

    cr_expect_eq(one.config.layout.cta_group, 1);
    cr_expect_eq(one.config.launch.scheduler, JG_SCHEDULER_STATIC);
    cr_expect_lt(one.derived.predicted_us, both.derived.predicted_us);
    cr_expect_lt(wide.derived.predicted_us, narrow.derived.predicted_us);
}
