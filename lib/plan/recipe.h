/* SPDX-License-Identifier: MIT */
/*
 * Recipes: configs that measurements chose, as text. Pure.
 *
 *     jit_gemm recipe 1
 *     problem ARCH TEXT config=CONFIG # remark
 *
 * TEXT is a problem's, its last key the config. Empty lines, lines that begin with '#', and
 * what follows '#' in a line are remarks. docs/tuning.md is for who writes one by hand.
 */
#ifndef JG_PLAN_RECIPE_H
#define JG_PLAN_RECIPE_H

#include "base/lines.h"
#include "plan/choose.h"

/* A line `problem`. */
struct jg_recipe_item {
    const struct jg_arch *arch;
    char *problem; /* its key: the canonical text without the config; owned */
    char *config;  /* canonical; owned */
    char *remark;  /* owned; "" without one */
    size_t line;   /* of the text, from 1; 0: of none */
};

/* Zeroed: no lines. Each problem once. */
struct jg_recipe {
    struct jg_recipe_item *items; /* in the order of the text */
    size_t count, capacity;
    size_t *slots; /* an item's number and 1, or 0, from where its hash says onwards */
    size_t slot_count;
};

/* What the lines are checked by. */
struct jg_recipe_checker {
    jg_epilogue_find_fn find;
    void *find_user;
    const struct jg_arch *arch;          /* planned for with */
    const struct jg_device_facts *facts; /* these; others with their default facts */
};

/*
 * Reads a recipe. Every line is checked: that the problem is legal, that the architecture
 * has kernels for it, and that they take the config. Where the problem names an epilogue
 * that `find` does not know, what depends on it is left to who asks for the problem.
 * Without a checker only the form is. Errors begin with `name` and the line: ARGUMENT,
 * UNSUPPORTED, VERSION; NO_MEMORY. Free it with jg_recipe_free.
 */
jit_gemm_status jg_recipe_parse(const char *name, const char *text, size_t size,
                                const struct jg_recipe_checker *checker,
                                struct jg_recipe *ret_recipe);
void jg_recipe_free(struct jg_recipe *recipe);

/* Adds an item of a public problem that names its config; `remark` is copied. ARGUMENT
 * (a second of this problem, no config, a remark of more than a line), NO_MEMORY. */
jit_gemm_status jg_recipe_add(struct jg_recipe *recipe, const struct jg_arch *arch,
                              const jit_gemm_problem *problem, const char *remark,
                              size_t line);

/* A canonical problem as recipes name it: its text without the config. */
void jg_recipe_key(const struct jg_problem *problem, struct jg_str *out);
/* The line of a key; NULL if there is none. */
const struct jg_recipe_item *jg_recipe_find(const struct jg_recipe *recipe,
                                            const struct jg_arch *arch, const char *key);

/*
 * The config that a problem is built with if the item is its own: the item's, and `debug`,
 * `trace` and `lineinfo` as the problem names them. False where the problem's own config
 * names something that this one does not have: then the item is not taken. A config that
 * the problem cannot have is taken: the choice says why.
 */
jit_gemm_status jg_recipe_apply(const struct jg_recipe_item *item,
                                const struct jg_problem *problem,
                                const struct jg_device_facts *facts,
                                struct jg_problem *ret_problem, bool *ret_is_taken);

/* Appends a recipe of these lines. */
void jg_recipe_print(const struct jg_recipe *recipe, struct jg_str *out);
/* Appends the old recipe's text, in which lines of `lines` replace those of the same
 * problem, and the others follow. As jg_recipe_parse without a checker. */
jit_gemm_status jg_recipe_update(const char *name, const char *old, size_t size,
                                 const struct jg_recipe *lines, struct jg_str *out);

#endif
