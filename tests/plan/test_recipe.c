/* SPDX-License-Identifier: MIT */
/* Recipes: their text, what is refused of it, and which problems take which config. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "epilogue_maker.h"
#include "plan/recipe.h"
#include "plan/split.h"
#include "plan_fixture.h"

#define HEAD "jit_gemm recipe 1\n"

static jit_gemm_status find_none(void *user, const char *name, jit_gemm_dtype d,
                                 const struct jg_epilogue **ret_epilogue)
{
    (void)user, (void)name, (void)d;
    *ret_epilogue = NULL;
    return JIT_GEMM_OK;
}

static struct jg_recipe_checker checker_of(const struct jg_arch *arch)
{
    return (struct jg_recipe_checker){
        .find = find_none, .arch = arch, .facts = &arch->default_facts};
}

static jit_gemm_status parse(const char *text, struct jg_recipe *ret_recipe)
{
    const struct jg_recipe_checker checker = checker_of(jg_arch_find("sm_90a"));
    return jg_recipe_parse("r", text, strlen(text), &checker, ret_recipe);
}

static struct jg_recipe recipe_of(const char *text)
{
    struct jg_recipe recipe = {0};
    cr_assert_eq(parse(text, &recipe), JIT_GEMM_OK, "%s", jg_error_text());
    return recipe;
}

static const struct jg_recipe_item *find(const struct jg_recipe *recipe,
                                         const struct jg_problem *problem)
{
    struct jg_str key = {0};
    jg_recipe_key(problem, &key);
    const struct jg_recipe_item *item =
        jg_recipe_find(recipe, jg_arch_find("sm_90a"), jg_str_text(&key));
    jg_str_free(&key);
    return item;
}

static const char two_lines[] =
    HEAD "# written by hand\r\n"
         "\n"
         "problem sm_90a 4096x4096x4096 bf16 config=tile=128x128 cluster=1x1#  fast  \n"
         "problem sm_100a m=64 n=4096 k=4096 a=f16 dynamic=m config=mma=128x64";

Test(recipe, lines_are_read_with_their_remarks_and_checked_on_their_own_chip)
{
    struct jg_recipe recipe = recipe_of(two_lines);

    cr_assert_eq(recipe.count, 2);
    cr_expect_str_eq(recipe.items[0].arch->name, "sm_90a");
    cr_expect_str_eq(recipe.items[0].problem, "m=4096 n=4096 k=4096 a=bf16");
    cr_expect_str_eq(recipe.items[0].config, "tile=128x128 cluster=1x1");
    cr_expect_str_eq(recipe.items[0].remark, "fast");
    cr_expect_eq(recipe.items[0].line, 4);
    cr_expect_str_eq(recipe.items[1].arch->name, "sm_100a");
    cr_expect_str_eq(recipe.items[1].problem, "m=64 n=4096 k=4096 a=f16 dynamic=m");
    cr_expect_str_eq(recipe.items[1].remark, "");
    jg_recipe_free(&recipe);
}

Test(recipe, what_is_wrong_is_told_with_its_line_and_the_remedy)
{
    static const struct {
        const char *text;
        jit_gemm_status status;
        const char *messages[2];
    } rows[] = {
        {"", JIT_GEMM_ERR_ARGUMENT, {"recipe r:1: this is no recipe", "jit-gemm tune"}},
        {"jit_gemm manifest 1\n", JIT_GEMM_ERR_ARGUMENT, {"recipe r:1", "no recipe"}},
        {"\xef\xbb\xbfjit_gemm recipe 1\n",
         JIT_GEMM_ERR_ARGUMENT,
         {"recipe r:1: this text begins with a byte order mark", "plain text"}},
        {"jit_gemm recipe 2\n",
         JIT_GEMM_ERR_VERSION,
         {"recipe r:1: a recipe of another format", "tune again"}},
        {HEAD "prblem sm_90a 64x64x64 bf16 config=tile=64x64\n",
         JIT_GEMM_ERR_ARGUMENT,
         {"recipe r:2: unknown kind of line", "problem ARCH TEXT config=CONFIG"}},
        {HEAD "problem 64x64x64 bf16 config=tile=64x64\n",
         JIT_GEMM_ERR_ARGUMENT,
         {"recipe r:2: ", "'64x64x64' is no architecture of this version"}},
        {HEAD "\nproblem sm_90a 4096x4096 bf16 config=tile=64x64\n",
         JIT_GEMM_ERR_ARGUMENT,
         {"recipe r:3: ", "column"}},
        {HEAD "problem sm_90a 4096x4096x4096 bf16\n",
         JIT_GEMM_ERR_ARGUMENT,
         {"recipe r:2: problem.config: ", "end the problem with config="}},
        {HEAD "problem sm_90a 4096x4096x4096 bf16 config=# none\n",
         JIT_GEMM_ERR_ARGUMENT,
         {"recipe r:2: problem.config: ", "end the problem with config="}},
        {HEAD "problem sm_90a 4096x4096x4096 bf16 config=tile=128\n",
         JIT_GEMM_ERR_ARGUMENT,
         {"recipe r:2: ", "tile"}},
        {HEAD "problem sm_90a 4096x4096x4096 bf16 config=tile=1000x1000\n",
         JIT_GEMM_ERR_ARGUMENT,
         {"recipe r:2: problem.config: ", "change the config"}},
        {HEAD "problem sm_90a 4096x4096x4096 bf16 config=mma=128x128\n",
         JIT_GEMM_ERR_ARGUMENT,
         {"recipe r:2: problem.config: ", "'mma' is a key of another architecture"}},
        {HEAD "problem sm_90a 4096x4096x4096 bf16 a_scale=1x128 config=tile=128x128\n",
         JIT_GEMM_ERR_UNSUPPORTED,
         {"recipe r:2: ", "scale"}},
        {HEAD "problem sm_90a m=1..64 n=64 k=64 a=bf16 dynamic=m config=tile=64x64\n",
         JIT_GEMM_ERR_ARGUMENT,
         {"recipe r:2: problem: a range of sizes has several kernels", "m=4096"}},
        {HEAD "problem sm_90a 64x64x64 bf16 max_registers=99 config=tile=64x64\n",
         JIT_GEMM_ERR_ARGUMENT,
         {"recipe r:2: ", "leave max_registers and local_memory out"}},
        {HEAD "problem sm_90a 256x256x64 bf16 config=tile=128x128\n"
              "problem sm_100a 256x256x64 bf16 config=mma=128x128\n"
              "problem sm_90a m=256 n=256 k=64 a=bf16 b=bf16 config=tile=128x64\n",
         JIT_GEMM_ERR_ARGUMENT,
         {"recipe r:4: ", "is there twice, first on line 2"}},
        {HEAD "problem sm_90a 64x64x64 bf16 config=tile=128x128 # \001\n",
         JIT_GEMM_ERR_ARGUMENT,
         {"recipe r:2: remark: ", "control byte"}},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_recipe recipe = {0};
        cr_expect_eq(parse(rows[i].text, &recipe), rows[i].status, "%s%s", rows[i].text,
                     jg_error_text());
        for (int j = 0; j < 2; j++) {
            cr_expect_not_null(strstr(jg_error_text(), rows[i].messages[j]),
                               "%s: %s\nlacks: %s", rows[i].text, jg_error_text(),
                               rows[i].messages[j]);
        }
        cr_expect_null(recipe.items);
    }
}

Test(recipe, a_zero_byte_is_refused)
{
    static const char text[] = HEAD "problem sm_90a 64x64x64 bf16\0config=tile=64x64\n";
    struct jg_recipe recipe = {0};

    cr_expect_eq(jg_recipe_parse("r", text, sizeof(text) - 1, NULL, &recipe),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_not_null(strstr(jg_error_text(), "recipe r:2: the line has a zero byte"));
}

/* A problem is found by all its facts, however its text is written; not by its config. */
Test(recipe, a_problem_is_found_by_all_its_facts)
{
    struct jg_recipe recipe =
        recipe_of(HEAD "problem sm_90a 512x512x512 bf16 d=f32 config=tile=128x128\n"
                       "problem sm_90a 1000x512x512 bf16 dynamic=m config=tile=128x64\n");
    static const char *const same[] = {"m=512 n=512 k=512 a=bf16 b=bf16 d=f32 batch=1",
                                       "512x512x512 bf16 d=f32 config=split_k=2",
                                       "1024x512x512 bf16 dynamic=m"};
    static const char *const others[] = {"512x512x512 bf16",
                                         "512x512x512 bf16 d=f32 dynamic=m",
                                         "512x512x512 bf16 d=f32 layout=nn",
                                         "512x512x512 bf16 d=f32 workspace=1m",
                                         "512x512x512 bf16 d=f32 invariant=m",
                                         "512x512x512 bf16 d=f32 batch=2",
                                         "512x512x520 bf16 d=f32",
                                         "1024x512x512 bf16",
                                         "2048x512x512 bf16 dynamic=m"};

    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        const struct jg_problem problem = plan_problem(same[i]);
        cr_expect_not_null(find(&recipe, &problem), "%s", same[i]);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        const struct jg_problem problem = plan_problem(others[i]);
        cr_expect_null(find(&recipe, &problem), "%s", others[i]);
    }
    const struct jg_problem problem = plan_problem(same[0]);
    struct jg_str key = {0};
    jg_recipe_key(&problem, &key);
    cr_expect_null(jg_recipe_find(&recipe, jg_arch_find("sm_100a"), jg_str_text(&key)));
    jg_str_free(&key);
    jg_recipe_free(&recipe);
}

/* An epilogue counts by its name: who asks has it, who reads the recipe need not. */
Test(recipe, a_problem_with_an_unknown_epilogue_is_found_once_it_is_known)
{
    struct jg_recipe recipe =
        recipe_of(HEAD "problem sm_90a 512x512x512 bf16 pair=halves epilogue=gate "
                       "config=tile=128x128\n");
    const struct epilogue_request request = {.snippet = "d = silu(acc0) * acc1;",
                                             .name = "gate"};
    struct jg_epilogue *epilogue = NULL;
    cr_assert_eq(epilogue_make(&request, &epilogue), JIT_GEMM_OK, "%s", jg_error_text());
    struct jg_problem problem = plan_problem("512x512x512 bf16");
    problem.epilogue = epilogue;
    problem.is_gated = true;
    problem.pair = JIT_GEMM_PAIR_HALVES;

    cr_expect_not_null(find(&recipe, &problem));
    problem.pair = JIT_GEMM_PAIR_INTERLEAVED;
    cr_expect_null(find(&recipe, &problem));
    problem.pair = JIT_GEMM_PAIR_HALVES;
    memcpy(epilogue->name, "gato", 5);
    cr_expect_null(find(&recipe, &problem));
    jg_epilogue_destroy(epilogue);
    jg_recipe_free(&recipe);
}

struct applied {
    bool is_taken;
    struct jg_problem problem;
};

static struct applied apply(const struct jg_recipe *recipe, const char *text)
{
    struct applied applied = {.problem = plan_problem(text)};
    const struct jg_recipe_item *item = find(recipe, &applied.problem);
    cr_assert_not_null(item, "%s", text);
    cr_assert_eq(jg_recipe_apply(item, &applied.problem, &item->arch->default_facts,
                                 &applied.problem, &applied.is_taken),
                 JIT_GEMM_OK, "%s", jg_error_text());
    return applied;
}

/* The caller's own words win: one that the recipe's config does not have leaves it out. */
Test(recipe, the_config_is_taken_where_it_has_what_the_caller_names)
{
    struct jg_recipe recipe = recipe_of(
        HEAD "problem sm_90a 4096x4096x4096 bf16 config=tile=128x128 cluster=2x1\n");
    static const struct {
        const char *config, *expected; /* NULL: not taken */
    } rows[] = {
        {"", "tile=128x128 cluster=2x1"},
        {"cluster=2x1", "tile=128x128 cluster=2x1"},
        {"tile=128x128x64", "tile=128x128 cluster=2x1"},
        {"split_k=1", "tile=128x128 cluster=2x1"},
        {"swap_ab=0 pingpong=0", "tile=128x128 cluster=2x1"},
        {"kernel=gemm", "tile=128x128 cluster=2x1"},
        {"debug=1 trace=1 lineinfo=1",
         "tile=128x128 cluster=2x1 debug=1 trace=1 lineinfo=1"},
        {"cluster=1x1", NULL},
        {"tile=128x256", NULL},
        {"tile=128x128x128", NULL},
        {"swap_ab=1", NULL},
        {"split_k=2", NULL},
        {"kernel=reference", NULL},
        {"cluster=2x1 stages=2", NULL},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[128];
        snprintf(text, sizeof(text), "4096x4096x4096 bf16%s%s",
                 rows[i].config[0] != '\0' ? " config=" : "", rows[i].config);
        const struct applied applied = apply(&recipe, text);
        cr_expect_eq(applied.is_taken, rows[i].expected != NULL, "%s", text);
        if (rows[i].expected != NULL) {
            cr_expect_str_eq(applied.problem.config, rows[i].expected, "%s", text);
        }
    }
    jg_recipe_free(&recipe);
}

static void expect_update(const char *old, const char *expected)
{
    struct jg_recipe lines = {0};
    struct jg_str text = {0};
    jit_gemm_problem problem;
    cr_assert_eq(jg_problem_parse("256x256x64 bf16 config=tile=64x64", &problem),
                 JIT_GEMM_OK);
    cr_assert_eq(jg_recipe_add(&lines, jg_arch_find("sm_90a"), &problem, "new", 0),
                 JIT_GEMM_OK);
    cr_assert_eq(jg_recipe_update("r", old, strlen(old), &lines, &text), JIT_GEMM_OK, "%s",
                 jg_error_text());
    cr_expect_str_eq(jg_str_text(&text), expected);
    jg_str_free(&text);
    jg_recipe_free(&lines);
}

Test(recipe, an_update_replaces_its_problem_and_keeps_the_rest)
{
    static const char line[] =
        "problem sm_90a m=256 n=256 k=64 a=bf16 config=tile=64x64 # new\n";
    char expected[512];

    snprintf(expected, sizeof(expected),
             HEAD "# why\n\n%sproblem sm_100a 256x256x64 bf16 config=mma=128x64 # b\n"
                  "problem sm_90a 256x256x64 f16 config=tile=128x64\n",
             line);
    expect_update(HEAD "# why\n\nproblem sm_90a 256x256x64 bf16 config=tile=128x64 # a\n"
                       "problem sm_100a 256x256x64 bf16 config=mma=128x64 # b\n"
                       "problem sm_90a 256x256x64 f16 config=tile=128x64",
                  expected);
    snprintf(expected, sizeof(expected), HEAD "# end\n%s", line);
    expect_update(HEAD "# end", expected);
}

Test(recipe, what_is_printed_is_read_back)
{
    struct jg_recipe recipe = recipe_of(two_lines);
    struct jg_str text = {0};
    jg_recipe_print(&recipe, &text);

    struct jg_recipe back = recipe_of(jg_str_text(&text));

    cr_assert_eq(back.count, recipe.count);
    for (size_t i = 0; i < back.count; i++) {
        cr_expect_eq(back.items[i].arch, recipe.items[i].arch);
        cr_expect_str_eq(back.items[i].problem, recipe.items[i].problem);
        cr_expect_str_eq(back.items[i].config, recipe.items[i].config);
        cr_expect_str_eq(back.items[i].remark, recipe.items[i].remark);
    }
    jg_str_free(&text);
    jg_recipe_free(&back);
    jg_recipe_free(&recipe);
}

/* ------------------------------------------------------------------------- candidates */

static void expect_candidates(const char *chip, const char *text)
{
    const struct jg_arch *arch = jg_arch_find(chip);
    const struct jg_problem problem = plan_problem(text);
    const struct jg_choice choice = plan_choose(arch, text);
    struct jg_candidate *list = NULL;
    size_t count = 0;
    struct jg_str chosen = {0};
    jg_config_print(&choice.config, arch->config_keys, &chosen);

    cr_assert_eq(jg_config_list(arch, &problem, &arch->default_facts, &list, &count),
                 JIT_GEMM_OK, "%s", jg_error_text());

    for (size_t i = 0; i < count; i++) {
        struct jg_str config = {0};
        struct jg_config_override override;
        jg_config_print(&list[i].config, arch->config_keys, &config);
        cr_expect_eq(strcmp(jg_str_text(&config), jg_str_text(&chosen)) == 0, i == 0,
                     "%s: %zu: %s", text, i, jg_str_text(&config));
        cr_assert_eq(jg_config_parse(jg_str_text(&config), &override), JIT_GEMM_OK);
        cr_expect_float_eq(
            jg_config_predict(arch, &problem, &arch->default_facts, &override),
            list[i].predicted_us, 1e-9);
        /* The chosen one may lose by as much as a workspace has to be worth. */
        const double loss =
            1e-9 + (i == 1 ? jg_workspace_least_gain(&list[i].config) : 0.0);
        cr_expect(i == 0 || list[i].predicted_us >= list[i - 1].predicted_us * (1 - loss),
                  "%s: %zu is faster than the one before", text, i);
        jg_str_free(&config);
    }
    cr_expect_gt(count, 1, "%s", text);
    jg_str_free(&chosen);
    jg_free(list);
}

Test(recipe, candidates_are_listed_from_the_chosen_one_on)
{
    static const char *const texts[] = {
        "4096x4096x4096 bf16", "32x4096x4096 bf16 workspace=64m",
        "1000x333x4096 f16 input_align=2 output_align=2 workspace=64m",
        "4096x4096x4096 bf16 config=split_k=1"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        expect_candidates("sm_90a", texts[i]);
        expect_candidates("sm_100a", texts[i]);
    }
}

Test(recipe, a_named_shape_leaves_its_own_candidates)
{
    const struct jg_arch *arch = jg_arch_find("sm_90a");
    const struct jg_problem problem =
        plan_problem("4096x4096x4096 bf16 config=tile=128x128");
    const struct jg_problem reference =
        plan_problem("4096x4096x4096 bf16 config=kernel=reference");
    struct jg_candidate *list = NULL;
    size_t count = 0;

    cr_assert_eq(jg_config_list(arch, &problem, &arch->default_facts, &list, &count),
                 JIT_GEMM_OK);
    for (size_t i = 0; i < count; i++) {
        cr_expect_eq(list[i].config.layout.tile_m, 128);
        cr_expect_eq(list[i].config.layout.tile_n, 128);
    }
    cr_expect_geq(count, 1);
    jg_free(list);
    cr_expect_eq(jg_config_list(arch, &reference, &arch->default_facts, &list, &count),
                 JIT_GEMM_ERR_ARGUMENT);
}
