/* SPDX-License-Identifier: MIT */
#include "plan_fixture.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"

struct jg_problem plan_problem(const char *text)
{
    jit_gemm_problem problem;
    struct jg_problem canonical;
    memset(&canonical, 0, sizeof(canonical));
    cr_assert_eq(jg_problem_parse(text, &problem), JIT_GEMM_OK, "%s", jg_error_text());
    cr_assert_eq(jg_problem_normalize(&problem, NULL, NULL, &canonical), JIT_GEMM_OK, "%s",
                 jg_error_text());
    return canonical;
}

const struct jg_arch *plan_hopper(void)
{
    const struct jg_arch *arch = jg_arch_find("sm_90a");
    cr_assert_not_null(arch);
    return arch;
}

jit_gemm_status plan_try_on(const char *chip, const char *text,
                            struct jg_choice *ret_choice)
{
    const struct jg_arch *arch = jg_arch_find(chip);
    const struct jg_problem problem = plan_problem(text);
    cr_assert_not_null(arch);
    return jg_config_choose(arch, &problem, &arch->default_facts, ret_choice, NULL);
}

struct jg_choice plan_choose_on(const char *chip, const char *text)
{
    struct jg_choice choice;
    memset(&choice, 0, sizeof(choice));
    cr_assert_eq(plan_try_on(chip, text, &choice), JIT_GEMM_OK, "%s: %s", text,
                 jg_error_text());
    return choice;
}

struct jg_choice plan_choose(const struct jg_arch *arch, const char *text)
{
    return plan_choose_on(arch->name, text);
}

void plan_expect_config(const struct jg_arch *arch, const char *text, const char *expected)
{
    const struct jg_choice choice = plan_choose(arch, text);
    struct jg_str config = {0};
    jg_config_print(&choice.config, arch->config_keys, &config);
    cr_expect_not_null(strstr(jg_str_text(&config), expected), "%s: %s lacks %s", text,
                       jg_str_text(&config), expected);
    jg_str_free(&config);
}

bool plan_is_same_problem(const struct jg_problem *a, const struct jg_problem *b)
{
    struct jg_str bytes[2] = {{0}, {0}};
    jg_problem_bytes(a, &bytes[0]);
    jg_problem_bytes(b, &bytes[1]);
    cr_assert_eq(jg_str_status(&bytes[0]), JIT_GEMM_OK);
    cr_assert_eq(jg_str_status(&bytes[1]), JIT_GEMM_OK);
    const bool is_same =
        bytes[0].size == bytes[1].size &&
        memcmp(jg_str_text(&bytes[0]), jg_str_text(&bytes[1]), bytes[0].size) == 0;
    jg_str_free(&bytes[0]);
    jg_str_free(&bytes[1]);
    return is_same;
}
