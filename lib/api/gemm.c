/* SPDX-License-Identifier: MIT */
/* One call, end to end: the twelve steps of ARCHITECTURE.md's call table, in order. */
#include "api/gemm.h"

#include <stdio.h>
#include <string.h>

#include "api/capsule.h"
#include "api/target.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/struct.h"
#include "cuda/ranges.h"
#include "plan/compiled.h"
#include "plan/first_kernel.h"
#include "runtime/grid.h"
#include "runtime/launch.h"

struct jit_gemm {
    struct jg_kernel *kernel; /* counted */
    jit_gemm_origin origin;   /* of the kernel, as seen by this handle */
    uint32_t cache_root;      /* that had it; 0: none */
    double compile_ms;        /* spent by the call that made this handle */
    double load_ms;
    char recipe[JIT_GEMM_RECIPE_SIZE]; /* as in the info */
    char *range;                       /* the problem, of ranges of launches; NULL: none */
    struct jg_capsule_kept *kept;      /* for a launch that fails; NULL: none is left */
    struct jg_map_slots *slots;        /* &own_slots; the only part that changes */
    struct jg_map_slots own_slots;
    struct jg_map_entry entries[]; /* of the slots */
};

const struct jg_kernel *jg_handle_kernel(const jit_gemm *gemm)
{
    return gemm->kernel;
}

/* ------------------------------------------------------------- steps 1 to 9: a binary */

jit_gemm_status jg_step_normalize(const jit_gemm_context *context,
                                  const jit_gemm_problem *user,
                                  struct jg_problem *ret_problem)
{
    return jg_problem_normalize(user, jg_registry_find, context->epilogues, ret_problem);
}

struct jg_planned jg_step_planned(const jit_gemm_context *context,
                                  const struct jg_arch *arch)
{
    struct jg_planned planned = {.arch = arch, .facts = arch->default_facts};
    const bool is_own = arch == context->arch;
    const bool is_open =
        is_own && context->device != NULL && jg_arch_runs_on(arch, &context->device->facts);
    const bool is_named = context->plans_for && jg_arch_runs_on(arch, &context->facts);
    if (is_own || is_named) {
        planned.facts = context->facts;
        planned.facts.most_cluster_ctas = atomic_load(&context->most_cluster_ctas);
    }
    if (is_named) {
        planned.by = context->here != NULL ? JG_PLANNED_BY_HERE : JG_PLANNED_BY_NAME;
    } else if (is_open) {
        planned.by = JG_PLANNED_BY_HERE;
    }
    for (size_t i = 0; planned.by == JG_PLANNED_BY_DEFAULT && i < context->here_count;
         i++) {
        if (jg_arch_runs_on(arch, &context->here[i])) {
            planned.facts = context->here[i];
            planned.by = JG_PLANNED_BY_HERE;
        }
    }
    return planned;
}

jit_gemm_status jg_step_settle(const jit_gemm_context *context,
                               const struct jg_planned *planned,
                               const struct jg_problem *problem,
                               struct jg_settled *ret_settled, struct jg_str *trace)
{
    return jg_recipes_settle(context->recipes, planned->arch, problem, &planned->facts,
                             ret_settled, trace);
}

jit_gemm_status jg_step_choose(const struct jg_planned *planned,
                               const struct jg_settled *settled,
                               struct jg_choice *ret_choice, struct jg_str *trace)
{
    const struct jg_problem *problem = &settled->problem;
    JG_TRY(jg_compiled_check_arch(problem->epilogue, planned->arch->name));
    return jg_settled_blame(settled, jg_config_choose(planned->arch, problem,
                                                      &planned->facts, ret_choice, trace));
}

jit_gemm_status jg_step_bands(const struct jg_planned *planned,
                              const struct jg_problem *problem,
                              const struct jg_range *range, struct jg_bands *ret_bands)
{
    JG_TRY(jg_compiled_check_arch(problem->epilogue, planned->arch->name));
    return jg_bands_make(planned->arch, problem, &planned->facts, range, ret_bands);
}

static jit_gemm_status assemble(const struct jg_arch *arch,
                                const struct jg_problem *problem,
                                const struct jg_choice *choice,
                                struct jg_source *ret_source, struct jg_str *ret_text)
{
    JG_TRY(jg_source_assemble(arch, problem, choice, ret_source)); /* 5 */
    jg_problem_text(problem, ret_text);
    return jg_str_status(ret_text);
}

static jit_gemm_status build_unit(const struct jg_builder *builder,
                                  const struct jg_build_unit *unit,
                                  struct jg_step_result *ret_result,
                                  struct jg_build_counts *counts)
{
    JG_TRY(jg_build(builder, unit, &ret_result->binary, counts)); /* 6 to 9 */
    memcpy(ret_result->entry, unit->source->entry, sizeof(ret_result->entry));
    return JIT_GEMM_OK;
}

/* The unit of a problem and its text, for who does something with it. */
struct assembled {
    struct jg_source source;
    struct jg_str text;
};

static void free_assembled(struct assembled *assembled)
{
    jg_str_free(&assembled->text);
    jg_source_free(&assembled->source);
}

static struct jg_capsule_failure failure_of(const struct jg_builder *builder,
                                            const struct jg_arch *arch,
                                            const struct jg_problem *problem,
                                            const struct jg_choice *choice,
                                            const struct assembled *assembled)
{
    const struct jg_capsule_failure failure = {
        .builder = builder,
        .arch = arch,
        .source = &assembled->source,
        .text = jg_str_text(&assembled->text),
        .problem = problem,
        .choice = choice,
    };
    return failure;
}

jit_gemm_status jg_step_binary(const jit_gemm_context *context,
                               const struct jg_builder *builder, const struct jg_arch *arch,
                               const struct jg_problem *problem,
                               const struct jg_choice *choice,
                               struct jg_step_result *ret_result,
                               struct jg_build_counts *counts)
{
    struct assembled assembled = {0};
    jit_gemm_status status =
        assemble(arch, problem, choice, &assembled.source, &assembled.text);
    if (status == JIT_GEMM_OK) {
        const struct jg_capsule_failure failure =
            failure_of(builder, arch, problem, choice, &assembled);
        const struct jg_build_unit unit = {&assembled.source, arch, problem->epilogue,
                                           failure.text};
        status = build_unit(builder, &unit, ret_result, counts);
        jg_capsule_leave(context, &failure, status);
    }
    free_assembled(&assembled);
    return status;
}

jit_gemm_status jg_step_find(const struct jg_builder *builder, const struct jg_arch *arch,
                             const struct jg_problem *problem,
                             const struct jg_choice *choice,
                             struct jg_build_found *ret_found)
{
    struct assembled assembled = {0};
    jit_gemm_status status =
        assemble(arch, problem, choice, &assembled.source, &assembled.text);
    if (status == JIT_GEMM_OK) {
        const struct jg_build_unit unit = {&assembled.source, arch, problem->epilogue,
                                           jg_str_text(&assembled.text)};
        status = jg_build_find(builder, &unit, ret_found);
    }
    free_assembled(&assembled);
    return status;
}

bool jg_step_reject(jit_gemm_context *context, const struct jg_stop *stop,
                    const struct jg_binary *binary)
{
    const struct jg_builder builder = jg_context_builder(context, context->policy, stop);
    if (!jg_build_reject(&builder, binary, jit_gemm_last_error())) {
        return false;
    }
    const struct jg_build_counts counts = {.cache_rejects = 1};
    jg_context_count_build(context, &counts);
    return true;
}

/* ------------------------------------------------------------ steps 2 to 11: a kernel */

/* One create. */
struct create {
    jit_gemm_context *context;
    const struct jg_problem *problem;
    struct jg_stop stop;
    const struct jg_settled *settled; /* of the problem */
    struct jit_gemm *gemm;            /* is being filled */
    bool *ret_is_unfit; /* of a band: see gemm.h; NULL of a problem of its own */
};

static jit_gemm_status build_binary(const struct create *create,
                                    struct jg_choice *ret_choice,
                                    struct jg_step_result *ret_result)
{
    jit_gemm_context *context = create->context;
    const struct jg_arch *arch = context->arch;
    const struct jg_planned planned = jg_step_planned(context, arch);
    JG_TRY(jg_step_choose(&planned, create->settled, ret_choice, NULL)); /* 4 */
    const struct jg_builder builder =
        jg_context_builder(context, context->policy, &create->stop);
    struct jg_build_counts counts = {0};
    const jit_gemm_status status =
        jg_step_binary(context, &builder, arch, &create->settled->problem, ret_choice,
                       ret_result, &counts);
    jg_context_count_build(context, &counts);
    return create->ret_is_unfit != NULL
               ? status /* the range is recorded */
               : jg_context_record(context, create->problem, status);
}

/* A capsule of a kernel that is there, but does not load. Its unit is made once more: only
 * a failure needs it. */
static void leave_capsule_of_load(const struct create *create,
                                  const struct jg_choice *choice, const char *key,
                                  jit_gemm_status status)
{
    const jit_gemm_context *context = create->context;
    const struct jg_problem *problem = &create->settled->problem;
    struct assembled assembled = {0};
    jit_gemm_diagnostics *diagnostics = NULL;
    if (!jg_capsule_takes_load(context, status, &diagnostics)) {
        return;
    }
    const struct jg_builder builder =
        jg_context_builder(context, context->policy, &create->stop);
    const jit_gemm_status assembles =
        assemble(context->arch, problem, choice, &assembled.source, &assembled.text);
    jg_error_restore(status, diagnostics);
    jg_diagnostics_destroy(&diagnostics);
    if (assembles == JIT_GEMM_OK) {
        struct jg_capsule_failure failure =
            failure_of(&builder, context->arch, problem, choice, &assembled);
        failure.key = key;
        jg_capsule_leave(context, &failure, status);
    }
    free_assembled(&assembled);
}

/* For a launch of the handle that fails later on. */
static void keep_for_capsule(const struct create *create)
{
    const jit_gemm_context *context = create->context;
    const struct jg_problem *problem = &create->settled->problem;
    struct jit_gemm *gemm = create->gemm;
    struct assembled assembled = {0};
    if (context->capsule_dir == NULL) {
        return;
    }
    const struct jg_builder builder =
        jg_context_builder(context, context->policy, &create->stop);
    if (assemble(context->arch, problem, &gemm->kernel->choice, &assembled.source,
                 &assembled.text) == JIT_GEMM_OK) {
        struct jg_capsule_failure failure =
            failure_of(&builder, context->arch, problem, &gemm->kernel->choice, &assembled);
        failure.key = gemm->kernel->key;
        gemm->kept = jg_capsule_keep(context, &failure);
    } else {
        jg_error_clear();
    }
    free_assembled(&assembled);
}

/* Why a load has failed. */
struct misfit {
    int unfit_ctas;   /* of the cluster, if not one fits; else 0 */
    bool is_rejected; /* it was an entry of the cache, which is gone now */
};

/* `result` is the caller's to free, also after a failure. `misfit` is zero before. */
static jit_gemm_status load_result(const struct create *create,
                                   struct jg_step_result *result, struct misfit *misfit)
{
    struct jit_gemm *gemm = create->gemm;
    struct jg_choice choice;
    bool none_fits = false;
    bool is_refused = false;
    JG_TRY(build_binary(create, &choice, result));
    const struct jg_module_request request = {.problem = &create->settled->problem,
                                              .choice = &choice,
                                              .ret_none_fits = &none_fits,
                                              .ret_is_refused = &is_refused,
                                              .binary = &result->binary,
                                              .arch = create->context->arch,
                                              .entry = result->entry,
                                              .log = create->context->log};
    jg_range_push(gemm->range != NULL, "load", gemm->range);
    const jit_gemm_status status =
        jg_module_load(create->context->device, &request, &gemm->kernel); /* 10 */
    jg_range_pop(gemm->range != NULL);
    if (none_fits) {
        misfit->unfit_ctas = jg_cluster_ctas(&choice.config);
    }
    misfit->is_rejected =
        is_refused && jg_step_reject(create->context, &create->stop, &result->binary);
    if (!none_fits && !misfit->is_rejected) { /* nothing else is tried */
        leave_capsule_of_load(create, &choice, result->binary.key, status);
    }
    JG_TRY(status);
    gemm->origin = result->binary.origin;
    gemm->cache_root = result->binary.root;
    gemm->compile_ms = result->binary.compile_ms;
    gemm->load_ms = gemm->kernel->load_ms;
    return JIT_GEMM_OK;
}

static jit_gemm_status build_and_load_once(const struct create *create,
                                           struct misfit *misfit)
{
    struct jg_step_result result = {0};
    const jit_gemm_status status = load_result(create, &result, misfit);
    jg_binary_free(&result.binary);
    return status;
}

static bool names_cluster(const struct jg_problem *problem)
{
    struct jg_config_override override;
    return jg_config_parse(problem->config, &override) == JIT_GEMM_OK &&
           override.has_cluster;
}

/* If not one cluster fits, which only the driver knows, smaller ones are chosen from then
 * on; a config that names its cluster stands or falls with it. */
static jit_gemm_status build_and_load(const struct create *create)
{
    jit_gemm_context *context = create->context;
    JG_TRY(jg_module_refuse_capture(context->device));
    for (;;) {
        struct misfit misfit = {0};
        const jit_gemm_status status = build_and_load_once(create, &misfit);
        if (misfit.is_rejected) {
            continue; /* the next one compiles */
        }
        const int unfit_ctas = misfit.unfit_ctas;
        const bool is_band = create->ret_is_unfit != NULL;
        if (unfit_ctas < 2) {
            return status;
        }
        if (!is_band && names_cluster(&create->settled->problem)) {
            return jg_settled_blame(create->settled, status);
        }
        jg_log_line(context->log, JIT_GEMM_SEVERITY_WARNING,
                    "%s holds no cluster of %d CTAs: smaller ones are chosen",
                    context->device->facts.name, unfit_ctas);
        atomic_store(&context->most_cluster_ctas, unfit_ctas / 2);
        if (is_band) {
            *create->ret_is_unfit = true;
            return status;
        }
    }
}

/* `ret_entry`: the right to build; NULL if the kernel was there. */
static jit_gemm_status look_up(const struct create *create, const struct jg_str *key,
                               struct jg_table_entry **ret_entry)
{
    JG_TRY(jg_str_status(key));
    return jg_table_acquire(create->context->table, key->data, key->size, /* 3 */
                            &create->stop, &create->gemm->kernel, ret_entry);
}

static jit_gemm_status acquire_kernel(const struct create *create)
{
    jit_gemm_context *context = create->context;
    struct jg_table_entry *entry = NULL;
    struct jg_str key = {0};
    jg_str_puts(&key, context->arch->name); /* 2 */
    jg_problem_bytes(&create->settled->problem, &key);
    const jit_gemm_status found = look_up(create, &key, &entry);
    jg_str_free(&key);
    JG_TRY(found);
    if (entry == NULL) {
        create->gemm->origin = JIT_GEMM_ORIGIN_MEMORY;
        return JIT_GEMM_OK;
    }
    const jit_gemm_status status = build_and_load(create);
    if (status != JIT_GEMM_OK) {
        jg_table_abandon(context->table, entry, status);
        return status;
    }
    jg_table_publish(context->table, entry, create->gemm->kernel); /* 11 */
    return JIT_GEMM_OK;
}

/* ---------------------------------------------------------------------------- public */

jit_gemm_status jit_gemm_check(jit_gemm_context *context, const jit_gemm_problem *problem)
{
    JG_TRY(jg_check_context(context));
    struct jg_problem own;
    struct jg_settled settled;
    struct jg_choice choice;
    JG_TRY(jg_step_normalize(context, problem, &own));
    const struct jg_planned planned = jg_step_planned(context, context->arch);
    JG_TRY(jg_step_settle(context, &planned, &own, &settled, NULL));
    return jg_step_choose(&planned, &settled, &choice, NULL);
}

jit_gemm_status jit_gemm_plan(jit_gemm_context *context, const jit_gemm_problem *problem,
                              char *buffer, size_t size, size_t *ret_length)
{
    JG_TRY(jg_check_context(context));
    if (size > 0) {
        JG_TRY(jg_check_pointer(buffer, "buffer"));
    }
    struct jg_problem own;
    struct jg_settled settled;
    struct jg_choice choice;
    JG_TRY(jg_step_normalize(context, problem, &own));
    struct jg_str trace = {0};
    const struct jg_planned planned = jg_step_planned(context, context->arch);
    jit_gemm_status status = jg_step_settle(context, &planned, &own, &settled, &trace);
    if (status == JIT_GEMM_OK) {
        status = jg_step_choose(&planned, &settled, &choice, &trace);
    }
    return jg_str_deliver(&trace, status, buffer, size, ret_length);
}

jit_gemm_status jit_gemm_create(jit_gemm_context *context, const jit_gemm_problem *problem,
                                jit_gemm **ret_gemm)
{
    JG_TRY(jg_check_context(context));
    JG_TRY(jg_check_pointer(ret_gemm, "ret_gemm"));
    const struct jg_stop stop = jg_context_stop(context);
    struct jg_problem own;
    JG_TRY(jg_step_normalize(context, problem, &own)); /* 1 */
    JG_TRY(jg_context_need_device(context));
    return jg_step_create(context, &own, &stop, NULL, ret_gemm);
}

/* The problem's text if the context has ranges; otherwise NULL. */
static jit_gemm_status name_range(const jit_gemm_context *context,
                                  const struct jg_problem *problem, char **ret_text)
{
    if (!context->has_ranges) {
        return JIT_GEMM_OK;
    }
    struct jg_str text = {0};
    jg_problem_text(problem, &text);
    const jit_gemm_status status = jg_str_status(&text);
    if (status == JIT_GEMM_OK) {
        *ret_text = jg_copy_text(text.data, text.size);
    }
    jg_str_free(&text);
    JG_TRY(status);
    return *ret_text != NULL ? JIT_GEMM_OK : jg_fail_memory();
}

jit_gemm_status jg_step_create(
    jit_gemm_context *context, const struct jg_problem *problem, const struct jg_stop *stop,
    bool *ret_is_unfit, // NOLINT(readability-non-const-parameter): set through the struct
    jit_gemm **ret_gemm)
{
    if (jg_target_code_kind(context) == JG_CODE_PTX) {
        JG_TRY(jg_budget_refuse_ptx(&problem->budget));
    }
    struct jg_settled settled;
    const struct jg_planned planned = jg_step_planned(context, context->arch);
    JG_TRY(jg_step_settle(context, &planned, problem, &settled, NULL));
    const uint32_t map_count = jg_most_maps(problem);
    struct jit_gemm *gemm = jg_alloc(sizeof(*gemm) + jg_map_slots_bytes(map_count));
    if (gemm == NULL) {
        return jg_fail_memory();
    }
    gemm->slots = &gemm->own_slots;
    jg_map_slots_init(gemm->slots, map_count, gemm->entries);
    memcpy(gemm->recipe, settled.recipe, sizeof(gemm->recipe));
    const struct create create = {context, problem, *stop, &settled, gemm, ret_is_unfit};
    jit_gemm_status status = name_range(context, problem, &gemm->range);
    jg_range_push(gemm->range != NULL, "create", gemm->range);
    if (status == JIT_GEMM_OK) {
        status = acquire_kernel(&create); /* 2 to 11 */
    }
    jg_range_pop(gemm->range != NULL);
    if (status == JIT_GEMM_OK) {
        /* Not earlier: who waited for the same kernel may allow it more. */
        status = jg_settled_blame(
            &settled, jg_budget_check(&problem->budget, gemm->kernel->entry,
                                      gemm->kernel->registers, gemm->kernel->local_bytes));
    }
    if (status != JIT_GEMM_OK) {
        jg_kernel_release(gemm->kernel);
        jg_free(gemm->range);
        jg_free(gemm);
        return status;
    }
    keep_for_capsule(&create);
    jg_context_count_create(context, gemm->origin, gemm->load_ms);
    *ret_gemm = gemm;
    return JIT_GEMM_OK;
}

static jit_gemm_status launch(const jit_gemm *gemm, const jit_gemm_args *args, void *stream)
{
    jg_range_push(gemm->range != NULL, "run", gemm->range);
    const jit_gemm_status status = jg_launch(gemm->kernel, gemm->slots, args, stream);
    jg_range_pop(gemm->range != NULL);
    if (status != JIT_GEMM_OK) {
        jg_capsule_leave_launch(gemm->kept, args, status);
    }
    return status;
}

jit_gemm_status jit_gemm_run(const jit_gemm *gemm, const jit_gemm_args *args, void *stream)
{
    JG_TRY(jg_check_pointer(gemm, "gemm"));
    JG_TRY(jg_check_pointer(args, "args"));
    if (args->struct_size == sizeof(*args)) {
        return launch(gemm, args, stream); /* 12 */
    }
    jit_gemm_args own;
    JG_TRY(jg_struct_import(args, &own, sizeof(own), "args"));
    return launch(gemm, &own, stream);
}

jit_gemm_status jit_gemm_get_info(const jit_gemm *gemm, jit_gemm_info *ret_info)
{
    JG_TRY(jg_check_pointer(gemm, "gemm"));
    const struct jg_kernel *kernel = gemm->kernel;
    const struct jg_product *product = &kernel->choice.product;
    const struct jg_product_size size = jg_product_size(
        product, (uint32_t)kernel->problem.m.size, (uint32_t)kernel->problem.n.size);
    jit_gemm_info info = {
        .struct_size = sizeof(info),
        .origin = gemm->origin,
        .registers = kernel->registers,
        .spill_bytes = kernel->local_bytes,
        .smem_bytes = (uint32_t)kernel->choice.derived.smem_bytes,
        .threads = (uint32_t)kernel->choice.derived.threads,
        .grid_ctas = jg_grid_of_size(kernel, size.m, size.n, (uint32_t)product->batch.size),
        .compile_ms = gemm->compile_ms,
        .load_ms = gemm->load_ms,
        .workspace_bytes = (uint64_t)kernel->choice.derived.workspace_bytes,
        .tmem_columns = (uint32_t)kernel->choice.derived.tmem_columns,
        .is_gated = product->is_gated,
        .sum_fraction_bits = (uint32_t)kernel->choice.derived.sum_fraction_bits,
        .launches = jg_count_launches(&kernel->choice.config, product),
        .invariant = kernel->problem.invariant,
        .accumulate = kernel->choice.derived.accumulate,
        .cache_root = gemm->cache_root,
        .host_groups = kernel->choice.derived.host_groups,
    };
    snprintf(info.arch, sizeof(info.arch), "%s", kernel->arch);
    snprintf(info.key, sizeof(info.key), "%s", kernel->key);
    snprintf(info.entry, sizeof(info.entry), "%s", kernel->entry);
    snprintf(info.config, sizeof(info.config), "%s", kernel->config);
    memcpy(info.recipe, gemm->recipe, sizeof(info.recipe));
    return jg_struct_export(&info, sizeof(info), ret_info, "ret_info");
}

void jit_gemm_destroy(jit_gemm **gemm)
{
    if (gemm != NULL && *gemm != NULL) {
        jg_kernel_release((*gemm)->kernel);
        jg_capsule_kept_destroy((*gemm)->kept);
        jg_free((*gemm)->range);
        jg_free(*gemm);
        *gemm = NULL;
    }
}
