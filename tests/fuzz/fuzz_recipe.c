/* SPDX-License-Identifier: MIT */
/* A recipe: an error names the text and the line, what is read prints and reads as itself,
 * and a checked recipe is one that can be read. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "fuzz_target.h"
#include "plan/recipe.h"

enum { MOST_CHECKED = 200 }; /* bytes of a recipe whose configs are checked too: slow */

static jit_gemm_status find_none(void *user, const char *name, jit_gemm_dtype d,
                                 const struct jg_epilogue **ret_epilogue)
{
    (void)user, (void)name, (void)d;
    *ret_epilogue = NULL;
    return JIT_GEMM_OK;
}

static jit_gemm_status read_recipe(const char *text, size_t size,
                                   const struct jg_recipe_checker *checker,
                                   struct jg_recipe *ret_recipe)
{
    const jit_gemm_status status =
        jg_recipe_parse("fuzzed", text, size, checker, ret_recipe);
    if (status != JIT_GEMM_OK) {
        fuzz_expect_error(status);
        fuzz_expect(strstr(jg_error_text(), "fuzzed") != NULL, "the error names the text");
    }
    return status;
}

static void expect_round_trip(const struct jg_recipe *recipe)
{
    struct jg_recipe again = {0};
    struct jg_str first = {0};
    struct jg_str second = {0};
    jg_recipe_print(recipe, &first);
    fuzz_expect(read_recipe(jg_str_text(&first), first.size, NULL, &again) == JIT_GEMM_OK,
                "a printed recipe reads");
    jg_recipe_print(&again, &second);
    fuzz_expect_same(&first, &second, "a recipe prints and reads as itself");
    jg_recipe_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = fuzz_copy(data, size);
    const char *text = (const char *)copy;
    struct jg_recipe recipe = {0};
    const bool is_read = read_recipe(text, size, NULL, &recipe) == JIT_GEMM_OK;
    fuzz_note(is_read);
    if (is_read) {
        expect_round_trip(&recipe);
        jg_recipe_free(&recipe);
    }
    if (size <= MOST_CHECKED) {
        const struct jg_arch *arch = jg_arch_at(0);
        const struct jg_recipe_checker checker = {
            .find = find_none, .arch = arch, .facts = &arch->default_facts};
        recipe = (struct jg_recipe){0};
        if (read_recipe(text, size, &checker, &recipe) == JIT_GEMM_OK) {
            fuzz_expect(is_read, "what passes the check can be read");
            jg_recipe_free(&recipe);
        }
    }
    free(copy);
    return 0;
}
