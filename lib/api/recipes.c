/* SPDX-License-Identifier: MIT */
#include "api/recipes.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/thread.h"

struct loaded {
    struct loaded *next; /* that came before it */
    char *name;          /* owned */
    struct jg_recipe recipe;
};

struct jg_recipes {
    jg_mutex mutex;
    struct loaded *last; /* what came last; it and what follows never change */
};

struct jg_recipes *jg_recipes_create(void)
{
    struct jg_recipes *recipes = jg_alloc(sizeof(*recipes));
    if (recipes == NULL) {
        return NULL;
    }
    if (pthread_mutex_init(&recipes->mutex, NULL) != 0) {
        jg_free(recipes);
        return NULL;
    }
    return recipes;
}

static void free_loaded(struct loaded *loaded)
{
    jg_recipe_free(&loaded->recipe);
    jg_free(loaded->name);
    jg_free(loaded);
}

void jg_recipes_destroy(struct jg_recipes *recipes)
{
    if (recipes == NULL) {
        return;
    }
    while (recipes->last != NULL) {
        struct loaded *loaded = recipes->last;
        recipes->last = loaded->next;
        free_loaded(loaded);
    }
    pthread_mutex_destroy(&recipes->mutex);
    jg_free(recipes);
}

jit_gemm_status jg_recipes_add(struct jg_recipes *recipes, const char *name,
                               const char *text, size_t size,
                               const struct jg_recipe_checker *checker)
{
    struct loaded *loaded = jg_alloc(sizeof(*loaded));
    if (loaded == NULL) {
        return jg_fail_memory();
    }
    loaded->name = jg_copy_text(name, strlen(name));
    const jit_gemm_status status =
        loaded->name == NULL ? jg_fail_memory()
                             : jg_recipe_parse(name, text, size, checker, &loaded->recipe);
    if (status != JIT_GEMM_OK) {
        free_loaded(loaded);
        return status;
    }
    pthread_mutex_lock(&recipes->mutex);
    loaded->next = recipes->last;
    recipes->last = loaded;
    pthread_mutex_unlock(&recipes->mutex);
    return JIT_GEMM_OK;
}

static const struct loaded *last_of(struct jg_recipes *recipes)
{
    pthread_mutex_lock(&recipes->mutex);
    const struct loaded *last = recipes->last;
    pthread_mutex_unlock(&recipes->mutex);
    return last;
}

static const struct jg_recipe_item *find_item(const struct loaded **loaded,
                                              const struct jg_arch *arch, const char *key)
{
    for (; *loaded != NULL; *loaded = (*loaded)->next) {
        const struct jg_recipe_item *item = jg_recipe_find(&(*loaded)->recipe, arch, key);
        if (item != NULL) {
            return item;
        }
    }
    return NULL;
}

/* Of a long name the end: that is the file's. */
static void print_place(const struct loaded *loaded, const struct jg_recipe_item *item,
                        char ret_place[JIT_GEMM_RECIPE_SIZE])
{
    enum { NAME_SIZE = JIT_GEMM_RECIPE_SIZE - 24 }; /* a line's number has 20 digits */
    const size_t size = strlen(loaded->name);
    const bool is_cut = size >= NAME_SIZE;
    const char *name = is_cut ? loaded->name + (size - (NAME_SIZE - 4)) : loaded->name;
    (void)snprintf(ret_place, JIT_GEMM_RECIPE_SIZE, "%s%.*s:%zu", is_cut ? "..." : "",
                   NAME_SIZE, name, item->line);
}

static void trace_recipe(const char *place, const struct jg_recipe_item *item,
                         bool is_taken, struct jg_str *trace)
{
    jg_str_printf(trace, "recipe: ");
    if (!is_taken) {
        jg_str_printf(trace, "%s is not taken: the problem's config names something else\n",
                      place);
        return;
    }
    const bool has_remark = item->remark[0] != '\0';
    jg_str_printf(trace, "chosen by recipe %s%s%s%s\n", place, has_remark ? " (" : "",
                  item->remark, has_remark ? ")" : "");
}

jit_gemm_status jg_recipes_settle(struct jg_recipes *recipes, const struct jg_arch *arch,
                                  const struct jg_problem *problem,
                                  const struct jg_device_facts *facts,
                                  struct jg_settled *ret_settled, struct jg_str *trace)
{
    const struct loaded *loaded = last_of(recipes);
    *ret_settled = (struct jg_settled){.problem = *problem};
    if (loaded == NULL) {
        return JIT_GEMM_OK;
    }
    struct jg_str key = {0};
    jg_recipe_key(problem, &key);
    const jit_gemm_status printed = jg_str_status(&key);
    const struct jg_recipe_item *item = find_item(&loaded, arch, jg_str_text(&key));
    jg_str_free(&key);
    JG_TRY(printed);
    if (item == NULL) {
        return JIT_GEMM_OK;
    }
    struct jg_settled own = {0};
    bool is_taken = false;
    JG_TRY(jg_recipe_apply(item, problem, facts, &own.problem, &is_taken));
    print_place(loaded, item, own.recipe);
    if (trace != NULL) {
        trace_recipe(own.recipe, item, is_taken, trace);
    }
    if (is_taken) {
        *ret_settled = own;
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_settled_blame(const struct jg_settled *settled, jit_gemm_status status)
{
    if (status == JIT_GEMM_OK || status == JIT_GEMM_ERR_NO_MEMORY ||
        settled->recipe[0] == '\0') {
        return status;
    }
    char where[JIT_GEMM_RECIPE_SIZE + 8];
    (void)snprintf(where, sizeof(where), "recipe %s", settled->recipe);
    return jg_fail(status, where, "tune the problem again, or leave its line out", "%s",
                   jg_error_text());
}
