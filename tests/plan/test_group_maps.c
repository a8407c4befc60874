/* SPDX-License-Identifier: MIT */
/* Maps of each group where addresses say where matrices are: when they are chosen, what
 * they take, what is refused. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"
#include "plan/group_maps.h"
#include "plan/workspace.h"
#include "plan_fixture.h"

static const char *const chips[] = {"sm_90a", "sm_100a"};
enum { CHIPS = 2 };

Test(group_maps, are_chosen_where_they_save_time_and_the_workspace_has_room)
{
    static const struct {
        const char *problem;
        enum jg_group_maps maps;
    } rows[] = {
        {"m=1024 n=4096 k=7168 a=bf16 groups=32 workspace=64m group_by=pointers",
         JG_GROUP_MAPS_WRITTEN},
        {"m=1024 n=4096 k=7168 a=e4m3 d=bf16 groups=32 workspace=64m group_by=pointers",
         JG_GROUP_MAPS_WRITTEN},
        {"m=1024 n=4096 k=7168 a=bf16 groups=32 group_by=pointers", JG_GROUP_MAPS_UNUSED},
        {"m=1024 n=4096 k=7168 a=bf16 groups=32 workspace=32k group_by=pointers",
         JG_GROUP_MAPS_UNUSED},
        {"m=16 n=256 k=256 a=bf16 groups=4 workspace=64m group_by=pointers",
         JG_GROUP_MAPS_UNUSED},
        {"m=1024 n=4096 k=7168 a=bf16 groups=32 workspace=64m group_by=pointers "
         "config=group_maps=0",
         JG_GROUP_MAPS_UNUSED},
        {"m=1024 n=4096 k=7168 a=bf16 groups=32 workspace=64m group_by=pointers "
         "input_align=8",
         JG_GROUP_MAPS_NONE},
        {"m=1024 n=4096 k=7168 a=bf16 groups=32 workspace=64m group_by=counts",
         JG_GROUP_MAPS_NONE},
        {"1024x1024x1024 bf16 workspace=64m config=group_maps=0", JG_GROUP_MAPS_NONE},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (size_t j = 0; j < CHIPS; j++) {
            const struct jg_choice choice =
                plan_choose(jg_arch_find(chips[j]), rows[i].problem);
            cr_expect_eq(choice.config.pipeline.group_maps, rows[i].maps, "%s on %s: %d",
                         rows[i].problem, chips[j], (int)choice.config.pipeline.group_maps);
        }
    }
}

/* 128 bytes of each of 3 * 33 maps behind the words that are zero between launches. */
Test(group_maps, keep_within_the_limit_and_say_their_bytes)
{
    const int64_t bytes = JG_WORKSPACE_SUMS_OFFSET + INT64_C(99) * 128;
    cr_expect_eq(jg_group_maps_bytes(33), bytes);
    for (size_t j = 0; j < CHIPS; j++) {
        const struct jg_arch *arch = jg_arch_find(chips[j]);
        struct jg_problem problem = plan_problem(
            "m=1024 n=4096 k=7168 a=bf16 groups=33 group_by=pointers workspace=64m");
        struct jg_choice choice;
        for (int less = 0; less < 2; less++) {
            problem.workspace_limit = (uint64_t)(bytes - less);
            cr_assert_eq(
                jg_config_choose(arch, &problem, &arch->default_facts, &choice, NULL),
                JIT_GEMM_OK);
            cr_expect_eq(jg_has_group_maps(&choice.config), less == 0);
            cr_expect_eq(jg_loads_by_threads(&choice.product), less == 1);
            cr_expect_eq(choice.derived.workspace_bytes, less == 0 ? bytes : 0);
            cr_expect_eq(choice.derived.copied_bytes, less == 0 ? bytes : 0);
            cr_expect_eq(choice.derived.repack_us > 0.0, less == 0);
        }
    }
}

Test(group_maps, what_tma_does_not_take_or_has_one_map_is_refused)
{
    static const struct {
        const char *problem, *words;
    } rows[] = {
        {"m=512 n=512 k=512 a=bf16 groups=4 group_by=pointers input_align=4 "
         "config=group_maps=1",
         "group_maps=1: TMA takes addresses and rows of 16 bytes, and input_align=4"},
        {"m=512 n=512 k=512 a=bf16 groups=4 group_by=counts config=group_maps=1",
         "group_maps=1: one map has the matrices of all groups, but with group_by=pointers"},
        {"512x512x512 bf16 config=group_maps=1",
         "group_maps=1: one map has the matrices of all groups"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (size_t j = 0; j < CHIPS; j++) {
            const struct jg_arch *arch = jg_arch_find(chips[j]);
            const struct jg_problem problem = plan_problem(rows[i].problem);
            struct jg_choice choice;
            cr_expect_eq(
                jg_config_choose(arch, &problem, &arch->default_facts, &choice, NULL),
                JIT_GEMM_ERR_ARGUMENT);
            cr_expect(strstr(jg_error_text(), rows[i].words) != NULL, "%s",
                      jg_error_text());
        }
    }
}
