/* SPDX-License-Identifier: MIT */
/* What a plan prints can be read again: each config names all that could be chosen. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"
#include "plan_fixture.h"
#include "strides.h"

/* Chosen anew with this config, beside this limit on the workspace. */
static void expect_same_config(const struct jg_arch *arch, const struct jg_problem *from,
                               uint64_t workspace_limit, const char *config, bool is_usable)
{
    struct jg_problem problem = *from;
    struct jg_choice choice;
    struct jg_str again = {0};
    problem.workspace_limit = workspace_limit;
    cr_assert_lt(strlen(config), sizeof(problem.config), "%s", config);
    strcpy(problem.config, config);
    const jit_gemm_status status =
        jg_config_choose(arch, &problem, &arch->default_facts, &choice, NULL);
    if (!is_usable && status == JIT_GEMM_ERR_ARGUMENT) {
        return; /* it cannot be, and is not made into one that can */
    }
    cr_expect_eq(status, JIT_GEMM_OK, "%s: %s", config, jg_error_text());
    jg_config_print(&choice.config, arch->config_keys, &again);
    cr_expect_str_eq(jg_str_text(&again), config);
    jg_str_free(&again);
}

/* "chosen: CONFIG: predicted ..." or "rejected: CONFIG: why not". */
static void expect_line_to_be_read(const struct jg_arch *arch,
                                   const struct jg_problem *problem, const char *line,
                                   size_t size)
{
    struct jg_str config = {0};
    const char *begin = strstr(line, ": ") + 2;
    const char *end = strstr(begin, ": ");
    cr_assert(end != NULL && end < line + size);
    jg_str_add(&config, begin, (size_t)(end - begin));
    const bool is_usable = strncmp(end, ": predicted", 11) == 0 ||
                           strncmp(end, ": a tie", 7) == 0 ||
                           strncmp(end, ": slower", 8) == 0;
    static const uint64_t limits[] = {0, 64 << 20};
    for (size_t i = 0; i < 2; i++) {
        expect_same_config(arch, problem, limits[i], jg_str_text(&config), is_usable);
    }
    jg_str_free(&config);
}

Test(printed_configs, every_candidate_read_again_is_itself_beside_any_workspace)
{
    static const char *const texts[] = {
        "4096x4096x4096 bf16",
        "17x333x1 f16",
        "1000x1000x1000 bf16 layout=tn d=f32",
        "8192x64x8192 bf16 batch=3",
        "n=512 k=8192 a=bf16 dynamic=m d_layout=column",
        "64x4096x16384 bf16 input_align=2",
        "200x1280x8192 bf16", /* parts of K whose CTAs share inputs */
        "1000x1000x1000 bf16 input_align=2 workspace=1g",
        "1000x1000x1000 bf16 input_align=2 workspace=1g config=repack=none",
        "1024x256x16384 bf16 workspace=64m",
        "m=16 n=256 k=256 a=bf16 groups=4 group_by=pointers",
        "m=1024 n=4096 k=7168 a=bf16 groups=32 group_by=pointers workspace=64m",
        "16x512x65536 e4m3 d=bf16 workspace=1g",
        "256x256x8192 bf16 workspace=64m config=split_order=unordered",
        "256x256x8192 bf16 workspace=64m config=split_k=3 debug=1",
        "4096x512x1024 bf16 config=split_order=unordered pdl=0 trace=1",
        "4096x4096x4096 bf16 config=cluster=2x1",
    };
    for (int i = 0; jg_arch_at(i) != NULL; i++) {
        const struct jg_arch *arch = jg_arch_at(i);
        for (size_t j = (size_t)i; j < sizeof(texts) / sizeof(texts[0]);
             j += (size_t)test_stride(1)) {
            const struct jg_problem problem = plan_problem(texts[j]);
            struct jg_choice choice;
            struct jg_str trace = {0};
            cr_assert_eq(
                jg_config_choose(arch, &problem, &arch->default_facts, &choice, &trace),
                JIT_GEMM_OK, "%s: %s", texts[j], jg_error_text());

            int lines = 0;
            for (const char *line = jg_str_text(&trace); *line != '\0'; lines++) {
                const size_t size = strcspn(line, "\n");
                if (strncmp(line, "with", 4) != 0) { /* of another problem */
                    expect_line_to_be_read(arch, &problem, line, size);
                }
                line += size + (line[size] == '\n');
            }

            cr_expect_gt(lines, 10, "%s: %s", arch->name, texts[j]);
            jg_str_free(&trace);
        }
    }
}

Test(printed_configs, choice_read_again_is_equal_in_every_field)
{
    static const char *const texts[] = {
        "4096x4096x4096 bf16",
        "17x333x1 f16",
        "1000x1000x1000 bf16 layout=tn d=f32",
        "1024x256x16384 bf16 workspace=64m",
        "512x512x512 bf16 config=split_order=unordered",
        "16x512x8192 bf16 config=split_k=2 split_order=serial",
        "2000x2000x2000 bf16 input_align=2 workspace=1g",
        "64x64x2000 bf16 input_align=8 workspace=1g",
        "512x512x512 bf16 input_align=4 config=repack=b",
    };
    for (int i = 0; jg_arch_at(i) != NULL; i++) {
        for (size_t j = 0; j < sizeof(texts) / sizeof(texts[0]); j++) {
            const struct jg_choice choice = plan_choose(jg_arch_at(i), texts[j]);
            struct jg_problem problem = plan_problem(texts[j]);
            struct jg_choice again;
            struct jg_str config = {0};
            jg_config_print(&choice.config, jg_arch_at(i)->config_keys, &config);
            strcpy(problem.config, jg_str_text(&config));
            cr_assert_eq(jg_config_choose(jg_arch_at(i), &problem,
                                          &jg_arch_at(i)->default_facts, &again, NULL),
                         JIT_GEMM_OK, "%s", jg_error_text());

            cr_expect_eq(memcmp(&again.config, &choice.config, sizeof(again.config)), 0,
                         "%s: %s", texts[j], jg_str_text(&config));
            jg_str_free(&config);
        }
    }
}
