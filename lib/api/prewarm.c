/* SPDX-License-Identifier: MIT */
/* Builds every kernel of a manifest into the disk cache, several at a time. What the cache
 * has is skipped, so an interrupted prewarm goes on where it stopped. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "api/gemm.h"
#include "api/manifest.h"
#include "api/prewarm_targets.h"
#include "api/side_kernel.h"
#include "api/target.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/host.h"
#include "base/math.h"
#include "base/struct.h"
#include "compile/makers.h"
#include "plan/text.h"

#define JG_JOBS_MAX 64

/* One kernel of the manifest for one architecture: of a problem, of a band of one, or one
 * beside products. */
struct task {
    const struct jg_planned *planned;       /* borrowed */
    const struct jg_manifest_problem *item; /* NULL: a kernel beside products */
    const struct jg_manifest_side *side;
    bool is_band; /* of the item, and then which kernel: */
    struct jg_band_kernel kernel;
    size_t lines;       /* of the manifest that want it */
    jg_cache_name name; /* of the finished kernel's entry */
    uint32_t root;      /* that has it; 0: the cache folder */
};

/* One prewarm, shared by its threads. */
struct prewarm {
    jit_gemm_context *context;
    const struct jg_manifest *manifest;
    struct jg_targets targets;
    struct task *tasks; /* owned */
    size_t task_count, task_capacity;
    enum jg_code_kind code_kind;
    jit_gemm_policy policy; /* FORBID: everything must be there */
    jit_gemm_progress_fn progress;
    void *progress_user;
    struct jg_stop stop;
    jg_mutex mutex; /* guards the rest */
    size_t next;    /* task */
    size_t done;    /* of result.total */
    bool is_cancelled;
    jit_gemm_prewarm_result result;
    jit_gemm_status first_failure;
    jit_gemm_diagnostics *first_errors; /* of it */
};

/* ----------------------------------------------------------------------- one kernel */

static jit_gemm_status fail_not_kept(const struct prewarm *prewarm)
{
    return jg_fail_system(JIT_GEMM_ERR_IO, "cache",
                          "see the log, and jit-gemm doctor, for the reason",
                          "a kernel was compiled but could not be kept in %s",
                          jg_cache_folder(prewarm->context->cache));
}

static jit_gemm_status check_kept(const struct prewarm *prewarm,
                                  const struct jg_step_result *result, struct task *task,
                                  jit_gemm_origin *ret_origin)
{
    *ret_origin = result->binary.origin;
    task->name = jg_binary_name(&result->binary);
    task->root = result->binary.root;
    return result->binary.is_on_disk ? JIT_GEMM_OK : fail_not_kept(prewarm);
}

static struct jg_builder make_builder(const struct prewarm *prewarm)
{
    struct jg_builder builder =
        jg_context_builder(prewarm->context, prewarm->policy, &prewarm->stop);
    builder.code_kind = prewarm->code_kind;
    return builder;
}

/* The problem of a task as it is built. */
static jit_gemm_status find_problem(const struct prewarm *prewarm, const struct task *task,
                                    struct jg_problem *ret_problem)
{
    struct jg_problem problem;
    JG_TRY(jg_problem_normalize(&task->item->problem, jg_registry_find,
                                prewarm->manifest->epilogues, &problem));
    if (task->is_band) {
        return jg_bands_problem(&problem, &task->item->range, &task->kernel, ret_problem);
    }
    *ret_problem = problem;
    return JIT_GEMM_OK;
}

/* The config of a task's problem as it is built. */
static jit_gemm_status choose(const struct prewarm *prewarm, const struct task *task,
                              struct jg_problem *problem, struct jg_settled *ret_settled,
                              struct jg_choice *ret_choice)
{
    JG_TRY(find_problem(prewarm, task, problem));
    if (prewarm->code_kind == JG_CODE_PTX) {
        JG_TRY(jg_budget_refuse_ptx(&problem->budget));
    }
    JG_TRY(jg_step_settle(prewarm->context, task->planned, problem, ret_settled, NULL));
    return jg_step_choose(task->planned, ret_settled, ret_choice, NULL);
}

static jit_gemm_status build_problem(const struct prewarm *prewarm, struct task *task,
                                     jit_gemm_origin *ret_origin)
{
    jit_gemm_context *context = prewarm->context;
    struct jg_problem problem;
    struct jg_settled settled;
    struct jg_choice choice;
    JG_TRY(choose(prewarm, task, &problem, &settled, &choice));
    const struct jg_builder builder = make_builder(prewarm);
    struct jg_step_result result = {0};
    struct jg_build_counts counts = {0};
    jit_gemm_status status = jg_step_binary(context, &builder, task->planned->arch,
                                            &settled.problem, &choice, &result, &counts);
    jg_context_count_build(context, &counts);
    if (status == JIT_GEMM_OK) {
        status = check_kept(prewarm, &result, task, ret_origin);
    }
    if (status == JIT_GEMM_OK) {
        status = jg_settled_blame(&settled, jg_budget_check(&problem.budget, result.entry,
                                                            result.binary.registers,
                                                            result.binary.spill_bytes));
    }
    jg_binary_free(&result.binary);
    return status;
}

static jit_gemm_status build_side(const struct prewarm *prewarm, struct task *task,
                                  jit_gemm_origin *ret_origin)
{
    const struct jg_builder builder = make_builder(prewarm);
    struct jg_step_result result = {0};
    struct jg_build_counts counts = {0};
    jit_gemm_status status =
        jg_step_side_binary(prewarm->context, &builder, task->planned->arch,
                            &task->side->kernel, &result, &counts);
    jg_context_count_build(prewarm->context, &counts);
    if (status == JIT_GEMM_OK) {
        status = check_kept(prewarm, &result, task, ret_origin);
    }
    jg_binary_free(&result.binary);
    return status;
}

/* ------------------------------------------------------------------------- the threads */

static bool take_task(struct prewarm *prewarm, size_t *ret_task)
{
    pthread_mutex_lock(&prewarm->mutex);
    prewarm->is_cancelled |= jg_stop_is_asked(&prewarm->stop);
    const bool found = !prewarm->is_cancelled && prewarm->next < prewarm->task_count;
    if (found) {
        *ret_task = prewarm->next++;
    }
    pthread_mutex_unlock(&prewarm->mutex);
    return found;
}

static void locate_error(const struct prewarm *prewarm, const struct task *task)
{
    if (task->item != NULL) {
        jg_manifest_locate_error(prewarm->manifest, task->item);
    } else {
        jg_manifest_locate_side_error(task->side);
    }
}

/* Called with the mutex held, so that progress is told one call at a time. Of equal lines
 * one has compiled a kernel, which the others then have. */
static void note_result(struct prewarm *prewarm, const struct task *task,
                        jit_gemm_status status, jit_gemm_origin origin)
{
    if (status == JIT_GEMM_OK) {
        const size_t compiled = origin == JIT_GEMM_ORIGIN_COMPILED;
        prewarm->result.cached += task->lines - compiled;
        prewarm->result.compiled += compiled;
        return;
    }
    prewarm->result.failed += task->lines;
    if (status != JIT_GEMM_ERR_NO_MEMORY) {
        locate_error(prewarm, task);
    }
    if (prewarm->first_failure == JIT_GEMM_OK) {
        prewarm->first_failure = status;
        (void)jg_diagnostics_take(&prewarm->first_errors); /* NULL without memory */
    } else {
        jg_log_line(prewarm->context->log, JIT_GEMM_SEVERITY_ERROR, "%s", jg_error_text());
    }
}

static void tell_progress(struct prewarm *prewarm, const struct task *task)
{
    prewarm->done += task->lines;
    if (prewarm->progress == NULL || prewarm->is_cancelled) {
        return;
    }
    struct jg_str text = {0};
    struct jg_problem problem;
    if (task->is_band) {
        if (find_problem(prewarm, task, &problem) == JIT_GEMM_OK) {
            jg_problem_text(&problem, &text);
        }
    } else if (task->item != NULL) {
        (void)jg_problem_print(&task->item->problem, &text);
    } else {
        jg_side_kernel_text(&task->side->kernel, &text);
    }
    prewarm->is_cancelled =
        prewarm->progress(prewarm->progress_user, prewarm->done, prewarm->result.total,
                          jg_str_text(&text)) != 0;
    jg_str_free(&text);
}

static void *work_through_tasks(void *user)
{
    struct prewarm *prewarm = user;
    size_t index = 0;
    while (take_task(prewarm, &index)) {
        struct task *task = &prewarm->tasks[index];
        jit_gemm_origin origin = JIT_GEMM_ORIGIN_COMPILED;
        const jit_gemm_status status = task->item != NULL
                                           ? build_problem(prewarm, task, &origin)
                                           : build_side(prewarm, task, &origin);
        pthread_mutex_lock(&prewarm->mutex);
        if (status == JIT_GEMM_ERR_CANCELLED) {
            prewarm->is_cancelled = true;
        } else {
            note_result(prewarm, task, status, origin);
            tell_progress(prewarm, task);
        }
        pthread_mutex_unlock(&prewarm->mutex);
    }
    return NULL;
}

/* As many as there are processors, and memory for one compile each. */
static size_t count_jobs(uint32_t wanted, size_t total)
{
    const int64_t jobs = jg_min(wanted > 0 ? wanted : jg_host_jobs(""), JG_JOBS_MAX);
    return (size_t)jg_min(jobs, (int64_t)total);
}

/* This thread works too; threads that cannot be started are done without. */
static void run_threads(struct prewarm *prewarm, size_t jobs)
{
    pthread_t threads[JG_JOBS_MAX];
    size_t started = 0;
    while (started + 1 < jobs &&
           pthread_create(&threads[started], NULL, work_through_tasks, prewarm) == 0) {
        started++;
    }
    work_through_tasks(prewarm);
    for (size_t i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
}

/* ------------------------------------------------------------------------- an estimate */

/* Where no kernel of the manifest is there to go by. */
#define JG_USUAL_COMPILE_MS 700.0
#define JG_USUAL_CODE_BYTES 65536.0

/* What the tasks come to. */
struct tally {
    jg_cache_name *missing; /* owned; names of those that are not there, one may be twice */
    size_t missing_count, nameless_count;
    size_t found_count;
    double found_ms, found_bytes;
};

static int compare_names(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(jg_cache_name));
}

static size_t count_distinct(struct tally *tally)
{
    size_t count = 0;
    if (tally->missing_count > 0) {
        qsort(tally->missing, tally->missing_count, sizeof(tally->missing[0]),
              compare_names);
    }
    for (size_t i = 0; i < tally->missing_count; i++) {
        count += i == 0 || compare_names(&tally->missing[i - 1], &tally->missing[i]) != 0;
    }
    return count + tally->nameless_count;
}

static jit_gemm_status find_task(const struct prewarm *prewarm, const struct task *task,
                                 struct jg_build_found *ret_found)
{
    const struct jg_builder builder = make_builder(prewarm);
    if (task->item == NULL) {
        return jg_step_side_find(&builder, task->planned->arch, &task->side->kernel,
                                 ret_found);
    }
    struct jg_problem problem;
    struct jg_settled settled;
    struct jg_choice choice;
    JG_TRY(choose(prewarm, task, &problem, &settled, &choice));
    return jg_step_find(&builder, task->planned->arch, &settled.problem, &choice,
                        ret_found);
}

/* One that could not be built counts as failed, as it would. */
static void tally_task(struct prewarm *prewarm, const struct task *task,
                       struct tally *tally)
{
    struct jg_build_found found;
    const jit_gemm_status status = find_task(prewarm, task, &found);
    if (status != JIT_GEMM_OK) {
        note_result(prewarm, task, status, JIT_GEMM_ORIGIN_COMPILED);
    } else if (found.is_found) {
        prewarm->result.cached += task->lines;
        if (found.made_ms > 0) {
            tally->found_count++;
            tally->found_ms += found.made_ms;
            tally->found_bytes += (double)found.code_bytes;
        }
    } else if (found.has_name) {
        tally->missing[tally->missing_count++] = found.name;
    } else {
        tally->nameless_count++;
    }
}

static jit_gemm_status estimate(struct prewarm *prewarm, uint32_t wanted_jobs)
{
    jit_gemm_prewarm_result *result = &prewarm->result;
    struct tally tally = {
        .missing = jg_alloc_array(prewarm->task_count + 1, sizeof(tally.missing[0]))};
    if (tally.missing == NULL) {
        return jg_fail_memory();
    }
    for (size_t i = 0; i < prewarm->task_count; i++) {
        tally_task(prewarm, &prewarm->tasks[i], &tally);
    }
    const double found = (double)tally.found_count;
    const double each_ms = found > 0 ? tally.found_ms / found : JG_USUAL_COMPILE_MS;
    const double each_bytes = found > 0 ? tally.found_bytes / found : JG_USUAL_CODE_BYTES;
    result->missing = count_distinct(&tally);
    result->jobs = (uint32_t)count_jobs(wanted_jobs, result->missing);
    if (result->missing > 0) {
        /* The last round is a whole one. */
        const size_t rounds = (result->missing + result->jobs - 1) / result->jobs;
        result->estimated_seconds = (double)rounds * each_ms / 1e3;
        result->estimated_bytes = (uint64_t)((double)result->missing * each_bytes);
    }
    jg_free(tally.missing);
    return JIT_GEMM_OK;
}

/* ------------------------------------------------------------------------------ set-up */

static jit_gemm_status add_task(struct prewarm *prewarm, const struct task *task)
{
    if (prewarm->task_count == prewarm->task_capacity) {
        const size_t capacity =
            prewarm->task_capacity > 0 ? prewarm->task_capacity * 2 : 16;
        struct task *tasks = jg_realloc(prewarm->tasks, capacity * sizeof(*tasks));
        if (tasks == NULL) {
            return jg_fail_memory();
        }
        prewarm->tasks = tasks;
        prewarm->task_capacity = capacity;
    }
    prewarm->tasks[prewarm->task_count++] = *task;
    prewarm->result.total += task->lines;
    return JIT_GEMM_OK;
}

/* A task for each kernel of the bands. Where there are none, because the architecture
 * cannot have the problem, the task is the problem itself, whose build says why. */
static jit_gemm_status add_range(struct prewarm *prewarm, struct task *task)
{
    struct jg_problem problem;
    struct jg_bands bands;
    JG_TRY(find_problem(prewarm, task, &problem));
    jit_gemm_status status =
        jg_step_bands(task->planned, &problem, &task->item->range, &bands);
    if (status == JIT_GEMM_ERR_UNSUPPORTED || status == JIT_GEMM_ERR_ARGUMENT) {
        return add_task(prewarm, task);
    }
    JG_TRY(status);
    task->is_band = true;
    for (size_t i = 0; i < bands.kernel_count && status == JIT_GEMM_OK; i++) {
        task->kernel = bands.kernels[i];
        status = add_task(prewarm, task);
    }
    jg_bands_free(&bands);
    return status;
}

static jit_gemm_status list_tasks(struct prewarm *prewarm)
{
    const struct jg_manifest *manifest = prewarm->manifest;
    for (size_t arch = 0; arch < prewarm->targets.count; arch++) {
        for (size_t i = 0; i < manifest->problem_count; i++) {
            struct task task = {.planned = &prewarm->targets.planned[arch],
                                .item = &manifest->problems[i],
                                .lines = manifest->problems[i].lines};
            JG_TRY(task.item->has_range ? add_range(prewarm, &task)
                                        : add_task(prewarm, &task));
        }
        for (size_t i = 0; i < manifest->side_count; i++) {
            const struct task task = {.planned = &prewarm->targets.planned[arch],
                                      .side = &manifest->sides[i],
                                      .lines = 1};
            JG_TRY(add_task(prewarm, &task));
        }
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status need_cache(const jit_gemm_context *context, bool is_only_read)
{
    if (context->cache != NULL || (is_only_read && jg_roots_count(context->roots) > 0)) {
        return JIT_GEMM_OK;
    }
    if (!context->is_cache_wanted) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "context",
                       "create the context without no_cache",
                       "a prewarm needs a disk cache, and the context was told not to use "
                       "one");
    }
    return jg_fail_system(JIT_GEMM_ERR_IO, "cache",
                          "name a private folder with options.cache_dir or "
                          "JIT_GEMM_CACHE_DIR",
                          "there is no disk cache to fill: %s", context->cache_reason);
}

static const char place_of_bundle[] = "name a file in a folder that can be written";

static jit_gemm_status fail_bundle(const char *path, const char *hint, const char *reason)
{
    return jg_fail_system(JIT_GEMM_ERR_IO, "options.bundle", hint,
                          "%s cannot be written: %s", path, reason);
}

/* Before any build: a model's kernels take minutes. */
static jit_gemm_status check_bundle(const char *path)
{
    char reason[512] = "";
    return jg_cache_bundle_check(path, reason, sizeof(reason)) == JG_CACHE_OK
               ? JIT_GEMM_OK
               : fail_bundle(path, place_of_bundle, reason);
}

/* Every task has ended well: what it found or made goes into the bundle. */
static jit_gemm_status fill_bundle(struct prewarm *prewarm, const char *path,
                                   struct jg_shipment *shipment)
{
    jit_gemm_context *context = prewarm->context;
    for (size_t i = 0; i < prewarm->task_count; i++) {
        const struct task *task = &prewarm->tasks[i];
        struct jg_cache *cache =
            task->root > 0 ? jg_roots_cache(context->roots, task->root) : context->cache;
        const jg_cache_result result = jg_shipment_add(shipment, cache, &task->name);
        if (result == JG_CACHE_NO_MEMORY) {
            return jg_fail_memory();
        }
        if (result == JG_CACHE_TOO_LARGE) {
            return fail_bundle(path, "prewarm an empty cache folder with one compiler",
                               "its kernels come from more than 16 compilers");
        }
        if (result != JG_CACHE_OK) {
            return fail_bundle(path, "run it again, with a larger limit on the cache",
                               "a kernel has gone from the cache meanwhile");
        }
    }
    char reason[512] = "";
    jg_cache_bundle_counts counts = {0};
    const jg_cache_result result =
        jg_shipment_write(shipment, path, &counts, reason, sizeof(reason));
    if (result != JG_CACHE_OK) {
        return result == JG_CACHE_NO_MEMORY ? jg_fail_memory()
                                            : fail_bundle(path, place_of_bundle, reason);
    }
    prewarm->result.bundle_kernels = (size_t)counts.entries;
    prewarm->result.bundle_bytes = counts.bytes;
    return JIT_GEMM_OK;
}

static jit_gemm_status write_bundle(struct prewarm *prewarm, const char *path)
{
    struct jg_shipment *shipment = jg_alloc(sizeof(*shipment));
    if (shipment == NULL || jg_cache_bundle_begin(&shipment->writer) != JG_CACHE_OK) {
        jg_free(shipment);
        return jg_fail_memory();
    }
    const jit_gemm_status status = fill_bundle(prewarm, path, shipment);
    jg_cache_bundle_end(shipment->writer);
    jg_free(shipment);
    return status;
}

static jit_gemm_status report_outcome(const struct prewarm *prewarm)
{
    if (prewarm->is_cancelled && prewarm->done < prewarm->result.total) {
        const bool is_late = jg_stop_is_late(&prewarm->stop);
        const bool is_asked = jg_stop_is_asked(&prewarm->stop);
        return jg_fail(JIT_GEMM_ERR_CANCELLED,
                       is_late    ? "options.deadline_ms"
                       : is_asked ? "context"
                                  : "options.progress",
                       "run it again to go on: what was built is kept",
                       "%s after %zu of %zu builds",
                       is_late    ? "the time was over"
                       : is_asked ? "jit_gemm_cancel was called"
                                  : "the callback asked to stop",
                       prewarm->done, prewarm->result.total);
    }
    if (prewarm->first_failure == JIT_GEMM_OK) {
        return JIT_GEMM_OK;
    }
    if (prewarm->first_errors == NULL) {
        return jg_fail_memory();
    }
    jg_error_restore(prewarm->first_failure, prewarm->first_errors);
    return prewarm->first_failure;
}

static jit_gemm_status prewarm_manifest(struct prewarm *prewarm,
                                        const jit_gemm_prewarm_options *options)
{
    JG_TRY(
        jg_targets_find(prewarm->context, prewarm->manifest, options, &prewarm->targets));
    JG_TRY(list_tasks(prewarm));
    if (options->bundle != NULL) {
        JG_TRY(check_bundle(options->bundle));
    }
    if (pthread_mutex_init(&prewarm->mutex, NULL) != 0) {
        return jg_fail_memory();
    }
    prewarm->code_kind = options->ptx ? JG_CODE_PTX : jg_target_code_kind(prewarm->context);
    prewarm->policy =
        options->require_cached ? JIT_GEMM_POLICY_FORBID : JIT_GEMM_POLICY_ALLOW;
    prewarm->progress = options->progress;
    prewarm->progress_user = options->progress_user;
    jit_gemm_status status = JIT_GEMM_OK;
    if (options->only_estimate != 0) {
        status = estimate(prewarm, options->jobs);
    } else if (prewarm->task_count > 0) {
        const size_t jobs = count_jobs(options->jobs, prewarm->task_count);
        prewarm->result.jobs = (uint32_t)jobs;
        run_threads(prewarm, jobs);
    }
    pthread_mutex_destroy(&prewarm->mutex);
    JG_TRY(status);
    JG_TRY(report_outcome(prewarm));
    if (options->only_estimate != 0) {
        return JIT_GEMM_OK;
    }
    return options->bundle != NULL ? write_bundle(prewarm, options->bundle) : JIT_GEMM_OK;
}

jit_gemm_status jit_gemm_prewarm(jit_gemm_context *context, const char *manifest,
                                 size_t size, const jit_gemm_prewarm_options *options,
                                 jit_gemm_prewarm_result *ret_result)
{
    JG_TRY(jg_check_context(context));
    JG_TRY(jg_check_pointer(manifest, "manifest"));
    jit_gemm_prewarm_options own = {.struct_size = sizeof(own)};
    if (options != NULL) {
        JG_TRY(jg_struct_import(options, &own, sizeof(own), "options"));
    }
    struct prewarm prewarm = {.context = context,
                              .stop = jg_context_stop(context),
                              .result = {.struct_size = sizeof(prewarm.result)}};
    if (own.deadline_ms > 0) {
        prewarm.stop.end_ms = jg_now_ms() + own.deadline_ms;
    }
    if (ret_result != NULL) {
        JG_TRY(jg_struct_export(&prewarm.result, sizeof(prewarm.result), ret_result,
                                "ret_result"));
    }
    JG_TRY(need_cache(context, own.require_cached != 0 || own.only_estimate != 0));
    struct jg_manifest parsed;
    JG_TRY(jg_manifest_parse(manifest, size, context->log, &parsed));
    prewarm.manifest = &parsed;
    jit_gemm_status status = prewarm_manifest(&prewarm, &own);
    if (ret_result != NULL) {
        const jit_gemm_status exported = jg_struct_export(
            &prewarm.result, sizeof(prewarm.result), ret_result, "ret_result");
        status = status != JIT_GEMM_OK ? status : exported;
    }
    jg_diagnostics_destroy(&prewarm.first_errors);
    jg_targets_free(&prewarm.targets);
    jg_free(prewarm.tasks);
    jg_manifest_free(&parsed);
    return status;
}
