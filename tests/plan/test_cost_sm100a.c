/* SPDX-License-Identifier: MIT */
/* The cost model of sm_100a: clusters that nobody has counted, and what an epilogue is
 * taken for beside instructions counted in machine code (docs/sm100a-model.md; bounds of
 * the counts: test_machine_code.py). */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan/choose.h"
#include "plan/sm100a/sm100a.h"
#include "plan_fixture.h"

#define SHAPE  "4096x4096x4096 "
#define SHORT  "4096x4096x256 " /* the tensor core waits for an epilogue with a matrix */
#define CONFIG " config=mma=256x256"
#define NAMED  " epilogue=snippet" CONFIG

enum { MOST_OPERANDS = 2 };

/* Operands: "b" a bias, a row vector; "r" and "s" matrices; "o" an output. */
static const struct {
    const char *problem, *snippet;
    const char *operands[MOST_OPERANDS];
    double counted;
} rows[] = {
    {SHAPE "bf16" CONFIG, NULL, {NULL}, 116},
    {SHAPE "bf16 d=f32" CONFIG, NULL, {NULL}, 154},
    {SHAPE "bf16 d_layout=column config=mma=256x256 swap_ab=1", NULL, {NULL}, 114},
    {SHAPE "bf16 a_scale=vector b_scale=vector" CONFIG, NULL, {NULL}, 327},
    {SHAPE "bf16" NAMED, "d = acc + b;", {"b"}, 198},
    {SHAPE "bf16" NAMED, "d = gelu(acc);", {NULL}, 661},
    {SHAPE "bf16" NAMED, "d = gelu(acc + b);", {"b"}, 711},
    {SHAPE "e4m3" CONFIG, NULL, {NULL}, 322},
    {SHAPE "bf16 c=bf16" CONFIG, NULL, {NULL}, 478},
    {SHAPE "bf16" NAMED, "d = acc + r;", {"r"}, 379},
    {SHAPE "bf16" NAMED, "d = acc + r + s;", {"r", "s"}, 541},
    {SHAPE "bf16" NAMED, "d = gelu(acc + b) + r;", {"b", "r"}, 983},
    {SHORT "bf16 c=bf16" CONFIG, NULL, {NULL}, 397},
    {SHORT "bf16" NAMED, "d = acc + r;", {"r"}, 243},
    {SHORT "bf16" NAMED, "d = acc + b + r;", {"b", "r"}, 350},
    {SHORT "bf16" NAMED, "d = acc + r + s;", {"r", "s"}, 396},
    {SHORT "bf16" NAMED, "d = gelu(acc + b) + r;", {"b", "r"}, 863},
    {SHAPE "bf16" NAMED, "o = acc; d = gelu(acc);", {"o"}, 931},
    {SHAPE "e4m3" NAMED, "d = gelu(acc + b);", {"b"}, 863},
    {SHAPE "bf16 d=mxfp8" CONFIG, NULL, {NULL}, 773},
    {SHAPE "bf16 d=nvfp4" CONFIG, NULL, {NULL}, 834},
};

static jit_gemm_status find(void *user, const char *name, jit_gemm_dtype d,
                            const struct jg_epilogue **ret_epilogue)
{
    const struct jg_epilogue *epilogue = user;
    (void)d;
    *ret_epilogue = epilogue != NULL && strcmp(epilogue->name, name) == 0 ? epilogue : NULL;
    return JIT_GEMM_OK;
}

static struct jg_epilogue *make_epilogue(const char *snippet, const char *const *names)
{
    jit_gemm_operand operands[MOST_OPERANDS] = {{.kind = JIT_GEMM_OPERAND_MATRIX}};
    size_t count = 0;
    struct jg_epilogue *epilogue = NULL;
    for (size_t i = 0; i < MOST_OPERANDS && names[i] != NULL; i++, count++) {
        operands[i] = (jit_gemm_operand){
            .name = names[i],
            .kind =
                names[i][0] == 'b' ? JIT_GEMM_OPERAND_ROW_VECTOR : JIT_GEMM_OPERAND_MATRIX,
            .dtype = JIT_GEMM_DTYPE_BF16,
            .role = names[i][0] == 'o' ? JIT_GEMM_OPERAND_OUTPUT : JIT_GEMM_OPERAND_INPUT};
    }
    const jit_gemm_epilogue user = {.struct_size = sizeof(user),
                                    .name = "snippet",
                                    .source = snippet,
                                    .operands = operands,
                                    .operand_count = (uint32_t)count};
    cr_assert_eq(jg_epilogue_create(&user, &epilogue), JIT_GEMM_OK, "%s", jg_error_text());
    return epilogue;
}

static double count_step(const char *text, const struct jg_epilogue *epilogue)
{
    const struct jg_arch *arch = jg_arch_find("sm_100a");
    jit_gemm_problem user;
    struct jg_problem problem;
    struct jg_choice choice;
    cr_assert_eq(jg_problem_parse(text, &user), JIT_GEMM_OK, "%s", jg_error_text());
    cr_assert_eq(jg_problem_normalize(&user, find, (void *)epilogue, &problem), JIT_GEMM_OK,
                 "%s", jg_error_text());
    cr_assert_eq(jg_config_choose(arch, &problem, &arch->default_facts, &choice, NULL),
                 JIT_GEMM_OK, "%s: %s", text, jg_error_text());
    const struct jg_trial trial = {.problem = &problem,
                                   .facts = &arch->default_facts,
                                   .product = choice.product,
                                   .config = choice.config,
                                   .derived = choice.derived};
    return jg_sm100a_step_instructions(&trial);
}

Test(cost_sm100a, instructions_of_a_step_are_those_that_were_counted)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_epilogue *epilogue =
            rows[i].snippet != NULL ? make_epilogue(rows[i].snippet, rows[i].operands)
                                    : NULL;

        const double estimated = count_step(rows[i].problem, epilogue);

        cr_expect_lt(fabs(log(estimated / rows[i].counted)), log(1.15),
                     "%s %s: %.0f instructions, counted %.0f", rows[i].problem,
                     rows[i].snippet != NULL ? rows[i].snippet : "", estimated,
                     rows[i].counted);
        jg_epilogue_destroy(epilogue);
    }
}

/* Power hides what multiplications wait for where there is much to multiply: a short K
 * shows it. */
Test(cost_sm100a, a_longer_snippet_is_slower_where_k_is_short)
{
    static const char short_k[] = "8192x8192x256 bf16 epilogue=snippet "
                                  "config=epilogue_warps=4";
    static const char *const snippets[] = {"d = acc;", "d = gelu(acc);",
                                           "d = gelu(gelu(acc));"};
    const struct jg_arch *arch = jg_arch_find("sm_100a");
    static const char *const no_operands[MOST_OPERANDS] = {NULL};
    double before = 0.0;
    for (size_t i = 0; i < sizeof(snippets) / sizeof(snippets[0]); i++) {
        struct jg_epilogue *epilogue = make_epilogue(snippets[i], no_operands);
        jit_gemm_problem user;
        struct jg_problem problem;
        struct jg_choice choice;
        cr_assert_eq(jg_problem_parse(short_k, &user), JIT_GEMM_OK);
        cr_assert_eq(jg_problem_normalize(&user, find, epilogue, &problem), JIT_GEMM_OK);
        cr_assert_eq(jg_config_choose(arch, &problem, &arch->default_facts, &choice, NULL),
                     JIT_GEMM_OK);
        cr_expect_gt(choice.derived.predicted_us, 1.1 * before, "%s", snippets[i]);
        before = choice.derived.predicted_us;
        jg_epilogue_destroy(epilogue);
    }
}

static struct jg_choice choose_with(const struct jg_device_facts *facts, const char *text)
{
    const struct jg_problem problem = plan_problem(text);
    struct jg_choice choice;
    cr_assert_eq(jg_config_choose(jg_arch_find("sm_100a"), &problem, facts, &choice, NULL),
                 JIT_GEMM_OK, "%s", jg_error_text());
    return choice;
}

/* Until somebody has counted how many run at once: 34, where multiprocessors would hold 37.
 * 104 clusters of tiles are four rounds of these, and three of those. */
Test(choose_sm100a, clusters_that_ask_for_tiles_are_as_many_as_gpcs_hold)
{
    static const char text[] = "1024x8192x8192 bf16 config=mma=256x192 cluster=4x1";
    static const char edge[] = "4096x2048x2048 mxfp8 d=bf16 config=mma=256x160 cluster=4x1";
    const struct jg_device_facts *unknown = &jg_arch_find("sm_100a")->default_facts;
    struct jg_device_facts all = *unknown, some = *unknown;
    all.clusters_at_once[0] = unknown->sm_count / 4;
    some.clusters_at_once[0] = 30;

    cr_expect_eq(choose_with(unknown, text).derived.busy_ctas, 4 * 34);
    cr_expect_eq(choose_with(&all, text).derived.busy_ctas, 148);
    cr_expect_eq(choose_with(&some, text).derived.busy_ctas, 120);
    cr_expect_gt(choose_with(&some, text).derived.waves,
                 choose_with(&all, text).derived.waves);
    const double unknown_us = choose_with(unknown, text).derived.predicted_us;
    const double all_us = choose_with(&all, text).derived.predicted_us;
    cr_expect_gt(unknown_us, 1.01 * all_us, "three rounds of either, but boards differ");
    cr_expect_lt(unknown_us, 1.03 * all_us);
    cr_expect_gt(choose_with(unknown, edge).derived.predicted_us,
                 1.1 * choose_with(&all, edge).derived.predicted_us);
    cr_expect_eq(choose_with(unknown, "4096x4096x4096 bf16").config.layout.cluster_m, 2);
}

/* 192 tiles of a weight that memory brings are a round of 148 and one of 44, which memory
 * brings at once: these take as long as a tile does. So it is with tiles of groups. */
Test(cost_sm100a, a_last_round_of_few_tiles_takes_as_long_as_its_products)
{
    static const char *const few[][2] = {
        {"1x24576x1536 bf16", "mma=128x16 cta_group=1 swap_ab=1"},
        {"m=768 n=4096 k=4096 bf16 groups=8 group_by=offsets",
         "mma=128x192 cta_group=1 cluster=1x2"}};
    const struct jg_device_facts *facts = &jg_arch_find("sm_100a")->default_facts;
    for (size_t i = 0; i < sizeof(few) / sizeof(few[0]); i++) {
        char text[160];
        snprintf(text, sizeof(text), "%s config=%s", few[i][0], few[i][1]);
        const struct jg_choice rest = choose_with(facts, text);
        const struct jg_choice chosen = choose_with(facts, few[i][0]);
        cr_expect_gt(rest.derived.waves, 1.1);
        cr_expect_lt(rest.derived.waves, 2.0);
        cr_expect_gt(chosen.derived.waves, 2.0);
        cr_expect_gt(rest.derived.predicted_us, 1.02 * chosen.derived.predicted_us, "%s",
                     text);
    }
}

/* 36 clusters of 4, of which boards are sure to hold 30. Where each cluster has one tile
 * the others are a round of their own. */
Test(choose_sm100a, tiles_of_clusters_that_no_gpc_may_have_room_for_are_a_round_more)
{
    static const char text[] = "1536x1536x1536 bf16";
    const struct jg_device_facts *unknown = &jg_arch_find("sm_100a")->default_facts;
    struct jg_device_facts all = *unknown;
    all.clusters_at_once[0] = 36;

    const struct jg_choice pairs = choose_with(unknown, text);
    const struct jg_choice fours = choose_with(
        unknown, "1536x1536x1536 bf16 config=mma=256x128 cluster=4x1 scheduler=single");

    cr_expect_eq(pairs.config.layout.cluster_m, 2);
    cr_expect_eq(fours.derived.busy_ctas, 4 * 30);
    cr_expect_gt(fours.derived.predicted_us, 1.4 * pairs.derived.predicted_us);
    cr_expect_leq(choose_with(&all, text).derived.predicted_us, pairs.derived.predicted_us);
}
