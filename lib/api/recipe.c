/* SPDX-License-Identifier: MIT */
/* Recipes: read by a context, written, and the candidates that they choose from. */
#include "jit_gemm/recipe.h"

#include <errno.h>
#include <unistd.h>

#include "api/gemm.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "plan/compiled.h"

#define MOST_BYTES ((size_t)16 * 1024 * 1024)

/* ----------------------------------------------------------------------------- reading */

jit_gemm_status jit_gemm_context_add_recipe(jit_gemm_context *context, const char *name,
                                            const char *text, size_t size)
{
    JG_TRY(jg_check_context(context));
    JG_TRY(jg_check_pointer(name, "name"));
    JG_TRY(jg_check_pointer(text, "text"));
    const struct jg_planned planned = jg_step_planned(context, context->arch);
    const struct jg_recipe_checker checker = {.find = jg_registry_find,
                                              .find_user = context->epilogues,
                                              .arch = context->arch,
                                              .facts = &planned.facts};
    return jg_recipes_add(context->recipes, name, text, size, &checker);
}

jit_gemm_status jit_gemm_context_load_recipe(jit_gemm_context *context, const char *path)
{
    JG_TRY(jg_check_context(context));
    JG_TRY(jg_check_pointer(path, "path"));
    struct jg_str text = {0};
    jit_gemm_status status = jg_file_read(path, MOST_BYTES, &text);
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_context_add_recipe(context, path, jg_str_text(&text), text.size);
    }
    jg_str_free(&text);
    return status;
}

/* -------------------------------------------------------------------------- candidates */

static jit_gemm_status export_candidates(const jit_gemm_context *context,
                                         const struct jg_candidate *list, size_t count,
                                         jit_gemm_candidate *candidates)
{
    for (size_t i = 0; i < count; i++) {
        struct jg_str config = {0};
        jg_config_print(&list[i].config, context->arch->config_keys, &config);
        JG_TRY(jg_str_deliver(&config, JIT_GEMM_OK, candidates[i].config,
                              sizeof(candidates[i].config), NULL));
        candidates[i].predicted_us = list[i].predicted_us;
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jit_gemm_plan_candidates(jit_gemm_context *context,
                                         const jit_gemm_problem *problem,
                                         jit_gemm_candidate *candidates, size_t capacity,
                                         size_t *ret_count)
{
    JG_TRY(jg_check_context(context));
    if (capacity > 0) {
        JG_TRY(jg_check_pointer(candidates, "candidates"));
    }
    struct jg_problem own;
    struct jg_candidate *list = NULL;
    size_t count = 0;
    JG_TRY(jg_step_normalize(context, problem, &own));
    JG_TRY(jg_compiled_check_arch(own.epilogue, context->arch->name));
    const struct jg_planned planned = jg_step_planned(context, context->arch);
    JG_TRY(jg_config_list(context->arch, &own, &planned.facts, &list, &count));
    const jit_gemm_status status =
        export_candidates(context, list, count < capacity ? count : capacity, candidates);
    jg_free(list);
    JG_TRY(status);
    if (ret_count != NULL) {
        *ret_count = count;
    }
    return JIT_GEMM_OK;
}

/* ----------------------------------------------------------------------------- writing */

#define MOST_US 1e12 /* eleven days: what is more has never been measured */

static jit_gemm_status print_time(const char *word, const char *field, double us,
                                  struct jg_str *out)
{
    if (!(us >= 0 && us <= MOST_US)) { /* NaN is neither */
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                       "give microseconds, or 0 where they are not known",
                       "must be 0 to 1e12, is %g", us);
    }
    if (us > 0) {
        jg_str_printf(out, "%s ", word);
        jg_str_fixed(out, us, 2);
        jg_str_puts(out, " us, ");
    }
    return JIT_GEMM_OK;
}

/* "measured 71.23 us, predicted 69.00 us, on NVIDIA H200, 132 multiprocessors" */
static jit_gemm_status print_remark(const jit_gemm_context *context,
                                    const jit_gemm_recipe_line *line, struct jg_str *out)
{
    JG_TRY(print_time("measured", "lines.measured_us", line->measured_us, out));
    JG_TRY(print_time("predicted", "lines.predicted_us", line->predicted_us, out));
    jg_str_printf(out, "on %s, %d multiprocessors", context->facts.name,
                  context->facts.sm_count);
    return jg_str_status(out);
}

static jit_gemm_status add_line(const jit_gemm_context *context,
                                const jit_gemm_recipe_line *line, struct jg_recipe *recipe)
{
    JG_TRY(jg_check_pointer(line->problem, "lines.problem"));
    struct jg_str remark = {0};
    jit_gemm_status status = print_remark(context, line, &remark);
    if (status == JIT_GEMM_OK) {
        status =
            jg_recipe_add(recipe, context->arch, line->problem, jg_str_text(&remark), 0);
    }
    jg_str_free(&remark);
    return status;
}

static jit_gemm_status add_lines(const jit_gemm_context *context,
                                 const jit_gemm_recipe_line *lines, size_t count,
                                 struct jg_recipe *recipe)
{
    for (size_t i = 0; i < count; i++) {
        JG_TRY(add_line(context, &lines[i], recipe));
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status print_file(const char *path, const struct jg_recipe *recipe,
                                  bool update, struct jg_str *out)
{
    if (!update || (access(path, F_OK) != 0 && errno == ENOENT)) {
        jg_recipe_print(recipe, out);
        return jg_str_status(out);
    }
    struct jg_str old = {0};
    jit_gemm_status status = jg_file_read(path, MOST_BYTES, &old);
    if (status == JIT_GEMM_OK) {
        status = jg_recipe_update(path, jg_str_text(&old), old.size, recipe, out);
    }
    jg_str_free(&old);
    return status;
}

/* Two that update a file at the same time would else each drop what the other wrote. */
static jit_gemm_status write_lines(const char *path, const struct jg_recipe *recipe,
                                   uint32_t flags)
{
    const bool update = (flags & JIT_GEMM_RECIPE_UPDATE) != 0;
    struct jg_str text = {0};
    int lock = -1;
    if (update) {
        JG_TRY(jg_file_lock(path, &lock));
    }
    jit_gemm_status status = print_file(path, recipe, update, &text);
    if (status == JIT_GEMM_OK) {
        status = (flags & JIT_GEMM_RECIPE_CHECK) != 0 ? jg_file_check(path)
                                                      : jg_file_replace(path, &text);
    }
    jg_file_unlock(lock);
    jg_str_free(&text);
    return status;
}

jit_gemm_status jit_gemm_recipe_write(const jit_gemm_context *context, const char *path,
                                      const jit_gemm_recipe_line *lines, size_t count,
                                      uint32_t flags)
{
    JG_TRY(jg_check_context(context));
    JG_TRY(jg_check_pointer(path, "path"));
    if (count > 0) {
        JG_TRY(jg_check_pointer(lines, "lines"));
    }
    if (flags > (JIT_GEMM_RECIPE_UPDATE | JIT_GEMM_RECIPE_CHECK)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "flags", "add up jit_gemm_recipe_flags",
                       "%u has others", flags);
    }
    struct jg_recipe recipe = {0};
    jit_gemm_status status = add_lines(context, lines, count, &recipe);
    if (status == JIT_GEMM_OK) {
        status = write_lines(path, &recipe, flags);
    }
    jg_recipe_free(&recipe);
    return status;
}
