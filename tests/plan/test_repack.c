/* SPDX-License-Identifier: MIT */
/* Copies of A and B that TMA takes: when they are chosen, where they lie, what is refused.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/math.h"
#include "plan/reduction.h"
#include "plan/repack.h"
#include "plan/split.h"
#include "plan_fixture.h"

static const struct jg_arch *arch_of(const char *name)
{
    const struct jg_arch *arch = jg_arch_find(name);
    cr_assert_not_null(arch);
    return arch;
}

static const char *const chips[] = {"sm_90a", "sm_100a"};

Test(repack, is_chosen_where_it_saves_time_and_the_workspace_has_room)
{
    static const struct {
        const char *problem;
        enum jg_repack repack;
    } rows[] = {
        {"4095x4095x4095 bf16 workspace=1g", JG_REPACK_ALIGNED},
        {"4095x4095x4095 bf16 input_align=2", JG_REPACK_NONE},
        {"4095x4095x4095 bf16 input_align=2 workspace=32m", JG_REPACK_NONE},
        {"4095x4095x4095 bf16 input_align=2 workspace=1g", JG_REPACK_AB},
        {"4095x4095x4095 e4m3 d=bf16 input_align=1 workspace=1g", JG_REPACK_AB},
        {"4095x4095x4095 tf32 input_align=4 workspace=1g", JG_REPACK_AB},
        {"m=4096 n=4096 k=4096 a=bf16 input_align=2 workspace=1g dynamic=m,n,k",
         JG_REPACK_AB},
        {"64x64x64 bf16 input_align=2 workspace=1g", JG_REPACK_NONE},
        {"m=4096 n=4096 k=4095 a=bf16 groups=4 input_align=2 output_align=2 workspace=1g",
         JG_REPACK_NONE},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (size_t j = 0; j < 2; j++) {
            const struct jg_choice choice = plan_choose(arch_of(chips[j]), rows[i].problem);
            cr_expect_eq(choice.config.pipeline.repack, rows[i].repack, "%s on %s: %d",
                         rows[i].problem, chips[j], (int)choice.config.pipeline.repack);
            cr_expect_eq(jg_loads_by_threads(&choice.product),
                         rows[i].repack == JG_REPACK_NONE, "%s", rows[i].problem);
        }
    }
}

/* What a launch of the planned size takes is what was compared with the limit. */
Test(repack, keeps_within_the_limit_and_says_its_bytes)
{
    for (size_t j = 0; j < 2; j++) {
        const struct jg_choice whole =
            plan_choose(arch_of(chips[j]),
                        "3001x3003x3005 bf16 input_align=2 workspace=1g config=split_k=1");
        /* Rows of 3005 elements take 47 times 128 bytes; the words come first. */
        const int64_t bytes =
            jg_align_up(JG_WORKSPACE_SUMS_OFFSET, 128) + (3001 + 3003) * INT64_C(6016);
        cr_expect_eq(whole.derived.workspace_bytes, bytes);
        cr_expect_eq(whole.derived.copied_bytes, bytes);
        cr_expect_gt(whole.derived.repack_us, 0.0);

        struct jg_problem problem =
            plan_problem("3001x3003x3005 bf16 input_align=2 workspace=1g config=split_k=1");
        struct jg_choice choice;
        problem.workspace_limit = (uint64_t)bytes;
        cr_assert_eq(jg_config_choose(arch_of(chips[j]), &problem,
                                      &arch_of(chips[j])->default_facts, &choice, NULL),
                     JIT_GEMM_OK);
        cr_expect_eq(choice.config.pipeline.repack, JG_REPACK_AB);
        problem.workspace_limit = (uint64_t)bytes - 1;
        cr_assert_eq(jg_config_choose(arch_of(chips[j]), &problem,
                                      &arch_of(chips[j])->default_facts, &choice, NULL),
                     JIT_GEMM_OK);
        cr_expect_eq(choice.config.pipeline.repack, JG_REPACK_NONE);
        cr_expect_eq(choice.derived.workspace_bytes, 0);
    }
}

Test(repack, one_that_is_named_needs_no_limit)
{
    static const struct {
        const char *config;
        enum jg_repack repack;
        int64_t rows; /* of A and B that are copied */
    } rows[] = {{"config=repack=a", JG_REPACK_A, 100},
                {"config=repack=b", JG_REPACK_B, 300},
                {"config=repack=ab", JG_REPACK_AB, 400},
                {"config=repack=none", JG_REPACK_NONE, 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (size_t j = 0; j < 4; j++) {
            char text[128];
            snprintf(text, sizeof(text), "100x300x65 bf16 input_align=2 %s %s",
                     j / 2 == 0 ? "" : "d_layout=column", rows[i].config);
            const struct jg_choice choice = plan_choose(arch_of(chips[j % 2]), text);
            const struct jg_repack_size size = jg_repack_planned_size(&choice.product);
            const struct jg_repack_room room =
                jg_repack_place(&choice.config, &choice.product, size, 0);
            const int64_t copies = rows[i].rows * 256;
            cr_expect_eq(choice.config.pipeline.repack, rows[i].repack, "%s", text);
            cr_expect_eq(room.end, copies > 0 ? JG_WORKSPACE_SUMS_OFFSET + copies : 0);
            cr_expect_eq(choice.derived.workspace_bytes, room.end, "%s", text);
        }
    }
}

/* Behind the words, the sums and the partial results, and not over each other. */
Test(repack, copies_lie_behind_all_else_in_the_workspace)
{
    const struct jg_choice choice =
        plan_choose(arch_of("sm_90a"), "333x345x1001 bf16 layout=tn batch=3 input_align=2 "
                                       "config=tile=64x128 split_k=3 repack=ab");
    const struct jg_repack_size size = {333, 345, 1001, 3};
    const int64_t sums =
        jg_split_use(&choice.config, choice.derived.tiles, choice.derived.sums_bytes).bytes;
    const struct jg_repack_room room =
        jg_repack_place(&choice.config, &choice.product, size, sums + 1);

    cr_expect_gt(sums, JG_WORKSPACE_SUMS_OFFSET);
    cr_expect_eq(room.a.offset, jg_align_up(sums + 1, 128));
    cr_expect_eq(room.a.pitch, 768, "333 elements");
    cr_expect_eq(room.a.stride, INT64_C(1001) * 768);
    cr_expect_eq(room.b.offset, room.a.offset + INT64_C(3) * 1001 * 768);
    cr_expect_eq(room.b.pitch, 768, "345 elements");
    cr_expect_eq(room.end, room.b.offset + INT64_C(3) * 1001 * 768);
    cr_expect_eq(choice.derived.workspace_bytes, sums + INT64_C(6) * 1001 * 768);
}

Test(repack, more_bytes_than_there_can_be_are_no_wrong_number)
{
    const struct jg_choice choice =
        plan_choose(arch_of("sm_90a"), "512x512x512 tf32 input_align=4 config=repack=ab");
    const struct jg_repack_size most = {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX};
    const struct jg_repack_size wide = {INT32_MAX, 1, INT32_MAX, 1};

    cr_expect_eq(jg_repack_place(&choice.config, &choice.product, most, 0).end, INT64_MAX);
    cr_expect_eq(jg_repack_place(&choice.config, &choice.product, wide, INT64_MAX - 1).end,
                 INT64_MAX);
}

Test(repack, what_cannot_be_is_refused_by_name)
{
    static const struct {
        const char *arch, *problem, *message;
    } rows[] = {
        {"sm_90a", "512x512x512 bf16 config=repack=ab",
         "problem.config: repack=ab: TMA takes A and B as they are"},
        {"sm_100a", "512x512x512 bf16 input_align=16 config=repack=a",
         "problem.config: repack=a: TMA takes A and B as they are"},
        {"sm_90a", "m=512 n=512 k=512 a=bf16 input_align=2 groups=3 config=repack=ab",
         "problem.config: repack=ab: how much of A and B groups have"},
        {"sm_100a",
         "m=512 n=512 k=512 a=bf16 layout=nt input_align=2 groups=3 group_by=k_offsets "
         "config=repack=b",
         "problem.config: repack=b: how much of A and B groups have"},
        {"sm_100a",
         "512x512x512 bf16 input_align=2 config=repack=ab prefetch=b scheduler=static",
         "problem.config: prefetch=b asks for the first tile before it is copied"},
        {"sm_90a", "512x512x512 bf16 input_align=2 config=cluster=2x1 repack=none",
         "problem.config: cluster=2x1: with input_align=2 threads load A and B"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_problem problem = plan_problem(rows[i].problem);
        const struct jg_arch *arch = arch_of(rows[i].arch);
        struct jg_choice choice;
        cr_expect_eq(jg_config_choose(arch, &problem, &arch->default_facts, &choice, NULL),
                     JIT_GEMM_ERR_ARGUMENT, "%s", rows[i].problem);
        cr_expect_eq(strncmp(jg_error_text(), rows[i].message, strlen(rows[i].message)), 0,
                     "expected '%s...'\n     got '%s'", rows[i].message, jg_error_text());
    }
}

/* Halves of one row begin where TMA cannot, wherever the row begins. */
Test(repack, halves_of_a_row_are_loaded_by_threads)
{
    struct jg_problem problem = plan_problem(
        "256x266x131 bf16 layout=nn input_align=2 workspace=1g config=repack=ab");
    problem.is_gated = true;
    problem.pair = JIT_GEMM_PAIR_HALVES;
    struct jg_choice choice;
    for (size_t j = 0; j < 2; j++) {
        const struct jg_arch *arch = arch_of(chips[j]);
        problem.n.size = 266;
        cr_expect_eq(jg_config_choose(arch, &problem, &arch->default_facts, &choice, NULL),
                     JIT_GEMM_ERR_ARGUMENT);
        cr_expect_not_null(strstr(jg_error_text(), "halves of B"), "%s", jg_error_text());
        problem.n.size = 272; /* 17 times 16 bytes a half */
        cr_expect_eq(jg_config_choose(arch, &problem, &arch->default_facts, &choice, NULL),
                     JIT_GEMM_OK, "%s", jg_error_text());
    }
}

Test(repack, plan_says_what_is_copied_or_why_nothing_is)
{
    static const struct {
        const char *problem, *words;
    } rows[] = {
        {"2047x2047x2047 bf16 input_align=2 workspace=64m",
         ", A and B copied to aligned rows first, unless a launch has such: 16801792 bytes "
         "of workspace, about "},
        {"2047x2047x2047 bf16 input_align=2 config=repack=a", ", A copied to aligned rows"},
        {"2047x2047x2047 bf16 input_align=2 workspace=1m",
         ", A and B loaded by threads (copies of both would take 16801792 bytes of "
         "workspace, of which 1048576 are allowed)"},
        {"64x64x64 bf16 input_align=2 workspace=64m",
         ", A and B loaded by threads (copies of both would make it "},
        {"m=512 n=512 k=512 a=bf16 input_align=2 groups=3 workspace=64m",
         ", A and B loaded by threads (repack=ab: how much of A and B groups have"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_problem problem = plan_problem(rows[i].problem);
        const struct jg_arch *arch = arch_of("sm_90a");
        struct jg_choice choice;
        struct jg_str trace = {0};
        cr_assert_eq(
            jg_config_choose(arch, &problem, &arch->default_facts, &choice, &trace),
            JIT_GEMM_OK, "%s", jg_error_text());
        const char *text = jg_str_text(&trace);
        const char *found = strstr(text, rows[i].words);
        cr_expect(found != NULL && found < strchr(text, '\n'), "'%s'\n%.*s", rows[i].words,
                  (int)strcspn(text, "\n"), text);
        jg_str_free(&trace);
    }
}
