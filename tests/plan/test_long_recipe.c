/* SPDX-License-Identifier: MIT */
/* Recipes of many lines: each is found by its hash, on its own chip, as the table grows. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "plan/recipe.h"

enum { LINES = 3000, OLD_LINES = 2500 };

/* Of a size and a chip that follow from the number: neighbours have the same text on
 * different chips. */
static const char *arch_of(int number)
{
    return number % 2 == 0 ? "sm_90a" : "sm_100a";
}
static void print_key(int number, struct jg_str *out)
{
    jg_str_printf(out, "m=%d n=4096 k=4096 a=bf16", 1 + number / 2);
}
static void print_lines(int first, int end, const char *remark, struct jg_str *out)
{
    jg_str_puts(out, "jit_gemm recipe 1\n");
    for (int i = first; i < end; i++) {
        jg_str_printf(out, "problem %s ", arch_of(i));
        print_key(i, out);
        jg_str_printf(out, " config=stages=4 # %s %d\n", remark, i);
    }
}

static const struct jg_recipe_item *find(const struct jg_recipe *recipe, int number)
{
    struct jg_str key = {0};
    print_key(number, &key);
    const struct jg_recipe_item *item =
        jg_recipe_find(recipe, jg_arch_find(arch_of(number)), jg_str_text(&key));
    jg_str_free(&key);
    return item;
}

static jit_gemm_status parse(const struct jg_str *text, struct jg_recipe *ret_recipe)
{
    return jg_recipe_parse("r", text->data, text->size, NULL, ret_recipe);
}

Test(long_recipe, every_line_is_found_and_none_that_it_lacks)
{
    struct jg_str text = {0};
    struct jg_recipe recipe;
    print_lines(0, LINES, "own", &text);

    cr_assert_eq(parse(&text, &recipe), JIT_GEMM_OK, "%s", jg_error_text());

    cr_assert_eq(recipe.count, LINES);
    for (int i = 0; i < LINES; i++) {
        cr_assert_eq(find(&recipe, i), &recipe.items[i], "line %d", i);
    }
    cr_expect_null(find(&recipe, LINES));
    cr_expect_null(find(&recipe, LINES + 1));
    jg_recipe_free(&recipe);
    jg_str_free(&text);
}

Test(long_recipe, a_line_that_is_there_twice_is_named_however_far_apart)
{
    struct jg_str text = {0};
    struct jg_recipe recipe = {0};
    print_lines(0, LINES, "own", &text);
    jg_str_puts(&text, "problem sm_100a m=2 n=4096 k=4096 a=bf16 config=stages=3\n");

    cr_expect_eq(parse(&text, &recipe), JIT_GEMM_ERR_ARGUMENT);

    cr_expect_not_null(strstr(jg_error_text(), "is there twice, first on line 5"), "%s",
                       jg_error_text());
    cr_expect_null(recipe.items);
    jg_str_free(&text);
}

/* Old lines in their places, those that are replaced too, and new ones behind them. */
Test(long_recipe, an_update_keeps_the_order_of_lines)
{
    struct jg_str old = {0}, newer = {0}, out = {0}, expected = {0};
    struct jg_recipe lines;
    print_lines(0, OLD_LINES, "old", &old);
    print_lines(OLD_LINES / 2, LINES, "new", &newer);
    cr_assert_eq(parse(&newer, &lines), JIT_GEMM_OK, "%s", jg_error_text());

    cr_assert_eq(jg_recipe_update("r", old.data, old.size, &lines, &out), JIT_GEMM_OK, "%s",
                 jg_error_text());

    print_lines(0, OLD_LINES / 2, "old", &expected);
    const char *rest = strchr(jg_str_text(&newer), '\n') + 1;
    jg_str_puts(&expected, rest);
    cr_expect_str_eq(jg_str_text(&out), jg_str_text(&expected));
    jg_recipe_free(&lines);
    jg_str_free(&old);
    jg_str_free(&newer);
    jg_str_free(&out);
    jg_str_free(&expected);
}

Test(long_recipe, a_table_that_cannot_grow_is_an_error_and_leaks_nothing)
{
    struct jg_str text = {0};
    struct jg_recipe recipe = {0};
    print_lines(0, 40, "own", &text);
    const long before = jg_alloc_count();
    cr_assert_eq(parse(&text, &recipe), JIT_GEMM_OK);
    const long count = jg_alloc_count() - before;
    jg_recipe_free(&recipe);

    for (long i = 1; i <= count; i++) {
        jg_alloc_fail_at(i, false);
        const jit_gemm_status status = parse(&text, &recipe);
        jg_alloc_fail_at(0, false);
        cr_expect_eq(status, JIT_GEMM_ERR_NO_MEMORY, "allocation %ld", i);
    }
    jg_str_free(&text);
}
