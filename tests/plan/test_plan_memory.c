/* SPDX-License-Identifier: MIT */
/* Each allocation of the planning steps fails once: NO_MEMORY, results untouched. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "plan/choose.h"

enum { MOST_ALLOCATIONS = 2000 };

/* Runs the step with allocation 1, 2, ... failing until it gets through. */
static void walk(jit_gemm_status (*step)(void))
{
    for (int all_after = 0; all_after < 2; all_after++) {
        long number = 1;
        for (; number < MOST_ALLOCATIONS; number++) {
            jg_alloc_fail_at(number, all_after);
            const jit_gemm_status status = step();
            jg_alloc_fail_at(0, 0);
            if (status == JIT_GEMM_OK) {
                break;
            }
            cr_assert_eq(status, JIT_GEMM_ERR_NO_MEMORY, "allocation %ld: %s", number,
                         jg_error_text());
            cr_expect_str_eq(jg_error_text(), "out of memory");
        }
        cr_expect_gt(number, 1, "the step allocates something");
        cr_expect_lt(number, MOST_ALLOCATIONS);
    }
}

static jit_gemm_status create_epilogue(void)
{
    jit_gemm_epilogue user;
    memset(&user, 0, sizeof(user));
    user.struct_size = sizeof(user);
    user.name = "ep";
    user.source = "d = acc;";
    struct jg_epilogue *epilogue = NULL;
    const jit_gemm_status status = jg_epilogue_create(&user, &epilogue);
    cr_expect_eq(epilogue == NULL, status != JIT_GEMM_OK);
    jg_epilogue_destroy(epilogue);
    return status;
}

Test(plan_memory, epilogue_create)
{
    walk(create_epilogue);
}

static jit_gemm_problem parse(const char *text)
{
    jit_gemm_problem problem;
    memset(&problem, 0, sizeof(problem));
    cr_assert_eq(jg_problem_parse(text, &problem), JIT_GEMM_OK, "%s", jg_error_text());
    return problem;
}

static jit_gemm_status print_problem(void)
{
    const jit_gemm_problem problem =
        parse("8x8x8 bf16 batch=7 layout=tn dynamic=m,n d=f32 epilogue=ep config=stages=4");
    struct jg_str text = {0};
    const jit_gemm_status status = jg_problem_print(&problem, &text);
    jg_str_free(&text);
    return status;
}

Test(plan_memory, problem_print)
{
    walk(print_problem);
}

static jit_gemm_status normalize_problem(void)
{
    const jit_gemm_problem problem = parse("8x8x8 bf16 config=stages=4 tile=128x128");
    struct jg_problem canonical;
    memset(&canonical, 0x5a, sizeof(canonical));
    const struct jg_problem before = canonical;
    const jit_gemm_status status = jg_problem_normalize(&problem, NULL, NULL, &canonical);
    if (status != JIT_GEMM_OK) {
        cr_expect_eq(memcmp(&canonical, &before, sizeof(before)), 0);
    }
    return status;
}

Test(plan_memory, problem_normalize)
{
    walk(normalize_problem);
}

static struct jg_problem chosen_problem;

static jit_gemm_status choose_with_trace(void)
{
    const struct jg_arch *arch = jg_arch_find("sm_90a");
    struct jg_choice choice;
    memset(&choice, 0x5a, sizeof(choice));
    const struct jg_choice before = choice;
    struct jg_str trace = {0};
    const jit_gemm_status status =
        jg_config_choose(arch, &chosen_problem, &arch->default_facts, &choice, &trace);
    if (status != JIT_GEMM_OK) {
        cr_expect_eq(memcmp(&choice, &before, sizeof(before)), 0);
    }
    jg_str_free(&trace);
    return status;
}

Test(plan_memory, choose_with_a_trace)
{
    const jit_gemm_problem problem =
        parse("4096x4096x4096 bf16 config=tile=128x128 cluster=2x1");
    cr_assert_eq(jg_problem_normalize(&problem, NULL, NULL, &chosen_problem), JIT_GEMM_OK);

    walk(choose_with_trace);
}

Test(plan_memory, choose_without_a_trace_allocates_nothing)
{
    const jit_gemm_problem problem = parse("4096x4096x4096 bf16 config=stages=3");
    cr_assert_eq(jg_problem_normalize(&problem, NULL, NULL, &chosen_problem), JIT_GEMM_OK);
    const struct jg_arch *arch = jg_arch_find("sm_90a");
    struct jg_choice choice;
    const long before = jg_alloc_count();

    cr_expect_eq(
        jg_config_choose(arch, &chosen_problem, &arch->default_facts, &choice, NULL),
        JIT_GEMM_OK);

    cr_expect_eq(jg_alloc_count(), before);
}

Test(plan_memory, errors_keep_their_status_when_the_record_gets_no_memory)
{
    static const char *const texts[] = {"", "8x8", "8x8x8 e4m2", "8x8x8 bf16 config=x=1"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        for (long number = 1; number < 6; number++) {
            jit_gemm_problem problem;
            jg_alloc_fail_at(number, 1);
            const jit_gemm_status status = jg_problem_parse(texts[i], &problem);
            jg_alloc_fail_at(0, 0);
            cr_expect_eq(status, JIT_GEMM_ERR_ARGUMENT);
            cr_expect_gt(strlen(jg_error_text()), 10);
        }
    }
}
