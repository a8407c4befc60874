/* SPDX-License-Identifier: MIT */
#include "api/context.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/context_cache.h"
#include "api/target.h"
#include "base/alloc.h"
#include "base/env.h"
#include "base/error.h"
#include "base/struct.h"
#include "cuda/ranges.h"

/* No kernel of ours comes near, on any machine that was tried. */
enum { DEFAULT_COMPILE_LIMIT_MS = 120000 };

/* ------------------------------------------------------------------------- arguments */

jit_gemm_status jg_check_pointer(const void *pointer, const char *name)
{
    if (pointer != NULL) {
        return JIT_GEMM_OK;
    }
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, name, "pass the address of one", "is NULL");
}

jit_gemm_status jg_check_context(const jit_gemm_context *context)
{
    JG_TRY(jg_check_pointer(context, "context"));
    if (context->process == getpid()) {
        return JIT_GEMM_OK;
    }
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, "context",
                   "create a context after the fork, in the process that uses it",
                   "it was made by process %ld, and this is its child %ld",
                   (long)context->process, (long)getpid());
}

/* --------------------------------------------------------------------------- options */

static jit_gemm_status check_options(const jit_gemm_context_options *options)
{
    if (options->device < 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "options.device",
                       "ordinals are counted from 0", "%d is no device ordinal",
                       options->device);
    }
    if ((unsigned)options->policy > JIT_GEMM_POLICY_FORBID) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "options.policy",
                       "give one of JIT_GEMM_POLICY_ALLOW, WARN, FORBID", "%d is no policy",
                       (int)options->policy);
    }
    if ((unsigned)options->log_level > JIT_GEMM_SEVERITY_DEBUG) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "options.log_level",
                       "give one of JIT_GEMM_SEVERITY_ERROR, WARNING, INFO, DEBUG",
                       "%d is no severity", (int)options->log_level);
    }
    if (options->reserved != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "options.reserved",
                       "zero the struct before filling it", "must be 0, is %d",
                       options->reserved);
    }
    if ((unsigned)options->nvtx > JIT_GEMM_NVTX_ON) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "options.nvtx",
                       "give one of JIT_GEMM_NVTX_ENVIRONMENT, OFF, ON", "%d is no answer",
                       (int)options->nvtx);
    }
    if (options->reserved_end != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "options.reserved_end",
                       "zero the struct before filling it", "must be 0, is %d",
                       options->reserved_end);
    }
    if (options->capsule_dir != NULL && options->capsule_dir[0] != '/') {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "options.capsule_dir",
                       "give an absolute path, or NULL for none",
                       "'%s' is not an absolute path", options->capsule_dir);
    }
    return jg_cache_options_check(options);
}

/* ----------------------------------------------------------------------------- parts */

static jit_gemm_status open_cache(jit_gemm_context *context,
                                  const jit_gemm_context_options *options)
{
    JG_TRY(jg_cache_roots_open(options, context->log, &context->roots));
    if (options->no_cache) {
        return JIT_GEMM_OK;
    }
    context->is_cache_wanted = true;
    return jg_cache_folder_open(options, &context->cache, context->cache_reason,
                                sizeof(context->cache_reason));
}

/* `path` may be NULL. */
static jit_gemm_status copy_path(const char *path, char **ret_copy)
{
    if (path == NULL) {
        return JIT_GEMM_OK;
    }
    *ret_copy = jg_copy_text(path, strlen(path));
    return *ret_copy != NULL ? JIT_GEMM_OK : jg_fail_memory();
}

static jit_gemm_status copy_capsule_dir(const jit_gemm_context_options *options,
                                        char **ret_copy)
{
    const char *variable = jg_env_get(JG_ENV_CAPSULES);
    if (options->capsule_dir == NULL && variable != NULL && variable[0] != '/') {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, jg_env_name(JG_ENV_CAPSULES),
                       "give an absolute path", "'%s' is not an absolute path", variable);
    }
    return copy_path(options->capsule_dir != NULL ? options->capsule_dir : variable,
                     ret_copy);
}

static jit_gemm_status read_ranges(jit_gemm_nvtx asked, bool *ret_has_ranges)
{
    if (asked == JIT_GEMM_NVTX_ENVIRONMENT) {
        return jg_ranges_read(jg_env_get(JG_ENV_NVTX), jg_env_name(JG_ENV_NVTX),
                              ret_has_ranges);
    }
    if (asked == JIT_GEMM_NVTX_ON) {
        JG_TRY(jg_ranges_need("options.nvtx"));
    }
    *ret_has_ranges = asked == JIT_GEMM_NVTX_ON;
    return JIT_GEMM_OK;
}

static jit_gemm_status create_parts(jit_gemm_context *context,
                                    const jit_gemm_context_options *options)
{
    JG_TRY(copy_path(jg_env_get(JG_ENV_DUMP_DIR), &context->dump_dir));
    JG_TRY(copy_capsule_dir(options, &context->capsule_dir));
    context->epilogues = jg_registry_create();
    context->asked = jg_record_create();
    context->recipes = jg_recipes_create();
    context->table = jg_table_create();
    if (context->epilogues == NULL || context->asked == NULL || context->recipes == NULL ||
        context->table == NULL) {
        return jg_fail_memory();
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status fill_context(jit_gemm_context *context,
                                    const jit_gemm_context_options *options)
{
    context->policy = options->policy;
    context->compile_limit_ms = options->compile_limit_ms == JIT_GEMM_NO_LIMIT ? 0
                                : options->compile_limit_ms > 0 ? options->compile_limit_ms
                                                                : DEFAULT_COMPILE_LIMIT_MS;
    context->stats.struct_size = sizeof(context->stats);
    struct jg_log_file file;
    JG_TRY(jg_log_file_open(jg_env_get(JG_ENV_LOG), jg_env_name(JG_ENV_LOG), &file));
    context->log =
        jg_log_create(options->log, options->log_user, options->log_level, &file);
    if (context->log == NULL) {
        jg_log_file_close(&file);
        return jg_fail_memory();
    }
    JG_TRY(read_ranges(options->nvtx, &context->has_ranges));
    JG_TRY(create_parts(context, options));
    JG_TRY(jg_toolchain_create(options->nvrtc, &context->toolchain));
    JG_TRY(jg_target_resolve(context, options));
    return open_cache(context, options);
}

static void free_context(jit_gemm_context *context)
{
    jg_table_destroy(context->table);
    jg_recipes_destroy(context->recipes);
    jg_record_destroy(context->asked);
    jg_registry_destroy(context->epilogues);
    jg_toolchain_destroy(context->toolchain);
    jg_cache_close(context->cache);
    jg_roots_destroy(context->roots);
    jg_diagnostics_destroy(&context->device_errors);
    jg_device_release(context->device);
    jg_log_destroy(context->log);
    jg_free(context->dump_dir);
    jg_free(context->capsule_dir);
    jg_free(context->here);
    pthread_mutex_destroy(&context->mutex);
    jg_free(context);
}

/* ---------------------------------------------------------------------------- public */

jit_gemm_status jit_gemm_context_create(const jit_gemm_context_options *options,
                                        jit_gemm_context **ret_context)
{
    JG_TRY(jg_check_pointer(ret_context, "ret_context"));
    jit_gemm_context_options own = {.struct_size = sizeof(own)};
    if (options != NULL) {
        JG_TRY(jg_struct_import(options, &own, sizeof(own), "options"));
    }
    JG_TRY(check_options(&own));
    jit_gemm_context *context = jg_alloc(sizeof(*context));
    if (context == NULL) {
        return jg_fail_memory();
    }
    context->process = getpid();
    atomic_init(&context->most_cluster_ctas, 0);
    atomic_init(&context->cancels, 0);
    if (pthread_mutex_init(&context->mutex, NULL) != 0) {
        jg_free(context);
        return jg_fail_memory();
    }
    const jit_gemm_status status = fill_context(context, &own);
    if (status != JIT_GEMM_OK) {
        free_context(context);
        return status;
    }
    *ret_context = context;
    return JIT_GEMM_OK;
}

void jit_gemm_context_destroy(jit_gemm_context **context)
{
    if (context != NULL && *context != NULL) {
        /* A child's copy may hold locks of threads that it does not have: it is left. */
        if ((*context)->process == getpid()) {
            free_context(*context);
        }
        *context = NULL;
    }
}

jit_gemm_status jit_gemm_context_add_cache_root(jit_gemm_context *context, const char *path)
{
    JG_TRY(jg_check_context(context));
    JG_TRY(jg_cache_root_check(path, "path"));
    return jg_roots_add(context->roots, path, true, context->log);
}

/* In a signal handler too: an atomic of an unsigned takes no lock where this is built. */
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "jit_gemm_cancel must take no lock");

jit_gemm_status jit_gemm_cancel(jit_gemm_context *context)
{
    JG_TRY(jg_check_pointer(context, "context"));
    atomic_fetch_add(&context->cancels, 1);
    return JIT_GEMM_OK;
}

const char *jit_gemm_context_arch(const jit_gemm_context *context)
{
    return context != NULL ? context->arch->name : "";
}

jit_gemm_status jit_gemm_context_stats(const jit_gemm_context *context,
                                       jit_gemm_stats *ret_stats)
{
    JG_TRY(jg_check_context(context));
    /* The lock is no part of what a const context promises. */
    jg_mutex *mutex = (jg_mutex *)&context->mutex;
    pthread_mutex_lock(mutex);
    jit_gemm_stats stats = context->stats;
    pthread_mutex_unlock(mutex);
    jg_cache_counts counts;
    jg_cache_get_counts(context->cache, &counts);
    stats.cache_trimmed = counts.trimmed;
    return jg_struct_export(&stats, sizeof(stats), ret_stats, "ret_stats");
}

jit_gemm_status jit_gemm_epilogue_register(jit_gemm_context *context,
                                           const jit_gemm_epilogue *epilogue)
{
    JG_TRY(jg_check_context(context));
    return jg_registry_add(context->epilogues, context->log, epilogue);
}

/* ------------------------------------------------------------------ for this floor */

struct jg_stop jg_context_stop(const jit_gemm_context *context)
{
    /* Apart, because gcc 11 warns of missing members where it is among them. */
    const unsigned seen = atomic_load(&context->cancels);
    return (struct jg_stop){.requests = &context->cancels, .seen = seen};
}

struct jg_builder jg_context_builder(const jit_gemm_context *context,
                                     jit_gemm_policy policy, const struct jg_stop *stop)
{
    const struct jg_builder builder = {.cache = context->cache,
                                       .roots = context->roots,
                                       .log = context->log,
                                       .dump_dir = context->dump_dir,
                                       .toolchain = context->toolchain,
                                       .policy = policy,
                                       .compile_limit_ms = context->compile_limit_ms,
                                       .has_ranges = context->has_ranges,
                                       .stop = *stop,
                                       .code_kind = jg_target_code_kind(context)};
    return builder;
}

void jg_context_count_build(jit_gemm_context *context, const struct jg_build_counts *counts)
{
    pthread_mutex_lock(&context->mutex);
    jit_gemm_stats *stats = &context->stats;
    stats->compiles += counts->compiles;
    stats->compile_failures += counts->compile_failures;
    stats->disk_hits += counts->disk_hits;
    stats->root_hits += counts->root_hits;
    stats->cache_rejects += counts->cache_rejects;
    stats->cache_store_errors += counts->cache_store_errors;
    stats->forbidden_misses += counts->forbidden_misses;
    stats->compile_ms += counts->compile_ms;
    bool is_first_loss = false;
    if (context->is_cache_wanted && context->cache == NULL) {
        is_first_loss = counts->compiles > 0 && stats->cache_store_errors == 0;
        stats->cache_store_errors += counts->compiles; /* each of them was to be kept */
    }
    pthread_mutex_unlock(&context->mutex);
    if (is_first_loss) { /* not earlier: who compiles nothing misses no cache */
        jg_log_line(context->log, JIT_GEMM_SEVERITY_WARNING,
                    "no disk cache, kernels are compiled again in every process: %s",
                    context->cache_reason);
    }
}

void jg_context_count_create(jit_gemm_context *context, jit_gemm_origin origin,
                             double load_ms)
{
    pthread_mutex_lock(&context->mutex);
    context->stats.creates++;
    if (origin == JIT_GEMM_ORIGIN_MEMORY) {
        context->stats.memory_hits++;
    }
    context->stats.load_ms += load_ms;
    pthread_mutex_unlock(&context->mutex);
}

static jit_gemm_status record_line(jit_gemm_context *context, const struct jg_str *line)
{
    JG_TRY(jg_str_status(line));
    return jg_record_add(context->asked, jg_str_text(line));
}

/* It goes into the manifest, unless its snippet does not compile. */
jit_gemm_status jg_context_record_line(jit_gemm_context *context, const struct jg_str *line,
                                       jit_gemm_status build_status)
{
    /* An error of the build stays the thread's last error. */
    if (build_status == JIT_GEMM_OK) {
        return record_line(context, line);
    }
    if (build_status == JIT_GEMM_ERR_NOT_CACHED ||
        build_status == JIT_GEMM_ERR_NO_COMPILER) {
        jit_gemm_diagnostics *diagnostics = NULL;
        if (jg_diagnostics_take(&diagnostics) == JIT_GEMM_OK) {
            (void)record_line(context, line);
            jg_error_restore(build_status, diagnostics);
            jg_diagnostics_destroy(&diagnostics);
        }
    }
    return build_status;
}

jit_gemm_status jg_context_record(jit_gemm_context *context,
                                  const struct jg_problem *problem,
                                  jit_gemm_status build_status)
{
    struct jg_str line = {0};
    jg_str_puts(&line, "problem ");
    jg_problem_text(problem, &line);
    const jit_gemm_status status = jg_context_record_line(context, &line, build_status);
    jg_str_free(&line);
    return status;
}

void jg_context_use_toolchain(jit_gemm_context *context, struct jg_toolchain *toolchain)
{
    jg_toolchain_destroy(context->toolchain);
    context->toolchain = toolchain;
}
