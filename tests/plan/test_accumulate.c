/* SPDX-License-Identifier: MIT */
/* accumulate=fast: which kernels it gives, and what is refused. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan_fixture.h"

Test(accumulate, fast_sums_stay_in_the_tensor_core_where_that_keeps_less)
{
    const struct jg_choice exact = plan_choose_on("sm_90a", "512x512x512 e4m3");
    const struct jg_choice fast =
        plan_choose_on("sm_90a", "512x512x512 e4m3 accumulate=fast");
    cr_expect(exact.derived.promotes_sums);
    cr_expect_eq(exact.derived.accumulate, JIT_GEMM_ACCUMULATE_EXACT);
    cr_expect_not(fast.derived.promotes_sums);
    cr_expect_eq(fast.derived.accumulate, JIT_GEMM_ACCUMULATE_FAST);
    cr_expect_eq(exact.derived.sum_fraction_bits, 13);
    cr_expect_eq(fast.derived.sum_fraction_bits, 13);
}

Test(accumulate, tensor_core_that_keeps_all_has_one_kernel_for_both)
{
    const struct jg_choice exact = plan_choose_on("sm_100a", "512x512x512 e4m3");
    const struct jg_choice fast =
        plan_choose_on("sm_100a", "512x512x512 e4m3 accumulate=fast");
    cr_expect_eq(fast.derived.accumulate, JIT_GEMM_ACCUMULATE_EXACT);
    cr_expect_eq(fast.derived.sum_fraction_bits, 23);
    cr_expect_eq(memcmp(&exact.config, &fast.config, sizeof(exact.config)), 0);
}

/* The second set of accumulators leaves no registers for them. */
Test(accumulate, fast_sums_have_the_tiles_and_the_turns_of_other_types)
{
    static const char *const configs[] = {"tile=128x256", "tile=256x128",
                                          "tile=128x192 pingpong=1"};
    static const bool are_for_fast_only[] = {true, false, true};
    for (int i = 0; i < 3; i++) {
        char text[128];
        struct jg_choice choice;
        snprintf(text, sizeof(text), "4096x4096x4096 e4m3 config=%s", configs[i]);
        cr_expect_eq(plan_try_on("sm_90a", text, &choice) == JIT_GEMM_OK,
                     !are_for_fast_only[i], "%s", text);
        snprintf(text, sizeof(text), "4096x4096x4096 e4m3 accumulate=fast config=%s",
                 configs[i]);
        cr_expect_eq(plan_try_on("sm_90a", text, &choice), JIT_GEMM_OK, "%s: %s", text,
                     jg_error_text());
    }
}

Test(accumulate, text_of_a_canonical_problem_names_it)
{
    const struct jg_problem problem = plan_problem("64x256x64 e5m2 accumulate=fast");
    struct jg_str text = {0};
    jg_problem_text(&problem, &text);
    cr_expect_str_eq(jg_str_text(&text), "m=64 n=256 k=64 a=e5m2 accumulate=fast");
    jg_str_free(&text);
}

Test(accumulate, two_ways_are_two_problems)
{
    const struct jg_problem exact = plan_problem("64x256x64 e4m3 accumulate=exact");
    const struct jg_problem fast = plan_problem("64x256x64 e4m3 accumulate=fast");
    struct jg_str bytes[2] = {{0}, {0}};
    jg_problem_bytes(&exact, &bytes[0]);
    jg_problem_bytes(&fast, &bytes[1]);
    cr_assert_eq(bytes[0].size, bytes[1].size);
    cr_expect_neq(memcmp(bytes[0].data, bytes[1].data, bytes[0].size), 0);
    jg_str_free(&bytes[0]);
    jg_str_free(&bytes[1]);
}

Test(accumulate, what_has_nothing_to_save_is_refused)
{
    static const struct {
        const char *problem, *error;
    } rows[] = {
        {"64x256x64 bf16 accumulate=fast",
         "problem.accumulate: only sums of e4m3 and e5m2 can be made faster, A is bf16; leave "
         "accumulate=fast out: there is nothing to save"},
        {"64x256x64 s8 accumulate=fast",
         "problem.accumulate: only sums of e4m3 and e5m2 can be made faster, A is s8; leave "
         "accumulate=fast out: there is nothing to save"},
        {"64x256x128 e4m3 d=bf16 a_scale=1x128 b_scale=128x128 accumulate=fast",
         "problem.accumulate: sums of blocks with scales are added up one by one; leave "
         "accumulate=fast out, or the scales of blocks"},
        {"64x256x128 a=mxfp8 b=mxfp8 d=bf16 accumulate=fast",
         "problem.accumulate: sums of blocks with scales are added up one by one; leave "
         "accumulate=fast out, or the scales of blocks"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        jit_gemm_problem problem;
        struct jg_problem canonical;
        cr_assert_eq(jg_problem_parse(rows[i].problem, &problem), JIT_GEMM_OK, "%s",
                     jg_error_text());
        cr_expect_eq(jg_problem_normalize(&problem, NULL, NULL, &canonical),
                     JIT_GEMM_ERR_UNSUPPORTED, "%s", rows[i].problem);
        cr_expect_str_eq(jg_error_text(), rows[i].error);
    }
}

Test(accumulate, field_is_one_of_its_constants)
{
    jit_gemm_problem problem;
    struct jg_problem canonical;
    cr_assert_eq(jg_problem_parse("64x256x64 e4m3", &problem), JIT_GEMM_OK);
    cr_expect_eq(problem.accumulate, JIT_GEMM_ACCUMULATE_EXACT);
    problem.accumulate = (jit_gemm_accumulate)2;
    cr_expect_eq(jg_problem_normalize(&problem, NULL, NULL, &canonical),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_str_eq(jg_error_text(),
                     "problem.accumulate: must be 0 or 1, is 2; give "
                     "JIT_GEMM_ACCUMULATE_EXACT or JIT_GEMM_ACCUMULATE_FAST");
    cr_expect_eq(jg_problem_parse("64x256x64 e4m3 accumulate=quick", &problem),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_str_eq(jg_error_text(), "problem.accumulate: unknown accumulation 'quick' at "
                                      "column 27; give exact or fast");
}
