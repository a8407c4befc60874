/* SPDX-License-Identifier: MIT */
/* The recipes of a context, and what they make of a problem. Append-only: a found line
 * stays as long as the context. Thread-safe. */
#ifndef JG_API_RECIPES_H
#define JG_API_RECIPES_H

#include "jit_gemm/launch.h"
#include "plan/recipe.h"

struct jg_recipes;

/* NULL on lack of memory. */
struct jg_recipes *jg_recipes_create(void);
/* Accepts NULL. */
void jg_recipes_destroy(struct jg_recipes *recipes);

/* Reads and adds one; `name` and `text` are copied. As jg_recipe_parse. */
jit_gemm_status jg_recipes_add(struct jg_recipes *recipes, const char *name,
                               const char *text, size_t size,
                               const struct jg_recipe_checker *checker);

/* A canonical problem as it is built. */
struct jg_settled {
    struct jg_problem problem;         /* its config may be a recipe's */
    char recipe[JIT_GEMM_RECIPE_SIZE]; /* FILE:LINE of that; "" */
};

/* Looks the problem up, in the recipe that came last first. `trace` (may be NULL) receives
 * a line that begins with "recipe: " if there is one for the problem, taken or not. */
jit_gemm_status jg_recipes_settle(struct jg_recipes *recipes, const struct jg_arch *arch,
                                  const struct jg_problem *problem,
                                  const struct jg_device_facts *facts,
                                  struct jg_settled *ret_settled, struct jg_str *trace);

/* After a failure that the config is to blame for: names the recipe, if it is one's. */
jit_gemm_status jg_settled_blame(const struct jg_settled *settled, jit_gemm_status status);

#endif
